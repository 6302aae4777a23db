/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands around messages:
 *
 *   {"log":"MESSAGE\n","stream":"stdout","time":"2026-11-03T10:00:00Z"}      Docker's json-file
 *   {"MESSAGE":"...","_HOSTNAME":"gpu07","__REALTIME_TIMESTAMP":"179..."}    journalctl -o json
 *   {"@timestamp":"...","message":"...","kubernetes":{"pod_name":"..."}}     Fluent Bit, Vector
 *   {"stream":{"host":"gpu07"},"values":[["179...","MESSAGE"],...]}          Loki
 *   2026-11-03T10:00:00.1Z stdout F MESSAGE                                  CRI
 *   [pod/POD/CONTAINER] MESSAGE                                              kubectl logs --prefix
 *   Nov  3 10:00:00 gpu07 kubelet[812]: MESSAGE                              syslog
 *   <13>1 2026-11-03T10:00:00.1Z gpu07 train 812 - - MESSAGE                 syslog, RFC 5424
 *   2026-11-03T10:00:00.123456789Z MESSAGE                                   kubectl, docker logs
 * -t trainer-3  | MESSAGE                                                     docker compose gpu07:
 * MESSAGE                                                           pdsh, clush, dsh [1,5]<stderr>:
 * MESSAGE                                                   mpirun --tag-output
 *   [1,mpirank:5,algo-2]<stderr>:MESSAGE                                     SageMaker
 *   [5]<stderr>:MESSAGE                                                      horovodrun
 *   (Worker pid=12, ip=10.0.0.7) MESSAGE                                     Ray
 *   [rank5]: MESSAGE, [default5]:MESSAGE                                     torchrun
 *   5: MESSAGE                                                               srun --label
 *   > MESSAGE                                                                a quotation
 */
#include "base/json/raw.h"
#include "base/limits.h"
#include "base/time.h"
#include "codec/lines/lines_priv.h"
#include "codec/match_priv.h"
#include "codec/otlp/json_priv.h"

#include <string.h>

/* An epoch in seconds, milliseconds, microseconds or nanoseconds has so many digits or more. */
#define DIGITS_MS 12
#define DIGITS_US 15
#define DIGITS_NS 18
/* Labels and wrappings are small; the members that are looked at. */
#define MEMBERS_MAX 256
/* Objects in objects: _source, host. */
#define NESTED_DEPTH 2
/* Prefixes of one line. */
#define MARKS_MAX 4

enum field {
    TEXT,
    TIME,
    NODE,
    INSTANCE,
    NAMESPACE,
    POD,
    POD_UID,
    CONTAINER,
    RANK,
    NESTED,
    FIELD_COUNT
};

/* Members of wrappings and labels, by what they hold. Of two of one line the first counts. */
static const struct {
    const char *name;
    enum field field;
} MEMBERS[] = {
    {"log", TEXT},
    {"message", TEXT},
    {"MESSAGE", TEXT},
    {"msg", TEXT},
    {"line", TEXT},
    {"textPayload", TEXT},
    {"time", TIME},
    {"@timestamp", TIME},
    {"timestamp", TIME},
    {"__REALTIME_TIMESTAMP", TIME},
    {"date", TIME},
    {"ts", TIME},
    {"_HOSTNAME", NODE},
    {"host", NODE},
    {"hostname", NODE},
    {"host_name", NODE},
    {"host.name", NODE},
    {"HOSTNAME", NODE},
    {"Host", NODE},
    {"Hostname", NODE},
    {"HostName", NODE},
    {"Computer", NODE}, /* Azure Monitor */
    {"node", NODE},
    {"node_name", NODE},
    {"nodename", NODE},
    {"nodeName", NODE},
    {"k8s.node.name", NODE},
    {"k8s_node_name", NODE},
    {"kubernetes_host", NODE},
    {"kubernetes_node_name", NODE},
    {"compute.googleapis.com/resource_name", NODE},
    {"instance", INSTANCE},
    {"namespace_name", NAMESPACE},
    {"namespace", NAMESPACE},
    {"pod_name", POD},
    {"pod", POD},
    {"pod_id", POD_UID},
    {"container_name", CONTAINER},
    {"container", CONTAINER},
    {"rank", RANK},
    {"global_rank", RANK},
    {"world_rank", RANK},
    {"RANK", RANK},
    {"talos-time", TIME},
    {"kubernetes", NESTED},
    {"_source", NESTED},
    {"jsonPayload", NESTED},
    {"stream", NESTED},
    {"labels", NESTED},
    {"fields", NESTED},
    {"resource", NESTED},
    {"metadata", NESTED},
};

static enum field field_of(struct tc_slice key)
{
    size_t i = tc_slice_row(key, MEMBERS, name);
    return i < TC_COUNT(MEMBERS) ? MEMBERS[i].field : FIELD_COUNT;
}

/* A string without its quotes, or anything else as it is. */
static struct tc_slice inside(struct tc_slice value)
{
    bool quoted = value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"';
    return quoted ? tc_slice_make(value.ptr + 1, value.len - 2) : value;
}

static void read_members(struct tc_slice members, struct tc_slice fields[FIELD_COUNT], int depth)
{
    struct tc_slice key;
    struct tc_slice value;
    size_t at = 0;
    for (unsigned i = 0; i < MEMBERS_MAX && tc_json_raw_member(members, &at, &key, &value); i++) {
        enum field f = field_of(key);
        bool object = tc_slice_starts(value, TC_LIT("{"));
        struct tc_slice name;
        if (f == NODE && object && fields[NODE].len == 0 &&
            tc_json_raw_get(value, TC_LIT("name"), &name) && tc_slice_starts(name, TC_LIT("\""))) {
            fields[NODE] = inside(name); /* Elastic Common Schema: host.name */
        } else if ((f == NESTED || f == NODE) && depth > 0 && object) {
            read_members(value, fields, depth - 1);
        } else if (f < NESTED && fields[f].len == 0 && !object &&
                   !tc_slice_starts(value, TC_LIT("["))) {
            fields[f] = inside(value);
        }
    }
}

/* "2026-11-03T10:00:00Z", "1793700000", "1793700000.5", "1793700000000000000" */
static int64_t epoch_or_date(const struct tc_codec_input *in, struct tc_slice text)
{
    int64_t ns = TC_TIME_NONE;
    uint64_t number = 0;
    size_t used = tc_slice_u64(text, &number);
    if (used == text.len || (used > 8 && text.ptr[used] == '.')) {
        int64_t unit = used >= DIGITS_NS   ? 1
                       : used >= DIGITS_US ? 1000
                       : used >= DIGITS_MS ? 1000000
                                           : TC_SECOND;
        double fraction = 0;
        (void)tc__text_number(tc_slice_from(text, used), &fraction);
        if (used == 0 || number > (uint64_t)(TC_TIME_MAX / unit)) {
            return TC_TIME_NONE;
        }
        return (int64_t)number * unit + (unit == TC_SECOND ? (int64_t)(fraction * 1e9) : 0);
    }
    return tc_time_parse(text, in->utc_offset_s, &ns) > 0 && ns >= 0 && ns <= TC_TIME_MAX
               ? ns
               : TC_TIME_NONE;
}

static struct tc_slice unescape(struct tc_slice raw, struct tc_arena *arena)
{
    size_t len = 0;
    while (tc_slice_ends(raw, TC_LIT("\\n")) || tc_slice_ends(raw, TC_LIT("\\r"))) {
        raw.len -= 2;
    }
    if (arena == NULL || raw.len == 0 || memchr(raw.ptr, '\\', raw.len) == NULL) {
        return raw;
    }
    char *to = tc_new(arena, char, raw.len + 1);
    return to != NULL && tc__json_unescape(raw, to, &len) ? tc_slice_make(to, len) : raw;
}

static void set_if_empty(struct tc_slice *io, struct tc_slice value)
{
    *io = io->len == 0 && value.len <= TC_SCOPE_TEXT_MAX ? value : *io;
}

static int32_t rank_of(struct tc_slice digits)
{
    uint64_t rank = 0;
    return tc_slice_is_u64(digits, &rank) && rank <= TC_FR_RANK_MAX ? (int32_t)rank : -1;
}

/* "gpu07:9100" of a scraper names the host and the port. */
static struct tc_slice without_port(struct tc_slice instance)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    return tc__text_match(instance, "{0%n}:%d$", got) ? got[0] : instance;
}

/* Who the members say that it is from. */
static void set_scope(const struct tc_slice fields[FIELD_COUNT], struct tc_scope *io)
{
    set_if_empty(&io->node, fields[NODE].len > 0 ? fields[NODE] : without_port(fields[INSTANCE]));
    set_if_empty(&io->ns, fields[NAMESPACE]);
    set_if_empty(&io->pod, fields[POD]);
    set_if_empty(&io->pod_uid, fields[POD_UID]);
    set_if_empty(&io->container, fields[CONTAINER]);
    io->rank = io->rank >= 0 ? io->rank : rank_of(fields[RANK]);
}

/* True when the line is an object around a message. */
static bool take_json(const struct tc_codec_input *in, struct tc_arena *arena, struct tc__line *io)
{
    struct tc_slice fields[FIELD_COUNT] = {0};
    if (!tc_slice_starts(io->text, TC_LIT("{"))) {
        return false;
    }
    read_members(io->text, fields, NESTED_DEPTH);
    if (fields[TEXT].len == 0) {
        return false;
    }
    if (fields[TIME].len > 0 && io->time_ns == TC_TIME_NONE) {
        io->time_ns = epoch_or_date(in, fields[TIME]);
    }
    set_scope(fields, &io->scope);
    io->text = tc_slice_trim(unescape(fields[TEXT], arena));
    return true;
}

/* ["179...","MESSAGE"]: a line of Loki, cut out by tc__line_cut. What labels it is before it. */
static bool take_pair(const struct tc_codec_input *in, struct tc_arena *arena, struct tc__line *io)
{
    struct tc_slice stamp;
    struct tc_slice text;
    size_t at = 0;
    if (!tc_slice_starts(io->text, TC_LIT("[\"")) || !tc_json_raw_element(io->text, &at, &stamp) ||
        !tc_json_raw_element(io->text, &at, &text) || !tc_slice_starts(text, TC_LIT("\""))) {
        return false;
    }
    int64_t ns = epoch_or_date(in, inside(stamp));
    if (ns == TC_TIME_NONE) {
        return false;
    }
    /* Its labels: the object "stream" in front of the values that it stands in. */
    struct tc_slice before = tc_slice_make(in->bytes.ptr, (size_t)(io->raw.ptr - in->bytes.ptr));
    before = tc_slice_from(before, before.len > TC_LINE_MAX ? before.len - TC_LINE_MAX : 0);
    size_t values = tc_slice_find_last(before, TC_LIT("\"values\""));
    size_t labels = tc_slice_find_last(tc_slice_head(before, values), TC_LIT("\"stream\""));
    if (values != TC_NPOS && labels != TC_NPOS) {
        struct tc_slice fields[FIELD_COUNT] = {0};
        struct tc_slice object;
        size_t from = labels + sizeof "\"stream\":" - 1;
        if (tc_json_raw_value(before, &from, &object)) {
            read_members(object, fields, 0);
            set_scope(fields, &io->scope);
        }
    }
    io->time_ns = ns;
    io->text = tc_slice_trim(unescape(inside(text), arena));
    return true;
}

bool tc__line_cut(struct tc_slice bytes, size_t at, struct tc_slice *out_raw, size_t *out_next)
{
    if (at >= bytes.len) {
        return false;
    }
    struct tc_slice rest = tc_slice_from(bytes, at);
    struct tc_slice line = tc_slice_head(rest, tc_slice_find_byte(rest, '\n'));
    *out_raw = tc_slice_ends(line, TC_LIT("\r")) ? tc_slice_head(line, line.len - 1) : line;
    *out_next = at + line.len + (at + line.len < bytes.len);
    return true;
}

bool tc__line_cut_pair(struct tc_slice line, size_t hit, struct tc_slice *out)
{
    struct tc_slice before = tc_slice_head(line, hit);
    size_t at = tc_slice_find_last(before, TC_LIT("[\""));
    struct tc_slice got[TC__TEXT_SLOTS];
    size_t end = at;
    return at != TC_NPOS && tc__text_match(tc_slice_from(line, at), "[\"%d\",%s\"", got) &&
           tc_json_raw_value(line, &end, out) && end > hit;
}

/* Prefixes of one line that say who wrote it, each as a pattern of what is in front. */
enum who { WHO_NODE, WHO_RANK, WHO_POD, WHO_LABEL, WHO_TASK, WHO_PROCESS };

static const struct {
    /* slot 0: who; 1: the container; 2: the node; 3: the process; 5: the rest */
    const char *pattern;
    enum who who;
} PREFIXES[] = {
    {"[pod/{0*}/{1*}] {5*}", WHO_POD},
    {"[<%d|prterun-*@%d>,{0%d}]%<std<out|err>%>:{5*}", WHO_RANK},
    {"[%d,mpirank:{0%d},{2*}]%<std<out|err>%>:{5*}", WHO_RANK},
    {"[{0%d}]%<std<out|err>%>:{5*}", WHO_RANK},
    /* mpirun --timestamp-output: "Fri Mar 14 10:02:05 2025[1,5]<stderr>:" */
    {"%n %n %s%d %d:%d:%d %d[%d,{0%d}]%<std<out|err>%>:{5*}", WHO_RANK},
    {"[rank{0%d}]:{5*}", WHO_RANK},
    /* What people give their loggers. */
    {"[rank<=| >{0%d}]<:|> {5*}", WHO_RANK},
    {"rank<=| >{0%d}: {5*}", WHO_RANK},
    {"rank={0%d} {5*}", WHO_RANK},
    /* Local ranks and tasks of srun, which need not be ranks. */
    {"[default{0%d}]:{5*}", WHO_LABEL},
    {"{0%d}: {5*}", WHO_TASK},
    {"(%n pid={3%d}, ip={0%w}) {5*}", WHO_NODE},
    {"(raylet, ip={0%w}) {5*}", WHO_NODE},
    {"(%n pid={0%d}) {5*}", WHO_PROCESS},
    {"(raylet) {5*}", WHO_LABEL},
};

static bool is_name_byte(char c)
{
    return tc_is_word(c) || c == '-' || c == '.';
}

/* "gpu07: message": a name with a letter and a digit, as hosts have, and a blank behind the colon.
 */
static bool take_host(struct tc__line *io)
{
    bool letter = false;
    bool digit = false;
    size_t len = 0;
    for (; len < io->text.len && is_name_byte(io->text.ptr[len]); len++) {
        digit = digit || tc_is_digit(io->text.ptr[len]);
        letter = letter || io->text.ptr[len] > '9';
    }
    if (!digit || !tc_slice_starts(tc_slice_from(io->text, len), TC_LIT(": ")) ||
        (!letter && memchr(io->text.ptr, '.', len) == NULL)) {
        return false;
    }
    set_if_empty(&io->scope.node, tc_slice_head(io->text, len));
    io->text = tc_slice_from(io->text, len + 2);
    return true;
}

/* "host prog[812]: " or "host prog: " behind a date of syslog or an ISO one. */
static void take_program(struct tc__line *io)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    if (tc__text_match(io->text, "%n %s%d %d:%d:%d<.%d|> {0%n} {1%n}: {5*}", got) ||
        tc__text_match(io->text,
                       "%d-%d-%dT%d:%d:%d<.%d|><Z|+%d:%d|-%d:%d|+%d|-%d> {0%n} {1%n}: {5*}", got) ||
        tc__text_match(io->text, "%<%d%>1 %p {0%p} %p %p %p <-|{2[*]}> {5*}", got)) {
        struct tc_slice data[TC__TEXT_SLOTS];
        set_if_empty(&io->scope.node, got[0]);
        if (tc__text_match(got[2], "* rank=\"{0%d}\"", data)) {
            io->scope.rank = rank_of(data[0]);
        }
        io->text = got[5];
    }
}

static void set_pid(struct tc__line *io, struct tc_slice digits)
{
    uint64_t pid = 0;
    if (tc_slice_is_u64(digits, &pid) && pid > 0 && pid <= UINT32_MAX) {
        io->scope.pid = (int64_t)pid;
    }
}

static bool take_prefix(struct tc__line *io)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    size_t i = 0;
    while (i < TC_COUNT(PREFIXES) && !tc__text_match(io->text, PREFIXES[i].pattern, got)) {
        i++;
    }
    if (i == TC_COUNT(PREFIXES)) {
        return false;
    }
    switch (PREFIXES[i].who) {
    case WHO_POD:
        set_if_empty(&io->scope.pod, got[0]);
        set_if_empty(&io->scope.container, got[1]);
        break;
    case WHO_NODE:
        set_if_empty(&io->scope.node, got[0]);
        set_pid(io, got[3]);
        break;
    case WHO_RANK:
        set_if_empty(&io->scope.node, got[2]);
        io->scope.rank = rank_of(got[0]) >= 0 ? rank_of(got[0]) : io->scope.rank;
        break;
    case WHO_TASK:
        io->task = rank_of(got[0]);
        set_if_empty(&io->label, got[0]);
        break;
    case WHO_PROCESS:
        set_pid(io, got[0]);
        set_if_empty(&io->label, got[0]);
        break;
    case WHO_LABEL:
        set_if_empty(&io->label, got[0]);
        break;
    }
    io->text = tc_slice_trim(got[5]);
    return true;
}

/* "trainer-3  | message", "trainer-3 exited with code 1": a container of docker compose, which
 * ends in its number. */
static bool take_replica(struct tc__line *io)
{
    size_t len = 0;
    while (len < io->text.len && is_name_byte(io->text.ptr[len])) {
        len++;
    }
    size_t digits = len;
    while (digits > 0 && tc_is_digit(io->text.ptr[digits - 1])) {
        digits--;
    }
    struct tc_slice name = tc_slice_head(io->text, len);
    struct tc_slice rest = tc_slice_trim(tc_slice_from(io->text, len));
    bool numbered = digits > 1 && digits < len && !tc_is_digit(name.ptr[0]) &&
                    (name.ptr[digits - 1] == '-' || name.ptr[digits - 1] == '_');
    bool ended = tc_slice_starts(rest, TC_LIT("exited with code "));
    if (!numbered || len == io->text.len || io->text.ptr[len] != ' ' ||
        !(ended || tc_slice_starts(rest, TC_LIT("| ")))) {
        return false;
    }
    set_if_empty(&io->scope.container, name);
    io->replica = rank_of(tc_slice_from(name, digits));
    io->text = ended ? rest : tc_slice_trim(tc_slice_from(rest, 2));
    return true;
}

/* What kubectl logs --timestamps, docker logs -t and CloudWatch put in front. */
static void take_stamp(struct tc__line *io)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    if (tc__text_match(io->text, "%d-%d-%dT%d:%d:%d.%dZ {5*}", got)) {
        io->text = tc_slice_trim(got[5]);
    }
}

/* "dmesg.txt", "logs/rank3.log": what grep puts in front when it searches several files. */
static bool is_log_file(struct tc_slice name)
{
    return tc_slice_ends(name, TC_LIT(".txt")) || tc_slice_ends(name, TC_LIT(".log")) ||
           tc_slice_ends(name, TC_LIT(".out")) || tc_slice_ends(name, TC_LIT(".err"));
}

/* Colours at the start, and what people and grep put in front: "> ", "12:", "dmesg.txt:12:". */
static void take_marks(struct tc__line *io)
{
    for (int i = 0; i < MARKS_MAX; i++) {
        struct tc_slice got[TC__TEXT_SLOTS];
        struct tc_slice before = io->text;
        io->quoted |= tc_slice_starts(io->text, TC_LIT("> "));
        if (tc_slice_starts(io->text, TC_LIT("> ")) || tc_slice_starts(io->text, TC_LIT("\x1e")) ||
            tc_slice_starts(io->text, TC_LIT("\x1b"))) {
            if (tc__text_match(io->text, "%s{5*}", got) && got[5].len < io->text.len) {
                io->text = got[5];
            } else {
                io->text = tc_slice_from(io->text, 1);
            }
        } else if (tc__text_match(io->text, "data: {5%{*}", got) ||
                   tc__text_match(io->text, "%d:{5[*}", got) ||
                   tc__text_match(io->text, "%d:{5NVRM*}", got) ||
                   (is_log_file(tc_slice_head(io->text, tc_slice_find_byte(io->text, ':'))) &&
                    tc__text_match(io->text, "{0%n}:<%d:|>{5*}", got))) {
            io->text = got[5];
        }
        io->text = tc_slice_trim(io->text);
        if (io->text.ptr == before.ptr) {
            return;
        }
    }
}

/* Whether the second word begins with that byte: most lines need no closer look. */
static bool has_second(struct tc_slice text, char first)
{
    size_t blank = tc_slice_find_byte(text, ' ');
    return blank != TC_NPOS && blank + 1 < text.len && text.ptr[blank + 1] == first;
}

/* "2026-11-03T10:00:00Z {host="gpu17", job="x"} MESSAGE" of logcli */
static void take_labels(const struct tc_codec_input *in, struct tc__line *io)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice name[TC__TEXT_SLOTS];
    if (!has_second(io->text, '{') || !tc__text_match(io->text, "{0%p} %{{1*}} {5*}", got) ||
        epoch_or_date(in, got[0]) == TC_TIME_NONE) {
        return;
    }
    io->time_ns = epoch_or_date(in, got[0]);
    io->text = tc_slice_trim(got[5]);
    if (tc__text_match(got[1], "*<host|hostname|node|node_name|nodename|instance>=\"{0*}\"",
                       name)) {
        set_if_empty(&io->scope.node, without_port(name[0]));
    }
    if (tc__text_match(got[1], "*pod=\"{0*}\"", name)) {
        set_if_empty(&io->scope.pod, name[0]);
    }
}

/* "2026-11-03T10:00:00.1Z stdout F MESSAGE" */
static void take_cri(const struct tc_codec_input *in, struct tc__line *io)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    if (has_second(io->text, 's') &&
        tc__text_match(io->text, "{0%p} <stdout|stderr> <F|P> {5*}", got)) {
        int64_t ns = epoch_or_date(in, got[0]);
        io->time_ns = ns == TC_TIME_NONE ? io->time_ns : ns;
        io->text = tc_slice_trim(got[5]);
    }
}

/* Without the colours that grep and others put around words: "\x1b[01;31m\x1b[K". */
static struct tc_slice without_colours(struct tc_slice raw, struct tc_arena *arena)
{
    if (arena == NULL || memchr(raw.ptr, '\x1b', raw.len) == NULL) {
        return raw;
    }
    char *to = tc_new(arena, char, raw.len + 1);
    size_t len = 0;
    for (size_t at = 0; to != NULL && at < raw.len; at++) {
        if (raw.ptr[at] != '\x1b') {
            to[len++] = raw.ptr[at];
        } else if (at + 1 < raw.len && raw.ptr[at + 1] == '[') {
            /* Up to the letter that ends it. */
            for (at += 2; at < raw.len && (unsigned char)raw.ptr[at] < '@'; at++) {
            }
        }
    }
    return to == NULL ? raw : tc_slice_make(to, len);
}

void tc__line_unwrap(const struct tc_codec_input *in, struct tc_slice raw, struct tc_arena *arena,
                     struct tc__line *out)
{
    out->raw = raw;
    out->text = tc_slice_trim(without_colours(raw, arena));
    out->scope = TC_SCOPE_NONE;
    out->label = TC_EMPTY;
    out->task = -1;
    out->replica = -1;
    out->quoted = false;
    out->time_ns = TC_TIME_NONE;
    take_marks(out);
    if (!take_json(in, arena, out)) {
        (void)take_pair(in, arena, out);
    }
    take_cri(in, out);
    take_labels(in, out);
}

void tc__line_frame(const struct tc_codec_input *in, struct tc_slice raw, struct tc_arena *arena,
                    struct tc__line *out)
{
    tc__line_unwrap(in, raw, arena, out);
    out->around_ns = out->time_ns;
    int64_t ns = tc__line_date(in, out->text);
    out->time_ns = ns == TC_TIME_NONE ? out->time_ns : ns;
    take_program(out);
    take_stamp(out);
    for (int i = 0; i < MARKS_MAX && (take_prefix(out) || take_host(out) || take_replica(out));
         i++) {
    }
    /* "10.0.0.7: {...}" of talosctl. */
    if (out->text.ptr != out->raw.ptr && take_json(in, arena, out) &&
        (ns = tc__line_date(in, out->text)) != TC_TIME_NONE) {
        out->time_ns = ns;
    }
}
