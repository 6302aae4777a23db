/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The raw store: batches of received bytes, appended to compressed, checksummed segments, made
 * durable in groups, and sealed into write-once objects named by their SHA-256. docs/evidence.md
 * describes the files. One process writes (it holds the lock); any number read meanwhile.
 *
 * A batch is named by its number, which only grows and may skip. Its body is found by number, or
 * by the SHA-256 of the body once it was cited.
 */
#ifndef TC_EVIDENCE_STORE_H
#define TC_EVIDENCE_STORE_H

#include "base/digest.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the bytes of a batch are: how to read them again. Stored as numbers, so never reordered. */
enum tc_batch_kind {
    TC_BATCH_LOGS_PROTOBUF = 1,
    TC_BATCH_LOGS_JSON = 2,
    TC_BATCH_METRICS_PROTOBUF = 3,
    TC_BATCH_METRICS_JSON = 4,
    TC_BATCH_TRACES_PROTOBUF = 5,
    TC_BATCH_TRACES_JSON = 6,
    TC_BATCH_FILE = 7,   /* a file that was given whole: recognised from its content */
    TC_BATCH_SOURCE = 8, /* a piece of what a source of the daemon's own reads (docs/sources.md) */
};

#define TC_BATCH_KIND_LAST TC_BATCH_SOURCE

/* "logs/protobuf" and so on; "unknown" for a number that is none. */
const char *tc_batch_kind_name(enum tc_batch_kind kind);

/* Limits of the format: a longer name or body is refused with TC_E_LIMIT. */
#define TC_STORE_NAME_MAX ((size_t)16 << 10)
#define TC_STORE_BODY_MAX ((uint64_t)4 << 30)

struct tc_batch {
    uint64_t number;
    int64_t arrival_ns;
    enum tc_batch_kind kind;
    /* Of a file, as the sender gave it, "" of telemetry; hints follow as key=value lines, and at
     * the end TC_BATCH_SENDER and who sent it. */
    struct tc_slice name;
    struct tc_slice body;
};

#define TC_BATCH_SENDER "\nsender="

/* Who sent a batch, by its name; "" when that does not say. The rest of the name in *out_name,
 * which may be NULL. */
struct tc_slice tc_batch_sender(struct tc_slice name, struct tc_slice *out_name);
/* Numbers of senders are below this; two may share one. */
#define TC_SENDERS 256
/* The number of a sender: the same in every process; 0 for nobody. */
uint32_t tc_sender_number(struct tc_slice sender);

/* File calls that can fail, so that tests can make them. NULL members: the system's own. */
struct tc_store_io {
    ssize_t (*write)(int fd, const void *data, size_t len);
    int (*sync)(int fd);
    int (*rename)(const char *from, const char *to);
    int (*truncate)(int fd, off_t len);
    int (*unlink)(const char *path); /* of whole files (files.h) */
};

/* By measurement (docs/decisions/0025): slower levels cost much time and save little room. */
#define TC_STORE_COMPRESSION_DEFAULT 1

struct tc_store_config {
    size_t segment_bytes;   /* a segment is sealed at this size on disk */
    int64_t segment_ns;     /* or at this age */
    uint64_t keep_bytes;    /* objects beyond this are deleted, oldest uncited first; 0: keep all */
    uint64_t reserve_bytes; /* of the disk that stay free: below it the store is full */
    int compression;        /* zstd level of what is sealed, negative is faster */
    bool seals_apart;       /* tc_store_seal is called; otherwise commits seal */
    /* Objects are copied to this object store (ship.h), and deleted here only when they are there.
     * NULL or "": none. Borrowed during open. */
    const char *remote_url;
    const char *remote_credentials; /* a file, for readers of other processes; may be NULL */
    /* What tc_store_hold says is needed is kept beyond keep_bytes by up to so much. */
    uint64_t hold_bytes;
    struct tc_store_io io;
};

struct tc_store_stats {
    uint64_t batches;   /* durable, by this process */
    uint64_t bytes_in;  /* of their bodies */
    uint64_t bytes_out; /* on disk */
    uint64_t commits;
    uint64_t commit_failures;
    uint64_t torn_bytes; /* cut from the tail at start */
    uint64_t torn_count;
    uint64_t damaged; /* batches found damaged and set aside */
    uint64_t sealed;
    uint64_t sealed_hot;    /* of them as they were written, not with zstd: see tc_store_seal */
    uint64_t seal_failures; /* the segment waits, and it is tried again */
    uint64_t deleted;
    uint64_t deleted_held;  /* batches of them that tc_store_hold had said are needed */
    uint64_t object_bytes;  /* on disk now, sealed */
    uint64_t waiting_bytes; /* in segments that are full and wait to be sealed */
    /* What is there now, sealed or not, by whichever process. */
    uint64_t kept_batches;
    uint64_t kept_body_bytes;
    uint64_t kept_bytes; /* on disk */
    uint64_t unshipped;  /* objects of which evidence.remote has no verified copy yet */
    uint64_t unshipped_bytes;
    uint64_t shipped; /* by this process */
    uint64_t cited;
    uint64_t cite_failures; /* lines of citations.idx that may not be durable */
    bool full;              /* no room: appends are refused until there is */
};

struct tc_store;

/* ---- writing ---- */

/*
 * Opens, and makes if it is not there, the store in `dir` for writing. Recovers first: cuts a torn
 * tail, sets damaged batches aside; `say` (may be NULL) is told of each in one line. TC_E_IO with a
 * message when it cannot, or when another process holds it. Work is bounded by one segment.
 */
TC_CHECKED tc_status tc_store_open(const char *dir, const struct tc_store_config *config,
                                   void (*say)(void *context, const char *line), void *context,
                                   struct tc_store **out_store, struct tc_error *err);
/* Commits, closes. The open segment stays open for the next process. */
void tc_store_close(struct tc_store *s);

/* Number for the next batch: larger than any that was used. */
uint64_t tc_store_next_number(const struct tc_store *s);

/*
 * Adds a batch to the group. Borrows batch. Memory is bounded, whatever the body's size. TC_E_IO
 * when it cannot be written (full disk too): the group is lost then, as tc_store_commit says, and
 * the next batch begins a new one. TC_E_LIMIT, TC_E_USAGE: this batch is refused, the group stands.
 */
TC_CHECKED tc_status tc_store_append(struct tc_store *s, const struct tc_batch *batch,
                                     struct tc_error *err);
/*
 * Makes the group durable. On failure none of it is: the file is cut back to what was durable, or
 * left behind for a new one, and later groups may succeed. A segment that is full is ended, and
 * sealed unless config.seals_apart.
 */
TC_CHECKED tc_status tc_store_commit(struct tc_store *s, struct tc_error *err);

/* Asked between two steps of tc_store_seal, each of about a millisecond: it may sleep, and returns
 * false when sealing is to stop. */
struct tc_store_pause {
    bool (*go_on)(void *context); /* NULL: always */
    void *context;
};
/*
 * Seals the oldest segment that waits, if there is one, and deletes objects beyond keep_bytes.
 * Segments are written with LZ4; this compresses them anew with zstd. When too many wait (see
 * docs/evidence.md), or that fails, the segment becomes an object as it is. Takes no lock that an
 * append or a commit waits for longer than for a few instructions. With config.seals_apart, from
 * one thread at a time. TC_E_AGAIN: it was stopped, and the segment waits; TC_E_IO: it waits too,
 * and is to be tried again.
 */
TC_CHECKED tc_status tc_store_seal(struct tc_store *s, const struct tc_store_pause *pause,
                                   bool *out_sealed, struct tc_error *err);
/* Batches from this number on are still needed by somebody who reads them: see hold_bytes. Any
 * thread. 0, as at the start: none. */
void tc_store_hold(struct tc_store *s, uint64_t from);
/* Whether there may be room again: cheap, to be asked before taking a batch when full. */
bool tc_store_has_room(struct tc_store *s);

/* Safe to call from any thread. */
void tc_store_stats(const struct tc_store *s, struct tc_store_stats *out);

/* ---- reading, also from other threads and processes ---- */

struct tc_evidence;

/* Opens the store in `dir` for reading. TC_E_NOTFOUND when there is none. */
TC_CHECKED tc_status tc_evidence_open(const char *dir, struct tc_evidence **out_evidence,
                                      struct tc_error *err);
void tc_evidence_close(struct tc_evidence *e);

struct tc_batch_info {
    uint64_t number;
    int64_t arrival_ns;
    enum tc_batch_kind kind;
    struct tc_slice name;
    uint64_t body_bytes;
    uint64_t disk_bytes;
    bool cited;
    struct tc_digest digest; /* where cited */
};

/* The body of a batch, decompressed into memory of the reader until the next call on it.
 * TC_E_NOTFOUND: no such batch; TC_E_MALFORMED: damaged, and err says where. */
TC_CHECKED tc_status tc_evidence_body(struct tc_evidence *e, uint64_t number,
                                      struct tc_slice *out_body, struct tc_error *err);
/* The number of the batch whose body has that SHA-256: cited ones at once, others by reading all.
 */
TC_CHECKED tc_status tc_evidence_find(struct tc_evidence *e, const struct tc_digest *digest,
                                      bool search_all, uint64_t *out_number, struct tc_error *err);
/*
 * Walks batches from number `from` on, in order. With bodies when want_body (then batch->body is
 * set). What is damaged is told through `bad` (may be NULL) and skipped. Stops when `take` fails.
 */
TC_CHECKED tc_status tc_evidence_walk(struct tc_evidence *e, uint64_t from, bool want_body,
                                      tc_status (*take)(void *context, const struct tc_batch *batch,
                                                        const struct tc_batch_info *info),
                                      void (*bad)(void *context, const char *line), void *context,
                                      struct tc_error *err);
/*
 * The same, with bodies, over some batches only; the others cost a look at their headers. For who
 * follows the writer: *io_from is moved behind what was seen, or to the batch that `take` failed
 * at.
 */
struct tc_evidence_choice {
    unsigned kinds; /* bits 1 << kind */
    /* Asked of every batch before its body is read. NULL: all are wanted. */
    bool (*wants_arrival)(void *context, int64_t arrival_ns);
    /* The same, when its name is read; batch->body is empty. NULL: all are wanted. */
    bool (*wants_named)(void *context, const struct tc_batch *batch);
    /* Asked of a body that is long, with its beginning (half a mebibyte) in batch->body: false
     * leaves the rest unread. NULL: all are wanted. */
    bool (*wants)(void *context, const struct tc_batch *batch);
    tc_status (*take)(void *context, const struct tc_batch *batch,
                      const struct tc_batch_info *info);
    void (*bad)(void *context, const char *line); /* may be NULL */
    void *context;
};
TC_CHECKED tc_status tc_evidence_walk_some(struct tc_evidence *e, uint64_t *io_from,
                                           const struct tc_evidence_choice *choice,
                                           struct tc_error *err);
/*
 * The number from which on batches arrived at or after `since_ns`, but not so early that more than
 * `bytes_max` of bodies follow (0: no bound): where a replay begins. Reads the index only, and the
 * headers of the object where it begins.
 */
TC_CHECKED tc_status tc_evidence_replay_from(struct tc_evidence *e, int64_t since_ns,
                                             uint64_t bytes_max, uint64_t *out_number,
                                             struct tc_error *err);

/*
 * The same, and what it comes to. `rest`: batches from this number on are read again at any rate,
 * whenever they came, and beside bytes_max; UINT64_MAX: none.
 */
struct tc_replay_span {
    uint64_t from;
    uint64_t batches;
    uint64_t bytes; /* of their bodies */
};
TC_CHECKED tc_status tc_evidence_replay_span(struct tc_evidence *e, int64_t since_ns,
                                             uint64_t bytes_max, uint64_t rest,
                                             struct tc_replay_span *out_span, struct tc_error *err);

struct tc_object_info {
    struct tc_digest digest;
    uint64_t first; /* numbers of its batches */
    uint64_t last;
    uint64_t batches;
    int64_t arrival_min_ns;
    int64_t arrival_max_ns;
    uint64_t body_bytes;
    uint64_t disk_bytes;
    bool is_remote; /* of tc_evidence_objects: it is in the object store alone */
};

/* The objects, oldest first, from the indexes alone. Stops when `take` fails. */
TC_CHECKED tc_status tc_evidence_objects(
    struct tc_evidence *e, tc_status (*take)(void *context, const struct tc_object_info *info),
    void (*bad)(void *context, const char *line), void *context, struct tc_error *err);

/* Remembers that a verdict cites that batch: its digest is found at once from now on, and it is
 * not deleted before others. Appended to an index; durable with the next commit. Any thread. */
TC_CHECKED tc_status tc_store_cite(struct tc_store *s, uint64_t number,
                                   const struct tc_digest *digest, struct tc_error *err);

#endif
