/* SPDX-License-Identifier: Apache-2.0 */
/* Every text here is invented, after the form of real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reader_testing.h"

#define CODEC &tc_codec_dcgm

#define DIAG                                                             \
    "+---------------------------+----------------------------------+\n" \
    "| Diagnostic                | Result                           |\n" \
    "|-----  Deployment  --------+----------------------------------|\n" \
    "| Denylist                  | Pass                             |\n" \
    "| Persistence Mode          | Pass                             |\n" \
    "| Warning                   | Persistence mode for GPU 0 is off|\n" \
    "| Page Retirement/Row Remap | Fail                             |\n" \
    "| Error                     | GPU 5 had memory errors and row r|\n" \
    "|                           | emappings are pending            |\n" \
    "+-----  Hardware  ----------+----------------------------------+\n" \
    "| GPU Memory                | Pass - GPUs: 0, 3                |\n" \
    "|                           | Fail - GPUs: 1, 2                |\n" \
    "| Warning                   | GPU 2 Detected 3 volatile double-|\n" \
    "|                           | bit ECC error(s) in GPU 2.       |\n" \
    "| pcie                      | Fail                             |\n" \
    "|                           | GPU3: Fail                       |\n" \
    "| Targeted Stress           | Fail - All                       |\n" \
    "+---------------------------+----------------------------------+\n"

static const struct tc_event *health(const struct reader_got *g, size_t n)
{
    const struct tc_event *ev = reader_kind(g, TC_EVENT_GPU_HEALTH, n);
    assert_non_null(ev);
    return ev;
}

static void tests_that_fail_are_findings(void **state)
{
    (void)state;
    struct reader_got *g = reader_decode(CODEC, DIAG, strlen(DIAG));
    assert_int_equal(g->count, 5);
    assert_int_equal(health(g, 0)->scope.gpu_index, 5);
    assert_slice(health(g, 0)->health.system, "memory");
    assert_slice(health(g, 0)->health.severity, "failure");
    assert_slice(health(g, 0)->health.message,
                 "GPU 5 had memory errors and row remappings are pending");
    assert_int_equal(health(g, 1)->scope.gpu_index, 2);
    assert_slice(health(g, 1)->health.message,
                 "GPU 2 Detected 3 volatile double-bit ECC error(s) in GPU 2.");
    assert_int_equal(health(g, 2)->scope.gpu_index, 1);
    assert_slice(health(g, 2)->health.message, "GPU Memory");
    assert_slice(health(g, 3)->health.system, "pcie");
    assert_int_equal(health(g, 3)->scope.gpu_index, 3);
    assert_int_equal(health(g, 4)->scope.gpu_index, -1);
    assert_slice(health(g, 4)->health.message, "Targeted Stress");
    reader_free(g);
    static const char passed[] = "| Diagnostic                | Result     |\n"
                                 "| GPU Memory                | Pass - All |\n"
                                 "| EUD Test                  | Skip - All |\n";
    g = reader_decode(CODEC, passed, sizeof passed - 1);
    assert_int_equal(g->count, 0);
    reader_free(g);
    assert_int_equal(reader_sniff(CODEC, passed), TC_SNIFF_LIKELY);
}

#define HEALTH                                                       \
    "2026-03-03 04:05:06 check\n"                                    \
    "| Health Monitor Report                                    |\n" \
    "| Overall Health            | Failure                      |\n" \
    "| GPU                       |                              |\n" \
    "| -> 3                      | Failure                      |\n" \
    "|    -> Errors              |                              |\n" \
    "|       -> NVLINK system    | Failure                      |\n" \
    "|                           | GPU 3's NvLink link 7 is     |\n" \
    "|                           | currently down               |\n" \
    "|       -> Thermal system   | Warning                      |\n" \
    "| NvSwitch                  |                              |\n" \
    "| -> 1                      | Failure                      |\n" \
    "|       -> NVSwitch fatal errors | Failure                 |\n" \
    "+---------------------------+------------------------------+\n"

static void the_health_report_is_read(void **state)
{
    (void)state;
    struct reader_got *g = reader_decode(CODEC, HEALTH, strlen(HEALTH));
    assert_int_equal(g->count, 3);
    assert_slice(health(g, 0)->health.system, "nvlink");
    assert_slice(health(g, 0)->health.message, "GPU 3's NvLink link 7 is currently down");
    assert_int_equal(health(g, 0)->scope.gpu_index, 3);
    assert_int_equal(health(g, 0)->time_ns, INT64_C(1772510706) * TC_SECOND);
    assert_slice(health(g, 1)->health.system, "thermal");
    assert_slice(health(g, 1)->health.severity, "warning");
    assert_int_equal(health(g, 2)->scope.gpu_index, -1);
    reader_free(g);
    static const char old[] = "Health Monitor Report\n"
                              "| Group 1    | Overall Health: Warning         |\n"
                              "| GPU ID: 4  | Warning                         |\n"
                              "|            | PCIe system: Warning - Detected |\n"
                              "|            | more than 8 PCIe replays        |\n"
                              "| GPU ID: 5  | Healthy                         |\n";
    g = reader_decode(CODEC, old, sizeof old - 1);
    assert_int_equal(g->count, 1);
    assert_int_equal(health(g, 0)->scope.gpu_index, 4);
    assert_slice(health(g, 0)->health.message, "Detected more than 8 PCIe replays");
    reader_free(g);
}

#define JSON                                                                                      \
    "{\"DCGM Diagnostic\": {\"test_categories\": [{\"tests\": [{\"name\": \"memory\", "           \
    "\"results\": [{\"entity_id\": 0, \"status\": \"Pass\"}, {\"entity_id\": 6, \"status\": "     \
    "\"Fail\", \"warnings\": [{\"warning\": \"GPU 6's \\\"row remapping failed\\\"\"}]}]}]}]}}\n" \
    "{\"DCGM GPU Diagnostic\": {\"test_categories\": [{\"tests\": [{\"name\": \"PCIe\", "         \
    "\"results\": [{\"gpu_ids\": \"1,2\", \"status\": \"FAIL\", \"warnings\": \"slow\"}]}]}]}}\n" \
    "{\"body\": {\"GPU\": {\"children\": {\"2\": {\"children\": {\"Errors\": {\"children\": "     \
    "{\"Memory system\": {\"overflow\": [\"bad\"], \"value\": \"Failure\"}}}}}}}, "               \
    "\"Overall Health\": {\"value\": \"Failure\"}}}\n"

static void json_is_read(void **state)
{
    (void)state;
    struct reader_got *g = reader_decode(CODEC, JSON, strlen(JSON));
    assert_int_equal(g->count, 4);
    assert_int_equal(health(g, 0)->scope.gpu_index, 6);
    assert_slice(health(g, 0)->health.message, "GPU 6's \"row remapping failed\"");
    assert_int_equal(health(g, 1)->scope.gpu_index, 1);
    assert_int_equal(health(g, 2)->scope.gpu_index, 2);
    assert_slice(health(g, 2)->health.system, "pcie");
    assert_int_equal(health(g, 3)->scope.gpu_index, 2);
    assert_slice(health(g, 3)->health.system, "memory");
    reader_free(g);
    static const char other[] = "{\"body\": {\"text\": \"hello\"}}\n";
    assert_int_equal(reader_sniff(CODEC, other), TC_SNIFF_NO);
}

static void links_and_samples_are_metrics(void **state)
{
    (void)state;
    static const char text[] = "|  NvLink Link Status  |\n"
                               "GPUs:\n    gpuId 1:\n        U D X _\n"
                               "NvSwitches:\n    physicalId 8:\n        D D\n\n"
                               "Key: Up=U\n\n\nmore\nlines\n"
                               "| NVLINK Error Counts      |\n"
                               "| GPU 5                    |\n"
                               "| Link 2        |          |\n"
                               "| -> Replay Error | 9      |\n"
                               "#Entity   TMPTR  XIDER\n"
                               "ID        C\n"
                               "GPU 3     92     N/A\n";
    static const double states[] = {3, 2, 1, 0};
    struct reader_got *g = reader_decode(CODEC, text, sizeof text - 1);
    assert_int_equal(g->count, 6);
    for (size_t i = 0; i < TC_COUNT(states); i++) {
        const struct tc_event *ev = reader_metric(g, TC_METRIC_NVLINK_STATE, i);
        assert_true(ev->metric.value == states[i] && ev->scope.gpu_index == 1);
    }
    assert_slice(reader_metric(g, TC_METRIC_NVLINK_STATE, 2)->metric.device, "2");
    const struct tc_event *replays = reader_metric(g, TC_METRIC_NVLINK_REPLAYS, 0);
    assert_true(replays->metric.value == 9 && replays->scope.gpu_index == 5);
    const struct tc_event *celsius = reader_metric(g, TC_METRIC_GPU_TEMP, 0);
    assert_true(celsius->metric.value == 92 && celsius->scope.gpu_index == 3);
    reader_free(g);
}

static void the_log_tells_of_findings(void **state)
{
    (void)state;
    static const char text[] =
        "2026-03-03 04:05:06.000 ERROR [1:2] [[Health]] Detected a WARNING in health system "
        "Thermal: 'Detected clocks event due to thermal violation in GPU 2.'\n"
        "2026-03-03 04:05:07.000 ERROR [1:2] gpuId 4 is lost. [/workspaces/dcgm/a.cpp:1] [b]\n"
        "2026-03-03 04:05:08.000 ERROR [1:2] Got error -37 [/workspaces/dcgm/a.cpp:2] [b]\n";
    struct reader_got *g = reader_decode(CODEC, text, sizeof text - 1);
    assert_int_equal(g->count, 2);
    assert_slice(health(g, 0)->health.system, "thermal");
    assert_slice(health(g, 0)->health.severity, "warning");
    assert_slice(health(g, 0)->health.message,
                 "Detected clocks event due to thermal violation in GPU 2.");
    assert_int_equal(health(g, 0)->scope.gpu_index, 2);
    assert_int_equal(health(g, 1)->scope.gpu_index, 4);
    reader_free(g);
    assert_int_equal(reader_sniff(CODEC, text), TC_SNIFF_LIKELY);
    assert_int_equal(reader_sniff(CODEC, "the connection is lost\n"), TC_SNIFF_NO);
}

static void hostile_texts_are_read(void **state)
{
    (void)state;
    reader_cut_anywhere(CODEC, DIAG);
    reader_cut_anywhere(CODEC, HEALTH);
    reader_cut_anywhere(CODEC, JSON);
    static const char text[] =
        "| Diagnostic | Result |\n| GPU Memory | Fail - GPUs: 99, 1x, ,,\0 |\n"
        "| GPU Memory | GPU99999999999999999999: Fail |\n||\n|\n"
        "| Health Monitor Report |\n| -> 999999999999999999999 | Failure |\n"
        "|  NvLink Link Status |\ngpuId 99999999999:\nU U U\n"
        "#Entity\nGPU 1 2 3 4\n\"DCGM Diagnostic\": {\"test_categories\": [[[\n";
    reader_free(reader_decode(CODEC, text, sizeof text - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tests_that_fail_are_findings),
        cmocka_unit_test(the_health_report_is_read),
        cmocka_unit_test(json_is_read),
        cmocka_unit_test(links_and_samples_are_metrics),
        cmocka_unit_test(the_log_tells_of_findings),
        cmocka_unit_test(hostile_texts_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
