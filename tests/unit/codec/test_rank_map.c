/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of ranks, and pods that say which ranks they run. All of it is invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/time.h"
#include "codec/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 128
#define BLOCK_BYTES ((size_t)8 << 20)
#define MISTAKES_MAX 16

#define assert_text(slice, literal) assert_true(tc_slice_eq((slice), TC_LIT(literal)))

static struct {
    struct tc_event events[EVENTS_MAX];
    size_t count;
    size_t mistakes;
    uint64_t at[MISTAKES_MAX];
    const char *why[MISTAKES_MAX];
    size_t input_bytes;
    struct tc_error err;
    tc_status refuse;
    size_t scratch_bytes;
    char *copy;
    char *arena_block;
    char *scratch_block;
} t;

static tc_status on_event(void *context, const struct tc_event *ev)
{
    (void)context;
    assert_true(t.count < EVENTS_MAX);
    assert_true(ev->raw.offset + ev->raw.length <= t.input_bytes && ev->raw.length > 0);
    t.events[t.count++] = *ev;
    return t.refuse;
}

static tc_status on_mistake(void *context, uint64_t offset, size_t length, const char *why)
{
    (void)context;
    assert_true(offset + length <= t.input_bytes);
    if (t.mistakes < MISTAKES_MAX) {
        t.at[t.mistakes] = offset;
        t.why[t.mistakes] = why;
    }
    t.mistakes++;
    return TC_OK;
}

static int set_up(void **state)
{
    (void)state;
    t.arena_block = calloc(1, BLOCK_BYTES);
    t.scratch_block = calloc(1, BLOCK_BYTES);
    assert_non_null(t.arena_block);
    assert_non_null(t.scratch_block);
    t.scratch_bytes = BLOCK_BYTES;
    t.refuse = TC_OK;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(t.copy);
    free(t.arena_block);
    free(t.scratch_block);
    t.copy = NULL;
    return 0;
}

static tc_status decode_with(const struct tc_codec *codec, const char *text)
{
    struct tc_arena arena;
    struct tc_arena scratch;
    struct tc_codec_cursor cursor = {0};
    free(t.copy);
    t.input_bytes = strlen(text);
    t.copy = malloc(t.input_bytes + 1);
    assert_non_null(t.copy);
    memcpy(t.copy, text, t.input_bytes);
    t.count = 0;
    t.mistakes = 0;
    t.err = (struct tc_error){0};
    tc_arena_init(&arena, "arena", t.arena_block, BLOCK_BYTES);
    tc_arena_init(&scratch, "scratch", t.scratch_block, t.scratch_bytes);
    struct tc_codec_input in = {.bytes = tc_slice_make(t.copy, t.input_bytes),
                                .boot_ns = TC_TIME_NONE,
                                .now_ns = TC_TIME_NONE,
                                .want_unknown = true};
    struct tc_codec_out out = {
        .event = on_event, .unknown = on_mistake, .arena = &arena, .scratch = &scratch};
    tc_status status = codec->decode(&in, &cursor, &out, &t.err);
    tc_arena_fini(&arena);
    tc_arena_fini(&scratch);
    return status;
}

static tc_status decode(const char *text)
{
    return decode_with(&tc_codec_rank_map, text);
}

static void a_table_with_commas_is_read(void **state)
{
    (void)state;
    assert_int_equal(
        decode("# made by hand\nrank,node,gpu,gpu_uuid,pci,pod,namespace,job,world_size\n"
               "0,gpu-07,3,GPU-aaa,0000:b3:00.0,llm-0,train,llm-7,16\r\n"
               "\n"
               "1, \"gpu-08\" ,-,,00000000:5C:00.0,,,llm-7,\n"),
        TC_OK);
    assert_int_equal(t.count, 2);
    const struct tc_event *ev = &t.events[0];
    assert_int_equal(ev->kind, TC_EVENT_RANK_PLACE);
    assert_int_equal(ev->time_ns, TC_TIME_NONE);
    assert_int_equal(ev->scope.rank, 0);
    assert_text(ev->scope.node, "gpu-07");
    assert_int_equal(ev->scope.gpu_index, 3);
    assert_text(ev->scope.gpu_uuid, "GPU-aaa");
    assert_int_equal(ev->scope.pci.bus, 0xb3);
    assert_text(ev->scope.pod, "llm-0");
    assert_text(ev->scope.ns, "train");
    assert_text(ev->scope.job, "llm-7");
    assert_int_equal(ev->place.world_size, 16);
    assert_text(ev->place.origin, "map");
    ev = &t.events[1];
    assert_text(ev->scope.node, "gpu-08");
    assert_int_equal(ev->scope.gpu_index, -1);
    assert_int_equal(ev->scope.pci.bus, 0x5c);
    assert_int_equal(ev->place.world_size, -1);
}

static void other_separators_orders_and_names_are_read(void **state)
{
    static const char *const maps[] = {
        "host;rank;gpu_index;model\ngpu-07;5;2;H100\n",
        "gpu\tmodel\tHostname\tglobal_rank\n2\tH100\tgpu-07\t5\n",
        "  Rank   Node_Name   GPU  \n  5      gpu-07      2\n",
        "\xef\xbb\xbfrank node gpu\n5 gpu-07 2",
        "[{\"rank\":5,\"node\":\"gpu-07\",\"gpu\":2,\"model\":null}]",
        "{\"rank\":5,\"k8s.node.name\":\"gpu-07\",\"gpu.index\":2}\n",
        "[\n {\"rank\": \"5\", \"host\": \"gpu\\u002d07\", \"gpu\": \"2\"}\n]\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        assert_int_equal(decode(maps[i]), TC_OK);
        assert_int_equal(t.count, 1);
        assert_int_equal(t.events[0].scope.rank, 5);
        assert_text(t.events[0].scope.node, "gpu-07");
        assert_int_equal(t.events[0].scope.gpu_index, 2);
    }
}

static void a_hostfile_fills_slots_in_order(void **state)
{
    (void)state;
    assert_int_equal(decode("# hosts\ngpu-07 slots=2 max_slots=8\ngpu-08   slots=1\n"), TC_OK);
    assert_int_equal(t.count, 3);
    assert_text(t.events[1].scope.node, "gpu-07");
    assert_int_equal(t.events[1].scope.rank, 1);
    assert_int_equal(t.events[1].scope.gpu_index, 1);
    assert_text(t.events[2].scope.node, "gpu-08");
    assert_int_equal(t.events[2].scope.rank, 2);
    assert_int_equal(t.events[2].scope.gpu_index, 0);
    assert_int_equal(decode("gpu-07:4\ngpu-08:4\n"), TC_OK);
    assert_int_equal(t.count, 8);
    assert_int_equal(t.events[7].scope.rank, 7);
}

static void every_mistake_is_told_with_its_place(void **state)
{
    (void)state;
    assert_int_equal(decode("rank,node,gpu,pci\n"
                            "x,a,0,\n"
                            "1,b,minus,nowhere\n"
                            "2,,,\n"
                            ",c,1,\n"
                            "3,d,1,,more\n"
                            "4,e,1,\n"
                            "4,f,1,\n"),
                     TC_E_MALFORMED);
    assert_int_equal(t.mistakes, 7);
    assert_int_equal(t.at[0], 18);
    assert_int_equal(t.at[1], 18 + 7 + 4);
    assert_int_equal(t.at[2], 18 + 7 + 10);
    assert_string_equal(t.why[3], "a rank without a node, a GPU's UUID or a pod");
    assert_string_equal(t.why[4], "no rank");
    assert_string_equal(t.why[5], "more cells than the header has columns");
    assert_string_equal(t.why[6], "this rank is there twice");
    assert_int_equal(t.err.offset, 18);
    assert_string_equal(t.err.message,
                        "column 1: a rank is a number from 0 on; there are more mistakes");
}

static void the_same_rank_of_two_jobs_is_no_mistake(void **state)
{
    (void)state;
    assert_int_equal(decode("rank,node,job\n0,a,x\n0,b,y\n"), TC_OK);
    assert_int_equal(t.count, 2);
}

static void what_is_no_map_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "\n# nothing\n",
        "gpu-07\ngpu-08\n",
        "node,gpu\na,0\n",
        "rank,gpu\n0,0\n",
        "hello world\n",
        "gpu-07 slots=0\n",
        "gpu-07 slots=many\n",
        "gpu-07 slots=8\ngpu-08\n",
        "gpu-07:99999\n",
        "[{\"rank\":0,\"node\":\"a\"}",
        "[3]",
        "{\"rank\":0,\"node\":\"a\"}\n{\"rank\":\n",
        "{\"node\":\"a\"}",
        "{\"rank\":-1,\"node\":\"a\"}",
        "rank,node\n1048576,a\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(decode(texts[i]), TC_E_MALFORMED);
        assert_true(t.mistakes >= 1);
    }
}

static void long_names_are_a_mistake(void **state)
{
    char text[600];
    (void)state;
    char name[301];
    memset(name, 'n', 300);
    name[300] = '\0';
    (void)snprintf(text, sizeof text, "rank,node\n0,%s\n", name);
    assert_int_equal(decode(text), TC_E_MALFORMED);
    (void)snprintf(text, sizeof text, "%s slots=2\n", name);
    assert_int_equal(decode(text), TC_E_MALFORMED);
}

static void memory_and_the_sink_may_fail(void **state)
{
    (void)state;
    t.scratch_bytes = 64;
    assert_int_equal(decode("rank,node\n0,a\n"), TC_E_NOMEM);
    t.scratch_bytes = BLOCK_BYTES;
    t.refuse = TC_E_IO;
    assert_int_equal(decode("rank,node\n0,a\n1,b\n"), TC_E_IO);
    assert_int_equal(t.count, 1);
}

static void only_a_header_of_ranks_and_nodes_is_recognised(void **state)
{
    (void)state;
    assert_ptr_equal(tc_codec_recognise(TC_LIT("rank,node,gpu\n0,a,0\n"), TC_LIT("x.csv")),
                     &tc_codec_rank_map);
    assert_ptr_equal(tc_codec_recognise(TC_LIT("HOST GLOBAL_RANK\na 0\n"), TC_LIT("x")),
                     &tc_codec_rank_map);
    assert_null(tc_codec_recognise(TC_LIT("gpu-07 slots=8\n"), TC_LIT("hostfile")));
    assert_null(tc_codec_recognise(TC_LIT("rank,score\n1,2\n"), TC_LIT("x.csv")));
    assert_null(tc_codec_recognise(TC_LIT("the rank of this node is unknown\n"), TC_LIT("x")));
    assert_null(tc_codec_recognise(TC_LIT("{\"rank\":0,\"node\":\"a\"}\n"), TC_LIT("x.json")));
}

/* A pod with what is put into labels, annotations, env and limits. */
static size_t pod_places(const char *labels, const char *annotations, const char *env,
                         const char *gpus)
{
    char text[2048];
    (void)snprintf(
        text, sizeof text,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"llm-1\","
        "\"namespace\":\"train\",\"uid\":\"u-1\",\"labels\":{%s},\"annotations\":{%s}},"
        "\"spec\":{\"nodeName\":\"gpu-07\",\"containers\":[{\"name\":\"main\",\"env\":[%s],"
        "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"%s\"}}}]},"
        "\"status\":{\"phase\":\"Running\",\"startTime\":\"2026-03-04T05:06:00Z\"}}",
        labels, annotations, env, gpus);
    assert_int_equal(decode_with(&tc_codec_k8s, text), TC_OK);
    assert_true(t.count > 0 && t.events[t.count - 1].kind == TC_EVENT_POD_STATE);
    t.count--;
    for (size_t i = 0; i < t.count; i++) {
        assert_int_equal(t.events[i].kind, TC_EVENT_RANK_PLACE);
        assert_text(t.events[i].place.origin, "pod");
        assert_text(t.events[i].scope.node, "gpu-07");
        assert_text(t.events[i].scope.pod, "llm-1");
        assert_int_equal(t.events[i].time_ns, INT64_C(1772600760) * TC_SECOND);
        assert_int_equal(t.events[i].scope.rank, t.events[0].scope.rank + (int32_t)i);
    }
    return t.count;
}

#define ENV(name, value) "{\"name\":\"" name "\",\"value\":\"" value "\"}"
#define INDEX "\"batch.kubernetes.io/job-completion-index\":\"2\""
#define REPLICA                                      \
    "\"training.kubeflow.org/replica-index\":\"1\"," \
    "\"training.kubeflow.org/replica-type\":\"worker\""

static void pods_that_number_themselves_are_maps(void **state)
{
    (void)state;
    assert_int_equal(pod_places("", "", ENV("RANK", "5") "," ENV("WORLD_SIZE", "16"), "1"), 1);
    assert_int_equal(t.events[0].scope.rank, 5);
    assert_int_equal(t.events[0].scope.gpu_index, -1);
    assert_int_equal(t.events[0].place.world_size, 16);
    assert_int_equal(pod_places("", "", ENV("NODE_RANK", "1") "," ENV("NPROC_PER_NODE", "4"), "4"),
                     4);
    assert_int_equal(t.events[0].scope.rank, 4);
    assert_int_equal(t.events[0].scope.gpu_index, -1); /* a part of the node: which GPUs? */
    assert_int_equal(pod_places("\"job-name\":\"llm-7\"", INDEX, "", "8"), 8);
    assert_int_equal(t.events[0].scope.rank, 16);
    assert_int_equal(t.events[7].scope.gpu_index, 7);
    assert_text(t.events[0].scope.job, "llm-7");
    assert_int_equal(pod_places(INDEX, "", "", "8"), 8); /* as a label */
    assert_int_equal(pod_places("", "", ENV("JOB_COMPLETION_INDEX", "2"), "8"), 8);
    assert_int_equal(pod_places(REPLICA ",\"training.kubeflow.org/job-name\":\"pt\"", "",
                                ENV("RANK", "2") "," ENV("WORLD_SIZE", "4"), "8"),
                     8);
    assert_int_equal(t.events[0].scope.rank, 16);
    assert_int_equal(t.events[0].place.world_size, -1); /* it counts pods */
    assert_text(t.events[0].scope.job, "pt");
}

static void what_could_be_meant_two_ways_is_not_claimed(void **state)
{
    (void)state;
    assert_int_equal(pod_places("", "", ENV("RANK", "2"), "8"), 0); /* of a pod, or a process? */
    assert_int_equal(pod_places(REPLICA, "", "", "8"), 0);
    assert_int_equal(pod_places("", INDEX, "", "0"), 0);
    assert_int_equal(pod_places("", "", ENV("RANK", "$(INDEX)"), "1"), 0);
    assert_int_equal(pod_places("", "", ENV("NODE_RANK", "1"), "8"), 0);
    assert_int_equal(
        pod_places("", "", ENV("NODE_RANK", "1") "," ENV("NPROC_PER_NODE", "auto"), "8"), 0);
    assert_int_equal(pod_places("", "", "", "8"), 0);
    assert_int_equal(
        pod_places("", "", ENV("NODE_RANK", "1") "," ENV("NPROC_PER_NODE", "9999"), "8"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_table_with_commas_is_read),
        TEST(other_separators_orders_and_names_are_read),
        TEST(a_hostfile_fills_slots_in_order),
        TEST(every_mistake_is_told_with_its_place),
        TEST(the_same_rank_of_two_jobs_is_no_mistake),
        TEST(what_is_no_map_is_refused),
        TEST(long_names_are_a_mistake),
        TEST(memory_and_the_sink_may_fail),
        TEST(only_a_header_of_ranks_and_nodes_is_recognised),
        TEST(pods_that_number_themselves_are_maps),
        TEST(what_could_be_meant_two_ways_is_not_claimed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
