/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a data directory is the daemon's alone: docs/operations.md has the rules and why. */
#ifndef TC_SERVER_DATA_DIR_RIGHTS_H
#define TC_SERVER_DATA_DIR_RIGHTS_H

#include "base/status.h"

/*
 * TC_E_USAGE, with the remedy, when others can write to the directory or to one in it, or when
 * there is a symbolic link in it. Objects and files that are named by their digest are not looked
 * at: their names say what they must hold. Reads only.
 */
TC_CHECKED tc_status tc_data_dir_check_rights(const char *dir, struct tc_error *err);

#endif
