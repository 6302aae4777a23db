/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of training programs as text. Forms are the producers', values are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TESTED_CODEC tc_codec_train_log
#include "codec/train_log/text_priv.h"
#include "unit/codec/k8s_testing.h"

#define TITAN(time) "[rank3]:[titan] " time " - root - INFO - "
#define STEP "step: 20  loss: 1.0  tps: 4,376"

static void every_form_of_date_is_read(void **state)
{
    (void)state;
    static const char *const lines[] = {
        TITAN("2026-03-01 10:05:01,500") STEP,
        "2026-03-01 10:05:01,500 INFO root: " STEP,
        "2026-03-01T10:05:01.500000000Z stdout F " STEP,
        "2026-03-01T11:05:01.5+01:00 " STEP,
        "[2026-03-01 10:05:01.5] " STEP,
        "[NeMo I 2026-03-01 10:05:01.5 nemo_logging:393] " STEP,
        "[2026-03-01 10:05:01,500] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=0, "
        "lr=",
        "[36m(pretraining, pid=4112)[0m 2026-03-01 10:05:01.5 " STEP,
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(decode(lines[i]), TC_OK);
        assert_int_equal(t.count, 1);
        if (t.events[0].time_ns != at("2026-03-01T10:05:01.5Z")) {
            print_error("case %zu\n", i);
        }
        assert_true(t.events[0].time_ns == at("2026-03-01T10:05:01.5Z"));
        assert_int_equal(t.events[0].train.step, 20);
        SAME(raw_of(0), lines[i]);
    }
}

static void lines_without_a_date_have_that_of_the_nearest_line_above(void **state)
{
    (void)state;
    static const char log[] = "\xef\xbb\xbfstep: 1 loss: 1\r\n"
                              " [2026-03-01 10:00:00] iteration  1/ 50 | elapsed time per "
                              "iteration (ms): 1500.0 |\r\n"
                              "saving checkpoint at iteration 1 to /ckpt in torch_dist format\n"
                              "\n2026-03-01 10:01:00 something else\nno date\n"
                              "  successfully saved checkpoint from iteration 1 to /ckpt\n"
                              "iteration 2/ 50 | no time |";
    for (size_t pauses = 0; pauses < 2; pauses++) {
        t.pause_after_each = pauses == 1;
        assert_int_equal(decode(log), TC_OK);
        assert_int_equal(t.count, 4);
        assert_true(t.events[0].time_ns == TC_TIME_NONE);
        assert_int_equal(t.cursor.undated, 1);
        assert_true(t.events[1].time_ns == at("2026-03-01T10:00:00Z"));
        assert_true(t.events[1].train.seconds == 1.5);
        assert_true(t.events[2].time_ns == at("2026-03-01T10:00:00Z"));
        SAME(t.events[2].train.state, "begin");
        assert_true(t.events[3].time_ns == at("2026-03-01T10:01:00Z"));
        SAME(t.events[3].train.state, "end");
        assert_int_equal(t.cursor.offset, sizeof log - 1);
    }
    assert_int_equal(t.calls, 5);
}

static void a_date_too_far_above_is_not_taken(void **state)
{
    (void)state;
    size_t len = 80 << 10;
    char *text = malloc(2 * len);
    assert_non_null(text);
    for (size_t pauses = 0; pauses < 2; pauses++) {
        t.pause_after_each = pauses == 1;
        int head = snprintf(text, len, "2026-03-01 10:00:00 step: 1 loss: 1\nstep: 2 loss: 1\n");
        memset(text + head, '-', len);
        text[(size_t)head + 100] = '\n';
        int tail = snprintf(text + (size_t)head + len, len, "\nstep: 3 loss: 1\n");
        assert_int_equal(decode_bytes(text, (size_t)head + len + (size_t)tail), TC_OK);
        assert_int_equal(t.count, 3);
        assert_true(t.events[1].time_ns == at("2026-03-01T10:00:00Z"));
        assert_true(t.events[2].time_ns == TC_TIME_NONE);
    }
    free(text);
}

static void what_is_not_understood_is_counted_and_long_lines_are_cut(void **state)
{
    (void)state;
    assert_int_equal(decode("hello\n\n" STEP "\nbye"), TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.unknown, 2);
    size_t len = TC_LINE_MAX + 100;
    char *text = malloc(len + 64);
    assert_non_null(text);
    memset(text, 'x', len);
    memcpy(text, "step: 7 loss: 1 ", 16);
    int tail = snprintf(text + len, 64, "\nstep: 8 loss: 1");
    assert_int_equal(decode_bytes(text, len + (size_t)tail), TC_OK);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.cursor.cut, 1);
    assert_int_equal(t.events[0].raw.length, TC_LINE_MAX);
    free(text);
}

static tc_status one_event(void *context, const struct tc_event *ev)
{
    *(struct tc_event *)context = *ev;
    return TC_OK;
}

static void pod_is_in_the_path_where_kubernetes_keeps_logs(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *pod;
    } cases[] = {
        {"/var/log/pods/train_llm-7-worker-3_6a0d1c52/main/0.log", "llm-7-worker-3"},
        {"copy/pods/train_llm-7-worker-3_6a0d1c52/main/0.log", "llm-7-worker-3"},
        {"pods/train_llm-7-worker-3_6a0d1c52/main/0.log", "llm-7-worker-3"},
        {"tripods/train_llm-7-worker-3_6a0d1c52/main/0.log", ""},
        {"/var/log/pods/train_llm-7-worker-3/main/0.log", ""},
        {"/var/log/pods/train_llm-7_6a0d1c52", ""},
        {"/home/pods/a.log", ""},
        {"slurm-4711.out", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_event ev = {0};
        struct tc_codec_input in = {.bytes = TC_LIT("[rank1]: " STEP),
                                    .name = tc_slice_cstr(cases[i].name),
                                    .node = TC_LIT("gpu-01"),
                                    .boot_ns = TC_TIME_NONE,
                                    .now_ns = TC_TIME_NONE};
        struct tc_codec_cursor cursor = {0};
        struct tc_codec_out out = {.event = one_event, .context = &ev};
        assert_int_equal(tc_codec_train_log.decode(&in, &cursor, &out, NULL), TC_OK);
        assert_int_equal(cursor.events, 1);
        SAME(ev.scope.pod, cases[i].pod);
        SAME(ev.scope.ns, cases[i].pod[0] == '\0' ? "" : "train");
        SAME(ev.scope.container, cases[i].pod[0] == '\0' ? "" : "main");
        SAME(ev.scope.node, "gpu-01");
        assert_int_equal(ev.scope.rank, 1);
    }
}

static void the_rank_is_in_the_name_of_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int32_t rank;
    } cases[] = {
        {"rank3.log", 3},
        {"logs/train_rank-07.out", 7},
        {"logs/job.RANK_12.txt", 12},
        {"/rank9/out.log", -1},
        {"node_rank3.log", -1},
        {"local-rank3.log", -1},
        {"noderank3.log", -1},
        {"frank3.log", -1},
        {"rank.log", -1},
        {"rank99999999999.log", -1},
        {"", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(tc__train_path_rank(tc_slice_cstr(cases[i].path)), cases[i].rank);
    }
}

static void pod_is_in_the_name_of_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *pod;
    } cases[] = {
        {"t/llama-worker-3.log", "llama-worker-3"},
        {"llama-worker-3-previous.log", "llama-worker-3"},
        {"master-0.txt", "master-0"},
        {"coworker-3.log", ""},
        {"Llama-worker-3.log", ""},
        {"worker-x.log", ""},
        {"worker-3.log.gz", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_scope scope = TC_SCOPE_NONE;
        tc__train_pod_file(tc_slice_cstr(cases[i].path), &scope);
        assert_true(tc_slice_eq(scope.pod, tc_slice_cstr(cases[i].pod)));
    }
}

/* kubectl logs --prefix --timestamps */
static void pod_is_in_the_prefix_of_the_line(void **state)
{
    (void)state;
    assert_int_equal(decode("[pod/w-0/trainer] 2026-03-01T10:00:00.5Z step: 1 loss: 1\n"
                            "[pod/w-1] step: 2 loss: 1\n[podium/w-1/c] step: 3 loss: 1\n"),
                     TC_OK);
    assert_int_equal(t.count, 3);
    SAME(t.events[0].scope.pod, "w-0");
    SAME(t.events[0].scope.container, "trainer");
    SAME(t.events[1].scope.pod, "");
    SAME(t.events[2].scope.pod, "");
}

static void training_logs_are_recognised_and_others_are_left_alone(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int want;
    } cases[] = {
        {TITAN("2026-03-01 10:05:01,500") STEP, TC_SNIFF_LIKELY},
        {"W0301 torchrun\n[rank0]:[titan] 2026-03-01 10:05:01,1 - root - INFO - Starting job: x\n",
         TC_SNIFF_MAYBE},
        {"saving checkpoint at iteration 1 to /a\n", TC_SNIFF_MAYBE},
        {"", TC_SNIFF_NO},
        {"hello\nworld\n", TC_SNIFF_NO},
        {"{\"body\":\"2026-03-01 10:05:01 " STEP "\"}", TC_SNIFF_NO},
        {"<html>\n2026-03-01 10:05:01 " STEP, TC_SNIFF_NO},
        {"[  12.3] NVRM: Xid (PCI:0000:b3:00): 79\n", TC_SNIFF_NO},
        {"# HELP step Current step\nstep 20\n", TC_SNIFF_NO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(sniff(cases[i].text), cases[i].want);
    }
    assert_ptr_equal(
        tc_codec_recognise(TC_LIT("2026-03-01 10:05:01,1 - root - INFO - " STEP), TC_EMPTY),
        &tc_codec_train_log);
    /* A system log that a training program wrote to as well stays one. */
    assert_ptr_equal(tc_codec_recognise(TC_LIT("Mar  1 10:05:01 gpu-01 python[7]: " STEP "\n"
                                               "Mar  1 10:05:02 gpu-01 kernel: eth0: up\n"),
                                        TC_EMPTY),
                     &tc_codec_kmsg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_form_of_date_is_read, setup),
        cmocka_unit_test_setup(lines_without_a_date_have_that_of_the_nearest_line_above, setup),
        cmocka_unit_test_setup(a_date_too_far_above_is_not_taken, setup),
        cmocka_unit_test_setup(what_is_not_understood_is_counted_and_long_lines_are_cut, setup),
        cmocka_unit_test_setup(pod_is_in_the_path_where_kubernetes_keeps_logs, setup),
        cmocka_unit_test_setup(the_rank_is_in_the_name_of_the_file, setup),
        cmocka_unit_test_setup(pod_is_in_the_name_of_the_file, setup),
        cmocka_unit_test_setup(pod_is_in_the_prefix_of_the_line, setup),
        cmocka_unit_test_setup(training_logs_are_recognised_and_others_are_left_alone, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
