/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the outbox: records, the log that holds them, the marks of incidents, the NDJSON file,
 * and the two threads. docs/verdicts-out.md describes what is on disk.
 */
#ifndef TC_OUTBOX_OUTBOX_PRIV_H
#define TC_OUTBOX_OUTBOX_PRIV_H

#include "base/slice.h"
#include "base/status.h"
#include "base/table/lru.h"
#include "outbox/outbox.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- records ------------------------------------------------------------------------------- */

#define TC__RECORD_HEAD_BYTES 40

/* Stored as numbers, so never reordered. */
enum tc__record_kind {
    TC__RECORD_VERDICT = 1,
    TC__RECORD_CURSOR = 2, /* how far an output is */
    TC__RECORD_MARK = 3,   /* of a verdict that was delivered everywhere: what compaction leaves */
};

/* Stored as numbers too. Those from TC__OUTPUT_COUNT on have no struct tc__out: alerts.c. */
enum tc__output {
    TC__OUTPUT_FILE,
    TC__OUTPUT_OTLP,
    TC__OUTPUT_PULL,
    TC__OUTPUT_COUNT,
    TC__OUTPUT_ALERT = 8, /* dev says which receiver */
};

/* How far an output is: everything before `next` was delivered. */
struct tc__cursor {
    enum tc__output output;
    uint64_t next;
    /* Of the NDJSON file: which one it was and how long. Of a receiver of alerts dev is its name.
     */
    uint64_t dev;
    uint64_t ino;
    uint64_t size;
};

/* One record. Slices are borrowed from the bytes that it was read from. */
struct tc__record {
    enum tc__record_kind kind;
    uint64_t number; /* of a verdict, only grows; of a cursor 0 */
    uint64_t at;     /* in the log */
    size_t len;      /* on disk */
    int64_t taken_ns;
    int64_t arrival_ns;
    struct tc_incident_mark mark;
    struct tc_slice json;
    struct tc__cursor cursor;
};

/* Bytes that a record needs; what it is made of must fit TC_OUTBOX_RECORD_MAX. */
size_t tc__record_size(const struct tc__record *r);
/* Writes tc__record_size(r) bytes. */
void tc__record_write(char *to, const struct tc__record *r);

enum tc__record_found {
    TC__RECORD_GOOD,
    TC__RECORD_TORN,    /* the bytes end before it does */
    TC__RECORD_SPOILED, /* its length is right, its content is not: out->len is set */
    TC__RECORD_NONE,    /* no record begins here */
};

/* The record that begins with the bytes. */
enum tc__record_found tc__record_read(struct tc_slice bytes, struct tc__record *out);
/* The version of a record that a newer program wrote; 0 when it is ours, none, or damaged. */
unsigned tc__record_newer(struct tc_slice bytes);
/* Where the next record may begin, from offset 1 on; bytes.len when nowhere. */
size_t tc__record_seek(struct tc_slice bytes);

/* ---- the log ------------------------------------------------------------------------------- */

/*
 * Walks the records of a file between two offsets, with memory of a fixed size. What is damaged is
 * passed over and counted. Invariant: buf holds the bytes [base, base + have) of the file.
 */
struct tc__outbox_scan {
    int fd;
    char *buf;
    uint64_t at;
    uint64_t end;
    uint64_t base;
    size_t have;
    unsigned
        newer; /* the version of the record that ended the walk, where a newer program wrote it */
    bool bad;  /* `at` is inside of something damaged, which began at bad_at */
    uint64_t bad_at;  /* also after the end: what is torn begins here */
    uint64_t damaged; /* so far, but for the one at the end */
};

TC_CHECKED tc_status tc__outbox_scan_init(struct tc__outbox_scan *s);
void tc__outbox_scan_fini(struct tc__outbox_scan *s);
void tc__outbox_scan_begin(struct tc__outbox_scan *s, int fd, uint64_t at, uint64_t end);
/* True with a record, whose slices live until the next call; false at the end, when reading
 * failed, or at a record of a newer program (TC_E_UNSUPPORTED): *out_status says which. */
bool tc__outbox_scan_next(struct tc__outbox_scan *s, struct tc__record *out, tc_status *out_status);

/*
 * Zeros are written ahead of the records: then making a record durable changes no size, and waits
 * for no journal that others write to as well. A file that was closed has none.
 */
struct tc__log {
    int dir_fd;
    int fd;
    uint64_t seq;  /* in its name */
    uint64_t end;  /* what is behind it is not there yet */
    uint64_t size; /* of the file: the rest are zeros */
};

#define TC__LOG_NAME_MAX 32
void tc__log_name(char *out, uint64_t seq, const char *suffix);
/* TC_E_UNSUPPORTED, with what the log needs. */
tc_status tc__log_refuse(const char *dir, uint64_t seq, unsigned version, struct tc_error *err);
/* Opens the newest log of the directory, or makes the first; takes older and unfinished ones away.
 */
TC_CHECKED tc_status tc__log_open(struct tc__log *log, const struct tc_outbox_io *io,
                                  const char *dir, struct tc_error *err);
void tc__log_close(struct tc__log *log);
/* Where the last byte that is not zero ends, from `from` on. */
TC_CHECKED tc_status tc__log_content_end(const struct tc__log *log, uint64_t from,
                                         uint64_t *out_end);
/* Zeros ahead of the end, topped up when fewer than half of them are left. */
#define TC__LOG_AHEAD ((uint64_t)512 << 10)
/* Makes room for what comes, with TC__LOG_AHEAD bytes of scratch. Where that fails, records are
 * written without it. */
bool tc__log_prepare(struct tc__log *log, const struct tc_outbox_io *io, char *scratch);
/* Writes behind the end, and makes it durable if asked. On failure the end stays where it was. */
TC_CHECKED tc_status tc__log_append(struct tc__log *log, const struct tc_outbox_io *io,
                                    struct tc_slice bytes, bool durable, struct tc_error *err);

/* ---- marks --------------------------------------------------------------------------------- */

/* The latest record of an incident. */
struct tc__mark_place {
    uint64_t number;
};

/*
 * The marks are in a struct tc_lru by incident, resolved ones expendable: it is given what
 * detection notes of what it told, in the same order, and so forgets the same incidents.
 */
void tc__marks_put(struct tc_lru *marks, const struct tc__record *r);
/* The record is the latest of its incident, and its incident is kept. */
bool tc__marks_is_latest(const struct tc_lru *marks, const struct tc__record *r);

/* ---- the NDJSON file ----------------------------------------------------------------------- */

#define TC__PATH_MAX 4096

struct tc__file {
    char path[TC__PATH_MAX]; /* "": none; "-": standard output */
    int fd;
    bool regular;
    bool readable;
    bool resumed;   /* what an earlier process wrote was looked at */
    bool needs_end; /* it ends in the middle of a line that is not ours */
    size_t partial; /* of the group: bytes that a stream took already */
    uint64_t dev;
    uint64_t ino;
    uint64_t size; /* after the last whole group */
};

void tc__file_init(struct tc__file *f);
void tc__file_close(struct tc__file *f);
/* Opens it if it is not open, or if it was moved away or another one is there now. */
TC_CHECKED tc_status tc__file_open(struct tc__file *f, struct tc_error *err);
/* Whether its name still leads to it. */
bool tc__file_is_current(const struct tc__file *f);
/* Whether it was emptied since; it goes on from its new end then. */
bool tc__file_shrank(struct tc__file *f);
/*
 * Appends a group of whole lines; none of it is there on failure, but for streams, which go on
 * where they were with the same group.
 */
TC_CHECKED tc_status tc__file_append(struct tc__file *f, const struct tc_outbox_io *io,
                                     struct tc_slice lines, struct tc_error *err);
TC_CHECKED tc_status tc__file_sync(struct tc__file *f, const struct tc_outbox_io *io,
                                   struct tc_error *err);

/*
 * Cuts zeros off the end of a regular file, as a loss of power leaves them, and logs how many. A
 * file that is not there, or cannot be written, is left to whoever opens it for a verdict.
 */
void tc__file_cut_zeros(const char *path);

/* Gives the verdicts that may be in the file already, in order; false at the end. */
typedef bool (*tc__file_expect_fn)(void *context, struct tc_slice *out_json);
/*
 * Looks for lines that an earlier process wrote without having said so: in the file that was
 * written then, `last`, also when it was renamed since, and in the file of that name now. A line
 * of ours that ends in the middle is cut off. *out_found: how many of the expected ones are there.
 */
TC_CHECKED tc_status tc__file_resume(struct tc__file *f, const struct tc__cursor *last,
                                     tc__file_expect_fn expect, void *context, uint64_t *out_found,
                                     struct tc_error *err);

/* ---- all of it ----------------------------------------------------------------------------- */

#define TC__ENDPOINT_MAX 1024
#define TC__HEADERS_MAX 4096
#define TC__INSTANCE_MAX 256
#define TC__GROUP_BYTES ((size_t)1 << 20)
#define TC__GROUP_RECORDS 1024

/* A verdict that waits for the disk. */
struct tc__waiting {
    struct tc__waiting *next;
    struct tc__record record; /* number, kind and length; its slices are in bytes */
    char bytes[];             /* as they will be in the log */
};

/*
 * Invariant: what is pending has numbers >= next and begins at or after `at` in the log. What the
 * file has is durable up to file_cursor.next only.
 */
struct tc__out {
    bool on;
    bool moved; /* the log does not have this cursor yet */
    uint64_t next;
    uint64_t at;
    uint64_t pending;
    uint64_t pending_bytes;
};

struct tc__alerts;

struct tc_outbox {
    pthread_mutex_t lock;
    pthread_cond_t work;   /* for the writer */
    pthread_cond_t export; /* for the export thread */
    pthread_cond_t ended;  /* for tc_outbox_close */

    /* Under the lock. */
    struct tc__waiting *first;
    struct tc__waiting *last;
    size_t waiting_bytes; /* until they are durable */
    uint64_t waiting;
    uint64_t next_number; /* only tc_outbox_put changes it */
    uint64_t next_stored; /* the same of what is in the log */
    struct tc__out out[TC__OUTPUT_COUNT];
    struct tc_outbox_stats stats;
    uint64_t log_end;  /* durable: what the export thread may read */
    uint64_t log_turn; /* counts compactions: offsets of an earlier turn mean nothing */
    uint64_t queue_bytes_max;
    int64_t timeout_ns;
    int64_t backoff_min_ns;
    int64_t backoff_max_ns;
    char path[TC__PATH_MAX];
    char endpoint[TC__ENDPOINT_MAX];
    char headers[TC__HEADERS_MAX];
    char instance_id[TC__INSTANCE_MAX];
    bool reopen;    /* the file is to be opened anew */
    bool reconnect; /* the export thread is to look at its configuration */
    bool stopping;  /* end when all is delivered */
    bool aborting;  /* end now */
    bool export_over;
    bool writer_over;

    /* The writer's. */
    struct tc_outbox_io io;
    struct tc__log log;
    struct tc_lru marks;
    struct tc__file file;
    struct tc__outbox_scan scan;
    struct tc__cursor file_cursor; /* what is durable in the file; at first as the log had it */
    bool file_dirty;               /* the file has more than that */
    int64_t file_sync_ns;          /* when it is to be synced */
    char *group;
    int64_t log_retry_ns; /* not before this time; 0: at once */
    int64_t file_retry_ns;
    int64_t log_backoff_ns;
    int64_t file_backoff_ns;
    int64_t arrivals[TC__GROUP_RECORDS];
    uint64_t first_number; /* of this process */
    uint64_t compact_bytes;
    uint64_t compact_at;
    int64_t file_sync_after_ns;
    pthread_mutex_t swap; /* held while the log is read by the export thread, or exchanged */

    struct tc__alerts *alerts; /* alerts.c */

    struct tc__outbox_scan pull; /* of whoever pulls; made when first used */

    pthread_t writer;
    pthread_t exporter;
    bool started;
    int stop_fd; /* readable once aborting */
};

/* Waits on a condition of the outbox until then (monotonic; 0: without end). Holds the lock. */
void tc__outbox_wait(struct tc_outbox *o, pthread_cond_t *cond, int64_t until_ns);

/* Records up to `last` are done for that output: moves its cursor. Holds the lock. */
void tc__outbox_advance(struct tc_outbox *o, enum tc__output output, uint64_t next, uint64_t at,
                        uint64_t count, uint64_t bytes);
/*
 * Drops the oldest of an output while more than queue_bytes_max wait; says how many, for the
 * counter. `s` is the caller's; the log must not be exchanged meanwhile.
 */
uint64_t tc__outbox_drop(struct tc_outbox *o, enum tc__output output, struct tc__outbox_scan *s);

/* The log has nothing more for that output up to `end`: what still counts as pending is damaged. */
void tc__outbox_give_up(struct tc_outbox *o, enum tc__output output, uint64_t end);

/* Steps of the writer. */
void tc__outbox_store(struct tc_outbox *o);   /* what waits goes to the log */
void tc__outbox_compact(struct tc_outbox *o); /* when the log is long and mostly delivered */
/* At first: how long that is; 0: the usual size. */
void tc__outbox_compact_init(struct tc_outbox *o, uint64_t beyond_bytes);

void *tc__outbox_writer_main(void *outbox);
void *tc__outbox_export_main(void *outbox);

#endif
