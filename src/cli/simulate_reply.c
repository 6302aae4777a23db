/* SPDX-License-Identifier: Apache-2.0 */
/* What a receiver says about the records that it did not take, in either encoding. */
#include "base/json.h"
#include "cli/simulate_otlp.h"

static bool read_varint(struct tc_slice *io, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && io->len > 0; shift += 7) {
        unsigned char byte = (unsigned char)io->ptr[0];
        *io = tc_slice_from(*io, 1);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

/* The field of that number: a varint, or a length with *out_bytes. */
static bool find_field(struct tc_slice message, uint64_t number, uint64_t *out,
                       struct tc_slice *out_bytes)
{
    while (message.len > 0) {
        uint64_t tag = 0;
        uint64_t value = 0;
        if (!read_varint(&message, &tag) || !read_varint(&message, &value) ||
            ((tag & 7) != 0 && (tag & 7) != 2) || ((tag & 7) == 2 && value > message.len)) {
            return false;
        }
        if (tag >> 3 == number) {
            *out = value;
            *out_bytes = (tag & 7) == 2 ? tc_slice_head(message, (size_t)value) : TC_EMPTY;
            return true;
        }
        message = (tag & 7) == 2 ? tc_slice_from(message, (size_t)value) : message;
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
