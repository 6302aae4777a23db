/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dcgmi diag -j and health -c -j. The values are cut out of the text, not parsed as a document: a
 * report may stand in the middle of a log, behind the command that made it.
 *
 *   "DCGM GPU Diagnostic": {"test_categories": [{"tests": [{"name": "GPU Memory", "results": [
 *       {"gpu_ids": "1", "status": "FAIL", "warnings": "..."}]}]}]}            DCGM 3: gpu_id too
 *   "DCGM Diagnostic": ... {"entity_id": 6, "status": "Fail", "warnings": [{"warning": "..."}]}
 *   "body": {"GPU": {"children": {"2": {"children": {"Errors": {"children": {
 *       "Memory system": {"overflow": ["..."], "value": "Failure"}}}}}}}}
 */
#include "base/json/raw.h"
#include "codec/dcgm/priv.h"
#include "codec/otlp/json_priv.h"

#define S(literal) TC_LIT(literal)
#define MEMBERS_MAX 4096
#define BLANKS_MAX 64
/* A report of a node. */
#define REPORT_MAX ((size_t)4 << 20)

/* The value of a member, or nothing. */
static struct tc_slice member(struct tc_slice object, const char *key)
{
    struct tc_slice value;
    return tc_json_raw_get(object, tc_slice_cstr(key), &value) ? value : TC_EMPTY;
}

/* What a string says; it lives in the input, or in the arena where it has escapes. */
static struct tc_slice string_of(struct tc__lines *w, struct tc_slice value)
{
    size_t len = 0;
    if (value.len < 2 || value.ptr[0] != '"') {
        return value;
    }
    struct tc_slice raw = tc_slice_make(value.ptr + 1, value.len - 2);
    if (raw.len == 0 || memchr(raw.ptr, '\\', raw.len) == NULL || w->out->arena == NULL) {
        return raw;
    }
    char *to = tc_new(w->out->arena, char, raw.len + 1);
    return to != NULL && tc__json_unescape(raw, to, &len) ? tc_slice_make(to, len) : raw;
}

/* The evidence is the result, not the report. */
static struct tc__line line_at(const struct tc__line *line, struct tc_slice json)
{
    struct tc__line at = *line;
    at.raw = json;
    return at;
}

/* ---- diag ---- */

static struct tc_slice warning_of(struct tc__lines *w, struct tc_slice result)
{
    struct tc_slice warnings = member(result, "warnings");
    struct tc_slice first;
    size_t at = 0;
    if (tc_json_raw_element(warnings, &at, &first)) {
        warnings = tc_slice_starts(first, S("{")) ? member(first, "warning") : first;
    }
    return string_of(w, warnings);
}

static tc_status read_result(struct tc__lines *w, const struct tc__line *line, struct tc_slice test,
                             struct tc_slice result)
{
    struct tc_slice status = string_of(w, member(result, "status"));
    if (!tc_slice_eq_nocase(status, S("fail"))) {
        return TC_OK;
    }
    struct tc_slice ids = string_of(w, member(result, "gpu_ids"));
    ids = ids.len > 0 ? ids : string_of(w, member(result, "gpu_id"));
    ids = ids.len > 0 ? ids : member(result, "entity_id");
    struct tc_slice message = warning_of(w, result);
    struct tc_slice system = tc__dcgm_system(message, tc__dcgm_system(test, S("other")));
    struct tc__line at = line_at(line, result);
    message = message.len > 0 ? message : test;
    for (unsigned i = 0; i < DCGM_GPUS_MAX; i++) {
        uint64_t gpu = 0;
        size_t used = tc_slice_u64(ids, &gpu);
        int32_t index = used > 0 && gpu < 4096 ? (int32_t)gpu : tc__dcgm_gpu(message);
        TC_TRY(tc__dcgm_health(w, &at, index, system, S("failure"), message));
        ids = tc_slice_trim(tc_slice_from(ids, used));
        if (used == 0 || !tc_slice_starts(ids, S(","))) {
            break;
        }
        ids = tc_slice_trim(tc_slice_from(ids, 1));
    }
    return TC_OK;
}

static tc_status read_tests(struct tc__lines *w, const struct tc__line *line, struct tc_slice tests)
{
    struct tc_slice test;
    size_t at = 0;
    for (unsigned i = 0; i < MEMBERS_MAX && tc_json_raw_element(tests, &at, &test); i++) {
        struct tc_slice name = string_of(w, member(test, "name"));
        struct tc_slice results = member(test, "results");
        struct tc_slice result;
        size_t in = 0;
        for (unsigned j = 0; j < MEMBERS_MAX && tc_json_raw_element(results, &in, &result); j++) {
            TC_TRY(read_result(w, line, name, result));
        }
    }
    return TC_OK;
}

static tc_status read_diag(struct tc__lines *w, const struct tc__line *line, struct tc_slice report)
{
    struct tc_slice categories = member(report, "test_categories");
    struct tc_slice category;
    size_t at = 0;
    for (unsigned i = 0; i < MEMBERS_MAX && tc_json_raw_element(categories, &at, &category); i++) {
        TC_TRY(read_tests(w, line, member(category, "tests")));
    }
    return TC_OK;
}

/* ---- health ---- */

static tc_status read_systems(struct tc__lines *w, const struct tc__line *line, int32_t gpu,
                              struct tc_slice systems)
{
    struct tc_slice name;
    struct tc_slice system;
    size_t at = 0;
    for (unsigned i = 0; i < MEMBERS_MAX && tc_json_raw_member(systems, &at, &name, &system); i++) {
        struct tc_slice value = string_of(w, member(system, "value"));
        struct tc_slice message = TC_EMPTY;
        size_t in = 0;
        bool fails = tc_slice_starts(value, S("Fail"));
        if (!fails && !tc_slice_starts(value, S("Warn"))) {
            continue;
        }
        (void)tc_json_raw_element(member(system, "overflow"), &in, &message);
        struct tc__line here = line_at(line, system);
        TC_TRY(tc__dcgm_health(w, &here, gpu, tc__dcgm_system(name, S("other")),
                               fails ? S("failure") : S("warning"), string_of(w, message)));
    }
    return TC_OK;
}

static tc_status read_health(struct tc__lines *w, const struct tc__line *line, struct tc_slice body)
{
    struct tc_slice kind;
    struct tc_slice entities;
    size_t at = 0;
    for (unsigned i = 0; i < MEMBERS_MAX && tc_json_raw_member(body, &at, &kind, &entities); i++) {
        struct tc_slice children = member(entities, "children");
        struct tc_slice id;
        struct tc_slice entity;
        size_t in = 0;
        for (unsigned j = 0; j < MEMBERS_MAX && tc_json_raw_member(children, &in, &id, &entity);
             j++) {
            uint64_t gpu = 0;
            bool is_gpu = tc_slice_eq(kind, S("GPU")) && tc_slice_is_u64(id, &gpu) && gpu < 4096;
            struct tc_slice errors = member(member(entity, "children"), "Errors");
            TC_TRY(read_systems(w, line, is_gpu ? (int32_t)gpu : -1, member(errors, "children")));
        }
    }
    return TC_OK;
}

/*
 * The object behind a key of the line, as far as it is not in one that was looked through: work
 * stays linear when keys nest, and when objects never end. False when there is none.
 */
static bool cut_object(struct tc__lines *w, struct dcgm *st, const struct tc__line *line,
                       struct tc_slice key, struct tc_slice *out)
{
    size_t in_line = tc_slice_find(line->raw, key);
    size_t at = (size_t)(line->raw.ptr - w->in->bytes.ptr) + in_line + key.len;
    if (in_line == TC_NPOS || at < st->json_end) {
        return false;
    }
    struct tc_slice rest = tc_slice_head(tc_slice_from(w->in->bytes, at), REPORT_MAX);
    size_t from = 0;
    while (from < rest.len && from < BLANKS_MAX &&
           (tc_json_is_space(rest.ptr[from]) || rest.ptr[from] == ':')) {
        from++;
    }
    if (!tc_slice_starts(tc_slice_from(rest, from), S("{"))) {
        return false;
    }
    bool whole = tc_json_raw_value(rest, &from, out);
    st->json_end = at + (whole ? from : rest.len);
    return whole;
}

tc_status tc__dcgm_json(struct tc__lines *w, struct dcgm *st, const struct tc__line *line,
                        bool *out_ours)
{
    static const struct {
        const char *key;
        const char *has; /* a member that tells it from others' */
        tc_status (*read)(struct tc__lines *w, const struct tc__line *line, struct tc_slice json);
    } rows[] = {
        {"\"DCGM GPU Diagnostic\"", "test_categories", read_diag},
        {"\"DCGM Diagnostic\"", "test_categories", read_diag},
        {"\"body\"", "Overall Health", read_health},
    };
    *out_ours = false;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_slice report;
        if (cut_object(w, st, line, tc_slice_cstr(rows[i].key), &report)) {
            *out_ours = member(report, rows[i].has).len > 0;
            return *out_ours ? rows[i].read(w, line, report) : TC_OK;
        }
    }
    return TC_OK;
}
