/* SPDX-License-Identifier: Apache-2.0 */
/* How the sources are: for the log, the status and /metrics. */
#include "base/clock.h"
#include "base/format.h"
#include "observe/log.h"
#include "server/sources/priv.h"

/* Those that people know of: the last may be the one that watches the others. */
static size_t shown(const struct tc_source_set *s)
{
    bool has_own = s->count > 0 && s->list[s->count - 1].kind == &tc__source_outages;
    return s->count - has_own;
}

static void tell_state(struct tc__source *one, const struct tc_source_health *h)
{
    if (h->state == TC_SOURCE_FAILING) {
        tc_log_fields(TC_LOG_WARN, "a source fails", TC_LOG_CSTR("source", one->name),
                      TC_LOG_CSTR("error", h->error));
    } else if (h->state == TC_SOURCE_OK && one->told == TC_SOURCE_FAILING) {
        tc_log_fields(TC_LOG_INFO, "a source works again", TC_LOG_CSTR("source", one->name));
    }
    one->told = h->state;
    one->told_long = false;
}

void tc__source_set_watch(struct tc_source_set *s)
{
    /* It is said again then, louder: somebody has to look. */
    int64_t long_ns = s->parts.config->sources_failing_after;
    int64_t now_ns = tc_wall_ns();
    for (size_t i = 0; i < shown(s); i++) {
        struct tc__source *one = &s->list[i];
        struct tc_source_health h;
        tc_port_health(one->port, &h);
        if (h.state != one->told) {
            tell_state(one, &h);
        }
        if (h.state == TC_SOURCE_FAILING && !one->told_long && now_ns - h.since_ns > long_ns) {
            tc_log_fields(TC_LOG_ERROR,
                          "a source has failed for long: what it would tell is missing",
                          TC_LOG_CSTR("source", one->name), TC_LOG_CSTR("error", h.error),
                          TC_LOG_NUMBER("seconds", (now_ns - h.since_ns) / TC_SECOND));
            one->told_long = true;
        }
    }
}

static int64_t lag_ns(const struct tc_source_health *h, int64_t now_ns)
{
    return h->behind_ns == 0 || h->behind_ns > now_ns ? 0 : now_ns - h->behind_ns;
}

void tc_source_set_describe(const struct tc_source_set *s, struct tc_json_out *j)
{
    int64_t now_ns = tc_wall_ns();
    tc_json_put_array(j, "sources");
    for (size_t i = 0; i < shown(s); i++) {
        struct tc_source_health h;
        tc_port_health(s->list[i].port, &h);
        tc_json_add_object(j);
        tc_json_put_cstr(j, "name", s->list[i].name);
        tc_json_put_cstr(j, "kind", s->list[i].kind->name);
        tc_json_put_cstr(j, "state", tc_source_state_name(h.state));
        tc_json_put_time(j, "since", h.since_ns);
        if (h.error[0] != '\0') {
            tc_json_put_cstr(j, "error", h.error);
        }
        if (h.read_ns > 0) {
            tc_json_put_time(j, "last_read", h.read_ns);
        }
        tc_json_put_u64(j, "watches", h.streams);
        tc_json_put_u64(j, "records", h.records);
        tc_json_put_u64(j, "bytes", h.bytes);
        tc_json_put_u64(j, "errors", h.errors);
        tc_json_put_u64(j, "lost", h.lost);
        tc_json_put_f64(j, "lag_seconds", (double)lag_ns(&h, now_ns) / (double)TC_SECOND);
        if (s->list[i].kind->describe != NULL) {
            s->list[i].kind->describe(s->list[i].state, j);
        }
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}

/* ---- /metrics ---- */

/* Each kind of number with all sources below it, as Prometheus wants its text. */
struct metric {
    const char *name;
    const char *type;
    const char *help;
    double (*value)(const struct tc_source_health *h, int64_t now_ns);
};

static double value_up(const struct tc_source_health *h, int64_t now_ns)
{
    (void)now_ns;
    return h->state == TC_SOURCE_OK ? 1 : 0;
}

static double value_since(const struct tc_source_health *h, int64_t now_ns)
{
    (void)now_ns;
    return (double)h->since_ns / (double)TC_SECOND;
}

static double value_watched(const struct tc_source_health *h, int64_t now_ns)
{
    (void)now_ns;
    return (double)h->streams;
}

static double value_records(const struct tc_source_health *h, int64_t now_ns)
{
    (void)now_ns;
    return (double)h->records;
}

static double value_bytes(const struct tc_source_health *h, int64_t now_ns)
{
    (void)now_ns;
    return (double)h->bytes;
}

static double value_errors(const struct tc_source_health *h, int64_t now_ns)
{
    (void)now_ns;
    return (double)h->errors;
}

static double value_lost(const struct tc_source_health *h, int64_t now_ns)
{
    (void)now_ns;
    return (double)h->lost;
}

static double value_lag(const struct tc_source_health *h, int64_t now_ns)
{
    return (double)lag_ns(h, now_ns) / (double)TC_SECOND;
}

static const struct metric METRICS[] = {
    {"tracecore_source_up", "gauge", "1 while a source beside OTLP works.", value_up},
    {"tracecore_source_state_since_timestamp_seconds", "gauge",
     "When it began to work, or to fail.", value_since},
    {"tracecore_source_watched", "gauge", "Files, targets or entries that it watches.",
     value_watched},
    {"tracecore_source_records_total", "counter",
     "Lines, samples and entries that it read and stored.", value_records},
    {"tracecore_source_bytes_total", "counter", "Bytes that it read and stored.", value_bytes},
    {"tracecore_source_errors_total", "counter", "Failures.", value_errors},
    {"tracecore_source_lost_records_total", "counter",
     "Records that were gone before they were read, or were cut.", value_lost},
    {"tracecore_source_lag_seconds", "gauge", "How long it has been behind what there is to read.",
     value_lag},
};

void tc__source_set_metrics(void *context, struct tc_buf *b)
{
    const struct tc_source_set *s = context;
    int64_t now_ns = tc_wall_ns();
    for (size_t m = 0; m < TC_COUNT(METRICS) && shown(s) > 0; m++) {
        const struct metric *metric = &METRICS[m];
        (void)tc_format(b, "# HELP {} {}\n# TYPE {} {}\n", metric->name, metric->help, metric->name,
                        metric->type);
        for (size_t i = 0; i < shown(s); i++) {
            struct tc_source_health h;
            tc_port_health(s->list[i].port, &h);
            tc_buf_str(b, tc_slice_cstr(metric->name));
            tc_buf_lit(b, "{source=");
            tc_buf_json(b, tc_slice_cstr(s->list[i].name));
            (void)tc_format(b, ",kind=\"{}\"", s->list[i].kind->name);
            (void)tc_format(b, "{} {}\n", "}", metric->value(&h, now_ns));
        }
    }
    for (size_t i = 0; i < shown(s); i++) {
        if (s->list[i].kind->metrics != NULL) {
            s->list[i].kind->metrics(s->list[i].state, b);
        }
    }
}
