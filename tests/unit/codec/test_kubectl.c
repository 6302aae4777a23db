/* SPDX-License-Identifier: Apache-2.0 */
/* What kubectl prints for people. Forms are kubectl's, names and values are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TESTED_CODEC tc_codec_kubectl
#include "unit/codec/k8s_testing.h"

#define POD                         \
    "Name:           w-3\n"         \
    "Namespace:      team\n"        \
    "Node:           n1/10.0.0.1\n" \
    "Status:         Failed\n"      \
    "Reason:         Evicted\n"     \
    "Message:        The node was low on resource: memory. \n"
#define CONTAINER                                           \
    "Containers:\n"                                         \
    "  main:\n"                                             \
    "    Container ID:  containerd://aa\n"                  \
    "    State:          Terminated\n"                      \
    "      Reason:       Error\n"                           \
    "      Exit Code:    137\n"                             \
    "      Finished:     Mon, 02 Mar 2026 10:00:00 +0100\n" \
    "    Ready:          False\n"
#define EVENTS                                                 \
    "Events:\n"                                                \
    "  Type     Reason   Age               From     Message\n" \
    "  ----     ------   ----              ----     -------\n" \
    "  Warning  Evicted  6m (x2 over 7m)   kubelet  The node was low on resource: memory.\n"

static void a_described_pod_says_its_state_its_containers_and_its_events(void **state)
{
    (void)state;
    assert_int_equal(decode(POD CONTAINER EVENTS), TC_OK);
    assert_int_equal(t.count, 3);
    assert_int_equal(t.events[0].kind, TC_EVENT_POD_STATE);
    SAME(t.events[0].scope.container, "main");
    SAME(t.events[0].pod.reason, "Error");
    assert_int_equal(t.events[0].pod.exit_code, 137);
    assert_int_equal(t.events[0].pod.signal, 9);
    assert_true(t.events[0].time_ns == at("2026-03-02T09:00:00Z"));
    assert_int_equal(t.events[1].kind, TC_EVENT_K8S_EVENT);
    SAME(t.events[1].k8s.object_kind, "Pod");
    SAME(t.events[1].k8s.object_name, "w-3");
    SAME(t.events[1].scope.node, "n1");
    assert_int_equal(t.events[1].k8s.count, 2);
    assert_true(t.events[1].time_ns == at("2026-03-02T09:00:00Z"));
    assert_int_equal(t.events[2].kind, TC_EVENT_POD_STATE);
    SAME(t.events[2].scope.pod, "w-3");
    SAME(t.events[2].scope.ns, "team");
    SAME(t.events[2].scope.node, "n1");
    SAME(t.events[2].pod.phase, "Failed");
    SAME(t.events[2].pod.reason, "Evicted");
    SAME(t.events[2].pod.message, "The node was low on resource: memory.");
    assert_int_equal(sniff(POD CONTAINER EVENTS), TC_SNIFF_LIKELY);
}

static void a_described_pod_says_which_rank_it_runs(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t rank;
        const char *job;
    } cases[] = {
        {"Labels:  training.kubeflow.org/job-name=v\n         "
         "training.kubeflow.org/replica-index=1\n"
         "Containers:\n  main:\n    Image: x\n    Environment:\n      RANK:  2\n",
         2, "v"},
        {"Annotations:  batch.kubernetes.io/job-completion-index: 5\nContainers:\n  main:\n    "
         "Image: "
         "x\n    Environment:\n      RANK:   (v1:metadata.annotations['batch.kubernetes.io/"
         "job-completion-index'])\n",
         5, ""},
        {"Containers:\n  main:\n    Image: x\n    Limits:\n      nvidia.com/gpu:  8\n    "
         "Environment:\n      RANK:  2\n",
         -1, ""},
        {"Containers:\n  main:\n    Image: x\n    Environment:\n      RANK:  many\n", -1, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1000];
        (void)snprintf(text, sizeof text, "Name: w-3\nNamespace: team\nNode: n1/10.0.0.1\n%s",
                       cases[i].text);
        assert_int_equal(decode(text), TC_OK);
        assert_int_equal(t.count, cases[i].rank >= 0);
        if (cases[i].rank >= 0) {
            assert_int_equal(t.events[0].kind, TC_EVENT_RANK_PLACE);
            assert_int_equal(t.events[0].scope.rank, cases[i].rank);
            SAME(t.events[0].scope.pod, "w-3");
            SAME(t.events[0].scope.node, "n1");
            SAME(t.events[0].scope.job, cases[i].job);
        }
    }
}

static void a_block_may_be_cut_at_its_top(void **state)
{
    (void)state;
    static const char cut[] = "Status:   Failed\nReason:   Evicted\nMessage:  Usage of EmptyDir "
                              "volume \"tmp\" exceeds the limit \"5Gi\".\n";
    assert_int_equal(decode(cut), TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].pod.reason, "Evicted");
    SAME(t.events[0].scope.pod, "");
    assert_true(t.events[0].time_ns == TC_TIME_NONE);
    assert_int_equal(t.cursor.undated, 1);
    /* The scheduler's event names the pod. */
    assert_int_equal(
        decode("Events:\n  Normal  Scheduled  3m  default-scheduler  Successfully assigned "
               "team/w-9 to n2\n  Warning  Evicted  2m  kubelet  The node was low.\n"),
        TC_OK);
    assert_int_equal(t.count, 2);
    SAME(t.events[1].scope.pod, "w-9");
    SAME(t.events[1].scope.ns, "team");
    SAME(t.events[1].scope.node, "n2");
}

static void what_is_not_a_pod_says_nothing_of_one(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "Name: claim\nNamespace: team\nStatus: Bound\nVolume: pvc-1\n",
        "Name: team\nLabels: a=b\nStatus: Active\n",
        "Name: w-1\nNamespace: team\nNode: n1/10.0.0.1\nStatus: Pending\n",
        "Status: Failed\nthe job has failed\n",
        "Reason: Evicted\nMessage: none\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(decode(texts[i]), TC_OK);
        assert_int_equal(t.count, 0);
    }
}

static void a_name_inside_of_a_block_begins_no_other(void **state)
{
    (void)state;
    assert_int_equal(decode("Name: w-1\nNamespace: team\nNode: n1/\nStatus: Failed\nReason: "
                            "Evicted\nVolumes:\n  cfg:\n    Type: ConfigMap\n    Name: other\n    "
                            "Optional: false\n" EVENTS),
                     TC_OK);
    assert_int_equal(t.count, 2);
    SAME(t.events[0].k8s.object_name, "w-1");
    SAME(t.events[1].scope.pod, "w-1");
}

static void containers_of_a_pod_that_is_deleted_ended_because_of_that(void **state)
{
    (void)state;
    assert_int_equal(decode("Name: w-1\nNamespace: team\nNode: n1/\n"
                            "Status: Terminating (lasts 12m)\n" CONTAINER),
                     TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].pod.reason, "Deleted");
    SAME(t.events[0].pod.message, "Error");
}

static void a_described_node_says_its_conditions(void **state)
{
    (void)state;
    static const char row[] = "  DiskPressure  True  Mon, 02 Mar 2026 10:00:00 +0100   Mon, 02 Mar "
                              "2026 09:00:00 +0100   KubeletHasDiskPressure   has disk pressure\n";
    char text[512];
    (void)snprintf(text, sizeof text, "Name: n1\nRoles: worker\nConditions:\n%s", row);
    assert_int_equal(decode(text), TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.events[0].kind, TC_EVENT_NODE_CONDITION);
    SAME(t.events[0].scope.node, "n1");
    SAME(t.events[0].k8s.type, "DiskPressure");
    SAME(t.events[0].k8s.status, "True");
    SAME(t.events[0].k8s.reason, "KubeletHasDiskPressure");
    SAME(t.events[0].k8s.message, "has disk pressure");
    assert_true(t.events[0].time_ns == at("2026-03-02T08:00:00Z"));
    assert_int_equal(decode(row), TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].scope.node, "");
}

static void a_line_of_the_kernel_that_is_quoted_is_one(void **state)
{
    (void)state;
    assert_int_equal(decode("Name:   n1\nRoles:  <none>\nConditions:\n"
                            "  GPUProblem  True  Mon, 02 Mar 2026 10:00:00 +0100  Mon, 02 Mar 2026 "
                            "09:58:00 +0100  Xid  NVRM: Xid (PCI:0000:8a:00): 79, GPU has fallen "
                            "off the bus.\n"),
                     TC_OK);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.events[1].kind, TC_EVENT_XID);
    assert_int_equal(t.events[1].xid.code, 79);
    SAME(t.events[1].scope.node, "n1");
    assert_true(t.events[1].time_ns - t.events[0].time_ns == 999000000);
    /* Somebody else's words about it, and a process that the kernel killed. */
    assert_int_equal(decode("Name:   n1\nRoles:  <none>\nEvents:\n"
                            "  Warning  Xid  6m  monitor  found NVRM: Xid (PCI:0000:8a:00): 79\n"
                            "  Warning  OOMKilling  6m  kernel-monitor  Killed process 7 (python) "
                            "total-vm:1kB, anon-rss:1kB, file-rss:0kB\n"),
                     TC_OK);
    assert_int_equal(t.count, 2);
}

static void a_described_event_is_read(void **state)
{
    (void)state;
    assert_int_equal(
        decode("Name: w-0.17c2f0a1b2c3d4e5\nNamespace: team\nCount: 14\nInvolved Object:\n  Kind: "
               "Pod\n  Name: w-0\n  Namespace: team\n  UID: u-1\nKind: Event\nLast Timestamp: "
               "2026-03-02T06:40:17Z\nMessage: error killing pod\nReason: FailedKillPod\nSource:\n "
               " Component: kubelet\n  Host: n1\nType: Warning\n"),
        TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].k8s.object_name, "w-0");
    SAME(t.events[0].k8s.object_uid, "u-1");
    SAME(t.events[0].k8s.reason, "FailedKillPod");
    SAME(t.events[0].scope.node, "n1");
    assert_int_equal(t.events[0].k8s.count, 14);
    assert_true(t.events[0].time_ns == at("2026-03-02T06:40:17Z"));
}

static void rows_of_events_are_known_by_their_shape(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        const char *ns;
        const char *name;
        int64_t count;
    } rows[] = {
        {"5m  Warning  Evicted  pod/w-0  gone", "", "w-0", 1},
        {"team  5m (x7 over 9m)  Warning  Evicted  Pod/w-0  gone", "team", "w-0", 7},
        {"<unknown>  Warning  Evicted  pod/w-0  gone", "", "w-0", 1},
        {"team  5m  Warning  Evicted  pod/w-0   spec.containers{c}   kubelet, n1   gone   9m   7   "
         "w-0.179d0c5b0a0b0c0d",
         "team", "w-0", 7},
        {"5m  9m  7  w-0.179d0c5b0a0b0c0d  Pod  spec.containers{c}  Warning  Evicted  kubelet, n1  "
         "gone",
         "", "w-0", 7},
        {"\x1b[36m5m\x1b[0m  \x1b[31mWarning\x1b[0m  Evicted  pod/w-0  gone", "", "w-0", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(decode(rows[i].row), TC_OK);
        assert_int_equal(t.count, 1);
        SAME(t.events[0].k8s.reason, "Evicted");
        SAME(t.events[0].k8s.type, "Warning");
        SAME(t.events[0].k8s.message, "gone");
        SAME(t.events[0].k8s.object_kind, "Pod");
        SAME(t.events[0].scope.ns, rows[i].ns);
        SAME(t.events[0].scope.pod, rows[i].name);
        assert_int_equal(t.events[0].k8s.count, rows[i].count);
        assert_true(t.events[0].time_ns == TC_TIME_NONE);
    }
}

static void ages_count_from_what_the_line_says(void **state)
{
    (void)state;
    assert_int_equal(decode("2026-03-02T10:00:00Z stdout F 1h5m  Warning  Evicted  pod/w-0  gone"),
                     TC_OK);
    assert_int_equal(t.count, 1);
    assert_true(t.events[0].time_ns == at("2026-03-02T08:55:00Z"));
}

static void rows_of_pods_and_nodes_are_known_by_their_shape(void **state)
{
    (void)state;
    assert_int_equal(
        decode("NAMESPACE  NAME  READY  STATUS  RESTARTS  AGE  IP  NODE\n"
               "team   w-0   0/1   Evicted            0               3h   <none>      n1   "
               "<none>\n"
               "team   w-1   0/1   CrashLoopBackOff   17 (2m9s ago)   3h   10.0.0.4    n2   "
               "<none>\n"
               "w-2    1/1   Running   0   3h\n"
               "w-3    0/1   Init:0/1  0   3h\n"
               "w-4    0/1   Completed 0   3h\n"
               "n1     NotReady,SchedulingDisabled   <none>   88d   v1.29.3\n"
               "n2     Ready   worker   88d   v1.29.3\n"),
        TC_OK);
    assert_int_equal(t.count, 6);
    SAME(t.events[0].pod.reason, "Evicted");
    SAME(t.events[0].pod.phase, "Failed");
    SAME(t.events[0].scope.node, "n1");
    SAME(t.events[0].scope.ns, "team");
    SAME(t.events[1].pod.reason, "CrashLoopBackOff");
    SAME(t.events[1].scope.node, "n2");
    SAME(t.events[2].pod.phase, "Running");
    SAME(t.events[3].pod.phase, "Succeeded");
    SAME(t.events[4].k8s.status, "False");
    SAME(t.events[4].scope.node, "n1");
    SAME(t.events[5].k8s.status, "True");
}

static void columns_of_ones_own_are_read_by_their_titles(void **state)
{
    (void)state;
    assert_int_equal(decode("NS     NAME   NODE   PHASE    REASON\n"
                            "team   w-0    n1     Failed   Evicted\n"
                            "team   w-1    n2     Running  <none>\n"),
                     TC_OK);
    assert_int_equal(t.count, 2);
    SAME(t.events[0].pod.reason, "Evicted");
    SAME(t.events[0].scope.node, "n1");
    SAME(t.events[1].pod.reason, "");
    SAME(t.events[1].pod.phase, "Running");
    assert_int_equal(decode("LastSeen               Count   From      Reason           Message\n"
                            "2026-03-02T10:00:00Z   3       kubelet   NodeNotReady     gone\n"),
                     TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.events[0].k8s.count, 3);
    assert_true(t.events[0].time_ns == at("2026-03-02T10:00:00Z"));
    assert_int_equal(decode("NAME    READY     DISKPRESSURE\nn1   Unknown   True\n"), TC_OK);
    assert_int_equal(t.count, 2);
    SAME(t.events[1].k8s.type, "DiskPressure");
    /* An empty line ends the table. */
    assert_int_equal(decode("NAME    READY     DISKPRESSURE\n\nn1   Unknown   True\n"), TC_OK);
    assert_int_equal(t.count, 0);
}

static void other_texts_are_not_ours(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "Mar  2 10:00:00 n1 kernel: [ 12.5] NVRM: Xid (PCI:0000:5d:00): 79, gone\n",
        "# TYPE kube_pod_info gauge\nkube_pod_info{pod=\"a\"} 1\n",
        "#include <stdio.h>\nint main(void) { return 0; }\n",
        "# A program\n\nName: it does things. Status: it works, Warning: it may fail.\n",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nstatus:\n  phase: Failed\n",
        "a/b  c  d\n1/2  3  4\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(sniff(texts[i]), TC_SNIFF_NO);
        assert_int_equal(decode(texts[i]), TC_OK);
        assert_int_equal(t.count, 0);
    }
}

static void hostile_bytes_are_taken(void **state)
{
    (void)state;
    static const char good[] = POD CONTAINER EVENTS
        "team  5m  Warning  Evicted  pod/w-0  s  k  m  9m  7  w-0.179d0c5b0a0b0c0d\n"
        "99999999999999999999y  Warning  A  pod/x  y\n"
        "w-0  99999999999999999999/1  Running  99999999999999999999  1y\n"
        "\xe2\x94\x82 a \x1b[";
    for (size_t len = 0; len < sizeof good; len++) {
        assert_int_equal(decode_bytes(good, len), TC_OK);
    }
    size_t big = (size_t)3 << 20;
    char *text = malloc(big);
    assert_non_null(text);
    memset(text, 'a', big);
    assert_int_equal(decode_bytes(text, big), TC_OK);
    memset(text, ' ', big);
    assert_int_equal(decode_bytes(text, big), TC_OK);
    memset(text, 0, big);
    assert_int_equal(decode_bytes(text, big), TC_OK);
    assert_int_equal(t.count, 0);
    free(text);
    t.arena_bytes = 16;
    assert_int_equal(decode("\x1b[36m5m\x1b[0m  Warning  Evicted  pod/w-0  gone"), TC_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_described_pod_says_its_state_its_containers_and_its_events, setup),
        cmocka_unit_test_setup(a_described_pod_says_which_rank_it_runs, setup),
        cmocka_unit_test_setup(a_block_may_be_cut_at_its_top, setup),
        cmocka_unit_test_setup(what_is_not_a_pod_says_nothing_of_one, setup),
        cmocka_unit_test_setup(a_name_inside_of_a_block_begins_no_other, setup),
        cmocka_unit_test_setup(containers_of_a_pod_that_is_deleted_ended_because_of_that, setup),
        cmocka_unit_test_setup(a_described_node_says_its_conditions, setup),
        cmocka_unit_test_setup(a_line_of_the_kernel_that_is_quoted_is_one, setup),
        cmocka_unit_test_setup(a_described_event_is_read, setup),
        cmocka_unit_test_setup(rows_of_events_are_known_by_their_shape, setup),
        cmocka_unit_test_setup(ages_count_from_what_the_line_says, setup),
        cmocka_unit_test_setup(rows_of_pods_and_nodes_are_known_by_their_shape, setup),
        cmocka_unit_test_setup(columns_of_ones_own_are_read_by_their_titles, setup),
        cmocka_unit_test_setup(other_texts_are_not_ours, setup),
        cmocka_unit_test_setup(hostile_bytes_are_taken, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
