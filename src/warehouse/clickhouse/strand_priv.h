/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices on their way to ClickHouse, in the order that its table has. A strand is a run, a metric
 * and a series: rows of a block name theirs by a number, so that texts are hashed once for a row
 * and compared once for a strand. A server that gets a block in order need not sort it.
 */
#ifndef TC_WAREHOUSE_CLICKHOUSE_STRAND_PRIV_H
#define TC_WAREHOUSE_CLICKHOUSE_STRAND_PRIV_H

#include "base/status.h"
#include "base/table/grow.h"
#include "warehouse/duckdb/scope_priv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc__ch_layout;

struct tc__ch_strand {
    uint64_t series;
    size_t at; /* of its run in the texts; the metric is behind it */
    uint32_t run_len;
    uint32_t metric_len;
    uint32_t rows; /* of the block that is put in order */
    uint32_t next; /* the place of its next row there */
};

/* Those that were met. Begins as all zero. */
struct tc__ch_strands {
    struct tc__scope_map seen; /* number + 1, by a hash of all texts */
    uint64_t secret[TC__SCOPE_SECRET];
    bool is_ready;
    struct tc__ch_strand *items;
    size_t count;
    size_t cap;
    struct tc_grow texts;
};

/* Numbers of the strands of slices. Those from the `count` before on are new. */
TC_CHECKED tc_status tc__ch_strands_of(struct tc__ch_strands *s, const struct tc__ch_layout *series,
                                       const struct tc_rows *rows, uint32_t *out,
                                       struct tc_error *err);
struct tc_slice tc__ch_strand_run(const struct tc__ch_strands *s, const struct tc__ch_strand *one);
struct tc_slice tc__ch_strand_metric(const struct tc__ch_strands *s,
                                     const struct tc__ch_strand *one);
/* So many that they are better forgotten, when no row names one. */
bool tc__ch_strands_are_many(const struct tc__ch_strands *s);
void tc__ch_strands_reset(struct tc__ch_strands *s);

/* Rows by run, metric, series and time. Begins as all zero. */
struct tc__ch_order {
    uint32_t *rows;    /* their numbers in order */
    uint32_t *strands; /* that have some, in order; each has `rows` of them */
    size_t strand_count;
};
/* of[i] is the strand of row i, times[i] its time. False: no memory. */
TC_CHECKED bool tc__ch_order_make(struct tc__ch_order *o, struct tc__ch_strands *s,
                                  const uint32_t *of, const int64_t *times, size_t count);
void tc__ch_order_fini(struct tc__ch_order *o, struct tc__ch_strands *s);

#endif
