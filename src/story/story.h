/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story: what went wrong first, and what followed from it. The patterns look at one kind of
 * trouble each; here their verdicts are joined. Two things make a link: identity (the same GPU,
 * pod, rank or node, as the data says) and order in time, with some room for clocks that differ.
 * Which pattern can explain which is a table, rules.def. docs/story.md says the rest.
 *
 * Feed every verdict to tc_story_add, then call tc_story_link with the directory that noted every
 * event: causes, roots and groups of all verdicts are worked out anew, and how often the thing of
 * each has failed (offender/offender.h).
 */
#ifndef TC_STORY_STORY_H
#define TC_STORY_STORY_H

#include "base/status.h"
#include "base/turn.h"
#include "event/verdict.h"
#include "story/incident_table.h"

#include <stddef.h>
#include <stdint.h>

struct tc_directory;
struct tc_offenders;
struct tc_story;

/* NULL when there is no memory. */
struct tc_story *tc_story_create(void);
void tc_story_destroy(struct tc_story *s);

/* A tc_verdict_fn; context is the story. Borrows v. */
TC_CHECKED tc_status tc_story_add(void *context, const struct tc_verdict *v);

/*
 * Sorts the verdicts and links them. TC_E_NOMEM when the links do not fit; the verdicts are whole
 * then, with the causes that their detectors gave.
 *
 * `turn` (NULL: all at one go) is asked between two pieces: TC_E_AGAIN when it is spent. The next
 * call goes on, of this function or of tc_story_relink. Until all is done the verdicts have the
 * links that they had, and the directory is to stay as it is. A verdict that is added ends what is
 * under way: the next call begins anew.
 */
TC_CHECKED tc_status tc_story_link(struct tc_story *s, const struct tc_directory *directory,
                                   const struct tc_turn *turn);

/*
 * The same with who runs where as it was known at the last tc_story_link, which is most of the work
 * where there are many statements: for when a verdict changed.
 */
TC_CHECKED tc_status tc_story_relink(struct tc_story *s, const struct tc_directory *directory,
                                     const struct tc_turn *turn);

/* The memory of offenders, which outlives the verdicts: to be configured, and to be told what an
 * earlier process knew. */
struct tc_offenders *tc_story_offenders(struct tc_story *s);

/* As tc_incident_table_forget. */
void tc_story_forget(struct tc_story *s, size_t count);

/* The verdicts as they stand; the story's own. */
struct tc_incident_table *tc_story_verdicts(struct tc_story *s);
/* Grows whenever a verdict or a link changed. */
uint64_t tc_story_changes(const struct tc_story *s);
/* Comparisons that the last linking took: tests hold it to be linear without a clock. */
uint64_t tc_story_steps(const struct tc_story *s);

#endif
