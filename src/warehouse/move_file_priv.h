/* SPDX-License-Identifier: Apache-2.0 */
/* A file that was written where it could be takes its place, durable, whatever file system that is
 * on. */
#ifndef TC_WAREHOUSE_MOVE_FILE_PRIV_H
#define TC_WAREHOUSE_MOVE_FILE_PRIV_H

#include "base/status.h"

TC_CHECKED tc_status tc__move_file(const char *made, const char *path, struct tc_error *err);

#endif
