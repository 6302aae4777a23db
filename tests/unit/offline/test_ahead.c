/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/os/tree.h"
#include "intake/inputs.h"
#include "offline/ahead.h"
#include "offline/digests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOGS 6
#define LOG_BYTES ((size_t)1600 << 10)
#define BUDGET ((size_t)1 << 30)

static char folder[64];

static void say_nothing(const char *format, ...)
{
    (void)format;
}

static FILE *open_in_folder(const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    return f;
}

/* Lines of a kernel log; every 20th is an Xid, and some come too late. */
static void write_log(int n)
{
    char name[32];
    (void)snprintf(name, sizeof name, "kern-gpu-%02d.log", n);
    FILE *f = open_in_folder(name);
    size_t written = 0;
    for (int i = 0; written < LOG_BYTES; i++) {
        int at = i % 37 == 0 && i > 500 ? i - 400 : i;
        int len = fprintf(f, "2026-03-01T%02d:%02d:%02d.%06d+00:00 gpu-%02d kernel: %s\n",
                          at / 3600 % 24, at / 60 % 60, at % 60, n, n,
                          i % 20 == 0 ? "NVRM: Xid (PCI:0000:b3:00): 63, pid=1, Row Remapper"
                                      : "cni0: port 3(veth1234) entered forwarding state");
        assert_true(len > 0);
        written += (size_t)len;
    }
    assert_int_equal(fclose(f), 0);
}

/* A journal export whose last field is cut off. */
static void write_torn(void)
{
    static const char head[] = "__REALTIME_TIMESTAMP=1772323200000000\n_TRANSPORT=kernel\n"
                               "_HOSTNAME=gpu-90\nMESSAGE=NVRM: Xid (PCI:0000:b3:00): 79\n\n"
                               "__REALTIME_TIMESTAMP=1772323201000000\nMESSAGE\n";
    static const char rest[] = "\xff\x03\0\0\0\0\0\0short";
    FILE *f = open_in_folder("journal-gpu-90.export");
    assert_int_equal(fwrite(head, 1, sizeof head - 1, f), sizeof head - 1);
    assert_int_equal(fwrite(rest, 1, sizeof rest - 1, f), sizeof rest - 1);
    assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/tc_ahead_XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    for (int i = 0; i < LOGS; i++) {
        write_log(i);
    }
    write_torn();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    struct tc_error err;
    return tc_tree_remove(folder, &err) == TC_OK ? 0 : -1;
}

/* All that was said, in the order of the streams. */
struct told {
    uint64_t hash;
    size_t events;
    size_t errors;
    size_t bytes; /* of progress */
    size_t finished;
    size_t ahead; /* streams that were taken over */
};

static void on_error(void *context, const struct tc_input *input, const struct tc_error *err)
{
    struct told *t = context;
    t->errors++;
    t->hash = tc_hash_mix(t->hash, tc_slice_hash(tc_slice_cstr(input->path), err->offset));
}

static void on_progress(void *context, size_t bytes, bool finished)
{
    struct told *t = context;
    t->bytes += bytes;
    t->finished += finished;
}

static void tell(struct told *t, const struct tc_event *ev)
{
    t->events++;
    t->hash = tc_hash_mix(t->hash, (uint64_t)ev->time_ns);
    t->hash = tc_hash_mix(t->hash, ev->raw.offset << 8 | ev->raw.source);
    t->hash = tc_hash_mix(t->hash, tc_slice_hash(ev->scope.node, (uint64_t)ev->kind));
}

static struct told read_all(size_t budget_bytes, size_t whole_max, bool is_ahead)
{
    struct told t = {0};
    struct tc_inputs in = {0};
    char *paths[] = {folder};
    struct tc_inputs_want want = {.command = "detect", .say = say_nothing, .by_path = true};
    assert_int_equal(tc_inputs_open(&in, paths, 1, &want), TC_OK);
    assert_int_equal(in.count, LOGS + 1);
    struct tc_stream_pool pool;
    struct tc_source_stream streams[LOGS + 1];
    tc_stream_pool_init(&pool, budget_bytes, LOGS);
    pool.whole_max = whole_max;
    pool.batch = whole_max < TC_STREAM_WHOLE_MAX ? 100 : pool.batch;
    pool.error = on_error;
    pool.progress = on_progress;
    pool.context = &t;
    for (size_t i = 0; i < in.count; i++) {
        tc_source_stream_init(&streams[i], &pool, &in.items[i], (uint32_t)i);
    }
    struct tc_ahead *a = is_ahead ? tc_ahead_create(&pool, streams, in.count) : NULL;
    assert_true(!is_ahead || a != NULL);
    const struct tc_event *firsts[LOGS + 1] = {0};
    for (size_t i = 0; i < in.count; i++) {
        bool taken = a != NULL && tc_ahead_take(a, i, &firsts[i]);
        t.ahead += taken;
        if (!taken) {
            assert_int_equal(tc_source_stream_next(&streams[i], &firsts[i]), TC_OK);
        }
    }
    tc_ahead_destroy(a);
    for (size_t i = 0; i < in.count; i++) {
        const struct tc_event *ev = firsts[i];
        while (ev != NULL) {
            tell(&t, ev);
            assert_int_equal(tc_source_stream_next(&streams[i], &ev), TC_OK);
        }
        tc_source_stream_fini(&streams[i]);
    }
    assert_int_equal(pool.held_bytes, 0);
    tc_stream_pool_fini(&pool);
    tc_inputs_close(&in);
    return t;
}

static void assert_same(const struct told *a, const struct told *b)
{
    assert_int_equal(a->events, b->events);
    assert_int_equal(a->hash, b->hash);
    assert_int_equal(a->errors, b->errors);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->finished, b->finished);
}

static void streams_are_those_of_one_thread(void **state)
{
    (void)state;
    struct told alone = read_all(BUDGET, TC_STREAM_WHOLE_MAX, false);
    struct told ahead = read_all(BUDGET, TC_STREAM_WHOLE_MAX, true);
    assert_true(alone.events > LOGS * 100);
    assert_int_equal(alone.errors, 1);
    assert_int_equal(alone.finished, LOGS + 1);
    /* The one that is torn is read again in its turn, and told of once. */
    assert_int_equal(ahead.ahead, LOGS);
    assert_same(&alone, &ahead);
}

static void near_the_budget_streams_are_read_in_their_turn(void **state)
{
    (void)state;
    size_t some = 0;
    for (size_t budget = (size_t)256 << 10; budget <= (size_t)32 << 20; budget *= 2) {
        struct told alone = read_all(budget, TC_STREAM_WHOLE_MAX, false);
        struct told ahead = read_all(budget, TC_STREAM_WHOLE_MAX, true);
        assert_same(&alone, &ahead);
        some += ahead.ahead > 0 && ahead.ahead < LOGS;
    }
    assert_true(some > 0);
}

static void streams_in_batches_begin_ahead(void **state)
{
    (void)state;
    struct told alone = read_all(BUDGET, 100, false);
    struct told ahead = read_all(BUDGET, 100, true);
    assert_int_equal(ahead.ahead, LOGS);
    assert_same(&alone, &ahead);
}

static void streams_that_nobody_takes_are_freed(void **state)
{
    (void)state;
    struct tc_inputs in = {0};
    char *paths[] = {folder};
    struct tc_inputs_want want = {.command = "detect", .say = say_nothing, .by_path = true};
    assert_int_equal(tc_inputs_open(&in, paths, 1, &want), TC_OK);
    struct tc_stream_pool pool;
    struct tc_source_stream streams[LOGS + 1];
    tc_stream_pool_init(&pool, BUDGET, LOGS);
    for (size_t i = 0; i < in.count; i++) {
        tc_source_stream_init(&streams[i], &pool, &in.items[i], (uint32_t)i);
    }
    struct tc_ahead *a = tc_ahead_create(&pool, streams, in.count);
    const struct tc_event *ev = NULL;
    assert_true(tc_ahead_take(a, 0, &ev) || ev == NULL);
    tc_ahead_destroy(a);
    for (size_t i = 0; i < in.count; i++) {
        assert_ptr_equal(streams[i].pool, &pool);
        tc_source_stream_fini(&streams[i]);
    }
    assert_int_equal(pool.held_bytes, 0);
    tc_stream_pool_fini(&pool);
    tc_inputs_close(&in);
}

/* One large log, hashed ahead; then once more, as nobody cites it. */
static void digests_are_those_of_the_files(void **state)
{
    (void)state;
    struct tc_inputs in = {0};
    char path[128];
    FILE *f = open_in_folder("large.txt");
    for (size_t i = 0; i < TC_DIGESTS_LEAST / 16 + 1; i++) {
        assert_int_equal(fprintf(f, "[%8zu.00] abc\n", i % 10000000), 18);
    }
    assert_int_equal(fclose(f), 0);
    (void)snprintf(path, sizeof path, "%s/large.txt", folder);
    char *paths[] = {path};
    struct tc_inputs_want want = {.command = "detect", .say = say_nothing};
    char expected[TC_DIGEST_TEXT_MAX];
    for (int round = 0; round < 2; round++) {
        assert_int_equal(tc_inputs_open(&in, paths, 1, &want), TC_OK);
        assert_int_equal(in.count, 1);
        struct tc_slice plain = tc_input_digest(&in.items[0]);
        assert_int_equal(plain.len, sizeof expected);
        memcpy(expected, plain.ptr, sizeof expected);
        in.items[0].has_digest = false;
        memset(in.items[0].digest, 0, sizeof in.items[0].digest);
        struct tc_digests *d = tc_digests_create(&in);
        struct tc_event ev;
        struct tc_evidence cited = {.raw = {.source = 0}};
        struct tc_incident_entry entry = {.finding = {.evidence = &cited, .evidence_count = 1}};
        struct tc_incident_table verdicts = {.items = &entry, .count = round == 0 ? 1 : 0};
        assert_non_null(d);
        tc_event_init(&ev, TC_EVENT_METRIC);
        tc_digests_note(d, &ev); /* makes no verdict */
        tc_event_init(&ev, TC_EVENT_XID);
        ev.raw.source = 7; /* there is none */
        tc_digests_note(d, &ev);
        ev.raw.source = 0;
        tc_digests_note(d, &ev);
        tc_digests_note(d, &ev);
        tc_digests_finish(d, &verdicts);
        assert_true(round == 1 || in.items[0].has_digest);
        assert_memory_equal(tc_input_digest(&in.items[0]).ptr, expected, sizeof expected);
        tc_digests_destroy(d);
        tc_inputs_close(&in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_those_of_one_thread),
        cmocka_unit_test(near_the_budget_streams_are_read_in_their_turn),
        cmocka_unit_test(streams_in_batches_begin_ahead),
        cmocka_unit_test(streams_that_nobody_takes_are_freed),
        cmocka_unit_test(digests_are_those_of_the_files),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
