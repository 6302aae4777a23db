/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon writes to the warehouse by itself: verdicts of the outbox and slices of the
 * evidence, each once, whatever ends when.
 */
#include "base/time.h"
#include "server/warehouse/feed.h"
#include "support/warehouse_room.h"
#include "warehouse/verdicts.h"

#include "evidence/store.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_LONG (300 * TC_SECOND)

static struct tc_error err;

static int64_t wall_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * TC_SECOND + t.tv_nsec;
}

static void must(tc_status status)
{
    if (status != TC_OK) {
        fail_msg("%s: %s", tc_status_text(status), err.message);
    }
}

/* ---- one verdict ---- */

static const char VERDICT[] =
    "{\"pattern.id\":\"1\",\"pattern.name\":\"nccl_hang\",\"incident_id\":\"abc\","
    "\"status\":\"open\",\"severity\":\"critical\",\"confidence\":\"full\","
    "\"remediation\":\"Drain gpu-07.\","
    "\"headline\":\"rank 3 hangs\",\"first_seen\":\"2026-03-02T00:00:01.5Z\","
    "\"last_seen\":\"2026-03-02T00:00:02Z\",\"detected_at\":\"2026-03-02T00:00:03Z\","
    "\"caused_by\":[{\"incident_id\":\"root-1\",\"why\":\"because\"}],"
    "\"k8s.node.name\":\"gpu-07\",\"k8s.pod.uid\":\"uid-1\",\"job.id\":\"llm\",\"rank\":3,"
    "\"gpu.uuid\":\"GPU-1\",\"tracecore.alert.nccl_hang.culprit_ranks\":[3,5],"
    "\"tracecore.alert.nccl_hang.culprit_reasons\":[\"never \\\"came\\\"\"],"
    "\"tracecore.alert.nccl_hang.waiting_ranks\":[0,1],"
    "\"evidence_trail\":[{\"kind\":\"a\",\"uid\":\"1\",\"description\":\"d\","
    "\"raw\":{\"digest\":\"sha256:00\",\"offset\":7,\"length\":9}},"
    "{\"kind\":\"b\",\"uid\":\"2\",\"description\":\"d\"}]}";

static void assert_text(const struct tc_rows *rows, size_t column, const char *want)
{
    assert_false(tc_rows_is_null(rows, column, 0));
    struct tc_slice got = tc_rows_get_text(rows, column, 0);
    if (!tc_slice_eq(got, tc_slice_cstr(want))) {
        fail_msg("%.*s instead of %s", TC_FMT(got), want);
    }
}

static void a_verdict_fills_its_columns(void **state)
{
    (void)state;
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_rows *rows = tc_rows_create(TC_TABLE_VERDICT);
    int64_t at_ns = 0;
    assert_true(parser != NULL && rows != NULL);
    assert_true(tc_time_parse(TC_LIT("2026-03-02T00:00:01.5Z"), 0, &at_ns) > 0);
    must(tc_warehouse_verdict_row(parser, tc_slice_cstr(VERDICT), 5000, rows, &err));
    assert_int_equal(rows->count, 1);
    assert_text(rows, TC_VERDICT_INCIDENT_ID, "abc");
    assert_text(rows, TC_VERDICT_STATUS, "open");
    assert_text(rows, TC_VERDICT_PATTERN, "nccl_hang");
    assert_text(rows, TC_VERDICT_CONFIDENCE, "full");
    assert_text(rows, TC_VERDICT_HEADLINE, "rank 3 hangs");
    assert_text(rows, TC_VERDICT_SEVERITY, "critical");
    assert_text(rows, TC_VERDICT_REMEDIATION, "Drain gpu-07.");
    assert_text(rows, TC_VERDICT_JOB_UID, "llm");
    assert_text(rows, TC_VERDICT_POD_UID, "uid-1");
    assert_text(rows, TC_VERDICT_NODE, "gpu-07");
    assert_text(rows, TC_VERDICT_GPU, "GPU-1");
    assert_true(tc_rows_is_null(rows, TC_VERDICT_RUN_ID, 0)); /* the warehouse finds it */
    assert_text(rows, TC_VERDICT_CAUSE, "root-1");
    assert_text(rows, TC_VERDICT_CULPRITS,
                "{\"culprit_ranks\":[3,5],\"culprit_reasons\":[\"never \\\"came\\\"\"]}");
    assert_text(rows, TC_VERDICT_EVIDENCE,
                "[{\"digest\":\"sha256:00\",\"offset\":7,\"length\":9}]");
    assert_int_equal(rows->columns[TC_VERDICT_RANK].cells[0].integer, 3);
    assert_int_equal(rows->columns[TC_VERDICT_FIRST_SEEN].cells[0].integer, at_ns / 1000);
    assert_int_equal(rows->columns[TC_VERDICT_TOLD].cells[0].integer, 5);
    assert_true(tc_slice_starts(tc_rows_get_text(rows, TC_VERDICT_DIGEST, 0), TC_LIT("sha256:")));
    /* No verdicts: no rows. */
    assert_int_equal(tc_warehouse_verdict_row(parser, TC_LIT("{}"), 0, rows, &err), TC_E_MALFORMED);
    assert_int_equal(tc_warehouse_verdict_row(parser, TC_LIT("{\"inc"), 0, rows, &err),
                     TC_E_MALFORMED);
    assert_int_equal(rows->count, 1);
    /* What is not known is NULL. */
    must(tc_warehouse_verdict_row(parser, TC_LIT("{\"incident_id\":\"x\"}"), 0, rows, &err));
    assert_true(tc_rows_is_null(rows, TC_VERDICT_RANK, 1));
    assert_true(tc_rows_is_null(rows, TC_VERDICT_CULPRITS, 1));
    assert_true(tc_rows_is_null(rows, TC_VERDICT_RUN_ID, 1));
    assert_true(tc_rows_is_null(rows, TC_VERDICT_FIRST_SEEN, 1));
    tc_rows_destroy(rows);
    tc_json_parser_destroy(parser);
}

/* ---- the feed ---- */

struct place {
    char outbox_dir[256];
    char evidence_dir[256];
    struct tc_warehouse_hub *hub;
    struct tc_outbox *box;
    struct tc_store *store;
    struct tc_warehouse_feed *feed;
    struct tc_pool *pool;
    struct tc_handoff *handoff;
};

static void open_place(struct place *p, const struct wh_room *room, bool wants_slices)
{
    *p = (struct place){0};
    (void)snprintf(p->outbox_dir, sizeof p->outbox_dir, "%s/outbox", room->dir);
    (void)snprintf(p->evidence_dir, sizeof p->evidence_dir, "%s/evidence", room->dir);
    (void)mkdir(p->outbox_dir, 0700);
    struct tc_warehouse_hub_config hub = {.data_dir = room->dir, .threads = 1};
    struct tc_outbox_config box = {.dir = p->outbox_dir, .is_pulled = true};
    struct tc_store_config store = {
        .segment_bytes = (size_t)64 << 20, .segment_ns = 3600 * TC_SECOND, .compression = 1};
    p->hub = tc_warehouse_hub_create(&hub);
    assert_non_null(p->hub);
    must(tc_outbox_open(&box, NULL, NULL, &p->box, &err));
    must(tc_outbox_start(p->box, &err));
    must(tc_store_open(p->evidence_dir, &store, NULL, NULL, &p->store, &err));
    p->pool = tc_pool_create((size_t)1 << 20, (size_t)64 << 10);
    p->handoff = tc_handoff_create(tc_store_next_number(p->store));
    struct tc_warehouse_feed_parts parts = {
        .data_dir = room->dir,
        .hub = p->hub,
        .outbox = p->box,
        .wants_slices = wants_slices,
        .slicer = {.evidence_dir = p->evidence_dir,
                   .window_ns = TC_SECOND,
                   .lateness_ns = 6 * TC_SECOND, /* a slow disk is not late */
                   .catch_up_ns = 3600 * TC_SECOND,
                   .series_max = 1000,
                   .memory_bytes = (size_t)8 << 20,
                   .otlp = TC_OTLP_LIMITS_DEFAULT,
                   .body_max = 4096,
                   .handoff = p->handoff},
        .wake_bytes = 1,
        .retry_ns = TC_SECOND / 10,
    };
    must(tc_warehouse_feed_start(&parts, &p->feed, &err));
}

static void close_place(struct place *p)
{
    tc_warehouse_feed_stop(p->feed, WAIT_LONG);
    tc_warehouse_hub_destroy(p->hub);
    tc_outbox_close(p->box, WAIT_LONG);
    tc_store_close(p->store);
    tc_handoff_destroy(p->handoff);
    tc_pool_destroy(p->pool);
}

static void put_verdict(struct place *p, unsigned n)
{
    char line[256];
    char id[32];
    int len = snprintf(line, sizeof line, "{\"incident_id\":\"inc-%u\",\"status\":\"open\"}", n);
    int id_len = snprintf(id, sizeof id, "inc-%u", n);
    struct tc_incident_mark mark = {.key = tc_slice_make(id, (size_t)id_len),
                                    .pattern_id = TC_LIT("1"),
                                    .incident_id = tc_slice_make(id, (size_t)id_len)};
    must(tc_outbox_put(p->box, &mark, tc_slice_make(line, (size_t)len), 0));
}

static int64_t count_in(const struct wh_room *room, const char *sql)
{
    struct tc_warehouse_config config = {
        .data_dir = room->dir, .mode = TC_WAREHOUSE_READ, .own = true, .threads = 1};
    struct tc_warehouse *w = NULL;
    must(tc_warehouse_open(&config, &w, &err));
    int64_t count = wh_count(w, sql);
    tc_warehouse_close(w);
    return count;
}

static void verdicts_are_written_once(void **state)
{
    const struct wh_room *room = *state;
    struct place p;
    open_place(&p, room, false);
    for (unsigned i = 0; i < 700; i++) { /* more than one transaction */
        put_verdict(&p, i);
    }
    close_place(&p);
    assert_int_equal(count_in(room, "SELECT count(*) FROM verdict_fact"), 700);
    /* The next process has nothing to do, and adds its own. */
    open_place(&p, room, false);
    put_verdict(&p, 700);
    put_verdict(&p, 3); /* the same line: it was told before */
    put_verdict(&p, 3);
    put_verdict(&p, 701);
    put_verdict(&p, 701);
    close_place(&p);
    assert_int_equal(count_in(room, "SELECT count(*) FROM verdict_fact"), 702);
    assert_int_equal(count_in(room, "SELECT count(DISTINCT verdict_digest) FROM verdict_fact"),
                     702);
}

/* As after a crash between the commit and the outbox's cursor: all verdicts come again. */
static void verdicts_that_come_again_are_not_written_again(void **state)
{
    const struct wh_room *room = *state;
    struct place p;
    char command[600];
    open_place(&p, room, false);
    for (unsigned i = 0; i < 300; i++) {
        put_verdict(&p, i);
    }
    close_place(&p);
    /* Another outbox that has them all, and a hundred more. */
    (void)snprintf(command, sizeof command, "rm -r '%s/outbox'", room->dir);
    assert_int_equal(system(command), 0);
    open_place(&p, room, false);
    for (unsigned i = 0; i < 400; i++) {
        put_verdict(&p, i);
    }
    close_place(&p);
    assert_int_equal(count_in(room, "SELECT count(*) FROM verdict_fact"), 400);
}

static void verdicts_wait_for_whoever_has_the_database(void **state)
{
    struct wh_room *room = *state;
    struct place p;
    struct tc_outbox_stats stats;
    /* Something of another kind where the database should be: it cannot be opened. */
    char path[256];
    (void)snprintf(path, sizeof path, "%s/warehouse.duckdb", room->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    open_place(&p, room, false);
    for (unsigned i = 0; i < 10; i++) {
        put_verdict(&p, i);
    }
    (void)poll(NULL, 0, 1500);
    tc_outbox_stats(p.box, &stats);
    assert_int_equal(stats.pending_pull, 10);
    assert_int_equal(rmdir(path), 0);
    for (int i = 0; i < 600; i++) {
        tc_outbox_stats(p.box, &stats);
        if (stats.pending_pull == 0) {
            break;
        }
        (void)poll(NULL, 0, 100);
    }
    close_place(&p);
    assert_int_equal(count_in(room, "SELECT count(*) FROM verdict_fact"), 10);
}

/* ---- slices ---- */

static size_t print_metrics(char *body, size_t cap, int64_t at_ns, double value)
{
    int len = snprintf(body, cap,
                       "{\"resourceMetrics\":[{\"resource\":{\"attributes\":[{\"key\":"
                       "\"k8s.node.name\",\"value\":{\"stringValue\":\"n1\"}},{\"key\":\"run_id\","
                       "\"value\":{\"stringValue\":\"run-7\"}}]},\"scopeMetrics\":[{\"metrics\":[{"
                       "\"name\":\"queue\",\"gauge\":{\"dataPoints\":[{\"timeUnixNano\":\"%lld\","
                       "\"asDouble\":%g}]}}]}]}]}",
                       (long long)at_ns, value);
    return (size_t)len;
}

static void store_metrics(struct place *p, int64_t at_ns, double value, enum tc_batch_kind kind)
{
    char body[1024];
    int len = 0;
    if (kind == TC_BATCH_FILE) {
        len = snprintf(body, sizeof body,
                       "# TYPE queue gauge\nqueue{node=\"n1\"} %g %lld\nother_total 5 %lld\n",
                       value, (long long)(at_ns / 1000000), (long long)(at_ns / 1000000));
    } else {
        len = (int)print_metrics(body, sizeof body, at_ns, value);
    }
    struct tc_batch batch = {.number = tc_store_next_number(p->store),
                             .arrival_ns = wall_ns(),
                             .kind = kind,
                             .name = kind == TC_BATCH_FILE ? TC_LIT("m.prom") : TC_EMPTY,
                             .body = tc_slice_make(body, (size_t)len)};
    must(tc_store_append(p->store, &batch, &err));
    must(tc_store_commit(p->store, &err));
}

/* The same for one that is not handed over. */
static void put_metrics(struct place *p, int64_t at_ns, double value, enum tc_batch_kind kind)
{
    store_metrics(p, at_ns, value, kind);
    tc_handoff_skip(p->handoff, tc_store_next_number(p->store) - 1);
}

/* The same batch as the loop hands it over, but with another value, to tell which one was read. */
static void hand_metrics(struct place *p, int64_t at_ns, double value)
{
    struct tc_handed item = {.number = tc_store_next_number(p->store) - 1,
                             .arrival_ns = wall_ns(),
                             .body = tc_pool_take(p->pool, 1024),
                             .tape_memory = tc_pool_take_spare(p->pool, 4096)};
    item.body->len = print_metrics((char *)item.body->data, item.body->cap, at_ns, value);
    struct tc_slice body = tc_slice_make((const char *)item.body->data, item.body->len);
    struct tc_otlp_reader *r = tc_otlp_reader_create(&TC_OTLP_LIMITS_DEFAULT, 4096);
    must(tc_otlp_check(r, TC_OTLP_METRICS, TC_OTLP_JSON, body, &item.tape, &err));
    assert_true(tc_otlp_tape_bytes(&item.tape) <= item.tape_memory->cap);
    tc_otlp_tape_move(&item.tape, item.tape_memory->data);
    tc_otlp_reader_destroy(r);
    tc_handoff_put(p->handoff, &item);
}

static int64_t count_live(const struct place *p, const char *sql)
{
    struct tc_warehouse *w = NULL;
    must(tc_warehouse_hub_share(p->hub, 0, &w, &err));
    int64_t count = wh_count(w, sql);
    tc_warehouse_hub_give(p->hub, w);
    return count;
}

static void wait_for(const struct place *p, const char *sql, int64_t want)
{
    int64_t got = -1;
    for (int i = 0; i < 1200 && got != want; i++) {
        (void)poll(NULL, 0, 50);
        got = count_live(p, sql);
    }
    assert_int_equal(got, want);
}

static void metrics_become_slices_once(void **state)
{
    const struct wh_room *room = *state;
    struct place p;
    open_place(&p, room, true);
    int64_t second_ns = wall_ns() / TC_SECOND * TC_SECOND;
    for (int i = 0; i < 6; i++) { /* two windows of three */
        put_metrics(&p, second_ns + i / 3 * TC_SECOND + i * 1000000, i, TC_BATCH_METRICS_JSON);
    }
    wait_for(&p, "SELECT count(*) FROM telemetry_slice_fact", 2);
    assert_int_equal(count_live(&p, "SELECT sum(\"count\") FROM telemetry_slice_fact"), 6);
    assert_int_equal(count_live(&p, "SELECT count(*) FROM telemetry_slice_fact WHERE metric = "
                                    "'queue' AND node_name = 'n1' AND run_id = 'run-7' AND "
                                    "run_join = 'identity' AND source_digest IS NULL"),
                     2);
    close_place(&p);
    /* The next process reads the same evidence, and knows what is written. */
    open_place(&p, room, true);
    int64_t later_ns = wall_ns() / TC_SECOND * TC_SECOND;
    put_metrics(&p, later_ns, 50, TC_BATCH_METRICS_JSON);
    wait_for(&p, "SELECT count(*) FROM telemetry_slice_fact WHERE max = 50", 1);
    assert_int_equal(count_live(&p, "SELECT count(*) FROM telemetry_slice_fact"), 3);
    assert_int_equal(count_live(&p, "SELECT sum(\"count\") FROM telemetry_slice_fact"), 7);
    close_place(&p);
}

static void metrics_that_are_handed_over_are_not_read_from_the_evidence(void **state)
{
    const struct wh_room *room = *state;
    struct place p;
    open_place(&p, room, true);
    for (int i = 0; i < 6000 && !tc_handoff_is_open(p.handoff); i++) {
        (void)poll(NULL, 0, 10);
    }
    assert_true(tc_handoff_is_open(p.handoff));
    int64_t second_ns = wall_ns() / TC_SECOND * TC_SECOND;
    for (int i = 0; i < 3; i++) {
        store_metrics(&p, second_ns + i * 1000000, i, TC_BATCH_METRICS_JSON);
        hand_metrics(&p, second_ns + i * 1000000, 100 + i);
    }
    wait_for(&p, "SELECT count(*) FROM telemetry_slice_fact WHERE min = 100 AND max = 102", 1);
    /* One that was skipped is read there; what comes after it is read once, here or there. */
    second_ns = wall_ns() / TC_SECOND * TC_SECOND;
    put_metrics(&p, second_ns, 7, TC_BATCH_METRICS_JSON);
    store_metrics(&p, second_ns + 1000000, 8, TC_BATCH_METRICS_JSON);
    hand_metrics(&p, second_ns + 1000000, 108);
    wait_for(&p, "SELECT count(*) FROM telemetry_slice_fact WHERE min = 7 AND \"count\" = 2", 1);
    assert_int_equal(count_live(&p, "SELECT sum(\"count\") FROM telemetry_slice_fact"), 5);
    close_place(&p);
}

static void an_uploaded_file_keeps_its_own_time(void **state)
{
    const struct wh_room *room = *state;
    struct place p;
    open_place(&p, room, true);
    int64_t old_ns = wall_ns() - INT64_C(86400) * TC_SECOND;
    put_metrics(&p, old_ns, 4, TC_BATCH_FILE);
    wait_for(&p, "SELECT count(*) FROM telemetry_slice_fact WHERE source_digest IS NOT NULL", 2);
    put_metrics(&p, old_ns, 4, TC_BATCH_FILE); /* the same bytes again */
    put_metrics(&p, old_ns, 5, TC_BATCH_FILE);
    wait_for(&p, "SELECT count(*) FROM telemetry_slice_fact", 4);
    close_place(&p);
    open_place(&p, room, true);
    (void)poll(NULL, 0, 1500);
    assert_int_equal(count_live(&p, "SELECT count(*) FROM telemetry_slice_fact"), 4);
    close_place(&p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, wh_setup, wh_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verdict_fills_its_columns),
        TEST(verdicts_are_written_once),
        TEST(verdicts_that_come_again_are_not_written_again),
        TEST(verdicts_wait_for_whoever_has_the_database),
        TEST(metrics_become_slices_once),
        TEST(metrics_that_are_handed_over_are_not_read_from_the_evidence),
        TEST(an_uploaded_file_keeps_its_own_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
