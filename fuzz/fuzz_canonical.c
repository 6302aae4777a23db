/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes give canonical JSON or an error that says why; the canonical form is its own canonical
 * form, has no blank outside strings, and is not much longer than the text.
 */
#include "base/assert.h"
#include "base/json/canonical.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_error err = {0};
    char *text = NULL;
    size_t len = 0;
    if (tc_canonical_text(tc_slice_make((const char *)data, size), &text, &len, &err) != TC_OK) {
        TC_ASSERT(text == NULL && err.message[0] != '\0');
        return 0;
    }
    TC_ASSERT(len <= TC_CANONICAL_GROWTH * size);
    char *again = NULL;
    size_t again_len = 0;
    TC_ASSERT(tc_canonical_text(tc_slice_make(text, len), &again, &again_len, &err) == TC_OK);
    TC_ASSERT(again_len == len && memcmp(again, text, len) == 0);
    free(again);
    free(text);
    return 0;
}
