/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/host.h"
#include "source/ncclras/priv.h"
#include "source/text_priv.h"

/* "host:port", "[::1]:port". */
static bool split(struct tc_slice text, struct tc_slice *out_host, struct tc_slice *out_port)
{
    size_t colon = tc_slice_find_last(text, TC_LIT(":"));
    uint64_t port = 0;
    if (colon == TC_NPOS) {
        return false;
    }
    *out_host = tc_slice_head(text, colon);
    *out_port = tc_slice_from(text, colon + 1);
    if (tc_slice_starts(*out_host, TC_LIT("[")) && tc_slice_ends(*out_host, TC_LIT("]"))) {
        *out_host = tc_slice_make(out_host->ptr + 1, out_host->len - 2);
    } else if (tc_slice_find_byte(*out_host, ':') != TC_NPOS) {
        return false;
    }
    return out_host->len > 0 && tc_slice_is_u64(*out_port, &port) && port > 0 && port <= 65535;
}

static bool is_printable(struct tc_slice text)
{
    bool is = true;
    for (size_t i = 0; i < text.len; i++) {
        is = is && text.ptr[i] >= ' ' && text.ptr[i] < 0x7f;
    }
    return is;
}

tc_status tc__ras_address_read(struct tc_slice line, struct tc_slice local,
                               struct tc__ras_address *out, struct tc_error *err)
{
    struct tc_slice words;
    struct tc_slice host;
    struct tc_slice port;
    struct tc_slice at = tc_slice_cut(tc_slice_trim(line), ' ', &words);
    *out = (struct tc__ras_address){0};
    if (!is_printable(line) || !split(at, &host, &port)) {
        return tc__text_wrong(err, line, "write host:port, with the port of NCCL_RAS_ADDR");
    }
    bool fits =
        tc__text_fill(out->name, sizeof out->name, at) &&
        tc__text_fill(out->host, sizeof out->host, host) &&
        tc__text_fill(out->port, sizeof out->port, port) &&
        tc__text_fill(out->node, sizeof out->node, tc_host_is_loopback(host) ? local : host);
    while (words.len > 0) {
        struct tc_slice value;
        struct tc_slice word = tc_slice_cut(words, ' ', &words);
        struct tc_slice key = tc_slice_cut(word, '=', &value);
        bool is_node = tc_slice_eq(key, TC_LIT("node"));
        if (word.len == 0) {
            continue;
        }
        if (value.len == 0 || (!is_node && !tc_slice_eq(key, TC_LIT("job")))) {
            return tc__text_wrong(err, line, "behind an address stand node= or job=");
        }
        fits = fits && tc__text_fill(is_node ? out->node : out->job, TC__RAS_HOST_MAX, value);
    }
    return fits ? TC_OK : tc__text_wrong(err, line, "hosts and names have at most 255 bytes");
}

/* ---- reports ---- */

static bool is_rule(struct tc_slice line)
{
    size_t i = 0;
    while (i < line.len && line.ptr[i] == '=') {
        i++;
    }
    return i == line.len;
}

bool tc__ras_report_read(struct tc_slice text, struct tc__ras_report *out)
{
    bool is_report = false;
    bool is_behind = false; /* below the heading of errors or warnings */
    *out = (struct tc__ras_report){.is_well = true};
    while (text.len > 0) {
        struct tc_slice line = tc_slice_trim(tc_slice_cut(text, '\n', &text));
        bool is_heading = tc_slice_is_any(line, "Errors", "Warnings");
        is_report |= tc_slice_eq(line, TC_LIT("Job summary"));
        is_behind |= is_heading;
        if (is_behind && !is_heading && !is_rule(line)) {
            out->is_well = false;
        }
        /* "Communicators... (0.02s)": how long it took. */
        if (!tc_slice_starts(line, TC_LIT("Communicators... ("))) {
            out->hash = tc_slice_hash(line, tc_hash_mix(out->hash, line.len));
        }
    }
    return is_report;
}
