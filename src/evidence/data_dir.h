/* SPDX-License-Identifier: Apache-2.0 */
/* Where the daemon keeps its data when nobody says, and so where its evidence is looked for. */
#ifndef TC_EVIDENCE_DATA_DIR_H
#define TC_EVIDENCE_DATA_DIR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * $TRACECORE_DATA_DIR, else $STATE_DIRECTORY (systemd's; its first directory where it has several),
 * else $XDG_STATE_HOME/tracecore, else ~/.local/state/tracecore. False when none of them is set or
 * it does not fit.
 */
bool tc_data_dir_default(char *out, size_t size);

#endif
