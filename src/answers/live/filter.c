/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/live/filter.h"

#include "base/time.h"
#include "directory/directory.h"

void tc_live_filter_of(const struct tc_asked *asked, struct tc_live_filter *out)
{
    const struct tc_param_value *since = tc_asked_value(asked, "since");
    *out = (struct tc_live_filter){
        .status = tc_asked_text(asked, "status"),
        .severity = tc_asked_text(asked, "severity"),
        .pattern = tc_asked_text(asked, "pattern"),
        .node = tc_asked_text(asked, "node"),
        .job = tc_asked_text(asked, "job"),
        .text = tc_asked_text(asked, "q"),
        .since_ns = since->is_given ? since->count : TC_TIME_NONE,
    };
}

bool tc_live_filter_is_empty(const struct tc_live_filter *f)
{
    return f->status.len == 0 && f->severity.len == 0 && f->pattern.len == 0 && f->node.len == 0 &&
           f->job.len == 0 && f->text.len == 0 && f->since_ns == TC_TIME_NONE;
}

static bool is_same_host(struct tc_slice a, struct tc_slice b)
{
    return a.len > 0 && b.len > 0 && tc_directory_is_same_host(a, b);
}

bool tc_live_is_on_node(const struct tc_verdict *v, struct tc_slice node)
{
    const struct tc_finding *f = v->finding;
    bool is_there = is_same_host(f->scope.node, node);
    for (size_t i = 0; i < f->attr_count && !is_there; i++) {
        const struct tc_attr *a = &f->attrs[i];
        for (size_t n = 0; a->type == TC_ATTR_SCOPES && n < a->count && !is_there; n++) {
            is_there = is_same_host(a->scopes[n].node, node);
        }
    }
    return is_there;
}

static bool has_text(const struct tc_verdict *v, struct tc_slice text)
{
    const struct tc_finding *f = v->finding;
    const struct tc_slice places[] = {
        f->headline,        f->remediation,    f->pattern_name, v->incident_id,
        f->scope.node,      f->scope.pod,      f->scope.ns,     f->scope.job,
        f->scope.container, f->scope.gpu_uuid, f->pattern_id,
    };
    for (size_t i = 0; i < TC_COUNT(places); i++) {
        if (tc_slice_find_nocase(places[i], text) != TC_NPOS) {
            return true;
        }
    }
    return false;
}

bool tc_live_filter_takes(const struct tc_live_filter *f, const struct tc_verdict *v)
{
    const struct tc_finding *finding = v->finding;
    bool wants_open = tc_slice_eq(f->status, TC_LIT("open"));
    if (f->status.len > 0 && wants_open == (v->status == TC_VERDICT_RESOLVED)) {
        return false;
    }
    if (f->severity.len > 0 &&
        !tc_slice_eq(f->severity, tc_slice_cstr(tc_severity_name(finding->severity)))) {
        return false;
    }
    if (f->pattern.len > 0 && !tc_slice_eq(f->pattern, finding->pattern_name) &&
        !tc_slice_eq(f->pattern, finding->pattern_id)) {
        return false;
    }
    if (f->job.len > 0 && !tc_slice_eq(f->job, finding->scope.job)) {
        return false;
    }
    if (f->since_ns != TC_TIME_NONE && finding->last_ns < f->since_ns) {
        return false;
    }
    return (f->node.len == 0 || tc_live_is_on_node(v, f->node)) &&
           (f->text.len == 0 || has_text(v, f->text));
}
