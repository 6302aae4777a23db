/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole files as evidence: named by the SHA-256 of their content, compressed, written once, under
 * data_dir/files. Any number of processes may add and read at once; a file that is there already
 * is not written again. Every byte on disk is covered by a checksum.
 */
#ifndef TC_EVIDENCE_FILES_FILES_H
#define TC_EVIDENCE_FILES_FILES_H

#include "base/digest.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_FILES_SIZE_MAX ((uint64_t)64 << 30)

struct tc_files;
struct tc_store_io;

/* Opens data_dir/files, and makes it when `create`. TC_E_NOTFOUND when it is not there. */
TC_CHECKED tc_status tc_files_open(const char *data_dir, bool create, struct tc_files **out_files,
                                   struct tc_error *err);
void tc_files_close(struct tc_files *f);
/* Calls that fail, for tests. */
void tc_files_io(struct tc_files *f, const struct tc_store_io *io);

/*
 * Files that are added together: what nothing refers to yet is listed in a journal, so that the
 * next batch of any process removes what a killed one left behind. `keep` marks all as referred
 * to (after the commit of the rows); otherwise `end` removes what this batch has written.
 */
struct tc_files_batch;
TC_CHECKED tc_status tc_files_begin(struct tc_files *f, struct tc_files_batch **out_batch,
                                    struct tc_error *err);
/* From an open file, from its current offset to its end, or from memory. Durable on return. */
TC_CHECKED tc_status tc_files_add(struct tc_files_batch *b, int fd, struct tc_digest *out_digest,
                                  uint64_t *out_size, struct tc_error *err);
TC_CHECKED tc_status tc_files_add_bytes(struct tc_files_batch *b, struct tc_slice bytes,
                                        struct tc_digest *out_digest, struct tc_error *err);
TC_CHECKED tc_status tc_files_keep(struct tc_files_batch *b, struct tc_error *err);
void tc_files_end(struct tc_files_batch *b);

/* UNKNOWN: it cannot be asked now. Nothing is removed then, and it is asked again another time. */
enum tc_needed { TC_NEEDED_NO, TC_NEEDED_YES, TC_NEEDED_UNKNOWN };

/* Whether a digest that a dead batch left behind is referred to all the same (it died between the
 * commit and `keep`): asked by tc_files_begin's clean-up. Without it nothing is cleaned. */
typedef enum tc_needed (*tc_files_needed_fn)(void *context, const struct tc_digest *digest);
void tc_files_ask(struct tc_files *f, tc_files_needed_fn needed, void *context);

/* The content, checked, into memory of the caller's free(). TC_E_NOTFOUND; TC_E_MALFORMED:
 * damaged, and err says where. */
TC_CHECKED tc_status tc_files_read(struct tc_files *f, const struct tc_digest *digest,
                                   uint64_t size_max, char **out_bytes, size_t *out_len,
                                   struct tc_error *err);
/* At most `length` bytes of the content from `offset` on, into memory of the caller's free(), and
 * how long all of it is. All is read and checked, in memory for this part; fails as above. */
TC_CHECKED tc_status tc_files_read_part(struct tc_files *f, const struct tc_digest *digest,
                                        uint64_t offset, size_t length, char **out_bytes,
                                        size_t *out_len, uint64_t *out_total, struct tc_error *err);
/* Reads all of it again in bounded memory and compares every checksum. */
TC_CHECKED tc_status tc_files_check(struct tc_files *f, const struct tc_digest *digest,
                                    uint64_t *out_size, struct tc_error *err);
/* The same, and writes the content to an open file. What was written is only as good as the result
 * is: damage may show at the end. */
TC_CHECKED tc_status tc_files_copy(struct tc_files *f, const struct tc_digest *digest, int to,
                                   uint64_t *out_size, struct tc_error *err);
TC_CHECKED tc_status tc_files_remove(struct tc_files *f, const struct tc_digest *digest,
                                     struct tc_error *err);

struct tc_files_info {
    struct tc_digest digest;
    uint64_t disk_bytes;
    int64_t modified_ns;
};
/* In the order of the digests. Stops when `take` fails. What is no file of ours is told by `odd`
 * (may be NULL). */
TC_CHECKED tc_status tc_files_walk(
    struct tc_files *f, tc_status (*take)(void *context, const struct tc_files_info *info),
    void (*odd)(void *context, const char *path), void *context, struct tc_error *err);

#endif
