/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"
#include "evidence/files/files_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".journal"
#define LINE_BYTES (2 + TC__HEX_BYTES + 1)
/* Names that are tried: journals that processes with our number left behind. */
#define NAMES_MAX 4096

tc_status tc__journal_make(struct tc_files *f, struct tc_files_batch *b, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    for (unsigned i = 0; i < NAMES_MAX; i++) {
        (void)snprintf(b->name, sizeof b->name, "%ld-%u", (long)getpid(), i);
        tc__files_open_path(f, b->name, SUFFIX, path);
        b->journal_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
        if (b->journal_fd >= 0 || errno != EEXIST) {
            break;
        }
    }
    if (b->journal_fd < 0) {
        return tc__files_fail(err, "cannot make", path, errno);
    }
    if (flock(b->journal_fd, LOCK_EX | LOCK_NB) != 0) {
        return tc__files_fail(err, "cannot lock", path, errno);
    }
    tc__path(path, f->dir, "open", NULL);
    int error = tc__sync_dir(&f->io, path);
    return error == 0 ? TC_OK : tc__files_fail(err, "cannot sync", path, error);
}

int tc__journal_add(const struct tc_store_io *io, int fd, enum tc__claim claim,
                    const struct tc_digest *digest)
{
    char line[LINE_BYTES];
    line[0] = (char)claim;
    line[1] = ' ';
    tc__hex(line + 2, digest);
    line[LINE_BYTES - 1] = '\n';
    int error = tc__write_all(io, fd, line, sizeof line);
    return error == 0 ? tc__sync_file(io, fd) : error;
}

tc_status tc__journal_text(int fd, char **out_text, size_t *out_len, struct tc_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return tc__files_fail(err, "cannot read", "a journal", errno);
    }
    size_t len =
        st.st_size > (off_t)TC__JOURNAL_BYTES_MAX ? TC__JOURNAL_BYTES_MAX : (size_t)st.st_size;
    char *text = malloc(len + 1);
    if (text == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a journal of %zu bytes", len);
    }
    ssize_t n = tc__read_at(fd, text, len, 0);
    if (n < 0) {
        free(text);
        return tc__files_fail(err, "cannot read", "a journal", errno);
    }
    *out_text = text;
    *out_len = (size_t)n;
    return TC_OK;
}

/* A torn line, of a process that was killed, ends at the next line's end or at the journal's; what
 * it claims was not done. */
bool tc__journal_next(struct tc_slice *text, enum tc__claim *out_claim, struct tc_digest *out)
{
    while (text->len > 0) {
        size_t end = tc_slice_find_byte(*text, '\n');
        struct tc_slice line = tc_slice_head(*text, end == TC_NPOS ? text->len : end);
        *text = tc_slice_from(*text, end == TC_NPOS ? text->len : end + 1);
        if (end == TC_NPOS || line.len < LINE_BYTES - 1) {
            continue;
        }
        line = tc_slice_from(line, line.len - (LINE_BYTES - 1));
        TC_ASSERT(line.ptr != NULL); /* for it has bytes */
        char c = line.ptr[0];
        if ((c == TC__CLAIM_WRITTEN || c == TC__CLAIM_USED || c == TC__CLAIM_KEPT) &&
            tc_digest_from_hex(tc_slice_from(line, 2), out)) {
            *out_claim = (enum tc__claim)c;
            return true;
        }
    }
    return false;
}

bool tc__journal_has(struct tc_slice text, enum tc__claim claim, const struct tc_digest *digest)
{
    enum tc__claim c = TC__CLAIM_KEPT;
    struct tc_digest d;
    while (tc__journal_next(&text, &c, &d)) {
        if (c == claim && memcmp(&d, digest, sizeof d) == 0) {
            return true;
        }
    }
    return false;
}

static tc_status load_one(struct tc_files *f, struct tc__journal *j, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    tc__files_open_path(f, j->name, SUFFIX, path);
    j->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (j->fd < 0) {
        return tc__files_fail(err, "cannot open", path, errno);
    }
    j->alive = flock(j->fd, LOCK_EX | LOCK_NB) != 0;
    return tc__journal_text(j->fd, &j->text, &j->len, err);
}

tc_status tc__journals_load(struct tc_files *f, const char *except, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    tc_status status = TC_OK;
    struct tc__journals *js = &f->journals;
    tc__path(path, f->dir, "open", NULL);
    DIR *d = opendir(path);
    if (d == NULL) {
        return tc__files_fail(err, "cannot read", path, errno);
    }
    for (struct dirent *e; status == TC_OK && (e = readdir(d)) != NULL;) {
        struct tc_slice name = tc_slice_cstr(e->d_name);
        if (!tc_slice_ends(name, TC_LIT(SUFFIX)) ||
            name.len >= TC__JOURNAL_NAME_MAX + sizeof SUFFIX - 1) {
            continue;
        }
        name.len -= sizeof SUFFIX - 1;
        if (except != NULL && tc_slice_eq(name, tc_slice_cstr(except))) {
            continue;
        }
        if (js->count == TC__JOURNALS_MAX) {
            status =
                tc_fail(err, TC_E_LIMIT, 0, "more than %d journals in %s", TC__JOURNALS_MAX, path);
            break;
        }
        struct tc__journal *j = &js->items[js->count++];
        *j = (struct tc__journal){.fd = -1};
        memcpy(j->name, name.ptr, name.len);
        status = load_one(f, j, err);
    }
    (void)closedir(d);
    if (status != TC_OK) {
        tc__journals_free(f);
    }
    return status;
}

void tc__journals_free(struct tc_files *f)
{
    for (size_t i = 0; i < f->journals.count; i++) {
        if (f->journals.items[i].fd >= 0) {
            (void)close(f->journals.items[i].fd);
        }
        free(f->journals.items[i].text);
    }
    f->journals.count = 0;
}

const struct tc__journal *tc__journals_claimant(const struct tc_files *f,
                                                const struct tc__journal *but,
                                                const struct tc_digest *digest)
{
    for (size_t i = 0; i < f->journals.count; i++) {
        const struct tc__journal *j = &f->journals.items[i];
        struct tc_slice text = tc_slice_make(j->text, j->len);
        if (j != but && (tc__journal_has(text, TC__CLAIM_WRITTEN, digest) ||
                         tc__journal_has(text, TC__CLAIM_USED, digest))) {
            return j;
        }
    }
    return NULL;
}
