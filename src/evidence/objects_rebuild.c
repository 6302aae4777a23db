/* SPDX-License-Identifier: Apache-2.0 */
/* objects.idx written anew: when it is lost or damaged, or mostly about what is gone. */
#include "evidence/store_priv.h"

#include "base/table/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* 64 TB in segments of 64 MB; more than that is not listed anew. */
#define OBJECTS_MAX 1000000

struct known {
    uint64_t first;
    struct tc_digest digest;
};

struct listing {
    struct tc_store *s;
    struct known *items;
    size_t count;
    size_t cap;
    bool no_memory;
};

static bool take_any(void *context, const struct tc_digest *digest)
{
    (void)digest;
    *(bool *)context = true;
    return false;
}

tc_status tc__objects_any(struct tc_store *s, bool *out, struct tc_error *err)
{
    bool any = false;
    int error = tc__list_objects(s->dir, take_any, &any);
    if (error != 0) {
        return tc__store_io_error(s, error, "list objects in", s->dir, err);
    }
    *out = any;
    return TC_OK;
}

/* What the index says of an object, from the object. False when there is no batch in it. */
static bool describe(struct tc_store *s, const struct tc_digest *digest, struct tc__object *out)
{
    char hex[TC__HEX_BYTES];
    char path[TC__PATH_MAX];
    struct tc__scan scan;
    struct tc__batch b;
    tc__hex(hex, digest);
    tc__path_object(path, s->dir, hex, false);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    *out = (struct tc__object){.state = TC__OBJECT_KEPT, .digest = *digest};
    bool readable = tc__scan_open(&scan, fd, s->window);
    if (readable && scan.has_end) {
        out->totals = scan.end.totals;
    } else if (readable) {
        tc__totals_init(&out->totals);
        for (enum tc__found found; (found = tc__scan_next(&scan, false, &b)) != TC__FOUND_END &&
                                   found != TC__FOUND_TORN && found != TC__FOUND_IO;) {
            if (found == TC__FOUND_BATCH) {
                tc__totals_add(&out->totals, b.first.number, b.first.arrival_ns, b.first.body_len);
            }
        }
    }
    out->file_bytes = scan.size;
    out->seq = scan.has_head ? scan.head.first : out->totals.first;
    (void)close(fd);
    return readable && out->totals.batches > 0;
}

static bool take_object(void *context, const struct tc_digest *digest)
{
    struct listing *l = context;
    struct tc__object o;
    if (!describe(l->s, digest, &o)) {
        char hex[TC__HEX_BYTES];
        tc__hex(hex, digest);
        tc__tell(l->s, "%s/objects: %.*s holds no batch that can be read; it is not listed",
                 l->s->dir, TC__HEX_BYTES, hex);
        return true;
    }
    if (tc_grow_items(l->items, l->cap, l->count + 1, OBJECTS_MAX) != TC_OK) {
        l->no_memory = true;
        return false;
    }
    l->items[l->count++] = (struct known){o.totals.first, *digest};
    return true;
}

static int by_first(const void *a, const void *b)
{
    uint64_t x = ((const struct known *)a)->first;
    uint64_t y = ((const struct known *)b)->first;
    return x < y ? -1 : x > y;
}

/* The new index, beside the old one until it is whole. */
struct copy {
    char from[TC__PATH_MAX];
    char to[TC__PATH_MAX];
    int fd;
    int error;
};

static void copy_begin(struct tc_store *s, struct copy *c)
{
    tc__path(c->from, s->dir, "objects.idx.new", NULL);
    tc__path(c->to, s->dir, "objects.idx", NULL);
    c->fd = open(c->from, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    c->error = c->fd < 0 ? errno : 0;
}

static void copy_line(struct tc_store *s, struct copy *c, const struct tc__object *o)
{
    char line[TC__OBJECT_LINE];
    tc__object_put(line, o);
    if (c->error == 0) {
        c->error = tc__write_all(&s->config.io, c->fd, line, sizeof line);
    }
}

static tc_status copy_end(struct tc_store *s, struct copy *c, struct tc_error *err)
{
    if (c->error == 0) {
        c->error = tc__sync_file(&s->config.io, c->fd);
    }
    if (c->fd >= 0) {
        (void)close(c->fd);
    }
    if (c->error == 0 && s->config.io.rename(c->from, c->to) != 0) {
        c->error = errno;
    }
    if (c->error == 0) {
        c->error = tc__sync_dir(&s->config.io, s->dir);
    }
    return c->error == 0 ? TC_OK : tc__store_io_error(s, c->error, "write", c->from, err);
}

static void copy_known(struct tc_store *s, struct copy *c, const struct listing *l)
{
    uint64_t last = 0;
    for (size_t i = 0; i < l->count; i++) {
        struct tc__object o;
        if (!describe(s, &l->items[i].digest, &o)) {
            continue;
        }
        if (o.totals.first <= last) {
            char hex[TC__HEX_BYTES];
            tc__hex(hex, &o.digest);
            tc__tell(s, "%s/objects: %.*s holds batches that another one has; it is not listed",
                     s->dir, TC__HEX_BYTES, hex);
            continue;
        }
        last = o.totals.last;
        copy_line(s, c, &o);
    }
}

tc_status tc__objects_rebuild(struct tc_store *s, struct tc_error *err)
{
    struct listing l = {.s = s};
    struct copy c;
    int error = tc__list_objects(s->dir, take_object, &l);
    if (error != 0 || l.no_memory) {
        free(l.items);
        return l.no_memory
                   ? tc_fail(err, TC_E_NOMEM, 0, "no memory to write %s/objects.idx anew", s->dir)
                   : tc__store_io_error(s, error, "list objects in", s->dir, err);
    }
    if (l.count > 0) {
        qsort(l.items, l.count, sizeof *l.items, by_first);
    }
    copy_begin(s, &c);
    copy_known(s, &c, &l);
    free(l.items);
    tc__tell(s, "%s/objects.idx was lost or damaged: written anew from %zu objects", s->dir,
             l.count);
    return copy_end(s, &c, err);
}

tc_status tc__objects_squeeze(struct tc_store *s, struct tc_error *err)
{
    struct tc__index ix;
    struct copy c;
    struct tc__object gone = {.state = TC__OBJECT_KEPT};
    int error = tc__index_open(&ix, s->dir);
    if (error != 0) {
        return tc__store_io_error(s, error, "read the index in", s->dir, err);
    }
    copy_begin(s, &c);
    for (uint64_t i = 0; i < ix.lines; i++) {
        struct tc__object o;
        if (!tc__index_line(&ix, i, &o)) {
            c.error = c.error == 0 ? EIO : c.error;
            break;
        }
        bool was_gone = gone.state == TC__OBJECT_GONE;
        if (o.state == TC__OBJECT_GONE) {
            /* A run of them is one line. */
            uint64_t first = was_gone ? gone.totals.first : o.totals.first;
            gone = o;
            gone.totals.first = first;
            continue;
        }
        if (was_gone) {
            copy_line(s, &c, &gone);
            gone.state = TC__OBJECT_KEPT;
        }
        copy_line(s, &c, &o);
    }
    if (gone.state == TC__OBJECT_GONE) {
        copy_line(s, &c, &gone);
    }
    tc__index_close(&ix);
    return copy_end(s, &c, err);
}
