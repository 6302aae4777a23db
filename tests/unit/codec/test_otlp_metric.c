/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics as OTLP/JSON. Names are the exporters', values are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/codec/otlp_testing.h"

#define GPU "GPU-01234567-89ab-cdef-0123-456789abcdef"
#define NODE RESOURCE(KV("k8s.node.name", STR("gpu-01")))
#define GAUGE(name, points) \
    "{\"name\":\"" name "\",\"unit\":\"1\",\"gauge\":{\"dataPoints\":[" points "]}}"
#define SUM(name, temporality, points)                                                             \
    "{\"name\":\"" name "\",\"sum\":{\"isMonotonic\":true,\"aggregationTemporality\":" temporality \
    ",\"dataPoints\":[" points "]}}"
#define POINT(attrs, value) "{" ATTRS(attrs) "," TIME "," value "}"

static void points_of_gauges_and_sums_become_metrics(void **state)
{
    (void)state;
#define LABELS                                                                                   \
    KV("gpu", STR("2"))                                                                          \
    "," KV("UUID", STR(GPU)) "," KV("pod", STR("w-0")) "," KV("namespace", STR("train")) "," KV( \
        "container", STR("main"))
    static const char point[] = POINT(LABELS, "\"asDouble\":81.5");
    char text[8192];
    (void)snprintf(
        text, sizeof text,
        METRICS(
            NODE,
            GAUGE("DCGM_FI_DEV_GPU_TEMP", "%s") "," SUM(
                "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "2",
                POINT(LABELS, "\"asInt\":\"17\"")) "," SUM("node_network_carrier_changes_total",
                                                           "\"AGGREGATION_TEMPORALITY_CUMULATIVE\"",
                                                           POINT(KV("device", STR("eth0")),
                                                                 "\"asInt\":3"))),
        point);
    assert_int_equal(decode(text), TC_OK);
    assert_int_equal(t.count, 3);
    const struct tc_event *ev = &t.events[0];
    assert_int_equal(ev->kind, TC_EVENT_METRIC);
    assert_int_equal(ev->metric.metric, TC_METRIC_GPU_TEMP);
    assert_true(ev->metric.value == 81.5);
    assert_true(ev->time_ns == at("2026-03-01T10:05:01Z"));
    SAME(ev->scope.node, "gpu-01");
    SAME(ev->scope.gpu_uuid, GPU);
    SAME(ev->scope.pod, "w-0");
    SAME(ev->scope.ns, "train");
    SAME(ev->scope.container, "main");
    assert_int_equal(ev->scope.gpu_index, 2);
    SAME(raw_of(0), point);
    assert_int_equal(t.events[1].metric.metric, TC_METRIC_GPU_ECC_SBE);
    assert_true(t.events[1].metric.value == 17);
    assert_int_equal(t.events[2].metric.metric, TC_METRIC_NET_CARRIER_CHANGES);
    SAME(t.events[2].metric.device, "eth0");
    assert_true(t.events[2].metric.value == 3);
}

static void the_point_comes_before_its_resource_and_integers_are_labels(void **state)
{
    (void)state;
    assert_int_equal(
        decode(METRICS(RESOURCE(KV("host.name", STR("gpu-01")) "," KV(
                           "service.instance.id", STR("gpu-02:9400")) "," KV("gpu", INT("7"))),
                       GAUGE("DCGM_FI_DEV_POWER_USAGE",
                             POINT(KV("gpu", INT("3")), "\"asDouble\":700") "," POINT(
                                 KV("gpu", "{\"intValue\":4}"),
                                 "\"asDouble\":701") "," POINT("", "\"asDouble\":702")))),
        TC_OK);
    assert_int_equal(t.count, 3);
    assert_int_equal(t.events[0].scope.gpu_index, 3);
    assert_int_equal(t.events[1].scope.gpu_index, 4);
    assert_int_equal(t.events[2].scope.gpu_index, 7);
    SAME(t.events[2].scope.node, "gpu-01");
    /* Without a name of the node the address that was scraped names it; an id does not. */
    assert_int_equal(
        decode(METRICS(
            RESOURCE(KV("service.instance.id", STR("gpu-02:9400"))),
            GAUGE(
                "DCGM_FI_DEV_GPU_TEMP",
                POINT("", "\"asInt\":\"1\""))) "\n" METRICS(RESOURCE(KV("service.instance.id",
                                                                        STR("627cc493-f310-47de-"
                                                                            "96bd-71410b7dec09"))),
                                                            GAUGE("DCGM_FI_DEV_GPU_TEMP",
                                                                  POINT("", "\"asInt\":\"1\"")))),
        TC_OK);
    assert_int_equal(t.count, 2);
    SAME(t.events[0].scope.node, "gpu-02");
    SAME(t.events[1].scope.node, "");
}

static void hardware_conventions_are_mapped_where_they_name_a_gpu(void **state)
{
    (void)state;
#define HW(type, more) KV("hw.id", STR(GPU)) "," KV("hw.type", STR(type)) more
#define ERROR(type) "," KV("error.type", STR(type))
    assert_int_equal(
        decode(METRICS(
            NODE,
            SUM("hw.errors", "2",
                POINT(HW("gpu", ERROR("corrected")), "\"asInt\":\"5\"") "," POINT(
                    HW("gpu", ERROR("uncorrected")),
                    "\"asInt\":\"6\"") "," POINT(HW("network", ERROR("corrected")),
                                                 "\"asInt\":\"7\"") "," POINT(HW("gpu",
                                                                                 ERROR("other")),
                                                                              "\"asInt\":"
                                                                              "\"8\"")) "," //
            GAUGE("hw.temperature", POINT(HW("gpu", ""), "\"asDouble\":66")) "," GAUGE(
                "hw.temperature", POINT(HW("cpu", ""), "\"asDouble\":67")) "," //
            GAUGE("hw.power", POINT(HW("gpu", ""), "\"asDouble\":500")) ","    //
            GAUGE("hw.gpu.utilization", POINT(HW("gpu", ""), "\"asDouble\":0.5")))),
        TC_OK);
    assert_int_equal(t.count, 5);
    assert_int_equal(t.unknown, 3);
    assert_int_equal(t.events[0].metric.metric, TC_METRIC_GPU_ECC_SBE);
    assert_int_equal(t.events[1].metric.metric, TC_METRIC_GPU_ECC_DBE);
    assert_int_equal(t.events[2].metric.metric, TC_METRIC_GPU_TEMP);
    assert_int_equal(t.events[3].metric.metric, TC_METRIC_GPU_POWER);
    assert_int_equal(t.events[4].metric.metric, TC_METRIC_GPU_UTIL);
    assert_true(t.events[4].metric.value == 50);
    SAME(t.events[0].scope.gpu_uuid, GPU);
}

static void step_times_of_ranks_are_metrics_and_place_the_rank_once(void **state)
{
    (void)state;
#define STEP_TIME(rank, value)                                                               \
    METRICS(RESOURCE(KV("k8s.pod.name", STR("w-0")) "," KV("k8s.node.name", STR("gpu-01"))), \
            GAUGE("training.step.duration", POINT(KV("rank", INT(rank)), "\"asDouble\":" value)))
    assert_int_equal(
        decode(STEP_TIME("3", "1.5") "\n" STEP_TIME("3", "1.6") "\n" STEP_TIME("4", "1")), TC_OK);
    assert_int_equal(events_of(TC_EVENT_METRIC), 3);
    assert_int_equal(events_of(TC_EVENT_RANK_PLACE), 2);
    assert_int_equal(t.events[0].metric.metric, TC_METRIC_STEP_SECONDS);
    assert_int_equal(t.events[0].scope.rank, 3);
    assert_int_equal(t.events[1].kind, TC_EVENT_RANK_PLACE);
    SAME(t.events[1].scope.pod, "w-0");
    SAME(t.events[1].scope.node, "gpu-01");
    assert_true(t.events[1].time_ns == t.events[0].time_ns);
}

#define CARD(index, uuid, value)                                                            \
    "{\"timeUnixNano\":\"1772359501000000000\",\"asDouble\":" value ",\"attributes\":[" KV( \
        "gpu", STR(index)) "," KV("UUID", STR(uuid)) "," KV("Hostname", STR("gpu-01")) "]}"
#define SCRAPED(name, points) "{\"name\":\"" name "\",\"gauge\":{\"dataPoints\":[" points "]}}"

/* A scrape says the same of each GPU under every metric; where it does not, nobody is mixed up. */
static void points_with_the_attributes_of_the_metric_before_keep_their_own(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *uuids; /* one letter for each event */
    } cases[] = {
        {METRICS(RESOURCE(""), SCRAPED("DCGM_FI_DEV_GPU_TEMP",
                                       CARD("0", "GPU-a", "61") "," CARD("1", "GPU-b", "62")) "," //
                 SCRAPED("DCGM_FI_DEV_POWER_USAGE",
                         CARD("0", "GPU-a", "63") "," CARD("1", "GPU-b", "64"))),
         "abab"},
        /* Another order, one that is missing, one more. */
        {METRICS(RESOURCE(""), SCRAPED("DCGM_FI_DEV_GPU_TEMP",
                                       CARD("0", "GPU-a", "61") "," CARD("1", "GPU-b", "62")) "," //
                 SCRAPED("DCGM_FI_DEV_POWER_USAGE",
                         CARD("1", "GPU-b", "63") "," CARD("0", "GPU-a", "64")) "," //
                 SCRAPED("DCGM_FI_DEV_MEMORY_TEMP", CARD("1", "GPU-b", "65")) ","   //
                 SCRAPED("DCGM_FI_DEV_SM_CLOCK",
                         CARD("1", "GPU-b", "66") "," CARD("0", "GPU-a",
                                                           "67") "," CARD("2", "GPU-c", "68"))),
         "abbabbac"},
        /* The same bytes from the first key on, but for the length of that key. */
        {METRICS(
             RESOURCE(""), SCRAPED("DCGM_FI_DEV_GPU_TEMP", CARD("0", "GPU-a", "61")) "," //
             SCRAPED("DCGM_FI_DEV_POWER_USAGE",
                     "{\"timeUnixNano\":\"1772359501000000000\",\"asDouble\":5,\"attributes\":[" //
                     KV("gpu", STR("0")) "," KV("UUID", STR("GPU-a")) "," KV(
                         "Hostname", STR("gpu-01")) "," KV("pod", STR("p")) "]}")),
         "aa"},
        /* Written with escapes, they are in memory that the next point uses too. */
        {METRICS(RESOURCE(""),
                 SCRAPED("DCGM_FI_DEV_GPU_TEMP",
                         CARD("0", "GPU-\\u0061", "61") "," CARD("1", "GPU-\\u0062", "62")) "," //
                 SCRAPED("DCGM_FI_DEV_POWER_USAGE",
                         CARD("0", "GPU-\\u0061", "63") "," CARD("1", "GPU-\\u0062", "64"))),
         "abab"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(cases[i].text), TC_OK);
        assert_int_equal(t.count, strlen(cases[i].uuids));
        for (size_t k = 0; k < t.count; k++) {
            assert_int_equal(t.events[k].scope.gpu_uuid.ptr[4], cases[i].uuids[k]);
        }
    }
    assert_int_equal(decode(cases[2].text), TC_OK);
    SAME(t.events[1].scope.pod, "p");
    /* The same labels say less of a metric that is about the node. */
    assert_int_equal(
        decode(METRICS(RESOURCE(""),
                       SCRAPED("DCGM_FI_DEV_GPU_TEMP", CARD("0", "GPU-a", "61")) ","    //
                       SCRAPED("node_filesystem_readonly", CARD("0", "GPU-a", "1")) "," //
                       SCRAPED("DCGM_FI_DEV_POWER_USAGE", CARD("0", "GPU-a", "62")))),
        TC_OK);
    assert_int_equal(t.count, 3);
    SAME(t.events[0].scope.gpu_uuid, "GPU-a");
    SAME(t.events[1].scope.gpu_uuid, "");
    SAME(t.events[1].scope.node, "gpu-01");
    SAME(t.events[2].scope.gpu_uuid, "GPU-a");
    /* What the resource adds is its own. */
    assert_int_equal(
        decode("{\"resourceMetrics\":[{\"resource\":" RESOURCE(
            KV("k8s.pod.name", STR("x"))) ",\"scopeMetrics\":[{\"metrics\":[" //
               SCRAPED("DCGM_FI_DEV_GPU_TEMP",
                       CARD("0", "GPU-a", "61")) "]}]},{\"resource\":" RESOURCE(KV("rank",
                                                                                   STR("3"))) //
               ",\"scopeMetrics\":[{\"metrics\":["                                            //
               SCRAPED("DCGM_FI_DEV_GPU_TEMP", CARD("0", "GPU-a", "61")) "]}]}]}"),
        TC_OK);
    size_t ranked = 0;
    for (size_t k = 0; k < t.count; k++) {
        ranked += t.events[k].kind == TC_EVENT_METRIC && t.events[k].scope.rank == 3;
    }
    assert_int_equal(ranked, 1);
    assert_int_equal(decode(cases[2].text), TC_OK);
    SAME(t.events[0].scope.pod, "");
}

static void what_cannot_be_read_is_counted_with_the_reason(void **state)
{
    (void)state;
#define TEMP "DCGM_FI_DEV_GPU_TEMP"
    static const struct {
        const char *metric;
        const char *why;
    } cases[] = {
        {GAUGE("some.other", POINT("", "\"asInt\":1")), "not a metric that any pattern reads"},
        {"{\"name\":7}", "not a metric that any pattern reads"},
        {"7", "not a metric that any pattern reads"},
        {"{\"name\":\"" TEMP "\",\"histogram\":{\"dataPoints\":[{}]}}",
         "neither a gauge nor a sum"},
        {"{\"name\":\"" TEMP "\",\"summary\":{\"dataPoints\":[{}]}}", "neither a gauge nor a sum"},
        {SUM(TEMP, "1", POINT("", "\"asInt\":1")), "a sum of differences (delta)"},
        {SUM(TEMP, "\"AGGREGATION_TEMPORALITY_DELTA\"", POINT("", "\"asInt\":1")),
         "a sum of differences (delta)"},
        {"{\"name\":\"" TEMP "\",\"gauge\":{}}", "a metric without data points"},
        {"{\"name\":\"" TEMP "\",\"gauge\":7}", "a metric without data points"},
        {GAUGE(TEMP, "{" TIME ",\"flags\":1,\"asDouble\":0}"), "a data point without a value"},
        {GAUGE(TEMP, "{" TIME "}"), "a data point without a value"},
        {GAUGE(TEMP, "{" TIME ",\"asDouble\":\"NaN\"}"), "a data point without a value"},
        {GAUGE(TEMP, "{" TIME ",\"asInt\":\"x\"}"), "a data point without a value"},
        {GAUGE(TEMP, "7"), "a data point without a value"},
        {GAUGE(TEMP, "{" TIME ",\"asInt\":\"9223372036854775794\"}"),
         "the exporter has no value for it (not supported)"},
        {GAUGE("hw.errors", POINT("", "\"asInt\":1")), "not a series that any pattern reads"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, METRICS("{}", "%s"), cases[i].metric);
        assert_int_equal(decode(text), TC_OK);
        if (t.count != 0 || strcmp(t.why, cases[i].why) != 0) {
            print_error("case %zu: %s\n", i, t.why);
        }
        assert_int_equal(t.count, 0);
        assert_int_equal(t.unknown, 1);
        assert_string_equal(t.why, cases[i].why);
    }
}

static void a_bad_point_is_told_and_the_rest_is_read(void **state)
{
    (void)state;
    static const char text[] =
        METRICS(NODE, GAUGE(TEMP, "{\"asInt\":x}," POINT("", "\"asInt\":60"))) "\n";
    assert_int_equal(decode(text), TC_E_MALFORMED);
    assert_int_equal(t.count, 1);
    assert_true(t.events[0].metric.value == 60);
    assert_int_equal(t.err.offset, strstr(text, "{\"asInt\":x}") - text);
    assert_true(tc_slice_starts(tc_slice_cstr(t.err.message), TC_LIT("line 1: a data point: ")));
    /* A torn metric costs itself and nothing before it. */
    static const char two[] = METRICS(
        NODE, GAUGE(TEMP, POINT("", "\"asInt\":1")) "," GAUGE(TEMP, POINT("", "\"asInt\":2")));
    size_t last = (size_t)(strstr(two, "\"asInt\":2") - two);
    assert_int_equal(decode_bytes(two, last), TC_E_MALFORMED);
    assert_int_equal(t.count, 1);
}

static void logs_and_metrics_of_one_document_are_both_read(void **state)
{
    (void)state;
    assert_int_equal(
        decode("{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[" GAUGE(
            TEMP,
            POINT("",
                  "\"asInt\":1")) "]}],\"resource\":" NODE
                                  "}],\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{" ATTRS(
                                      KV("dataloader.error_class", STR("timeout"))) "}]}]}]}"),
        TC_OK);
    assert_int_equal(t.count, 2);
    SAME(t.events[0].scope.node, "gpu-01");
    assert_int_equal(t.events[1].kind, TC_EVENT_LOADER_ERROR);
}

static void full_memory_stops_the_decoding(void **state)
{
    (void)state;
    static const char text[] = METRICS(
        NODE, GAUGE("node_infiniband_link_downed_total",
                    POINT(KV("device", STR("mlx4_0")) "," KV("port", STR("2")), "\"asInt\":1")));
    assert_int_equal(decode(text), TC_OK);
    SAME(t.events[0].metric.device, "mlx4_0/2");
    t.arena_bytes = 8;
    assert_int_equal(decode(text), TC_E_NOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(points_of_gauges_and_sums_become_metrics, setup),
        cmocka_unit_test_setup(the_point_comes_before_its_resource_and_integers_are_labels, setup),
        cmocka_unit_test_setup(hardware_conventions_are_mapped_where_they_name_a_gpu, setup),
        cmocka_unit_test_setup(step_times_of_ranks_are_metrics_and_place_the_rank_once, setup),
        cmocka_unit_test_setup(points_with_the_attributes_of_the_metric_before_keep_their_own,
                               setup),
        cmocka_unit_test_setup(what_cannot_be_read_is_counted_with_the_reason, setup),
        cmocka_unit_test_setup(a_bad_point_is_told_and_the_rest_is_read, setup),
        cmocka_unit_test_setup(logs_and_metrics_of_one_document_are_both_read, setup),
        cmocka_unit_test_setup(full_memory_stops_the_decoding, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
