/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes behind a verdict. Events name a batch by the low half of its number; when a verdict
 * cites one, its body is found (in hand, on its way to the disk, or stored), its SHA-256 made once,
 * and the citation noted in the store. The loop's thread.
 */
#ifndef TC_SERVER_CITED_H
#define TC_SERVER_CITED_H

#include "base/slice.h"
#include "event/source.h"
#include "evidence/store.h"

#include <stdint.h>

struct tc_cited;

/* Borrows store. NULL when there is no memory. */
struct tc_cited *tc_cited_create(struct tc_store *store, const char *evidence_dir);
void tc_cited_destroy(struct tc_cited *c);

/* The batch in hand; number 0: none. Its body is borrowed until the next call. */
void tc_cited_current(struct tc_cited *c, uint64_t number, struct tc_slice body);

/* A batch that is not in hand; digest: of its body, or NULL where nobody made it yet. */
void tc_cited_know(struct tc_cited *c, uint64_t number, const struct tc_digest *digest);

/* A batch on its way to the disk; lives in the caller's job until it is forgotten. */
struct tc_cited_pending {
    struct tc_cited_pending *next;
    struct tc_cited_pending *prev;
    uint64_t number;
    struct tc_slice body;
};
void tc_cited_remember(struct tc_cited *c, struct tc_cited_pending *p);
void tc_cited_forget(struct tc_cited *c, struct tc_cited_pending *p);

/* For rendering. */
struct tc_sources tc_cited_sources(struct tc_cited *c);

#endif
