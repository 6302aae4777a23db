/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_failing: a source of a daemon has failed for long, so that what it would tell is missing.
 * docs/patterns/source_failing.md says what it claims and what it never does.
 *
 * One record for each node that a daemon runs on, and one incident of it at a time, whatever of its
 * sources fail: when the network is gone, many do.
 */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/health_priv.h"
#include "detect/mark_priv.h"
#include "detect/window_priv.h"
#include "detect/words_priv.h"
#include "event/format.h"

#include <string.h>

#define ARENA_BYTES ((size_t)4 << 20)
#define RING_BYTES ((size_t)2 << 20)
/* Sources of one node. There are fewer kinds. */
#define SOURCES_MAX 16
#define NAME_MAX_BYTES 32
#define WHY_MAX_BYTES 160
#define KEY(name) TC_LIT("tracecore.alert.source_failing." name)

struct source {
    char name[NAME_MAX_BYTES];
    char why[WHY_MAX_BYTES];
    uint8_t name_len;
    uint8_t why_len;
    bool is_failing;
    bool is_told; /* it has failed in this incident */
    int64_t since_ns;
    struct tc_mark failed;
    struct tc_mark ended; /* known: it works again */
};

/* Invariant: sources are in the order of their names. */
struct outage {
    struct tc_window_head head;
    struct tc_slice node;
    int64_t first_ns; /* of the incident; TC_TIME_NONE: there is none */
    size_t count;
    struct source sources[SOURCES_MAX];
};

struct state {
    struct tc_detector_base base;
    struct tc_window nodes;
};

static const struct tc_record_type OUTAGE = {
    .size = sizeof(struct outage),
    .texts = {TC_TEXT(struct outage, node)},
    .keys = {{TC_FIELD(struct outage, node)}},
};

static struct tc_slice name_of(const struct source *s)
{
    return tc_slice_make(s->name, s->name_len);
}

/* ---- what is said ---- */

static size_t failing_count(const struct outage *o)
{
    size_t count = 0;
    for (size_t i = 0; i < o->count; i++) {
        count += o->sources[i].is_failing;
    }
    return count;
}

/* The one that has failed longest of those that are told; of two the first by name. */
static const struct source *first_of(const struct outage *o)
{
    const struct source *first = NULL;
    for (size_t i = 0; i < o->count; i++) {
        const struct source *s = &o->sources[i];
        if (s->is_told && (first == NULL || s->since_ns < first->since_ns)) {
            first = s;
        }
    }
    return first;
}

static struct tc_slice headline(struct tc_draft *d, const struct outage *o, size_t told,
                                int64_t last_ns, bool is_over)
{
    const struct source *s = first_of(o);
    struct tc_slice why = tc_slice_make(s->why, s->why_len);
    return tc__draft_format(d, "Source {}{} of {} stopped working {}{}{}", name_of(s),
                            tc_when(told > 1, " and {} more", told - 1), tc__as_node(o->node),
                            tc_as_moment(s->since_ns),
                            tc_when(is_over, ", works again {}", tc_as_moment(last_ns)),
                            tc_when(why.len > 0, ": {}", why));
}

static void put_evidence(struct tc_draft *d, const struct outage *o)
{
    for (size_t i = 0; i < o->count; i++) {
        const struct source *s = &o->sources[i];
        if (!s->is_told) {
            continue;
        }
        tc__draft_piece(
            d, TC_LIT("source_state"), s->failed.time_ns, s->failed.raw,
            tc__draft_format(d, "source:{}:{}:failing:{}", o->node, name_of(s),
                             tc_as_time(s->failed.time_ns)),
            tc__draft_format(d, "Source {} stopped working {}{}", name_of(s),
                             tc_as_moment(s->since_ns),
                             tc_when(s->why_len > 0, ": {}", tc_slice_make(s->why, s->why_len))));
        if (s->ended.known) {
            tc__draft_piece(d, TC_LIT("source_state"), s->ended.time_ns, s->ended.raw,
                            tc__draft_format(d, "source:{}:{}:ok:{}", o->node, name_of(s),
                                             tc_as_time(s->ended.time_ns)),
                            tc__draft_format(d, "Source {} works again", name_of(s)));
        }
    }
    tc__draft_sort(d);
}

static tc_status report(const struct outage *o, int64_t last_ns, struct tc_arena *scratch,
                        const struct tc_sink *out)
{
    struct tc_draft d;
    struct tc_slice names[SOURCES_MAX];
    size_t count = 0;
    bool is_over = failing_count(o) == 0;
    for (size_t i = 0; i < o->count; i++) {
        if (o->sources[i].is_told && (is_over || o->sources[i].is_failing)) {
            names[count++] = name_of(&o->sources[i]);
        }
    }
    size_t told = 0;
    for (size_t i = 0; i < o->count; i++) {
        told += o->sources[i].is_told;
    }
    tc__draft_open(&d, &tc_detector_source_failing, scratch);
    struct tc_finding *f = &d.finding;
    bool is_named = !tc_slice_eq(o->node, TC__NO_NODE);
    f->key = tc__draft_format(&d, "{}@{}", o->node, tc_as_time(o->first_ns));
    f->resolved = is_over;
    f->severity = TC_SEVERITY_WARNING;
    f->confidence = is_named ? TC_CONFIDENCE_FULL : TC_CONFIDENCE_PARTIAL;
    f->discriminator = told > 1 ? TC_LIT("several_sources") : TC_LIT("one_source");
    f->headline = headline(&d, o, told, last_ns, is_over);
    f->remediation = tc__draft_format(
        &d,
        "Faults that only {} would tell of go unseen. 'tracecore status' on {} says what each "
        "source needs; see docs/sources.md.",
        told > 1 ? "these sources" : "this source", tc__as_node(o->node));
    f->first_ns = o->first_ns;
    f->last_ns = last_ns;
    f->scope.node = is_named ? o->node : TC_EMPTY;
    tc__draft_attr_list(&d, KEY("sources"), names, count);
    put_evidence(&d, o);
    return tc__draft_emit(&d, out);
}

/* ---- what comes ---- */

/* The source of that name, or a new one in its place; NULL: there is no room. */
static struct source *source_of(struct outage *o, struct tc_slice name)
{
    size_t at = 0;
    while (at < o->count && tc_slice_cmp(name_of(&o->sources[at]), name) < 0) {
        at++;
    }
    if (at < o->count && tc_slice_eq(name_of(&o->sources[at]), name)) {
        return &o->sources[at];
    }
    if (o->count == SOURCES_MAX) {
        return NULL;
    }
    memmove(&o->sources[at + 1], &o->sources[at], (o->count - at) * sizeof o->sources[0]);
    o->sources[at] = (struct source){0};
    o->sources[at].name_len = tc__text_keep(o->sources[at].name, NAME_MAX_BYTES, name);
    o->count++;
    return &o->sources[at];
}

/* A new incident begins without what the last one told. */
static void begin(struct outage *o, int64_t since_ns)
{
    o->first_ns = since_ns;
    for (size_t i = 0; i < o->count; i++) {
        o->sources[i].is_told = false;
    }
}

static tc_status take_failure(struct state *st, struct outage *o, const struct tc_event *ev,
                              const struct tc_sink *out)
{
    struct source *s = source_of(o, ev->source.source);
    if (s == NULL || s->is_failing) {
        st->base.ignored += s == NULL;
        return TC_OK;
    }
    bool is_dated = tc_time_is_date(ev->source.since_ns) && ev->source.since_ns <= ev->time_ns;
    int64_t since_ns = is_dated ? ev->source.since_ns : ev->time_ns;
    if (o->first_ns == TC_TIME_NONE) {
        begin(o, since_ns);
    }
    s->is_failing = s->is_told = true;
    s->since_ns = since_ns;
    s->failed = tc__mark(ev);
    s->ended.known = false;
    s->why_len = tc__text_keep(s->why, WHY_MAX_BYTES, ev->source.message);
    return report(o, ev->time_ns, st->base.scratch, out);
}

static tc_status take_end(struct state *st, struct outage *o, const struct tc_event *ev,
                          const struct tc_sink *out)
{
    struct source *s = source_of(o, ev->source.source);
    if (s == NULL || !s->is_failing) {
        return TC_OK;
    }
    s->is_failing = false;
    s->ended = tc__mark(ev);
    tc_status status = report(o, ev->time_ns, st->base.scratch, out);
    if (failing_count(o) == 0) {
        o->first_ns = TC_TIME_NONE;
    }
    return status;
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct state *st = state;
    struct tc_slice name = ev->source.source;
    bool is_failing = tc_slice_eq(ev->source.state, TC_LIT("failing"));
    bool is_ok = tc_slice_eq(ev->source.state, TC_LIT("ok"));
    if (!tc__scope_fits(&ev->scope) || !tc_time_is_date(ev->time_ns) || name.len == 0 ||
        name.len > NAME_MAX_BYTES || (!is_failing && !is_ok)) {
        st->base.ignored++;
        return TC_OK;
    }
    struct outage fresh = {.node = ev->scope.node.len > 0 ? ev->scope.node : TC__NO_NODE,
                           .first_ns = TC_TIME_NONE};
    struct outage *o = tc__window_get_or_add(&st->nodes, &fresh, ev->time_ns);
    if (o == NULL) {
        return TC_E_NOMEM;
    }
    return is_failing ? take_failure(st, o, ev, out) : take_end(st, o, ev, out);
}

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct state *st = state;
    (void)env;
    return tc__window_open(&st->nodes, &st->base, &OUTAGE, RING_BYTES, TC_KEPT_ALWAYS) ? TC_OK
                                                                                       : TC_E_NOMEM;
}

const struct tc_detector tc_detector_source_failing = {
    .id = "15",
    .name = "source_failing",
    .summary = "A source of the daemon has failed for long: what it would tell is missing",
    .kinds = TC_EVENT_BIT(TC_EVENT_SOURCE_STATE),
    .state_bytes = sizeof(struct state),
    .arena_bytes = ARENA_BYTES,
    .init = init,
    .on_event = on_event,
};
