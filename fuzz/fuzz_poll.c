/* SPDX-License-Identifier: Apache-2.0 */
/* What sources read that ask others: positions and rows of Slurm's commands, addresses and reports
 * of NCCL's RAS service. The first byte says what the rest is. */
#include "base/assert.h"
#include "source/ncclras/priv.h"
#include "source/slurm/priv.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(struct tc_slice text, tc__row_hash hash)
{
    struct tc__rows r = {.stream = 'j'};
    struct tc_slice rows;
    struct tc_slice position = tc_slice_cut(text, '\n', &rows);
    if (tc__rows_restore(&r, TC_LIT("j0"), position) == TC_OK) {
        tc__rows_ready(&r);
        tc_status status = tc__rows_look(&r, TC_LIT("JobID|State"), rows, hash);
        TC_ASSERT(status != TC_OK || r.new_rows + r.lost <= r.now_count);
    }
    for (size_t i = 0; i < TC__ROWS_SHARDS; i++) {
        TC_ASSERT(tc_grow_slice(&r.bodies[i]).len <= TC__ROWS_BYTES);
    }
    tc__rows_fini(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_slice text = tc_slice_make((const char *)data, size);
    struct tc__ras_address at;
    struct tc__ras_report report;
    struct tc_error err;
    if (size == 0) {
        return 0;
    }
    text = tc_slice_from(text, 1);
    switch (data[0]) {
    case 'j':
        look(text, tc__slurm_job_hash);
        break;
    case 'n':
        look(text, tc__slurm_node_hash);
        break;
    case 'a':
        if (tc__ras_address_read(text, TC_LIT("here"), &at, &err) == TC_OK) {
            TC_ASSERT(at.host[0] != 0 && at.port[0] != 0);
        }
        break;
    default:
        (void)tc__ras_report_read(text, &report);
        break;
    }
    return 0;
}
