/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore run diff`: what differs between two runs. Values are set beside each other only where
 * both have the same definition. It says nothing of chance: that is another command's work.
 */
#include "base/format.h"
#include "base/json/json.h"
#include "base/number.h"
#include "cli/output/say.h"
#include "cli/output/terminal.h"
#include "cli/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE_A, SIDE_B, SIDES };

enum part {
    PART_RUN,
    PART_WORKLOAD,
    PART_SOFTWARE,
    PART_HARDWARE,
    PART_CLUSTER,
    PART_SERVING,
    PART_TRAINING,
    PART_SLICES,
    PART_TELEMETRY,
    PART_COUNT,
};

static const struct {
    const char *name;
    const char *sql;
} PARTS[PART_COUNT] = {
    [PART_RUN] = {"run",
                  "SELECT run_id, name, benchmark_class, workload_type, cadence, scheduler_path, "
                  "variable_under_test, status, benchmark_case_id, workload_spec_digest, "
                  "contract_digest, tools FROM benchmark_run_fact WHERE run_id = ?"},
    [PART_WORKLOAD] = {"workload", TC_RUN_DIMENSION_SQL("workload_dim", "workload_key")},
    [PART_SOFTWARE] = {"software", TC_RUN_DIMENSION_SQL("software_version_dim", "software_key")},
    [PART_HARDWARE] = {"hardware", TC_RUN_DIMENSION_SQL("hardware_topology_dim", "hardware_key")},
    [PART_CLUSTER] = {"cluster", TC_RUN_DIMENSION_SQL("cluster_region_dim", "cluster_key")},
    [PART_SERVING] = {"serving", TC_RUN_SERVING_SQL},
    [PART_TRAINING] = {"training", TC_RUN_TRAINING_SQL},
    [PART_SLICES] = {"slices", TC_RUN_SLICES_SQL},
    [PART_TELEMETRY] = {"telemetry", "SELECT s.family, count(*) AS slices " TC_RUN_SLICES_FROM
                                     "NOT LIKE '%\"' || s.family || '\"%' "
                                     "GROUP BY s.family ORDER BY s.family"},
};

/* What makes two rows the same point, and what a definition is looked up in. */
struct grain {
    enum part part;
    const size_t *keys;
    size_t key_count;
    size_t definitions;
};

static const size_t SERVING_KEYS[] = {TC_SERVING_WORKLOAD_POINT, TC_SERVING_CONCURRENCY,
                                      TC_SERVING_REQUEST_RATE};
static const size_t TRAINING_KEYS[] = {TC_TRAINING_PHASE, TC_TRAINING_SCALE_POINT};
static const struct grain GRAINS[] = {
    {PART_SERVING, SERVING_KEYS, TC_COUNT(SERVING_KEYS), TC_SERVING_DEFINITIONS},
    {PART_TRAINING, TRAINING_KEYS, TC_COUNT(TRAINING_KEYS), TC_TRAINING_DEFINITIONS},
};
#define GRAIN_COUNT TC_COUNT(GRAINS)

struct diff {
    struct tc_answer parts[SIDES][PART_COUNT];
    char ids[SIDES][TC_RUN_ID_BYTES];
    struct tc_json_parser *parsers[SIDES];
    bool json;
    /* What is found: text, or JSON. */
    struct tc_grow facts;
    struct tc_grow values;
    struct tc_grow odd;   /* not comparable, and points of one run only */
    struct tc_grow equal; /* names of values that are */
    /* --json: the arrays that facts, values and odd hold then. */
    struct tc_json_out facts_json;
    struct tc_json_out values_json;
    struct tc_json_out odd_json;
    struct tc_text_table table;
};

/* ---- facts ---- */

static void put_side(struct tc_grow *g, const struct tc_answer *s, size_t column)
{
    if (s->row_count == 0) {
        tc_grow_lit(g, "-");
    } else {
        tc_answer_value(g, s, 0, column);
    }
}

/* Part and field, with the blanks behind them. */
#define FACT_NAMES 32

/* Both sides have the same room: a digest that is cut still tells two of them apart. */
static void put_fact(struct diff *d, struct tc_slice text)
{
    size_t room = (tc_terminal_columns() - FACT_NAMES - 2) / 2;
    struct tc_grow cut = {{0}, false};
    if (text.len > room) {
        size_t len = room - 1;
        while (len > 0 && ((unsigned char)text.ptr[len] & 0xc0) == 0x80) {
            len--; /* not within a character */
        }
        tc_grow_format(&cut, "{}…", tc_slice_head(text, len));
        text = tc_grow_slice(&cut);
    }
    tc_text_table_cell(&d->table, text);
    d->facts.failed |= cut.failed;
    tc_grow_fini(&cut);
}

static void tell_fact(struct diff *d, enum part part, size_t column)
{
    const struct tc_answer *a = &d->parts[SIDE_A][part];
    const struct tc_answer *b = &d->parts[SIDE_B][part];
    const char *name = a->row_count > 0 ? tc_answer_name(a, column) : tc_answer_name(b, column);
    struct tc_grow sides[SIDES] = {{{0}, false}, {{0}, false}};
    put_side(&sides[SIDE_A], a, column);
    put_side(&sides[SIDE_B], b, column);
    if (d->json) {
        struct tc_json_out *j = &d->facts_json;
        tc_json_add_object(j);
        tc_json_put_cstr(j, "part", PARTS[part].name);
        tc_json_put_cstr(j, "field", name);
        for (size_t n = 0; n < SIDES; n++) {
            const struct tc_answer *s = &d->parts[n][part];
            tc_json_key_plain(j, n == SIDE_A ? TC_LIT("a") : TC_LIT("b"));
            if (s->row_count == 0 || !tc_answer_known(s, 0, column)) {
                tc_json_add_null(j);
            } else {
                tc_json_add_str(j, tc_grow_slice(&sides[n]));
            }
        }
        tc_json_end_object(j);
    } else {
        tc_text_table_cell(&d->table, tc_slice_cstr(PARTS[part].name));
        tc_text_table_cell(&d->table, tc_slice_cstr(name));
        put_fact(d, tc_grow_slice(&sides[SIDE_A]));
        put_fact(d, tc_grow_slice(&sides[SIDE_B]));
    }
    d->facts.failed |= sides[SIDE_A].failed || sides[SIDE_B].failed;
    tc_grow_fini(&sides[SIDE_A]);
    tc_grow_fini(&sides[SIDE_B]);
}

static void compare_facts(struct diff *d)
{
    for (enum part part = PART_RUN; part <= PART_CLUSTER; part++) {
        const struct tc_answer *a = &d->parts[SIDE_A][part];
        const struct tc_answer *b = &d->parts[SIDE_B][part];
        /* Column 0 is the run's id, or the digest of the others. */
        for (size_t c = 1; c < a->column_count; c++) {
            bool both = a->row_count > 0 && b->row_count > 0;
            const struct tc_answer *one = a->row_count > 0 ? a : b;
            bool differs = both ? !tc_answer_same(a, 0, b, 0, c)
                                : one->row_count > 0 && tc_answer_known(one, 0, c);
            if (differs) {
                tell_fact(d, part, c);
            }
        }
    }
}

/* ---- values ---- */

static void put_point(struct tc_grow *g, const struct grain *grain, const struct tc_answer *s,
                      size_t row)
{
    bool any = false;
    for (size_t n = 0; n < grain->key_count; n++) {
        if (!tc_answer_known(s, row, grain->keys[n])) {
            continue;
        }
        tc_grow_str(g, any ? TC_LIT(" ") : TC_EMPTY);
        if (tc_answer_type(s, grain->keys[n]) != TC_COLUMN_TEXT) {
            tc_grow_format(g, "{}=", tc_answer_name(s, grain->keys[n]));
        }
        tc_answer_value(g, s, row, grain->keys[n]);
        any = true;
    }
    tc_grow_str(g, any ? TC_EMPTY : TC_LIT("the whole"));
}

static void tell_odd(struct diff *d, struct tc_slice point, const char *metric, const char *why,
                     struct tc_slice a, struct tc_slice b)
{
    struct tc_grow *g = &d->odd;
    if (d->json) {
        struct tc_json_out *j = &d->odd_json;
        tc_json_add_object(j);
        tc_json_put_some(j, "point", point);
        tc_json_put_some(j, "metric", tc_slice_cstr(metric));
        tc_json_put_some(j, "why", tc_slice_cstr(why));
        tc_json_put_some(j, "a", a);
        tc_json_put_some(j, "b", b);
        tc_json_end_object(j);
        return;
    }
    tc_grow_format(g, "  {}{}{}: {}", point, metric != NULL ? " " : "", metric, why);
    if (a.len > 0) {
        tc_grow_format(g, ": {} and {}", a, b);
    }
    tc_grow_lit(g, "\n");
}

static void tell_value(struct diff *d, struct tc_slice point, const struct tc_answer *a,
                       size_t row_a, const struct tc_answer *b, size_t row_b, size_t column)
{
    double x = tc_answer_real(a, row_a, column);
    double y = tc_answer_real(b, row_b, column);
    if (d->json) {
        struct tc_json_out *j = &d->values_json;
        tc_json_add_object(j);
        tc_json_put_some(j, "point", point);
        tc_json_put_some(j, "metric", tc_slice_cstr(tc_answer_name(a, column)));
        tc_run_diff_pair(j, x, y);
        tc_json_end_object(j);
        return;
    }
    if (x == y) {
        tc_grow_format(&d->equal, "{}{}", d->equal.buf.len > 0 ? ", " : "",
                       tc_answer_name(a, column));
        return;
    }
    tc_text_table_cell(&d->table, tc_slice_cstr(tc_answer_name(a, column)));
    tc_text_table_value(&d->table, a, row_a, column);
    tc_text_table_value(&d->table, b, row_b, column);
    tc_text_table_format(&d->table, "{}", tc_as_ratio(x, y));
}

/* What was found for one point, for people. */
static void put_values(struct diff *d, struct tc_slice point)
{
    struct tc_grow *g = &d->values;
    if (d->table.cell_count > 0 || d->equal.buf.len > 0) {
        tc_grow_format(g, "\n{}\n", point);
    }
    if (d->table.cell_count > 0) {
        (void)tc_text_table_print(&d->table, g, "  ");
    }
    if (d->equal.buf.len > 0) {
        tc_grow_lit(g, "  equal:\n");
        tc_text_words(g, "    ", tc_grow_slice(&d->equal), "    ");
        tc_grow_lit(g, "\n");
    }
    g->failed |= d->equal.failed;
    tc_grow_fini(&d->equal);
    tc_text_table_fini(&d->table);
}

/* The definitions of a row; false when they cannot be read. */
static bool definitions_of(struct diff *d, size_t side, const struct grain *grain, size_t row,
                           struct tc_json *out)
{
    struct tc_error err;
    struct tc_slice text = tc_answer_text(&d->parts[side][grain->part], row, grain->definitions);
    return text.len > 0 && tc_json_parse(d->parsers[side], text, out, &err) == TC_OK;
}

static void compare_rows(struct diff *d, const struct grain *grain, size_t row_a, size_t row_b)
{
    const struct tc_answer *a = &d->parts[SIDE_A][grain->part];
    const struct tc_answer *b = &d->parts[SIDE_B][grain->part];
    struct tc_grow point = {0};
    struct tc_json of_a;
    struct tc_json of_b;
    put_point(&point, grain, a, row_a);
    if (!d->json) {
        d->table = (struct tc_text_table){.column_count = 4,
                                          .heads = {"metric", "first", "second", "ratio"},
                                          .right = {false, true, true, true},
                                          .flexible = 0};
    }
    bool ok = definitions_of(d, SIDE_A, grain, row_a, &of_a) &&
              definitions_of(d, SIDE_B, grain, row_b, &of_b);
    for (size_t c = grain->definitions + 1; ok && c < a->column_count; c++) {
        struct tc_slice name = tc_slice_cstr(tc_answer_name(a, c));
        bool both = tc_answer_known(a, row_a, c) && tc_answer_known(b, row_b, c);
        struct tc_slice id_a = tc_json_get_string(of_a, name);
        struct tc_slice id_b = tc_json_get_string(of_b, name);
        if (!both || (id_a.len == 0 && id_b.len == 0)) {
            continue; /* not there, or nothing that was measured */
        }
        if (tc_slice_eq(id_a, id_b)) {
            tell_value(d, tc_grow_slice(&point), a, row_a, b, row_b, c);
        } else {
            tell_odd(d, tc_grow_slice(&point), tc_answer_name(a, c),
                     "not comparable: definitions differ", id_a, id_b);
        }
    }
    if (!d->json) {
        put_values(d, tc_grow_slice(&point));
    }
    d->values.failed |= point.failed;
    tc_grow_fini(&point);
}

static bool same_point_of(const struct tc_answer *a, size_t row_a, const struct tc_answer *b,
                          size_t row_b, const struct grain *grain)
{
    for (size_t n = 0; n < grain->key_count; n++) {
        if (!tc_answer_same(a, row_a, b, row_b, grain->keys[n])) {
            return false;
        }
    }
    return true;
}

static bool same_point(const struct diff *d, const struct grain *grain, size_t row_a, size_t row_b)
{
    return same_point_of(&d->parts[SIDE_A][grain->part], row_a, &d->parts[SIDE_B][grain->part],
                         row_b, grain);
}

/* A row that meets none: the other run has no such point, or has it less often. */
static const char *why_lone(const struct diff *d, const struct grain *grain, size_t side,
                            size_t row)
{
    const struct tc_answer *own = &d->parts[side][grain->part];
    const struct tc_answer *other = &d->parts[1 - side][grain->part];
    size_t here = 0;
    size_t there = 0;
    for (size_t n = 0; n < own->row_count; n++) {
        here += same_point_of(own, n, own, row, grain) ? 1 : 0;
    }
    for (size_t n = 0; n < other->row_count; n++) {
        there += same_point_of(other, n, own, row, grain) ? 1 : 0;
    }
    if (there == 0) {
        return side == SIDE_A ? "only in the first" : "only in the second";
    }
    if (here == 2) {
        return side == SIDE_A ? "twice in the first" : "twice in the second";
    }
    return side == SIDE_A ? "more often in the first" : "more often in the second";
}

static void tell_lone(struct diff *d, const struct grain *grain, size_t side, size_t row)
{
    struct tc_grow point = {0};
    put_point(&point, grain, &d->parts[side][grain->part], row);
    tell_odd(d, tc_grow_slice(&point), NULL, why_lone(d, grain, side, row), TC_EMPTY, TC_EMPTY);
    tc_grow_fini(&point);
}

/* Each row of A meets the first row of B of the same point that none has met yet. */
static bool compare_grain(struct diff *d, const struct grain *grain)
{
    size_t count_a = d->parts[SIDE_A][grain->part].row_count;
    size_t count_b = d->parts[SIDE_B][grain->part].row_count;
    bool *met = calloc(count_b + 1, sizeof *met);
    size_t first = 0; /* before it all have been met: runs of equal points stay cheap */
    if (met == NULL) {
        return false;
    }
    for (size_t a = 0; a < count_a; a++) {
        size_t b = first;
        while (b < count_b && (met[b] || !same_point(d, grain, a, b))) {
            b++;
        }
        if (b == count_b) {
            tell_lone(d, grain, SIDE_A, a);
            continue;
        }
        met[b] = true;
        while (first < count_b && met[first]) {
            first++;
        }
        compare_rows(d, grain, a, b);
    }
    for (size_t b = 0; b < count_b; b++) {
        if (!met[b]) {
            tell_lone(d, grain, SIDE_B, b);
        }
    }
    free(met);
    return true;
}

/* ---- telemetry ---- */

static void tell_telemetry(struct diff *d)
{
    uint64_t slices[SIDES] = {0, 0};
    char texts[SIDES][48];
    for (size_t side = 0; side < SIDES; side++) {
        const struct tc_answer *s = &d->parts[side][PART_TELEMETRY];
        for (size_t row = 0; row < s->row_count; row++) {
            slices[side] += (uint64_t)tc_answer_int(s, row, 1);
        }
        (void)snprintf(texts[side], sizeof texts[side], "%llu slices",
                       (unsigned long long)slices[side]);
    }
    if (slices[SIDE_A] > 0 || slices[SIDE_B] > 0) {
        tell_odd(d, TC_LIT("telemetry"), NULL, "see telemetry_slice_fact with `tracecore sql`",
                 tc_slice_cstr(texts[SIDE_A]), tc_slice_cstr(texts[SIDE_B]));
    }
}

static bool compare_all(struct diff *d)
{
    bool ok = true;
    for (size_t n = 0; n < GRAIN_COUNT; n++) {
        ok = compare_grain(d, &GRAINS[n]) && ok;
    }
    ok = tc_run_diff_slices(&d->parts[SIDE_A][PART_SLICES], &d->parts[SIDE_B][PART_SLICES],
                            &d->values, &d->odd, d->json ? &d->values_json : NULL,
                            d->json ? &d->odd_json : NULL) &&
         ok;
    tell_telemetry(d);
    return ok;
}

/* ---- the whole ---- */

static void start_table(struct diff *d, const char *third, const char *fourth)
{
    tc_text_table_fini(&d->table);
    d->table = (struct tc_text_table){
        .column_count = 4, .heads = {"part", "field", third, fourth}, .flexible = 2};
}

static void put_text(struct diff *d, struct tc_grow *g)
{
    start_table(d, d->ids[SIDE_A], d->ids[SIDE_B]);
    compare_facts(d);
    if (d->table.cell_count == 0) {
        tc_grow_lit(g, "same in all that is known of workload, software, hardware and cluster\n");
    } else {
        (void)tc_text_table_print(&d->table, g, "");
    }
    tc_text_table_fini(&d->table);
    g->failed |= !compare_all(d);
    tc_grow_str(g, tc_grow_slice(&d->values));
    if (d->odd.buf.len > 0) {
        tc_grow_format(g, "\nnot compared\n{}", tc_grow_slice(&d->odd));
    }
    tc_grow_lit(g,
                "\nThis sets two runs beside each other. It is no statistical comparison: one run\n"
                "each says nothing of chance. `tracecore compare` compares groups of runs.\n");
    g->failed |= d->facts.failed || d->values.failed || d->odd.failed;
}

static struct tc_json_out begin_array(struct tc_grow *g)
{
    struct tc_json_out j = tc_json_out_grow(g);
    tc_json_add_array(&j);
    return j;
}

static void put_json(struct diff *d, struct tc_grow *g)
{
    d->facts_json = begin_array(&d->facts);
    d->values_json = begin_array(&d->values);
    d->odd_json = begin_array(&d->odd);
    compare_facts(d);
    bool ok = compare_all(d);
    tc_json_end_array(&d->facts_json);
    tc_json_end_array(&d->values_json);
    tc_json_end_array(&d->odd_json);
    g->failed |= !ok || d->facts.failed || d->values.failed || d->odd.failed;
    if (g->failed) {
        return;
    }
    struct tc_json_out j = tc_json_object_grow(g);
    tc_json_put_cstr(&j, "a", d->ids[SIDE_A]);
    tc_json_put_cstr(&j, "b", d->ids[SIDE_B]);
    tc_json_put_raw(&j, "differs", tc_grow_slice(&d->facts));
    tc_json_put_raw(&j, "values", tc_grow_slice(&d->values));
    tc_json_put_raw(&j, "not_compared", tc_grow_slice(&d->odd));
    tc_json_put_bool(&j, "statistical", false);
    (void)tc_json_end_line(&j);
}

static tc_status ask_side(struct tc_warehouse *w, struct diff *d, size_t side, struct tc_error *err)
{
    struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(d->ids[side])};
    for (size_t n = 0; n < PART_COUNT; n++) {
        TC_TRY(tc_answer_query(w, PARTS[n].sql, &id, 1, &d->parts[side][n], err));
    }
    d->parsers[side] = tc_json_parser_create();
    return d->parsers[side] == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the answer")
                                    : TC_OK;
}

static int diff_in(struct tc_warehouse *w, const struct tc_run_args *args, struct diff *d)
{
    struct tc_error err = {0};
    struct tc_grow g = {0};
    d->json = args->json;
    for (size_t side = 0; side < SIDES; side++) {
        if (!tc_run_find(w, args->words[side], d->ids[side])) {
            return TC_EXIT_BAD;
        }
        if (ask_side(w, d, side, &err) != TC_OK) {
            return tc_refuse("run", "%s", err.message);
        }
    }
    if (d->json) {
        put_json(d, &g);
    } else {
        put_text(d, &g);
    }
    return tc_output_grown("run", &g, TC_EXIT_OK);
}

int tc_run_diff(const struct tc_run_args *args)
{
    struct tc_warehouse *w = tc_run_open(args);
    if (w == NULL) {
        return TC_EXIT_BAD;
    }
    struct diff *d = calloc(1, sizeof *d);
    int code = TC_EXIT_BAD;
    if (d == NULL) {
        tc_say("run", "no memory for the answer");
    } else {
        code = diff_in(w, args, d);
        for (size_t side = 0; side < SIDES; side++) {
            for (size_t n = 0; n < PART_COUNT; n++) {
                tc_answer_fini(&d->parts[side][n]);
            }
            tc_json_parser_destroy(d->parsers[side]);
        }
        tc_grow_fini(&d->facts);
        tc_grow_fini(&d->values);
        tc_grow_fini(&d->odd);
        tc_grow_fini(&d->equal);
        tc_text_table_fini(&d->table);
    }
    free(d);
    tc_warehouse_close(w);
    return code;
}
