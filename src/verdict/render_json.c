/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/out.h"
#include "base/time.h"
#include "event/offence.h"
#include "verdict/render.h"

#define RAW_PREFIX_MAX (TC_DIGEST_TEXT_MAX + 41) /* a multiple of 16 */
/* Keys, punctuation, time, raw and numbers of one piece of evidence. */
#define EVIDENCE_FIXED_MAX (RAW_PREFIX_MAX + 160)

/* What one rendering carries along. */
struct writer {
    struct tc_json_out j;
    bool plain; /* no string of the finding needs escaping */
    struct tc_time_cache time;
    const struct tc_sources *sources;
    uint32_t source; /* the one whose view is held */
    bool known;
    struct tc_slice digest; /* of that source */
    struct tc_slice member; /* the same */
    size_t raw_len;
    char raw[RAW_PREFIX_MAX]; /* of that source: everything in front of the offset */
};

static void add_string(struct writer *w, struct tc_slice value)
{
    if (w->plain) {
        tc_json_add_plain(&w->j, value);
    } else {
        tc_json_add_str(&w->j, value);
    }
}

/* A member that is left out when it is empty. */
#define PUT_SOME(w, key, value)        \
    do {                               \
        if ((value).len > 0) {         \
            tc_json_key(&(w)->j, key); \
            add_string((w), (value));  \
        }                              \
    } while (0)

static void render_scope(struct writer *w, const struct tc_scope *s)
{
    struct tc_json_out *j = &w->j;
    PUT_SOME(w, "k8s.node.name", s->node);
    PUT_SOME(w, "k8s.namespace.name", s->ns);
    PUT_SOME(w, "k8s.pod.name", s->pod);
    PUT_SOME(w, "k8s.pod.uid", s->pod_uid);
    PUT_SOME(w, "k8s.container.name", s->container);
    PUT_SOME(w, "job.id", s->job);
    PUT_SOME(w, "gpu.uuid", s->gpu_uuid);
    if (s->pci.known) {
        char text[16];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_bdf(&b, s->pci);
        tc_json_put_plain(j, "pci.bdf", tc_buf_slice(&b));
    }
    if (s->rank >= 0) {
        tc_json_put_i64(j, "rank", s->rank);
    }
    if (s->gpu_index >= 0) {
        tc_json_put_i64(j, "gpu.index", s->gpu_index);
    }
    if (s->pid >= 0) {
        tc_json_put_i64(j, "process.pid", s->pid);
    }
}

/* Ranks are many: one check for room. */
static void put_ints(struct tc_json_out *j, const struct tc_attr *a)
{
    char *p = tc_json_begin_value(j, a->count * (TC_PUT_U64_MAX + 2) + 4);
    if (p == NULL) {
        return;
    }
    *p++ = '[';
    for (size_t i = 0; i < a->count; i++) {
        p = tc_put_i64(p, a->ints[i]);
        *p++ = ',';
    }
    p -= a->count > 0;
    *p++ = ']';
    tc_json_end_value(j, p);
}

static void render_attr(struct writer *w, const struct tc_attr *a)
{
    struct tc_json_out *j = &w->j;
    tc_json_key_plain(j, a->key);
    switch (a->type) {
    case TC_ATTR_STRING:
        add_string(w, a->string);
        break;
    case TC_ATTR_INT:
        tc_json_add_i64(j, a->integer);
        break;
    case TC_ATTR_BOOL:
        tc_json_add_bool(j, a->boolean);
        break;
    case TC_ATTR_INTS:
        put_ints(j, a);
        break;
    case TC_ATTR_STRINGS:
        tc_json_add_array(j);
        for (size_t i = 0; i < a->count; i++) {
            add_string(w, a->strings[i]);
        }
        tc_json_end_array(j);
        break;
    case TC_ATTR_SCOPES:
        tc_json_add_array(j);
        for (size_t i = 0; i < a->count; i++) {
            tc_json_add_object(j);
            render_scope(w, &a->scopes[i]);
            tc_json_end_object(j);
        }
        tc_json_end_array(j);
        break;
    }
}

/* Makes w->digest and w->raw those of this source. */
static __attribute__((noinline)) void load_source(struct writer *w, uint32_t source)
{
    struct tc_source_view view;
    struct tc_buf prefix = tc_buf_make(w->raw, sizeof w->raw);
    w->source = source;
    w->known = w->sources->view(w->sources->context, source, &view);
    if (w->known) {
        w->digest = view.digest;
        w->member = view.member;
        tc_buf_lit(&prefix, ",\"raw\":{\"digest\":\"");
        tc_buf_str(&prefix, view.digest);
        tc_buf_lit(&prefix, "\",\"offset\":");
    }
    w->raw_len = prefix.len;
}

/* False when there is nothing to say. */
static inline bool find_source(struct writer *w, const struct tc_raw *raw)
{
    if (raw->source == TC_SOURCE_NONE || w->sources == NULL) {
        return false;
    }
    if (w->source != raw->source) {
        load_source(w, raw->source);
    }
    return w->known;
}

/* Evidence is most of a verdict: where nothing needs escaping it is written at one go. */
static void put_plain_evidence(struct writer *w, const struct tc_evidence *e, bool has_raw)
{
    char *p = tc_json_begin_value(&w->j, e->kind.len + e->uid.len + e->description.len +
                                             EVIDENCE_FIXED_MAX);
    if (p == NULL) {
        return;
    }
    p = tc_put_lit(p, "{\"kind\":\"");
    p = tc_put_str(p, e->kind);
    p = tc_put_lit(p, "\",\"uid\":\"");
    p = tc_put_str(p, e->uid);
    if (tc_time_is_date(e->time_ns)) {
        p = tc_put_lit(p, "\",\"time\":\"");
        p = tc_put_time(p, e->time_ns, &w->time);
    }
    p = tc_put_lit(p, "\",\"description\":\"");
    p = tc_put_str(p, e->description);
    *p++ = '"';
    if (has_raw) {
        __builtin_memcpy(p, w->raw, sizeof w->raw); /* a fixed length is a few moves */
        p = tc_put_u64(p + w->raw_len, e->raw.offset);
        p = tc_put_lit(p, ",\"length\":");
        p = tc_put_u64(p, e->raw.length);
        *p++ = '}';
    }
    *p++ = '}';
    tc_json_end_value(&w->j, p);
}

static void render_evidence(struct writer *w, const struct tc_evidence *e)
{
    struct tc_json_out *j = &w->j;
    bool has_raw = find_source(w, &e->raw);
    if (w->plain && w->member.len == 0) {
        put_plain_evidence(w, e, has_raw);
        return;
    }
    tc_json_add_object(j);
    tc_json_put_plain(j, "kind", e->kind);
    tc_json_put_str(j, "uid", e->uid);
    if (tc_time_is_date(e->time_ns)) {
        tc_json_put_time_cached(j, "time", e->time_ns, &w->time);
    }
    tc_json_put_str(j, "description", e->description);
    if (has_raw) {
        tc_json_put_object(j, "raw");
        tc_json_put_plain(j, "digest", w->digest);
        if (w->member.len > 0) {
            tc_json_put_str(j, "member", w->member);
        }
        tc_json_put_u64(j, "offset", e->raw.offset);
        tc_json_put_u64(j, "length", e->raw.length);
        tc_json_end_object(j);
    }
    tc_json_end_object(j);
}

static void render_causes(struct tc_json_out *j, const struct tc_verdict *v)
{
    tc_json_put_array(j, "caused_by");
    for (size_t i = 0; i < v->cause_count; i++) {
        tc_json_add_object(j);
        tc_json_put_plain(j, "incident_id", v->causes[i].incident_id);
        /* The story may name what is not of this finding: never plain. */
        tc_json_put_str(j, "why", v->causes[i].why);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}

static void render_recurrence(struct tc_json_out *j, const struct tc_recurrence *r)
{
    tc_json_put_object(j, "recurrence");
    tc_json_put_plain(j, "of", tc_slice_cstr(tc_thing_name(r->thing)));
    tc_json_put_i64(j, "count", r->count);
    tc_json_put_i64(j, "window_seconds", r->window_ns / TC_SECOND);
    tc_json_put_array(j, "earlier");
    for (size_t i = 0; i < r->earlier_count; i++) {
        tc_json_add_object(j);
        tc_json_put_plain(j, "incident_id", r->earlier[i].incident_id);
        tc_json_put_plain(j, "pattern.name", r->earlier[i].pattern_name);
        tc_json_put_time(j, "first_seen", r->earlier[i].first_ns);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}

/* Everything up to the times. */
static void render_head(struct writer *w, const struct tc_verdict *v)
{
    const struct tc_finding *f = v->finding;
    struct tc_json_out *j = &w->j;
    tc_json_put_plain(j, "pattern.id", f->pattern_id);
    tc_json_put_plain(j, "pattern.name", f->pattern_name);
    tc_json_put_plain(j, "incident_id", v->incident_id);
    tc_json_put_plain(j, "status", tc_slice_cstr(tc_verdict_status_name(v->status)));
    tc_json_put_plain(j, "severity", tc_slice_cstr(tc_severity_name(f->severity)));
    tc_json_put_plain(j, "confidence", tc_slice_cstr(tc_confidence_name(f->confidence)));
    tc_json_put_plain(j, "discriminator", f->discriminator);
    PUT_SOME(w, "headline", f->headline);
    PUT_SOME(w, "remediation", f->remediation);
    if (!tc_time_is_date(v->first_ns)) {
        tc_json_put_bool(j, "undated", true);
        return;
    }
    tc_json_put_time_cached(j, "first_seen", v->first_ns, &w->time);
    struct tc_time_cache last = w->time; /* w->time stays at the first: evidence is of then */
    tc_json_put_time_cached(j, "last_seen", f->last_ns, &last);
    if (tc_time_is_date(v->detected_ns)) {
        tc_json_put_time_cached(j, "detected_at", v->detected_ns, &last);
    }
}

void tc_verdict_render_json(struct tc_buf *b, const struct tc_verdict *v,
                            const struct tc_sources *sources)
{
    const struct tc_finding *f = v->finding;
    struct writer w;
    w.j = tc_json_out_make(b);
    w.plain = f->plain;
    w.time.known = false;
    w.sources = sources;
    w.source = TC_SOURCE_NONE;
    w.member = TC_EMPTY;
    tc_json_add_object(&w.j);
    render_head(&w, v);
    if (f->incomplete) {
        tc_json_put_bool(&w.j, "incomplete", true);
    }
    if (f->root) {
        tc_json_put_bool(&w.j, "root", true);
    }
    if (v->cause_count > 0) {
        render_causes(&w.j, v);
    }
    if (v->group.len > 0) {
        tc_json_put_plain(&w.j, "incident_group", v->group);
    }
    if (v->recurrence != NULL) {
        render_recurrence(&w.j, v->recurrence);
    }
    render_scope(&w, &f->scope);
    for (size_t i = 0; i < f->attr_count; i++) {
        render_attr(&w, &f->attrs[i]);
    }
    tc_json_put_array(&w.j, "evidence_trail");
    for (size_t i = 0; i < f->evidence_count; i++) {
        render_evidence(&w, &f->evidence[i]);
    }
    tc_json_end_array(&w.j);
    tc_json_end_object(&w.j);
}
