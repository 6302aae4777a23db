/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hot metrics of the daemon: the thread that slices metrics adds samples and writes the page, the
 * loop copies the page that was written last. So neither waits for the other for longer than a copy
 * takes.
 */
#ifndef TC_SERVER_HOT_PAGE_H
#define TC_SERVER_HOT_PAGE_H

#include "base/buf.h"
#include "codec/samples.h"
#include "config/config.h"

#include <stddef.h>
#include <stdint.h>

struct tc_hot_page;

/* NULL without memory. Until it is destroyed the page is part of /metrics. */
struct tc_hot_page *tc_hot_page_create(const struct tc_config *config);
void tc_hot_page_destroy(struct tc_hot_page *p);

/* The page that was written last, which has at most so many bytes. Any thread. */
void tc_hot_page_copy(struct tc_hot_page *p, struct tc_buf *b);
size_t tc_hot_page_bytes(const struct tc_hot_page *p);

/* Of the thread that has the samples; now_ns: when they came. */
void tc_hot_page_add(struct tc_hot_page *p, const struct tc_sample *sample, int64_t time_ns,
                     int64_t now_ns);
/* Writes the page anew when that is due. */
void tc_hot_page_tick(struct tc_hot_page *p, int64_t now_ns);

#endif
