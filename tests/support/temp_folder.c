/* SPDX-License-Identifier: Apache-2.0 */
#include "support/temp_folder.h"

#include <stdio.h>
#include <stdlib.h>

bool tc_temp_folder(char *out_path, size_t size, const char *name)
{
    const char *base = getenv("TMPDIR");
    int len = snprintf(out_path, size, "%s/%s_XXXXXX", base == NULL ? "/tmp" : base, name);
    return len > 0 && (size_t)len < size && mkdtemp(out_path) != NULL;
}
