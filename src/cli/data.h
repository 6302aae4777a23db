/* SPDX-License-Identifier: Apache-2.0 */
/* The data_dir of a command, and the warehouse in it. What fails has been said. */
#ifndef TC_CLI_DATA_H
#define TC_CLI_DATA_H

#include "base/status.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>

#define TC_DATA_PATH_BYTES 4096
#define TC_DATA_DIR_HELP                                                              \
    "Where runs are kept. Default: $TRACECORE_DATA_DIR, else $STATE_DIRECTORY, else " \
    "$XDG_STATE_HOME/tracecore, else ~/.local/state/tracecore."

/* `given` may be NULL: the default. */
bool tc_data_dir_of(const char *command, const char *given, char out[TC_DATA_PATH_BYTES]);
/* How commands open the warehouse: the one that TRACECORE_WAREHOUSE names, else that of dir. What
 * is waited for is said. Borrows both. */
struct tc_warehouse_config tc_data_config(const char *command, const char *dir,
                                          enum tc_warehouse_mode mode);
/* Whether it is elsewhere: says that the command is for one in data_dir. */
bool tc_data_is_elsewhere(const char *command, const char *why);
/* Keeps daemons away from a data_dir, as long as the descriptor is open. what: "rebuild", whose
 * like may be at work instead. */
TC_CHECKED tc_status tc_data_lock(const char *dir, const char *what, int *out_fd,
                                  struct tc_error *err);
/* NULL when it cannot be opened, or is not there. */
struct tc_warehouse *tc_data_open(const char *command, const char *dir,
                                  enum tc_warehouse_mode mode);

#endif
