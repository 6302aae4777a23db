/* SPDX-License-Identifier: Apache-2.0 */
/* How forwarding is: in the status and in /metrics. */
#include "base/clock.h"
#include "base/format.h"
#include "base/time.h"
#include "server/committer.h"
#include "server/forward/priv.h"

/* What there is to tell of one now. */
static struct tc__forward_stats read_stats(struct tc__endpoint *e)
{
    struct tc_forward *f = e->of;
    uint64_t last = tc_committer_settled(f->parts.committer);
    (void)pthread_mutex_lock(&f->lock);
    struct tc__forward_stats s = e->stats;
    s.waiting = last > e->position ? last - e->position : 0;
    (void)pthread_mutex_unlock(&f->lock);
    return s;
}

/* How long the batch that is its turn has waited. */
static double lag(const struct tc__forward_stats *s)
{
    int64_t ns = s->oldest_ns == 0 ? 0 : tc_wall_ns() - s->oldest_ns;
    return ns < 0 ? 0 : (double)ns / (double)TC_SECOND;
}

void tc_forward_describe(struct tc_forward *f, struct tc_json_out *j)
{
    tc_json_put_array(j, "forward");
    for (size_t i = 0; f != NULL && i < f->count; i++) {
        struct tc__forward_stats s = read_stats(&f->endpoints[i]);
        tc_json_add_object(j);
        tc_json_put_cstr(j, "endpoint", f->endpoints[i].url);
        tc_json_put_u64(j, "batches", s.batches);
        tc_json_put_u64(j, "bytes", s.bytes);
        tc_json_put_u64(j, "waiting", s.waiting);
        tc_json_put_u64(j, "refused", s.refused);
        tc_json_put_u64(j, "retries", s.retries);
        tc_json_put_f64(j, "lag_seconds", lag(&s));
        if (s.failing_ns != 0) {
            tc_json_put_time(j, "failing_since", s.failing_ns);
            tc_json_put_cstr(j, "error", s.why.message);
        }
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}

/* Each kind of number with all receivers below it, as Prometheus wants its text. */
struct metric {
    const char *name;
    const char *type;
    const char *help;
    double (*value)(const struct tc__forward_stats *s);
};

static double value_up(const struct tc__forward_stats *s)
{
    return s->failing_ns == 0 ? 1 : 0;
}

static double value_batches(const struct tc__forward_stats *s)
{
    return (double)s->batches;
}

static double value_bytes(const struct tc__forward_stats *s)
{
    return (double)s->bytes;
}

static double value_refused(const struct tc__forward_stats *s)
{
    return (double)s->refused;
}

static double value_retries(const struct tc__forward_stats *s)
{
    return (double)s->retries;
}

static double value_waiting(const struct tc__forward_stats *s)
{
    return (double)s->waiting;
}

static const struct metric METRICS[] = {
    {"tracecore_forward_up", "gauge", "1 while a receiver of forward.endpoints takes batches.",
     value_up},
    {"tracecore_forward_batches_total", "counter", "Batches that it has taken.", value_batches},
    {"tracecore_forward_bytes_total", "counter", "Bytes of them, before compression.", value_bytes},
    {"tracecore_forward_refused_batches_total", "counter",
     "Batches that it refused for good: they are left out.", value_refused},
    {"tracecore_forward_retries_total", "counter", "Attempts that failed; they are made again.",
     value_retries},
    {"tracecore_forward_waiting_batches", "gauge", "Batches that are stored here and wait for it.",
     value_waiting},
    {"tracecore_forward_lag_seconds", "gauge", "How long the oldest of them has waited.", lag},
};

void tc__forward_metrics(void *context, struct tc_buf *b)
{
    struct tc_forward *f = context;
    for (size_t m = 0; m < TC_COUNT(METRICS); m++) {
        const struct metric *metric = &METRICS[m];
        (void)tc_format(b, "# HELP {} {}\n# TYPE {} {}\n", metric->name, metric->help, metric->name,
                        metric->type);
        for (size_t i = 0; i < f->count; i++) {
            struct tc__forward_stats s = read_stats(&f->endpoints[i]);
            tc_buf_str(b, tc_slice_cstr(metric->name));
            tc_buf_lit(b, "{endpoint=");
            tc_buf_json(b, tc_slice_cstr(f->endpoints[i].url));
            (void)tc_format(b, "{} {}\n", "}", metric->value(&s));
        }
    }
}
