/* SPDX-License-Identifier: Apache-2.0 */
/* The score as a table for people and as JSON for programs. */
#include "base/time.h"
#include "score/score_priv.h"

#include <string.h>

/* One row or list entry: bounded strings, each byte of which may need six as JSON. */
#define PIECE_MAX ((size_t)64 << 10)
#define MS INT64_C(1000000)
#define COLUMN_MAX 64

struct report {
    struct tc_score *s;
    tc_score_put_fn put;
    void *context;
    char data[PIECE_MAX];
};

static tc_status send(const struct report *r, const struct tc_buf *b)
{
    return r->put(r->context, tc_buf_slice(b)) ? TC_OK : TC_E_IO;
}

static struct tc_buf start(struct report *r)
{
    return tc_buf_make(r->data, sizeof r->data);
}

/* ---- numbers ----------------------------------------------------------------------------- */

/* Rounded to three digits, but never up to 1: 0.9999 is not perfect. */
static void put_share(struct tc_buf *b, uint64_t part, uint64_t whole, struct tc_slice none)
{
    if (whole == 0) {
        tc_buf_str(b, none);
        return;
    }
    double share = (double)part / (double)whole;
    uint64_t thousandths = (uint64_t)(share * 1000 + 0.5);
    thousandths = thousandths == 1000 && part < whole ? 999 : thousandths;
    tc_buf_u64(b, thousandths / 1000);
    tc_buf_char(b, '.');
    tc_buf_char(b, (char)('0' + thousandths / 100 % 10));
    tc_buf_char(b, (char)('0' + thousandths / 10 % 10));
    tc_buf_char(b, (char)('0' + thousandths % 10));
}

static void put_seconds(struct tc_buf *b, int64_t ns, struct tc_slice none)
{
    if (ns < 0) {
        tc_buf_str(b, none);
        return;
    }
    int64_t ms = ns / MS + (ns % MS >= MS / 2);
    tc_buf_i64(b, ms / 1000);
    tc_buf_char(b, '.');
    tc_buf_char(b, (char)('0' + ms / 100 % 10));
    tc_buf_char(b, (char)('0' + ms / 10 % 10));
    tc_buf_char(b, (char)('0' + ms % 10));
}

/* ---- text -------------------------------------------------------------------------------- */

static void put_right(struct tc_buf *b, struct tc_slice text, size_t width)
{
    for (size_t i = text.len; i < width; i++) {
        tc_buf_char(b, ' ');
    }
    tc_buf_str(b, text);
}

static void put_left(struct tc_buf *b, struct tc_slice text, size_t width)
{
    tc_buf_str(b, text);
    for (size_t i = text.len; i < width; i++) {
        tc_buf_char(b, ' ');
    }
}

static const char *const TITLES[] = {
    "faults",     "TP",        "FP",     "FN",      "TN",
    "explained",  "precision", "recall", "culprit", "discriminator",
    "TTD median", "TTD p95"};

#define COLUMN_COUNT TC_COUNT(TITLES)
#define GAP 2

/* "0.750 (3/4)" */
static void put_counted(struct tc_buf *b, uint64_t part, uint64_t whole)
{
    put_share(b, part, whole, TC_LIT("-"));
    if (whole > 0) {
        tc_buf_lit(b, " (");
        tc_buf_u64(b, part);
        tc_buf_char(b, '/');
        tc_buf_u64(b, whole);
        tc_buf_char(b, ')');
    }
}

static void put_duration(struct tc_buf *b, int64_t ns)
{
    put_seconds(b, ns, TC_LIT("-"));
    tc_buf_str(b, ns < 0 ? TC_EMPTY : TC_LIT(" s"));
}

static void put_cell(struct tc_buf *b, const struct tc_score_row *row, size_t column)
{
    const uint64_t counts[] = {row->faults,          row->true_positives, row->false_positives,
                               row->false_negatives, row->true_negatives, row->explained};
    size_t count = TC_COUNT(counts);
    if (column < count) {
        tc_buf_u64(b, counts[column]);
    } else if (column == count) {
        put_share(b, row->true_positives, row->true_positives + row->false_positives, TC_LIT("-"));
    } else if (column == count + 1) {
        put_share(b, row->true_positives, row->faults, TC_LIT("-"));
    } else if (column == count + 2) {
        put_counted(b, row->culprits_right, row->true_positives);
    } else if (column == count + 3) {
        put_counted(b, row->discriminators_right, row->discriminators_stated);
    } else {
        put_duration(b, column == count + 4 ? row->median_ns : row->p95_ns);
    }
}

static struct tc_slice cell_of(const struct tc_score_row *row, size_t column, char *data)
{
    struct tc_buf b = tc_buf_make(data, COLUMN_MAX);
    put_cell(&b, row, column);
    return tc_buf_slice(&b);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static tc_status text_table(struct report *r)
{
    char cell[COLUMN_MAX];
    size_t count = 0;
    size_t name_width = TC_LIT("pattern").len;
    size_t widths[COLUMN_COUNT];
    const struct tc_score_row *rows = tc_score_rows(r->s, &count);
    struct tc_buf b = start(r);
    for (size_t i = 0; i < count; i++) {
        name_width = larger(name_width, rows[i].pattern.len);
    }
    put_left(&b, TC_LIT("pattern"), name_width);
    for (size_t j = 0; j < COLUMN_COUNT; j++) {
        widths[j] = strlen(TITLES[j]);
        for (size_t i = 0; i < count; i++) {
            widths[j] = larger(widths[j], cell_of(&rows[i], j, cell).len);
        }
        put_right(&b, tc_slice_cstr(TITLES[j]), widths[j] + GAP);
    }
    tc_buf_char(&b, '\n');
    for (size_t i = 0; i < count; i++) {
        put_left(&b, rows[i].pattern, name_width);
        for (size_t j = 0; j < COLUMN_COUNT; j++) {
            put_right(&b, cell_of(&rows[i], j, cell), widths[j] + GAP);
        }
        tc_buf_char(&b, '\n');
        TC_TRY(send(r, &b));
        tc_buf_reset(&b);
    }
    return TC_OK;
}

static void put_printable_line(struct tc_buf *b, const char *before, struct tc_slice text)
{
    if (text.len > 0) {
        tc_buf_lit(b, "    ");
        tc_buf_str(b, tc_slice_cstr(before));
        tc_buf_printable(b, text);
        tc_buf_char(b, '\n');
    }
}

static tc_status text_entry(struct report *r, enum tc__list_kind kind, const struct tc__listed *l)
{
    struct tc_buf b = start(r);
    tc_buf_lit(&b, "  ");
    tc_buf_printable(&b, l->id);
    tc_buf_lit(&b, "  ");
    tc_buf_str(&b, l->pattern);
    tc_buf_lit(&b, "  ");
    tc_buf_time(&b, l->time_ns);
    tc_buf_lit(&b, "  ");
    tc_buf_printable(&b, l->place);
    tc_buf_char(&b, '\n');
    put_printable_line(&b, "", l->text);
    if (kind == TC__WRONG_CULPRITS) {
        put_printable_line(&b, "raised as ", l->other);
        put_printable_line(&b, "which names ", l->named);
    } else {
        put_printable_line(&b, "duplicate: already proved is ", l->other);
    }
    put_printable_line(&b, "fits noise ", l->noise);
    if (r->s->pairs > 1) {
        put_printable_line(&b, "of ", l->truth);
    }
    return send(r, &b);
}

static tc_status text_list(struct report *r, enum tc__list_kind kind, const char *title)
{
    const struct tc__list *list = &r->s->lists[kind];
    if (list->count == 0) {
        return TC_OK;
    }
    struct tc_buf b = start(r);
    tc_buf_char(&b, '\n');
    tc_buf_str(&b, tc_slice_cstr(title));
    tc_buf_lit(&b, ": ");
    tc_buf_u64(&b, list->total);
    tc_buf_char(&b, '\n');
    TC_TRY(send(r, &b));
    for (size_t i = 0; i < list->count; i++) {
        TC_TRY(text_entry(r, kind, &list->at[i]));
    }
    if (list->total == list->count) {
        return TC_OK;
    }
    b = start(r);
    tc_buf_lit(&b, "  and ");
    tc_buf_u64(&b, list->total - list->count);
    tc_buf_lit(&b, " more\n");
    return send(r, &b);
}

tc_status tc_score_report_text(struct tc_score *s, tc_score_put_fn put, void *context)
{
    struct report r = {.s = s, .put = put, .context = context};
    TC_TRY(text_table(&r));
    TC_TRY(text_list(&r, TC__FALSE_POSITIVES, "False positives"));
    TC_TRY(text_list(&r, TC__FALSE_NEGATIVES, "False negatives"));
    return text_list(&r, TC__WRONG_CULPRITS, "Wrong culprits");
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void put_key(struct tc_buf *b, const char *key)
{
    tc_buf_str(b, b->len > 0 && b->data[b->len - 1] != '{' ? TC_LIT(",\"") : TC_LIT("\""));
    tc_buf_str(b, tc_slice_cstr(key));
    tc_buf_lit(b, "\":");
}

static void json_count(struct tc_buf *b, const char *key, uint64_t value)
{
    put_key(b, key);
    tc_buf_u64(b, value);
}

static void json_share(struct tc_buf *b, const char *key, uint64_t part, uint64_t whole)
{
    double share = 0;
    put_key(b, key);
    if (tc_score_share(part, whole, &share)) {
        tc_buf_f64(b, share);
    } else {
        tc_buf_lit(b, "null");
    }
}

static void json_seconds(struct tc_buf *b, const char *key, int64_t ns)
{
    put_key(b, key);
    put_seconds(b, ns, TC_LIT("null"));
}

static void json_string(struct tc_buf *b, const char *key, struct tc_slice value)
{
    if (value.len > 0) {
        put_key(b, key);
        tc_buf_json(b, value);
    }
}

static void json_row(struct tc_buf *b, const struct tc_score_row *row)
{
    tc_buf_char(b, '{');
    json_string(b, "pattern", row->pattern);
    json_count(b, "faults", row->faults);
    json_count(b, "true_positives", row->true_positives);
    json_count(b, "false_positives", row->false_positives);
    json_count(b, "duplicates", row->duplicates);
    json_count(b, "false_negatives", row->false_negatives);
    json_count(b, "noises", row->noises);
    json_count(b, "true_negatives", row->true_negatives);
    json_count(b, "explained", row->explained);
    json_share(b, "precision", row->true_positives, row->true_positives + row->false_positives);
    json_share(b, "recall", row->true_positives, row->faults);
    json_count(b, "culprits_right", row->culprits_right);
    json_share(b, "culprit_accuracy", row->culprits_right, row->true_positives);
    json_count(b, "discriminators_right", row->discriminators_right);
    json_count(b, "discriminators_stated", row->discriminators_stated);
    json_share(b, "discriminator_accuracy", row->discriminators_right, row->discriminators_stated);
    json_seconds(b, "time_to_detection_median_seconds", row->median_ns);
    json_seconds(b, "time_to_detection_p95_seconds", row->p95_ns);
    tc_buf_char(b, '}');
}

static void json_entry(struct tc_buf *b, enum tc__list_kind kind, const struct tc__listed *l)
{
    bool verdict = kind == TC__FALSE_POSITIVES;
    tc_buf_char(b, '{');
    json_string(b, verdict ? "incident_id" : "id", l->id);
    json_string(b, "pattern", l->pattern);
    json_string(b, "truth", l->truth);
    put_key(b, "time");
    tc_buf_char(b, '"');
    tc_buf_time(b, l->time_ns);
    tc_buf_char(b, '"');
    json_string(b, "place", l->place);
    json_string(b, kind == TC__FALSE_NEGATIVES ? "what" : "headline", l->text);
    json_string(b, verdict ? "duplicate_of" : "incident_id", l->other);
    json_string(b, "noise", l->noise);
    json_string(b, "named", l->named);
    tc_buf_char(b, '}');
}

static tc_status json_list(struct report *r, enum tc__list_kind kind, const char *name)
{
    const struct tc__list *list = &r->s->lists[kind];
    struct tc_buf b = start(r);
    tc_buf_lit(&b, ",\"");
    tc_buf_str(&b, tc_slice_cstr(name));
    tc_buf_lit(&b, "\":{\"total\":");
    tc_buf_u64(&b, list->total);
    tc_buf_lit(&b, ",\"list\":[");
    for (size_t i = 0; i < list->count; i++) {
        tc_buf_str(&b, i == 0 ? TC_EMPTY : TC_LIT(","));
        json_entry(&b, kind, &list->at[i]);
        TC_TRY(send(r, &b));
        tc_buf_reset(&b);
    }
    tc_buf_lit(&b, "]}");
    return send(r, &b);
}

tc_status tc_score_report_json(struct tc_score *s, tc_score_put_fn put, void *context)
{
    struct report r = {.s = s, .put = put, .context = context};
    struct tc_buf b = start(&r);
    size_t count = 0;
    const struct tc_score_row *rows = tc_score_rows(s, &count);
    tc_buf_char(&b, '{');
    json_count(&b, "pairs", s->pairs);
    json_seconds(&b, "grace_seconds", s->options.grace_ns);
    tc_buf_lit(&b, ",\"patterns\":[");
    for (size_t i = 0; i + 1 < count; i++) {
        tc_buf_str(&b, i == 0 ? TC_EMPTY : TC_LIT(","));
        json_row(&b, &rows[i]);
        TC_TRY(send(&r, &b));
        tc_buf_reset(&b);
    }
    tc_buf_lit(&b, "],\"all\":");
    json_row(&b, &rows[count - 1]);
    TC_TRY(send(&r, &b));
    TC_TRY(json_list(&r, TC__FALSE_POSITIVES, "false_positives_list"));
    TC_TRY(json_list(&r, TC__FALSE_NEGATIVES, "false_negatives_list"));
    TC_TRY(json_list(&r, TC__WRONG_CULPRITS, "wrong_culprits_list"));
    b = start(&r);
    tc_buf_lit(&b, "}\n");
    return send(&r, &b);
}
