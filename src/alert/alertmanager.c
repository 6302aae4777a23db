/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/alertmanager.h"

#include "base/format.h"
#include "event/verdict.h"

#define DESCRIPTION_MAX 8192

static void put_labels(struct tc_json_out *j, const struct tc_alert *a, enum tc_severity severity,
                       struct tc_slice labels)
{
    tc_json_put_object(j, "labels");
    tc_json_put_plain(j, "alertname", TC_LIT("TracecoreIncident"));
    tc_json_put_str(j, "story", a->id);
    tc_json_put_cstr(j, "severity", tc_severity_name(severity));
    tc_json_put_some(j, "pattern", a->pattern);
    while (labels.len > 0) {
        struct tc_slice value;
        struct tc_slice name = tc_slice_cut(tc_slice_cut(labels, '\n', &labels), '=', &value);
        tc_json_key_plain(j, name);
        tc_json_add_str(j, value);
    }
    tc_json_end_object(j);
}

/* The story for people: what it is made of. */
static struct tc_slice describe(const struct tc_alert *a, struct tc_buf *b)
{
    if (a->merged_into.len > 0) {
        return tc_format(b, "Turned out to be part of story {}.", a->merged_into);
    }
    (void)tc_format(b, "{}, {} open.", tc_as_count((int64_t)a->part_count, "incident"),
                    (uint64_t)a->open_count);
    for (size_t i = 0; i < a->shown_count; i++) {
        const struct tc_alert_part *p = &a->parts[i];
        (void)tc_format(b, "\n- {} {}{}: {}{}", tc_severity_name(p->severity), p->pattern,
                        tc_when(p->node.len > 0, " on {}", p->node), p->headline,
                        p->is_open ? "" : " (resolved)");
    }
    if (a->part_count > a->shown_count) {
        (void)tc_format(b, "\n- and {} more", (uint64_t)(a->part_count - a->shown_count));
    }
    return tc_buf_slice(b);
}

static void put_annotations(struct tc_json_out *j, const struct tc_alert *a)
{
    char text[DESCRIPTION_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_json_put_object(j, "annotations");
    tc_json_put_some(j, "summary", a->headline);
    tc_json_put_some(j, "description", describe(a, &b));
    tc_json_put_some(j, "remediation", a->remediation);
    tc_json_put_some(j, "node", a->node);
    tc_json_put_some(j, "gpu", a->gpu);
    tc_json_put_some(j, "namespace", a->name_space);
    tc_json_put_some(j, "pod", a->pod);
    tc_json_put_some(j, "job", a->job);
    tc_json_end_object(j);
}

static void add_one(struct tc_json_out *j, const struct tc_alert *a, enum tc_severity severity,
                    int64_t ends_ns, struct tc_slice labels)
{
    tc_json_add_object(j);
    put_labels(j, a, severity, labels);
    put_annotations(j, a);
    /* It refuses what ends before it starts. */
    tc_json_put_time(j, "startsAt", a->starts_ns < ends_ns ? a->starts_ns : ends_ns);
    tc_json_put_time(j, "endsAt", ends_ns);
    tc_json_put_some(j, "generatorURL", a->link);
    tc_json_end_object(j);
}

void tc_alertmanager_add(struct tc_json_out *j, const struct tc_alert *alert,
                         struct tc_slice labels)
{
    if (alert->is_firing && alert->told_severity < alert->severity) {
        /* Under its old severity it was over when it began under this one: a moment ago. */
        add_one(j, alert, alert->told_severity, alert->starts_ns, labels);
    }
    add_one(j, alert, alert->is_firing ? alert->severity : alert->told_severity, alert->ends_ns,
            labels);
}
