/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/result/result_testing.h"

#define TOOL "fio"

#define NEW_JOB                                                                                    \
    "{\"fio version\":\"fio-3.33\",\"timestamp_ms\":1700000010000,\"global options\":{\"bs\":"     \
    "\"4k\",\"rw\":\"randread\"},\"jobs\":[{\"jobname\":\"a b\",\"groupid\":0,\"job_start\":"      \
    "1700000000000,\"error\":0,\"elapsed\":11,\"job options\":{\"iodepth\":\"32\"},\"read\":{"     \
    "\"io_bytes\":4096000,\"bw_bytes\":409600,\"bw\":400,\"iops\":100.5,\"total_ios\":1000,"       \
    "\"slat_ns\":{\"min\":0,\"max\":0,\"mean\":0,\"stddev\":0,\"N\":0},\"clat_ns\":{\"min\":1000," \
    "\"max\":900000,\"mean\":20000.5,\"stddev\":1,\"N\":1000,\"percentile\":{\"1.000000\":1500,"   \
    "\"50.000000\":20000,\"95.000000\":80000,\"99.000000\":100000,\"99.900000\":200000},"          \
    "\"bins\":{\"1500\":3}},\"lat_ns\":{\"min\":1100,\"max\":900100,\"mean\":20100,\"N\":1000},"   \
    "\"bw_min\":300,\"bw_max\":500,\"bw_mean\":400.5,\"bw_samples\":20,\"iops_min\":90,"           \
    "\"iops_max\":110,\"iops_mean\":100.25,\"iops_samples\":20},\"write\":{\"io_bytes\":0,"        \
    "\"bw\":0,\"total_ios\":0},\"sync\":{\"lat_ns\":{\"min\":10,\"max\":30,\"mean\":20,"           \
    "\"N\":2}}}]}"

static void nanoseconds_become_microseconds(void **state)
{
    (void)state;
    struct tc_result *r = read_text(NEW_JOB, TOOL);
    const struct tc_result_row *row = find_slice(r, "read_clat", "", 0);
    assert_cell(row, TC_SLICE_POINT, "job=a_b rw=randread bs=4k iodepth=32");
    assert_cell(row, TC_SLICE_UNIT, "us");
    assert_real(row, TC_SLICE_MIN, 1);
    assert_real(row, TC_SLICE_MAX, 900);
    assert_real(row, TC_SLICE_MEAN, 20.0005);
    assert_real(row, TC_SLICE_P50, 20);
    assert_real(row, TC_SLICE_P95, 80);
    assert_real(row, TC_SLICE_P99, 100);
    assert_real(row, TC_SLICE_COUNT, 1000);
    assert_real(row, TC_SLICE_START, 1700000000000000);
    assert_real(row, TC_SLICE_END, 1700000010000000);
    assert_real(find_slice(r, "read_lat", "", 0), TC_SLICE_MEAN, 20.1);
    assert_null(find_slice(r, "read_slat", "", 0));
    assert_real(find_slice(r, "read_bw", "", 0), TC_SLICE_MEAN, 409600);
    assert_real(find_slice(r, "read_bw_sampled", "", 0), TC_SLICE_MAX, 512000);
    assert_real(find_slice(r, "read_iops", "", 0), TC_SLICE_MEAN, 100.5);
    assert_real(find_slice(r, "read_iops_sampled", "", 0), TC_SLICE_MIN, 90);
    assert_real(find_slice(r, "sync_lat", "", 0), TC_SLICE_MEAN, 0.02);
    assert_null(find_slice(r, "write_bw", "", 0));
    assert_true(tc_slice_eq(tc_result_version(r), TC_LIT("3.33")));
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "succeeded");
    assert_defined(r);
    tc_result_destroy(r);
}

static void older_files_have_microseconds_and_kibibytes(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "{\"fio version\":\"fio-2.1.4\",\"jobs\":[{\"jobname\":\"w\",\"groupid\":1,\"error\":5,"
        "\"write\":{\"io_bytes\":361984,\"bw\":68118,\"iops\":133,\"clat\":{\"min\":10,\"max\":30,"
        "\"mean\":20.5,\"percentile\":{\"50.000000\":20,\"99.000000\":29,\"0.00\":0,\"0.00\":0}}}},"
        "{\"jobname\":\"w\",\"groupid\":2,\"error\":0,\"trim\":{\"io_bytes\":1,\"bw\":2}}]}",
        TOOL);
    const struct tc_result_row *row = find_slice(r, "write_clat", "job=w group=1", 0);
    assert_real(row, TC_SLICE_MEAN, 20.5);
    assert_real(row, TC_SLICE_P50, 20);
    assert_real(row, TC_SLICE_P99, 29);
    assert_unknown(row, TC_SLICE_P95);
    assert_unknown(row, TC_SLICE_START);
    assert_real(find_slice(r, "write_bw", "", 0), TC_SLICE_MEAN, 68118.0 * 1024);
    assert_real(find_slice(r, "trim_bw", "group=2", 0), TC_SLICE_MEAN, 2048);
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "failed");
    assert_true(has_note(r, "error 5", false));
    tc_result_destroy(r);
}

static void text_around_the_json_is_looked_over(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "fio: this platform does not support process shared mutexes\nnote: {braces}\n" NEW_JOB
        "\n\nRun status group 0 (all jobs):\n" NEW_JOB "done\n",
        TOOL);
    assert_real(find_slice(r, "read_clat", "", 1), TC_SLICE_P99, 100);
    assert_null(find_slice(r, "read_clat", "", 2));
    tc_result_destroy(r);
    /* One document after the other. */
    r = read_text(NEW_JOB "\n" NEW_JOB "\n", TOOL);
    assert_real(find_slice(r, "read_clat", "", 1), TC_SLICE_P99, 100);
    tc_result_destroy(r);
}

static void several_hosts_report_as_clients(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "{\"fio version\":\"fio-3.33\",\"client_stats\":[{\"jobname\":\"j\",\"hostname\":\"h1\","
        "\"read\":{\"io_bytes\":1,\"bw_bytes\":10}},{\"jobname\":\"All clients\",\"read\":{"
        "\"io_bytes\":2,\"bw_bytes\":20}}]}",
        TOOL);
    assert_real(find_slice(r, "read_bw", "job=j host=h1", 0), TC_SLICE_MEAN, 10);
    assert_real(find_slice(r, "read_bw", "job=All_clients", 0), TC_SLICE_MEAN, 20);
    tc_result_destroy(r);
}

static void jobs_of_one_name_are_told_apart(void **state)
{
    (void)state;
#define ONE(name, bw)                                                                    \
    "{\"jobname\":\"" name "\",\"groupid\":0,\"read\":{\"io_bytes\":4096,\"bw\":" bw "," \
    "\"total_ios\":1}}"
    struct tc_result *r = read_text("{\"fio version\":\"fio-3.33\",\"jobs\":[" ONE(
                                        "a", "1") "," ONE("a", "2") "," ONE("b", "3") "]}",
                                    TOOL);
#undef ONE
    assert_cell(find_slice(r, "read_bw", "", 0), TC_SLICE_POINT, "job=a group=0 job_index=0");
    assert_cell(find_slice(r, "read_bw", "", 1), TC_SLICE_POINT, "job=a group=0 job_index=1");
    assert_cell(find_slice(r, "read_bw", "", 2), TC_SLICE_POINT, "job=b group=0");
    tc_result_destroy(r);
}

static void what_cannot_be_is_told(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "{\"fio version\":\"fio-3.1\",\"jobs\":[{\"jobname\":\"w\",\"write\":{\"io_bytes\":9,"
        "\"clat_ns\":{\"min\":-1,\"max\":30,\"mean\":20,\"percentile\":{\"50.000000\":29,"
        "\"99.000000\":20}}}}]}",
        TOOL);
    assert_true(has_note(r, "negative", true));
    assert_true(has_note(r, "above p99", true));
    tc_result_destroy(r);
    refuse_text("{\"fio version\":\"fio-3.1\",\"jobs\":[]}", TOOL, "/jobs");
    refuse_text("{\"fio version\":\"fio-3.1\",\"jobs\":[{\"jobname\":\"w\"}]}", TOOL, "no job did");
    refuse_text("warning\n{ \"fio version\" : \"fio-3.1\", \"jobs\" : [", TOOL, "line 2");
    refuse_text("{\"fio version\":\"fio-3.1\",\"jobs\":[{", TOOL, "cut off");
    refuse_text("no fio here\n", TOOL, "no JSON document of fio");
}

static void storage_needs_measurements(void **state)
{
    (void)state;
    refuse_text("{\"num_accelerators\": 1}", "mlperf-storage", "/metric");
    refuse_text("{\"num_accelerators\": 1, \"metric\": {\"a\": \"b\"}}", "mlperf-storage",
                "/metric");
    struct tc_result *r =
        read_text("{\"num_accelerators\": 1, \"metric\": {\"a_percentage\": [], \"b_GB\": 2}}",
                  "mlperf-storage");
    assert_real(find_slice(r, "b", "over=run", 0), TC_SLICE_LAST, 2);
    assert_unknown(find_slice(r, "a", "over=epochs", 0), TC_SLICE_MEAN);
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "incomplete");
    tc_result_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storage_needs_measurements),
        cmocka_unit_test(nanoseconds_become_microseconds),
        cmocka_unit_test(older_files_have_microseconds_and_kibibytes),
        cmocka_unit_test(text_around_the_json_is_looked_over),
        cmocka_unit_test(several_hosts_report_as_clients),
        cmocka_unit_test(jobs_of_one_name_are_told_apart),
        cmocka_unit_test(what_cannot_be_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
