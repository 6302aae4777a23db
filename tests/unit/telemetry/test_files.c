/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry files of a run. All exporters, clusters and values here are made up. */
#include "base/time.h"
#include "telemetry/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define T0 (INT64_C(1772600760) * TC_SECOND)
#define KEPT 64
#define TEXT 300
#define NOTES_KEPT 8

static struct {
    char text[TC_SLICE_COLUMNS][TEXT];
    double real[TC_SLICE_COLUMNS];
    int64_t integer[TC_SLICE_COLUMNS];
} got[KEPT];
static size_t got_count;
static char notes[NOTES_KEPT][TEXT];
static size_t note_count;
static char defined[4096];
static struct tc_telemetry_counts counts;
static struct tc_error err;
static tc_status take_says;

static tc_status take(void *context, const struct tc_rows *rows)
{
    (void)context;
    for (size_t r = 0; r < rows->count && got_count < KEPT; r++) {
        memset(&got[got_count], 0, sizeof got[0]);
        for (size_t c = 0; c < rows->column_count; c++) {
            if (tc_rows_is_null(rows, c, r)) {
                continue;
            }
            if (rows->columns[c].type == TC_COLUMN_TEXT) {
                struct tc_slice text = tc_rows_get_text(rows, c, r);
                memcpy(got[got_count].text[c], text.ptr, text.len < TEXT ? text.len : TEXT - 1);
            } else {
                got[got_count].integer[c] = rows->columns[c].cells[r].integer;
                got[got_count].real[c] = rows->columns[c].cells[r].real;
            }
        }
        got_count++;
    }
    return take_says;
}

static void note(void *context, struct tc_slice where, struct tc_slice field, struct tc_slice text)
{
    (void)context;
    (void)where;
    if (note_count < NOTES_KEPT) {
        (void)snprintf(notes[note_count++], TEXT, "%.*s: %.*s", TC_FMT(field), TC_FMT(text));
    }
}

static void define(void *context, const struct tc_telemetry_definition *d)
{
    (void)context;
    assert_non_null(d->note);
    size_t at = strlen(defined);
    (void)snprintf(defined + at, sizeof defined - at, "%.*s:%.*s %.*s [%.*s];", TC_FMT(d->family),
                   TC_FMT(d->field), TC_FMT(d->metric), TC_FMT(d->unit));
}

static tc_status read_bytes(struct tc_slice bytes, int64_t taken_ns)
{
    struct tc_telemetry_input in = {.name = TC_LIT("telemetry.txt"),
                                    .bytes = bytes,
                                    .taken_ns = taken_ns,
                                    .run_id = TC_LIT("run-1"),
                                    .scheduler_run_id = TC_LIT("sched-1"),
                                    .job_uid = TC_LIT("job-1"),
                                    .source_digest = TC_LIT("sha256:0123")};
    struct tc_telemetry_out out = {.take = take, .note = note, .define = define};
    got_count = 0;
    defined[0] = '\0';
    note_count = 0;
    memset(&err, 0, sizeof err);
    memset(&counts, 0, sizeof counts);
    return tc_telemetry_read(&in, &out, &counts, &err);
}

static void read_text(const char *text)
{
    tc_status status = read_bytes(tc_slice_cstr(text), T0);
    if (status != TC_OK) {
        fail_msg("%s: %s", tc_status_text(status), err.message);
    }
}

static void a_scrape_becomes_rows_of_the_run(void **state)
{
    (void)state;
    read_text("# TYPE kueue_pending_workloads gauge\n"
              "kueue_pending_workloads{cluster_queue=\"q\"} 4 1772600760000\n");
    assert_string_equal(counts.form, "prometheus");
    assert_int_equal(counts.samples, 1);
    assert_int_equal(counts.rows, 1);
    assert_int_equal(got_count, 1);
    assert_int_equal(note_count, 0);
    assert_string_equal(got[0].text[TC_SLICE_FAMILY], "kueue");
    assert_string_equal(got[0].text[TC_SLICE_RUN_ID], "run-1");
    assert_string_equal(got[0].text[TC_SLICE_JOIN], "given");
    assert_string_equal(got[0].text[TC_SLICE_SCHEDULER_RUN_ID], "sched-1");
    assert_string_equal(got[0].text[TC_SLICE_JOB_UID], "job-1");
    assert_string_equal(got[0].text[TC_SLICE_SOURCE_DIGEST], "sha256:0123");
    assert_int_equal(got[0].integer[TC_SLICE_START], T0 / 1000);
    assert_int_equal(got[0].integer[TC_SLICE_END], T0 / 1000 + 60000000);
}

static void a_file_without_times_is_told(void **state)
{
    (void)state;
    read_text("a{b=\"c\"} 1\n");
    assert_int_equal(counts.undated, 1);
    assert_int_equal(note_count, 1);
    assert_non_null(strstr(notes[0], "time: 1 samples have no time"));
    assert_int_equal(read_bytes(TC_LIT("a{b=\"c\"} 1\n"), TC_TIME_NONE), TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "no sample has a time"));
    assert_int_equal(read_bytes(TC_LIT("a{b=\"c\"} 1\n"), 0), TC_E_MALFORMED);
}

static void samples_of_another_run_are_left_out(void **state)
{
    (void)state;
    read_text("a{run_id=\"run-1\"} 1 1772600760000\n"
              "a{run_id=\"run-2\"} 2 1772600760000\n"
              "a 3 1772600760000\n");
    assert_int_equal(got_count, 2);
    assert_int_equal(counts.other_run, 1);
    assert_int_equal(note_count, 1);
    assert_non_null(strstr(notes[0], "run_id: 1 samples belong to run run-2"));
    assert_string_equal(got[0].text[TC_SLICE_JOIN], "given");
    assert_string_equal(got[1].text[TC_SLICE_JOIN], "identity");
}

static void a_file_of_another_run_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(read_bytes(TC_LIT("a{run_id=\"run-2\"} 2 1772600760000\n"), T0),
                     TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "belong to run run-2"));
    assert_int_equal(got_count, 0);
}

static void a_target_stays_a_target(void **state)
{
    (void)state;
    read_text("ping_rtt_mean_seconds{target=\"x\",ip=\"1.2.3.4\"} 1 1772600760000\n"
              "ping_loss_ratio{target=\"x\",ip=\"1.2.3.4\"} 0 1772600760000\n");
    assert_int_equal(got_count, 2);
    assert_string_equal(got[0].text[TC_SLICE_POINT], "ip=1.2.3.4,target=x");
    assert_string_equal(got[1].text[TC_SLICE_POINT], "ip=1.2.3.4,target=x");
}

static void units_have_one_spelling(void **state)
{
    (void)state;
    read_text("# TYPE a gauge\n# UNIT a seconds\na 1 1772600760000\n"
              "# TYPE b gauge\n# UNIT b celsius\nb 1 1772600760000\n"
              "# TYPE c gauge\n# UNIT c furlongs\nc 1 1772600760000\n"
              "# TYPE d histogram\n# UNIT d seconds\nd_count 1 1772600760000\n"
              "ping_loss_percent{target=\"x\"} 0.5 1772600760000\n");
    assert_int_equal(got_count, 5);
    for (size_t i = 0; i < got_count; i++) {
        static const char *const want[][2] = {{"a", "s"},
                                              {"b", "C"},
                                              {"c", "furlongs"},
                                              {"d_count", ""},
                                              {"ping_loss_percent", "ratio"}};
        size_t at = 0;
        while (at < 4 && strcmp(want[at][0], got[i].text[TC_SLICE_METRIC]) != 0) {
            at++;
        }
        assert_string_equal(got[i].text[TC_SLICE_METRIC], want[at][0]);
        assert_string_equal(got[i].text[TC_SLICE_UNIT], want[at][1]);
    }
}

static void a_rate_is_no_counter(void **state)
{
    (void)state;
    read_text("# TYPE DCGM_FI_PROF_PCIE_TX_BYTES counter\n"
              "DCGM_FI_PROF_PCIE_TX_BYTES{UUID=\"GPU-1\"} 1000 1772600760000\n"
              "DCGM_FI_PROF_PCIE_TX_BYTES{UUID=\"GPU-1\"} 3000 1772600770000\n");
    assert_int_equal(got_count, 1);
    assert_string_equal(got[0].text[TC_SLICE_UNIT], "bytes/s");
    assert_true(got[0].real[TC_SLICE_MEAN] == 2000);
}

static void metrics_that_are_renamed_are_defined_once(void **state)
{
    (void)state;
    read_text("# TYPE ping_rtt_mean_seconds gauge\n"
              "ping_rtt_mean_seconds{target=\"a\"} 1 1772600760000\n"
              "# TYPE x_total counter\nx_total 2 1772600760000\n"
              "ping_rtt_mean_seconds{target=\"b\"} 1 1772600760000\n"
              "DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-1\"} 1 1772600760000\n");
    assert_string_equal(defined, "ping:ping_rtt_mean_seconds ping_rtt_mean [ms];"
                                 "dcgm:DCGM_FI_DEV_GPU_TEMP gpu_temperature [C];");
}

static void labels_of_cadvisor_name_the_pod(void **state)
{
    (void)state;
    read_text("container_cpu_usage_seconds_total{container=\"c\",id=\"/kubepods.slice/"
              "kubepods-pod0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9.slice/cri-1.scope\",image=\"i\","
              "name=\"n\",namespace=\"ns\",pod=\"p\"} 1 1772600760000\n"
              "container_cpu_usage_seconds_total{id=\"/system.slice\"} 1 1772600760000\n"
              "container_last_seen{id=\"/podpod0a1b\",pod=\"p\"} 1 1772600760000\n"
              "kube_pod_info{uid=\"u-1\",pod=\"p\"} 1 1772600760000\n");
    assert_int_equal(got_count, 4);
    assert_string_equal(got[0].text[TC_SLICE_POINT], "id=/system.slice");
    assert_string_equal(got[1].text[TC_SLICE_POD_UID], "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9");
    assert_string_equal(got[1].text[TC_SLICE_POINT], "container=c,namespace=ns,pod=p");
    assert_string_equal(got[2].text[TC_SLICE_POINT], "pod=p");
    assert_string_equal(got[2].text[TC_SLICE_POD_UID], "");
    assert_string_equal(got[3].text[TC_SLICE_POD_UID], "u-1");
}

static void bad_lines_are_told_with_their_place(void **state)
{
    (void)state;
    read_text("# TYPE a gauge\na 1 1772600760000\nb 2 1772600760000\nc 1\nnot one of them\n");
    assert_int_equal(counts.bad, 1);
    assert_int_equal(note_count, 2);
    assert_non_null(strstr(notes[1], "line 5"));
}

static void what_cannot_be_read_gives_no_rows(void **state)
{
    (void)state;
    assert_int_equal(read_bytes(TC_EMPTY, T0), TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "empty"));
    assert_int_equal(read_bytes(TC_LIT("{\"date\": 1}"), T0), TC_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "expected Prometheus text"));
    assert_null(strstr(err.message, ", line "));
    assert_int_equal(read_bytes(TC_LIT("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\" 5\n"), T0),
                     TC_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "as Prometheus text, line 1: "));
    assert_int_equal(read_bytes(TC_LIT("# one\na{x=\"1\"} 1\na{x=\"1\"} abc\n"), T0),
                     TC_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "as Prometheus text, line 3: "));
    assert_int_equal(read_bytes(TC_LIT("a\0b 1\n"), T0), TC_E_UNSUPPORTED);
    assert_null(strstr(err.message, "line 1"));
    assert_int_equal(
        read_bytes(TC_LIT("{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":3}]}]}"), T0),
        TC_E_MALFORMED);
    assert_int_equal(read_bytes(TC_LIT("{\"resourceMetrics\":[]}"), T0), TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "no samples"));
    assert_int_equal(got_count, 0);
}

static void what_the_import_says_is_returned(void **state)
{
    (void)state;
    take_says = TC_E_IO;
    tc_status status = read_bytes(TC_LIT("a{b=\"c\"} 1\n"), T0);
    take_says = TC_OK;
    assert_int_equal(status, TC_E_IO);
}

static void events_of_kubernetes_are_counted_by_reason_and_object(void **state)
{
    (void)state;
    read_text("{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":["
              "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"e1\","
              "\"namespace\":\"ml\",\"uid\":\"u1\"},\"involvedObject\":{\"kind\":\"Pod\","
              "\"name\":\"p1\",\"namespace\":\"ml\",\"uid\":\"pu1\"},\"reason\":\"BackOff\","
              "\"type\":\"Warning\",\"count\":7,\"source\":{\"component\":\"kubelet\",\"host\":"
              "\"n1\"},\"lastTimestamp\":\"2026-03-04T05:06:30Z\"},"
              "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"e2\","
              "\"namespace\":\"default\",\"uid\":\"u2\"},\"involvedObject\":{\"kind\":\"Node\","
              "\"name\":\"n2\"},\"reason\":\"NodeNotReady\",\"type\":\"Normal\","
              "\"lastTimestamp\":\"2026-03-04T05:06:31Z\"}]}");
    assert_string_equal(counts.form, "kubernetes");
    assert_int_equal(got_count, 2);
    assert_string_equal(got[0].text[TC_SLICE_METRIC], "kubernetes_events");
    assert_string_equal(got[0].text[TC_SLICE_FAMILY], "kubernetes");
    assert_string_equal(got[0].text[TC_SLICE_NODE], "n1");
    assert_string_equal(got[0].text[TC_SLICE_POD_UID], "pu1");
    assert_string_equal(got[0].text[TC_SLICE_POINT],
                        "component=kubelet,kind=Pod,name=p1,namespace=ml,reason=BackOff,"
                        "type=Warning");
    assert_true(got[0].real[TC_SLICE_LAST] == 7);
    assert_string_equal(got[1].text[TC_SLICE_NODE], "n2");
    assert_string_equal(got[1].text[TC_SLICE_POINT], "kind=Node,reason=NodeNotReady,type=Normal");
    assert_true(got[1].real[TC_SLICE_LAST] == 1);
}

static void our_own_events_are_read(void **state)
{
    (void)state;
    read_text("{\"kind\":\"metric\",\"time\":\"2026-03-04T05:06:00Z\",\"node\":\"n1\","
              "\"gpu.uuid\":\"GPU-1\",\"metric\":\"gpu_temperature\",\"value\":50}\n"
              "{\"kind\":\"train_step\",\"time\":\"2026-03-04T05:06:10Z\",\"job\":\"j\",\"rank\":3,"
              "\"step\":9,\"duration\":1.5}\n");
    assert_string_equal(counts.form, "events");
    assert_int_equal(got_count, 2);
    assert_string_equal(got[0].text[TC_SLICE_METRIC], "gpu_temperature");
    assert_string_equal(got[0].text[TC_SLICE_GPU], "GPU-1");
    assert_string_equal(got[1].text[TC_SLICE_METRIC], "step_seconds");
    assert_int_equal(got[1].integer[TC_SLICE_RANK], 3);
    assert_true(got[1].real[TC_SLICE_LAST] == 1.5);
}

static void lines_of_the_collector_are_read(void **state)
{
    (void)state;
    read_text(
        "{\"resourceMetrics\":[{\"resource\":{\"attributes\":[{\"key\":\"k8s.node.name\",\"value\":"
        "{\"stringValue\":\"n1\"}},{\"key\":\"tracecore.run.id\",\"value\":{\"stringValue\":"
        "\"run-1\"}},{\"key\":\"telemetry.sdk.name\",\"value\":{\"stringValue\":\"x\"}}]},"
        "\"scopeMetrics\":[{\"metrics\":[{\"name\":\"k8s.node.cpu.usage\",\"unit\":\"{cpu}\","
        "\"gauge\":{\"dataPoints\":[{\"timeUnixNano\":\"1772600760000000000\",\"asDouble\":3.5}"
        "]}}]}]}]}\n");
    assert_string_equal(counts.form, "otlp-json");
    assert_int_equal(got_count, 1);
    assert_string_equal(got[0].text[TC_SLICE_FAMILY], "kubernetes");
    assert_string_equal(got[0].text[TC_SLICE_METRIC], "k8s.node.cpu.usage");
    assert_string_equal(got[0].text[TC_SLICE_UNIT], "{cpu}");
    assert_string_equal(got[0].text[TC_SLICE_NODE], "n1");
    assert_string_equal(got[0].text[TC_SLICE_JOIN], "identity");
    assert_string_equal(got[0].text[TC_SLICE_POINT], "");
}

static void any_number_of_series_of_a_file_has_room(void **state)
{
    (void)state;
    size_t bytes = (size_t)50000 * 32;
    char *text = malloc(bytes);
    assert_non_null(text);
    size_t at = 0;
    for (int i = 0; i < 50000; i++) {
        at += (size_t)snprintf(text + at, bytes - at, "m%d 1 1772600760000\n", i);
    }
    tc_status status = read_bytes(tc_slice_make(text, at), T0);
    free(text);
    assert_int_equal(status, TC_OK);
    assert_int_equal(counts.rows, 50000);
    assert_int_equal(counts.series, 50000);
    assert_int_equal(note_count, 0);
}

static void files_are_recognised_by_content(void **state)
{
    (void)state;
    assert_true(tc_telemetry_sniff(TC_LIT("a{b=\"c\"} 1\n"), TC_LIT("x.json")));
    assert_false(tc_telemetry_sniff(TC_LIT("{\"date\": 1}"), TC_LIT("x.prom")));
    assert_false(tc_telemetry_sniff(TC_EMPTY, TC_EMPTY));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scrape_becomes_rows_of_the_run),
        cmocka_unit_test(a_file_without_times_is_told),
        cmocka_unit_test(samples_of_another_run_are_left_out),
        cmocka_unit_test(a_file_of_another_run_is_an_error),
        cmocka_unit_test(a_target_stays_a_target),
        cmocka_unit_test(a_rate_is_no_counter),
        cmocka_unit_test(units_have_one_spelling),
        cmocka_unit_test(metrics_that_are_renamed_are_defined_once),
        cmocka_unit_test(labels_of_cadvisor_name_the_pod),
        cmocka_unit_test(bad_lines_are_told_with_their_place),
        cmocka_unit_test(what_cannot_be_read_gives_no_rows),
        cmocka_unit_test(what_the_import_says_is_returned),
        cmocka_unit_test(events_of_kubernetes_are_counted_by_reason_and_object),
        cmocka_unit_test(our_own_events_are_read),
        cmocka_unit_test(lines_of_the_collector_are_read),
        cmocka_unit_test(any_number_of_series_of_a_file_has_room),
        cmocka_unit_test(files_are_recognised_by_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
