/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `tracecore publish`, `lineage` and `verify`: what they share. */
#ifndef TC_CLI_PUBLISH_PUBLISH_H
#define TC_CLI_PUBLISH_PUBLISH_H

#include "base/table/grow.h"
#include "cli/data.h"
#include "evidence/files/files.h"
#include "evidence/sign/sign.h"
#include "publish/chain.h"
#include "publish/claim.h"
#include "publish/numbers.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>

struct tc_publish_args {
    const char *data_dir; /* NULL: the default */
    const char *metric;
    const char *point;
    const char *definition;
    const char *query;
    const char *unit;
    const char *report_row;
    const char *unstable;
    const char *reason;
    const char *output;
    bool dry_run;
    bool all; /* list: retracted ones too */
    bool json;
};

/* A data_dir with its tables and files. What fails has been said. */
struct tc_publish_place {
    char dir[TC_DATA_PATH_BYTES];
    struct tc_warehouse *w;
    struct tc_files *files;
};
/* Writing makes no database where there is none. tc_publish_place_close in any case. */
bool tc_publish_place_open(struct tc_publish_place *p, const char *command, const char *data_dir,
                           enum tc_warehouse_mode mode);
void tc_publish_place_close(struct tc_publish_place *p);

/* "ana@host": who does it, as far as the system says. */
void tc_publish_by(char out[256]);

/* A number in words: what, how much, on how many runs; and the statement of an unstable one. */
void tc_publish_put_claim(struct tc_grow *g, const struct tc_claim *claim);
/* The number, whether it is safe, its steps: text or JSON. */
void tc_publish_put_lineage(struct tc_grow *g, const char *id, const struct tc_claim *claim,
                            const struct tc_chain *chain, bool json);

/* NULL when no key was given; *out_bad: it cannot be loaded, which was said. */
struct tc_sign_key *tc_publish_key(const char *command, const char *path, bool *out_bad);

/* Actions of `publish`; exit statuses. */
int tc_publish_number(const struct tc_publish_args *args, const char *group);
int tc_publish_list(const struct tc_publish_args *args);
int tc_publish_take_back(const struct tc_publish_args *args, const char *id);
int tc_publish_export(const struct tc_publish_args *args, const char *id);

#endif
