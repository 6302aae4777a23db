/* SPDX-License-Identifier: Apache-2.0 */
/* The place of the engine that asks a daemon: nobody answers yet. */
#include "warehouse/engine_priv.h"

static tc_status open_daemon(const struct tc_warehouse_config *config, void **out,
                             struct tc_error *err)
{
    (void)out;
    return tc_fail(err, TC_E_NOTFOUND, 0, "no daemon runs on %s", config->data_dir);
}

const struct tc__engine tc__engine_daemon = {.name = "daemon", .open = open_daemon};
