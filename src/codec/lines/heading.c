/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines that say which node the lines below them are of:
 *
 *   root@gpu-07:~# dmesg -T, [ops@gpu-07 ~]$ nvidia-smi        a prompt and what was typed
 *   ops@login1:~$ ssh gpu-07 dmesg                             the host that a command goes to
 *   Host: gpu-07, Static hostname: gpu-07, # node=gpu-07 ...   notes, scripts, hostnamectl
 *   === gpu-07 ===, ### node gpu-07                            a banner
 *   ---------------- / gpu-07 / ----------------               dshbak, clush -b
 *   gpu-07 | CHANGED | rc=0 >>                                 ansible
 *   Linux gpu-07 5.15.0-119-generic #129-Ubuntu SMP ...        uname -a
 *   $ hostname / gpu-07                                        a command and what it printed
 *   systemd[1]: Hostname set to <gpu-07>.                      a boot
 *   gpu-07 login:                                              a console
 *   ==> gpu-07/dmesg.txt <==                                   head, tail
 *
 * A prompt with a command that shows something of other hosts (kubectl, pdsh) names nobody.
 */
#include "base/limits.h"
#include "codec/lines/lines_priv.h"
#include "codec/match_priv.h"
#include "codec/node_name.h"

#include <string.h>

/* Longer lines are messages. */
#define HEADING_MAX 300
/* Where a prompt's '@' is, and how long its path may be. */
#define PROMPT_WITHIN 64
#define PROMPT_PATH_MAX 80
#define PROMPT_BLANKS_MAX 2
#define WORDS_MAX 12
/* What is looked at of a text, to see where it is from. */
#define SAID_BYTES ((size_t)64 << 10)
#define SAID_LINES 256

static struct tc_slice cut_word(struct tc_slice *io)
{
    struct tc_slice s = tc_slice_trim(*io);
    size_t end = 0;
    while (end < s.len && !tc_is_blank(s.ptr[end])) {
        end++;
    }
    *io = tc_slice_trim(tc_slice_from(s, end));
    return tc_slice_head(s, end);
}

/* A name at the start, without what may be around it: quotes, "/10.0.0.7", a comma. */
static struct tc_slice take_name(struct tc_slice s)
{
    s = tc_slice_trim(s);
    while (s.len > 0 &&
           (s.ptr[0] == '"' || s.ptr[0] == '\'' || s.ptr[0] == '<' || s.ptr[0] == '`')) {
        s = tc_slice_from(s, 1);
    }
    size_t end = 0;
    while (end < s.len && (tc_is_word(s.ptr[end]) || s.ptr[end] == '-' || s.ptr[end] == '.')) {
        end++;
    }
    while (end > 0 && s.ptr[end - 1] == '.') {
        end--;
    }
    char behind = end < s.len ? s.ptr[end] : ' ';
    bool whole = memchr(" \t,;/)\"'`>|.(=#", behind, 15) != NULL;
    struct tc_slice name = tc_slice_head(s, end);
    return whole && tc_node_is_name(name) ? name : TC_EMPTY;
}

/* Options of ssh with a value behind them. */
static struct tc_slice ssh_host(struct tc_slice words)
{
    for (int i = 0; i < WORDS_MAX && words.len > 0; i++) {
        struct tc_slice word = cut_word(&words);
        if (tc_slice_starts(word, TC_LIT("-"))) {
            bool valued = word.len == 2 && strchr("pilJFoEcmLRDWbBQSwI", word.ptr[1]) != NULL;
            if (valued) {
                (void)cut_word(&words);
            }
            continue;
        }
        size_t at = tc_slice_find_byte(word, '@');
        return take_name(tc_slice_from(word, at == TC_NPOS ? 0 : at + 1));
    }
    return TC_EMPTY;
}

/* "kubectl debug node/gpu-07", "srun -w gpu-07 dmesg", "talosctl -n gpu-07 dmesg" */
static struct tc_slice named_node(struct tc_slice command, struct tc_slice words)
{
    static const char *const nodes[] = {"node", "nodes", "no", NULL};
    static const char *const lists[] = {"-w", "--nodelist", NULL};
    static const char *const talos[] = {"-n", "--nodes", NULL};
    const char *const *before = tc_slice_eq(command, TC_LIT("talosctl")) ? talos
                                : tc_slice_eq(command, TC_LIT("srun"))   ? lists
                                                                         : nodes;
    for (int i = 0; i < WORDS_MAX && words.len > 0; i++) {
        struct tc_slice got[TC__TEXT_SLOTS];
        struct tc_slice word = cut_word(&words);
        if (tc__text_match(word, "<node/|--nodelist=|--nodes=>{0*}", got)) {
            return take_name(got[0]);
        }
        if (tc_slice_which(word, before) >= 0) {
            return take_name(cut_word(&words));
        }
    }
    return TC_EMPTY;
}

/* Whose output follows a command that was typed at `host`. */
static struct tc_slice node_of_command(struct tc_slice command, struct tc_slice host)
{
    static const char *const elsewhere[] = {
        "kubectl",  "oc",     "k",        "srun",     "pdsh",  "clush",  "dsh",
        "ansible",  "salloc", "pssh",     "xargs",    "sinfo", "squeue", "scontrol",
        "sacct",    "logcli", "curl",     "gcloud",   "aws",   "az",     "ipmitool",
        "talosctl", "stern",  "promtool", "parallel", NULL};
    struct tc_slice first = cut_word(&command);
    while (tc_slice_eq(first, TC_LIT("sudo")) || tc_slice_eq(first, TC_LIT("time")) ||
           (first.len > 1 && first.ptr[0] == '-')) {
        first = cut_word(&command);
    }
    if (tc_slice_eq(first, TC_LIT("ssh"))) {
        return ssh_host(command);
    }
    return tc_slice_which(first, elsewhere) >= 0 ? named_node(first, command) : host;
}

/* Behind a host in a prompt: ":~# ", " ~]$ ", ":/var/log$ ". *out_command is what was typed. */
static bool take_prompt_end(struct tc_slice s, struct tc_slice *out_command)
{
    struct tc_slice within = tc_slice_head(s, PROMPT_PATH_MAX);
    size_t blanks = 0;
    for (size_t i = 0; i < within.len; i++) {
        char c = within.ptr[i];
        bool sign = c == '#' || c == '$' || c == '%';
        if (sign && (i + 1 == s.len || s.ptr[i + 1] == ' ')) {
            *out_command = tc_slice_trim(tc_slice_from(s, i + 1));
            return true;
        }
        bool path = tc_is_word(c) || memchr(":~/]-. +", c, 8) != NULL;
        blanks += tc_is_blank(c);
        if (!path || blanks > PROMPT_BLANKS_MAX) {
            return false;
        }
    }
    return false;
}

/* "root@gpu-07:~# dmesg", also in brackets, behind a time or the name of an environment. */
static bool read_prompt(struct tc_slice line, struct tc_slice *out)
{
    size_t at = tc_slice_find_byte(tc_slice_head(line, PROMPT_WITHIN), '@');
    struct tc_slice command;
    if (at == TC_NPOS || at == 0) {
        return false;
    }
    size_t user = at;
    while (user > 0 && (tc_is_word(line.ptr[user - 1]) || line.ptr[user - 1] == '-' ||
                        line.ptr[user - 1] == '.')) {
        user--;
    }
    if (user == at || (user > 0 && line.ptr[user - 1] != '[' && line.ptr[user - 1] != ' ')) {
        return false;
    }
    struct tc_slice s = tc_slice_from(line, at + 1);
    size_t len = 0;
    while (len < s.len && (tc_is_word(s.ptr[len]) || s.ptr[len] == '-' || s.ptr[len] == '.')) {
        len++;
    }
    struct tc_slice host = tc_slice_head(s, len);
    s = tc_slice_from(s, len);
    bool bounded = s.len > 0 && memchr(":] #$%", s.ptr[0], 6) != NULL;
    if (!bounded || !take_prompt_end(s, &command)) {
        return false;
    }
    *out = node_of_command(command, tc_node_is_name(host) ? host : TC_EMPTY);
    return true;
}

/* "gpu-07:~ # dmesg", "gpu-07# dmesg", "gpu-07$ dmesg" */
static bool read_short_prompt(struct tc_slice line, struct tc_slice *out)
{
    struct tc_slice command = line;
    struct tc_slice word = cut_word(&command);
    size_t colon = tc_slice_find_byte(word, ':');
    struct tc_slice host = tc_slice_head(word, colon);
    struct tc_slice path = tc_slice_from(word, colon == TC_NPOS ? word.len : colon + 1);
    bool signed_word = tc_slice_ends(word, TC_LIT("#")) || tc_slice_ends(word, TC_LIT("$"));
    if (colon == TC_NPOS) {
        host.len -= signed_word;
    } else if (path.len == 0 || (path.ptr[0] != '~' && path.ptr[0] != '/')) {
        return false;
    }
    struct tc_slice sign = command;
    if (!signed_word) {
        sign = cut_word(&command);
        signed_word =
            colon != TC_NPOS && (tc_slice_eq(sign, TC_LIT("#")) || tc_slice_eq(sign, TC_LIT("$")));
    }
    if (!signed_word || command.len == 0 || !tc_node_is_plain(host)) {
        return false;
    }
    *out = node_of_command(command, host);
    return true;
}

/* Behind the characters that banners and comments begin with; *out_marks says how many. */
static struct tc_slice without_marks(struct tc_slice line, size_t *out_marks)
{
    size_t at = 0;
    *out_marks = 0;
    while (at < line.len && memchr("#=*->+| \t", line.ptr[at], 9) != NULL) {
        *out_marks += !tc_is_blank(line.ptr[at]);
        at++;
    }
    return tc_slice_trim(tc_slice_from(line, at));
}

/* "Host: gpu-07", "hostname = gpu-07" */
static bool read_key(struct tc_slice s, struct tc_slice *out)
{
    static const struct {
        const char *key;
        bool is_sure; /* nothing but a host is behind it, so its name needs no digit */
    } rows[] = {
        {"hostname", true},       {"host name", true},       {"static hostname", true},
        {"fqdn", true},           {"nodename", true},        {"node name", true},
        {"host", false},          {"node", false},           {"affected host", false},
        {"affected node", false}, {"affected nodes", false}, {"on host", false},
        {"on node", false},       {"k8s node", false},       {"server", false},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_slice key = tc_slice_cstr(rows[i].key);
        struct tc_slice rest = tc_slice_from(s, key.len);
        if (!tc_slice_eq_nocase(tc_slice_head(s, key.len), key)) {
            continue;
        }
        rest = tc_slice_trim(rest);
        if (rest.len < 2 || (rest.ptr[0] != ':' && rest.ptr[0] != '=')) {
            continue;
        }
        struct tc_slice name = take_name(tc_slice_from(rest, 1));
        if (name.len == 0 || (!rows[i].is_sure && !tc_node_is_plain(name))) {
            return false;
        }
        *out = name;
        return true;
    }
    return false;
}

static bool is_key(struct tc_slice word)
{
    word.len -= tc_slice_ends(word, TC_LIT(":"));
    return tc_slice_eq_nocase(word, TC_LIT("host")) || tc_slice_eq_nocase(word, TC_LIT("node")) ||
           tc_slice_eq_nocase(word, TC_LIT("hostname"));
}

/* "### collect.sh host=gpu-07 2026-...", "=== node gpu-07 ===", "--- gpu-07 ---" */
static bool read_banner(struct tc_slice s, size_t marks, struct tc_slice *out)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    size_t words = 0;
    struct tc_slice only = TC_EMPTY;
    bool closed = s.len > 0 && memchr("#=*-<", s.ptr[s.len - 1], 5) != NULL;
    bool expected = false;
    while (s.len > 0 && memchr("#=*-< ", s.ptr[s.len - 1], 6) != NULL) {
        s.len--;
    }
    for (; s.len > 0 && words < WORDS_MAX; words++) {
        struct tc_slice word = cut_word(&s);
        if (tc__text_match(word, "<host|hostname|node>={0*}", got) || expected) {
            *out = take_name(expected ? word : got[0]);
            return out->len > 0 && (!expected || tc_node_is_plain(*out));
        }
        expected = marks > 1 && words < 2 && is_key(word);
        only = words == 0 ? word : TC_EMPTY;
    }
    if (words != 1 || marks < 2 || !closed) {
        return false;
    }
    if (tc_slice_contains(only, TC_LIT("/"))) {
        *out = tc_slice_or(tc_node_of_file(only), tc_node_of_folder(only));
        return true;
    }
    *out = take_name(only);
    return out->len > 0 && tc_node_is_plain(*out);
}

/* What other programs print of a host. */
static bool read_program(struct tc_slice line, struct tc_slice *out)
{
    static const struct {
        const char *says;
        bool is_sure; /* its name needs no digit */
    } rows[] = {
        {"<uname: |>Linux {0%n} %d.%d* #*", true},
        {"*systemd[1]: Set hostname to %<{0%n}", true},
        {"*systemd[1]: Hostname set to %<{0%n}", true},
        {"{0%n} | <CHANGED|SUCCESS|FAILED|UNREACHABLE>", false},
        {"{0%n} login:", false},
    };
    struct tc_slice got[TC__TEXT_SLOTS];
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        if (!tc__text_match(line, rows[i].says, got)) {
            continue;
        }
        *out = take_name(got[0]);
        if (out->len > 0 && (rows[i].is_sure || tc_node_is_plain(*out))) {
            return true;
        }
    }
    return false;
}

/* The line above or below the one from `start` to `end`; empty when there is none. */
static struct tc_slice neighbour(struct tc_slice bytes, size_t start, size_t end, bool above)
{
    struct tc_slice raw = TC_EMPTY;
    size_t next = 0;
    if (!above) {
        size_t at = end;
        while (at < bytes.len && (bytes.ptr[at] == '\r' || bytes.ptr[at] == '\n') && at - end < 2) {
            at++;
        }
        return tc__line_cut(bytes, at, &raw, &next) ? tc_slice_trim(tc_slice_head(raw, HEADING_MAX))
                                                    : TC_EMPTY;
    }
    size_t stop = start > HEADING_MAX ? start - HEADING_MAX : 0;
    if (start < 2) {
        return TC_EMPTY;
    }
    const char *newline = memrchr(bytes.ptr + stop, '\n', start - 1 - stop);
    size_t from = newline == NULL ? stop : (size_t)(newline - bytes.ptr) + 1;
    return tc_slice_trim(tc_slice_make(bytes.ptr + from, start - 1 - from));
}

static bool is_rule(struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] != '-' && s.ptr[i] != '=') {
            return false;
        }
    }
    return s.len >= 4;
}

/* "$ hostname -f", "+ uname -n" */
static bool asks_for_host(struct tc_slice line)
{
    static const char *const commands[] = {"hostname",        "hostname -f", "hostname -s",
                                           "hostname --fqdn", "uname -n",    NULL};
    size_t sign = line.len;
    while (sign > 0 && memchr("$#+%", line.ptr[sign - 1], 4) == NULL) {
        sign--;
    }
    return sign > 0 && tc_slice_which(tc_slice_trim(tc_slice_from(line, sign)), commands) >= 0;
}

/* A name alone: between two rules as dshbak and clush write it, or what hostname printed. */
static bool read_lone_name(struct tc_slice bytes, struct tc_slice line, struct tc_slice *out)
{
    size_t start = (size_t)(line.ptr - bytes.ptr);
    size_t end = start + line.len;
    struct tc_slice name = tc_slice_trim(line);
    if (tc_slice_find_byte(name, ' ') != TC_NPOS || name.len < 2) {
        return false;
    }
    struct tc_slice above = neighbour(bytes, start, end, true);
    if (is_rule(above) && is_rule(neighbour(bytes, start, end, false))) {
        /* "gpu[01-04]" is more than one. */
        *out = tc_node_is_plain(name) ? name : TC_EMPTY;
        return true;
    }
    *out = name;
    return asks_for_host(above) && tc_node_is_name(name);
}

static bool read_heading(struct tc_slice bytes, struct tc_slice line, struct tc_slice *out)
{
    size_t marks = 0;
    struct tc_slice trimmed = tc_slice_trim(line);
    if (trimmed.len < 2 || line.len > HEADING_MAX) {
        return false;
    }
    struct tc_slice plain = without_marks(trimmed, &marks);
    return read_prompt(trimmed, out) || read_short_prompt(trimmed, out) ||
           ((marks > 0 || trimmed.ptr == line.ptr) && read_key(plain, out)) ||
           (marks > 0 && read_banner(plain, marks, out)) || read_program(trimmed, out) ||
           read_lone_name(bytes, line, out);
}

struct tc_slice tc__heading_above(const struct tc_codec_input *in, size_t at, uint64_t own[3])
{
    enum { SEEN_TO, NODE_AT, NODE_LEN };
    struct tc_slice raw;
    size_t next = 0;
    for (size_t from = (size_t)own[SEEN_TO]; from < at; from = next) {
        struct tc_slice node = TC_EMPTY;
        if (!tc__line_cut(in->bytes, from, &raw, &next)) {
            break;
        }
        if (read_heading(in->bytes, raw, &node)) {
            own[NODE_AT] = node.len == 0 ? 0 : (uint64_t)(node.ptr - in->bytes.ptr);
            own[NODE_LEN] = node.len;
        }
        own[SEEN_TO] = next;
    }
    return tc_slice_make(in->bytes.ptr + own[NODE_AT], (size_t)own[NODE_LEN]);
}

static void note_node(struct tc_node_said *io, struct tc_slice node)
{
    if (io->several || node.len == 0) {
        return;
    }
    if (io->node.len > 0 && !tc_slice_eq_nocase(io->node, node)) {
        io->several = true;
        io->node = TC_EMPTY;
        return;
    }
    io->node = node;
}

/* The column of a table that names nodes: sinfo, squeue, kubectl get pods -o wide. */
struct column {
    size_t at;
    bool is_last;
    bool known;
};

static bool find_column(struct tc_slice line, struct column *out)
{
    static const char *const names[] = {"NODELIST", "NODELIST(REASON)", "NODE", "HOSTNAMES", NULL};
    size_t words = 0;
    for (size_t at = 0; at < line.len && words < WORDS_MAX; words++) {
        size_t end = at;
        while (end < line.len && !tc_is_blank(line.ptr[end])) {
            end++;
        }
        struct tc_slice word = tc_slice_make(line.ptr + at, end - at);
        bool last = tc_slice_trim(tc_slice_from(line, end)).len == 0;
        if (tc_slice_which(word, names) >= 0 && (words > 0 || !last)) {
            *out = (struct column){.at = at, .is_last = last, .known = true};
            return true;
        }
        at = end;
        while (at < line.len && tc_is_blank(line.ptr[at])) {
            at++;
        }
    }
    return false;
}

static struct tc_slice cell_of(struct tc_slice line, const struct column *c)
{
    struct tc_slice rest = tc_slice_from(line, c->at);
    if (c->is_last) {
        size_t blank = tc_slice_find_last(tc_slice_trim(line), TC_LIT(" "));
        rest = tc_slice_from(tc_slice_trim(line), blank == TC_NPOS ? 0 : blank + 1);
    } else if (c->at > 0 && (c->at >= line.len || !tc_is_blank(line.ptr[c->at - 1]))) {
        return TC_EMPTY;
    }
    struct tc_slice name = cut_word(&rest);
    return tc_node_is_plain(name) ? name : TC_EMPTY;
}

/* A name in front of a line counts where the line has the date of a log, too. */
static struct tc_slice node_of_line(struct tc_slice bytes, struct tc_slice raw)
{
    struct tc_codec_input in = {.bytes = bytes, .boot_ns = TC_TIME_NONE, .now_ns = TC_TIME_MAX};
    struct tc__line line;
    tc__line_frame(&in, tc_slice_head(raw, TC_LINE_MAX), NULL, &line);
    struct tc_slice node = line.scope.node;
    bool counts = line.time_ns != TC_TIME_NONE ? tc_node_is_name(node) : tc_node_is_plain(node);
    return counts ? node : TC_EMPTY;
}

struct tc_node_said tc_node_said(struct tc_slice path, struct tc_slice bytes)
{
    struct tc_node_said said = {0};
    struct tc_slice head = tc_slice_head(bytes, SAID_BYTES);
    struct column column = {0};
    struct tc_slice raw;
    size_t next = 0;
    struct tc_slice alone = tc_slice_trim(head);
    if (tc_slice_starts(tc_path_base(path), TC_LIT("hostname")) && tc_node_is_name(alone)) {
        return (struct tc_node_said){.node = alone, .in_heading = true};
    }
    for (size_t at = 0, i = 0; i < SAID_LINES && tc__line_cut(head, at, &raw, &next); i++) {
        struct tc_slice node = TC_EMPTY;
        at = next;
        if (tc_slice_trim(raw).len == 0) {
            column.known = false;
        } else if (column.known) {
            note_node(&said, cell_of(raw, &column));
        } else if (read_heading(head, raw, &node)) {
            said.in_heading = true;
            note_node(&said, node);
        } else if (!find_column(raw, &column)) {
            note_node(&said, node_of_line(head, raw));
        }
    }
    return said;
}
