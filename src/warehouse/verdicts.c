/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/verdicts.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/json/out.h"
#include "base/time.h"

#include <stdlib.h>

#define DIGEST_TEXT_MAX 80
/* Of one cell that is made here; a verdict's own line is not much longer. */
#define TEXT_MAX ((size_t)256 << 10)

/* A row in the making. */
struct row {
    struct tc_json root;
    struct tc_rows *rows;
    tc_status status; /* the first failure */
};

static void put(struct row *r, size_t column, struct tc_slice text)
{
    if (text.len > 0 && r->status == TC_OK) {
        r->status = tc_rows_text(r->rows, column, text);
    }
}

static void put_member(struct row *r, size_t column, struct tc_slice key)
{
    put(r, column, tc_json_get_string(r->root, key));
}

/* A time of the verdict, ns; TC_TIME_NONE. */
static int64_t time_of(const struct row *r, struct tc_slice key)
{
    struct tc_slice text = tc_json_get_string(r->root, key);
    int64_t ns = TC_TIME_NONE;
    return text.len > 0 && tc_time_parse(text, 0, &ns) == text.len ? ns : TC_TIME_NONE;
}

static void put_time(struct row *r, size_t column, int64_t ns)
{
    if (ns != TC_TIME_NONE) {
        tc_rows_int(r->rows, column, ns / 1000);
    }
}

/* ---- what is JSON in its cell ---- */

static void add_value(struct tc_json_out *j, struct tc_json v)
{
    struct tc_slice text;
    int64_t number = 0;
    if (tc_json_type(v) == TC_JSON_STRING && tc_json_string(v, &text)) {
        tc_json_add_str(j, text);
    } else if (tc_json_int(v, &number)) {
        tc_json_add_i64(j, number);
    } else {
        tc_json_add_null(j);
    }
}

static void add_list(struct tc_json_out *j, struct tc_json list)
{
    struct tc_json_iter it = tc_json_iter_make(list);
    struct tc_json v;
    tc_json_add_array(j);
    while (tc_json_iter_next(&it, NULL, &v)) {
        add_value(j, v);
    }
    tc_json_end_array(j);
}

/* Lists of the pattern that say who it is: "culprit_ranks", "ranks", "culprit_reasons". */
static bool names_culprits(struct tc_slice key, struct tc_slice *out_name)
{
    struct tc_slice rest = key;
    while (tc_slice_find_byte(rest, '.') != TC_NPOS) {
        rest = tc_slice_from(rest, tc_slice_find_byte(rest, '.') + 1);
    }
    *out_name = rest;
    return tc_slice_starts(key, TC_LIT("tracecore.alert.")) &&
           (tc_slice_starts(rest, TC_LIT("culprit_")) || tc_slice_eq(rest, TC_LIT("ranks")));
}

static void put_culprits(struct row *r, char *text)
{
    struct tc_buf b = tc_buf_make(text, TEXT_MAX);
    struct tc_json_iter it = tc_json_iter_make(r->root);
    struct tc_json v;
    struct tc_slice key;
    struct tc_slice name;
    bool any = false;
    struct tc_json_out j = tc_json_object_make(&b);
    while (tc_json_iter_next(&it, &key, &v)) {
        if (tc_json_type(v) != TC_JSON_ARRAY || !names_culprits(key, &name)) {
            continue;
        }
        tc_json_key_str(&j, name);
        add_list(&j, v);
        any = true;
    }
    tc_json_end_object(&j);
    if (tc_json_done(&j) && any) {
        put(r, TC_VERDICT_CULPRITS, tc_buf_slice(&b));
    }
}

static void put_evidence(struct row *r, char *text)
{
    struct tc_buf b = tc_buf_make(text, TEXT_MAX);
    struct tc_json trail;
    struct tc_json v;
    struct tc_json raw;
    struct tc_json_out j = tc_json_out_make(&b);
    if (!tc_json_get(r->root, TC_LIT("evidence_trail"), &trail)) {
        return;
    }
    struct tc_json_iter it = tc_json_iter_make(trail);
    tc_json_add_array(&j);
    while (tc_json_iter_next(&it, NULL, &v)) {
        if (!tc_json_get(v, TC_LIT("raw"), &raw)) {
            continue;
        }
        tc_json_add_object(&j);
        tc_json_put_str(&j, "digest", tc_json_get_string(raw, TC_LIT("digest")));
        tc_json_put_i64(&j, "offset", tc_json_get_int(raw, TC_LIT("offset"), 0));
        tc_json_put_i64(&j, "length", tc_json_get_int(raw, TC_LIT("length"), 0));
        tc_json_end_object(&j);
    }
    tc_json_end_array(&j);
    if (tc_json_done(&j)) {
        put(r, TC_VERDICT_EVIDENCE, tc_buf_slice(&b));
    }
}

static void put_cause(struct row *r)
{
    struct tc_json causes;
    struct tc_json first;
    if (tc_json_get(r->root, TC_LIT("caused_by"), &causes)) {
        struct tc_json_iter it = tc_json_iter_make(causes);
        if (tc_json_iter_next(&it, NULL, &first)) {
            put(r, TC_VERDICT_CAUSE, tc_json_get_string(first, TC_LIT("incident_id")));
        }
    }
}

/* ---- the row ---- */

static void put_digest(struct row *r, struct tc_slice line)
{
    char text[DIGEST_TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_digest digest;
    struct tc_sha256 h;
    tc_sha256_init(&h);
    tc_sha256_update(&h, line);
    tc_sha256_final(&h, &digest);
    tc_buf_digest(&b, &digest);
    put(r, TC_VERDICT_DIGEST, tc_buf_slice(&b));
}

static void fill(struct row *r, struct tc_slice line, int64_t told_ns, char *text)
{
    struct tc_json rank;
    int64_t number = -1;
    put_digest(r, line);
    put_member(r, TC_VERDICT_INCIDENT_ID, TC_LIT("incident_id"));
    put_member(r, TC_VERDICT_STATUS, TC_LIT("status"));
    put_member(r, TC_VERDICT_PATTERN, TC_LIT("pattern.name"));
    put_member(r, TC_VERDICT_CONFIDENCE, TC_LIT("confidence"));
    put_member(r, TC_VERDICT_HEADLINE, TC_LIT("headline"));
    put_time(r, TC_VERDICT_FIRST_SEEN, time_of(r, TC_LIT("first_seen")));
    put_time(r, TC_VERDICT_DETECTED, time_of(r, TC_LIT("detected_at")));
    put_time(r, TC_VERDICT_TOLD, told_ns);
    put_member(r, TC_VERDICT_JOB_UID, TC_LIT("job.id"));
    put_member(r, TC_VERDICT_POD_UID, TC_LIT("k8s.pod.uid"));
    put_member(r, TC_VERDICT_NODE, TC_LIT("k8s.node.name"));
    put_member(r, TC_VERDICT_GPU, TC_LIT("gpu.uuid"));
    if (tc_json_get(r->root, TC_LIT("rank"), &rank) && tc_json_int(rank, &number)) {
        tc_rows_int(r->rows, TC_VERDICT_RANK, number);
    }
    put_member(r, TC_VERDICT_POD_NAME, TC_LIT("k8s.pod.name"));
    put_member(r, TC_VERDICT_POD_NAMESPACE, TC_LIT("k8s.namespace.name"));
    put_member(r, TC_VERDICT_SEVERITY, TC_LIT("severity"));
    put_member(r, TC_VERDICT_REMEDIATION, TC_LIT("remediation"));
    put_culprits(r, text);
    put_cause(r);
    put_evidence(r, text);
}

tc_status tc_warehouse_verdict_row(struct tc_json_parser *parser, struct tc_slice line,
                                   int64_t told_ns, struct tc_rows *rows, struct tc_error *err)
{
    struct row r = {.rows = rows};
    TC_TRY(tc_json_parse(parser, line, &r.root, err));
    if (tc_json_get_string(r.root, TC_LIT("incident_id")).len == 0) {
        return tc_fail(err, TC_E_MALFORMED, 0, "a line without incident_id is no verdict");
    }
    char *text = malloc(TEXT_MAX);
    if (text == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a verdict's row");
    }
    if (!tc_rows_add(rows)) {
        free(text);
        return tc_fail(err, TC_E_LIMIT, 0, "the batch of rows is full");
    }
    fill(&r, line, told_ns, text);
    free(text);
    if (r.status != TC_OK) {
        rows->count--; /* whole or not at all; its text stays behind until the batch is reset */
        return tc_fail(err, r.status, 0, "a verdict does not fit its row: %s",
                       tc_status_text(r.status));
    }
    return TC_OK;
}

/* ---- once ---- */

static struct tc_slice digest_of(const struct tc_rows *rows, size_t row)
{
    return tc_rows_get_text(rows, TC_VERDICT_DIGEST, row);
}

struct existing {
    const struct tc_rows *rows;
    bool *known;
};

static tc_status take_existing(void *context, const struct tc_rows *found)
{
    struct existing *e = context;
    for (size_t i = 0; i < found->count; i++) {
        struct tc_slice digest = tc_rows_get_text(found, 0, i);
        for (size_t k = 0; k < e->rows->count; k++) {
            e->known[k] = e->known[k] || tc_slice_eq(digest_of(e->rows, k), digest);
        }
    }
    return TC_OK;
}

tc_status tc_warehouse_verdicts_known(struct tc_warehouse *w, const struct tc_rows *rows,
                                      bool out_known[TC_WAREHOUSE_VERDICTS_MAX],
                                      struct tc_error *err)
{
    struct existing e = {.rows = rows, .known = out_known};
    struct tc_bind binds[TC_WAREHOUSE_VERDICTS_MAX];
    char sql[128 + TC_WAREHOUSE_VERDICTS_MAX * 2];
    struct tc_buf b = tc_buf_make(sql, sizeof sql);
    tc_buf_lit(&b, "SELECT verdict_digest FROM verdict_fact WHERE verdict_digest IN (");
    for (size_t i = 0; i < rows->count; i++) {
        tc_buf_str(&b, i == 0 ? TC_LIT("?") : TC_LIT(",?"));
        binds[i] = (struct tc_bind){.type = TC_COLUMN_TEXT, .as.text = digest_of(rows, i)};
        out_known[i] = false;
        for (size_t k = 0; k < i; k++) {
            out_known[i] = out_known[i] || tc_slice_eq(digest_of(rows, k), digest_of(rows, i));
        }
    }
    tc_buf_char(&b, ')');
    struct tc_query query = {.sql = tc_buf_slice(&b), .binds = binds, .bind_count = rows->count};
    return tc_warehouse_query(w, &query, take_existing, &e, NULL, err);
}
