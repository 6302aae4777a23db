/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which run a row belongs to that names none: the rule, for every engine. A run has names in its
 * cluster (run_scope_fact), each for a time. What several runs say of one name becomes claims: of
 * every moment at most one run may claim the name. A row's names are tried in the order of enum
 * tc_run_name; the first that a run claims at the row's time decides. Claims depend on what runs
 * say and not on the order in which they came. docs/decisions/0021-runs-and-rows.md says why.
 */
#ifndef TC_WAREHOUSE_RUN_CLAIMS_H
#define TC_WAREHOUSE_RUN_CLAIMS_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order in which the names of a row are tried: the narrowest first. */
enum tc_run_name {
    TC_RUN_NAME_POD_UID,
    TC_RUN_NAME_POD, /* "namespace/name", or "name" where the namespace is not known */
    TC_RUN_NAME_JOB,
    TC_RUN_NAME_SCHEDULER,
    TC_RUN_NAME_NODE, /* the only one that is no identity: other runs may use it later */
    TC_RUN_NAME_COUNT
};

/* Names of one run, and bytes of a name. */
#define TC_RUN_NAMES_MAX 65536
#define TC_RUN_NAME_BYTES 1000

/* run_scope_fact.kind. */
struct tc_slice tc_run_name_kind(enum tc_run_name name);
bool tc_run_name_parse(struct tc_slice kind, enum tc_run_name *out);

/* Whether it is a uid: 8-4-4-4-12 hex digits. */
bool tc_run_name_is_uid(struct tc_slice text);

/* A node as it is compared: its host name in lower case, and the domain behind it, which is empty
 * where it is not known. Addresses have none. out has room for node.len bytes. */
struct tc_run_node {
    struct tc_slice host;
    struct tc_slice domain;
};
struct tc_run_node tc_run_node_of(struct tc_slice node, char *out);

/* Moments of the years 1 to 9999, in us. */
#define TC_RUN_FIRST_US (INT64_C(-62135596800) * 1000000)
#define TC_RUN_LAST_US (INT64_C(253402300799) * 1000000 + 999999)

/* A run says that a name is its own, from then until then. */
struct tc_run_window {
    size_t run; /* any number that stands for the run */
    int64_t from_us;
    int64_t to_us; /* the last moment */
    bool is_timed; /* else the times are not known */
};

/*
 * A name is the run's from then until then, and no other run's. in_window: within what the run
 * says. Else it is near: up to ten minutes before and after, for what ends a run is often seen
 * behind its last result; of a uid, at any time. Measurements are joined in windows, verdicts also
 * near. after and before: the last moment in front and the first one behind at which another run
 * has the name; what lasts for some time and touches both is nobody's.
 */
struct tc_run_claim {
    size_t run;
    bool in_window;
    int64_t from_us;
    int64_t to_us;
    int64_t after_us;
    int64_t before_us;
};

#define TC_RUN_NEAR_US (INT64_C(600) * 1000000)

/*
 * The claims on one name, in order of time and without overlap. Windows may overlap, and be in any
 * order; they are sorted. text: the name, for a uid is nobody else's at any time. *out is in memory
 * of free().
 */
TC_CHECKED tc_status tc_run_claims(enum tc_run_name name, struct tc_slice text,
                                   struct tc_run_window *windows, size_t count,
                                   struct tc_run_claim **out, size_t *out_count);

#endif
