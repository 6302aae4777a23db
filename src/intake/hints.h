/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user, or the name of a file, says about an input that its bytes do
 * not: the node of a kernel log, when that node booted, the zone and year of
 * its dates, the job of a dump, the time of a scrape.
 */
#ifndef TC_INTAKE_HINTS_H
#define TC_INTAKE_HINTS_H

#include "base/slice.h"
#include "base/status.h"
#include "intake/input.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A --boot-time for one file or node. */
struct tc_hint_boot {
    struct tc_slice who;
    int64_t boot_ns;
    bool used;
};

/* Initialise, collect the texts of the options, then tc_hints_apply. */
struct tc_hints {
    const char **node_texts; /* as on the command line, borrowed */
    size_t node_count;
    const char **boot_texts;
    size_t boot_count;
    struct tc_hint_boot *boots; /* those of boot_texts that name somebody */
    size_t boots_count;
    const char *now_text;
    const char *tz_text;
    const char *interval_text;
    int64_t now_ns;      /* of --now; TC_TIME_NONE without. Set by tc_hints_read. */
    int64_t interval_ns; /* of --scrape-interval; 0 without. The same. */
    int32_t utc_offset_s;
    bool assume_boot; /* kernel logs that only count from boot may be dated by when they end */
};

/* Room for as many --node and --boot-time as argc allows. */
TC_CHECKED tc_status tc_hints_init(struct tc_hints *h, int argc);
void tc_hints_fini(struct tc_hints *h);

/* Reads --tz, --now and --scrape-interval. TC_E_USAGE when they are no zone, time or duration. */
TC_CHECKED tc_status tc_hints_read(struct tc_hints *h, struct tc_error *err);

/*
 * Gives every input its hints. The inputs borrow h. A value that cannot be read,
 * or a --node that names no input, is TC_E_USAGE: err says which. A --boot-time
 * may be for a node that only the lines of an input name.
 */
TC_CHECKED tc_status tc_hints_apply(struct tc_hints *h, struct tc_inputs *in, struct tc_error *err);

/*
 * When a node booted, for an event that names it and has only a time since then;
 * TC_TIME_NONE when nobody said. Marks what it finds as used.
 */
int64_t tc_hints_boot_of(struct tc_hints *h, struct tc_slice node);

/* "+02:00", "-0730", "Z", "UTC": seconds east of UTC. */
bool tc_hint_zone(struct tc_slice text, int32_t *out_seconds);

#endif
