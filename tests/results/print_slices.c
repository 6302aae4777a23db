/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: print_slices FILE TAKEN_NS WINDOW_NS [RUN_ID]
 * Prints the slices of a telemetry file, one JSON object a line: the counts and notes first. For
 * read_slices.py, which reads the same file by itself.
 */
#include "base/buf.h"
#include "telemetry/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES ((size_t)64 << 10)

static char line[LINE_BYTES];

static void put_cell(struct tc_buf *b, const struct tc_rows *rows, size_t column, size_t row)
{
    const struct tc_rows_column *c = &rows->columns[column];
    switch (c->type) {
    case TC_COLUMN_TEXT:
        tc_buf_json(b, tc_rows_get_text(rows, column, row));
        break;
    case TC_COLUMN_REAL: {
        char text[40];
        int len = snprintf(text, sizeof text, "%.17g", c->cells[row].real);
        tc_buf_put(b, text, (size_t)len);
        break;
    }
    case TC_COLUMN_INT:
    case TC_COLUMN_BOOL:
    case TC_COLUMN_TIME:
        tc_buf_i64(b, c->cells[row].integer);
        break;
    }
}

static tc_status take(void *context, const struct tc_rows *rows)
{
    (void)context;
    for (size_t row = 0; row < rows->count; row++) {
        struct tc_buf b = tc_buf_make(line, sizeof line);
        bool first = true;
        tc_buf_char(&b, '{');
        for (size_t column = 0; column < rows->column_count; column++) {
            if (tc_rows_is_null(rows, column, row)) {
                continue;
            }
            if (!first) {
                tc_buf_char(&b, ',');
            }
            first = false;
            tc_buf_json(&b, tc_slice_cstr(rows->columns[column].name));
            tc_buf_char(&b, ':');
            put_cell(&b, rows, column, row);
        }
        tc_buf_char(&b, '}');
        printf("%.*s\n", (int)b.len, line);
    }
    return TC_OK;
}

static void note(void *context, struct tc_slice where, struct tc_slice field, struct tc_slice text)
{
    struct tc_buf b = tc_buf_make(line, sizeof line);
    (void)context;
    (void)where;
    tc_buf_json(&b, text);
    printf("{\"note\":\"%.*s\",\"text\":%.*s}\n", TC_FMT(field), (int)b.len, line);
}

static char *read_all(const char *path, size_t *out_len)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL || fseek(f, 0, SEEK_END) != 0) {
        return NULL;
    }
    long size = ftell(f);
    char *bytes = size < 0 ? NULL : malloc((size_t)size + 1);
    rewind(f);
    *out_len = bytes == NULL ? 0 : fread(bytes, 1, (size_t)size, f);
    (void)fclose(f);
    return bytes;
}

int main(int argc, char **argv)
{
    size_t len = 0;
    char *bytes = argc >= 4 ? read_all(argv[1], &len) : NULL;
    if (bytes == NULL) {
        fputs("usage: print_slices FILE TAKEN_NS WINDOW_NS [RUN_ID]\n", stderr);
        return 2;
    }
    struct tc_telemetry_input in = {.name = tc_slice_cstr(argv[1]),
                                    .bytes = tc_slice_make(bytes, len),
                                    .taken_ns = strtoll(argv[2], NULL, 10),
                                    .window_ns = strtoll(argv[3], NULL, 10),
                                    .run_id = argc > 4 ? tc_slice_cstr(argv[4]) : TC_EMPTY};
    struct tc_telemetry_out out = {.take = take, .note = note};
    struct tc_telemetry_counts counts = {0};
    struct tc_error err = {0};
    tc_status status = tc_telemetry_read(&in, &out, &counts, &err);
    free(bytes);
    if (status != TC_OK) {
        fprintf(stderr, "%s: %s\n", tc_status_text(status), err.message);
        return 1;
    }
    printf("{\"form\":\"%s\",\"samples\":%" PRIu64 ",\"rows\":%" PRIu64 ",\"series\":%" PRIu64
           ",\"undated\":%" PRIu64 ",\"not_finite\":%" PRIu64 ",\"bad\":%" PRIu64
           ",\"duplicates\":%" PRIu64 ",\"other_run\":%" PRIu64 "}\n",
           counts.form, counts.samples, counts.rows, counts.series, counts.undated,
           counts.not_finite, counts.bad, counts.duplicates, counts.other_run);
    return 0;
}
