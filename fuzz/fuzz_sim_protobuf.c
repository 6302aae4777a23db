/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an element of OTLP's JSON: refused, or lengths that add up. */
#include "base/assert.h"
#include "base/json/json.h"
#include "sim/sim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tc_json_parser *p;
    static char room[1 << 17];
    if (p == NULL) {
        p = tc_json_parser_create();
    }
    struct tc_slice json = tc_slice_make((const char *)data, size);
    for (int signal = TC_SIM_LOGS; signal <= TC_SIM_METRICS; signal++) {
        struct tc_error err = {0};
        struct tc_buf b = tc_buf_make(room, signal == TC_SIM_LOGS ? sizeof room : size % 64);
        tc_status status = tc_sim_protobuf(&b, p, (enum tc_sim_signal)signal, json, &err);
        if (status != TC_OK || b.overflowed) {
            continue;
        }
        /* One field with a length: all that follows. */
        size_t len = 0;
        size_t at = 1;
        TC_ASSERT(b.len >= 2 && room[0] == 0x0a);
        for (unsigned shift = 0;; shift += 7) {
            len |= (size_t)((unsigned char)room[at] & 0x7f) << shift;
            if (((unsigned char)room[at++] & 0x80) == 0) {
                break;
            }
        }
        TC_ASSERT(at + len == b.len);
    }
    return 0;
}
