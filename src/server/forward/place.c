/* SPDX-License-Identifier: Apache-2.0 */
#include "server/forward/place.h"

#include "base/buf.h"
#include "base/format.h"
#include "base/os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/*
 * "tracecore-forward VERSION AGENT", then "POSITION URL" for each receiver, and "end HASH" over all
 * before it.
 */
#define FILE_NAME "forward"
#define MAGIC "tracecore-forward"
#define VERSION 1
#define PATH_BYTES 4096
#define FILE_BYTES (TC_FORWARD_ENDPOINTS_MAX * (TC_FORWARD_URL_MAX + 32) + 256)
#define HALF_DIGITS 16

static tc_status make_path(const char *dir, const char *name, char *out, struct tc_error *err)
{
    int n = snprintf(out, PATH_BYTES, "%s/%s", dir, name);
    return n > 0 && n < PATH_BYTES ? TC_OK
                                   : tc_fail(err, TC_E_USAGE, 0, "%s: too long a path", dir);
}

static void put_text(struct tc_buf *b, const struct tc_forward_place *p)
{
    (void)tc_format(b, "{} {} {}{}\n", MAGIC, VERSION, tc_as_hex(p->agent[0], HALF_DIGITS),
                    tc_as_hex(p->agent[1], HALF_DIGITS));
    for (size_t i = 0; i < p->count; i++) {
        (void)tc_format(b, "{} {}\n", p->endpoints[i].position, p->endpoints[i].url);
    }
    uint64_t hash = tc_slice_hash(tc_buf_slice(b), VERSION);
    (void)tc_format(b, "end {}\n", tc_as_hex(hash, HALF_DIGITS));
}

/* False: it is not what this program writes. */
static bool read_lines(struct tc_slice agent, struct tc_slice rest, struct tc_forward_place *out)
{
    bool ok = agent.len == (size_t)2 * HALF_DIGITS &&
              tc_slice_hex(tc_slice_head(agent, HALF_DIGITS), &out->agent[0]) == HALF_DIGITS &&
              tc_slice_hex(tc_slice_from(agent, HALF_DIGITS), &out->agent[1]) == HALF_DIGITS;
    while (ok && rest.len > 0) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        struct tc_slice number = tc_slice_cut(line, ' ', &line);
        if (tc_slice_eq(number, TC_LIT("end"))) {
            return true;
        }
        ok = out->count < TC_FORWARD_ENDPOINTS_MAX && line.len < TC_FORWARD_URL_MAX &&
             tc_slice_is_u64(number, &out->endpoints[out->count].position);
        if (ok) {
            memcpy(out->endpoints[out->count].url, line.ptr, line.len);
            out->count++;
        }
    }
    return false;
}

/* What the program would write for it has to be what is there. */
static tc_status parse(const char *path, struct tc_slice text, struct tc_forward_place *out,
                       struct tc_error *err)
{
    char same[FILE_BYTES];
    struct tc_buf b = tc_buf_make(same, sizeof same);
    struct tc_slice rest;
    struct tc_slice head = tc_slice_cut(text, '\n', &rest);
    struct tc_slice word = tc_slice_cut(head, ' ', &head);
    struct tc_slice version_text = tc_slice_cut(head, ' ', &head);
    uint64_t version = 0;
    bool is_named = tc_slice_eq(word, TC_LIT(MAGIC)) && tc_slice_is_u64(version_text, &version);
    if (is_named && version > VERSION) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "%s: format version %llu, this program knows up to %d: use a newer "
                       "tracecore, or another data_dir",
                       path, (unsigned long long)version, VERSION);
    }
    if (is_named && read_lines(head, rest, out)) {
        put_text(&b, out);
        if (tc_slice_eq(tc_buf_slice(&b), text)) {
            return TC_OK;
        }
    }
    *out = (struct tc_forward_place){.count = 0};
    return tc_fail(err, TC_E_MALFORMED, 0, "%s: damaged", path);
}

tc_status tc_forward_place_read(const char *data_dir, struct tc_forward_place *out,
                                struct tc_error *err)
{
    char path[PATH_BYTES];
    char text[FILE_BYTES];
    *out = (struct tc_forward_place){.count = 0};
    TC_TRY(make_path(data_dir, FILE_NAME, path, err));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return errno == ENOENT ? TC_OK : tc_fail_errno(err, path);
    }
    ssize_t n = tc_io_read(fd, text, sizeof text);
    tc_status status = n < 0 ? tc_fail_errno(err, path) : TC_OK;
    (void)close(fd);
    return status == TC_OK ? parse(path, tc_slice_make(text, (size_t)n), out, err) : status;
}

tc_status tc_forward_place_write(const char *data_dir, const struct tc_forward_place *place,
                                 struct tc_error *err)
{
    char path[PATH_BYTES];
    char fresh[PATH_BYTES];
    char text[FILE_BYTES];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    put_text(&b, place);
    TC_TRY(make_path(data_dir, FILE_NAME, path, err));
    TC_TRY(make_path(data_dir, FILE_NAME ".new", fresh, err));
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return tc_fail_errno(err, fresh);
    }
    tc_status status =
        tc_io_write(fd, tc_buf_slice(&b)) && fdatasync(fd) == 0 ? TC_OK : tc_fail_errno(err, fresh);
    (void)close(fd);
    if (status == TC_OK && rename(fresh, path) != 0) {
        status = tc_fail_errno(err, path);
    }
    return status;
}

tc_status tc_forward_place_renew(struct tc_forward_place *place, struct tc_error *err)
{
    ssize_t n = getrandom(place->agent, sizeof place->agent, 0);
    return n == (ssize_t)sizeof place->agent
               ? TC_OK
               : tc_fail(err, TC_E_IO, 0, "the system has no random numbers for an id");
}
