/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine that asks the daemon: each call is a frame over data_dir/warehouse.sock and its
 * answer. open says TC_E_NOTFOUND when no daemon answers there, also when a dead one left its
 * socket. After a failure of the connection every call fails: what was not committed is not there.
 */
#include "base/clock.h"
#include "base/time.h"
#include "warehouse/daemon/wire.h"
#include "warehouse/engine_priv.h"
#include "warehouse/move_file_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The daemon may have to open the database first, and wait for a command that has it. */
#define HELLO_TIMEOUT (60 * TC_SECOND)
/* A message that does not move. */
#define SEND_TIMEOUT (60 * TC_SECOND)
/* An answer to anything but a query: the longest is a commit or a Parquet file. */
#define ANSWER_TIMEOUT (3600 * TC_SECOND)
/* What a query may take beyond its own time, and an answer after a cancel. */
#define SLACK (10 * TC_SECOND)
/* Between two tries when the daemon has no room for one more command. */
#define BUSY_WAIT_MS 50

struct daemon_engine {
    struct tc_wire_link link;
    struct tc_wire_out out;
    struct tc_rows *rows; /* of answers */
    int wake_fd;          /* eventfd: written to by interrupt */
    bool broken;
    char *data_dir;
    enum tc_warehouse_mode mode;
    int64_t wait_ns;
    char name[TC_WIRE_ENGINE_MAX + sizeof "daemon ()"];
};

static void daemon_close(void *engine)
{
    struct daemon_engine *e = engine;
    tc_wire_link_fini(&e->link);
    tc_wire_out_fini(&e->out);
    tc_rows_destroy(e->rows);
    if (e->wake_fd >= 0) {
        (void)close(e->wake_fd);
    }
    free(e->data_dir);
    free(e);
}

/* ---- frames ---- */

/* The connection is of no use any more. */
static tc_status broke(struct daemon_engine *e, tc_status status, struct tc_error *err)
{
    e->broken = true;
    if (status == TC_E_NOTFOUND) {
        return tc_fail(err, TC_E_IO, 0,
                       "%s: the daemon ended while it was asked; what was not committed is not "
                       "stored",
                       e->data_dir);
    }
    return status;
}

/* A daemon that does not take a message may have said why before it closed. */
static tc_status last_words(struct daemon_engine *e, tc_status status, struct tc_error *err)
{
    enum tc_wire_kind kind;
    struct tc_slice body;
    return tc_wire_read(&e->link, 1, &kind, &body, NULL) == TC_OK && kind == TC_WIRE_ERROR
               ? tc_wire_get_error(body, err)
               : status;
}

static tc_status send_frame(struct daemon_engine *e, struct tc_error *err)
{
    if (e->broken) {
        return tc_fail(err, TC_E_IO, 0, "%s: the connection to the daemon is lost", e->data_dir);
    }
    TC_TRY(tc_wire_end(&e->out, err));
    tc_status status = tc_wire_write(&e->link, &e->out, SEND_TIMEOUT, err);
    return status == TC_OK ? TC_OK : broke(e, last_words(e, status, err), err);
}

/* The frame that ends an answer: DONE with a number, or the daemon's error. */
static tc_status get_end(struct daemon_engine *e, enum tc_wire_kind kind, struct tc_slice body,
                         uint64_t *out, struct tc_error *err)
{
    if (kind == TC_WIRE_ERROR) {
        return tc_wire_get_error(body, err);
    }
    tc_status status = kind == TC_WIRE_DONE ? tc_wire_get_done(body, out, err)
                                            : tc_fail(err, TC_E_MALFORMED, 0,
                                                      "%s: the daemon gave no answer", e->data_dir);
    return status == TC_OK ? TC_OK : broke(e, status, err);
}

/* Sends the frame that was made and waits; nobody interrupts it. */
static tc_status ask(struct daemon_engine *e, uint64_t *out, struct tc_error *err)
{
    enum tc_wire_kind kind;
    struct tc_slice body;
    uint64_t value = 0;
    TC_TRY(send_frame(e, err));
    e->link.wake_fd = -1;
    tc_status status = tc_wire_read(&e->link, ANSWER_TIMEOUT, &kind, &body, err);
    if (status != TC_OK) {
        return broke(e, status, err);
    }
    TC_TRY(get_end(e, kind, body, &value, err));
    if (out != NULL) {
        *out = value;
    }
    return TC_OK;
}

static tc_status ask_bare(struct daemon_engine *e, enum tc_wire_kind kind, struct tc_error *err)
{
    tc_wire_begin(&e->out, kind);
    return ask(e, NULL, err);
}

/* ---- hello ---- */

static tc_status take_hello(struct daemon_engine *e, struct tc_slice body, struct tc_error *err)
{
    struct tc_wire_hello hello;
    TC_TRY(tc_wire_get_hello(body, &hello, err));
    if (hello.version != TC_WIRE_VERSION) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "%s: the daemon speaks version %u of the warehouse's protocol, this "
                       "program %d; use the daemon's tracecore, or restart it with this one",
                       e->data_dir, hello.version, TC_WIRE_VERSION);
    }
    (void)snprintf(e->name, sizeof e->name, "daemon (%.*s)", TC_FMT(hello.engine));
    return TC_OK;
}

static tc_status greet(struct daemon_engine *e, struct tc_error *err)
{
    struct tc_wire_hello hello = {
        .version = TC_WIRE_VERSION, .schema = TC_SCHEMA_VERSION, .mode = e->mode};
    enum tc_wire_kind kind;
    struct tc_slice body;
    tc_wire_begin(&e->out, TC_WIRE_HELLO);
    tc_wire_put_hello(&e->out, &hello);
    TC_TRY(tc_wire_end(&e->out, err));
    tc_status status = tc_wire_write(&e->link, &e->out, SEND_TIMEOUT, err);
    if (status != TC_OK) {
        return last_words(e, status, err);
    }
    TC_TRY(tc_wire_read(&e->link, HELLO_TIMEOUT, &kind, &body, err));
    if (kind == TC_WIRE_ERROR) {
        return tc_wire_get_error(body, err);
    }
    return kind == TC_WIRE_HELLO
               ? take_hello(e, body, err)
               : tc_fail(err, TC_E_MALFORMED, 0, "%s/%s: whoever listens there is no tracecore",
                         e->data_dir, TC_WIRE_SOCKET);
}

/* Connects; a daemon without room is asked again until wait_ns is over. */
static tc_status connect_daemon(struct daemon_engine *e, struct tc_error *err)
{
    int64_t until_ns = tc_mono_ns() + e->wait_ns;
    for (;;) {
        int fd = -1;
        TC_TRY(tc_wire_connect(e->data_dir, &fd, err));
        e->link = (struct tc_wire_link){.fd = fd, .wake_fd = -1};
        tc_status status = greet(e, err);
        if (status == TC_OK) {
            return TC_OK;
        }
        tc_wire_link_fini(&e->link);
        if (status == TC_E_NOTFOUND) {
            /* It ended between connect and hello: as if there were none. */
            return status;
        }
        if (status != TC_E_LIMIT || tc_mono_ns() >= until_ns) {
            return status;
        }
        (void)poll(NULL, 0, BUSY_WAIT_MS);
    }
}

static tc_status open_engine(const char *data_dir, enum tc_warehouse_mode mode, int64_t wait_ns,
                             void **out, struct tc_error *err)
{
    struct daemon_engine *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the connection to the daemon");
    }
    e->link = (struct tc_wire_link){.fd = -1, .wake_fd = -1};
    e->mode = mode;
    e->wait_ns = wait_ns;
    e->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->data_dir = strdup(data_dir);
    tc_status status = e->data_dir == NULL || e->wake_fd < 0
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory or descriptor for the daemon")
                           : connect_daemon(e, err);
    if (status != TC_OK) {
        daemon_close(e);
        return status;
    }
    *out = e;
    return TC_OK;
}

static tc_status daemon_open(const struct tc_warehouse_config *config, void **out,
                             struct tc_error *err)
{
    return open_engine(config->data_dir, config->mode, config->wait_ns, out, err);
}

static tc_status daemon_share(void *engine, void **out, struct tc_error *err)
{
    const struct daemon_engine *e = engine;
    tc_status status = open_engine(e->data_dir, e->mode, e->wait_ns, out, err);
    return status != TC_E_NOTFOUND
               ? status
               : tc_fail(err, TC_E_IO, 0, "%s: the daemon ended meanwhile", e->data_dir);
}

static const char *daemon_describe(const void *engine)
{
    const struct daemon_engine *e = engine;
    return e->name;
}

/* ---- writing ---- */

static tc_status daemon_begin(void *engine, struct tc_error *err)
{
    return ask_bare(engine, TC_WIRE_BEGIN, err);
}

static tc_status daemon_commit(void *engine, struct tc_error *err)
{
    return ask_bare(engine, TC_WIRE_COMMIT, err);
}

static void daemon_rollback(void *engine)
{
    struct daemon_engine *e = engine;
    if (!e->broken) {
        (void)!ask_bare(e, TC_WIRE_ROLLBACK, NULL);
    }
}

static tc_status daemon_append(void *engine, enum tc_table table, const struct tc_rows *rows,
                               struct tc_error *err)
{
    struct daemon_engine *e = engine;
    tc_wire_begin(&e->out, TC_WIRE_APPEND);
    tc_wire_put_append(&e->out, table, rows);
    return ask(e, NULL, err);
}

static tc_status daemon_forget(void *engine, const struct tc_forget *what, uint64_t *out_count,
                               struct tc_error *err)
{
    struct daemon_engine *e = engine;
    tc_wire_begin(&e->out, TC_WIRE_FORGET);
    tc_wire_put_forget(&e->out, what);
    return ask(e, out_count, err);
}

/* The daemon can write to its data_dir and hardly anywhere else: it writes there, and the file is
 * moved. A name that two commands have is taken by one at a time: the pid is in it. */
static tc_status daemon_parquet(void *engine, enum tc_table table, size_t time_column,
                                int64_t before_us, const char *path, uint64_t *out_rows,
                                struct tc_error *err)
{
    struct daemon_engine *e = engine;
    char dir[PATH_MAX];
    char made[PATH_MAX + 64];
    if (realpath(e->data_dir, dir) == NULL) {
        return tc_fail(err, TC_E_IO, 0, "%s cannot be used: %s", e->data_dir, strerror(errno));
    }
    int len = snprintf(made, sizeof made, "%s/spool/parquet-%ld.tmp", dir, (long)getpid());
    if (len <= 0 || (size_t)len >= TC_WIRE_PATH_MAX) {
        return tc_fail(err, TC_E_USAGE, 0, "%s: the path is too long for the daemon", e->data_dir);
    }
    tc_wire_begin(&e->out, TC_WIRE_PARQUET);
    tc_wire_put_parquet(&e->out, table, time_column, before_us, tc_slice_make(made, (size_t)len));
    tc_status status = ask(e, out_rows, err);
    if (status == TC_OK) {
        status = tc__move_file(made, path, err);
    }
    if (status != TC_OK) {
        (void)unlink(made);
    }
    return status;
}

/* ---- queries ---- */

struct running {
    tc_rows_fn take;
    void *context;
    tc_status take_status; /* what stopped it on our side */
    bool cancelled;
    bool interrupted;
    int64_t until_ns; /* 0: no bound */
};

static void calm(struct daemon_engine *e)
{
    uint64_t count = 0;
    ssize_t n = read(e->wake_fd, &count, sizeof count);
    (void)n; /* nothing to read is fine */
}

static tc_status cancel(struct daemon_engine *e, struct running *q, struct tc_error *err)
{
    calm(e);
    if (q->cancelled) {
        return TC_OK;
    }
    q->cancelled = true;
    q->until_ns = tc_mono_ns() + SLACK;
    tc_wire_begin(&e->out, TC_WIRE_CANCEL);
    return send_frame(e, err);
}

static tc_status take_rows(struct daemon_engine *e, struct running *q, struct tc_slice body,
                           struct tc_error *err)
{
    tc_status status = tc_wire_get_rows(body, &e->rows, err);
    if (status != TC_OK) {
        return broke(e, status, err);
    }
    if (q->cancelled) {
        return TC_OK; /* on its way already */
    }
    q->take_status = q->take(q->context, e->rows);
    return q->take_status == TC_OK ? TC_OK : cancel(e, q, err);
}

/* Reads to the end of the answer. */
static tc_status take_answer(struct daemon_engine *e, struct running *q, bool *out_cut,
                             struct tc_error *err)
{
    for (;;) {
        enum tc_wire_kind kind;
        struct tc_slice body;
        int64_t left_ns = q->until_ns == 0 ? 0 : q->until_ns - tc_mono_ns();
        left_ns = q->until_ns != 0 && left_ns <= 0 ? 1 : left_ns;
        tc_status status = tc_wire_read(&e->link, left_ns, &kind, &body, err);
        if (status == TC_E_LIMIT) {
            q->interrupted = true;
            TC_TRY(cancel(e, q, err));
            continue;
        }
        if (status != TC_OK) {
            return broke(e, status, err);
        }
        if (kind == TC_WIRE_ROWS) {
            TC_TRY(take_rows(e, q, body, err));
            continue;
        }
        uint64_t cut = 0;
        status = get_end(e, kind, body, &cut, err);
        *out_cut = cut != 0;
        return status;
    }
}

static tc_status daemon_query(void *engine, const struct tc_query *query, tc_rows_fn take,
                              void *context, bool *out_cut, struct tc_error *err)
{
    struct daemon_engine *e = engine;
    struct running q = {.take = take, .context = context};
    bool cut = false;
    q.until_ns = query->time_ns == 0 ? 0 : tc_mono_ns() + query->time_ns + SLACK;
    calm(e);
    tc_wire_begin(&e->out, TC_WIRE_QUERY);
    tc_wire_put_query(&e->out, query);
    TC_TRY(send_frame(e, err));
    e->link.wake_fd = e->wake_fd;
    tc_status status = take_answer(e, &q, &cut, err);
    e->link.wake_fd = -1;
    if (out_cut != NULL) {
        *out_cut = cut;
    }
    if (q.take_status != TC_OK) {
        return q.take_status;
    }
    if (q.interrupted && !e->broken) {
        return tc_fail(err, TC_E_LIMIT, 0, "the query was interrupted");
    }
    return status;
}

/* Async-signal-safe: one write to an eventfd, which the thread that waits sees. */
static void daemon_interrupt(void *engine)
{
    const struct daemon_engine *e = engine;
    int saved = errno;
    uint64_t one = 1;
    ssize_t n = write(e->wake_fd, &one, sizeof one);
    (void)n; /* one that is full is readable as well */
    errno = saved;
}

const struct tc__engine tc__engine_daemon = {
    .name = "daemon",
    .open = daemon_open,
    .close = daemon_close,
    .share = daemon_share,
    .describe = daemon_describe,
    .begin = daemon_begin,
    .commit = daemon_commit,
    .rollback = daemon_rollback,
    .append = daemon_append,
    .forget = daemon_forget,
    .query = daemon_query,
    .interrupt = daemon_interrupt,
    .parquet = daemon_parquet,
};
