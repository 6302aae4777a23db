/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/train_log/text_priv.h"

#include "base/limits.h"

#include <string.h>

#include <math.h>
#include <stdlib.h>

#define S(literal) TC_LIT(literal)

/* Characters of a number, and steps and ranks that a line can mean. */
#define NUMBER_MAX 40
#define STEP_MAX INT64_C(1000000000000)
/* Places of a line that are looked at: a rule may read the rest of the line each time. */
#define HITS_MAX 16

size_t tc__train_number(struct tc_slice s, double *out)
{
    char text[NUMBER_MAX + 1];
    size_t len = 0;
    while (len < s.len && len < NUMBER_MAX && strchr("0123456789+-.eE", s.ptr[len]) != NULL &&
           s.ptr[len] != '\0') {
        text[len] = s.ptr[len];
        len++;
    }
    text[len] = '\0';
    char *end = text;
    double value = strtod(text, &end);
    if (end == text || !isfinite(value)) {
        return 0;
    }
    *out = value;
    return (size_t)(end - text);
}

/* Over blanks and the colours of a terminal ("\x1b[32m"). */
static struct tc_slice skip_blank(struct tc_slice s)
{
    for (;;) {
        if (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
            s = tc_slice_from(s, 1);
        } else if (tc_slice_starts(s, S("\x1b["))) {
            size_t at = 2;
            while (at < s.len && ((s.ptr[at] >= '0' && s.ptr[at] <= '9') || s.ptr[at] == ';')) {
                at++;
            }
            s = tc_slice_from(s, at + 1);
        } else {
            return s;
        }
    }
}

bool tc__train_count(struct tc_slice *io_s, int64_t *out)
{
    uint64_t value = 0;
    struct tc_slice s = skip_blank(*io_s);
    size_t used = tc_slice_u64(s, &value);
    if (used == 0 || value > (uint64_t)STEP_MAX) {
        return false;
    }
    *out = (int64_t)value;
    *io_s = tc_slice_from(s, used);
    return true;
}

static bool take(struct tc_slice *io_s, struct tc_slice prefix)
{
    struct tc_slice s = skip_blank(*io_s);
    if (!tc_slice_starts(s, prefix)) {
        return false;
    }
    *io_s = tc_slice_from(s, prefix.len);
    return true;
}

/* The number behind `words`, anywhere in s; 0 when it is not there or is no duration. */
static double seconds_after(struct tc_slice s, struct tc_slice words)
{
    double value = 0;
    size_t at = tc_slice_find(s, words);
    if (at == TC_NPOS ||
        tc__train_number(skip_blank(tc_slice_from(s, at + words.len)), &value) == 0 || value < 0) {
        return 0;
    }
    return value;
}

static int64_t count_after(struct tc_slice s, struct tc_slice words)
{
    int64_t value = -1;
    size_t at = tc_slice_find(s, words);
    struct tc_slice rest = tc_slice_from(s, at == TC_NPOS ? s.len : at + words.len);
    return tc__train_count(&rest, &value) ? value : -1;
}

/* One wording: what stands before it and behind it in the line. */
struct hit {
    struct tc_slice before;
    struct tc_slice after;
};

typedef bool (*rule_fn)(const struct hit *h, struct tc_event *ev);

static bool loader_error(struct tc_event *ev, struct tc_slice error_class)
{
    tc_event_init(ev, TC_EVENT_LOADER_ERROR);
    ev->train.error_class = error_class;
    return true;
}

/*
 * "DataLoader worker (pid 11) is killed by signal: Killed.", "... exited unexpectedly with exit
 * code 1", "DataLoader worker (pid(s) 11, 12) exited unexpectedly". The pid is the container's
 * own, and not taken for one on the node.
 */
static bool rule_worker(const struct hit *h, struct tc_event *ev)
{
    if (tc_slice_contains(h->after, S(") is killed by signal"))) {
        bool shared = tc_slice_contains(h->after, S("Bus error"));
        return loader_error(ev, shared ? S("shared_memory") : S("worker_killed"));
    }
    return tc_slice_contains(h->after, S(") exited unexpectedly")) &&
           loader_error(ev, S("worker_exited"));
}

/* "DataLoader timed out after 300 seconds" */
static bool rule_timeout(const struct hit *h, struct tc_event *ev)
{
    double seconds = 0;
    struct tc_slice rest = skip_blank(h->after);
    rest = tc_slice_from(rest, tc__train_number(rest, &seconds));
    if (!take(&rest, S("seconds"))) {
        return false;
    }
    (void)loader_error(ev, S("timeout"));
    ev->train.seconds = seconds > 0 ? seconds : 0;
    return true;
}

/* "ERROR: Unexpected bus error encountered in worker. This might be caused by ..." */
static bool rule_crash(const struct hit *h, struct tc_event *ev)
{
    if (tc_slice_starts(h->after, S("bus error encountered in worker"))) {
        return loader_error(ev, S("shared_memory"));
    }
    return tc_slice_contains(h->after, S("encountered in worker.")) &&
           loader_error(ev, S("worker_killed"));
}

/* "FileNotFoundError: Caught FileNotFoundError in DataLoader worker process 1." */
static bool rule_exception(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice rest = h->after;
    int64_t worker = 0;
    return tc_slice_contains(h->before, S("Caught ")) && tc__train_count(&rest, &worker) &&
           loader_error(ev, S("worker_exception"));
}

static bool rule_pin_memory(const struct hit *h, struct tc_event *ev)
{
    (void)h;
    return loader_error(ev, S("pin_memory_thread"));
}

static bool step_ended(struct tc_event *ev, struct tc_slice phase, int64_t step, double seconds)
{
    tc_event_init(ev, TC_EVENT_TRAIN_STEP);
    ev->train.phase = phase;
    ev->train.step = step;
    ev->train.seconds = seconds;
    return true;
}

/* torchtitan: "step: 20  loss: ...", "validate step: 20  loss: ...", "step: 20/644 = 3.1%  loss:"
 */
static bool rule_titan(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice rest = h->after;
    int64_t step = 0;
    int64_t total = 0;
    if (!tc__train_count(&rest, &step)) {
        return false;
    }
    if (take(&rest, S("/"))) {
        double share = 0;
        if (!tc__train_count(&rest, &total) || !take(&rest, S("="))) {
            return false;
        }
        rest = skip_blank(rest);
        rest = tc_slice_from(rest, tc__train_number(rest, &share));
        (void)take(&rest, S("%"));
    }
    bool eval = tc_slice_ends(h->before, S("validate "));
    return take(&rest, S("loss:")) && step_ended(ev, eval ? S("eval") : S("train"), step, 0);
}

/* DeepSpeed's pipelines: "steps: 100 loss: 0.0585 iter time (s): 0.186 samples/sec: 53.694" */
static bool rule_pipeline(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice rest = h->after;
    int64_t step = 0;
    double seconds = 0;
    if (!tc__train_count(&rest, &step) || !take(&rest, S("loss:"))) {
        return false;
    }
    seconds = seconds_after(rest, S("iter time (s):"));
    return seconds > 0 && step_ended(ev, S("train"), step, seconds);
}

/* DeepSpeed: "step=10, skipped=0, lr=[...], mom=[...]" */
static bool rule_deepspeed(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice rest = h->after;
    int64_t step = 0;
    return tc__train_count(&rest, &step) && take(&rest, S(", skipped=")) &&
           step_ended(ev, S("train"), step, 0);
}

/*
 * Megatron-LM: "iteration 100/ 5000 | ... | elapsed time per iteration (ms): 1234.5 |", and NeMo:
 * "Training epoch 0, iteration 0/249 | ... | global_step: 0 | ... | train_step_timing in s: 7.1"
 */
static bool rule_iteration(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice rest = h->after;
    int64_t step = 0;
    int64_t total = 0;
    if (!tc__train_count(&rest, &step) || !take(&rest, S("/")) || !tc__train_count(&rest, &total) ||
        !take(&rest, S("|"))) {
        return false;
    }
    if (tc_slice_contains(h->before, S("Training epoch "))) {
        int64_t global = count_after(rest, S("global_step:"));
        return step_ended(ev, S("train"), global >= 0 ? global : step,
                          seconds_after(rest, S("train_step_timing in s:")));
    }
    double ms = seconds_after(rest, S("elapsed time per iteration (ms):"));
    return ms > 0 && step_ended(ev, S("train"), step, ms / 1000);
}

/* Megatron-LM: "Evaluating on 128 samples" */
static bool rule_evaluating(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice rest = h->after;
    int64_t samples = 0;
    return tc__train_count(&rest, &samples) && take(&rest, S("samples")) &&
           step_ended(ev, S("eval"), -1, 0);
}

/* Megatron-LM: "Evaluating iter 1/100", "validation loss at iteration 120 | lm loss value: ..." */
static bool rule_eval_iter(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice rest = h->after;
    int64_t count = 0;
    return tc__train_count(&rest, &count) && (take(&rest, S("/")) || take(&rest, S("|"))) &&
           step_ended(ev, S("eval"), -1, 0);
}

/* The Transformers trainer: "***** Running Evaluation *****" */
static bool rule_running_eval(const struct hit *h, struct tc_event *ev)
{
    return tc_slice_ends(h->before, S("***** ")) && step_ended(ev, S("eval"), -1, 0);
}

/* Megatron-LM: "[after training is done] datetime: 2026-03-04 05:06:07", after a barrier */
static bool rule_done(const struct hit *h, struct tc_event *ev)
{
    (void)h;
    return step_ended(ev, S("done"), -1, 0);
}

static bool checkpoint(struct tc_event *ev, struct tc_slice state, int64_t step,
                       struct tc_slice path)
{
    tc_event_init(ev, TC_EVENT_CHECKPOINT);
    ev->train.state = state;
    ev->train.step = step;
    ev->train.path = path;
    return true;
}

/* torchtitan: "Saving the checkpoint.", "Saving the checkpoint (or staging if async ...)." */
static bool rule_titan_begin(const struct hit *h, struct tc_event *ev)
{
    bool whole = h->after.len == 0 || tc_slice_starts(h->after, S(".")) ||
                 tc_slice_starts(h->after, S(" (or ")) || tc_slice_starts(h->after, S("\x1b"));
    return whole && checkpoint(ev, S("begin"), -1, TC_EMPTY);
}

/* torchtitan: "Saving a full checkpoint at last step, step 10.", "... a model only checkpoint ..."
 */
static bool rule_titan_last(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice words = S(" checkpoint ");
    size_t at = tc_slice_find(h->after, words);
    int64_t step = count_after(h->after, S(" step "));
    return at != TC_NPOS && step >= 0 && checkpoint(ev, S("begin"), step, TC_EMPTY);
}

/* torchtitan: "Finished saving the checkpoint in 12.34 seconds." */
static bool rule_titan_end(const struct hit *h, struct tc_event *ev)
{
    (void)checkpoint(ev, S("end"), -1, TC_EMPTY);
    ev->train.seconds = seconds_after(h->after, S("in "));
    return true;
}

static struct tc_slice word_of(struct tc_slice s)
{
    struct tc_slice rest;
    return tc_slice_cut(skip_blank(s), ' ', &rest);
}

/* Megatron-LM: "saving checkpoint at iteration     100 to /ckpt in torch_dist format" */
static bool rule_megatron_begin(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice rest = h->after;
    int64_t step = 0;
    return tc__train_count(&rest, &step) && take(&rest, S("to ")) &&
           checkpoint(ev, S("begin"), step, word_of(rest));
}

/* Megatron-LM, NeMo: "successfully saved checkpoint from iteration     100 to /ckpt" */
static bool rule_megatron_end(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice rest = h->after;
    int64_t step = 0;
    if (!take(&rest, S("from iteration")) && !take(&rest, S("at iteration"))) {
        return false;
    }
    if (!tc__train_count(&rest, &step)) {
        return false;
    }
    bool named = take(&rest, S("to "));
    return checkpoint(ev, S("end"), step, named ? word_of(rest) : TC_EMPTY);
}

/* NeMo: "Scheduled async checkpoint save for /ckpt/step=24.ckpt" */
static bool rule_nemo_begin(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice path = word_of(h->after);
    return path.len > 0 && checkpoint(ev, S("begin"), -1, path);
}

/* NeMo: "Async checkpoint save for step 25 (/ckpt/step=24.ckpt) finalized successfully." */
static bool rule_nemo_end(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice rest = h->after;
    struct tc_slice path = TC_EMPTY;
    int64_t step = 0;
    if (!tc__train_count(&rest, &step) || !tc_slice_contains(rest, S("finalized successfully"))) {
        return false;
    }
    if (take(&rest, S("("))) {
        path = tc_slice_cut(rest, ')', &rest);
    }
    return checkpoint(ev, S("end"), step, path);
}

/* DeepSpeed: "Checkpoint global_step10 is about to be saved!", "Checkpoint ... is ready now!" */
static bool rule_deepspeed_tag(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice tag = word_of(h->after);
    struct tc_slice said = tc_slice_from(h->after, tag.len);
    bool begins = tc_slice_starts(said, S(" is about to be saved!"));
    if (tag.len == 0 || (!begins && !tc_slice_starts(said, S(" is ready now!")))) {
        return false;
    }
    return checkpoint(ev, begins ? S("begin") : S("end"), count_after(tag, S("global_step")),
                      TC_EMPTY);
}

/* DeepSpeed: "[Torch] Saving /ckpt/mp_rank_00_model_states.pt..." */
static bool rule_torch_saving(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice path = word_of(h->after);
    return tc_slice_ends(path, S("...")) &&
           checkpoint(ev, S("begin"), count_after(path, S("global_step")),
                      tc_slice_head(path, path.len - 3));
}

/* DeepSpeed: "[Torch] Saved /ckpt/mp_rank_00_model_states.pt." */
static bool rule_torch_saved(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice path = word_of(h->after);
    return tc_slice_ends(path, S(".")) &&
           checkpoint(ev, S("end"), count_after(path, S("global_step")),
                      tc_slice_head(path, path.len - 1));
}

/*
 * The Transformers trainer: "Saving model checkpoint to /ckpt/checkpoint-500", and DeepSpeed:
 * "Saving model checkpoint: /ckpt/global_step500/mp_rank_00_model_states.pt". Neither need say that
 * it ended; but the training waits for it, which the phase says.
 */
static bool rule_in_loop(const struct hit *h, struct tc_event *ev)
{
    bool named = tc_slice_starts(h->after, S(" to ")) || tc_slice_starts(h->after, S(": "));
    struct tc_slice path =
        named ? word_of(tc_slice_from(h->after, h->after.ptr[0] == ':' ? 2 : 4)) : TC_EMPTY;
    int64_t step = count_after(path, S("checkpoint-"));
    if (!tc_slice_contains(path, S("/"))) {
        return false;
    }
    (void)checkpoint(ev, S("begin"), step >= 0 ? step : count_after(path, S("global_step")), path);
    ev->train.phase = S("train");
    return true;
}

/* Accelerate: "Saving current state to /ckpt/step_500", ... "Random states saved in /ckpt/..." */
static bool rule_accelerate_begin(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice path = word_of(h->after);
    return path.len > 0 && checkpoint(ev, S("begin"), -1, path);
}

static bool rule_accelerate_end(const struct hit *h, struct tc_event *ev)
{
    struct tc_slice path = word_of(h->after);
    return path.len > 0 && checkpoint(ev, S("end"), -1, path);
}

/* torchtune: "Saving checkpoint. This may take some time. Retrieving full model state dict..." */
static bool rule_tune_begin(const struct hit *h, struct tc_event *ev)
{
    return tc_slice_starts(h->after, S(" may take some time")) &&
           checkpoint(ev, S("begin"), -1, TC_EMPTY);
}

/* torchtune: "Saving checkpoint took 12.30 secs" */
static bool rule_tune_end(const struct hit *h, struct tc_event *ev)
{
    double seconds = seconds_after(h->after, TC_EMPTY);
    if (!tc_slice_contains(h->after, S(" secs"))) {
        return false;
    }
    (void)checkpoint(ev, S("end"), -1, TC_EMPTY);
    ev->train.seconds = seconds;
    return true;
}

/* The Transformers trainer: "{'loss': 1.98, 'grad_norm': 0.51, 'learning_rate': 1e-05, 'epoch':
 * 0.2}"
 */
static bool rule_trainer_log(const struct hit *h, struct tc_event *ev)
{
    return tc_slice_contains(h->after, S("'learning_rate': ")) &&
           tc_slice_contains(h->after, S("'epoch': ")) && step_ended(ev, S("train"), -1, 0);
}

/* torch.distributed.checkpoint: "CheckpointException: CheckpointException ranks:dict_keys([0])" */
static bool rule_failed(const struct hit *h, struct tc_event *ev)
{
    (void)h;
    return checkpoint(ev, S("failed"), -1, TC_EMPTY);
}

/* Each wording by a part of it that is long enough to be rare. Of two at one place the first. */
#define RULES(X)                                                \
    X("DataLoader worker (pid", rule_worker)                    \
    X("DataLoader timed out after", rule_timeout)               \
    X("ERROR: Unexpected ", rule_crash)                         \
    X(" in DataLoader worker process", rule_exception)          \
    X("Pin memory thread exited unexpectedly", rule_pin_memory) \
    X("CheckpointException ranks:", rule_failed)                \
    X("steps: ", rule_pipeline)                                 \
    X("step: ", rule_titan)                                     \
    X("step=", rule_deepspeed)                                  \
    X("iteration ", rule_iteration)                             \
    X("Evaluating on ", rule_evaluating)                        \
    X("Evaluating iter ", rule_eval_iter)                       \
    X("validation loss at iteration ", rule_eval_iter)          \
    X("Running Evaluation", rule_running_eval)                  \
    X("[after training is done] datetime:", rule_done)          \
    X("Saving the checkpoint", rule_titan_begin)                \
    X("Saving a full", rule_titan_last)                         \
    X("Saving a model", rule_titan_last)                        \
    X("Finished saving the checkpoint", rule_titan_end)         \
    X("saving checkpoint at iteration", rule_megatron_begin)    \
    X("uccessfully saved checkpoint", rule_megatron_end)        \
    X("Scheduled async checkpoint save for ", rule_nemo_begin)  \
    X("Async checkpoint save for step ", rule_nemo_end)         \
    X("Checkpoint ", rule_deepspeed_tag)                        \
    X("[Torch] Saving ", rule_torch_saving)                     \
    X("[Torch] Saved ", rule_torch_saved)                       \
    X("Saving model checkpoint", rule_in_loop)                  \
    X("Saving current state to ", rule_accelerate_begin)        \
    X("Random states saved in ", rule_accelerate_end)           \
    X("Saving checkpoint. This", rule_tune_begin)               \
    X("Saving checkpoint took ", rule_tune_end)                 \
    X("{'loss': ", rule_trainer_log)

#define RULE_LITERAL(text, rule) {(text), sizeof(text) - 1},
#define RULE_FUNCTION(text, rule) rule,

static const struct tc_slice LITERALS[] = {RULES(RULE_LITERAL)};
static const rule_fn FUNCTIONS[] = {RULES(RULE_FUNCTION)};
#define RULE_COUNT TC_COUNT(LITERALS)

void tc__train_text_init(struct tc__train_text *t)
{
    tc_scan_init(&t->scan, LITERALS, RULE_COUNT);
}

/* Whether a colour of the terminal ends at `at`: "\x1b[31m". */
static bool is_behind_colour(struct tc_slice line, size_t at)
{
    size_t start = at < 2 || line.ptr[at - 1] != 'm' ? 0 : at - 1;
    while (start > 0 && ((line.ptr[start - 1] >= '0' && line.ptr[start - 1] <= '9') ||
                         line.ptr[start - 1] == ';')) {
        start--;
    }
    return start >= 2 && line.ptr[start - 1] == '[' && line.ptr[start - 2] == '\x1b';
}

/* Inside a longer word it is another one: "OpenDataLoader timed out after". */
static bool starts_a_word(struct tc_slice line, size_t at, unsigned which)
{
    char first = LITERALS[which].ptr[0];
    char c = at == 0 ? ' ' : line.ptr[at - 1];
    bool inside =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    return !inside || first == ' ' || first == '[' || first == 'u' || is_behind_colour(line, at);
}

bool tc__train_text_read(const struct tc__train_text *t, struct tc_slice line, struct tc_event *out)
{
    line = tc_slice_trim(tc_slice_head(line, TC_LINE_MAX));
    size_t from = 0;
    unsigned which = 0;
    for (int i = 0; i < HITS_MAX; i++) {
        size_t at = tc_scan_next(&t->scan, line, from, &which);
        if (at == TC_NPOS) {
            return false;
        }
        struct hit h = {.before = tc_slice_head(line, at),
                        .after = tc_slice_from(line, at + LITERALS[which].len)};
        if (starts_a_word(line, at, which) && FUNCTIONS[which](&h, out)) {
            out->scope.rank = tc__train_rank(line);
            out->train.message = tc_slice_head(line, TC__TRAIN_MESSAGE_MAX);
            return true;
        }
        from = at + 1;
    }
    return false;
}
