/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the store: many batches, in order, while the writer goes on. */
#include "base/assert.h"
#include "evidence/evidence_priv.h"

#include <stdarg.h>

typedef tc_status (*take_fn)(void *context, const struct tc_batch *batch,
                             const struct tc_batch_info *info);

struct walk {
    struct tc_evidence *e;
    uint64_t next; /* the smallest number that was not taken yet */
    bool want_body;
    unsigned kinds;                                           /* bits of enum tc_batch_kind */
    bool (*wants_arrival)(void *context, int64_t arrival_ns); /* NULL: all */
    bool (*wants_named)(void *context, const struct tc_batch *batch); /* no body yet; NULL: all */
    bool (*wants)(void *context, const struct tc_batch *batch); /* of long bodies; NULL: all */
    bool has_cites; /* of all batches: no need to look them up by segment */
    take_fn take;
    void (*bad)(void *context, const char *line);
    void *context;
    struct tc_error *err;
};

static void tell(const struct walk *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void tell(const struct walk *w, const char *format, ...)
{
    char line[TC__PATH_MAX + 256];
    va_list args;
    if (w->bad == NULL) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    w->bad(w->context, line);
}

/* The name stays when the window moves on. */
static bool copy_name(struct tc_evidence *e, struct tc__scan *scan, const struct tc__batch *b)
{
    uint32_t len = b->first.name_len;
    const char *bytes = tc__scan_view(scan, b->at, (uint64_t)TC__PIECE_BYTES + len, false);
    if (bytes == NULL) {
        return false;
    }
    memcpy(e->name, bytes + TC__PIECE_BYTES, len);
    return true;
}

static struct tc_batch batch_of(const struct walk *w, const struct tc__batch *b,
                                struct tc_slice body)
{
    return (struct tc_batch){
        .number = b->first.number,
        .arrival_ns = b->first.arrival_ns,
        .kind = (enum tc_batch_kind)b->first.kind,
        .name = tc_slice_make(w->e->name, b->first.name_len),
        .body = body,
    };
}

/* The body, where one is wanted; *out_skip when its name or its beginning says that it is not. */
static tc_status body_of(struct walk *w, struct tc__source *source, const struct tc__batch *b,
                         struct tc_slice *out, bool *out_skip, struct tc_error *why)
{
    *out_skip = false;
    if (!w->want_body) {
        return TC_OK;
    }
    if (w->wants_named != NULL) {
        struct tc_batch named = batch_of(w, b, TC_EMPTY);
        *out_skip = !w->wants_named(w->context, &named);
        if (*out_skip) {
            return TC_OK;
        }
    }
    if (w->wants != NULL && b->first.body_len > b->first.piece_len) {
        TC_TRY(tc__read_beginning(w->e, source, b, out, why));
        struct tc_batch beginning = batch_of(w, b, *out);
        *out_skip = !w->wants(w->context, &beginning);
    }
    return *out_skip ? TC_OK : tc__read_body(w->e, source, b, out, why);
}

static tc_status give(struct walk *w, struct tc__source *source, const struct tc__batch *b)
{
    struct tc_slice body = TC_EMPTY;
    bool skip = false;
    struct tc_error why;
    if (!copy_name(w->e, &source->scan, b)) {
        return tc_fail(w->err, TC_E_IO, 0, "cannot read %s: %s", source->path,
                       strerror(source->scan.error));
    }
    tc_status status = body_of(w, source, b, &body, &skip, &why);
    if (status == TC_E_MALFORMED) {
        tell(w, "%s", why.message);
        return TC_OK;
    }
    if (status != TC_OK) {
        return tc_fail(w->err, status, why.offset, "%s", why.message);
    }
    if (skip) {
        return TC_OK;
    }
    const struct tc__citation *cite = tc__cite_of(w->e, b->first.number);
    struct tc_batch batch = batch_of(w, b, body);
    struct tc_batch_info info = {
        .number = batch.number,
        .arrival_ns = batch.arrival_ns,
        .kind = batch.kind,
        .name = batch.name,
        .body_bytes = b->first.body_len,
        .disk_bytes = b->disk,
        .cited = cite != NULL,
    };
    if (cite != NULL) {
        info.digest = cite->digest;
    }
    return w->take(w->context, &batch, &info);
}

static bool is_wanted(const struct walk *w, const struct tc__batch *b)
{
    bool kind = w->kinds == ~0U ||
                (b->first.kind < sizeof w->kinds * 8 && (w->kinds >> b->first.kind & 1) != 0);
    return kind && (w->wants_arrival == NULL || w->wants_arrival(w->context, b->first.arrival_ns));
}

static tc_status walk_source(struct walk *w, struct tc__source *source)
{
    struct tc__batch b;
    tc__scan_seek(&source->scan, w->next);
    for (;;) {
        switch (tc__scan_next(&source->scan, false, &b)) {
        case TC__FOUND_BATCH:
            if (b.first.number >= w->next) {
                w->next = b.first.number;
                TC_TRY(is_wanted(w, &b) ? give(w, source, &b) : TC_OK);
                w->next = b.first.number + 1;
            }
            break;
        case TC__FOUND_SKIP: /* was told when it was set aside */
            break;
        case TC__FOUND_BAD:
            tell(w, "%s: offset %llu: %s; %llu bytes are skipped", source->path,
                 (unsigned long long)b.at, b.why, (unsigned long long)b.disk);
            break;
        case TC__FOUND_TORN:
            if (source->is_object) {
                tell(w, "%s: offset %llu: %s", source->path, (unsigned long long)b.at, b.why);
            }
            return TC_OK; /* in open/: the writer is at it, or died there */
        case TC__FOUND_END:
            return TC_OK;
        case TC__FOUND_IO:
        default:
            return tc_fail(w->err, TC_E_IO, (size_t)b.at, "cannot read %s: %s", source->path,
                           strerror(source->scan.error));
        }
    }
}

static tc_status cites_for(struct walk *w, uint64_t from, uint64_t to)
{
    bool all = false;
    return w->has_cites ? TC_OK : tc__load_cites(w->e, from, to, &all, w->err);
}

static tc_status walk_object(struct walk *w, const struct tc__object *o)
{
    struct tc__source source;
    struct tc_error why;
    TC_TRY(cites_for(w, o->totals.first, o->totals.last));
    tc_status status = tc__source_object(w->e, o, &source, &why);
    if (status == TC_E_NOTFOUND) {
        /* Deleted since its line was read, or lost. */
        struct tc__index now;
        struct tc__object again = *o;
        if (tc__index_open(&now, w->e->dir) == 0) {
            (void)tc__index_line(&now, tc__index_search(&now, o->totals.first), &again);
            tc__index_close(&now);
        }
        if (again.state == TC__OBJECT_KEPT && again.totals.first == o->totals.first) {
            tell(w, "%s", why.message);
        }
        return TC_OK;
    }
    if (status == TC_E_MALFORMED) {
        tell(w, "%s", why.message); /* a copy that was fetched */
        return TC_OK;
    }
    if (status != TC_OK) {
        return tc_fail(w->err, status, 0, "%s", why.message);
    }
    status = walk_source(w, &source);
    tc__source_close(&source);
    return status;
}

static void tell_damaged_line(const struct walk *w, uint64_t line)
{
    tell(w,
         "%s/objects.idx: offset %llu: the line is damaged; the next start of the daemon writes "
         "the index anew",
         w->e->dir, (unsigned long long)line * TC__OBJECT_LINE);
}

/* Those that are in the object store alone, up to that line of objects.idx. */
static tc_status walk_shipped(struct walk *w, struct tc__shipped *shipped,
                              const struct tc__object *before)
{
    struct tc__object o;
    while (tc__shipped_next(shipped, before, &o)) {
        if (o.totals.last >= w->next) {
            TC_TRY(walk_object(w, &o));
        }
    }
    return TC_OK;
}

static tc_status walk_objects(struct walk *w)
{
    struct tc__index *ix = &w->e->index;
    int error = tc__index_open(ix, w->e->dir);
    if (error != 0) {
        return tc_fail(w->err, TC_E_IO, 0, "cannot read %s/objects.idx: %s", w->e->dir,
                       strerror(error));
    }
    struct tc__shipped shipped;
    tc_status status = tc__shipped_begin(w->e, &shipped, w->err);
    for (uint64_t i = tc__index_search(ix, w->next); i < ix->lines && status == TC_OK; i++) {
        struct tc__object o;
        if (!tc__index_line(ix, i, &o)) {
            tell_damaged_line(w, i);
            continue;
        }
        status = walk_shipped(w, &shipped, &o);
        if (status == TC_OK && o.state == TC__OBJECT_KEPT && o.totals.last >= w->next) {
            status = walk_object(w, &o);
        }
    }
    status = status == TC_OK ? walk_shipped(w, &shipped, NULL) : status;
    tc__index_close(&shipped.index);
    tc__index_close(ix);
    return status;
}

/* TC_E_NOTFOUND: one of them was sealed meanwhile. */
static tc_status walk_open(struct walk *w, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct tc__source source;
        struct tc_error why;
        uint64_t to = i + 1 < count ? w->e->open[i + 1] - 1 : UINT64_MAX;
        if (to < w->next) {
            continue;
        }
        TC_TRY(cites_for(w, w->e->open[i], to));
        tc_status status = tc__source_segment(w->e, w->e->open[i], &source, &why);
        if (status != TC_OK) {
            return status == TC_E_NOTFOUND ? status : tc_fail(w->err, status, 0, "%s", why.message);
        }
        status = walk_source(w, &source);
        tc__source_close(&source);
        /* Nobody else's "not found" is taken for ours. */
        if (status != TC_OK) {
            return status == TC_E_NOTFOUND ? TC_E_IO : status;
        }
    }
    return TC_OK;
}

static tc_status walk(struct walk *w)
{
    TC_TRY(tc__load_cites(w->e, w->next, UINT64_MAX, &w->has_cites, w->err));
    for (size_t i = 0; i < TC__LOOK_MAX; i++) {
        size_t count = 0;
        /* First what is open, then the index: what is sealed in between is seen in one of them. */
        int error = tc__list_open(w->e->dir, w->e->open, TC__READ_OPEN_MAX, &count);
        if (error != 0) {
            return tc_fail(w->err, TC_E_IO, 0, "cannot list %s/open: %s", w->e->dir,
                           strerror(error));
        }
        TC_TRY(walk_objects(w));
        tc_status status = walk_open(w, count);
        if (status != TC_E_NOTFOUND) {
            return status;
        }
    }
    return tc_fail(w->err, TC_E_IO, 0, "%s: segments are sealed faster than they can be read",
                   w->e->dir);
}

tc_status tc_evidence_walk(struct tc_evidence *e, uint64_t from, bool want_body,
                           tc_status (*take)(void *context, const struct tc_batch *batch,
                                             const struct tc_batch_info *info),
                           void (*bad)(void *context, const char *line), void *context,
                           struct tc_error *err)
{
    struct walk w = {
        .e = e,
        .next = from,
        .want_body = want_body,
        .kinds = ~0U,
        .take = take,
        .bad = bad,
        .context = context,
        .err = err,
    };
    return walk(&w);
}

tc_status tc_evidence_walk_some(struct tc_evidence *e, uint64_t *io_from,
                                const struct tc_evidence_choice *choice, struct tc_error *err)
{
    struct walk w = {
        .e = e,
        .next = *io_from,
        .want_body = true,
        .kinds = choice->kinds,
        .wants_arrival = choice->wants_arrival,
        .wants_named = choice->wants_named,
        .wants = choice->wants,
        .take = choice->take,
        .bad = choice->bad,
        .context = choice->context,
        .err = err,
    };
    tc_status status = walk(&w);
    *io_from = w.next;
    return status;
}

static tc_status list_shipped(struct walk *w, struct tc__shipped *shipped,
                              const struct tc__object *before,
                              tc_status (*take)(void *context, const struct tc_object_info *info))
{
    struct tc__object o;
    while (tc__shipped_next(shipped, before, &o)) {
        struct tc_object_info info = tc__object_info(&o);
        info.is_remote = true;
        TC_TRY(take(w->context, &info));
    }
    return TC_OK;
}

tc_status tc_evidence_objects(struct tc_evidence *e,
                              tc_status (*take)(void *context, const struct tc_object_info *info),
                              void (*bad)(void *context, const char *line), void *context,
                              struct tc_error *err)
{
    struct walk w = {.e = e, .bad = bad, .context = context, .err = err};
    struct tc__shipped shipped;
    int error = tc__index_open(&e->index, e->dir);
    if (error != 0) {
        return tc_fail(err, TC_E_IO, 0, "cannot read %s/objects.idx: %s", e->dir, strerror(error));
    }
    tc_status status = tc__shipped_begin(e, &shipped, err);
    for (uint64_t i = 0; i < e->index.lines && status == TC_OK; i++) {
        struct tc__object o;
        if (!tc__index_line(&e->index, i, &o)) {
            tell_damaged_line(&w, i);
            continue;
        }
        status = list_shipped(&w, &shipped, &o, take);
        if (status == TC_OK && o.state == TC__OBJECT_KEPT) {
            struct tc_object_info info = tc__object_info(&o);
            status = take(context, &info);
        }
    }
    status = status == TC_OK ? list_shipped(&w, &shipped, NULL, take) : status;
    tc__index_close(&shipped.index);
    tc__index_close(&e->index);
    return status;
}
