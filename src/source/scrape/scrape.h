/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prometheus exporters that are asked for their metrics, each in a fixed interval. An answer is
 * stored as it came, and dated by when it arrived. Nothing is to be gone on with after a restart:
 * what an exporter said meanwhile is gone.
 */
#ifndef TC_SOURCE_SCRAPE_SCRAPE_H
#define TC_SOURCE_SCRAPE_SCRAPE_H

#include "source/source.h"

/* Targets of the source. */
#define TC_SCRAPE_TARGETS_MAX 64
/* Where a dcgm-exporter listens unless it is told otherwise. */
#define TC_SCRAPE_DCGM "http://127.0.0.1:9400/metrics"

struct tc_scrape_config {
    struct tc_slice targets; /* one a line: "[name=]URL [node=NAME] [token_file=PATH]" */
    struct tc_slice node;    /* this host: what loopback addresses are of */
    int64_t interval_ns;     /* from one answer of a target to the next */
    int64_t timeout_ns;      /* of one answer; longer than the interval counts as that */
    bool is_guess; /* nobody named them: one that does not answer at once is not asked again */
};

extern const struct tc_source_kind tc_source_scrape;

/* Copies all; nothing is connected yet. TC_E_USAGE: what is wrong with which target;
 * TC_E_UNSUPPORTED: there is no libcurl; TC_E_NOMEM. */
TC_CHECKED tc_status tc_scrape_create(const struct tc_scrape_config *config, void **out_state,
                                      struct tc_error *err);
/* Whether something listens where TC_SCRAPE_DCGM is, now. */
bool tc_scrape_dcgm_listens(void);

#endif
