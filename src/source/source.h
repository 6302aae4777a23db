/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the daemon gets bytes that nobody sends it: files, the kernel's log, a journal, and
 * whatever else is asked or followed. A source has a thread of its own, so it may wait for a disk
 * or a server: nothing else does. It reads, hands over chunks of raw bytes through its port
 * (tc_port_put), and goes on when they are durable.
 *
 * Nothing is lost and nothing is doubled: a chunk says from where the source goes on after it (its
 * position, a text of the source's own), and that is stored with the bytes, in one batch. What a
 * source finds at its next start (tc_port_positions) is therefore exactly what was stored, however
 * the process ended. docs/internals/sources.md is the design.
 */
#ifndef TC_SOURCE_SOURCE_H
#define TC_SOURCE_SOURCE_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A chunk of a source that is no whole file has at most so many bytes: the loop decodes it. */
#define TC_SOURCE_CHUNK_MAX ((size_t)256 << 10)
/* Chunks of one put, and their bytes together, whole files aside. */
#define TC_SOURCE_PUT_MAX 256
#define TC_SOURCE_PUT_BYTES ((size_t)4 << 20)
/* Lengths of a name (a path, an address), of the key of a stream, and of a position. */
#define TC_SOURCE_LABEL_MAX 1024
#define TC_SOURCE_STREAM_MAX 128
#define TC_SOURCE_POSITION_MAX 4096
/* Positions of all sources together. */
#define TC_SOURCE_POSITIONS_MAX ((size_t)262144)

/* Bytes to be stored and read. All is borrowed until tc_port_put returns. */
struct tc_source_chunk {
    struct tc_slice name;   /* what they were read from, as a label; control characters are
                               replaced */
    struct tc_slice format; /* codecs by name, commas between; empty: recognised from the bytes */
    struct tc_slice node;   /* of lines that name none */
    struct tc_slice job;
    struct tc_slice tz;       /* "+02:00": the zone of dates without one; empty: UTC */
    int64_t boot_ns;          /* for times since boot; 0: not known */
    struct tc_slice stream;   /* the position's key: printable, no blanks; empty: no position */
    struct tc_slice position; /* from where to go on after these bytes: printable */
    struct tc_slice body;
    uint64_t records; /* lines, samples, entries in it */
    bool is_file;     /* a whole file about the past (a dump), of any length */
};

enum tc_source_state { TC_SOURCE_STARTING, TC_SOURCE_OK, TC_SOURCE_FAILING };
const char *tc_source_state_name(enum tc_source_state state);

/* How a source is. */
struct tc_source_health {
    enum tc_source_state state;
    int64_t since_ns;  /* our clock: when it came to be in that state */
    int64_t read_ns;   /* when it last handed something over; 0: never */
    int64_t behind_ns; /* when it last came to be behind what there is; 0: it is level */
    char error[TC_ERROR_MESSAGE_MAX]; /* of the last failure; "" once it is well again */
    uint64_t records;
    uint64_t bytes;
    uint64_t errors;  /* failures, as often as they were told */
    uint64_t lost;    /* records that were gone before they could be read, or were cut */
    uint64_t streams; /* files, targets, entries that it watches now */
};

struct tc_buf;
struct tc_json_out;
struct tc_source_port;

/* What a port does with what it is given: the daemon's, or a test's. */
struct tc_port_ops {
    /* See tc_port_put. */
    tc_status (*put)(void *context, struct tc_source_port *port,
                     const struct tc_source_chunk *chunks, size_t count);
    void (*positions)(void *context, const struct tc_source_port *port,
                      void (*take)(void *of, struct tc_slice stream, struct tc_slice position),
                      void *of);
    void (*keep)(void *context, const struct tc_source_port *port, struct tc_slice stream,
                 struct tc_slice position);
    void (*save)(void *context, bool now);
    void *context;
};

/* ---- what a kind of source is ---- */

struct tc_source_kind {
    const char *name; /* "files": in the configuration, in /metrics and in stored batches */
    /*
     * In a thread of its own. Returns when tc_port_is_stopping, or earlier when it cannot go on,
     * having said why (tc_port_fail).
     */
    void (*run)(void *state, struct tc_source_port *port);
    void (*destroy)(void *state);
    /* More about how it is, where it has several parts (targets): members of its object in the
     * status, and lines of /metrics. From another thread, while it runs. NULL: nothing. */
    void (*describe)(void *state, struct tc_json_out *j);
    void (*metrics)(void *state, struct tc_buf *b);
};

/* ---- the port, as its owner sees it ---- */

/* name is a literal or outlives it. NULL: no memory. */
struct tc_source_port *tc_port_create(const char *name, const struct tc_port_ops *ops);
void tc_port_destroy(struct tc_source_port *p);
const char *tc_port_name(const struct tc_source_port *p);
/* Tells the source to end. Any thread. */
void tc_port_stop(struct tc_source_port *p);
void tc_port_health(struct tc_source_port *p, struct tc_source_health *out);

/* ---- the port, as the source sees it: from its thread, or threads that it starts and waits for
 * ---- */

/*
 * Hands over up to TC_SOURCE_PUT_MAX chunks and waits until all are durable and detection has taken
 * them or will read them from the store: senders of OTLP wait for the same. What cannot be stored
 * (a full disk) is tried again until it can. TC_OK: all are durable. TC_E_AGAIN: the daemon ends,
 * and what is durable is known at the next start.
 */
TC_CHECKED tc_status tc_port_put(struct tc_source_port *p, const struct tc_source_chunk *chunks,
                                 size_t count);
/* The positions that this source left behind, each stream once. Borrowed until take returns. */
void tc_port_positions(const struct tc_source_port *p,
                       void (*take)(void *of, struct tc_slice stream, struct tc_slice position),
                       void *of);
/* Remembers a position that came with no bytes, or forgets a stream (empty position). It is
 * durable once saved, which is soon, or at once with `now`. */
void tc_port_keep(const struct tc_source_port *p, struct tc_slice stream, struct tc_slice position);
void tc_port_save(const struct tc_source_port *p, bool now);

bool tc_port_is_stopping(const struct tc_source_port *p);
/* Readable once the source has to end: for tc_http_client_stop_on. */
int tc_port_stop_fd(const struct tc_source_port *p);
/* Waits for fd (-1: none) to be readable, the end, or the time; true: fd is readable. */
bool tc_port_wait(struct tc_source_port *p, int fd, int64_t ns);

/* It works. */
void tc_port_ok(struct tc_source_port *p);
/* It does not, and why, with what to do about it. */
void tc_port_fail(struct tc_source_port *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tc_port_lost(struct tc_source_port *p, uint64_t records);
void tc_port_watches(struct tc_source_port *p, uint64_t streams);
/* Whether there is more to read than was read. */
void tc_port_behind(struct tc_source_port *p, bool is_behind);

#endif
