/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Late telemetry in the daemon: what it tells of is detected again from the store, told once, and
 * looked at again while it is open. Batches go to a real store and to live detection, as the daemon
 * does it; time is the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "server/recheck/priv.h"
#include "stored/batch_events.h"
#include "unit/evidence/evidence_testing.h"

#include <sched.h>

#define TOLD_MAX 64

struct world {
    struct tc_store *store;
    struct tc_live *live;
    struct tc_recheck *recheck;
    struct tc_otlp_reader *reader;
    struct tc_batch_arenas arenas;
    struct tc_config config;
    int64_t now_ns;
    int64_t arrival_ns;
    char told[TOLD_MAX][160]; /* "open 13 key" */
    size_t count;
    struct tc_cited *cited;       /* NULL: nobody looks at what is cited */
    size_t evidence_count;        /* of what was told last, where somebody does */
    struct tc_incident_mark mark; /* of what was told last; strings in mark_text */
    char mark_text[3][160];
};

static void assert_cited(struct world *w, const struct tc_finding *f)
{
    struct tc_sources sources = tc_cited_sources(w->cited);
    w->evidence_count = f->evidence_count;
    for (size_t i = 0; i < f->evidence_count; i++) {
        struct tc_source_view view;
        assert_true(sources.view(sources.context, f->evidence[i].raw.source, &view));
        assert_true(view.digest.len > 0);
    }
}

static void keep_mark(struct world *w, const struct tc_incident_mark *mark)
{
    const struct tc_slice from[] = {mark->pattern_id, mark->key, mark->incident_id};
    struct tc_slice *to[] = {&w->mark.pattern_id, &w->mark.key, &w->mark.incident_id};
    w->mark = *mark;
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(w->mark_text[i], sizeof w->mark_text[i], "%.*s", TC_FMT(from[i]));
        *to[i] = tc_slice_cstr(w->mark_text[i]);
    }
}

static tc_status note_told(void *context, const struct tc_verdict *v,
                           const struct tc_incident_mark *mark)
{
    struct world *w = context;
    assert_true(w->count < TOLD_MAX);
    (void)snprintf(w->told[w->count++], sizeof w->told[0], "%s %.*s %.*s",
                   tc_verdict_status_name(v->status), TC_FMT(mark->pattern_id),
                   TC_FMT(v->finding->discriminator));
    keep_mark(w, mark);
    if (w->cited != NULL) {
        assert_cited(w, v->finding);
    }
    return TC_OK;
}

/* Live detection and rechecks, of a process that begins. */
static void begin_process(struct world *w)
{
    struct tc_error err = {0};
    assert_int_equal(tc_config_read(TC_EMPTY, "none", NULL, NULL, NULL, &w->config), TC_OK);
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    struct tc_live_out out = {note_told, w};
    assert_int_equal(tc_live_create(&config, &out, &w->live, &err), TC_OK);
    w->recheck = tc_recheck_create(&w->config, w->live, w->cited, test_dir);
    assert_non_null(w->recheck);
}

static struct world *begin(void)
{
    struct world *w = calloc(1, sizeof *w);
    struct tc_error err = {0};
    assert_non_null(w);
    struct tc_store_config store = small_config();
    w->store = open_store(&store);
    begin_process(w);
    w->reader = tc_otlp_reader_create(&TC_OTLP_LIMITS_DEFAULT, (size_t)1 << 20);
    assert_int_equal(tc_batch_arenas_init(&w->arenas, &err), TC_OK);
    assert_non_null(w->reader);
    w->now_ns = T0;
    return w;
}

static void end(struct world *w)
{
    tc_recheck_destroy(w->recheck);
    tc_live_destroy(w->live);
    tc_cited_destroy(w->cited);
    tc_otlp_reader_destroy(w->reader);
    tc_batch_arenas_fini(&w->arenas);
    tc_store_close(w->store);
    free(w);
}

static tc_status feed(void *context, const struct tc_event *ev)
{
    struct world *w = context;
    return tc_live_feed(w->live, ev, w->arrival_ns, false);
}

/* Lines of a node's kernel log, a second apart, in one batch, now. */
static void lines(struct world *w, const char *node, int64_t time_ns, const char *const *texts,
                  size_t count)
{
    struct tc_error err = {0};
    struct tc_buf b = tc_buf_make(body_bytes, sizeof body_bytes);
    tc_buf_lit(&b, "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"host.name\","
                   "\"value\":{\"stringValue\":\"");
    tc_buf_str(&b, tc_slice_cstr(node));
    tc_buf_lit(&b, "\"}}]},\"scopeLogs\":[{\"logRecords\":[");
    for (size_t i = 0; i < count; i++) {
        tc_buf_str(&b, i == 0 ? TC_EMPTY : TC_LIT(","));
        tc_buf_lit(&b, "{\"timeUnixNano\":\"");
        tc_buf_i64(&b, time_ns + (int64_t)i * TC_SECOND);
        tc_buf_lit(&b, "\",\"body\":{\"stringValue\":\"");
        tc_buf_str(&b, tc_slice_cstr(texts[i]));
        tc_buf_lit(&b, "\"}}");
    }
    tc_buf_lit(&b, "]}]}]}");
    struct tc_batch batch = {.number = tc_store_next_number(w->store),
                             .arrival_ns = w->now_ns,
                             .kind = TC_BATCH_LOGS_JSON,
                             .body = tc_buf_slice(&b)};
    struct tc_batch_taker taker = {.event = feed, .context = w};
    assert_int_equal(tc_store_append(w->store, &batch, &err), TC_OK);
    assert_int_equal(tc_store_commit(w->store, &err), TC_OK);
    w->arrival_ns = w->now_ns;
    assert_int_equal(tc_batch_events(w->reader, &batch, NULL, &w->arenas, &taker, &err), TC_OK);
}

static void line(struct world *w, const char *node, int64_t time_ns, const char *text)
{
    lines(w, node, time_ns, &text, 1);
}

#define STEP_NS (TC_SECOND / 4)

/* As the loop does. A recheck that runs is waited for: it takes none of this time. */
static void run_for(struct world *w, int64_t seconds)
{
    char text[4096];
    for (int64_t end_ns = w->now_ns + seconds * TC_SECOND; w->now_ns < end_ns;) {
        w->now_ns += STEP_NS;
        for (bool busy = true; busy;) {
            struct tc_buf b = tc_buf_make(text, sizeof text);
            assert_int_equal(tc_recheck_advance(w->recheck, w->now_ns), TC_OK);
            struct tc_json_out j = tc_json_object_make(&b);
            tc_recheck_describe(w->recheck, &j);
            tc_json_end_object(&j);
            assert_true(tc_json_done(&j));
            busy = tc_slice_find(tc_buf_slice(&b), TC_LIT("\"checking\":true")) != TC_NPOS;
            (void)sched_yield();
        }
        assert_int_equal(tc_live_advance(w->live, w->now_ns), TC_OK);
    }
}

#define OTHER_BUS "NVRM: Xid (PCI:0000:c4:00): 79, pid=1, GPU has fallen off the bus."
#define BUS "NVRM: Xid (PCI:0000:b3:00): 79, pid=1, GPU has fallen off the bus."

#define NEEDS_RESET                                                                          \
    "NVRM: Xid (PCI:0000:b3:00): 154, pid=1, name=python, GPU recovery action changed from " \
    "0x0 (None) to 0x1 (GPU Reset Required)"
#define NEEDS_NOTHING                                                                        \
    "NVRM: Xid (PCI:0000:b3:00): 154, pid=1, name=python, GPU recovery action changed from " \
    "0x1 (GPU Reset Required) to 0x0 (None)"

static void a_lone_fault_of_a_node_that_was_cut_off_is_told(void **state)
{
    (void)state;
    struct world *w = begin();
    line(w, "gpu-08", w->now_ns, "eth0: link up");
    line(w, "gpu-08", w->now_ns, "NVRM: Xid (PCI:0000:b3:00): 13, pid=1, Graphics Exception");
    run_for(w, 1);
    line(w, "gpu-07", w->now_ns - 7200 * TC_SECOND, BUS);
    run_for(w, 1);
    assert_int_equal(w->count, 0);
    run_for(w, 3);
    assert_int_equal(w->count, 1);
    assert_string_equal(w->told[0], "open 13 off_the_bus");
    /* The same again, sent twice: told once. */
    line(w, "gpu-07", w->now_ns - 7200 * TC_SECOND - 4 * TC_SECOND, BUS);
    run_for(w, 60);
    assert_int_equal(w->count, 1);
    end(w);
}

static void without_a_window_nothing_is_checked_again(void **state)
{
    (void)state;
    struct world *w = begin();
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    config.window_ns = 0;
    tc_live_configure(w->live, &config);
    line(w, "gpu-08", w->now_ns, "NVRM: Xid (PCI:0000:b3:00): 13, pid=1, Graphics Exception");
    run_for(w, 1);
    line(w, "gpu-07", w->now_ns - 7200 * TC_SECOND, BUS);
    run_for(w, 20);
    assert_int_equal(w->count, 0);
    struct tc_live_counts counts;
    tc_live_counts(w->live, &counts);
    assert_int_equal(counts.unjudged, 1);
    end(w);
}

/* Live detection never heard of the fault, so only another look can say that it is over. */
static void what_only_a_recheck_knows_of_is_looked_at_until_it_is_over(void **state)
{
    (void)state;
    struct world *w = begin();
    line(w, "gpu-08", w->now_ns, "NVRM: Xid (PCI:0000:b3:00): 13, pid=1, Graphics Exception");
    run_for(w, 1);
    line(w, "gpu-07", w->now_ns - 600 * TC_SECOND, NEEDS_RESET);
    run_for(w, 5);
    assert_int_equal(w->count, 1);
    assert_string_equal(w->told[0], "open 13 needs_reset");
    line(w, "gpu-07", w->now_ns, NEEDS_NOTHING);
    run_for(w, 200);
    assert_true(w->count >= 2);
    assert_string_equal(w->told[w->count - 1], "resolved 13 needs_reset");
    end(w);
}

/* The bytes that findings cite are read and digested by the thread: here nobody else could. */
static void what_is_cited_was_digested_by_the_thread(void **state)
{
    (void)state;
    struct world *w = begin();
    tc_recheck_destroy(w->recheck);
    tc_live_destroy(w->live);
    w->cited = tc_cited_create(w->store, "/nonexistent");
    assert_non_null(w->cited);
    begin_process(w);
    line(w, "gpu-08", w->now_ns, "NVRM: Xid (PCI:0000:b3:00): 13, pid=1, Graphics Exception");
    run_for(w, 1);
    static const char *const faults[] = {OTHER_BUS, BUS}; /* of two GPUs in one batch */
    lines(w, "gpu-07", w->now_ns - 7200 * TC_SECOND, faults, 2);
    line(w, "gpu-07", w->now_ns - 7198 * TC_SECOND, NEEDS_RESET); /* in another */
    run_for(w, 5);
    assert_int_equal(w->count, 2);
    assert_int_equal(w->evidence_count, 2);
    assert_int_equal(w->recheck->digest_count, 2); /* each once */
    end(w);
}

/* So it is when the process was started anew, and nothing that is fed tells of the incident. */
static void what_only_a_recheck_knew_of_is_looked_at_after_a_restart(void **state)
{
    (void)state;
    struct world *w = begin();
    line(w, "gpu-08", w->now_ns, "NVRM: Xid (PCI:0000:b3:00): 13, pid=1, Graphics Exception");
    run_for(w, 1);
    line(w, "gpu-07", w->now_ns - 600 * TC_SECOND, NEEDS_RESET);
    run_for(w, 5);
    assert_int_equal(w->count, 1);
    tc_recheck_destroy(w->recheck);
    tc_live_destroy(w->live);
    begin_process(w);
    assert_int_equal(tc_live_restore(w->live, &w->mark), TC_OK);
    tc_recheck_restore(w->recheck, &w->mark);
    tc_recheck_restore(w->recheck, &w->mark);
    line(w, "gpu-07", w->now_ns, NEEDS_NOTHING);
    run_for(w, 200);
    assert_true(w->count >= 2);
    assert_string_equal(w->told[w->count - 1], "resolved 13 needs_reset");
    end(w);
}

/* What an earlier process told of the n-th incident. */
static void restore_one(struct world *w, int n, int64_t detected_ns, enum tc_verdict_status status)
{
    char key[32];
    (void)snprintf(key, sizeof key, "gpu-%d", n);
    struct tc_incident_mark mark = {.pattern_id = TC_LIT("13"),
                                    .key = tc_slice_cstr(key),
                                    .incident_id = TC_LIT("0123456789abcdef0123456789abcdef"),
                                    .status = status,
                                    .first_ns = detected_ns - n,
                                    .detected_ns = detected_ns};
    tc_recheck_restore(w->recheck, &mark);
}

static void assert_watched(const struct world *w, size_t at, int n)
{
    const struct tc__watched *watched = &w->recheck->watched[at];
    char key[32];
    (void)snprintf(key, sizeof key, "gpu-%d", n);
    assert_int_equal(watched->key_len, strlen(key));
    assert_memory_equal(watched->key, key, watched->key_len);
    assert_true(watched->first_ns == T0 - n);
}

/* Only the newest of them are kept until it is known which live detection finds again. */
static void the_newest_of_what_was_told_is_restored(void **state)
{
    (void)state;
    struct world *w = begin();
    restore_one(w, 1, T0, TC_VERDICT_RESOLVED);
    assert_int_equal(w->recheck->watched_count, 0);
    for (int i = 0; i < TC__RESTORED_MAX; i++) {
        restore_one(w, i, T0, TC_VERDICT_OPEN);
    }
    assert_int_equal(w->recheck->watched_count, TC__RESTORED_MAX);
    assert_watched(w, 0, 0);
    for (int i = 0; i < 3; i++) {
        restore_one(w, TC__RESTORED_MAX + i, T0, TC_VERDICT_UPDATED);
        assert_int_equal(w->recheck->watched_count, TC__RESTORED_MAX);
        assert_watched(w, TC__RESTORED_MAX - 1, TC__RESTORED_MAX + i);
    }
    /* Of those that are still open some are looked at, after the first pause. */
    tc__recheck_look(w->recheck, T0 + TC_SECOND);
    assert_int_equal(w->recheck->watched_count, TC__WATCHED_MAX);
    assert_int_equal(tc_live_stretches(w->live), 0);
    tc__recheck_look(w->recheck, T0 + 60 * TC_SECOND);
    assert_int_equal(tc_live_stretches(w->live), 0);
    tc__recheck_look(w->recheck, T0 + 61 * TC_SECOND);
    assert_int_equal(tc_live_stretches(w->live), 1); /* of one time */
    end(w);
}

#define WATCH_NS (2 * 3600 * TC_SECOND)

/* Told twice, told too long ago, and over: none of them is looked at. */
static void what_needs_no_look_is_not_watched(void **state)
{
    (void)state;
    struct world *w = begin();
    restore_one(w, 1, T0, TC_VERDICT_OPEN);
    restore_one(w, 2, T0, TC_VERDICT_OPEN);
    restore_one(w, 1, T0, TC_VERDICT_UPDATED);
    restore_one(w, 3, T0 - TC_SECOND, TC_VERDICT_OPEN);
    restore_one(w, 4, T0, TC_VERDICT_OPEN);
    struct tc_incident_mark over = {.pattern_id = TC_LIT("13"),
                                    .key = TC_LIT("gpu-4"),
                                    .incident_id = TC_LIT("0123456789abcdef0123456789abcdef"),
                                    .status = TC_VERDICT_RESOLVED,
                                    .first_ns = T0,
                                    .detected_ns = T0};
    assert_int_equal(tc_live_restore(w->live, &over), TC_OK);
    tc__recheck_look(w->recheck, T0 + WATCH_NS);
    assert_int_equal(w->recheck->watched_count, 2);
    assert_watched(w, 0, 1);
    assert_watched(w, 1, 2);
    tc__recheck_look(w->recheck, T0 + WATCH_NS + 60 * TC_SECOND);
    assert_int_equal(w->recheck->watched_count, 0);
    end(w);
}

/* Live detection finds it again in the replay, and will say itself that it is over. */
static void what_live_detection_finds_again_is_not_watched(void **state)
{
    (void)state;
    struct world *w = begin();
    line(w, "gpu-07", w->now_ns, NEEDS_RESET);
    run_for(w, 60);
    assert_int_equal(w->count, 1);
    tc_recheck_restore(w->recheck, &w->mark);
    assert_int_equal(w->recheck->watched_count, 1);
    tc__recheck_look(w->recheck, w->now_ns);
    assert_int_equal(w->recheck->watched_count, 0);
    end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lone_fault_of_a_node_that_was_cut_off_is_told, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(without_a_window_nothing_is_checked_again, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(what_only_a_recheck_knows_of_is_looked_at_until_it_is_over,
                                        make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_is_cited_was_digested_by_the_thread, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(what_only_a_recheck_knew_of_is_looked_at_after_a_restart,
                                        make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_newest_of_what_was_told_is_restored, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(what_needs_no_look_is_not_watched, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_live_detection_finds_again_is_not_watched, make_dir,
                                        remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
