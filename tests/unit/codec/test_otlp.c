/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP/JSON: the walk of documents, and log records that are training's or
 * tracecore's own. Fixtures are invented.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/codec/otlp_testing.h"

#define POD                                                                                        \
    RESOURCE(KV("k8s.node.name", STR("gpu-01")) "," KV("k8s.namespace.name", STR("train")) "," KV( \
        "k8s.pod.name",                                                                            \
        STR("llm-7-worker-3")) "," KV("k8s.pod.uid",                                               \
                                      STR("p-1")) "," KV("k8s.container.name",                     \
                                                         STR("main")) "," KV("host.name",          \
                                                                             STR("collector-"      \
                                                                                 "pod")))

static void training_attributes_become_events(void **state)
{
    (void)state;
    static const struct {
        const char *attrs;
        enum tc_event_kind kind;
        int64_t step;
        double seconds;
        const char *phase;
        const char *word; /* state or error class */
    } cases[] = {
        {KV("tracecore.alert.training_step_stalled.no_progress_seconds", INT("180")) "," KV(
             "gen_ai.training.step", INT("42")) "," KV("gen_ai.training.phase", STR("train")),
         TC_EVENT_TRAIN_STALL, 42, 180, "train", ""},
        {KV("tracecore.alert.training_step_stalled.no_progress_seconds", DBL("180.5")),
         TC_EVENT_TRAIN_STALL, -1, 180.5, "", ""},
        {KV("tracecore.alert.training_step_stalled.no_progress_seconds",
            STR("121")) "," KV("phase", STR("eval")),
         TC_EVENT_TRAIN_STALL, -1, 121, "eval", ""},
        {KV("tracecore.alert.training_step_stalled.no_progress_seconds", "{\"intValue\":7}"),
         TC_EVENT_TRAIN_STALL, -1, 7, "", ""},
        {KV("dataloader.error_class", STR("worker_killed")), TC_EVENT_LOADER_ERROR, -1, 0, "",
         "worker_killed"},
        {KV("training.step", INT("7")) "," KV("training.step.duration", DBL("1.25")),
         TC_EVENT_TRAIN_STEP, 7, 1.25, "", ""},
        {KV("step", INT("8")) "," KV("rank", INT("3")) "," KV("phase", STR("warmup")),
         TC_EVENT_TRAIN_STEP, 8, 0, "warmup", ""},
        {KV("checkpoint.state", STR("begin")) "," KV("training.step", INT("9")),
         TC_EVENT_CHECKPOINT, 9, 0, "", "begin"},
        {KV("checkpoint.event", STR("save_started")), TC_EVENT_CHECKPOINT, -1, 0, "", "begin"},
        {KV("event.name", STR("checkpoint.end")) "," KV("checkpoint.duration", DBL("12.5")),
         TC_EVENT_CHECKPOINT, -1, 12.5, "", "end"},
        {KV("event.name", STR("checkpoint.save.completed")), TC_EVENT_CHECKPOINT, -1, 0, "", "end"},
        {KV("event.name", STR("checkpoint_error")), TC_EVENT_CHECKPOINT, -1, 0, "", "failed"},
        {KV("checkpoint.state", STR("Failed")), TC_EVENT_CHECKPOINT, -1, 0, "", "failed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[4096];
        (void)snprintf(text, sizeof text,
                       LOGS(POD, "{" TIME "," BODY(" it says so ") "," ATTRS("%s") "}"),
                       cases[i].attrs);
        assert_int_equal(decode(text), TC_OK);
        if (t.count < 1 || t.events[0].kind != cases[i].kind) {
            print_error("case %zu: %zu events\n", i, t.count);
        }
        assert_true(t.count >= 1);
        const struct tc_event *ev = &t.events[0];
        assert_int_equal(ev->kind, cases[i].kind);
        assert_int_equal(ev->train.step, cases[i].step);
        assert_true(ev->train.seconds == cases[i].seconds);
        SAME(ev->train.phase, cases[i].phase);
        SAME(ev->kind == TC_EVENT_LOADER_ERROR ? ev->train.error_class : ev->train.state,
             cases[i].word);
        SAME(ev->train.message, "it says so");
        assert_true(ev->time_ns == at("2026-03-01T10:05:01Z"));
        SAME(ev->scope.node, "gpu-01");
        SAME(ev->scope.ns, "train");
        SAME(ev->scope.pod, "llm-7-worker-3");
        SAME(ev->scope.pod_uid, "p-1");
        SAME(ev->scope.container, "main");
        assert_true(tc_slice_starts(raw_of(0), TC_LIT("{" TIME)));
        assert_true(tc_slice_ends(raw_of(0), TC_LIT("]}")));
    }
}

static void event_name_of_the_record_counts_as_the_attribute_does(void **state)
{
    (void)state;
    assert_int_equal(decode(LOGS("{}", "{" OBSERVED ",\"eventName\":\"checkpoint.begin\"," ATTRS(
                                           KV("checkpoint.path", STR("/ckpt/9"))) "}")),
                     TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].train.state, "begin");
    SAME(t.events[0].train.path, "/ckpt/9");
    assert_true(t.events[0].time_ns == at("2026-03-01T11:00:00Z"));
}

static void words_that_only_look_like_training_are_not(void **state)
{
    (void)state;
    static const char *const attrs[] = {
        KV("step", INT("3")),
        KV("phase", STR("train")),
        KV("rank", INT("3")),
        KV("event.name", STR("begin")),
        KV("event.name", STR("checkpoint.listed")),
        KV("checkpoint.state", STR("idle")),
        KV("checkpoint.path", STR("/a")),
        KV("training.step", STR("three")),
        KV("dataloader.error_class", STR("")),
        KV("dataloader.error_class", "{}"),
        KV("tracecore.alert.training_step_stalled.no_progress_seconds", STR("long")),
        KV("tracecore.alert.training_step_stalled.no_progress_seconds", "7"),
    };
    for (size_t i = 0; i < sizeof attrs / sizeof attrs[0]; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, LOGS("{}", "{" BODY("x") "," ATTRS("%s") "}"), attrs[i]);
        assert_int_equal(decode(text), TC_OK);
        if (t.count != 0) {
            print_error("case %zu\n", i);
        }
        assert_int_equal(t.count, 0);
        assert_int_equal(t.unknown, 1);
        assert_string_equal(t.why, "a log record that no pattern reads");
    }
}

static void scope_is_taken_from_the_names_it_has(void **state)
{
    (void)state;
#define LOADER KV("dataloader.error_class", STR("timeout"))
    assert_int_equal(
        decode(LOGS(
            RESOURCE(KV("host.name", STR("gpu-09")) "," KV(
                "k8s.pod.labels.training.kubeflow.org/job-name", STR("llm-7"))),
            "{" ATTRS(
                LOADER "," KV("gen_ai.training.rank", INT("5")) "," KV("hw.id", STR("GPU-1")) "," KV("pci.bdf", STR("0000:b3:00.0")) "," KV("gpu.index", INT("2")) "," KV(
                    "log.record.uid",
                    STR("01J"))) "}," //
                                 "{" ATTRS(
                                     LOADER
                                     "," KV("rank", DBL("6")) "," KV("process.rank", INT("1")) "," KV("job.id", INT("4711")) "," KV(
                                         "hw.id",
                                         STR("cpu0")) "," KV("host.name",
                                                             STR("own"))) "}," //
                                                                          "{" ATTRS(LOADER "," KV(
                                                                              "rank",
                                                                              INT("-"
                                                                                  "1")) "," KV("pci"
                                                                                               ".bd"
                                                                                               "f",
                                                                                               STR("x"))) "}")),
        TC_OK);
    assert_int_equal(events_of(TC_EVENT_LOADER_ERROR), 3);
    /* Each rank that is named together with a node is placed there. */
    assert_int_equal(events_of(TC_EVENT_RANK_PLACE), 2);
    const struct tc_event *ev = &t.events[0];
    SAME(ev->scope.node, "gpu-09");
    SAME(ev->scope.job, "llm-7");
    SAME(ev->scope.gpu_uuid, "GPU-1");
    SAME(ev->uid, "01J");
    assert_int_equal(ev->scope.rank, 5);
    assert_int_equal(ev->scope.gpu_index, 2);
    assert_true(ev->scope.pci.known && ev->scope.pci.bus == 0xb3);
    assert_int_equal(t.events[1].kind, TC_EVENT_RANK_PLACE);
    assert_int_equal(t.events[1].scope.rank, 5);
    ev = &t.events[2];
    SAME(ev->scope.node, "own");
    SAME(ev->scope.job, "4711");
    SAME(ev->scope.gpu_uuid, "");
    assert_int_equal(ev->scope.rank, 6);
    ev = &t.events[4];
    assert_int_equal(ev->scope.rank, -1);
    assert_false(ev->scope.pci.known);
}

static void the_run_is_taken_from_the_record_or_its_resource(void **state)
{
    (void)state;
    assert_int_equal(
        decode(LOGS(RESOURCE(KV("tracecore.run.id", STR("run-1"))),
                    "{" ATTRS(LOADER) "}," //
                                      "{" ATTRS(LOADER "," KV("run_id", STR("run-2"))) "}")),
        TC_OK);
    assert_int_equal(events_of(TC_EVENT_LOADER_ERROR), 2);
    SAME(t.events[0].run_id, "run-1");
    SAME(t.events[1].run_id, "run-2"); /* what the record says itself comes first */
    assert_int_equal(
        decode(LOGS(RESOURCE(KV("benchmark.run.id", STR("run-3"))), "{" ATTRS(LOADER) "}")), TC_OK);
    SAME(t.events[0].run_id, "run-3");
}

static void plain_bodies_are_read_line_by_line(void **state)
{
    (void)state;
    assert_int_equal(
        decode(LOGS(
            POD,
            "{" TIME "," BODY(
                "Traceback (most recent call last):\\n  File \\\"a.py\\\", line 3\\n"
                "RuntimeError: DataLoader worker (pid 11) is killed by signal: "
                "Killed. \\nThe above exception was\\nRuntimeError: DataLoader worker "
                "(pid(s) 11) exited unexpectedly") "}," //
                                                   "{" TIME "," BODY(
                                                       "[rank3]:[titan] 2026-03-01 "
                                                       "10:05:01,123 - root - INFO - "
                                                       "\\u001b[31mstep: 20  \\u001b[32mloss: "
                                                       " 8.0") "}," //
                                                               "{" TIME "," BODY(
                                                                   "saving checkpoint at "
                                                                   "iteration 20 to "
                                                                   "/ckpt") "," ATTRS(KV("training."
                                                                                         "step",
                                                                                         INT("2"
                                                                                             "1")) "," KV("rank",
                                                                                                          INT("0"))) "}," //
                                                                                                                     "{" TIME
                                                                                                                     "," BODY(
                                                                                                                         "GET / "
                                                                                                                         "200") "}")),
        TC_OK);
    assert_int_equal(events_of(TC_EVENT_LOADER_ERROR), 1);
    SAME(t.events[0].train.error_class, "worker_killed");
    SAME(t.events[0].train.message,
         "RuntimeError: DataLoader worker (pid 11) is killed by signal: Killed.");
    SAME(t.events[0].scope.pod, "llm-7-worker-3");
    assert_int_equal(t.events[1].kind, TC_EVENT_TRAIN_STEP);
    assert_int_equal(t.events[1].train.step, 20);
    assert_int_equal(t.events[1].scope.rank, 3);
    assert_int_equal(events_of(TC_EVENT_RANK_PLACE), 2);
    /* What the line says comes before what the attributes say around it. */
    assert_int_equal(t.events[3].kind, TC_EVENT_CHECKPOINT);
    assert_int_equal(t.events[3].train.step, 20);
    SAME(t.events[3].train.path, "/ckpt");
    assert_int_equal(t.unknown, 1);
}

static void pod_is_in_the_path_of_the_file_when_no_attribute_names_it(void **state)
{
    (void)state;
#define PATH KV("log.file.path", STR("/var/log/pods/train_w-0_p-9/main/0.log"))
    assert_int_equal(decode(LOGS("{}", "{" ATTRS(LOADER "," PATH) "}") "\n" LOGS(
                         POD, "{" ATTRS(LOADER "," PATH) "}")),
                     TC_OK);
    assert_int_equal(t.count, 2);
    SAME(t.events[0].scope.pod, "w-0");
    SAME(t.events[0].scope.pod_uid, "p-9");
    SAME(t.events[1].scope.pod, "llm-7-worker-3");
}

static void structured_bodies_are_read_as_attributes_are(void **state)
{
    (void)state;
    assert_int_equal(
        decode(LOGS(
            "{}", "{\"body\":" KVLIST(KV("step", INT("7")) "," KV("rank", INT("1")) "," KV(
                      "training.step.duration",
                      DBL("0.5"))) "," ATTRS(KV("rank", INT("2"))) "}," //
                                                                   "{\"body\":" KVLIST(KV(
                                                                       "level", STR("info"))) "}")),
        TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.events[0].train.step, 7);
    assert_true(t.events[0].train.seconds == 0.5);
    assert_int_equal(t.events[0].scope.rank, 2);
    assert_int_equal(t.unknown, 1);
}

static void our_own_events_come_as_attributes_or_as_a_line(void **state)
{
    (void)state;
    assert_int_equal(
        decode(LOGS(
            POD,
            "{" TIME "," ATTRS(KV("tracecore.kind", STR("xid")) "," KV("xid", INT("79")) "," KV(
                "pci.bdf",
                STR("00"
                    "00"
                    ":b"
                    "3:"
                    "00"
                    "."
                    "0")) "," KV("message",
                                 STR("say \\\"off\\\"")) "," KV("k8s.node.name",
                                                                STR("gpu-02")) "," KV("other",
                                                                                      INT("1"))) "}"
                                                                                                 "," //
                                                                                                 "{" TIME
                                                                                                 "," BODY(
                                                                                                     "{\\\"kind\\\":\\\"train_step\\\",\\\"time\\\":"
                                                                                                     "\\\"2026-03-01T09:00:00Z\\\",\\\"step\\\":5,\\\"rank\\\":"
                                                                                                     "1}") "}," //
                                                                                                           "{" ATTRS(KV("kind", STR("metric")) "," KV(
                                                                                                               "metric",
                                                                                                               STR("g"
                                                                                                                   "p"
                                                                                                                   "u"
                                                                                                                   "_"
                                                                                                                   "t"
                                                                                                                   "e"
                                                                                                                   "m"
                                                                                                                   "p"
                                                                                                                   "e"
                                                                                                                   "r"
                                                                                                                   "a"
                                                                                                                   "t"
                                                                                                                   "u"
                                                                                                                   "r"
                                                                                                                   "e")) "," KV("value",
                                                                                                                                DBL("81.5")) "," KV("gpu.index",
                                                                                                                                                    DBL("3"))) "}," //
                                                                                                                                                               "{" ATTRS(KV(
                                                                                                                                                                   "kind",
                                                                                                                                                                   STR("Po"
                                                                                                                                                                       "d"))) "}")),
        TC_OK);
    assert_int_equal(t.count, 3);
    const struct tc_event *ev = &t.events[0];
    assert_int_equal(ev->kind, TC_EVENT_XID);
    assert_int_equal(ev->xid.code, 79);
    SAME(ev->xid.message, "say \"off\"");
    SAME(ev->scope.node, "gpu-02");
    SAME(ev->scope.pod, "llm-7-worker-3");
    assert_true(ev->time_ns == at("2026-03-01T10:05:01Z"));
    assert_true(tc_slice_starts(raw_of(0), TC_LIT("{" TIME)));
    ev = &t.events[1];
    assert_int_equal(ev->train.step, 5);
    SAME(ev->scope.node, "gpu-01");
    assert_true(ev->time_ns == at("2026-03-01T09:00:00Z"));
    ev = &t.events[2];
    assert_true(ev->metric.value == 81.5);
    assert_int_equal(ev->scope.gpu_index, 3);
    assert_int_equal(t.unknown, 1);
}

static void an_event_that_is_malformed_is_told_and_the_rest_is_read(void **state)
{
    (void)state;
    static const char logs[] = LOGS("{}", "{" ATTRS(LOADER) "}") "\n"                     //
        LOGS("{}", "{" BODY("{\\\"kind\\\":\\\"xid\\\",\\\"xid\\\":\\\"x\\\"}") "}") "\n" //
        LOGS("{}", "{" BODY("{\\\"kind\\\":\\\"xid\\\",\\\"xid\\\":31}") "}");
    assert_int_equal(decode(logs), TC_E_MALFORMED);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.events[1].xid.code, 31);
    assert_string_equal(t.err.message,
                        "line 2: a log record: \"xid\" must be an integer of 64 bits");
    assert_int_equal(t.err.offset, strstr(logs, "{\"body\"") - logs);
}

#define STEP(n) LOGS("{}", "{" ATTRS(KV("training.step", INT(n))) "}")

static void one_torn_line_costs_nothing_but_itself(void **state)
{
    (void)state;
    static const char whole[] = STEP("1") "\n" STEP("2") "\n" STEP("3") "\n";
    size_t line = sizeof STEP("2") - 1;
    for (size_t cut = 1; cut < line; cut++) {
        char text[1024];
        int len = snprintf(text, sizeof text, "%s\n%.*s\n%s\n", STEP("1"), (int)cut, STEP("2"),
                           STEP("3"));
        assert_int_equal(decode_bytes(text, (size_t)len), TC_E_MALFORMED);
        size_t count = t.count;
        if (count < 2 || t.events[count - 1].train.step != 3) {
            print_error("cut %zu: %zu events, %s\n", cut, count, t.err.message);
        }
        assert_true(count >= 2);
        assert_int_equal(t.events[0].train.step, 1);
        assert_int_equal(t.events[count - 1].train.step, 3);
        assert_true(tc_slice_starts(tc_slice_cstr(t.err.message), TC_LIT("line 2: ")));
        assert_true(t.cursor.done);
    }
    assert_int_equal(decode(whole), TC_OK);
    assert_int_equal(t.count, 3);
}

static void documents_come_as_lines_arrays_or_pretty(void **state)
{
    (void)state;
    static const char pretty[] =
        "{\n  \"resourceLogs\": [\n    {\n      \"scopeLogs\": [\n"
        "        {\n          \"logRecords\": [\n            {\n"
        "              \"attributes\": [" KV(
            "training.step",
            INT("4")) "]\n"
                      "            }\n          ]\n        }\n      ]\n    }\n  ]\n}\n";
    char text[4096];
    (void)snprintf(text, sizeof text, "\xef\xbb\xbf%s%s[%s,\n%s]\r\n%s%s", pretty, pretty,
                   STEP("5"), STEP("6"), STEP("7"), STEP("8"));
    assert_int_equal(decode(text), TC_OK);
    static const int64_t steps[] = {4, 4, 5, 6, 7, 8};
    assert_int_equal(t.count, 6);
    for (size_t i = 0; i < t.count; i++) {
        assert_int_equal(t.events[i].train.step, steps[i]);
    }
    assert_int_equal(t.cursor.offset, strlen(text));
}

static void traces_and_other_objects_are_skipped_and_counted(void **state)
{
    (void)state;
    assert_int_equal(
        decode(
            "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"name\":\"step: 1 loss: 2\"}]}]}]}"
            "\n{\"other\":1}\n" STEP("3")),
        TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.unknown, 2);
    assert_string_equal(t.why, "an object without logs or metrics");
}

static void pause_stops_between_documents_and_loses_nothing(void **state)
{
    (void)state;
    t.pause_after_each = true;
    assert_int_equal(
        decode(STEP("1") "\n" STEP("2") "\n" LOGS(
            "{}", "{" BODY("[ 1.5] NVRM: Xid (PCI:0000:b3:00): 31, a") "}") "\n" STEP("3")),
        TC_OK);
    assert_int_equal(t.count, 4);
    assert_true(t.calls >= 4);
}

static void full_memory_and_refusing_sinks_stop_the_decoding(void **state)
{
    (void)state;
    static const char kernel[] =
        LOGS("{}", "{" BODY("[ 1.5] nfs: server 10.0.0.9 not responding, still trying") "}");
    t.scratch_bytes = 512;
    assert_int_equal(decode(kernel), TC_E_LIMIT);
    t.scratch_bytes = ARENA_BYTES;
    t.arena_bytes = 1;
    assert_int_equal(decode(kernel), TC_E_NOMEM);
    assert_int_equal(decode(LOGS("{}", "{" ATTRS(LOADER) "}")), TC_E_NOMEM);
    t.arena_bytes = ARENA_BYTES;
    t.refuse = TC_E_IO;
    assert_int_equal(decode(kernel), TC_E_IO);
    assert_int_equal(decode(LOGS("{}", "{" ATTRS(LOADER) "}")), TC_E_IO);
}

static void otlp_is_recognised_and_nothing_else_is(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int want;
    } cases[] = {
        {"{\"resourceLogs\":[]}", TC_SNIFF_SURE},
        {"\xef\xbb\xbf\n{ \"resourceMetrics\" : [ {", TC_SNIFF_SURE},
        {"[{\"resourceSpans\":[{\"resource\":{}", TC_SNIFF_SURE},
        {"{\"x\":1,\"resourceLogs\":[", TC_SNIFF_SURE},
        {"{\"resourceLogs\":{}}", TC_SNIFF_MAYBE},
        {"{\"kind\":\"xid\",\"message\":\"resourceLogs\"}", TC_SNIFF_NO},
        {"{\"a\":{\"resourceLogs\":[]}}", TC_SNIFF_NO},
        {"resourceLogs:\n- resource: {}\n", TC_SNIFF_NO},
        {"[[]]", TC_SNIFF_NO},
        {"", TC_SNIFF_NO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(sniff(cases[i].text), cases[i].want);
    }
    assert_ptr_equal(tc_codec_recognise(TC_LIT("{\"resourceLogs\":[]}"), TC_EMPTY), &tc_codec_otlp);
    assert_ptr_equal(tc_codec_recognise(TC_LIT("resourceLogs:\n- resource: {}\n"), TC_EMPTY),
                     &tc_codec_k8s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(training_attributes_become_events, setup),
        cmocka_unit_test_setup(event_name_of_the_record_counts_as_the_attribute_does, setup),
        cmocka_unit_test_setup(words_that_only_look_like_training_are_not, setup),
        cmocka_unit_test_setup(scope_is_taken_from_the_names_it_has, setup),
        cmocka_unit_test_setup(the_run_is_taken_from_the_record_or_its_resource, setup),
        cmocka_unit_test_setup(plain_bodies_are_read_line_by_line, setup),
        cmocka_unit_test_setup(pod_is_in_the_path_of_the_file_when_no_attribute_names_it, setup),
        cmocka_unit_test_setup(structured_bodies_are_read_as_attributes_are, setup),
        cmocka_unit_test_setup(our_own_events_come_as_attributes_or_as_a_line, setup),
        cmocka_unit_test_setup(an_event_that_is_malformed_is_told_and_the_rest_is_read, setup),
        cmocka_unit_test_setup(one_torn_line_costs_nothing_but_itself, setup),
        cmocka_unit_test_setup(documents_come_as_lines_arrays_or_pretty, setup),
        cmocka_unit_test_setup(traces_and_other_objects_are_skipped_and_counted, setup),
        cmocka_unit_test_setup(pause_stops_between_documents_and_loses_nothing, setup),
        cmocka_unit_test_setup(full_memory_and_refusing_sinks_stop_the_decoding, setup),
        cmocka_unit_test_setup(otlp_is_recognised_and_nothing_else_is, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
