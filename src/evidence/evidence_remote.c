/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the store: objects that are here no more, but have been copied to an object store. */
#include "evidence/evidence_priv.h"

#include "base/os/io.h"

#include <errno.h>
#include <unistd.h>

static bool take_line(struct tc_slice *io_rest, struct tc_slice key, char *out)
{
    struct tc_slice line = tc_slice_cut(*io_rest, '\n', io_rest);
    if (!tc_slice_starts(line, key) || line.len - key.len >= TC_REMOTE_TEXT_MAX) {
        return false;
    }
    struct tc_slice value = tc_slice_from(line, key.len);
    if (value.len > 0) {
        memcpy(out, value.ptr, value.len);
    }
    out[value.len] = '\0';
    return strlen(out) == value.len;
}

tc_status tc_remote_place_read(const char *dir, struct tc_remote_place *out, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    char text[2 * TC_REMOTE_TEXT_MAX + 64];
    if (strlen(dir) >= TC__DIR_MAX) {
        return tc_fail(err, TC_E_USAGE, 0, "the store's directory has a name that is too long");
    }
    tc__path(path, dir, "remote", NULL);
    ssize_t len = tc_io_read_path(path, text, sizeof text);
    if (len < 0) {
        return errno == ENOENT
                   ? tc_fail(err, TC_E_NOTFOUND, 0, "%s is not there", path)
                   : tc_fail(err, TC_E_IO, 0, "cannot read %s: %s", path, strerror(errno));
    }
    struct tc_slice rest = tc_slice_make(text, (size_t)len);
    struct tc_remote_place place;
    if (!take_line(&rest, TC_LIT("url "), place.url) ||
        !take_line(&rest, TC_LIT("credentials_file "), place.credentials)) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "%s is damaged: it has a line \"url s3://...\" and a line "
                       "\"credentials_file ...\"",
                       path);
    }
    *out = place;
    return TC_OK;
}

void tc_evidence_fetch_from(struct tc_evidence *e, const struct tc_evidence_remote *remote)
{
    tc__remote_close(e);
    e->remote = *remote;
}

void tc__remote_close(struct tc_evidence *e)
{
    if (e->fetched_fd >= 0) {
        (void)close(e->fetched_fd);
        e->fetched_fd = -1;
    }
    if (e->remote.destroy != NULL) {
        e->remote.destroy(e->remote.context);
    }
    e->remote = (struct tc_evidence_remote){0};
}

/* The object into e->fetched_fd: the last one stays, because citations come in groups. */
static tc_status fetch(struct tc_evidence *e, const struct tc__object *o, struct tc_error *err)
{
    if (e->fetched_fd >= 0 && memcmp(&e->fetched, &o->digest, sizeof e->fetched) == 0) {
        return TC_OK;
    }
    if (e->fetched_fd >= 0) {
        (void)close(e->fetched_fd);
        e->fetched_fd = -1;
    }
    struct tc_object_info info = tc__object_info(o);
    TC_TRY(e->remote.fetch(e->remote.context, &info, &e->fetched_fd, err));
    e->fetched = o->digest;
    return TC_OK;
}

tc_status tc__source_remote(struct tc_evidence *e, const struct tc__object *o,
                            struct tc__source *out, struct tc_error *err)
{
    char hex[TC__HEX_BYTES];
    TC_TRY(fetch(e, o, err));
    tc__hex(hex, &o->digest);
    (void)snprintf(out->path, sizeof out->path, "%s/%.2s/%.*s", e->remote.name, hex, TC__HEX_BYTES,
                   hex);
    out->is_object = true;
    out->fd = dup(e->fetched_fd);
    if (out->fd < 0 || !tc__scan_open(&out->scan, out->fd, e->window)) {
        int error = out->fd < 0 ? errno : out->scan.error;
        tc__source_close(out);
        return tc_fail(err, TC_E_IO, 0, "cannot read a copy of %s: %s", out->path, strerror(error));
    }
    return TC_OK;
}

bool tc__is_shipped(struct tc_evidence *e, const struct tc__object *o)
{
    struct tc__index shipped;
    if (e->remote.fetch == NULL || tc__index_open_shipped(&shipped, e->dir) != 0) {
        return false;
    }
    bool found = tc__index_has(&shipped, o);
    tc__index_close(&shipped);
    return found;
}

bool tc__find_shipped(struct tc_evidence *e, uint64_t number, struct tc__object *out)
{
    struct tc__index shipped;
    if (e->remote.fetch == NULL || tc__index_open_shipped(&shipped, e->dir) != 0) {
        return false;
    }
    bool found = tc__index_line(&shipped, tc__index_search(&shipped, number), out) &&
                 out->totals.first <= number;
    tc__index_close(&shipped);
    return found;
}

tc_status tc__shipped_begin(struct tc_evidence *e, struct tc__shipped *out, struct tc_error *err)
{
    out->line = 0;
    out->index.fd = -1;
    out->index.lines = 0;
    int error = e->remote.fetch == NULL ? 0 : tc__index_open_shipped(&out->index, e->dir);
    return error == 0 ? TC_OK
                      : tc_fail(err, TC_E_IO, 0, "cannot read %s/shipped.idx: %s", e->dir,
                                strerror(error));
}

bool tc__shipped_next(struct tc__shipped *shipped, const struct tc__object *before,
                      struct tc__object *out)
{
    for (; shipped->line < shipped->index.lines; shipped->line++) {
        struct tc__object o;
        if (!tc__index_line(&shipped->index, shipped->line, &o)) {
            continue; /* the next start of the daemon leaves it out */
        }
        if (before != NULL && o.totals.first >= before->totals.first) {
            /* The same object: it is here. One that is gone here is given with the next. */
            bool is_here =
                before->state == TC__OBJECT_KEPT && o.totals.first == before->totals.first;
            shipped->line += is_here;
            return false;
        }
        shipped->line++;
        *out = o;
        return true;
    }
    return false;
}

tc_status tc_evidence_remote_from(struct tc_evidence *e, int64_t since_ns, uint64_t *io_from,
                                  struct tc_error *err)
{
    struct tc__shipped shipped;
    struct tc__object o;
    TC_TRY(tc__shipped_begin(e, &shipped, err));
    while (tc__shipped_next(&shipped, NULL, &o)) {
        if (o.totals.arrival_max >= since_ns) {
            *io_from = o.totals.first < *io_from ? o.totals.first : *io_from;
            break;
        }
    }
    tc__index_close(&shipped.index);
    return TC_OK;
}
