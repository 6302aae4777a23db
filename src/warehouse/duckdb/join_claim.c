/* SPDX-License-Identifier: Apache-2.0 */
/* What runs say of their names becomes claims (warehouse/run_claims.h). */
#include "base/format.h"
#include "base/table/grow.h"
#include "warehouse/duckdb/duckdb_priv.h"
#include "warehouse/duckdb/join_sql_priv.h"
#include "warehouse/run_claims.h"

#include <stdlib.h>
#include <string.h>

/* Windows of one name, and batches of claims of all that are noted. */
#define WINDOWS_MAX ((size_t)1 << 24)
#define BATCHES_MAX ((size_t)1 << 14)

/* Every name that is noted with all runs that have it, in order. */
#define SAID_SQL                                                                                 \
    "SELECT s.kind, s.key, s.run_id, s.window_start, s.window_end, CASE WHEN s.kind = 'node' "   \
    "THEN " TC__DOMAIN(                                                                          \
        "s.name") " ELSE '' END AS domain FROM (SELECT *, " TC__NAME_KEY                         \
                  " AS key FROM run_scope_fact) s WHERE EXISTS (SELECT 1 FROM " TC__JOIN_PENDING \
                  " q WHERE q.kind = s.kind AND q.name = s.key) "                                \
                  "ORDER BY s.kind, s.key, s.run_id, s.window_start, domain"
enum { SAID_KIND, SAID_KEY, SAID_RUN, SAID_START, SAID_END, SAID_DOMAIN };

/* A run that has the name. Texts are behind each other in `text`. */
struct claimant {
    size_t id_at;
    size_t id_len;
    size_t domain_at;
    size_t domain_len; /* 0: any */
};

struct claiming {
    struct tc_rows **batches;
    size_t batch_count;
    size_t batch_cap;
    /* Of the name that is being read. */
    struct tc_grow text;
    size_t kind_len;
    size_t key_len;
    struct claimant *runs;
    size_t run_count;
    size_t run_cap;
    struct tc_run_window *windows;
    size_t window_count;
    size_t window_cap;
};

static struct tc_slice piece(const struct claiming *c, size_t at, size_t len)
{
    return tc_slice_make(tc_grow_slice(&c->text).ptr + at, len);
}

static struct tc_slice kind_of(const struct claiming *c)
{
    return piece(c, 0, c->kind_len);
}

static struct tc_slice key_of(const struct claiming *c)
{
    return piece(c, c->kind_len, c->key_len);
}

/* ---- claims ---- */

static struct tc_rows *rows_with_room(struct claiming *c)
{
    struct tc_rows *last = c->batch_count > 0 ? c->batches[c->batch_count - 1] : NULL;
    if (last != NULL && tc_rows_add(last)) {
        return last;
    }
    if (tc_grow_items(c->batches, c->batch_cap, c->batch_count + 1, BATCHES_MAX) != TC_OK) {
        return NULL;
    }
    last = tc_rows_create_for(tc__join_claims.columns, tc__join_claims.column_count);
    if (last == NULL || !tc_rows_add(last)) {
        tc_rows_destroy(last);
        return NULL;
    }
    c->batches[c->batch_count++] = last;
    return last;
}

static tc_status add_claim(struct claiming *c, const struct tc_run_claim *claim)
{
    const struct claimant *run = &c->runs[claim->run];
    struct tc_rows *rows = rows_with_room(c);
    if (rows == NULL) {
        return TC_E_NOMEM;
    }
    tc_rows_int(rows, TC__CLAIM_IN_WINDOW, claim->in_window);
    tc_rows_int(rows, TC__CLAIM_FROM, claim->from_us);
    tc_rows_int(rows, TC__CLAIM_TO, claim->to_us);
    tc_rows_int(rows, TC__CLAIM_AFTER, claim->after_us);
    tc_rows_int(rows, TC__CLAIM_BEFORE, claim->before_us);
    TC_TRY(tc_rows_text(rows, TC__CLAIM_KIND, kind_of(c)));
    TC_TRY(tc_rows_text(rows, TC__CLAIM_NAME, key_of(c)));
    TC_TRY(tc_rows_text(rows, TC__CLAIM_DOMAIN, piece(c, run->domain_at, run->domain_len)));
    return tc_rows_text(rows, TC__CLAIM_RUN_ID, piece(c, run->id_at, run->id_len));
}

/* All of a name is there. */
static tc_status end_name(struct claiming *c)
{
    struct tc_run_claim *claims = NULL;
    enum tc_run_name name;
    size_t count = 0;
    tc_status status = c->text.failed ? TC_E_NOMEM : TC_OK;
    if (status == TC_OK && c->run_count > 0 && tc_run_name_parse(kind_of(c), &name)) {
        status = tc_run_claims(name, key_of(c), c->windows, c->window_count, &claims, &count);
    }
    for (size_t i = 0; status == TC_OK && i < count; i++) {
        status = add_claim(c, &claims[i]);
    }
    free(claims);
    tc_grow_fini(&c->text);
    c->run_count = 0;
    c->window_count = 0;
    return status;
}

/* ---- what runs say ---- */

static struct tc_slice text_at(const struct tc_rows *rows, size_t column, size_t row)
{
    return tc_rows_is_null(rows, column, row) ? TC_EMPTY : tc_rows_get_text(rows, column, row);
}

static tc_status add_run(struct claiming *c, struct tc_slice id, struct tc_slice domain)
{
    if (tc_grow_items(c->runs, c->run_cap, c->run_count + 1, WINDOWS_MAX) != TC_OK) {
        return TC_E_NOMEM;
    }
    struct claimant *run = &c->runs[c->run_count++];
    run->id_at = tc_grow_slice(&c->text).len;
    run->id_len = id.len;
    tc_grow_str(&c->text, id);
    run->domain_at = tc_grow_slice(&c->text).len;
    run->domain_len = domain.len;
    tc_grow_str(&c->text, domain);
    return c->text.failed ? TC_E_NOMEM : TC_OK;
}

/* One run has a host in two domains: then any fits, or rows without one would fit twice. */
static void meet_domain(struct claiming *c, struct claimant *run, struct tc_slice domain)
{
    if (domain.len == 0 || tc_slice_eq(domain, piece(c, run->domain_at, run->domain_len))) {
        return;
    }
    bool is_first = run->domain_len == 0;
    run->domain_at = tc_grow_slice(&c->text).len;
    run->domain_len = is_first ? domain.len : 0;
    tc_grow_str(&c->text, domain);
}

static tc_status take_name(struct claiming *c, const struct tc_rows *rows, size_t row)
{
    struct tc_slice kind = text_at(rows, SAID_KIND, row);
    struct tc_slice key = text_at(rows, SAID_KEY, row);
    struct tc_slice id = text_at(rows, SAID_RUN, row);
    struct tc_slice domain = text_at(rows, SAID_DOMAIN, row);
    if (c->run_count > 0 && (!tc_slice_eq(kind, kind_of(c)) || !tc_slice_eq(key, key_of(c)))) {
        TC_TRY(end_name(c));
    }
    if (c->run_count == 0) {
        tc_grow_str(&c->text, kind);
        tc_grow_str(&c->text, key);
        c->kind_len = kind.len;
        c->key_len = key.len;
    }
    struct claimant *last = c->run_count > 0 ? &c->runs[c->run_count - 1] : NULL;
    if (last != NULL && tc_slice_eq(id, piece(c, last->id_at, last->id_len))) {
        meet_domain(c, last, domain);
    } else {
        TC_TRY(add_run(c, id, domain));
    }
    if (tc_grow_items(c->windows, c->window_cap, c->window_count + 1, WINDOWS_MAX) != TC_OK) {
        return TC_E_NOMEM;
    }
    c->windows[c->window_count++] = (struct tc_run_window){
        .run = c->run_count - 1,
        .from_us = tc_rows_get_int(rows, SAID_START, row),
        .to_us = tc_rows_get_int(rows, SAID_END, row),
        .is_timed =
            !tc_rows_is_null(rows, SAID_START, row) && !tc_rows_is_null(rows, SAID_END, row),
    };
    return TC_OK;
}

static tc_status take_names(void *context, const struct tc_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        TC_TRY(take_name(context, rows, i));
    }
    return TC_OK;
}

/* ---- all ---- */

static tc_status read_and_append(struct tc__duckdb *d, struct claiming *c, struct tc_error *err)
{
    struct tc_query query = {.sql = TC_LIT(SAID_SQL)};
    bool cut = false;
    tc_status status = tc__duckdb_query(d, &query, take_names, c, &cut, err);
    status = status == TC_OK ? end_name(c) : status;
    if (status == TC_E_NOMEM) {
        return tc_fail(err, status, 0, "no memory for the names of runs");
    }
    for (size_t i = 0; status == TC_OK && i < c->batch_count; i++) {
        status = tc__duckdb_append_to(d, TC__LANE_CLAIMS, c->batches[i], err);
    }
    return status;
}

tc_status tc__join_claim(struct tc__duckdb *d, struct tc_error *err)
{
    struct claiming c = {0};
    TC_TRY(tc__duckdb_run(
        d,
        "DELETE FROM " TC__JOIN_CLAIMS " WHERE EXISTS (SELECT 1 FROM " TC__JOIN_PENDING
        " q WHERE q.kind = " TC__JOIN_CLAIMS ".kind AND q.name = " TC__JOIN_CLAIMS ".name)",
        TC__JOIN_CLAIMS, err));
    tc_status status = read_and_append(d, &c, err);
    for (size_t i = 0; i < c.batch_count; i++) {
        tc_rows_destroy(c.batches[i]);
    }
    free(c.batches);
    free(c.runs);
    free(c.windows);
    tc_grow_fini(&c.text);
    return status;
}
