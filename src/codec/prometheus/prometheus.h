/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What whoever opens files of Prometheus text wants to know before they are decoded by
 * tc_codec_prometheus (codec/codec.h): whether somebody else has to say when they were taken.
 */
#ifndef TC_CODEC_PROMETHEUS_PROMETHEUS_H
#define TC_CODEC_PROMETHEUS_PROMETHEUS_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where scrapes begin in a file of several. */
struct tc_prom_scrapes {
    size_t marker_at; /* what every scrape begins with, as it stands at the start of the first */
    size_t marker_len;
    uint64_t count; /* at least 1; without a time in the samples, how many there are */
    bool undated;   /* the first sample has no time, and nothing before it says one */
};

/* Counting them takes a look at all bytes: it goes in steps, so that pages can be given back. */
struct tc_prom_count {
    struct tc_prom_scrapes scrapes; /* good at the end */
    struct tc_slice bytes;
    struct tc_slice series; /* the first one, and the first line about a metric */
    struct tc_slice meta;
    uint64_t series_count;
    uint64_t meta_count;
    size_t at; /* bytes that were looked at */
};

/* Borrows bytes while it counts. */
void tc_prom_count_begin(struct tc_prom_count *c, struct tc_slice bytes);
/* One step; false at the end. */
bool tc_prom_count_more(struct tc_prom_count *c);

#endif
