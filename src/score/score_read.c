/* SPDX-License-Identifier: Apache-2.0 */
/* The two readers: a line of JSON becomes an item, or an error that names the field. */
#include "base/limits.h"
#include "base/time.h"
#include "score/score_priv.h"

#include <stdlib.h>

#define TRUTH_VERSION 1
/* Of a headline, or what happened: as much as a list shows. */
#define TEXT_MAX 400
/* Of a value that is wrong, in a message. */
#define QUOTE_MAX 24
#define ALERT "tracecore.alert."

/* One line at hand. */
struct reader {
    struct tc_score *s;
    struct tc_error *err;
    size_t offset;
    struct tc_json root;
    struct tc__item *item;
};

static tc_status no_memory(const struct reader *r)
{
    return tc_fail(r->err, TC_E_NOMEM, r->offset,
                   "no memory for what the line says (at most %zu GiB are used)",
                   TC_SCORE_MEMORY_MAX >> 30);
}

static tc_status wrong(const struct reader *r, struct tc_slice field, const char *what)
{
    return tc_fail(r->err, TC_E_MALFORMED, r->offset, "\"%.*s\" %s", TC_FMT(field), what);
}

/* ---- values ------------------------------------------------------------------------------ */

static tc_status take_string(const struct reader *r, struct tc_slice field, struct tc_json v,
                             struct tc_slice *out)
{
    struct tc_slice s;
    if (!tc_json_string(v, &s) || s.len == 0) {
        return wrong(r, field, "has to be a string that is not empty");
    }
    if (s.len > TC_SCORE_NAME_MAX) {
        return wrong(r, field, "is longer than 1024 bytes");
    }
    return tc__pool_copy(&r->s->pool, s, out) ? TC_OK : no_memory(r);
}

/* Text for people: what is too long is cut, between characters. */
static tc_status take_text(const struct reader *r, struct tc_slice field, struct tc_slice *out)
{
    struct tc_json v;
    struct tc_slice s;
    if (!tc_json_get(r->root, field, &v)) {
        return TC_OK;
    }
    if (!tc_json_string(v, &s)) {
        return wrong(r, field, "has to be a string");
    }
    size_t len = s.len < TEXT_MAX ? s.len : TEXT_MAX;
    while (len < s.len && len > 0 && ((unsigned char)s.ptr[len] & 0xc0) == 0x80) {
        len--;
    }
    return tc__pool_copy(&r->s->pool, tc_slice_head(s, len), out) ? TC_OK : no_memory(r);
}

static tc_status need_string(const struct reader *r, struct tc_slice field, struct tc_slice *out)
{
    struct tc_json v;
    if (!tc_json_get(r->root, field, &v)) {
        return wrong(r, field, "is missing");
    }
    return take_string(r, field, v, out);
}

static tc_status optional_string(const struct reader *r, struct tc_slice field,
                                 struct tc_slice *out)
{
    struct tc_json v;
    return tc_json_get(r->root, field, &v) ? take_string(r, field, v, out) : TC_OK;
}

static tc_status take_time(const struct reader *r, struct tc_slice field, struct tc_json v,
                           int64_t *out)
{
    struct tc_slice s;
    int64_t ns = 0;
    if (!tc_json_string(v, &s) || s.len == 0 || tc_time_parse(s, 0, &ns) != s.len) {
        return wrong(r, field, "has to be a time such as \"2026-03-02T00:20:11.250Z\"");
    }
    if (ns < 0 || ns > TC_TIME_MAX) {
        return wrong(r, field, "is not between 1970 and 2200");
    }
    *out = ns;
    return TC_OK;
}

static tc_status need_time(const struct reader *r, struct tc_slice field, int64_t *out)
{
    struct tc_json v;
    if (!tc_json_get(r->root, field, &v)) {
        return wrong(r, field, "is missing; give a time such as \"2026-03-02T00:20:11.250Z\"");
    }
    return take_time(r, field, v, out);
}

static tc_status take_number(const struct reader *r, struct tc_slice field, struct tc_json v,
                             int32_t *out)
{
    int64_t number = -1;
    if (tc_json_type(v) != TC_JSON_INT || !tc_json_int(v, &number) || number < 0 ||
        number > TC_FR_RANK_MAX) {
        return wrong(r, field, "has to be a whole number from 0 to 1048575");
    }
    *out = (int32_t)number;
    return TC_OK;
}

static size_t count_elements(struct tc_json v)
{
    struct tc_json_iter it = tc_json_iter_make(v);
    struct tc_json element;
    size_t count = 0;
    while (tc_json_iter_next(&it, NULL, &element)) {
        count++;
    }
    return count;
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static tc_status take_ranks(const struct reader *r, struct tc_slice field, struct tc_json v,
                            struct tc__ranks *out)
{
    if (tc_json_type(v) != TC_JSON_ARRAY) {
        return wrong(r, field, "has to be a list of ranks such as [16,17]");
    }
    size_t count = count_elements(v);
    int32_t *ranks = tc__pool_alloc(&r->s->pool, count + 1, sizeof *ranks);
    if (ranks == NULL) {
        return no_memory(r);
    }
    struct tc_json_iter it = tc_json_iter_make(v);
    struct tc_json element;
    for (size_t i = 0; tc_json_iter_next(&it, NULL, &element); i++) {
        TC_TRY(take_number(r, field, element, &ranks[i]));
    }
    qsort(ranks, count, sizeof *ranks, by_number);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || ranks[kept - 1] != ranks[i]) {
            ranks[kept++] = ranks[i];
        }
    }
    *out = (struct tc__ranks){ranks, kept};
    return TC_OK;
}

static tc_status take_strings(const struct reader *r, struct tc_slice field, struct tc_json v,
                              struct tc__slices *out)
{
    if (tc_json_type(v) != TC_JSON_ARRAY) {
        return wrong(r, field, "has to be a list of strings");
    }
    struct tc_slice *list = tc__pool_alloc(&r->s->pool, count_elements(v) + 1, sizeof *list);
    if (list == NULL) {
        return no_memory(r);
    }
    struct tc_json_iter it = tc_json_iter_make(v);
    struct tc_json element;
    size_t count = 0;
    while (tc_json_iter_next(&it, NULL, &element)) {
        TC_TRY(take_string(r, field, element, &list[count]));
        count++;
    }
    *out = (struct tc__slices){list, count};
    return TC_OK;
}

/* ---- what both have ---------------------------------------------------------------------- */

/* A member that says where; false in *out_ours when it is none of those. */
static tc_status take_scope(const struct reader *r, struct tc_slice key, struct tc_json v,
                            bool *out_ours)
{
    struct tc__item *item = r->item;
    const struct {
        const char *key;
        struct tc_slice *to;
    } strings[] = {
        {"k8s.node.name", &item->node}, {"k8s.namespace.name", &item->ns},
        {"k8s.pod.name", &item->pod},   {"job.id", &item->job},
        {"gpu.uuid", &item->gpu_uuid},
    };
    *out_ours = true;
    size_t i = tc_slice_row(key, strings, key);
    if (i < TC_COUNT(strings)) {
        return take_string(r, key, v, strings[i].to);
    }
    if (tc_slice_eq(key, TC_LIT("gpu.index"))) {
        return take_number(r, key, v, &item->gpu_index);
    }
    if (tc_slice_eq(key, TC_LIT("rank"))) {
        return take_number(r, key, v, &item->rank);
    }
    if (tc_slice_eq(key, TC_LIT("pci.bdf"))) {
        struct tc_slice s;
        if (!tc_json_string(v, &s) || s.len == 0 || tc_bdf_parse(s, &item->pci) != s.len) {
            return wrong(r, key, "has to be a PCI address such as \"0000:1b:00.0\"");
        }
        return TC_OK;
    }
    *out_ours = false;
    return TC_OK;
}

static tc_status need_pattern(const struct reader *r, struct tc_slice field)
{
    const struct tc_score_options *o = &r->s->options;
    char names[TC_ERROR_MESSAGE_MAX];
    struct tc_buf b = tc_buf_make(names, sizeof names);
    struct tc_slice name;
    struct tc_json v;
    if (!tc_json_get(r->root, field, &v)) {
        return wrong(r, field, "is missing");
    }
    if (!tc_json_string(v, &name)) {
        return wrong(r, field, "has to be a string");
    }
    for (size_t i = 0; i < o->pattern_count; i++) {
        if (tc_slice_eq(name, o->patterns[i])) {
            r->item->pattern = (uint32_t)i;
            return TC_OK;
        }
        tc_buf_str(&b, i == 0 ? TC_EMPTY : TC_LIT(", "));
        tc_buf_str(&b, o->patterns[i]);
    }
    return tc_fail(r->err, TC_E_MALFORMED, r->offset, "\"%.*s\": no pattern %.*s; use %.*s",
                   TC_FMT(field), TC_FMT(tc_slice_head(name, QUOTE_MAX)), TC_FMT(tc_buf_slice(&b)));
}

/* ---- truth ------------------------------------------------------------------------------- */

static tc_status take_culprit(const struct reader *r)
{
    struct tc_json culprit;
    struct tc_json v;
    struct tc_slice key;
    size_t count = 0;
    if (!tc_json_get(r->root, TC_LIT("culprit"), &culprit) ||
        tc_json_type(culprit) != TC_JSON_OBJECT) {
        return wrong(r, TC_LIT("culprit"),
                     "has to be an object such as {\"k8s.node.name\":\"gpu-07\"}");
    }
    struct tc_json_iter it = tc_json_iter_make(culprit);
    for (; tc_json_iter_next(&it, &key, &v); count++) {
        bool ours = false;
        TC_TRY(take_scope(r, key, v, &ours));
        if (tc_slice_eq(key, TC_LIT("ranks"))) {
            TC_TRY(take_ranks(r, key, v, &r->item->ranks));
        } else if (tc_slice_eq(key, TC_LIT("device"))) {
            TC_TRY(take_string(r, key, v, &r->item->device));
        } else if (!ours) {
            return tc_fail(
                r->err, TC_E_MALFORMED, r->offset,
                "\"culprit\": no key %.*s; use k8s.node.name, k8s.namespace.name, "
                "k8s.pod.name, job.id, gpu.uuid, pci.bdf, gpu.index, rank, ranks, device",
                TC_FMT(tc_slice_head(key, QUOTE_MAX)));
        }
    }
    return count > 0 ? TC_OK
                     : wrong(r, TC_LIT("culprit"), "names nothing; say what a verdict must name");
}

/* Whom it affected, and what caused it. */
static tc_status take_relations(const struct reader *r)
{
    struct tc_json v;
    if (tc_json_get(r->root, TC_LIT("affected_pods"), &v)) {
        TC_TRY(take_strings(r, TC_LIT("affected_pods"), v, &r->item->pods));
    }
    if (tc_json_get(r->root, TC_LIT("affected_ranks"), &v)) {
        TC_TRY(take_ranks(r, TC_LIT("affected_ranks"), v, &r->item->affected));
    }
    if (tc_json_get(r->root, TC_LIT("caused_by"), &v)) {
        TC_TRY(take_strings(r, TC_LIT("caused_by"), v, &r->item->causes));
    }
    return TC_OK;
}

static tc_status new_item(struct reader *r, struct tc__items *items, enum tc__item_kind kind)
{
    if (items->count >= TC_SCORE_ITEMS_MAX) {
        return tc_fail(r->err, TC_E_LIMIT, r->offset,
                       "more than %d %s; split the run and score the parts as pairs",
                       TC_SCORE_ITEMS_MAX, kind == TC__VERDICT ? "verdicts" : "faults and noises");
    }
    r->item = tc__items_new(items);
    if (r->item == NULL) {
        return no_memory(r);
    }
    r->item->kind = kind;
    r->item->offset = r->offset;
    return TC_OK;
}

static tc_status read_fault(struct reader *r, enum tc__item_kind kind)
{
    TC_TRY(new_item(r, &r->s->truths, kind));
    struct tc__item *item = r->item;
    TC_TRY(need_string(r, TC_LIT("id"), &item->id));
    TC_TRY(need_pattern(r, TC_LIT("pattern")));
    TC_TRY(need_time(r, TC_LIT("start"), &item->start_ns));
    TC_TRY(need_time(r, TC_LIT("end"), &item->end_ns));
    if (item->end_ns < item->start_ns) {
        return wrong(r, TC_LIT("end"), "is before \"start\"");
    }
    TC_TRY(optional_string(r, TC_LIT("discriminator"), &item->discriminator));
    TC_TRY(take_text(r, TC_LIT("what"), &item->text));
    TC_TRY(take_culprit(r));
    return take_relations(r);
}

static tc_status read_run(struct reader *r)
{
    if (r->s->has_run) {
        return wrong(r, TC_LIT("truth"), "is a second run; give each run a --truth of its own");
    }
    if (tc_json_get_int(r->root, TC_LIT("version"), -1) != TRUTH_VERSION) {
        return wrong(r, TC_LIT("version"), "has to be 1: other forms of truth are not known here");
    }
    r->s->has_run = true;
    return TC_OK;
}

static tc_status read_truth_line(struct reader *r)
{
    struct tc_json v;
    struct tc_slice kind;
    if (!tc_json_get(r->root, TC_LIT("truth"), &v) || !tc_json_string(v, &kind)) {
        return wrong(r, TC_LIT("truth"),
                     "is missing: this is no truth. --truth takes what was injected; verdicts are "
                     "given without it");
    }
    if (tc_slice_eq(kind, TC_LIT("run"))) {
        return read_run(r);
    }
    if (!r->s->has_run) {
        return wrong(r, TC_LIT("truth"),
                     "has to be \"run\" in the first line: {\"truth\":\"run\",\"version\":1}");
    }
    if (tc_slice_eq(kind, TC_LIT("fault"))) {
        return read_fault(r, TC__FAULT);
    }
    if (tc_slice_eq(kind, TC_LIT("noise"))) {
        return read_fault(r, TC__NOISE);
    }
    return wrong(r, TC_LIT("truth"), "has to be one of \"run\", \"fault\", \"noise\"");
}

/* ---- verdicts ---------------------------------------------------------------------------- */

/* The attributes of any pattern that say who. */
static tc_status take_alert(const struct reader *r, struct tc_slice key, struct tc_json v)
{
    struct tc__item *item = r->item;
    bool is_list = tc_json_type(v) == TC_JSON_ARRAY;
    bool is_string = tc_json_type(v) == TC_JSON_STRING;
    if (is_string && tc_slice_ends(key, TC_LIT(".device"))) {
        return take_string(r, key, v, &item->device);
    }
    if (is_string && tc_slice_ends(key, TC_LIT(".volume"))) {
        return take_string(r, key, v, &item->volume);
    }
    if (is_list && tc_slice_ends(key, TC_LIT(".nodes"))) {
        return take_strings(r, key, v, &item->nodes);
    }
    if (is_list &&
        (tc_slice_ends(key, TC_LIT(".culprit_ranks")) || tc_slice_ends(key, TC_LIT(".ranks")))) {
        return take_ranks(r, key, v, &item->ranks);
    }
    return TC_OK;
}

static tc_status take_causes(const struct reader *r, struct tc_json list)
{
    struct tc_json_iter it = tc_json_iter_make(list);
    struct tc_json cause;
    struct tc_json v;
    struct tc_slice id;
    size_t count = 0;
    if (tc_json_type(list) != TC_JSON_ARRAY) {
        return wrong(r, TC_LIT("caused_by"), "has to be a list");
    }
    struct tc_slice *ids = tc__pool_alloc(&r->s->pool, count_elements(list) + 1, sizeof *ids);
    if (ids == NULL) {
        return no_memory(r);
    }
    while (tc_json_iter_next(&it, NULL, &cause)) {
        /* A cause that is no longer known has an empty id. */
        if (tc_json_get(cause, TC_LIT("incident_id"), &v) && tc_json_string(v, &id) && id.len > 0) {
            TC_TRY(take_string(r, TC_LIT("caused_by"), v, &ids[count]));
            count++;
        }
    }
    r->item->causes = (struct tc__slices){ids, count};
    return TC_OK;
}

static tc_status read_members(const struct reader *r)
{
    struct tc_json_iter it = tc_json_iter_make(r->root);
    struct tc_json v;
    struct tc_slice key;
    while (tc_json_iter_next(&it, &key, &v)) {
        bool ours = false;
        TC_TRY(take_scope(r, key, v, &ours));
        if (tc_slice_eq(key, TC_LIT("detected_at"))) {
            TC_TRY(take_time(r, key, v, &r->item->detected_ns));
        } else if (tc_slice_eq(key, TC_LIT("caused_by"))) {
            TC_TRY(take_causes(r, v));
        } else if (tc_slice_starts(key, TC_LIT(ALERT))) {
            TC_TRY(take_alert(r, key, v));
        }
    }
    return TC_OK;
}

static tc_status read_verdict_line(struct reader *r)
{
    struct tc_json v;
    struct tc_slice status = TC_EMPTY;
    if (tc_json_get(r->root, TC_LIT("truth"), &v)) {
        return wrong(r, TC_LIT("truth"),
                     "does not belong in verdicts: this is a truth; give it "
                     "with --truth");
    }
    if (!tc_json_get(r->root, TC_LIT("incident_id"), &v)) {
        return wrong(r, TC_LIT("incident_id"),
                     "is missing: this is no verdict; give what 'tracecore detect --json' printed");
    }
    TC_TRY(new_item(r, &r->s->verdicts, TC__VERDICT));
    struct tc__item *item = r->item;
    TC_TRY(take_string(r, TC_LIT("incident_id"), v, &item->id));
    TC_TRY(need_pattern(r, TC_LIT("pattern.name")));
    TC_TRY(need_string(r, TC_LIT("status"), &status));
    if (!tc_slice_eq(status, TC_LIT("open")) && !tc_slice_eq(status, TC_LIT("updated")) &&
        !tc_slice_eq(status, TC_LIT("resolved"))) {
        return wrong(r, TC_LIT("status"), "has to be one of \"open\", \"updated\", \"resolved\"");
    }
    TC_TRY(need_time(r, TC_LIT("first_seen"), &item->start_ns));
    TC_TRY(need_time(r, TC_LIT("last_seen"), &item->end_ns));
    if (item->end_ns < item->start_ns) {
        return wrong(r, TC_LIT("last_seen"), "is before \"first_seen\"");
    }
    TC_TRY(optional_string(r, TC_LIT("discriminator"), &item->discriminator));
    TC_TRY(optional_string(r, TC_LIT("incident_group"), &item->group));
    if (tc_json_get(r->root, TC_LIT("root"), &v)) {
        (void)tc_json_bool(v, &item->is_root); /* anything else is no */
    }
    TC_TRY(take_text(r, TC_LIT("headline"), &item->text));
    return read_members(r);
}

/* ---- lines ------------------------------------------------------------------------------- */

typedef tc_status (*line_fn)(struct reader *r);

static tc_status read_lines(struct tc_score *s, struct tc_slice bytes, line_fn read,
                            struct tc_error *err)
{
    struct reader r = {.s = s, .err = err};
    struct tc_slice rest =
        tc_slice_from(bytes, tc_slice_starts(bytes, TC_LIT("\xef\xbb\xbf")) ? 3 : 0);
    while (rest.len > 0) {
        struct tc_error why = {0};
        r.offset = (size_t)(rest.ptr - bytes.ptr);
        struct tc_slice line = tc_slice_trim(tc_slice_cut(rest, '\n', &rest));
        if (line.len == 0) {
            continue;
        }
        if (line.len > TC_SCORE_LINE_MAX) {
            return tc_fail(err, TC_E_LIMIT, r.offset, "a line of more than %zu MiB",
                           TC_SCORE_LINE_MAX >> 20);
        }
        tc_status status = tc_json_parse(s->parser, line, &r.root, &why);
        if (status == TC_E_NOMEM) {
            return no_memory(&r);
        }
        if (status != TC_OK || tc_json_type(r.root) != TC_JSON_OBJECT) {
            return tc_fail(err, TC_E_MALFORMED, r.offset,
                           "not a JSON object%s%.120s; the file has one per line",
                           status == TC_OK ? "" : ": ", status == TC_OK ? "" : why.message);
        }
        TC_TRY(read(&r));
    }
    return TC_OK;
}

/* Of the lines that repeat an id, the first. */
static tc_status refuse_repeats(const struct tc__items *truths, struct tc_error *err)
{
    const struct tc__item *first = NULL;
    for (size_t i = 1; i < truths->count; i++) {
        const struct tc__item *item = &truths->at[i];
        if (tc_slice_eq(item->id, item[-1].id) && (first == NULL || item->line < first->line)) {
            first = item;
        }
    }
    if (first == NULL) {
        return TC_OK;
    }
    return tc_fail(err, TC_E_MALFORMED, first->offset,
                   "\"id\" %.*s is there twice; every fault and noise has an id of its own",
                   TC_FMT(tc_slice_head(first->id, 64)));
}

tc_status tc_score_read_truth(struct tc_score *s, struct tc_slice bytes, struct tc_error *err)
{
    TC_TRY(read_lines(s, bytes, read_truth_line, err));
    if (!s->has_run) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "no line; a truth starts with {\"truth\":\"run\",\"version\":1}");
    }
    tc__items_sort(&s->truths);
    return refuse_repeats(&s->truths, err);
}

tc_status tc_score_read_verdicts(struct tc_score *s, struct tc_slice bytes, struct tc_error *err)
{
    return read_lines(s, bytes, read_verdict_line, err);
}
