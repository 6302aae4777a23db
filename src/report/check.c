/* SPDX-License-Identifier: Apache-2.0 */
#include "report/check.h"

#include "base/digest.h"
#include "base/json/canonical.h"
#include "base/json/json.h"
#include "base/json/raw.h"
#include "base/table/grow.h"
#include "publish/claim.h"
#include "publish/values.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Levels of a report's JSON that numbers may stand in. */
#define DEPTH_MAX 16

struct checking {
    struct tc_warehouse *w;
    struct tc_json root;
    struct tc_error *err;
};

static bool broken(struct tc_report_number *n, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool broken(struct tc_report_number *n, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(n->why, sizeof n->why, format, args);
    va_end(args);
    return false;
}

static double real_of(struct tc_json object, struct tc_slice key)
{
    struct tc_json v;
    double value = (double)NAN;
    return tc_json_get(object, key, &v) && tc_json_double(v, &value) ? value : (double)NAN;
}

/* NULL: the query gives none of that run. */
static const struct tc_run_value *find_value(const struct tc_values *values, struct tc_slice run_id)
{
    size_t low = 0;
    size_t high = values->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = tc_slice_cmp(tc_slice_cstr(values->items[middle].run_id), run_id);
        if (order == 0) {
            return &values->items[middle];
        }
        low = order < 0 ? middle + 1 : low;
        high = order > 0 ? middle : high;
    }
    return NULL;
}

/* ---- the claim ---- */

static tc_status check_name(struct tc_slice raw, struct tc_report_number *n, bool *out,
                            struct tc_error *err)
{
    char id[TC_NUMBER_ID_BYTES];
    char *text = NULL;
    size_t len = 0;
    struct tc_error ignored;
    *out = true;
    if (tc_canonical_text(raw, &text, &len, &ignored) != TC_OK) {
        *out = broken(n, "its claim is not JSON that can be read");
        return TC_OK;
    }
    tc_status status = tc_claim_name(tc_slice_make(text, len), id, err);
    free(text);
    if (status == TC_OK && !tc_slice_eq(n->id, tc_slice_cstr(id))) {
        *out = broken(n, "its claim gives the id %s: the report was changed", id);
    }
    return status;
}

static bool check_query(struct tc_json claim, struct tc_report_number *n)
{
    struct tc_digest digest;
    char text[TC_DIGEST_TEXT];
    struct tc_slice query = tc_json_get_string(claim, TC_LIT("query"));
    if (query.len == 0 || tc_digest_sha256(query, &digest) != TC_OK) {
        return broken(n, "it has no query");
    }
    tc_digest_text(&digest, text);
    return tc_slice_eq(tc_json_get_string(claim, TC_LIT("query_spec_digest")),
                       tc_slice_cstr(text)) ||
           broken(n, "the text of its query does not have its digest");
}

/* ---- the tables ---- */

static tc_status check_manifest(struct tc_warehouse *w, struct tc_slice run_id,
                                struct tc_slice manifest, struct tc_report_number *n, bool *out,
                                struct tc_error *err)
{
    const struct tc_bind binds[] = {{.type = TC_COLUMN_TEXT, .as.text = run_id},
                                    {.type = TC_COLUMN_TEXT, .as.text = manifest}};
    int64_t count = 0;
    TC_TRY(tc_warehouse_int(w,
                            "SELECT count(*) FROM benchmark_run_fact WHERE run_id = ? AND "
                            "artifact_manifest_digest = ?",
                            binds, 2, 0, &count, err));
    *out = count == 1 ||
           broken(n, "run %.*s has another manifest now, or is not there", TC_FMT(run_id));
    return TC_OK;
}

static tc_status check_runs(struct checking *c, struct tc_json claim,
                            const struct tc_values *values, struct tc_report_number *n, bool *out)
{
    struct tc_json list;
    struct tc_json v;
    size_t count = 0;
    *out = tc_json_get(claim, TC_LIT("runs"), &list) || broken(n, "its claim names no runs");
    if (!*out) {
        return TC_OK;
    }
    for (struct tc_json_iter it = tc_json_iter_make(list);
         *out && tc_json_iter_next(&it, NULL, &v);) {
        struct tc_slice id = tc_json_get_string(v, TC_LIT("run_id"));
        const struct tc_run_value *value = find_value(values, id);
        count++;
        if (value == NULL || !tc_values_are_same(value->value, real_of(v, TC_LIT("value")))) {
            *out = broken(n, "its query gives another value of run %.*s", TC_FMT(id));
            return TC_OK;
        }
        TC_TRY(check_manifest(c->w, id, tc_json_get_string(v, TC_LIT("artifact_manifest_digest")),
                              n, out, c->err));
    }
    if (*out && count != values->count) {
        *out =
            broken(n, "its query gives values of %zu runs, it stands on %zu", values->count, count);
    }
    return TC_OK;
}

/* ---- the statistic ---- */

/* The median of the values that the runs of one side have. */
static tc_status side_median(struct checking *c, struct tc_slice side,
                             const struct tc_values *values, struct tc_statistic *out)
{
    struct tc_json bases;
    struct tc_json basis;
    struct tc_json runs;
    struct tc_json v;
    size_t count = 0;
    double *list = malloc((values->count + 1) * sizeof *list);
    if (list == NULL) {
        return tc_fail(c->err, TC_E_NOMEM, 0, "no memory to check a report");
    }
    *out = (struct tc_statistic){.value = (double)NAN};
    if (tc_json_get(c->root, TC_LIT("runs"), &bases)) {
        for (struct tc_json_iter it = tc_json_iter_make(bases);
             tc_json_iter_next(&it, NULL, &basis);) {
            if (!tc_slice_eq(tc_json_get_string(basis, TC_LIT("name")), side) ||
                !tc_json_get(basis, TC_LIT("runs"), &runs)) {
                continue;
            }
            for (struct tc_json_iter r = tc_json_iter_make(runs);
                 count < values->count && tc_json_iter_next(&r, NULL, &v);) {
                const struct tc_run_value *value =
                    find_value(values, tc_json_get_string(v, TC_LIT("run_id")));
                list[count] = value == NULL ? 0 : value->value;
                count += value != NULL;
            }
        }
    }
    tc_status status = count == 0 ? TC_OK : tc_statistic_make(list, count, 0.95, out, NULL, c->err);
    free(list);
    return status;
}

/* The number made again from the values of its query. */
static tc_status make_again(struct checking *c, struct tc_slice statistic,
                            const struct tc_values *values, double *out)
{
    struct tc_statistic base;
    struct tc_statistic candidate;
    double *list = NULL;
    *out = (double)NAN;
    if (tc_slice_starts_any(statistic, "ratio of medians", "difference of medians")) {
        TC_TRY(side_median(c, TC_LIT("base"), values, &base));
        TC_TRY(side_median(c, TC_LIT("candidate"), values, &candidate));
        *out = tc_slice_starts(statistic, TC_LIT("ratio")) ? candidate.value / base.value
                                                           : candidate.value - base.value;
        return TC_OK;
    }
    if (values->count == 0 || !tc_slice_is_any(statistic, TC_STATISTIC_MEDIAN, "reading")) {
        return TC_OK;
    }
    list = malloc(values->count * sizeof *list);
    if (list == NULL) {
        return tc_fail(c->err, TC_E_NOMEM, 0, "no memory to check a report");
    }
    for (size_t i = 0; i < values->count; i++) {
        list[i] = values->items[i].value;
    }
    tc_status status = tc_statistic_make(list, values->count, 0.95, &base, NULL, c->err);
    free(list);
    *out = status == TC_OK ? base.value : (double)NAN;
    return status;
}

/* ---- where it stands in the report ---- */

/* Every place of the document that has the id says what the claim says. */
static bool check_places(struct tc_json v, struct tc_json claim, struct tc_report_number *n,
                         unsigned depth)
{
    struct tc_json inner;
    struct tc_json part;
    enum tc_json_type type = tc_json_type(v);
    if (depth > DEPTH_MAX || (type != TC_JSON_OBJECT && type != TC_JSON_ARRAY)) {
        return true;
    }
    if (type == TC_JSON_OBJECT && tc_json_get(v, TC_LIT("n"), &inner) &&
        tc_slice_eq(tc_json_get_string(v, TC_LIT("id")), n->id)) {
        struct tc_json interval;
        bool has = tc_json_get(v, TC_LIT("interval"), &interval) &&
                   tc_json_type(interval) == TC_JSON_OBJECT;
        bool said = tc_json_get(claim, TC_LIT("confidence"), &part);
        return (tc_values_are_same(real_of(v, TC_LIT("value")), real_of(claim, TC_LIT("value"))) &&
                said &&
                tc_values_are_same(has ? real_of(interval, TC_LIT("low")) : (double)NAN,
                                   real_of(part, TC_LIT("low"))) &&
                tc_values_are_same(has ? real_of(interval, TC_LIT("high")) : (double)NAN,
                                   real_of(part, TC_LIT("high")))) ||
               broken(n, "the report says another value or interval than its claim");
    }
    for (struct tc_json_iter it = tc_json_iter_make(v); tc_json_iter_next(&it, NULL, &inner);) {
        if (!check_places(inner, claim, n, depth + 1)) {
            return false;
        }
    }
    return true;
}

/* ---- one number ---- */

static tc_status check_claim(struct checking *c, struct tc_json claim, struct tc_report_number *n)
{
    struct tc_values values = {0};
    struct tc_error why = {0};
    double again = (double)NAN;
    bool holds = false;
    tc_status status =
        tc_values_query(c->w, tc_json_get_string(claim, TC_LIT("query")), &values, &why);
    if (status != TC_OK && status != TC_E_NOMEM && status != TC_E_IO) {
        (void)broken(n, "its query cannot be run: %s", why.message);
        tc_values_fini(&values);
        return TC_OK;
    }
    if (status == TC_OK) {
        status = check_runs(c, claim, &values, n, &holds);
    } else {
        *c->err = why;
    }
    if (status == TC_OK && holds) {
        status = make_again(c, tc_json_get_string(claim, TC_LIT("statistic")), &values, &again);
        n->holds = tc_values_are_same(again, real_of(claim, TC_LIT("value"))) ||
                   broken(n, "made again from its values it is %.6g", again);
    }
    tc_values_fini(&values);
    return status;
}

static tc_status check_entry(struct checking *c, struct tc_json entry, struct tc_slice raw,
                             struct tc_report_number *n)
{
    struct tc_json claim;
    struct tc_json published;
    struct tc_slice raw_claim;
    bool holds = false;
    *n = (struct tc_report_number){.id = tc_json_get_string(entry, TC_LIT("id")),
                                   .what = tc_json_get_string(entry, TC_LIT("what"))};
    if (tc_json_get(entry, TC_LIT("published"), &published)) {
        (void)tc_json_bool(published, &n->is_published);
    }
    if (n->is_published) {
        return TC_OK;
    }
    if (!tc_json_get(entry, TC_LIT("claim"), &claim) ||
        !tc_json_raw_get(raw, TC_LIT("claim"), &raw_claim)) {
        (void)broken(n, "it has no claim");
        return TC_OK;
    }
    TC_TRY(check_name(raw_claim, n, &holds, c->err));
    if (!holds || !check_query(claim, n) || !check_places(c->root, claim, n, 0)) {
        return TC_OK;
    }
    return check_claim(c, claim, n);
}

/* ---- numbers that the lineage does not list ---- */

static bool is_listed(struct tc_json list, struct tc_slice id)
{
    struct tc_json entry;
    for (struct tc_json_iter it = tc_json_iter_make(list); tc_json_iter_next(&it, NULL, &entry);) {
        if (tc_slice_eq(tc_json_get_string(entry, TC_LIT("id")), id)) {
            return true;
        }
    }
    return false;
}

static tc_status tell_unlisted(struct tc_json v, struct tc_json list, unsigned depth,
                               tc_report_number_fn tell, void *context)
{
    struct tc_json inner;
    enum tc_json_type type = tc_json_type(v);
    if (depth > DEPTH_MAX || (type != TC_JSON_OBJECT && type != TC_JSON_ARRAY)) {
        return TC_OK;
    }
    if (type == TC_JSON_OBJECT && tc_json_get(v, TC_LIT("n"), &inner)) {
        struct tc_report_number n = {.id = tc_json_get_string(v, TC_LIT("id")),
                                     .what = TC_LIT("a number of the report")};
        (void)broken(&n, "the lineage of the report does not list it");
        return is_listed(list, n.id) ? TC_OK : tell(context, &n);
    }
    for (struct tc_json_iter it = tc_json_iter_make(v); tc_json_iter_next(&it, NULL, &inner);) {
        TC_TRY(tell_unlisted(inner, list, depth + 1, tell, context));
    }
    return TC_OK;
}

tc_status tc_report_check(struct tc_warehouse *w, struct tc_slice json, tc_report_number_fn tell,
                          void *context, struct tc_error *err)
{
    struct checking c = {.w = w, .err = err};
    struct tc_json list;
    struct tc_json entry;
    struct tc_slice raw_list;
    struct tc_slice raw;
    size_t at = 0;
    size_t count = 0;
    struct tc_json_parser *parser = tc_json_parser_create();
    if (parser == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to check a report");
    }
    tc_status status = tc_json_parse(parser, json, &c.root, err);
    if (status == TC_OK && (!tc_json_get(c.root, TC_LIT("lineage"), &list) ||
                            !tc_json_raw_get(json, TC_LIT("lineage"), &raw_list))) {
        status = tc_fail(err, TC_E_MALFORMED, 0,
                         "this is no report: `tracecore report ... --format json` writes one");
    }
    if (status == TC_OK) {
        for (struct tc_json_iter it = tc_json_iter_make(list);
             status == TC_OK && tc_json_iter_next(&it, NULL, &entry) &&
             tc_json_raw_element(raw_list, &at, &raw);) {
            struct tc_report_number n;
            status = ++count > TC_REPORT_NUMBERS_MAX
                         ? tc_fail(err, TC_E_LIMIT, 0, "the report has more than %d numbers",
                                   TC_REPORT_NUMBERS_MAX)
                         : check_entry(&c, entry, raw, &n);
            status = status == TC_OK ? tell(context, &n) : status;
        }
    }
    if (status == TC_OK) {
        status = tell_unlisted(c.root, list, 0, tell, context);
    }
    tc_json_parser_destroy(parser);
    return status;
}
