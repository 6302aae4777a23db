/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP's JSON as the Collector passes it on: elements of "resourceLogs", their records, and the
 * keys and values of attributes and structured bodies.
 */
#ifndef TC_SIM_OTLP_PRIV_H
#define TC_SIM_OTLP_PRIV_H

#include "base/format.h"
#include "base/json/out.h"

#include <stdint.h>

/* Closes brackets, in the order in which they are written: "]}". */
void tc__sim_end(struct tc_json_out *j, const char *brackets);

/* {"key":"...","value":{ and so on: the value follows, then tc__sim_end(j, "}}"). */
void tc__sim_begin_key(struct tc_json_out *j, const char *key);
void tc__sim_put_string(struct tc_json_out *j, const char *key, struct tc_slice value);
void tc__sim_put_int(struct tc_json_out *j, const char *key, int64_t value);
/* Milliseconds, written as seconds. */
void tc__sim_put_seconds(struct tc_json_out *j, const char *key, int64_t ms);
/* A string as tc_format makes it; up to 256 bytes. */
void tc__sim_put_args(struct tc_json_out *j, const char *key, const struct tc_arg *args,
                      size_t count);
#define tc__sim_put(j, key, ...)                                                \
    tc__sim_put_args((j), (key), (const struct tc_arg[]){TC_ARGS(__VA_ARGS__)}, \
                     TC_ARG_COUNT(__VA_ARGS__))

/* An element of "resourceLogs" or "resourceMetrics": attributes of the resource follow,
 * tc__sim_end(j, "]}"), then tc__sim_begin_records, records, and tc__sim_end_records. `receiver` of
 * the Collector may be NULL.
 */
void tc__sim_begin_resource(struct tc_json_out *j);
void tc__sim_begin_scope(struct tc_json_out *j, const char *scopes, const char *receiver,
                         const char *records);
static inline void tc__sim_begin_records(struct tc_json_out *j, const char *receiver)
{
    tc__sim_begin_scope(j, "scopeLogs", receiver, "logRecords");
}
void tc__sim_end_records(struct tc_json_out *j);

struct sim_record {
    int64_t at_ns;
    int64_t observed_ns;       /* 0: left out */
    uint32_t severity;         /* 0: left out */
    const char *severity_text; /* NULL: left out */
    struct tc_slice body;
};

/* A record up to its attributes, which follow, then tc__sim_end(j, "]}"). */
void tc__sim_begin_record(struct tc_json_out *j, const struct sim_record *r);

#endif
