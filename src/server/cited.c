/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cited.h"

#include "base/buf.h"
#include "base/digest.h"
#include "observe/log.h"
#include "observe/metrics.h"

#include <stdlib.h>
#include <string.h>

/* Digests that are remembered, each in the place of its batch's number: an incident cites the same
 * few batches again and again, and a list of incidents those of all. */
#define REMEMBERED 8192

/* Digests that somebody made already; used when a verdict cites the batch. */
#define KNOWN 1024

struct known {
    uint64_t number; /* 0: free */
    struct tc_digest digest;
};

struct remembered {
    uint64_t number; /* 0: free */
    char digest[TC_DIGEST_TEXT_MAX];
};

/* Invariant: pending is a ring of the batches on their way to the disk, newest first. */
struct tc_cited {
    struct tc_store *store;
    struct tc_evidence *evidence; /* opened when first needed */
    char *dir;
    uint64_t last_number; /* of the newest batch seen: what the low halves are near to */
    uint64_t number;      /* of the batch in hand; 0 none */
    struct tc_slice body;
    struct tc_cited_pending pending;
    struct remembered remembered[REMEMBERED];
    struct known known[KNOWN];
    size_t next_known;
};

struct tc_cited *tc_cited_create(struct tc_store *store, const char *evidence_dir)
{
    struct tc_cited *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->store = store;
    c->dir = strdup(evidence_dir);
    c->pending.next = c->pending.prev = &c->pending;
    if (c->dir == NULL) {
        free(c);
        return NULL;
    }
    return c;
}

void tc_cited_destroy(struct tc_cited *c)
{
    if (c != NULL) {
        tc_evidence_close(c->evidence);
        free(c->dir);
        free(c);
    }
}

void tc_cited_current(struct tc_cited *c, uint64_t number, struct tc_slice body)
{
    c->number = number;
    c->body = body;
    c->last_number = number > c->last_number ? number : c->last_number;
}

void tc_cited_know(struct tc_cited *c, uint64_t number, const struct tc_digest *digest)
{
    c->last_number = number > c->last_number ? number : c->last_number;
    if (digest != NULL) {
        c->known[c->next_known++ % KNOWN] = (struct known){number, *digest};
    }
}

static bool find_known(const struct tc_cited *c, uint64_t number, struct tc_digest *out)
{
    for (size_t i = 0; i < KNOWN; i++) {
        if (c->known[i].number == number) {
            *out = c->known[i].digest;
            return true;
        }
    }
    return false;
}

void tc_cited_remember(struct tc_cited *c, struct tc_cited_pending *p)
{
    p->next = c->pending.next;
    p->prev = &c->pending;
    p->next->prev = p;
    c->pending.next = p;
}

void tc_cited_forget(struct tc_cited *c, struct tc_cited_pending *p)
{
    (void)c;
    p->next->prev = p->prev;
    p->prev->next = p->next;
    p->next = p->prev = NULL;
}

/* The body of a batch, wherever it is now. */
static tc_status find_body(struct tc_cited *c, uint64_t number, struct tc_slice *out,
                           struct tc_error *err)
{
    if (number == c->number) {
        *out = c->body;
        return TC_OK;
    }
    for (struct tc_cited_pending *p = c->pending.next; p != &c->pending; p = p->next) {
        if (p->number == number) {
            *out = p->body;
            return TC_OK;
        }
    }
    if (c->evidence == NULL) {
        TC_TRY(tc_evidence_open(c->dir, &c->evidence, err));
    }
    return tc_evidence_body(c->evidence, number, out, err);
}

static const struct remembered *remember(struct tc_cited *c, uint64_t number)
{
    struct tc_error err = {0};
    struct tc_slice body;
    struct tc_digest digest;
    tc_status status = TC_OK;
    if (!find_known(c, number, &digest)) {
        status = find_body(c, number, &body, &err);
        status = status == TC_OK ? tc_digest_sha256(body, &digest) : status;
    }
    if (status == TC_OK) {
        status = tc_store_cite(c->store, number, &digest, &err);
    }
    if (status != TC_OK) {
        tc_count(TC_COUNT_CITATIONS_FAILED, 1);
        tc_log_fields(TC_LOG_WARN, "the bytes behind a verdict cannot be found",
                      TC_LOG_NUMBER("batch", (int64_t)number), TC_LOG_CSTR("error", err.message));
        return NULL;
    }
    struct remembered *r = &c->remembered[number % REMEMBERED];
    struct tc_buf b = tc_buf_make(r->digest, sizeof r->digest);
    r->number = number;
    tc_buf_digest(&b, &digest);
    return r;
}

static bool view(void *context, uint32_t index, struct tc_source_view *out)
{
    struct tc_cited *c = context;
    /* The number near the newest one with that low half. */
    uint64_t number = c->last_number - (uint32_t)((uint32_t)c->last_number - index);
    const struct remembered *r = &c->remembered[number % REMEMBERED];
    if (r->number != number || number == 0) {
        r = remember(c, number);
    }
    if (r == NULL) {
        return false;
    }
    *out = (struct tc_source_view){.digest = tc_slice_make(r->digest, TC_DIGEST_TEXT_MAX)};
    return true;
}

struct tc_sources tc_cited_sources(struct tc_cited *c)
{
    return (struct tc_sources){view, c};
}
