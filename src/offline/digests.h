/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests in the shadow of reading: a verdict needs the SHA-256 of the file that it cites, which
 * takes about as long as to search that file. A large file is therefore hashed on a thread of its
 * own from the first event on that is a fault by itself; whether a verdict will cite it is not
 * known then. What none does is left off at the end. A digest that was not made here is made by
 * tc_input_digest when it is asked for, so nothing depends on what this gets done.
 */
#ifndef TC_OFFLINE_DIGESTS_H
#define TC_OFFLINE_DIGESTS_H

#include "event/event.h"
#include "intake/inputs.h"
#include "story/story.h"

/* Files below this are hashed when they are cited: that takes less than a thread does. */
#define TC_DIGESTS_LEAST ((size_t)4 << 20)

struct tc_digests;

/* NULL when there is no memory for it. Borrows in for its whole life. The thread starts with the
 * first file. */
struct tc_digests *tc_digests_create(struct tc_inputs *in);
/* From any thread: the event's file is hashed if the event is of a kind that makes a verdict. */
void tc_digests_note(struct tc_digests *d, const struct tc_event *ev);
/*
 * Waits for the digests of files that the verdicts cite, leaves off the others, and gives the
 * inputs theirs. Nothing may read digests of inputs before.
 */
void tc_digests_finish(struct tc_digests *d, const struct tc_incident_table *verdicts);
/* Leaves everything off. Takes NULL too. */
void tc_digests_destroy(struct tc_digests *d);

#endif
