/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "verdict/render.h"

#include <string.h>

#define RAW_PREFIX_MAX (TC_DIGEST_TEXT_MAX + 41) /* a multiple of 16 */
/* Keys, punctuation and our own words of the first fields. */
#define HEAD_FIXED_MAX 256
/* Keys, punctuation, time, raw and numbers of one piece of evidence. */
#define EVIDENCE_FIXED_MAX (RAW_PREFIX_MAX + 160)
#define KEY(b, name) tc_buf_lit((b), ",\"" name "\":")

/* What one rendering carries along. */
struct writer {
    struct tc_buf *b;
    bool plain; /* no string of the finding needs escaping */
    struct tc_time_cache time;
    const struct tc_sources *sources;
    uint32_t source; /* the one whose view is held */
    bool known;
    size_t raw_len;
    char raw[RAW_PREFIX_MAX]; /* of that source: everything in front of the offset */
};

static void literal(struct tc_buf *b, struct tc_slice value)
{
    tc_buf_char(b, '"');
    tc_buf_str(b, value);
    tc_buf_char(b, '"');
}

static void string(const struct writer *w, struct tc_slice value)
{
    if (w->plain) {
        literal(w->b, value);
    } else {
        tc_buf_json(w->b, value);
    }
}

static void string_member(const struct writer *w, struct tc_slice quoted_key, struct tc_slice value)
{
    if (value.len > 0) {
        tc_buf_str(w->b, quoted_key);
        string(w, value);
    }
}

static void time_value(struct writer *w, int64_t ns)
{
    tc_buf_char(w->b, '"');
    tc_buf_time_cached(w->b, ns, &w->time);
    tc_buf_char(w->b, '"');
}

static void render_scope(const struct writer *w, const struct tc_scope *s)
{
    struct tc_buf *b = w->b;
    string_member(w, TC_LIT(",\"k8s.node.name\":"), s->node);
    string_member(w, TC_LIT(",\"k8s.namespace.name\":"), s->ns);
    string_member(w, TC_LIT(",\"k8s.pod.name\":"), s->pod);
    string_member(w, TC_LIT(",\"k8s.pod.uid\":"), s->pod_uid);
    string_member(w, TC_LIT(",\"k8s.container.name\":"), s->container);
    string_member(w, TC_LIT(",\"job.id\":"), s->job);
    string_member(w, TC_LIT(",\"gpu.uuid\":"), s->gpu_uuid);
    if (s->pci.known) {
        KEY(b, "pci.bdf");
        tc_buf_char(b, '"');
        tc_buf_bdf(b, s->pci);
        tc_buf_char(b, '"');
    }
    if (s->rank >= 0) {
        KEY(b, "rank");
        tc_buf_i64(b, s->rank);
    }
    if (s->gpu_index >= 0) {
        KEY(b, "gpu.index");
        tc_buf_i64(b, s->gpu_index);
    }
    if (s->pid >= 0) {
        KEY(b, "process.pid");
        tc_buf_i64(b, s->pid);
    }
}

static char *put_ints(char *p, const struct tc_attr *a)
{
    *p++ = '[';
    for (size_t i = 0; i < a->count; i++) {
        p = tc_put_i64(p, a->ints[i]);
        *p++ = ',';
    }
    p -= a->count > 0;
    *p++ = ']';
    return p;
}

/* The key, and the value where it is short or of a known length: with one check for room. */
static void render_attr(const struct writer *w, const struct tc_attr *a)
{
    struct tc_buf *b = w->b;
    bool has_ints = a->type == TC_ATTR_INTS;
    bool is_plain = a->type == TC_ATTR_STRING && w->plain;
    size_t value = has_ints ? a->count * (TC_PUT_U64_MAX + 2) : is_plain ? a->string.len : 0;
    char *p = tc_buf_begin(b, a->key.len + value + TC_PUT_U64_MAX + 8);
    if (p == NULL) {
        return;
    }
    p = tc_put_lit(p, ",\"");
    p = tc_put_str(p, a->key);
    p = tc_put_lit(p, "\":");
    switch (a->type) {
    case TC_ATTR_STRING:
        if (is_plain) {
            *p++ = '"';
            p = tc_put_str(p, a->string);
            *p++ = '"';
        }
        break;
    case TC_ATTR_INT:
        p = tc_put_i64(p, a->integer);
        break;
    case TC_ATTR_BOOL:
        p = a->boolean ? tc_put_lit(p, "true") : tc_put_lit(p, "false");
        break;
    case TC_ATTR_INTS:
        p = put_ints(p, a);
        break;
    case TC_ATTR_STRINGS:
        break;
    }
    tc_buf_end(b, p);
    if (a->type == TC_ATTR_STRING && !is_plain) {
        string(w, a->string);
    } else if (a->type == TC_ATTR_STRINGS) {
        tc_buf_char(b, '[');
        for (size_t i = 0; i < a->count; i++) {
            tc_buf_str(b, i == 0 ? TC_EMPTY : TC_LIT(","));
            string(w, a->strings[i]);
        }
        tc_buf_char(b, ']');
    }
}

/* Makes w->raw ready for this source; false when there is nothing to say. */
static bool find_source(struct writer *w, const struct tc_raw *raw)
{
    if (raw->source == TC_SOURCE_NONE || w->sources == NULL) {
        return false;
    }
    if (w->source != raw->source) {
        w->source = raw->source;
        struct tc_source_view view;
        w->known = w->sources->view(w->sources->context, raw->source, &view);
        struct tc_buf prefix = tc_buf_make(w->raw, sizeof w->raw);
        if (w->known) {
            tc_buf_lit(&prefix, ",\"raw\":{\"digest\":\"");
            tc_buf_str(&prefix, view.digest);
            tc_buf_lit(&prefix, "\",\"offset\":");
        }
        w->raw_len = prefix.len;
    }
    return w->known;
}

/* Evidence is most of a verdict: its fixed parts are written without further checks. */
static void put_plain_evidence(struct writer *w, const struct tc_evidence *e, bool has_raw)
{
    char *p =
        tc_buf_begin(w->b, e->kind.len + e->uid.len + e->description.len + EVIDENCE_FIXED_MAX);
    if (p == NULL) {
        return;
    }
    p = tc_put_lit(p, "{\"kind\":\"");
    p = tc_put_str(p, e->kind);
    p = tc_put_lit(p, "\",\"uid\":\"");
    p = tc_put_str(p, e->uid);
    if (e->time_ns != TC_TIME_NONE) {
        p = tc_put_lit(p, "\",\"time\":\"");
        p = tc_put_time(p, e->time_ns, &w->time);
    }
    p = tc_put_lit(p, "\",\"description\":\"");
    p = tc_put_str(p, e->description);
    *p++ = '"';
    if (has_raw) {
        memcpy(p, w->raw, sizeof w->raw); /* a fixed length is a few moves */
        p = tc_put_u64(p + w->raw_len, e->raw.offset);
        p = tc_put_lit(p, ",\"length\":");
        p = tc_put_u64(p, e->raw.length);
        *p++ = '}';
    }
    *p++ = '}';
    tc_buf_end(w->b, p);
}

static void render_evidence(struct writer *w, const struct tc_evidence *e)
{
    bool has_raw = find_source(w, &e->raw);
    if (w->plain) {
        put_plain_evidence(w, e, has_raw);
        return;
    }
    tc_buf_lit(w->b, "{\"kind\":");
    literal(w->b, e->kind);
    KEY(w->b, "uid");
    string(w, e->uid);
    if (e->time_ns != TC_TIME_NONE) {
        KEY(w->b, "time");
        time_value(w, e->time_ns);
    }
    KEY(w->b, "description");
    string(w, e->description);
    if (has_raw) {
        tc_buf_put(w->b, w->raw, w->raw_len);
        tc_buf_u64(w->b, e->raw.offset);
        tc_buf_lit(w->b, ",\"length\":");
        tc_buf_u64(w->b, e->raw.length);
        tc_buf_char(w->b, '}');
    }
    tc_buf_char(w->b, '}');
}

static void render_causes(const struct writer *w, const struct tc_verdict *v)
{
    struct tc_buf *b = w->b;
    KEY(b, "caused_by");
    tc_buf_char(b, '[');
    for (size_t i = 0; i < v->cause_count; i++) {
        tc_buf_str(b, i == 0 ? TC_LIT("{\"incident_id\":") : TC_LIT(",{\"incident_id\":"));
        literal(b, v->causes[i].incident_id);
        KEY(b, "why");
        /* The story may name what is not of this finding: never plain. */
        tc_buf_json(b, v->causes[i].why);
        tc_buf_char(b, '}');
    }
    tc_buf_char(b, ']');
}

/* Everything up to the times, which every verdict has. */
static void render_head(struct writer *w, const struct tc_verdict *v)
{
    const struct tc_finding *f = v->finding;
    struct tc_slice status = tc_slice_cstr(tc_verdict_status_name(v->status));
    struct tc_slice severity = tc_slice_cstr(tc_severity_name(f->severity));
    struct tc_slice confidence = tc_slice_cstr(tc_confidence_name(f->confidence));
    char *p = tc_buf_begin(w->b, f->pattern_id.len + f->pattern_name.len + v->incident_id.len +
                                     f->discriminator.len + HEAD_FIXED_MAX);
    if (p == NULL) {
        return;
    }
    p = tc_put_lit(p, "{\"pattern.id\":\"");
    p = tc_put_str(p, f->pattern_id);
    p = tc_put_lit(p, "\",\"pattern.name\":\"");
    p = tc_put_str(p, f->pattern_name);
    p = tc_put_lit(p, "\",\"incident_id\":\"");
    p = tc_put_str(p, v->incident_id);
    p = tc_put_lit(p, "\",\"status\":\"");
    p = tc_put_str(p, status);
    p = tc_put_lit(p, "\",\"severity\":\"");
    p = tc_put_str(p, severity);
    p = tc_put_lit(p, "\",\"confidence\":\"");
    p = tc_put_str(p, confidence);
    p = tc_put_lit(p, "\",\"discriminator\":\"");
    p = tc_put_str(p, f->discriminator);
    *p++ = '"';
    tc_buf_end(w->b, p);
    string_member(w, TC_LIT(",\"headline\":"), f->headline);
    string_member(w, TC_LIT(",\"remediation\":"), f->remediation);
    p = tc_buf_begin(w->b, HEAD_FIXED_MAX);
    if (p == NULL) {
        return;
    }
    p = tc_put_lit(p, ",\"first_seen\":\"");
    p = tc_put_time(p, v->first_ns, &w->time);
    p = tc_put_lit(p, "\",\"last_seen\":\"");
    struct tc_time_cache last = w->time; /* w->time stays at the first: evidence is of then */
    p = tc_put_time(p, f->last_ns, &last);
    if (v->detected_ns != TC_TIME_NONE) {
        p = tc_put_lit(p, "\",\"detected_at\":\"");
        p = tc_put_time(p, v->detected_ns, &last);
    }
    *p++ = '"';
    tc_buf_end(w->b, p);
}

void tc_verdict_render_json(struct tc_buf *b, const struct tc_verdict *v,
                            const struct tc_sources *sources)
{
    const struct tc_finding *f = v->finding;
    struct writer w;
    w.b = b;
    w.plain = f->plain;
    w.time.known = false;
    w.sources = sources;
    w.source = TC_SOURCE_NONE;
    render_head(&w, v);
    tc_buf_str(b, f->incomplete ? TC_LIT(",\"incomplete\":true") : TC_EMPTY);
    tc_buf_str(b, f->root ? TC_LIT(",\"root\":true") : TC_EMPTY);
    if (v->cause_count > 0) {
        render_causes(&w, v);
    }
    if (v->group.len > 0) {
        KEY(b, "incident_group");
        literal(b, v->group);
    }
    render_scope(&w, &f->scope);
    for (size_t i = 0; i < f->attr_count; i++) {
        render_attr(&w, &f->attrs[i]);
    }
    tc_buf_lit(b, ",\"evidence_trail\":[");
    for (size_t i = 0; i < f->evidence_count; i++) {
        tc_buf_str(b, i == 0 ? TC_EMPTY : TC_LIT(","));
        render_evidence(&w, &f->evidence[i]);
    }
    tc_buf_lit(b, "]}");
}
