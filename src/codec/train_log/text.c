/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/train_log/text_priv.h"

#include "base/limits.h"
#include "codec/match_priv.h"

#include <string.h>

#define S(literal) TC_LIT(literal)

/* Steps that a line can mean. */
#define STEP_MAX INT64_C(1000000000000)
/* Places of a line that are looked at: a row may read the rest of the line each time. */
#define HITS_MAX 16

/* What a row remembers of the text behind its wording. */
enum { STEP, PATH, SECONDS, MILLISECONDS };

/* What more a row asks for. */
enum more {
    NO_MORE,
    TIMED,   /* a line without a duration is none of these */
    BY_PATH, /* the step is in the path: "global_step500" */
    IN_LOOP, /* the same, and the training waits for the checkpoint, which the phase says */
};

struct row {
    const char *before; /* in the line before the wording; NULL: anything */
    const char *says;   /* behind it, see codec/match_priv.h */
    enum tc_event_kind kind;
    const char *word; /* the class of a loader's error, the phase of a step, a checkpoint's state */
    enum more more;
};

#define LOADER TC_EVENT_LOADER_ERROR
#define ENDED TC_EVENT_TRAIN_STEP
#define SAVE TC_EVENT_CHECKPOINT
/* "20  loss:", "20/644 = 3.1%  loss:" */
#define TITAN "%s{0%d}<%s/%s%d%s=%s%f%s<%%|>|>%sloss:"
#define ITERATION "%s{0%d}%s/%s%d%s%|"

/*
 * Each wording by a part of it that is long enough to be rare; of two at one place the first. Rows
 * of one wording follow each other, and the first that fits counts.
 */
#define RULES(X)                                                                                   \
    /* PyTorch. The pid is the container's own, and not taken for one on the node. */              \
    X("DataLoader worker (pid", NULL, "*) is killed by signal*Bus error", LOADER, "shared_memory", \
      NO_MORE)                                                                                     \
    X("DataLoader worker (pid", NULL, "*) is killed by signal", LOADER, "worker_killed", NO_MORE)  \
    X("DataLoader worker (pid", NULL, "*) exited unexpectedly", LOADER, "worker_exited", NO_MORE)  \
    X("DataLoader timed out after", NULL, "%s<{2%f}|>%sseconds", LOADER, "timeout", NO_MORE)       \
    X("ERROR: Unexpected ", NULL, "bus error encountered in worker", LOADER, "shared_memory",      \
      NO_MORE)                                                                                     \
    X("ERROR: Unexpected ", NULL, "*encountered in worker.", LOADER, "worker_killed", NO_MORE)     \
    X(" in DataLoader worker process", "Caught ", "%s%d", LOADER, "worker_exception", NO_MORE)     \
    X("Pin memory thread exited unexpectedly", NULL, "", LOADER, "pin_memory_thread", NO_MORE)     \
    X("CheckpointException ranks:", NULL, "", SAVE, "failed", NO_MORE)                             \
    /* DeepSpeed: pipelines, other training. */                                                    \
    X("steps: ", NULL, "%s{0%d}%sloss:*iter time (s):%s{2%f}", ENDED, "train", TIMED)              \
    X("step=", NULL, "%s{0%d}%s, skipped=", ENDED, "train", NO_MORE)                               \
    /* torchtitan */                                                                               \
    X("validate step: ", NULL, TITAN, ENDED, "eval", NO_MORE)                                      \
    X("step: ", NULL, TITAN, ENDED, "train", NO_MORE)                                              \
    /* NeMo, which counts iterations of an epoch; Megatron-LM */                                   \
    X("iteration ", "Training epoch ",                                                             \
      ITERATION "<*global_step:%s{0%d}|><*train_step_timing in s:%s{2%f}|>", ENDED, "train",       \
      NO_MORE)                                                                                     \
    X("iteration ", NULL, ITERATION "*elapsed time per iteration (ms):%s{3%f}", ENDED, "train",    \
      TIMED)                                                                                       \
    X("Evaluating on ", NULL, "%s%d%ssamples", ENDED, "eval", NO_MORE)                             \
    X("Evaluating iter ", NULL, "%s%d%s</|%|>", ENDED, "eval", NO_MORE)                            \
    X("validation loss at iteration ", NULL, "%s%d%s</|%|>", ENDED, "eval", NO_MORE)               \
    X("[after training is done] datetime:", NULL, "", ENDED, "done", NO_MORE)                      \
    /* The Transformers trainer: "***** Running Evaluation *****", "{'loss': 1.98, ...}" */        \
    X("Running Evaluation", "***** ", "", ENDED, "eval", NO_MORE)                                  \
    X("{'loss': ", NULL, "*'learning_rate': *'epoch': ", ENDED, "train", NO_MORE)                  \
    /* torchtitan: "Saving the checkpoint (or staging if async ...).", "Saving a full checkpoint   \
     * at last step, step 10.", "Finished saving the checkpoint in 12.34 seconds." */              \
    X("Saving the checkpoint", NULL, "<$|.| (or |\x1b>", SAVE, "begin", NO_MORE)                   \
    X("Saving a full", NULL, "* checkpoint * step %s{0%d}", SAVE, "begin", NO_MORE)                \
    X("Saving a model", NULL, "* checkpoint * step %s{0%d}", SAVE, "begin", NO_MORE)               \
    X("Finished saving the checkpoint", NULL, "<*in %s{2%f}|>", SAVE, "end", NO_MORE)              \
    /* Megatron-LM: "saving checkpoint at iteration     100 to /ckpt in torch_dist format" */      \
    X("saving checkpoint at iteration", NULL, "%s{0%d}%sto %s{1%p}", SAVE, "begin", NO_MORE)       \
    X("uccessfully saved checkpoint", NULL, "%s<from|at> iteration%s{0%d}<%sto %s{1%p}|>", SAVE,   \
      "end", NO_MORE)                                                                              \
    /* NeMo: "Async checkpoint save for step 25 (/ckpt/step=24.ckpt) finalized successfully." */   \
    X("Scheduled async checkpoint save for ", NULL, "%s{1%p}", SAVE, "begin", NO_MORE)             \
    X("Async checkpoint save for step ", NULL, "%s{0%d}<%s({1*})|>*finalized successfully", SAVE,  \
      "end", NO_MORE)                                                                              \
    /* DeepSpeed: "Checkpoint global_step10 is about to be saved!", "[Torch] Saved /ckpt/x.pt." */ \
    X("Checkpoint ", NULL, "<global_step{0%d} |%p >is about to be saved!", SAVE, "begin", NO_MORE) \
    X("Checkpoint ", NULL, "<global_step{0%d} |%p >is ready now!", SAVE, "end", NO_MORE)           \
    X("[Torch] Saving ", NULL, "%s{1*}...<$| >", SAVE, "begin", BY_PATH)                           \
    X("[Torch] Saved ", NULL, "%s{1%w}.<$| >", SAVE, "end", BY_PATH)                               \
    /* The Transformers trainer: "Saving model checkpoint to /ckpt/checkpoint-500", and DeepSpeed: \
     * "Saving model checkpoint: /ckpt/global_step500/mp_rank_00_model_states.pt". Neither need    \
     * say that it ended. */                                                                       \
    X("Saving model checkpoint", NULL, "< to |: >%s{1%p}", SAVE, "begin", IN_LOOP)                 \
    /* Accelerate, torchtune */                                                                    \
    X("Saving current state to ", NULL, "%s{1%p}", SAVE, "begin", NO_MORE)                         \
    X("Random states saved in ", NULL, "%s{1%p}", SAVE, "end", NO_MORE)                            \
    X("Saving checkpoint. This", NULL, " may take some time", SAVE, "begin", NO_MORE)              \
    X("Saving checkpoint took ", NULL, "<%s{2%f}|>* secs", SAVE, "end", NO_MORE)

#define RULE_LITERAL(text, before, says, kind, word, more) {(text), sizeof(text) - 1},
#define RULE_ROW(text, before, says, kind, word, more) {before, says, kind, word, more},

static const struct tc_slice LITERALS[] = {RULES(RULE_LITERAL)};
static const struct row ROWS[] = {RULES(RULE_ROW)};
#define RULE_COUNT TC_COUNT(LITERALS)

static int64_t count_of(struct tc_slice digits)
{
    uint64_t value = 0;
    return tc_slice_u64(digits, &value) > 0 && value <= (uint64_t)STEP_MAX ? (int64_t)value : -1;
}

/* The number behind a word of a path; -1. */
static int64_t count_after(struct tc_slice path, struct tc_slice word)
{
    size_t at = tc_slice_find(path, word);
    return at == TC_NPOS ? -1 : count_of(tc_slice_from(path, at + word.len));
}

/* 0 when it is not there or no duration. */
static double seconds_of(struct tc_slice number)
{
    double value = 0;
    return tc__text_number(number, &value) > 0 && value > 0 ? value : 0;
}

/* A wording, and what stands before and behind it in the line. */
static bool read_row(const struct row *row, struct tc_slice before, struct tc_slice after,
                     struct tc_event *ev)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    if ((row->before != NULL && !tc_slice_contains(before, tc_slice_cstr(row->before))) ||
        !tc__text_match(after, row->says, got)) {
        return false;
    }
    int64_t step = count_of(got[STEP]);
    double seconds = seconds_of(got[SECONDS]) + seconds_of(got[MILLISECONDS]) / 1000;
    if ((got[STEP].len > 0 && step < 0) || (row->more == TIMED && seconds == 0) ||
        (row->more == IN_LOOP && !tc_slice_contains(got[PATH], S("/")))) {
        return false;
    }
    if (row->more == IN_LOOP) {
        step = count_after(got[PATH], S("checkpoint-"));
    }
    if (step < 0 && (row->more == BY_PATH || row->more == IN_LOOP)) {
        step = count_after(got[PATH], S("global_step"));
    }
    tc_event_init(ev, row->kind);
    struct tc_slice word = tc_slice_cstr(row->word);
    if (row->kind == LOADER) {
        ev->train.error_class = word;
    } else if (row->kind == ENDED) {
        ev->train.phase = word;
    } else {
        ev->train.state = word;
        ev->train.phase = row->more == IN_LOOP ? S("train") : TC_EMPTY;
    }
    ev->train.step = step;
    ev->train.path = got[PATH];
    ev->train.seconds = seconds;
    return true;
}

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

const struct tc_slice *tc__train_text_literals(size_t *out_count)
{
    *out_count = RULE_COUNT;
    return LITERALS;
}

bool tc__train_text_read(const struct tc_scan *scan, struct tc_slice line, struct tc_event *out)
{
    line = tc_slice_trim(tc_slice_head(line, TC_LINE_MAX));
    size_t from = 0;
    unsigned which = 0;
    for (int i = 0; i < HITS_MAX; i++) {
        size_t at = tc_scan_next(scan, line, from, &which);
        if (at == TC_NPOS) {
            return false;
        }
        struct tc_slice after = tc_slice_from(line, at + LITERALS[which].len);
        bool whole = starts_a_word(line, at, which);
        for (size_t row = which;
             whole && row < RULE_COUNT && tc_slice_eq(LITERALS[row], LITERALS[which]); row++) {
            if (read_row(&ROWS[row], tc_slice_head(line, at), after, out)) {
                out->scope.rank = tc__train_rank(line);
                out->train.message = tc_slice_head(line, TC__TRAIN_MESSAGE_MAX);
                return true;
            }
        }
        from = at + 1;
    }
    return false;
}
