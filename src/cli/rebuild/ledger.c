/* SPDX-License-Identifier: Apache-2.0 */
/* What commands did, once more, in the order in which they did it. */
#include "warehouse/ledger.h"
#include "cli/evidence/evidence.h"
#include "cli/rebuild/rebuild.h"
#include "cli/retain/retain.h"
#include "server/warehouse/run_names.h"

#include <stdlib.h>
#include <string.h>

enum kind { ADDED, MOVED, GONE };

/* What happened to a run, by a hash of its id: two runs with one hash would have to follow each
 * other, and then one is left out and told as missing. */
struct entry {
    uint64_t run;
    uint64_t at; /* the command's number */
    enum kind kind;
};

/* What of an addition is known from what came after it. */
enum { SUPERSEDED = 1, REMOVED = 2 };

struct replay {
    struct tc_rebuild *r;
    struct tc_error *err;
    struct entry *entries;
    size_t entry_count;
    size_t entry_cap;
    struct tc_digest *manifests;
    size_t manifest_count;
    size_t manifest_cap;
    uint8_t *flags; /* of commands */
    uint64_t count; /* of commands so far */
    struct tc_rows *names;
    bool has_names; /* the ledger has some that the daemon learnt */
};

static struct tc_slice event_of(struct tc_json root)
{
    return tc_json_get_string(root, TC_LIT("event"));
}

/* ---- the first reading: what was it worth? ---- */

static tc_status note_entry(struct replay *p, struct tc_slice run, enum kind kind)
{
    if (tc_grow_items(p->entries, p->entry_cap, p->entry_count + 1, TC_REBUILD_LIST_MAX) != TC_OK) {
        return tc_rebuild_nomem(p->err);
    }
    p->entries[p->entry_count++] = (struct entry){tc_slice_hash(run, 0), p->count, kind};
    return TC_OK;
}

static tc_status note_list(struct replay *p, struct tc_json root, struct tc_slice key,
                           enum kind kind)
{
    struct tc_json list;
    struct tc_json v;
    struct tc_slice run;
    if (!tc_json_get(root, key, &list)) {
        return TC_OK;
    }
    for (struct tc_json_iter it = tc_json_iter_make(list); tc_json_iter_next(&it, NULL, &v);) {
        if (tc_json_string(v, &run)) {
            TC_TRY(note_entry(p, run, kind));
        }
    }
    return TC_OK;
}

static tc_status note_added(struct replay *p, struct tc_json root)
{
    struct tc_digest manifest;
    TC_TRY(note_entry(p, tc_json_get_string(root, TC_LIT("run_id")), ADDED));
    if (!tc_digest_parse(tc_json_get_string(root, TC_LIT("manifest")), &manifest)) {
        return TC_OK;
    }
    if (tc_grow_items(p->manifests, p->manifest_cap, p->manifest_count + 1, TC_REBUILD_LIST_MAX) !=
        TC_OK) {
        return tc_rebuild_nomem(p->err);
    }
    p->manifests[p->manifest_count++] = manifest;
    return TC_OK;
}

static tc_status first(void *context, struct tc_slice json)
{
    struct replay *p = context;
    struct tc_json root;
    TC_TRY(tc_json_parse(p->r->parser, json, &root, p->err));
    if (tc_slice_eq(event_of(root), TC_LIT(TC_RECORD_ADD))) {
        TC_TRY(note_added(p, root));
    } else if (tc_slice_eq(event_of(root), TC_LIT(TC_RETAIN_EVENT))) {
        TC_TRY(note_list(p, root, TC_LIT("runs"), MOVED));
        TC_TRY(note_list(p, root, TC_LIT("lineages"), GONE));
    }
    p->count++;
    return TC_OK;
}

static int by_run(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    if (x->run != y->run) {
        return x->run < y->run ? -1 : 1;
    }
    return x->at < y->at ? -1 : x->at > y->at;
}

static int by_digest(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct tc_digest));
}

/* A run that was added twice with nothing in between: the first time it was not committed. */
static tc_status judge(struct replay *p)
{
    p->flags = calloc(p->count + 1, 1);
    if (p->flags == NULL) {
        return tc_rebuild_nomem(p->err);
    }
    if (p->entry_count > 1) {
        qsort(p->entries, p->entry_count, sizeof *p->entries, by_run);
    }
    if (p->manifest_count > 1) {
        qsort(p->manifests, p->manifest_count, sizeof *p->manifests, by_digest);
    }
    bool gone = false;
    for (size_t i = p->entry_count; i > 0; i--) {
        const struct entry *e = &p->entries[i - 1];
        const struct entry *next = i < p->entry_count && e[1].run == e->run ? &e[1] : NULL;
        gone = (gone && next != NULL) || e->kind == GONE;
        if (e->kind == ADDED) {
            p->flags[e->at] = (uint8_t)((gone ? REMOVED : 0) |
                                        (next != NULL && next->kind == ADDED ? SUPERSEDED : 0));
        }
    }
    return TC_OK;
}

/* ---- the second: again ---- */

static tc_status add(struct replay *p, struct tc_json root)
{
    struct tc_run_record record;
    struct tc_error why = {0};
    uint8_t flags = p->flags[p->count];
    if ((flags & SUPERSEDED) != 0) {
        return TC_OK;
    }
    if (tc_run_record_read(root, &record, &why) != TC_OK) {
        tc_rebuild_note(p->r, "a run of the ledger is left out: %s", why.message);
        p->r->runs_lost++;
        return TC_OK;
    }
    tc_status status = tc_rebuild_run(p->r, &record, (flags & REMOVED) != 0, p->err);
    tc_run_record_fini(&record);
    return status;
}

static tc_status sign(struct replay *p, struct tc_json root)
{
    char run[TC_RUN_ID_BYTES];
    struct tc_slice id = tc_json_get_string(root, TC_LIT("run_id"));
    struct tc_slice signature = tc_json_get_string(root, TC_LIT("signature"));
    struct tc_bind bind = {.type = TC_COLUMN_TEXT, .as.text = id};
    int64_t count = 0;
    TC_TRY(tc_warehouse_int(p->r->made,
                            "SELECT count(*) FROM artifact_lineage_dim WHERE run_id = ?", &bind, 1,
                            0, &count, p->err));
    (void)snprintf(run, sizeof run, "%.*s", TC_FMT(id));
    return count == 0 ? TC_OK : tc_evidence_set_signature(p->r->made, run, signature, NULL, p->err);
}

/* The texts of a list, in memory of free(); NULL without it. */
static struct tc_slice *texts_of(struct tc_json root, struct tc_slice key, size_t *out_count)
{
    struct tc_json list;
    struct tc_json v;
    size_t count = 0;
    bool any = tc_json_get(root, key, &list);
    for (struct tc_json_iter it = tc_json_iter_make(any ? list : root);
         any && tc_json_iter_next(&it, NULL, &v);) {
        count++;
    }
    struct tc_slice *texts = calloc(count + 1, sizeof *texts);
    size_t at = 0;
    for (struct tc_json_iter it = tc_json_iter_make(any ? list : root);
         texts != NULL && any && tc_json_iter_next(&it, NULL, &v);) {
        at += tc_json_string(v, &texts[at]);
    }
    *out_count = at;
    return texts;
}

static tc_status forget(struct tc_rebuild *r, struct tc_json root, struct tc_slice key,
                        tc_status (*work)(struct tc_warehouse *w, const struct tc_slice *runs,
                                          size_t count, struct tc_error *err),
                        struct tc_error *err)
{
    size_t count = 0;
    struct tc_slice *runs = texts_of(root, key, &count);
    tc_status status = runs == NULL ? tc_rebuild_nomem(err) : TC_OK;
    if (status == TC_OK && count > 0) {
        status = tc_warehouse_begin(r->made, err);
        status = status == TC_OK ? work(r->made, runs, count, err) : status;
        status = status == TC_OK ? tc_warehouse_commit(r->made, err) : status;
        if (status != TC_OK) {
            tc_warehouse_rollback(r->made);
        }
    }
    free(runs);
    return status;
}

static void widen(int64_t *io_before_us, struct tc_json root, struct tc_slice key)
{
    int64_t us = tc_json_get_int(root, key, INT64_MIN);
    *io_before_us = us > *io_before_us ? us : *io_before_us;
}

static tc_status retain(struct replay *p, struct tc_json root)
{
    widen(&p->r->hot_before_us, root, TC_LIT("hot_before_us"));
    widen(&p->r->verdicts_before_us, root, TC_LIT("verdicts_before_us"));
    TC_TRY(forget(p->r, root, TC_LIT("runs"), tc_retain_forget_runs, p->err));
    return forget(p->r, root, TC_LIT("lineages"), tc_retain_forget_lineages, p->err);
}

/* The parser's values go with the next document: those of a record are of its own. */
static tc_status second(void *context, struct tc_slice json)
{
    struct replay *p = context;
    struct tc_json root;
    TC_TRY(tc_json_parse(p->r->parser, json, &root, p->err));
    struct tc_slice event = event_of(root);
    tc_status status = tc_slice_eq(event, TC_LIT(TC_RECORD_ADD))        ? add(p, root)
                       : tc_slice_eq(event, TC_LIT(TC_EVIDENCE_SIGNED)) ? sign(p, root)
                       : tc_slice_eq(event, TC_LIT(TC_RETAIN_EVENT))    ? retain(p, root)
                                                                        : TC_OK;
    p->count++;
    return status;
}

/* ---- names of runs that the daemon learnt ---- */

static tc_status flush_names(struct replay *p)
{
    if (p->names->count == 0) {
        return TC_OK;
    }
    TC_TRY(tc_warehouse_begin(p->r->made, p->err));
    tc_status status = tc_warehouse_append(p->r->made, TC_TABLE_RUN_SCOPE, p->names, p->err);
    status = status == TC_OK ? tc_warehouse_commit(p->r->made, p->err) : status;
    if (status != TC_OK) {
        tc_warehouse_rollback(p->r->made);
    }
    tc_rows_reset(p->names);
    return status;
}

static tc_status take_names(void *context, struct tc_slice json)
{
    struct replay *p = context;
    struct tc_error why = {0};
    p->has_names = true;
    tc_status status = tc_run_names_again(p->r->parser, json, p->names, &why);
    if (status == TC_E_MALFORMED) {
        p->r->ledger_damaged++;
        return TC_OK;
    }
    if (status != TC_OK) {
        *p->err = why;
        return status;
    }
    return p->names->count < TC_ROWS_MAX ? TC_OK : flush_names(p);
}

/* Before the commands: one of them may have forgotten a run with its names. */
static tc_status add_names(struct replay *p)
{
    struct tc_rebuild *r = p->r;
    p->names = tc_rows_create(TC_TABLE_RUN_SCOPE);
    if (p->names == NULL) {
        return tc_rebuild_nomem(p->err);
    }
    tc_status status =
        tc_ledger_read(r->dir, TC_LEDGER_NAMES, take_names, p, &r->ledger_damaged, p->err);
    status = status == TC_OK ? flush_names(p) : status;
    tc_rows_destroy(p->names);
    if (status == TC_OK && !p->has_names) { /* a ledger that is older, or gone */
        status = tc_rebuild_copy(r, TC_TABLE_RUN_SCOPE, "source = 'daemon'", NULL, 0, NULL, p->err);
    }
    return status;
}

static tc_status replay(struct replay *p)
{
    struct tc_rebuild *r = p->r;
    uint64_t ignored = 0;
    TC_TRY(tc_ledger_read(r->dir, TC_LEDGER_COMMANDS, first, p, &r->ledger_damaged, p->err));
    TC_TRY(judge(p));
    TC_TRY(tc_rebuild_older(r, p->manifests, p->manifest_count, p->err));
    TC_TRY(add_names(p));
    p->count = 0;
    return tc_ledger_read(r->dir, TC_LEDGER_COMMANDS, second, p, &ignored, p->err);
}

tc_status tc_rebuild_runs(struct tc_rebuild *r, struct tc_error *err)
{
    struct replay p = {.r = r, .err = err};
    tc_status status = replay(&p);
    free(p.entries);
    free(p.manifests);
    free(p.flags);
    return status;
}

/* ---- behind the slices and requests ---- */

/* Those of moved runs that came to the daemon; a run that was added again keeps them. */
static tc_status forget_received(struct tc_warehouse *w, const struct tc_slice *runs, size_t count,
                                 struct tc_error *err)
{
    uint64_t gone = 0;
    for (size_t i = 0; i < count; i++) {
        struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = runs[i]};
        const struct tc_forget slices = {.table = TC_TABLE_SLICE,
                                         .key_column = TC_SLICE_RUN_ID,
                                         .keys = &runs[i],
                                         .key_count = 1,
                                         .before_us = INT64_MIN};
        struct tc_forget requests = slices;
        requests.table = TC_TABLE_REQUEST;
        requests.key_column = TC_REQUEST_RUN_ID;
        int64_t there = 0;
        TC_TRY(tc_warehouse_int(w, "SELECT count(*) FROM benchmark_run_fact WHERE run_id = ?", &id,
                                1, 0, &there, err));
        if (there == 0) {
            TC_TRY(tc_warehouse_forget(w, &slices, &gone, err));
            TC_TRY(tc_warehouse_forget(w, &requests, &gone, err));
        }
    }
    return TC_OK;
}

static tc_status third(void *context, struct tc_slice json)
{
    struct replay *p = context;
    struct tc_json root;
    TC_TRY(tc_json_parse(p->r->parser, json, &root, p->err));
    return tc_slice_eq(event_of(root), TC_LIT(TC_RETAIN_EVENT))
               ? forget(p->r, root, TC_LIT("runs"), forget_received, p->err)
               : TC_OK;
}

tc_status tc_rebuild_forget(struct tc_rebuild *r, struct tc_error *err)
{
    struct replay p = {.r = r, .err = err};
    uint64_t ignored = 0;
    TC_TRY(tc_ledger_read(r->dir, TC_LEDGER_COMMANDS, third, &p, &ignored, err));
    if (r->hot_before_us == INT64_MIN) {
        return TC_OK;
    }
    TC_TRY(tc_warehouse_begin(r->made, err));
    tc_status status = tc_retain_forget_hot(r->made, r->hot_before_us, err);
    status = status == TC_OK ? tc_warehouse_commit(r->made, err) : status;
    if (status != TC_OK) {
        tc_warehouse_rollback(r->made);
    }
    return status;
}
