/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of the evidence as rows: each request once, whatever ends when, is sent twice, fails, or
 * is read from another store than before.
 */
#include "base/time.h"
#include "evidence/store.h"
#include "server/warehouse/requests.h"
#include "support/otlp_writer.h"
#include "support/warehouse_room.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#define NOW (INT64_C(1772600760) * TC_SECOND)
#define BODY_MAX ((size_t)4 << 20)
#define ROWS "SELECT count(*) FROM serving_request_fact"

static struct tc_error err;

struct place {
    char evidence_dir[256];
    struct wh_room *room;
    struct tc_store *store;
    struct tc_warehouse *w;
    struct tc_handoff *handoff;
    struct tc_warehouse_requests *requests;
    bool is_closed; /* to whoever wants to write */
    unsigned opened;
};

static void must(tc_status status)
{
    if (status != TC_OK) {
        fail_msg("%s: %s", tc_status_text(status), err.message);
    }
}

static tc_status open_warehouse(void *context, struct tc_warehouse **out_warehouse,
                                struct tc_error *e)
{
    struct place *p = context;
    if (p->is_closed) {
        return tc_fail(e, TC_E_IO, 0, "somebody has it");
    }
    p->opened++;
    *out_warehouse = p->w;
    return TC_OK;
}

static void start(struct place *p)
{
    const struct tc_warehouse_requests_config config = {.evidence_dir = p->evidence_dir,
                                                        .catch_up_ns = 3600 * TC_SECOND,
                                                        .otlp = TC_OTLP_LIMITS_DEFAULT,
                                                        .body_max = BODY_MAX,
                                                        .handoff = p->handoff,
                                                        .open = open_warehouse,
                                                        .context = p};
    p->requests = tc_warehouse_requests_create(&config);
    assert_non_null(p->requests);
}

static void open_place(struct place *p, struct wh_room *room)
{
    *p = (struct place){.room = room};
    (void)snprintf(p->evidence_dir, sizeof p->evidence_dir, "%s/evidence", room->dir);
    struct tc_store_config store = {
        .segment_bytes = (size_t)64 << 20, .segment_ns = 3600 * TC_SECOND, .compression = 1};
    must(tc_store_open(p->evidence_dir, &store, NULL, NULL, &p->store, &err));
    p->w = wh_open(room, TC_WAREHOUSE_WRITE);
    start(p);
}

static void restart(struct place *p)
{
    tc_warehouse_requests_destroy(p->requests);
    start(p);
}

static void close_place(struct place *p)
{
    tc_warehouse_requests_destroy(p->requests);
    tc_handoff_destroy(p->handoff);
    tc_warehouse_close(p->w);
    tc_store_close(p->store);
}

static void put(struct place *p, enum tc_batch_kind kind, struct tc_slice body)
{
    struct tc_batch batch = {.number = tc_store_next_number(p->store),
                             .arrival_ns = NOW,
                             .kind = kind,
                             .name = kind == TC_BATCH_FILE ? TC_LIT("traces.json") : TC_EMPTY,
                             .body = body};
    must(tc_store_append(p->store, &batch, &err));
    must(tc_store_commit(p->store, &err));
}

/* So many spans of vLLM; id: of the first. */
static size_t print_traces(char *body, size_t cap, unsigned id, unsigned count, const char *name)
{
    size_t len = (size_t)snprintf(
        body, cap,
        "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"k8s.pod.name\",\"value\":{"
        "\"stringValue\":\"vllm-0\"}}]},\"scopeSpans\":[{\"spans\":[");
    for (unsigned i = 0; i < count; i++) {
        len += (size_t)snprintf(
            body + len, cap - len,
            "%s{\"traceId\":\"000000000000000000000000%08x\",\"spanId\":\"00000000%08x\",\"name\":"
            "\"%s\",\"kind\":2,\"startTimeUnixNano\":\"1772600760000000000\",\"endTimeUnixNano\":"
            "\"1772600761000000000\",\"attributes\":[{\"key\":\"gen_ai.request.id\",\"value\":{"
            "\"stringValue\":\"cmpl-%u\"}}]}",
            i == 0 ? "" : ",", id + i + 1, id + i + 1, name, id + i);
    }
    return len + (size_t)snprintf(body + len, cap - len, "]}]}]}");
}

static void put_traces(struct place *p, unsigned id, enum tc_batch_kind kind)
{
    char body[1024];
    size_t len = print_traces(body, sizeof body, id, 1, "llm_request");
    if (kind != TC_BATCH_TRACES_PROTOBUF) {
        put(p, kind, tc_slice_make(body, len));
        return;
    }
    char *bytes = NULL;
    assert_true(tc_otlp_write(tc_slice_make(body, len), false, &bytes, &len));
    put(p, kind, tc_slice_make(bytes, len));
    free(bytes);
}

static void step(struct place *p)
{
    bool more = true;
    for (int i = 0; more; i++) {
        assert_true(i < 100);
        must(tc_warehouse_requests_step(p->requests, NOW, &more, &err));
    }
}

static void expect_rows(struct place *p, int64_t count)
{
    assert_int_equal(wh_count(p->w, ROWS), count);
    assert_int_equal(wh_count(p->w, "SELECT count(DISTINCT request_id) FROM serving_request_fact"),
                     count);
}

static void traces_become_rows_once(void **state)
{
    struct place p;
    open_place(&p, *state);
    step(&p);
    assert_int_equal(p.opened, 0); /* not before it is needed */
    put_traces(&p, 1, TC_BATCH_TRACES_JSON);
    put_traces(&p, 2, TC_BATCH_TRACES_PROTOBUF);
    step(&p);
    step(&p);
    expect_rows(&p, 2);
    assert_int_equal(wh_count(p.w, ROWS " WHERE tool = 'otlp:vllm' AND status = 'ok' AND pod_name "
                                        "= 'vllm-0' AND e2e_ms = 1000 AND run_id IS NULL AND "
                                        "run_join IS NULL AND source_pointer LIKE 'at:%,%' AND "
                                        "source_digest LIKE 'sha256:%'"),
                     2);
    assert_int_equal(wh_count(p.w, "SELECT max(evidence_batch) FROM serving_request_fact"), 2);
    /* The next process begins a while before, and adds what is new. */
    for (unsigned i = 0; i < 3; i++) {
        restart(&p);
        put_traces(&p, 10 + i, TC_BATCH_TRACES_JSON);
        step(&p);
        expect_rows(&p, 3 + i);
    }
    close_place(&p);
}

static void spans_of_no_request_open_nothing(void **state)
{
    struct place p;
    char body[2048];
    open_place(&p, *state);
    put(&p, TC_BATCH_TRACES_JSON,
        tc_slice_make(body, print_traces(body, sizeof body, 1, 3, "GET /health")));
    put(&p, TC_BATCH_LOGS_JSON, TC_LIT("{}"));
    put(&p, TC_BATCH_FILE, TC_LIT("no traces"));
    put(&p, TC_BATCH_TRACES_JSON, TC_LIT("{\"resourceSpans\":5}")); /* of an older program */
    step(&p);
    assert_int_equal(p.opened, 0);
    put_traces(&p, 5, TC_BATCH_TRACES_JSON); /* and the next one is read */
    step(&p);
    expect_rows(&p, 1);
    close_place(&p);
}

static void the_same_bytes_count_once(void **state)
{
    struct place p;
    open_place(&p, *state);
    put_traces(&p, 1, TC_BATCH_TRACES_JSON);
    put_traces(&p, 1, TC_BATCH_TRACES_JSON); /* in one step */
    step(&p);
    put_traces(&p, 1, TC_BATCH_TRACES_JSON); /* in a later one */
    put_traces(&p, 2, TC_BATCH_TRACES_JSON);
    step(&p);
    expect_rows(&p, 2);
    restart(&p); /* after a start, also what was left out before */
    put_traces(&p, 1, TC_BATCH_TRACES_JSON);
    put_traces(&p, 2, TC_BATCH_FILE);
    step(&p);
    expect_rows(&p, 2);
    close_place(&p);
}

static void an_uploaded_file_is_read_too(void **state)
{
    struct place p;
    char file[4096];
    open_place(&p, *state);
    size_t len = print_traces(file, sizeof file, 1, 1, "llm_request");
    file[len++] = '\n';
    len += print_traces(file + len, sizeof file - len, 2, 2, "llm_request");
    put(&p, TC_BATCH_FILE, tc_slice_make(file, len));
    step(&p);
    expect_rows(&p, 3);
    assert_int_equal(wh_count(p.w, "SELECT count(DISTINCT source_pointer) FROM "
                                   "serving_request_fact WHERE evidence_batch = 1"),
                     3);
    close_place(&p);
}

/* More rows than one batch of rows holds, and than one step takes. */
static void a_large_batch_is_written_whole(void **state)
{
    struct place p;
    size_t cap = (size_t)32 << 20;
    char *body = malloc(cap);
    assert_non_null(body);
    open_place(&p, *state);
    for (unsigned i = 0; i < 6; i++) {
        size_t len = print_traces(body, cap, i * 4000, 4000, "llm_request");
        put(&p, TC_BATCH_TRACES_JSON, tc_slice_make(body, len));
    }
    bool more = false;
    must(tc_warehouse_requests_step(p.requests, NOW, &more, &err));
    assert_true(more);
    assert_int_equal(wh_count(p.w, "SELECT count(*) % 4000 FROM serving_request_fact"), 0);
    restart(&p); /* in the middle */
    step(&p);
    expect_rows(&p, 24000);
    free(body);
    close_place(&p);
}

static void what_cannot_be_written_is_read_again(void **state)
{
    struct place p;
    bool more = false;
    open_place(&p, *state);
    put_traces(&p, 1, TC_BATCH_TRACES_JSON);
    step(&p);
    p.is_closed = true;
    put_traces(&p, 2, TC_BATCH_TRACES_JSON);
    put_traces(&p, 3, TC_BATCH_TRACES_PROTOBUF);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tc_warehouse_requests_step(p.requests, NOW, &more, &err), TC_E_IO);
    }
    expect_rows(&p, 1);
    p.is_closed = false;
    step(&p);
    expect_rows(&p, 3);
    close_place(&p);
}

/* The disk takes no more when the rows are there and become durable. */
static void a_commit_that_fails_loses_nothing(void **state)
{
    struct wh_room *room = *state;
    struct place p;
    struct rlimit before;
    bool more = false;
    open_place(&p, room);
    for (unsigned i = 0; i < 3; i++) {
        put_traces(&p, i, TC_BATCH_TRACES_JSON);
    }
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit none = {.rlim_cur = 1, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    tc_status status = tc_warehouse_requests_step(p.requests, NOW, &more, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_not_equal(status, TC_OK);
    tc_warehouse_close(p.w);
    p.w = wh_open(room, TC_WAREHOUSE_WRITE);
    step(&p);
    expect_rows(&p, 3);
    close_place(&p);
}

/* More than are remembered: the oldest are asked for. */
static void a_start_finds_all_that_is_there(void **state)
{
    enum { COUNT = 4100 };
    struct place p;
    char body[1024];
    open_place(&p, *state);
    for (unsigned i = 0; i < COUNT; i++) {
        struct tc_batch batch = {
            .number = tc_store_next_number(p.store),
            .arrival_ns = NOW,
            .kind = TC_BATCH_TRACES_JSON,
            .body = tc_slice_make(body, print_traces(body, sizeof body, i, 1, "llm_request"))};
        must(tc_store_append(p.store, &batch, &err));
    }
    must(tc_store_commit(p.store, &err));
    step(&p);
    restart(&p);
    step(&p);
    expect_rows(&p, COUNT);
    close_place(&p);
}

/* Its numbers begin again, below those that the warehouse has. */
static void another_store_is_not_taken_for_the_old_one(void **state)
{
    struct wh_room *room = *state;
    struct place p;
    char command[600];
    open_place(&p, room);
    for (unsigned i = 0; i < 5; i++) {
        put_traces(&p, i, TC_BATCH_TRACES_JSON);
    }
    step(&p);
    close_place(&p);
    (void)snprintf(command, sizeof command, "rm -r '%s/evidence'", room->dir);
    assert_int_equal(system(command), 0);
    open_place(&p, room);
    put_traces(&p, 100, TC_BATCH_TRACES_JSON);
    step(&p);
    expect_rows(&p, 6);
    restart(&p);
    put_traces(&p, 101, TC_BATCH_TRACES_JSON);
    step(&p);
    expect_rows(&p, 7);
    close_place(&p);
}

static void nothing_is_looked_for_before_it_is_told(void **state)
{
    struct place p;
    open_place(&p, *state);
    put_traces(&p, 1, TC_BATCH_TRACES_JSON);
    p.handoff = tc_handoff_create(tc_store_next_number(p.store));
    assert_non_null(p.handoff);
    restart(&p);
    step(&p); /* what was there at the start */
    expect_rows(&p, 1);
    put_traces(&p, 2, TC_BATCH_TRACES_JSON);
    step(&p);
    expect_rows(&p, 1);
    tc_handoff_note_traces(p.handoff, 2);
    step(&p);
    expect_rows(&p, 2);
    put_traces(&p, 3, TC_BATCH_TRACES_JSON);
    tc_handoff_note_traces(p.handoff, 3);
    tc_handoff_note_traces(p.handoff, 2); /* the newest counts */
    step(&p);
    expect_rows(&p, 3);
    close_place(&p);
}

static void what_is_older_than_the_catch_up_is_left(void **state)
{
    struct place p;
    bool more = false;
    open_place(&p, *state);
    put_traces(&p, 1, TC_BATCH_TRACES_JSON);
    must(tc_warehouse_requests_step(p.requests, NOW + 3600 * TC_SECOND + 1, &more, &err));
    assert_int_equal(p.opened, 0);
    restart(&p);
    must(tc_warehouse_requests_step(p.requests, NOW + 3600 * TC_SECOND, &more, &err));
    expect_rows(&p, 1);
    close_place(&p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, wh_setup, wh_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(traces_become_rows_once),
        TEST(spans_of_no_request_open_nothing),
        TEST(the_same_bytes_count_once),
        TEST(an_uploaded_file_is_read_too),
        TEST(a_large_batch_is_written_whole),
        TEST(what_cannot_be_written_is_read_again),
        TEST(a_commit_that_fails_loses_nothing),
        TEST(a_start_finds_all_that_is_there),
        TEST(another_store_is_not_taken_for_the_old_one),
        TEST(nothing_is_looked_for_before_it_is_told),
        TEST(what_is_older_than_the_catch_up_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
