/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and nodes are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "codec/codec.h"
#include "intake/hints.h"
#include "intake/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T0 INT64_C(1794711845000000000) /* 2026-11-15T03:04:05Z */

static void assert_slice(struct tc_slice actual, const char *expected)
{
    if (!tc_slice_eq(actual, tc_slice_cstr(expected))) {
        print_error("\"%.*s\", not \"%s\"\n", TC_FMT(actual), expected);
        fail();
    }
}

static void zones_are_read(void **state)
{
    (void)state;
    int32_t s = 99;
    assert_true(tc_hint_zone(TC_LIT("Z"), &s) && s == 0);
    assert_true(tc_hint_zone(TC_LIT("+02:00"), &s) && s == 7200);
    assert_true(tc_hint_zone(TC_LIT("-0730"), &s) && s == -27000);
    assert_true(tc_hint_zone(TC_LIT("utc"), &s) && s == 0);
    static const char *const bad[] = {"",      "+2",      "02:00",  "+24:00", "+00:60",
                                      "+02:0", "+02:000", "+aa:00", "CET",    "+02-00"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        s = 99;
        assert_false(tc_hint_zone(tc_slice_cstr(bad[i]), &s));
        assert_int_equal(s, 99);
    }
}

#define FILES 8

struct fixture {
    struct tc_input items[FILES];
    char paths[FILES][64];
    struct tc_inputs in;
    struct tc_hints hints;
    struct tc_error err;
};

static void add(struct fixture *x, const char *path, const struct tc_codec *codec)
{
    size_t i = x->in.count++;
    (void)snprintf(x->paths[i], sizeof x->paths[i], "%s", path);
    x->items[i] = (struct tc_input){.path = x->paths[i],
                                    .codec = codec,
                                    .boot_ns = TC_TIME_NONE,
                                    .now_ns = TC_TIME_NONE,
                                    .mtime_ns = 1000 + (int64_t)i};
}

static int setup(void **state)
{
    struct fixture *x = calloc(1, sizeof *x);
    if (x == NULL || tc_hints_init(&x->hints, 16) != TC_OK) {
        return -1;
    }
    x->in.items = x->items;
    *state = x;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *x = *state;
    tc_hints_fini(&x->hints);
    free(x);
    return 0;
}

static tc_status apply(struct fixture *x)
{
    tc_status status = tc_hints_read(&x->hints, &x->err);
    return status == TC_OK ? tc_hints_apply(&x->hints, &x->in, &x->err) : status;
}

static void only_kernel_logs_take_a_node_from_their_name(void **state)
{
    struct fixture *x = *state;
    add(x, "dmesg-gpu-07.txt", &tc_codec_kmsg);
    add(x, "k8s-events.json", &tc_codec_k8s);
    add(x, "events.json", &tc_codec_k8s);
    x->hints.node_texts[x->hints.node_count++] = "gpu-09=events.json";
    assert_int_equal(apply(x), TC_OK);
    assert_slice(x->items[0].node, "gpu-07");
    assert_slice(x->items[1].node, "");
    assert_slice(x->items[2].node, "gpu-09");
}

static void node_names_a_file_by_path_or_last_component(void **state)
{
    struct fixture *x = *state;
    add(x, "logs/dmesg-x.txt", &tc_codec_kmsg);
    add(x, "old/dmesg-x.txt", &tc_codec_kmsg);
    x->hints.node_texts[x->hints.node_count++] = "both=dmesg-x.txt";
    x->hints.node_texts[x->hints.node_count++] = "one=old/dmesg-x.txt";
    assert_int_equal(apply(x), TC_OK);
    assert_slice(x->items[0].node, "both");
    assert_slice(x->items[1].node, "one");
}

static void a_node_for_no_file_is_an_error(void **state)
{
    struct fixture *x = *state;
    add(x, "dmesg-x.txt", &tc_codec_kmsg);
    x->hints.node_texts[x->hints.node_count++] = "gpu-07=nothing.txt";
    assert_int_equal(apply(x), TC_E_USAGE);
    assert_non_null(strstr(x->err.message, "no input is called \"nothing.txt\""));
    static const char *const bad[] = {"gpu-07", "=dmesg-x.txt", "gpu-07=", ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        x->hints.node_texts[0] = bad[i];
        assert_int_equal(apply(x), TC_E_USAGE);
        assert_non_null(strstr(x->err.message, "NAME=FILE"));
    }
}

static void boot_times_are_for_all_or_for_one(void **state)
{
    struct fixture *x = *state;
    add(x, "logs/dmesg-gpu-07.txt", &tc_codec_kmsg);
    add(x, "logs/dmesg-gpu-08.txt", &tc_codec_kmsg);
    add(x, "logs/dmesg-a=b.txt", &tc_codec_kmsg);
    add(x, "logs/dmesg-gpu-10.txt", &tc_codec_kmsg);
    x->hints.boot_texts[x->hints.boot_count++] = "gpu-08=2026-11-15T03:04:06Z";
    x->hints.boot_texts[x->hints.boot_count++] = "dmesg-a=b.txt=2026-11-15T03:04:07Z";
    x->hints.boot_texts[x->hints.boot_count++] = "2026-11-15T03:04:05Z";
    x->hints.boot_texts[x->hints.boot_count++] = "logs/dmesg-gpu-10.txt=2026-11-15T03:04:08Z";
    assert_int_equal(apply(x), TC_OK);
    assert_int_equal(x->items[0].boot_ns, T0);
    assert_int_equal(x->items[1].boot_ns, T0 + TC_SECOND);
    assert_int_equal(x->items[2].boot_ns, T0 + 2 * TC_SECOND);
    assert_int_equal(x->items[3].boot_ns, T0 + 3 * TC_SECOND);
}

static void a_boot_time_for_no_file_waits_for_a_node_that_lines_name(void **state)
{
    struct fixture *x = *state;
    add(x, "dmesg-gpu-07.txt", &tc_codec_kmsg);
    add(x, "events.json", &tc_codec_k8s);
    x->hints.boot_texts[x->hints.boot_count++] = "gpu-99=2026-11-15T03:04:05Z";
    x->hints.boot_texts[x->hints.boot_count++] = "gpu-07=2026-11-15T03:04:06Z";
    x->hints.boot_texts[x->hints.boot_count++] = "gpu-99=2026-11-15T03:04:07Z";
    x->hints.boot_texts[x->hints.boot_count++] = "2026-11-15T03:04:08Z";
    assert_int_equal(apply(x), TC_OK);
    assert_int_equal(x->items[0].boot_ns, T0 + TC_SECOND);
    assert_int_equal(x->hints.boots_count, 3); /* the one for all is for files */
    assert_true(x->hints.boots[1].used);
    assert_false(x->hints.boots[0].used || x->hints.boots[2].used);
    assert_int_equal(tc_hints_boot_of(&x->hints, TC_LIT("gpu-9")), TC_TIME_NONE);
    assert_int_equal(tc_hints_boot_of(&x->hints, TC_EMPTY), TC_TIME_NONE);
    assert_int_equal(tc_hints_boot_of(&x->hints, TC_LIT("gpu-99")), T0 + 2 * TC_SECOND);
    assert_true(x->hints.boots[2].used);
    assert_true(tc_nodes_takes_one(&x->items[0]));
    assert_false(tc_nodes_takes_one(&x->items[1]));
}

static void a_boot_time_that_is_none_is_an_error(void **state)
{
    struct fixture *x = *state;
    add(x, "dmesg-gpu-07.txt", &tc_codec_kmsg);
    x->hints.boot_count = 1;
    static const char *const bad[] = {"yesterday", "", "gpu-07=", "2026-11-15T03:04:05Zx"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        x->hints.boot_texts[0] = bad[i];
        assert_int_equal(apply(x), TC_E_USAGE);
        assert_non_null(strstr(x->err.message, "is not a time"));
    }
}

static void the_zone_holds_for_times_on_the_command_line(void **state)
{
    struct fixture *x = *state;
    add(x, "dmesg-gpu-07.txt", &tc_codec_kmsg);
    x->hints.tz_text = "+02:00";
    x->hints.now_text = "2026-11-15T05:04:05";
    x->hints.boot_texts[x->hints.boot_count++] = "2026-11-15T05:04:05";
    assert_int_equal(apply(x), TC_OK);
    assert_int_equal(x->hints.now_ns, T0);
    assert_int_equal(x->hints.utc_offset_s, 7200);
    assert_int_equal(x->items[0].now_ns, T0);
    assert_int_equal(x->items[0].boot_ns, T0);
    x->hints.tz_text = "nowhere";
    assert_int_equal(apply(x), TC_E_USAGE);
    x->hints.tz_text = NULL;
    x->hints.now_text = "noon";
    assert_int_equal(apply(x), TC_E_USAGE);
}

static void without_now_the_file_tells_the_year(void **state)
{
    struct fixture *x = *state;
    add(x, "dmesg-gpu-07.txt", &tc_codec_kmsg);
    assert_int_equal(apply(x), TC_OK);
    assert_int_equal(x->items[0].now_ns, 1000);
    assert_int_equal(x->hints.now_ns, TC_TIME_NONE);
}

static void dumps_of_one_directory_are_one_job(void **state)
{
    struct fixture *x = *state;
    add(x, "dumps/_dump_0", &tc_codec_flight_recorder);
    add(x, "./dumps//_dump_1", &tc_codec_flight_recorder);
    add(x, "_dump_2", &tc_codec_flight_recorder);
    add(x, "./_dump_3", &tc_codec_flight_recorder);
    add(x, "/dump_4", &tc_codec_flight_recorder);
    add(x, "../dump_5", &tc_codec_flight_recorder);
    add(x, "/a/b/dump_6", &tc_codec_flight_recorder);
    add(x, "dumps/events.json", &tc_codec_k8s);
    assert_int_equal(apply(x), TC_OK);
    static const char *const jobs[] = {"dumps", "dumps", "", "", "", "", "b", ""};
    for (size_t i = 0; i < FILES; i++) {
        assert_slice(x->items[i].job, jobs[i]);
    }
}

static void a_log_is_of_the_job_that_its_file_or_directory_names(void **state)
{
    struct fixture *x = *state;
    add(x, "out/slurm-4711.out", &tc_codec_job_log);
    add(x, "out/slurm-4711_12.err", &tc_codec_slurm);
    add(x, "11300781/logs/rank0.log", &tc_codec_train_log);
    add(x, "jobA/rank0.log", &tc_codec_train_log);
    add(x, "jobB/rank0.log", &tc_codec_train_log);
    add(x, "20261103/slurm-x.out", &tc_codec_job_log);
    add(x, "4711/dmesg-gpu-07.txt", &tc_codec_kmsg);
    add(x, "map.csv", &tc_codec_rank_map);
    x->items[7].bytes = TC_LIT("rank,node,job\n0,gpu-07,jobA\n1,gpu-08,myjobB\n");
    assert_int_equal(apply(x), TC_OK);
    static const char *const jobs[] = {"4711", "4711_12", "11300781", "jobA", "", "", "", ""};
    for (size_t i = 0; i < FILES; i++) {
        assert_slice(x->items[i].job, jobs[i]);
    }
}

static void directories_of_one_name_are_told_apart_by_their_path(void **state)
{
    struct fixture *x = *state;
    add(x, "b/dumps/_dump_0", &tc_codec_flight_recorder);
    add(x, "other/_dump_0", &tc_codec_flight_recorder);
    add(x, "a/dumps/_dump_0", &tc_codec_flight_recorder);
    add(x, "b/dumps/_dump_1", &tc_codec_flight_recorder);
    assert_int_equal(apply(x), TC_OK);
    assert_slice(x->items[0].job, "b/dumps");
    assert_slice(x->items[1].job, "other");
    assert_slice(x->items[2].job, "a/dumps");
    assert_slice(x->items[3].job, "b/dumps");
}

static void directories_side_by_side_without_a_rank_in_common_are_one_job(void **state)
{
    struct fixture *x = *state;
    add(x, "run/dumps/gpu-06/nccl_trace_rank_0.json", &tc_codec_flight_recorder);
    add(x, "run/dumps/gpu-06/nccl_trace_rank_1.json", &tc_codec_flight_recorder);
    add(x, "run/dumps/gpu-07/nccl_trace_rank_2.json", &tc_codec_flight_recorder);
    add(x, "jobs/a/_dump_0", &tc_codec_flight_recorder);
    add(x, "jobs/b/_dump_0", &tc_codec_flight_recorder);
    add(x, "jobs/b/_dump_1", &tc_codec_flight_recorder);
    assert_int_equal(apply(x), TC_OK);
    static const char *const jobs[] = {"dumps", "dumps", "dumps", "a", "b", "b"};
    static const char *const places[] = {"gpu-06", "gpu-06", "gpu-07", "", "", ""};
    for (size_t i = 0; i < 6; i++) {
        assert_slice(x->items[i].job, jobs[i]);
        assert_slice(x->items[i].place, places[i]);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zones_are_read),
        TEST(only_kernel_logs_take_a_node_from_their_name),
        TEST(node_names_a_file_by_path_or_last_component),
        TEST(a_node_for_no_file_is_an_error),
        TEST(boot_times_are_for_all_or_for_one),
        TEST(a_boot_time_for_no_file_waits_for_a_node_that_lines_name),
        TEST(a_boot_time_that_is_none_is_an_error),
        TEST(the_zone_holds_for_times_on_the_command_line),
        TEST(without_now_the_file_tells_the_year),
        TEST(dumps_of_one_directory_are_one_job),
        TEST(a_log_is_of_the_job_that_its_file_or_directory_names),
        TEST(directories_side_by_side_without_a_rank_in_common_are_one_job),
        TEST(directories_of_one_name_are_told_apart_by_their_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
