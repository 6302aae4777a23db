/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result files and YAML with every allocation of ours failing in turn: no crash, no leak, no half
 * result, and a status that says why.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/yaml/json.h"
#include "result/requests.h"
#include "result/result.h"
#include "support/faulty.h"

#include <stdlib.h>
#include <string.h>

#define CALLS_MAX 2000

static const char *const TEXTS[] = {
    /* nccl-tests */
    "all_reduce_perf\n# size count type redop root time algbw busbw #wrong time algbw busbw "
    "#wrong\n"
    "8 2 float sum -1 1.0 0.5 0.6 0 2.0 0.7 0.8 0\n# Avg bus bandwidth    : 1\n",
    /* mllog */
    ":::MLLOG {\"key\": \"run_start\", \"time_ms\": 1000, \"metadata\": {}}\n"
    ":::MLLOG {\"key\": \"tracked_stats\", \"value\": {\"throughput\": 1}, \"time_ms\": 1500}\n"
    ":::MLLOG {\"key\": \"eval_accuracy\", \"value\": 0.5, \"time_ms\": 2000, \"metadata\": {}}\n"
    ":::MLLOG {\"key\": \"run_stop\", \"time_ms\": 3000, \"metadata\": {\"status\": "
    "\"success\"}}\n",
    /* torchtitan */
    "x step: 20  loss: 11.2  memory: 48.87GiB(51.44%)  tps: 4,376  mfu: 25.62%\n",
    /* fio, with text before it */
    "fio: warning\n{\"fio "
    "version\":\"fio-3.1\",\"jobs\":[{\"jobname\":\"a\",\"read\":{\"io_bytes\":9,"
    "\"bw\":4,\"clat_ns\":{\"min\":1,\"max\":9,\"mean\":2}}}]}\n",
    /* fio that wrote nan */
    "{\"fio version\":\"fio-2.2\",\"jobs\":[{\"jobname\":\"a\",\"read\":{\"io_bytes\":9,"
    "\"bw\":4,\"bw_mean\":-nan}}]}\n",
    /* mllog of 0.5, 0.6 and with NaN */
    ":::MLPv0.5.0 ncf 1.5 (a.py:1) run_start\n:::MLL 2.5 eval_accuracy: {\"value\": {\"A\": 1}}\n"
    ":::MLLOG {\"time_ms\": 3000, \"key\": \"eval_error\", \"value\": NaN}\n",
    /* a table with a row that was broken off, in ms */
    "x #      bytes  N  type  op  time  algbw  busbw  res\n"
    "x           8  2 float sumh:1:1 [0] NCCL INFO\nx 1.0 2.0 3.0 0\n",
    /* rccl-tests' files */
    "[{\"name\":\"AllReduce\",\"size\":8,\"inPlace\":0,\"time\":1,\"busBw\":2,\"wrong\":\"0\"}]",
    "numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\n"
    "0,\"AllGather\",8,8,\"float\",\"none\",1,2.5,0.1,0.1,\"N/A\"\n",
    /* mlperf-storage */
    "{\"num_accelerators\":8,\"metric\":{\"train_au_percentage\":[1,2],\"train_io_mean_MB_per_"
    "second\":3}}",
    /* mlperf-inference */
    "MLPerf Results Summary\nScenario : Server\nResult is : VALID\nMean latency (ns) : 5\n",
    /* inference-perf as YAML */
    "load_summary: {count: 1}\nsuccesses:\n  count: 1\n  latency: {request_latency: {mean: 1}}\n"
    "failures: {count: 0}\n",
    /* its requests */
    "[{\"start_time\":0,\"end_time\":1,\"info\":{\"output_tokens\":2,\"output_token_times\":[0.1,0."
    "2]},"
    "\"error\":null}]",
    /* llm-d as YAML */
    "version: '0.2'\nrun: {uid: u}\nscenario: {}\nresults:\n  request_performance:\n    "
    "aggregate:\n"
    "      requests: {total: 1, failures: 0}\n      latency: {request_latency: {units: s, mean: "
    "1}}\n",
};

static void plan(enum fault fault, long at)
{
    *tc_faulty_plan = (struct plan){.fault = fault, .write_fd = -1, .fail_at = at};
}

static void no_reader_minds_a_lack_of_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        long at = 0;
        for (; at < CALLS_MAX; at++) {
            struct tc_result *r = NULL;
            struct tc_error err = {.message = ""};
            plan(FAULT_ALLOC, at);
            tc_status status = tc_result_read(TC_LIT("f"), tc_slice_cstr(TEXTS[i]), NULL, &r, &err);
            bool hit = tc_faulty_plan->hit;
            plan(FAULT_NONE, 0);
            if (status == TC_OK) {
                assert_true(tc_result_rows(r) > 0);
            } else {
                assert_int_equal(status, TC_E_NOMEM);
                assert_null(r);
                assert_true(err.message[0] != '\0');
            }
            tc_result_destroy(r);
            if (!hit) {
                assert_int_equal(status, TC_OK);
                break;
            }
        }
        assert_true(at > 0 && at < CALLS_MAX);
    }
}

static tc_status count_requests(void *context, size_t serving, struct tc_rows *rows,
                                struct tc_error *err)
{
    size_t *count = context;
    (void)serving;
    (void)err;
    *count += rows->count;
    return TC_OK;
}

static void requests_do_not_mind_either(void **state)
{
    (void)state;
    static const char text[] =
        "{\"model_id\":\"m\",\"completed\":1,\"duration\":1,\"request_throughput\":1,"
        "\"mean_ttft_ms\":1,\"ttfts\":[0.5,0],\"errors\":[\"\",\"no\"],\"itls\":[[1],[]]}";
    long at = 0;
    for (; at < CALLS_MAX; at++) {
        struct tc_error err = {.message = ""};
        size_t count = 0;
        plan(FAULT_ALLOC, at);
        tc_status status = tc_result_read_requests(TC_LIT("f"), tc_slice_cstr(text), NULL,
                                                   count_requests, &count, &err);
        bool hit = tc_faulty_plan->hit;
        plan(FAULT_NONE, 0);
        assert_int_equal(status, hit ? TC_E_NOMEM : TC_OK);
        assert_true(hit ? err.message[0] != '\0' : count == 2);
        if (!hit) {
            break;
        }
    }
    assert_true(at > 1 && at < CALLS_MAX);
}

static void yaml_does_not_mind_either(void **state)
{
    (void)state;
    static const char text[] = "a: &x {p: 1, q: [2, 3]}\nb:\n  r: [*x, {r: 4}]\n  q: 5\n";
    long at = 0;
    for (; at < CALLS_MAX; at++) {
        char *json = NULL;
        size_t len = 0;
        struct tc_error err = {.message = ""};
        plan(FAULT_ALLOC, at);
        tc_status status = tc_yaml_to_json(tc_slice_cstr(text), &json, &len, &err);
        bool hit = tc_faulty_plan->hit;
        plan(FAULT_NONE, 0);
        assert_int_equal(status, hit ? TC_E_NOMEM : TC_OK);
        assert_true((json == NULL) == hit);
        free(json);
        if (!hit) {
            break;
        }
    }
    assert_true(at > 1 && at < CALLS_MAX);
}

static int set_up(void **state)
{
    (void)state;
    return tc_faulty_init();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_reader_minds_a_lack_of_memory),
        cmocka_unit_test(requests_do_not_mind_either),
        cmocka_unit_test(yaml_does_not_mind_either),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
