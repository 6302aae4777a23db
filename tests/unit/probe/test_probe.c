/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine is, from outputs. Those here are invented in the form of real ones; real ones are
 * read in tests/e2e/probe.test.mjs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "probe/probe.h"
#include "result/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tc_probe probe;
static char json[TC_PROBE_JSON_MAX];
static struct tc_error err;

static void begin(void)
{
    tc_probe_init(&probe);
}

static void take(const char *text, const char *what)
{
    const char *got = tc_probe_take(&probe, tc_slice_cstr(text));
    if (what == NULL) {
        assert_null(got);
    } else {
        assert_non_null(got);
        assert_string_equal(got, what);
    }
}

static const char *written(void)
{
    struct tc_buf b = tc_buf_make(json, sizeof json - 1);
    tc_probe_json(&probe, NULL, 0, TC_TIME_NONE, &b);
    assert_false(b.overflowed);
    json[b.len] = '\0';
    return json;
}

static void assert_has(const char *member)
{
    if (strstr(written(), member) == NULL) {
        fail_msg("no %s in %s", member, json);
    }
}

#define TABLE(versions, name)                                                           \
    "Mon Nov 16 10:00:00 2026\n"                                                        \
    "+-----------------------------------------------------------------------------+\n" \
    "| NVIDIA-SMI 550.54.15              " versions "     |\n"                          \
    "|-------------------------------+----------------------+----------------------+\n" \
    "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |\n" \
    "|===============================+======================+======================|\n" \
    "|   0  " name "   On  | 00000000:1B:00.0 Off |                    0 |\n"           \
    "| N/A   33C    P0    68W / 700W |      4MiB / 81559MiB |      0%      Default |\n" \
    "|   1  " name "   On  | 00000000:43:00.0 Off |                    0 |\n"           \
    "| N/A   33C    P0    68W / 700W |      4MiB / 81559MiB |      0%      Default |\n" \
    "+-----------------------------------------------------------------------------+\n" \
    "| Processes:                                                                  |\n" \
    "|    0   N/A  N/A      1959      C   python                            15MiB |\n"

static void tables_of_nvidia_smi(void **state)
{
    (void)state;
    begin();
    take(TABLE("Driver Version: 550.54.15      CUDA Version: 12.4", "NVIDIA H100 80GB HBM3"),
         "nvidia-smi");
    assert_has("\"driver_version\":\"550.54.15\",\"cuda_version\":\"12.4\"");
    assert_has("\"gpu_model\":\"NVIDIA H100 80GB HBM3\",\"gpu_count\":2");
    assert_has("\"gpu_memory_mib\":81559");
    assert_has("\"pci_bus_id\":\"00000000:43:00.0\"");
    /* Newer ones name the two halves of the driver apart. */
    begin();
    take(TABLE("KMD Version: 595.1  CUDA UMD Version: 13.2  ", "NVIDIA GB200"), "nvidia-smi");
    assert_has("\"driver_version\":\"595.1\",\"cuda_version\":\"13.2\"");
    /* A driver that runs no CUDA, and a name that was cut until a list has all of it. */
    begin();
    take(TABLE("Driver Version: 470.1  CUDA Version: N/A  ", "NVIDIA A100-SXM..."), "nvidia-smi");
    assert_has("\"cuda_version\":null");
    assert_has("\"gpu_model\":\"NVIDIA A100-SXM...\"");
    take("GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\nGPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-2)\n"
         "  MIG 1g.10gb     Device  0: (UUID: MIG-3)\n",
         "nvidia-smi -L or nvlink --status");
    assert_has("\"gpu_model\":\"NVIDIA A100-SXM4-80GB\",\"gpu_count\":2");
    assert_has("\"uuid\":\"GPU-2\"");
}

static void queries_of_nvidia_smi(void **state)
{
    (void)state;
    begin();
    take("index, name, uuid, pci.bus_id, memory.total [MiB], driver_version, pcie.link.gen.max, "
         "pcie.link.width.max\n"
         "0, NVIDIA H100 80GB HBM3, GPU-a, 00000000:1B:00.0, 81559 MiB, 550.54.15, 5, 16\n"
         "1, NVIDIA H100 80GB HBM3, GPU-b, 00000000:43:00.0, 81559 MiB, 550.54.15, 5, 16\n",
         "nvidia-smi --query-gpu");
    assert_has("\"pcie_layout\":\"2 x gen5 x16\"");
    assert_has("\"driver_version\":\"550.54.15\"");
    assert_has("\"gpu_memory_mib\":81559");
    /* Other fields, fields that are not supported, and a torn line. */
    begin();
    take("name, memory.total [MiB], power.limit [W]\nNVIDIA GB10, [N/A], [N/A]\nNVIDIA",
         "nvidia-smi --query-gpu");
    assert_has("\"gpu_model\":\"NVIDIA GB10\",\"gpu_count\":1");
    assert_has("\"gpu_memory_mib\":null");
    begin();
    take("a, b\n1, 2\n", NULL);
}

static void logs_of_nvidia_smi(void **state)
{
    (void)state;
    begin();
    take("\n==============NVSMI LOG==============\n\n"
         "Timestamp                                 : Mon Nov 16 10:00:00 2026\n"
         "Driver Version                            : 570.86.15\n"
         "CUDA Version                              : 12.8\n\n"
         "Attached GPUs                             : 2\n"
         "GPU 00000000:1B:00.0\n"
         "    Product Name                          : NVIDIA B200\n"
         "    GPU UUID                              : GPU-a\n"
         "    FB Memory Usage\n"
         "        Total                             : 183359 MiB\n"
         "    BAR1 Memory Usage\n"
         "        Total                             : 262144 MiB\n"
         "GPU 00000000:43:00.0\n"
         "    Product Name                          : NVIDIA B200\n"
         "    FB Memory Usage\n"
         "        Total                             : 183359 MiB\n",
         "nvidia-smi -q");
    assert_has("\"driver_version\":\"570.86.15\",\"cuda_version\":\"12.8\"");
    assert_has("\"gpu_model\":\"NVIDIA B200\",\"gpu_count\":2");
    assert_has("\"gpu_memory_mib\":183359");
    assert_has("\"pci_bus_id\":\"00000000:43:00.0\"");
}

static void links(void **state)
{
    (void)state;
    begin();
    take("GPU 0: A (UUID: GPU-a)\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n"
         "GPU 1: A (UUID: GPU-b)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n",
         "nvidia-smi -L or nvlink --status");
    assert_has("\"nvlink_topology\":\"GPU0 2 links x 26.562 GB/s, GPU1 1 links x 26.562 GB/s\"");
}

static void matrices(void **state)
{
    (void)state;
    /* As the tool writes it: escape sequences, tabs, some of them twice, and no CPUs for GPU1. */
    begin();
    take("\t\033[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m\n"
         "GPU0\t X \tNV18\tPIX\tSYS\t0-35\t0\t\tN/A\n"
         "GPU1\tNV18\t X \tSYS\tPXB\t\t1\t\tN/A\n"
         "NIC0\tPIX\tSYS\t X \tSYS\t\t\t\t\n"
         "NIC1\tSYS\tPXB\tSYS\t X \t\t\t\t\n"
         "\nLegend:\n\n  X    = Self\n  NV#  = Connection\n\nNIC Legend:\n\n"
         "  NIC0: mlx5_0\n  NIC1: mlx5_bond_0\n\n",
         "nvidia-smi topo");
    assert_has("\"nvlink_topology\":\"NV18: all pairs\"");
    assert_has("\"gpu_nic_affinity\":\"GPU0 mlx5_0 PIX, GPU1 mlx5_bond_0 PXB\"");
    assert_has("\"numa\":\"GPUs 0 1\"");
    assert_has("\"gpu_count\":2");
    /* As people copy it, of an older version. */
    begin();
    take("        GPU0    GPU1    GPU2    GPU3    mlx5_0  CPU Affinity\n"
         "GPU0     X      NV4     SYS     SYS     PHB     0-15\n"
         "GPU1    NV4      X      SYS     SYS     PHB     0-15\n"
         "GPU2    SYS     SYS      X      NV4     SYS     16-31\n"
         "GPU3    SYS     SYS     NV4      X      SYS     16-31\n"
         "mlx5_0  PHB     PHB     SYS     SYS      X\n",
         "nvidia-smi topo");
    assert_has("\"nvlink_topology\":\"NV4: 0-1 2-3; SYS: 0-2 0-3 1-2 1-3\"");
    assert_has("GPU3 mlx5_0 SYS");
    assert_has("\"numa\":null");
    /* One GPU, and blanks. */
    begin();
    take("        GPU0    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
         "GPU0     X      PHB     0-251   0               N/A\nNIC0    PHB      X\n",
         "nvidia-smi topo");
    assert_has("\"nvlink_topology\":null");
    assert_has("\"gpu_nic_affinity\":\"GPU0 NIC0 PHB\"");
    assert_has("\"numa\":\"GPUs 0\"");
    /* Wrapped, cut off: it is one, but nothing is taken from it. */
    static const char *const bad[] = {
        "\tGPU0\tGPU1\nGPU0\t X \tNODENODE\nGPU1\tNODE\t X \n",
        "\tGPU0\tGPU1\nGPU0\t X \tNODE\n",
        "\tGPU0\tGPU1\nGPU0\t X \n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        begin();
        take(bad[i], "nvidia-smi topo");
        assert_has("\"gpu_count\":null");
        assert_has("\"nvlink_topology\":null");
    }
    begin();
    take("GPU temperature\n", NULL);
}

static void files_of_the_system(void **state)
{
    (void)state;
    begin();
    take(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build  (a@b)  "
        "Tue Mar  5 22:15:33 UTC 2024\nGCC version:  gcc version 12.2.0\n",
        "/proc/driver/nvidia/version");
    take("{\"cuda\" : {\"name\" : \"CUDA SDK\", \"version\" : \"12.4.1\"}}", "CUDA version");
    take("PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nID=ubuntu\n", "os-release");
    take("Linux gpu-7 6.8.0-45-generic #45-Ubuntu SMP x86_64 GNU/Linux\n", "uname");
    take("processor\t: 0\nmodel name\t: AMD EPYC 9654\n", "CPU");
    assert_has("\"driver_version\":\"550.54.15\",\"cuda_version\":\"12.4.1\"");
    assert_has("\"kernel\":\"6.8.0-45-generic\",\"os\":\"Ubuntu 24.04.1 LTS\"");
    assert_has("\"cpu_model\":\"AMD EPYC 9654\"");
    assert_has("\"node\":\"gpu-7\"");
    begin();
    take("CUDA Version 10.2.89\n", "CUDA version");
    assert_has("\"cuda_version\":\"10.2.89\"");
    take("{\"version\": 1}", NULL);
    take("Linux kernel notes\n", NULL);
    take("", NULL);
    take("Architecture: x86_64\nModel name:   Neoverse-V2\n", "CPU");
    assert_has("\"cpu_model\":\"Neoverse-V2\"");
}

static void texts_of_ours(void **state)
{
    (void)state;
    begin();
    take(TC_PROBE_HEAD
         "pci\n0000:1b:00.0\tclass=0x030200\tvendor=0x10de\tmax_speed=32.0 GT/s PCIe\t"
         "max_width=16\n0000:1c:00.0\tclass=0x020000\tvendor=0x15b3\tmax_speed=32.0 "
         "GT/s PCIe\tmax_width=16\n",
         "PCI devices");
    take(TC_PROBE_HEAD "numa\nnode0\tcpus=0-47\nnode1\tcpus=48-95\n", "NUMA nodes");
    take(TC_PROBE_HEAD "infiniband\nmlx5_0\thca=MT4129\trate=400 Gb/sec (4X NDR)\tlink_layer="
                       "InfiniBand\nmlx5_1\thca=MT4129\trate=400 Gb/sec (4X NDR)\tlink_layer="
                       "InfiniBand\n",
         "InfiniBand devices");
    take(TC_PROBE_HEAD "net\neth0\tdriver=mlx5_core\tspeed=100000 Mb/s\n", "network devices");
    take(TC_PROBE_HEAD "libraries\n/usr/lib/libnccl.so.2\n/usr/lib/libnccl.so.2.21.5\n",
         "libraries");
    take(TC_PROBE_HEAD "packages\nnumpy-1.26.dist-info\ntorch-2.3.0+cu121.dist-info\n"
                       "torchvision-0.18.dist-info\nvllm-0.5.4.dist-info\n",
         "Python packages");
    take(TC_PROBE_HEAD "storage\nmount\ttype=lustre\nmount\ttype=lustre\nmount\ttype=nfs4\n",
         "network file systems");
    take(TC_PROBE_HEAD "container\nIMAGE_DIGEST=sha256:abc\nCUDA_VERSION=12.4.1\nNCCL_VERSION=9\n",
         "container");
    take(TC_PROBE_HEAD "weather\nrain\n", NULL);
    assert_has("\"image_digest\":\"sha256:abc\"");
    assert_has("\"nccl_version\":\"2.21.5\",\"framework\":\"pytorch\",\"framework_version\":"
               "\"2.3.0+cu121\"");
    assert_has("\"server\":\"vllm\",\"server_version\":\"0.5.4\"");
    assert_has("\"nic\":\"2 x MT4129 400 Gb/sec (4X NDR) InfiniBand, 1 x mlx5_core 100000 Mb/s\"");
    assert_has("\"pcie_layout\":\"1 x gen5 x16\"");
    assert_has("\"numa\":\"2 nodes; cpus 0-47 | 48-95\"");
    assert_has("\"storage_fabric\":\"2 x lustre, 1 x nfs4\"");
}

static void bounds(void **state)
{
    (void)state;
    char text[64];
    begin();
    (void)snprintf(text, sizeof text, "GPU %d: A (UUID: GPU-x)\n", TC_PROBE_GPUS_MAX - 1);
    take(text, "nvidia-smi -L or nvlink --status");
    assert_int_equal(probe.gpu_count, TC_PROBE_GPUS_MAX);
    (void)snprintf(text, sizeof text, "GPU %d: A (UUID: GPU-x)\n", TC_PROBE_GPUS_MAX);
    begin();
    (void)tc_probe_take(&probe, tc_slice_cstr(text));
    assert_int_equal(probe.gpu_count, 0);
    /* A value that is far too long is cut, and control characters do not come through. */
    char *longest = malloc(8192);
    assert_non_null(longest);
    memset(longest, 'x', 8191);
    memcpy(longest, "PRETTY_NAME=\033[31m", 17);
    longest[8191] = '\0';
    begin();
    take(longest, "os-release");
    assert_int_equal(strlen(probe.facts[TC_PROBE_OS]), TC_PROBE_TEXT_MAX - 1);
    assert_null(strchr(probe.facts[TC_PROBE_OS], '\033'));
    free(longest);
}

static void a_reader_takes_it_as_facts(void **state)
{
    (void)state;
    struct tc_result *r = NULL;
    begin();
    take("GPU 0: NVIDIA B200 (UUID: GPU-a)\n", "nvidia-smi -L or nvlink --status");
    take("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.1  Sat\n",
         "/proc/driver/nvidia/version");
    struct tc_slice bytes = tc_slice_cstr(written());
    assert_ptr_equal(tc_result_facts_reader(tc_slice_head(bytes, TC_RESULT_HEAD)),
                     &tc_reader_probe);
    assert_int_equal(tc_result_read(TC_LIT("probe.json"), bytes, NULL, &r, &err), TC_OK);
    assert_ptr_equal(tc_result_reader(r), &tc_reader_probe);
    assert_int_equal(tc_result_rows(r), 0);
    const struct tc_rows *hardware = tc_result_facts(r, TC_TABLE_HARDWARE);
    const struct tc_rows *software = tc_result_facts(r, TC_TABLE_SOFTWARE);
    assert_true(
        tc_slice_eq(tc_rows_get_text(hardware, TC_HARDWARE_GPU_MODEL, 0), TC_LIT("NVIDIA B200")));
    assert_int_equal(tc_rows_get_int(hardware, TC_HARDWARE_GPU_COUNT, 0), 1);
    assert_true(tc_rows_is_null(hardware, TC_HARDWARE_NIC, 0));
    assert_true(tc_slice_eq(tc_rows_get_text(software, TC_SOFTWARE_DRIVER, 0), TC_LIT("570.1")));
    assert_true(tc_rows_is_null(software, TC_SOFTWARE_CUDA, 0));
    tc_result_destroy(r);
    static const char *const bad[] = {
        "{\"tracecore_probe\": 2, \"software\": {}}",
        "{\"tracecore_probe\": 1, \"software\": {\"driver_version\": 5}}",
        "{\"tracecore_probe\": 1, \"hardware\": {\"gpu_count\": \"8\"}}",
        "{\"tracecore_probe\": 1, \"hardware\": {\"gpu_count\": -8}}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_not_equal(
            tc_result_read(TC_LIT("probe.json"), tc_slice_cstr(bad[i]), NULL, &r, &err), TC_OK);
    }
    assert_null(tc_result_facts_reader(TC_LIT("{\"a\": 1}")));
    assert_null(tc_result_facts_reader(TC_EMPTY));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_nvidia_smi),
        cmocka_unit_test(queries_of_nvidia_smi),
        cmocka_unit_test(logs_of_nvidia_smi),
        cmocka_unit_test(links),
        cmocka_unit_test(matrices),
        cmocka_unit_test(files_of_the_system),
        cmocka_unit_test(texts_of_ours),
        cmocka_unit_test(bounds),
        cmocka_unit_test(a_reader_takes_it_as_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
