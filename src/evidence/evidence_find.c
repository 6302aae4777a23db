/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the store: by the digest of a body. */
#include "evidence/evidence_priv.h"

#include <stdlib.h>

struct load {
    struct tc_evidence *e;
    uint64_t from;
    uint64_t to;
    bool full;
};

static bool take_in_range(void *context, const struct tc__citation *c)
{
    struct load *load = context;
    struct tc_evidence *e = load->e;
    if (c->number < load->from || c->number > load->to) {
        return true;
    }
    if (e->cites == NULL) {
        e->cites = malloc(TC__WALK_CITES_MAX * sizeof *e->cites);
    }
    if (e->cites == NULL || e->cites_len == TC__WALK_CITES_MAX) {
        load->full = true;
        return false;
    }
    e->cites[e->cites_len++] = *c;
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct tc__citation *)a)->number;
    uint64_t y = ((const struct tc__citation *)b)->number;
    return x < y ? -1 : x > y;
}

tc_status tc__load_cites(struct tc_evidence *e, uint64_t from, uint64_t to, bool *out_all,
                         struct tc_error *err)
{
    struct load load = {.e = e, .from = from, .to = to};
    e->cites_len = 0;
    int error = tc__cite_each(e->dir, take_in_range, NULL, &load);
    if (error != 0) {
        return tc_fail(err, TC_E_IO, 0, "cannot read %s/citations.idx: %s", e->dir,
                       strerror(error));
    }
    if (e->cites == NULL && load.full) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to read evidence");
    }
    if (e->cites != NULL && e->cites_len > 0) {
        qsort(e->cites, e->cites_len, sizeof *e->cites, by_number);
    }
    *out_all = !load.full;
    return TC_OK;
}

const struct tc__citation *tc__cite_of(const struct tc_evidence *e, uint64_t number)
{
    struct tc__citation key = {.number = number};
    return e->cites_len == 0 ? NULL
                             : bsearch(&key, e->cites, e->cites_len, sizeof *e->cites, by_number);
}

struct find {
    const struct tc_digest *digest;
    uint64_t number;
    bool found;
};

static bool take_cited(void *context, const struct tc__citation *c)
{
    struct find *find = context;
    if (memcmp(&c->digest, find->digest, sizeof c->digest) == 0) {
        find->number = c->number;
        find->found = true;
    }
    return !find->found;
}

/* TC_E_LIMIT ends the walk: it was found. */
static tc_status take_batch(void *context, const struct tc_batch *batch,
                            const struct tc_batch_info *info)
{
    struct find *find = context;
    struct tc_digest digest;
    (void)info;
    TC_TRY(tc_digest_sha256(batch->body, &digest));
    if (memcmp(&digest, find->digest, sizeof digest) == 0) {
        find->number = batch->number;
        find->found = true;
    }
    return find->found ? TC_E_LIMIT : TC_OK;
}

/* All that is here first: what has to be fetched takes long. */
static tc_status search(struct tc_evidence *e, struct find *find, struct tc_error *err)
{
    struct tc_evidence_remote remote = e->remote;
    e->remote.fetch = NULL;
    tc_status status = tc_evidence_walk(e, 0, true, take_batch, NULL, find, err);
    e->remote = remote;
    if (status == TC_OK && !find->found && remote.fetch != NULL) {
        status = tc_evidence_walk(e, 0, true, take_batch, NULL, find, err);
    }
    return find->found ? TC_OK : status;
}

tc_status tc_evidence_find(struct tc_evidence *e, const struct tc_digest *digest, bool search_all,
                           uint64_t *out_number, struct tc_error *err)
{
    struct find find = {.digest = digest};
    int error = tc__cite_each(e->dir, take_cited, NULL, &find);
    if (error != 0) {
        return tc_fail(err, TC_E_IO, 0, "cannot read %s/citations.idx: %s", e->dir,
                       strerror(error));
    }
    if (!find.found && search_all) {
        TC_TRY(search(e, &find, err));
    }
    if (!find.found) {
        return tc_fail(err, TC_E_NOTFOUND, 0, "%s: no %s batch has that digest", e->dir,
                       search_all ? "stored" : "cited");
    }
    *out_number = find.number;
    return TC_OK;
}
