/* SPDX-License-Identifier: Apache-2.0 */
/* The registers in the line of an Xid 74, and what their bits mean: nvlink_bits.def. */
#ifndef TC_EVENT_NVLINK_BITS_H
#define TC_EVENT_NVLINK_BITS_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_NVLINK_REGISTERS 7

struct tc_nvlink_sort {
    const char *meaning; /* for a sentence: "possibly hardware" */
    const char *action;  /* imperative: "check the connections of the link" */
};

/*
 * "... detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)": false, and *out as it was, when
 * the message has not all seven.
 */
bool tc_nvlink_registers(struct tc_slice message, uint32_t out[TC_NVLINK_REGISTERS]);

/* All sorts of bits, the gravest first. */
const struct tc_nvlink_sort *tc_nvlink_sorts(size_t *out_count);
/* The bits of one sort that are set in a register, which is counted from 0. */
uint32_t tc_nvlink_bits(size_t sort, size_t number, uint32_t value);

#endif
