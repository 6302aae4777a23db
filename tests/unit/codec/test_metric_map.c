/* SPDX-License-Identifier: Apache-2.0 */
/* Exporters' names and labels, and what they become. All values are made up. */
#include "codec/metric/map_priv.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char block[4096];
static struct tc_arena arena;

#define assert_slice(slice, text)                                              \
    do {                                                                       \
        struct tc_slice got_ = (slice);                                        \
        assert_int_equal(got_.len, strlen(text));                              \
        assert_true(got_.len == 0 || memcmp(got_.ptr, (text), got_.len) == 0); \
    } while (0)

/* "key=value,key=value" through a sample of that name. */
static enum tc__metric_verdict read_sample(const char *name, const char *labels, double value,
                                           struct tc_event *out)
{
    struct tc__metric_use use;
    struct tc__metric_sample sample;
    tc_arena_reset(&arena);
    assert_true(tc__metric_map(tc_slice_cstr(name), &use));
    tc__metric_begin(&sample, &use, &arena);
    struct tc_slice rest = tc_slice_cstr(labels);
    while (rest.len > 0) {
        struct tc_slice text;
        struct tc_slice label = tc_slice_cut(rest, ',', &rest);
        struct tc_slice key = tc_slice_cut(label, '=', &text);
        (void)tc__metric_label(&sample, key, text);
    }
    return tc__metric_end(&sample, value, out);
}

static struct tc_event sample_of(const char *name, const char *labels, double value)
{
    struct tc_event ev;
    assert_int_equal(read_sample(name, labels, value, &ev), TC__METRIC_READ);
    return ev;
}

static int setup(void **state)
{
    (void)state;
    tc_arena_init(&arena, "test", block, sizeof block);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tc_arena_fini(&arena);
    return 0;
}

static void every_row_is_sorted_plain_and_found_by_its_name(void **state)
{
    (void)state;
    size_t count = 0;
    const struct tc__metric_row *rows = tc__metric_rows(&count);
    assert_true(count > 100);
    for (size_t i = 0; i < count; i++) {
        struct tc__metric_use use;
        char text[80];
        struct tc_slice name = rows[i].name;
        assert_true(i == 0 || tc_slice_cmp(rows[i - 1].name, name) < 0);
        assert_false(tc_slice_ends(name, TC_LIT("_total")));
        assert_true(rows[i].metric > TC_METRIC_NONE && rows[i].metric < TC_METRIC_COUNT);
        assert_true(tc__metric_map(name, &use) && use.row == &rows[i]);
        for (size_t at = 0; at < name.len; at++) {
            char c = name.ptr[at];
            assert_true((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_');
            text[at] = c >= 'a' && c <= 'z' ? (char)(c - 32) : c == '_' ? '.' : c;
        }
        memcpy(text + name.len, "_total", 6);
        assert_true(tc__metric_map(tc_slice_make(text, name.len), &use) && use.row == &rows[i]);
        assert_true(tc__metric_map(tc_slice_make(text, name.len + 6), &use) && use.row == &rows[i]);
    }
}

/* Every metric that detectors read has a name in some exporter. */
static void every_metric_has_a_name(void **state)
{
    (void)state;
    size_t count = 0;
    const struct tc__metric_row *rows = tc__metric_rows(&count);
    for (unsigned metric = TC_METRIC_NONE + 1; metric < TC_METRIC_COUNT; metric++) {
        bool found = false;
        for (size_t i = 0; i < count; i++) {
            found = found || rows[i].metric == metric;
        }
        if (!found) {
            fail_msg("no exporter's name for %s", tc_metric_info((enum tc_metric)metric)->name.ptr);
        }
    }
}

static void names_that_nothing_reads_are_refused(void **state)
{
    (void)state;
    struct tc__metric_use use;
    const char *names[] = {
        "",
        "_",
        "_total",
        "up",
        "DCGM_FI_DEV_FB_USED",
        "DCGM_FI_DEV_GPU_TEMP_created",
        "DCGM_FI_DEV_GPU_TEMP_L1",
        "DCGM_FI_DEV_NVLINK_BANDWIDTH_L0",
        "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L",
        "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L100",
        "nvidia_smi_xid_errors_total",
        "a_name_that_is_a_good_deal_longer_than_any_of_the_names_in_the_table_x"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_false(tc__metric_map(tc_slice_cstr(names[i]), &use));
    }
}

static void a_gpu_has_all_its_names_and_its_user(void **state)
{
    (void)state;
    struct tc_event ev = sample_of(
        "DCGM_FI_DEV_GPU_TEMP",
        "gpu=3,UUID=GPU-11111111-2222-3333-4444-555555555555,pci_bus_id=00000000:B3:00.0,"
        "device=nvidia3,modelName=X,Hostname=gpu-07,namespace=train,pod=llm-0,container=main,"
        "rack=r12,hpc_job=991",
        66);
    assert_int_equal(ev.kind, TC_EVENT_METRIC);
    assert_int_equal(ev.metric.metric, TC_METRIC_GPU_TEMP);
    assert_true(ev.metric.value == 66);
    assert_slice(ev.metric.device, "");
    assert_slice(ev.metric.rack, "r12");
    assert_slice(ev.scope.node, "gpu-07");
    assert_slice(ev.scope.gpu_uuid, "GPU-11111111-2222-3333-4444-555555555555");
    assert_slice(ev.scope.ns, "train");
    assert_slice(ev.scope.pod, "llm-0");
    assert_slice(ev.scope.container, "main");
    assert_slice(ev.scope.job, "991");
    assert_int_equal(ev.scope.gpu_index, 3);
    assert_true(ev.scope.pci.known && ev.scope.pci.bus == 0xb3);
    assert_int_equal(ev.scope.rank, -1);
    assert_true(ev.time_ns == TC_TIME_NONE && ev.uptime_ns == TC_TIME_NONE);
}

static void racks_and_zones_are_those_of_node_labels(void **state)
{
    (void)state;
    const char *gpu = "DCGM_FI_DEV_GPU_TEMP";
    static const char *const racks[] = {
        "rack=r",
        "rack_id=r",
        "host.rack=r",
        "topology_kubernetes_io_rack=r",
        "label_topology_kubernetes_io_rack=r",
        "k8s.node.label.topology.kubernetes.io/rack=r",
        "k8s.node.labels.rack=r",
        "k8s.node.label.oci.oraclecloud.com/host.rack_id=r",
        "label_oci_oraclecloud_com_host_rack_id=r",
        "node.coreweave.cloud/rack=r",
        "k8s.node.labels.ds.coreweave.com/physical-topology.rack-name=r",
        "k8s_node_label_cloud_google_com_gce_topology_subblock=r",
        "cloud.provider.com/topology-rack=r",
        /* The strongest of several. */
        "k8s.node.label.cloud.google.com/gce-topology-subblock=x,topology.rook.io/rack=r",
        "k8s.node.label.rack=x,rack=r,topology.kubernetes.io/rack=y",
    };
    for (size_t i = 0; i < TC_COUNT(racks); i++) {
        assert_slice(sample_of(gpu, racks[i], 1).metric.rack, "r");
        assert_slice(sample_of(gpu, racks[i], 1).metric.zone, "");
    }
    static const char *const others[] = {
        "zone=0", /* of node_exporter: a thermal zone */
        "region=x",
        "network.topology.nvidia.com/leaf=x",
        "k8s.node.label.topology.k8s.aws/network-node-layer-3=x",
        "k8s.pod.label.rack=x",
        "label_=x",
        "k8s.node.label.=x",
        "topology.kubernetes.io/racks=x",
    };
    for (size_t i = 0; i < TC_COUNT(others); i++) {
        assert_slice(sample_of(gpu, others[i], 1).metric.rack, "");
        assert_slice(sample_of(gpu, others[i], 1).metric.zone, "");
    }
    static const char *const zones[] = {
        "cloud.availability_zone=z,cloud.region=x",
        "cloud.region=x,k8s.node.label.topology.kubernetes.io/zone=z",
        "label_failure_domain_beta_kubernetes_io_zone=z,topology.kubernetes.io/region=x",
        "topology.kubernetes.io/region=z",
        "cloud_region=z",
    };
    for (size_t i = 0; i < TC_COUNT(zones); i++) {
        assert_slice(sample_of(gpu, zones[i], 1).metric.zone, "z");
    }
}

/* The short way of making the event leaves nothing else behind than tc_event_init. */
static void an_event_starts_out_as_unknown(void **state)
{
    (void)state;
    struct tc_event ev = sample_of("node_vmstat_oom_kill", "", 0);
    struct tc_event blank;
    tc_event_init(&blank, TC_EVENT_METRIC);
    blank.metric.metric = TC_METRIC_HOST_OOM_KILLS;
    assert_int_equal(tc_event_cmp(&ev, &blank), 0);
    assert_int_equal(ev.raw.source, blank.raw.source);
    assert_int_equal(ev.raw.length, blank.raw.length);
}

static void the_kubernetes_node_wins_over_the_host_and_the_instance(void **state)
{
    (void)state;
    const char *gpu = "DCGM_FI_DEV_GPU_TEMP";
    assert_slice(sample_of(gpu, "instance=10.0.0.9:9400", 1).scope.node, "10.0.0.9");
    assert_slice(sample_of(gpu, "instance=[fd00::9]:9400", 1).scope.node, "fd00::9");
    assert_slice(sample_of(gpu, "instance=localhost:9400", 1).scope.node, "");
    assert_slice(sample_of(gpu, "Hostname=h,instance=i:1", 1).scope.node, "h");
    assert_slice(sample_of(gpu, "instance=i:1,node=n,Hostname=h", 1).scope.node, "n");
    assert_slice(sample_of(gpu, "k8s.node.name=k,node=n", 1).scope.node, "k");
    assert_slice(sample_of(gpu, "node=,Hostname=h", 1).scope.node, "h");
    assert_slice(sample_of(gpu, "kubernetes_node=k", 1).scope.node, "k");
}

static void the_exporters_own_pod_does_not_use_the_gpu(void **state)
{
    (void)state;
    const char *gpu = "DCGM_FI_DEV_GPU_UTIL";
    struct tc_event ev =
        sample_of(gpu, "pod=dcgm-exporter-x7,namespace=gpu-operator,container=exporter", 1);
    assert_slice(ev.scope.pod, "");
    assert_slice(ev.scope.ns, "");
    ev = sample_of(gpu, "pod=dcgm-exporter-x7,namespace=ops,exported_pod=llm,exported_namespace=t",
                   1);
    assert_slice(ev.scope.pod, "llm");
    assert_slice(ev.scope.ns, "t");
    ev = sample_of("node_network_up", "pod=node-7,namespace=monitoring,device=eth0", 1);
    assert_slice(ev.scope.pod, "");
    assert_slice(sample_of(gpu, "pod_name=a,pod_namespace=b,container_name=c", 1).scope.pod, "a");
}

static void prometheus_own_job_is_not_the_training_job(void **state)
{
    (void)state;
    assert_slice(sample_of("DCGM_FI_DEV_GPU_UTIL", "job=dcgm", 1).scope.job, "");
    assert_slice(sample_of("DCGM_FI_DEV_GPU_UTIL", "job=dcgm,job_id=17", 1).scope.job, "17");
}

static void a_uuid_without_its_prefix_gets_it_and_a_mig_instance_is_no_gpu(void **state)
{
    (void)state;
    struct tc_event ev = sample_of("nvidia_smi_utilization_gpu_ratio",
                                   "uuid=df6e7a7c-7314-46f8-abc4-b88b36dcf3aa", 0.42);
    assert_slice(ev.scope.gpu_uuid, "GPU-df6e7a7c-7314-46f8-abc4-b88b36dcf3aa");
    assert_true(fabs(ev.metric.value - 42) < 1e-9);
    assert_slice(sample_of("nvidia_smi_temperature_gpu", "uuid=MIG-1", 1).scope.gpu_uuid, "");
    assert_slice(sample_of("DCGM_FI_DEV_GPU_TEMP", "gpu=GPU-1", 1).scope.gpu_uuid, "GPU-1");
    assert_int_equal(sample_of("DCGM_FI_DEV_GPU_TEMP", "device=nvidia5", 1).scope.gpu_index, 5);
    assert_int_equal(sample_of("DCGM_FI_DEV_GPU_TEMP", "gpu=99999999999", 1).scope.gpu_index, -1);
}

static void devices_are_named_as_people_name_them(void **state)
{
    (void)state;
    const char *flit = "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L17";
    assert_slice(sample_of(flit, "gpu=0", 1).metric.device, "17");
    assert_int_equal(sample_of(flit, "gpu=0", 1).metric.metric, TC_METRIC_NVLINK_CRC_FLIT);
    assert_slice(sample_of("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_L3_TOTAL", "gpu=0", 1).metric.device,
                 "3");
    assert_slice(sample_of("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "", 1).metric.device, "");
    const char *downed = "node_infiniband_link_downed_total";
    assert_slice(sample_of(downed, "device=mlx5_0,port=1", 1).metric.device, "mlx5_0");
    assert_slice(sample_of(downed, "device=mlx4_0,port=2", 1).metric.device, "mlx4_0/2");
    assert_slice(
        sample_of("node_filesystem_readonly", "device=/dev/md0,mountpoint=/data", 1).metric.device,
        "/data");
    assert_slice(sample_of("ping_loss_ratio", "target=gpu-08,ip=10.0.0.8", 0).metric.device,
                 "gpu-08");
    assert_slice(sample_of("ping_loss_ratio", "ip=10.0.0.8", 0).metric.device, "10.0.0.8");
    assert_slice(sample_of("ping_loss_ratio", "ip=10.0.0.8", 0).scope.node, "");
    assert_slice(sample_of("DCGM_EXP_XID_ERRORS_COUNT", "xid=42,gpu=0", 1).metric.device, "42");
}

static void only_writes_and_what_was_received_count(void **state)
{
    (void)state;
    struct tc_event ev;
    const char *nfs = "node_mountstats_nfs_operations_requests_total";
    assert_int_equal(read_sample(nfs, "export=srv:/a,operation=READ", 1, &ev), TC__METRIC_OTHER);
    assert_int_equal(read_sample(nfs, "export=srv:/a", 1, &ev), TC__METRIC_OTHER);
    ev = sample_of(nfs, "export=srv:/a,operation=WRITE", 5);
    assert_slice(ev.metric.device, "srv:/a");
    assert_int_equal(ev.metric.metric, TC_METRIC_STORAGE_WRITES);
    const char *drops = "system.network.dropped";
    assert_int_equal(read_sample(drops, "direction=transmit", 1, &ev), TC__METRIC_OTHER);
    assert_slice(sample_of(drops, "direction=receive,device=eth0", 1).metric.device, "eth0");
}

static void what_dcgm_writes_for_no_value_is_no_value(void **state)
{
    (void)state;
    struct tc_event ev;
    const char *temp = "DCGM_FI_DEV_MEMORY_TEMP";
    const double blanks[] = {9223372036854775792.0, 9223372036854775794.0, 9.223372036854776e+18,
                             140737488355328.0,     140737488355330.0,     2147483632.0,
                             2147483635.0,          2147483647.0};
    for (size_t i = 0; i < sizeof blanks / sizeof blanks[0]; i++) {
        assert_int_equal(read_sample(temp, "gpu=0", blanks[i], &ev), TC__METRIC_NO_VALUE);
    }
    assert_int_equal(read_sample(temp, "gpu=0", (double)NAN, &ev), TC__METRIC_NOT_FINITE);
    assert_int_equal(read_sample(temp, "gpu=0", -HUGE_VAL, &ev), TC__METRIC_NOT_FINITE);
    assert_int_equal(read_sample("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "", 1e307, &ev),
                     TC__METRIC_NO_VALUE);
    assert_int_equal(read_sample("nvidia_smi_utilization_gpu_ratio", "", 1e307, &ev),
                     TC__METRIC_NOT_FINITE);
    /* Counters of others may well have such values. */
    assert_true(
        sample_of("node_network_receive_packets_total", "device=e", 2147483640.0).metric.value ==
        2147483640.0);
    assert_true(sample_of(temp, "gpu=0", 2147483631.0).metric.value == 2147483631.0);
}

static void states_of_switch_links_become_ours(void **state)
{
    (void)state;
    struct tc_event ev;
    const char *status = "DCGM_FI_DEV_NVSWITCH_LINK_STATUS";
    const char *labels = "nvlink=12,nvswitch=nvswitch0,Hostname=gpu-07";
    assert_true(sample_of(status, labels, 2).metric.value == 3);
    assert_true(sample_of(status, labels, 3).metric.value == 2);
    assert_true(sample_of(status, labels, 0).metric.value == 1);
    assert_int_equal(read_sample(status, labels, 1, &ev), TC__METRIC_NO_VALUE);
    assert_int_equal(read_sample(status, labels, -1, &ev), TC__METRIC_NO_VALUE);
    assert_slice(sample_of(status, labels, 2).metric.device, "nvswitch0/12");
}

static void one_reason_is_its_bit(void **state)
{
    (void)state;
    struct tc_event ev;
    const char *hot = "nvidia_smi_clocks_throttle_reasons_hw_thermal_slowdown";
    const char *brake = "nvidia_smi_clocks_event_reasons_hw_power_brake_slowdown";
    const char *labels = "uuid=df6e7a7c-7314-46f8-abc4-b88b36dcf3aa";
    ev = sample_of(hot, labels, 1);
    assert_int_equal(ev.metric.metric, TC_METRIC_GPU_THROTTLE);
    assert_true(ev.metric.value == 0x40);
    assert_slice(ev.metric.device, "hw_thermal_slowdown");
    assert_slice(ev.scope.gpu_uuid, "GPU-df6e7a7c-7314-46f8-abc4-b88b36dcf3aa");
    assert_true(sample_of(hot, labels, 0).metric.value == 0);
    assert_true(sample_of(brake, labels, 1).metric.value == 0x80);
    assert_int_equal(read_sample(hot, labels, 2, &ev), TC__METRIC_NO_VALUE);
    assert_int_equal(read_sample(hot, labels, -1, &ev), TC__METRIC_NO_VALUE);
}

static void the_admin_state_is_in_a_label(void **state)
{
    (void)state;
    struct tc_event ev = sample_of("node_network_info", "device=ens1f0,adminstate=down", 1);
    assert_int_equal(ev.metric.metric, TC_METRIC_NET_ADMIN_UP);
    assert_slice(ev.metric.device, "ens1f0");
    assert_true(ev.metric.value == 0);
    assert_true(sample_of("node_network_info", "device=e,adminstate=up", 1).metric.value == 1);
    assert_int_equal(read_sample("node_network_info", "device=e,adminstate=up", 0, &ev),
                     TC__METRIC_NO_VALUE);
    assert_int_equal(read_sample("node_network_info", "device=e", 1, &ev), TC__METRIC_NO_VALUE);
}

static void ranks_have_places(void **state)
{
    (void)state;
    struct tc_event place;
    struct tc_event ev = sample_of("XPU_TIMER_COMMON_HANG",
                                   "ip=10.1.2.3,job_name=j,local_rank=4,pod_name=p,rank=12", 1);
    assert_int_equal(ev.scope.rank, 12);
    assert_slice(ev.scope.node, "10.1.2.3");
    assert_true(tc__metric_place(&ev, &place));
    assert_int_equal(place.kind, TC_EVENT_RANK_PLACE);
    assert_slice(place.place.origin, "labels");
    assert_int_equal(place.place.world_size, -1);
    assert_slice(place.scope.pod, "p");
    assert_slice(place.scope.job, "j");
    assert_int_equal(place.scope.rank, 12);
    assert_int_equal(place.scope.gpu_index, 4);
    ev = sample_of("XPU_TIMER_COMMON_HANG", "job_name=j,rank=12", 1);
    assert_false(tc__metric_place(&ev, &place));
    ev = sample_of("XPU_TIMER_COMMON_HANG", "pod_name=p", 1);
    assert_false(tc__metric_place(&ev, &place));
}

static void a_full_arena_is_told(void **state)
{
    (void)state;
    struct tc__metric_use use;
    struct tc__metric_sample sample;
    struct tc_event ev;
    char tiny[8];
    struct tc_arena small;
    tc_arena_init(&small, "tiny", tiny, sizeof tiny);
    assert_true(tc__metric_map(TC_LIT("nvidia_smi_temperature_gpu"), &use));
    tc__metric_begin(&sample, &use, &small);
    assert_true(
        tc__metric_label(&sample, TC_LIT("uuid"), TC_LIT("df6e7a7c-7314-46f8-abc4-b88b36dcf3aa")));
    assert_int_equal(tc__metric_end(&sample, 1, &ev), TC__METRIC_NOMEM);
    tc_arena_fini(&small);
}

static void labels_that_nothing_uses_are_refused(void **state)
{
    (void)state;
    assert_non_null(tc__metric_label_find(TC_LIT("Hostname")));
    assert_null(tc__metric_label_find(TC_LIT("modelName")));
    assert_null(tc__metric_label_find(TC_LIT("job")));
    assert_null(tc__metric_label_find(TC_EMPTY));
}

static void every_verdict_says_why(void **state)
{
    (void)state;
    assert_string_equal(tc__metric_why(TC__METRIC_READ), "");
    for (unsigned v = TC__METRIC_OTHER; v <= TC__METRIC_NOMEM; v++) {
        assert_true(tc__metric_why((enum tc__metric_verdict)v)[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_sorted_plain_and_found_by_its_name),
        cmocka_unit_test(every_metric_has_a_name),
        cmocka_unit_test(names_that_nothing_reads_are_refused),
        cmocka_unit_test(a_gpu_has_all_its_names_and_its_user),
        cmocka_unit_test(racks_and_zones_are_those_of_node_labels),
        cmocka_unit_test(an_event_starts_out_as_unknown),
        cmocka_unit_test(the_kubernetes_node_wins_over_the_host_and_the_instance),
        cmocka_unit_test(the_exporters_own_pod_does_not_use_the_gpu),
        cmocka_unit_test(prometheus_own_job_is_not_the_training_job),
        cmocka_unit_test(a_uuid_without_its_prefix_gets_it_and_a_mig_instance_is_no_gpu),
        cmocka_unit_test(devices_are_named_as_people_name_them),
        cmocka_unit_test(only_writes_and_what_was_received_count),
        cmocka_unit_test(what_dcgm_writes_for_no_value_is_no_value),
        cmocka_unit_test(states_of_switch_links_become_ours),
        cmocka_unit_test(one_reason_is_its_bit),
        cmocka_unit_test(the_admin_state_is_in_a_label),
        cmocka_unit_test(ranks_have_places),
        cmocka_unit_test(a_full_arena_is_told),
        cmocka_unit_test(labels_that_nothing_uses_are_refused),
        cmocka_unit_test(every_verdict_says_why),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
