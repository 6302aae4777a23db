/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What several detectors need around their records and findings: short texts that are kept in a
 * record, names that are filled in, places, and evidence.
 */
#ifndef TC_DETECT_WORDS_PRIV_H
#define TC_DETECT_WORDS_PRIV_H

#include "base/format.h"
#include "detect/finding_priv.h"
#include "event/event.h"

#include <stdbool.h>
#include <stdint.h>

/* Keeps a text in a record: at most `size` bytes, not cut inside a character. Returns its length.
 */
uint8_t tc__text_keep(char *to, size_t size, struct tc_slice from);
/* Takes what was not known before: true when that is something. */
bool tc__text_fill(struct tc_slice *io, struct tc_slice news);
/* `given`, or when that is empty what is made of the rest: for ids that a producer may leave out.
 */
#define tc__text_or(given, ...) ((given).len > 0 ? (given) : (__VA_ARGS__))

/* A scope of one GPU. */
struct tc_scope tc__gpu_scope(struct tc_slice node, struct tc_slice uuid, struct tc_bdf pci,
                              int32_t index);
/* A number that is another for every PCI address; ascending as addresses are. */
uint64_t tc__pci_number(struct tc_bdf pci);

/* "node gpu-07", or "a node that is not named"; TC__NO_NODE is no name. */
struct tc_arg tc__as_node(struct tc_slice node);
/* A duration, or "less than 1 s". */
struct tc_arg tc__as_length(int64_t ns);
/* Whether a time passed between two moments that a person would notice. */
bool tc__lasted(int64_t first_ns, int64_t last_ns);
/* What a log or a kernel calls a fault, as people call it: "I/O error" for "io_error". */
struct tc_arg tc__as_fault(struct tc_slice fault);

/* One more piece of evidence, as tc__draft_evidence takes it. */
void tc__draft_piece(struct tc_draft *d, struct tc_slice kind, int64_t time_ns, struct tc_raw raw,
                     struct tc_slice uid, struct tc_slice description);

/* Whether a volume that was not mounted is a secret, a config map or a token: no trouble of
 * storage. `message` is that of the event. */
bool tc__mount_is_config(struct tc_slice message);

static inline int64_t tc__apart(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? b_ns - a_ns : a_ns - b_ns;
}

#endif
