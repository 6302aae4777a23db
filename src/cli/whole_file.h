/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is there as a whole under its name, or as it was before. */
#ifndef TC_CLI_WHOLE_FILE_H
#define TC_CLI_WHOLE_FILE_H

#include "base/slice.h"
#include "base/status.h"

/*
 * Writes a file beside it, makes it durable and renames it; what was there before stays until then,
 * and whenever that fails. A link is followed. What is no regular file (a terminal, a pipe,
 * /dev/null) is written to directly.
 */
TC_CHECKED tc_status tc_whole_file_write(const char *path, struct tc_slice bytes,
                                         struct tc_error *err);

#endif
