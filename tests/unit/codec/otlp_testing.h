/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of OTLP/JSON for tests. Included after cmocka.h. */
#ifndef TC_TESTS_CODEC_OTLP_TESTING_H
#define TC_TESTS_CODEC_OTLP_TESTING_H

#include "support/otlp_same.h"

#define TESTED_CODEC tc_codec_otlp
/* What is well-formed has to be the same events to the daemon's reader. */
#define TESTED_ALSO(text) tc_otlp_same((text), &(struct tc_otlp_same){0})
#include "unit/codec/k8s_testing.h"

#define KV(key, value) "{\"key\":\"" key "\",\"value\":" value "}"
#define STR(text) "{\"stringValue\":\"" text "\"}"
#define INT(text) "{\"intValue\":\"" text "\"}"
#define DBL(text) "{\"doubleValue\":" text "}"
#define KVLIST(pairs) "{\"kvlistValue\":{\"values\":[" pairs "]}}"
#define LIST(values) "{\"arrayValue\":{\"values\":[" values "]}}"
#define RESOURCE(attrs) "{\"attributes\":[" attrs "]}"
#define LOGS(resource, records)                                                                 \
    "{\"resourceLogs\":[{\"resource\":" resource ",\"scopeLogs\":[{\"scope\":{\"name\":\"s\"}," \
    "\"logRecords\":[" records "]}]}]}"
#define METRICS(resource, metrics)                                                      \
    "{\"resourceMetrics\":[{\"resource\":" resource ",\"scopeMetrics\":[{\"scope\":{}," \
    "\"metrics\":[" metrics "]}]}]}"
/* 2026-03-01T10:05:01Z */
#define TIME "\"timeUnixNano\":\"1772359501000000000\""
/* 2026-03-01T11:00:00Z */
#define OBSERVED "\"observedTimeUnixNano\":\"1772362800000000000\""
#define BODY(text) "\"body\":{\"stringValue\":\"" text "\"}"
#define ATTRS(attrs) "\"attributes\":[" attrs "]"

/* The events but for the places of ranks, which come with the first of each. */
static inline size_t events_of(enum tc_event_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < t.count; i++) {
        count += t.events[i].kind == kind;
    }
    return count;
}

#endif
