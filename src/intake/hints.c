/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/hints.h"

#include "base/buf.h"
#include "base/time.h"
#include "codec/codec.h"
#include "detect/detector.h"
#include "intake/jobs.h"
#include "intake/nodes.h"
#include "intake/scrapes.h"

#include <stdlib.h>
#include <string.h>

/* The codecs whose files are logs of one node, and may be named after it. */
#define KERNEL_LOG "kmsg"
#define FABRIC_LOG "fabric_manager"
/* How far from its end a kernel log is searched for the last time in it. */
#define TAIL_BYTES ((size_t)64 << 10)

tc_status tc_hints_init(struct tc_hints *h, int argc)
{
    *h = (struct tc_hints){.now_ns = TC_TIME_NONE};
    h->node_texts = calloc((size_t)argc + 1, sizeof(char *));
    h->boot_texts = calloc((size_t)argc + 1, sizeof(char *));
    h->boots = calloc((size_t)argc + 1, sizeof *h->boots);
    return h->node_texts == NULL || h->boot_texts == NULL || h->boots == NULL ? TC_E_NOMEM : TC_OK;
}

void tc_hints_fini(struct tc_hints *h)
{
    free(h->node_texts);
    free(h->boot_texts);
    free(h->boots);
    *h = (struct tc_hints){0};
}

static bool two_digits(struct tc_slice s, size_t at, int32_t *out)
{
    if (at + 2 > s.len || s.ptr[at] < '0' || s.ptr[at] > '9' || s.ptr[at + 1] < '0' ||
        s.ptr[at + 1] > '9') {
        return false;
    }
    *out = (s.ptr[at] - '0') * 10 + (s.ptr[at + 1] - '0');
    return true;
}

bool tc_hint_zone(struct tc_slice text, int32_t *out_seconds)
{
    int32_t hours = 0;
    int32_t minutes = 0;
    if (tc_slice_eq_nocase(text, TC_LIT("Z")) || tc_slice_eq_nocase(text, TC_LIT("UTC"))) {
        *out_seconds = 0;
        return true;
    }
    size_t colon = text.len == 6 && text.ptr[3] == ':';
    if (text.len != 5 + colon || (text.ptr[0] != '+' && text.ptr[0] != '-') ||
        !two_digits(text, 1, &hours) || !two_digits(text, 3 + colon, &minutes) || hours > 23 ||
        minutes > 59) {
        return false;
    }
    int32_t seconds = hours * 3600 + minutes * 60;
    *out_seconds = text.ptr[0] == '-' ? -seconds : seconds;
    return true;
}

static bool names_input(struct tc_slice who, const struct tc_input *in)
{
    struct tc_slice path = tc_slice_cstr(in->path);
    return tc_slice_eq(who, path) || tc_slice_eq(who, tc_path_base(path));
}

static tc_status apply_node(const char *text, struct tc_inputs *in, struct tc_error *err)
{
    struct tc_slice file;
    struct tc_slice name = tc_slice_cut(tc_slice_cstr(text), '=', &file);
    bool used = false;
    if (name.len == 0 || file.len == 0) {
        return tc_fail(err, TC_E_USAGE, 0, "--node %s: give it as NAME=FILE", text);
    }
    for (size_t i = 0; i < in->count; i++) {
        if (names_input(file, &in->items[i])) {
            in->items[i].node = name;
            used = true;
        }
    }
    return used ? TC_OK
                : tc_fail(err, TC_E_USAGE, 0, "--node %s: no input is called \"%.*s\"", text,
                          TC_FMT(file));
}

static tc_status read_time(const char *option, struct tc_slice text, int32_t offset_s,
                           int64_t *out_ns, struct tc_error *err)
{
    int64_t ns = 0;
    if (text.len == 0 || tc_time_parse(text, offset_s, &ns) != text.len) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "%s: \"%.*s\" is not a time; write it as 2026-11-15T03:04:05Z", option,
                       TC_FMT(text));
    }
    *out_ns = ns;
    return TC_OK;
}

static tc_status apply_boot(struct tc_hints *h, const char *text, struct tc_inputs *in,
                            struct tc_error *err)
{
    const char *equals = strrchr(text, '='); /* a file's name may have one, a time has none */
    struct tc_slice who = TC_EMPTY;
    struct tc_slice time = tc_slice_cstr(text);
    int64_t ns = 0;
    if (equals != NULL) {
        who = tc_slice_make(text, (size_t)(equals - text));
        time = tc_slice_cstr(equals + 1);
    }
    TC_TRY(read_time("--boot-time", time, h->utc_offset_s, &ns, err));
    bool used = false;
    for (size_t i = 0; i < in->count; i++) {
        struct tc_input *file = &in->items[i];
        /* The one for all fills what those for one node or file leave, in whatever order. */
        bool everyone = who.len == 0 && file->boot_ns == TC_TIME_NONE;
        if (everyone || (who.len > 0 && (names_input(who, file) || tc_slice_eq(who, file->node)))) {
            file->boot_ns = ns;
            used = true;
        }
    }
    if (who.len > 0) {
        h->boots[h->boots_count++] = (struct tc_hint_boot){who, ns, used};
    }
    return TC_OK;
}

int64_t tc_hints_boot_of(struct tc_hints *h, struct tc_slice node)
{
    /* The last one for a node counts, as it does for files. */
    for (size_t i = h->boots_count; i > 0; i--) {
        if (tc_slice_eq(h->boots[i - 1].who, node)) {
            h->boots[i - 1].used = true;
            return h->boots[i - 1].boot_ns;
        }
    }
    return TC_TIME_NONE;
}

static bool is_node_log(const struct tc_input *in)
{
    return strcmp(in->codec->name, KERNEL_LOG) == 0 || strcmp(in->codec->name, FABRIC_LOG) == 0;
}

tc_status tc_hints_read(struct tc_hints *h, struct tc_error *err)
{
    if (h->tz_text != NULL && !tc_hint_zone(tc_slice_cstr(h->tz_text), &h->utc_offset_s)) {
        return tc_fail(err, TC_E_USAGE, 0, "--tz: \"%s\" is not a zone; write it as +02:00",
                       h->tz_text);
    }
    if (h->now_text != NULL) {
        TC_TRY(read_time("--now", tc_slice_cstr(h->now_text), h->utc_offset_s, &h->now_ns, err));
    }
    if (h->interval_text != NULL) {
        static const struct tc_knob interval = {
            .type = TC_KNOB_DURATION, .min = TC_SECOND, .max = 86400 * TC_SECOND};
        TC_TRY(tc_param_parse(&interval, "--scrape-interval", tc_slice_cstr(h->interval_text),
                              &h->interval_ns, err));
    }
    return TC_OK;
}

/* The time since boot that a line starts with: "[  12.345678] ..." or "6,17,12345678,-;...". */
static bool line_uptime(struct tc_slice line, int64_t *out_ns)
{
    uint64_t n[3] = {0};
    if (tc_slice_starts(line, TC_LIT("<"))) { /* dmesg -r */
        line = tc_slice_from(line, tc_slice_find_byte(tc_slice_head(line, 5), '>') + 1);
    }
    bool brackets = tc_slice_starts(line, TC_LIT("["));
    line = brackets ? tc_slice_trim(tc_slice_from(line, 1)) : line;
    char between = brackets ? '.' : ',';
    size_t digits = 0;
    for (size_t i = 0; i < (brackets ? 2 : 3); i++) {
        digits = tc_slice_u64(line, &n[i]);
        line = tc_slice_from(line, digits);
        bool ends = brackets && i == 1;
        if (digits == 0 || line.len == 0 || line.ptr[0] != (ends ? ']' : between)) {
            return false;
        }
        line = tc_slice_from(line, 1);
    }
    uint64_t us = n[2];
    if (brackets && (digits != 6 || __builtin_mul_overflow(n[0], UINT64_C(1000000), &us) ||
                     __builtin_add_overflow(us, n[1], &us))) {
        return false;
    }
    *out_ns = us <= (uint64_t)TC_TIME_MAX / 1000 ? (int64_t)us * 1000 : TC_TIME_NONE;
    return *out_ns != TC_TIME_NONE;
}

/* The last time since boot near the end of a log. */
static bool last_uptime(struct tc_slice bytes, int64_t *out_ns)
{
    size_t from = bytes.len > TAIL_BYTES ? bytes.len - TAIL_BYTES : 0;
    for (size_t end = bytes.len, start = end; start > from; end = start - 1) {
        start = end;
        while (start > from && bytes.ptr[start - 1] != '\n') {
            start--;
        }
        if (line_uptime(tc_slice_make(bytes.ptr + start, end - start), out_ns)) {
            return true;
        }
    }
    return false;
}

/*
 * Kernel logs that only count from boot, and nothing beside them to join by time: their last
 * line is put at the time they were taken, so that what they prove on their own is told.
 */
static void assume_boot(const struct tc_hints *h, struct tc_inputs *in)
{
    for (size_t i = 0; i < in->count; i++) {
        const struct tc_input *file = &in->items[i];
        bool has_times = !is_node_log(file) && file->codec != &tc_codec_truth;
        if (!h->assume_boot || h->boot_count > 0 || has_times) {
            return;
        }
    }
    for (size_t i = 0; i < in->count; i++) {
        struct tc_input *file = &in->items[i];
        int64_t uptime_ns = 0;
        if (file->now_ns == TC_TIME_NONE || !last_uptime(file->bytes, &uptime_ns) ||
            uptime_ns > file->now_ns) {
            continue;
        }
        char text[64];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_time(&b, file->now_ns);
        file->boot_ns = file->now_ns - uptime_ns;
        struct tc_slice who =
            file->node.len > 0 ? file->node : tc_path_base(tc_slice_cstr(file->path));
        if (in->say == NULL) {
            continue;
        }
        in->say("%s: has only times since boot; assumed: it ends at %.*s. "
                "--boot-time %.*s=TIME sets them right",
                file->path, TC_FMT(tc_buf_slice(&b)), TC_FMT(who));
    }
}

tc_status tc_hints_apply(struct tc_hints *h, struct tc_inputs *in, struct tc_error *err)
{
    for (size_t i = 0; i < in->count; i++) {
        struct tc_input *file = &in->items[i];
        file->now_ns = h->now_ns != TC_TIME_NONE ? h->now_ns : file->mtime_ns;
    }
    tc_nodes_apply(in);
    for (size_t i = 0; i < h->node_count; i++) {
        TC_TRY(apply_node(h->node_texts[i], in, err));
    }
    if (tc_nodes_assume(in) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the names of nodes");
    }
    h->boots_count = 0;
    for (size_t i = 0; i < h->boot_count; i++) {
        TC_TRY(apply_boot(h, h->boot_texts[i], in, err));
    }
    assume_boot(h, in);
    if (tc_jobs_apply(in) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the names of jobs");
    }
    struct tc_scrape_options options = {h->now_ns, h->interval_ns, h->utc_offset_s, in->say};
    if (tc_scrapes_apply(in, &options) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the times of scrapes");
    }
    return TC_OK;
}
