/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prefixes kernel messages come with, line by line; a file may mix them:
 *
 *   6,3964,206764307,-;msg                          /dev/kmsg
 *   <4>[  123.456789] msg                           dmesg -r
 *   [  123.456789][  T291] msg                      dmesg
 *   [  123.456789 <    0.000844>] msg               dmesg -d
 *   [  +0.000844] msg, [Sep19 02:29] msg            dmesg -H: undated, to the minute
 *   [Thu Sep 19 02:29:46 2024] msg                  dmesg -T
 *   kern  :warn  : 2025-01-21T04:41:44,285060+00:00 msg    dmesg -x, --time-format iso
 *   2019-08-19T04:18:38.274652-04:00 host kernel: [ 261.27] msg    rsyslog, journalctl
 *   2019-08-19T04:18:38.274652Z [  261.27] msg      a collector's time, kubectl logs
 *   Sep 19 16:18:02 host kernel: [68183.615790] msg        BSD syslog
 *   <3>1 2019-08-19T04:18:38Z host kernel - - - msg        RFC 5424
 *   Thu 2024-09-19 02:29:46 UTC host kernel: msg    journalctl -o short-full
 *   1726712986.123456 host kernel: msg              journalctl -o short-unix
 *   host kernel: msg, kernel: msg, msg              quoted without a time
 *
 * A line with a syslog date and another tag than "kernel:" is another program's. Of these
 * only systemd-oomd is read: "Sep 19 16:18:02 host systemd-oomd[812]: msg".
 */
#include "base/time.h"
#include "codec/kmsg/kmsg_priv.h"
#include "codec/lines/lines_priv.h"

#define CLOCK_LENGTH 8
/* A date in any language, with the name of the host. */
#define OTHER_DATE_MAX 128
/* Room for the longest time in brackets, with its delta. */
#define INNER_TIME_MAX 64
/* "authpriv:notice: ", the longest of these. */
#define DECODED_MAX 20
/* "message repeated N times": more is noise from outside, not a count. */
#define REPEAT_MAX 1000000000

static struct tc_slice word_of(struct tc_slice s, struct tc_slice *out_rest)
{
    struct tc_slice word = tc_slice_cut(s, ' ', out_rest);
    *out_rest = tc__kmsg_skip_spaces(*out_rest);
    return word;
}

/* "name[123]:" */
static bool is_program_tag(struct tc_slice word)
{
    size_t open = tc_slice_find_byte(word, '[');
    uint64_t pid = 0;
    if (open == TC_NPOS || open == 0) {
        return false;
    }
    struct tc_slice rest = tc_slice_from(word, open + 1);
    rest = tc_slice_from(rest, tc_slice_u64(rest, &pid));
    return tc_slice_eq(rest, TC_LIT("]:"));
}

/* A host's name has a letter or a digit ("..." is what people leave of one). */
static bool is_host(struct tc_slice word)
{
    bool has_name = false;
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        has_name = has_name || tc__kmsg_is_alnum(c);
        if (!tc__kmsg_is_alnum(c) && c != '-' && c != '.' && c != '_' && c != ':') {
            return false;
        }
    }
    return has_name && word.ptr[word.len - 1] != ':';
}

/* "INFO", as SONiC has it between host and tag. */
static bool is_level(struct tc_slice word)
{
    static const struct tc_slice levels[] = {
        {"EMERG", 5}, {"ALERT", 5},  {"CRIT", 4}, {"ERR", 3},     {"ERROR", 5},
        {"WARN", 4},  {"NOTICE", 6}, {"INFO", 4}, {"WARNING", 7}, {"DEBUG", 5},
    };
    for (size_t i = 0; i < TC_COUNT(levels); i++) {
        if (tc_slice_eq(word, levels[i])) {
            return true;
        }
    }
    return false;
}

/*
 * "[host] [kern.level] kernel:" at the start of *io_s, taken off with the uptime
 * behind it. False, *io_s as it was, when it is not there.
 */
static bool take_tag(const struct tc_codec_input *in, struct tc_slice *io_s,
                     struct tc__kmsg_line *out)
{
    struct tc_slice host = TC_EMPTY;
    struct tc_slice s = *io_s;
    struct tc_slice word = word_of(s, &s);
    if (!tc_slice_eq(word, TC_LIT("kernel:"))) {
        host = word;
        word = word_of(s, &s);
        if (tc_slice_starts(word, TC_LIT("kern.")) || is_level(word)) {
            word = word_of(s, &s);
        }
        if (!tc_slice_eq(word, TC_LIT("kernel:")) || tc_slice_ends(host, TC_LIT(":"))) {
            return false;
        }
    }
    if (is_host(host)) {
        out->node = host;
    }
    out->framed = true;
    (void)tc__kmsg_take_uptime(in, &s, out);
    *io_s = s;
    return true;
}

/* "systemd-oomd[812]:", "systemd-oomd:" */
static bool is_oomd_tag(struct tc_slice word)
{
    return tc__kmsg_take(&word, TC_LIT("systemd-oomd")) && word.len > 0 &&
           (tc_slice_eq(word, TC_LIT(":")) || word.ptr[0] == '[') &&
           tc_slice_ends(word, TC_LIT(":"));
}

/* The line is not the kernel's. Takes "[host] systemd-oomd[812]:" off where that is there. */
static void set_foreign(struct tc_slice *io_s, struct tc__kmsg_line *out)
{
    struct tc_slice host = TC_EMPTY;
    struct tc_slice s = *io_s;
    struct tc_slice word = word_of(s, &s);
    if (!is_oomd_tag(word)) {
        host = word;
        word = word_of(s, &s);
    }
    out->origin = TC__KMSG_FOREIGN;
    if (!is_oomd_tag(word)) {
        return;
    }
    out->origin = TC__KMSG_OOMD;
    out->node = is_host(host) ? host : out->node;
    *io_s = s;
}

/* 206764307 of "6,3964,206764307,-;msg". Facilities other than 0 are written by programs. */
static bool take_record(const struct tc_codec_input *in, struct tc_slice *io_s,
                        struct tc__kmsg_line *out)
{
    struct tc_slice s = *io_s;
    uint64_t field[3] = {0};
    /* netconsole puts the kernel's release in front: "6.4.0,4,18821,77120332104,-;msg". */
    struct tc_slice release = tc_slice_cut(s, ',', &s);
    s = tc_slice_find_byte(release, '.') == TC_NPOS ? *io_s : s;
    for (size_t i = 0; i < 3; i++) {
        size_t used = tc_slice_u64(s, &field[i]);
        if (used == 0 || used >= s.len || s.ptr[used] != ',') {
            return false;
        }
        s = tc_slice_from(s, used + 1);
    }
    size_t end = tc_slice_find_byte(s, ';');
    if (end == TC_NPOS || strchr("-c+", s.ptr[0]) == NULL || s.ptr[0] == '\0') {
        return false;
    }
    if (field[2] < INT64_MAX / 1000) {
        tc__kmsg_set_uptime(in, (int64_t)field[2] * 1000, out);
    }
    out->origin = field[0] >> 3 == 0 ? TC__KMSG_KERNEL : TC__KMSG_FOREIGN;
    out->framed = true;
    out->sure = true;
    *io_s = tc_slice_from(s, end + 1);
    return true;
}

/* "<4>" of dmesg -r: the priority, with the facility in its upper bits. "113 <4>": with the length
 * of the line before it, as syslog over TCP has it. */
static bool take_priority(struct tc_slice *io_s, struct tc__kmsg_line *out)
{
    struct tc_slice s = *io_s;
    uint64_t priority = 0;
    struct tc_slice counted = tc_slice_from(s, tc_slice_u64(s, &priority));
    s = tc_slice_starts(counted, TC_LIT(" <")) ? tc_slice_from(counted, 1) : s;
    if (!tc__kmsg_take(&s, TC_LIT("<"))) {
        return false;
    }
    s = tc_slice_from(s, tc_slice_u64(s, &priority));
    if (s.len + 1 >= io_s->len || !tc__kmsg_take(&s, TC_LIT(">"))) {
        return false;
    }
    out->origin = priority >> 3 == 0 ? TC__KMSG_KERNEL : TC__KMSG_FOREIGN;
    *io_s = s;
    return true;
}

/* The structured data of RFC 5424: "-", or elements in brackets with quoted values. */
static bool take_data(struct tc_slice *io_s)
{
    struct tc_slice s = *io_s;
    bool quoted = false;
    bool open = tc_slice_starts(s, TC_LIT("["));
    if (!open && !tc_slice_starts(s, TC_LIT("-"))) {
        return false;
    }
    size_t end = 1;
    for (; open && end < s.len; end++) {
        if (quoted && s.ptr[end] == '\\') {
            end++;
        } else if (s.ptr[end] == '"') {
            quoted = !quoted;
        } else if (!quoted && s.ptr[end] == ']') {
            open = end + 1 < s.len && s.ptr[end + 1] == '[';
        }
    }
    s = tc_slice_from(s, end);
    if (open || (s.len > 0 && s.ptr[0] != ' ')) {
        return false;
    }
    *io_s = tc__kmsg_skip_spaces(s);
    return true;
}

/* "1 2026-03-07T10:00:00Z host app process message-id data " of RFC 5424, behind the priority. */
static bool take_rfc5424(const struct tc_codec_input *in, struct tc_slice *io_s,
                         struct tc__kmsg_line *out)
{
    struct tc_slice s = *io_s;
    int64_t ns = TC_TIME_NONE;
    if (!tc__kmsg_take(&s, TC_LIT("1 "))) {
        return false;
    }
    struct tc_slice time = word_of(s, &s);
    if (!tc_slice_eq(time, TC_LIT("-")) && tc_time_parse(time, in->utc_offset_s, &ns) != time.len) {
        return false;
    }
    struct tc_slice host = word_of(s, &s);
    struct tc_slice app = word_of(s, &s);
    (void)word_of(s, &s);
    (void)word_of(s, &s);
    if (time.len == 0 || !take_data(&s)) {
        return false;
    }
    if (is_host(host)) {
        out->node = host;
    }
    if (!tc_slice_eq(app, TC_LIT("kernel"))) {
        bool oomd = tc_slice_eq(app, TC_LIT("systemd-oomd"));
        out->origin = oomd ? TC__KMSG_OOMD : TC__KMSG_FOREIGN;
    }
    tc__kmsg_set_date(ns, out);
    out->framed = true;
    s = tc_slice_from(s, tc_slice_bom(s));
    (void)tc__kmsg_take_uptime(in, &s, out);
    *io_s = s;
    return true;
}

/* "kern  :warn  : " of dmesg -x: two words padded to six columns. */
static void take_decoded(struct tc_slice *io_s, struct tc__kmsg_line *out)
{
    static const struct tc_slice levels[] = {
        {"emerg", 5},  {"alert", 5}, {"crit", 4},  {"err", 3},     {"warn", 4},
        {"notice", 6}, {"info", 4},  {"debug", 5}, {"warning", 7}, {"error", 5},
    };
    struct tc_slice rest;
    struct tc_slice facility = tc_slice_cut(tc_slice_head(*io_s, DECODED_MAX), ':', &rest);
    struct tc_slice level = tc_slice_cut(rest, ':', &rest);
    struct tc_slice word = tc_slice_trim(level);
    for (size_t i = 0; i < TC_COUNT(levels) && word.len > 0; i++) {
        if (tc_slice_eq(word, levels[i])) {
            bool kernel = tc_slice_eq(tc_slice_trim(facility), TC_LIT("kern"));
            out->origin = kernel ? TC__KMSG_KERNEL : TC__KMSG_FOREIGN;
            out->framed = true;
            *io_s = tc__kmsg_skip_spaces(tc_slice_from(*io_s, facility.len + level.len + 2));
            return;
        }
    }
}

/*
 * "[  123.4]" or "[Thu Sep 19 02:29:46 2024]" behind the time of whoever collected the line. A
 * number without a fraction would be a program's process id.
 */
static bool take_inner_time(const struct tc_codec_input *in, struct tc_slice *io_s,
                            struct tc__kmsg_line *out)
{
    struct tc_slice rest;
    struct tc_slice inside = tc_slice_cut(tc_slice_head(*io_s, INNER_TIME_MAX), ']', &rest);
    if (!(tc_slice_contains(inside, TC_LIT(".")) && tc__kmsg_take_uptime(in, io_s, out)) &&
        !tc__kmsg_take_bracket_date(in, io_s, out)) {
        return false;
    }
    out->framed = true;
    (void)take_tag(in, io_s, out);
    return true;
}

/*
 * An ISO time. dmesg writes a comma before the fraction, and the message follows;
 * after any other a "host name[pid]:" means that a program logged the line.
 */
static bool take_iso(const struct tc_codec_input *in, struct tc_slice *io_s,
                     struct tc__kmsg_line *out)
{
    int64_t ns = 0;
    struct tc_slice s = *io_s;
    size_t used = tc_time_parse(s, in->utc_offset_s, &ns);
    if (used == 0 || (used < s.len && s.ptr[used] != ' ')) {
        return false;
    }
    bool dmesg = s.ptr[10] == 'T' && used > 19 && s.ptr[19] == ',';
    tc__kmsg_set_date(ns, out);
    s = tc__kmsg_skip_spaces(tc_slice_from(s, used));
    if (!take_tag(in, &s, out) && (dmesg || !take_inner_time(in, &s, out))) {
        struct tc_slice rest;
        struct tc_slice host = word_of(s, &rest);
        struct tc_slice tag = word_of(rest, &rest);
        bool program = !dmesg && (is_program_tag(host) || is_program_tag(tag) ||
                                  is_oomd_tag(host) || is_oomd_tag(tag));
        out->framed = out->framed || dmesg || program;
        if (program) {
            set_foreign(&s, out);
        }
    }
    *io_s = s;
    return true;
}

/* "Sep 19 16:18:02 host tag: ": every such line has a tag, so without ours it is foreign. */
static bool take_syslog(const struct tc_codec_input *in, struct tc_slice *io_s,
                        struct tc__kmsg_line *out)
{
    if (!tc__kmsg_take_syslog_date(in, io_s, out) && !tc__kmsg_take_full_date(in, io_s, out)) {
        return false;
    }
    out->framed = true;
    if (!take_tag(in, io_s, out)) {
        set_foreign(io_s, out);
    }
    return true;
}

/* "1726712986.123456 host tag: ": a number alone says little, so it takes the tag too. */
static bool take_unix(const struct tc_codec_input *in, struct tc_slice *io_s,
                      struct tc__kmsg_line *out)
{
    struct tc_slice s = *io_s;
    struct tc__kmsg_line line = *out;
    struct tc_slice rest;
    if (!tc__kmsg_take_unix(&s, &line)) {
        return false;
    }
    if (!take_tag(in, &s, &line)) {
        (void)word_of(s, &rest);
        if (!is_program_tag(word_of(rest, &rest))) {
            return false;
        }
        set_foreign(&s, &line);
        line.framed = true;
    }
    *out = line;
    *io_s = s;
    return true;
}

/* " SUBSYSTEM=pci": what /dev/kmsg prints after a record. */
static bool is_continuation(struct tc_slice s)
{
    size_t at = 1;
    while (at < s.len && (tc__kmsg_is_upper(s.ptr[at]) || s.ptr[at] == '_')) {
        at++;
    }
    return s.len > 0 && s.ptr[0] == ' ' && at > 1 && at < s.len && s.ptr[at] == '=';
}

void tc__kmsg_frame_message(const struct tc_codec_input *in, struct tc_slice message,
                            struct tc__kmsg_line *out)
{
    struct tc_slice s = tc_slice_trim(message);
    struct tc_slice inner = s;
    uint64_t count = 0;
    out->message = s;
    if (!tc__kmsg_take(&inner, TC_LIT("message repeated "))) {
        return;
    }
    inner = tc_slice_from(inner, tc_slice_u64(inner, &count));
    if (count == 0 || count > REPEAT_MAX || !tc__kmsg_take(&inner, TC_LIT(" times: [")) ||
        !tc_slice_ends(inner, TC_LIT("]"))) {
        return;
    }
    inner = tc_slice_trim(tc_slice_head(inner, inner.len - 1));
    (void)tc__kmsg_take_uptime(in, &inner, out);
    out->message = inner;
    out->count = (int64_t)count;
}

/* Whether "10:00:00" is in the text: a date, whatever the language of the rest. */
static bool has_clock(struct tc_slice s)
{
    for (size_t i = 0; i + CLOCK_LENGTH <= s.len; i++) {
        const char *p = s.ptr + i;
        if (p[2] == ':' && p[5] == ':' && tc__kmsg_is_digit(p[0]) && tc__kmsg_is_digit(p[1]) &&
            tc__kmsg_is_digit(p[3]) && tc__kmsg_is_digit(p[4]) && tc__kmsg_is_digit(p[6]) &&
            tc__kmsg_is_digit(p[7])) {
            return true;
        }
    }
    return false;
}

/*
 * Dates that are not read: "[\xe4\xba\x8c 9\xe6\x9c\x88  3 05:57:48 2024] msg", "Okt 06 17:59:27
 * host kernel: msg". The line counts without one.
 */
static bool take_other_date(const struct tc_codec_input *in, struct tc_slice *io_s,
                            struct tc__kmsg_line *out)
{
    struct tc_slice head = tc_slice_head(*io_s, OTHER_DATE_MAX);
    struct tc_slice rest;
    if (tc_slice_starts(head, TC_LIT("["))) {
        struct tc_slice inside = tc_slice_cut(head, ']', &rest);
        if (inside.len == head.len || !has_clock(inside)) {
            return false;
        }
        /* Other programs have such dates too: this does not make it a line of the kernel. */
        *io_s = tc__kmsg_skip_spaces(tc_slice_from(*io_s, inside.len + 1));
        return true;
    }
    size_t tag = tc_slice_find(head, TC_LIT(" kernel: "));
    if (tag == TC_NPOS || !has_clock(tc_slice_head(head, tag))) {
        return false;
    }
    size_t host = tc_slice_find_last(tc_slice_head(head, tag), TC_LIT(" "));
    *io_s = tc_slice_from(*io_s, host == TC_NPOS ? 0 : host + 1);
    return take_tag(in, io_s, out);
}

static void take_prefixes(const struct tc_codec_input *in, struct tc_slice *io_s,
                          struct tc__kmsg_line *out)
{
    if (take_priority(io_s, out) && take_rfc5424(in, io_s, out)) {
        return;
    }
    take_decoded(io_s, out);
    if (tc__kmsg_take_uptime(in, io_s, out) || tc__kmsg_take_bracket_date(in, io_s, out)) {
        out->framed = true;
        (void)take_tag(in, io_s, out);
    } else if (!take_iso(in, io_s, out) && !take_syslog(in, io_s, out) &&
               !take_unix(in, io_s, out) && !take_tag(in, io_s, out)) {
        (void)take_other_date(in, io_s, out);
    }
}

static bool has_digit(struct tc_slice s)
{
    bool any = false;
    for (size_t i = 0; i < s.len; i++) {
        any = any || tc__kmsg_is_digit(s.ptr[i]);
    }
    return any;
}

/* "gpu07: [  1.0] msg" of pdsh, "10.1.1.9: kern: warning: [...]: msg" of talosctl. Devices have the
 * same form ("nvme0n1: I/O error"), so a line of the kernel has to follow. */
static bool take_host(const struct tc_codec_input *in, struct tc_slice *io_s,
                      struct tc__kmsg_line *io)
{
    struct tc_slice rest;
    struct tc_slice host = tc_slice_cut(*io_s, ' ', &rest);
    struct tc__kmsg_line line = *io;
    if (!tc_slice_ends(host, TC_LIT(":")) || !is_host(tc_slice_head(host, host.len - 1)) ||
        !has_digit(host)) {
        return false;
    }
    take_prefixes(in, &rest, &line);
    if (!line.framed && !tc_slice_starts(rest, TC_LIT("NVRM: "))) {
        return false;
    }
    if (line.node.len == 0 || tc_slice_eq(line.node, in->node)) {
        line.node = tc_slice_head(host, host.len - 1);
    }
    *io = line;
    *io_s = rest;
    return true;
}

void tc__kmsg_frame(const struct tc_codec_input *in, struct tc_slice raw, struct tc__kmsg_line *out)
{
    struct tc_slice s = tc_slice_from(raw, tc_slice_bom(raw));
    *out = (struct tc__kmsg_line){.raw = raw,
                                  .node = in->node,
                                  .time_ns = TC_TIME_NONE,
                                  .uptime_ns = TC_TIME_NONE,
                                  .count = 1,
                                  .origin = TC__KMSG_KERNEL};
    if (tc_slice_starts(s, TC_LIT("#"))) {
        out->origin = TC__KMSG_COMMENT;
        return;
    }
    if (is_continuation(s)) {
        out->origin = TC__KMSG_CONTINUATION;
        return;
    }
    if (tc_slice_starts(s, TC_LIT("{")) && tc__kmsg_frame_json(in, s, out)) {
        return;
    }
    struct tc__line around;
    tc__line_unwrap(in, s, NULL, &around);
    s = around.text;
    out->time_ns = around.time_ns;
    out->node = around.scope.node.len > 0 ? around.scope.node : out->node;
    if (!take_record(in, &s, out) && !take_host(in, &s, out)) {
        take_prefixes(in, &s, out);
    }
    if (out->origin == TC__KMSG_FOREIGN && tc__kmsg_take(&s, TC_LIT("[talos] "))) {
        out->origin = TC__KMSG_OOMD; /* its OOM controller does what systemd-oomd does */
    }
    tc__kmsg_frame_message(in, s, out);
}
