/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page of Prometheus text as requests of Prometheus' remote write protocol, version 1: the
 * message prometheus.WriteRequest, in the block format of Snappy. A request holds what fits; the
 * next goes on where it ended.
 */
#ifndef TC_HOT_REMOTE_H
#define TC_HOT_REMOTE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct tc_remote_page {
    struct tc_slice text;     /* the page */
    struct tc_slice instance; /* who sends it: label `instance`; `job` is "tracecore" */
    int64_t time_ms;          /* of all its samples, since 1970 */
};

/*
 * The samples from number `first` on, as many as out has room for; *out_count: how many. 0: there
 * are no more. arena: for strings that had to be made. TC_E_LIMIT: not even one fits.
 */
TC_CHECKED tc_status tc_remote_encode(const struct tc_remote_page *page, size_t first,
                                      struct tc_arena *arena, struct tc_buf *out, size_t *out_count,
                                      struct tc_error *err);

/* What tc_remote_pack needs for so many bytes. */
size_t tc_remote_packed_max(size_t len);
/* Snappy's block format without its compression: literals only, which every reader takes. */
void tc_remote_pack(struct tc_slice bytes, struct tc_buf *out);

#endif
