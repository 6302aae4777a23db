/* SPDX-License-Identifier: Apache-2.0 */
/* A directory with all that is in it. */
#ifndef TC_BASE_OS_TREE_H
#define TC_BASE_OS_TREE_H

#include "base/status.h"

/* Removes it, at most TC_TREE_DEPTH_MAX directories deep; one that is not there is fine. Follows no
 * link. TC_E_IO: something in it cannot be removed, and err names it. */
#define TC_TREE_DEPTH_MAX 4
TC_CHECKED tc_status tc_tree_remove(const char *path, struct tc_error *err);

#endif
