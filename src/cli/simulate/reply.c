/* SPDX-License-Identifier: Apache-2.0 */
/* What a receiver says about the records that it did not take, in either encoding. */
#include "base/json/json.h"
#include "base/pb.h"
#include "cli/simulate/otlp.h"

/* The field of that number: a varint, or a length with *out_bytes. */
static bool find_field(struct tc_slice message, uint32_t number, uint64_t *out,
                       struct tc_slice *out_bytes)
{
    struct tc_pb p = tc_pb_make(message);
    while (p.at < p.end) {
        uint32_t found = 0;
        unsigned wire = 0;
        size_t len = 0;
        if (!tc_pb_tag(&p, &found, &wire)) {
            return false;
        }
        if (found != number || (wire != TC_PB_VARINT && wire != TC_PB_LENGTH)) {
            if (!tc_pb_skip(&p, wire)) {
                return false;
            }
            continue;
        }
        if (wire == TC_PB_VARINT) {
            *out_bytes = TC_EMPTY;
            return tc_pb_varint(&p, out);
        }
        if (!tc_pb_length(&p, &len)) {
            return false;
        }
        *out = len;
        *out_bytes = tc_slice_make((const char *)p.at, len);
        return true;
    }
    return false;
}

uint64_t tc_simulate_rejected(struct tc_slice body, struct tc_json_parser *parser,
                              struct tc_slice *out_why)
{
    uint64_t rejected = 0;
    uint64_t len = 0;
    struct tc_slice partial = TC_EMPTY;
    struct tc_slice none;
    *out_why = TC_EMPTY;
    if (parser == NULL) {
        (void)(find_field(body, 1, &len, &partial) && find_field(partial, 1, &rejected, &none));
        (void)find_field(partial, 2, &len, out_why);
        return rejected;
    }
    struct tc_json root;
    struct tc_json v;
    if (body.len == 0 || tc_json_parse(parser, body, &root, NULL) != TC_OK ||
        !tc_json_get(root, TC_LIT("partialSuccess"), &v)) {
        return 0;
    }
    int64_t logs = tc_json_get_int(v, TC_LIT("rejectedLogRecords"), 0);
    int64_t points = tc_json_get_int(v, TC_LIT("rejectedDataPoints"), 0);
    *out_why = tc_json_get_string(v, TC_LIT("errorMessage"));
    return (uint64_t)(logs > 0 ? logs : points > 0 ? points : 0);
}
