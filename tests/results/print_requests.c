/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: print_requests FILE
 * Prints the requests of a result file, one JSON object a line, as an import reads them. For
 * read_requests.py, which reads the same file by itself.
 */
#include "base/json/out.h"
#include "result/requests.h"

#include <stdio.h>
#include <stdlib.h>

#define BYTES_MAX ((size_t)64 << 20)

static void put_cell(struct tc_json_out *j, const struct tc_rows *rows, size_t column, size_t row)
{
    tc_json_key_plain(j, tc_slice_cstr(rows->columns[column].name));
    switch (rows->columns[column].type) {
    case TC_COLUMN_TEXT:
        tc_json_add_str(j, tc_rows_get_text(rows, column, row));
        break;
    case TC_COLUMN_REAL:
        tc_json_add_f64(j, tc_rows_get_real(rows, column, row));
        break;
    default:
        tc_json_add_i64(j, tc_rows_get_int(rows, column, row));
        break;
    }
}

static tc_status print(void *context, size_t serving, struct tc_rows *rows, struct tc_error *err)
{
    struct tc_grow out = {0};
    (void)context;
    (void)serving;
    struct tc_json_out j = tc_json_out_grow(&out);
    for (size_t row = 0; row < rows->count; row++) {
        tc_json_add_object(&j);
        for (size_t i = 0; i < rows->column_count; i++) {
            if (!tc_rows_is_null(rows, i, row)) {
                put_cell(&j, rows, i, row);
            }
        }
        (void)tc_json_end_line(&j);
    }
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
