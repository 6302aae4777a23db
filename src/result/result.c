/* SPDX-License-Identifier: Apache-2.0 */
#include "result/result.h"

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
    size_t chunks = (r->row_count + TC_RESULT_CHUNK_ROWS - 1) / TC_RESULT_CHUNK_ROWS;
    for (size_t i = 0; i < chunks; i++) {
        free(r->chunks[i]);
    }
    while (r->blocks != NULL) {
        struct tc_result_block *next = r->blocks->next;
        free(r->blocks);
        r->blocks = next;
    }
    free(r->chunks);
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

static void *take(struct tc_result *r, size_t bytes, size_t align)
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

static struct tc_slice keep(struct tc_result *r, struct tc_slice text)
{
    if (text.len == 0) {
        return TC_EMPTY;
    }
    char *copy = take(r, text.len, 1);
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
    return keep(r, tc_slice_make(text, used));
}

const char *tc_result_cstr(struct tc_result *r, struct tc_slice text)
{
    char *copy = take(r, text.len + 1, 1);
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

/* Room for one more pointer to a chunk. */
static bool grow_chunks(struct tc_result *r, size_t needed)
{
    if (needed <= r->chunk_cap) {
        return true;
    }
    size_t cap = r->chunk_cap == 0 ? 16 : r->chunk_cap * 2;
    struct tc_result_row **grown = realloc(r->chunks, cap * sizeof(struct tc_result_row *));
    if (grown == NULL) {
        return false;
    }
    r->chunks = grown;
    r->chunk_cap = cap;
    return true;
}

struct tc_result_row *tc__result_row(struct tc_result *r, size_t i)
{
    return &r->chunks[i / TC_RESULT_CHUNK_ROWS][i % TC_RESULT_CHUNK_ROWS];
}

/* An unused row, or NULL. */
static struct tc_result_row *new_row(struct tc_result *r)
{
    if (r->row_count == TC_RESULT_ROWS_MAX) {
        fail(r, TC_E_LIMIT);
        return NULL;
    }
    size_t chunk = r->row_count / TC_RESULT_CHUNK_ROWS;
    if (r->row_count % TC_RESULT_CHUNK_ROWS == 0) {
        if (!grow_chunks(r, chunk + 1)) {
            fail(r, TC_E_NOMEM);
            return NULL;
        }
        r->chunks[chunk] = calloc(TC_RESULT_CHUNK_ROWS, sizeof(struct tc_result_row));
        if (r->chunks[chunk] == NULL) {
            fail(r, TC_E_NOMEM);
            return NULL;
        }
    }
    return tc__result_row(r, r->row_count++);
}

size_t tc__result_tool_column(enum tc_table table)
{
    switch (table) {
    case TC_TABLE_SERVING:
        return TC_SERVING_TOOL;
    case TC_TABLE_TRAINING:
        return TC_TRAINING_TOOL;
    case TC_TABLE_SLICE:
        return TC_SLICE_FAMILY;
    default:
        return TC_TABLE_COLUMNS_MAX;
    }
}

size_t tc__result_version_column(enum tc_table table)
{
    switch (table) {
    case TC_TABLE_SERVING:
        return TC_SERVING_TOOL_VERSION;
    case TC_TABLE_TRAINING:
        return TC_TRAINING_TOOL_VERSION;
    default:
        return TC_TABLE_COLUMNS_MAX;
    }
}

static void set_text(struct tc_result_cell *cell, struct tc_slice kept)
{
    if (kept.len > 0) {
        *cell = (struct tc_result_cell){.known = true, .text = kept};
    }
}

struct tc_result_row *tc_result_add(struct tc_result *r, enum tc_table table, const char *where,
                                    ...)
{
    struct tc_result_row *row = new_row(r);
    if (row == NULL) {
        return NULL;
    }
    va_list args;
    va_start(args, where);
    row->where = keepf(r, where, args);
    va_end(args);
    row->table = table;
    size_t tool = tc__result_tool_column(table);
    if (tool < TC_TABLE_COLUMNS_MAX) {
        set_text(&row->cells[tool], tc_slice_cstr(r->reader->name));
    }
    if (table == TC_TABLE_SERVING) {
        set_text(&row->cells[TC_SERVING_SOURCE_POINTER], row->where);
    } else if (table == TC_TABLE_TRAINING) {
        set_text(&row->cells[TC_TRAINING_SOURCE_POINTER], row->where);
    }
    return row;
}

void tc_result_real(struct tc_result_row *row, size_t column, double value,
                    const struct tc_definition *definition)
{
    if (row != NULL && isfinite(value)) {
        row->cells[column] =
            (struct tc_result_cell){.known = true, .real = value, .definition = definition};
    }
}

void tc_result_int(struct tc_result_row *row, size_t column, int64_t value,
                   const struct tc_definition *definition)
{
    if (row != NULL) {
        row->cells[column] =
            (struct tc_result_cell){.known = true, .integer = value, .definition = definition};
    }
}

void tc_result_time(struct tc_result_row *row, size_t column, int64_t ns)
{
    if (row != NULL && ns != TC_TIME_NONE) {
        row->cells[column] = (struct tc_result_cell){.known = true, .integer = ns / 1000};
    }
}

void tc_result_text(struct tc_result *r, struct tc_result_row *row, size_t column,
                    struct tc_slice value)
{
    if (row != NULL) {
        set_text(&row->cells[column], keep(r, value));
    }
}

void tc_result_textf(struct tc_result *r, struct tc_result_row *row, size_t column,
                     const char *format, ...)
{
    if (row != NULL) {
        va_list args;
        va_start(args, format);
        set_text(&row->cells[column], keepf(r, format, args));
        va_end(args);
    }
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
    struct tc_definition *d = take(r, sizeof *d, alignof(struct tc_definition));
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

void tc_result_note(struct tc_result *r, bool contradiction, const char *where, const char *field,
                    const char *format, ...)
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
    va_list args;
    va_start(args, format);
    r->notes[at] = (struct tc_result_note){
        .where = keep(r, tc_slice_cstr(where)),
        .field = keep(r, tc_slice_cstr(field)),
        .text = keepf(r, format, args),
        .contradiction = contradiction,
    };
    va_end(args);
}

void tc_result_fact_text(struct tc_result *r, enum tc_table table, size_t column,
                         struct tc_slice value)
{
    struct tc_result_cell *cell = &r->facts[table][column];
    /* Tools write N/A for what they do not know. */
    if (value.len == 0 || tc_slice_eq_nocase(value, TC_LIT("N/A"))) {
        return;
    }
    if (!cell->known) {
        set_text(cell, keep(r, value));
    } else if (!tc_slice_eq(cell->text, value) && !r->differs[table][column]) {
        r->differs[table][column] = true;
        tc_result_note(r, false, "", tc_table_info(table)->columns[column].name,
                       "two values: %.*s is kept, %.*s is not", TC_FMT(cell->text), TC_FMT(value));
    }
}

void tc_result_fact_int(struct tc_result *r, enum tc_table table, size_t column, int64_t value)
{
    struct tc_result_cell *cell = &r->facts[table][column];
    if (!cell->known) {
        *cell = (struct tc_result_cell){.known = true, .integer = value};
    } else if (cell->integer != value && !r->differs[table][column]) {
        r->differs[table][column] = true;
        tc_result_note(r, false, "", tc_table_info(table)->columns[column].name,
                       "two values: %lld is kept, %lld is not", (long long)cell->integer,
                       (long long)value);
    }
}

void tc_result_fact_time(struct tc_result *r, enum tc_table table, size_t column, int64_t ns)
{
    if (ns == TC_TIME_NONE) {
        return;
    }
    int64_t us = ns / 1000;
    struct tc_result_cell *cell = &r->facts[table][column];
    bool later = table == TC_TABLE_RUN && column == TC_RUN_ENDED;
    if (!cell->known || (later ? us > cell->integer : us < cell->integer)) {
        *cell = (struct tc_result_cell){.known = true, .integer = us};
    }
}

void tc_result_tool_version(struct tc_result *r, struct tc_slice version)
{
    if (r->version.len == 0) {
        r->version = keep(r, version);
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
    return &r->chunks[i / TC_RESULT_CHUNK_ROWS][i % TC_RESULT_CHUNK_ROWS];
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

const struct tc_result_cell *tc_result_facts(const struct tc_result *r, enum tc_table table)
{
    return r->facts[table];
}
