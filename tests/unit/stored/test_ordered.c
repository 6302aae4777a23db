/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a store in order of time, whatever order their batches came in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stored/ordered.h"
#include "unit/evidence/evidence_testing.h"

#define RECORDS 4
#define EVENTS_MAX 4096

/* A request with Xids of a node, a second apart. */
static struct tc_slice xids(const char *node, int64_t from_ns, size_t count)
{
    struct tc_buf b = tc_buf_make(body_bytes, sizeof body_bytes);
    tc_buf_lit(&b, "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"host.name\","
                   "\"value\":{\"stringValue\":\"");
    tc_buf_str(&b, tc_slice_cstr(node));
    tc_buf_lit(&b, "\"}}]},\"scopeLogs\":[{\"logRecords\":[");
    for (size_t i = 0; i < count; i++) {
        tc_buf_str(&b, i == 0 ? TC_EMPTY : TC_LIT(","));
        tc_buf_lit(&b, "{\"timeUnixNano\":\"");
        tc_buf_i64(&b, from_ns + (int64_t)i * TC_SECOND);
        tc_buf_lit(&b, "\",\"body\":{\"stringValue\":\"NVRM: Xid (PCI:0000:b3:00): 79, pid=1, "
                       "GPU has fallen off the bus.\"}}");
    }
    tc_buf_lit(&b, "]}]}]}");
    assert_false(b.overflowed);
    return tc_buf_slice(&b);
}

static void put(struct tc_store *s, int64_t arrival_ns, struct tc_slice body)
{
    struct tc_error err;
    struct tc_batch batch = {.number = tc_store_next_number(s),
                             .arrival_ns = arrival_ns,
                             .kind = TC_BATCH_LOGS_JSON,
                             .body = body};
    assert_int_equal(tc_store_append(s, &batch, &err), TC_OK);
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
}

static struct tc_store *open_small(void)
{
    struct tc_store_config config = small_config();
    return open_store(&config);
}

static struct tc_ordered_want want_all(void)
{
    return (struct tc_ordered_want){
        .evidence_dir = test_dir,
        .to_ns = TC_TIME_MAX,
        .arrived_from_ns = {0, INT64_MAX},
        .arrived_to_ns = {INT64_MAX, INT64_MIN},
        .ahead_ns = TC_SECOND,
        .memory_bytes = (size_t)64 << 20,
    };
}

struct told {
    int64_t times[EVENTS_MAX];
    char nodes[EVENTS_MAX];
    size_t count;
    struct tc_ordered_counts counts;
};

static struct told read_all(const struct tc_ordered_want *want)
{
    struct told seen = {0};
    struct tc_ordered *o = NULL;
    struct tc_error err = {0};
    assert_int_equal(tc_ordered_create(want, &o, &err), TC_OK);
    assert_int_equal(tc_ordered_survey(o, NULL, NULL, &err), TC_OK);
    for (;;) {
        const struct tc_event *ev = NULL;
        assert_int_equal(tc_ordered_next(o, &ev), TC_OK);
        if (ev == NULL) {
            break;
        }
        assert_true(seen.count < EVENTS_MAX);
        assert_int_equal(ev->kind, TC_EVENT_XID);
        assert_true(tc_ordered_batch(o, ev->raw.source) > 0);
        seen.times[seen.count] = ev->time_ns;
        seen.nodes[seen.count++] = ev->scope.node.ptr[ev->scope.node.len - 1];
    }
    tc_ordered_counts(o, &seen.counts);
    assert_int_equal(seen.counts.events, seen.count);
    tc_ordered_destroy(o);
    return seen;
}

static void assert_ascending(const struct told *seen)
{
    for (size_t i = 1; i < seen->count; i++) {
        assert_true(seen->times[i - 1] <= seen->times[i]);
    }
}

static void batches_in_any_order_become_one_order(void **state)
{
    (void)state;
    struct tc_store *s = open_small();
    for (int64_t i = 0; i < 60; i++) { /* the later half of time comes first, nodes overlap */
        int64_t at = (i * 37) % 60;
        put(s, T0 + 3600 * TC_SECOND + i,
            xids(at % 2 == 0 ? "gpu-0" : "gpu-1", T0 + at * 2 * TC_SECOND, RECORDS));
    }
    tc_store_close(s);
    struct tc_ordered_want want = want_all();
    struct told seen = read_all(&want);
    assert_int_equal(seen.count, 60 * RECORDS);
    assert_ascending(&seen);
    assert_int_equal(seen.counts.batches, 60);
    assert_int_equal(seen.counts.early, 0);
    /* No memory: all of it comes all the same. */
    want.memory_bytes = 1;
    seen = read_all(&want);
    assert_int_equal(seen.count, 60 * RECORDS);
    assert_true(seen.counts.early > 0);
}

static void only_the_stretch_and_its_arrivals_are_read(void **state)
{
    (void)state;
    struct tc_store *s = open_small();
    put(s, T0, xids("gpu-0", T0 - 10 * TC_SECOND, RECORDS));
    put(s, T0 + 60 * TC_SECOND, xids("gpu-1", T0 + 50 * TC_SECOND, RECORDS));
    put(s, T0 + 600 * TC_SECOND, xids("gpu-2", T0 - 9 * TC_SECOND, RECORDS)); /* late */
    put(s, T0 + 900 * TC_SECOND, xids("gpu-3", T0 - 9 * TC_SECOND, RECORDS)); /* later */
    tc_store_close(s);
    struct tc_ordered_want want = want_all();
    want.from_ns = T0 - 9 * TC_SECOND;
    want.to_ns = T0;
    want.arrived_to_ns[0] = T0 + 60 * TC_SECOND;
    want.arrived_from_ns[1] = T0 + 600 * TC_SECOND;
    want.arrived_to_ns[1] = T0 + 600 * TC_SECOND;
    struct told seen = read_all(&want);
    assert_int_equal(seen.count, 2 * RECORDS - 1);
    assert_ascending(&seen);
    for (size_t i = 0; i < seen.count; i++) {
        assert_true(seen.nodes[i] == '0' || seen.nodes[i] == '2');
    }
    assert_int_equal(seen.counts.batches, 3);
}

static void what_was_sent_again_is_told_once(void **state)
{
    (void)state;
    struct tc_store *s = open_small();
    for (int i = 0; i < 3; i++) {
        put(s, T0 + i * TC_SECOND, xids("gpu-0", T0 - 10 * TC_SECOND, RECORDS));
    }
    tc_store_close(s);
    struct tc_ordered_want want = want_all();
    struct told seen = read_all(&want);
    assert_int_equal(seen.count, RECORDS);
    assert_int_equal(seen.counts.copies, 2 * RECORDS);
}

static void a_fast_clock_is_corrected_from_when_it_is_fast(void **state)
{
    (void)state;
    struct tc_store *s = open_small();
    int64_t fast = 600 * TC_SECOND;
    put(s, T0, xids("gpu-0", T0 - 5 * TC_SECOND, 1));
    put(s, T0 + TC_SECOND, xids("gpu-1", T0 + TC_SECOND + fast, 1));
    put(s, T0 + 2 * TC_SECOND, xids("gpu-1", T0 + 2 * TC_SECOND + fast, 1));
    put(s, T0 + 3 * TC_SECOND, xids("gpu-0", T0 + 3 * TC_SECOND, 1));
    put(s, T0 + fast, xids("gpu-1", T0 + fast, 1)); /* set right long before */
    tc_store_close(s);
    struct tc_ordered_want want = want_all();
    struct told seen = read_all(&want);
    assert_int_equal(seen.count, 5);
    assert_ascending(&seen);
    const char nodes[] = "01101";
    assert_memory_equal(seen.nodes, nodes, 5);
    assert_true(seen.times[1] == T0 + TC_SECOND);
    assert_true(seen.times[2] == T0 + 2 * TC_SECOND);
    assert_true(seen.times[4] == T0 + fast);
}

static void what_cannot_be_read_is_counted_and_the_rest_comes(void **state)
{
    (void)state;
    struct tc_store *s = open_small();
    put(s, T0, xids("gpu-0", T0, RECORDS));
    put(s, T0, TC_LIT("{\"resourceLogs\":[{\"scopeLogs\":7}]}"));
    put(s, T0, xids("gpu-1", T0, RECORDS));
    tc_store_close(s);
    struct tc_ordered_want want = want_all();
    struct told seen = read_all(&want);
    assert_int_equal(seen.count, 2 * RECORDS);
    assert_int_equal(seen.counts.unread, 1);
}

/* A file of events, `step_ns` apart. */
static void put_file(struct tc_store *s, size_t count, int64_t step_ns)
{
    static char text[EVENTS_MAX * 160];
    struct tc_error err;
    struct tc_buf b = tc_buf_make(text, sizeof text);
    for (size_t i = 0; i < count; i++) {
        tc_buf_lit(&b, "{\"kind\":\"xid\",\"time\":\"");
        tc_buf_time(&b, T0 + (int64_t)i * step_ns);
        tc_buf_lit(&b, "\",\"k8s.node.name\":\"gpu-1\",\"xid\":79,\"pci.bdf\":\"0000:b3:00.0\","
                       "\"message\":\"GPU has fallen off the bus\"}\n");
    }
    assert_false(b.overflowed);
    struct tc_batch batch = {.number = tc_store_next_number(s),
                             .arrival_ns = T0 + 3600 * TC_SECOND,
                             .kind = TC_BATCH_FILE,
                             .name = TC_LIT("events.ndjson"),
                             .body = tc_buf_slice(&b)};
    assert_int_equal(tc_store_append(s, &batch, &err), TC_OK);
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
}

/* A long file is held in parts; what comes out is what it is held whole. */
static void a_long_file_is_read_in_parts(void **state)
{
    (void)state;
    struct tc_store *s = open_small();
    put_file(s, 3000, TC_SECOND / 1000);
    put(s, T0, xids("gpu-0", T0 + TC_SECOND / 2000, RECORDS));
    tc_store_close(s);
    struct tc_ordered_want want = want_all();
    struct told whole = read_all(&want);
    want.memory_bytes = (size_t)256 << 10;
    struct told parts = read_all(&want);
    assert_int_equal(whole.count, 3000 + RECORDS);
    assert_int_equal(parts.count, whole.count);
    assert_ascending(&parts);
    assert_memory_equal(parts.times, whole.times, sizeof whole.times);
    assert_memory_equal(parts.nodes, whole.nodes, sizeof whole.nodes);
    assert_true(whole.counts.held_max > 3 * want.memory_bytes);
    assert_true(parts.counts.held_max <= want.memory_bytes);
}

/* However little memory there is, one event fits; and what is not of the stretch is no part. */
static void a_file_is_read_with_next_to_no_memory(void **state)
{
    (void)state;
    struct tc_store *s = open_small();
    put_file(s, 40, TC_SECOND);
    tc_store_close(s);
    struct tc_ordered_want want = want_all();
    want.memory_bytes = 1;
    want.from_ns = T0 + 7 * TC_SECOND;
    want.to_ns = T0 + 30 * TC_SECOND;
    struct told seen = read_all(&want);
    assert_int_equal(seen.count, 24);
    for (size_t i = 0; i < seen.count; i++) {
        assert_true(seen.times[i] == T0 + (int64_t)(i + 7) * TC_SECOND);
    }
}

/* What a request tells comes in any order, so it is held whole, whatever memory is wanted. */
static void a_request_is_put_in_order(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    static char text[(size_t)COUNT * 256];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_store *s = open_small();
    tc_buf_lit(&b, "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"host.name\","
                   "\"value\":{\"stringValue\":\"gpu-0\"}}]},\"scopeLogs\":[{\"logRecords\":[");
    for (int64_t i = 0; i < COUNT; i++) {
        tc_buf_str(&b, i == 0 ? TC_EMPTY : TC_LIT(","));
        tc_buf_lit(&b, "{\"timeUnixNano\":\"");
        tc_buf_i64(&b, T0 - i * 7919 % COUNT * TC_SECOND);
        tc_buf_lit(&b, "\",\"body\":{\"stringValue\":\"NVRM: Xid (PCI:0000:b3:00): 79, pid=1, "
                       "GPU has fallen off the bus.\"}}");
    }
    tc_buf_lit(&b, "]}]}]}");
    assert_false(b.overflowed);
    put(s, T0, tc_buf_slice(&b));
    tc_store_close(s);
    struct tc_ordered_want want = want_all();
    want.memory_bytes = 1;
    struct told seen = read_all(&want);
    assert_int_equal(seen.count, COUNT);
    assert_ascending(&seen);
}

/* What has no time is of when it came: that its source's clock is fast has no part in it. */
static void a_record_without_a_time_is_not_moved_with_its_source(void **state)
{
    (void)state;
    struct tc_store *s = open_small();
    put(s, T0, xids("gpu-0", T0 + 600 * TC_SECOND, 1));
    put(s, T0 + TC_SECOND,
        TC_LIT("{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"host.name\","
               "\"value\":{\"stringValue\":\"gpu-0\"}}]},\"scopeLogs\":[{\"logRecords\":[{"
               "\"body\":{\"stringValue\":\"NVRM: Xid (PCI:0000:b3:00): 48, pid=1, "
               "DBE\"}}]}]}]}"));
    tc_store_close(s);
    struct tc_ordered_want want = want_all();
    struct told seen = read_all(&want);
    assert_int_equal(seen.count, 2);
    assert_true(seen.times[0] == T0); /* corrected */
    assert_true(seen.times[1] == T0 + TC_SECOND);
}

static void it_can_be_canceled_and_an_absent_store_is_said(void **state)
{
    (void)state;
    struct tc_error err = {0};
    struct tc_ordered *o = NULL;
    atomic_bool cancel = true;
    struct tc_store *s = open_small();
    put(s, T0, xids("gpu-0", T0, RECORDS));
    tc_store_close(s);
    struct tc_ordered_want want = want_all();
    want.cancel = &cancel;
    assert_int_equal(tc_ordered_create(&want, &o, &err), TC_OK);
    assert_int_equal(tc_ordered_survey(o, NULL, NULL, &err), TC_E_LIMIT);
    const struct tc_event *ev = NULL;
    assert_int_equal(tc_ordered_next(o, &ev), TC_E_LIMIT);
    tc_ordered_destroy(o);
    want.evidence_dir = "/nowhere/at/all";
    assert_int_equal(tc_ordered_create(&want, &o, &err), TC_E_NOTFOUND);
    assert_true(err.message[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_long_file_is_read_in_parts, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_file_is_read_with_next_to_no_memory, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_request_is_put_in_order, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_record_without_a_time_is_not_moved_with_its_source,
                                        make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(batches_in_any_order_become_one_order, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(only_the_stretch_and_its_arrivals_are_read, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(what_was_sent_again_is_told_once, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_fast_clock_is_corrected_from_when_it_is_fast, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_is_counted_and_the_rest_comes, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(it_can_be_canceled_and_an_absent_store_is_said, make_dir,
                                        remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
