/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any events with any arrivals, and a clock that goes anywhere: what is fed is counted once, the
 * engine's time stays within reach of our clock, and an incident is opened once, before anything
 * else is told of it.
 */
#include "base/assert.h"
#include "event_gen.h"
#include "live/live.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INCIDENTS_MAX 4096
#define HOLD_BYTES ((size_t)64 << 10)

static char opened[INCIDENTS_MAX][TC_INCIDENT_ID_LEN];
static size_t opened_count;
static bool failing; /* the sink, for a while */

static bool is_opened(struct tc_slice id)
{
    for (size_t i = 0; i < opened_count; i++) {
        if (tc_slice_eq(tc_slice_make(opened[i], TC_INCIDENT_ID_LEN), id)) {
            return true;
        }
    }
    return false;
}

static tc_status take(void *context, const struct tc_verdict *v,
                      const struct tc_incident_mark *mark)
{
    (void)context;
    if (failing) {
        return TC_E_IO;
    }
    TC_ASSERT(mark->incident_id.len == TC_INCIDENT_ID_LEN && mark->status == v->status);
    TC_ASSERT(v->finding->headline.len > 0 && mark->key.len > 0 && mark->told != 0);
    TC_ASSERT((v->status == TC_VERDICT_OPEN) != is_opened(mark->incident_id));
    if (v->status == TC_VERDICT_OPEN && opened_count < INCIDENTS_MAX) {
        memcpy(opened[opened_count++], mark->incident_id.ptr, TC_INCIDENT_ID_LEN);
    }
    return TC_OK;
}

static tc_status list_one(void *context, const struct tc_verdict *v)
{
    size_t *count = context;
    ++*count;
    for (size_t i = 0; i < v->cause_count; i++) {
        TC_ASSERT(v->causes[i].incident_id.len == TC_INCIDENT_ID_LEN ||
                  v->causes[i].incident_id.len == 0);
    }
    return TC_OK;
}

/* Where our clock goes next. */
static int64_t move_clock(struct event_gen *g, int64_t now_ns, const struct tc_event *ev)
{
    static const int64_t steps[] = {0,        1,         1000000,  20000000,   TC_SECOND,
                                    -1000000, -GEN_HOUR, GEN_HOUR, 5000000000, 60000000000};
    uint8_t byte = gen_byte(g);
    if (byte >= 0xf0 && ev->time_ns >= 0 && ev->time_ns <= TC_TIME_MAX) {
        return ev->time_ns; /* as in real life: it happened just now */
    }
    now_ns += steps[byte % (sizeof steps / sizeof steps[0])];
    return now_ns < 0 ? 0 : now_ns > TC_TIME_MAX ? TC_TIME_MAX : now_ns;
}

struct run {
    struct event_gen gen;
    struct tc_live *live;
    struct tc_live_config config;
    int64_t now_ns;
    int64_t highest_ns;
};

/* A clock that went back goes on by itself: see live_priv.h. */
static void check(const struct run *r)
{
    struct tc_live *l = r->live;
    const struct tc_live_config *config = &r->config;
    struct tc_live_counts c;
    size_t listed = 0;
    tc_live_counts(l, &c);
    TC_ASSERT(c.engine_ns == TC_TIME_NONE ||
              c.engine_ns <= r->highest_ns + GEN_HOUR + config->ahead_ns);
    TC_ASSERT(c.incidents <= config->incidents_max && c.open <= c.incidents);
    TC_ASSERT(c.opened == opened_count || opened_count == INCIDENTS_MAX);
    TC_ASSERT(c.verdicts == c.opened + c.updated + c.resolved);
    TC_ASSERT(c.misdated + c.too_large + c.too_late + c.held <= c.events);
    TC_ASSERT(tc_live_list(l, 64, list_one, &listed) == TC_OK && listed <= 64);
}

/* One event, and what a loop does after it. */
static void feed(struct run *r, const struct tc_event *ev)
{
    struct tc_live *l = r->live;
    uint8_t what = gen_byte(&r->gen);
    r->now_ns = move_clock(&r->gen, r->now_ns, ev);
    r->highest_ns = r->now_ns > r->highest_ns ? r->now_ns : r->highest_ns;
    failing = what % 16 == 1;
    tc_status status = tc_live_feed(l, ev, r->now_ns, what % 8 == 2);
    TC_ASSERT(status == TC_OK || (failing && status == TC_E_IO));
    if (what % 4 == 0) {
        status = what % 32 == 4 ? tc_live_end_of_file(l, r->now_ns, (what & 64) != 0)
                                : tc_live_advance(l, r->now_ns);
        TC_ASSERT(status == TC_OK);
        TC_ASSERT(tc_live_due(l) >= r->now_ns);
        check(r);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run r = {.gen = {.at = data, .left = size, .now_ns = GEN_EPOCH},
                    .config = TC_LIVE_CONFIG_DEFAULT,
                    .now_ns = GEN_EPOCH,
                    .highest_ns = GEN_EPOCH};
    struct tc_live_out out = {take, NULL};
    struct tc_error err;
    struct tc_event ev;
    r.config.hold_bytes = HOLD_BYTES;
    r.config.hold_ns = gen_byte(&r.gen) % 4 == 0 ? 0 : r.config.hold_ns;
    r.config.incidents_max = 1 + gen_byte(&r.gen) % 32;
    opened_count = 0;
    failing = false;
    if (tc_live_create(&r.config, &out, &r.live, &err) != TC_OK) {
        return 0;
    }
    while (gen_event(&r.gen, &ev)) {
        unsigned again = gen_byte(&r.gen) % GEN_REPEATS_MAX;
        int64_t step_ns = GEN_STEPS_NS[again == 0 ? 0 : gen_byte(&r.gen) % 8];
        double rise = again == 0 ? 0 : gen_number(&r.gen, gen_byte(&r.gen));
        for (unsigned i = 0; i <= again; i++) {
            feed(&r, &ev);
            gen_again(&r.gen, &ev, step_ns, rise);
        }
    }
    failing = false;
    TC_ASSERT(tc_live_drain(r.live, r.now_ns) == TC_OK);
    struct tc_live_counts c;
    tc_live_counts(r.live, &c);
    TC_ASSERT(c.held == 0);
    tc_live_destroy(r.live);
    return 0;
}
