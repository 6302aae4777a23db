/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Late telemetry: stretches of time that late events tell of are detected again from the store, by
 * a thread of their own, and what differs becomes part of the live stories. Also says which sources
 * are not in time. docs/internals/late.md. All functions: the loop's thread.
 */
#ifndef TC_SERVER_RECHECK_RECHECK_H
#define TC_SERVER_RECHECK_RECHECK_H

#include "base/json/out.h"
#include "base/status.h"
#include "config/config.h"
#include "live/live.h"
#include "server/cited.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_recheck;

/* Borrows live, cited, which is given digests of what findings cite (NULL: nobody is), and
 * evidence_dir as long as it lives. NULL when there is no memory. */
struct tc_recheck *tc_recheck_create(const struct tc_config *config, struct tc_live *live,
                                     struct tc_cited *cited, const char *evidence_dir);
/* Stops what runs. Accepts NULL. */
void tc_recheck_destroy(struct tc_recheck *r);
/* What an earlier process told, before the replay: an incident that is open and that live detection
 * does not find again is looked at as one that only a recheck found. Borrows mark. */
void tc_recheck_restore(struct tc_recheck *r, const struct tc_incident_mark *mark);
/* New times, and knobs of the patterns, from now on. */
void tc_recheck_configure(struct tc_recheck *r, const struct tc_config *config);

/*
 * Our clock shows now_ns: starts a recheck when one is due, or takes over what one found. To be
 * called at least once per second; does a bounded amount of work. Only failures of live.
 */
TC_CHECKED tc_status tc_recheck_advance(struct tc_recheck *r, int64_t now_ns);

/* All that arrived before this was judged, late events too; INT64_MAX: all. */
int64_t tc_recheck_judged_until(const struct tc_recheck *r);

/* "late": how rechecks go, and the sources that are not in time, at most 100. */
void tc_recheck_describe(struct tc_recheck *r, struct tc_json_out *j);

#endif
