/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What publishing asks of a run: a list of conditions, each met, not met, or not checkable, and
 * why. benchmark_run_fact has it as JSON (conditions), and whether all are met (publishable). Most
 * depend on the files of the run alone, and are found when it is imported. How many replicates
 * there are, and whether it is signed, changes later: tc_run_settle writes that anew, so that it
 * does not matter in which order runs and signatures come. The same goes for the efficiency of
 * scaling, which is measured against the smallest scale of all runs of a case.
 */
#ifndef TC_RUN_CONDITIONS_H
#define TC_RUN_CONDITIONS_H

#include "base/json/json.h"
#include "base/json/out.h"
#include "base/slice.h"
#include "base/status.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stdint.h>

enum tc_condition_state { TC_CONDITION_MET, TC_CONDITION_NOT_MET, TC_CONDITION_NOT_CHECKABLE };
/* "met", "not_met", "not_checkable"; for people with blanks. */
const char *tc_condition_state_name(enum tc_condition_state state, bool for_people);

struct tc_condition {
    struct tc_slice name;
    enum tc_condition_state state;
    struct tc_slice why;
    bool is_asked; /* of "signed": whether the contract asks for it */
};

#define TC_CONDITIONS_MAX 32
/* Those of a text of benchmark_run_fact; how many. Texts stay the parser's. */
size_t tc_conditions_read(struct tc_json_parser *parser, struct tc_slice json,
                          struct tc_condition *out);
/* The same of a list that was parsed. */
size_t tc_conditions_of(struct tc_json list, struct tc_condition *out);
void tc_conditions_write(struct tc_json_out *j, const struct tc_condition *conditions,
                         size_t count);
bool tc_conditions_met(const struct tc_condition *conditions, size_t count);

/* Those that depend on others. Text in the caller's room. */
#define TC_CONDITION_ROOM 160
struct tc_condition tc_condition_replicates(int64_t have, int64_t want,
                                            char room[TC_CONDITION_ROOM]);
struct tc_condition tc_condition_signed(bool is_signed, bool is_asked);
struct tc_condition tc_condition_scaling(bool is_known);

/* Brings what depends on other runs up to date, in all runs of this one's replicate group and case.
 * Between begin and commit of the caller. */
TC_CHECKED tc_status tc_run_settle(struct tc_warehouse *w, struct tc_slice run_id,
                                   struct tc_error *err);

#endif
