/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs that a machine's tools wrote, one after another: they are cut at lines of dashes. */
#include "base/assert.h"
#include "base/time.h"
#include "probe/probe.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tc_probe probe;
    static char json[TC_PROBE_JSON_MAX];
    struct tc_slice rest = tc_slice_make((const char *)data, size);
    tc_probe_init(&probe);
    while (rest.len > 0) {
        size_t at = tc_slice_find(rest, TC_LIT("\n--8<--\n"));
        (void)tc_probe_take(&probe, tc_slice_head(rest, at));
        rest = at == TC_NPOS ? TC_EMPTY : tc_slice_from(rest, at + 8);
    }
    struct tc_buf b = tc_buf_make(json, sizeof json);
    tc_probe_json(&probe, NULL, 0, TC_TIME_NONE, &b);
    TC_ASSERT(!b.overflowed && tc_slice_contains(tc_buf_slice(&b), TC_LIT("\"tracecore_probe\"")));
    return 0;
}
