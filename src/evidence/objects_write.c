/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's side of objects.idx. */
#include "evidence/store_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Lines of deleted objects that may stand in the index beyond as many as there are kept ones. */
#define GONE_LINES_MAX 1024

static tc_status index_error(struct tc_store *s, int error, const char *what, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    tc__path(path, s->dir, "objects.idx", NULL);
    return tc__store_io_error(s, error, what, path, err);
}

static int write_line(struct tc_store *s, uint64_t line, const struct tc__object *o)
{
    char text[TC__OBJECT_LINE];
    tc__object_put(text, o);
    if (lseek(s->objects.fd, (off_t)(line * TC__OBJECT_LINE), SEEK_SET) < 0) {
        return errno;
    }
    int error = tc__write_all(&s->config.io, s->objects.fd, text, sizeof text);
    return error != 0 ? error : tc__sync_file(&s->config.io, s->objects.fd);
}

/* The line of this object, if it has one: what was left in open/ may. What it says in *out. */
static uint64_t find_line(struct tc_store *s, const struct tc__object *o, struct tc__object *out)
{
    struct tc__index ix;
    struct tc__object there;
    uint64_t line = s->objects.lines;
    if (s->objects.last < o->totals.first || tc__index_open(&ix, s->dir) != 0) {
        return line;
    }
    uint64_t at = tc__index_search(&ix, o->totals.first);
    if (tc__index_line(&ix, at, &there) && there.seq == o->seq) {
        line = at;
        *out = there;
    }
    tc__index_close(&ix);
    return line;
}

void tc__objects_count(struct tc__objects *objects, const struct tc__object *o, bool is_kept)
{
    uint64_t sign = is_kept ? 1 : (uint64_t)-1;
    objects->kept_bytes += sign * o->file_bytes;
    objects->kept_batches += sign * o->totals.batches;
    objects->kept_body_bytes += sign * o->totals.body_bytes;
}

tc_status tc__objects_add(struct tc_store *s, const struct tc__object *o, struct tc_error *err)
{
    struct tc__objects *objects = &s->objects;
    struct tc__object before;
    uint64_t line = find_line(s, o, &before);
    int error = write_line(s, line, o);
    if (error != 0) {
        if (line == objects->lines) {
            (void)!s->config.io.truncate(objects->fd, (off_t)(line * TC__OBJECT_LINE));
        }
        return index_error(s, error, "write", err);
    }
    bool is_new = line == objects->lines;
    (void)pthread_mutex_lock(&s->shared->mutex);
    if (!is_new) {
        tc__objects_count(objects, &before, false);
    }
    tc__objects_count(objects, o, true);
    /* One that had a line may be shipped already, as it was: then it waits for nothing. */
    s->shipping.waiting += is_new;
    s->shipping.waiting_bytes += is_new ? o->file_bytes : 0;
    (void)pthread_mutex_unlock(&s->shared->mutex);
    if (is_new) {
        objects->lines++;
        objects->last = o->totals.last;
    }
    return TC_OK;
}

tc_status tc__objects_mark(struct tc_store *s, uint64_t line, struct tc__object *o,
                           enum tc__object_state state, struct tc_error *err)
{
    struct tc__object changed = *o;
    changed.state = state;
    int error = write_line(s, line, &changed);
    if (error != 0) {
        return index_error(s, error, "write", err);
    }
    *o = changed;
    return TC_OK;
}

tc_status tc__objects_delete(struct tc_store *s, uint64_t line, struct tc__object *o,
                             struct tc_error *err)
{
    char hex[TC__HEX_BYTES];
    char path[TC__PATH_MAX];
    tc__hex(hex, &o->digest);
    tc__path_object(path, s->dir, hex, false);
    if (unlink(path) != 0 && errno != ENOENT) {
        return tc__store_io_error(s, errno, "delete", path, err);
    }
    return tc__objects_mark(s, line, o, TC__OBJECT_GONE, err);
}

struct survey {
    uint64_t gone;
    bool damaged;
};

/* Sums up the lines. */
static tc_status read_lines(struct tc_store *s, struct tc__index *ix, struct survey *out,
                            struct tc_error *err)
{
    struct tc__objects *objects = &s->objects;
    struct tc__object o;
    objects->lines = ix->lines;
    objects->first_kept = ix->lines;
    objects->kept_bytes = 0;
    objects->kept_batches = 0;
    objects->kept_body_bytes = 0;
    objects->last = 0;
    *out = (struct survey){0};
    for (uint64_t i = 0; i < ix->lines; i++) {
        if (!tc__index_line(ix, i, &o) || o.totals.first <= objects->last) {
            out->damaged = true;
            return TC_OK;
        }
        objects->last = o.totals.last;
        if (o.state == TC__OBJECT_GOING) {
            TC_TRY(tc__objects_delete(s, i, &o, err));
        }
        if (o.state == TC__OBJECT_GONE) {
            out->gone++;
            continue;
        }
        objects->first_kept = i < objects->first_kept ? i : objects->first_kept;
        tc__objects_count(objects, &o, true);
    }
    return TC_OK;
}

static tc_status survey_index(struct tc_store *s, struct survey *out, struct tc_error *err)
{
    struct tc__index ix;
    int error = tc__index_open(&ix, s->dir);
    if (error != 0) {
        return index_error(s, error, "read", err);
    }
    tc_status status = read_lines(s, &ix, out, err);
    tc__index_close(&ix);
    return status;
}

static tc_status open_index(struct tc_store *s, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    uint64_t size = 0;
    tc__path(path, s->dir, "objects.idx", NULL);
    if (s->objects.fd >= 0) {
        (void)close(s->objects.fd);
    }
    s->objects.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (s->objects.fd < 0) {
        return index_error(s, errno, "open", err);
    }
    return tc__cut_lines(s, s->objects.fd, path, TC__OBJECT_LINE, &size, err);
}

tc_status tc__objects_open(struct tc_store *s, struct tc_error *err)
{
    struct survey survey = {0};
    TC_TRY(open_index(s, err));
    TC_TRY(survey_index(s, &survey, err));
    bool rebuild = survey.damaged;
    if (s->objects.lines == 0) {
        TC_TRY(tc__objects_any(s, &rebuild, err));
    }
    bool squeeze = !rebuild && survey.gone > s->objects.lines - survey.gone + GONE_LINES_MAX;
    if (rebuild) {
        TC_TRY(tc__objects_rebuild(s, err));
    } else if (squeeze) {
        TC_TRY(tc__objects_squeeze(s, err));
    }
    if (rebuild || squeeze) {
        TC_TRY(open_index(s, err));
        TC_TRY(survey_index(s, &survey, err));
        if (survey.damaged) {
            return tc_fail(err, TC_E_IO, 0,
                           "%s/objects.idx was written anew and is damaged again: "
                           "check the disk",
                           s->dir);
        }
    }
    atomic_store(&s->shared->next_number, s->objects.last + 1);
    return TC_OK;
}
