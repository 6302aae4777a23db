/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/node_name.h"

#include "base/limits.h"
#include "event/event.h"

#include <stddef.h>
#include <stdint.h>

/* Words of one name; longer names are some other text. */
#define WORDS_MAX 24
/* Folders above a file that may be named after its node. */
#define FOLDERS_MAX 4
#define CONTAINER_ID_SHORT 12

struct word {
    struct tc_slice text;
    bool left_out; /* a date, a kind of file, an extension */
    bool is_kind;
};

struct words {
    struct word items[WORDS_MAX];
    size_t count;
};

/* Programs that files and folders are called after. */
static const char *const PROGRAMS[] = {
    "amd",       "audit",      "auditd",        "bmc",        "conserver",    "containerd",
    "cron",      "dcgm",       "dcgmi",         "dmesg",      "dmidecode",    "edac",
    "elastic",   "fabric",     "fabricmanager", "fluent",     "fluentbit",    "fluentd",
    "fm",        "grep",       "ibdiagnet",     "iblinkinfo", "ibstat",       "ipmi",
    "journal",   "journalctl", "journald",      "kdump",      "kern",         "kernel",
    "kibana",    "kmsg",       "kube",          "kubectl",    "kubelet",      "loki",
    "lspci",     "mce",        "nhc",           "nvidia",     "nvlink",       "nvlsm",
    "nvsm",      "nvswitch",   "opensearch",    "opensm",     "persistenced", "ping",
    "prom",      "prometheus", "promtail",      "rasdaemon",  "rdma",         "rocm",
    "slurm",     "slurmctld",  "slurmd",        "slurmstepd", "smi",          "sos",
    "sosreport", "syslog",     "systemd",       "uname",      "vector",       NULL,
};

/* What else they are called after that is no node. */
static const char *const KINDS[] = {
    "after",    "agent",      "alert",    "all",      "app",       "archive",    "attempt",
    "b",        "backup",     "before",   "bit",      "boot",      "bug",        "bundle",
    "bz2",      "case",       "check",    "collect",  "collector", "console",    "copy",
    "crash",    "csv",        "current",  "daemon",   "daemonset", "day",        "debug",
    "describe", "detector",   "device",   "diag",     "driver",    "dump",       "err",
    "error",    "errors",     "etc",      "event",    "events",    "example",    "export",
    "exporter", "facts",      "fault",    "file",     "filtered",  "full",       "gather",
    "gpus",     "gz",         "hardware", "head",     "health",    "home",       "hostname",
    "hosts",    "inc",        "incident", "info",     "input",     "inventory",  "iso",
    "issue",    "json",       "jsonl",    "k",        "l",         "last",       "list",
    "log",      "logs",       "manager",  "messages", "metrics",   "monitor",    "must",
    "new",      "note",       "notes",    "now",      "old",       "ops",        "out",
    "output",   "part",       "plain",    "plugin",   "pods",      "prev",       "previous",
    "problem",  "q",          "rank",     "raw",      "report",    "root",       "sample",
    "samples",  "scrape",     "screen",   "sel",      "serial",    "session",    "short",
    "snapshot", "sol",        "state",    "status",   "stderr",    "stdout",     "step",
    "support",  "sweep",      "sys",      "system",   "t",         "tail",       "tar",
    "terminal", "tgz",        "ticket",   "time",     "times",     "timestamps", "today",
    "trace",    "transcript", "trial",    "try",      "txt",       "upload",     "user",
    "utc",      "v",          "var",      "varlog",   "warn",      "warnings",   "week",
    "wrapped",  "x",          "xid",      "xml",      "xz",        "yaml",       "yesterday",
    "yml",      "zip",        "zst",      NULL,
};

/* What may be a part of a node's name, and is none with a number alone. */
static const char *const GROUPS[] = {
    "batch", "cluster", "core", "data",  "dc",   "exp",   "job",      "pod",  "rack",
    "row",   "run",     "site", "stage", "test", "train", "training", "zone", NULL,
};

/* What names of nodes begin with, or have behind a dash. */
static const char *const NODE_WORDS[] = {
    "aks", "cn",   "compute", "dgx",    "eks", "gke",  "gpu",    "hgx", "host", "ip",
    "nid", "node", "nvl",     "server", "srv", "vmss", "worker", "ws",  NULL,
};

static const char *const NOBODY[] = {
    "all",  "any",  "cluster",  "host",  "hostname", "hosts",   "kernel", "local", "localhost",
    "name", "node", "nodename", "nodes", "none",     "null",    "pod",    "self",  "the",
    "this", "true", "false",    "unset", "unknown",  "version", NULL,
};

/* The letters of a word that is letters, then digits: "gpu" of "gpu07". */
static struct tc_slice letters_of(struct tc_slice word)
{
    size_t digits = word.len;
    while (digits > 0 && tc_is_digit(word.ptr[digits - 1])) {
        digits--;
    }
    return tc_slice_head(word, digits);
}

static bool is_one_of(struct tc_slice word, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        if (tc_slice_eq_nocase(word, tc_slice_cstr(words[i]))) {
            return true;
        }
    }
    return false;
}

static bool is_kind(struct tc_slice word)
{
    return is_one_of(word, KINDS) || is_one_of(word, PROGRAMS);
}

static bool is_digits(struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!tc_is_digit(s.ptr[i])) {
            return false;
        }
    }
    return s.len > 0;
}

static bool has_letter(struct tc_slice s)
{
    bool any = false;
    for (size_t i = 0; i < s.len; i++) {
        any = any || (tc_is_word(s.ptr[i]) && !tc_is_digit(s.ptr[i]) && s.ptr[i] != '_');
    }
    return any;
}

static bool has_digit(struct tc_slice s)
{
    bool any = false;
    for (size_t i = 0; i < s.len; i++) {
        any = any || tc_is_digit(s.ptr[i]);
    }
    return any;
}

/* "a.example.com" */
static bool has_domain(struct tc_slice s)
{
    size_t dots = 0;
    for (size_t i = 0; i < s.len; i++) {
        dots += s.ptr[i] == '.';
    }
    return dots >= 2 && has_letter(s);
}

static bool has_capital(struct tc_slice s)
{
    bool any = false;
    for (size_t i = 0; i < s.len; i++) {
        any = any || (s.ptr[i] >= 'A' && s.ptr[i] <= 'Z');
    }
    return any;
}

/* Four numbers up to 255 with dots or dashes between them. */
static bool is_address(struct tc_slice s)
{
    size_t parts = 0;
    while (s.len > 0 && parts < 5) {
        uint64_t number = 0;
        size_t used = tc_slice_u64(s, &number);
        if (used == 0 || used > 3 || number > 255) {
            return false;
        }
        parts++;
        s = tc_slice_from(s, used);
        if (s.len > 0 && ((s.ptr[0] != '.' && s.ptr[0] != '-') || s.len == 1)) {
            return false;
        }
        s = tc_slice_from(s, 1);
    }
    return parts == 4 && s.len == 0;
}

/* "3f2a9c01b7de", the name of a host inside a container. */
static bool is_container(struct tc_slice s)
{
    uint64_t number = 0;
    return s.len == CONTAINER_ID_SHORT && tc_slice_hex(s, &number) == s.len && has_digit(s);
}

/* "h100", "mi300x", "l40s", "rtx4090": letters, digits, up to two letters. */
static bool is_model(struct tc_slice s)
{
    static const char *const makes[] = {"a",  "b", "gb",  "gh", "gtx", "h", "l",
                                        "mi", "p", "rtx", "t",  "v",   NULL};
    size_t letters = 0;
    while (letters < s.len && !tc_is_digit(s.ptr[letters])) {
        letters++;
    }
    uint64_t number = 0;
    size_t digits = tc_slice_u64(tc_slice_from(s, letters), &number);
    struct tc_slice rest = tc_slice_from(s, letters + digits);
    return digits > 0 && digits <= 4 && rest.len <= 2 && !has_digit(rest) &&
           is_one_of(tc_slice_head(s, letters), makes);
}

bool tc_node_is_name(struct tc_slice word)
{
    if (word.len < 2 || word.len > TC_SCOPE_TEXT_MAX || is_one_of(word, NOBODY) ||
        is_container(word) || (!has_letter(word) && !is_address(word))) {
        return false;
    }
    for (size_t i = 0; i < word.len; i++) {
        bool inside = i > 0 && i + 1 < word.len;
        char c = word.ptr[i];
        if (!(tc_is_word(c) && c != '_') && !(inside && (c == '-' || c == '.' || c == '_'))) {
            return false;
        }
    }
    return true;
}

static bool is_separator(char c)
{
    return c == '-' || c == '_' || c == '.' || c == '@' || c == ' ' || c == '+' || c == ',' ||
           c == '=' || c == '(' || c == ')';
}

/* False when there are too many. */
static bool split_words(struct tc_slice s, struct words *out)
{
    out->count = 0;
    for (size_t at = 0; at < s.len;) {
        size_t end = at;
        while (end < s.len && !is_separator(s.ptr[end])) {
            end++;
        }
        if (end > at) {
            if (out->count == WORDS_MAX) {
                return false;
            }
            struct tc_slice text = tc_slice_make(s.ptr + at, end - at);
            struct tc_slice letters = letters_of(text);
            bool numbered = letters.len >= 3 && is_kind(letters); /* "boot2" */
            bool kind = is_kind(text) || (letters.len < text.len && numbered);
            out->items[out->count++] =
                (struct word){.text = text, .left_out = kind, .is_kind = kind};
        }
        at = end + 1;
    }
    return true;
}

/* "20261115", "20261115T0304", "1793700000": a date, or seconds since 1970. */
static bool is_date(struct tc_slice s)
{
    uint64_t number = 0;
    size_t digits = tc_slice_u64(s, &number);
    if (digits == s.len && (digits == 10 || digits == 13 || digits == 14)) {
        return true;
    }
    return digits == 8 && number / 1000000 >= 19 && number / 1000000 <= 20 &&
           (s.len == 8 || s.ptr[8] == 'T' || s.ptr[8] == 't');
}

static bool is_year(struct tc_slice s)
{
    uint64_t number = 0;
    return s.len == 4 && tc_slice_is_u64(s, &number) && number >= 1970 && number < 2100;
}

/* Leaves out dates with the time of day behind them, and the number of log rotation. */
static void leave_out_dates(struct words *w)
{
    for (size_t i = 0; i < w->count; i++) {
        bool date = is_date(w->items[i].text);
        if (!date && !is_year(w->items[i].text)) {
            continue;
        }
        w->items[i].left_out = true;
        for (size_t next = i + 1; next < w->count && tc_is_digit(w->items[next].text.ptr[0]);
             next++) {
            size_t len = w->items[next].text.len;
            if (date && len != 4 && len != 6) {
                break;
            }
            w->items[next].left_out = true;
        }
    }
    struct word *last = w->count > 1 ? &w->items[w->count - 1] : NULL;
    if (last != NULL && is_digits(last->text) && last->text.len <= 2 && last[-1].is_kind) {
        last->left_out = true;
    }
}

/* "tg-gpu-0418", "sto-h100-77": a word that nodes have in their names. */
static bool has_node_word(const struct words *w, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        struct tc_slice word = w->items[i].text;
        if (is_one_of(letters_of(word), NODE_WORDS) || (end - first > 1 && is_model(word))) {
            return true;
        }
    }
    return false;
}

static struct tc_slice from_to(const struct words *w, size_t first, size_t end)
{
    const char *start = w->items[first].text.ptr;
    struct tc_slice last = w->items[end - 1].text;
    return tc_slice_make(start, (size_t)(last.ptr + last.len - start));
}

/* Whether the words from first to end are a node's name, and no model, number or ticket. */
static bool is_node(const struct words *w, size_t first, size_t end)
{
    bool only_models = true;
    bool only_groups = true;
    bool domain = has_domain(from_to(w, first, end));
    for (size_t i = first; i < end; i++) {
        struct tc_slice word = w->items[i].text;
        only_models = only_models && is_model(word);
        only_groups = only_groups && (is_digits(word) || is_one_of(letters_of(word), GROUPS));
        if (w->items[i].is_kind && !domain) {
            return false;
        }
    }
    return !only_models && (!only_groups || is_address(from_to(w, first, end)));
}

/*
 * What a support bundle has behind the name goes: "gpu07-0123456-2026-11-15-abcdefg" has the number
 * of a case, a date and letters that make it unique.
 */
static size_t without_case(const struct words *w, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (w->items[i].left_out && !w->items[i].is_kind) {
            end = i;
        }
    }
    bool number = end - first > 1 && is_digits(w->items[end - 1].text) &&
                  w->items[end - 1].text.len > 4 && has_digit(w->items[end - 2].text);
    return number ? end - 1 : end;
}

/* The node in one part of a path. A folder, and a file that no kind of file is named in, must have
 * a word of nodes. *out_says: it says something other than kinds and dates. */
static struct tc_slice node_in(struct tc_slice part, bool folder, bool *out_says)
{
    struct words w;
    size_t first = 0;
    bool kind = false;
    *out_says = true;
    if (!split_words(part, &w)) {
        return TC_EMPTY;
    }
    leave_out_dates(&w);
    size_t end = w.count;
    while (end > 0 && w.items[end - 1].left_out) {
        end--;
        kind = kind || (w.items[end].is_kind && !tc_slice_eq(w.items[end].text, TC_LIT("txt")));
    }
    while (first < end && w.items[first].left_out) {
        kind = kind || w.items[first].is_kind;
        first++;
    }
    *out_says = first < end;
    end = first < end ? without_case(&w, first, end) : end;
    if (first == end || !is_node(&w, first, end)) {
        return TC_EMPTY;
    }
    struct tc_slice node = from_to(&w, first, end);
    bool starts_right = !tc_is_digit(node.ptr[0]) && !tc_slice_starts(node, TC_LIT("tmp"));
    if (is_address(node)) {
        return node;
    }
    bool named = (kind && !folder) || has_node_word(&w, first, end);
    return starts_right && tc_node_is_name(node) && named && !has_capital(node) &&
                   (has_digit(node) || (has_domain(node) && !folder))
               ? node
               : TC_EMPTY;
}

bool tc_node_is_plain(struct tc_slice word)
{
    struct words w;
    return tc_node_is_name(word) && split_words(word, &w) && is_node(&w, 0, w.count) &&
           (((has_digit(word) || has_domain(word)) && !has_capital(word)) || is_address(word));
}

/* What follows the first dash, without what kind of file it is: "whatever it is-gpu-07.txt". */
static struct tc_slice behind_dash(struct tc_slice name)
{
    size_t dash = tc_slice_find_byte(name, '-');
    struct tc_slice node = dash == TC_NPOS ? TC_EMPTY : tc_slice_from(name, dash + 1);
    for (size_t dot; (dot = tc_slice_find_last(node, TC_LIT("."))) != TC_NPOS;) {
        if (!is_kind(tc_slice_from(node, dot + 1))) {
            break;
        }
        node = tc_slice_head(node, dot);
    }
    return node.len > 0 && !tc_is_digit(node.ptr[0]) && tc_node_is_plain(node) ? node : TC_EMPTY;
}

struct tc_slice tc_node_of_file(struct tc_slice path)
{
    bool says = false;
    struct tc_slice name = tc_path_base(path);
    struct tc_slice node = node_in(name, false, &says);
    return node.len > 0 ? node : behind_dash(name);
}

struct tc_slice tc_node_of_folder(struct tc_slice path)
{
    struct tc_slice node = TC_EMPTY;
    bool says = false;
    for (int i = 0; i < FOLDERS_MAX && !says; i++) {
        size_t slash = tc_slice_find_last(path, TC_LIT("/"));
        if (slash == TC_NPOS) {
            break;
        }
        path = tc_slice_head(path, slash);
        node = node_in(tc_path_base(path), true, &says);
    }
    return node;
}
