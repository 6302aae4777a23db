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
#include "codec/match_priv.h"

#define S(literal) TC_LIT(literal)
/* Lines that decide what an input is, and how many of them must look like it. */
#define SNIFF_LINES 64
#define SNIFF_ENOUGH 1
#define CODE_MAX 99999

static bool number_of(struct tc_slice digits, uint64_t max, int64_t *out)
{
    uint64_t value = 0;
    bool fits = tc_slice_is_u64(digits, &value) && value <= max;
    *out = fits ? (int64_t)value : *out;
    return fits;
}

/* "[Jul 23 2024 07:53:55] [ERROR] [tid 841] ": the time, and what is behind it. */
static bool read_frame(struct tc_slice line, int32_t utc_offset_s, int64_t *out_ns,
                       struct tc_slice *out_rest)
{
    enum { MONTH, DAY, YEAR, HOUR, MINUTE, SECOND };
    enum { TIME, REST };
    static const uint64_t most[] = {
        [DAY] = 31, [YEAR] = 9999, [HOUR] = 23, [MINUTE] = 59, [SECOND] = 60};
    struct tc_slice got[TC__TEXT_SLOTS];
    int64_t v[TC__TEXT_SLOTS] = {0};
    if (!tc__text_match(line, "[{0*}] [*] [tid %d] {1*}", got)) {
        return false;
    }
    *out_rest = got[REST];
    bool whole = tc__text_match(got[TIME], "{0%n} %s{1%d} {2%d} {3%d}:{4%d}:{5%d}$", got);
    for (size_t i = DAY; whole && i <= SECOND; i++) {
        whole = number_of(got[i], most[i], &v[i]);
    }
    struct tc_civil c = {.month = whole ? tc_time_month(got[MONTH]) : 0,
                         .day = (int32_t)v[DAY],
                         .year = (int32_t)v[YEAR],
                         .hour = (int32_t)v[HOUR],
                         .minute = (int32_t)v[MINUTE],
                         .second = (int32_t)v[SECOND]};
    if (c.month == 0 || !tc_time_from_civil(&c, out_ns)) {
        return false;
    }
    *out_ns -= (int64_t)utc_offset_s * TC_SECOND;
    return *out_ns >= 0 && *out_ns <= TC_TIME_MAX;
}

/* False when the line tells of no error of a switch. */
static bool read_error(struct tc_slice s, struct tc_event *ev)
{
    enum { SEVERITY, CODE, ADDRESS, PORT };
    struct tc_slice got[TC__TEXT_SLOTS];
    tc_event_init(ev, TC_EVENT_SXID);
    ev->xid.message = s;
    if (!tc__text_match(s,
                        "detected NVSwitch {0<fatal|non-fatal>} error {1%d}"
                        "<*pci bus id {2%b}|><* port {3%d}|>",
                        got) ||
        !number_of(got[CODE], CODE_MAX, &ev->xid.code)) {
        return false;
    }
    ev->xid.severity = got[SEVERITY].ptr[0] == 'f' ? S("fatal") : S("nonfatal");
    (void)number_of(got[PORT], INT32_MAX, &ev->xid.link);
    (void)tc_bdf_parse(got[ADDRESS], &ev->scope.pci);
    return true;
}

static struct tc_slice line_at(struct tc_slice bytes, size_t start)
{
    struct tc_slice rest = tc_slice_from(bytes, start);
    return tc_slice_head(rest, tc_slice_find_byte(rest, '\n'));
}

static int sniff(struct tc_codec_head head)
{
    size_t found = 0;
    size_t at = 0;
    for (unsigned lines = 0; at < head.bytes.len && lines < SNIFF_LINES; lines++) {
        struct tc_slice line = line_at(head.bytes, at);
        struct tc_slice rest;
        int64_t ns = 0;
        at += line.len + 1;
        found += read_frame(line, 0, &ns, &rest);
    }
    return found >= SNIFF_ENOUGH ? TC_SNIFF_SURE : TC_SNIFF_NO;
}

static tc_status read_line(const struct tc_codec_input *in, struct tc_slice line,
                           struct tc_codec_cursor *cursor, struct tc_codec_out *out)
{
    struct tc_slice rest;
    struct tc_event ev;
    int64_t time_ns = TC_TIME_NONE;
    uint64_t offset = (uint64_t)(line.ptr - in->bytes.ptr);
    if (read_frame(line, in->utc_offset_s, &time_ns, &rest) &&
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
    struct tc_slice rest;
    int64_t ns = 0;
    return read_frame(line, in->utc_offset_s, &ns, &rest) ? ns : TC_TIME_NONE;
}

static int64_t last_time(const struct tc_codec_input *in)
{
    return tc__last_time(in, time_in);
}

const struct tc_codec tc_codec_fabric_manager = {
    .name = "fabric_manager",
    .summary = "log of NVIDIA's Fabric Manager: the errors of NVSwitches",
    .known_by = "`[Mar 01 2026 10:00:00] [ERROR] [tid 7]` in front of the lines",
    .gives = "sxid, gpu_health facts of switches",
    .example = "[Mar 01 2026 10:00:00] [ERROR] [tid 7] detected NVSwitch fatal error 22013 on ...",
    .ordered = true,
    .sniff = sniff,
    .decode = decode,
    .last_time = last_time,
};
