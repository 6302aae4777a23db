/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's own sources (source/source.h): starts a thread for each, takes the chunks that they
 * put, makes them durable as batches, and gives them to detection; keeps their positions, and tells
 * how they are. The loop's thread, but for what the sources call.
 */
#ifndef TC_SERVER_SOURCES_SOURCES_H
#define TC_SERVER_SOURCES_SOURCES_H

#include "base/buf.h"
#include "base/json/out.h"
#include "server/ingest/ingest.h"
#include "source/source.h"

struct event_base;
struct tc_positions;
struct tc_source_set;

/* Reads where the sources go on. Borrows the parts and the directories. */
TC_CHECKED tc_status tc_source_set_create(const struct tc_ingest_parts *parts,
                                          struct event_base *base, const char *data_dir,
                                          const char *evidence_dir,
                                          struct tc_source_set **out_sources, struct tc_error *err);
/* Where all that is read elsewhere goes on: also of daemons that forward (ingest/forwarded.h). */
struct tc_positions *tc_source_set_positions(struct tc_source_set *s);
/*
 * Adds one, before the start. Takes state, also when it fails. name is what it is called in the
 * configuration and in /metrics, and what its positions belong to: a literal, or of the state.
 */
TC_CHECKED tc_status tc_source_set_add(struct tc_source_set *s, const struct tc_source_kind *kind,
                                       const char *name, void *state, struct tc_error *err);
/* Those that the configuration wants, and those that are there when it says nothing (make.c). */
TC_CHECKED tc_status tc_source_set_add_configured(struct tc_source_set *s, struct tc_error *err);
TC_CHECKED tc_status tc_source_set_start(struct tc_source_set *s, struct tc_error *err);

/* They are told to end. What is on its way to the disk is settled by the committer's end ... */
void tc_source_set_stop(struct tc_source_set *s);
/* ... and then their threads are waited for. NULL is fine. */
void tc_source_set_destroy(struct tc_source_set *s);

/* Member "sources" of the status. */
void tc_source_set_describe(const struct tc_source_set *s, struct tc_json_out *j);

#endif
