/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore run read`: what the readers make of result files, without importing them. */
#include "base/format.h"
#include "cli/output/say.h"
#include "cli/run/run.h"
#include "intake/input.h"
#include "result/json.h"
#include "result/requests.h"
#include "result/result.h"

#include <stdio.h>
#include <sys/stat.h>

#define LINE_MAX_BYTES 512

static void put_line(struct tc_grow *out, struct tc_slice text)
{
    /* What comes from the file must not move the cursor: a byte as \xNN at worst. */
    if (tc_grow_room(out, text.len * 4 + 1)) {
        (void)tc_format(&out->buf, "{}\n", tc_as_printable(text));
    }
}

static void put_cells(struct tc_grow *out, enum tc_table table, const struct tc_rows *rows,
                      size_t row)
{
    const struct tc_table_info *info = tc_table_info(table);
    for (size_t i = 0; i < info->column_count; i++) {
        const struct tc_column *column = &info->columns[i];
        char line[LINE_MAX_BYTES];
        if (tc_rows_is_null(rows, i, row)) {
            continue;
        }
        if (column->type == TC_COLUMN_TEXT) {
            (void)snprintf(line, sizeof line, "    %-28s %.*s", column->name,
                           TC_FMT(tc_rows_get_text(rows, i, row)));
        } else if (column->type == TC_COLUMN_REAL) {
            (void)snprintf(line, sizeof line, "    %-28s %.10g %s", column->name,
                           tc_rows_get_real(rows, i, row), column->unit);
        } else {
            (void)snprintf(line, sizeof line, "    %-28s %lld %s", column->name,
                           (long long)tc_rows_get_int(rows, i, row), column->unit);
        }
        put_line(out, tc_slice_trim(tc_slice_cstr(line)).len > 0 ? tc_slice_cstr(line) : TC_EMPTY);
    }
}

static void put_text(struct tc_grow *out, const char *path, const struct tc_result *r)
{
    char line[LINE_MAX_BYTES];
    (void)snprintf(line, sizeof line, "%s: %s %.*s", path, tc_result_reader(r)->name,
                   TC_FMT(tc_result_version(r)));
    put_line(out, tc_slice_cstr(line));
    for (size_t i = 0; i < tc_result_rows(r); i++) {
        const struct tc_result_row *row = tc_result_row_at(r, i);
        (void)snprintf(line, sizeof line, "  %s %.*s", tc_table_info(row->table)->name,
                       TC_FMT(row->where));
        put_line(out, tc_slice_cstr(line));
        put_cells(out, row->table, row->rows, row->at);
    }
    if (tc_result_requests(r) > 0) {
        (void)snprintf(line, sizeof line, "  serving_request_fact: %llu requests",
                       (unsigned long long)tc_result_requests(r));
        put_line(out, tc_slice_cstr(line));
    }
    for (int table = 0; table < TC_TABLE_COUNT; table++) {
        const struct tc_rows *facts = tc_result_facts(r, (enum tc_table)table);
        if (facts != NULL) {
            put_cells(out, (enum tc_table)table, facts, 0);
        }
    }
    uint64_t left_out = 0;
    for (size_t i = 0; i < tc_result_notes(r, &left_out); i++) {
        const struct tc_result_note *note = tc_result_note_at(r, i);
        (void)snprintf(line, sizeof line, "  %s: %.*s%s%.*s: %.*s",
                       note->contradiction ? "contradiction" : "note", TC_FMT(note->where),
                       note->where.len > 0 && note->field.len > 0 ? " " : "", TC_FMT(note->field),
                       TC_FMT(note->text));
        put_line(out, tc_slice_cstr(line));
    }
    if (left_out > 0) {
        (void)snprintf(line, sizeof line, "  and %llu notes more", (unsigned long long)left_out);
        put_line(out, tc_slice_cstr(line));
    }
}

static bool contradicts(const struct tc_result *r)
{
    for (size_t i = 0; i < tc_result_notes(r, NULL); i++) {
        if (tc_result_note_at(r, i)->contradiction) {
            return true;
        }
    }
    return false;
}

static int read_one(const struct tc_run_args *args, const struct tc_reader *reader,
                    const char *path, struct tc_grow *out)
{
    struct tc_input in;
    struct tc_error err = {.status = TC_OK};
    size_t copied = 0;
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        tc_say_plain("%s: is a directory; give the files in it (`tracecore run add` takes one)",
                     path);
        return TC_EXIT_BAD;
    }
    if (tc_input_open(&in, path, &copied, &err) != TC_OK) {
        tc_say_plain("%s: %s", path, err.message);
        return TC_EXIT_BAD;
    }
    struct tc_result *r = NULL;
    int status = TC_EXIT_OK;
    if (tc_result_read(tc_slice_cstr(path), in.bytes, reader, &r, &err) != TC_OK) {
        tc_say_plain("%s: %s", path, err.message);
        status = TC_EXIT_BAD;
    } else {
        if (args->json) {
            tc_result_json(out, tc_slice_cstr(path), r);
        } else {
            put_text(out, path, r);
        }
        status = contradicts(r) ? TC_EXIT_FOUND : TC_EXIT_OK;
    }
    tc_result_destroy(r);
    tc_input_close(&in);
    return status;
}

bool tc_run_reader(const struct tc_run_args *args, const struct tc_reader **out)
{
    char names[LINE_MAX_BYTES];
    struct tc_buf b = tc_buf_make(names, sizeof names);
    size_t count = 0;
    *out = args->format == NULL ? NULL : tc_reader_by_name(tc_slice_cstr(args->format));
    if (args->format == NULL || *out != NULL) {
        return true;
    }
    const struct tc_reader *const *readers = tc_readers(&count);
    for (size_t n = 0; n < count; n++) {
        (void)tc_format(&b, "{}{}", n > 0 ? ", " : "", readers[n]->name);
    }
    tc_say("run", "--format: no reader is called \"%s\"; there are %.*s", args->format,
           TC_FMT(tc_buf_slice(&b)));
    return false;
}

int tc_run_read(const struct tc_run_args *args)
{
    const struct tc_reader *reader = NULL;
    if (!tc_run_reader(args, &reader)) {
        return TC_EXIT_BAD;
    }
    struct tc_grow out = {0};
    int status = TC_EXIT_OK;
    tc_input_guard();
    for (size_t i = 0; i < args->word_count; i++) {
        int one = read_one(args, reader, args->words[i], &out);
        status = one > status ? one : status;
    }
    return tc_output_grown("run", &out, status);
}
