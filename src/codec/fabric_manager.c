/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of NVIDIA's Fabric Manager, which repeats the errors of the NVSwitches it runs:
 *
 *   [Jul 23 2024 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error 20034 on fid 0 on
 *   NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 33
 *
 * (on one line). Each is an SXid, as the driver logs it to the kernel. The other lines are what
 * it is doing. Times are those of the host's zone, without a name of it.
 */
#include "base/limits.h"
#include "base/time.h"
#include "codec/codec.h"
#include "codec/decode_priv.h"
#include "codec/last_time_priv.h"

#define S(literal) TC_LIT(literal)
/* Lines that decide what an input is, and how many of them must look like it. */
#define SNIFF_LINES 64
#define SNIFF_ENOUGH 1

static bool take(struct tc_slice *s, struct tc_slice word)
{
    if (!tc_slice_starts(*s, word)) {
        return false;
    }
    *s = tc_slice_from(*s, word.len);
    return true;
}

static bool take_number(struct tc_slice *s, uint64_t max, uint64_t *out)
{
    size_t used = tc_slice_u64(*s, out);
    *s = tc_slice_from(*s, used);
    return used > 0 && *out <= max;
}

/* "[Jul 23 2024 07:53:55] " and what follows. */
static bool take_time(struct tc_slice *s, int32_t utc_offset_s, int64_t *out_ns)
{
    uint64_t day = 0;
    uint64_t year = 0;
    uint64_t hour = 0;
    uint64_t minute = 0;
    uint64_t second = 0;
    if (!take(s, S("["))) {
        return false;
    }
    struct tc_civil c = {.month = tc_time_month(tc_slice_head(*s, 3))};
    *s = tc_slice_from(*s, 3);
    if (c.month == 0 || !take(s, S(" "))) {
        return false;
    }
    (void)take(s, S(" ")); /* a day of one digit */
    if (!take_number(s, 31, &day) || !take(s, S(" ")) || !take_number(s, 9999, &year) ||
        !take(s, S(" ")) || !take_number(s, 23, &hour) || !take(s, S(":")) ||
        !take_number(s, 59, &minute) || !take(s, S(":")) || !take_number(s, 60, &second) ||
        !take(s, S("] "))) {
        return false;
    }
    c.day = (int32_t)day;
    c.year = (int32_t)year;
    c.hour = (int32_t)hour;
    c.minute = (int32_t)minute;
    c.second = (int32_t)second;
    if (!tc_time_from_civil(&c, out_ns)) {
        return false;
    }
    *out_ns -= (int64_t)utc_offset_s * TC_SECOND;
    return *out_ns >= 0 && *out_ns <= TC_TIME_MAX;
}

/* "[ERROR] [tid 841] " behind the time. */
static bool take_frame(struct tc_slice *s)
{
    size_t end = tc_slice_find(*s, S("] [tid "));
    uint64_t tid = 0;
    if (!take(s, S("[")) || end == TC_NPOS || end > 16) {
        return false;
    }
    *s = tc_slice_from(*s, end - 1);
    return take(s, S("] [tid ")) && take_number(s, UINT64_MAX, &tid) && take(s, S("] "));
}

/* The number behind a word of the line; fallback when it is not there. */
static int64_t number_after(struct tc_slice s, struct tc_slice word, int64_t fallback)
{
    size_t at = tc_slice_find(s, word);
    uint64_t value = 0;
    if (at == TC_NPOS) {
        return fallback;
    }
    s = tc_slice_from(s, at + word.len);
    return take_number(&s, INT32_MAX, &value) ? (int64_t)value : fallback;
}

/* False when the line tells of no error of a switch. */
static bool read_error(struct tc_slice s, struct tc_event *ev)
{
    uint64_t code = 0;
    tc_event_init(ev, TC_EVENT_SXID);
    ev->xid.message = s;
    if (take(&s, S("detected NVSwitch fatal error "))) {
        ev->xid.severity = S("fatal");
    } else if (take(&s, S("detected NVSwitch non-fatal error "))) {
        ev->xid.severity = S("nonfatal");
    } else {
        return false;
    }
    if (!take_number(&s, 99999, &code)) {
        return false;
    }
    ev->xid.code = (int64_t)code;
    ev->xid.link = number_after(s, S(" port "), -1);
    size_t at = tc_slice_find(s, S("pci bus id "));
    if (at != TC_NPOS) {
        (void)tc_bdf_parse(tc_slice_from(s, at + sizeof "pci bus id " - 1), &ev->scope.pci);
    }
    return true;
}

static struct tc_slice line_at(struct tc_slice bytes, size_t start)
{
    struct tc_slice rest = tc_slice_from(bytes, start);
    return tc_slice_head(rest, tc_slice_find_byte(rest, '\n'));
}

static int sniff(struct tc_slice head, bool at_end, struct tc_slice name)
{
    (void)name;
    (void)at_end;
    size_t found = 0;
    size_t at = 0;
    for (unsigned lines = 0; at < head.len && lines < SNIFF_LINES; lines++) {
        struct tc_slice line = line_at(head, at);
        int64_t ns = 0;
        at += line.len + 1;
        found += take_time(&line, 0, &ns) && take_frame(&line);
    }
    return found >= SNIFF_ENOUGH ? TC_SNIFF_SURE : TC_SNIFF_NO;
}

static tc_status read_line(const struct tc_codec_input *in, struct tc_slice line,
                           struct tc_codec_cursor *cursor, struct tc_codec_out *out)
{
    struct tc_slice rest = line;
    struct tc_event ev;
    int64_t time_ns = TC_TIME_NONE;
    uint64_t offset = (uint64_t)(line.ptr - in->bytes.ptr);
    if (take_time(&rest, in->utc_offset_s, &time_ns) && take_frame(&rest) &&
        read_error(tc_slice_trim(rest), &ev)) {
        ev.time_ns = time_ns;
        ev.scope.node = in->node;
        ev.raw =
            (struct tc_raw){.source = in->source, .length = (uint32_t)line.len, .offset = offset};
        cursor->events++;
        return out->event(out->context, &ev);
    }
    if (!in->want_unknown || tc_slice_trim(line).len == 0) {
        return TC_OK;
    }
    return tc__codec_unknown(in, cursor, out, offset, line.len, "no error of an NVSwitch");
}

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    (void)err;
    while (cursor->offset < in->bytes.len) {
        struct tc_slice line = line_at(in->bytes, cursor->offset);
        size_t next = cursor->offset + line.len + 1;
        if (line.len > TC_LINE_MAX) {
            line = tc_slice_head(line, TC_LINE_MAX);
            cursor->cut++;
        }
        out->pause = false;
        TC_TRY(read_line(in, line, cursor, out));
        cursor->offset = next < in->bytes.len ? next : in->bytes.len;
        if (out->pause) {
            return TC_OK;
        }
    }
    cursor->done = true;
    return TC_OK;
}

static int64_t time_in(const struct tc_codec_input *in, struct tc_slice line)
{
    int64_t ns = 0;
    return take_time(&line, in->utc_offset_s, &ns) ? ns : TC_TIME_NONE;
}

static int64_t last_time(const struct tc_codec_input *in)
{
    return tc__last_time(in, time_in);
}

const struct tc_codec tc_codec_fabric_manager = {
    .name = "fabric_manager",
    .summary = "log of NVIDIA's Fabric Manager: the errors of NVSwitches",
    .ordered = true,
    .sniff = sniff,
    .decode = decode,
    .last_time = last_time,
};
