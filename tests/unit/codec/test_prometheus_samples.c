/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scrapes that others published, read in place (TC_SAMPLES): how many events each gives and why
 * the other lines give none. Skipped where the samples are not there.
 */
#include "base/time.h"
#include "codec/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FILE_MAX ((size_t)256 << 10)
#define EVENTS_MAX 64
#define SCRATCH_BYTES ((size_t)2 << 20)

struct result {
    struct tc_event events[EVENTS_MAX];
    size_t count;
    size_t unread;   /* of metrics that nothing reads */
    size_t no_value; /* not supported by the GPU */
    size_t bad;      /* anything else */
};

static char *files[2];
static size_t next_file;
static char strings_block[4096];
static char *scratch_block;

static tc_status on_event(void *context, const struct tc_event *ev)
{
    struct result *r = context;
    assert_true(r->count < EVENTS_MAX);
    r->events[r->count++] = *ev;
    return TC_OK;
}

static tc_status on_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    struct result *r = context;
    (void)offset;
    (void)length;
    if (strcmp(why, "not a metric that any pattern reads") == 0) {
        r->unread++;
    } else if (strstr(why, "not supported") != NULL) {
        r->no_value++;
    } else {
        r->bad++;
    }
    return TC_OK;
}

static struct tc_slice load(const char *name)
{
    char path[4096];
    char *data = files[next_file++ % 2];
    (void)snprintf(path, sizeof path, "%s/%s", getenv("TC_SAMPLES"), name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(data, 1, FILE_MAX, file);
    (void)fclose(file);
    assert_true(length > 0 && length < FILE_MAX);
    return tc_slice_make(data, length);
}

static void read_sample(const char *name, struct result *out)
{
    struct tc_arena strings;
    struct tc_arena scratch;
    struct tc_codec_cursor cursor = {0};
    struct tc_error err;
    struct tc_codec_input in = {.bytes = load(name),
                                .boot_ns = TC_TIME_NONE,
                                .now_ns = TC_TIME_NONE,
                                .taken_ns = 1000 * TC_SECOND,
                                .want_unknown = true};
    *out = (struct result){0};
    tc_arena_init(&strings, "strings", strings_block, sizeof strings_block);
    tc_arena_init(&scratch, "scratch", scratch_block, SCRATCH_BYTES);
    struct tc_codec_out to = {.event = on_event,
                              .unknown = on_unknown,
                              .context = out,
                              .arena = &strings,
                              .scratch = &scratch};
    assert_ptr_equal(tc_codec_recognise(in.bytes, TC_EMPTY), &tc_codec_prometheus);
    assert_int_equal(tc_codec_prometheus.decode(&in, &cursor, &to, &err), TC_OK);
    assert_true(cursor.done);
    assert_int_equal(strings.used, 0); /* no escapes in them: nothing had to be made */
    for (size_t i = 0; i < out->count; i++) {
        assert_int_equal(out->events[i].time_ns, 1000 * TC_SECOND);
    }
    tc_arena_fini(&strings);
    tc_arena_fini(&scratch);
}

static void every_line_of_dcgm_is_read_or_known_why_not(void **state)
{
    (void)state;
    struct result r;
    read_sample("dcgm/sample_exposition.prom", &r);
    assert_int_equal(r.count, 9);
    assert_int_equal(r.unread, 2); /* a profiling ratio, and the violation of the board's limit */
    assert_int_equal(r.no_value, 0);
    assert_int_equal(r.bad, 0);
    static const enum tc_metric metrics[] = {
        TC_METRIC_GPU_SM_CLOCK, TC_METRIC_GPU_TEMP,
        TC_METRIC_GPU_POWER,    TC_METRIC_GPU_PCIE_REPLAYS,
        TC_METRIC_GPU_XID_LAST, TC_METRIC_GPU_THROTTLE,
        TC_METRIC_GPU_XID_LAST, TC_METRIC_GPU_THERMAL_VIOLATION,
        TC_METRIC_GPU_XID_COUNT};
    for (size_t i = 0; i < r.count; i++) {
        assert_int_equal(r.events[i].metric.metric, metrics[i]);
        assert_true(tc_slice_starts(r.events[i].scope.gpu_uuid, TC_LIT("GPU-")));
    }
    assert_true(tc_slice_eq(r.events[8].metric.device, TC_LIT("42")));
    read_sample("results/dcgm-exporter/readme_exposition_excerpt.prom", &r);
    assert_int_equal(r.count, 1);
    assert_int_equal(r.unread, 1);
    assert_int_equal(r.no_value, 1); /* no temperature of the memory */
    assert_int_equal(r.bad, 1);      /* "..." */
    read_sample("results/node-problem-detector/sample_metrics.txt", &r);
    assert_int_equal(r.count, 0);
    assert_int_equal(r.unread, 31);
    assert_int_equal(r.bad, 0);
}

static int by_order(const void *a, const void *b)
{
    return tc_event_cmp(a, b);
}

/* What the watchdog says is the only difference between a job that hangs and one that does not. */
static void xpu_timer_differs_in_the_hang_flag_only(void **state)
{
    (void)state;
    static struct result hang;
    static struct result normal;
    read_sample("xpu_timer/hang_xpu_timer_metric_all", &hang);
    read_sample("xpu_timer/normal_xpu_timer_metric_0", &normal);
    assert_int_equal(hang.bad + normal.bad, 0);
    assert_int_equal(hang.count, 16);
    assert_int_equal(normal.count, 16);
    for (size_t i = 0; i < hang.count; i++) {
        if (hang.events[i].kind == TC_EVENT_METRIC) {
            assert_int_equal(hang.events[i].metric.metric, TC_METRIC_HANG_FLAG);
            assert_true(hang.events[i].metric.value == 1);
            hang.events[i].metric.value = 0;
        }
        if (normal.events[i].kind == TC_EVENT_METRIC) {
            assert_true(normal.events[i].metric.value == 0);
        }
    }
    qsort(hang.events, hang.count, sizeof hang.events[0], by_order);
    qsort(normal.events, normal.count, sizeof normal.events[0], by_order);
    for (size_t i = 0; i < hang.count; i++) {
        assert_int_equal(tc_event_cmp(&hang.events[i], &normal.events[i]), 0);
    }
}

/* Nothing else among the samples is taken for a scrape. */
static void other_formats_keep_their_files(void **state)
{
    (void)state;
    static const char *const others[] = {
        "dcgm/default-counters.csv",
        "dcgm/nvsentinel_dcgmerrorsmapping.csv",
        "kmsg/gpud_xid_lines.txt",
        "kmsg/aer_real.txt",
        "xid/nvidia_xid_catalog.tsv",
        "results/topology/nvidia_smi_output.txt",
        "results/node-problem-detector/kernel-monitor.json",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (tc_codec_recognise(load(others[i]), TC_EMPTY) == &tc_codec_prometheus) {
            fail_msg("%s", others[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_of_dcgm_is_read_or_known_why_not),
        cmocka_unit_test(xpu_timer_differs_in_the_hang_flag_only),
        cmocka_unit_test(other_formats_keep_their_files),
    };
    const char *samples = getenv("TC_SAMPLES");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/dcgm/sample_exposition.prom",
                   samples == NULL ? "" : samples);
    FILE *file = fopen(path, "rb");
    if (samples == NULL || file == NULL) {
        (void)fprintf(stderr, "skipped: no samples at TC_SAMPLES\n");
        return 77;
    }
    (void)fclose(file);
    files[0] = malloc(FILE_MAX);
    files[1] = malloc(FILE_MAX);
    scratch_block = malloc(SCRATCH_BYTES);
    int failed = files[0] == NULL || files[1] == NULL || scratch_block == NULL
                     ? 1
                     : cmocka_run_group_tests(tests, NULL, NULL);
    free(files[0]);
    free(files[1]);
    free(scratch_block);
    return failed;
}
