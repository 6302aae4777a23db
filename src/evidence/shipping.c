/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The books of what goes to an object store: the file `remote` says where, shipped.idx what is
 * there. A line is written after the copy was verified, and nothing is deleted here without one: a
 * process that dies in between finds the copy there and verifies it again.
 */
#include "evidence/ship.h"
#include "evidence/store_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* A line that was lost is put back in its place, and that goes by writing the file anew. */
#define INDEX "shipped.idx"
#define INDEX_NEW "shipped.idx.new"

_Static_assert(TC_STORE_PATH_BYTES >= TC__PATH_MAX, "a path fits");

static tc_status index_error(struct tc_store *s, int error, const char *what, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    tc__path(path, s->dir, INDEX, NULL);
    return tc__store_io_error(s, error, what, path, err);
}

/* ---- the place ---- */

/* A file that was written under another name (`error` 0) is there under its own, durable. 0 or
 * errno. */
static int put_in_place(struct tc_store *s, int fd, int error, const char *from, const char *to)
{
    error = error == 0 ? tc__sync_file(&s->config.io, fd) : error;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (error == 0 && s->config.io.rename(from, to) != 0) {
        error = errno;
    }
    return error == 0 ? tc__sync_dir(&s->config.io, s->dir) : error;
}

static tc_status write_place(struct tc_store *s, const struct tc_remote_place *place,
                             struct tc_error *err)
{
    char from[TC__PATH_MAX];
    char to[TC__PATH_MAX];
    char text[2 * TC_REMOTE_TEXT_MAX + 64];
    tc__path(from, s->dir, "remote.new", NULL);
    tc__path(to, s->dir, "remote", NULL);
    int len = snprintf(text, sizeof text, "url %s\ncredentials_file %s\n", place->url,
                       place->credentials);
    int fd = open(from, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    int error = fd < 0 ? errno : tc__write_all(&s->config.io, fd, text, (size_t)len);
    error = put_in_place(s, fd, error, from, to);
    return error == 0 ? TC_OK : tc__store_io_error(s, error, "write", to, err);
}

/* Objects that are in the object store alone. */
static tc_status count_remote(struct tc_store *s, uint64_t *out, struct tc_error *err)
{
    struct tc__index here;
    struct tc__index there = {.fd = -1};
    int error = tc__index_open(&here, s->dir);
    error = error == 0 ? tc__index_open_shipped(&there, s->dir) : error;
    *out = 0;
    for (uint64_t i = 0; error == 0 && i < there.lines; i++) {
        struct tc__object shipped;
        struct tc__object o;
        if (tc__index_line(&there, i, &shipped)) {
            uint64_t line = tc__index_search(&here, shipped.totals.first);
            *out += !tc__index_line(&here, line, &o) || o.state != TC__OBJECT_KEPT ||
                    memcmp(&o.digest, &shipped.digest, sizeof o.digest) != 0;
        }
    }
    tc__index_close(&here);
    tc__index_close(&there);
    return error == 0 ? TC_OK : index_error(s, error, "read", err);
}

/* Another place has none of the objects yet: it begins anew, unless some would be lost by that. */
static tc_status change_place(struct tc_store *s, const struct tc_remote_place *before,
                              struct tc_error *err)
{
    char path[TC__PATH_MAX];
    uint64_t remote = 0;
    TC_TRY(count_remote(s, &remote, err));
    if (remote > 0) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "evidence.remote: %llu objects are in %.60s alone; copy them to the new "
                       "place and remove evidence/remote in the data_dir, or keep the old value",
                       (unsigned long long)remote, before->url);
    }
    tc__path(path, s->dir, INDEX, NULL);
    if (unlink(path) != 0 && errno != ENOENT) {
        return index_error(s, errno, "remove", err);
    }
    int error = tc__sync_dir(&s->config.io, s->dir);
    tc__tell(s, "evidence.remote was %.200s: all objects are copied to the new place", before->url);
    return error == 0 ? TC_OK : index_error(s, error, "remove", err);
}

static tc_status note_place(struct tc_store *s, struct tc_error *err)
{
    const char *credentials = s->config.remote_credentials;
    struct tc_remote_place place;
    struct tc_remote_place before;
    int url = snprintf(place.url, sizeof place.url, "%s", s->config.remote_url);
    int file = snprintf(place.credentials, sizeof place.credentials, "%s",
                        credentials == NULL ? "" : credentials);
    if (url < 0 || (size_t)url >= sizeof place.url || file < 0 ||
        (size_t)file >= sizeof place.credentials || strpbrk(place.url, "\r\n") != NULL ||
        strpbrk(place.credentials, "\r\n") != NULL) {
        return tc_fail(err, TC_E_USAGE, 0, "evidence.remote: too long, or of more than one line");
    }
    tc_status status = tc_remote_place_read(s->dir, &before, err);
    if (status != TC_OK && status != TC_E_NOTFOUND) {
        return status;
    }
    bool is_new = status == TC_E_NOTFOUND;
    if (!is_new && strcmp(place.url, before.url) != 0) {
        TC_TRY(change_place(s, &before, err));
        is_new = true;
    }
    if (!is_new && strcmp(place.credentials, before.credentials) == 0) {
        return TC_OK;
    }
    return write_place(s, &place, err);
}

/* ---- shipped.idx ---- */

static tc_status open_index(struct tc_store *s, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    uint64_t size = 0;
    tc__path(path, s->dir, INDEX, NULL);
    if (s->shipping.fd >= 0) {
        (void)close(s->shipping.fd);
    }
    s->shipping.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (s->shipping.fd < 0) {
        return index_error(s, errno, "open", err);
    }
    TC_TRY(tc__cut_lines(s, s->shipping.fd, path, TC__OBJECT_LINE, &size, err));
    s->shipping.lines = size / TC__OBJECT_LINE;
    return TC_OK;
}

static int put_line(struct tc_store *s, int fd, const struct tc__object *o)
{
    char text[TC__OBJECT_LINE];
    tc__object_put(text, o);
    return tc__write_all(&s->config.io, fd, text, sizeof text);
}

/* All good lines in their order, with `extra` (may be NULL) among them, to another file. */
static int copy_lines(struct tc_store *s, int fd, const struct tc__object *extra)
{
    struct tc__index ix;
    struct tc__object o;
    uint64_t last = 0;
    int error = tc__index_open_shipped(&ix, s->dir);
    for (uint64_t i = 0; i < ix.lines && error == 0; i++) {
        /* One that was sealed anew, after its name got lost, is in the place of what it was. */
        if (!tc__index_line(&ix, i, &o) || o.totals.first <= last ||
            (extra != NULL && extra->totals.first == o.totals.first)) {
            continue;
        }
        if (extra != NULL && extra->totals.first < o.totals.first) {
            error = put_line(s, fd, extra);
            extra = NULL;
        }
        error = error == 0 ? put_line(s, fd, &o) : error;
        last = o.totals.last;
    }
    tc__index_close(&ix);
    return error == 0 && extra != NULL ? put_line(s, fd, extra) : error;
}

static tc_status write_anew(struct tc_store *s, const struct tc__object *extra,
                            struct tc_error *err)
{
    char from[TC__PATH_MAX];
    char to[TC__PATH_MAX];
    tc__path(from, s->dir, INDEX_NEW, NULL);
    tc__path(to, s->dir, INDEX, NULL);
    int fd = open(from, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    int error = fd < 0 ? errno : copy_lines(s, fd, extra);
    error = put_in_place(s, fd, error, from, to);
    return error == 0 ? open_index(s, err) : index_error(s, error, "write", err);
}

/* *out_damaged: how many lines are not what was written. */
static tc_status survey(struct tc_store *s, uint64_t *out_damaged, struct tc_error *err)
{
    struct tc__index ix;
    struct tc__object o;
    int error = tc__index_open_shipped(&ix, s->dir);
    if (error != 0) {
        return index_error(s, error, "read", err);
    }
    *out_damaged = 0;
    s->shipping.last = 0;
    for (uint64_t i = 0; i < ix.lines; i++) {
        if (tc__index_line(&ix, i, &o) && o.totals.first > s->shipping.last) {
            s->shipping.last = o.totals.last;
        } else {
            (*out_damaged)++;
        }
    }
    tc__index_close(&ix);
    return TC_OK;
}

/* What waits, of what there is at the start. */
static tc_status count_waiting(struct tc_store *s, struct tc_error *err)
{
    struct tc__index here;
    struct tc__index there = {.fd = -1};
    int error = tc__index_open(&here, s->dir);
    error = error == 0 ? tc__index_open_shipped(&there, s->dir) : error;
    for (uint64_t i = 0; error == 0 && i < here.lines; i++) {
        struct tc__object o;
        if (tc__index_line(&here, i, &o) && o.state == TC__OBJECT_KEPT &&
            !tc__index_has(&there, &o)) {
            s->shipping.waiting++;
            s->shipping.waiting_bytes += o.file_bytes;
        }
    }
    tc__index_close(&here);
    tc__index_close(&there);
    return error == 0 ? TC_OK : index_error(s, error, "read", err);
}

tc_status tc__shipping_open(struct tc_store *s, struct tc_error *err)
{
    uint64_t damaged = 0;
    if (s->config.remote_url == NULL || s->config.remote_url[0] == '\0') {
        return TC_OK;
    }
    TC_TRY(note_place(s, err));
    TC_TRY(open_index(s, err));
    TC_TRY(survey(s, &damaged, err));
    if (damaged > 0) {
        tc__tell(s,
                 "%s/" INDEX ": %llu lines were damaged and are left out: their objects are copied "
                 "again where they are still here",
                 s->dir, (unsigned long long)damaged);
        TC_TRY(write_anew(s, NULL, err));
    }
    TC_TRY(count_waiting(s, err));
    s->shipping.is_on = true;
    atomic_store(&s->shared->is_news, true);
    return TC_OK;
}

/* ---- object by object ---- */

tc_status tc_store_unshipped(struct tc_store *s, uint64_t after, struct tc_object_info *out_info,
                             char out_path[TC_STORE_PATH_BYTES], bool *out_any,
                             struct tc_error *err)
{
    struct tc__index here;
    struct tc__index there = {.fd = -1};
    struct tc__object o;
    uint64_t from = after + 1 > s->shipping.from ? after + 1 : s->shipping.from;
    int error = tc__index_open(&here, s->dir);
    error = error == 0 ? tc__index_open_shipped(&there, s->dir) : error;
    bool any = false;
    uint64_t line = error == 0 ? tc__index_search(&here, from) : here.lines;
    for (; line < here.lines && !any; line++) {
        any = tc__index_line(&here, line, &o) && o.state == TC__OBJECT_KEPT &&
              o.totals.first > after && !tc__index_has(&there, &o);
    }
    tc__index_close(&here);
    tc__index_close(&there);
    if (error != 0) {
        return index_error(s, error, "read", err);
    }
    *out_any = any;
    if (any) {
        char hex[TC__HEX_BYTES];
        /* Skipped ones wait for the next start, so only a search from the first on says this. */
        s->shipping.from = after == 0 ? o.totals.first : s->shipping.from;
        tc__hex(hex, &o.digest);
        tc__path_object(out_path, s->dir, hex, false);
        *out_info = tc__object_info(&o);
    }
    return TC_OK;
}

static tc_status find_kept(struct tc_store *s, const struct tc_object_info *info,
                           struct tc__object *out, struct tc_error *err)
{
    struct tc__index here;
    int error = tc__index_open(&here, s->dir);
    if (error != 0) {
        return index_error(s, error, "read", err);
    }
    bool found = tc__index_line(&here, tc__index_search(&here, info->first), out) &&
                 memcmp(&out->digest, &info->digest, sizeof out->digest) == 0;
    tc__index_close(&here);
    return found ? TC_OK
                 : tc_fail(err, TC_E_NOTFOUND, 0, "%s: the index has no such object any more",
                           s->dir);
}

tc_status tc_store_mark_shipped(struct tc_store *s, const struct tc_object_info *info,
                                struct tc_error *err)
{
    struct tc__shipping *shipping = &s->shipping;
    struct tc__object o = {.state = TC__OBJECT_GONE};
    TC_TRY(find_kept(s, info, &o, err));
    o.state = TC__OBJECT_SHIPPED;
    if (o.totals.first <= shipping->last) {
        TC_TRY(write_anew(s, &o, err));
    } else {
        off_t at = (off_t)(shipping->lines * TC__OBJECT_LINE);
        int error = lseek(shipping->fd, at, SEEK_SET) < 0 ? errno : put_line(s, shipping->fd, &o);
        error = error == 0 ? tc__sync_file(&s->config.io, shipping->fd) : error;
        if (error != 0) {
            (void)!s->config.io.truncate(shipping->fd, at);
            return index_error(s, error, "write", err);
        }
        shipping->lines++;
        shipping->last = o.totals.last;
    }
    (void)pthread_mutex_lock(&s->shared->mutex);
    shipping->waiting -= shipping->waiting > 0;
    shipping->waiting_bytes -=
        o.file_bytes < shipping->waiting_bytes ? o.file_bytes : shipping->waiting_bytes;
    shipping->shipped++;
    (void)pthread_mutex_unlock(&s->shared->mutex);
    atomic_store(&s->shared->is_news, true);
    return TC_OK;
}
