/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When scrapes were taken, and of which node, where their samples do not say: the names of the
 * files, their modification times, or their order. docs/scrapes.md says it for users.
 */
#ifndef TC_INTAKE_SCRAPES_H
#define TC_INTAKE_SCRAPES_H

#include "base/slice.h"
#include "base/status.h"
#include "intake/input.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_scrape_options {
    int64_t now_ns;      /* of --now; TC_TIME_NONE */
    int64_t interval_ns; /* of --scrape-interval; 0: not given */
    int32_t utc_offset_s;
    tc_intake_say_fn say; /* told what was assumed; NULL: nobody */
};

/*
 * Gives every scrape among the inputs its time and the time between scrapes in one file, and
 * says where these are assumed. TC_E_NOMEM.
 */
TC_CHECKED tc_status tc_scrapes_apply(struct tc_inputs *in,
                                      const struct tc_scrape_options *options);

/* Whether an input holds scrapes. */
bool tc_scrapes_is_one(const struct tc_input *in);

/*
 * The first time in a text: "2026-03-04T05:06:00Z" and with other separators or none, also without
 * the seconds, or a unix time of ten (seconds) or thirteen (milliseconds) digits.
 */
bool tc_scrape_text_time(struct tc_slice text, int32_t utc_offset_s, int64_t *out_ns);

/* That of a file's name, else of its folder's. */
bool tc_scrape_name_time(struct tc_slice path, int32_t utc_offset_s, int64_t *out_ns);

/*
 * The node in the name of a scrape: what is left of it without the time, the extension and the
 * exporter it starts with ("node_exporter-gpu-07_20260304T050600Z.prom": "gpu-07"). Empty when
 * it starts with no exporter that we know, or what is left does not plainly name a node.
 */
struct tc_slice tc_scrape_node(struct tc_slice path);

/* The order of names with numbers in them: "2" before "10". <0, 0, >0. */
int tc_natural_cmp(struct tc_slice a, struct tc_slice b);

#endif
