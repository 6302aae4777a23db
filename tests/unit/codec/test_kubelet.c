/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of the kubelet and of controllers. Forms are theirs, names and values are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TESTED_CODEC tc_codec_kubelet
#include "unit/codec/k8s_testing.h"

#define KLOG "2026-03-02T10:00:00Z n1 kubelet[12]: I0302 10:00:00.000001 12 eviction_manager.go:1] "

static void evictions_are_read_in_every_form(void **state)
{
    (void)state;
    static const char *const lines[] = {
        KLOG "\"Eviction manager: pod is evicted successfully\" pod=\"team/w-1\"",
        KLOG "eviction manager: pod w-1_team(u-1) is evicted successfully",
        "{\"ts\":1772445600000.1,\"msg\":\"Eviction manager: pod is evicted successfully\","
        "\"pod\":{\"name\":\"w-1\",\"namespace\":\"team\"}}",
        "10.0.0.7: {\"ts\":1772445600000.1,\"msg\":\"Eviction manager: pod is evicted "
        "successfully\",\"pod\":{\"name\":\"w-1\",\"namespace\":\"team\"}}",
        "{\"log\":\"I0302 10:00:00.000001 12 e.go:1] \\\"Eviction manager: pod is evicted "
        "successfully\\\" pod=\\\"team/w-1\\\"\\n\",\"time\":\"2026-03-02T10:00:00Z\"}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(decode(lines[i]), TC_OK);
        assert_int_equal(t.count, 1);
        assert_int_equal(t.events[0].kind, TC_EVENT_POD_STATE);
        SAME(t.events[0].scope.ns, "team");
        SAME(t.events[0].scope.pod, "w-1");
        SAME(t.events[0].scope.pod_uid, i == 1 ? "u-1" : "");
        SAME(t.events[0].pod.reason, "Evicted");
        SAME(t.events[0].pod.message, "");
        assert_true(t.events[0].time_ns == at("2026-03-02T10:00:00Z"));
        assert_int_equal(sniff(lines[i]), TC_SNIFF_LIKELY);
    }
}

static void what_ran_short_stands_above(void **state)
{
    (void)state;
    static const char text[] =
        KLOG "\"Eviction manager: must evict pod(s) to reclaim\" resourceName=\"memory\"\n" KLOG
             "eviction manager: must evict pod(s) to reclaim ephemeral-storage\n" KLOG
             "\"Eviction manager: pod is evicted successfully\" pod=\"team/w-1\"\n";
    for (size_t pauses = 0; pauses < 2; pauses++) {
        t.pause_after_each = pauses == 1;
        assert_int_equal(decode(text), TC_OK);
        assert_int_equal(t.count, 1);
        SAME(t.events[0].pod.message,
             "eviction manager: must evict pods to reclaim ephemeral-storage");
        SAME(t.events[0].scope.node, "n1");
    }
    assert_int_equal(decode(KLOG "eviction manager: able to reduce memory pressure\n"), TC_OK);
    assert_int_equal(t.count, 0);
}

static void conditions_of_the_node_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *type;
        const char *status;
        const char *reason;
    } lines[] = {
        {KLOG "\"Node became not ready\" node=\"n1\" condition={\"type\":\"Ready\",\"status\":"
              "\"False\",\"reason\":\"KubeletNotReady\",\"message\":\"PLEG \\\"x\\\"\"}",
         "Ready", "False", "KubeletNotReady"},
        {KLOG "Node became not ready: {Type:Ready Status:False LastHeartbeatTime:x Reason:"
              "KubeletNotReady Message:container runtime is down}",
         "Ready", "False", "KubeletNotReady"},
        {KLOG "\"Recording event message for node\" node=\"n1\" event=\"NodeHasDiskPressure\"",
         "DiskPressure", "True", "NodeHasDiskPressure"},
        {KLOG "Recording NodeHasNoDiskPressure event message for node n1", "DiskPressure", "False",
         "NodeHasNoDiskPressure"},
        {KLOG "node n1 hasn't been updated for 40.001s. Last Ready is: x", "Ready", "Unknown",
         "NodeStatusUnknown"},
        {KLOG "Failed to admit pod w_team(u) - node has conditions: [DiskPressure]", "DiskPressure",
         "True", "FailedToAdmitPod"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(decode(lines[i].text), TC_OK);
        assert_int_equal(t.count, 1);
        assert_int_equal(t.events[0].kind, TC_EVENT_NODE_CONDITION);
        SAME(t.events[0].scope.node, "n1");
        SAME(t.events[0].k8s.type, lines[i].type);
        SAME(t.events[0].k8s.status, lines[i].status);
        SAME(t.events[0].k8s.reason, lines[i].reason);
    }
}

static void events_of_controllers_are_read(void **state)
{
    (void)state;
    static const char *const lines[] = {
        KLOG "\"Event occurred\" object=\"team/w-0\" kind=\"Pod\" type=\"Warning\" "
             "reason=\"FailedAttachVolume\" message=\"volume \\\"v\\\"\"",
        KLOG "Event(v1.ObjectReference{Kind:\"Pod\", Namespace:\"team\", Name:\"w-0\", UID:\"u\", "
             "APIVersion:\"v1\"}): type: 'Warning' reason: 'FailedAttachVolume' volume \"v\"",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(decode(lines[i]), TC_OK);
        assert_int_equal(t.count, 1);
        SAME(t.events[0].k8s.reason, "FailedAttachVolume");
        SAME(t.events[0].k8s.type, "Warning");
        SAME(t.events[0].k8s.message, "volume \"v\"");
        SAME(t.events[0].scope.pod, "w-0");
        SAME(t.events[0].scope.ns, "team");
    }
}

static void faults_of_the_node_are_read(void **state)
{
    (void)state;
    assert_int_equal(decode(KLOG "\"Got sys oom event\" event=&{Pid:12 ProcessName:my prog "
                                 "TimeOfDeath:x VictimContainerName:/kubepods/a "
                                 "Constraint:CONSTRAINT_MEMCG}"),
                     TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.events[0].kind, TC_EVENT_OOM_KILL);
    assert_int_equal(t.events[0].scope.pid, 12);
    SAME(t.events[0].oom.process, "my prog");
    SAME(t.events[0].oom.constraint, "CONSTRAINT_MEMCG");
    SAME(t.events[0].oom.cgroup, "/kubepods/a");

    assert_int_equal(decode("2026/03/02 10:00:00 XidCriticalError: Xid=79 on Device=GPU-0, the "
                            "device will go unhealthy."),
                     TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.events[0].xid.code, 79);
    SAME(t.events[0].scope.gpu_uuid, "GPU-0");

    assert_int_equal(decode(KLOG "UnmountVolume.TearDown failed for volume \"data\" : stat "
                                 "/var/lib: stale NFS file handle: Stale file handle"),
                     TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.events[0].kind, TC_EVENT_STORAGE_ERROR);
    SAME(t.events[0].fault.fault, "stale_handle");
    SAME(t.events[0].fault.device, "data");
    /* A program's own trouble is not a volume's. */
    assert_int_equal(decode(KLOG "cat: x: Stale file handle"), TC_OK);
    assert_int_equal(t.count, 0);
}

static void healthy_logs_are_known_and_other_texts_are_not(void **state)
{
    (void)state;
    assert_int_equal(sniff("I0910 12:00:11.001234    1290 server.go:487] \"Kubelet version\"\n"),
                     TC_SNIFF_MAYBE);
    assert_int_equal(sniff("The node hasn't been updated for a week. Event occurred.\n"),
                     TC_SNIFF_NO);
    assert_int_equal(sniff("pods are evicted successfully to reclaim memory\n"), TC_SNIFF_NO);
    assert_int_equal(sniff("main.go:12: undefined: x\n"), TC_SNIFF_NO);
    assert_int_equal(sniff("[ 12.5] NVRM: Xid (PCI:0000:5d:00): 79, gone\n"), TC_SNIFF_NO);
}

static void hostile_bytes_are_taken(void **state)
{
    (void)state;
    static const char text[] = KLOG
        "\"Eviction manager: must evict pod(s) to reclaim\" resourceName=\"memory\"\n" KLOG
        "\"Eviction manager: pod is evicted successfully\" pod=\"team/w-1\"\n" KLOG
        "\"Node became not ready\" node=\"n1\" condition={\"type\":\"Ready\",\"a\":[{\"\\\n" KLOG
        "\"Event occurred\" object=\"/\" reason=\"\\ud800\" message=\"\n" KLOG
        "\"Got sys oom event\" event=&{Pid:99999999999999999999999 ProcessName: TimeOfDeath:\n"
        "XidCriticalError: Xid=99999999999999999999999 on Device=;;;\n"
        "\"Recording event message for node\" node= event=\n";
    for (size_t len = 0; len < sizeof text; len++) {
        assert_int_equal(decode_bytes(text, len), TC_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(evictions_are_read_in_every_form, setup),
        cmocka_unit_test_setup(what_ran_short_stands_above, setup),
        cmocka_unit_test_setup(conditions_of_the_node_are_read, setup),
        cmocka_unit_test_setup(events_of_controllers_are_read, setup),
        cmocka_unit_test_setup(faults_of_the_node_are_read, setup),
        cmocka_unit_test_setup(healthy_logs_are_known_and_other_texts_are_not, setup),
        cmocka_unit_test_setup(hostile_bytes_are_taken, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
