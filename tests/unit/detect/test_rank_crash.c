/* SPDX-License-Identifier: Apache-2.0 */
/* Every event here is invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detect/detector.h"
#include "support/assert_text.h"
#include "support/detect_harness.h"

#include <string.h>

#define KEY(name) "tracecore.alert.rank_crash." name
#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */
#define WAIT 30
#define WINDOW 600
#define REMOTE "DistBackendError: NCCL error: remote process exited or there was a network error"
#define CUDA "RuntimeError: CUDA error: unspecified launch failure"

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_rank_crash, NULL);
    assert_int_equal(tc_harness_init_status(*state), TC_OK);
    return 0;
}

static int tear_down(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

static struct tc_event told(int64_t seconds, int32_t rank, const char *by)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_RANK_EXIT);
    ev.time_ns = AT(seconds);
    ev.scope.job = TC_LIT("4711");
    ev.scope.rank = rank;
    ev.exit.told_by = tc_slice_cstr(by);
    ev.raw = (struct tc_raw){.source = 1, .offset = (uint64_t)(seconds * 1000 + rank), .length = 9};
    return ev;
}

/* A stack; the class of the exception is what its message begins with. */
static struct tc_event stack(int64_t seconds, int32_t rank, const char *message)
{
    struct tc_event ev = told(seconds, rank, "traceback");
    ev.exit.message = tc_slice_cstr(message);
    ev.exit.error = tc_slice_head(ev.exit.message, tc_slice_find_byte(ev.exit.message, ':'));
    return ev;
}

static struct tc_event with_role(struct tc_event ev, const char *role)
{
    ev.exit.role = tc_slice_cstr(role);
    return ev;
}

/* A launcher's word: an exit code, or a signal where it is negative. */
static struct tc_event launcher(int64_t seconds, int32_t rank, int64_t code)
{
    struct tc_event ev = told(seconds, rank, "launcher");
    ev.exit.exit_code = code > 0 ? code : -1;
    ev.exit.signal = code < 0 ? -code : 0;
    ev.exit.message = TC_LIT("exitcode");
    ev.scope.node = TC_LIT("gpu-07");
    return ev;
}

static struct tc_event step(int64_t seconds, int32_t rank)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_TRAIN_STEP);
    ev.time_ns = AT(seconds);
    ev.scope.job = TC_LIT("4711");
    ev.scope.rank = rank;
    ev.train.phase = TC_LIT("train");
    ev.raw = (struct tc_raw){.source = 1, .offset = (uint64_t)(seconds * 1000 + 500), .length = 9};
    return ev;
}

static struct tc_event container(int64_t seconds, int64_t code)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_POD_STATE);
    ev.time_ns = AT(seconds);
    ev.scope.pod = TC_LIT("llama-worker-3");
    ev.scope.ns = TC_LIT("ml");
    ev.pod.phase = TC_LIT("Failed");
    ev.pod.reason = TC_LIT("Error");
    ev.pod.exit_code = code;
    ev.pod.signal = code > 128 ? code - 128 : 0;
    return ev;
}

static void feed(struct tc_harness *h, struct tc_event ev)
{
    tc_harness_feed(h, &ev);
}

static const struct tc_finding *only(struct tc_harness *h)
{
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    return f;
}

static void assert_silent(struct tc_harness *h)
{
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 0);
}

static void the_root_cause_of_the_launcher_has_the_words_of_its_rank(void **state)
{
    struct tc_harness *h = *state;
    feed(h, stack(1, 5, REMOTE));
    feed(h, stack(2, 3, CUDA));
    feed(h, with_role(launcher(5, 3, 1), "first"));
    feed(h, launcher(5, 5, 1));
    const struct tc_finding *f = only(h);
    assert_text(f->pattern_id, "14");
    assert_text(f->discriminator, "cuda_error");
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_text(f->headline, "Rank 3 of job 4711 on node gpu-07 failed first: " CUDA
                             " (exit code 1); 1 other rank ended after it");
    assert_says(f->remediation, "Look at the GPU of rank 3 of job 4711 on node gpu-07 first");
    assert_int_equal(f->scope.rank, 3);
    assert_text(f->scope.node, "gpu-07");
    assert_text(f->scope.job, "4711");
    assert_text(tc_harness_text(f, KEY("reported_by")), "launcher");
    assert_text(tc_harness_text(f, KEY("error")), "RuntimeError");
    assert_int_equal(tc_harness_int(f, KEY("exit_code")), 1);
    assert_int_equal(tc_harness_int(f, KEY("others_ended")), 1);
    assert_int_equal(f->first_ns, AT(2));
    assert_int_equal(f->last_ns, AT(5));
    assert_int_equal(f->evidence_count, 2);
    assert_text(f->evidence[0].kind, "rank_exit");
}

static void the_launcher_wins_over_time(void **state)
{
    struct tc_harness *h = *state;
    feed(h, stack(1, 0, "ValueError: one"));
    feed(h, stack(2, 6, "ValueError: two"));
    feed(h, with_role(launcher(5, 6, 1), "first"));
    assert_int_equal(only(h)->scope.rank, 6);
}

static void without_a_launcher_the_first_by_time_is_told(void **state)
{
    struct tc_harness *h = *state;
    feed(h, with_role(stack(1, 6, "ValueError: one"), "last"));
    feed(h, with_role(stack(2, 0, "ValueError: two"), "last"));
    const struct tc_finding *f = only(h);
    assert_int_equal(f->scope.rank, 6);
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
}

static void a_stack_alone_is_no_end(void **state)
{
    struct tc_harness *h = *state;
    feed(h, stack(1, 6, CUDA));
    assert_silent(h);
}

static void a_caught_exception_is_silent_even_when_others_end(void **state)
{
    struct tc_harness *h = *state;
    feed(h, with_role(stack(1, 6, CUDA), "caught"));
    feed(h, launcher(5, 0, -15));
    assert_silent(h);
}

static void steps_after_a_stack_say_that_it_was_caught(void **state)
{
    struct tc_harness *h = *state;
    feed(h, with_role(stack(1, 6, CUDA), "last"));
    feed(h, step(2, 6));
    feed(h, step(3, 6));
    assert_silent(h);
}

static void one_step_may_have_been_in_a_buffer(void **state)
{
    struct tc_harness *h = *state;
    feed(h, with_role(stack(1, 6, CUDA), "last"));
    feed(h, step(2, 6));
    feed(h, step(3, 5));
    assert_int_equal(only(h)->scope.rank, 6);
}

static void consequences_are_never_culprits(void **state)
{
    static const char *const words[] = {
        REMOTE,
        "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.4]:42",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "BrokenPipeError: [Errno 32] Broken pipe",
        "DistBackendError: NCCL communicator was aborted on rank 3",
        "DistStoreError: wait timeout after 300000ms",
        "RuntimeError: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)",
    };
    struct tc_harness *h = *state;
    for (size_t i = 0; i < TC_COUNT(words); i++) {
        feed(h, with_role(stack((int64_t)i, (int32_t)i, words[i]), "last"));
        feed(h, launcher((int64_t)i, (int32_t)i, 1));
    }
    assert_silent(h);
}

static void a_consequence_that_the_launcher_calls_first_is_partial(void **state)
{
    struct tc_harness *h = *state;
    feed(h, stack(1, 3, REMOTE));
    feed(h, with_role(launcher(5, 3, 1), "first"));
    const struct tc_finding *f = only(h);
    assert_int_equal(f->scope.rank, 3);
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
}

static void a_server_that_refuses_is_no_rank(void **state)
{
    struct tc_harness *h = *state;
    feed(h, with_role(stack(1, 3,
                            "requests.exceptions.ConnectionError: HTTPSConnectionPool: "
                            "Connection refused"),
                      "last"));
    assert_text(only(h)->discriminator, "exception");
}

static void sigterm_and_sigint_are_silent(void **state)
{
    struct tc_harness *h = *state;
    feed(h, with_role(launcher(1, 3, -15), "first"));
    feed(h, with_role(launcher(2, 4, -2), "first"));
    feed(h, launcher(3, 5, 143));
    assert_silent(h);
}

static void a_lone_sigkill_is_a_signal(void **state)
{
    struct tc_harness *h = *state;
    feed(h, launcher(1, 3, 137));
    feed(h, launcher(2, 4, -15));
    const struct tc_finding *f = only(h);
    assert_text(f->discriminator, "signal");
    assert_int_equal(tc_harness_int(f, KEY("signal")), 9);
    assert_int_equal(f->scope.rank, 3);
}

static void what_fails_after_a_stop_was_told_to(void **state)
{
    struct tc_harness *h = *state;
    feed(h, with_role(told(10, -1, "job"), "stopped"));
    feed(h, with_role(stack(11, 3, CUDA), "last"));
    feed(h, launcher(12, 3, -9));
    assert_silent(h);
}

static void what_failed_before_a_stop_is_told(void **state)
{
    struct tc_harness *h = *state;
    feed(h, stack(9, 3, CUDA));
    feed(h, with_role(told(10, -1, "job"), "stopped"));
    feed(h, launcher(12, 3, -9));
    assert_int_equal(only(h)->scope.rank, 3);
}

static void an_abort_after_a_watchdog_is_a_hang(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NCCL_RECORD);
    ev.time_ns = AT(1);
    ev.scope.job = TC_LIT("4711");
    ev.scope.rank = 0;
    ev.nccl.timed_out = true;
    feed(h, ev);
    feed(h, with_role(launcher(2, 0, -6), "first"));
    assert_silent(h);
}

static void a_job_that_failed_names_nobody(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = told(1, -1, "job");
    ev.exit.exit_code = 1;
    feed(h, ev);
    assert_silent(h);
}

static void the_end_of_the_job_proves_a_stack(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = told(9, -1, "job");
    ev.exit.exit_code = 1;
    feed(h, stack(1, 3, "torch.OutOfMemoryError: CUDA out of memory."));
    feed(h, ev);
    const struct tc_finding *f = only(h);
    assert_text(f->discriminator, "out_of_memory_gpu");
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
}

static void a_log_that_ends_in_a_stack_tells_of_its_loader(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_LOADER_ERROR);
    ev.time_ns = TC_TIME_UNDATED_MIN + 100;
    ev.raw = (struct tc_raw){.source = 4, .offset = 100, .length = 9};
    ev.train.message = TC_LIT("DataLoader worker (pid 7) is killed by signal: Bus error.");
    feed(h, ev);
    ev = with_role(told(0, -1, "traceback"), "last");
    ev.scope.job = TC_EMPTY;
    ev.time_ns = TC_TIME_UNDATED_MIN + 900;
    ev.raw = (struct tc_raw){.source = 4, .offset = 900, .length = 9};
    feed(h, ev);
    const struct tc_finding *f = only(h);
    assert_text(f->discriminator, "dataloader_worker");
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_text(f->evidence[0].kind, "dataloader_error");
}

static void a_container_counts_when_its_rank_is_known(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event place;
    feed(h, container(1, 1));
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 0);
    tc_event_init(&place, TC_EVENT_RANK_PLACE);
    place.time_ns = AT(2000);
    place.scope.pod = TC_LIT("llama-worker-3");
    place.scope.rank = 3;
    feed(h, place);
    feed(h, container(2001, 137));
    feed(h, container(2002, 143));
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, container(4000, 139));
    const struct tc_finding *f = only(h);
    assert_text(f->evidence[0].kind, "pod_state");
    assert_int_equal(f->scope.rank, 3);
}

static void a_container_that_hit_its_memory_limit_failed_by_itself(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = container(5, 137);
    ev.scope.rank = 2;
    ev.pod.reason = TC_LIT("OOMKilled");
    feed(h, ev);
    assert_int_equal(only(h)->scope.rank, 2);
}

static struct tc_event place(int32_t rank, const char *node, int64_t pid)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_RANK_PLACE);
    ev.scope.rank = rank;
    ev.scope.node = tc_slice_cstr(node);
    ev.scope.pid = pid;
    return ev;
}

static void a_process_is_the_rank_that_a_list_gives_it(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = told(5, -1, "process");
    ev.exit.signal = 11;
    ev.scope.node = TC_LIT("n1");
    ev.scope.pid = 71;
    feed(h, place(8, "n1", 70));
    feed(h, place(9, "n1", 71));
    feed(h, place(10, "n2", 71));
    feed(h, ev);
    assert_int_equal(only(h)->scope.rank, 9);
}

static void a_process_that_two_nodes_have_is_nobody(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = told(5, -1, "process");
    ev.exit.signal = 11;
    ev.scope.pid = 71;
    feed(h, place(9, "n1", 71));
    feed(h, place(10, "n2", 71));
    feed(h, ev);
    assert_int_equal(only(h)->scope.rank, -1);
}

/* Their workers have the same numbers, and tell by turns, for days. */
static void jobs_that_share_roles_are_kept_once_each(void **state)
{
    struct tc_harness *h = *state;
    static const char *const jobs[] = {"llm-a", "llm-b"};
    static const char *const pods[] = {"llm-a-worker-3", "llm-b-worker-3"};
    uint64_t bytes = 0;
    for (int i = 0; i < 20000; i++) {
        struct tc_event ev = place(i % 2 == 0 ? 24 : 7, "n1", -1);
        ev.scope.job = tc_slice_cstr(jobs[i % 2]);
        ev.scope.pod = tc_slice_cstr(pods[i % 2]);
        feed(h, ev);
        bytes = i == 100 ? tc_harness_stats(h).window_bytes : bytes;
    }
    assert_int_equal(tc_harness_stats(h).window_bytes, bytes);
    assert_int_equal(tc_harness_stats(h).dropped, 0);
    /* Who said it last is meant where no job is named. */
    struct tc_event ev = told(5, -1, "process");
    ev.exit.signal = 11;
    ev.scope.pod = TC_LIT("worker-3");
    feed(h, ev);
    assert_int_equal(only(h)->scope.rank, 7);
}

static void the_node_is_that_of_any_word_of_the_rank(void **state)
{
    struct tc_harness *h = *state;
    feed(h, with_role(told(1, 3, "launcher"), "first"));
    feed(h, stack(1, 3, CUDA));
    feed(h, launcher(9, 3, 1));
    assert_text(only(h)->scope.node, "gpu-07");
}

static void a_handler_of_the_same_signal_names_the_node(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event first = with_role(launcher(2, 44, -6), "first");
    struct tc_event handler = told(1, -1, "process");
    first.scope.node = TC_EMPTY;
    handler.exit.signal = 6;
    handler.scope.node = TC_LIT("n8");
    feed(h, first);
    feed(h, handler);
    const struct tc_finding *f = only(h);
    assert_int_equal(f->scope.rank, 44);
    assert_text(f->scope.node, "n8");
}

/* The same of a log that no job is named for. */
static struct tc_event of_log(struct tc_event ev, uint32_t source)
{
    ev.scope.job = TC_EMPTY;
    ev.raw.source = source;
    return ev;
}

static void consequences_in_another_log_are_not_told(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event other = of_log(with_role(launcher(7, 3, 1), "first"), 2);
    other.exit.local_rank = 3;
    struct tc_event root = of_log(with_role(launcher(5, 12, 1), "first"), 1);
    root.exit.local_rank = 4;
    feed(h, of_log(stack(5, 12, "AssertionError: x"), 1));
    feed(h, root);
    feed(h, of_log(stack(7, 3, REMOTE), 2));
    feed(h, other);
    assert_int_equal(only(h)->scope.rank, 12);
}

static void logs_of_two_jobs_are_both_told(void **state)
{
    struct tc_harness *h = *state;
    feed(h, of_log(stack(5, 2, "AssertionError: x"), 1));
    feed(h, of_log(launcher(5, 2, 1), 1));
    feed(h, of_log(stack(7, 3, CUDA), 2));
    feed(h, of_log(launcher(7, 3, 1), 2));
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 2);
}

static void two_failures_on_either_side_of_the_window(void **state)
{
    struct tc_harness *h = *state;
    feed(h, launcher(0, 3, 1));
    feed(h, launcher(WINDOW, 4, 1));
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_finding(h, -1)->scope.rank, 3);
    feed(h, launcher(2 * WINDOW + 1, 5, 1));
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_finding(h, -1)->scope.rank, 5);
}

static void others_are_waited_for(void **state)
{
    struct tc_harness *h = *state;
    feed(h, launcher(0, 3, 1));
    tc_harness_tick(h, AT(WAIT) - 1);
    assert_int_equal(tc_harness_count(h), 0);
    tc_harness_tick(h, AT(WAIT));
    assert_int_equal(tc_harness_count(h), 1);
    /* The same again is no news. */
    feed(h, launcher(0, 3, 1));
    tc_harness_tick(h, AT(3 * WAIT));
    assert_int_equal(tc_harness_count(h), 1);
    /* A late word of an earlier failure corrects it, under the same key. */
    feed(h, stack(1, 3, CUDA));
    tc_harness_tick(h, AT(5 * WAIT));
    assert_int_equal(tc_harness_count(h), 2);
    assert_text(tc_harness_finding(h, 1)->discriminator, "cuda_error");
    assert_true(tc_slice_eq(tc_harness_finding(h, 0)->key, tc_harness_finding(h, 1)->key));
}

static void a_job_that_trains_again_is_resolved(void **state)
{
    struct tc_harness *h = *state;
    feed(h, launcher(0, 3, 1));
    tc_harness_tick(h, AT(WAIT));
    feed(h, step(WAIT, 3));
    assert_int_equal(tc_harness_count(h), 1);
    feed(h, step(WAIT + 1, 3));
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_tick(h, AT(3 * WAIT));
    assert_int_equal(tc_harness_count(h), 2);
    assert_true(tc_harness_finding(h, 1)->resolved);
    assert_int_equal(tc_harness_finding(h, 1)->last_ns, AT(WAIT + 1));
    tc_harness_conforms(tc_harness_finding(h, 1));
}

static void jobs_are_kept_apart(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event other = launcher(0, 3, 1);
    other.scope.job = TC_LIT("4712");
    feed(h, launcher(0, 3, 1));
    feed(h, other);
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 2);
}

static void without_a_job_a_log_is_one(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event one = launcher(0, 3, 1);
    struct tc_event two = launcher(1, 4, 1);
    one.scope.job = two.scope.job = TC_EMPTY;
    feed(h, one);
    feed(h, two);
    assert_int_equal(only(h)->scope.rank, 3);
}

static void the_order_of_equal_times_makes_no_difference(void **state)
{
    (void)state;
    struct tc_event events[] = {stack(1, 2, "ValueError: a"), stack(1, 1, "ValueError: b"),
                                stack(1, 4, REMOTE), launcher(1, 2, 1), launcher(1, 1, 1)};
    char first[4096];
    size_t first_len = 0;
    for (size_t start = 0; start < TC_COUNT(events); start++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_rank_crash, NULL);
        for (size_t i = 0; i < TC_COUNT(events); i++) {
            feed(h, events[(start + i * 2) % TC_COUNT(events)]);
        }
        (void)only(h);
        struct tc_slice dump = tc_harness_dump(h);
        assert_true(dump.len < sizeof first);
        if (start == 0) {
            memcpy(first, dump.ptr, dump.len);
            first_len = dump.len;
        }
        assert_int_equal(dump.len, first_len);
        assert_memory_equal(dump.ptr, first, first_len);
        tc_harness_destroy(h);
    }
}

static void of_many_failures_the_first_is_kept(void **state)
{
    struct tc_harness *h = *state;
    for (int32_t i = 0; i < 500; i++) {
        feed(h, launcher(100, 500 - i, 1));
    }
    feed(h, with_role(launcher(101, 700, 1), "first"));
    const struct tc_finding *f = only(h);
    assert_int_equal(f->scope.rank, 700);
    assert_int_equal(tc_harness_int(f, KEY("others_ended")), 500);
}

static void unfit_events_are_counted(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = launcher(0, 3, 1);
    ev.time_ns = TC_TIME_NONE;
    feed(h, ev);
    feed(h, launcher(5000, 3, 1));
    feed(h, launcher(100, 3, 1));
    assert_int_equal(tc_harness_stats(h).ignored, 1);
    assert_int_equal(tc_harness_stats(h).late, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_root_cause_of_the_launcher_has_the_words_of_its_rank),
        TEST(the_launcher_wins_over_time),
        TEST(without_a_launcher_the_first_by_time_is_told),
        TEST(a_stack_alone_is_no_end),
        TEST(a_caught_exception_is_silent_even_when_others_end),
        TEST(steps_after_a_stack_say_that_it_was_caught),
        TEST(one_step_may_have_been_in_a_buffer),
        TEST(consequences_are_never_culprits),
        TEST(a_consequence_that_the_launcher_calls_first_is_partial),
        TEST(a_server_that_refuses_is_no_rank),
        TEST(sigterm_and_sigint_are_silent),
        TEST(a_lone_sigkill_is_a_signal),
        TEST(what_fails_after_a_stop_was_told_to),
        TEST(what_failed_before_a_stop_is_told),
        TEST(an_abort_after_a_watchdog_is_a_hang),
        TEST(a_job_that_failed_names_nobody),
        TEST(the_end_of_the_job_proves_a_stack),
        TEST(a_log_that_ends_in_a_stack_tells_of_its_loader),
        TEST(a_container_counts_when_its_rank_is_known),
        TEST(a_container_that_hit_its_memory_limit_failed_by_itself),
        TEST(a_process_is_the_rank_that_a_list_gives_it),
        TEST(a_process_that_two_nodes_have_is_nobody),
        TEST(jobs_that_share_roles_are_kept_once_each),
        TEST(the_node_is_that_of_any_word_of_the_rank),
        TEST(a_handler_of_the_same_signal_names_the_node),
        TEST(consequences_in_another_log_are_not_told),
        TEST(logs_of_two_jobs_are_both_told),
        TEST(two_failures_on_either_side_of_the_window),
        TEST(others_are_waited_for),
        TEST(a_job_that_trains_again_is_resolved),
        TEST(jobs_are_kept_apart),
        TEST(without_a_job_a_log_is_one),
        TEST(the_order_of_equal_times_makes_no_difference),
        TEST(of_many_failures_the_first_is_kept),
        TEST(unfit_events_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
