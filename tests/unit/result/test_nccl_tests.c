/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/result/result_testing.h"

#define TOOL "nccl-tests"

#define HEAD                                                                                    \
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     " \
    "time   algbw   busbw #wrong\n"                                                             \
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            " \
    "(us)  (GB/s)  (GB/s)\n"
#define TAIL "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 2.5 \n#\n"

static void a_table_becomes_slices(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "# nccl-tests version 2.17.2 nccl-headers=22703 nccl-library=22703\n"
        "# Collective test starting: all_reduce_perf\n"
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 agg "
        "iters: 1 validation: 1 graph: 0 unalign: 0\n"
        "# Using devices\n"
        "#  Rank  0 Group  0 Pid   11 on node-a device  0 [0000:0f:00] NVIDIA H100 80GB HBM3\n"
        "#  Rank  1 Group  0 Pid   12 on node-b device  0 [0000:0f:00] NVIDIA H100 80GB HBM3\n" HEAD
        "     1048576        262144     float     sum      -1   2410.0    0.44    0.45      0   "
        "2.7e+06    0.39    0.40      3\n"
        "#\n" TAIL "# Collective test concluded: all_reduce_perf\n",
        TOOL);
    const struct tc_result_row *row = find_slice(r, "time", "in_place=0", 0);
    assert_cell(row, TC_SLICE_POINT,
                "op=all_reduce size=1048576 type=float redop=sum root=-1 in_place=0");
    assert_cell(row, TC_SLICE_FAMILY, TOOL);
    assert_cell(row, TC_SLICE_UNIT, "us");
    assert_real(row, TC_SLICE_MEAN, 2410);
    assert_real(row, TC_SLICE_COUNT, 20);
    assert_real(find_slice(r, "busbw", "in_place=0", 0), TC_SLICE_MEAN, 0.45);
    assert_real(find_slice(r, "algbw", "in_place=0", 0), TC_SLICE_MEAN, 0.44);
    assert_real(find_slice(r, "time", "in_place=1", 0), TC_SLICE_MEAN, 2.7e6);
    assert_real(find_slice(r, "busbw", "in_place=1", 0), TC_SLICE_MEAN, 0.40);
    assert_real(find_slice(r, "wrong", "in_place=1", 0), TC_SLICE_LAST, 3);
    assert_real(find_slice(r, "avg_busbw", "op=all_reduce", 0), TC_SLICE_MEAN, 2.5);
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_MODEL, "NVIDIA H100 80GB HBM3");
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, "2");
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT, "2");
    assert_fact(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_NCCL, "2.27.3");
    /* Elements were wrong. */
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "failed");
    assert_true(tc_slice_eq(tc_result_version(r), TC_LIT("2.17.2")));
    assert_false(has_contradiction(r));
    assert_defined(r);
    tc_result_destroy(r);
}

static void older_tables_have_other_columns(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "===begin all_gather_perf test===\n"
        "#       size         count    type     time   algbw   busbw  error     time   algbw   "
        "busbw  error\n"
        "           8             2   float    25.34    0.10    0.20  5e-07    25.23    0.30    "
        "0.40  "
        "0e+00\n" TAIL "===begin broadcast_perf test===\n"
        "#       size         count    type    root     time   algbw   busbw  error     time   "
        "algbw   busbw  error\n"
        "           8             2   float       0    21.42    0.01    0.02    N/A    21.28    "
        "0.03    "
        "0.04    N/A\n" TAIL,
        TOOL);
    assert_real(find_slice(r, "error", "op=all_gather size=8 type=float in_place=0", 0),
                TC_SLICE_LAST, 5e-7);
    assert_real(find_slice(r, "busbw", "op=all_gather size=8 type=float in_place=1", 0),
                TC_SLICE_MEAN, 0.40);
    assert_real(find_slice(r, "time", "op=broadcast size=8 type=float root=0 in_place=1", 0),
                TC_SLICE_MEAN, 21.28);
    assert_null(find_slice(r, "error", "op=broadcast", 0));
    assert_real(find_slice(r, "avg_busbw", "op=broadcast", 0), TC_SLICE_MEAN, 2.5);
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "succeeded");
    tc_result_destroy(r);
}

static void iterations_have_columns_of_their_own(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "# Collective test starting: sendrecv_perf\n"
        "#   size  count  type  redop  root  cputime algbw busbw #wrong i_min i_max i_p99 i_cv% "
        "cputime algbw busbw #wrong i_min i_max i_p99 i_cv%  timestamp\n"
        "    8  2  float  none  -1  10.0 0.1 0.2 0 9.0 12.0 11.9 3.1  11.0 0.3 0.4 0 8.0 14.0 13.9 "
        "4.1  2026-01-02 03:04:05\n" TAIL,
        TOOL);
    assert_real(find_slice(r, "cpu_time", "in_place=0", 0), TC_SLICE_MEAN, 10);
    assert_real(find_slice(r, "iteration_time", "in_place=1", 0), TC_SLICE_MIN, 8);
    assert_real(find_slice(r, "iteration_time", "in_place=1", 0), TC_SLICE_MAX, 14);
    assert_real(find_slice(r, "iteration_time", "in_place=1", 0), TC_SLICE_P99, 13.9);
    assert_null(find_slice(r, "time", "", 0));
    assert_defined(r);
    tc_result_destroy(r);
}

static void launchers_and_noise_are_looked_through(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0: + mpirun ./build/all_reduce_perf -b 8\n0: " HEAD
        "0:            8             2     float     sum      -1    1.0    0.5    0.6    N/A    "
        "2.0 "
        "   0.7    0.8    N/A\n"
        "3: node-a:12:13 [0] NCCL INFO comm 0x5 rank 1 nranks 2 - Destroy COMPLETE\n"
        "0: # Avg bus bandwidth    : 1\n",
        "[1,0]<stdout>:+ all_reduce_perf\n[1,0]<stdout>:" HEAD
        "[1,1]<stderr>:WARNING 12 13 of something\n"
        "[1,0]<stdout>:            8             2     float     sum      -1    1.0    0.5    0.6  "
        "  "
        "N/A    2.0    0.7    0.8    N/A\n"
        "[1,0]<stdout>:# Avg bus bandwidth    : 1\n",
        "\x1b[32mall_reduce_perf\x1b[0m\r\n" HEAD "            8             2     float     sum   "
        "   -1    1.0    0.5    0.6    N/A    2.0   "
        " 0.7    0.8    N/A\r\nNCCL version 2.14.3+cuda11.7\r\n# Avg bus bandwidth    : 1 GB/s\r\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct tc_result *r = read_text(texts[i], TOOL);
        assert_real(find_slice(r, "busbw", "op=all_reduce size=8", 0), TC_SLICE_MEAN, 0.6);
        assert_real(find_slice(r, "busbw", "op=all_reduce size=8", 1), TC_SLICE_MEAN, 0.8);
        assert_null(find_slice(r, "wrong", "", 0));
        assert_real(find_slice(r, "avg_busbw", "", 0), TC_SLICE_MEAN, 1);
        assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "succeeded");
        tc_result_destroy(r);
    }
}

static void a_log_that_begins_like_yaml_is_a_log(void **state)
{
    (void)state;
    /* YAML must not be asked about directives, nor about an entry of more than a megabyte. */
    static const char start[] = "0: all_reduce_perf\n%\n0: [\n";
    static const char noise[] = "0: node-a:12:13 [0] NCCL INFO comm, rank 1, nranks 2\n";
    static const char table[] = HEAD "8 2 float sum -1 1.0 0.5 0.6 0 2.0 0.7 0.8 0\n" TAIL;
    size_t count = 40000;
    size_t cap = sizeof start + sizeof table + count * sizeof noise;
    char *text = malloc(cap);
    assert_non_null(text);
    size_t len = (size_t)snprintf(text, cap, "%s", start);
    for (size_t i = 0; i < count; i++) {
        len += (size_t)snprintf(text + len, cap - len, "%s", noise);
    }
    len += (size_t)snprintf(text + len, cap - len, "%s", table);
    struct tc_result *r = read_bytes(tc_slice_make(text, len), TOOL);
    assert_real(find_slice(r, "busbw", "op=all_reduce size=8", 0), TC_SLICE_MEAN, 0.6);
    tc_result_destroy(r);
    free(text);
}

static void the_collective_is_never_guessed(void **state)
{
    (void)state;
    struct tc_result *r = read_text("for t in all_reduce_perf all_gather_perf\n" HEAD
                                    "8 2 float sum -1 1.0 0.5 0.6 0 2.0 0.7 0.8 0\n",
                                    TOOL);
    assert_cell(find_slice(r, "time", "", 0), TC_SLICE_POINT,
                "size=8 type=float redop=sum root=-1 in_place=0");
    assert_true(has_note(r, "which collective", false));
    assert_true(has_note(r, "did not end", false));
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "unknown");
    tc_result_destroy(r);
}

static void a_table_may_have_one_half_and_counts_for_people(void **state)
{
    (void)state;
    struct tc_result *r =
        read_text("# size count type redop root time algbw busbw\n"
                  "1073741824  2.68e+8  float    sum    -1  59530.2  18.04  33.82\n",
                  TOOL);
    assert_real(find_slice(r, "busbw", "size=1073741824", 0), TC_SLICE_MEAN, 33.82);
    assert_null(find_slice(r, "busbw", "", 1));
    tc_result_destroy(r);
}

static void a_replayed_trace_has_values_in_place_alone(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "all_reduce_perf\n" HEAD
        "           8             2     float     sum      -1                                "
        "     2.0    0.7    0.8      0\n" TAIL,
        TOOL);
    assert_null(find_slice(r, "time", "in_place=0", 0));
    assert_real(find_slice(r, "time", "in_place=1", 0), TC_SLICE_MEAN, 2);
    assert_real(find_slice(r, "busbw", "in_place=1", 0), TC_SLICE_MEAN, 0.8);
    tc_result_destroy(r);
}

static void what_is_cut_or_no_number_is_refused(void **state)
{
    (void)state;
    refuse_text(HEAD "8 2 float sum -1 1.0 0.5 0.6 0 2.0 0.7\n", TOOL, "line 3: a row of 11");
    refuse_text(HEAD "8 2 float sum -1 1.0 0.5 x 0 2.0 0.7 0.8 0\n", TOOL, "line 3: busbw is 'x'");
    refuse_text(HEAD "8 2 float sum -1 1.0 0.5 0.6 0 2.0\n8 2 float sum -1\n", TOOL,
                "line 3: a row of 10");
    refuse_text("[{\"busBw\": 1, \"inPlace\": 0}]", TOOL, "/0/size");
    refuse_text("numCycle,collective,gpus,size,type,busbw\n0,\"AllReduce\",1,8,\"float\"\n", TOOL,
                "line 2: 6 fields");
    refuse_text("all_reduce_perf\n", TOOL, "no table");
    struct tc_result *r = read_text(HEAD "8 2 float sum -1 -1.0 0.5 0.6 0 2.0 0.7 0.8 0\n", TOOL);
    assert_true(has_note(r, "negative", true));
    tc_result_destroy(r);
}

static void json_says_the_same(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "{\"version\":3,\"start_time\":\"2026-01-02 03:04:05\",\"args\":[\"./build/reduce_perf\","
        "\"-b\",\"8\"],\"env\":[\"A=b\"],\"nccl_version\":22703,\"config\":{\"iterations\":20,"
        "\"devices\":[{\"rank\":0,\"hostname\":\"a\",\"device_info\":\"H100\"},{\"rank\":1,"
        "\"hostname\":\"a\",\"device_info\":\"H100\"}]},\"results\":[{\"size\":8,\"count\":2,"
        "\"type\":\"float\",\"redop\":\"sum\",\"root\":\"     0\",\"out_of_place\":{\"time\":10.5,"
        "\"alg_bw\":0.1,\"bus_bw\":0.2,\"nwrong\":0},\"out_of_place_per_iter\":{\"min_us\":9,"
        "\"max_us\":12,\"avg_us\":10,\"p50_us\":10,\"p95_us\":11,\"p99_us\":11.5},\"in_place\":{"
        "\"time\":\"nan\",\"alg_bw\":0.3,\"bus_bw\":0.4,\"nwrong\":null},\"actual_iterations\":7}],"
        "\"out_of_bounds\":{\"count\":0,\"okay\":\"true\"},\"average_bus_bandwidth\":{"
        "\"bandwidth\":0.3,\"okay\":\"unchecked\"},\"errors\":[]}",
        TOOL);
    assert_real(find_slice(r, "time", "op=reduce size=8 type=float redop=sum root=0 in_place=0", 0),
                TC_SLICE_MEAN, 10.5);
    assert_real(find_slice(r, "time", "in_place=0", 0), TC_SLICE_COUNT, 7);
    assert_null(find_slice(r, "time", "in_place=1", 0));
    assert_null(find_slice(r, "wrong", "in_place=1", 0));
    assert_real(find_slice(r, "busbw", "in_place=1", 0), TC_SLICE_MEAN, 0.4);
    assert_real(find_slice(r, "iteration_time", "in_place=0", 0), TC_SLICE_P95, 11);
    assert_real(find_slice(r, "avg_busbw", "", 0), TC_SLICE_MEAN, 0.3);
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, "2");
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT, "1");
    assert_fact(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_NCCL, "2.27.3");
    assert_false(has_note(r, "newer", false));
    assert_defined(r);
    tc_result_destroy(r);
    r = read_text("{\"version\":4,\"nccl_version\":2708,\"results\":[{\"size\":8,\"in_place\":{"
                  "\"bus_bw\":1,\"cpu_time\":5}}]}",
                  TOOL);
    assert_true(has_note(r, "version 4 is newer", false));
    assert_real(find_slice(r, "cpu_time", "in_place=1", 0), TC_SLICE_MEAN, 5);
    assert_fact(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_NCCL, "2.7.8");
    tc_result_destroy(r);
    refuse_text("{\"nccl_version\":2708,\"results\":[{\"count\":8}]}", TOOL, "/results/0/size");
    refuse_text("{\"nccl_version\":2708}", TOOL, "/results");
}

/* alltoall_perf and others of 2.10 to 2.12 have nothing to reduce by, and keep the column. */
static void a_blank_redop_is_no_column_less(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        LINES(
            "# nThread 1 nGpus 2 minBytes 1024 maxBytes 2048 step: 2(factor) iters: 20",
            "#   Rank  0 Pid   1320 on ip-172-31-20-228 device  0 [0x00] Tesla V100-SXM2-16GB",
            "# Collective test starting: alltoall_perf",
            "#                                                       out-of-place                 "
            "      in-place",
            "#       size         count      type   redop     time   algbw   busbw  error     time "
            " "
            " algbw   busbw  error",
            "#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us) "
            " "
            "(GB/s)  (GB/s)",
            "        1024           128     float             24.88    0.04    0.02  0e+00    "
            "24.51  "
            "  0.04    0.02    N/A",
            "        2048           256     float         node1:12:12 [0] NCCL INFO Launch mode "
            "Group",
            "    25.88    0.08    0.04  0e+00    25.51    0.08    0.04    N/A",
            "# Avg bus bandwidth    : 0.03"),
        TOOL);
    const struct tc_result_row *row = find_slice(r, "time", "size=1024", 0);
    assert_real(row, TC_SLICE_MEAN, 24.88);
    assert_cell(row, TC_SLICE_POINT, "op=alltoall size=1024 type=float in_place=0");
    assert_real(find_slice(r, "busbw", "size=1024 type=float in_place=1", 0), TC_SLICE_MEAN, 0.02);
    assert_real(find_slice(r, "time", "size=2048 type=float in_place=1", 0), TC_SLICE_MEAN, 25.51);
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "succeeded");
    tc_result_destroy(r);
    /* With a root behind it, the number is the root. */
    r = read_text(
        LINES("# size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
              " 1024 128 float              3   24.88 0.04 0.02 0 24.5 0.04 0.02 0",
              "# Avg bus bandwidth    : 0.03"),
        TOOL);
    row = find_slice(r, "time", "", 0);
    assert_cell(row, TC_SLICE_POINT, "size=1024 type=float root=3 in_place=0");
    assert_real(row, TC_SLICE_MEAN, 24.88);
    tc_result_destroy(r);
}

#define BARE_HEAD "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong"
#define BARE_ROW " 1024 128 float sum -1 24.88 0.04 0.02 0 24.5 0.04 0.02 0"
#define BARE_END "# Avg bus bandwidth    : 0.03"
#define DEVICE(rank, host, device) \
    "#  Rank  " rank " Group  0 Pid 1 on " host " device  " device " [0x0" device "] NVIDIA A40"

/* Ranks are no GPUs where two share one, and hosts are counted by their names. */
static void gpus_are_counted_by_device_and_nodes_by_host(void **state)
{
    (void)state;
    struct tc_result *r =
        read_text(LINES(DEVICE("0", "a", "0"), DEVICE("1", "a", "0"), DEVICE("2", "b", "0"),
                        DEVICE("3", "b", "0"), BARE_HEAD, BARE_ROW, BARE_END),
                  TOOL);
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, "2");
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT, "2");
    tc_result_destroy(r);
    /* A program without MPI on two hosts: two tests, each with a rank 0. */
    r = read_text(
        LINES(DEVICE("0", "a", "0"), DEVICE("0", "b", "0"), BARE_HEAD, BARE_ROW, BARE_END), TOOL);
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, "2");
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT, "2");
    tc_result_destroy(r);
    /* Where lines of ranks are missing, there were as many as the highest one says, on hosts that
     * are not all known. */
    r = read_text(LINES(DEVICE("0", "a", "0"), "#  ...", DEVICE("7", "b", "3"), BARE_HEAD, BARE_ROW,
                        BARE_END),
                  TOOL);
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, "8");
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT, "");
    tc_result_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_becomes_slices),
        cmocka_unit_test(older_tables_have_other_columns),
        cmocka_unit_test(iterations_have_columns_of_their_own),
        cmocka_unit_test(launchers_and_noise_are_looked_through),
        cmocka_unit_test(a_log_that_begins_like_yaml_is_a_log),
        cmocka_unit_test(the_collective_is_never_guessed),
        cmocka_unit_test(a_table_may_have_one_half_and_counts_for_people),
        cmocka_unit_test(a_replayed_trace_has_values_in_place_alone),
        cmocka_unit_test(what_is_cut_or_no_number_is_refused),
        cmocka_unit_test(json_says_the_same),
        cmocka_unit_test(a_blank_redop_is_no_column_less),
        cmocka_unit_test(gpus_are_counted_by_device_and_nodes_by_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
