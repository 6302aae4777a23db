/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command and the daemon that has the warehouse open say to each other over
 * data_dir/warehouse.sock: frames of a length, a kind and a body, in the byte order of the machine
 * that both are on. The command asks, the daemon answers; docs/internals/warehouse-socket.md has
 * the table. Both sides take the other's bytes for hostile: every length, count and type is checked
 * before it is used, memory grows with what came and not with what was announced.
 */
#ifndef TC_WAREHOUSE_DAEMON_WIRE_H
#define TC_WAREHOUSE_DAEMON_WIRE_H

#include "base/slice.h"
#include "base/status.h"
#include "warehouse/rows.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_WIRE_SOCKET "warehouse.sock"
/* Of the frames below. HELLO and ERROR keep their form for ever, so that two versions can tell each
 * other that they differ. */
#define TC_WIRE_VERSION 2

#define TC_WIRE_HEAD_BYTES 8
/* A full batch with TC_ROWS_TEXT_MAX of text fits. */
#define TC_WIRE_BODY_MAX (TC_ROWS_TEXT_MAX + ((size_t)32 << 20))
#define TC_WIRE_COLUMNS_MAX 1024 /* of a query's result */
#define TC_WIRE_SQL_MAX ((size_t)1 << 20)
#define TC_WIRE_BINDS_MAX 4096
#define TC_WIRE_KEYS_MAX 65536
#define TC_WIRE_PATH_MAX 4096
#define TC_WIRE_ENGINE_MAX 96

/* Sent as numbers, so never reordered. */
enum tc_wire_kind {
    TC_WIRE_HELLO = 1, /* both: who are you */
    TC_WIRE_ERROR = 2, /* daemon: it failed */
    TC_WIRE_DONE = 3,  /* daemon: it is done; a count, or whether rows were left out */
    TC_WIRE_ROWS = 4,  /* daemon: some rows of a query */
    TC_WIRE_BEGIN = 16,
    TC_WIRE_COMMIT = 17,
    TC_WIRE_ROLLBACK = 18,
    TC_WIRE_APPEND = 19,
    TC_WIRE_FORGET = 20,
    TC_WIRE_QUERY = 21,
    TC_WIRE_CANCEL = 22, /* the query that runs; without an answer of its own */
    TC_WIRE_PARQUET = 23,
};

/* ---- making frames ---- */

/* One frame that is being made. Invariant: len <= cap. */
struct tc_wire_out {
    char *data;
    size_t len;
    size_t cap;
    tc_status status; /* the first failure: TC_E_NOMEM, TC_E_LIMIT */
};

void tc_wire_out_fini(struct tc_wire_out *o);
void tc_wire_begin(struct tc_wire_out *o, enum tc_wire_kind kind);
/* Completes it; what was not possible is said here. */
TC_CHECKED tc_status tc_wire_end(struct tc_wire_out *o, struct tc_error *err);

struct tc_wire_hello {
    uint32_t version;
    uint32_t schema; /* TC_SCHEMA_VERSION of the sender */
    enum tc_warehouse_mode mode;
    struct tc_slice engine; /* of the daemon; the command's is empty */
};

void tc_wire_put_hello(struct tc_wire_out *o, const struct tc_wire_hello *hello);
void tc_wire_put_error(struct tc_wire_out *o, const struct tc_error *err);
void tc_wire_put_done(struct tc_wire_out *o, uint64_t value);
/* After the table in an APPEND; alone in ROWS. */
void tc_wire_put_rows(struct tc_wire_out *o, const struct tc_rows *rows);
void tc_wire_put_append(struct tc_wire_out *o, enum tc_table table, const struct tc_rows *rows);
void tc_wire_put_forget(struct tc_wire_out *o, const struct tc_forget *what);
void tc_wire_put_query(struct tc_wire_out *o, const struct tc_query *query);

struct tc_wire_parquet {
    enum tc_table table;
    size_t time_column;
    int64_t before_us;
    char path[TC_WIRE_PATH_MAX]; /* absolute */
};
void tc_wire_put_parquet(struct tc_wire_out *o, enum tc_table table, size_t time_column,
                         int64_t before_us, struct tc_slice path);

/* ---- reading bodies: TC_E_MALFORMED with what is wrong; slices are of the body ---- */

TC_CHECKED tc_status tc_wire_get_hello(struct tc_slice body, struct tc_wire_hello *out,
                                       struct tc_error *err);
/* Fills err with what the other side said, and returns that status. */
TC_CHECKED tc_status tc_wire_get_error(struct tc_slice body, struct tc_error *err);
TC_CHECKED tc_status tc_wire_get_done(struct tc_slice body, uint64_t *out, struct tc_error *err);
/* *io_rows is used again when its columns are the same, else made anew; NULL at first. */
TC_CHECKED tc_status tc_wire_get_rows(struct tc_slice body, struct tc_rows **io_rows,
                                      struct tc_error *err);
/* The columns are those of the table. */
TC_CHECKED tc_status tc_wire_get_append(struct tc_slice body, enum tc_table *out_table,
                                        struct tc_rows **io_rows, struct tc_error *err);
/* out->keys is the caller's to free. */
TC_CHECKED tc_status tc_wire_get_forget(struct tc_slice body, struct tc_forget *out,
                                        struct tc_slice **out_keys, struct tc_error *err);
/* The same of the binds. */
TC_CHECKED tc_status tc_wire_get_query(struct tc_slice body, struct tc_query *out,
                                       struct tc_bind **out_binds, struct tc_error *err);
TC_CHECKED tc_status tc_wire_get_parquet(struct tc_slice body, struct tc_wire_parquet *out,
                                         struct tc_error *err);

/* ---- the connection ---- */

/* Invariant: have <= cap. Zero but for the descriptors at first. */
struct tc_wire_link {
    int fd;
    int wake_fd; /* reading ends when it is readable; -1: none */
    bool leaves; /* writing too: the other side has a second then to take what there is */
    char *in;    /* the frame that comes in */
    size_t have;
    size_t cap;
    size_t given; /* of `in`: given out by the last read */
};

/* Closes the socket; the wake_fd is the caller's. */
void tc_wire_link_fini(struct tc_wire_link *l);
/*
 * The next frame; its body lives until the next call. TC_E_NOTFOUND: the other side closed between
 * two frames. TC_E_LIMIT: wake_fd is readable; nothing is lost, it may be called again. TC_E_IO: a
 * failure, or no whole frame within timeout_ns (0: no bound). TC_E_MALFORMED: no frame.
 */
TC_CHECKED tc_status tc_wire_read(struct tc_wire_link *l, int64_t timeout_ns,
                                  enum tc_wire_kind *out_kind, struct tc_slice *out_body,
                                  struct tc_error *err);
/* Sends a whole frame; TC_E_IO when nothing moves for timeout_ns. */
TC_CHECKED tc_status tc_wire_write(struct tc_wire_link *l, const struct tc_wire_out *frame,
                                   int64_t timeout_ns, struct tc_error *err);
/* What came already behind the frame that was given out last. */
struct tc_slice tc_wire_pending(const struct tc_wire_link *l);
/* Whether the bytes begin with a frame of that kind and no body: for those who only peek. */
bool tc_wire_is_bare(struct tc_slice bytes, enum tc_wire_kind kind);

/*
 * The socket of data_dir, also where its path is longer than a socket's address may be. Connecting:
 * TC_E_NOTFOUND when no daemon listens there. Listening takes the place of a socket that a dead
 * daemon left; the caller holds the lock of data_dir. Descriptors do not block.
 */
TC_CHECKED tc_status tc_wire_connect(const char *data_dir, int *out_fd, struct tc_error *err);
TC_CHECKED tc_status tc_wire_listen(const char *data_dir, int backlog, int *out_fd,
                                    struct tc_error *err);
/* The socket's name goes: nobody else comes. */
void tc_wire_unlink(const char *data_dir);

#endif
