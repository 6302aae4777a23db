/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/last_time_priv.h"

#include "base/limits.h"
#include "base/time.h"

#include <string.h>

/* The end of an input that is looked at: a traceback without dates is not longer. */
#define TAIL_BYTES ((size_t)64 << 10)
#define TAIL_LINES 2000
/* Two dates of one log are not further apart, near its end. */
#define APART_NS (86400 * TC_SECOND)

/* From the end to the beginning: true once two times agree, of which *io_ns is the later. */
static bool agrees(int64_t *io_ns, int64_t ns)
{
    if (ns < 0 || ns > TC_TIME_MAX) {
        return false;
    }
    int64_t newer = *io_ns;
    bool near = newer != TC_TIME_NONE && newer - ns <= APART_NS && ns - newer <= APART_NS;
    *io_ns = near && newer > ns ? newer : ns;
    return near;
}

static struct tc_slice tail_of(struct tc_slice bytes)
{
    return tc_slice_from(bytes, bytes.len > TAIL_BYTES ? bytes.len - TAIL_BYTES : 0);
}

int64_t tc__last_time(const struct tc_codec_input *in, tc__line_time_fn time_of)
{
    struct tc_slice rest = tail_of(in->bytes);
    int64_t ns = TC_TIME_NONE;
    for (unsigned i = 0; i < TAIL_LINES && rest.len > 0; i++) {
        const char *newline = memrchr(rest.ptr, '\n', rest.len);
        size_t start = newline == NULL ? 0 : (size_t)(newline - rest.ptr) + 1;
        bool torn = start == 0 && rest.ptr != in->bytes.ptr; /* it begins before the tail */
        struct tc_slice line = tc_slice_head(tc_slice_from(rest, start), TC_LINE_MAX);
        if (!torn && line.len > 0 && agrees(&ns, time_of(in, line))) {
            return ns;
        }
        rest = tc_slice_head(rest, start == 0 ? 0 : start - 1);
    }
    return TC_TIME_NONE;
}

/* The number behind a key: "key":"123", key=123. */
static int64_t number_of(struct tc_slice s, int64_t unit_ns)
{
    uint64_t number = 0;
    size_t at = 0;
    while (at < s.len && (s.ptr[at] == '"' || s.ptr[at] == ':' || s.ptr[at] == '=' ||
                          s.ptr[at] == ' ' || s.ptr[at] == '\t')) {
        at++;
    }
    bool any = tc_slice_u64(tc_slice_from(s, at), &number) > 0;
    return any && number > 0 && number <= (uint64_t)(INT64_MAX / unit_ns)
               ? (int64_t)number * unit_ns
               : TC_TIME_NONE;
}

int64_t tc__last_time_by_key(struct tc_slice bytes, struct tc_slice key, int64_t unit_ns)
{
    struct tc_slice tail = tail_of(bytes);
    int64_t ns = TC_TIME_NONE;
    size_t end = tail.len;
    while (tail.ptr != NULL && end >= key.len) {
        const char *last = memrchr(tail.ptr, key.ptr[key.len - 1], end);
        size_t at = last == NULL ? 0 : (size_t)(last - tail.ptr) + 1;
        if (at < key.len) {
            break;
        }
        end = at - 1;
        if (memcmp(tail.ptr + at - key.len, key.ptr, key.len) == 0 &&
            agrees(&ns, number_of(tc_slice_from(tail, at), unit_ns))) {
            return ns;
        }
    }
    return TC_TIME_NONE;
}
