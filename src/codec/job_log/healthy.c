/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the log of a training program looks like while nothing is wrong: it is recognised, and
 * says nothing. No one line is proof, so the share of such lines decides.
 */
#include "codec/job_log/priv.h"

#define S(literal) TC_LIT(literal)

/* Lines that decide. */
#define LINES_MAX 200
/* One line in so many is enough: programs print much of their own. */
#define SHARE 8
/* Lines that may be the summary of a test session. */
#define SUMMARIES_MAX 4096

/* What frameworks and launchers write when they start, go on and end. */
static const char *const FORMS[] = {
    "GPU available: <True|False>",
    "LOCAL_RANK: %d",
    "Initializing distributed: GLOBAL_RANK: %d",
    "Received SIGTERM: %d",
    "wandb: ",
    "{'loss': %f",
    "{'train_runtime': %f",
    "{'eval_loss': %f",
    "[batch=%d/%d]:",
    "***** Running ",
    "(<RayTrainWorker|TorchTrainer|TrainController> pid=%d",
    "[%d,%d]%<std<out|err>%>:",
    "<INFO|WARNING|ERROR|DEBUG|CRITICAL>:%n:",
    "[<INFO|WARNING|ERROR>%|*.py:%d] ",
    "*] [<INFO|WARNING|ERROR>] [*.py:%d:",
    "*torch/distributed/*.py:%d] ",
    "*.py:%d: <User|Future|Deprecation|Runtime>Warning: ",
    "*rank%d[%d][",
};

/* Whether a number stands behind the word: "loss: 2.5", "step=100", "Epoch 3". */
static bool has_number(struct tc_slice text, struct tc_slice word)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    size_t at = tc_slice_find_nocase(text, word);
    struct tc_slice after = tc_slice_from(text, at == TC_NPOS ? text.len : at + word.len);
    return tc__text_match(after, "<:|=|>%s<%d|.%d>", got);
}

bool tc__job_is_step(struct tc_slice text)
{
    return has_number(text, S("loss")) &&
           (has_number(text, S("step")) || has_number(text, S("epoch")) ||
            has_number(text, S("iteration")) || has_number(text, S("iter")));
}

/* " 10%|#   | 512/5000 [51:12<7:28:51,  6.00s/it]" of tqdm */
bool tc__job_is_progress(struct tc_slice text)
{
    return tc_slice_contains(text, S("%|")) &&
           (tc_slice_contains(text, S("it/s")) || tc_slice_contains(text, S("s/it")));
}

bool tc__job_is_healthy_log(struct tc_slice head)
{
    struct tc_slice raw;
    struct tc_slice got[TC__TEXT_SLOTS];
    size_t lines = 0;
    size_t known = 0;
    size_t at = 0;
    while (lines < LINES_MAX && tc__line_cut(head, at, &raw, &at)) {
        struct tc_slice text = tc_slice_head(tc_slice_trim(raw), JOB_MESSAGE_MAX);
        bool fits = tc__job_is_step(text) || tc__job_is_progress(text);
        for (size_t i = 0; i < TC_COUNT(FORMS) && !fits; i++) {
            fits = tc__text_match(text, FORMS[i], got);
        }
        known += fits;
        lines += text.len > 0;
    }
    return known > 0 && known * SHARE >= lines;
}

/* The first session, if it passed: its first byte, and *out_end behind it; TC_NPOS. */
static size_t find_session(struct tc_slice bytes, size_t *out_end)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    size_t from = tc_slice_find(bytes, S("= test session starts ="));
    if (from == TC_NPOS) {
        return TC_NPOS;
    }
    size_t end = from;
    for (unsigned i = 0; i < SUMMARIES_MAX; i++) {
        size_t passed = tc_slice_find(tc_slice_from(bytes, end), S(" passed"));
        if (passed == TC_NPOS) {
            return TC_NPOS;
        }
        end += passed + 1;
        /* "===== 12 passed, 1 warning in 3.21s =====" */
        struct tc_slice rest = tc_slice_from(bytes, end);
        struct tc_slice line = tc_slice_head(rest, tc_slice_find_byte(rest, '\n'));
        if (tc__text_match(line, "passed* in %f<s|>", got)) {
            struct tc_slice before = tc_slice_head(bytes, end);
            size_t start = tc_slice_find_last(before, S("\n"));
            before = tc_slice_from(before, start == TC_NPOS ? 0 : start);
            *out_end = end;
            return tc_slice_contains(before, S(" failed")) || tc_slice_contains(line, S(" error"))
                       ? TC_NPOS
                       : from;
        }
    }
    return TC_NPOS;
}

bool tc__job_is_tested(struct tc__lines *w, const struct tc__line *line)
{
    uint64_t *own = w->cursor->own;
    size_t at = (size_t)(line->raw.ptr - w->in->bytes.ptr);
    if (own[JOB_OWN_TEST_SEEN] == 0) {
        size_t end = 0;
        size_t from = find_session(w->in->bytes, &end);
        own[JOB_OWN_TEST_FROM] = from == TC_NPOS ? 0 : from + 1;
        own[JOB_OWN_TEST_TO] = end;
        own[JOB_OWN_TEST_SEEN] = 1;
    }
    return own[JOB_OWN_TEST_FROM] > 0 && at + 1 >= own[JOB_OWN_TEST_FROM] &&
           at < own[JOB_OWN_TEST_TO];
}
