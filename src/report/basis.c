/* SPDX-License-Identifier: Apache-2.0 */
/* What a report reads beside values: digests and files of its runs, and what was published of
 * them. */
#include "base/json/json.h"
#include "report/report_priv.h"

#include <string.h>

/* Files that are listed of one side; the rest is in the manifests. */
#define SOURCES_MAX 2000

/* The ids of the runs of a side as binds, and "?,?" for them. In the report's arena. */
static tc_status run_binds(struct tc_report *r, const struct tc_group *group, struct tc_bind **out,
                           struct tc_slice *out_marks, struct tc_error *err)
{
    size_t count = group->run_count;
    struct tc_bind *binds = tc_new(&r->arena, struct tc_bind, count + 1);
    char *marks = tc_arena_alloc_raw(&r->arena, 2 * count + 1, 1);
    if (binds == NULL || marks == NULL) {
        return tc_fail(err, TC_E_LIMIT, 0, "a report has no room for so many runs");
    }
    for (size_t i = 0; i < count; i++) {
        binds[i] = (struct tc_bind){.type = TC_COLUMN_TEXT,
                                    .as.text = tc_group_text(group, i, TC_GROUP_RUN_ID)};
        marks[2 * i] = i == 0 ? ' ' : ',';
        marks[2 * i + 1] = '?';
    }
    *out = binds;
    *out_marks = tc_slice_make(marks, 2 * count);
    return TC_OK;
}

/* One query about the runs of a group: the text before and behind the list of their ids. */
static tc_status ask(struct tc_report *r, const struct tc_group *group, const char *before,
                     const char *behind, struct tc_answer *out, struct tc_error *err)
{
    struct tc_bind *binds = NULL;
    struct tc_slice marks = TC_EMPTY;
    TC_TRY(run_binds(r, group, &binds, &marks, err));
    struct tc_slice sql = tc_doc_text(&r->doc, "{}{}{}{}", before, marks, behind, TC_LIT("\0"));
    if (r->doc.failed) {
        return tc_fail(err, TC_E_LIMIT, 0, "a report has no room for so many runs");
    }
    return tc_answer_query(r->w, sql.ptr, binds, group->run_count, out, err);
}

/* ---- the runs ---- */

enum { RUN_ID, RUN_MANIFEST, RUN_SPEC, RUN_URIS };

static struct tc_slice keep(struct tc_report *r, const struct tc_answer *a, size_t row,
                            size_t column)
{
    return tc_arena_copy(&r->arena, tc_answer_text(a, row, column));
}

static tc_status take_runs(struct tc_report *r, const struct tc_group *group,
                           const struct tc_answer *a, struct tc_doc_run *runs, struct tc_error *err)
{
    for (size_t i = 0; i < group->run_count; i++) {
        struct tc_slice id = tc_group_text(group, i, TC_GROUP_RUN_ID);
        runs[i].run_id = id;
        for (size_t row = 0; row < a->row_count; row++) {
            if (tc_slice_eq(tc_answer_text(a, row, RUN_ID), id)) {
                runs[i].manifest_digest = keep(r, a, row, RUN_MANIFEST);
                runs[i].spec_digest = keep(r, a, row, RUN_SPEC);
            }
        }
    }
    return tc_arena_ok(&r->arena)
               ? TC_OK
               : tc_fail(err, TC_E_LIMIT, 0, "a report has no room for its runs");
}

/* ---- their files ---- */

/* The name under which a file of the run was added; empty: not known. */
static struct tc_slice find_name(struct tc_report *r, struct tc_json_parser *parser,
                                 struct tc_slice uris, struct tc_slice digest)
{
    struct tc_json list;
    struct tc_json v;
    if (uris.len == 0 || tc_json_parse(parser, uris, &list, NULL) != TC_OK) {
        return TC_EMPTY;
    }
    for (struct tc_json_iter it = tc_json_iter_make(list); tc_json_iter_next(&it, NULL, &v);) {
        if (tc_slice_eq(tc_json_get_string(v, TC_LIT("digest")), digest)) {
            return tc_arena_copy(&r->arena, tc_json_get_string(v, TC_LIT("name")));
        }
    }
    return TC_EMPTY;
}

static struct tc_slice uris_of(const struct tc_answer *runs, struct tc_slice run_id)
{
    for (size_t row = 0; row < runs->row_count; row++) {
        if (tc_slice_eq(tc_answer_text(runs, row, RUN_ID), run_id)) {
            return tc_answer_text(runs, row, RUN_URIS);
        }
    }
    return TC_EMPTY;
}

static tc_status take_sources(struct tc_report *r, const struct tc_answer *runs,
                              const struct tc_answer *a, struct tc_doc_basis *basis,
                              struct tc_error *err)
{
    size_t count = a->row_count < SOURCES_MAX ? a->row_count : SOURCES_MAX;
    struct tc_doc_source *sources = tc_new(&r->arena, struct tc_doc_source, count + 1);
    struct tc_json_parser *parser = tc_json_parser_create();
    for (size_t i = 0; sources != NULL && parser != NULL && i < count; i++) {
        sources[i] = (struct tc_doc_source){
            .run_id = keep(r, a, i, 0), .digest = keep(r, a, i, 1), .pointer = keep(r, a, i, 2)};
        sources[i].name = find_name(r, parser, uris_of(runs, sources[i].run_id), sources[i].digest);
    }
    bool had_parser = parser != NULL;
    tc_json_parser_destroy(parser);
    basis->sources = sources;
    basis->source_count = count;
    if (!had_parser) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the files of a report");
    }
    return tc_arena_ok(&r->arena)
               ? TC_OK
               : tc_fail(err, TC_E_LIMIT, 0, "a report has no room for so many files");
}

static tc_status read_basis(struct tc_report *r, struct tc__side *side, struct tc_answer *runs,
                            struct tc_answer *sources, struct tc_error *err)
{
    struct tc_doc_basis basis = {.name = side->name, .run_count = side->group->run_count};
    struct tc_doc_run *kept = tc_new(&r->arena, struct tc_doc_run, basis.run_count + 1);
    if (kept == NULL) {
        return tc_fail(err, TC_E_LIMIT, 0, "a report has no room for so many runs");
    }
    TC_TRY(ask(r, side->group,
               "SELECT r.run_id, r.artifact_manifest_digest, r.workload_spec_digest, l.raw_uris "
               "FROM benchmark_run_fact r LEFT JOIN artifact_lineage_dim l ON l.run_id = r.run_id "
               "WHERE r.run_id IN (",
               ")", runs, err));
    TC_TRY(ask(r, side->group,
               "SELECT DISTINCT run_id, source_digest, source_pointer FROM (SELECT run_id, "
               "source_digest, source_pointer FROM serving_outcome_fact UNION ALL SELECT run_id, "
               "source_digest, source_pointer FROM training_outcome_fact) x WHERE run_id IN (",
               ") AND source_digest IS NOT NULL ORDER BY run_id, source_digest, source_pointer",
               sources, err));
    TC_TRY(take_runs(r, side->group, runs, kept, err));
    basis.runs = kept;
    TC_TRY(take_sources(r, runs, sources, &basis, err));
    side->basis = tc_doc_basis_add(&r->doc, &basis);
    return side->basis != NULL
               ? TC_OK
               : tc_fail(err, TC_E_LIMIT, 0, "a report has no room for so many runs");
}

tc_status tc__basis_read(struct tc_report *r, struct tc__side *side, struct tc_error *err)
{
    struct tc_answer runs = {0};
    struct tc_answer sources = {0};
    tc_status status = read_basis(r, side, &runs, &sources, err);
    tc_answer_fini(&runs);
    tc_answer_fini(&sources);
    return status;
}

/* ---- what was published ---- */

/* Of each side on its own: a published number is a median, of one of them. */
tc_status tc__published_read(struct tc_report *r, struct tc__side *side, struct tc_error *err)
{
    return ask(r, side->group,
               "SELECT number_id, metric, point, value, replicates, run_id, query_text, "
               "query_spec_digest, statement FROM published_number WHERE statistic = 'median' AND "
               "run_id IN (",
               ") ORDER BY number_id, run_id", &side->published, err);
}
