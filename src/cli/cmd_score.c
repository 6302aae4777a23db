/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/output/say.h"
#include "detect/detector.h"
#include "intake/input.h"
#include "score/score.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRACE_DEFAULT (300 * TC_SECOND)
#define GRACE_MAX (30 * 86400 * TC_SECOND)
#define LIST_DEFAULT 20

/* The smallest figures that are good enough; negative: anything is. */
enum { MIN_PRECISION, MIN_RECALL, MIN_CULPRIT, MIN_ROOT, MIN_COUNT };

/* A truth, and `count` of the words from `first` on. */
struct pair {
    const char *truth;
    size_t first;
    size_t count;
};

struct run {
    struct pair *pairs;
    size_t pair_count;
    const char **words; /* files of verdicts */
    size_t word_count;
    size_t early; /* of them, before the first --truth */
    struct tc_slice *patterns;
    size_t pattern_count;
    struct tc_score *score;
    size_t copied;
    int64_t grace_ns;
    uint64_t list_max;
    double min[MIN_COUNT];
    bool per_pattern;
    bool json;
};

/* ---- options ------------------------------------------------------------------------------ */

static int take_share(void *args, const struct tc_option *option, const char *value)
{
    char *end = NULL;
    errno = 0;
    double share = strtod(value, &end);
    if (end == value || *end != '\0' || errno != 0 || !(share >= 0 && share <= 1)) {
        return tc_refuse("score", "--%s: \"%s\" is not a number from 0 to 1, such as 0.95",
                         option->name, value);
    }
    memcpy((char *)args + option->at, &share, sizeof share);
    return TC_GO_ON;
}

static int take_grace(void *args, const struct tc_option *option, const char *value)
{
    static const struct tc_knob grace = {
        .name = "grace", .type = TC_KNOB_DURATION, .min = 0, .max = GRACE_MAX};
    struct run *r = args;
    struct tc_error err;
    (void)option;
    if (tc_param_parse(&grace, "--grace", tc_slice_cstr(value), &r->grace_ns, &err) != TC_OK) {
        return tc_refuse("score", "%s", err.message);
    }
    return TC_GO_ON;
}

static int take_list(void *args, const struct tc_option *option, const char *value)
{
    struct run *r = args;
    (void)option;
    if (!tc_slice_is_u64(tc_slice_cstr(value), &r->list_max) || r->list_max > TC_SCORE_LIST_MAX) {
        return tc_refuse("score", "--list: \"%s\" is not a number from 0 to %d", value,
                         TC_SCORE_LIST_MAX);
    }
    return TC_GO_ON;
}

static int take_truth(void *args, const struct tc_option *option, const char *value)
{
    struct run *r = args;
    (void)option;
    r->pairs[r->pair_count++] = (struct pair){.truth = value, .first = r->word_count};
    return TC_GO_ON;
}

static void take_word(void *args, const struct tc_option *before, char *word)
{
    struct run *r = args;
    (void)before;
    r->words[r->word_count++] = word;
    if (r->pair_count == 0) {
        r->early++;
    } else {
        r->pairs[r->pair_count - 1].count++;
    }
}

static const struct tc_option OPTIONS[] = {
    TC_TAKEN("truth", "FILE", take_truth,
             "What was injected. The verdicts that follow, up to the next --truth, are scored "
             "against it. May be repeated: the pairs are summed."),
    TC_FLAG("json", struct run, json, "One JSON object instead of a table for people."),
    TC_TAKEN("list", "N", take_list,
             "Entries of each list of what is wrong; 20 by default, 0 for none."),
    TC_TAKEN("grace", "DURATION", take_grace,
             "How far a verdict may be from its fault in time; 5m by default."),
    TC_TAKEN("min-precision", "P", take_share,
             "Exit 1 when the precision is below P, from 0 to 1, or there is none.",
             TC_OPTION_AT(struct run, min[MIN_PRECISION], double)),
    TC_TAKEN("min-recall", "R", take_share, "The same for the recall.",
             TC_OPTION_AT(struct run, min[MIN_RECALL], double)),
    TC_TAKEN("min-culprit", "C", take_share, "The same for the share of right culprits.",
             TC_OPTION_AT(struct run, min[MIN_CULPRIT], double)),
    TC_TAKEN("min-root", "R", take_share,
             "The same for the share of faults that caused others and are told as the root of "
             "their story.",
             TC_OPTION_AT(struct run, min[MIN_ROOT], double)),
    TC_FLAG("per-pattern", struct run, per_pattern,
            "Each pattern has to reach these, besides all together."),
};

static bool is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* Whether there is something to read, and it is clear what belongs to what. */
static tc_status check_pairs(struct run *r)
{
    size_t from_stdin = 0;
    if (r->pair_count == 0) {
        tc_say("score", "what was injected? give --truth FILE, then the verdicts");
        return TC_E_USAGE;
    }
    if (r->early > 0 && r->pair_count > 1) {
        tc_say("score", "%s: verdicts come after the --truth they belong to", r->words[0]);
        return TC_E_USAGE;
    }
    if (r->early > 0) { /* one truth: everything belongs to it */
        r->pairs[0].first = 0;
        r->pairs[0].count = r->word_count;
    }
    for (size_t i = 0; i < r->pair_count; i++) {
        from_stdin += is_stdin(r->pairs[i].truth);
        if (r->pairs[i].count == 0) {
            tc_say(
                "score",
                "--truth %s: no verdicts follow; give what 'tracecore detect --json' printed, or "
                "- for standard input",
                r->pairs[i].truth);
            return TC_E_USAGE;
        }
    }
    for (size_t i = 0; i < r->word_count; i++) {
        from_stdin += is_stdin(r->words[i]);
    }
    if (from_stdin > 1) {
        tc_say("score", "standard input can be read only once: - is given %zu times", from_stdin);
        return TC_E_USAGE;
    }
    return TC_OK;
}

/* ---- reading ------------------------------------------------------------------------------ */

typedef tc_status (*read_fn)(struct tc_score *s, struct tc_slice bytes, struct tc_error *err);

static tc_status read_file(struct run *r, const char *path, read_fn read)
{
    struct tc_input in;
    struct tc_error err;
    if (tc_input_open(&in, path, &r->copied, &err) != TC_OK) {
        tc_say_plain("%s: %s", path, err.message);
        return TC_E_IO;
    }
    tc_status status = read(r->score, in.bytes, &err);
    if (status != TC_OK) {
        tc_say_plain("%s:%llu: %s", path, (unsigned long long)tc_input_line(&in, err.offset),
                     err.message);
    }
    if (!in.mapped) {
        r->copied -= in.bytes.len;
    }
    tc_input_close(&in);
    return status;
}

static tc_status read_pair(struct run *r, const struct pair *pair)
{
    struct tc_error err;
    TC_TRY(read_file(r, pair->truth, tc_score_read_truth));
    for (size_t i = 0; i < pair->count; i++) {
        TC_TRY(read_file(r, r->words[pair->first + i], tc_score_read_verdicts));
    }
    tc_status status = tc_score_add(r->score, tc_slice_cstr(pair->truth), &err);
    if (status != TC_OK) {
        tc_say("score", "%s: %s", pair->truth, err.message);
    }
    return status;
}

static tc_status make_score(struct run *r)
{
    const struct tc_detector *const *all = tc_detectors(&r->pattern_count);
    r->patterns = calloc(r->pattern_count, sizeof *r->patterns);
    for (size_t i = 0; r->patterns != NULL && i < r->pattern_count; i++) {
        r->patterns[i] = tc_slice_cstr(all[i]->name);
    }
    struct tc_score_options options = {.patterns = r->patterns,
                                       .pattern_count = r->pattern_count,
                                       .grace_ns = r->grace_ns,
                                       .list_max = (size_t)r->list_max};
    r->score = r->patterns == NULL ? NULL : tc_score_create(&options);
    if (r->score == NULL) {
        tc_say("score", "out of memory");
        return TC_E_NOMEM;
    }
    return TC_OK;
}

/* ---- thresholds --------------------------------------------------------------------------- */

/* Says what is below; how many figures are. */
static size_t below(const struct run *r, const struct tc_score_row *row, bool must_exist)
{
    static const struct {
        const char *name;
        const char *needs;
        bool (*figure)(const struct tc_score_row *row, double *out);
    } figures[MIN_COUNT] = {
        [MIN_PRECISION] = {"precision", "verdicts", tc_score_precision},
        [MIN_RECALL] = {"recall", "faults", tc_score_recall},
        [MIN_CULPRIT] = {"culprit accuracy", "true positives", tc_score_culprit},
        [MIN_ROOT] = {"root accuracy", "faults that caused others", tc_score_root},
    };
    size_t count = 0;
    for (size_t i = 0; i < MIN_COUNT; i++) {
        double share = 0;
        if (r->min[i] < 0) {
            continue;
        }
        if (!figures[i].figure(row, &share)) {
            if (must_exist) {
                tc_say("score", "%.*s: there is no %s: no %s", TC_FMT(row->pattern),
                       figures[i].name, figures[i].needs);
                count++;
            }
        } else if (share < r->min[i]) {
            tc_say("score", "%.*s: %s %.4f is below %g", TC_FMT(row->pattern), figures[i].name,
                   share, r->min[i]);
            count++;
        }
    }
    return count;
}

static int judge(struct run *r)
{
    size_t count = 0;
    size_t bad = 0;
    const struct tc_score_row *rows = tc_score_rows(r->score, &count);
    for (size_t i = 0; i < count; i++) {
        bool is_all = i + 1 == count;
        bad += is_all || r->per_pattern ? below(r, &rows[i], is_all) : 0;
    }
    return bad > 0 ? TC_EXIT_FOUND : TC_EXIT_OK;
}

static bool put(void *context, struct tc_slice text)
{
    return tc_output_put(context, text);
}

static int report(struct run *r)
{
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    /* A write that fails is told by tc_output_end. */
    tc_status status = r->json ? tc_score_report_json(r->score, put, &out)
                               : tc_score_report_text(r->score, put, &out);
    int code = tc_output_end(&out, "score", TC_EXIT_OK);
    return status != TC_OK || code != TC_EXIT_OK ? code : judge(r);
}

/* ---- the command -------------------------------------------------------------------------- */

static int run_command(struct run *r, int argc, char **argv)
{
    int code = tc_options_read(&tc_command_score, argc, argv, r);
    if (code != TC_GO_ON) {
        return code;
    }
    if (check_pairs(r) != TC_OK) {
        return tc_command_misused(&tc_command_score);
    }
    if (make_score(r) != TC_OK) {
        return TC_EXIT_BAD;
    }
    tc_input_guard();
    for (size_t i = 0; i < r->pair_count; i++) {
        if (read_pair(r, &r->pairs[i]) != TC_OK) {
            return TC_EXIT_BAD;
        }
    }
    return report(r);
}

static int run(int argc, char **argv)
{
    struct run r = {.grace_ns = GRACE_DEFAULT, .list_max = LIST_DEFAULT, .min = {-1, -1, -1, -1}};
    r.pairs = calloc((size_t)argc, sizeof *r.pairs);
    r.words = calloc((size_t)argc, sizeof *r.words);
    int code = TC_EXIT_BAD;
    if (r.pairs == NULL || r.words == NULL) {
        tc_say("score", "out of memory");
    } else {
        code = run_command(&r, argc, argv);
    }
    tc_score_destroy(r.score);
    free(r.patterns);
    free(r.words);
    free(r.pairs);
    return code;
}

const struct tc_command tc_command_score = {
    .name = "score",
    .summary = "measure verdicts against what was injected",
    .usage = "usage: tracecore score [OPTIONS] --truth FILE VERDICTS... [--truth ...]\n"
             "\n"
             "Compares verdicts, as 'tracecore detect --json' prints them, with the truth of\n"
             "the run they were made from. Prints for each pattern: faults, true and false\n"
             "positives and negatives, verdicts that follow from another, precision, recall,\n"
             "how many name the right culprit and discriminator, and the time to detection in\n"
             "event time; then what is wrong, one by one.\n"
             "\n"
             "VERDICTS is a file, or - for standard input. Pairs of a truth and its verdicts\n"
             "are summed. docs/score.md says how a verdict is paired with a fault.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .take_word = take_word,
    .notes = "Exit status:\n"
             "  0  the score was printed, and is good enough\n"
             "  1  a figure is below its minimum\n"
             "  2  wrong usage, or an input that is wrong: file, line and field are named\n"
             "\n"
             "Examples:\n"
             "  tracecore detect --json run | tracecore score --truth run/truth.ndjson -\n"
             "  tracecore score --min-precision 0.98 --min-recall 0.95 \\\n"
             "    --truth a/truth.ndjson a/v.ndjson --truth b/truth.ndjson b/v.ndjson\n",
    .run = run,
};
