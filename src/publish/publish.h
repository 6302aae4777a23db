/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exploring is free; claiming is not. A query's values become a published number only if its
 * conditions are met: those of its runs (run/conditions.h), and those of the number itself. What is
 * not met is named; with a reason the number may be published as unstable, unless its evidence is
 * damaged or does not give it.
 */
#ifndef TC_PUBLISH_PUBLISH_H
#define TC_PUBLISH_PUBLISH_H

#include "base/json/out.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"
#include "evidence/files/files.h"
#include "publish/chain.h"
#include "publish/claim.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stdint.h>

/* Without a contract. */
#define TC_PUBLISH_REPLICATES 3
/* In front of the reason that is given. */
#define TC_PUBLISH_STATEMENT "unstable or not representative: "

struct tc_publish_want {
    const char *data_dir;
    struct tc_warehouse *w;
    struct tc_files *files;
    struct tc_slice metric;
    struct tc_slice definition_id; /* empty: not known */
    struct tc_slice unit;
    struct tc_slice point;
    struct tc_slice report_row;
    struct tc_slice query;    /* gives run_id and value */
    struct tc_slice unstable; /* why; empty: it is to be stable */
    struct tc_slice by;
    int64_t now_ns;
    bool dry_run;
    struct tc_made *made; /* tables that several calls share; NULL: made each time */
};

struct tc_publish_outcome {
    char number_id[TC_NUMBER_ID_BYTES]; /* empty: it may not be published */
    bool was_there;
    bool is_published;
    bool is_damaged; /* what is wrong cannot be excused */
    struct tc_claim claim;
    struct tc_chain chain; /* from TC_STEP_TABLES on */
};

/*
 * TC_OK: judged; whether it was published, and the conditions of the claim, are in *out.
 * TC_E_USAGE: the query is wrong, or gives nothing. Others: it cannot be done, and nothing was.
 * tc_publish_fini frees what it holds, in any case.
 */
TC_CHECKED tc_status tc_publish(const struct tc_publish_want *want, struct tc_publish_outcome *out,
                                struct tc_error *err);
void tc_publish_fini(struct tc_publish_outcome *out);
/* What came of it, as one object. */
void tc_publish_json(struct tc_json_out *j, const struct tc_publish_outcome *out);

/* Takes a number back; its entry stays in the audit log. TC_E_NOTFOUND: it is not published. */
struct tc_retract_want {
    const char *data_dir;
    struct tc_warehouse *w;
    struct tc_slice number_id;
    struct tc_slice reason;
    struct tc_slice by;
    int64_t now_ns;
};
TC_CHECKED tc_status tc_publish_retract(const struct tc_retract_want *want, struct tc_error *err);

#endif
