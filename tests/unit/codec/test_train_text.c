/* SPDX-License-Identifier: Apache-2.0 */
/* What training programs say in plain text. Wordings are the producers', values are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "codec/match_priv.h"
#include "codec/train_log/text_priv.h"

#include <stdio.h>
#include <stdlib.h>

static struct tc__train_text rules;
static struct tc_event ev;

static int setup(void **state)
{
    (void)state;
    tc__train_text_init(&rules);
    return 0;
}

/* Reads a copy that ends where its block ends, so that a read past it is seen. */
static bool reads(const char *text)
{
    static char *copy = NULL;
    size_t len = strlen(text);
    free(copy);
    copy = malloc(len == 0 ? 1 : len);
    assert_non_null(copy);
    memcpy(copy, text, len);
    return tc__train_text_read(&rules.scan, tc_slice_make(copy, len), &ev);
}

static bool is(struct tc_slice s, const char *text)
{
    return tc_slice_eq(s, tc_slice_cstr(text));
}

#define TITAN "[rank3]:[titan] 2025-06-04 08:51:58,557 - root - INFO - "

static void loader_errors_are_read_in_pytorchs_words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *error_class;
    } cases[] = {
        {"RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed. ",
         "worker_killed"},
        {"RuntimeError: DataLoader worker (pid 30933) is killed by signal: Aborted.",
         "worker_killed"},
        {"[rank3]: RuntimeError: DataLoader worker (pid(s) 4711, 4712) exited unexpectedly",
         "worker_exited"},
        {"RuntimeError: DataLoader worker (pid 109) exited unexpectedly with exit code 1. Details "
         "are lost due to multiprocessing. Rerunning with num_workers=0 may give better error "
         "trace.",
         "worker_exited"},
        {"RuntimeError: DataLoader worker (pid 13068) is killed by signal: Bus error. It is "
         "possible that dataloader's workers are out of shared memory. Please try to raise your "
         "shared memory limit.",
         "shared_memory"},
        {"ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
         "shared memory (shm).",
         "shared_memory"},
        {"ERROR: Unexpected segmentation fault encountered in worker.", "worker_killed"},
        {"FileNotFoundError: Caught FileNotFoundError in DataLoader worker process 1.",
         "worker_exception"},
        {"RuntimeError: Pin memory thread exited unexpectedly", "pin_memory_thread"},
        {"RuntimeError: DataLoader timed out after 300 seconds", "timeout"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!reads(cases[i].text) || !is(ev.train.error_class, cases[i].error_class)) {
            print_error("case %zu\n", i);
        }
        assert_true(reads(cases[i].text));
        assert_int_equal(ev.kind, TC_EVENT_LOADER_ERROR);
        assert_true(is(ev.train.error_class, cases[i].error_class));
        assert_true(ev.train.message.len > 0);
        assert_int_equal(ev.scope.rank, i == 2 ? 3 : -1);
        /* A pid of the container is none of the node's. */
        assert_int_equal(ev.scope.pid, -1);
        assert_true(ev.train.seconds == (i == 9 ? 300 : 0));
    }
}

static void steps_are_read_with_what_the_line_has(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t step;
        double seconds;
        const char *phase;
        int32_t rank;
    } cases[] = {
        {TITAN "step: 20  loss: 10.7069  memory: 30.99GiB(32.62%)  tps: 7,012", 20, 0, "train", 3},
        {TITAN "\x1b[31mstep:  1  \x1b[32mloss:  8.0277  \x1b[38;2;1mgrad_norm:  1.46", 1, 0,
         "train", 3},
        {TITAN "\x1b[33mvalidate step: 20  \x1b[32mloss:  8.0", 20, 0, "eval", 3},
        {"[rank0]:2025-04-01 00:25:47,084 - root - INFO - step: 640/644 = 99.3789%  loss:  6.2",
         640, 0, "train", 0},
        {" [2025-08-01 07:19:37] iteration        1/    5000 | consumed samples:          128 | "
         "elapsed time per iteration (ms): 19138.8 | learning rate: 6.9E-08 |",
         1, 19.1388, "train", -1},
        {"Training epoch 0, iteration 1/249 | lr: 3.922e-06 | global_batch_size: 8 | global_step: "
         "101 | reduced_train_loss: 1.653 | train_step_timing in s: 2.505 | consumed_samples: 16",
         101, 2.505, "train", -1},
        {"steps: 100 loss: 0.0585 iter time (s): 0.186 samples/sec: 53.694", 100, 0.186, "train",
         -1},
        {"[2023-07-24 13:21:33,261] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, "
         "lr=[0.001], mom=[(0.9, 0.999)]",
         10, 0, "train", 0},
        {"Evaluating on 1280 samples", -1, 0, "eval", -1},
        {"***** Running Evaluation *****", -1, 0, "eval", -1},
        {"[after training is done] datetime: 2026-03-04 05:06:07 ", -1, 0, "done", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!reads(cases[i].text) || ev.train.step != cases[i].step) {
            print_error("case %zu\n", i);
        }
        assert_true(reads(cases[i].text));
        assert_int_equal(ev.kind, TC_EVENT_TRAIN_STEP);
        assert_int_equal(ev.train.step, cases[i].step);
        assert_true(ev.train.seconds > cases[i].seconds - 1e-9 &&
                    ev.train.seconds < cases[i].seconds + 1e-9);
        assert_true(is(ev.train.phase, cases[i].phase));
        assert_int_equal(ev.scope.rank, cases[i].rank);
    }
}

static void checkpoints_are_read_from_begin_to_end(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *state;
        int64_t step;
        const char *path;
        double seconds;
    } cases[] = {
        {TITAN "Saving the checkpoint.", "begin", -1, "", 0},
        {TITAN "Saving the checkpoint (or staging if async is enabled).", "begin", -1, "", 0},
        {TITAN "Saving a full checkpoint at last step, step 10.", "begin", 10, "", 0},
        {TITAN "Saving a model only checkpoint in torch.bfloat16 at last step, step 10.", "begin",
         10, "", 0},
        {TITAN "Finished saving the checkpoint in 12.34 seconds.", "end", -1, "", 12.34},
        {TITAN "Finished saving the checkpoint (or staging if async is enabled)in 5.53 seconds.",
         "end", -1, "", 5.53},
        {"saving checkpoint at iteration     100 to /ckpt/run in torch_dist format", "begin", 100,
         "/ckpt/run", 0},
        {"  successfully saved checkpoint from iteration     100 to /ckpt/run [ t 1/2, p 1/4 ]",
         "end", 100, "/ckpt/run", 0},
        {"successfully saved checkpoint at iteration 7", "end", 7, "", 0},
        {"[NeMo I 2025-06-18 16:52:54 nemo_logging:393] Scheduled async checkpoint save for "
         "/ckpt/step=24.ckpt",
         "begin", -1, "/ckpt/step=24.ckpt", 0},
        {"[NeMo I 2026-02-17 17:58:50 nemo_logging:393] Successfully saved checkpoint from "
         "iteration 24 to /ckpt/step=24.ckpt",
         "end", 24, "/ckpt/step=24.ckpt", 0},
        {"[NeMo I 2026-02-17 17:58:50 nemo_logging:393] Async checkpoint save for step 25 "
         "(/ckpt/step=24.ckpt) finalized successfully.",
         "end", 25, "/ckpt/step=24.ckpt", 0},
        {"[2023-07-24 13:21:33,261] [INFO] [logging.py:96:log_dist] [Rank 0] [Torch] Checkpoint "
         "global_step10 is about to be saved!",
         "begin", 10, "", 0},
        {"[Torch] Checkpoint global_step10 is ready now!", "end", 10, "", 0},
        {"[INFO] [Torch] Saving /ckpt/global_step10/mp_rank_00_model_states.pt...", "begin", 10,
         "/ckpt/global_step10/mp_rank_00_model_states.pt", 0},
        {"[INFO] [Torch] Saved /ckpt/global_step10/mp_rank_00_model_states.pt.", "end", 10,
         "/ckpt/global_step10/mp_rank_00_model_states.pt", 0},
        {"Saving model checkpoint to output/checkpoint-500", "begin", 500, "output/checkpoint-500",
         0},
        {"[2023-07-24 13:21:33,261] [INFO] [logging.py:96:log_dist] [Rank 0] Saving model "
         "checkpoint: /ckpt/global_step10/mp_rank_00_model_states.pt",
         "begin", 10, "/ckpt/global_step10/mp_rank_00_model_states.pt", 0},
        {"Saving current state to /ckpt/step_500", "begin", -1, "/ckpt/step_500", 0},
        {"Random states saved in /ckpt/step_500/random_states_0.pkl", "end", -1,
         "/ckpt/step_500/random_states_0.pkl", 0},
        {"Saving checkpoint. This may take some time. Retrieving full model state dict...", "begin",
         -1, "", 0},
        {"Saving checkpoint took 12.50 secs", "end", -1, "", 12.5},
        {"torch.distributed.checkpoint.api.CheckpointException: CheckpointException "
         "ranks:dict_keys([0, 1])",
         "failed", -1, "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!reads(cases[i].text) || !is(ev.train.path, cases[i].path)) {
            print_error("case %zu\n", i);
        }
        assert_true(reads(cases[i].text));
        assert_int_equal(ev.kind, TC_EVENT_CHECKPOINT);
        assert_true(is(ev.train.state, cases[i].state));
        assert_int_equal(ev.train.step, cases[i].step);
        assert_true(is(ev.train.path, cases[i].path));
        assert_true(ev.train.seconds == cases[i].seconds);
    }
}

/* Where nothing says that it ended, the next step does: the trainer's own lines are steps. */
static void what_the_training_waits_for_says_so(void **state)
{
    (void)state;
    assert_true(reads("Saving model checkpoint to /ckpt/checkpoint-500"));
    assert_true(is(ev.train.phase, "train"));
    assert_true(reads("Saving current state to /ckpt/step_500"));
    assert_true(is(ev.train.phase, ""));
    assert_true(reads("{'loss': 1.98, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': 0.2}"));
    assert_int_equal(ev.kind, TC_EVENT_TRAIN_STEP);
    assert_int_equal(ev.train.step, -1);
    assert_true(reads("Evaluating iter 1/100"));
    assert_true(is(ev.train.phase, "eval"));
    assert_true(reads(" validation loss at iteration 120 | lm loss value: 2.1E+00 |"));
    assert_true(is(ev.train.phase, "eval"));
}

static void what_only_looks_similar_is_not_read(void **state)
{
    (void)state;
    static const char *const others[] = {
        "",
        "step: ",
        "step: twenty loss: 1",
        "step: 20 done",
        "step: 20/644 loss: 1",
        "substep: 20 loss: 1",
        "global_step: 20 loss: 1",
        "step=10 of 20",
        "step: 99999999999999999999 loss: 1",
        "iteration 3/10",
        "iteration 3/10 | loss: 2",
        "iteration 3 / ten |",
        "steps: 100 loss: 0.1 took 3 s",
        "OpenDataLoader timed out after 30 seconds",
        "DataLoader timed out after a while",
        "DataLoader worker (pid 1) started",
        "runs in DataLoader worker process 1",
        "Caught it in DataLoader worker process pool",
        "ERROR: Unexpected token",
        "Saving the checkpointer configuration",
        "Saving a full backup at step 3",
        "Saving a model weights only checkpoint",
        "saving checkpoint at iteration soon",
        "successfully saved checkpoint",
        "Started an asynchronous checkpoint save for step 7",
        "Async checkpoint save for step 7 (/a) is queued",
        "Scheduled async checkpoint save for ",
        "Checkpoint tag is about to be loaded!",
        "[Torch] Saving",
        "[Torch] Saved nothing",
        "[Torch] Loading checkpoint from /a...",
        "Running Evaluation",
        "Evaluating on the test set",
        "what happens after training is done",
        "Saving model checkpoint failed",
        "Saving checkpoint took a while",
        "{'loss': 1.98, 'step': 3}",
        /* Their logs never say when it ended. */
        "Epoch 0, global step 100: 'val_loss' reached 1.2, saving model to '/a.ckpt' as top 1",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (reads(others[i])) {
            print_error("case %zu: %s\n", i, others[i]);
        }
        assert_false(reads(others[i]));
    }
}

static void rank_is_read_from_the_head_of_the_line_only(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t rank;
    } cases[] = {
        {"[rank0]: x", 0},
        {"[rank12]:[titan] x", 12},
        {"2025 [Rank 7] x", 7},
        {"[rank]: x", -1},
        {"[rank-1]", -1},
        {"[rank9999999999]", -1},
        {"[rank3", -1},
        {"rank3]", -1},
        {"a long line that quotes another one far behind its own beginning: [rank3]", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(tc__train_rank(tc_slice_cstr(cases[i].text)), cases[i].rank);
    }
}

static void long_lines_cost_a_bounded_time_and_keep_a_short_message(void **state)
{
    (void)state;
    size_t len = 4 * TC_LINE_MAX;
    char *text = malloc(len + 1);
    assert_non_null(text);
    for (size_t i = 0; i < len; i++) {
        text[i] = "iteration 1/2 | "[i % 16];
    }
    text[len] = '\0';
    assert_false(reads(text));
    memcpy(text, "step: 7 loss: 1 ", 16);
    assert_true(reads(text));
    assert_int_equal(ev.train.message.len, TC__TRAIN_MESSAGE_MAX);
    free(text);
}

static void numbers_are_read_where_they_are_finite(void **state)
{
    (void)state;
    double value = 7;
    assert_int_equal(tc__text_number(tc_slice_cstr("12.5 s"), &value), 4);
    assert_true(value == 12.5);
    assert_int_equal(tc__text_number(tc_slice_cstr("-1e-3"), &value), 5);
    value = 7;
    static const char *const none[] = {"", "x", "nan", "inf", "1e999", "-", ".", "e5"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_int_equal(tc__text_number(tc_slice_cstr(none[i]), &value), 0);
        assert_true(value == 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(loader_errors_are_read_in_pytorchs_words, setup),
        cmocka_unit_test_setup(steps_are_read_with_what_the_line_has, setup),
        cmocka_unit_test_setup(checkpoints_are_read_from_begin_to_end, setup),
        cmocka_unit_test_setup(what_the_training_waits_for_says_so, setup),
        cmocka_unit_test_setup(what_only_looks_similar_is_not_read, setup),
        cmocka_unit_test_setup(rank_is_read_from_the_head_of_the_line_only, setup),
        cmocka_unit_test_setup(long_lines_cost_a_bounded_time_and_keep_a_short_message, setup),
        cmocka_unit_test_setup(numbers_are_read_where_they_are_finite, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
