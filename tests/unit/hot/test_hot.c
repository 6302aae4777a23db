/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "hot/hot_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW (INT64_C(1794805200) * TC_SECOND)
#define MINUTE (60 * TC_SECOND)

static char page[1 << 20];
static struct tc_hot *hot;

static void start_with(size_t series, size_t bytes)
{
    struct tc_hot_config config = {.series_max = series,
                                   .page_bytes = bytes,
                                   .window_ns = MINUTE,
                                   .stale_ns = 5 * MINUTE,
                                   .seed = 7};
    hot = tc_hot_create(&config);
    assert_non_null(hot);
}

static int set_up(void **state)
{
    (void)state;
    start_with(100, sizeof page - 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tc_hot_destroy(hot);
    hot = NULL;
    return 0;
}

/* "key=value" words are its labels. */
static void add_typed(enum tc_sample_type type, const char *name, double value, int64_t at_ns,
                      const char *words)
{
    struct tc_sample_label labels[16];
    struct tc_sample sample = {.name = tc_slice_cstr(name),
                               .type = type,
                               .time_ns = at_ns,
                               .start_ns = TC_TIME_NONE,
                               .value = value,
                               .labels = labels};
    struct tc_slice rest = tc_slice_cstr(words);
    while (rest.len > 0) {
        struct tc_slice word = tc_slice_cut(rest, ' ', &rest);
        struct tc_sample_label *label = &labels[sample.label_count++];
        label->key = tc_slice_cut(word, '=', &label->value);
    }
    tc_hot_add(hot, &sample, at_ns, at_ns);
}

static void add(const char *name, double value, int64_t at_ns, const char *words)
{
    add_typed(TC_SAMPLE_GAUGE, name, value, at_ns, words);
}

static void count_up(const char *name, double value, int64_t at_ns, const char *words)
{
    add_typed(TC_SAMPLE_COUNTER, name, value, at_ns, words);
}

static const char *render(void)
{
    struct tc_buf b = tc_buf_make(page, sizeof page - 1);
    tc_hot_render(hot, &b);
    assert_false(b.overflowed);
    page[b.len] = '\0';
    return page;
}

static void assert_line(const char *line)
{
    const char *text = render();
    char want[512];
    (void)snprintf(want, sizeof want, "\n%s\n", line);
    if (strstr(text, want) == NULL) {
        fail_msg("no %s in\n%s", line, text);
    }
}

static uint64_t counted(enum tc_hot_count which)
{
    return tc_hot_count(hot, which);
}

/* ---- what a series is ---- */

static void gpus_become_one_series_of_their_allowed_labels(void **state)
{
    (void)state;
    add("DCGM_FI_DEV_GPU_TEMP", 60, NOW, "gpu=0 UUID=GPU-1 Hostname=n1 modelName=H100 cluster=a");
    add("DCGM_FI_DEV_GPU_TEMP", 80, NOW, "gpu=1 UUID=GPU-2 Hostname=n1 modelName=H100 cluster=a");
    add("DCGM_FI_DEV_GPU_TEMP", 40, NOW, "gpu=0 UUID=GPU-3 Hostname=n2 modelName=A100 cluster=a");
    assert_int_equal(tc_hot_series(hot), 6);
    assert_line("tracecore_gpu_temperature_celsius{cluster=\"a\",gpu_model=\"H100\",stat=\"mean\"} "
                "70");
    assert_line("tracecore_gpu_temperature_celsius{cluster=\"a\",gpu_model=\"H100\",stat=\"max\"} "
                "80");
    assert_line("tracecore_gpu_temperature_celsius{cluster=\"a\",gpu_model=\"A100\",stat=\"p99\"} "
                "40");
    assert_line("# TYPE tracecore_gpu_temperature_celsius gauge");
    assert_int_equal(counted(TC_HOT_SAMPLES), 3);
    assert_true(counted(TC_HOT_LABELS_IDENTITY) >= 6);
}

static void units_are_those_of_the_name(void **state)
{
    (void)state;
    add("DCGM_FI_DEV_GPU_UTIL", 50, NOW, "");
    add("DCGM_FI_DEV_SM_CLOCK", 1980, NOW, "");
    add("DCGM_FI_DEV_FB_USED", 2, NOW, "");
    assert_line("tracecore_gpu_utilization_ratio{stat=\"mean\"} 0.5");
    assert_line("tracecore_gpu_sm_clock_hertz{stat=\"max\"} 1980000000");
    assert_line("tracecore_gpu_memory_used_bytes{stat=\"max\"} 2097152");
}

static void other_metrics_cost_nothing(void **state)
{
    (void)state;
    add("node_load1", 3, NOW, "cluster=a");
    add("", 3, NOW, "");
    assert_int_equal(tc_hot_series(hot), 0);
    assert_string_equal(render(), "");
    assert_int_equal(counted(TC_HOT_LABELS_TAG), 0);
}

static void labels_come_under_other_names_and_the_first_counts(void **state)
{
    (void)state;
    add("vllm:num_requests_waiting", 3, NOW,
        "tracecore.run.id=r1 cloud.region=eu k8s.cluster.name=c1 cluster=c2 nodepool=p "
        "scheduler_path=kueue benchmark_case_id=b concurrency=33");
    assert_line("tracecore_serving_requests_waiting{run_id=\"r1\",benchmark_case_id=\"b\","
                "cluster=\"c1\",region=\"eu\",node_pool=\"p\",scheduler_path=\"kueue\","
                "concurrency_bucket=\"64\",stat=\"mean\"} 3");
    add("vllm:num_requests_waiting", 3, NOW, "concurrency=100000");
    assert_line("tracecore_serving_requests_waiting{concurrency_bucket=\"more\",stat=\"mean\"} 3");
    add("vllm:num_requests_waiting", 3, NOW, "concurrency_bucket=low");
    assert_line("tracecore_serving_requests_waiting{concurrency_bucket=\"low\",stat=\"mean\"} 3");
}

static void values_are_escaped_and_long_ones_dropped(void **state)
{
    (void)state;
    char words[256] = "cluster=";
    memset(words + 8, 'x', 97);
    add("tgi_queue_size", 1, NOW, words);
    assert_int_equal(counted(TC_HOT_LABELS_UNFIT), 1);
    assert_line("tracecore_serving_requests_waiting{stat=\"mean\"} 1");
    words[8 + 96] = '\0';
    add("tgi_queue_size", 1, NOW, words);
    assert_int_equal(counted(TC_HOT_LABELS_UNFIT), 1);
    add("tgi_queue_size", 2, NOW, "cluster=a\"b\\c\nd");
    assert_line(
        "tracecore_serving_requests_waiting{cluster=\"a\\\"b\\\\c\\\\x0ad\",stat=\"mean\"} 2");
}

static void labels_that_do_not_fit_together_are_dropped_from_the_end(void **state)
{
    (void)state;
    char value[TC__HOT_VALUE_MAX + 1] = "";
    char words[1024];
    memset(value, 'y', TC__HOT_VALUE_MAX);
    (void)snprintf(words, sizeof words, "run_id=%s cluster=%s region=%s node_pool=%s gpu_model=h",
                   value, value, value, value);
    add("tgi_queue_size", 1, NOW, words);
    assert_int_equal(counted(TC_HOT_LABELS_UNFIT), 1); /* the pool; the model is short enough */
    assert_non_null(strstr(render(), "gpu_model=\"h\""));
    assert_null(strstr(render(), "node_pool"));
}

/* ---- cardinality ---- */

static void requests_make_no_series(void **state)
{
    (void)state;
    char words[128];
    for (size_t i = 0; i < 100000; i++) {
        (void)snprintf(words, sizeof words, "cluster=a request_id=%zu trace_id=t%zu", i, i);
        add("vllm:num_requests_running", (double)(i % 7), NOW + (int64_t)i, words);
    }
    assert_int_equal(tc_hot_series(hot), 3);
    assert_int_equal(counted(TC_HOT_LABELS_REQUEST), 200000);
    assert_int_equal(counted(TC_HOT_SAMPLES), 100000);
    assert_int_equal(hot->sources.count, 0);
}

static void tags_make_no_series_and_push_out_no_counter(void **state)
{
    (void)state;
    char words[128];
    count_up("vllm:prompt_tokens_total", 100, NOW, "cluster=a");
    count_up("vllm:prompt_tokens_total", 110, NOW + 1, "cluster=a");
    for (size_t i = 0; i < 100000; i++) {
        (void)snprintf(words, sizeof words, "cluster=a team=%zu", i);
        add("vllm:num_requests_running", 1, NOW + 2, words);
    }
    count_up("vllm:prompt_tokens_total", 130, NOW + 3, "cluster=a");
    assert_int_equal(tc_hot_series(hot), 4);
    assert_int_equal(counted(TC_HOT_LABELS_TAG), 100000);
    assert_line("tracecore_serving_tokens_total{cluster=\"a\",kind=\"prompt\"} 30");
}

static void a_counter_of_requests_is_left_out(void **state)
{
    (void)state;
    count_up("vllm:prompt_tokens_total", 100, NOW, "request_id=1");
    count_up("vllm:prompt_tokens_total", 120, NOW + 1, "request_id=1");
    assert_int_equal(counted(TC_HOT_SAMPLES_REQUEST), 2);
    assert_line("tracecore_serving_tokens_total{kind=\"prompt\"} 0");
    /* A difference needs no sample before it. */
    add_typed(TC_SAMPLE_DELTA, "vllm:prompt_tokens", 5, NOW + 2, "request_id=1");
    assert_line("tracecore_serving_tokens_total{kind=\"prompt\"} 5");
}

static void fill(size_t count, int64_t at_ns)
{
    char words[64];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(words, sizeof words, "cluster=c%zu", i);
        count_up("training_tokens_total", 1, at_ns, words);
    }
}

static void the_budget_is_kept_and_what_is_there_goes_on(void **state)
{
    (void)state;
    fill(150, NOW);
    assert_int_equal(tc_hot_series(hot), 100);
    assert_int_equal(counted(TC_HOT_REFUSED_BUDGET), 50);
    assert_int_equal(counted(TC_HOT_SAMPLES_REFUSED), 50);
    fill(150, NOW + 1); /* the refused are known as such */
    assert_int_equal(counted(TC_HOT_REFUSED_BUDGET), 50);
    assert_int_equal(counted(TC_HOT_SAMPLES_REFUSED), 100);
    count_up("training_tokens_total", 6, NOW + 2, "cluster=c99");
    assert_line("tracecore_training_tokens_total{cluster=\"c99\"} 5");
    /* A gauge has three lines: two free ones are too few. */
    tc_hot_destroy(hot);
    start_with(100, sizeof page - 1);
    fill(98, NOW);
    add("DCGM_FI_DEV_GPU_TEMP", 60, NOW, "");
    assert_int_equal(tc_hot_series(hot), 98);
    tc_hot_destroy(hot);
    start_with(100, sizeof page - 1);
    fill(97, NOW);
    add("DCGM_FI_DEV_GPU_TEMP", 60, NOW, "");
    assert_int_equal(tc_hot_series(hot), 100);
}

static void stale_series_leave_and_make_room(void **state)
{
    (void)state;
    fill(150, NOW);
    count_up("training_tokens_total", 3, NOW + 4 * MINUTE, "cluster=c7");
    tc_hot_tick(hot, NOW + 5 * MINUTE);
    assert_int_equal(tc_hot_series(hot), 100);
    tc_hot_tick(hot, NOW + 5 * MINUTE + 1);
    assert_int_equal(tc_hot_series(hot), 1);
    assert_int_equal(counted(TC_HOT_EXPIRED), 99);
    assert_line("tracecore_training_tokens_total{cluster=\"c7\"} 2");
    /* One that was refused, one that was there, and the one that stayed. */
    count_up("training_tokens_total", 9, NOW + 6 * MINUTE, "cluster=c149");
    count_up("training_tokens_total", 9, NOW + 6 * MINUTE, "cluster=c3");
    count_up("training_tokens_total", 10, NOW + 6 * MINUTE + 1, "cluster=c3");
    count_up("training_tokens_total", 4, NOW + 6 * MINUTE, "cluster=c7");
    assert_int_equal(tc_hot_series(hot), 3);
    assert_line("tracecore_training_tokens_total{cluster=\"c149\"} 0");
    assert_line("tracecore_training_tokens_total{cluster=\"c3\"} 1");
    assert_line("tracecore_training_tokens_total{cluster=\"c7\"} 3");
    fill(150, NOW + 7 * MINUTE);
    assert_int_equal(tc_hot_series(hot), 100);
}

static void the_page_has_its_length_and_no_more(void **state)
{
    (void)state;
    tc_hot_destroy(hot);
    start_with(1000, tc__hot_heads() + 2000);
    fill(1000, NOW);
    assert_true(tc_hot_series(hot) > 5);
    assert_int_equal(counted(TC_HOT_REFUSED_PAGE), 1000 - tc_hot_series(hot));
    assert_true(strlen(render()) <= tc__hot_heads() + 2000);
    tc_hot_destroy(hot);
    start_with(1000, 0);
    fill(10, NOW);
    assert_int_equal(tc_hot_series(hot), 0);
    assert_string_equal(render(), "");
}

static void any_budget_has_its_memory(void **state)
{
    (void)state;
    for (size_t series = 1; series <= TC_HOT_SERIES_MAX; series += 1 + series / 2) {
        tc_hot_destroy(hot);
        start_with(series, sizeof page - 1);
    }
    tc_hot_destroy(hot);
    start_with(TC_HOT_SERIES_MAX, sizeof page - 1);
}

/* ---- numbers ---- */

static void gauges_are_of_the_last_whole_window(void **state)
{
    (void)state;
    tc_hot_tick(hot, NOW);
    add("step_time_seconds", 1, NOW, "rank=0");
    add("step_time_seconds", 3, NOW, "rank=1");
    assert_line("tracecore_training_step_seconds{stat=\"mean\"} 2"); /* of what came so far */
    tc_hot_tick(hot, NOW + MINUTE);
    add("step_time_seconds", 9, NOW + MINUTE, "rank=0");
    assert_line("tracecore_training_step_seconds{stat=\"mean\"} 2");
    assert_line("tracecore_training_step_seconds{stat=\"max\"} 3");
    tc_hot_tick(hot, NOW + 2 * MINUTE);
    assert_line("tracecore_training_step_seconds{stat=\"mean\"} 9");
    tc_hot_tick(hot, NOW + 3 * MINUTE); /* nothing came: the last that is known */
    assert_line("tracecore_training_step_seconds{stat=\"max\"} 9");
    /* A clock that was set back begins a window anew. */
    tc_hot_tick(hot, NOW - 10 * MINUTE);
    add("step_time_seconds", 4, NOW - 10 * MINUTE, "rank=0");
    tc_hot_tick(hot, NOW - 9 * MINUTE);
    assert_line("tracecore_training_step_seconds{stat=\"max\"} 4");
}

static void p99_is_within_five_percent(void **state)
{
    (void)state;
    struct tc__hot_window *w = NULL;
    for (size_t i = 1; i <= 1000; i++) {
        add("step_time_seconds", (double)i / 10, NOW, "");
    }
    w = &hot->series[0].window;
    double got = tc__hot_p99(w, tc__hot_rows[TC__HOT_TRAINING_STEP].least);
    assert_true(fabs(got - 99.0) < 99.0 * 0.05);
    /* More than a bucket counts: proportions stay. */
    for (size_t i = 0; i < 200000; i++) {
        add("step_time_seconds", 5, NOW, "");
    }
    got = tc__hot_p99(w, tc__hot_rows[TC__HOT_TRAINING_STEP].least);
    assert_true(fabs(got - 5.0) < 5.0 * 0.05);
}

static void values_off_the_scale_stay_within_their_extremes(void **state)
{
    (void)state;
    add("step_time_seconds", -5, NOW, "");
    assert_line("tracecore_training_step_seconds{stat=\"p99\"} -5");
    add("step_time_seconds", 1e300, NOW, "cluster=a");
    assert_line("tracecore_training_step_seconds{cluster=\"a\",stat=\"p99\"} 1e+300");
    add("step_time_seconds", 0, NOW, "cluster=b");
    assert_line("tracecore_training_step_seconds{cluster=\"b\",stat=\"p99\"} 0");
}

static void rises_of_all_sources_add_up(void **state)
{
    (void)state;
    count_up("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 4, NOW, "UUID=GPU-1 cluster=a");
    count_up("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 7, NOW, "UUID=GPU-2 cluster=a");
    assert_line("tracecore_gpu_ecc_errors_total{cluster=\"a\",kind=\"uncorrected\"} 0");
    count_up("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 6, NOW + 1, "UUID=GPU-1 cluster=a");
    count_up("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 8, NOW + 1, "UUID=GPU-2 cluster=a");
    assert_line("tracecore_gpu_ecc_errors_total{cluster=\"a\",kind=\"uncorrected\"} 3");
    count_up("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 1, NOW + 2, "UUID=GPU-1 cluster=a"); /* a restart */
    count_up("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 3, NOW + 3, "UUID=GPU-1 cluster=a");
    assert_line("tracecore_gpu_ecc_errors_total{cluster=\"a\",kind=\"uncorrected\"} 5");
    count_up("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 9, NOW + 3, "UUID=GPU-1 cluster=a");
    assert_int_equal(counted(TC_HOT_SAMPLES_REPEATED), 1);
    assert_line("tracecore_gpu_ecc_errors_total{cluster=\"a\",kind=\"uncorrected\"} 5");
}

static void sum_and_count_of_a_latency_are_a_summary(void **state)
{
    (void)state;
    count_up("vllm:time_to_first_token_seconds_sum", 1, NOW, "pod=a");
    count_up("vllm:time_to_first_token_seconds_count", 10, NOW, "pod=a");
    count_up("vllm:time_to_first_token_seconds_sum", 3.5, NOW + 1, "pod=a");
    count_up("vllm:time_to_first_token_seconds_count", 15, NOW + 1, "pod=a");
    count_up("vllm:time_to_first_token_seconds_bucket", 15, NOW + 1, "pod=a le=1");
    add("vllm:time_to_first_token_seconds", 15, NOW + 1, "pod=a"); /* nothing of that name */
    assert_int_equal(tc_hot_series(hot), 2);
    assert_line("# TYPE tracecore_serving_time_to_first_token_seconds summary");
    assert_line("tracecore_serving_time_to_first_token_seconds_sum 2.5");
    assert_line("tracecore_serving_time_to_first_token_seconds_count 5");
}

static void an_xid_counts_when_it_changes(void **state)
{
    (void)state;
    static const double values[] = {0, 48, 48, 63, 0, 63};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        add("DCGM_FI_DEV_XID_ERRORS", values[i], NOW + (int64_t)i, "UUID=GPU-1");
    }
    assert_line("tracecore_gpu_xids_total 3");
    add("DCGM_FI_DEV_XID_ERRORS", 79, NOW, "UUID=GPU-2"); /* it may be years old */
    assert_line("tracecore_gpu_xids_total 3");
}

static void old_ahead_and_bad_samples_are_dropped(void **state)
{
    (void)state;
    struct tc_sample sample = {.name = TC_LIT("tgi_queue_size"), .value = 1};
    tc_hot_add(hot, &sample, NOW - 5 * MINUTE - 1, NOW);
    assert_int_equal(counted(TC_HOT_SAMPLES_OLD), 1);
    tc_hot_add(hot, &sample, NOW + 5 * MINUTE + 1, NOW);
    assert_int_equal(counted(TC_HOT_SAMPLES_AHEAD), 1);
    tc_hot_add(hot, &sample, -1, NOW);
    assert_int_equal(counted(TC_HOT_SAMPLES_OLD), 2);
    assert_int_equal(tc_hot_series(hot), 0);
    tc_hot_add(hot, &sample, NOW - 5 * MINUTE, NOW);
    tc_hot_add(hot, &sample, NOW + 5 * MINUTE, NOW);
    assert_int_equal(counted(TC_HOT_SAMPLES), 2);
    sample.value = (double)NAN;
    tc_hot_add(hot, &sample, NOW, NOW);
    sample.value = 1e308;
    sample.name = TC_LIT("DCGM_FI_DEV_FB_USED");
    tc_hot_add(hot, &sample, NOW, NOW);
    assert_int_equal(counted(TC_HOT_SAMPLES_NOT_VALUE), 2);
}

static void too_many_labels_are_not_remembered(void **state)
{
    (void)state;
    static char value[TC__HOT_KEY_MAX];
    struct tc_sample_label label = {TC_LIT("team"), tc_slice_make(value, sizeof value)};
    struct tc_sample sample = {
        .name = TC_LIT("tgi_queue_size"), .value = 1, .labels = &label, .label_count = 1};
    memset(value, 'z', sizeof value);
    tc_hot_add(hot, &sample, NOW, NOW);
    tc_hot_add(hot, &sample, NOW, NOW);
    assert_int_equal(hot->sources.count, 0);
    assert_int_equal(counted(TC_HOT_SAMPLES), 2);
}

/* A page of every metric; what promtool says of it. */
static void promtool_finds_nothing_wrong(void **state)
{
    (void)state;
#define GAUGE(id, name, labels, least, help)
#define COUNTER(id, name, labels, least, help)
#define EDGE(id, name, labels, least, help)
#define SUMMARY(id, name, labels, least, help)
#define OURS(metric, id, factor)
#define NAMED(from, id, factor)                  \
    add(from, 1, NOW, "cluster=a run_id=r-\"1"); \
    add(from "_sum", 1, NOW, "cluster=a");       \
    add(from "_count", 1, NOW, "cluster=b");
#include "hot/metrics.def"
    add("DCGM_FI_DEV_GPU_TEMP", 60, NOW, "cluster=a");
    add("DCGM_FI_DEV_GPU_UTIL", 60, NOW, "");
    count_up("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 4, NOW, "cluster=a");
    count_up("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", 4, NOW, "cluster=b");
    assert_true(tc_hot_series(hot) > 40);
    /* A name has one head. */
    for (const char *a = strstr(render(), "# TYPE "); a != NULL; a = strstr(a + 1, "# TYPE ")) {
        char head[160];
        (void)snprintf(head, sizeof head, "%.*s\n", (int)strcspn(a, "\n"), a);
        assert_null(strstr(a + 1, head));
    }
    if (system("command -v promtool > /dev/null 2>&1") != 0) {
        print_message("promtool is not installed: nothing was checked\n");
        skip();
    }
    FILE *pipe = popen("promtool check metrics 2>&1", "w");
    assert_non_null(pipe);
    assert_true(fputs(page, pipe) >= 0);
    assert_int_equal(pclose(pipe), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(gpus_become_one_series_of_their_allowed_labels),
        TEST(units_are_those_of_the_name),
        TEST(other_metrics_cost_nothing),
        TEST(labels_come_under_other_names_and_the_first_counts),
        TEST(values_are_escaped_and_long_ones_dropped),
        TEST(labels_that_do_not_fit_together_are_dropped_from_the_end),
        TEST(requests_make_no_series),
        TEST(tags_make_no_series_and_push_out_no_counter),
        TEST(a_counter_of_requests_is_left_out),
        TEST(the_budget_is_kept_and_what_is_there_goes_on),
        TEST(stale_series_leave_and_make_room),
        TEST(the_page_has_its_length_and_no_more),
        TEST(any_budget_has_its_memory),
        TEST(gauges_are_of_the_last_whole_window),
        TEST(p99_is_within_five_percent),
        TEST(values_off_the_scale_stay_within_their_extremes),
        TEST(rises_of_all_sources_add_up),
        TEST(sum_and_count_of_a_latency_are_a_summary),
        TEST(an_xid_counts_when_it_changes),
        TEST(old_ahead_and_bad_samples_are_dropped),
        TEST(too_many_labels_are_not_remembered),
        TEST(promtool_finds_nothing_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
