/* SPDX-License-Identifier: Apache-2.0 */
/* A file of the time zone database, and quiet hours in it. */
#include "alert/quiet.h"
#include "base/assert.h"
#include "base/time.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tc_zone zone;
    struct tc_quiet quiet;
    struct tc_error err = {0};
    struct tc_slice text = tc_slice_make((const char *)data, size);
    if (tc_zone_read(text, &zone, &err) == TC_OK) {
        for (int64_t year = 1970; year < 2200; year += 7) {
            int32_t offset_s =
                tc_zone_offset(&zone, (year - 1970) * 31556952 * TC_SECOND + TC_SECOND);
            TC_ASSERT(offset_s < 200 * 3600 && offset_s > -200 * 3600);
        }
    }
    if (tc_quiet_read(tc_slice_head(text, 1024), &quiet, &err) == TC_OK) {
        (void)tc_zone_fixed(TC_EMPTY, &zone);
        (void)tc_quiet_is(&quiet, &zone, 1772600000 * TC_SECOND);
    }
    return 0;
}
