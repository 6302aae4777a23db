/* SPDX-License-Identifier: Apache-2.0 */
/* A folder for a test, in $TMPDIR: ./dev test has that in memory where it can. */
#ifndef TC_TESTS_TEMP_FOLDER_H
#define TC_TESTS_TEMP_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* Makes "<TMPDIR or /tmp>/<name>_XXXXXX"; false when it cannot, or when the path does not fit. */
bool tc_temp_folder(char *out_path, size_t size, const char *name);

#endif
