/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/files/files.h"

#include "evidence/files/files_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Removes content; 0 or errno. */
static int files_unlink(struct tc_files *f, const struct tc_digest *digest)
{
    char path[TC__PATH_MAX];
    tc__files_path(f, digest, false, path);
    if (f->io.unlink(path) != 0) {
        return errno == ENOENT ? 0 : errno;
    }
    tc__files_path(f, digest, true, path);
    return tc__sync_dir(&f->io, path);
}

/* Removes a journal and the file its batch was writing, that one first. 0 or errno. */
static int drop_journal(struct tc_files *f, const char *name)
{
    char path[TC__PATH_MAX];
    tc__files_open_path(f, name, ".tmp", path);
    if (f->io.unlink(path) != 0 && errno != ENOENT) {
        return errno;
    }
    tc__files_open_path(f, name, ".journal", path);
    if (f->io.unlink(path) != 0 && errno != ENOENT) {
        return errno;
    }
    tc__path(path, f->dir, "open", NULL);
    return tc__sync_dir(&f->io, path);
}

/*
 * What becomes of content that a batch has written and nothing of that batch needs: it stays when
 * something else needs it, is left to another batch that claims it, or is removed. 0 or errno.
 */
static int settle_one(struct tc_files *f, const struct tc__journal *own, struct tc_slice text,
                      const struct tc_digest *digest)
{
    enum tc_needed needed = tc__journal_has(text, TC__CLAIM_KEPT, digest) ? TC_NEEDED_YES
                            : f->needed == NULL                           ? TC_NEEDED_NO
                                                : f->needed(f->needed_context, digest);
    if (needed != TC_NEEDED_NO) {
        /* The journal stays while it is not known: the next batch asks again. */
        return needed == TC_NEEDED_YES ? 0 : EAGAIN;
    }
    const struct tc__journal *heir = tc__journals_claimant(f, own, digest);
    if (heir == NULL) {
        return files_unlink(f, digest);
    }
    return tc__journal_add(&f->io, heir->fd, TC__CLAIM_WRITTEN, digest);
}

/* All of a batch that has come to nothing. Under the lock, with the others' journals loaded. */
static int settle(struct tc_files *f, const struct tc__journal *own, struct tc_slice text,
                  const char *name)
{
    struct tc_slice rest = text;
    enum tc__claim claim = TC__CLAIM_KEPT;
    struct tc_digest digest;
    while (tc__journal_next(&rest, &claim, &digest)) {
        int error = claim == TC__CLAIM_WRITTEN ? settle_one(f, own, text, &digest) : 0;
        if (error != 0) {
            return error;
        }
    }
    return drop_journal(f, name);
}

/* The first journal whose owner died; whether there was one that could be settled. */
static bool clean_one(struct tc_files *f)
{
    bool done = false;
    struct tc_error ignored;
    if (tc__journals_load(f, NULL, &ignored) != TC_OK) {
        return false;
    }
    for (size_t i = 0; i < f->journals.count && !done; i++) {
        const struct tc__journal *j = &f->journals.items[i];
        if (!j->alive) {
            done = settle(f, j, tc_slice_make(j->text, j->len), j->name) == 0;
        }
    }
    tc__journals_free(f);
    return done;
}

tc_status tc_files_begin(struct tc_files *f, struct tc_files_batch **out_batch,
                         struct tc_error *err)
{
    struct tc_files_batch *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to add files");
    }
    b->files = f;
    b->journal_fd = -1;
    tc_status status = tc__files_lock(f, err);
    if (status != TC_OK) {
        free(b);
        return status;
    }
    /* First, for a full disk may need it. What cannot be cleaned now waits for the next batch. */
    for (int i = 0; f->needed != NULL && i < TC__JOURNALS_MAX; i++) {
        if (!clean_one(f)) {
            break;
        }
    }
    status = tc__journal_make(f, b, err);
    tc__files_unlock(f);
    if (status != TC_OK) {
        tc_files_end(b);
        return status;
    }
    *out_batch = b;
    return TC_OK;
}

/* Moves the new file to its name; durable. */
static int move_in(struct tc_files *f, const struct tc_digest *digest, const char *from)
{
    char folder[TC__PATH_MAX];
    char path[TC__PATH_MAX];
    tc__files_path(f, digest, true, folder);
    tc__files_path(f, digest, false, path);
    bool made = mkdir(folder, 0700) == 0;
    if (!made && errno != EEXIST) {
        return errno;
    }
    if (f->io.rename(from, path) != 0) {
        return errno;
    }
    int error = tc__sync_dir(&f->io, folder);
    return error == 0 && made ? tc__sync_dir(&f->io, f->dir) : error;
}

/*
 * Claims content, and puts it there from `tmp` when it is not, or is damaged. Without tmp: false in
 * *out_there when it is not.
 */
static tc_status claim(struct tc_files_batch *b, const struct tc_digest *digest, const char *tmp,
                       bool *out_there, struct tc_error *err)
{
    struct tc_files *f = b->files;
    char path[TC__PATH_MAX];
    struct tc_error ignored;
    if (b->claims == TC__CLAIMS_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0, "more than %d files at once", TC__CLAIMS_MAX);
    }
    bool good = tc_files_check(f, digest, NULL, &ignored) == TC_OK;
    tc__files_path(f, digest, false, path);
    TC_TRY(tc__files_lock(f, err));
    bool there = access(path, F_OK) == 0; /* it may have been removed meanwhile */
    int error = 0;
    *out_there = there && good;
    if (*out_there || tmp != NULL) {
        b->claims++;
        error = tc__journal_add(&f->io, b->journal_fd, there ? TC__CLAIM_USED : TC__CLAIM_WRITTEN,
                                digest);
    }
    if (error == 0 && !*out_there && tmp != NULL) {
        error = move_in(f, digest, tmp);
        *out_there = error == 0;
    }
    tc__files_unlock(f);
    return error == 0 ? TC_OK : tc__files_fail(err, "cannot store", path, error);
}

static tc_status add(struct tc_files_batch *b, int fd, struct tc_slice bytes,
                     struct tc__file_tail *out, struct tc_error *err)
{
    char tmp[TC__PATH_MAX];
    bool there = false;
    tc__files_open_path(b->files, b->name, ".tmp", tmp);
    tc_status status = tc__files_write(b->files, tmp, fd, bytes, out, err);
    if (status == TC_OK) {
        status = claim(b, &out->digest, tmp, &there, err);
    }
    (void)b->files->io.unlink(tmp); /* gone when it was moved */
    return status;
}

tc_status tc_files_add(struct tc_files_batch *b, int fd, struct tc_digest *out_digest,
                       uint64_t *out_size, struct tc_error *err)
{
    struct tc__file_tail tail;
    TC_TRY(add(b, fd, TC_EMPTY, &tail, err));
    *out_digest = tail.digest;
    if (out_size != NULL) {
        *out_size = tail.raw_bytes;
    }
    return TC_OK;
}

tc_status tc_files_add_bytes(struct tc_files_batch *b, struct tc_slice bytes,
                             struct tc_digest *out_digest, struct tc_error *err)
{
    struct tc__file_tail tail;
    bool there = false;
    if (tc_digest_sha256(bytes, &tail.digest) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "SHA-256 cannot be set up");
    }
    TC_TRY(claim(b, &tail.digest, NULL, &there, err));
    if (!there) {
        TC_TRY(add(b, -1, bytes, &tail, err));
    }
    *out_digest = tail.digest;
    return TC_OK;
}

/* Tells every other batch that claims something of ours that it is needed now. */
static int tell_kept(struct tc_files *f, struct tc_slice text)
{
    enum tc__claim c = TC__CLAIM_KEPT;
    struct tc_digest digest;
    while (f->journals.count > 0 && tc__journal_next(&text, &c, &digest)) {
        for (size_t i = 0; i < f->journals.count; i++) {
            const struct tc__journal *j = &f->journals.items[i];
            struct tc_slice other = tc_slice_make(j->text, j->len);
            bool claims = tc__journal_has(other, TC__CLAIM_WRITTEN, &digest) ||
                          tc__journal_has(other, TC__CLAIM_USED, &digest);
            int error = claims ? tc__journal_add(&f->io, j->fd, TC__CLAIM_KEPT, &digest) : 0;
            if (error != 0) {
                return error;
            }
        }
    }
    return 0;
}

tc_status tc_files_keep(struct tc_files_batch *b, struct tc_error *err)
{
    struct tc_files *f = b->files;
    char *text = NULL;
    size_t len = 0;
    b->kept = true;
    TC_TRY(tc__files_lock(f, err));
    tc_status status = tc__journal_text(b->journal_fd, &text, &len, err);
    if (status == TC_OK) {
        status = tc__journals_load(f, b->name, err);
    }
    if (status == TC_OK) {
        int error = tell_kept(f, tc_slice_make(text, len));
        error = error == 0 ? drop_journal(f, b->name) : error;
        status = error == 0 ? TC_OK : tc__files_fail(err, "cannot end a batch in", f->dir, error);
        tc__journals_free(f);
    }
    tc__files_unlock(f);
    free(text);
    return status;
}

/* What fails here stays in the journal, for the next batch of anyone. */
static void undo(struct tc_files_batch *b)
{
    struct tc_files *f = b->files;
    struct tc_error ignored;
    char *text = NULL;
    size_t len = 0;
    if (tc__files_lock(f, &ignored) != TC_OK) {
        return;
    }
    if (tc__journal_text(b->journal_fd, &text, &len, &ignored) == TC_OK &&
        tc__journals_load(f, b->name, &ignored) == TC_OK) {
        (void)settle(f, NULL, tc_slice_make(text, len), b->name);
        tc__journals_free(f);
    }
    tc__files_unlock(f);
    free(text);
}

void tc_files_end(struct tc_files_batch *b)
{
    if (b == NULL) {
        return;
    }
    if (b->journal_fd >= 0 && !b->kept) {
        undo(b);
    }
    if (b->journal_fd >= 0) {
        (void)close(b->journal_fd);
    }
    free(b);
}

tc_status tc_files_remove(struct tc_files *f, const struct tc_digest *digest, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    tc__files_path(f, digest, false, path);
    TC_TRY(tc__files_lock(f, err));
    tc_status status = tc__journals_load(f, NULL, err);
    if (status == TC_OK && tc__journals_claimant(f, NULL, digest) != NULL) {
        status = tc_fail(err, TC_E_USAGE, 0, "%s: an import that is not finished uses it", path);
    } else if (status == TC_OK && f->needed != NULL &&
               f->needed(f->needed_context, digest) != TC_NEEDED_NO) {
        status = tc_fail(err, TC_E_USAGE, 0, "%s: something refers to it", path);
    } else if (status == TC_OK && access(path, F_OK) != 0) {
        status = tc_fail(err, TC_E_NOTFOUND, 0, "%s: not there", path);
    } else if (status == TC_OK) {
        int error = files_unlink(f, digest);
        status = error == 0 ? TC_OK : tc__files_fail(err, "cannot remove", path, error);
    }
    tc__journals_free(f);
    tc__files_unlock(f);
    return status;
}
