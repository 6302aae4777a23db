/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data_dir/files: what is where, and the locks.
 *
 *   ab/HEX             a file's content: header, zstd frame, trailer (format.c)
 *   open/NAME.journal  what a batch claims; its owner holds flock on it while it lives
 *   open/NAME.tmp      the file that batch is writing
 *   lock               flock: held while claims are made and content is removed
 *
 * A file is removed only under the lock, and only when no other journal claims it. Whoever uses
 * content claims it under the lock first. So content that anyone counts on is never removed.
 */
#ifndef TC_EVIDENCE_FILES_FILES_PRIV_H
#define TC_EVIDENCE_FILES_FILES_PRIV_H

#include "evidence/file_priv.h"
#include "evidence/files/files.h"

#define TC__FILE_VERSION 1
#define TC__FILE_HEAD_BYTES 16
#define TC__FILE_TAIL_BYTES 64
/* Bytes that are read, compressed or hashed at a time. */
#define TC__FILE_STEP ((size_t)128 << 10)
/* Journals that are looked at, and bytes of one: some 60,000 claims. */
#define TC__JOURNALS_MAX 1024
#define TC__JOURNAL_BYTES_MAX ((size_t)4 << 20)
#define TC__JOURNAL_NAME_MAX 40
/* Of one batch; the rest of its journal is for what others write into it. */
#define TC__CLAIMS_MAX 16384

/* ---- journals: lines of a letter, a blank and a digest, under the lock ---- */

enum tc__claim {
    TC__CLAIM_WRITTEN = 'w', /* by this batch, or left to it by another */
    TC__CLAIM_USED = 'u',    /* was there before */
    TC__CLAIM_KEPT = 'k',    /* another batch has come to need it: never removed by this one */
};

struct tc__journal {
    char name[TC__JOURNAL_NAME_MAX];
    int fd;
    bool alive; /* its owner holds it; else we do */
    char *text;
    size_t len;
};

/* All journals but one's own, with their text. Those of the dead are locked by us meanwhile. */
struct tc__journals {
    struct tc__journal items[TC__JOURNALS_MAX];
    size_t count;
};

struct tc_files {
    char dir[TC__DIR_MAX]; /* data_dir/files */
    int lock_fd;
    struct tc_store_io io;
    tc_files_needed_fn needed;
    void *needed_context;
    struct tc__journals journals; /* of others, while the lock is held */
};

struct tc_files_batch {
    struct tc_files *files;
    char name[TC__JOURNAL_NAME_MAX];
    int journal_fd;
    size_t claims;
    bool kept; /* the rows are there: nothing of it is removed any more */
};

/* What a trailer says. */
struct tc__file_tail {
    uint64_t raw_bytes;
    uint64_t body_bytes; /* of the zstd frame */
    uint64_t sum;        /* XXH3 of header and body */
    struct tc_digest digest;
};

void tc__file_head(uint8_t out[TC__FILE_HEAD_BYTES]);
void tc__file_tail_write(const struct tc__file_tail *tail, uint8_t out[TC__FILE_TAIL_BYTES]);
/* False when its own checksum does not hold. */
bool tc__file_tail_read(const uint8_t in[TC__FILE_TAIL_BYTES], struct tc__file_tail *out);

/* files/ab/HEX, and files/ab when folder_only; out has TC__PATH_MAX. */
void tc__files_path(const struct tc_files *f, const struct tc_digest *digest, bool folder_only,
                    char *out);
/* files/open/NAME + suffix */
void tc__files_open_path(const struct tc_files *f, const char *name, const char *suffix, char *out);
tc_status tc__files_fail(struct tc_error *err, const char *what, const char *path, int error);

TC_CHECKED tc_status tc__files_lock(struct tc_files *f, struct tc_error *err);
void tc__files_unlock(struct tc_files *f);

/* Compresses all of fd, or bytes where fd < 0, into `path`, which is made anew; durable. */
TC_CHECKED tc_status tc__files_write(struct tc_files *f, const char *path, int fd,
                                     struct tc_slice bytes, struct tc__file_tail *out,
                                     struct tc_error *err);

TC_CHECKED tc_status tc__journal_make(struct tc_files *f, struct tc_files_batch *b,
                                      struct tc_error *err);
/* Durable. 0 or errno. */
int tc__journal_add(const struct tc_store_io *io, int fd, enum tc__claim claim,
                    const struct tc_digest *digest);
/* Into f->journals. */
TC_CHECKED tc_status tc__journals_load(struct tc_files *f, const char *except,
                                       struct tc_error *err);
void tc__journals_free(struct tc_files *f);
/* The text of an open journal; into memory of free(). */
TC_CHECKED tc_status tc__journal_text(int fd, char **out_text, size_t *out_len,
                                      struct tc_error *err);
/* Walks whole lines; false at the end. */
bool tc__journal_next(struct tc_slice *text, enum tc__claim *out_claim, struct tc_digest *out);
bool tc__journal_has(struct tc_slice text, enum tc__claim claim, const struct tc_digest *digest);

/* Whether a journal of f->journals, other than `but`, claims the content. */
const struct tc__journal *tc__journals_claimant(const struct tc_files *f,
                                                const struct tc__journal *but,
                                                const struct tc_digest *digest);

#endif
