/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data_dir with runs r1, r2, ... in it, for tests of published numbers. Everything asserts.
 */
#ifndef TC_TEST_PUBLISHED_H
#define TC_TEST_PUBLISHED_H

#include "evidence/files/files.h"
#include "publish/lineage.h"
#include "publish/made.h"
#include "publish/publish.h"
#include "run/update.h"
#include "warehouse/warehouse.h"

#include <stddef.h>

/* The p99 of the first run, in ms; the next ones have one more each. */
#define PB_FIRST 500
#define PB_QUERY                                                                                  \
    "SELECT run_id, ttft_p99_ms AS value FROM serving_outcome_fact WHERE run_id IN ('r1', 'r2', " \
    "'r3') ORDER BY run_id"

struct pb_room {
    char dir[128];
    char outside[128]; /* TMPDIR without it; "": there is none */
    char from[160];    /* where the files of the runs were */
    struct tc_warehouse *w;
    struct tc_files *files;
    size_t runs;
    struct tc_made made;
};

/* cmocka's setup and teardown: *state is a struct pb_room with three runs. */
int pb_setup(void **state);
int pb_teardown(void **state);
/* Another run, whose p99 that is. */
void pb_add_run(struct pb_room *room, double p99);

/* What benchmark_run_fact says of all runs: the digest of a contract (NULL: none), the replicates
 * that it asks for, the conditions. */
void pb_set_contract(struct pb_room *room, const char *digest, int64_t replicates,
                     const char *conditions);
/* Changes the rows of a run in a table; committed. */
void pb_edit(struct pb_room *room, enum tc_table table, size_t column, const char *run,
             tc_run_edit_fn edit, void *context);

/* Publishes the query (NULL: PB_QUERY); unstable may be NULL. */
tc_status pb_publish(struct pb_room *room, const char *query, const char *unstable,
                     struct tc_publish_outcome *out, struct tc_error *err);
/* The same; it must be published. The id is that of *out_id. */
void pb_published(struct pb_room *room, char out_id[TC_NUMBER_ID_BYTES]);

/* Where the chain of a number is broken, after checking all of it; TC_STEP_COUNT: nowhere. No other
 * step may be broken. out_chain may be NULL. */
enum tc_step pb_broken(struct pb_room *room, const char *id, const struct tc_sign_key *key,
                       struct tc_chain *out_chain);

/* The text of a file of the data_dir, for free(); and another text instead of it. */
char *pb_slurp(const struct pb_room *room, const char *name, size_t *out_len);
void pb_write(const struct pb_room *room, const char *name, const char *text, size_t len);
/* Turns the byte in the middle of the stored content with that digest over; the same again turns it
 * back. */
void pb_flip(const struct pb_room *room, struct tc_slice digest);
/* A line of a ledger: the sum in front of the JSON made right again. */
void pb_mend_sums(char *text, size_t len);

#endif
