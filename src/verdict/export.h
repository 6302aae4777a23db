/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts as OTLP: one ExportLogsServiceRequest in OTLP's JSON encoding, a log record for each
 * verdict. It is made from the verdict's own JSON line, so that what was stored can be sent later;
 * every field of the line becomes an attribute of the same name.
 */
#ifndef TC_VERDICT_EXPORT_H
#define TC_VERDICT_EXPORT_H

#include "base/json/json.h"
#include "base/json/out.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdint.h>

/* Objects and arrays inside of each other in a verdict; more is none of ours. */
#define TC_EXPORT_DEPTH_MAX 16

/* Where the records come from. */
struct tc_export_origin {
    struct tc_slice instance_id; /* service.instance.id; "" leaves it out */
    struct tc_slice version;     /* of the scope; "" leaves it out */
};

/* Begins a request as the document of j. */
void tc_export_begin(struct tc_json_out *j, const struct tc_export_origin *origin);
/*
 * Adds one verdict: `line` is its JSON, observed_ns when it was made. Nothing is added on failure:
 * TC_E_MALFORMED when it is no JSON object, TC_E_LIMIT when there is no room (the end of the
 * request still fits).
 */
TC_CHECKED tc_status tc_export_add(struct tc_json_out *j, struct tc_json_parser *parser,
                                   struct tc_slice line, int64_t observed_ns, struct tc_error *err);
void tc_export_end(struct tc_json_out *j);

#endif
