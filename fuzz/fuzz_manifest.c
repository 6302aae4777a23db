/* SPDX-License-Identifier: Apache-2.0 */
/* A manifest that is read is written again as the same bytes; anything else is an error. */
#include "base/assert.h"
#include "run/manifest.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_manifest m;
    struct tc_error err;
    void *memory = NULL;
    char *text = NULL;
    size_t len = 0;
    struct tc_slice in = tc_slice_make((const char *)data, size);
    if (tc_manifest_read(in, &m, &memory, &err) == TC_OK) {
        TC_ASSERT(tc_manifest_write(&m, &text, &len, &err) == TC_OK);
        TC_ASSERT(tc_slice_eq(in, tc_slice_make(text, len)));
        free(text);
    }
    free(memory);
    return 0;
}
