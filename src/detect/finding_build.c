/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/finding_priv.h"

#include "base/limits.h"

#include <stdalign.h>

/* What a draft fills in; all of it is written before it is read. */
struct room {
    struct tc_attr attrs[TC_VERDICT_ATTRS_MAX];
    struct tc_evidence evidence[TC_VERDICT_EVIDENCE_MAX];
};

void tc__draft_open(struct tc_draft *d, const struct tc_detector *detector,
                    struct tc_arena *scratch)
{
    d->scratch = scratch;
    d->mark = tc_arena_snapshot(scratch);
    struct room *room = tc_arena_alloc_raw(scratch, sizeof *room, alignof(struct room));
    size_t text_bytes = (scratch->size - scratch->used) / 2;
    char *text = tc_arena_alloc_raw(scratch, text_bytes, 1);
    /* Without memory every append overflows, which emit reports. */
    d->text = tc_buf_make(text, text == NULL ? 0 : text_bytes);
    d->full = !tc_arena_ok(scratch);
    d->attrs = room == NULL ? NULL : room->attrs;
    d->evidence = room == NULL ? NULL : room->evidence;
    d->finding = (struct tc_finding){
        .pattern_id = tc_slice_cstr(detector->id),
        .pattern_name = tc_slice_cstr(detector->name),
        .scope = {.rank = -1, .gpu_index = -1, .pid = -1}, /* nothing known */
    };
}

/*
 * One more, to be filled in by the caller in whole; NULL when there is no room. Not by the copy of
 * a struct: what was just written in small stores is slow to read in large ones.
 */
static struct tc_attr *next_attr(struct tc_draft *d)
{
    d->full = d->full || d->finding.attr_count == TC_VERDICT_ATTRS_MAX;
    return d->full ? NULL : &d->attrs[d->finding.attr_count++];
}

void tc__draft_attr_int(struct tc_draft *d, struct tc_slice key, int64_t value)
{
    struct tc_attr *a = next_attr(d);
    if (a != NULL) {
        *a = (struct tc_attr){.key = key, .type = TC_ATTR_INT, .integer = value};
    }
}

void tc__draft_attr_some(struct tc_draft *d, struct tc_slice key, int64_t count)
{
    if (count > 0) {
        tc__draft_attr_int(d, key, count);
    }
}

void tc__draft_attr_any(struct tc_draft *d, struct tc_slice key, struct tc_slice value)
{
    struct tc_attr *a = next_attr(d);
    if (a != NULL) {
        *a = (struct tc_attr){.key = key, .type = TC_ATTR_STRING, .string = value};
    }
}

void tc__draft_attr_text(struct tc_draft *d, struct tc_slice key, struct tc_slice value)
{
    if (value.len > 0) {
        tc__draft_attr_any(d, key, value);
    }
}

void tc__draft_attr_ints(struct tc_draft *d, struct tc_slice key, const int32_t *ints, size_t count)
{
    struct tc_attr *a = next_attr(d);
    if (a != NULL) {
        *a = (struct tc_attr){.key = key, .type = TC_ATTR_INTS, .ints = ints, .count = count};
    }
}

void tc__draft_attr_list(struct tc_draft *d, struct tc_slice key, const struct tc_slice *strings,
                         size_t count)
{
    struct tc_attr *a = next_attr(d);
    if (a != NULL) {
        *a = (struct tc_attr){
            .key = key, .type = TC_ATTR_STRINGS, .strings = strings, .count = count};
    }
}

void tc__draft_attr_scopes(struct tc_draft *d, struct tc_slice key, const struct tc_scope *scopes,
                           size_t count)
{
    struct tc_attr *a = next_attr(d);
    if (a != NULL) {
        *a = (struct tc_attr){.key = key, .type = TC_ATTR_SCOPES, .scopes = scopes, .count = count};
    }
}

void tc__draft_evidence(struct tc_draft *d, struct tc_evidence evidence)
{
    struct tc_evidence *next = tc__draft_next_evidence(d);
    if (next != NULL) {
        *next = evidence;
    }
}

void tc__draft_sort(struct tc_draft *d)
{
    for (size_t i = 1; i < d->finding.evidence_count; i++) {
        struct tc_evidence e = d->evidence[i];
        size_t at = i;
        for (; at > 0 && d->evidence[at - 1].time_ns > e.time_ns; at--) {
            d->evidence[at] = d->evidence[at - 1];
        }
        d->evidence[at] = e;
    }
}

tc_status tc__draft_emit(struct tc_draft *d, const struct tc_sink *out)
{
    tc_status status = TC_OK;
    if (!tc_arena_ok(d->scratch) || d->text.overflowed) {
        status = TC_E_NOMEM;
    } else if (d->full) {
        status = TC_E_LIMIT;
    } else {
        d->finding.attrs = d->attrs;
        d->finding.evidence = d->evidence;
        if (d->finding.resolved) { /* nothing needs doing: docs/patterns/README.md */
            d->finding.severity = TC_SEVERITY_INFO;
        }
        status = tc_sink_emit(out, &d->finding);
    }
    tc_arena_rewind(d->scratch, d->mark);
    return status;
}

struct tc_slice tc__text_clip(struct tc_slice s, size_t max)
{
    if (s.len <= max) {
        return s;
    }
    /* Step back over continuation bytes; a character has at most three of them. */
    size_t len = max;
    while (len > 0 && max - len < 3 && ((unsigned char)s.ptr[len] & 0xc0) == 0x80) {
        len--;
    }
    return tc_slice_head(s, len);
}

bool tc__scope_fits(const struct tc_scope *scope)
{
    return scope->node.len <= TC_SCOPE_TEXT_MAX && scope->ns.len <= TC_SCOPE_TEXT_MAX &&
           scope->pod.len <= TC_SCOPE_TEXT_MAX && scope->pod_uid.len <= TC_SCOPE_TEXT_MAX &&
           scope->container.len <= TC_SCOPE_TEXT_MAX && scope->gpu_uuid.len <= TC_SCOPE_TEXT_MAX;
}

bool tc__scope_is_plain(const struct tc_scope *scope)
{
    return tc_slice_is_plain(scope->node) && tc_slice_is_plain(scope->ns) &&
           tc_slice_is_plain(scope->pod) && tc_slice_is_plain(scope->pod_uid) &&
           tc_slice_is_plain(scope->container) && tc_slice_is_plain(scope->job) &&
           tc_slice_is_plain(scope->gpu_uuid);
}
