/* SPDX-License-Identifier: Apache-2.0 */
/* What events say about a GPU's memory: Xids, counters and flags. */
#include "detect/hbm_ecc/priv.h"

/* An exporter counts Xids in a window of minutes: an older sample was of others. */
#define XID_COUNT_STALE_NS (3600 * TC_SECOND)

/* Another time of a fact, which adds so much to it. */
static tc_status note(struct ecc_state *st, const struct ecc_news *n, enum ecc_fact_name name,
                      struct ecc_fact more, const struct tc_sink *out)
{
    struct ecc_incident *in = NULL;
    struct ecc_fact *fact = tc__ecc_note(st, n, name, &in);
    if (fact == NULL) {
        return tc__ecc_no_room(st);
    }
    fact->lines += more.lines;
    fact->gauged += more.gauged;
    fact->counted += more.counted;
    fact->amount += more.amount;
    fact->lifetime += more.lifetime;
    return tc__ecc_announce(st, in, name, out);
}

/*
 * The same line from two collectors, or told again: the same time, or the same second
 * from another source. What comes late between two that are known may be one of those.
 */
static bool told_before(const struct ecc_fact *fact, const struct tc_event *ev)
{
    const struct tc_span *s = &fact->span;
    if (fact->lines == 0 || ev->time_ns < s->first_ns) {
        return false;
    }
    return ev->time_ns <= s->last_ns || (ev->raw.source != s->last_raw.source &&
                                         ev->time_ns / TC_SECOND == s->last_ns / TC_SECOND);
}

tc_status tc__ecc_on_xid(struct ecc_state *st, const struct ecc_news *n, const struct tc_sink *out)
{
    enum ecc_fact_name name = tc__ecc_fact_of_xid(n->ev->xid.code);
    struct ecc_incident *in = tc__ecc_open_incident(st, n->gpu, n->ev->time_ns);
    if (in != NULL && told_before(&in->facts[name], n->ev)) {
        return TC_OK;
    }
    /* A line from before the end of the incident is still a part of it. */
    const struct ecc_incident *last = tc__ecc_incident_at(st, n->gpu);
    if (in == NULL && last != NULL && n->ev->time_ns <= last->last_ns) {
        st->base.late++;
        return TC_OK;
    }
    return note(st, n, name, (struct ecc_fact){.lines = 1}, out);
}

tc_status tc__ecc_on_cuda(struct ecc_state *st, const struct ecc_news *n, const struct tc_sink *out)
{
    return note(st, n, ECC_CUDA, (struct ecc_fact){.lines = 1}, out);
}

/* False when the sample is not newer than the last one. */
static bool gauge_step(struct ecc_gauge *g, const struct tc_event *ev, struct ecc_gauge *out_before)
{
    if (g->known && ev->time_ns <= g->time_ns) {
        return false;
    }
    *out_before = *g;
    *g = (struct ecc_gauge){ev->metric.value, ev->time_ns, true};
    return true;
}

/* The gauge never clears: only that it became another says that something happened. */
static tc_status on_xid_last(struct ecc_state *st, const struct ecc_news *n,
                             const struct tc_sink *out)
{
    struct ecc_gauge before;
    if (!gauge_step(&n->gpu->gauges[ECC_GAUGE_XID_LAST], n->ev, &before) || !before.known ||
        before.value == n->ev->metric.value) {
        return TC_OK;
    }
    enum ecc_fact_name name = tc__ecc_fact_of_xid((int64_t)n->ev->metric.value);
    return name == ECC_FACTS ? TC_OK : note(st, n, name, (struct ecc_fact){.gauged = 1}, out);
}

/* Xids of one number in the last minutes: what it is more than before is new. */
static tc_status on_xid_count(struct ecc_state *st, const struct ecc_news *n,
                              const struct tc_sink *out)
{
    int64_t code = 0;
    enum ecc_fact_name name =
        tc_slice_is_i64(n->ev->metric.device, &code) ? tc__ecc_fact_of_xid(code) : ECC_FACTS;
    struct ecc_gauge before;
    if (name == ECC_FACTS ||
        !gauge_step(&n->gpu->gauges[ECC_GAUGE_XID_COUNTS + name], n->ev, &before)) {
        return TC_OK;
    }
    bool stale = !before.known || n->ev->time_ns - before.time_ns > XID_COUNT_STALE_NS;
    double rise = n->ev->metric.value - (stale ? 0 : before.value);
    return rise < 1 ? TC_OK : note(st, n, name, (struct ecc_fact){.counted = (int64_t)rise}, out);
}

/* A counter of the board's life never falls: what is not above all before is no news. */
static double lifetime_rise(struct tc_counter *c, double value, int64_t time_ns)
{
    double most = c->known ? c->value : value;
    double rise = tc__counter_rise(c, value, time_ns);
    c->value = c->value > most ? c->value : most;
    return rise;
}

/* How much a counter rose, of the board's life when `ever`; whether it started again. */
static double rise_of(struct tc_counter *c, const struct tc_event *ev, bool ever,
                      bool *out_restarted)
{
    *out_restarted = !ever && c->known && ev->time_ns > c->time_ns && ev->metric.value < c->value;
    return ever ? lifetime_rise(c, ev->metric.value, ev->time_ns)
                : tc__counter_rise(c, ev->metric.value, ev->time_ns);
}

static tc_status on_uncorrected(struct ecc_state *st, const struct ecc_news *n,
                                const struct tc_sink *out)
{
    const struct tc_event *ev = n->ev;
    bool ever = ev->metric.metric == TC_METRIC_GPU_ECC_DBE_AGG;
    struct tc_counter *c =
        &n->gpu->counters[ever ? ECC_COUNT_UNCORRECTED_EVER : ECC_COUNT_UNCORRECTED];
    bool restarted = false;
    double rise = rise_of(c, ev, ever, &restarted);
    if (restarted) {
        return tc__ecc_end(st, n, ECC_BY_COUNTER, out);
    }
    if (rise < 1) {
        return TC_OK;
    }
    return note(st, n, ECC_UNCORRECTED,
                (struct ecc_fact){.amount = ever ? 0 : rise, .lifetime = ever ? rise : 0}, out);
}

static tc_status on_rows(struct ecc_state *st, const struct ecc_news *n, const struct tc_sink *out)
{
    const struct tc_event *ev = n->ev;
    bool corrected = ev->metric.metric == TC_METRIC_GPU_ROWS_COR;
    struct tc_counter *c =
        &n->gpu->counters[corrected ? ECC_COUNT_ROWS_CORRECTED : ECC_COUNT_ROWS_UNCORRECTED];
    double rise = lifetime_rise(c, ev->metric.value, ev->time_ns);
    return rise < 1 ? TC_OK : note(st, n, ECC_ROWS, (struct ecc_fact){.amount = rise}, out);
}

/* A flag that is up is a standing fact, in the first sample too. */
static tc_status on_flag(struct ecc_state *st, const struct ecc_news *n, const struct tc_sink *out)
{
    uint16_t metric = n->ev->metric.metric;
    unsigned which = metric == TC_METRIC_GPU_ROW_PENDING     ? ECC_GAUGE_ROW_PENDING
                     : metric == TC_METRIC_GPU_PAGES_PENDING ? ECC_GAUGE_PAGES_PENDING
                                                             : ECC_GAUGE_ROW_FAILURE;
    _Static_assert(ECC_ROW_PENDING + ECC_GAUGE_ROW_FAILURE == ECC_ROW_FAILURE, "in one order");
    enum ecc_fact_name name = (enum ecc_fact_name)(ECC_ROW_PENDING + which);
    struct ecc_gauge *flag = &n->gpu->gauges[which];
    struct ecc_gauge before;
    if (!gauge_step(flag, n->ev, &before)) {
        return TC_OK;
    }
    bool up = tc__ecc_is_up(flag);
    bool was_up = tc__ecc_is_up(&before);
    if (was_up && !up) {
        return tc__ecc_end(st, n, name == ECC_ROW_FAILURE ? ECC_BY_FAILURE : ECC_BY_PENDING, out);
    }
    if (!up || was_up) {
        return TC_OK;
    }
    struct ecc_incident *in = NULL;
    struct ecc_fact *fact = tc__ecc_note(st, n, name, &in);
    if (fact == NULL) {
        return tc__ecc_no_room(st);
    }
    fact->amount = n->ev->metric.value;
    return tc__ecc_announce(st, in, name, out);
}

/* The storm of a GPU, made when there is none. NULL when scratch is full. */
static struct ecc_storm *storm_of(struct ecc_state *st, struct ecc_gpu *gpu)
{
    struct ecc_storm *storm = tc__window_at(&st->storms, gpu->storm);
    if (storm == NULL) {
        struct ecc_storm fresh = {0};
        storm = tc__window_add(&st->storms, &fresh, st->base.now_ns);
        gpu->storm = storm == NULL ? TC_RING_NONE : storm->head.pos;
    }
    return storm;
}

static tc_status on_storm(struct ecc_state *st, const struct ecc_news *n, double errors,
                          const struct tc_sink *out)
{
    struct ecc_incident *in = NULL;
    struct ecc_fact *fact = tc__ecc_note(st, n, ECC_CORRECTED, &in);
    if (fact == NULL) {
        return tc__ecc_no_room(st);
    }
    bool doubled = errors >= 2 * fact->amount;
    fact->amount = errors > fact->amount ? errors : fact->amount;
    return doubled ? tc__ecc_tell_soon(st, in, out) : tc__ecc_announce(st, in, ECC_CORRECTED, out);
}

static tc_status on_corrected(struct ecc_state *st, const struct ecc_news *n,
                              const struct tc_sink *out)
{
    const struct tc_event *ev = n->ev;
    bool ever = ev->metric.metric == TC_METRIC_GPU_ECC_SBE_AGG;
    struct tc_counter *c = &n->gpu->counters[ever ? ECC_COUNT_CORRECTED_EVER : ECC_COUNT_CORRECTED];
    bool newer = c->known && ev->time_ns > c->time_ns;
    bool restarted = false;
    int64_t from_ns = newer ? c->time_ns : ev->time_ns;
    double rise = rise_of(c, ev, ever, &restarted);
    if (restarted) {
        return tc__ecc_end(st, n, ECC_BY_COUNTER, out);
    }
    if (rise >= 1) {
        struct ecc_storm *storm = storm_of(st, n->gpu);
        if (storm == NULL) {
            return TC_E_NOMEM;
        }
        double errors = tc__ecc_storm_add(storm, st->window_ns, from_ns, ev->time_ns, rise, ever);
        if (errors >= (double)st->corrected) {
            return on_storm(st, n, errors, out);
        }
    }
    const struct ecc_incident *in = tc__ecc_incident_at(st, n->gpu);
    bool calm = newer && in != NULL && ev->time_ns - in->last_ns > st->window_ns;
    return calm ? tc__ecc_end(st, n, ECC_BY_CALM, out) : TC_OK;
}

typedef tc_status (*metric_fn)(struct ecc_state *st, const struct ecc_news *n,
                               const struct tc_sink *out);

/* By metric; NULL for those that say nothing of memory. */
static const metric_fn METRICS[TC_METRIC_COUNT] = {
    [TC_METRIC_GPU_ECC_SBE] = on_corrected,   [TC_METRIC_GPU_ECC_SBE_AGG] = on_corrected,
    [TC_METRIC_GPU_ECC_DBE] = on_uncorrected, [TC_METRIC_GPU_ECC_DBE_AGG] = on_uncorrected,
    [TC_METRIC_GPU_ROWS_COR] = on_rows,       [TC_METRIC_GPU_ROWS_UNC] = on_rows,
    [TC_METRIC_GPU_ROW_PENDING] = on_flag,    [TC_METRIC_GPU_PAGES_PENDING] = on_flag,
    [TC_METRIC_GPU_ROW_FAILURE] = on_flag,    [TC_METRIC_GPU_XID_LAST] = on_xid_last,
    [TC_METRIC_GPU_XID_COUNT] = on_xid_count,
};

bool tc__ecc_wants_metric(const struct tc_ev_metric *m)
{
    return m->metric < TC_METRIC_COUNT && METRICS[m->metric] != NULL;
}

tc_status tc__ecc_on_metric(struct ecc_state *st, const struct ecc_news *n,
                            const struct tc_sink *out)
{
    return METRICS[n->ev->metric.metric](st, n, out);
}

bool tc__ecc_wants_health(const struct tc_ev_health *h)
{
    int64_t number = 0;
    enum tc__health says = tc__health_of(h, &number);
    return says == TC__HEALTH_ROW_FAILURE || says == TC__HEALTH_ROW_PENDING ||
           says == TC__HEALTH_PAGES_PENDING || says == TC__HEALTH_UNCORRECTED;
}

/* What DCGM read of the GPU: a flag as if it had been sampled, or errors that it counted. */
tc_status tc__ecc_on_health(struct ecc_state *st, const struct ecc_news *n,
                            const struct tc_sink *out)
{
    int64_t number = 0;
    enum tc__health says = tc__health_of(&n->ev->health, &number);
    if (says == TC__HEALTH_UNCORRECTED) {
        const struct ecc_incident *in = tc__ecc_open_incident(st, n->gpu, n->ev->time_ns);
        /* It says so again and again: what is more than before is new. */
        double before = in == NULL ? 0 : in->facts[ECC_UNCORRECTED].amount;
        double more = (double)number - before;
        return more < 1 ? TC_OK
                        : note(st, n, ECC_UNCORRECTED, (struct ecc_fact){.amount = more}, out);
    }
    struct tc_event flag;
    tc_event_init(&flag, TC_EVENT_METRIC);
    flag.time_ns = n->ev->time_ns;
    flag.raw = n->ev->raw;
    flag.scope = n->ev->scope;
    flag.metric.value = 1;
    flag.metric.metric = says == TC__HEALTH_ROW_FAILURE   ? TC_METRIC_GPU_ROW_FAILURE
                         : says == TC__HEALTH_ROW_PENDING ? TC_METRIC_GPU_ROW_PENDING
                                                          : TC_METRIC_GPU_PAGES_PENDING;
    struct ecc_news sampled = {&flag, n->names, n->gpu};
    return tc__ecc_on_metric(st, &sampled, out);
}
