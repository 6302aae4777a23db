/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the name of a batch says: the path or label of what it was read from, and then, each in a
 * line of its own, hints (key=value). Files that were uploaded have them from the sender; what the
 * daemon's sources read has them from the source, and where the source goes on after it.
 */
#ifndef TC_STORED_BATCH_NAME_H
#define TC_STORED_BATCH_NAME_H

#include "base/slice.h"
#include "base/status.h"
#include "evidence/store.h"
#include "stored/upload_file.h"

struct tc_batch_said {
    char path[TC_UPLOAD_NAME_MAX + 1];
    struct tc_slice node;
    struct tc_slice job;
    struct tc_slice boot_time;
    struct tc_slice now;
    struct tc_slice tz;
    struct tc_slice format;
    struct tc_slice source;   /* "files": the source that read it; empty: none did */
    struct tc_slice stream;   /* of the source: what the position is of */
    struct tc_slice position; /* after the body */
    struct tc_slice taken;    /* when the daemon that forwarded it stored it */
    struct tc_slice sender;   /* the daemon's own: see sender.h */
};

/* The source that batches of other daemons are of; their stream is the agent. */
#define TC_BATCH_FORWARDED "forward"
#define TC_BATCH_TAKEN "\ntaken="

/* The slices point into name. TC_E_USAGE: a hint that there is none of, or too long a path. */
TC_CHECKED tc_status tc_batch_name_read(struct tc_slice name, struct tc_batch_said *out,
                                        struct tc_error *err);

/* When what it holds was taken: its arrival, or that at the daemon that forwarded it. */
int64_t tc_batch_taken(const struct tc_batch *batch);

/* Whether a source found what it holds, of this daemon or of one that forwarded it. */
bool tc_batch_is_found(struct tc_slice name);

/* Whether a batch of a source is the answer of an exporter: metrics, in Prometheus text. */
bool tc_batch_is_scrape(struct tc_slice name);

#endif
