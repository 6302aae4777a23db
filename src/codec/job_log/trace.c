/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of Python. A stack may have lost its head in a paste, and those of many ranks may be
 * mixed; what is left of it are its frames. So the last frame is looked for, behind which the
 * exception stands, and the head only says whose it is.
 *
 *   Traceback (most recent call last): (RANK 17)
 *     File "train.py", line 7, in main
 *       loss.backward()
 *   RuntimeError: CUDA error: unspecified launch failure
 *
 * Of stacks that are chained the last counts: it is what ended the program, unless the lines below
 * say that the program went on (`role` of the event).
 */
#include "codec/job_log/priv.h"

#include "base/limits.h"
#include "codec/signals_priv.h"

#define S(literal) TC_LIT(literal)

/* Lines between a frame and the exception, of the same program and of all. */
#define BETWEEN_MAX 14
#define BELOW_MAX 256
/* Lines between an exception whose name is not known for one and its stack. */
#define RAISED_WITHIN 3
/* Lines of a message, behind which the next stack of a chain may follow. */
#define MESSAGE_LINES 12
/* Frames and their lines above the last one. */
#define ABOVE_MAX 200
/* Lines that may be looked at: so many at once, and one for so many bytes of the log. */
#define LOOK_FREE 16384
#define LOOK_BYTES 16
#define LOOK_LEAST 4
/* Lines below a stack that may say whether it was the end. */
#define AFTER_MAX 2048
/* So much that only a program that went on writes. A step is that much, one message is less. */
#define WENT_ON 3

unsigned tc__job_look(const struct tc__lines *w, unsigned wanted)
{
    uint64_t allowed = LOOK_FREE + w->cursor->offset / LOOK_BYTES;
    return w->cursor->own[JOB_OWN_LOOKS] > allowed && wanted > LOOK_LEAST ? LOOK_LEAST : wanted;
}

bool tc__job_below(struct tc__lines *w, const struct tc__line *line, struct tc__line *out)
{
    w->cursor->own[JOB_OWN_LOOKS]++;
    return tc__line_below(w, line, out);
}

bool tc__job_above(struct tc__lines *w, const struct tc__line *line, struct tc__line *out)
{
    w->cursor->own[JOB_OWN_LOOKS]++;
    return tc__line_above(w, line, out);
}

static bool is_identifier(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

static struct tc_slice last_part(struct tc_slice dotted)
{
    size_t dot = tc_slice_find_last(dotted, S("."));
    return tc_slice_from(dotted, dot == TC_NPOS ? 0 : dot + 1);
}

bool tc__job_exception(struct tc_slice text, struct tc_slice *out_class)
{
    static const char *const ends[] = {"Error",     "Exception", "Interrupt", "Exit",
                                       "Empty",     "Full",      "Timeout",   "timeout",
                                       "Failure",   "Failed",    "Died",      "Abort",
                                       "Violation", "NotFound",  "Exhausted", "StopIteration"};
    size_t len = 0;
    while (len < text.len && is_identifier(text.ptr[len])) {
        len++;
    }
    struct tc_slice name = tc_slice_head(text, len);
    struct tc_slice rest = tc_slice_from(text, len);
    struct tc_slice last = last_part(name);
    if (last.len < 4 || (rest.len > 0 && !tc_slice_starts(rest, S(":")))) {
        return false;
    }
    for (size_t i = 0; i < TC_COUNT(ends); i++) {
        if (tc_slice_ends(last, tc_slice_cstr(ends[i]))) {
            *out_class = name;
            return true;
        }
    }
    return false;
}

static bool is_frame(struct tc_slice text)
{
    size_t at = tc_slice_find(text, S(", line "));
    return at != TC_NPOS && tc_slice_contains(tc_slice_head(text, at), S("File "));
}

static bool is_head(struct tc_slice text)
{
    return tc_slice_contains(text, S("Traceback (most recent call last)"));
}

bool tc__job_is_raised(struct tc__lines *w, const struct tc__line *line)
{
    struct tc__line at = *line;
    struct tc_slice name;
    size_t len = 0;
    if (tc__job_exception(line->text, &name)) {
        return true;
    }
    while (len < line->text.len && is_identifier(line->text.ptr[len])) {
        len++;
    }
    if (len == 0 || !tc_slice_starts(tc_slice_from(line->text, len), S(": "))) {
        return false;
    }
    for (unsigned i = 0; i < RAISED_WITHIN; i++) {
        struct tc__line above;
        if (!tc__job_above(w, &at, &above)) {
            return false;
        }
        at = above;
        if (is_head(at.text) || is_frame(at.text)) {
            return true;
        }
    }
    return false;
}

/* Whether another stack follows that was raised because of this one, or while handling it. */
static bool is_followed(struct tc__lines *w, const struct tc__line *last)
{
    struct tc__line line = *last;
    unsigned same = 0;
    for (unsigned i = tc__job_look(w, BELOW_MAX / 4); i > 0 && same < MESSAGE_LINES; i--) {
        struct tc__line below;
        if (!tc__job_below(w, &line, &below)) {
            return false;
        }
        line = below;
        if (line.text.len == 0 || !tc__line_same_stream(last, &line)) {
            continue;
        }
        same++;
        if (tc_slice_starts(line.text, S("During handling of the above exception")) ||
            tc_slice_starts(line.text, S("The above exception was the direct cause"))) {
            return true;
        }
        if (is_head(line.text) || is_frame(line.text)) {
            return false;
        }
    }
    return false;
}

/* The exception behind the last frame; false when the frame is not the last, or nothing follows. */
static bool find_exception(struct tc__lines *w, const struct tc__line *frame, struct tc__line *out,
                           struct tc_slice *out_class)
{
    struct tc__line line = *frame;
    unsigned same = 0;
    for (unsigned i = tc__job_look(w, BELOW_MAX); i > 0 && same < BETWEEN_MAX; i--) {
        if (!tc__job_below(w, &line, out)) {
            return false;
        }
        line = *out;
        if (!tc__line_same_stream(frame, &line)) {
            continue;
        }
        same++;
        if (is_frame(line.text) || is_head(line.text)) {
            return false;
        }
        if (tc__job_exception(line.text, out_class)) {
            return true;
        }
    }
    return false;
}

static bool has_any(struct tc_slice text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tc_slice_find_nocase(text, tc_slice_cstr(words[i])) != TC_NPOS) {
            return true;
        }
    }
    return false;
}

/* What a launcher says of processes that ended. */
static bool is_end(struct tc_slice text)
{
    static const char *const words[] = {"exitcode",    "exit code",        "return code",
                                        "exited with", "ChildFailedError", "terminate called",
                                        "core dumped", "non-zero status",  "srun: error: "};
    return has_any(text, words, TC_COUNT(words));
}

/* How much a line says that its program goes on. What programs write while they end is nothing. */
static unsigned sign_of_life(const struct tc__line *line)
{
    static const char *const on[] = {
        "retry",          "skipping",          "continuing",        "falling back", "fallback",
        "ignoring",       "will try",          "try again",         "resuming",     "recovered",
        "early stopping", "training finished", "training complete", "training done"};
    static const char *const ending[] = {
        "finaliz", "finish", "clean", "shut",          "exit",      "terminat", "clos",  "destroy",
        "kill",    "abort",  "fail",  "error",         "exception", "signal",   "wandb", "stopp",
        "leaked",  "warn",   "NCCL",  "frame #",       "epilog",    "end ",     "ended", "sync",
        "fatal",   "crash",  "debug", "unrecoverable", "raised",    "dump",     "stack"};
    static const char *const levels[] = {"INFO", "DEBUG", "WARNING"};
    struct tc_slice text = line->text;
    if (tc__job_is_step(text) || has_any(text, on, TC_COUNT(on))) {
        return WENT_ON;
    }
    if (tc__job_is_progress(text)) {
        return WENT_ON - 1;
    }
    bool logged = line->time_ns != TC_TIME_NONE || has_any(text, levels, TC_COUNT(levels));
    return logged && !has_any(text, ending, TC_COUNT(ending)) ? 1 : 0;
}

/*
 * What became of the program behind the exception: see `role` of tc_ev_exit. The end of the log is
 * that of the program only where it is one that trains.
 */
static struct tc_slice role_of(struct tc__lines *w, const struct tc__line *last, bool trains)
{
    struct tc__line line = *last;
    struct tc_slice end = trains ? S("last") : TC_EMPTY;
    unsigned life = 0;
    for (unsigned i = tc__job_look(w, AFTER_MAX); i > 0; i--) {
        struct tc__line below;
        if (!tc__job_below(w, &line, &below)) {
            return end;
        }
        line = below;
        if (line.text.len == 0 || !tc__line_same_stream(last, &line) || is_frame(line.text)) {
            continue;
        }
        if (is_end(line.text)) {
            return end;
        }
        life += sign_of_life(&line);
        if (life >= WENT_ON) {
            return S("caught");
        }
    }
    return TC_EMPTY;
}

/* What the head of a stack says of it. */
struct origin {
    bool part_of_report; /* another event holds it */
    bool of_thread;      /* which ends alone */
    bool trains;         /* its frames are those of a training program */
    int32_t rank;        /* -1 */
    int32_t local_rank;  /* -1 */
};

/* Whether a line of a stack is that of a program that trains: any other may be a service's. */
static bool is_training(struct tc_slice text)
{
    static const char *const words[] = {
        "train",        "torch",    "deepspeed",  "megatron", "lightning", "accelerate",
        "transformers", "jax",      "tensorflow", "keras",    "nemo",      "horovod",
        "composer",     "finetune", "fine_tune",  "cuda",     "dataloader"};
    return has_any(text, words, TC_COUNT(words));
}

static int32_t rank_of(struct tc_slice digits)
{
    uint64_t rank = 0;
    return tc_slice_is_u64(digits, &rank) && rank <= TC_FR_RANK_MAX ? (int32_t)rank : -1;
}

/* What stands above the head of a stack. */
static void read_above_head(struct tc__lines *w, const struct tc__line *head, struct origin *io)
{
    struct tc__line at = *head;
    struct tc_slice got[TC__TEXT_SLOTS];
    for (int i = 0; i < 2; i++) {
        struct tc__line above;
        if (!tc__job_above(w, &at, &above)) {
            return;
        }
        at = above;
        if (tc_slice_starts(at.text, S("Exception ignored in")) ||
            tc_slice_starts(at.text, S("--- Logging error ---"))) {
            io->part_of_report = true;
        }
        if (i == 0 && tc_slice_starts(at.text, S("Exception in thread "))) {
            io->of_thread = true;
        }
        if (tc__text_match(at.text, "-- Process {0%d} terminated with the following error", got)) {
            io->local_rank = rank_of(got[0]);
        }
        if (tc__text_match(at.text, "[Rank {0%d} Error Snippet]", got)) {
            io->rank = rank_of(got[0]);
        }
        if (at.text.len > 0) {
            return;
        }
    }
}

static struct origin find_origin(struct tc__lines *w, const struct tc__line *frame)
{
    struct origin origin = {.trains = is_training(frame->text), .rank = -1, .local_rank = -1};
    struct tc__line line = *frame;
    for (unsigned i = tc__job_look(w, ABOVE_MAX); i > 0; i--) {
        struct tc__line above;
        struct tc_slice got[TC__TEXT_SLOTS];
        struct tc_slice name;
        if (!tc__job_above(w, &line, &above)) {
            return origin;
        }
        line = above;
        if (!tc__line_same_stream(frame, &line)) {
            continue;
        }
        if (tc__job_exception(line.text, &name)) {
            return origin;
        }
        if (!is_head(line.text)) {
            origin.trains = origin.trains || is_training(line.text);
            continue;
        }
        /* "traceback : Traceback ..." is in torchrun's table; a loader's worker hands its own
         * stack to the rank, which died of it. */
        origin.part_of_report = tc_slice_starts(line.text, S("traceback ")) ||
                                tc_slice_starts(line.text, S("Original Traceback"));
        if (tc__text_match(line.text, "*(RANK {0%d})", got)) {
            origin.rank = rank_of(got[0]);
        }
        read_above_head(w, &line, &origin);
        return origin;
    }
    return origin;
}

/* Exceptions that end a program as it was told to: the first two when somebody stopped it. */
static bool is_no_failure(struct tc_slice name, bool *out_stopped)
{
    static const char *const names[] = {
        "KeyboardInterrupt",     "SignalException", "SystemExit",
        "GeneratorExit",         "StopIteration",   "ChildFailedError",
        "ProcessRaisedException"};
    struct tc_slice last = last_part(name);
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        if (tc_slice_eq(last, tc_slice_cstr(names[i]))) {
            *out_stopped = i < 2;
            return true;
        }
    }
    return false;
}

/* What a launcher's exception says of the process that it started. */
static void read_child(struct tc_slice message, struct tc_ev_exit *io)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    if (tc__text_match(message, "*died with %<Signals.{0%n}: {4%d}", got) ||
        tc__text_match(message, "*terminated with signal {0%w}", got)) {
        io->signal = tc__signal_of(got[0]);
    } else if (tc__text_match(message, "*returned non-zero exit status {3%d}", got) ||
               tc__text_match(message, "*terminated with exit code {3%d}", got)) {
        (void)tc__exit_status(got[SLOT_CODE], io);
    }
    bool child = io->signal > 0 || io->exit_code >= 0;
    io->told_by = child ? S("launcher") : S("traceback");
    if (child && tc__text_match(message, "*process {0%d} terminated", got)) {
        io->local_rank = rank_of(got[0]);
        io->role = S("first");
    }
}

/* A stack that the log ends in: nothing says how it went on. */
static tc_status read_torn(struct tc__lines *w, const struct tc__line *frame)
{
    struct tc__line line = *frame;
    struct tc_event ev;
    for (unsigned i = 0; i <= BETWEEN_MAX; i++) {
        struct tc__line below;
        struct tc_slice name;
        if (!tc__job_below(w, &line, &below)) {
            tc_event_init(&ev, TC_EVENT_RANK_EXIT);
            ev.exit.told_by = S("traceback");
            ev.exit.role = S("last");
            ev.exit.message = tc_slice_head(frame->text, JOB_MESSAGE_MAX);
            return tc__lines_deliver(w, frame, &ev);
        }
        line = below;
        if (is_frame(line.text) || is_head(line.text) || tc__job_exception(line.text, &name)) {
            return TC_OK;
        }
    }
    return TC_OK;
}

/* Somebody pressed Ctrl-C, or sent the launcher a signal. */
static tc_status read_interrupt(struct tc__lines *w, const struct tc__line *last,
                                struct tc_slice name)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_RANK_EXIT);
    ev.exit.error = name;
    ev.exit.message = tc_slice_head(last->text, JOB_MESSAGE_MAX);
    ev.exit.told_by = S("traceback");
    ev.exit.role = S("stopped");
    return tc__lines_deliver(w, last, &ev);
}

tc_status tc__job_read_frame(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc__line last;
    struct tc_slice name;
    struct tc_event ev;
    if (!is_frame(line->text)) {
        return TC_OK;
    }
    *out_ours = true;
    if (!find_exception(w, line, &last, &name)) {
        return read_torn(w, line);
    }
    bool stopped = false;
    if (is_no_failure(name, &stopped) || is_followed(w, &last)) {
        return stopped ? read_interrupt(w, &last, name) : TC_OK;
    }
    struct origin origin = find_origin(w, line);
    if (origin.part_of_report || tc_slice_contains(last.text, S("The actor died "))) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_RANK_EXIT);
    ev.exit.error = name;
    ev.exit.message = tc_slice_head(last.text, JOB_MESSAGE_MAX);
    ev.scope.rank = origin.rank;
    ev.exit.local_rank = origin.local_rank;
    read_child(last.text, &ev.exit);
    bool trains = origin.trains || origin.rank >= 0 || line->scope.rank >= 0 || w->rank >= 0 ||
                  is_training(last.text);
    if (ev.exit.role.len == 0) {
        ev.exit.role = origin.of_thread ? S("caught") : role_of(w, &last, trains);
    }
    int32_t rank = origin.rank >= 0 ? origin.rank : line->scope.rank;
    if (rank >= 0 && line->scope.node.len == 0 && tc_slice_contains(last.text, S("NCCL error"))) {
        ev.scope.node = tc__job_warned_host(w, line, rank);
    }
    return tc__lines_deliver_from(w, (size_t)(line->raw.ptr - w->in->bytes.ptr), &last, &ev);
}

/* The last line of a string of JSON that is an exception; the string ends at its quote. */
static struct tc_slice last_exception(struct tc_slice text, struct tc_slice *out_class)
{
    struct tc_slice found = TC_EMPTY;
    size_t start = 0;
    for (size_t i = 0; i <= text.len; i++) {
        bool ends = i == text.len || text.ptr[i] == '"';
        bool escape = !ends && text.ptr[i] == '\\' && i + 1 < text.len;
        if (ends || (escape && text.ptr[i + 1] == 'n')) {
            struct tc_slice piece = tc_slice_make(text.ptr + start, i - start);
            found = tc__job_exception(piece, out_class) ? piece : found;
            start = i + 2;
        }
        if (ends) {
            break;
        }
        i += escape;
    }
    return found;
}

tc_status tc__job_read_json_stack(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    size_t at = tc_slice_find(line->raw, S("Traceback (most recent call last):\\n"));
    struct tc_slice name = TC_EMPTY;
    struct tc_event ev;
    bool stopped = false;
    if (at == TC_NPOS || !tc_slice_contains(tc_slice_head(line->raw, at), S("{"))) {
        return TC_OK;
    }
    struct tc_slice stack = tc_slice_from(line->raw, at);
    struct tc_slice last = last_exception(stack, &name);
    if (last.len == 0) {
        return TC_OK;
    }
    *out_ours = true;
    if (is_no_failure(name, &stopped)) {
        return stopped ? read_interrupt(w, line, name) : TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_RANK_EXIT);
    ev.exit.error = name;
    ev.exit.message = tc_slice_head(last, JOB_MESSAGE_MAX);
    ev.exit.told_by = S("traceback");
    bool trains = line->scope.rank >= 0 || w->rank >= 0 || is_training(stack);
    ev.exit.role = role_of(w, line, trains);
    return tc__lines_deliver(w, line, &ev);
}
