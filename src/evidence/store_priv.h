/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of the store. One thread appends and commits: the segment, the buffer and the group
 * are its own. One seals and deletes, which may be another: objects.idx, `other`, `window` and
 * `scratch` are its own. What they share is under the mutex: the stats, the figures of the objects,
 * and the list of the segments that wait to be sealed. cite, stats and has_room come from any.
 */
#ifndef TC_EVIDENCE_STORE_PRIV_H
#define TC_EVIDENCE_STORE_PRIV_H

#include "evidence/cite_priv.h"
#include "evidence/file_priv.h"
#include "evidence/objects_priv.h"
#include "evidence/scan_priv.h"

#include <pthread.h>
#include <stdatomic.h>

/* What is kept back before it is written: one system call for many batches. */
#define TC__BUFFER_BYTES ((size_t)1 << 20)
/* Body bytes in one piece as written here. Less than the format's most, so that the tables of the
 * compressor stay in the cache. */
#define TC__PIECE_BODY ((size_t)512 << 10)
/* Segments in open/ that are looked at. More than one is there only after failures. */
#define TC__OPEN_MAX 1024
/* What is read or written at once when a segment is sealed; a table with its end fits. */
#define TC__SCRATCH_BYTES ((size_t)256 << 10)

/* Every `stride`-th batch of the segment, from the first. */
struct tc__table {
    struct tc__entry entries[TC__TABLE_MAX];
    size_t count;
    uint64_t stride;
    uint64_t seen;
};

/* How far a segment has come: what is undone when a group is lost. */
struct tc__mark {
    uint64_t size; /* bytes in the file */
    struct tc__totals totals;
    uint64_t table_seen;
};

/*
 * The segment being written; fd is -1 when there is none. now.size counts what was given to
 * write(), durable.size what was synced; between them lies the group, together with the buffer.
 */
struct tc__segment {
    int fd;
    bool is_new; /* its name is not durable yet */
    uint64_t seq;
    uint64_t id;
    int64_t created_ns;
    struct tc__mark now;
    struct tc__mark durable;
    struct tc__table table;
};

/* A segment in open/ that is written no more. */
struct tc__unsealed {
    uint64_t seq;
    uint64_t size;  /* where it ends, whatever is in the file */
    bool needs_cut; /* what stands behind that was lost, or is half of an end */
    uint64_t batches;
    uint64_t body_bytes;
};

/*
 * Objects that go to an object store. shipped.idx is the shipping thread's own; what others ask of
 * it they read from the file. Counts are under the mutex.
 */
struct tc__shipping {
    bool is_on;
    int fd; /* of shipped.idx; -1: it is not open */
    uint64_t lines;
    uint64_t last;    /* number of the last batch in it */
    uint64_t from;    /* no object before this number waits */
    uint64_t waiting; /* objects that are kept and not shipped */
    uint64_t waiting_bytes;
    uint64_t shipped; /* by this process */
};

/* What other threads see. */
struct tc__shared {
    pthread_mutex_t mutex;
    struct tc_store_stats stats;
    struct tc__totals open; /* durable in the segment being written, and its bytes on disk */
    uint64_t open_bytes;
    struct tc__unsealed waiting[TC__OPEN_MAX]; /* oldest first */
    size_t waiting_count;
    uint64_t waiting_bytes;
    atomic_bool full;
    atomic_uint_fast64_t next_number;
    atomic_uint_fast64_t held_from; /* batches from this one on are needed; 0: none */
    atomic_bool is_news;            /* something was shipped, or is needed no more */
};

struct tc_store {
    char dir[TC__DIR_MAX];
    struct tc_store_config config;
    struct tc__shared *shared;
    struct tc__citations citations;
    bool is_open; /* recovered, and ready to be written */
    int lock_fd;
    int dir_fd;
    void (*say)(void *context, const char *line); /* during open only */
    void *say_context;

    struct tc__segment segment;
    struct tc__segment other; /* one that is sealed later */
    char *buffer;             /* TC__BUFFER_BYTES and a piece */
    size_t buffer_len;
    void *lz4_state;
    char *window;  /* for recovery and for sealing */
    char *scratch; /* the same */
    uint64_t group_batches;
    uint64_t group_bytes_in;
    uint64_t since_space; /* bytes written since free space was last looked at */

    struct tc__objects objects;
    struct tc__shipping shipping;
    uint64_t seal_wait; /* commits until sealing is tried again, where commits do it */
};

/* One line for whoever opens the store. */
void tc__tell(const struct tc_store *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts a segment behind those that wait. False: there is no room in the list; the next start finds
 * the file. */
bool tc__unsealed_add(struct tc_store *s, const struct tc__unsealed *w);

void tc__table_add(struct tc__table *t, uint64_t number, uint64_t offset);

/* TC_E_IO with a message of what was tried on which file; errno's text is added. ENOSPC and its
 * like make the store full. */
tc_status tc__store_io_error(struct tc_store *s, int error, const char *what, const char *path,
                             struct tc_error *err);

/* TC_E_UNSUPPORTED when a file there is of a newer version than this program writes. Reads only. */
TC_CHECKED tc_status tc__check_version(const char *dir, struct tc_error *err);

/* Recovery of what a process left in open/. */
TC_CHECKED tc_status tc__recover(struct tc_store *s, struct tc_error *err);
/*
 * Of a file of lines of one width: cuts a part of a line at its end, and lines that end in a zero,
 * as after a loss of power. *out_size: what is left.
 */
TC_CHECKED tc_status tc__cut_lines(struct tc_store *s, int fd, const char *path, size_t line_bytes,
                                   uint64_t *out_size, struct tc_error *err);
enum tc__recovered {
    TC__RECOVERED,       /* g is open, and may be written on */
    TC__RECOVERED_ENDED, /* it was about to be sealed: g is open and has its end record */
    TC__RECOVERED_GONE,  /* there was no batch in it: it was removed */
    TC__RECOVERED_WAITS, /* it needs repair, which failed: it stays as it is */
};

/* One segment: cuts it at `cut_at` (UINT64_MAX: nowhere) and where its tail is torn, sets aside
 * what is damaged, sums it up in g. */
TC_CHECKED tc_status tc__recover_segment(struct tc_store *s, struct tc__segment *g, uint64_t seq,
                                         uint64_t cut_at, enum tc__recovered *out,
                                         struct tc_error *err);

/* Writes table and end record behind the batches of g and syncs. `buffer` has TC__SCRATCH_BYTES. */
TC_CHECKED tc_status tc__put_end(struct tc_store *s, struct tc__segment *g, char *buffer,
                                 struct tc_sha256 *sha, struct tc_error *err);
/*
 * Whether so many wait that they are sealed as they are: what segments take on disk beside objects
 * is bounded, however long the core is wanted by others.
 */
bool tc__too_many_wait(struct tc_store *s);
/* The segment being written is written no more: it waits to be sealed. */
void tc__retire_segment(struct tc_store *s, bool needs_cut);
/* The same, with its end behind it. */
void tc__rotate(struct tc_store *s);
/* After a commit, where commits seal: seals all that waits. What fails is counted, and tried again
 * later. */
void tc__seal_all(struct tc_store *s);

/*
 * Writes the segment that is open in io_segment, and has its end, anew with zstd, and puts that in
 * its place: a reader finds the one or the other, whole. On success io_segment is the new one, and
 * *out_sha of all its bytes. TC_E_MALFORMED: something in it is damaged; TC_E_LIMIT: too many wait
 * meanwhile; TC_E_AGAIN: `pause` said so. On failure the segment is as it was.
 */
TC_CHECKED tc_status tc__repack(struct tc_store *s, struct tc__segment *io_segment,
                                const struct tc_store_pause *pause, struct tc_sha256 *out_sha,
                                struct tc_error *err);
/* Removes what a process that died while it did that has left. */
TC_CHECKED tc_status tc__remove_unfinished(struct tc_store *s, struct tc_error *err);
/* Deletes objects beyond keep_bytes. */
TC_CHECKED tc_status tc__keep(struct tc_store *s, struct tc_error *err);

TC_CHECKED tc_status tc__objects_open(struct tc_store *s, struct tc_error *err);
/* Whether there is an object in objects/, listed or not. */
TC_CHECKED tc_status tc__objects_any(struct tc_store *s, bool *out, struct tc_error *err);
/* Writes the index anew: from the objects, or from itself with fewer lines of deleted ones. */
TC_CHECKED tc_status tc__objects_rebuild(struct tc_store *s, struct tc_error *err);
TC_CHECKED tc_status tc__objects_squeeze(struct tc_store *s, struct tc_error *err);
/* Adds a line, durable; unless the object has one already. */
TC_CHECKED tc_status tc__objects_add(struct tc_store *s, const struct tc__object *o,
                                     struct tc_error *err);
/* Changes the state of a line in place. */
TC_CHECKED tc_status tc__objects_mark(struct tc_store *s, uint64_t line, struct tc__object *o,
                                      enum tc__object_state state, struct tc_error *err);
/* Deletes the file of an object that is marked GOING, and marks it GONE. */
TC_CHECKED tc_status tc__objects_delete(struct tc_store *s, uint64_t line, struct tc__object *o,
                                        struct tc_error *err);

/* Where nothing is to be shipped it does nothing. After the objects. */
TC_CHECKED tc_status tc__shipping_open(struct tc_store *s, struct tc_error *err);

TC_CHECKED tc_status tc__citations_open(struct tc_store *s, struct tc_error *err);
void tc__citations_close(struct tc__citations *c);
/* Makes the lines durable that were added since. */
void tc__citations_sync(struct tc_store *s);

#endif
