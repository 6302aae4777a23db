/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/slurm/priv.h"

#include <string.h>

/* Hosts of one list: more are not looked at. */
#define HOSTS_MAX 4096

/* The part of a list up to a comma that is not inside brackets. */
static struct tc_slice next_part(struct tc_slice list, struct tc_slice *out_rest)
{
    bool inside = false;
    size_t len = 0;
    for (; len < list.len && (inside || list.ptr[len] != ','); len++) {
        inside = list.ptr[len] == '[' || (inside && list.ptr[len] != ']');
    }
    *out_rest = tc_slice_from(list, len + (len < list.len));
    return tc_slice_head(list, len);
}

/* Name number `index` of "01-04" or "07"; *out_count is how many there are. */
static bool range_name(struct tc_slice range, uint64_t index, uint64_t *out_count, char *text,
                       size_t *out_len)
{
    struct tc_slice last;
    struct tc_slice first = tc_slice_cut(range, '-', &last);
    uint64_t from = 0;
    uint64_t to = 0;
    if (!tc_slice_is_u64(first, &from) || first.len > 12) {
        return false;
    }
    to = from;
    if (last.len > 0 && (!tc_slice_is_u64(last, &to) || to < from || to - from > HOSTS_MAX)) {
        return false;
    }
    *out_count = to - from + 1;
    if (index >= *out_count) {
        return true;
    }
    struct tc_buf b = tc_buf_make(text, 24);
    tc_buf_u64(&b, from + index);
    size_t digits = tc_buf_slice(&b).len;
    size_t zeros = first.len > digits ? first.len - digits : 0;
    memmove(text + zeros, text, digits);
    memset(text, '0', zeros);
    *out_len = zeros + digits;
    return true;
}

/* Name number `index` of "gpu[01-04,07]-ib"; false when it has fewer. */
static bool part_name(struct tc_slice part, uint64_t *io_index, char room[SLURM_NAME_MAX],
                      struct tc_slice *out)
{
    size_t open = tc_slice_find_byte(part, '[');
    size_t close = tc_slice_find_byte(part, ']');
    if (open == TC_NPOS || close == TC_NPOS || close < open) {
        *out = part;
        return open == TC_NPOS && (*io_index)-- == 0 && part.len > 0;
    }
    struct tc_slice ranges = tc_slice_make(part.ptr + open + 1, close - open - 1);
    while (ranges.len > 0) {
        char digits[24 + 12];
        size_t len = 0;
        uint64_t count = 0;
        struct tc_slice range = tc_slice_cut(ranges, ',', &ranges);
        struct tc_slice behind = tc_slice_from(part, close + 1);
        if (!range_name(range, *io_index, &count, digits, &len)) {
            return false;
        }
        if (*io_index < count) {
            struct tc_buf b = tc_buf_make(room, SLURM_NAME_MAX);
            tc_buf_str(&b, tc_slice_head(part, open));
            tc_buf_str(&b, tc_slice_make(digits, len));
            tc_buf_str(&b, behind);
            *out = tc_buf_slice(&b);
            return true;
        }
        *io_index -= count;
    }
    return false;
}

bool tc__slurm_host_next(struct tc_slice hosts, uint64_t *io_at, char room[SLURM_NAME_MAX],
                         struct tc_slice *out)
{
    uint64_t index = *io_at;
    if (index >= HOSTS_MAX) {
        return false;
    }
    while (hosts.len > 0) {
        struct tc_slice part = next_part(hosts, &hosts);
        if (part_name(part, &index, room, out)) {
            (*io_at)++;
            return out->len > 0 && out->len <= TC_SCOPE_TEXT_MAX;
        }
        if (index == UINT64_MAX) { /* a part without brackets that was asked for, and empty */
            return false;
        }
    }
    return false;
}
