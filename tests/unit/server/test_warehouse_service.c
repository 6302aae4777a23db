/* SPDX-License-Identifier: Apache-2.0 */
/* A command and a daemon over data_dir/warehouse.sock, both in this process. */
#include "server/warehouse/service.h"
#include "support/warehouse_room.h"
#include "warehouse/daemon/wire.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)
/* Runs for hours unless somebody stops it. */
#define ENDLESS                                                                    \
    TC_LIT("SELECT count(*) FROM telemetry_slice_fact a, telemetry_slice_fact b, " \
           "telemetry_slice_fact c WHERE a.mean + b.mean + c.mean > 1e300")

struct daemon {
    const char *dir;
    struct tc_warehouse_hub *hub;
    struct tc_warehouse_service *service;
};

static void start(struct daemon *d, const char *dir, size_t clients)
{
    struct tc_error err = {0};
    struct tc_warehouse_hub_config hub = {.data_dir = dir, .threads = 1};
    struct tc_warehouse_service_config config = {
        .data_dir = dir, .clients = clients, .query_rows = 100};
    d->dir = dir;
    d->hub = tc_warehouse_hub_create(&hub);
    assert_non_null(d->hub);
    if (tc_warehouse_service_start(&config, d->hub, &d->service, &err) != TC_OK) {
        fail_msg("%s", err.message);
    }
}

static void stop(struct daemon *d)
{
    tc_warehouse_hub_retire(d->hub);
    assert_true(tc_warehouse_service_stop(d->service, 600 * SECOND));
    tc_warehouse_hub_destroy(d->hub);
}

static const char *dir_of(void **state)
{
    const struct wh_room *room = *state;
    return room->dir;
}

static tc_status ask(const char *dir, enum tc_warehouse_mode mode, struct tc_warehouse **out,
                     struct tc_error *err)
{
    struct tc_warehouse_config config = {.data_dir = dir, .mode = mode, .threads = 1};
    return tc_warehouse_open(&config, out, err);
}

static struct tc_warehouse *must_ask(const char *dir, enum tc_warehouse_mode mode)
{
    struct tc_error err = {0};
    struct tc_warehouse *w = NULL;
    if (ask(dir, mode, &w, &err) != TC_OK) {
        fail_msg("%s", err.message);
    }
    return w;
}

static void rows_go_in_and_come_out(void **state)
{
    struct daemon d;
    start(&d, dir_of(state), 4);
    struct tc_warehouse *w = must_ask(d.dir, TC_WAREHOUSE_WRITE);
    assert_non_null(strstr(tc_warehouse_engine(w), "daemon (duckdb "));
    wh_add_slices(w, 0, 5000);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 5000);
    struct tc_warehouse *second = NULL;
    struct tc_error err = {0};
    assert_int_equal(tc_warehouse_share(w, &second, &err), TC_OK);
    assert_int_equal(wh_count(second, "SELECT count(*) FROM telemetry_slice_fact"), 5000);
    tc_warehouse_close(second);
    tc_warehouse_close(w);
    stop(&d);
    /* Without a daemon the same is there. */
    w = must_ask(d.dir, TC_WAREHOUSE_READ);
    assert_null(strstr(tc_warehouse_engine(w), "daemon"));
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 5000);
    tc_warehouse_close(w);
}

static void a_command_that_goes_away_leaves_nothing(void **state)
{
    struct daemon d;
    struct tc_error err = {0};
    start(&d, dir_of(state), 4);
    struct tc_warehouse *w = must_ask(d.dir, TC_WAREHOUSE_WRITE);
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    wh_append_slices(w, 0, 5000);
    tc_warehouse_close(w);
    w = must_ask(d.dir, TC_WAREHOUSE_WRITE);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 0);
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    wh_append_slices(w, 0, 10);
    tc_warehouse_rollback(w);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 0);
    wh_add_slices(w, 0, 10);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 10);
    tc_warehouse_close(w);
    stop(&d);
}

static void the_socket_is_ours_alone(void **state)
{
    struct daemon d;
    char path[512];
    struct stat st;
    start(&d, dir_of(state), 4);
    (void)snprintf(path, sizeof path, "%s/%s", d.dir, TC_WIRE_SOCKET);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    stop(&d);
    assert_int_not_equal(stat(path, &st), 0);
}

static void a_stale_socket_is_no_daemon(void **state)
{
    const struct wh_room *room = *state;
    struct tc_error err = {0};
    int fd = -1;
    assert_int_equal(tc_wire_listen(room->dir, 1, &fd, &err), TC_OK);
    (void)close(fd); /* the name stays, as after kill -9 */
    struct tc_warehouse *w = must_ask(room->dir, TC_WAREHOUSE_WRITE);
    assert_null(strstr(tc_warehouse_engine(w), "daemon"));
    tc_warehouse_close(w);
    struct daemon d;
    start(&d, dir_of(state), 4); /* takes its place */
    w = must_ask(room->dir, TC_WAREHOUSE_READ);
    assert_non_null(strstr(tc_warehouse_engine(w), "daemon"));
    tc_warehouse_close(w);
    stop(&d);
}

static tc_status ignore_rows(void *context, const struct tc_rows *rows)
{
    *(uint64_t *)context += rows->count;
    return TC_OK;
}

static void *interrupt_soon(void *context)
{
    (void)poll(NULL, 0, 200);
    tc_warehouse_interrupt(context);
    return NULL;
}

static void a_query_can_be_interrupted(void **state)
{
    struct daemon d;
    struct tc_error err = {0};
    uint64_t rows = 0;
    pthread_t thread;
    start(&d, dir_of(state), 4);
    struct tc_warehouse *w = must_ask(d.dir, TC_WAREHOUSE_WRITE);
    wh_add_slices(w, 0, 50000);
    struct tc_query query = {.sql = ENDLESS};
    assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, w), 0);
    assert_int_equal(tc_warehouse_query(w, &query, ignore_rows, &rows, NULL, &err), TC_E_LIMIT);
    (void)pthread_join(thread, NULL);
    /* The connection is good for more. */
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 50000);
    query.time_ns = SECOND / 5;
    assert_int_equal(tc_warehouse_query(w, &query, ignore_rows, &rows, NULL, &err), TC_E_LIMIT);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 50000);
    tc_warehouse_close(w);
    stop(&d);
}

struct asking {
    struct tc_warehouse *w;
    tc_status status;
};

static void *query_endlessly(void *context)
{
    struct asking *a = context;
    struct tc_error err = {0};
    uint64_t rows = 0;
    struct tc_query query = {.sql = ENDLESS};
    a->status = tc_warehouse_query(a->w, &query, ignore_rows, &rows, NULL, &err);
    return NULL;
}

static void stopping_ends_queries(void **state)
{
    struct daemon d;
    pthread_t thread;
    start(&d, dir_of(state), 4);
    struct asking a = {.w = must_ask(d.dir, TC_WAREHOUSE_WRITE)};
    wh_add_slices(a.w, 0, 50000);
    assert_int_equal(pthread_create(&thread, NULL, query_endlessly, &a), 0);
    (void)poll(NULL, 0, 200);
    stop(&d);
    (void)pthread_join(thread, NULL);
    assert_int_not_equal(a.status, TC_OK);
    tc_warehouse_close(a.w);
}

struct paused {
    int begun;  /* pipe: rows came */
    int resume; /* pipe: go on */
};

/* As `tracecore sql | less` does: takes some rows and then waits. */
static tc_status pause_at_rows(void *context, const struct tc_rows *rows)
{
    const struct paused *p = context;
    char c = 'x';
    (void)rows;
    assert_int_equal(write(p->begun, &c, 1), 1);
    assert_int_equal(read(p->resume, &c, 1), 0); /* until it is closed */
    return TC_E_NOTFOUND;
}

struct reading {
    struct tc_warehouse *w;
    struct paused paused;
    tc_status status;
};

static void *read_and_pause(void *context)
{
    struct reading *r = context;
    struct tc_error err = {0};
    struct tc_query query = {.sql = TC_LIT("SELECT a.* FROM telemetry_slice_fact a, range(1000)")};
    r->status = tc_warehouse_query(r->w, &query, pause_at_rows, &r->paused, NULL, &err);
    return NULL;
}

/* A reader that pauses fills the socket; the daemon goes all the same. */
static void stopping_does_not_wait_for_a_paused_reader(void **state)
{
    struct daemon d;
    pthread_t thread;
    int begun[2];
    int resume[2];
    char c;
    assert_int_equal(pipe(begun), 0);
    assert_int_equal(pipe(resume), 0);
    start(&d, dir_of(state), 4);
    struct reading r = {.w = must_ask(d.dir, TC_WAREHOUSE_WRITE),
                        .paused = {.begun = begun[1], .resume = resume[0]}};
    wh_add_slices(r.w, 0, 50000);
    assert_int_equal(pthread_create(&thread, NULL, read_and_pause, &r), 0);
    assert_int_equal(read(begun[0], &c, 1), 1);
    (void)poll(NULL, 0, 300); /* the socket fills */
    /* Much less than the time that an answer may wait to be taken. */
    tc_warehouse_hub_retire(d.hub);
    assert_true(tc_warehouse_service_stop(d.service, 100 * SECOND));
    tc_warehouse_hub_destroy(d.hub);
    (void)close(resume[1]);
    (void)pthread_join(thread, NULL);
    assert_int_not_equal(r.status, TC_OK);
    tc_warehouse_close(r.w);
    (void)close(resume[0]);
    (void)close(begun[0]);
    (void)close(begun[1]);
}

static void too_many_commands_are_told(void **state)
{
    struct daemon d;
    struct tc_error err = {0};
    struct tc_warehouse *w[2] = {NULL, NULL};
    start(&d, dir_of(state), 1);
    w[0] = must_ask(d.dir, TC_WAREHOUSE_READ);
    assert_int_equal(ask(d.dir, TC_WAREHOUSE_READ, &w[1], &err), TC_E_LIMIT);
    assert_non_null(strstr(err.message, "warehouse.clients"));
    tc_warehouse_close(w[0]);
    /* Who waits a little gets in. */
    struct tc_warehouse_config config = {
        .data_dir = d.dir, .mode = TC_WAREHOUSE_READ, .wait_ns = 10 * SECOND};
    assert_int_equal(tc_warehouse_open(&config, &w[1], &err), TC_OK);
    tc_warehouse_close(w[1]);
    stop(&d);
}

static void queries_of_people_have_bounds(void **state)
{
    struct daemon d;
    struct tc_error err = {0};
    uint64_t rows = 0;
    bool cut = false;
    start(&d, dir_of(state), 4);
    struct tc_warehouse *w = must_ask(d.dir, TC_WAREHOUSE_WRITE);
    wh_add_slices(w, 0, 500);
    struct tc_query query = {.sql = TC_LIT("SELECT * FROM telemetry_slice_fact"),
                             .untrusted = true};
    assert_int_equal(tc_warehouse_query(w, &query, ignore_rows, &rows, &cut, &err), TC_OK);
    assert_int_equal(rows, 100);
    assert_true(cut);
    rows = 0;
    query.sql = TC_LIT("DELETE FROM telemetry_slice_fact");
    assert_int_equal(tc_warehouse_query(w, &query, ignore_rows, &rows, &cut, &err), TC_E_USAGE);
    rows = 0;
    query = (struct tc_query){.sql = TC_LIT("SELECT * FROM telemetry_slice_fact")};
    assert_int_equal(tc_warehouse_query(w, &query, ignore_rows, &rows, &cut, &err), TC_OK);
    assert_int_equal(rows, 500);
    assert_false(cut);
    tc_warehouse_close(w);
    stop(&d);
}

static tc_status refuse_rows(void *context, const struct tc_rows *rows)
{
    (void)context;
    (void)rows;
    return TC_E_NOTFOUND;
}

static void who_does_not_want_rows_gets_no_more(void **state)
{
    struct daemon d;
    struct tc_error err = {0};
    start(&d, dir_of(state), 4);
    struct tc_warehouse *w = must_ask(d.dir, TC_WAREHOUSE_WRITE);
    wh_add_slices(w, 0, 50000);
    struct tc_query query = {.sql = TC_LIT("SELECT * FROM telemetry_slice_fact")};
    assert_int_equal(tc_warehouse_query(w, &query, refuse_rows, NULL, NULL, &err), TC_E_NOTFOUND);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 50000);
    tc_warehouse_close(w);
    stop(&d);
}

/* ---- peers that are no commands ---- */

static struct tc_wire_link connect_raw(const char *dir)
{
    struct tc_error err = {0};
    int fd = -1;
    if (tc_wire_connect(dir, &fd, &err) != TC_OK) {
        fail_msg("%s", err.message);
    }
    return (struct tc_wire_link){.fd = fd, .wake_fd = -1};
}

static void send_hello(struct tc_wire_link *l, uint32_t version)
{
    struct tc_error err = {0};
    struct tc_wire_out out = {0};
    struct tc_wire_hello hello = {
        .version = version, .schema = TC_SCHEMA_VERSION, .mode = TC_WAREHOUSE_READ};
    tc_wire_begin(&out, TC_WIRE_HELLO);
    tc_wire_put_hello(&out, &hello);
    assert_int_equal(tc_wire_end(&out, &err), TC_OK);
    assert_int_equal(tc_wire_write(l, &out, SECOND, &err), TC_OK);
    tc_wire_out_fini(&out);
}

static tc_status read_error(struct tc_wire_link *l, struct tc_error *err)
{
    enum tc_wire_kind kind = TC_WIRE_DONE;
    struct tc_slice body;
    assert_int_equal(tc_wire_read(l, 20 * SECOND, &kind, &body, err), TC_OK);
    assert_int_equal(kind, TC_WIRE_ERROR);
    return tc_wire_get_error(body, err);
}

static void other_versions_are_told(void **state)
{
    struct daemon d;
    struct tc_error err = {0};
    start(&d, dir_of(state), 4);
    struct tc_wire_link l = connect_raw(d.dir);
    send_hello(&l, TC_WIRE_VERSION + 1);
    assert_int_equal(read_error(&l, &err), TC_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "version"));
    tc_wire_link_fini(&l);
    stop(&d);
}

static void send_bare(struct tc_wire_link *l, enum tc_wire_kind kind)
{
    struct tc_error err = {0};
    struct tc_wire_out out = {0};
    tc_wire_begin(&out, kind);
    assert_int_equal(tc_wire_end(&out, &err), TC_OK);
    assert_int_equal(tc_wire_write(l, &out, SECOND, &err), TC_OK);
    tc_wire_out_fini(&out);
}

static void nonsense_is_refused(void **state)
{
    struct daemon d;
    struct tc_error err = {0};
    enum tc_wire_kind kind = TC_WIRE_DONE;
    struct tc_slice body;
    start(&d, dir_of(state), 4);
    struct tc_wire_link l = connect_raw(d.dir);
    send_bare(&l, TC_WIRE_BEGIN); /* without a hello */
    assert_int_equal(read_error(&l, &err), TC_E_MALFORMED);
    tc_wire_link_fini(&l);

    l = connect_raw(d.dir);
    assert_int_equal(send(l.fd, "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
    assert_int_equal(read_error(&l, &err), TC_E_MALFORMED);
    tc_wire_link_fini(&l);

    l = connect_raw(d.dir);
    send_hello(&l, TC_WIRE_VERSION);
    assert_int_equal(tc_wire_read(&l, 20 * SECOND, &kind, &body, &err), TC_OK);
    assert_int_equal(kind, TC_WIRE_HELLO);
    send_bare(&l, TC_WIRE_CANCEL); /* of nothing: no answer */
    send_bare(&l, TC_WIRE_FORGET); /* it said that it reads */
    assert_int_equal(read_error(&l, &err), TC_E_USAGE);
    send_bare(&l, TC_WIRE_COMMIT);
    assert_int_equal(read_error(&l, &err), TC_E_USAGE);
    send_bare(&l, TC_WIRE_QUERY); /* with nothing in it */
    assert_int_equal(read_error(&l, &err), TC_E_MALFORMED);
    assert_int_equal(tc_wire_read(&l, 20 * SECOND, &kind, &body, &err), TC_E_NOTFOUND);
    tc_wire_link_fini(&l);
    stop(&d);
}

static void a_long_path_works(void **state)
{
    const struct wh_room *room = *state;
    char deep[512];
    size_t len = (size_t)snprintf(deep, sizeof deep, "%s", room->dir);
    for (int i = 0; i < 8; i++) {
        len += (size_t)snprintf(deep + len, sizeof deep - len, "/%s", "a-directory-name");
        assert_true(len < sizeof deep);
        assert_int_equal(mkdir(deep, 0700), 0);
    }
    assert_true(len > 108);
    struct daemon d;
    start(&d, deep, 2);
    struct tc_warehouse *w = must_ask(deep, TC_WAREHOUSE_WRITE);
    assert_non_null(strstr(tc_warehouse_engine(w), "daemon"));
    tc_warehouse_close(w);
    stop(&d);
}

static void a_suspect_warehouse_is_opened_anew(void **state)
{
    struct daemon d;
    struct tc_error err = {0};
    start(&d, dir_of(state), 4);
    struct tc_warehouse *w = must_ask(d.dir, TC_WAREHOUSE_WRITE);
    wh_add_slices(w, 0, 10);
    tc_warehouse_hub_suspect(d.hub);
    /* Nobody has to ask: whoever holds it lets go. */
    for (int i = 0; i < 200 && tc_warehouse_hub_is_suspect(d.hub); i++) {
        (void)poll(NULL, 0, 50);
    }
    assert_false(tc_warehouse_hub_is_suspect(d.hub));
    int64_t count = 0;
    assert_int_equal(
        tc_warehouse_int(w, "SELECT count(*) FROM telemetry_slice_fact", NULL, 0, 0, &count, &err),
        TC_E_IO);
    assert_non_null(strstr(err.message, "anew"));
    tc_warehouse_close(w);
    struct tc_warehouse_config config = {
        .data_dir = d.dir, .mode = TC_WAREHOUSE_WRITE, .wait_ns = 10 * SECOND};
    assert_int_equal(tc_warehouse_open(&config, &w, &err), TC_OK);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 10);
    tc_warehouse_close(w);
    stop(&d);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, wh_setup, wh_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_go_in_and_come_out),
        TEST(a_command_that_goes_away_leaves_nothing),
        TEST(the_socket_is_ours_alone),
        TEST(a_stale_socket_is_no_daemon),
        TEST(a_query_can_be_interrupted),
        TEST(stopping_ends_queries),
        TEST(stopping_does_not_wait_for_a_paused_reader),
        TEST(too_many_commands_are_told),
        TEST(queries_of_people_have_bounds),
        TEST(who_does_not_want_rows_gets_no_more),
        TEST(other_versions_are_told),
        TEST(nonsense_is_refused),
        TEST(a_long_path_works),
        TEST(a_suspect_warehouse_is_opened_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
