/* SPDX-License-Identifier: Apache-2.0 */
/* Serving one command: a frame in, its answer out. */
#include "base/time.h"
#include "observe/metrics.h"
#include "server/warehouse/service_priv.h"

#include <stdlib.h>

/* From the connection to its hello. */
#define HELLO_TIMEOUT (10 * TC_SECOND)
/* A command in the middle of a transaction that says nothing is rolled back and let go. */
#define SILENCE_TIMEOUT (600 * TC_SECOND)
/* An answer that the command does not take. */
#define SEND_TIMEOUT (300 * TC_SECOND)
/* A command that has the database open is waited for. */
#define OPEN_WAIT (5 * TC_SECOND)

/* Told to a command that comes or goes on at the wrong moment. */
#define LEAVE "the daemon is stopping, or opens the warehouse anew; try again"

/* What the thread has beside the client. */
struct session {
    struct tc__warehouse_client *c;
    struct tc_wire_out out;
    struct tc_rows *rows; /* of appends */
    enum tc_warehouse_mode mode;
    bool in_transaction;
    bool is_over; /* the command cannot be told anything any more */
};

/* ---- answers ---- */

static void send_frame(struct session *s)
{
    struct tc_error err = {0};
    if (tc_wire_end(&s->out, &err) != TC_OK ||
        tc_wire_write(&s->c->link, &s->out, SEND_TIMEOUT, &err) != TC_OK) {
        s->is_over = true;
    }
}

static void answer(struct session *s, tc_status status, uint64_t value, struct tc_error *err)
{
    if (s->is_over) {
        return;
    }
    if (status == TC_OK) {
        tc_wire_begin(&s->out, TC_WIRE_DONE);
        tc_wire_put_done(&s->out, value);
    } else {
        err->status = status;
        tc_wire_begin(&s->out, TC_WIRE_ERROR);
        tc_wire_put_error(&s->out, err);
    }
    send_frame(s);
}

/* ---- requests ---- */

static tc_status send_rows(void *context, const struct tc_rows *rows)
{
    struct session *s = context;
    tc_wire_begin(&s->out, TC_WIRE_ROWS);
    tc_wire_put_rows(&s->out, rows);
    send_frame(s);
    return s->is_over ? TC_E_IO : TC_OK;
}

/* The smaller of two bounds, 0 being none. */
static uint64_t least(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static tc_status do_query(struct session *s, struct tc_slice body, uint64_t *out,
                          struct tc_error *err)
{
    const struct tc_warehouse_service_config *config = tc__warehouse_config(s->c->service);
    struct tc_query query;
    struct tc_bind *binds = NULL;
    bool cut = false;
    TC_TRY(tc_wire_get_query(body, &query, &binds, err));
    if (query.untrusted) {
        query.rows_max = least(query.rows_max, config->query_rows);
        query.time_ns = (int64_t)least((uint64_t)query.time_ns, (uint64_t)config->query_ns);
    }
    tc_count(TC_COUNT_WAREHOUSE_QUERIES, 1);
    tc_status status = TC_OK;
    /* It may have come together with the query: then nobody sees it on the socket. */
    if (tc_wire_is_bare(tc_wire_pending(&s->c->link), TC_WIRE_CANCEL)) {
        status = tc_fail(err, TC_E_LIMIT, 0, "the query was interrupted");
    } else {
        tc__warehouse_client_busy(s->c, true);
        status = tc_warehouse_query(s->c->warehouse, &query, send_rows, s, &cut, err);
        tc__warehouse_client_busy(s->c, false);
    }
    free(binds);
    *out = cut;
    return status;
}

static tc_status do_append(struct session *s, struct tc_slice body, struct tc_error *err)
{
    enum tc_table table;
    TC_TRY(tc_wire_get_append(body, &table, &s->rows, err));
    return tc_warehouse_append(s->c->warehouse, table, s->rows, err);
}

static tc_status do_forget(struct session *s, struct tc_slice body, uint64_t *out,
                           struct tc_error *err)
{
    struct tc_forget what;
    struct tc_slice *keys = NULL;
    TC_TRY(tc_wire_get_forget(body, &what, &keys, err));
    tc_status status = tc_warehouse_forget(s->c->warehouse, &what, out, err);
    free(keys);
    return status;
}

static tc_status do_parquet(struct session *s, struct tc_slice body, uint64_t *out,
                            struct tc_error *err)
{
    struct tc_wire_parquet what;
    TC_TRY(tc_wire_get_parquet(body, &what, err));
    tc__warehouse_client_busy(s->c, true);
    tc_status status = tc_warehouse_parquet(s->c->warehouse, what.table, what.time_column,
                                            what.before_us, what.path, out, err);
    tc__warehouse_client_busy(s->c, false);
    return status;
}

static tc_status do_begin(struct session *s, struct tc_error *err)
{
    TC_TRY(tc_warehouse_begin(s->c->warehouse, err));
    s->in_transaction = true;
    return TC_OK;
}

static tc_status do_commit(struct session *s, struct tc_error *err)
{
    s->in_transaction = false; /* committed or rolled back: over in any case */
    tc_status status = tc_warehouse_commit(s->c->warehouse, err);
    tc_warehouse_hub_wrote(tc__warehouse_hub(s->c->service), TC_WAREHOUSE_BY_COMMAND);
    return status;
}

static void roll_back(struct session *s)
{
    if (s->in_transaction) {
        tc_warehouse_rollback(s->c->warehouse);
        s->in_transaction = false;
    }
}

static bool is_writing(enum tc_wire_kind kind)
{
    return kind == TC_WIRE_APPEND || kind == TC_WIRE_FORGET;
}

/* What does not fit the state is refused here, so that the engine sees no nonsense. */
static tc_status check(const struct session *s, enum tc_wire_kind kind, struct tc_error *err)
{
    if (is_writing(kind) && s->mode != TC_WAREHOUSE_WRITE) {
        return tc_fail(err, TC_E_USAGE, 0, "the warehouse was opened to be read");
    }
    bool wants = kind == TC_WIRE_COMMIT || kind == TC_WIRE_APPEND || kind == TC_WIRE_FORGET;
    if (wants && !s->in_transaction) {
        return tc_fail(err, TC_E_USAGE, 0, "there is no transaction to write in");
    }
    if (kind == TC_WIRE_BEGIN && s->in_transaction) {
        return tc_fail(err, TC_E_USAGE, 0, "there is a transaction already");
    }
    return TC_OK;
}

static tc_status dispatch(struct session *s, enum tc_wire_kind kind, struct tc_slice body,
                          uint64_t *out, struct tc_error *err)
{
    TC_TRY(check(s, kind, err));
    switch (kind) {
    case TC_WIRE_BEGIN:
        return do_begin(s, err);
    case TC_WIRE_COMMIT:
        return do_commit(s, err);
    case TC_WIRE_ROLLBACK:
        roll_back(s);
        return TC_OK;
    case TC_WIRE_APPEND:
        return do_append(s, body, err);
    case TC_WIRE_FORGET:
        return do_forget(s, body, out, err);
    case TC_WIRE_QUERY:
        return do_query(s, body, out, err);
    case TC_WIRE_PARQUET:
        return do_parquet(s, body, out, err);
    case TC_WIRE_HELLO:
    case TC_WIRE_ERROR:
    case TC_WIRE_DONE:
    case TC_WIRE_ROWS:
    case TC_WIRE_CANCEL:
    default:
        return tc_fail(err, TC_E_MALFORMED, 0, "a message of kind %u is none of a command",
                       (unsigned)kind);
    }
}

/* ---- the conversation ---- */

static tc_status take_hello(struct session *s, struct tc_error *err)
{
    enum tc_wire_kind kind;
    struct tc_slice body;
    struct tc_wire_hello hello;
    tc_status status = tc_wire_read(&s->c->link, HELLO_TIMEOUT, &kind, &body, err);
    if (status == TC_E_LIMIT) {
        return tc_fail(err, TC_E_LIMIT, 0, LEAVE);
    }
    TC_TRY(status);
    if (kind != TC_WIRE_HELLO) {
        return tc_fail(err, TC_E_MALFORMED, 0, "a command says hello first");
    }
    TC_TRY(tc_wire_get_hello(body, &hello, err));
    if (hello.version != TC_WIRE_VERSION || hello.schema != TC_SCHEMA_VERSION) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "the daemon speaks version %d of the warehouse's protocol with tables of "
                       "version %d, the command %u with %u; use the daemon's tracecore, or restart "
                       "it with the command's",
                       TC_WIRE_VERSION, TC_SCHEMA_VERSION, hello.version, hello.schema);
    }
    s->mode = hello.mode;
    return tc_warehouse_hub_share(tc__warehouse_hub(s->c->service), OPEN_WAIT, &s->c->warehouse,
                                  err);
}

static void say_hello(struct session *s)
{
    struct tc_slice engine = tc_slice_cstr(tc_warehouse_engine(s->c->warehouse));
    struct tc_wire_hello hello = {.version = TC_WIRE_VERSION,
                                  .schema = TC_SCHEMA_VERSION,
                                  .mode = s->mode,
                                  .engine = tc_slice_head(engine, TC_WIRE_ENGINE_MAX)};
    tc_wire_begin(&s->out, TC_WIRE_HELLO);
    tc_wire_put_hello(&s->out, &hello);
    send_frame(s);
}

static void converse(struct session *s)
{
    while (!s->is_over) {
        enum tc_wire_kind kind;
        struct tc_slice body;
        struct tc_error err = {0};
        uint64_t value = 0;
        int64_t wait_ns = s->in_transaction ? SILENCE_TIMEOUT : 0;
        tc_status status = tc_wire_read(&s->c->link, wait_ns, &kind, &body, &err);
        if (status == TC_E_LIMIT) {
            (void)!tc_fail(&err, TC_E_IO, 0, LEAVE);
            answer(s, TC_E_IO, 0, &err);
            return;
        }
        if (status != TC_OK) {
            return;
        }
        if (kind == TC_WIRE_CANCEL) {
            continue; /* of a query that is over */
        }
        status = dispatch(s, kind, body, &value, &err);
        if (status != TC_OK && kind == TC_WIRE_COMMIT && err.status != TC_E_USAGE) {
            tc_warehouse_hub_suspect(tc__warehouse_hub(s->c->service));
        }
        answer(s, status, value, &err);
        s->is_over = s->is_over || status == TC_E_MALFORMED;
    }
}

void tc__warehouse_client_serve(struct tc__warehouse_client *c)
{
    struct session s = {.c = c};
    struct tc_error err = {0};
    tc_status status = take_hello(&s, &err);
    if (status == TC_OK) {
        say_hello(&s);
        converse(&s);
        roll_back(&s);
    } else {
        answer(&s, status, 0, &err);
    }
    tc_warehouse_hub_give(tc__warehouse_hub(c->service), c->warehouse);
    c->warehouse = NULL;
    tc_rows_destroy(s.rows);
    tc_wire_out_fini(&s.out);
}
