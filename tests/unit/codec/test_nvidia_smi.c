/* SPDX-License-Identifier: Apache-2.0 */
/* Every text here is invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reader_testing.h"

#define CODEC &tc_codec_nvidia_smi

#define QUERY                                                \
    "==============NVSMI LOG==============\n"                \
    "\n"                                                     \
    "Timestamp                 : Tue Mar  3 04:05:06 2026\n" \
    "Driver Version            : 570.00\n"                   \
    "Attached GPUs             : 2\n"                        \
    "GPU 00000000:3B:00.0\n"                                 \
    "    Product Name          : NVIDIA X100\n"              \
    "    MIG Device\n"                                       \
    "        Index             : 0\n"                        \
    "        ECC Errors\n"                                   \
    "            Volatile\n"                                 \
    "                SRAM Uncorrectable : 5\n"               \
    "    GPU UUID              : GPU-aaaa\n"                 \
    "    GPU Recovery Action   : None\n"                     \
    "    PCI\n"                                              \
    "        Bus Id            : 00000000:3B:00.0\n"         \
    "        GPU Link Info\n"                                \
    "            PCIe Generation\n"                          \
    "                Max       : 5\n"                        \
    "                Current   : 1\n"                        \
    "            Link Width\n"                               \
    "                Max       : 16x\n"                      \
    "                Current   : 16x\n"                      \
    "        Replays Since Reset : 7\n"                      \
    "    Performance State     : P8\n"                       \
    "    Clocks Event Reasons\n"                             \
    "        Idle              : Active\n"                   \
    "        HW Slowdown       : Active\n"                   \
    "            HW Thermal Slowdown : Active\n"             \
    "        SW Power Cap      : Not Active\n"               \
    "    Clocks Event Reasons Counters\n"                    \
    "        HW Thermal Slowdown : 12 us\n"                  \
    "        SW Thermal Slowdown : 30 us\n"                  \
    "    Utilization\n"                                      \
    "        Gpu               : 40 %\n"                     \
    "    ECC Mode\n"                                         \
    "        Current           : Enabled\n"                  \
    "    ECC Errors\n"                                       \
    "        Volatile\n"                                     \
    "            SRAM Correctable : 1\n"                     \
    "            SRAM Uncorrectable Parity : 2\n"            \
    "            DRAM Correctable : 3\n"                     \
    "            DRAM Uncorrectable : 4\n"                   \
    "        Aggregate\n"                                    \
    "            SRAM Correctable : 10\n"                    \
    "            DRAM Uncorrectable : 40\n"                  \
    "        Aggregate Uncorrectable SRAM Sources\n"         \
    "            SRAM L2       : 99\n"                       \
    "    Remapped Rows\n"                                    \
    "        Correctable Error : 0\n"                        \
    "        Uncorrectable Error : 6\n"                      \
    "        Pending           : Yes\n"                      \
    "        Remapping Failure Occurred : No\n"              \
    "    Temperature\n"                                      \
    "        GPU Current Temp  : 66 C\n"                     \
    "        GPU Shutdown Temp : 92 C\n"                     \
    "        Memory Current Temp : N/A\n"                    \
    "    Max Clocks\n"                                       \
    "        SM                : 1980 MHz\n"                 \
    "\n"                                                     \
    "GPU 00000000:5E:00.0\n"                                 \
    "    Product Name          : NVIDIA X100\n"              \
    "    GPU UUID              : GPU is lost\n"              \
    "    Performance State     : GPU is lost\n"

static double value_of(const struct reader_got *g, enum tc_metric metric)
{
    const struct tc_event *ev = reader_metric(g, metric, 0);
    return ev == NULL ? -1 : ev->metric.value;
}

static void a_query_is_read_by_its_headings(void **state)
{
    (void)state;
    struct reader_got *g = reader_decode(CODEC, QUERY, strlen(QUERY));
    const struct tc_event *temperature = reader_metric(g, TC_METRIC_GPU_TEMP, 0);
    assert_non_null(temperature);
    assert_true(temperature->metric.value == 66);
    assert_int_equal(temperature->time_ns, INT64_C(1772510706) * TC_SECOND);
    assert_int_equal(temperature->scope.pci.bus, 0x3b);
    assert_slice(temperature->scope.gpu_uuid, "GPU-aaaa");
    assert_true(value_of(g, TC_METRIC_GPU_ECC_SBE) == 4);
    assert_true(value_of(g, TC_METRIC_GPU_ECC_DBE) == 6); /* without that of the MIG device */
    assert_true(value_of(g, TC_METRIC_GPU_ECC_SBE_AGG) == 10);
    assert_true(value_of(g, TC_METRIC_GPU_ECC_DBE_AGG) == 40);
    assert_true(value_of(g, TC_METRIC_GPU_THROTTLE) == 0x49);
    assert_true(value_of(g, TC_METRIC_GPU_THERMAL_VIOLATION) == 42000);
    assert_true(value_of(g, TC_METRIC_GPU_ROWS_UNC) == 6);
    assert_true(value_of(g, TC_METRIC_GPU_ROW_PENDING) == 1);
    assert_true(value_of(g, TC_METRIC_GPU_ROW_FAILURE) == 0);
    assert_true(value_of(g, TC_METRIC_GPU_PCIE_REPLAYS) == 7);
    assert_true(value_of(g, TC_METRIC_GPU_PCIE_GEN_MAX) == 5);
    assert_null(reader_metric(g, TC_METRIC_GPU_MEM_TEMP, 0));
    assert_null(
        reader_metric(g, TC_METRIC_GPU_SM_CLOCK, 0));   /* what it could be is not what it is */
    assert_null(reader_kind(g, TC_EVENT_PCIE_LINK, 0)); /* slow to save power */
    const struct tc_event *lost = reader_kind(g, TC_EVENT_GPU_HEALTH, 0);
    assert_non_null(lost);
    assert_int_equal(lost->scope.pci.bus, 0x5e);
    assert_slice(lost->health.severity, "failure");
    assert_null(reader_kind(g, TC_EVENT_GPU_HEALTH, 1));
    reader_free(g);
    assert_int_equal(reader_sniff(CODEC, QUERY), TC_SNIFF_LIKELY);
}

static void a_piece_of_a_query_is_read(void **state)
{
    (void)state;
    static const char text[] = "gpu07:     Remapped Rows\n"
                               "gpu07:         Uncorrectable Error : 3\n"
                               "gpu07:         Remapping Failure Occurred : Yes\n";
    struct reader_got *g = reader_decode(CODEC, text, sizeof text - 1);
    assert_true(value_of(g, TC_METRIC_GPU_ROW_FAILURE) == 1);
    assert_slice(g->events[0].scope.node, "gpu07");
    reader_free(g);
    /* The heading alone may be anybody's. */
    assert_int_equal(reader_sniff(CODEC, "# Remapped Rows\nRemapped Rows\n"), TC_SNIFF_NO);
}

#define XML_GPU                                                                        \
    "<gpu id=\"00000000:3B:00.0\">\n"                                                  \
    "<mig_devices><mig_device><ecc_error_count><volatile_count>"                       \
    "<sram_uncorrectable>9</sram_uncorrectable>"                                       \
    "</volatile_count></ecc_error_count></mig_device></mig_devices>\n"                 \
    "<uuid>GPU-bbbb</uuid>\n"                                                          \
    "<pci><pci_gpu_link_info><pcie_gen><max_link_gen>4</max_link_gen>"                 \
    "<current_link_gen>3</current_link_gen></pcie_gen>\n"                              \
    "<link_widths><max_link_width>16x</max_link_width>"                                \
    "<current_link_width>16x</current_link_width></link_widths></pci_gpu_link_info>\n" \
    "<replay_counter>3</replay_counter></pci>\n"                                       \
    "<performance_state>P0</performance_state>\n"                                      \
    "<utilization><gpu_util>97 %</gpu_util></utilization>\n"                           \
    "<ecc_errors><volatile><single_bit><total>1</total></single_bit>"                  \
    "<double_bit><total>2</total></double_bit></volatile>\n"                           \
    "<aggregate><dram_uncorrectable>5</dram_uncorrectable></aggregate></ecc_errors>\n" \
    "<temperature><gpu_temp>77 C</gpu_temp></temperature>\n"                           \
    "</gpu>"
#define XML                                        \
    "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n" \
    "<timestamp>Tue Mar  3 04:05:06 2026</timestamp>\n" XML_GPU "\n</nvidia_smi_log>\n"

static void xml_is_read_by_parent_and_element(void **state)
{
    (void)state;
    struct reader_got *g = reader_decode(CODEC, XML, strlen(XML));
    assert_true(value_of(g, TC_METRIC_GPU_ECC_SBE) == 1);
    assert_true(value_of(g, TC_METRIC_GPU_ECC_DBE) == 2);
    assert_true(value_of(g, TC_METRIC_GPU_ECC_DBE_AGG) == 5);
    assert_true(value_of(g, TC_METRIC_GPU_TEMP) == 77);
    assert_int_equal(g->events[0].time_ns, INT64_C(1772510706) * TC_SECOND);
    const struct tc_event *link = reader_kind(g, TC_EVENT_PCIE_LINK, 0);
    assert_non_null(link); /* slow under load */
    assert_true(link->aer.speed_gts == 8 && link->aer.speed_gts_max == 16);
    const struct tc_event *gpu = reader_kind(g, TC_EVENT_GPU_INVENTORY, 0);
    assert_non_null(gpu);
    assert_slice(gpu->scope.gpu_uuid, "GPU-bbbb");
    reader_free(g);
    assert_int_equal(reader_sniff(CODEC, XML), TC_SNIFF_SURE);
    /* Two of them on one line, and the second one cut. */
    static const char torn[] =
        XML_GPU "<gpu id=\"00000000:5E:00.0\"><temperature><gpu_temp>88 C</gp";
    g = reader_decode(CODEC, torn, sizeof torn - 1);
    assert_true(value_of(g, TC_METRIC_GPU_TEMP) == 77);
    reader_free(g);
}

#define TABLE                                                                             \
    "Tue Mar  3 04:05:06 2026       \n"                                                   \
    "|   0  NVIDIA X100          On  |   00000000:3B:00.0 Off |                    2 |\n" \
    "| N/A   43C    P0    44W / 300W |      1MiB / 16160MiB |     91%      Default |\n"   \
    "|   1  ERR!                 On  |   00000000:5E:00.0 Off |                 ERR! |\n" \
    "|ERR!  ERR!  ERR!   ERR! / ERR! |      0MiB / 46068MiB |    ERR!      Default |\n"   \
    "|   2  NVIDIA X100          On  |   00000000:AF:00.0 Off |                  N/A |\n" \
    "| 30%   50C    P2    ERR! / N/A |      1MiB / 16160MiB |      0%      Default |\n"

static void rows_of_the_table_are_gpus(void **state)
{
    (void)state;
    struct reader_got *g = reader_decode(CODEC, TABLE, strlen(TABLE));
    const struct tc_event *ecc = reader_metric(g, TC_METRIC_GPU_ECC_DBE, 0);
    assert_non_null(ecc);
    assert_true(ecc->metric.value == 2 && ecc->scope.gpu_index == 0);
    assert_null(reader_metric(g, TC_METRIC_GPU_ECC_DBE, 1));
    assert_true(value_of(g, TC_METRIC_GPU_UTIL) == 91);
    assert_true(value_of(g, TC_METRIC_GPU_POWER) == 44);
    assert_int_equal(ecc->time_ns, INT64_C(1772510706) * TC_SECOND);
    const struct tc_event *lost = reader_kind(g, TC_EVENT_GPU_HEALTH, 0);
    assert_non_null(lost);
    assert_int_equal(lost->scope.gpu_index, 1);
    assert_null(reader_kind(g, TC_EVENT_GPU_HEALTH, 1)); /* power alone is missing on some boards */
    reader_free(g);
}

static void columns_have_names(void **state)
{
    (void)state;
    static const char text[] =
        "timestamp, index, pci.bus_id, temperature.gpu, clocks_throttle_reasons.active, power.draw "
        "[W]\n"
        "2026/03/03 04:05:06.500, 3, 00000000:3B:00.0, 91, 0x0000000000000048, 88.50 W\n"
        "not a row\n"
        "2026/03/03 04:05:11.500, 3, 00000000:3B:00.0, [GPU is lost], [N/A], [N/A]\n";
    struct reader_got *g = reader_decode(CODEC, text, sizeof text - 1);
    assert_true(value_of(g, TC_METRIC_GPU_THROTTLE) == 0x48);
    assert_true(value_of(g, TC_METRIC_GPU_POWER) == 88.5);
    assert_int_equal(g->events[0].time_ns, INT64_C(1772510706500000000));
    const struct tc_event *lost = reader_kind(g, TC_EVENT_GPU_HEALTH, 0);
    assert_non_null(lost);
    assert_int_equal(lost->scope.gpu_index, 3);
    reader_free(g);
    static const char comma[] = "index;temperature.gpu;power.draw [W]\n4;43;90,40 W\n";
    g = reader_decode(CODEC, comma, sizeof comma - 1);
    assert_true(value_of(g, TC_METRIC_GPU_POWER) == 90.4);
    reader_free(g);
    /* The names in a script are not a table. */
    assert_int_equal(
        reader_sniff(CODEC, "nvidia-smi --query-gpu=index,temperature.gpu --format=csv | tee x\n"),
        TC_SNIFF_NO);
}

static void dmon_has_columns_too(void **state)
{
    (void)state;
    static const char text[] = "#Date       Time        gpu   pwr gtemp mtemp    sm  pclk\n"
                               "#YYYYMMDD   HH:MM:SS    Idx     W     C     C     %   MHz\n"
                               " 20260303   04:05:06      1   402    93     -    99  1005\n";
    struct reader_got *g = reader_decode(CODEC, text, sizeof text - 1);
    assert_true(value_of(g, TC_METRIC_GPU_TEMP) == 93);
    assert_true(value_of(g, TC_METRIC_GPU_SM_CLOCK) == 1005);
    assert_null(reader_metric(g, TC_METRIC_GPU_MEM_TEMP, 0));
    assert_int_equal(g->events[0].scope.gpu_index, 1);
    assert_int_equal(g->events[0].time_ns, INT64_C(1772510706) * TC_SECOND);
    reader_free(g);
}

static void links_are_down_beside_links_that_are_up(void **state)
{
    (void)state;
    static const char some[] = "GPU 0: NVIDIA X100 (UUID: GPU-aaaa)\n"
                               "\t Link 0: 26.562 GB/s\n"
                               "\t Link 11: <inactive>\n"
                               "GPU 1: NVIDIA X100 (UUID: GPU-bbbb)\n"
                               "\t Link 0: <inactive>\n"
                               "\t Link 1: <inactive>\n"
                               "GPU 2: NVIDIA X100 (UUID: GPU-cccc)\n"
                               "NVML: Unable to retrieve NVLink information as all links are "
                               "inActive\n";
    struct reader_got *g = reader_decode(CODEC, some, sizeof some - 1);
    const struct tc_event *down = reader_metric(g, TC_METRIC_NVLINK_STATE, 1);
    assert_non_null(down);
    assert_true(down->metric.value == 2);
    assert_slice(down->metric.device, "11");
    assert_slice(down->scope.gpu_uuid, "GPU-aaaa");
    /* A board without a bridge. */
    assert_null(reader_metric(g, TC_METRIC_NVLINK_STATE, 2));
    const struct tc_event *all = reader_kind(g, TC_EVENT_GPU_HEALTH, 0);
    assert_non_null(all);
    assert_slice(all->health.system, "nvlink");
    assert_int_equal(all->scope.gpu_index, 2);
    reader_free(g);
    static const char errors[] = "GPU 0: NVIDIA X100 (UUID: GPU-aaaa)\n"
                                 "\t Link 3: Replay Errors: 12\n"
                                 "\t Link 3: CRC Data Errors: 5\n"
                                 "\t Link 3: Tx packets: 9\n";
    g = reader_decode(CODEC, errors, sizeof errors - 1);
    assert_int_equal(g->count, 3); /* and that the GPU is listed */
    assert_true(value_of(g, TC_METRIC_NVLINK_REPLAYS) == 12);
    assert_true(value_of(g, TC_METRIC_NVLINK_CRC_DATA) == 5);
    assert_slice(g->events[0].metric.device, "3");
    reader_free(g);
}

static void what_does_not_answer_is_told(void **state)
{
    (void)state;
    static const char text[] =
        "Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.\n"
        "Unable to determine the device handle for GPU5: 0000:CB:00.0: Unknown Error\n"
        "Unable to determine the device handle for GPU0000:17:00.0: Unknown Error\n"
        "Failed to initialize NVML: Driver/library version mismatch\n"
        "GPU 00000000:5D:00.0 was successfully reset.\n"
        "86:00.0 3D controller: NVIDIA Corporation X100 (rev ff)\n";
    static const uint8_t buses[] = {0x02, 0xcb, 0x17, 0x86};
    struct reader_got *g = reader_decode(CODEC, text, sizeof text - 1);
    for (size_t i = 0; i < TC_COUNT(buses); i++) {
        const struct tc_event *lost = reader_kind(g, TC_EVENT_GPU_HEALTH, i);
        assert_non_null(lost);
        assert_int_equal(lost->scope.pci.bus, buses[i]);
    }
    assert_int_equal(reader_kind(g, TC_EVENT_GPU_HEALTH, 1)->scope.gpu_index, 5);
    assert_non_null(reader_kind(g, TC_EVENT_DRIVER_FAULT, 0));
    assert_int_equal(g->count, 5);
    reader_free(g);
}

static void lspci_tells_of_narrow_links(void **state)
{
    (void)state;
    static const char text[] = "9d:00.0 3D controller: NVIDIA Corporation X100 (rev a1)\n"
                               "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
                               "\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x8 (downgraded)\n"
                               "9e:00.0 3D controller: NVIDIA Corporation X100 (rev a1)\n"
                               "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
                               "\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16 (ok)\n";
    struct reader_got *g = reader_decode(CODEC, text, sizeof text - 1);
    const struct tc_event *link = reader_kind(g, TC_EVENT_PCIE_LINK, 0);
    assert_non_null(link);
    assert_true(link->aer.width == 8 && link->aer.width_max == 16);
    assert_null(reader_kind(g, TC_EVENT_PCIE_LINK, 1));
    reader_free(g);
}

static void hostile_texts_are_read(void **state)
{
    (void)state;
    reader_cut_anywhere(CODEC, QUERY);
    reader_cut_anywhere(CODEC, XML);
    reader_cut_anywhere(CODEC, TABLE);
    static const char text[] =
        "GPU 00000000:ZZ:00.0\n    Temperature\n        GPU Current Temp : 1e999 C\n"
        "        Memory Current Temp : -5 C\n"
        "    ECC Errors\n        Volatile\n            DRAM Correctable : 1e308\n"
        "            SRAM Correctable : 1e308\n"
        "index, temperature.gpu\n99999999999999999999, 5\n-1, 5\n,,,,,\n"
        "|   0  X\0On  |   00000000:3B:00.0 Off |  99999999999999999999999 |\n"
        "<gpu id=\"<><><</></gpu><gpu id=\"x\"></a></b></c>\n"
        "# gpu\n# gpu # gpu # gpu\n";
    struct reader_got *g = reader_decode(CODEC, text, sizeof text - 1);
    assert_null(reader_metric(g, TC_METRIC_GPU_TEMP, 0));
    assert_null(reader_metric(g, TC_METRIC_GPU_MEM_TEMP, 0));
    reader_free(g);
    static char line[TC_LINE_MAX + 64];
    memset(line, '|', sizeof line);
    memcpy(line, "|   0  X On  |   00000000:3B:00.0 Off |", 39);
    reader_free(reader_decode(CODEC, line, sizeof line));
}

static void others_texts_are_not_claimed(void **state)
{
    (void)state;
    static const char *const others[] = {
        "[    5.100000] NVRM: GPU 0000:9d:00.0: GPU has fallen off the bus.\n",
        "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 25\n",
        "step 12 loss 0.3\n",
        "| a | b |\n| GPU | Off |\n",
        "Temperature : 21 C\n",
    };
    for (size_t i = 0; i < TC_COUNT(others); i++) {
        assert_int_equal(reader_sniff(CODEC, others[i]), TC_SNIFF_NO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_is_read_by_its_headings),
        cmocka_unit_test(a_piece_of_a_query_is_read),
        cmocka_unit_test(xml_is_read_by_parent_and_element),
        cmocka_unit_test(rows_of_the_table_are_gpus),
        cmocka_unit_test(columns_have_names),
        cmocka_unit_test(dmon_has_columns_too),
        cmocka_unit_test(links_are_down_beside_links_that_are_up),
        cmocka_unit_test(what_does_not_answer_is_told),
        cmocka_unit_test(lspci_tells_of_narrow_links),
        cmocka_unit_test(hostile_texts_are_read),
        cmocka_unit_test(others_texts_are_not_claimed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
