/* SPDX-License-Identifier: Apache-2.0 */
#include "result/result.h"

#include "base/table/grow.h"
#include "base/time.h"
#include "result/result_priv.h"

#include <math.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)16 << 10)
/* A text that is made: a pointer, a point, a note. Longer ones are cut. */
#define MADE_TEXT_MAX 1024

static void fail(struct tc_result *r, tc_status status)
{
    if (r->status == TC_OK) {
        r->status = status;
    }
}

struct tc_result *tc__result_create(const struct tc_reader *reader)
{
    struct tc_result *r = calloc(1, sizeof *r);
    if (r != NULL) {
        r->reader = reader;
    }
    return r;
}

void tc_result_destroy(struct tc_result *r)
{
    if (r == NULL) {
        return;
    }
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        tc_rows_destroy(r->tables[i]);
    }
    while (r->blocks != NULL) {
        struct tc_result_block *next = r->blocks->next;
        free(r->blocks);
        r->blocks = next;
    }
    tc_rows_destroy(r->requests);
    free(r->rows);
    free(r->notes);
    free(r->definitions);
    free(r);
}

tc_status tc_result_status(const struct tc_result *r, struct tc_error *err)
{
    if (r->status == TC_E_LIMIT) {
        return tc_fail(err, r->status, 0,
                       "too much in one file: the limits are %zu rows, %zu MB of text and %d "
                       "definitions; split it",
                       TC_RESULT_ROWS_MAX, TC_RESULT_TEXT_MAX >> 20, TC_RESULT_DEFINITIONS_MAX);
    }
    if (r->status != TC_OK) {
        return tc_fail(err, r->status, 0, "no memory for the rows of the file");
    }
    return TC_OK;
}

/* ---- memory ---- */

void *tc__result_take(struct tc_result *r, size_t bytes, size_t align)
{
    struct tc_result_block *b = r->blocks;
    size_t at = b == NULL ? 0 : (b->used + align - 1) / align * align;
    if (b != NULL && at <= b->size && bytes <= b->size - at) {
        b->used = at + bytes;
        return b->bytes + at;
    }
    size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    if (size > TC_RESULT_TEXT_MAX - r->text_bytes) {
        fail(r, TC_E_LIMIT);
        return NULL;
    }
    b = malloc(sizeof *b + size);
    if (b == NULL) {
        fail(r, TC_E_NOMEM);
        return NULL;
    }
    r->text_bytes += size;
    *b = (struct tc_result_block){.next = r->blocks, .used = bytes, .size = size};
    r->blocks = b;
    return b->bytes;
}

struct tc_slice tc_result_keep(struct tc_result *r, struct tc_slice text)
{
    if (text.len == 0) {
        return TC_EMPTY;
    }
    char *copy = tc__result_take(r, text.len, 1);
    if (copy == NULL) {
        return TC_EMPTY;
    }
    memcpy(copy, text.ptr, text.len);
    return tc_slice_make(copy, text.len);
}

static struct tc_slice keepf(struct tc_result *r, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static struct tc_slice keepf(struct tc_result *r, const char *format, va_list args)
{
    char text[MADE_TEXT_MAX];
    int len = vsnprintf(text, sizeof text, format, args);
    if (len <= 0) {
        return TC_EMPTY;
    }
    size_t used = (size_t)len < sizeof text ? (size_t)len : sizeof text - 1;
    return tc_result_keep(r, tc_slice_make(text, used));
}

const char *tc_result_cstr(struct tc_result *r, struct tc_slice text)
{
    char *copy = tc__result_take(r, text.len + 1, 1);
    if (copy == NULL) {
        return "";
    }
    if (text.len > 0) {
        memcpy(copy, text.ptr, text.len);
    }
    copy[text.len] = '\0';
    return copy;
}

/* ---- rows ---- */

/* The rows of a table, made with the first one. NULL without memory. */
static struct tc_rows *rows_of(struct tc_result *r, enum tc_table table)
{
    const struct tc_table_info *info = tc_table_info(table);
    if (r->tables[table] == NULL) {
        r->tables[table] = tc_rows_create_growing(info->columns, info->column_count,
                                                  TC_RESULT_ROWS_MAX, TC_RESULT_TEXT_MAX);
    }
    return r->tables[table];
}

/* An unused row, or NULL. */
static struct tc_result_row *new_row(struct tc_result *r, enum tc_table table)
{
    tc_status status = tc_grow_items(r->rows, r->row_cap, r->row_count + 1, TC_RESULT_ROWS_MAX);
    struct tc_rows *rows = status == TC_OK ? rows_of(r, table) : NULL;
    if (rows == NULL || !tc_rows_add(rows)) {
        fail(r, status == TC_OK ? TC_E_NOMEM : status);
        return NULL;
    }
    size_t bytes = rows->column_count * sizeof(struct tc_definition *);
    struct tc_result_row *row = tc__result_take(r, sizeof *row, alignof(struct tc_result_row));
    const struct tc_definition **definitions =
        tc__result_take(r, bytes, alignof(struct tc_definition *));
    if (row == NULL || definitions == NULL) {
        return NULL;
    }
    memset(definitions, 0, bytes);
    *row = (struct tc_result_row){.result = r,
                                  .table = table,
                                  .rows = rows,
                                  .at = rows->count - 1,
                                  .definitions = definitions};
    r->rows[r->row_count++] = row;
    return row;
}

#define COLUMNS(table)                                                                  \
    {                                                                                   \
        TC_##table##_TOOL, TC_##table##_TOOL_VERSION, TC_##table##_SOURCE_POINTER,      \
            TC_##table##_SOURCE_DIGEST, TC_##table##_DEFINITIONS, TC_##table##_STARTED, \
            TC_##table##_ENDED                                                          \
    }

const struct tc_result_columns *tc_result_columns(enum tc_table table)
{
    static const struct tc_result_columns COLUMNS_OF[TC_TABLE_COUNT] = {
        [TC_TABLE_SERVING] = COLUMNS(SERVING),
        [TC_TABLE_TRAINING] = COLUMNS(TRAINING),
        [TC_TABLE_SLICE] = {.tool = TC_SLICE_FAMILY,
                            .digest = TC_SLICE_SOURCE_DIGEST,
                            .started = TC_SLICE_START,
                            .ended = TC_SLICE_END},
    };
    return &COLUMNS_OF[table];
}

/* The cell of a row that is written next; false when there is no row. */
static bool seek(struct tc_result_row *row, size_t column, const struct tc_definition *definition)
{
    if (row == NULL) {
        return false;
    }
    tc_rows_seek(row->rows, row->at);
    row->definitions[column] = definition;
    return true;
}

void tc_result_text(struct tc_result_row *row, size_t column, struct tc_slice value)
{
    if (value.len > 0 && seek(row, column, NULL)) {
        tc_status status = tc_rows_text(row->rows, column, value);
        if (status != TC_OK) {
            fail(row->result, status);
        }
    }
}

void tc_result_textf(struct tc_result_row *row, size_t column, const char *format, ...)
{
    if (row != NULL) {
        va_list args;
        va_start(args, format);
        tc_result_text(row, column, keepf(row->result, format, args));
        va_end(args);
    }
}

void tc_result_real(struct tc_result_row *row, size_t column, double value,
                    const struct tc_definition *definition)
{
    if (isfinite(value) && seek(row, column, definition)) {
        tc_rows_real(row->rows, column, value);
    }
}

void tc_result_int(struct tc_result_row *row, size_t column, int64_t value,
                   const struct tc_definition *definition)
{
    if (seek(row, column, definition)) {
        tc_rows_int(row->rows, column, value);
    }
}

void tc_result_time(struct tc_result_row *row, size_t column, int64_t ns)
{
    if (ns != TC_TIME_NONE) {
        tc_result_int(row, column, ns / 1000, NULL);
    }
}

void tc_result_clear(struct tc_result_row *row, size_t column)
{
    if (seek(row, column, NULL)) {
        tc_rows_null(row->rows, column);
    }
}

struct tc_result_row *tc_result_add(struct tc_result *r, enum tc_table table, const char *where,
                                    ...)
{
    struct tc_result_row *row = new_row(r, table);
    if (row == NULL) {
        return NULL;
    }
    va_list args;
    va_start(args, where);
    row->where = keepf(r, where, args);
    va_end(args);
    const struct tc_result_columns *columns = tc_result_columns(table);
    if (columns->tool != 0) {
        tc_result_text(row, columns->tool, tc_slice_cstr(r->reader->name));
    }
    if (columns->pointer != 0) {
        tc_result_text(row, columns->pointer, row->where);
    }
    return row;
}

/* ---- definitions ---- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* The slot of a field: its own, or the empty one where it belongs. */
static size_t definition_slot(const struct tc_result *r, const char *field, const char *note)
{
    size_t at = (size_t)tc_slice_hash(tc_slice_cstr(field), 0) % TC_RESULT_DEFINITION_SLOTS;
    while (r->definitions[at] != NULL && !(same_text(r->definitions[at]->field, field) &&
                                           same_text(r->definitions[at]->note, note))) {
        at = (at + 1) % TC_RESULT_DEFINITION_SLOTS;
    }
    return at;
}

const struct tc_definition *tc_result_define(struct tc_result *r, const char *field,
                                             const char *measures, const char *source_unit,
                                             const char *unit, const char *note)
{
    if (r->definitions == NULL) {
        r->definitions = calloc(TC_RESULT_DEFINITION_SLOTS, sizeof(struct tc_definition *));
        if (r->definitions == NULL) {
            fail(r, TC_E_NOMEM);
            return NULL;
        }
    }
    size_t slot = definition_slot(r, field, note);
    if (r->definitions[slot] != NULL) {
        return r->definitions[slot];
    }
    if (r->definition_count == TC_RESULT_DEFINITIONS_MAX) {
        fail(r, TC_E_LIMIT);
        return NULL;
    }
    struct tc_definition *d = tc__result_take(r, sizeof *d, alignof(struct tc_definition));
    if (d == NULL) {
        return NULL;
    }
    *d = (struct tc_definition){
        .field = tc_result_cstr(r, tc_slice_cstr(field)),
        .measures = tc_result_cstr(r, tc_slice_cstr(measures)),
        .source_unit = tc_result_cstr(r, tc_slice_cstr(source_unit)),
        .unit = tc_result_cstr(r, tc_slice_cstr(unit)),
        .note = note == NULL ? NULL : tc_result_cstr(r, tc_slice_cstr(note)),
    };
    r->definitions[slot] = d;
    r->definition_count++;
    return d;
}

/* ---- facts and notes ---- */

static void write_line(struct tc_buf *b, const struct tc_arg *arg)
{
    (void)tc_format(b, "line:{}", arg->natural);
}

struct tc_arg tc_as_line(size_t line)
{
    return (struct tc_arg){.write = write_line, .natural = line};
}

void tc_result_add_note(struct tc_result *r, bool contradiction, struct tc_arg where,
                        const char *field, const char *format, ...)
{
    if (r->notes == NULL) {
        r->notes = calloc(TC_RESULT_NOTES_MAX, sizeof *r->notes);
        if (r->notes == NULL) {
            fail(r, TC_E_NOMEM);
            return;
        }
    }
    size_t at = r->note_count;
    if (at == TC_RESULT_NOTES_MAX) {
        r->notes_left_out++;
        /* A contradiction is never what is left out as long as something else could be. */
        while (at > 0 && (at == TC_RESULT_NOTES_MAX || r->notes[at].contradiction)) {
            at--;
        }
        if (!contradiction || r->notes[at].contradiction) {
            return;
        }
    } else {
        r->note_count++;
    }
    char place[MADE_TEXT_MAX];
    struct tc_buf b = tc_buf_make(place, sizeof place);
    va_list args;
    va_start(args, format);
    r->notes[at] = (struct tc_result_note){
        .where = tc_result_keep(r, tc_format(&b, "{}", where)),
        .field = tc_result_keep(r, tc_slice_cstr(field)),
        .text = keepf(r, format, args),
        .contradiction = contradiction,
    };
    va_end(args);
}

/* The one row of facts of a table, to be written; NULL without memory. */
static struct tc_rows *facts_of(struct tc_result *r, enum tc_table table)
{
    struct tc_rows *facts = rows_of(r, table);
    if (facts == NULL || (facts->count == 0 && !tc_rows_add(facts))) {
        fail(r, TC_E_NOMEM);
        return NULL;
    }
    return facts;
}

void tc_result_fact_text(struct tc_result *r, enum tc_table table, size_t column,
                         struct tc_slice value)
{
    /* Tools write N/A for what they do not know. */
    bool known = value.len > 0 && !tc_slice_eq_nocase(value, TC_LIT("N/A"));
    struct tc_rows *facts = known ? facts_of(r, table) : NULL;
    if (facts == NULL) {
        return;
    }
    if (tc_rows_is_null(facts, column, 0)) {
        tc_status status = tc_rows_text(facts, column, value);
        if (status != TC_OK) {
            fail(r, status);
        }
        return;
    }
    struct tc_slice kept = tc_rows_get_text(facts, column, 0);
    if (!tc_slice_eq(kept, value) && !r->differs[table][column]) {
        r->differs[table][column] = true;
        tc_result_note(r, false, "", tc_table_info(table)->columns[column].name,
                       "two values: %.*s is kept, %.*s is not", TC_FMT(kept), TC_FMT(value));
    }
}

void tc__result_set_failed(struct tc_result *r)
{
    struct tc_rows *facts = facts_of(r, TC_TABLE_RUN);
    tc_status status = facts == NULL ? TC_OK : tc_rows_text(facts, TC_RUN_STATUS, TC_LIT("failed"));
    if (status != TC_OK) {
        fail(r, status);
    }
}

void tc_result_fact_int(struct tc_result *r, enum tc_table table, size_t column, int64_t value)
{
    struct tc_rows *facts = facts_of(r, table);
    if (facts == NULL) {
        return;
    }
    if (tc_rows_is_null(facts, column, 0)) {
        tc_rows_int(facts, column, value);
    } else if (tc_rows_get_int(facts, column, 0) != value && !r->differs[table][column]) {
        r->differs[table][column] = true;
        tc_result_note(r, false, "", tc_table_info(table)->columns[column].name,
                       "two values: %lld is kept, %lld is not",
                       (long long)tc_rows_get_int(facts, column, 0), (long long)value);
    }
}

void tc_result_fact_time(struct tc_result *r, enum tc_table table, size_t column, int64_t ns)
{
    struct tc_rows *facts = ns == TC_TIME_NONE ? NULL : facts_of(r, table);
    if (facts == NULL) {
        return;
    }
    int64_t us = ns / 1000;
    int64_t kept = tc_rows_get_int(facts, column, 0);
    bool later = table == TC_TABLE_RUN && column == TC_RUN_ENDED;
    if (tc_rows_is_null(facts, column, 0) || (later ? us > kept : us < kept)) {
        tc_rows_int(facts, column, us);
    }
}

void tc_result_tool_version(struct tc_result *r, struct tc_slice version)
{
    if (r->version.len == 0) {
        r->version = tc_result_keep(r, version);
    }
}

/* ---- for the import ---- */

const struct tc_reader *tc_result_reader(const struct tc_result *r)
{
    return r->reader;
}

struct tc_slice tc_result_version(const struct tc_result *r)
{
    return r->version;
}

size_t tc_result_rows(const struct tc_result *r)
{
    return r->row_count;
}

const struct tc_result_row *tc_result_row_at(const struct tc_result *r, size_t i)
{
    return r->rows[i];
}

size_t tc_result_notes(const struct tc_result *r, uint64_t *out_left_out)
{
    if (out_left_out != NULL) {
        *out_left_out = r->notes_left_out;
    }
    return r->note_count;
}

const struct tc_result_note *tc_result_note_at(const struct tc_result *r, size_t i)
{
    return &r->notes[i];
}

const struct tc_rows *tc_result_facts(const struct tc_result *r, enum tc_table table)
{
    return tc_result_columns(table)->tool != 0 ? NULL : r->tables[table];
}
