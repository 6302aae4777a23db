/* SPDX-License-Identifier: Apache-2.0 */
/* When detection reads a batch: now, after it has waited in memory, or later from the store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/follow/catch_up.h"
#include "support/temp_folder.h"

#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define T0 (INT64_C(1780000000) * TC_SECOND)
#define MEMORY_BYTES ((uint64_t)40 << 20)
#define WAITING_BYTES_MAX ((uint64_t)30 << 20)  /* three quarters of it */
#define ANSWERED_BYTES_MAX ((uint64_t)10 << 20) /* a quarter */
#define HOLD_BYTES ((size_t)64 << 20)
#define RECORD_BYTES ((uint64_t)256) /* what a record is said to be, beside its bytes */
#define LEVEL_RECORDS ((uint64_t)8192)
#define WAIT_MAX_NS (TC_SECOND / 2)
#define TURNS_MAX 16

static struct {
    char dir[96];
    char evidence[128];
    struct event_base *base;
    struct tc_store *store;
    struct tc_otlp_reader *reader;
    struct tc_detection *detection;
    struct tc_catch_up *catch_up;
    struct tc_waiting waiting[TURNS_MAX];
    const struct tc_waiting *turns[TURNS_MAX]; /* in the order in which they came */
    size_t turn_count;
    struct event *socket;   /* wants the loop after each turn; NULL: there is none */
    size_t seen[TURNS_MAX]; /* turns until then, each time that it has the loop */
    size_t seen_count;
    size_t fed;
} t;

static struct tc_error err;

static void must(tc_status status)
{
    if (status != TC_OK) {
        fail_msg("%s: %s", tc_status_text(status), err.message);
    }
}

static void on_fed(void *context)
{
    (void)context;
    t.fed++;
}

static bool is_replaying(void)
{
    struct tc_catch_up_progress progress;
    tc_catch_up_progress(t.catch_up, &progress);
    return progress.is_replaying;
}

static void loop_once(void)
{
    assert_true(event_base_loop(t.base, EVLOOP_NONBLOCK) >= 0);
}

static void make_detection(size_t hold_bytes)
{
    struct tc_config config;
    must(tc_config_read(TC_EMPTY, "none", NULL, NULL, NULL, &config));
    config.detection_hold = 60 * TC_SECOND; /* nothing leaves by itself */
    config.detection_hold_bytes = hold_bytes;
    struct tc_detection_parts parts = {
        .config = &config, .store = t.store, .reader = t.reader, .evidence_dir = t.evidence};
    must(tc_detection_create(&parts, &t.detection, &err));
}

static void begin_with(size_t hold_bytes, uint64_t memory_bytes)
{
    t.base = event_base_new();
    assert_int_equal(event_base_priority_init(t.base, 3), 0); /* as net does */
    t.reader = tc_otlp_reader_create(&TC_OTLP_LIMITS_DEFAULT, (size_t)1 << 20);
    assert_true(t.base != NULL && t.reader != NULL);
    struct tc_store_config store = {.segment_bytes = (size_t)1 << 20,
                                    .segment_ns = TC_SECOND * 3600,
                                    .compression = TC_STORE_COMPRESSION_DEFAULT};
    must(tc_store_open(t.evidence, &store, NULL, NULL, &t.store, &err));
    make_detection(hold_bytes);
    struct tc_catch_up_config config = {.base = t.base,
                                        .detection = t.detection,
                                        .reader = {.data_dir = t.dir,
                                                   .evidence_dir = t.evidence,
                                                   .otlp = TC_OTLP_LIMITS_DEFAULT,
                                                   .body_max = (size_t)1 << 20},
                                        .started_ns = T0,
                                        .window_ns = 60 * TC_SECOND,
                                        .memory_bytes = memory_bytes,
                                        .fed = on_fed};
    must(tc_catch_up_create(&config, tc_store_next_number(t.store) - 1, &t.catch_up, &err));
    tc_catch_up_start(t.catch_up);
    assert_true(is_replaying());
    loop_once(); /* there is nothing to replay */
    assert_false(is_replaying());
    must(tc_detection_advance(t.detection, T0));
}

static void begin(size_t hold_bytes)
{
    begin_with(hold_bytes, MEMORY_BYTES);
}

static int set_up(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    if (!tc_temp_folder(t.dir, sizeof t.dir, "tc_catch_up")) {
        return 1;
    }
    (void)snprintf(t.evidence, sizeof t.evidence, "%s/evidence", t.dir);
    return mkdir(t.evidence, 0700);
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    tc_catch_up_destroy(t.catch_up);
    tc_detection_destroy(t.detection);
    tc_store_close(t.store);
    tc_otlp_reader_destroy(t.reader);
    event_base_free(t.base);
    (void)snprintf(command, sizeof command, "rm -r '%s'", t.dir);
    return system(command); /* NOLINT(cert-env33-c): a directory of our own */
}

/* Events that nothing follows from wait with detection, until so much room is left or less. */
static void fill_until(size_t room)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = T0;
    ev.scope.node = TC_LIT("gpu-1");
    ev.metric.metric = TC_METRIC_NONE;
    while (tc_live_room(tc_detection_live(t.detection)) > room) {
        must(tc_detection_feed(t.detection, &ev, T0, false));
    }
}

static void assert_when(uint64_t bytes, uint64_t records, enum tc_catch_up_when want)
{
    assert_int_equal(tc_catch_up_when(t.catch_up, bytes, records), want);
}

static void take_turn(struct tc_waiting *own)
{
    assert_true(t.turn_count < TURNS_MAX);
    t.turns[t.turn_count++] = own;
    if (t.socket != NULL) {
        event_active(t.socket, 0, 0);
    }
}

static struct tc_waiting *wait_as(size_t i, uint64_t bytes, bool is_answered)
{
    struct tc_waiting *w = &t.waiting[i];
    *w = (struct tc_waiting){
        .bytes = bytes, .records = 1, .is_answered = is_answered, .turn = take_turn};
    tc_catch_up_wait(t.catch_up, w);
    return w;
}

/* Its sender waits too. */
static struct tc_waiting *wait_for_turn(size_t i, uint64_t bytes)
{
    return wait_as(i, bytes, false);
}

static void assert_turns(size_t count)
{
    assert_int_equal(t.turn_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(t.turns[i], &t.waiting[i]);
    }
}

/* ---- promptly, soon, later ---- */

static void what_is_long_is_left_to_the_thread(void **state)
{
    (void)state;
    begin(HOLD_BYTES);
    assert_when(0, 0, TC_CATCH_UP_PROMPTLY);
    assert_when(TC_LEVEL_BODY_BYTES, 1, TC_CATCH_UP_PROMPTLY);
    assert_when(TC_LEVEL_BODY_BYTES + 1, 1, TC_CATCH_UP_LATER);
    assert_when(1, LEVEL_RECORDS, TC_CATCH_UP_PROMPTLY);
    assert_when(1, LEVEL_RECORDS + 1, TC_CATCH_UP_LATER);
}

static void what_finds_room_is_read_promptly_and_who_could_find_it_waits(void **state)
{
    (void)state;
    begin((size_t)4 << 20);
    const struct tc_live *live = tc_detection_live(t.detection);
    uint64_t most = tc_live_room_max(live);
    assert_true(most + 1 < TC_LEVEL_BODY_BYTES); /* which is not what decides here */
    fill_until(most / 2);
    uint64_t room = tc_live_room(live);
    assert_true(room > 8 * RECORD_BYTES && room < most);
    assert_when(room - 8 * RECORD_BYTES, 8, TC_CATCH_UP_PROMPTLY);
    assert_when(room - 8 * RECORD_BYTES + 1, 8, TC_CATCH_UP_SOON);
    assert_when(most - 8 * RECORD_BYTES, 8, TC_CATCH_UP_SOON);
    assert_when(most - 8 * RECORD_BYTES + 1, 8, TC_CATCH_UP_LATER); /* it never will */
}

static void nobody_overtakes_what_waits(void **state)
{
    (void)state;
    begin(HOLD_BYTES);
    assert_when(10, 1, TC_CATCH_UP_PROMPTLY);
    (void)wait_for_turn(0, 10);
    assert_when(10, 1, TC_CATCH_UP_SOON);
    assert_false(tc_catch_up_is_behind(t.catch_up)); /* its clock is ours while they wait */
    loop_once();
    assert_turns(1);
    assert_when(10, 1, TC_CATCH_UP_PROMPTLY);
}

/* Senders go on while detection is a little behind, but do not outrun it. */
static void a_quarter_of_the_memory_waits_without_its_senders(void **state)
{
    (void)state;
    begin(HOLD_BYTES);
    (void)wait_as(0, ANSWERED_BYTES_MAX - 100, true);
    assert_when(100, 1, TC_CATCH_UP_PROMPTLY);
    assert_when(101, 1, TC_CATCH_UP_SOON);
    (void)wait_for_turn(1, 10);
    assert_when(10, 1, TC_CATCH_UP_SOON); /* behind a sender that waits, others do */
    tc_catch_up_take_waiting(t.catch_up);
    assert_turns(2);
    assert_when(101, 1, TC_CATCH_UP_PROMPTLY);
}

/* The first may be longer than all that may wait. */
static void one_body_is_answered_however_long(void **state)
{
    (void)state;
    begin_with(HOLD_BYTES, 4000);
    assert_when(1001, 1, TC_CATCH_UP_PROMPTLY);
    (void)wait_as(0, 1, true);
    assert_when(999, 1, TC_CATCH_UP_PROMPTLY);
    assert_when(1000, 1, TC_CATCH_UP_SOON);
}

/* All that waits needs room, not only what comes. */
static void what_waits_already_counts_as_room_that_is_used(void **state)
{
    (void)state;
    begin((size_t)1 << 20);
    fill_until(100000);
    uint64_t room = tc_live_room(tc_detection_live(t.detection));
    (void)wait_as(0, room - 1000 - RECORD_BYTES, true);
    assert_when(1000 - RECORD_BYTES, 1, TC_CATCH_UP_PROMPTLY);
    assert_when(1000 - RECORD_BYTES + 1, 1, TC_CATCH_UP_SOON);
    assert_when(1000 - RECORD_BYTES, 2, TC_CATCH_UP_SOON);
}

static void three_quarters_of_the_memory_wait(void **state)
{
    (void)state;
    begin(HOLD_BYTES);
    (void)wait_for_turn(0, WAITING_BYTES_MAX - 100 - 7);
    (void)wait_for_turn(1, 7);
    assert_when(100, 1, TC_CATCH_UP_SOON);
    assert_when(101, 1, TC_CATCH_UP_LATER);
    tc_catch_up_take_waiting(t.catch_up); /* its bytes are free again */
    assert_turns(2);
    (void)wait_for_turn(2, 1);
    assert_when(TC_LEVEL_BODY_BYTES, 1, TC_CATCH_UP_SOON);
}

/* The first of them waits longest. */
static void nobody_waits_longer_than_half_a_second(void **state)
{
    (void)state;
    begin(HOLD_BYTES);
    struct tc_waiting *first = wait_for_turn(0, 10);
    struct tc_waiting *second = wait_for_turn(1, 10);
    first->since_ns = tc_mono_ns() - WAIT_MAX_NS - 1;
    assert_when(10, 1, TC_CATCH_UP_LATER);
    second->since_ns = first->since_ns;
    enum tc_catch_up_when when = TC_CATCH_UP_LATER;
    do { /* a machine that stands still in between says nothing */
        first->since_ns = tc_mono_ns() - WAIT_MAX_NS + TC_SECOND / 50;
        when = tc_catch_up_when(t.catch_up, 10, 1);
    } while (tc_mono_ns() - first->since_ns > WAIT_MAX_NS);
    assert_int_equal(when, TC_CATCH_UP_SOON);
}

static void what_is_left_to_the_store_comes_before_what_follows(void **state)
{
    (void)state;
    begin(HOLD_BYTES);
    struct tc_batch batch = {.number = tc_store_next_number(t.store),
                             .arrival_ns = T0,
                             .kind = TC_BATCH_LOGS_JSON,
                             .body = TC_LIT("{\"resourceLogs\":[]}")};
    tc_catch_up_later(t.catch_up);
    assert_when(10, 1, TC_CATCH_UP_LATER);
    tc_catch_up_settled(t.catch_up, &batch, false, NULL); /* the disk did not take it */
    assert_when(10, 1, TC_CATCH_UP_PROMPTLY);
    tc_catch_up_later(t.catch_up);
    must(tc_store_append(t.store, &batch, &err));
    must(tc_store_commit(t.store, &err));
    tc_catch_up_settled(t.catch_up, &batch, true, NULL);
    assert_when(10, 1, TC_CATCH_UP_LATER);
    assert_true(tc_catch_up_is_behind(t.catch_up));
    for (int i = 0; i < 20000 && tc_catch_up_is_behind(t.catch_up); i++) {
        loop_once();
        (void)poll(NULL, 0, 1);
    }
    assert_when(10, 1, TC_CATCH_UP_PROMPTLY);
}

/* ---- turns ---- */

/* The hold would last a minute: the older half of it is handed over for those that wait. */
static void room_is_made_for_what_waits(void **state)
{
    (void)state;
    struct tc_live_counts counts;
    begin((size_t)1 << 20);
    struct tc_live *live = tc_detection_live(t.detection);
    fill_until(10000);
    uint64_t bytes = tc_live_room(live);
    assert_when(bytes, 1, TC_CATCH_UP_SOON);
    for (size_t i = 0; i < 3; i++) {
        (void)wait_for_turn(i, bytes);
    }
    for (int i = 0; i < 1000 && t.turn_count < 3; i++) {
        loop_once();
        must(tc_detection_advance(t.detection, T0)); /* as the daemon's timer, where that is due */
        tc_catch_up_resume(t.catch_up);
    }
    assert_turns(3);
    tc_live_counts(live, &counts);
    assert_true(counts.cut_short > 0 && counts.held > 0);
    assert_true(t.fed > 0);
    assert_when(bytes, 1, TC_CATCH_UP_PROMPTLY);
}

/* What detection has put off comes first: nothing can be handed over, and nothing is cut short. */
static void what_waits_waits_for_what_detection_put_off(void **state)
{
    (void)state;
    struct tc_live_counts counts;
    begin((size_t)1 << 20);
    struct tc_live *live = tc_detection_live(t.detection);
    fill_until(10000);
    tc_detection_budget(t.detection, 1);
    assert_int_equal(tc_detection_advance(t.detection, T0 + 61 * TC_SECOND), TC_E_AGAIN);
    tc_detection_budget(t.detection, 0);
    assert_true(tc_live_is_behind(live));
    assert_when(1, 1, TC_CATCH_UP_SOON);
    (void)wait_for_turn(0, 1);
    loop_once();
    tc_catch_up_resume(t.catch_up);
    assert_turns(0);
    must(tc_detection_advance(t.detection, T0 + 61 * TC_SECOND));
    tc_catch_up_resume(t.catch_up);
    assert_turns(1);
    tc_live_counts(live, &counts);
    assert_int_equal(counts.cut_short, 0);
}

static void serve_socket(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    (void)context;
    assert_true(t.seen_count < TURNS_MAX);
    t.seen[t.seen_count++] = t.turn_count;
}

/* One batch for each time that no socket wants the loop; where a sender waits, several at once. */
static void sockets_come_before_what_is_answered(void **state)
{
    (void)state;
    begin(HOLD_BYTES);
    t.socket = event_new(t.base, -1, 0, serve_socket, NULL);
    assert_true(t.socket != NULL);
    for (size_t i = 0; i < 3; i++) {
        (void)wait_as(i, 10, true);
    }
    tc_catch_up_resume(t.catch_up); /* as the daemon's timer: it changes nothing */
    assert_turns(0);
    event_active(t.socket, 0, 0);
    loop_once();
    assert_turns(3);
    assert_int_equal(t.seen_count, 4);
    for (size_t i = 0; i < t.seen_count; i++) {
        assert_int_equal(t.seen[i], i);
    }
    (void)wait_as(3, 10, true);
    (void)wait_for_turn(4, 10);
    (void)wait_for_turn(5, 10);
    loop_once();
    assert_turns(6);
    assert_int_equal(t.seen_count, 5);
    event_free(t.socket);
    t.socket = NULL;
}

/* At the end room does not matter. */
static void all_that_waits_is_read_at_the_end(void **state)
{
    (void)state;
    begin((size_t)1 << 20);
    fill_until(1000);
    for (size_t i = 0; i < 5; i++) {
        (void)wait_for_turn(i, 100000);
    }
    tc_catch_up_take_waiting(t.catch_up);
    assert_turns(5);
    (void)wait_for_turn(5, 1); /* the list is whole */
    tc_catch_up_take_waiting(t.catch_up);
    assert_turns(6);
}

/* ---- time ---- */

/* A batch that waited happened when it came, whatever the clock of its node says, and ours now. */
static void a_record_without_a_time_is_of_when_its_batch_came(void **state)
{
    (void)state;
    struct tc_live_counts counts;
    struct tc_event ev;
    begin(HOLD_BYTES);
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.scope.node = TC_LIT("gpu-1");
    ev.metric.metric = TC_METRIC_NONE;
    ev.time_ns = T0 + 600 * TC_SECOND;
    must(tc_detection_feed(t.detection, &ev, T0, false)); /* its clock is fast */
    must(tc_detection_advance(t.detection, T0 + 10 * TC_SECOND));
    ev.time_ns = TC_TIME_NONE;
    must(tc_detection_feed(t.detection, &ev, T0 + 4 * TC_SECOND, false));
    assert_int_equal(tc_detection_undated(t.detection), 1);
    must(tc_detection_advance(t.detection, T0 + 59 * TC_SECOND)); /* no time passes twice */
    tc_live_counts(tc_detection_live(t.detection), &counts);
    assert_int_equal(counts.held, 2);
    must(tc_detection_advance(t.detection, T0 + 70 * TC_SECOND));
    tc_live_counts(tc_detection_live(t.detection), &counts);
    assert_int_equal(counts.ahead, 1);
    assert_int_equal(counts.undated, 0);
    assert_int_equal(counts.too_late, 0);
    assert_int_equal(counts.held, 0);
    assert_int_equal(counts.engine_ns, T0 + 4 * TC_SECOND);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_long_is_left_to_the_thread),
        TEST(what_finds_room_is_read_promptly_and_who_could_find_it_waits),
        TEST(nobody_overtakes_what_waits),
        TEST(a_quarter_of_the_memory_waits_without_its_senders),
        TEST(one_body_is_answered_however_long),
        TEST(what_waits_already_counts_as_room_that_is_used),
        TEST(three_quarters_of_the_memory_wait),
        TEST(nobody_waits_longer_than_half_a_second),
        TEST(what_is_left_to_the_store_comes_before_what_follows),
        TEST(room_is_made_for_what_waits),
        TEST(what_waits_waits_for_what_detection_put_off),
        TEST(sockets_come_before_what_is_answered),
        TEST(all_that_waits_is_read_at_the_end),
        TEST(a_record_without_a_time_is_of_when_its_batch_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
