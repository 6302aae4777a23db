/* SPDX-License-Identifier: Apache-2.0 */
#include "event/nvlink_bits.h"

#include <string.h>

#define LINK TC_LIT("link ")

static const struct tc_nvlink_sort SORTS[] = {
#define NVLINK_CLASS(name, what, advice) {.meaning = (what), .action = (advice)},
#include "event/nvlink_bits.def"
};

enum sort {
#define NVLINK_CLASS(name, what, advice) SORT_##name,
#include "event/nvlink_bits.def"
};

static const struct {
    enum sort sort;
    uint8_t number; /* from 1 */
    uint32_t bits;
} BITS[] = {
#define B(n) (UINT32_C(1) << (n))
#define NVLINK_BITS(register_number, mask, name) {SORT_##name, (register_number), (mask)},
#include "event/nvlink_bits.def"
#undef B
};

const struct tc_nvlink_sort *tc_nvlink_sorts(size_t *out_count)
{
    *out_count = TC_COUNT(SORTS);
    return SORTS;
}

uint32_t tc_nvlink_bits(size_t sort, size_t number, uint32_t value)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < TC_COUNT(BITS); i++) {
        if (BITS[i].sort == sort && BITS[i].number == number + 1) {
            bits |= BITS[i].bits & value;
        }
    }
    return bits;
}

/* Takes "0x10000" and, but for the last, ", " off the front. */
static bool take_word(struct tc_slice *io_rest, bool is_last, uint32_t *out)
{
    uint64_t value = 0;
    struct tc_slice rest = *io_rest;
    if (!tc_slice_starts(rest, TC_LIT("0x"))) {
        return false;
    }
    rest = tc_slice_from(rest, 2);
    size_t digits = tc_slice_hex(rest, &value);
    if (digits == 0 || digits > 8) {
        return false;
    }
    rest = tc_slice_from(rest, digits);
    struct tc_slice end = is_last ? TC_LIT(")") : TC_LIT(",");
    if (!tc_slice_starts(rest, end)) {
        return false;
    }
    rest = tc_slice_from(rest, 1);
    while (tc_slice_starts(rest, TC_LIT(" "))) {
        rest = tc_slice_from(rest, 1);
    }
    *out = (uint32_t)value;
    *io_rest = rest;
    return true;
}

bool tc_nvlink_registers(struct tc_slice message, uint32_t out[TC_NVLINK_REGISTERS])
{
    uint32_t words[TC_NVLINK_REGISTERS];
    size_t at = tc_slice_find(message, LINK);
    struct tc_slice rest = at == TC_NPOS ? TC_EMPTY : tc_slice_from(message, at + LINK.len);
    size_t open = tc_slice_find(rest, TC_LIT("("));
    if (open == TC_NPOS) {
        return false;
    }
    rest = tc_slice_from(rest, open + 1);
    for (size_t i = 0; i < TC_NVLINK_REGISTERS; i++) {
        if (!take_word(&rest, i + 1 == TC_NVLINK_REGISTERS, &words[i])) {
            return false;
        }
    }
    memcpy(out, words, sizeof words);
    return true;
}
