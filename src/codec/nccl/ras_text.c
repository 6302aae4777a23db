/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `ncclras` prints for people, from NCCL 2.24 on: a summary of the job, a table of
 * groups of communicators, and what is wrong with single ones:
 *
 *   #0-0 (27a079b828ff1a75) MISMATCH
 *     Communicator ranks have different collective operation counts
 *     26 ranks have launched up to operation 6650
 *     6 ranks have launched up to operation 6649
 *     Rank 0 -- GPU 0 managed by process 483072 on node 172.16.64.210
 *
 * Ranks are named where they are few; the others have the count that names none. What is
 * in order is not printed. There is no date in it: the file's counts.
 */
#include "codec/nccl/priv.h"

#include "base/limits.h"
#include "codec/match_priv.h"

#define GROUPS_MAX 256
#define RANKS_MAX 65536

enum part { PART_NONE, PART_TABLE, PART_MISMATCH, PART_MISSING };

struct text {
    const struct tc_codec_input *in;
    struct tc_codec_cursor *cursor;
    struct tc_codec_out *out;
    enum part part;
    int64_t sizes[GROUPS_MAX]; /* of the communicators of a group that runs, 0 unknown */
    int64_t gpus;              /* of the job, -1 unknown */
    struct tc_slice comm;
    int64_t size;
    struct tc_slice counted;     /* a line that may tell of ranks below it */
    int64_t count;               /* how many */
    int64_t ops;                 /* what they have launched */
    struct tc_slice others_line; /* the line of those that are not named */
    int64_t others;
    int64_t others_ops;
    bool unclear; /* two lines name nobody */
    bool *named;  /* by rank, RANKS_MAX */
    int64_t named_count;
};

/* The number at the start of *io, behind blanks; what follows it stays. */
static bool take_number(struct tc_slice *io, int64_t *out)
{
    uint64_t value = 0;
    struct tc_slice rest = tc_slice_trim(*io);
    size_t used = tc_slice_u64(rest, &value);
    if (used == 0 || value > INT64_MAX) {
        return false;
    }
    *io = tc_slice_from(rest, used);
    *out = (int64_t)value;
    return true;
}

static bool take(struct tc_slice *io, struct tc_slice word)
{
    if (!tc_slice_starts(*io, word)) {
        return false;
    }
    *io = tc_slice_from(*io, word.len);
    return true;
}

/* One rank; where says its GPU, process and host, "" when nothing does. */
static tc_status emit(struct text *t, struct tc_slice line, int64_t rank, int64_t ops,
                      struct tc_slice status, struct tc_slice where)
{
    struct tc_event ev;
    struct tc_slice got[TC__TEXT_SLOTS];
    int64_t gpu = -1;
    int64_t pid = -1;
    if (rank >= t->size || rank >= RANKS_MAX) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_NCCL_RAS);
    if (tc__text_match(where, " -- GPU {0%d}<* managed by process {1%d}< on node {2*}|>|>", got)) {
        (void)take_number(&got[0], &gpu);
        (void)take_number(&got[1], &pid);
        ev.scope.node = tc_slice_trim(got[2]);
    }
    ev.time_ns = t->in->now_ns;
    ev.raw =
        (struct tc_raw){t->in->source, (uint32_t)line.len, (uint64_t)(line.ptr - t->in->bytes.ptr)};
    ev.scope.job = t->in->job;
    ev.scope.pid = pid;
    ev.scope.gpu_index = gpu > INT32_MAX ? -1 : (int32_t)gpu;
    ev.scope.rank = t->size > 0 && t->size == t->gpus ? (int32_t)rank : -1;
    ev.ras = (struct tc_ev_ras){
        .comm = t->comm, .status = status, .comm_rank = rank, .comm_size = t->size, .ops = ops};
    t->cursor->events++;
    return t->out->event(t->out->context, &ev);
}

/* The line before names nobody: it tells of all the others. */
static void keep_others(struct text *t)
{
    if (t->counted.len == 0) {
        return;
    }
    t->unclear |= t->others > 0;
    t->others = t->count;
    t->others_ops = t->ops;
    t->others_line = t->counted;
    t->counted = TC_EMPTY;
}

/* Those that no line names, once all that are named have been told. */
static tc_status end_part(struct text *t)
{
    keep_others(t);
    bool known = t->part == PART_MISMATCH && !t->unclear && t->named_count > 0 && t->others > 0 &&
                 t->size <= RANKS_MAX && t->others + t->named_count == t->size;
    for (int64_t rank = 0; known && rank < t->size; rank++) {
        if (!t->named[rank]) {
            TC_TRY(emit(t, t->others_line, rank, t->others_ops, TC_LIT("running"), TC_EMPTY));
        }
    }
    t->part = PART_NONE;
    return TC_OK;
}

/* "#0-0 (27a079b828ff1a75) MISMATCH" */
static tc_status begin_part(struct text *t, struct tc_slice line)
{
    enum { GROUP, COMM, STATE };
    int64_t group = 0;
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice before = t->comm;
    TC_TRY(end_part(t));
    if (!tc__text_match(line, "#{0%d}-%d ({1*}){2*}", got) || !take_number(&got[GROUP], &group)) {
        return TC_OK;
    }
    t->comm = got[COMM];
    t->size = group < GROUPS_MAX ? t->sizes[group] : 0;
    struct tc_slice rest = tc_slice_trim(got[STATE]);
    /* Later versions compare each kind of collective: the first that differs is told. */
    bool again = tc_slice_eq(before, t->comm) && t->named_count > 0;
    t->part = t->size == 0                                      ? PART_NONE
              : tc_slice_eq(rest, TC_LIT("MISMATCH")) && !again ? PART_MISMATCH
              : tc_slice_eq(rest, TC_LIT("INCOMPLETE"))         ? PART_MISSING
                                                                : PART_NONE;
    t->counted = TC_EMPTY;
    t->ops = t->others_ops = -1;
    t->others = t->named_count = 0;
    t->unclear = false;
    memset(t->named, 0, RANKS_MAX * sizeof *t->named);
    return TC_OK;
}

/* "26 ranks have launched up to operation 6650": of those named below it, or of those that are not.
 */
static void read_count(struct text *t, struct tc_slice line)
{
    enum { COUNT, NONE, OPS };
    int64_t count = 0;
    struct tc_slice got[TC__TEXT_SLOTS];
    keep_others(t);
    if (!tc__text_match(line,
                        "{0%d} ranks have <{1not launched any operations}|"
                        "launched up to operation {2<%d|>}>",
                        got) ||
        !take_number(&got[COUNT], &count)) {
        return;
    }
    t->ops = got[NONE].len > 0 ? 0 : -1;
    (void)take_number(&got[OPS], &t->ops);
    t->counted = line;
    t->count = count;
}

/* "Rank 7 -- GPU ...", "Rank 7 has launched up to operation 60 -- GPU ..." */
static tc_status read_rank(struct text *t, struct tc_slice line)
{
    int64_t rank = 0;
    struct tc_slice rest = tc_slice_from(line, 5);
    if (!take_number(&rest, &rank) || rank >= t->size || rank >= RANKS_MAX) {
        return TC_OK;
    }
    if (t->part == PART_MISSING) {
        return emit(t, line, rank, -1, TC_LIT("missing"), rest);
    }
    int64_t ops = t->ops;
    if (take(&rest, TC_LIT(" has not launched any operations"))) {
        ops = 0;
    } else if (take(&rest, TC_LIT(" has launched up to operation "))) {
        (void)take_number(&rest, &ops);
    } else {
        t->counted = TC_EMPTY; /* it names them */
    }
    keep_others(t);
    if (ops < 0) {
        return TC_OK; /* it differs in something else */
    }
    t->named_count += !t->named[rank];
    t->named[rank] = true;
    return emit(t, line, rank, ops, TC_LIT("running"), rest);
}

/* "The missing rank: 21", "The missing ranks: 3, 4" */
static tc_status read_missing(struct text *t, struct tc_slice line)
{
    size_t colon = tc_slice_find_byte(line, ':');
    struct tc_slice rest = tc_slice_from(line, colon == TC_NPOS ? line.len : colon + 1);
    int64_t rank = 0;
    while (take_number(&rest, &rank)) {
        TC_TRY(emit(t, line, rank, -1, TC_LIT("missing"), TC_EMPTY));
        (void)take(&rest, TC_LIT(","));
    }
    return TC_OK;
}

/*
 * A row of numbers: of the job five; of a group first its number, fifth the size, and a status
 * behind the sixth. Groups that are being set up or torn down are left alone.
 */
static void read_row(struct text *t, struct tc_slice line)
{
    int64_t v[6];
    struct tc_slice rest = line;
    size_t count = 0;
    while (count < 6 && take_number(&rest, &v[count])) {
        int64_t upper = 0;
        if (take(&rest, TC_LIT("-"))) { /* "7-8" */
            (void)take_number(&rest, &upper);
        }
        count++;
    }
    rest = tc_slice_trim(rest);
    if (t->part == PART_TABLE && count == 6 && v[0] < GROUPS_MAX) {
        t->sizes[v[0]] = tc_slice_starts(rest, TC_LIT("RUNNING")) ? v[4] : 0;
    } else if (t->part == PART_NONE && count == 5 && rest.len == 0) {
        t->gpus = v[4];
    }
}

static tc_status read_line(struct text *t, struct tc_slice line)
{
    bool inside = t->part == PART_MISMATCH || t->part == PART_MISSING;
    if (line.len == 0 || line.ptr[0] == '#') {
        return line.len == 0 && inside                    ? end_part(t)
               : line.len > 1 && tc_is_digit(line.ptr[1]) ? begin_part(t, line)
                                                          : TC_OK;
    }
    if (tc_slice_starts(line, TC_LIT("Job summary"))) { /* another report */
        TC_TRY(end_part(t));
        memset(t->sizes, 0, sizeof t->sizes);
        t->gpus = -1;
        t->comm = TC_EMPTY;
        t->named_count = 0;
    } else if (tc_slice_starts(line, TC_LIT("Group "))) {
        t->part = PART_TABLE;
    } else if (!inside) {
        read_row(t, line);
    } else if (tc_slice_starts(line, TC_LIT("Rank "))) {
        return read_rank(t, line);
    } else if (t->part == PART_MISSING && tc_slice_starts(line, TC_LIT("The missing rank"))) {
        return read_missing(t, line);
    } else if (t->part == PART_MISMATCH) {
        read_count(t, line);
    }
    return TC_OK;
}

bool tc__ras_is_text(struct tc_slice head)
{
    return tc_slice_contains(head, TC_LIT("\nCommunicators... (")) &&
           tc_slice_contains(head, TC_LIT("Job summary\n==========="));
}

tc_status tc__ras_text_decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                              struct tc_codec_out *out, struct tc_error *err)
{
    struct text t = {.in = in, .cursor = cursor, .out = out, .gpus = -1};
    tc_arena_mark mark = tc_arena_snapshot(out->scratch);
    cursor->offset = in->bytes.len;
    cursor->done = true;
    t.named = tc_new(out->scratch, bool, RANKS_MAX);
    if (t.named == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for %d ranks", RANKS_MAX);
    }
    tc_status status = TC_OK;
    for (struct tc_slice rest = in->bytes; rest.len > 0 && status == TC_OK;) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        status = read_line(&t, tc_slice_trim(tc_slice_head(line, TC_LINE_MAX)));
    }
    status = status == TC_OK ? end_part(&t) : status;
    tc_arena_rewind(out->scratch, mark);
    return status;
}
