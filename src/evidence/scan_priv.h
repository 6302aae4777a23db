/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A segment, open or sealed, read batch by batch. Any bytes: what is damaged is found, and the next
 * good batch behind it. Memory is one window, whatever the file says.
 */
#ifndef TC_EVIDENCE_SCAN_PRIV_H
#define TC_EVIDENCE_SCAN_PRIV_H

#include "evidence/segment_priv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole piece fits: its header, its name, its payload. */
#define TC__WINDOW_BYTES (TC__PIECE_BYTES + TC_STORE_NAME_MAX + TC__PAYLOAD_MAX)

enum tc__found {
    TC__FOUND_BATCH,
    TC__FOUND_SKIP, /* damage that recovery has set aside */
    TC__FOUND_BAD,  /* damage; the next batch is behind it, or nothing */
    TC__FOUND_TORN, /* the beginning of a batch, or zeros, up to the end of the file */
    TC__FOUND_END,
    TC__FOUND_IO, /* the file cannot be read: scan->error is errno */
};

/* One batch, or one region that is none. */
struct tc__batch {
    uint64_t at;
    uint64_t disk;          /* bytes, all pieces */
    struct tc__piece first; /* number is 0 where the header of a bad region is bad itself */
    const char *why;        /* bad: what is wrong, in words */
    bool is_tail;           /* bad: nothing good follows */
};

struct tc__scan {
    int fd; /* borrowed */
    int error;
    uint64_t size;     /* of the file, when it was opened here */
    uint64_t data_end; /* where batches end */
    uint64_t at;       /* the next one */
    uint64_t last;     /* number of the batch before */
    bool has_head;
    bool has_id;
    bool has_end;
    struct tc__head head;
    struct tc__end end;
    uint64_t id;
    char *window; /* borrowed: TC__WINDOW_BYTES */
    uint64_t window_at;
    size_t window_len;
};

/* Borrows fd and window as long as it is used. False and scan->error when it cannot be read. */
bool tc__scan_open(struct tc__scan *scan, int fd, char *window);

/* The next batch; `check`: its payloads' checksums too. After a batch of one piece the window holds
 * all of it. */
enum tc__found tc__scan_next(struct tc__scan *scan, bool check, struct tc__batch *out);
/* Goes to the batch `number`, by the table where there is one; then tc__scan_next gives it, or one
 * before it, or one behind it when it is not there. */
void tc__scan_seek(struct tc__scan *scan, uint64_t number);

/* len bytes at offset, or NULL: past the end, too long for the window, or scan->error. */
const char *tc__scan_view(struct tc__scan *scan, uint64_t offset, uint64_t len, bool ahead);

/* The checksum of a stretch of the file that may be longer than the window. 0 or errno. */
int tc__scan_sum(struct tc__scan *scan, uint64_t at, uint64_t len, uint64_t seed, uint64_t *out);

/* Reads piece headers of a batch again: the one at *io_at, which is moved behind it. */
bool tc__scan_piece(struct tc__scan *scan, uint64_t *io_at, struct tc__piece *out);

#endif
