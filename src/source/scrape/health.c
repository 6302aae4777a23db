/* SPDX-License-Identifier: Apache-2.0 */
/* The source works while all of its targets do: a failing one is something that nobody hears. */
#include "base/clock.h"
#include "base/format.h"
#include "observe/log.h"
#include "source/scrape/priv.h"

#include <stdio.h>

/* Tries in a row that fail, and a target counts as failing: one may be a restart. */
#define TRIES_ENOUGH 3

static void enter(struct tc__target *t, enum tc_source_state state)
{
    if (t->state != state) {
        t->state = state;
        t->since_ns = tc_wall_ns();
    }
}

/* One that fails; NULL: none does. Called with the lock. */
static const struct tc__target *find_failing(const struct tc_scrape *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->targets[i].state == TC_SOURCE_FAILING) {
            return &s->targets[i];
        }
    }
    return NULL;
}

void tc__target_failed(struct tc__target *t, const char *why)
{
    struct tc_scrape *s = t->of;
    (void)pthread_mutex_lock(&s->lock);
    t->failures++;
    t->tries += t->tries < TRIES_ENOUGH;
    (void)snprintf(t->error, sizeof t->error, "%s", why);
    bool is_failing = t->tries == TRIES_ENOUGH;
    bool is_news = is_failing && t->state != TC_SOURCE_FAILING;
    if (is_failing) {
        enter(t, TC_SOURCE_FAILING);
        tc_port_fail(t->port, "%s: %s", t->at.name, why);
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (is_news) {
        tc_log_fields(TC_LOG_WARN, "a scrape target fails: what it would tell is missing",
                      TC_LOG_CSTR("target", t->at.name), TC_LOG_CSTR("url", t->at.url),
                      TC_LOG_CSTR("error", why));
    }
}

static void tell_gpu(void *context, const char *gpu, bool is_gone)
{
    const struct tc__target *t = context;
    tc_log_fields(is_gone ? TC_LOG_WARN : TC_LOG_INFO,
                  is_gone ? "a GPU is missing from the answers of a scrape target"
                          : "a GPU is in the answers of a scrape target again",
                  TC_LOG_CSTR("target", t->at.name), TC_LOG_CSTR("node", t->at.node),
                  TC_LOG_CSTR("gpu", gpu));
}

void tc__target_answered(struct tc__target *t, struct tc_slice text, int64_t took_ns)
{
    struct tc_scrape *s = t->of;
    (void)pthread_mutex_lock(&s->lock);
    bool is_news = t->state == TC_SOURCE_FAILING;
    enter(t, TC_SOURCE_OK);
    t->tries = 0;
    t->error[0] = '\0';
    t->answers++;
    t->answered_ns = tc_wall_ns();
    t->took_ns = took_ns;
    t->samples = tc__answer_samples(text);
    tc__gpus_look(&t->gpus, text, tell_gpu, t);
    const struct tc__target *failing = find_failing(s);
    if (failing == NULL) {
        tc_port_ok(t->port);
    } else if (is_news) {
        tc_port_fail(t->port, "%s: %s", failing->at.name, failing->error);
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (is_news) {
        tc_log_fields(TC_LOG_INFO, "a scrape target works again",
                      TC_LOG_CSTR("target", t->at.name));
    }
}

static uint64_t gone_now(const struct tc__gpus *g)
{
    uint64_t gone = 0;
    for (size_t i = 0; i < g->count; i++) {
        gone += g->list[i].is_gone;
    }
    return gone;
}

/* Of those that are to be shown. Called with the lock. */
static size_t shown(const struct tc_scrape *s)
{
    return s->is_given_up ? 0 : s->count;
}

void tc__scrape_describe(void *state, struct tc_json_out *j)
{
    struct tc_scrape *s = state;
    (void)pthread_mutex_lock(&s->lock);
    tc_json_put_array(j, "targets");
    for (size_t i = 0; i < shown(s); i++) {
        const struct tc__target *t = &s->targets[i];
        tc_json_add_object(j);
        tc_json_put_cstr(j, "name", t->at.name);
        tc_json_put_cstr(j, "url", t->at.url);
        tc_json_put_cstr(j, "node", t->at.node);
        tc_json_put_cstr(j, "state", tc_source_state_name(t->state));
        tc_json_put_time(j, "since", t->since_ns);
        if (t->error[0] != '\0') {
            tc_json_put_cstr(j, "error", t->error);
        }
        if (t->answered_ns > 0) {
            tc_json_put_time(j, "last_answer", t->answered_ns);
            tc_json_put_f64(j, "last_seconds", (double)t->took_ns / (double)TC_SECOND);
        }
        tc_json_put_u64(j, "answers", t->answers);
        tc_json_put_u64(j, "failures", t->failures);
        tc_json_put_u64(j, "samples", t->samples);
        tc_json_put_u64(j, "gpus", t->gpus.count - gone_now(&t->gpus));
        tc_json_put_u64(j, "gpus_missing", gone_now(&t->gpus));
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    (void)pthread_mutex_unlock(&s->lock);
}

/* ---- /metrics ---- */

static double value_up(const struct tc__target *t)
{
    return t->answers > 0 && t->tries == 0 ? 1 : 0;
}

static double value_seconds(const struct tc__target *t)
{
    return (double)t->took_ns / (double)TC_SECOND;
}

static double value_samples(const struct tc__target *t)
{
    return (double)t->samples;
}

static double value_failures(const struct tc__target *t)
{
    return (double)t->failures;
}

static double value_gpus(const struct tc__target *t)
{
    return (double)(t->gpus.count - gone_now(&t->gpus));
}

static double value_gone(const struct tc__target *t)
{
    return (double)t->gpus.gone_total;
}

static const struct {
    const char *name;
    const char *type;
    const char *help;
    double (*value)(const struct tc__target *t);
} METRICS[] = {
    {"tracecore_scrape_up", "gauge", "1 when the last try to scrape a target gave an answer.",
     value_up},
    {"tracecore_scrape_duration_seconds", "gauge", "How long the last answer of a target took.",
     value_seconds},
    {"tracecore_scrape_samples", "gauge", "Samples in the last answer of a target.", value_samples},
    {"tracecore_scrape_failures_total", "counter", "Tries that gave no answer that could be read.",
     value_failures},
    {"tracecore_scrape_gpus", "gauge", "GPUs that a target tells of.", value_gpus},
    {"tracecore_scrape_gpus_missing_total", "counter",
     "GPUs that a target no longer told of, while it still answered.", value_gone},
};

void tc__scrape_metrics(void *state, struct tc_buf *b)
{
    struct tc_scrape *s = state;
    (void)pthread_mutex_lock(&s->lock);
    for (size_t m = 0; m < TC_COUNT(METRICS) && shown(s) > 0; m++) {
        (void)tc_format(b, "# HELP {} {}\n# TYPE {} {}\n", METRICS[m].name, METRICS[m].help,
                        METRICS[m].name, METRICS[m].type);
        for (size_t i = 0; i < shown(s); i++) {
            (void)tc_format(b, "{}", METRICS[m].name);
            tc_buf_lit(b, "{target=");
            tc_buf_json(b, tc_slice_cstr(s->targets[i].at.name));
            (void)tc_format(b, "{} {}\n", "}", METRICS[m].value(&s->targets[i]));
        }
    }
    (void)pthread_mutex_unlock(&s->lock);
}
