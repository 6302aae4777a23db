/* SPDX-License-Identifier: Apache-2.0 */
/* Where a run was: objects of Kubernetes, and Slurm's words about a job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/result/result_testing.h"

#define POD(name, node, gpus, digit)                                                           \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name "\"},\"spec\":{"  \
    "\"nodeName\":\"" node "\",\"containers\":[{\"name\":\"c\",\"image\":\"r/sglang:v0.4.6\"," \
    "\"resources\":{\"limits\":{\"nvidia.com/gpu\":" gpus "}}}]},\"status\":{\"phase\":"       \
    "\"Running\",\"containerStatuses\":[{\"name\":\"c\",\"imageID\":\"r/sglang@sha256:" digit  \
        DIGITS "\"}]}}"
#define DIGITS "23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0"
#define NODE(name, zone)                                                                        \
    "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"" name "\",\"labels\":{" \
    "\"topology.kubernetes.io/zone\":\"" zone "\",\"node.kubernetes.io/instance-type\":\"p5\"}}}"
#define LIST(items) "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" items "]}"

static void assert_said(const struct tc_result *r, enum tc_table table, size_t column,
                        const char *want)
{
    const struct tc_rows *facts = tc_result_facts(r, table);
    bool known = facts != NULL && !tc_rows_is_null(facts, column, 0);
    if (want == NULL) {
        assert_false(known);
        return;
    }
    assert_true(known);
    struct tc_slice text = tc_rows_get_text(facts, column, 0);
    if (!tc_slice_eq(text, tc_slice_cstr(want))) {
        fail_msg("\"%.*s\" is not \"%s\"", TC_FMT(text), want);
    }
}

static void assert_number(const struct tc_result *r, size_t column, int64_t want)
{
    const struct tc_rows *facts = tc_result_facts(r, TC_TABLE_HARDWARE);
    assert_non_null(facts);
    assert_int_equal(tc_rows_get_int(facts, column, 0), want);
}

static void nodes_of_pods_with_gpus_count(void **state)
{
    (void)state;
    struct tc_result *r = read_text(LIST(NODE("b", "z2") "," POD("p1", "a", "\"8\"", "1") "," POD(
                                        "p2", "a", "4", "1") "," NODE("a", "z1")),
                                    "kubernetes");
    assert_int_equal(tc_result_rows(r), 0);
    assert_said(r, TC_TABLE_CLUSTER, TC_CLUSTER_ZONE, "z1");
    assert_said(r, TC_TABLE_CLUSTER, TC_CLUSTER_FLAVOR, "p5");
    assert_said(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_IMAGE, "sha256:1" DIGITS);
    assert_said(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_SERVER, "sglang");
    assert_said(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_SERVER_VERSION, "0.4.6");
    assert_number(r, TC_HARDWARE_GPU_COUNT, 12);
    assert_number(r, TC_HARDWARE_NODE_COUNT, 1);
    tc_result_destroy(r);
}

static void what_objects_disagree_about_is_unknown_and_told(void **state)
{
    (void)state;
    uint64_t left_out = 0;
    struct tc_result *r =
        read_text(LIST(POD("p1", "a", "1", "1") "," POD("p2", "b", "1", "2") "," NODE(
                      "a", "z1") "," NODE("b", "z2")),
                  "kubernetes");
    assert_said(r, TC_TABLE_CLUSTER, TC_CLUSTER_ZONE, NULL);
    assert_said(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_IMAGE, NULL);
    assert_said(r, TC_TABLE_CLUSTER, TC_CLUSTER_FLAVOR, "p5");
    assert_number(r, TC_HARDWARE_NODE_COUNT, 2);
    assert_int_equal(tc_result_notes(r, &left_out), 2);
    assert_true(tc_slice_eq(tc_result_note_at(r, 0)->field, TC_LIT("zone")));
    assert_true(tc_slice_contains(tc_result_note_at(r, 0)->text, TC_LIT("\"z1\" and \"z2\"")));
    tc_result_destroy(r);
}

static void yaml_and_single_objects_are_read(void **state)
{
    (void)state;
    struct tc_result *r =
        read_text("apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  labels:\n"
                  "    failure-domain.beta.kubernetes.io/region: r1\nstatus:\n  nodeInfo:\n"
                  "    kernelVersion: 6.1.0\n",
                  "kubernetes");
    assert_said(r, TC_TABLE_CLUSTER, TC_CLUSTER_REGION, "r1");
    assert_said(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_KERNEL, "6.1.0");
    tc_result_destroy(r);
}

static void objects_that_say_nothing_are_refused(void **state)
{
    (void)state;
    refuse_text(LIST("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{}}"),
                "kubernetes", "say nothing about a run");
    refuse_text(
        "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[1,null,[],{\"kind\":\"Pod\"}]}",
        "kubernetes", "say nothing about a run");
}

static void slurm_tells_of_one_job(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        LINES("JobId=4711 JobName=train", "   Partition=gpu AllocNode:Sid=login:1",
              "   NodeList=gpu-[1-2] NumNodes=2-2 NumCPUs=64",
              "   TRES=cpu=64,node=2,gres/gpu=16,gres/gpu:h100=16", "SLURM_CLUSTER_NAME=big"),
        "slurm");
    assert_said(r, TC_TABLE_CLUSTER, TC_CLUSTER_QUEUE, "gpu");
    assert_said(r, TC_TABLE_CLUSTER, TC_CLUSTER_CLUSTER, "big");
    assert_said(r, TC_TABLE_CLUSTER, TC_CLUSTER_FLAVOR, "h100");
    assert_said(r, TC_TABLE_RUN, TC_RUN_SCHEDULER_RUN_ID, "4711");
    assert_number(r, TC_HARDWARE_NODE_COUNT, 2);
    assert_number(r, TC_HARDWARE_GPU_COUNT, 16);
    tc_result_destroy(r);
    r = read_text(
        "{\"meta\":{\"Slurm\":{}},\"jobs\":[{\"job_id\":7,\"cluster\":\"c\",\"partition\":"
        "\"p\",\"node_count\":{\"set\":true,\"number\":3}},{\"job_id\":8,\"cluster\":\"c\","
        "\"partition\":\"q\"}]}",
        "slurm");
    assert_said(r, TC_TABLE_CLUSTER, TC_CLUSTER_CLUSTER, "c");
    assert_said(r, TC_TABLE_CLUSTER, TC_CLUSTER_QUEUE, NULL);
    assert_number(r, TC_HARDWARE_NODE_COUNT, 3);
    tc_result_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_pods_with_gpus_count),
        cmocka_unit_test(what_objects_disagree_about_is_unknown_and_told),
        cmocka_unit_test(yaml_and_single_objects_are_read),
        cmocka_unit_test(objects_that_say_nothing_are_refused),
        cmocka_unit_test(slurm_tells_of_one_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
