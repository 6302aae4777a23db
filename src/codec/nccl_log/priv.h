/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PyTorch's ProcessGroupNCCL and NCCL itself write into logs. codec.c has the tables of
 * wordings, watchdog.c makes events of PyTorch's lines, library.c of NCCL's.
 */
#ifndef TC_CODEC_NCCL_LOG_PRIV_H
#define TC_CODEC_NCCL_LOG_PRIV_H

#include "codec/lines/lines_priv.h"
#include "codec/match_priv.h"

/* What is remembered between calls, in tc_codec_cursor.own; all are 0 at first. */
enum {
    TC__NCCL_OWN_WORLD,  /* ranks of the largest communicator plus two; 1: there is none to tell */
    TC__NCCL_OWN_SEQ,    /* the last sequence id whose group was named, plus one */
    TC__NCCL_OWN_TAG_AT, /* where that name stands */
    TC__NCCL_OWN_P2P,    /* rank and sequence id of the last transfer that timed out, mixed */
};

/* A wording that was found. */
struct tc__nccl_hit {
    struct tc__lines *w;
    const struct tc__line *line;
    struct tc_slice before; /* of the line's text */
    struct tc_slice after;
    struct tc_slice got[TC__TEXT_SLOTS];
    const char *word; /* of its row */
};

typedef tc_status (*tc__nccl_fn)(const struct tc__nccl_hit *hit, bool *out_ours);

/* ---- watchdog.c ---- */

tc_status tc__nccl_on_work(const struct tc__nccl_hit *hit, bool *out_ours);
tc_status tc__nccl_on_progress(const struct tc__nccl_hit *hit, bool *out_ours);
tc_status tc__nccl_on_signal(const struct tc__nccl_hit *hit, bool *out_ours);
tc_status tc__nccl_on_desync(const struct tc__nccl_hit *hit, bool *out_ours);
tc_status tc__nccl_on_stuck(const struct tc__nccl_hit *hit, bool *out_ours);
tc_status tc__nccl_on_cuda_error(const struct tc__nccl_hit *hit, bool *out_ours);

/* ---- library.c ---- */

tc_status tc__nccl_on_place(const struct tc__nccl_hit *hit, bool *out_ours);
tc_status tc__nccl_on_test_place(const struct tc__nccl_hit *hit, bool *out_ours);
tc_status tc__nccl_on_completion(const struct tc__nccl_hit *hit, bool *out_ours);
tc_status tc__nccl_on_async(const struct tc__nccl_hit *hit, bool *out_ours);
tc_status tc__nccl_on_socket(const struct tc__nccl_hit *hit, bool *out_ours);
tc_status tc__nccl_on_fault(const struct tc__nccl_hit *hit, bool *out_ours);
/* True for "host:pid:tid [device] " at the end of a text, or before a file's name at its end. */
bool tc__nccl_is_head(struct tc_slice before);

#endif
