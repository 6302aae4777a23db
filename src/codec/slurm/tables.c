/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Slurm's commands print.
 *
 *   REASON               USER      TIMESTAMP           NODELIST                  sinfo -R
 *   PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST                            sinfo
 *   JobID           JobName  Partition      State ExitCode                       sacct
 *   JobID|State|ExitCode|NodeList                                                sacct -P
 *   NodeName=gpu-33 Arch=x86_64 ...                                              scontrol show node
 *
 * The columns are whatever was asked for, so they are found by their names. Between blanks a cell
 * has none, but a reason has: it is the first column, or the last.
 */
#include "base/json/raw.h"
#include "base/time.h"
#include "codec/slurm/priv.h"

#include <string.h>

#define S(literal) TC_LIT(literal)

#define COLUMNS_MAX 32
#define ROWS_MAX 100000
/* Lines of scontrol's or seff's block. */
#define BLOCK_LINES 48

struct table {
    char delimiter; /* '\0': blanks */
    bool ruled;     /* dashes below the header say how wide columns are */
    size_t count;
    struct tc_slice names[COLUMNS_MAX];
    size_t from[COLUMNS_MAX]; /* in a line, where ruled */
    size_t to[COLUMNS_MAX];
};

/* The next cell between blanks or delimiters; false at the end. */
static bool next_cell(struct tc_slice *io_rest, char delimiter, struct tc_slice *out)
{
    if (delimiter != '\0') {
        bool more = io_rest->len > 0;
        *out = tc_slice_trim(tc_slice_cut(*io_rest, delimiter, io_rest));
        return more;
    }
    *io_rest = tc_slice_trim(*io_rest);
    size_t len = 0;
    while (len < io_rest->len && io_rest->ptr[len] != ' ' && io_rest->ptr[len] != '\t') {
        len++;
    }
    *out = tc_slice_head(*io_rest, len);
    *io_rest = tc_slice_from(*io_rest, len);
    return len > 0;
}

static size_t column(const struct table *t, struct tc_slice name)
{
    for (size_t i = 0; i < t->count; i++) {
        if (tc_slice_eq(t->names[i], name)) {
            return i;
        }
    }
    return TC_NPOS;
}

static bool read_header(struct tc_slice text, struct table *out)
{
    struct tc_slice cell;
    *out = (struct table){0};
    out->delimiter = tc_slice_find_byte(text, '|') != TC_NPOS   ? '|'
                     : tc_slice_find_byte(text, ',') != TC_NPOS ? ','
                                                                : '\0';
    while (out->count < COLUMNS_MAX && next_cell(&text, out->delimiter, &cell)) {
        out->names[out->count++] = cell;
    }
    return out->count >= 2;
}

/* "---------- --------": the widths, by the bytes of the whole line. */
static bool read_rule(const struct tc__line *line, struct table *io)
{
    struct tc_slice raw = line->raw;
    size_t count = 0;
    size_t at = (size_t)(line->text.ptr - raw.ptr);
    if (line->text.ptr < raw.ptr || at > raw.len || !tc_slice_starts(line->text, S("---"))) {
        return false;
    }
    while (at < raw.len && count < io->count) {
        size_t start = at;
        while (at < raw.len && raw.ptr[at] == '-') {
            at++;
        }
        io->from[count] = start;
        io->to[count++] = at;
        while (at < raw.len && raw.ptr[at] != '-') {
            at++;
        }
    }
    io->ruled = count == io->count;
    return true;
}

/* Cell number i of a row; "" when it has none. The last one of a row between blanks is the rest. */
static struct tc_slice cell_of(const struct table *t, const struct tc__line *row, size_t i)
{
    struct tc_slice rest = row->text;
    struct tc_slice cell = TC_EMPTY;
    if (i >= t->count) {
        return TC_EMPTY;
    }
    if (t->ruled) {
        size_t end = t->to[i] < row->raw.len ? t->to[i] : row->raw.len;
        return t->from[i] < end
                   ? tc_slice_trim(tc_slice_make(row->raw.ptr + t->from[i], end - t->from[i]))
                   : TC_EMPTY;
    }
    for (size_t k = 0; k <= i; k++) {
        if (k == i && k + 1 == t->count && t->delimiter == '\0') {
            return tc_slice_trim(rest);
        }
        if (!next_cell(&rest, t->delimiter, &cell)) {
            return TC_EMPTY;
        }
    }
    return cell;
}

static int64_t time_of(const struct tc_codec_input *in, struct tc_slice text)
{
    int64_t ns = TC_TIME_NONE;
    return tc_time_parse(text, in->utc_offset_s, &ns) > 0 && ns >= 0 && ns <= TC_TIME_MAX
               ? ns
               : TC_TIME_NONE;
}

/* "reason   user   2026-11-03T10:00:00 [state] hosts": from its end, since a reason has blanks. */
static bool read_reason_row(const struct tc_codec_input *in, const struct table *t,
                            struct tc_slice text, struct slurm_nodes *out)
{
    struct tc_slice cells[3] = {{0}}; /* user, time, hosts */
    struct tc_slice rest = text;
    size_t behind = t->count - 1;
    for (size_t i = 0; i < behind; i++) {
        rest = tc_slice_trim(rest);
        size_t start = rest.len;
        while (start > 0 && rest.ptr[start - 1] != ' ') {
            start--;
        }
        struct tc_slice cell = tc_slice_from(rest, start);
        struct tc_slice name = t->names[t->count - 1 - i];
        unsigned to = tc_slice_eq(name, S("NODELIST"))    ? 2
                      : tc_slice_eq(name, S("TIMESTAMP")) ? 1
                                                          : 0;
        cells[to] = cells[to].len == 0 ? cell : cells[to];
        rest = tc_slice_head(rest, start);
    }
    out->reason = tc_slice_trim(rest);
    out->hosts = cells[2];
    out->time_ns = time_of(in, cells[1]);
    return out->time_ns != TC_TIME_NONE && out->hosts.len > 0;
}

static bool is_no_reason(struct tc_slice reason)
{
    return tc_slice_eq_nocase(reason, S("none")) || tc_slice_eq(reason, S("(null)"));
}

static tc_status read_node_row(struct tc__lines *w, const struct table *t,
                               const struct tc__line *row, bool *out_row)
{
    size_t hosts = column(t, S("NODELIST"));
    hosts = hosts != TC_NPOS ? hosts : column(t, S("HOSTNAMES"));
    hosts = hosts != TC_NPOS ? hosts : column(t, S("NodeName"));
    size_t state = column(t, S("STATE"));
    state = state != TC_NPOS ? state : column(t, S("State"));
    size_t reason = column(t, S("REASON"));
    reason = reason != TC_NPOS ? reason : column(t, S("Reason"));
    struct slurm_nodes n = {.status = "True", .time_ns = TC_TIME_NONE};
    if (reason == 0 && t->delimiter == '\0' && !t->ruled) {
        *out_row = read_reason_row(w->in, t, row->text, &n);
        return *out_row ? tc__slurm_tell_nodes(w, row, &n) : TC_OK;
    }
    n.hosts = cell_of(t, row, hosts);
    struct tc_slice said = cell_of(t, row, state);
    n.reason = cell_of(t, row, reason);
    n.reason = is_no_reason(n.reason) ? TC_EMPTY : n.reason;
    n.time_ns = time_of(w->in, cell_of(t, row, column(t, S("TIMESTAMP"))));
    if (n.time_ns == TC_TIME_NONE) {
        n.time_ns = time_of(w->in, cell_of(t, row, column(t, S("TimeStart"))));
    }
    *out_row = n.hosts.len > 0 && (said.len > 0 || n.reason.len > 0);
    bool bad = state == TC_NPOS ? n.reason.len > 0 : tc__slurm_is_bad(said);
    return *out_row && bad ? tc__slurm_tell_nodes(w, row, &n) : TC_OK;
}

/* A row of sacct. Columns that were cut run into each other: state and exit code are known by
 * what they look like. Steps are parts of their job, which has a row of its own. */
static tc_status read_job_row(struct tc__lines *w, const struct table *t,
                              const struct tc__line *row, bool *out_row)
{
    struct slurm_job j = {.exit.exit_code = -1, .time_ns = TC_TIME_NONE};
    struct tc_slice rest = row->text;
    struct tc_slice cell;
    struct tc_slice got[TC__TEXT_SLOTS];
    bool failed = false;
    bool known = false;
    size_t id = column(t, S("JobID")) != TC_NPOS ? column(t, S("JobID")) : column(t, S("JobIDRaw"));
    if (t->delimiter != '\0') {
        j.job = cell_of(t, row, id);
    }
    for (size_t i = 0; i < 2 * COLUMNS_MAX && next_cell(&rest, t->delimiter, &cell); i++) {
        bool memory = false;
        j.job = i == 0 && t->delimiter == '\0' ? cell : j.job;
        if (!known && tc__slurm_job_state(tc_slice_head(cell, tc_slice_find_byte(cell, ' ')),
                                          &failed, &memory)) {
            known = true;
            j.out_of_memory = memory;
        } else if (known) {
            (void)tc__slurm_exit_code(cell, &j.exit);
        }
    }
    *out_row = known && tc__text_match(j.job, "%d", got);
    if (!*out_row || !failed || tc_slice_find_byte(j.job, '.') != TC_NPOS) {
        return TC_OK;
    }
    if (t->delimiter != '\0' || t->ruled) {
        j.node = cell_of(t, row, column(t, S("NodeList")));
        j.time_ns = time_of(w->in, cell_of(t, row, column(t, S("End"))));
    }
    return tc__slurm_tell_job(w, row, &j);
}

tc_status tc__slurm_read_table(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct table t;
    struct tc__line row = *line;
    if (!read_header(line->text, &t)) {
        return TC_OK;
    }
    bool nodes = (column(&t, S("NODELIST")) != TC_NPOS || column(&t, S("HOSTNAMES")) != TC_NPOS ||
                  column(&t, S("NodeName")) != TC_NPOS) &&
                 (column(&t, S("STATE")) != TC_NPOS || column(&t, S("State")) != TC_NPOS ||
                  column(&t, S("REASON")) != TC_NPOS);
    bool jobs = column(&t, S("JobID")) != TC_NPOS || column(&t, S("JobIDRaw")) != TC_NPOS;
    jobs = jobs && column(&t, S("State")) != TC_NPOS;
    bool queue = column(&t, S("JOBID")) != TC_NPOS && column(&t, S("PARTITION")) != TC_NPOS;
    *out_ours = nodes || jobs || queue;
    if (queue || !*out_ours) {
        return TC_OK;
    }
    for (unsigned i = 0; i < ROWS_MAX; i++) {
        struct tc__line below;
        bool is_row = false;
        if (!tc__line_below(w, &row, &below)) {
            break;
        }
        row = below;
        if (i == 0 && read_rule(&row, &t)) {
            continue;
        }
        TC_TRY(jobs ? read_job_row(w, &t, &row, &is_row) : read_node_row(w, &t, &row, &is_row));
        if (!is_row) {
            break;
        }
        w->cursor->own[SLURM_OWN_TABLE] = row.next;
    }
    return TC_OK;
}

/* The value of "key=" at the start of a text or behind a blank; up to a blank, or to the end. */
static struct tc_slice value_of(struct tc_slice text, struct tc_slice key, bool to_end)
{
    for (size_t from = 0; from < text.len;) {
        struct tc_slice rest = tc_slice_from(text, from);
        size_t at = tc_slice_find(rest, key);
        if (at == TC_NPOS) {
            break;
        }
        if (from + at == 0 || text.ptr[from + at - 1] == ' ') {
            rest = tc_slice_from(rest, at + key.len);
            return to_end ? rest : tc_slice_head(rest, tc_slice_find_byte(rest, ' '));
        }
        from += at + 1;
    }
    return TC_EMPTY;
}

static void fill(struct tc_slice *io, struct tc_slice value)
{
    *io = io->len > 0 ? *io : value;
}

/* The line at a step from the last, as far as it is of the block that begins with `first`. */
static bool next_of_block(struct tc__lines *w, struct tc_slice first, struct tc__line *io)
{
    struct tc__line below;
    if (!tc__line_below(w, io, &below) || tc_slice_starts(below.text, first) ||
        tc_slice_starts(below.text, S("```"))) {
        return false;
    }
    *io = below;
    return true;
}

tc_status tc__slurm_read_node(struct tc__lines *w, const struct tc__line *line,
                              struct tc_slice after, bool *out_ours)
{
    struct slurm_nodes n = {.status = "True", .time_ns = TC_TIME_NONE};
    struct tc_slice state = value_of(line->text, S("State="), false);
    struct tc_slice reason = value_of(line->text, S("Reason="), true);
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc__line at = *line;
    n.hosts = tc_slice_head(after, tc_slice_find_byte(after, ' '));
    /* slurm.conf has such lines too, with other fields. */
    bool one_line = state.len > 0;
    for (unsigned i = 0; i < BLOCK_LINES && !one_line; i++) {
        if (!next_of_block(w, S("NodeName="), &at)) {
            break;
        }
        fill(&state, value_of(at.text, S("State="), false));
        fill(&reason, value_of(at.text, S("Reason="), true));
    }
    if (state.len == 0) {
        return TC_OK;
    }
    *out_ours = true;
    n.reason = reason;
    if (tc__text_match(reason, "{0*} [{1%n@}", got) || tc__text_match(reason, "{0*} [", got)) {
        size_t time = tc_slice_find_byte(tc_slice_from(reason, got[0].len), '@');
        n.reason = got[0];
        if (time != TC_NPOS) {
            n.time_ns = time_of(w->in, tc_slice_from(reason, got[0].len + time + 1));
        }
    }
    return tc__slurm_is_bad(state) ? tc__slurm_tell_nodes(w, line, &n) : TC_OK;
}

tc_status tc__slurm_read_job(struct tc__lines *w, const struct tc__line *line,
                             struct tc_slice after, bool *out_ours)
{
    struct slurm_job j = {.exit.exit_code = -1, .time_ns = TC_TIME_NONE};
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice state = value_of(line->text, S("JobState="), false);
    struct tc_slice code = value_of(line->text, S("ExitCode="), false);
    struct tc_slice node = value_of(line->text, S("NodeList="), false);
    struct tc_slice end = value_of(line->text, S("EndTime="), false);
    struct tc__line at = *line;
    bool failed = false;
    *out_ours = tc__text_match(after, "{0%d}", got);
    if (!tc__text_match(after, "{0%p} <ArrayJobId=%d *|>JobName=", got)) {
        return TC_OK;
    }
    j.job = got[0];
    for (unsigned i = 0; i < BLOCK_LINES && next_of_block(w, S("JobId="), &at); i++) {
        fill(&state, value_of(at.text, S("JobState="), false));
        fill(&code, value_of(at.text, S("ExitCode="), false));
        fill(&node, value_of(at.text, S("NodeList="), false));
        fill(&end, value_of(at.text, S("EndTime="), false));
    }
    (void)tc__slurm_exit_code(code, &j.exit);
    j.node = is_no_reason(node) ? TC_EMPTY : node;
    j.time_ns = time_of(w->in, end);
    return tc__slurm_job_state(state, &failed, &j.out_of_memory) && failed
               ? tc__slurm_tell_job(w, line, &j)
               : TC_OK;
}

tc_status tc__slurm_read_seff(struct tc__lines *w, const struct tc__line *line,
                              struct tc_slice after, bool *out_ours)
{
    struct slurm_job j = {.exit.exit_code = -1, .time_ns = TC_TIME_NONE};
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc__line at = *line;
    bool failed = false;
    if (!tc__text_match(after, "{0%d}", got)) {
        return TC_OK;
    }
    j.job = got[0];
    for (unsigned i = 0; i < 6 && next_of_block(w, S("Job ID: "), &at); i++) {
        if (tc__text_match(at.text, "State: {0%p}<%s(exit code {1%d}|>", got)) {
            *out_ours = tc__slurm_job_state(got[0], &failed, &j.out_of_memory);
            int64_t code = 0;
            if (tc_slice_i64(got[1], &code) > 0 && code > 0 && code < 256) {
                j.exit.exit_code = code;
            }
            return *out_ours && failed ? tc__slurm_tell_job(w, line, &j) : TC_OK;
        }
    }
    return TC_OK;
}

static struct tc_slice unquoted(struct tc_slice value)
{
    bool quoted = value.len >= 2 && value.ptr[0] == '"';
    return quoted ? tc_slice_make(value.ptr + 1, value.len - 2) : TC_EMPTY;
}

tc_status tc__slurm_read_json(struct tc__lines *w, const struct tc__line *line,
                              struct tc_slice after, bool *out_ours)
{
    size_t colon = tc_slice_find_byte(after, ':');
    /* The value may go on below this line. */
    struct tc_slice bytes = w->in->bytes;
    if (colon != 0 || after.ptr < bytes.ptr || after.ptr > bytes.ptr + bytes.len) {
        return TC_OK;
    }
    struct tc_slice rest = tc_slice_from(bytes, (size_t)(after.ptr - bytes.ptr) + 1);
    struct tc_slice node;
    size_t at = 0;
    for (unsigned i = 0; i < ROWS_MAX && tc_json_raw_element(rest, &at, &node); i++) {
        struct slurm_nodes n = {.status = "True", .time_ns = TC_TIME_NONE};
        struct tc_slice name;
        struct tc_slice state;
        struct tc_slice reason;
        struct tc_slice one;
        size_t from = 0;
        bool bad = false;
        if (!tc_json_raw_get(node, S("name"), &name) ||
            !tc_json_raw_get(node, S("state"), &state)) {
            return TC_OK;
        }
        *out_ours = true;
        n.hosts = unquoted(name);
        n.reason = tc_json_raw_get(node, S("reason"), &reason) ? unquoted(reason) : TC_EMPTY;
        while (tc_json_raw_element(state, &from, &one)) {
            bad = bad || tc__slurm_is_bad(unquoted(one));
        }
        bad = bad || tc__slurm_is_bad(unquoted(state));
        struct tc__line row = *line;
        row.text = node;
        if (bad && n.hosts.len > 0) {
            TC_TRY(tc__slurm_tell_nodes(w, &row, &n));
        }
    }
    return TC_OK;
}
