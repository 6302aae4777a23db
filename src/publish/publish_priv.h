/* SPDX-License-Identifier: Apache-2.0 */
/* What publishing asks, and what it writes. */
#ifndef TC_PUBLISH_PUBLISH_PRIV_H
#define TC_PUBLISH_PUBLISH_PRIV_H

#include "publish/chain.h"
#include "publish/publish.h"
#include "publish/values.h"
#include "warehouse/answer.h"

/* A run of the candidate, as the tables have it. */
enum {
    TC__RUN_WORKLOAD,
    TC__RUN_MANIFEST,
    TC__RUN_CONTRACT,
    TC__RUN_CONDITIONS,
    TC__RUN_MIN_REPLICATES,
    TC__RUN_LEVEL,
    TC__RUN_SIGNATURE,
    TC__RUN_CASE,
};

/* What publishing asks of a number. */
enum {
    TC__ASKS_CONTRACT,
    TC__ASKS_RUNS,
    TC__ASKS_WORKLOAD,
    TC__ASKS_REPLICATES,
    TC__ASKS_DISTRIBUTION,
    TC__ASKS_CONFIDENCE,
    TC__ASKS_EVIDENCE, /* no reason excuses these two */
    TC__ASKS_RECOMPUTED,
    TC__ASKS_COUNT,
};
#define TC__ASKS_BYTES 400

/* Texts of the claim are borrowed from all that is here. */
struct tc__candidate {
    const struct tc_publish_want *want;
    struct tc_claim claim;
    struct tc_statistic statistic;
    struct tc_values values;
    struct tc_answer others;         /* runs that the values are measured against; mostly none */
    struct tc_answer *rows;          /* one for each run of the claim */
    char (*records)[TC_DIGEST_TEXT]; /* of what the ledger says of them */
    char query_digest[TC_DIGEST_TEXT];
    struct tc_condition asks[TC__ASKS_COUNT];
    char why[TC__ASKS_COUNT][TC__ASKS_BYTES];
    struct tc_chain chain;
    struct tc_grow statement;
};

/* Fills the claim from the tables and the ledger. */
TC_CHECKED tc_status tc__candidate_make(struct tc__candidate *c, struct tc_error *err);
void tc__candidate_fini(struct tc__candidate *c);
/* The conditions that the tables say its runs meet, against those that their files give: of `made`,
 * which has the same runs. What the tables embellish breaks TC_STEP_NUMBER. */
TC_CHECKED tc_status tc__candidate_recheck(struct tc__candidate *c, struct tc_warehouse *made,
                                           struct tc_error *err);
/* Judges it: the conditions of the claim. */
TC_CHECKED tc_status tc__candidate_judge(struct tc__candidate *c, struct tc_error *err);
bool tc__candidate_is_met(const struct tc__candidate *c);
/* Something is wrong that no reason excuses. */
bool tc__candidate_is_damaged(const struct tc__candidate *c);

#endif
