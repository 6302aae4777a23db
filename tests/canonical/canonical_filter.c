/* SPDX-License-Identifier: Apache-2.0 */
/* For the oracle: each line of standard input, a JSON document, in canonical form; a line that is
 * refused gives "! " and why. */
#include "base/json/canonical.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

int main(void)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t len = 0;
    while ((len = getline(&line, &cap, stdin)) > 0) {
        char *text = NULL;
        size_t text_len = 0;
        struct tc_error err = {0};
        struct tc_slice json = tc_slice_make(line, (size_t)len - (line[len - 1] == '\n'));
        if (tc_canonical_text(json, &text, &text_len, &err) == TC_OK) {
            (void)fwrite(text, 1, text_len, stdout);
            (void)putchar('\n');
        } else {
            (void)printf("! %s\n", err.message);
        }
        free(text);
    }
    free(line);
    return fflush(stdout) == 0 ? 0 : 1;
}
