/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: print_requests FILE
 * Prints the requests of a result file, one JSON object a line, as an import reads them. For
 * read_requests.py, which reads the same file by itself.
 */
#include "result/json.h"
#include "result/requests.h"

#include <stdio.h>
#include <stdlib.h>

#define BYTES_MAX ((size_t)64 << 20)

static tc_status print(void *context, size_t serving, struct tc_rows *rows, struct tc_error *err)
{
    struct tc_grow out = {0};
    (void)context;
    (void)serving;
    tc_result_requests_json(&out, rows);
    struct tc_slice text = tc_grow_slice(&out);
    bool ok = !out.failed && fwrite(text.ptr, 1, text.len, stdout) == text.len;
    tc_grow_fini(&out);
    return ok ? TC_OK : tc_fail(err, TC_E_IO, 0, "cannot print");
}

int main(int argc, char **argv)
{
    struct tc_error err = {.message = ""};
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    char *bytes = malloc(BYTES_MAX);
    if (file == NULL || bytes == NULL) {
        (void)fprintf(stderr, "usage: print_requests FILE\n");
        free(bytes);
        return 2;
    }
    size_t len = fread(bytes, 1, BYTES_MAX, file);
    (void)fclose(file);
    tc_status status = tc_result_read_requests(tc_slice_cstr(argv[1]), tc_slice_make(bytes, len),
                                               NULL, print, NULL, &err);
    free(bytes);
    if (status != TC_OK) {
        (void)fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    return 0;
}
