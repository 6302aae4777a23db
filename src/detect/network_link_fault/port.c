/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with one port: flaps, errors and loss against the knobs. */
#include "detect/network_link_fault/priv.h"

/* Two scrapes so close that tell the same numbers are of one moment. */
#define SAME_NS (15 * TC_SECOND)

void tc__link_mark(struct link_log *log, int64_t time_ns, int64_t count, struct tc_raw raw)
{
    log->marks[log->pushed++ % LINK_MARKS] = (struct link_mark){time_ns, count, raw};
    log->total += count;
}

void tc__link_unmark(struct link_log *log)
{
    if (log->pushed > 0) {
        struct link_mark *m = &log->marks[--log->pushed % LINK_MARKS];
        log->total -= m->count;
        *m = (struct link_mark){0};
    }
}

static void absorb_counter(struct tc_counter *to, struct tc_counter *from)
{
    *to = to->known ? *to : *from;
    *from = (struct tc_counter){0};
}

/* The kernel and the counters of an exporter tell different parts: each has what the other lacks.
 */
void tc__link_absorb(struct link_port *to, struct link_port *from)
{
    for (unsigned s = 0; s < LINK_SOURCES; s++) {
        if (to->logs[s].pushed == 0 && to->logs[s].changed_ns == TC_TIME_NONE) {
            to->logs[s] = from->logs[s];
        }
        from->logs[s] = (struct link_log){.changed_ns = TC_TIME_NONE};
    }
    absorb_counter(&to->downed, &from->downed);
    absorb_counter(&to->recovered, &from->recovered);
    absorb_counter(&to->carrier, &from->carrier);
    absorb_counter(&to->symbols, &from->symbols);
    absorb_counter(&to->received, &from->received);
    to->symbol_rate = to->symbol_rate.last.count == 0 ? from->symbol_rate : to->symbol_rate;
    to->receive_rate = to->receive_rate.last.count == 0 ? from->receive_rate : to->receive_rate;
    from->symbol_rate = (struct link_rate){0};
    from->receive_rate = (struct link_rate){0};
    if (to->before.time_ns == TC_TIME_NONE && to->scrape.time_ns == TC_TIME_NONE) {
        to->before = from->before;
        to->scrape = from->scrape;
        to->loss = from->loss;
    }
    to->seen_up = to->seen_up || from->seen_up;
    from->down_ns = TC_TIME_NONE;
    from->gauge.time_ns = TC_TIME_NONE;
}

static int64_t step_of(int64_t window_ns, int64_t time_ns)
{
    return time_ns / (window_ns / LINK_STEPS);
}

void tc__link_rate_add(struct link_rate *rate, int64_t window_ns, struct link_mark mark)
{
    int64_t step = step_of(window_ns, mark.time_ns);
    if (rate->last.count == 0 || step >= rate->step + LINK_STEPS) {
        *rate = (struct link_rate){.step = step, .first = mark};
    }
    for (; rate->step < step; rate->step++) {
        rate->counts[(rate->step + 1) % LINK_STEPS] = 0;
    }
    if (step > rate->step - LINK_STEPS) {
        int64_t *count = &rate->counts[step % LINK_STEPS];
        *count = *count > INT64_MAX / LINK_STEPS - mark.count ? INT64_MAX / LINK_STEPS
                                                              : *count + mark.count;
    }
    rate->last = mark;
}

int64_t tc__link_rate_sum(const struct link_rate *rate, int64_t window_ns, int64_t now_ns)
{
    int64_t sum = 0;
    int64_t oldest = step_of(window_ns, now_ns) - LINK_STEPS + 1;
    for (int64_t step = rate->step; rate->last.count > 0 && step > rate->step - LINK_STEPS;
         step--) {
        sum += step >= 0 && step >= oldest ? rate->counts[step % LINK_STEPS] : 0;
    }
    return sum;
}

int64_t tc__link_errors(const struct link_port *p, const struct link_knobs *k, int64_t now_ns)
{
    int64_t symbols = tc__link_rate_sum(&p->symbol_rate, k->window_ns, now_ns);
    int64_t receive = tc__link_rate_sum(&p->receive_rate, k->window_ns, now_ns);
    return symbols > receive ? symbols : receive;
}

int64_t tc__link_flaps(const struct link_port *p, enum link_source *out_source)
{
    int64_t most = 0;
    for (unsigned s = 0; s < LINK_SOURCES; s++) {
        int64_t count = p->logs[s].total - p->logs[s].base;
        if (count > most) {
            most = count;
            *out_source = (enum link_source)s;
        }
    }
    return most;
}

/* What a log counts since from_ns; the first of it, and the last. */
static int64_t flaps_since(const struct link_log *log, int64_t from_ns, int64_t *io_first_ns,
                           int64_t *io_last_ns)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < LINK_MARKS; i++) {
        const struct link_mark *m = &log->marks[i];
        if (m->count > 0 && m->time_ns >= from_ns) {
            sum += m->count;
            *io_first_ns = m->time_ns < *io_first_ns ? m->time_ns : *io_first_ns;
            *io_last_ns = m->time_ns > *io_last_ns ? m->time_ns : *io_last_ns;
        }
    }
    return sum;
}

/* Growth of a counter between two scrapes; a counter that fell has started again. */
static double growth(double before, double now)
{
    return now > before ? now - before : 0;
}

void tc__link_close_scrape(struct link_port *p, const struct link_knobs *k)
{
    struct link_scrape *now = &p->scrape;
    const struct link_scrape *before = &p->before;
    if (now->time_ns == TC_TIME_NONE || !now->has_packets) {
        return;
    }
    bool same = before->time_ns != TC_TIME_NONE && now->time_ns - before->time_ns < SAME_NS &&
                now->packets == before->packets && now->drops == before->drops &&
                now->errors == before->errors;
    if (same) { /* two servers scrape one exporter: the port was not idle in between */
        now->time_ns = TC_TIME_NONE;
        now->has_packets = false;
        return;
    }
    if (before->time_ns != TC_TIME_NONE) {
        double packets = growth(before->packets, now->packets);
        double lost = growth(before->drops, now->drops) + growth(before->errors, now->errors);
        double ppm = packets > 0 ? lost * 1e6 / (packets + lost) : 0;
        /* An idle port drops what it does not know, such as the frames of a switch's discovery:
         * that is no loss. */
        bool above = packets >= (double)k->packets && ppm > (double)k->loss_permille * 1000;
        struct link_mark mark = {now->time_ns, above ? (int64_t)ppm : 0, now->raw};
        if (above && !p->loss.on) {
            /* It began with the interval, not at its end. */
            struct link_mark first = {before->time_ns, mark.count, before->raw};
            tc__link_lose(p, k, first, false);
        }
        if (now->packets >= before->packets) { /* else the counters have started again */
            tc__link_lose(p, k, mark, false);
        }
    }
    p->before = *now;
    now->time_ns = TC_TIME_NONE;
    now->has_packets = false;
}

void tc__link_lose(struct link_port *p, const struct link_knobs *k, struct link_mark mark,
                   bool is_ping)
{
    struct link_loss *l = &p->loss;
    l->is_ping = is_ping;
    if (mark.count > 0) {
        if (!l->on) {
            *l = (struct link_loss){.on = true, .first = mark, .is_ping = is_ping};
        }
        l->last = mark;
        l->worst = mark.count > l->worst ? mark.count : l->worst;
        l->calm_ns = TC_TIME_NONE;
        return;
    }
    if (!l->on) {
        return;
    }
    bool told = (p->faults & 1U << LINK_LOSS) != 0;
    l->calm_ns = l->calm_ns == TC_TIME_NONE ? mark.time_ns : l->calm_ns;
    /* What was not told is over with the first good sample; what was told, when it stays good. */
    if (!told || mark.time_ns - l->calm_ns >= k->hold_ns) {
        l->on = false;
    }
}

/* What the marks say: how many flaps the window has, from when to when. */
struct flapping {
    int64_t count;
    int64_t first_ns;
    int64_t last_ns;
};

static struct flapping flapping_of(const struct link_port *p, const struct link_knobs *k,
                                   int64_t now_ns)
{
    struct flapping f = {0, INT64_MAX, TC_TIME_NONE};
    for (unsigned s = 0; s < LINK_SOURCES; s++) {
        int64_t first_ns = INT64_MAX;
        int64_t count = flaps_since(&p->logs[s], now_ns - k->window_ns, &first_ns, &f.last_ns);
        if (count > f.count) {
            f.count = count;
            f.first_ns = first_ns;
        }
    }
    return f;
}

static unsigned find_faults(const struct link_port *p, const struct link_knobs *k,
                            const struct flapping *f, int64_t now_ns)
{
    unsigned had = p->faults;
    unsigned faults = tc__link_down_bit(p);
    faults |= p->cable_first.count > 0 ? 1U << LINK_CABLE : 0;
    faults |= p->retry_first.count > 0 ? 1U << LINK_RETRY : 0;
    /* What flapped or erred goes on until a whole window has passed without. */
    bool flaps = (had & 1U << LINK_FLAP) != 0 ? f->count > 0 : f->count >= k->flaps;
    faults |= flaps ? 1U << LINK_FLAP : 0;
    int64_t errors = tc__link_errors(p, k, now_ns);
    bool errs = (had & 1U << LINK_SYMBOL) != 0 ? errors > 0 : errors >= k->symbol_errors;
    faults |= errs ? 1U << LINK_SYMBOL : 0;
    const struct link_loss *l = &p->loss;
    bool lossy = l->last.time_ns - l->first.time_ns >= k->hold_ns;
    bool loses = l->on && ((had & 1U << LINK_LOSS) != 0 || lossy);
    faults |= loses ? 1U << LINK_LOSS : 0;
    return faults;
}

static int64_t earlier(bool holds, int64_t time_ns, int64_t than_ns)
{
    return holds && time_ns < than_ns ? time_ns : than_ns;
}

static int64_t last_error(const struct link_port *p)
{
    int64_t symbol_ns = p->symbol_rate.last.count > 0 ? p->symbol_rate.last.time_ns : TC_TIME_NONE;
    int64_t receive_ns =
        p->receive_rate.last.count > 0 ? p->receive_rate.last.time_ns : TC_TIME_NONE;
    return symbol_ns > receive_ns ? symbol_ns : receive_ns;
}

/* An incident begins: it is named after its first sign. */
static void begin(struct link_port *p, const struct link_knobs *k, const struct flapping *f,
                  int64_t now_ns)
{
    int64_t first_ns = INT64_MAX;
    first_ns = earlier((p->faults & 1U << LINK_FLAP) != 0, f->first_ns, first_ns);
    first_ns = earlier((p->faults & 1U << LINK_CABLE) != 0, p->cable_first.time_ns, first_ns);
    first_ns = earlier((p->faults & 1U << LINK_RETRY) != 0, p->retry_first.time_ns, first_ns);
    first_ns = earlier((p->faults & 1U << LINK_DOWN) != 0, p->down_ns, first_ns);
    first_ns = earlier((p->faults & 1U << LINK_LOSS) != 0, p->loss.first.time_ns, first_ns);
    bool errs = (p->faults & 1U << LINK_SYMBOL) != 0;
    first_ns =
        earlier(errs && p->symbol_rate.last.count > 0, p->symbol_rate.first.time_ns, first_ns);
    first_ns =
        earlier(errs && p->receive_rate.last.count > 0, p->receive_rate.first.time_ns, first_ns);
    p->first_ns = first_ns;
    p->last_ns = first_ns;
    p->told_flaps = p->told_errors = p->told_loss = p->told_cable = p->told_retry = 0;
    for (unsigned s = 0; s < LINK_SOURCES; s++) {
        struct link_log *log = &p->logs[s];
        int64_t ignored_ns = INT64_MAX;
        int64_t last_ns = 0;
        log->base = log->total - flaps_since(log, now_ns - k->window_ns, &ignored_ns, &last_ns);
    }
}

/* Twice as much as when it was last told: a storm is told a few times, not each time. */
static bool has_grown(int64_t now, int64_t told)
{
    return now > told && now >= told * 2;
}

tc_status tc__link_judge(struct link_state *st, struct link_port *p, unsigned down, int64_t now_ns,
                         const struct tc_sink *out)
{
    const struct link_knobs *k = &st->knobs;
    struct flapping f = flapping_of(p, k, now_ns);
    unsigned had = p->faults;
    if (tc__link_is_shut(p, now_ns)) {
        down &= had; /* what was told before it was taken down stays told */
    }
    p->faults = (had & ~(1U << LINK_DOWN)) | down;
    p->faults = find_faults(p, k, &f, now_ns);
    if ((had | p->faults) == 0) {
        return TC_OK;
    }
    if (had == 0) {
        begin(p, k, &f, now_ns);
    }
    p->last_ns = now_ns > p->last_ns ? now_ns : p->last_ns;
    if ((p->faults & (1U << LINK_FLAP | 1U << LINK_SYMBOL)) != 0 && !p->queued) {
        int64_t last_ns = f.last_ns > last_error(p) ? f.last_ns : last_error(p);
        p->queued = tc__waiting_add(&st->quieting, p, last_ns + k->window_ns + 1);
        st->base.dropped += !p->queued;
    }
    enum link_source source = LINK_BY_DRIVER;
    int64_t flaps = tc__link_flaps(p, &source);
    int64_t errors = tc__link_errors(p, k, now_ns);
    if (had == p->faults && !has_grown(flaps, p->told_flaps) &&
        !has_grown(errors, p->told_errors) && !has_grown(p->loss.worst, p->told_loss) &&
        !has_grown(p->cable_last.count, p->told_cable) &&
        !has_grown(p->retry_last.count, p->told_retry)) {
        return TC_OK;
    }
    p->told_flaps = flaps;
    p->told_errors = errors;
    p->told_loss = p->loss.worst;
    p->told_cable = p->cable_last.count;
    p->told_retry = p->retry_last.count;
    return tc__link_report(p, k, had, now_ns, st->base.scratch, out);
}
