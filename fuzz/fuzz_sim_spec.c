/* SPDX-License-Identifier: Apache-2.0 */
/* SPECs of the simulator: a plan or an error that says where, and every file of a plan is written.
 */
#include "base/assert.h"
#include "sim/sim.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static tc_status take(void *context, struct tc_slice bytes)
{
    size_t *total = context;
    *total += bytes.len;
    return TC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_sim_options options = {.nodes = 9,
                                     .gpus_per_node = 2,
                                     .minutes = TC_SIM_MINUTES_MIN,
                                     .seed = size,
                                     .start_ns = TC_SIM_START,
                                     .faults = tc_slice_make((const char *)data, size),
                                     .label = tc_slice_make((const char *)data, size)};
    struct tc_sim *sim = NULL;
    struct tc_error err = {0};
    if (tc_sim_create(&options, &sim, &err) != TC_OK) {
        TC_ASSERT(err.message[0] != '\0' && err.offset <= size);
        return 0;
    }
    size_t total = 0;
    for (size_t i = 0; i < tc_sim_file_count(sim); i++) {
        TC_ASSERT(tc_sim_file_write(sim, i, take, &total) == TC_OK);
    }
    TC_ASSERT(total > 0);
    tc_sim_destroy(sim);
    return 0;
}
