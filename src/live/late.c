/* SPDX-License-Identifier: Apache-2.0 */
/* Late events: the stretches of time that are to be checked again, and what was found there. */
#include "live/live.h"
#include "live/live_priv.h"

#include <string.h>

bool tc_live_take_stretch(struct tc_live *l, const struct tc_stretch_wait *wait,
                          struct tc_stretch *out)
{
    return !l->replaying && tc_stretches_take(&l->late, l->clock_ns, wait, out);
}

int64_t tc_live_late_since(const struct tc_live *l)
{
    int64_t since_ns = INT64_MAX;
    for (size_t i = 0; i < l->late.count; i++) {
        since_ns = tc__live_sooner(since_ns, l->late.items[i].arrived_from_ns);
    }
    return since_ns;
}

size_t tc_live_stretches(const struct tc_live *l)
{
    return l->late.count;
}

void tc_live_widen(const struct tc_live *l, struct tc_stretch *io_stretch)
{
    const struct tc_incident_table *kept = tc_story_verdicts(l->story);
    int64_t from_ns = io_stretch->from_ns - l->config.margin_ns;
    int64_t to_ns = io_stretch->to_ns + l->config.margin_ns;
    for (size_t i = 0; i < kept->count; i++) {
        const struct tc_verdict *v = &kept->items[i].verdict;
        int64_t last_ns = v->finding->last_ns;
        if (v->first_ns > to_ns || last_ns < from_ns ||
            from_ns - v->first_ns > TC__WIDEN_MARGINS * l->config.margin_ns) {
            continue;
        }
        io_stretch->from_ns = tc__live_sooner(io_stretch->from_ns, v->first_ns);
        io_stretch->to_ns = last_ns > io_stretch->to_ns ? last_ns : io_stretch->to_ns;
    }
}

void tc_live_give_up(struct tc_live *l, const struct tc_stretch *stretch)
{
    l->counts.unjudged += stretch->events;
    tc_sources_note_unjudged(&l->sources, stretch->from_ns, stretch->to_ns);
}

void tc_live_add_stretch(struct tc_live *l, const struct tc_stretch *stretch)
{
    tc_stretches_add(&l->late, stretch);
}

struct tc_sources_table *tc_live_sources(struct tc_live *l)
{
    return &l->sources;
}

/* A key without the time or number at its end. */
static struct tc_slice key_stem(struct tc_slice key)
{
    while (key.len > 0 && strchr("0123456789TZ:.-", key.ptr[key.len - 1]) != NULL) {
        key.len--;
    }
    return key;
}

/* Names of things end in numbers too, so what a key is about is asked of the scope. */
static bool is_same_place(const struct tc_scope *a, const struct tc_scope *b)
{
    return (a->node.len == 0) == (b->node.len == 0) &&
           tc_directory_is_same_host(a->node, b->node) && tc_slice_eq(a->pod, b->pod) &&
           tc_slice_eq(a->job, b->job) && a->rank == b->rank;
}

static bool is_same_gpu(const struct tc_scope *a, const struct tc_scope *b)
{
    return a->node.len > 0 && b->node.len > 0 && tc_directory_is_same_host(a->node, b->node) &&
           tc_slice_eq(a->pod, b->pod) &&
           ((a->gpu_uuid.len > 0 && tc_slice_eq(a->gpu_uuid, b->gpu_uuid)) ||
            (a->pci.known && b->pci.known && tc_bdf_eq(a->pci, b->pci)) ||
            (a->gpu_index >= 0 && a->gpu_index == b->gpu_index));
}

/* Whether a finding is about the thing and the time of an incident of its pattern. */
static bool is_about(const struct tc_verdict *v, const struct tc_finding *f)
{
    const struct tc_finding *known = v->finding;
    bool at_once =
        f->first_ns <= known->last_ns + TC__APART_NS && f->last_ns >= v->first_ns - TC__APART_NS;
    struct tc_slice stem = key_stem(known->key);
    return at_once && tc_slice_eq(known->pattern_id, f->pattern_id) &&
           ((stem.len < known->key.len && tc_slice_eq(stem, key_stem(f->key)) &&
             is_same_place(&known->scope, &f->scope)) ||
            is_same_gpu(&known->scope, &f->scope));
}

static const struct tc_incident_told *find_told(const struct tc_live *l, struct tc_slice pattern_id,
                                                struct tc_slice key)
{
    return tc_incidents_told(tc_engine_incidents(l->engine), pattern_id, key);
}

static const struct tc_verdict *find_kept(const struct tc_live *l,
                                          const struct tc_incident_told *told)
{
    const struct tc_incident_table *kept = tc_story_verdicts(l->story);
    size_t at = tc_incident_table_find(kept, tc_slice_make(told->id, sizeof told->id));
    return at == TC_INCIDENT_NONE ? NULL : &kept->items[at].verdict;
}

/* The incident that a finding whose key is not known is about. */
static const struct tc_verdict *find_about(const struct tc_live *l,
                                           const struct tc_finding *finding)
{
    const struct tc_incident_table *kept = tc_story_verdicts(l->story);
    for (size_t i = 0; i < kept->count; i++) {
        if (is_about(&kept->items[i].verdict, finding)) {
            return &kept->items[i].verdict;
        }
    }
    return NULL;
}

static size_t count_scope_names(const struct tc_scope *s)
{
    const bool named[] = {s->node.len > 0,      s->pod.len > 0, s->pod_uid.len > 0,
                          s->container.len > 0, s->job.len > 0, s->gpu_uuid.len > 0,
                          s->pci.known,         s->rank >= 0,   s->gpu_index >= 0};
    size_t count = 0;
    for (size_t i = 0; i < TC_COUNT(named); i++) {
        count += named[i];
    }
    return count;
}

/* How many names it has for what it is about. */
static size_t count_names(const struct tc_finding *f)
{
    size_t count = count_scope_names(&f->scope);
    for (size_t i = 0; i < f->attr_count; i++) {
        const struct tc_attr *attr = &f->attrs[i];
        for (size_t k = 0; attr->type == TC_ATTR_SCOPES && k < attr->count; k++) {
            count += count_scope_names(&attr->scopes[k]);
        }
    }
    return count;
}

/* A recheck learns who runs where from its stretch alone: of the same facts it may name less. */
static bool names_less(const struct tc_verdict *known, const struct tc_finding *f)
{
    return f->resolved == (known->status == TC_VERDICT_RESOLVED) &&
           f->severity <= known->finding->severity &&
           f->evidence_count <= known->finding->evidence_count &&
           count_names(f) < count_names(known->finding);
}

/* Whether as much as a finding says is known. */
static bool is_known(const struct tc_verdict *known, const struct tc_finding *f)
{
    return f->first_ns > known->first_ns || f->last_ns < known->finding->last_ns ||
           (known->status == TC_VERDICT_RESOLVED && !f->resolved &&
            f->last_ns == known->finding->last_ns) ||
           names_less(known, f);
}

/* Whether a finding counts about an incident that is not kept; what was told of it is known, or
 * NULL. */
static bool is_acceptable(const struct tc_incident_told *told, const struct tc_finding *f,
                          bool believed)
{
    bool was_open = told != NULL && told->status != TC_VERDICT_RESOLVED;
    bool was_over = told != NULL && !was_open;
    return (believed && !(was_over && !f->resolved)) || (was_open && f->resolved);
}

bool tc__live_keeps_checked(struct tc_live *l, const struct tc_incident_entry *kept,
                            const struct tc_finding *f)
{
    const struct tc_finding *known = &kept->finding;
    bool was_over = kept->verdict.status == TC_VERDICT_RESOLVED;
    if (l->adopting || !kept->said.checked || f->resolved != was_over ||
        f->first_ns <= known->first_ns || f->severity > known->severity ||
        f->evidence_count > known->evidence_count) {
        return false;
    }
    tc_live_add_stretch(l, &(struct tc_stretch){.from_ns = known->first_ns,
                                                .to_ns = f->last_ns,
                                                .arrived_from_ns = l->clock_ns,
                                                .arrived_to_ns = l->clock_ns,
                                                .looked = true});
    return true;
}

static tc_status adopt(struct tc_live *l, const struct tc_finding *finding, bool *out_is_news)
{
    l->adopting = true;
    tc_status status = tc_engine_adopt(l->engine, finding, out_is_news);
    l->adopting = false;
    return status;
}

tc_status tc_live_adopt(struct tc_live *l, const struct tc_finding *finding, bool believed,
                        struct tc_live_adopted *out)
{
    TC_TRY(tc__live_go_on(l));
    struct tc_finding own = *finding;
    const struct tc_incident_told *told = find_told(l, own.pattern_id, own.key);
    const struct tc_verdict *known = told != NULL ? find_kept(l, told) : find_about(l, &own);
    *out = (struct tc_live_adopted){.key = finding->key};
    if (known == NULL ? !is_acceptable(told, &own, believed) : is_known(known, &own)) {
        return TC_OK;
    }
    if (known == NULL) {
        TC_TRY(adopt(l, &own, &out->is_news));
        out->is_opened = out->is_news && !own.resolved;
        return TC_OK;
    }
    const struct tc_incident_table *kept = tc_story_verdicts(l->story);
    size_t at = tc_incident_table_find(kept, known->incident_id); /* where it stays */
    bool was_open = known->status != TC_VERDICT_RESOLVED;
    own.key = known->finding->key;
    TC_TRY(adopt(l, &own, &out->is_news));
    out->is_opened = out->is_news && !was_open && !own.resolved;
    out->key = kept->items[at].finding.key;
    return TC_OK;
}

bool tc_live_is_over(const struct tc_live *l, struct tc_slice pattern_id, struct tc_slice key)
{
    const struct tc_incident_told *told = find_told(l, pattern_id, key);
    return told != NULL && told->status == TC_VERDICT_RESOLVED;
}

bool tc_live_is_kept(const struct tc_live *l, struct tc_slice pattern_id, struct tc_slice key)
{
    const struct tc_incident_told *told = find_told(l, pattern_id, key);
    return told != NULL && find_kept(l, told) != NULL;
}
