/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/format.h"
#include "base/limits.h"
#include "bench/alloc_count.h"
#include "bench/bench.h"
#include "bench/measure.h"
#include "cli/output/say.h"
#include "engine/engine.h"
#include "verdict/render.h"

#include <stdlib.h>
#include <sys/resource.h>

/* The first windows fill tables and caches: the steady state is what counts. checkpoint_stall takes
 * twelve to get there. */
#define WARM_WINDOWS 12

/* One run of one pattern's windows through an engine. */
struct bench_run {
    struct tc_bench_fixture *fixture;
    struct tc_engine *engine;
    char *json; /* the verdict being rendered */
    uint64_t verdicts;
    uint64_t json_bytes;
    bool overflowed;
    bool no_json; /* stop at the verdict with all its strings */
};

/* Every verdict cites the same made-up source: a digest costs nothing to print. */
static bool view(void *context, uint32_t index, struct tc_source_view *out)
{
    (void)context;
    (void)index;
    *out = (struct tc_source_view){
        .name = TC_LIT("bench"),
        .digest = TC_LIT("sha256:"
                         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    };
    return true;
}

static const struct tc_sources SOURCES = {view, NULL};

static tc_status take(void *context, const struct tc_verdict *v)
{
    struct bench_run *run = context;
    struct tc_buf b = tc_buf_make(run->json, TC_VERDICT_JSON_MAX);
    run->verdicts++;
    if (run->no_json) {
        return TC_OK;
    }
    tc_verdict_render_json(&b, v, &SOURCES);
    run->json_bytes += b.len;
    run->overflowed |= b.overflowed;
    return TC_OK;
}

/* The finding has what a detector says: no incident, no JSON. */
static tc_status take_finding(void *context, const struct tc_finding *f)
{
    struct bench_run *run = context;
    (void)f;
    run->verdicts++;
    return TC_OK;
}

static tc_status feed_window(struct bench_run *run)
{
    const struct tc_bench_fixture *f = run->fixture;
    for (size_t i = 0; i < TC_BENCH_WINDOW; i++) {
        TC_TRY(tc_engine_feed(run->engine, &f->events[i]));
    }
    return tc_engine_advance(run->engine, f->events[TC_BENCH_WINDOW - 1].time_ns + f->settle_ns);
}

static void close_run(struct bench_run *run)
{
    tc_engine_destroy(run->engine);
    free(run->fixture);
    free(run->json);
}

/* An engine with only this detector, and its knob set if one is given. */
static bool open_run(struct bench_run *run, const struct tc_bench_pattern *p, const char *knob,
                     bool no_incidents)
{
    struct tc_error err = {0};
    struct tc_engine_out out = {
        .verdict = take, .finding = no_incidents ? take_finding : NULL, .context = run};
    *run = (struct bench_run){.fixture = calloc(1, sizeof *run->fixture),
                              .json = malloc(TC_VERDICT_JSON_MAX)};
    bool ok = run->fixture != NULL && run->json != NULL &&
              tc_engine_create(&out, &run->engine, &err) == TC_OK &&
              tc_engine_enable(run->engine, TC_LIT("all"), false, &err) == TC_OK &&
              tc_engine_enable(run->engine, tc_slice_cstr(p->name), true, &err) == TC_OK &&
              (knob == NULL || tc_engine_set(run->engine, tc_slice_cstr(knob), &err) == TC_OK);
    if (!ok) {
        tc_say("tracecore-bench", "%s: %s", p->name,
               err.message[0] == '\0' ? "no memory" : err.message);
        close_run(run);
        return false;
    }
    p->fill(run->fixture);
    return true;
}

/* Feeds `windows` windows; false, with a message, when a window gave other verdicts than it must.
 */
static bool measure(struct bench_run *run, const char *name, uint64_t windows,
                    struct tc_bench_meter *meter)
{
    for (uint64_t w = 0; w < windows; w++) {
        uint64_t before = run->verdicts;
        tc_bench_meter_start(meter);
        tc_status status = feed_window(run);
        tc_bench_meter_stop(meter);
        uint64_t got = run->verdicts - before;
        if (status != TC_OK || got != run->fixture->verdicts || run->overflowed) {
            tc_say("tracecore-bench", "%s: window %llu gave %llu verdicts, expected %zu (%s)", name,
                   (unsigned long long)w, (unsigned long long)got, run->fixture->verdicts,
                   tc_status_text(status));
            return false;
        }
        tc_bench_next_window(run->fixture);
    }
    return true;
}

static double per(uint64_t value, uint64_t events)
{
    return (double)value / (double)events;
}

static void put_number(struct tc_buf *b, const char *key, double value)
{
    char text[64];
    int len = snprintf(text, sizeof text, ",\"%s\":%.4g", key, value);
    tc_buf_put(b, text, len > 0 ? (size_t)len : 0);
}

bool tc_bench_detector(const struct tc_bench *bench, const struct tc_bench_options *o,
                       struct tc_output *out)
{
    struct bench_run run;
    struct tc_bench_meter meter;
    if (!open_run(&run, bench->pattern, NULL, o->no_incidents)) {
        return false;
    }
    run.no_json = o->no_json;
    tc_bench_meter_init(&meter);
    bool ok = measure(&run, bench->name, WARM_WINDOWS, &meter);
    meter.sum = (struct tc_bench_sample){0};
    uint64_t bytes_before = run.json_bytes;
    tc_bench_count_on();
    ok = ok && measure(&run, bench->name, o->windows, &meter);
    tc_bench_count_off();
    if (ok) {
        uint64_t events = o->windows * TC_BENCH_WINDOW;
        char text[640];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        (void)tc_format(&b, "{\"bench\":\"{}\",\"events\":{},\"verdicts\":{}", bench->name, events,
                        o->windows * run.fixture->verdicts);
        if (tc_alloc_count_available()) {
            put_number(&b, "allocs_per_event", per(meter.sum.allocs, events));
            put_number(&b, "bytes_per_event", per(meter.sum.alloc_bytes, events));
        }
        put_number(&b, "ns_per_event", per(meter.sum.ns, events));
        if (meter.sum.instructions > 0) {
            put_number(&b, "instructions_per_event", per(meter.sum.instructions, events));
        }
        put_number(&b, "json_bytes_per_event", per(run.json_bytes - bytes_before, events));
        tc_buf_lit(&b, "}\n");
        ok = tc_output_put(out, tc_buf_slice(&b));
    }
    tc_bench_meter_fini(&meter);
    close_run(&run);
    return ok;
}

/* Nanoseconds per event of the best of `tries` runs over that many windows. */
static bool time_windows(const struct tc_bench_pattern *p, const char *knob, uint64_t windows,
                         int tries, double *out_ns)
{
    double best = 0;
    for (int i = 0; i < tries; i++) {
        struct bench_run run;
        struct tc_bench_meter meter;
        if (!open_run(&run, p, knob, false)) {
            return false;
        }
        tc_bench_meter_init(&meter);
        bool ok = measure(&run, p->name, 2, &meter);
        meter.sum = (struct tc_bench_sample){0};
        ok = ok && measure(&run, p->name, windows, &meter);
        tc_bench_meter_fini(&meter);
        close_run(&run);
        if (!ok) {
            return false;
        }
        double ns = per(meter.sum.ns, windows * TC_BENCH_WINDOW);
        best = i == 0 || ns < best ? ns : best;
    }
    *out_ns = best;
    return true;
}

/* Of the process so far; it must not follow the number of events. */
static double peak_rss_mb(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_maxrss / 1024 : 0;
}

static bool scale_events(const struct tc_bench_pattern *p, struct tc_output *out)
{
    double previous = 0;
    for (uint64_t windows = 1; windows <= 10000; windows *= 10) {
        double ns = 0;
        char text[256];
        if (!time_windows(p, NULL, windows, windows < 1000 ? 5 : 1, &ns)) {
            return false;
        }
        struct tc_buf b = tc_buf_make(text, sizeof text);
        (void)tc_format(&b, "{\"bench\":\"scale\",\"pattern\":\"{}\",\"events\":{}", p->name,
                        windows * TC_BENCH_WINDOW);
        put_number(&b, "ns_per_event", ns);
        put_number(&b, "peak_rss_mb", peak_rss_mb());
        if (previous > 0) {
            put_number(&b, "time_for_ten_times_the_events", 10 * ns / previous);
        }
        tc_buf_lit(&b, "}\n");
        previous = ns;
        if (!tc_output_put(out, tc_buf_slice(&b)) || !tc_output_flush(out)) {
            return false;
        }
    }
    return true;
}

static bool scale_window(const char *pattern, const char *knob, const char *label,
                         struct tc_output *out)
{
    size_t count = 0;
    const struct tc_bench_pattern *all = tc_bench_patterns(&count);
    for (size_t i = 0; i < count; i++) {
        double ns = 0;
        char text[256];
        if (!tc_slice_eq(tc_slice_cstr(all[i].name), tc_slice_cstr(pattern))) {
            continue;
        }
        if (!time_windows(&all[i], knob, 1000, 3, &ns)) {
            return false;
        }
        struct tc_buf b = tc_buf_make(text, sizeof text);
        (void)tc_format(&b, "{\"bench\":\"window_length\",\"pattern\":\"{}\",\"window\":\"{}\"",
                        pattern, label);
        put_number(&b, "ns_per_event", ns);
        tc_buf_lit(&b, "}\n");
        return tc_output_put(out, tc_buf_slice(&b));
    }
    return false;
}

bool tc_bench_scale(const struct tc_bench *bench, const struct tc_bench_options *o,
                    struct tc_output *out)
{
    (void)bench;
    (void)o;
    size_t count = 0;
    const struct tc_bench_pattern *all = tc_bench_patterns(&count);
    for (size_t i = 0; i < count; i++) {
        if (!scale_events(&all[i], out)) {
            return false;
        }
    }
    return scale_window("xid_correlation", "xid_correlation.window=60s", "60 s", out) &&
           scale_window("xid_correlation", "xid_correlation.window=1h", "1 h", out) &&
           scale_window("xid_correlation", "xid_correlation.window=24h", "24 h", out) &&
           scale_window("pod_evicted", "pod_evicted.window=60s", "60 s", out) &&
           scale_window("pod_evicted", "pod_evicted.window=24h", "24 h", out);
}
