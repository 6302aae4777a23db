/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "detect/detector.h"
#include "net/request.h"
#include "observe/metrics.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char text[TC_METRICS_TEXT_MAX + 1];

static const char *render(void)
{
    struct tc_buf b = tc_buf_make(text, TC_METRICS_TEXT_MAX);
    memset(text, 0, sizeof text);
    tc_metrics_render(&b);
    assert_false(b.overflowed);
    return text;
}

static void assert_line(const char *line)
{
    char wanted[256];
    (void)snprintf(wanted, sizeof wanted, "\n%s\n", line);
    if (strstr(render(), wanted) == NULL) {
        fail_msg("no line \"%s\"", line);
    }
}

static void counts_and_gauges_are_shown(void **state)
{
    (void)state;
    tc_count(TC_COUNT_REJECTED_MALFORMED, 2);
    tc_count(TC_COUNT_REJECTED_MALFORMED, 3);
    tc_counter_set(TC_COUNT_EVIDENCE_COMMITS, UINT64_MAX);
    tc_gauge(TC_COUNT_EVENTS_HELD, -7);
    assert_int_equal(tc_counter_value(TC_COUNT_REJECTED_MALFORMED), 5);
    assert_line("tracecore_requests_rejected_total{reason=\"malformed\"} 5");
    assert_line("tracecore_evidence_commits_total 18446744073709551615");
    assert_line("tracecore_events_held -7");
    assert_line("# TYPE tracecore_events_held gauge");
    assert_line("# TYPE tracecore_evidence_commits_total counter");
    assert_non_null(strstr(render(), "\ntracecore_build_info{version=\""));
}

/* So that an answer finds its counter by adding. */
static void answers_stand_in_their_order(void **state)
{
    (void)state;
#define ANSWER(name, http, grpc)                                                                   \
    assert_int_equal(TC_COUNT_ANSWERED_HTTP_##name - TC_COUNT_ANSWERED_HTTP_OK, TC_ANSWER_##name); \
    assert_int_equal(TC_COUNT_ANSWERED_GRPC_##name - TC_COUNT_ANSWERED_GRPC_OK, TC_ANSWER_##name);
    TC_ANSWER_MAP(ANSWER)
#undef ANSWER
}

static void patterns_have_a_line_each(void **state)
{
    (void)state;
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    tc_pattern_set(0, TC_PATTERN_BUDGET, 3);
    tc_pattern_count(count - 1, TC_PATTERN_DROPPED, 1);
    tc_pattern_count(count - 1, TC_PATTERN_DROPPED, 1);
    tc_pattern_set(1000, TC_PATTERN_BUDGET, 3);
    tc_pattern_count(1000, TC_PATTERN_BUDGET, 3);
    assert_int_equal(tc_pattern_value(1000, TC_PATTERN_BUDGET), 0);
    char line[128];
    (void)snprintf(line, sizeof line, "tracecore_detector_budget_bytes{pattern=\"%s\"} 3",
                   all[0]->name);
    assert_line(line);
    (void)snprintf(line, sizeof line, "tracecore_detector_dropped_total{pattern=\"%s\"} 2",
                   all[count - 1]->name);
    assert_line(line);
}

static void verdicts_and_incidents_are_by_pattern_and_severity(void **state)
{
    (void)state;
    char line[160];
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    const char *last = all[count - 1]->name;
    tc_verdict_count(count - 1, TC_SEVERITY_CRITICAL, TC_VERDICT_OPEN);
    tc_verdict_count(count - 1, TC_SEVERITY_CRITICAL, TC_VERDICT_OPEN);
    tc_verdict_count(count - 1, TC_SEVERITY_INFO, TC_VERDICT_RESOLVED);
    tc_verdict_count(SIZE_MAX, TC_SEVERITY_INFO, TC_VERDICT_OPEN); /* of no pattern: nothing */
    tc_open_incident_count(count - 1, TC_SEVERITY_WARNING);
    tc_open_incident_count(SIZE_MAX, TC_SEVERITY_WARNING);
    (void)snprintf(line, sizeof line,
                   "tracecore_detector_verdicts_total{pattern=\"%s\",severity=\"critical\","
                   "status=\"open\"} 2",
                   last);
    assert_line(line);
    (void)snprintf(line, sizeof line,
                   "tracecore_detector_verdicts_total{pattern=\"%s\",severity=\"info\","
                   "status=\"resolved\"} 1",
                   last);
    assert_line(line);
    (void)snprintf(line, sizeof line,
                   "tracecore_detector_incidents_open{pattern=\"%s\",severity=\"warning\"} 1",
                   last);
    assert_line(line);
    tc_open_incidents_reset();
    line[strlen(line) - 1] = '0';
    assert_line(line);
}

static void write_more(void *context, struct tc_buf *b)
{
    tc_buf_str(b, tc_slice_cstr(context));
}

static void more_is_added_at_the_end(void **state)
{
    (void)state;
    char more[] = "# TYPE more gauge\nmore 1\n";
    tc_metrics_more(TC_METRICS_HOT, write_more, more);
    const char *page = render();
    assert_string_equal(page + strlen(page) - strlen(more), more);
    char before[] = "# TYPE before gauge\nbefore 1\n";
    tc_metrics_more(TC_METRICS_SOURCES, write_more, before);
    page = render();
    assert_string_equal(page + strlen(page) - strlen(more), more);
    assert_non_null(strstr(page, "before 1\n# TYPE more"));
    tc_metrics_more(TC_METRICS_SOURCES, NULL, NULL);
    tc_metrics_more(TC_METRICS_HOT, NULL, NULL);
    assert_null(strstr(render(), "more 1"));
}

static void patterns_are_found_by_name(void **state)
{
    (void)state;
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(tc_pattern_index(tc_slice_cstr(all[i]->name)), i);
    }
    assert_int_equal(tc_pattern_index(TC_LIT("nobody")), SIZE_MAX);
    tc_pattern_count(SIZE_MAX, TC_PATTERN_DROPPED, 1);
}

static void refresh(void)
{
    tc_counter_set(TC_COUNT_ALLOCATIONS, 4711);
}

static void a_source_is_asked_before_each_rendering(void **state)
{
    (void)state;
    tc_metrics_source(refresh);
    assert_line("tracecore_allocations_total 4711");
    tc_metrics_source(NULL);
    tc_counter_set(TC_COUNT_ALLOCATIONS, 5);
    assert_line("tracecore_allocations_total 5");
}

static void a_time_falls_into_its_bucket_and_those_above(void **state)
{
    (void)state;
    tc_observe(TC_HIST_COMMIT, 500000);
    tc_observe(TC_HIST_COMMIT, 500001);
    tc_observe(TC_HIST_COMMIT, -5);
    tc_observe(TC_HIST_COMMIT, 10 * TC_SECOND);
    tc_observe(TC_HIST_COMMIT, 10 * TC_SECOND + 1);
    assert_line("tracecore_evidence_commit_seconds_bucket{le=\"0.0005\"} 2");
    assert_line("tracecore_evidence_commit_seconds_bucket{le=\"0.001\"} 3");
    assert_line("tracecore_evidence_commit_seconds_bucket{le=\"5\"} 3");
    assert_line("tracecore_evidence_commit_seconds_bucket{le=\"10\"} 4");
    assert_line("tracecore_evidence_commit_seconds_bucket{le=\"+Inf\"} 5");
    assert_line("tracecore_evidence_commit_seconds_count 5");
    assert_line("tracecore_evidence_commit_seconds_sum 20.001000002");
}

static double value_of(const char *name)
{
    char wanted[128];
    (void)snprintf(wanted, sizeof wanted, "\n%s ", name);
    const char *at = strstr(render(), wanted);
    assert_non_null(at);
    return strtod(at + strlen(wanted), NULL);
}

static void the_process_is_described(void **state)
{
    (void)state;
    double now = (double)time(NULL);
    assert_true(value_of("process_resident_memory_bytes") > 1 << 20);
    assert_true(value_of("process_cpu_seconds_total") > 0);
    assert_true(value_of("process_start_time_seconds") > now - 3600);
    assert_true(value_of("process_start_time_seconds") < now + 2);
    double before = value_of("process_open_fds");
    int fd = dup(STDERR_FILENO);
    assert_true(fd >= 0);
    assert_true(value_of("process_open_fds") == before + 1);
    assert_int_equal(close(fd), 0);
}

/* Without the value; the text of HELP and TYPE lines as it is. */
static size_t series_len(const char *line)
{
    size_t len = strcspn(line, "\n");
    size_t name = line[0] == '#' ? len : strcspn(line, "}");
    return line[0] == '#' ? len : name < len ? name : strcspn(line, " ");
}

/* The format wants it, and scrapers refuse a page where it is not so. */
static void no_series_and_no_head_is_there_twice(void **state)
{
    (void)state;
    static struct tc_slice lines[2048];
    size_t count = 0;
    for (const char *a = render(); *a != '\0'; a += strcspn(a, "\n") + 1) {
        assert_true(count < sizeof lines / sizeof *lines);
        lines[count] = tc_slice_make(a, series_len(a));
        for (size_t i = 0; i < count; i++) {
            if (tc_slice_eq(lines[i], lines[count])) {
                fail_msg("twice: %.*s", (int)lines[i].len, a);
            }
        }
        count++;
    }
    assert_true(count > 200);
}

static void lines_of_one_name_stand_together(void **state)
{
    (void)state;
    char done[512][96];
    size_t count = 0;
    char now[96] = "";
    for (const char *a = render(); *a != '\0'; a += strcspn(a, "\n") + 1) {
        if (a[0] == '#') {
            continue;
        }
        char name[96] = "";
        size_t len = strcspn(a, "{ ");
        assert_true(len < sizeof name);
        memcpy(name, a, len);
        if (strcmp(name, now) == 0) {
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            assert_string_not_equal(done[i], name);
        }
        assert_true(count < 512);
        memcpy(done[count++], name, sizeof name);
        memcpy(now, name, sizeof now);
    }
}

static void a_small_buffer_is_said_to_be_small(void **state)
{
    (void)state;
    struct tc_buf b = tc_buf_make(text, 1000);
    tc_metrics_render(&b);
    assert_true(b.overflowed);
}

/* Each number at its longest; the text must still fit. */
static void the_longest_text_fits(void **state)
{
    (void)state;
    size_t patterns = 0;
    (void)tc_detectors(&patterns);
    for (size_t i = 0; i < TC_COUNTER_COUNT; i++) {
        tc_gauge((enum tc_counter)i, INT64_MIN);
    }
    for (size_t i = 0; i < patterns; i++) {
        for (size_t m = 0; m < TC_PATTERN_METRIC_COUNT; m++) {
            tc_pattern_set(i, (enum tc_pattern_metric)m, UINT64_C(1) << 63);
        }
    }
    assert_true(strlen(render()) < TC_METRICS_TEXT_MAX / 2);
}

static void *count_many(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < 10000; i++) {
        tc_count(TC_COUNT_UPLOADS, 1);
        tc_observe(TC_HIST_REQUEST, 1);
    }
    return NULL;
}

static void nothing_is_lost_between_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    tc_counter_set(TC_COUNT_UPLOADS, 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_many, NULL), 0);
    }
    (void)render();
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(tc_counter_value(TC_COUNT_UPLOADS), 40000);
    assert_line("tracecore_request_seconds_count 40000");
}

static void promtool_finds_nothing_wrong(void **state)
{
    (void)state;
    if (system("command -v promtool > /dev/null 2>&1") != 0) {
        print_message("promtool is not installed: nothing was checked\n");
        skip();
    }
    const char *page = render();
    FILE *pipe = popen("promtool check metrics 2>&1", "w");
    assert_non_null(pipe);
    assert_true(fputs(page, pipe) >= 0);
    /* It prints what it finds, and exits with 3 for a matter of style. */
    assert_int_equal(pclose(pipe), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_gauges_are_shown),
        cmocka_unit_test(answers_stand_in_their_order),
        cmocka_unit_test(patterns_have_a_line_each),
        cmocka_unit_test(verdicts_and_incidents_are_by_pattern_and_severity),
        cmocka_unit_test(more_is_added_at_the_end),
        cmocka_unit_test(patterns_are_found_by_name),
        cmocka_unit_test(a_source_is_asked_before_each_rendering),
        cmocka_unit_test(a_time_falls_into_its_bucket_and_those_above),
        cmocka_unit_test(the_process_is_described),
        cmocka_unit_test(no_series_and_no_head_is_there_twice),
        cmocka_unit_test(lines_of_one_name_stand_together),
        cmocka_unit_test(a_small_buffer_is_said_to_be_small),
        cmocka_unit_test(the_longest_text_fits),
        cmocka_unit_test(nothing_is_lost_between_threads),
        cmocka_unit_test(promtool_finds_nothing_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
