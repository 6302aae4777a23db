/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a published number to the bytes that it was made of, step by step. Each step is judged on
 * its own: what one change breaks is one step, and steps that need a broken one are not checked.
 */
#ifndef TC_PUBLISH_CHAIN_H
#define TC_PUBLISH_CHAIN_H

#include "base/json/out.h"
#include "base/status.h"
#include "evidence/sign/sign.h"
#include "publish/claim.h"
#include "publish/source.h"

#include <stdbool.h>

enum tc_step {
    TC_STEP_AUDIT,      /* the audit log is whole, and has the entry of this claim */
    TC_STEP_ROW,        /* published_number says what the claim says */
    TC_STEP_QUERY,      /* the text of the query has its digest */
    TC_STEP_TABLES,     /* the query, run again, gives the same values */
    TC_STEP_RUNS,       /* the runs have the same workload, manifest and record */
    TC_STEP_MANIFESTS,  /* the manifests are there, and have their digests */
    TC_STEP_SIGNATURES, /* they are signed, if they were; by the key that was given */
    TC_STEP_FILES,      /* every raw file has its digest */
    TC_STEP_NUMBER,     /* made again from these bytes it is the same */
    TC_STEP_COUNT,
};
/* "audit_log", "report_row", ...; for people with blanks. */
const char *tc_step_name(enum tc_step step, bool for_people);

enum tc_step_state {
    TC_STEP_UNCHECKED, /* a step that it needs is broken, or it is not asked for */
    TC_STEP_HOLDS,
    TC_STEP_BROKEN,
};
const char *tc_step_state_name(enum tc_step_state state, bool for_people);

struct tc_chain {
    struct {
        enum tc_step_state state;
        char what[TC_ERROR_MESSAGE_MAX]; /* what holds, what is wrong, or why it is not checked */
    } steps[TC_STEP_COUNT];
};

void tc_chain_set(struct tc_chain *c, enum tc_step step, enum tc_step_state state,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
/* TC_STEP_COUNT: none is. */
enum tc_step tc_chain_broken(const struct tc_chain *c);
/* A failure that says that something is not as it should be breaks the step; of others (the disk,
 * the memory) nothing can be told: they are returned. */
TC_CHECKED tc_status tc_chain_judge(struct tc_chain *c, enum tc_step step, tc_status status,
                                    const struct tc_error *why, struct tc_error *err);
/* An array: [{"step":...,"state":...,"what":...}, ...] of the steps from `first` on. */
void tc_chain_json(const struct tc_chain *c, enum tc_step first, struct tc_json_out *j);

/* The digest of the query's text is that of the claim. */
TC_CHECKED tc_status tc_chain_query(struct tc_chain *c, const struct tc_claim *claim,
                                    struct tc_error *err);
/*
 * The steps from the manifests on, and of the runs that their records are the claim's. key may be
 * NULL: then nobody's signature is asked for. TC_OK: judged; a failure: it cannot be told.
 */
TC_CHECKED tc_status tc_chain_raw(struct tc_chain *c, const struct tc_claim *claim,
                                  const struct tc_source *source, const struct tc_sign_key *key,
                                  struct tc_error *err);

#endif
