/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans as requests: each case in JSON, in protobuf, and in protobuf whose lengths are padded, with
 * the same outcome. The spans are written as the programs write them, with values made up.
 */
#include "base/time.h"
#include "codec/requests.h"
#include "codec/samples.h"
#include "support/otlp_writer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEPT 16
#define ARENA_BYTES ((size_t)64 << 10)
#define BODY_MAX ((size_t)4 << 20)
#define T0 (INT64_C(1772600760) * TC_SECOND)
#define MS INT64_C(1000000)

#define KV(key, value) "{\"key\":\"" key "\",\"value\":" value "}"
#define STR(text) "{\"stringValue\":\"" text "\"}"
#define INT(text) "{\"intValue\":\"" text "\"}"
#define DBL(text) "{\"doubleValue\":" text "}"
#define LIST(values) "{\"arrayValue\":{\"values\":[" values "]}}"
#define TRACES(resource, spans)                                                           \
    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[" resource "]},\"scopeSpans\":[{" \
    "\"scope\":{\"name\":\"s\"},\"spans\":[" spans "]}]}]}"
#define IDS "\"traceId\":\"0AF7651916CD43DD8448EB211C80319C\",\"spanId\":\"b7ad6b7169203331\""
/* Two seconds. */
#define TIMES \
    "\"startTimeUnixNano\":\"1772600760000000000\",\"endTimeUnixNano\":\"1772600762000000000\""
#define SPAN(name, more) "{" IDS ",\"name\":\"" name "\"," TIMES "," more "}"
#define ATTRS(attrs) "\"attributes\":[" attrs "]"
#define SERVER "\"kind\":2,"
#define CLIENT "\"kind\":3,"

static struct tc_request_span got[KEPT];
static char texts[KEPT][8][128]; /* the strings of got */
static size_t got_count;
static struct tc_requests_counts counts;
static struct tc_error err;
static struct tc_otlp_reader *reader;

static struct tc_slice keep(size_t row, size_t column, struct tc_slice s)
{
    size_t len = s.len < 127 ? s.len : 127;
    if (len > 0) {
        memcpy(texts[row][column], s.ptr, len);
    }
    texts[row][column][len] = '\0';
    return tc_slice_make(texts[row][column], len);
}

static tc_status take(void *context, const struct tc_request_span *span)
{
    (void)context;
    if (got_count == KEPT) {
        return TC_E_LIMIT;
    }
    size_t n = got_count++;
    got[n] = *span;
    got[n].error = keep(n, 0, span->error);
    got[n].request_id = keep(n, 1, span->request_id);
    got[n].trace_id = keep(n, 2, span->trace_id);
    got[n].run_id = keep(n, 3, span->run_id);
    got[n].pod_uid = keep(n, 4, span->pod_uid);
    got[n].pod_name = keep(n, 5, span->pod_name);
    got[n].node_name = keep(n, 6, span->node_name);
    got[n].job_uid = keep(n, 7, span->job_uid);
    return TC_OK;
}

static tc_status read_body(enum tc_otlp_form form, struct tc_slice body, size_t arena_bytes)
{
    static char block[ARENA_BYTES];
    const struct tc_requests_out out = {.take = take};
    struct tc_otlp_tape tape;
    struct tc_arena arena;
    got_count = 0;
    counts = (struct tc_requests_counts){0};
    err = (struct tc_error){0};
    tc_status status = tc_otlp_check(reader, TC_OTLP_TRACES, form, body, &tape, &err);
    if (status != TC_OK) {
        return status;
    }
    tc_arena_init(&arena, "spans", block, arena_bytes);
    status = tc_otlp_requests(reader, &tape, &arena, &out, &counts, &err);
    assert_true(status != TC_OK || arena.used == 0);
    tc_arena_fini(&arena);
    return status;
}

/* In all notations; what is checked afterwards is what JSON gave. */
static void read_spans(const char *json)
{
    char *bytes = NULL;
    size_t length = 0;
    struct tc_request_span first[KEPT];
    for (int padded = 0; padded < 2; padded++) {
        assert_true(tc_otlp_write(tc_slice_cstr(json), padded != 0, &bytes, &length));
        assert_int_equal(read_body(TC_OTLP_PROTOBUF, tc_slice_make(bytes, length), ARENA_BYTES),
                         TC_OK);
        for (size_t i = 0; i < got_count; i++) {
            assert_true(got[i].offset + got[i].length <= length);
        }
        free(bytes);
    }
    size_t count = got_count;
    char strings[KEPT][8][128];
    memcpy(first, got, sizeof first);
    memcpy(strings, texts, sizeof strings);
    assert_int_equal(read_body(TC_OTLP_JSON, tc_slice_cstr(json), ARENA_BYTES), TC_OK);
    assert_int_equal(got_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(got[i].tool, first[i].tool);
        assert_string_equal(got[i].status, first[i].status);
        assert_memory_equal(&got[i].started_ns, &first[i].started_ns,
                            offsetof(struct tc_request_span, run_id) -
                                offsetof(struct tc_request_span, started_ns));
        for (size_t k = 0; k < 8; k++) {
            assert_string_equal(texts[i][k], strings[i][k]);
        }
        assert_int_equal(json[got[i].offset], '{');
        assert_int_equal(json[got[i].offset + got[i].length - 1], '}');
    }
}

static void one_request(const char *json)
{
    read_spans(json);
    assert_int_equal(got_count, 1);
}

/* Of what the writer of protobuf does not write: NaN, and times behind int64_t. */
static void one_request_of_json(const char *json)
{
    assert_int_equal(read_body(TC_OTLP_JSON, tc_slice_cstr(json), ARENA_BYTES), TC_OK);
    assert_int_equal(got_count, 1);
}

static void no_request(const char *json)
{
    read_spans(json);
    assert_int_equal(got_count, 0);
    assert_int_equal(counts.others, 1);
}

#define assert_text(slice, want) assert_string_equal((slice).ptr, (want))

static void assert_ms(double ms, double want)
{
    if (isnan(want) ? !isnan(ms) : !(fabs(ms - want) < 1e-6)) {
        fail_msg("%g instead of %g ms", ms, want);
    }
}

/* ---- who writes what ---- */

/* As vllm/v1/engine/output_processor.py sets them. */
#define VLLM                                                                                                              \
    KV("gen_ai.latency.time_to_first_token", DBL("0.25"))                                                                 \
    "," KV("gen_ai.latency.e2e", DBL("1.75")) "," KV("gen_ai.latency.time_in_queue", DBL("0.125")) "," KV(                \
        "gen_ai.usage.prompt_tokens",                                                                                     \
        INT("512")) "," KV("gen_ai.usage.completion_tokens",                                                              \
                           INT("31")) "," KV("gen_ai.latency.time_in"                                                     \
                                             "_model_prefill",                                                            \
                                             DBL("0.125")) "," KV("gen_ai.latency.time_in_model_"                         \
                                                                  "decode",                                               \
                                                                  DBL("1.5")) "," KV("gen_ai."                            \
                                                                                     "request.id",                        \
                                                                                     STR("cmpl-"                          \
                                                                                         "1")) "," KV("gen_ai.request.n", \
                                                                                                      INT("1"))
#define RESOURCE                                                                      \
    KV("service.name", STR("vllm-server"))                                            \
    "," KV("k8s.pod.uid", STR("uid-1")) "," KV("k8s.pod.name", STR("vllm-0")) "," KV( \
        "k8s.node.name", STR("gpu-07")) "," KV("tracecore.run.id", STR("nightly-1"))

static void a_span_of_vllm_fills_all(void **state)
{
    (void)state;
    one_request(TRACES(RESOURCE, SPAN("llm_request", SERVER ATTRS(VLLM))));
    assert_string_equal(got[0].tool, "otlp:vllm");
    assert_string_equal(got[0].status, "ok");
    assert_text(got[0].error, "");
    assert_text(got[0].request_id, "cmpl-1");
    assert_text(got[0].trace_id, "0af7651916cd43dd8448eb211c80319c");
    assert_int_equal(got[0].started_ns, T0);
    assert_int_equal(got[0].first_token_ns, T0 + 250 * MS);
    assert_int_equal(got[0].ended_ns, T0 + 2000 * MS);
    assert_ms(got[0].queue_ms, 125);
    assert_ms(got[0].ttft_ms, 250);
    assert_ms(got[0].e2e_ms, 1750);
    assert_ms(got[0].tpot_ms, 50);
    assert_int_equal(got[0].input_tokens, 512);
    assert_int_equal(got[0].output_tokens, 31);
    assert_text(got[0].run_id, "nightly-1");
    assert_text(got[0].pod_uid, "uid-1");
    assert_text(got[0].pod_name, "vllm-0");
    assert_text(got[0].node_name, "gpu-07");
}

/* vLLM v0.5 and llm_request without what it measures. */
static void names_of_older_versions_are_read(void **state)
{
    (void)state;
    one_request(TRACES(
        "", SPAN("llm_request", ATTRS(KV("gen_ai.request.id", STR("cmpl-2")) "," KV(
                                    "llm.usage.prompt_tokens",
                                    INT("7")) "," KV("llm.usage.completion_tokens", INT("9"))))));
    assert_string_equal(got[0].tool, "otlp:vllm");
    assert_int_equal(got[0].input_tokens, 7);
    assert_int_equal(got[0].output_tokens, 9);
    assert_ms(got[0].e2e_ms, 2000);
    assert_ms(got[0].ttft_ms, (double)NAN);
    assert_ms(got[0].tpot_ms, (double)NAN);
    assert_text(got[0].run_id, "");
    no_request(TRACES("", SPAN("llm_request", ATTRS(KV("http.method", STR("POST"))))));
    no_request(TRACES("", SPAN("llm_core", ATTRS(KV("gen_ai.request.id", STR("cmpl-2"))))));
}

/* srt/observability/trace.py: no kind, a list of reasons in a text. */
static void a_span_of_sglang(void **state)
{
    (void)state;
    one_request(TRACES(
        "",
        SPAN(
            " Req 5a3b0c1d",
            ATTRS(KV("rid", STR("5a3b0c1d2e")) "," KV("module", STR("sglang::request")) "," KV(
                "gen_ai.usage.completion_tokens",
                INT("11")) "," KV("gen_ai.latency.time_to_first_token",
                                  DBL("0.5")) "," KV("gen_ai.latency.e2e",
                                                     DBL("1.5")) "," KV("gen_ai.response."
                                                                        "finish_reasons",
                                                                        STR("[\\\"abort\\\"]"))))));
    assert_string_equal(got[0].tool, "otlp:sglang");
    assert_text(got[0].request_id, "5a3b0c1d2e");
    assert_string_equal(got[0].status, "cancelled");
    assert_text(got[0].error, "[\"abort\"]");
    assert_ms(got[0].tpot_ms, 100);
    no_request(TRACES("", SPAN("Req 5a3b0c1d", ATTRS(KV("rid", STR("5a3b0c1d2e"))))));
}

/* router/src/server.rs: durations as Rust prints them. */
static void a_span_of_tgi(void **state)
{
    (void)state;
    one_request(TRACES(
        "",
        SPAN(
            "generate_stream",
            ATTRS(
                KV("total_time", STR("1.25s")) "," KV("validation_time", STR("80.2\u00b5s")) "," KV(
                    "queue_time",
                    STR("20.5ms")) "," KV("inference_time",
                                          STR("1.2s")) "," KV("time_per_token",
                                                              STR("12ms")) "," KV("generated_"
                                                                                  "tokens",
                                                                                  STR("100"))))));
    assert_string_equal(got[0].tool, "otlp:tgi");
    assert_ms(got[0].e2e_ms, 1250);
    assert_ms(got[0].queue_ms, 20.5);
    assert_ms(got[0].tpot_ms, (double)NAN); /* theirs counts the first token too */
    assert_int_equal(got[0].output_tokens, 100);
    static const struct {
        const char *text;
        double ms;
    } cases[] = {{"750ns", 0.00075}, {"3us", 0.003}, {"-1s", NAN}, {"5 s", NAN}, {"7", NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[1024];
        (void)snprintf(
            json, sizeof json,
            TRACES("", SPAN("generate",
                            ATTRS(KV("total_time", STR("1s")) "," KV(
                                "inference_time", STR("1s")) "," KV("queue_time", STR("%s"))))),
            cases[i].text);
        one_request(json);
        assert_ms(got[0].queue_ms, cases[i].ms);
    }
    no_request(TRACES("", SPAN("step", ATTRS(KV("total_time", STR("1.25s"))))));
}

static void the_conventions_name_operations_and_sides(void **state)
{
    (void)state;
#define OPERATION(name) KV("gen_ai.operation.name", STR(name))
    one_request(TRACES(
        "",
        SPAN(
            "chat llama",
            CLIENT ATTRS(OPERATION("chat") "," KV("gen_ai.response.id", STR("chatcmpl-9")) "," KV(
                "gen_ai.usage.input_tokens",
                INT("3")) "," KV("gen_ai.usage.prompt_tokens",
                                 INT("99")) "," KV("gen_ai.usage.output_tokens",
                                                   INT("5")) "," KV("gen_ai.response.time_to_first_"
                                                                    "chunk",
                                                                    DBL("0.4")) "," KV("gen_ai."
                                                                                       "response."
                                                                                       "finish_"
                                                                                       "reasons",
                                                                                       LIST(STR(
                                                                                           "sto"
                                                                                           "p")))))));
    assert_string_equal(got[0].tool, "otlp:gen_ai_client");
    assert_string_equal(got[0].status, "ok");
    assert_text(got[0].request_id, "chatcmpl-9");
    assert_int_equal(got[0].input_tokens, 3); /* the newer name counts */
    assert_ms(got[0].ttft_ms, 400);
    assert_ms(got[0].tpot_ms, 400);
    one_request(TRACES("", SPAN("x", SERVER ATTRS(OPERATION("text_completion")))));
    assert_string_equal(got[0].tool, "otlp:gen_ai_server");
    one_request(TRACES("", SPAN("x", ATTRS(OPERATION("generate_content")))));
    assert_string_equal(got[0].tool, "otlp:gen_ai_client");
    one_request(TRACES("", SPAN("x", CLIENT ATTRS(KV("llm.request.type", STR("completion"))))));
    /* An engine that measures and names no operation. */
    one_request(TRACES(
        "", SPAN("x", SERVER ATTRS(KV("gen_ai.server.time_to_first_token", DBL("1")) "," KV(
                          "gen_ai.server.time_per_output_token",
                          DBL("0.02")) "," KV("gen_ai.server.request.duration", DBL("1.5"))))));
    assert_string_equal(got[0].tool, "otlp:gen_ai_server");
    assert_ms(got[0].tpot_ms, 20);
    assert_ms(got[0].e2e_ms, 1500);
    no_request(TRACES("", SPAN("x", CLIENT ATTRS(KV("gen_ai.latency.e2e", DBL("1"))))));
    no_request(TRACES("", SPAN("x", CLIENT ATTRS(OPERATION("embeddings")))));
    no_request(TRACES("", SPAN("x", ATTRS(OPERATION("invoke_agent")))));
    no_request(TRACES("", SPAN("x", ATTRS(OPERATION("execute_tool")))));
    no_request(TRACES("", SPAN("GET /v1/models", "\"kind\":2")));
}

/* Names instead of numbers, which the JSON of protobuf allows. */
static void enums_may_be_names(void **state)
{
    (void)state;
    const char *json = TRACES("", SPAN("x", "\"kind\":\"SPAN_KIND_SERVER\",\"status\":{\"code\":"
                                            "\"STATUS_CODE_ERROR\"}," ATTRS(OPERATION("chat"))));
    assert_int_equal(read_body(TC_OTLP_JSON, tc_slice_cstr(json), ARENA_BYTES), TC_OK);
    assert_int_equal(got_count, 1);
    assert_string_equal(got[0].tool, "otlp:gen_ai_server");
    assert_string_equal(got[0].status, "error");
}

static void the_outcome_is_of_status_error_and_reason(void **state)
{
    (void)state;
    static const struct {
        const char *more;
        const char *status;
        const char *error;
    } cases[] = {
        {"\"status\":{\"code\":1}", "ok", ""},
        {"\"status\":{\"code\":1,\"message\":\"fine\"}", "ok", ""},
        {"\"status\":{\"code\":2,\"message\":\"no KV blocks\"}", "error", "no KV blocks"},
        {"\"status\":{\"code\":2}", "error", ""},
        {ATTRS(KV("error.type", STR("timeout"))), "error", "timeout"},
        {ATTRS(KV("error.type", INT("503"))), "error", "503"},
        {ATTRS(KV("error.type", STR("asyncio.exceptions.CancelledError"))), "cancelled",
         "asyncio.exceptions.CancelledError"},
        {ATTRS(KV("error.type", INT("499"))), "cancelled", "499"},
        {ATTRS(KV("gen_ai.response.finish_reasons", LIST(STR("error")))), "error", "error"},
        {ATTRS(KV("gen_ai.response.finish_reasons", LIST(STR("length")))), "ok", ""},
        {ATTRS(KV("gen_ai.response.finish_reasons", LIST(""))), "ok", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[2048];
        (void)snprintf(
            json, sizeof json,
            TRACES("", SPAN("llm_request", ATTRS(KV("gen_ai.request.id", STR("1"))) ",%s")),
            cases[i].more);
        one_request(json);
        assert_string_equal(got[0].status, cases[i].status);
        assert_text(got[0].error, cases[i].error);
    }
}

/* ---- who and where ---- */

static void a_span_names_its_run_before_its_resource_does(void **state)
{
    (void)state;
    one_request(TRACES(RESOURCE, SPAN("llm_request", ATTRS(VLLM "," KV("run_id", INT("42")) "," KV(
                                                         "tracecore.run.id", STR("mine"))))));
    assert_text(got[0].run_id, "mine");
    one_request(TRACES(KV("benchmark.run.id", INT("7")), SPAN("llm_request", ATTRS(VLLM))));
    assert_text(got[0].run_id, "7");
    /* In a container, the host is the pod. */
    one_request(TRACES(KV("host.name", STR("vllm-0")) "," KV("k8s.pod.name", STR("vllm-0")),
                       SPAN("llm_request", ATTRS(VLLM))));
    assert_text(got[0].pod_name, "vllm-0");
    assert_text(got[0].node_name, "");
    one_request(TRACES(KV("host.name", STR("gpu-9")), SPAN("llm_request", ATTRS(VLLM))));
    assert_text(got[0].node_name, "gpu-9");
    one_request(TRACES(KV("k8s.job.name", STR("bench-7")), SPAN("llm_request", ATTRS(VLLM))));
    assert_text(got[0].job_uid, "bench-7");
    one_request(TRACES(KV("k8s.job.uid", STR("uid-9")) "," KV("k8s.job.name", STR("bench-7")),
                       SPAN("llm_request", ATTRS(VLLM))));
    assert_text(got[0].job_uid, "uid-9");
}

static void each_resource_has_its_own(void **state)
{
    (void)state;
    read_spans(
        "{\"resourceSpans\":["
        "{\"scopeSpans\":[{\"spans\":[" SPAN(
            "llm_request",
            ATTRS(VLLM)) "]}],"
                         "\"resource\":{\"attributes\":[" KV(
                             "k8s.pod.name",
                             STR("a")) "]}},"
                                       "{\"scopeSpans\":[{\"spans\":[" SPAN(
                                           "llm_request",
                                           ATTRS(VLLM)) "," SPAN("other", "\"kind\":1") "]}]}]}");
    assert_int_equal(got_count, 2);
    assert_text(got[0].pod_name, "a");
    assert_text(got[1].pod_name, "");
    assert_int_equal(counts.requests, 2);
    assert_int_equal(counts.others, 1);
}

/* ---- what cannot be ---- */

static void one_with_times(const char *start, const char *end, const char *attrs)
{
    char json[1024];
    bool is_odd =
        strlen(start) > 19 || strstr(attrs, "\"NaN") != NULL || strstr(attrs, "\"Inf") != NULL;
    (void)snprintf(
        json, sizeof json,
        TRACES("", "{\"name\":\"llm_request\",\"startTimeUnixNano\":\"%s\","
                   "\"endTimeUnixNano\":\"%s\"," ATTRS(KV("gen_ai.request.id", STR("1")) "%s") "}"),
        start, end, attrs);
    if (is_odd) {
        one_request_of_json(json);
    } else {
        one_request(json);
    }
}

static void times_that_cannot_be_are_left_out(void **state)
{
    (void)state;
    /* The year 2500 does not fit, 2201 is behind what is a time; none at all. */
    static const char *const bad[] = {"16725225600000000000", "7289654400000000000", "0",
                                      "18446744073709551615"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        one_with_times(bad[i], bad[i], "");
        assert_int_equal(got[0].started_ns, TC_TIME_NONE);
        assert_int_equal(got[0].ended_ns, TC_TIME_NONE);
        assert_ms(got[0].e2e_ms, (double)NAN);
    }
    one_with_times("1", "7258118400000000000", ""); /* the first and the last; no request */
    assert_int_equal(got[0].started_ns, 1);
    assert_int_equal(got[0].ended_ns, TC_TIME_MAX);
    assert_ms(got[0].e2e_ms, (double)NAN);
    /* It ends before it begins. */
    one_with_times("1772600760000000001", "1772600760000000000",
                   "," KV("gen_ai.latency.time_to_first_token", DBL("0.5")));
    assert_int_equal(got[0].started_ns, T0 + 1);
    assert_int_equal(got[0].ended_ns, TC_TIME_NONE);
    assert_ms(got[0].e2e_ms, (double)NAN);
    assert_ms(got[0].ttft_ms, 500);
    assert_int_equal(got[0].first_token_ns, T0 + 1 + 500 * MS);
    one_with_times("1772600760000000000", "1772600760000000000", "");
    assert_ms(got[0].e2e_ms, 0);
}

static void durations_that_cannot_be_are_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *seconds;
        double ms;
    } cases[] = {{"3.0", 3000},         {"3.001", NAN},     {"-0.5", NAN}, {"\"NaN\"", NAN},
                 {"\"Infinity\"", NAN}, {"250000000", NAN}, {"0", 0},      {"1e300", NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char attrs[256];
        (void)snprintf(attrs, sizeof attrs, "," KV("gen_ai.latency.time_in_queue", DBL("%s")),
                       cases[i].seconds);
        /* A span of two seconds: one more is a matter of clocks. */
        one_with_times("1772600760000000000", "1772600762000000000", attrs);
        assert_ms(got[0].queue_ms, cases[i].ms);
    }
    one_with_times("0", "0", "," KV("gen_ai.latency.e2e", DBL("864000")));
    assert_ms(got[0].e2e_ms, 864e6);
    one_with_times("0", "0", "," KV("gen_ai.latency.e2e", DBL("864001")));
    assert_ms(got[0].e2e_ms, (double)NAN);
}

static void tokens_that_cannot_be_are_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        int64_t tokens;
    } cases[] = {{INT("-1"), -1},           {INT("0"), 0},
                 {DBL("12.0"), 12},         {DBL("12.5"), -1},
                 {STR("13"), 13},           {STR("many"), -1},
                 {LIST(INT("4")), 4},       {INT("1000000000000"), 1000000000000},
                 {INT("1000000000001"), -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char attrs[256];
        (void)snprintf(attrs, sizeof attrs,
                       ",{\"key\":\"gen_ai.usage.output_tokens\",\"value\":%s}", cases[i].value);
        one_with_times("1772600760000000000", "1772600762000000000", attrs);
        assert_int_equal(got[0].output_tokens, cases[i].tokens);
    }
}

static void ids_of_other_lengths_are_refused_or_none(void **state)
{
    (void)state;
    one_request(TRACES("", "{\"traceId\":\"\",\"name\":\"x\"," ATTRS(OPERATION("chat")) "}"));
    assert_text(got[0].trace_id, "");
    one_request(
        TRACES("", "{\"traceId\":\"00000000000000000000000000000000\",\"name\":\"x\"," ATTRS(
                       OPERATION("chat")) "}"));
    assert_text(got[0].trace_id, "");
    const char *json =
        TRACES("", "{\"traceId\":\"0af765\",\"name\":\"x\"," ATTRS(OPERATION("chat")) "}");
    assert_int_equal(read_body(TC_OTLP_JSON, tc_slice_cstr(json), ARENA_BYTES), TC_E_MALFORMED);
    char *bytes = NULL;
    size_t length = 0;
    assert_true(tc_otlp_write(tc_slice_cstr(json), false, &bytes, &length));
    assert_int_equal(read_body(TC_OTLP_PROTOBUF, tc_slice_make(bytes, length), ARENA_BYTES),
                     TC_E_MALFORMED);
    free(bytes);
}

static void spans_over_a_limit_are_rejected_alone(void **state)
{
    (void)state;
    size_t cap = (size_t)2 << 20;
    char *json = malloc(cap);
    assert_non_null(json);
    size_t len = (size_t)snprintf(json, cap,
                                  "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":["
                                  "{\"name\":\"llm_request\",\"attributes\":[");
    for (int i = 0; i < 10000; i++) {
        len += (size_t)snprintf(json + len, cap - len, KV("a%d", INT("1")) ",", i);
    }
    (void)snprintf(json + len, cap - len, KV("gen_ai.request.id", STR("1")) "]},%s]}]}]}",
                   SPAN("llm_request", ATTRS(VLLM)));
    one_request(json);
    assert_text(got[0].request_id, "cmpl-1");
    assert_int_equal(counts.rejected, 1);
    free(json);
}

static void a_full_arena_is_told(void **state)
{
    (void)state;
    const char *json = TRACES(KV("run_id", INT("42")), SPAN("llm_request", ATTRS(VLLM)));
    assert_int_equal(read_body(TC_OTLP_JSON, tc_slice_cstr(json), 16), TC_E_NOMEM);
    assert_non_null(strstr(err.message, "full"));
}

/* ---- files ---- */

static tc_status read_file(struct tc_slice bytes)
{
    static char block[ARENA_BYTES];
    const struct tc_requests_out out = {.take = take};
    struct tc_arena arena;
    got_count = 0;
    counts = (struct tc_requests_counts){0};
    err = (struct tc_error){0};
    tc_arena_init(&arena, "spans", block, sizeof block);
    tc_status status = tc_requests_read(bytes, NULL, &arena, &out, &counts, &err);
    tc_arena_fini(&arena);
    return status;
}

#define LINE TRACES(RESOURCE, SPAN("llm_request", ATTRS(VLLM)))
#define METRICS_LINE                                                                               \
    "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"name\":\"queue_depth_____\","       \
    "\"gauge\":{\"dataPoints\":[{\"timeUnixNano\":\"1772600760000000000\",\"asInt\":\"3\"}]}}]}]}" \
    "]}"

static void files_of_json_are_read_line_by_line(void **state)
{
    (void)state;
    const char *file = LINE "\n" METRICS_LINE "\n{\"resourceSpans\":[{\"torn\n" LINE "\n";
    assert_true(tc_requests_sniff(tc_slice_cstr(file)));
    assert_int_equal(read_file(tc_slice_cstr(file)), TC_OK);
    assert_int_equal(got_count, 2);
    assert_int_equal(counts.bad, 1);
    for (size_t i = 0; i < 2; i++) { /* the place is in the file */
        assert_true(strncmp(file + got[i].offset, "{\"traceId\"", 10) == 0);
        assert_int_equal(file[got[i].offset + got[i].length - 1], '}');
    }
    assert_true(got[1].offset > got[0].offset + sizeof LINE);
    /* The metrics beside them are read too, whichever comes first. */
    assert_int_equal(tc_samples_form(tc_slice_cstr(file)), TC_SAMPLES_OTLP_JSON);
    assert_int_equal(tc_samples_form(tc_slice_cstr(METRICS_LINE "\n" LINE)), TC_SAMPLES_OTLP_JSON);
    assert_true(tc_requests_sniff(tc_slice_cstr(METRICS_LINE "\n" LINE)));
    assert_int_equal(read_file(tc_slice_cstr("[" LINE "," LINE "]")), TC_OK);
    assert_int_equal(got_count, 2);
    assert_false(tc_requests_sniff(tc_slice_cstr(METRICS_LINE)));
    assert_false(tc_requests_sniff(tc_slice_cstr("resourceSpans")));
    assert_false(tc_requests_sniff(TC_EMPTY));
    assert_int_equal(read_file(tc_slice_cstr("{\"resourceSpans\":[5]}")), TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "no traces of OTLP"));
}

static void files_of_protobuf_are_told_from_metrics(void **state)
{
    (void)state;
    char file[8192];
    char *bytes = NULL;
    size_t length = 0;
    size_t at = 0;
    assert_true(tc_otlp_write(TC_LIT(METRICS_LINE), false, &bytes, &length));
    assert_false(tc_requests_sniff(tc_slice_make(bytes, length)));
    assert_int_equal(tc_samples_form(tc_slice_make(bytes, length)), TC_SAMPLES_OTLP_PROTOBUF);
    free(bytes);
    assert_true(tc_otlp_write(TC_LIT(LINE), false, &bytes, &length));
    assert_true(tc_requests_sniff(tc_slice_make(bytes, length)));
    assert_int_equal(tc_samples_form(tc_slice_make(bytes, length)), TC_SAMPLES_NONE);
    assert_int_equal(read_file(tc_slice_make(bytes, length)), TC_OK);
    assert_int_equal(got_count, 1);
    for (int i = 0; i < 3; i++) { /* as the file exporter frames them */
        file[at++] = 0;
        file[at++] = 0;
        file[at++] = (char)(length >> 8);
        file[at++] = (char)length;
        memcpy(file + at, bytes, length);
        at += length;
    }
    free(bytes);
    assert_true(tc_requests_sniff(tc_slice_make(file, at)));
    assert_int_equal(read_file(tc_slice_make(file, at - 1)), TC_OK);
    assert_int_equal(got_count, 2);
    assert_int_equal(counts.bad, 1); /* the last was cut off */
    assert_true(got[1].offset > length);
}

static int setup(void **state)
{
    (void)state;
    struct tc_otlp_limits limits = TC_OTLP_LIMITS_DEFAULT;
    reader = tc_otlp_reader_create(&limits, BODY_MAX);
    return reader == NULL;
}

static int teardown(void **state)
{
    (void)state;
    tc_otlp_reader_destroy(reader);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_of_vllm_fills_all),
        cmocka_unit_test(names_of_older_versions_are_read),
        cmocka_unit_test(a_span_of_sglang),
        cmocka_unit_test(a_span_of_tgi),
        cmocka_unit_test(the_conventions_name_operations_and_sides),
        cmocka_unit_test(enums_may_be_names),
        cmocka_unit_test(the_outcome_is_of_status_error_and_reason),
        cmocka_unit_test(a_span_names_its_run_before_its_resource_does),
        cmocka_unit_test(each_resource_has_its_own),
        cmocka_unit_test(times_that_cannot_be_are_left_out),
        cmocka_unit_test(durations_that_cannot_be_are_left_out),
        cmocka_unit_test(tokens_that_cannot_be_are_left_out),
        cmocka_unit_test(ids_of_other_lengths_are_refused_or_none),
        cmocka_unit_test(spans_over_a_limit_are_rejected_alone),
        cmocka_unit_test(a_full_arena_is_told),
        cmocka_unit_test(files_of_json_are_read_line_by_line),
        cmocka_unit_test(files_of_protobuf_are_told_from_metrics),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
