/* SPDX-License-Identifier: Apache-2.0 */
/* Which run is meant, and which runs it is set against. */
#ifndef TC_DIAGNOSE_BASE_H
#define TC_DIAGNOSE_BASE_H

#include "base/slice.h"
#include "base/status.h"
#include "compare/groups.h"
#include "warehouse/warehouse.h"

/* The one run that a word means, also if it failed. TC_E_NOTFOUND: none, or several; err says
 * which. The caller owns the group. */
TC_CHECKED tc_status tc_one_run_find(struct tc_warehouse *w, struct tc_slice word,
                                     struct tc_group *out, struct tc_error *err);
#define TC_BASE_DEFAULT "earlier runs of its case"
/*
 * The runs that `word` means, without the run itself: two runs of one name are each other's base.
 * An empty word: the runs of the same case that began before it. TC_E_NOTFOUND: there are none;
 * TC_E_USAGE: the word means nothing but the run, or is a condition that is wrong. The caller owns
 * the group; its text is the word, or TC_BASE_DEFAULT.
 */
TC_CHECKED tc_status tc_base_find(struct tc_warehouse *w, const struct tc_group *run,
                                  struct tc_slice word, struct tc_group *out, struct tc_error *err);
/* What a command would call the base; borrows it. */
struct tc_slice tc_base_word(const struct tc_group *base);

#endif
