/* SPDX-License-Identifier: Apache-2.0 */
/* The score as a table for people and as JSON for programs. */
#include "base/format.h"
#include "base/json/out.h"
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
    struct tc_buf b; /* JSON: of data */
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

/* Rounded to three digits, but never up to 1: 0.9999 is not perfect. "-" without a whole. */
static void write_share(struct tc_buf *b, const struct tc_arg *arg)
{
    uint64_t part = arg->natural;
    uint64_t whole = arg->limit;
    if (whole == 0) {
        tc_buf_char(b, '-');
        return;
    }
    uint64_t thousandths = (uint64_t)((double)part / (double)whole * 1000 + 0.5);
    thousandths = thousandths == 1000 && part < whole ? 999 : thousandths;
    tc_format(b, "{}.{}", thousandths / 1000, tc_as_digits(thousandths % 1000, 3));
}

static struct tc_arg share(uint64_t part, uint64_t whole)
{
    return (struct tc_arg){.write = write_share, .natural = part, .limit = whole};
}

static void write_seconds(struct tc_buf *b, const struct tc_arg *arg)
{
    int64_t ms = arg->integer / MS + (arg->integer % MS >= MS / 2);
    tc_format(b, "{}.{}", ms / 1000, tc_as_digits((uint64_t)ms % 1000, 3));
}

/* Of a time that is not negative. */
static struct tc_arg seconds(int64_t ns)
{
    return (struct tc_arg){.write = write_seconds, .integer = ns};
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
    tc_format(b, "{}{}", share(part, whole), tc_when(whole > 0, " ({}/{})", part, whole));
}

static void put_cell(struct tc_buf *b, const struct tc_score_row *row, size_t column)
{
    const uint64_t counts[] = {row->faults,          row->true_positives, row->false_positives,
                               row->false_negatives, row->true_negatives, row->explained};
    size_t count = TC_COUNT(counts);
    if (column < count) {
        tc_buf_u64(b, counts[column]);
    } else if (column == count) {
        tc_format(b, "{}", share(row->true_positives, row->true_positives + row->false_positives));
    } else if (column == count + 1) {
        tc_format(b, "{}", share(row->true_positives, row->faults));
    } else if (column == count + 2) {
        put_counted(b, row->culprits_right, row->true_positives);
    } else if (column == count + 3) {
        put_counted(b, row->discriminators_right, row->discriminators_stated);
    } else {
        int64_t ns = column == count + 4 ? row->median_ns : row->p95_ns;
        tc_format(b, ns < 0 ? "-{}" : "{} s", ns < 0 ? TC_ARG("") : seconds(ns));
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

static tc_status text_cascades(struct report *r)
{
    size_t count = 0;
    const struct tc_score_row *all = tc_score_rows(r->s, &count) + (count - 1);
    struct tc_buf b = start(r);
    if (all->cascades == 0) {
        return TC_OK;
    }
    tc_format(&b,
              "\nFaults that caused others: {}; told as the root of their story: ", all->cascades);
    put_counted(&b, all->roots_first, all->cascades);
    tc_buf_char(&b, '\n');
    return send(r, &b);
}

static void put_line(struct tc_buf *b, const char *before, struct tc_slice text)
{
    tc_format(b, "{}", tc_when(text.len > 0, "    {}{}\n", before, tc_as_printable(text)));
}

static tc_status text_entry(struct report *r, enum tc__list_kind kind, const struct tc__listed *l)
{
    struct tc_buf b = start(r);
    tc_format(&b, "  {}  {}  {}  {}\n", tc_as_printable(l->id), l->pattern, tc_as_time(l->time_ns),
              tc_as_printable(l->place));
    put_line(&b, "", l->text);
    if (kind == TC__WRONG_CULPRITS) {
        put_line(&b, "raised as ", l->other);
        put_line(&b, "which names ", l->named);
    } else {
        put_line(&b, "duplicate: already proved is ", l->other);
    }
    put_line(&b, "fits noise ", l->noise);
    if (r->s->pairs > 1) {
        put_line(&b, "of ", l->truth);
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
    tc_format(&b, "\n{}: {}\n", title, list->total);
    TC_TRY(send(r, &b));
    for (size_t i = 0; i < list->count; i++) {
        TC_TRY(text_entry(r, kind, &list->at[i]));
    }
    if (list->total == list->count) {
        return TC_OK;
    }
    b = start(r);
    tc_format(&b, "  and {} more\n", list->total - list->count);
    return send(r, &b);
}

tc_status tc_score_report_text(struct tc_score *s, tc_score_put_fn put, void *context)
{
    struct report r = {.s = s, .put = put, .context = context};
    TC_TRY(text_table(&r));
    TC_TRY(text_cascades(&r));
    TC_TRY(text_list(&r, TC__FALSE_POSITIVES, "False positives"));
    TC_TRY(text_list(&r, TC__FALSE_NEGATIVES, "False negatives"));
    return text_list(&r, TC__WRONG_CULPRITS, "Wrong culprits");
}

/* ---- JSON -------------------------------------------------------------------------------- */

/* Sends what is there. */
static bool empty_report(void *context, size_t bytes)
{
    struct report *r = context;
    bool sent = r->put(r->context, tc_buf_slice(&r->b));
    tc_buf_reset(&r->b);
    (void)bytes; /* fewer than the whole buffer */
    return sent;
}

#define PUT_SHARE(j, key, part, whole) (tc_json_key((j), key), add_share((j), (part), (whole)))
#define PUT_SECONDS(j, key, ns) (tc_json_key((j), key), add_seconds((j), (ns)))

static void add_share(struct tc_json_out *j, uint64_t part, uint64_t whole)
{
    double share = 0;
    if (tc_score_share(part, whole, &share)) {
        tc_json_add_f64(j, share);
    } else {
        tc_json_add_null(j);
    }
}

static void add_seconds(struct tc_json_out *j, int64_t ns)
{
    char text[COLUMN_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_json_add_raw(j, tc_format(&b, "{}", ns < 0 ? TC_ARG("null") : seconds(ns)));
}

static void json_row(struct tc_json_out *j, const struct tc_score_row *row)
{
    tc_json_add_object(j);
    tc_json_put_some(j, "pattern", row->pattern);
    tc_json_put_u64(j, "faults", row->faults);
    tc_json_put_u64(j, "true_positives", row->true_positives);
    tc_json_put_u64(j, "false_positives", row->false_positives);
    tc_json_put_u64(j, "duplicates", row->duplicates);
    tc_json_put_u64(j, "false_negatives", row->false_negatives);
    tc_json_put_u64(j, "noises", row->noises);
    tc_json_put_u64(j, "true_negatives", row->true_negatives);
    tc_json_put_u64(j, "explained", row->explained);
    PUT_SHARE(j, "precision", row->true_positives, row->true_positives + row->false_positives);
    PUT_SHARE(j, "recall", row->true_positives, row->faults);
    tc_json_put_u64(j, "culprits_right", row->culprits_right);
    PUT_SHARE(j, "culprit_accuracy", row->culprits_right, row->true_positives);
    tc_json_put_u64(j, "discriminators_right", row->discriminators_right);
    tc_json_put_u64(j, "discriminators_stated", row->discriminators_stated);
    PUT_SHARE(j, "discriminator_accuracy", row->discriminators_right, row->discriminators_stated);
    tc_json_put_u64(j, "cascades", row->cascades);
    tc_json_put_u64(j, "roots_first", row->roots_first);
    PUT_SHARE(j, "root_accuracy", row->roots_first, row->cascades);
    PUT_SECONDS(j, "time_to_detection_median_seconds", row->median_ns);
    PUT_SECONDS(j, "time_to_detection_p95_seconds", row->p95_ns);
    tc_json_end_object(j);
}

/* A member whose name depends on the list; left out when it is empty. */
static void put_named(struct tc_json_out *j, const char *key, struct tc_slice value)
{
    if (value.len > 0) {
        tc_json_key_plain(j, tc_slice_cstr(key));
        tc_json_add_str(j, value);
    }
}

static void json_entry(struct tc_json_out *j, enum tc__list_kind kind, const struct tc__listed *l)
{
    bool verdict = kind == TC__FALSE_POSITIVES;
    tc_json_add_object(j);
    put_named(j, verdict ? "incident_id" : "id", l->id);
    tc_json_put_some(j, "pattern", l->pattern);
    tc_json_put_some(j, "truth", l->truth);
    tc_json_put_time(j, "time", l->time_ns);
    tc_json_put_some(j, "place", l->place);
    put_named(j, kind == TC__FALSE_NEGATIVES ? "what" : "headline", l->text);
    put_named(j, verdict ? "duplicate_of" : "incident_id", l->other);
    tc_json_put_some(j, "noise", l->noise);
    tc_json_put_some(j, "named", l->named);
    tc_json_end_object(j);
}

static void json_list(const struct tc_score *s, enum tc__list_kind kind, const char *name,
                      struct tc_json_out *j)
{
    const struct tc__list *list = &s->lists[kind];
    tc_json_key_plain(j, tc_slice_cstr(name));
    tc_json_add_object(j);
    tc_json_put_u64(j, "total", list->total);
    tc_json_put_array(j, "list");
    for (size_t i = 0; i < list->count; i++) {
        json_entry(j, kind, &list->at[i]);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}

tc_status tc_score_report_json(struct tc_score *s, tc_score_put_fn put, void *context)
{
    struct report r = {.s = s, .put = put, .context = context};
    r.b = tc_buf_make(r.data, sizeof r.data);
    struct tc_json_out j = tc_json_out_sink(&r.b, empty_report, &r);
    size_t count = 0;
    const struct tc_score_row *rows = tc_score_rows(s, &count);
    tc_json_add_object(&j);
    tc_json_put_u64(&j, "pairs", s->pairs);
    PUT_SECONDS(&j, "grace_seconds", s->options.grace_ns);
    tc_json_put_array(&j, "patterns");
    for (size_t i = 0; i + 1 < count; i++) {
        json_row(&j, &rows[i]);
    }
    tc_json_end_array(&j);
    tc_json_key(&j, "all");
    json_row(&j, &rows[count - 1]);
    json_list(s, TC__FALSE_POSITIVES, "false_positives_list", &j);
    json_list(s, TC__FALSE_NEGATIVES, "false_negatives_list", &j);
    json_list(s, TC__WRONG_CULPRITS, "wrong_culprits_list", &j);
    return tc_json_end_line(&j) && empty_report(&r, 0) ? TC_OK : TC_E_IO;
}
