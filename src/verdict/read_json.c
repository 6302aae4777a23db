/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/time.h"
#include "verdict/read.h"

/* More than any pattern has; what is beyond is left out. */
#define ATTRS_MAX 128
#define CAUSES_MAX 64

struct reader {
    struct tc_arena *arena;
    tc_source_add_fn add_source;
    void *context;
};

static size_t count_items(struct tc_json v)
{
    struct tc_json_iter it = tc_json_iter_make(v);
    struct tc_json item;
    size_t count = 0;
    while (tc_json_iter_next(&it, NULL, &item)) {
        count++;
    }
    return count;
}

static struct tc_slice text_of(struct tc_json v, const char *key)
{
    return tc_json_get_string(v, tc_slice_cstr(key));
}

static int64_t time_of(struct tc_json v, const char *key)
{
    struct tc_slice text = text_of(v, key);
    int64_t ns = TC_TIME_NONE;
    return text.len > 0 && tc_time_parse(text, 0, &ns) == text.len ? ns : TC_TIME_NONE;
}

static int32_t number_of(struct tc_json v, const char *key)
{
    int64_t n = tc_json_get_int(v, tc_slice_cstr(key), -1);
    return n >= 0 && n <= INT32_MAX ? (int32_t)n : -1;
}

static bool flag_of(struct tc_json v, const char *key)
{
    struct tc_json member;
    bool flag = false;
    return tc_json_get(v, tc_slice_cstr(key), &member) && tc_json_bool(member, &flag) && flag;
}

/* The index of a word among count; -1 when it is none of them. */
static int word_of(struct tc_slice word, const char *(*name)(int), int count)
{
    for (int i = 0; i < count; i++) {
        if (tc_slice_eq(word, tc_slice_cstr(name(i)))) {
            return i;
        }
    }
    return -1;
}

static const char *severity_name(int i)
{
    return tc_severity_name((enum tc_severity)i);
}

static const char *status_name(int i)
{
    return tc_verdict_status_name((enum tc_verdict_status)i);
}

static void read_scope(struct tc_json v, struct tc_scope *s)
{
    *s = TC_SCOPE_NONE;
    s->node = text_of(v, "k8s.node.name");
    s->ns = text_of(v, "k8s.namespace.name");
    s->pod = text_of(v, "k8s.pod.name");
    s->pod_uid = text_of(v, "k8s.pod.uid");
    s->container = text_of(v, "k8s.container.name");
    s->job = text_of(v, "job.id");
    s->gpu_uuid = text_of(v, "gpu.uuid");
    struct tc_slice pci = text_of(v, "pci.bdf");
    if (pci.len > 0) {
        (void)tc_bdf_parse(pci, &s->pci);
    }
    s->rank = number_of(v, "rank");
    s->gpu_index = number_of(v, "gpu.index");
    s->pid = tc_json_get_int(v, TC_LIT("process.pid"), -1);
}

/* Members of every verdict; the others are attributes of its pattern. */
static bool is_envelope(struct tc_slice key)
{
    static const char *const keys[] = {
        "pattern.id",
        "pattern.name",
        "incident_id",
        "status",
        "severity",
        "confidence",
        "discriminator",
        "headline",
        "remediation",
        "undated",
        "first_seen",
        "last_seen",
        "detected_at",
        "incomplete",
        "root",
        "caused_by",
        "incident_group",
        "recurrence",
        "k8s.node.name",
        "k8s.namespace.name",
        "k8s.pod.name",
        "k8s.pod.uid",
        "k8s.container.name",
        "job.id",
        "gpu.uuid",
        "pci.bdf",
        "rank",
        "gpu.index",
        "process.pid",
        "evidence_trail",
    };
    for (size_t i = 0; i < TC_COUNT(keys); i++) {
        if (tc_slice_eq(key, tc_slice_cstr(keys[i]))) {
            return true;
        }
    }
    return false;
}

/* False when an item is no object, or there is no room. */
static bool read_scopes(struct reader *r, struct tc_json v, size_t count, struct tc_attr *out)
{
    struct tc_scope *scopes = tc_new(r->arena, struct tc_scope, count);
    struct tc_json_iter it = tc_json_iter_make(v);
    struct tc_json item;
    for (size_t i = 0; scopes != NULL && i < count && tc_json_iter_next(&it, NULL, &item); i++) {
        if (tc_json_type(item) != TC_JSON_OBJECT) {
            return false;
        }
        read_scope(item, &scopes[i]);
    }
    out->type = TC_ATTR_SCOPES;
    out->scopes = scopes;
    out->count = count;
    return scopes != NULL;
}

/* An array of numbers, strings or scopes; false when it is none, or there is no room. */
static bool read_list(struct reader *r, struct tc_json v, struct tc_attr *out)
{
    size_t count = count_items(v);
    struct tc_json_iter first = tc_json_iter_make(v);
    struct tc_json one;
    if (tc_json_iter_next(&first, NULL, &one) && tc_json_type(one) == TC_JSON_OBJECT) {
        return read_scopes(r, v, count, out);
    }
    int32_t *ints = tc_new(r->arena, int32_t, count + 1);
    struct tc_slice *strings = tc_new(r->arena, struct tc_slice, count + 1);
    struct tc_json_iter it = tc_json_iter_make(v);
    struct tc_json item;
    size_t numbers = 0;
    size_t texts = 0;
    if (ints == NULL || strings == NULL) {
        return false;
    }
    while (tc_json_iter_next(&it, NULL, &item)) {
        int64_t n = 0;
        if (tc_json_string(item, &strings[texts])) {
            texts++;
        } else if (tc_json_int(item, &n) && n >= INT32_MIN && n <= INT32_MAX) {
            ints[numbers++] = (int32_t)n;
        }
    }
    out->count = count;
    if (numbers == count) {
        out->type = TC_ATTR_INTS;
        out->ints = ints;
    } else {
        out->type = TC_ATTR_STRINGS;
        out->strings = strings;
    }
    return numbers == count || texts == count;
}

static bool read_attr(struct reader *r, struct tc_json v, struct tc_attr *out)
{
    switch (tc_json_type(v)) {
    case TC_JSON_STRING:
        out->type = TC_ATTR_STRING;
        return tc_json_string(v, &out->string);
    case TC_JSON_BOOL:
        out->type = TC_ATTR_BOOL;
        return tc_json_bool(v, &out->boolean);
    case TC_JSON_INT:
        out->type = TC_ATTR_INT;
        return tc_json_int(v, &out->integer);
    case TC_JSON_ARRAY:
        return read_list(r, v, out);
    case TC_JSON_NULL:
    case TC_JSON_UINT:
    case TC_JSON_DOUBLE:
    case TC_JSON_OBJECT:
        break;
    }
    return false;
}

static void read_attrs(struct reader *r, struct tc_json v, struct tc_finding *f)
{
    struct tc_attr *attrs = tc_new(r->arena, struct tc_attr, ATTRS_MAX);
    struct tc_json_iter it = tc_json_iter_make(v);
    struct tc_slice key;
    struct tc_json value;
    f->attrs = attrs;
    while (attrs != NULL && f->attr_count < ATTRS_MAX && tc_json_iter_next(&it, &key, &value)) {
        struct tc_attr *a = &attrs[f->attr_count];
        *a = (struct tc_attr){.key = key};
        f->attr_count += !is_envelope(key) && read_attr(r, value, a);
    }
}

static void read_raw(struct reader *r, struct tc_json piece, struct tc_raw *out)
{
    struct tc_json raw;
    *out = (struct tc_raw){.source = TC_SOURCE_NONE};
    if (tc_json_get(piece, TC_LIT("raw"), &raw)) {
        int64_t offset = tc_json_get_int(raw, TC_LIT("offset"), -1);
        int64_t length = tc_json_get_int(raw, TC_LIT("length"), -1);
        struct tc_slice digest = text_of(raw, "digest");
        if (digest.len > 0 && offset >= 0 && length >= 0 && length <= UINT32_MAX) {
            *out = (struct tc_raw){r->add_source(r->context, digest), (uint32_t)length,
                                   (uint64_t)offset};
        }
    }
}

static void read_evidence(struct reader *r, struct tc_json v, struct tc_finding *f)
{
    struct tc_json trail;
    struct tc_json piece;
    struct tc_evidence *list = tc_new(r->arena, struct tc_evidence, TC_VERDICT_EVIDENCE_MAX);
    if (list == NULL || !tc_json_get(v, TC_LIT("evidence_trail"), &trail)) {
        return;
    }
    struct tc_json_iter it = tc_json_iter_make(trail);
    f->evidence = list;
    while (f->evidence_count < TC_VERDICT_EVIDENCE_MAX && tc_json_iter_next(&it, NULL, &piece)) {
        struct tc_evidence *e = &list[f->evidence_count++];
        *e = (struct tc_evidence){.kind = text_of(piece, "kind"),
                                  .uid = text_of(piece, "uid"),
                                  .description = text_of(piece, "description"),
                                  .time_ns = time_of(piece, "time")};
        read_raw(r, piece, &e->raw);
    }
}

static void read_causes(struct reader *r, struct tc_json v, struct tc_verdict *out)
{
    struct tc_json causes;
    struct tc_json cause;
    struct tc_verdict_cause *list = tc_new(r->arena, struct tc_verdict_cause, CAUSES_MAX);
    if (list == NULL || !tc_json_get(v, TC_LIT("caused_by"), &causes)) {
        return;
    }
    struct tc_json_iter it = tc_json_iter_make(causes);
    out->causes = list;
    while (out->cause_count < CAUSES_MAX && tc_json_iter_next(&it, NULL, &cause)) {
        list[out->cause_count++] =
            (struct tc_verdict_cause){text_of(cause, "incident_id"), text_of(cause, "why")};
    }
}

tc_status tc_verdict_read_json(struct tc_json object, struct tc_arena *arena,
                               tc_source_add_fn add_source, void *context,
                               struct tc_verdict *out_verdict, struct tc_finding *out_finding)
{
    struct reader r = {arena, add_source, context};
    int severity = word_of(text_of(object, "severity"), severity_name, TC_SEVERITY_CRITICAL + 1);
    int status = word_of(text_of(object, "status"), status_name, TC_VERDICT_RESOLVED + 1);
    struct tc_finding f = {
        .pattern_id = text_of(object, "pattern.id"),
        .pattern_name = text_of(object, "pattern.name"),
        .discriminator = text_of(object, "discriminator"),
        .headline = text_of(object, "headline"),
        .remediation = text_of(object, "remediation"),
        .severity = severity < 0 ? TC_SEVERITY_INFO : (enum tc_severity)severity,
        .confidence = tc_slice_eq(text_of(object, "confidence"), TC_LIT("full"))
                          ? TC_CONFIDENCE_FULL
                          : TC_CONFIDENCE_PARTIAL,
        .incomplete = flag_of(object, "incomplete"),
        .root = flag_of(object, "root"),
        .first_ns = time_of(object, "first_seen"),
        .last_ns = time_of(object, "last_seen"),
    };
    struct tc_verdict v = {
        .incident_id = text_of(object, "incident_id"),
        .status = status < 0 ? TC_VERDICT_OPEN : (enum tc_verdict_status)status,
        .first_ns = f.first_ns,
        .detected_ns = time_of(object, "detected_at"),
        .group = text_of(object, "incident_group"),
    };
    f.resolved = v.status == TC_VERDICT_RESOLVED;
    if (v.incident_id.len == 0 || f.pattern_name.len == 0 || severity < 0 || status < 0) {
        return TC_E_MALFORMED;
    }
    read_scope(object, &f.scope);
    read_attrs(&r, object, &f);
    read_evidence(&r, object, &f);
    read_causes(&r, object, &v);
    if (!tc_arena_ok(arena)) {
        return TC_E_NOMEM;
    }
    *out_finding = f;
    *out_verdict = v;
    out_verdict->finding = out_finding;
    return TC_OK;
}
