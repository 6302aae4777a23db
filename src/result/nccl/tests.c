/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl-tests and rccl-tests: the table that they print, or the JSON of -J. The head of the table
 * says which columns there are: older ones have "error" for "#wrong", no "root", no "redop"; newer
 * ones may have columns for each iteration. Times are averages over the iterations, in us;
 * bandwidths are GB/s (10^9 bytes). Several tables may follow each other in one log. Before 2019
 * the head was "bytes N type op ... res" and times were in ms.
 */
#include "base/buf.h"
#include "codec/codec.h"
#include "result/lines_priv.h"
#include "result/nccl/priv.h"

#include <stdio.h>
#include <string.h>

#define S(literal) TC_LIT(literal)

/* What stands for the values that a replay of a trace does not have. */
#define BLANK_BODY 30

/* What logs put before each line. */
#define PREFIX_WORDS_MAX 8

/* Other columns of the table. */
enum { SIZE = TC__NCCL_VALUES, COUNT, TYPE, REDOP, ROOT, IGNORED };

static int column_of(struct tc_slice word)
{
    static const struct {
        const char *name;
        int column;
    } names[] = {
        {"size", SIZE},
        {"bytes", SIZE},
        {"count", COUNT},
        {"N", COUNT},
        {"type", TYPE},
        {"redop", REDOP},
        {"op", REDOP},
        {"root", ROOT},
        {"time", TC__NCCL_TIME},
        {"cputime", TC__NCCL_TIME},
        {"algbw", TC__NCCL_ALGBW},
        {"busbw", TC__NCCL_BUSBW},
        {"#wrong", TC__NCCL_WRONG},
        {"error", TC__NCCL_ERROR},
        {"res", TC__NCCL_ERROR},
        {"#bitdiff", TC__NCCL_BITDIFF},
        {"i_min", TC__NCCL_ITER_MIN},
        {"i_max", TC__NCCL_ITER_MAX},
        {"i_p99", TC__NCCL_ITER_P99},
        {"i_cv%", IGNORED},
        {"timestamp", IGNORED},
    };
    size_t i = tc_slice_row(word, names, name);
    return i < TC_COUNT(names) ? names[i].column : -1;
}

/* "#       size         count      type   redop    root     time   algbw   busbw #wrong ..." */
static bool is_head(struct tc_slice line)
{
    struct tc_slice rest = tc_slice_trim(line);
    if (rest.len == 0 || rest.ptr[0] != '#') {
        return false;
    }
    rest = tc_slice_from(rest, 1);
    struct tc_slice word = tc__word_next(&rest);
    return (tc_slice_eq(word, S("size")) || tc_slice_eq(word, S("bytes"))) &&
           tc_slice_contains(rest, S("busbw"));
}

/* Without the first words, and the blank behind them. */
static struct tc_slice behind_words(struct tc_slice line, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)tc__word_next(&line);
    }
    return count > 0 && line.len > 0 ? tc_slice_from(line, 1) : line;
}

/* How many words a log has before each line, from a head that stands behind them: a time, a host.
 */
static bool head_behind_words(struct tc_slice line, size_t *out_words)
{
    size_t at = tc_slice_find_byte(line, '#');
    struct tc_slice before = tc_slice_head(line, at == TC_NPOS ? 0 : at);
    if (at == TC_NPOS || !is_head(tc_slice_from(line, at))) {
        return false;
    }
    *out_words = 0;
    while (tc__word_next(&before).len > 0) {
        (*out_words)++;
    }
    return *out_words <= PREFIX_WORDS_MAX && (at == 0 || line.ptr[at - 1] == ' ');
}

static bool find_head(struct tc_slice bytes, size_t *out_words)
{
    struct tc__lines lines = tc__lines_of(bytes);
    struct tc_slice line;
    char plain[4096];
    while (tc__lines_next(&lines, &line)) {
        long rank = 0;
        if (tc_slice_contains(line, S("busbw")) &&
            head_behind_words(tc__line_bare(tc__line_plain(line, plain, sizeof plain), &rank),
                              out_words)) {
            return true;
        }
    }
    return false;
}

static void read_head(struct tc__nccl_log *l, const char *where, struct tc_slice text)
{
    bool seen[IGNORED] = {false};
    struct tc_slice rest = tc_slice_from(text, tc_slice_find_byte(text, '#') + 1);
    struct tc_slice word;
    l->column_count = 0;
    l->torn_len = 0;
    l->cpu_time = tc_slice_contains(text, S("cputime"));
    l->in_ms = false;
    while ((word = tc__word_next(&rest)).len > 0 && l->column_count < TC__NCCL_COLUMNS_MAX) {
        int column = column_of(word);
        if (column < 0) {
            tc_result_note(l->r, false, where, "head",
                           "the column '%.*s' is not known and left out",
                           TC_FMT(tc_slice_head(word, 32)));
            column = IGNORED;
        }
        l->in_ms = l->in_ms || tc_slice_eq(word, S("bytes"));
        l->columns[l->column_count] = column;
        l->column_ends[l->column_count] = (size_t)(word.ptr + word.len - text.ptr);
        l->in_place[l->column_count] = column < TC__NCCL_VALUES && seen[column];
        l->column_count++;
        if (column < IGNORED) {
            seen[column] = true;
        }
    }
    l->tables++;
    l->unnamed += l->op[0] == '\0';
}

static bool is_unknown(struct tc_slice word)
{
    return tc_slice_eq_nocase(word, S("n/a")) || tc_slice_eq_nocase(word, S("nan")) ||
           tc_slice_eq_nocase(word, S("-nan")) || tc_slice_eq_nocase(word, S("inf"));
}

static tc_status read_cell(struct tc__nccl_log *l, size_t line, int column, bool in_place,
                           struct tc_slice word, struct tc__nccl_row *t)
{
    static const char *const names[TC__NCCL_VALUES] = {
        "time", "algbw", "busbw", "#wrong", "error", "#bitdiff", "i_min", "i_max", "i_p99"};
    switch (column) {
    case SIZE:
        (void)tc_slice_is_u64(word, &t->size);
        return TC_OK;
    case TYPE:
        t->type = word;
        return TC_OK;
    case REDOP:
        t->redop = word;
        return TC_OK;
    case ROOT:
        t->root = word;
        return TC_OK;
    case COUNT:
    case IGNORED:
        return TC_OK;
    default:
        break;
    }
    struct tc__nccl_half *h = &t->half[in_place];
    /* rccl-tests marks what is beyond a threshold. */
    while (word.len > 1 && word.ptr[word.len - 1] == '*') {
        word.len--;
    }
    if (is_unknown(word)) {
        return TC_OK;
    }
    if (!tc_map_parse_number(word, &h->values[column])) {
        return tc_fail(l->err, TC_E_MALFORMED, 0,
                       "line %zu: %s is '%.*s', where a number is needed", line, names[column],
                       TC_FMT(tc_slice_head(word, 32)));
    }
    h->known[column] = true;
    h->cpu_time = l->cpu_time;
    return TC_OK;
}

/* A column without a word: alltoall_perf of 2.10 has nothing to reduce by. Names of reductions are
 * none of numbers. */
static bool is_blank_redop(const struct tc__nccl_log *l, size_t column, struct tc_slice word)
{
    double number = 0;
    return l->columns[column] == REDOP && (is_unknown(word) || tc_map_parse_number(word, &number));
}

static bool is_data(const struct tc__nccl_log *l, struct tc_slice text)
{
    uint64_t size = 0;
    double count = 0;
    struct tc_slice rest = text;
    struct tc_slice first = tc__word_next(&rest);
    struct tc_slice second = tc__word_next(&rest);
    struct tc_slice third = tc__word_next(&rest);
    bool typed = l->column_count > 2 && l->columns[2] == TYPE;
    return l->column_count > 0 && tc_slice_is_u64(first, &size) &&
           tc_map_parse_number(second, &count) &&
           !(typed && third.len > 0 && tc_is_digit(third.ptr[0]));
}

/* The columns before the values, and with those of the first half. */
static size_t columns_before(const struct tc__nccl_log *l, bool with_half)
{
    size_t n = 0;
    while (n < l->column_count && l->columns[n] >= TC__NCCL_VALUES) {
        n++;
    }
    while (with_half && n < l->column_count && !l->in_place[n]) {
        n++;
    }
    return n;
}

static size_t count_words(struct tc_slice text)
{
    size_t n = 0;
    while (tc__word_next(&text).len > 0) {
        n++;
    }
    return n;
}

/* Whether the piece of a row has a word for each of the columns; the reduction's may be blank. */
static bool has_columns(const struct tc__nccl_log *l, struct tc_slice piece, size_t columns)
{
    struct tc_slice rest = piece;
    for (size_t i = 0; i < columns; i++) {
        struct tc_slice before = rest;
        struct tc_slice word = tc__word_next(&rest);
        bool last = i + 1 == columns;
        if (is_blank_redop(l, i, word) || (word.len == 0 && last && l->columns[i] == REDOP)) {
            rest = before;
        } else if (word.len == 0) {
            return false;
        }
    }
    return tc__word_next(&rest).len == 0;
}

/*
 * A row is printed in three pieces, and what NCCL logs meanwhile stands behind the first or the
 * second: "8  2  float  sum  -1host:1:1 [0] NCCL INFO ...". Keeps the piece until the rest comes.
 */
static bool keep_torn(struct tc__nccl_log *l, size_t line, struct tc_slice text)
{
    if (!tc_slice_contains(text, S("] NCCL "))) {
        return false;
    }
    for (int half = 1; half >= 0; half--) {
        size_t columns = columns_before(l, half == 1);
        size_t end = columns == 0 ? 0 : l->column_ends[columns - 1];
        struct tc_slice piece = tc_slice_head(text, end);
        if (columns == 0 || columns == l->column_count || text.len <= end ||
            piece.len > sizeof l->torn / 2 || !has_columns(l, piece, columns) ||
            tc_slice_find_byte(piece, ':') != TC_NPOS) {
            continue;
        }
        memcpy(l->torn, piece.ptr, piece.len);
        l->torn_len = piece.len;
        l->torn_columns = columns;
        l->torn_line = line;
        return true;
    }
    return false;
}

static void drop_torn(struct tc__nccl_log *l)
{
    if (l->torn_len > 0) {
        tc_result_note(l->r, false, tc_as_line(l->torn_line), "row",
                       "messages of NCCL broke this row off, and its rest is not to be found");
        l->torn_len = 0;
    }
}

static tc_status short_row(struct tc__nccl_log *l, size_t line, size_t done, bool is_last)
{
    if (is_last && l->rows > 0) {
        tc_result_note(l->r, false, tc_as_line(line), "row",
                       "the last line is cut off: this row is left out");
        return TC_OK;
    }
    return tc_fail(l->err, TC_E_MALFORMED, 0,
                   "line %zu: a row of %zu columns where the head of the table has %zu: was the "
                   "file cut off?",
                   line, done, l->column_count);
}

static tc_status read_data(struct tc__nccl_log *l, size_t line, struct tc_slice text, bool is_last)
{
    struct tc__nccl_row t = {.size = 0};
    struct tc_slice rest = text;
    size_t done = 0;
    for (size_t i = 0; i < l->column_count; i++) {
        struct tc_slice before = rest;
        struct tc_slice word = tc__word_next(&rest);
        bool first_value = l->columns[i] < TC__NCCL_VALUES && !l->in_place[i] &&
                           (i == 0 || l->columns[i - 1] >= TC__NCCL_VALUES);
        if (first_value && word.len > 0 && word.ptr - before.ptr >= BLANK_BODY) {
            /* The replay of a trace has values in place alone. */
            while (i < l->column_count && !l->in_place[i]) {
                i++;
                done++;
            }
        }
        if (word.len == 0 || i == l->column_count) {
            break;
        }
        if (is_blank_redop(l, i, word)) {
            rest = before;
            done++;
            continue;
        }
        TC_TRY(read_cell(l, line, l->columns[i], l->in_place[i], word, &t));
        done++;
    }
    /* A timestamp is of two words and may be missing; all else must be there. */
    size_t needed = l->column_count - (l->columns[l->column_count - 1] == IGNORED);
    /* rccl-tests leaves a half out when it is told to, and keeps the head. */
    t.one_place = done < needed && !is_last && done == columns_before(l, true);
    if (done < needed && !t.one_place) {
        return short_row(l, line, done, is_last);
    }
    if (t.one_place && l->one_place_line == 0) {
        l->one_place_line = line;
    }
    char where[32];
    (void)snprintf(where, sizeof where, "line:%zu", line);
    tc__nccl_add_row(l, where, &t);
    return TC_OK;
}

/* The rest of a row that was broken off: nothing but its numbers. */
static bool is_rest(const struct tc__nccl_log *l, struct tc_slice text)
{
    struct tc_slice rest = text;
    struct tc_slice word;
    double number = 0;
    if (l->torn_len == 0 || count_words(text) + l->torn_columns != l->column_count ||
        text.len > sizeof l->torn / 2 - 1) {
        return false;
    }
    while ((word = tc__word_next(&rest)).len > 0) {
        if (!is_unknown(word) && !tc_map_parse_number(word, &number)) {
            return false;
        }
    }
    return true;
}

static tc_status read_rest(struct tc__nccl_log *l, struct tc_slice text)
{
    char row[TC__NCCL_ROW_BYTES];
    struct tc_buf b = tc_buf_make(row, sizeof row);
    tc_buf_str(&b, tc_slice_make(l->torn, l->torn_len));
    tc_buf_char(&b, ' ');
    tc_buf_str(&b, tc_slice_trim(text));
    l->torn_len = 0;
    return read_data(l, l->torn_line, tc_buf_slice(&b), false);
}

/* "#  Rank  0 Group  0 Pid   1711 on 4c3719b595b1 device  4 [0000:89:00] Tesla V100-SXM2-16GB" */
static bool read_device(struct tc__nccl_log *l, struct tc_slice text)
{
    struct tc_slice rest;
    struct tc_slice model;
    uint64_t rank = 0;
    if (!tc__text_after(text, S("Rank "), &rest) || !tc_slice_contains(text, S(" device "))) {
        return false;
    }
    if (!tc_slice_is_u64(tc__word_next(&rest), &rank) || !tc__text_after(rest, S(" on "), &rest)) {
        return false;
    }
    struct tc_slice host = tc__word_next(&rest);
    if (!tc__text_after(rest, S("]"), &model)) {
        return false;
    }
    struct tc_slice device = tc_slice_head(rest, (size_t)(model.ptr - rest.ptr));
    tc__nccl_add_device(l, rank > INT32_MAX ? 0 : (int64_t)rank, host, device, model);
    return true;
}

static void read_comment(struct tc__nccl_log *l, const char *where, struct tc_slice text)
{
    struct tc_slice rest;
    double number = 0;
    uint64_t code = 0;
    if (tc__text_after(text, S("nccl-tests version "), &rest)) {
        tc_result_tool_version(l->r, tc__word_next(&rest));
        if (tc__text_after(text, S("nccl-library="), &rest) &&
            tc_slice_is_u64(tc__word_next(&rest), &code)) {
            tc__nccl_version(l, code > INT32_MAX ? 0 : (int64_t)code);
        }
    } else if (tc__text_after(text, S("Collective test starting:"), &rest)) {
        tc__nccl_set_op(l, tc__nccl_op_in(rest));
    } else if (tc_slice_contains(text, S("nThread")) &&
               tc__text_after(text, S(" iters: "), &rest)) {
        /* "warmup iters: 5 iters: 20" */
        struct tc_slice later;
        rest = tc__text_after(rest, S(" iters: "), &later) ? later : rest;
        l->iterations = tc_slice_u64(rest, &code) > 0 && code <= INT32_MAX ? (int64_t)code : 0;
    } else if (tc__text_after(text, S("Out of bounds values"), &rest)) {
        (void)tc_slice_cut(rest, ':', &rest);
        if (tc_slice_contains(rest, S("FAILED"))) {
            l->failures++;
            tc_result_note(l->r, false, where, "Out of bounds values", "%.*s",
                           TC_FMT(tc_slice_head(tc_slice_trim(rest), 64)));
        }
    } else if (tc__text_after(text, S("Avg bus bandwidth"), &rest)) {
        rest = tc_slice_from(tc_slice_trim(rest), 1);
        if (tc_map_parse_number(tc__word_next(&rest), &number)) {
            tc__nccl_add_average(l, where, number);
        }
        if (tc_slice_contains(rest, S("FAILED"))) {
            l->failures++;
            tc_result_note(l->r, false, where, "Avg bus bandwidth",
                           "the average is below the one that was asked for");
        }
        l->column_count = 0;
        tc__nccl_set_op(l, "");
    }
}

/* A line that is no part of a table. */
static void read_other(struct tc__nccl_log *l, size_t line, struct tc_slice text)
{
    struct tc_slice rest;
    if (tc__text_after(text, S("NCCL version "), &rest) ||
        tc__text_after(text, S("RCCL version : "), &rest)) {
        struct tc_slice version = tc__word_next(&rest);
        version = tc_slice_cut(version, '+', &rest);
        tc_result_fact_text(l->r, TC_TABLE_SOFTWARE, TC_SOFTWARE_NCCL, version);
    } else if (tc__text_after(text, S("rccl-tests: Version "), &rest)) {
        tc_result_tool_version(l->r, tc__word_next(&rest));
    } else if (tc_slice_contains(text, S("Test NCCL failure")) ||
               tc_slice_contains(text, S("Test CUDA failure")) ||
               tc_slice_contains(text, S("Test failure"))) {
        l->failures++;
        tc_result_note(l->r, false, tc_as_line(line), "Test failure", "%.*s",
                       TC_FMT(tc_slice_head(tc_slice_trim(text), 160)));
    } else {
        const char *op = tc__nccl_op_in(text);
        if (op[0] != '\0' && l->column_count == 0) {
            tc__nccl_set_op(l, op);
        }
    }
}

static tc_status read_line(struct tc__nccl_log *l, size_t line, struct tc_slice text, bool is_last)
{
    char where[32];
    struct tc_slice trimmed = tc_slice_trim(text);
    (void)snprintf(where, sizeof where, "line:%zu", line);
    if (is_rest(l, text)) {
        return read_rest(l, text);
    }
    if (is_head(text)) {
        drop_torn(l);
        read_head(l, where, text);
        return TC_OK;
    }
    if (trimmed.len > 0 && trimmed.ptr[0] == '#') {
        drop_torn(l);
        if (!tc_slice_contains(trimmed, S("concluded")) && !read_device(l, trimmed)) {
            read_comment(l, where, trimmed);
        }
        return TC_OK;
    }
    if (is_data(l, text)) {
        drop_torn(l);
        return keep_torn(l, line, text) ? TC_OK : read_data(l, line, text, is_last);
    }
    if (tc_slice_starts(trimmed, S("Avg bus bandwidth")) ||
        tc_slice_starts(trimmed, S("Out of bounds values"))) {
        read_comment(l, where, trimmed); /* without its # before 2019 */
        return TC_OK;
    }
    read_other(l, line, text);
    return TC_OK;
}

static tc_status read_text(const struct tc_result_input *in, struct tc__nccl_log *l)
{
    struct tc__lines lines = tc__lines_of(in->bytes);
    struct tc_slice line;
    char plain[4096];
    (void)find_head(in->bytes, &l->prefix_words);
    while (tc__lines_next(&lines, &line)) {
        long rank = 0;
        line = tc__line_bare(tc__line_plain(line, plain, sizeof plain), &rank);
        line = behind_words(line, l->prefix_words);
        TC_TRY(read_line(l, lines.line, line, lines.rest.len == 0));
    }
    drop_torn(l);
    if (l->tables == 0) {
        return tc_fail(l->err, TC_E_MALFORMED, 0,
                       "no table: a line '# size count type ...' is missing");
    }
    tc__nccl_finish(l);
    return TC_OK;
}

static int sniff(const struct tc_result_input *in)
{
    size_t words = 0;
    return find_head(in->bytes, &words) || tc__nccl_is_rccl_csv(in->bytes) ? TC_SNIFF_SURE
                                                                           : TC_SNIFF_NO;
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    struct tc__nccl_log l = {.r = r, .err = err};
    if (in->form == TC_RESULT_JSON) {
        return tc__nccl_is_rccl_json(in) ? tc__nccl_read_rccl_json(in, &l)
                                         : tc__nccl_read_json(in, &l);
    }
    return tc__nccl_is_rccl_csv(in->bytes) ? tc__nccl_read_rccl_csv(in, &l) : read_text(in, &l);
}

const struct tc_reader tc_reader_nccl_tests = {
    .name = "nccl-tests",
    .summary = "nccl-tests and rccl-tests: the printed table, the JSON of -J, the file of -x",
    .forms = 1u << TC_RESULT_TEXT | 1u << TC_RESULT_JSON,
    .keys =
        {
            {"results[], average_bus_bandwidth|nccl_version", TC_SNIFF_SURE, TC_OF_FILE},
            {"busBw, inPlace", TC_SNIFF_SURE, TC_OF_LIST},
        },
    .sniff = sniff,
    .read = read_file,
};
