/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus text that is to be stored (scrape/answer.c): answers of exporters, and what other
 * sources write in their manner. */
#ifndef TC_SOURCE_ANSWER_PRIV_H
#define TC_SOURCE_ANSWER_PRIV_H

#include "base/slice.h"

#include <stddef.h>
#include <stdint.h>

/* Samples in a text: lines that are no comment. */
uint64_t tc__answer_samples(struct tc_slice text);
/* How many bytes of the text are the next chunk: whole lines, and whole metrics with the lines
 * about them where that is possible. */
size_t tc__answer_cut(struct tc_slice text);

#endif
