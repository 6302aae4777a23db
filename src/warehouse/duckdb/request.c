/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How DuckDB keeps requests: in at most 48 bytes each, of which two random ids take 32.
 *
 * - An id that is a UUID, 32 hexadecimal digits or a number is kept as that; what stands before and
 *   behind it ("chatcmpl-") is the scope's. Any other id is a text of the row.
 * - A pointer that ends in a number is that number, and the scope has the rest; that of a span
 *   (at:OFFSET,LENGTH) is two numbers.
 * - Latencies are rounded to the microsecond: DuckDB packs decimals of few digits as whole numbers.
 * - The first token's time and the end's are kept as the difference from what start and latency
 * say, which is nearly always 0.
 */
#include "warehouse/duckdb/split_priv.h"

#include "base/assert.h"

#include <math.h>
#include <string.h>

/* Behind the columns of the table, in wide rows. Of the table's own columns request_id, trace_id
 * and error stay texts of the row, source_pointer is the scope's part of it. */
enum {
    REQUEST_KIND = TC_REQUEST_COLUMNS,
    REQUEST_PREFIX,
    REQUEST_SUFFIX,
    REQUEST_UUID,
    REQUEST_NUMBER,
    TRACE_UUID,
    TPOT_OFF,
    FIRST_TOKEN_OFF,
    ENDED_OFF,
    POINTER_NUMBER,
    POINTER_LENGTH,
    REQUEST_LOW, /* the second halves of the UUIDs, in their order */
    TRACE_LOW,
    WIDE_COLUMNS
};
_Static_assert(WIDE_COLUMNS <= TC_TABLE_COLUMNS_MAX, "wide rows fit");

/* Those of an id alone come first: what need not be put together is faster. */
enum kind { KIND_TEXT, KIND_UUID, KIND_HEX, KIND_UUID_WITHIN, KIND_HEX_WITHIN, KIND_NUMBER };

#define HEX_DIGITS 32
#define SPAN_POINTER "at:"
#define UUID_CHARS 36
/* Longer ones are of the row: scopes are for what repeats. */
#define PREFIX_MAX 32
#define SUFFIX_MAX 4
/* A number of 18 digits fits, and is written as it was. */
#define NUMBER_DIGITS_MAX 18
/* Below it a double of ms is exact to more than a microsecond. */
#define ROUNDED_MS_MAX 1e9
/* Microseconds of it are exact; the view has the same number. */
#define OFFSET_MS_MAX 9e12
#define TOKENS_MAX INT64_C(1000000000000)

#define OFFSET(latency)                                                                      \
    "(CASE WHEN f.started_at IS NULL THEN 0 ELSE epoch_us(f.started_at) + CASE WHEN "        \
    "abs(f." latency ") < 9e12 THEN CAST(round(f." latency " * 1000) AS BIGINT) ELSE 0 END " \
    "END)"

static const char *expression(size_t column)
{
    switch (column) {
    case TC_REQUEST_REQUEST_ID:
        return "CASE s.request_kind "
               "WHEN 1 THEN " TC__UUID_FUNCTION "(f.request_uuid) "
               "WHEN 2 THEN " TC__HEX_FUNCTION "(f.request_uuid) "
               "WHEN 3 THEN s.request_prefix || " TC__UUID_FUNCTION
               "(f.request_uuid) || s.request_suffix "
               "WHEN 4 THEN s.request_prefix || " TC__HEX_FUNCTION
               "(f.request_uuid) || s.request_suffix "
               "WHEN 5 THEN s.request_prefix || CAST(f.request_number AS VARCHAR) "
               "ELSE f.request_id END";
    case TC_REQUEST_TRACE_ID:
        return "CASE WHEN f.trace_uuid IS NULL THEN f.trace_id ELSE " TC__HEX_FUNCTION
               "(f.trace_uuid) END";
    case TC_REQUEST_TPOT:
        return "CASE WHEN f.tpot_off IS NULL THEN f.tpot_ms ELSE (f.tpot_off + round((f.e2e_ms - "
               "f.ttft_ms) * 1000 / (f.output_tokens - 1))) / 1000 END";
    case TC_REQUEST_FIRST_TOKEN:
        return "make_timestamp(f.first_token_off + " OFFSET("ttft_ms") ")";
    case TC_REQUEST_ENDED:
        return "make_timestamp(f.ended_off + " OFFSET("e2e_ms") ")";
    case TC_REQUEST_SOURCE_POINTER:
        return "CASE WHEN f.pointer_number IS NULL THEN s.source_pointer WHEN f.pointer_length IS "
               "NULL "
               "THEN s.source_pointer || CAST(f.pointer_number AS VARCHAR) ELSE s.source_pointer "
               "|| CAST(f.pointer_number AS VARCHAR) || ',' || CAST(f.pointer_length AS VARCHAR) "
               "END";
    default:
        return NULL;
    }
}

static bool is_of_scope(size_t column)
{
    switch (column) {
    case TC_REQUEST_JOIN:
    case TC_REQUEST_WORKLOAD_POINT:
    case TC_REQUEST_CONCURRENCY:
    case TC_REQUEST_REQUEST_RATE:
    case TC_REQUEST_STATUS:
    case TC_REQUEST_JOB_UID:
    case TC_REQUEST_POD_UID:
    case TC_REQUEST_POD_NAME:
    case TC_REQUEST_NODE:
    case TC_REQUEST_TOOL:
    case TC_REQUEST_SOURCE_DIGEST:
    case TC_REQUEST_SOURCE_POINTER:
    case TC_REQUEST_BATCH:
    case REQUEST_KIND:
    case REQUEST_PREFIX:
    case REQUEST_SUFFIX:
        return true;
    default:
        return false;
    }
}

static bool is_left_out(size_t column)
{
    return column == TC_REQUEST_FIRST_TOKEN || column == TC_REQUEST_ENDED;
}

static bool is_half(size_t column)
{
    return column == REQUEST_LOW || column == TRACE_LOW;
}

static void put_wide(struct tc_table_info *wide, struct tc_column *columns,
                     const struct tc_table_info *table)
{
    static const struct {
        const char *name;
        enum tc_column_type type;
    } MORE[] = {
        {"request_kind", TC_COLUMN_INT},    {"request_prefix", TC_COLUMN_TEXT},
        {"request_suffix", TC_COLUMN_TEXT}, {"request_uuid", TC__COLUMN_UUID},
        {"request_number", TC_COLUMN_INT},  {"trace_uuid", TC__COLUMN_UUID},
        {"tpot_off", TC_COLUMN_INT},        {"first_token_off", TC_COLUMN_INT},
        {"ended_off", TC_COLUMN_INT},       {"pointer_number", TC_COLUMN_INT},
        {"pointer_length", TC_COLUMN_INT},  {"request_low", TC_COLUMN_INT},
        {"trace_low", TC_COLUMN_INT},
    };
    TC_ASSERT(table->column_count + TC_COUNT(MORE) == WIDE_COLUMNS);
    memcpy(columns, table->columns, table->column_count * sizeof *columns);
    for (size_t i = 0; i < TC_COUNT(MORE); i++) {
        columns[table->column_count + i] = (struct tc_column){.name = MORE[i].name,
                                                              .type = MORE[i].type,
                                                              .since = table->since,
                                                              .unit = "",
                                                              .help = ""};
    }
    wide->columns = columns;
    wide->column_count = WIDE_COLUMNS;
}

/* ---- ids ---- */

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 32 digits in lower case from p on, with the dashes of a UUID or without; false: something else.
 */
static bool read_hex(const char *p, bool dashes, uint64_t *out)
{
    size_t at = 0;
    for (size_t i = 0; i < HEX_DIGITS; i++) {
        if (dashes && (i == 8 || i == 12 || i == 16 || i == 20) && p[at++] != '-') {
            return false;
        }
        int digit = digit_of(p[at++]);
        if (digit < 0) {
            return false;
        }
        out[i / 16] = out[i / 16] << 4 | (uint64_t)digit;
    }
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.' ||
           c == ':';
}

/* An id in parts. */
struct id {
    enum kind kind;
    size_t prefix;
    size_t suffix; /* bytes */
    uint64_t words[2];
};

/* The digits that a text ends with, as a number that is written so again: without zeros before it.
 * 0: there are none. */
static size_t trailing_number(const char *p, size_t len, uint64_t *out)
{
    size_t start = len;
    while (start > 0 && p[start - 1] >= '0' && p[start - 1] <= '9' &&
           len - start < NUMBER_DIGITS_MAX) {
        start--;
    }
    while (start + 1 < len && p[start] == '0') {
        start++;
    }
    *out = 0;
    for (size_t i = start; i < len; i++) {
        *out = *out * 10 + (uint64_t)(p[i] - '0');
    }
    return len - start;
}

/* A prefix of letters, and behind the id a dash and up to three digits. */
static struct id parse_id(const char *p, size_t len)
{
    struct id id = {.kind = KIND_TEXT};
    size_t most = len < PREFIX_MAX ? len : PREFIX_MAX;
    for (size_t start = 0; start <= most; start++) {
        static const size_t CHARS[] = {[KIND_UUID] = UUID_CHARS, [KIND_HEX] = HEX_DIGITS};
        for (size_t kind = KIND_UUID; kind <= KIND_HEX; kind++) {
            size_t rest = len - start < CHARS[kind] ? SIZE_MAX : len - start - CHARS[kind];
            uint64_t words[2] = {0, 0};
            if (rest <= SUFFIX_MAX && (rest == 0 || p[len - rest] == '-') &&
                read_hex(p + start, kind == KIND_UUID, words)) {
                bool alone = start == 0 && rest == 0;
                size_t told = alone ? kind : kind + KIND_UUID_WITHIN - KIND_UUID;
                return (struct id){(enum kind)told, start, rest, {words[0], words[1]}};
            }
        }
        if (start < len && !is_letter(p[start])) {
            break;
        }
    }
    size_t digits = trailing_number(p, len, &id.words[1]);
    size_t letters = 0;
    while (letters < len - digits && is_letter(p[letters])) {
        letters++;
    }
    if (digits > 0 && letters == len - digits && letters <= PREFIX_MAX) {
        id.kind = KIND_NUMBER;
        id.prefix = letters;
    }
    return id;
}

/* ---- wide rows ---- */

static bool is_value(const struct tc_rows_column *c, size_t row)
{
    return (c->valid[row / 64] >> (row % 64) & 1) != 0;
}

static void set_null(struct tc_rows_column *c, size_t row)
{
    c->valid[row / 64] &= ~(UINT64_C(1) << (row % 64));
}

static union tc_cell *set(struct tc_rows *rows, size_t column, size_t row)
{
    struct tc_rows_column *c = &rows->columns[column];
    c->valid[row / 64] |= UINT64_C(1) << (row % 64);
    return &c->cells[row];
}

static void set_int(struct tc_rows *rows, size_t column, size_t row, uint64_t value)
{
    set(rows, column, row)->integer = (int64_t)value;
}

static void set_text(struct tc_rows *rows, size_t column, size_t row, size_t at, size_t len)
{
    union tc_cell *cell = set(rows, column, row);
    cell->text.at = (uint32_t)at;
    cell->text.len = (uint32_t)len;
}

static void split_request_id(struct tc_rows *wide, size_t row)
{
    struct tc_rows_column *c = &wide->columns[TC_REQUEST_REQUEST_ID];
    if (!is_value(c, row)) {
        return;
    }
    size_t at = c->cells[row].text.at;
    size_t len = c->cells[row].text.len;
    struct id id = parse_id(wide->text + at, len);
    if (id.kind == KIND_TEXT) {
        return;
    }
    set_null(c, row);
    set_int(wide, REQUEST_KIND, row, id.kind);
    set_text(wide, REQUEST_PREFIX, row, at, id.prefix);
    set_text(wide, REQUEST_SUFFIX, row, at + len - id.suffix, id.suffix);
    if (id.kind == KIND_NUMBER) {
        set_int(wide, REQUEST_NUMBER, row, id.words[1]);
    } else {
        set_int(wide, REQUEST_UUID, row, id.words[0]);
        set_int(wide, REQUEST_LOW, row, id.words[1]);
    }
}

static void split_trace_id(struct tc_rows *wide, size_t row)
{
    struct tc_rows_column *c = &wide->columns[TC_REQUEST_TRACE_ID];
    uint64_t words[2] = {0, 0};
    if (is_value(c, row) && c->cells[row].text.len == HEX_DIGITS &&
        read_hex(wide->text + c->cells[row].text.at, false, words)) {
        set_null(c, row);
        set_int(wide, TRACE_UUID, row, words[0]);
        set_int(wide, TRACE_LOW, row, words[1]);
    }
}

static void split_pointer(struct tc_rows *wide, size_t row)
{
    struct tc_rows_column *c = &wide->columns[TC_REQUEST_SOURCE_POINTER];
    uint64_t number = 0;
    if (!is_value(c, row)) {
        return;
    }
    size_t len = c->cells[row].text.len;
    const char *text = wide->text + c->cells[row].text.at;
    size_t digits = trailing_number(text, len, &number);
    if (digits == 0) {
        return;
    }
    len -= digits;
    uint64_t offset = 0;
    size_t before = len > 0 && text[len - 1] == ',' ? trailing_number(text, len - 1, &offset) : 0;
    if (before > 0 && len - 1 - before == sizeof SPAN_POINTER - 1 &&
        memcmp(text, SPAN_POINTER, sizeof SPAN_POINTER - 1) == 0) {
        set_int(wide, POINTER_LENGTH, row, number);
        number = offset;
        len -= before + 1;
    }
    c->cells[row].text.len = (uint32_t)len;
    set_int(wide, POINTER_NUMBER, row, number);
}

static void round_latencies(struct tc_rows *wide)
{
    for (size_t column = TC_REQUEST_QUEUE; column <= TC_REQUEST_E2E; column++) {
        struct tc_rows_column *c = &wide->columns[column];
        for (size_t row = 0; row < wide->count; row++) {
            double ms = c->cells[row].real;
            if (is_value(c, row) && fabs(ms) < ROUNDED_MS_MAX) {
                c->cells[row].real = nearbyint(ms * 1000) / 1000;
            }
        }
    }
}

/* What start and latency say of a moment, in us. */
static int64_t expected(const struct tc_rows *wide, size_t row, size_t latency)
{
    const struct tc_rows_column *started = &wide->columns[TC_REQUEST_STARTED];
    const struct tc_rows_column *c = &wide->columns[latency];
    if (!is_value(started, row)) {
        return 0;
    }
    bool counts = is_value(c, row) && fabs(c->cells[row].real) < OFFSET_MS_MAX;
    return started->cells[row].integer + (counts ? (int64_t)round(c->cells[row].real * 1000) : 0);
}

static void split_moment(struct tc_rows *wide, size_t row, size_t from, size_t to, size_t latency)
{
    const struct tc_rows_column *c = &wide->columns[from];
    if (is_value(c, row)) {
        set_int(wide, to, row,
                (uint64_t)c->cells[row].integer - (uint64_t)expected(wide, row, latency));
    }
}

/* TPOT as the view makes it of the others; NaN: it cannot. */
static double expected_tpot(const struct tc_rows *wide, size_t row)
{
    const struct tc_rows_column *e2e = &wide->columns[TC_REQUEST_E2E];
    const struct tc_rows_column *ttft = &wide->columns[TC_REQUEST_TTFT];
    const struct tc_rows_column *tokens = &wide->columns[TC_REQUEST_OUTPUT_TOKENS];
    if (!is_value(e2e, row) || !is_value(ttft, row) || !is_value(tokens, row) ||
        tokens->cells[row].integer < 2 || tokens->cells[row].integer > TOKENS_MAX) {
        return (double)NAN;
    }
    double us = round((e2e->cells[row].real - ttft->cells[row].real) * 1000 /
                      (double)(tokens->cells[row].integer - 1));
    return fabs(us) < ROUNDED_MS_MAX ? us : (double)NAN;
}

static void split_tpot(struct tc_rows *wide, size_t row)
{
    struct tc_rows_column *c = &wide->columns[TC_REQUEST_TPOT];
    double us = expected_tpot(wide, row);
    if (is_value(c, row) && fabs(c->cells[row].real) < ROUNDED_MS_MAX && !isnan(us)) {
        set_int(wide, TPOT_OFF, row, (uint64_t)(int64_t)(round(c->cells[row].real * 1000) - us));
        set_null(c, row);
    }
}

static void widen(const struct tc_rows *rows, struct tc_rows *wide)
{
    size_t valid_bytes = (rows->count + 63) / 64 * sizeof(uint64_t);
    for (size_t i = 0; i < WIDE_COLUMNS; i++) {
        if (i < TC_REQUEST_COLUMNS) {
            memcpy(wide->columns[i].valid, rows->columns[i].valid, valid_bytes);
            memcpy(wide->columns[i].cells, rows->columns[i].cells,
                   rows->count * sizeof rows->columns[i].cells[0]);
        } else {
            memset(wide->columns[i].valid, 0, valid_bytes);
        }
    }
    wide->count = rows->count;
    round_latencies(wide);
    for (size_t row = 0; row < rows->count; row++) {
        split_request_id(wide, row);
        split_trace_id(wide, row);
        split_pointer(wide, row);
        split_tpot(wide, row);
        split_moment(wide, row, TC_REQUEST_FIRST_TOKEN, FIRST_TOKEN_OFF, TC_REQUEST_TTFT);
        split_moment(wide, row, TC_REQUEST_ENDED, ENDED_OFF, TC_REQUEST_E2E);
    }
}

const struct tc__split_kind tc__split_requests = {
    .table = TC_TABLE_REQUEST,
    .table_name = "serving_request_fact",
    .facts = "serving_request",
    .scopes = "serving_request_scope",
    .sequence = "serving_request_scope_block",
    .put_wide = put_wide,
    .widen = widen,
    .is_of_scope = is_of_scope,
    .is_left_out = is_left_out,
    .is_half = is_half,
    .expression = expression,
    .order = {.how = TC__ORDER_NUMBERS, .first = TC_REQUEST_STARTED, .second = TC__SPLIT_OWN},
};
