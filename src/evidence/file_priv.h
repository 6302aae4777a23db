/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files as the store uses them: calls that tests can make fail, whole writes, names.
 */
#ifndef TC_EVIDENCE_FILE_PRIV_H
#define TC_EVIDENCE_FILE_PRIV_H

#include "evidence/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the store's directory, and of any file in it. */
#define TC__DIR_MAX 3072
#define TC__PATH_MAX (TC__DIR_MAX + 256)
#define TC__HEX_BYTES (2 * TC_DIGEST_BYTES)

/* The system's own calls where `io` has none. */
void tc__io_init(struct tc_store_io *io);

/* All of it, or errno. */
int tc__write_all(const struct tc_store_io *io, int fd, const void *data, size_t len);
/* Data, and what is needed to find it again. 0 or errno. */
int tc__sync_file(const struct tc_store_io *io, int fd);
/* The names in a directory. 0 or errno. */
int tc__sync_dir(const struct tc_store_io *io, const char *path);
/* Reads up to len bytes at offset; fewer at the end of the file. -1 and errno. */
ssize_t tc__read_at(int fd, void *data, size_t len, uint64_t offset);
/* Makes a directory that may be there already. 0 or errno. */
int tc__make_dir(const char *path);

/* DIR/a, or DIR/a/b; out has TC__PATH_MAX. */
void tc__path(char *out, const char *dir, const char *a, const char *b);
/* DIR/open/SEQ.seg */
void tc__path_segment(char *out, const char *dir, uint64_t seq);
/* DIR/objects/ab/HEX, and without HEX when folder_only. */
void tc__path_object(char *out, const char *dir, const char *hex, bool folder_only);

/* Text of a digest, without a prefix; not terminated. out has TC__HEX_BYTES. */
void tc__hex(char *out, const struct tc_digest *d);

/* The digits of value, and nothing behind them. */
void tc__digits(char *out, uint64_t value);

/* The names SEQ.seg in DIR/open, smallest first, at most max. 0 or errno. */
int tc__list_open(const char *dir, uint64_t *out, size_t max, size_t *out_count);

/* Calls `take` for the digest of each object in DIR/objects until it returns false; in no order. 0
 * or errno. */
int tc__list_objects(const char *dir, bool (*take)(void *context, const struct tc_digest *digest),
                     void *context);

#endif
