/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `tracecore compare`: the page for people, and the one for a pull request. */
#ifndef TC_CLI_COMPARE_COMPARE_H
#define TC_CLI_COMPARE_COMPARE_H

#include "base/table/grow.h"
#include "compare/compare.h"

#include <stdbool.h>
#include <stddef.h>

/* The width where standard output is no terminal. */
#define TC_COMPARE_WIDTH 100

void tc_compare_text(const struct tc_comparison *c, bool all, struct tc_grow *g);
void tc_compare_markdown(const struct tc_comparison *c, bool all, struct tc_grow *g);

/* Whether a pair is shown without --all. */
bool tc_compare_is_shown(const struct tc_pair *p, bool all);
/* "58 other series: 50 no difference shown, 8 multimodal"; nothing when all are shown. */
void tc_compare_others(const struct tc_comparison *c, bool all, struct tc_grow *g);
/* What else differs in one or two sentences, and whether the comparison is confounded. */
void tc_compare_confounded(const struct tc_comparison *c, struct tc_grow *g);
/* The median, or how many modes there are. */
void tc_compare_median(const struct tc_pair_side *s, struct tc_grow *g);
/* The run of a side whose value is nearest to the median of the pair. */
struct tc_slice tc_compare_typical_run(const struct tc_comparison *c, const struct tc_pair *p,
                                       size_t side);

/*
 * Values on a common axis from low to high: "o" the base's, "x" the candidate's, "*" both; in
 * Unicode where the terminal has it. `width` characters.
 */
void tc_strip_plot(struct tc_grow *g, const struct tc_series *base,
                   const struct tc_series *candidate, double low, double high, size_t width,
                   bool utf8);

#endif
