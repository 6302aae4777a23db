/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs in which PyTorch's watchdog of NCCL, or NCCL itself, has its say: which rank waits in which
 * collective, where ranks run, and which connections failed. The wordings are one table.
 */
#include "codec/codec.h"

#include "base/limits.h"
#include "codec/nccl_log/priv.h"

#define S(literal) TC_LIT(literal)

/* Places of a line that are looked at. */
#define HITS_MAX 16

/* X(a part of the wording, what follows it (see codec/match_priv.h), what reads it, its word) */
#define RULES(X)                                                                                  \
    /* PyTorch */                                                                                 \
    X("aught collective operation timeout: WorkNCCL(",                                            \
      "<SeqNum={0%d}, |>OpType={1*}, <NumelIn={2%d}, NumelOut={3%d}, Timeout|*Timeout>(ms)={4%d}" \
      "<) ran for {5%d}|>",                                                                       \
      tc__nccl_on_work, NULL)                                                                     \
    X("ast enqueued ", "<NCCL |>work: {0<-|>%d}, last completed <NCCL |>work: {1<-|>%d}",         \
      tc__nccl_on_progress, NULL)                                                                 \
    X("Observed flight recorder dump signal from another rank", "", tc__nccl_on_signal, NULL)     \
    X("] joined but didn't finish collective #", "{0%d}", tc__nccl_on_desync, "pending")          \
    X("] finished collective #", "{0%d}, but didn't join", tc__nccl_on_desync, "done")            \
    X("] Timeout at collective: ", "{1%w}, #{0%d}", tc__nccl_on_desync, "pending")                \
    X("] are the lagging ranks that caused this timeout.", "*never joined", tc__nccl_on_desync,   \
      "done")                                                                                     \
    X("ProcessGroupNCCL's watchdog got stuck for ", "{0%d} seconds", tc__nccl_on_stuck, NULL)     \
    X("thread terminated with exception: CUDA error: ", "", tc__nccl_on_cuda_error, NULL)         \
    /* NCCL */                                                                                    \
    X(" nranks ", "%d cudaDev ", tc__nccl_on_place, NULL)                                         \
    X(" Pid ", "%s%d on %s{0%n} device %s%d [<{1%b}|0x%x>]", tc__nccl_on_test_place, NULL)        \
    X("Got completion ", "<from peer {0%p} |>with <status=|error ><IBV_WC_*(|>{1%d}",             \
      tc__nccl_on_completion, NULL)                                                               \
    X("Got async event", "%s:%s{0*}", tc__nccl_on_async, NULL)                                    \
    X("async fatal event", "{0*}", tc__nccl_on_async, "fatal")                                    \
    X(" failed : ", "", tc__nccl_on_socket, NULL)                                                 \
    X("Call to ibv_", "*failed with error*errno 110", tc__nccl_on_fault, "ib_verbs_error")        \
    X(" completed with error. RC: ", "%d", tc__nccl_on_fault, "ofi_completion_error")             \
    X("Cuda failure ", "<%d |>'", tc__nccl_on_fault, "cuda_error")                                \
    X("HIP failure ", "<%d |>'", tc__nccl_on_fault, "cuda_error")                                 \
    X("collective mismatch error, local size ", "%d remote size %d", tc__nccl_on_fault,           \
      "collective_mismatch")                                                                      \
    X("message truncated : receiving ", "%d bytes instead of %d", tc__nccl_on_fault,              \
      "collective_mismatch")

static const struct row {
    const char *says;
    tc__nccl_fn read;
    const char *word;
} ROWS[] = {
#define RULE_ROW(literal, says, read, word) {says, read, word},
    RULES(RULE_ROW)
#undef RULE_ROW
};
static const struct tc_slice LITERALS[] = {
#define RULE_LITERAL(literal, says, read, word) {(literal), sizeof(literal) - 1},
    RULES(RULE_LITERAL)
#undef RULE_LITERAL
};

/* What lines of such logs have that need say nothing. */
static const struct tc_slice SIGNS[] = {
    {"NCCL INFO ", 10}, {"NCCL WARN ", 10}, {"NCCL version ", 13}, {"ProcessGroupNCCL.cpp:", 21}};

static bool is_own_line(struct tc_slice text)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    for (size_t i = 0; i < TC_COUNT(SIGNS); i++) {
        size_t at = tc_slice_find(text, SIGNS[i]);
        struct tc_slice after = tc_slice_from(text, at == TC_NPOS ? text.len : at + SIGNS[i].len);
        bool fits = i < 2    ? tc__nccl_is_head(tc_slice_head(text, at + S("NCCL ").len))
                    : i == 2 ? tc__text_match(after, "%d.%d", got)
                             : tc__text_match(after, "%d] ", got);
        if (at != TC_NPOS && fits) {
            return true;
        }
    }
    return false;
}

static tc_status read_line(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc_slice text = line->text;
    size_t from = 0;
    unsigned which = 0;
    for (int i = 0; i < HITS_MAX && !*out_ours; i++) {
        size_t at = tc_scan_next(&w->scan, text, from, &which);
        if (at == TC_NPOS) {
            break;
        }
        struct tc__nccl_hit hit = {.w = w,
                                   .line = line,
                                   .before = tc_slice_head(text, at),
                                   .after = tc_slice_from(text, at + LITERALS[which].len),
                                   .word = ROWS[which].word};
        if (tc__text_match(hit.after, ROWS[which].says, hit.got)) {
            TC_TRY(ROWS[which].read(&hit, out_ours));
        }
        from = at + 1;
    }
    *out_ours = *out_ours || (w->in->want_unknown && is_own_line(text));
    return TC_OK;
}

static const struct tc__line_reader READER = {
    .literals = LITERALS, .literal_count = TC_COUNT(LITERALS), .read = read_line};

static tc_status sniff_line(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    (void)w;
    *out_ours = is_own_line(line->text);
    return TC_OK;
}

/* Reports of desynchronised ranks and pieces of lines have none of the signs. */
static int sniff(struct tc_codec_head head)
{
    static const struct tc__line_reader signs = {
        .literals = SIGNS, .literal_count = TC_COUNT(SIGNS), .read = sniff_line};
    if (tc__lines_count(&signs, head.bytes, 1) > 0) {
        return TC_SNIFF_LIKELY;
    }
    return tc__lines_count(&READER, head.bytes, 1) > 0 ? TC_SNIFF_MAYBE : TC_SNIFF_NO;
}

const struct tc_codec tc_codec_nccl_log = {
    .name = "nccl_log",
    .summary = "NCCL in logs: PyTorch's watchdog, NCCL_DEBUG lines of NCCL, RCCL and plugins",
    .known_by = "ProcessGroupNCCL.cpp:, NCCL INFO or NCCL WARN behind host:pid:tid",
    .gives = "nccl_record, nccl_status, nccl_dump, nccl_group, rank_place, network_fault, "
             "driver_fault, metric",
    .example = "[rank3]:[E1206 18:44:13 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught "
               "collective operation timeout: WorkNCCL(SeqNum=7753, OpType=ALLREDUCE, "
               "Timeout(ms)=600000) ran for 600089 milliseconds before timing out.",
    .ordered = false,
    .picks_lines = true,
    .sniff = sniff,
    .lines = &READER,
    .last_time = tc__lines_last_time,
};
