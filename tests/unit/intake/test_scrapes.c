/* SPDX-License-Identifier: Apache-2.0 */
/* Times and nodes in the names of scrapes, and the times of those that have none. Made up. */
#include "base/time.h"
#include "codec/codec.h"
#include "intake/scrapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define T0 INT64_C(1772600760000000000) /* 2026-03-04T05:06:00Z */
#define ONE "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 5\n"

static int64_t time_of(const char *path)
{
    int64_t ns = 0;
    return tc_scrape_name_time(tc_slice_cstr(path), 0, &ns) ? ns : TC_TIME_NONE;
}

static void names_have_times_in_many_forms(void **state)
{
    (void)state;
    static const char *const names[] = {
        "2026-03-04T05:06:00Z.prom",
        "dcgm-2026-03-04T05:06:00Z.prom",
        "dcgm_20260304T050600Z.txt",
        "a/b/dcgm_20260304-050600",
        "2026-03-04_05-06-00.prom",
        "2026.03.04.05.06.00.prom",
        "2026-03-04 05:06:00.prom",
        "scrape-2026-03-04T06:06:00+01:00.prom",
        "scrape-2026-03-04T06:06:00+0100",
        "scrape-2026-03-04T04:06:00-01:00",
        "gpu-07_1772600760.prom",
        "gpu-07_1772600760000.prom",
        "1772600760",
        "2026-03-04T05:06:00Z/gpu-07.prom",
        "2026-03-04_05-06-00/metrics",
        "node-12-2026-03-04T05-06-00Z-7.prom",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (time_of(names[i]) != T0) {
            fail_msg("%s", names[i]);
        }
    }
    assert_int_equal(time_of("2026-03-04T05:06:00.250Z.prom"), T0 + TC_SECOND / 4);
    assert_int_equal(time_of("1772600760125.prom"), T0 + TC_SECOND / 8);
    int64_t ns = 0;
    assert_true(tc_scrape_name_time(TC_LIT("20260304T070600.prom"), 7200, &ns) && ns == T0);
    assert_true(tc_scrape_name_time(TC_LIT("20260304T050600Z.prom"), 7200, &ns) && ns == T0);
}

static void other_numbers_are_no_times(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        "-",
        "scrape_1.prom",
        "20260304.prom",
        "2026-03-04.prom",
        "20260304050600.prom",
        "2026-13-04T05:06:00Z.prom",
        "2026-03-04T25:06:00Z.prom",
        "120260304T050600Z.prom",
        "20260304T0506001.prom",
        "0000000007.prom",
        "9999999999.prom",
        "17726007600.prom",
        "2026-03-04T05:06:00Z/x/gpu-07.prom",
        "10-0-0-12.prom",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (time_of(names[i]) != TC_TIME_NONE) {
            fail_msg("%s", names[i]);
        }
    }
}

static void assert_node(const char *path, const char *node)
{
    struct tc_slice got = tc_scrape_node(tc_slice_cstr(path));
    if (!tc_slice_eq(got, tc_slice_cstr(node))) {
        fail_msg("%s: \"%.*s\", not \"%s\"", path, TC_FMT(got), node);
    }
}

static void the_node_is_behind_the_exporter_in_the_name(void **state)
{
    (void)state;
    assert_node("node_exporter-gpu-07.prom", "gpu-07");
    assert_node("x/node-exporter_gpu-07.prom", "gpu-07");
    assert_node("node_exporter-gpu-07_20260304T050600Z.prom", "gpu-07");
    assert_node("node_exporter-gpu-07-1772600760.prom", "gpu-07");
    assert_node("dcgm-exporter-10.0.0.7.txt", "10.0.0.7");
    assert_node("dcgm-gpu-07_12.prom", "gpu-07");
    assert_node("metrics@a.b.example.prom", "a.b.example");
    assert_node("ping-gpu-07", "gpu-07");
    assert_node("gpu-07.prom", "");
    assert_node("scrape_12.prom", "");
    assert_node("scrape-2026-03-04T05:06:00Z.prom", "");
    assert_node("node_exporter.prom", "");
    assert_node("metrics", "");
    assert_node("prometheus-.prom", "");
    assert_node("dcgmgpu-07.prom", "");
    assert_node("", "");
}

static void names_are_ordered_as_people_count(void **state)
{
    (void)state;
    static const char *const sorted[] = {"",    "a",     "a1",    "a2",     "a02",
                                         "a10", "a10b1", "a10b2", "a10b10", "a99999999999999999999",
                                         "b",   "b-1"};
    size_t count = sizeof sorted / sizeof sorted[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            int order = tc_natural_cmp(tc_slice_cstr(sorted[i]), tc_slice_cstr(sorted[j]));
            /* "2" and "02" are one number: which comes first only has to be settled. */
            bool twins = (i == 3 || i == 4) && (j == 3 || j == 4);
            if (i == j) {
                assert_int_equal(order, 0);
            } else if (twins) {
                assert_true(order != 0);
            } else {
                assert_int_equal(order < 0, i < j);
            }
        }
    }
}

#define FILES_MAX 16
static struct tc_input items[FILES_MAX];
static struct tc_inputs inputs;
static struct tc_scrape_options options;

static void begin(void)
{
    for (size_t i = 0; i < inputs.count; i++) {
        free(items[i].path);
    }
    inputs = (struct tc_inputs){.items = items};
    options = (struct tc_scrape_options){.now_ns = TC_TIME_NONE};
}

static void add(const char *path, const char *text, int64_t mtime_ns)
{
    assert_true(inputs.count < FILES_MAX);
    items[inputs.count++] = (struct tc_input){.path = strdup(path),
                                              .bytes = tc_slice_cstr(text),
                                              .mtime_ns = mtime_ns,
                                              .taken_ns = TC_TIME_NONE,
                                              .codec = &tc_codec_prometheus};
}

/* Seconds from T0 at which the file's last scrape was taken. */
static int64_t taken(size_t index)
{
    assert_true((items[index].taken_ns - T0) % TC_SECOND == 0);
    return (items[index].taken_ns - T0) / TC_SECOND;
}

static void apply(void)
{
    assert_int_equal(tc_scrapes_apply(&inputs, &options), TC_OK);
}

static void one_scrape_was_taken_when_it_was_written_or_now(void **state)
{
    (void)state;
    begin();
    add("a.prom", ONE, T0);
    apply();
    assert_int_equal(taken(0), 0);
    options.now_ns = T0 + 60 * TC_SECOND;
    apply();
    assert_int_equal(taken(0), 60);
    begin();
    add("1772600790.prom", ONE, T0);
    options.now_ns = T0 + 60 * TC_SECOND;
    apply();
    assert_int_equal(taken(0), 30);
}

static void files_copied_together_are_in_the_order_of_their_names(void **state)
{
    (void)state;
    begin();
    add("d/s10.prom", ONE, T0);
    add("d/s2.prom", ONE, T0 - TC_SECOND);
    add("d/s1.prom", ONE, T0);
    apply();
    assert_int_equal(taken(0), 0);
    assert_int_equal(taken(1), -15);
    assert_int_equal(taken(2), -30);
    options.interval_ns = 60 * TC_SECOND;
    apply();
    assert_int_equal(taken(2), -120);
    assert_int_equal(items[0].interval_ns, 60 * TC_SECOND);
    options.now_ns = T0 + 7 * TC_SECOND;
    apply();
    assert_int_equal(taken(0), 7);
}

static void files_written_one_after_the_other_have_their_own_times(void **state)
{
    (void)state;
    begin();
    add("d/s1.prom", ONE, T0);
    add("d/s2.prom", ONE, T0 - 30 * TC_SECOND);
    add("d/s3.prom", ONE, T0 + 30 * TC_SECOND);
    apply();
    assert_int_equal(taken(0), 0);
    assert_int_equal(taken(1), -30);
    assert_int_equal(taken(2), 30);
    options.interval_ns = 15 * TC_SECOND; /* said, so it is meant */
    apply();
    assert_int_equal(taken(0), 0);
    assert_int_equal(taken(1), 15);
    assert_int_equal(taken(2), 30);
    begin(); /* both sides of one second a step */
    add("s1", ONE, T0);
    add("s2", ONE, T0 + TC_SECOND);
    apply();
    assert_int_equal(taken(0), 0);
    assert_int_equal(taken(1), 1);
    begin();
    add("s1", ONE, T0 + 1);
    add("s2", ONE, T0 + TC_SECOND);
    apply();
    assert_int_equal(taken(0), -14);
}

static void each_exporter_and_folder_has_its_own_sequence(void **state)
{
    (void)state;
    begin();
    add("d/dcgm_1.prom", ONE, T0);
    add("d/dcgm_2.prom", ONE, T0);
    add("d/node_1.prom", ONE, T0);
    add("d/node_2.prom", ONE, T0);
    add("e/dcgm_1.prom", ONE, T0);
    add("d/before.prom", ONE, T0);
    add("d/later.prom", ONE, T0);
    apply();
    assert_int_equal(taken(0), -15);
    assert_int_equal(taken(1), 0);
    assert_int_equal(taken(2), -15);
    assert_int_equal(taken(3), 0);
    assert_int_equal(taken(4), 0);
    assert_int_equal(taken(5), -15);
    assert_int_equal(taken(6), 0);
}

static void scrapes_inside_of_files_count(void **state)
{
    (void)state;
    begin();
    add("s1.prom", ONE ONE, T0);
    add("s2.prom", ONE ONE ONE, T0);
    apply();
    assert_int_equal(taken(1), 0);
    assert_int_equal(taken(0), -45);
    begin();
    add("20260304T050600Z.prom", ONE ONE ONE, T0 + 5);
    apply();
    assert_int_equal(taken(0), 30);
}

static void what_says_its_time_is_left_alone(void **state)
{
    (void)state;
    begin();
    add("s1.prom", "DCGM_FI_DEV_GPU_TEMP 5 1772600760000\n", T0);
    add("s2.prom", "# scraped at 2026-03-04T05:06:00Z\n" ONE, T0);
    add("s3.prom", ONE, T0 + 100 * TC_SECOND);
    add("kern.log", ONE, T0);
    items[3].codec = &tc_codec_kmsg;
    options.now_ns = T0 + 200 * TC_SECOND;
    apply();
    assert_int_equal(taken(2), 200); /* the only one that does not */
    assert_true(items[3].taken_ns == TC_TIME_NONE);
}

static int teardown(void **state)
{
    (void)state;
    begin();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_times_in_many_forms),
        cmocka_unit_test(other_numbers_are_no_times),
        cmocka_unit_test(the_node_is_behind_the_exporter_in_the_name),
        cmocka_unit_test(names_are_ordered_as_people_count),
        cmocka_unit_test(one_scrape_was_taken_when_it_was_written_or_now),
        cmocka_unit_test(files_copied_together_are_in_the_order_of_their_names),
        cmocka_unit_test(files_written_one_after_the_other_have_their_own_times),
        cmocka_unit_test(each_exporter_and_folder_has_its_own_sequence),
        cmocka_unit_test(scrapes_inside_of_files_count),
        cmocka_unit_test(what_says_its_time_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
