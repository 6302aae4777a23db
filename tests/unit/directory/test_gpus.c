/* SPDX-License-Identifier: Apache-2.0 */
#include "directory_testing.h"

#include "base/time.h"

#include <stdio.h>
#include <string.h>

#define GPUS_MAX 32768
#define UUID_A "GPU-aaaaaaaa-0000-0000-0000-000000000000"
#define UUID_B "GPU-bbbbbbbb-0000-0000-0000-000000000000"

/* "" and -1 are not known; a bus of 0 is none. */
static struct tc_scope gpu(const char *node, const char *uuid, uint8_t bus, int32_t index)
{
    struct tc_scope s = TC_SCOPE_NONE;
    s.node = tc_slice_cstr(node);
    s.gpu_uuid = tc_slice_cstr(uuid);
    s.pci = (struct tc_bdf){.bus = bus, .known = bus != 0};
    s.gpu_index = index;
    return s;
}

static const struct tc_gpu *learn_at(struct tc_directory *d, struct tc_scope scope, int64_t time_ns)
{
    note_scope(d, TC_EVENT_METRIC, scope, time_ns);
    return tc_directory_event_gpu(d);
}

static const struct tc_gpu *learn(struct tc_directory *d, struct tc_scope scope)
{
    return learn_at(d, scope, TC_SECOND);
}

static const struct tc_gpu *find(struct tc_directory *d, struct tc_scope scope)
{
    return tc_directory_gpu(d, &scope);
}

static void a_scope_that_names_no_gpu_is_refused(void **state)
{
    struct tc_directory *d = *state;
    assert_null(learn(d, gpu("n1", "", 0, -1)));
    assert_null(learn(d, gpu("", "", 0xb3, 3))); /* of which node? */
    assert_null(find(d, gpu("n1", "", 0, -1)));
    assert_non_null(learn(d, gpu("", UUID_A, 0, -1)));
    assert_non_null(learn(d, gpu("n1", "", 0xb3, -1)));
    assert_non_null(learn(d, gpu("n1", "", 0, 3)));
}

static void two_names_in_one_event_are_one_gpu(void **state)
{
    struct tc_directory *d = *state;
    uint64_t id = learn(d, gpu("n1", UUID_A, 0xb3, -1))->id;
    assert_int_equal(learn(d, gpu("n1", UUID_A, 0, 3))->id, id);
    assert_int_equal(find(d, gpu("n1", "", 0xb3, -1))->id, id);
    assert_int_equal(find(d, gpu("n1", "", 0, 3))->id, id);
    assert_int_equal(find(d, gpu("", UUID_A, 0, -1))->index, 3);
    assert_null(find(d, gpu("n2", "", 0xb3, -1)));
    assert_null(find(d, gpu("n1", "", 0xb4, -1)));
    struct tc_scope scope = gpu("n1", "", 0xb3, -1);
    tc_gpu_complete(find(d, scope), &scope);
    assert_text(scope.gpu_uuid, UUID_A);
    assert_int_equal(scope.gpu_index, 3);
}

static void what_turns_out_to_be_one_gpu_keeps_the_oldest_id_and_says_so(void **state)
{
    struct tc_directory *d = *state;
    uint64_t by_pci = learn(d, gpu("n1", "", 0xb3, -1))->id;
    uint64_t by_uuid = learn(d, gpu("n1", UUID_A, 0, 3))->id;
    assert_true(by_pci < by_uuid);
    const struct tc_gpu *one = learn(d, gpu("n1", UUID_A, 0xb3, -1));
    assert_int_equal(one->id, by_pci);
    assert_int_equal(one->also[0], by_uuid);
    assert_int_equal(find(d, gpu("n1", "", 0, 3))->id, by_pci);
    assert_int_equal(learn(d, gpu("n1", UUID_A, 0xb3, 3))->also[0], by_uuid);
    assert_ptr_equal(learn(d, gpu("n1", UUID_A, 0xb3, 3)), learn(d, gpu("n1", "", 0xb3, 3)));
}

static void an_exchanged_board_is_another_gpu(void **state)
{
    struct tc_directory *d = *state;
    uint64_t old = learn(d, gpu("n1", UUID_A, 0xb3, 3))->id;
    const struct tc_gpu *new = learn(d, gpu("n1", UUID_B, 0xb3, 3));
    assert_int_not_equal(new->id, old);
    assert_int_equal(new->also[0], 0);
    assert_int_equal(find(d, gpu("n1", "", 0xb3, -1))->id, new->id);
    assert_int_equal(find(d, gpu("", UUID_A, 0, -1))->id, old);
}

/* What is known of the GPU that a scope names; NULL when it is news. */
static const struct tc_gpu *hear(struct tc_directory *d, struct tc_scope scope)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = TC_SECOND;
    ev.scope = scope;
    return tc_directory_is_known(d, &ev) ? tc_directory_event_gpu(d) : NULL;
}

/* The GPU that was heard of last is asked first: by the name that it was heard under. */
static void a_name_leads_to_the_gpu_that_was_last_given_it(void **state)
{
    struct tc_directory *d = *state;
    uint64_t old = learn(d, gpu("n1", UUID_A, 0xb3, 3))->id;
    assert_int_equal(hear(d, gpu("n1", "", 0, 3))->id, old);
    uint64_t new = learn(d, gpu("n1", UUID_B, 0xb3, 3))->id;
    assert_int_equal(hear(d, gpu("n1", "", 0, 3))->id, new);
    assert_int_equal(hear(d, gpu("", UUID_A, 0, -1))->id, old);
    assert_int_equal(hear(d, gpu("n1", "", 0, 3))->id, new);
    assert_int_equal(hear(d, gpu("", UUID_A, 0, -1))->id, old);
    assert_int_equal(hear(d, gpu("n1", "", 0xb3, -1))->id, new);
}

static void names_of_two_gpus_in_one_event_do_not_make_them_one(void **state)
{
    struct tc_directory *d = *state;
    uint64_t a = learn(d, gpu("n1", UUID_A, 0xa0, 0))->id;
    uint64_t b = learn(d, gpu("n1", UUID_B, 0xb0, 1))->id;
    /* Address of one, index of the other: the address is believed. */
    const struct tc_gpu *mixed = learn(d, gpu("n1", "", 0xb0, 0));
    assert_int_equal(mixed->id, b);
    assert_int_equal(mixed->also[0], 0);
    assert_int_equal(find(d, gpu("", UUID_A, 0, -1))->id, a);
    assert_text(mixed->uuid, UUID_B);
}

static void who_uses_it_is_taken_whole_or_not(void **state)
{
    struct tc_directory *d = *state;
    struct tc_scope used = gpu("n1", UUID_A, 0, 3);
    used.ns = TC_LIT("ml");
    used.pod = TC_LIT("worker-1");
    used.container = TC_LIT("main");
    used.job = TC_LIT("j1");
    used.rank = 7;
    (void)learn(d, used);
    const struct tc_gpu *g = learn(d, gpu("n1", UUID_A, 0, 3)); /* says nothing of pods */
    assert_text(g->pod, "worker-1");
    assert_int_equal(g->rank, 7);
    used.pod = TC_LIT("worker-2");
    used.container = TC_EMPTY;
    g = learn(d, used);
    assert_text(g->pod, "worker-2");
    assert_int_equal(g->container.len, 0);
    struct tc_scope scope = gpu("n1", UUID_A, 0, -1);
    scope.pod = TC_LIT("other");
    tc_gpu_complete(g, &scope);
    assert_text(scope.pod, "other");
    assert_int_equal(scope.ns.len, 0);
    assert_text(scope.job, "j1");
    assert_int_equal(scope.rank, 7);
}

static struct tc_scope numbered(unsigned i, char name[16])
{
    (void)snprintf(name, 16, "gpu-%u", i);
    return gpu("n1", name, 0, -1);
}

/* A GPU shared by pods tells of another one with each sample. */
static void one_that_changes_all_the_time_does_not_push_out_the_others(void **state)
{
    struct tc_directory *d = *state;
    char name[16];
    uint64_t ids[40];
    for (unsigned i = 0; i < 40; i++) {
        ids[i] = learn(d, numbered(i, name))->id;
    }
    static char pods[2][250];
    memset(pods[0], 'a', sizeof pods[0]);
    memset(pods[1], 'b', sizeof pods[1]);
    for (unsigned i = 0; i < 80000; i++) { /* more text than there is room for, twice */
        struct tc_scope shared = gpu("n1", UUID_A, 0, 7);
        shared.pod = tc_slice_make(pods[i % 2], sizeof pods[0]);
        assert_int_equal(*learn_at(d, shared, TC_SECOND + i)->pod.ptr, *pods[i % 2]);
        assert_int_equal(learn(d, numbered(i % 40, name))->id, ids[i % 40]);
    }
    assert_int_equal(counts_of(d).gpus_forgotten, 0);
    assert_int_equal(learn(d, numbered(40, name))->id, 42);
}

static void a_full_table_forgets_who_was_not_heard_of_for_longest(void **state)
{
    struct tc_directory *d = *state;
    char name[16];
    uint64_t first = learn(d, gpu("n1", UUID_A, 0xb3, 3))->id;
    for (unsigned i = 0; i < 4 * GPUS_MAX; i++) {
        assert_non_null(learn(d, numbered(i, name)));
        if (i % 1000 == 0) {
            assert_int_equal(learn(d, gpu("n1", "", 0xb3, -1))->id, first);
        }
    }
    assert_in_range(counts_of(d).gpus_forgotten, 3 * GPUS_MAX, 3 * GPUS_MAX + GPUS_MAX / 4);
    assert_non_null(find(d, numbered(4 * GPUS_MAX - 1, name)));
    assert_null(find(d, numbered(0, name)));
    const struct tc_gpu *kept = find(d, gpu("n1", "", 0, 3));
    assert_int_equal(kept->id, first);
    assert_text(kept->uuid, UUID_A);
}

static void a_flood_of_one_sender_forgets_only_its_own(void **state)
{
    struct tc_directory *d = *state;
    char name[16];
    tc_directory_sender(d, 1);
    uint64_t first = learn(d, gpu("n1", UUID_A, 0xb3, 3))->id;
    tc_directory_sender(d, 2);
    for (unsigned i = 0; i < 2 * GPUS_MAX; i++) {
        assert_non_null(learn(d, numbered(i, name)));
    }
    assert_true(counts_of(d).gpus_forgotten > GPUS_MAX / 2);
    assert_int_equal(find(d, gpu("n1", "", 0, 3))->id, first);
}

/* The place of an exchanged board leads to the new one, whatever room is made. */
static void making_room_gives_no_name_back(void **state)
{
    struct tc_directory *d = *state;
    char name[16];
    uint64_t old = learn(d, gpu("n1", UUID_A, 0xb3, 3))->id;
    uint64_t new = learn(d, gpu("n1", UUID_B, 0xb3, 3))->id;
    for (unsigned i = 0; i < 2 * GPUS_MAX; i++) {
        (void)learn(d, numbered(i, name));
        if (i % 1000 == 0) {
            assert_int_equal(learn(d, gpu("", UUID_B, 0, -1))->id, new);
            assert_int_equal(learn(d, gpu("", UUID_A, 0, -1))->id, old);
        }
    }
    assert_true(counts_of(d).gpus_forgotten > 0);
    assert_int_equal(find(d, gpu("n1", "", 0xb3, -1))->id, new);
}

/* Three names of one GPU, told apart at first: what was kept under each is found. */
static void three_that_turn_out_to_be_one_know_all_ids(void **state)
{
    struct tc_directory *d = *state;
    uint64_t by_pci = learn(d, gpu("n1", "", 0xb3, -1))->id;
    uint64_t by_index = learn(d, gpu("n1", "", 0, 3))->id;
    uint64_t by_uuid = learn(d, gpu("", UUID_A, 0, -1))->id;
    assert_int_equal(learn(d, gpu("n1", UUID_A, 0, 3))->id, by_index);
    const struct tc_gpu *one = learn(d, gpu("n1", UUID_A, 0xb3, -1));
    assert_int_equal(one->id, by_pci);
    assert_true((one->also[0] == by_index && one->also[1] == by_uuid) ||
                (one->also[1] == by_index && one->also[0] == by_uuid));
}

static void who_used_it_last_does_not_follow_the_order_of_events(void **state)
{
    static const int64_t TIMES[] = {TC_TIME_NONE, 10, 20};
    static const char *const PODS[] = {"by-map", "worker-1", "worker-2"};
    struct tc_directory *d = *state;
    for (size_t first = 0; first < 3; first++) {
        tc_directory_reset(d);
        for (size_t i = 0; i < 3; i++) {
            struct tc_scope used = gpu("n1", UUID_A, 0, 3);
            used.pod = tc_slice_cstr(PODS[(first + i) % 3]);
            (void)learn_at(d, used, TIMES[(first + i) % 3]);
        }
        assert_text(find(d, gpu("n1", "", 0, 3))->pod, "worker-2");
    }
}

/* The function of a network card, or a bridge, is no GPU; one that is named as a GPU is. */
static void an_error_report_says_nothing_of_a_gpu_by_its_address(void **state)
{
    struct tc_directory *d = *state;
    note_scope(d, TC_EVENT_AER, gpu("n1", "", 0xb3, -1), TC_SECOND);
    assert_null(tc_directory_event_gpu(d));
    note_scope(d, TC_EVENT_AER, gpu("n1", UUID_A, 0xb3, -1), TC_SECOND);
    assert_non_null(tc_directory_event_gpu(d));
    note_scope(d, TC_EVENT_SXID, gpu("n1", "", 0xb4, -1), TC_SECOND);
    assert_null(tc_directory_event_gpu(d));
    assert_null(find(d, gpu("n1", "", 0xb4, -1)));
}

static void names_that_are_too_long_are_refused(void **state)
{
    struct tc_directory *d = *state;
    static char text[100000];
    memset(text, 'x', sizeof text);
    for (unsigned field = 0; field < 6; field++) {
        struct tc_scope s = gpu("n1", UUID_A, 0, 3);
        struct tc_slice *fields[] = {&s.node, &s.gpu_uuid, &s.ns, &s.pod, &s.container, &s.job};
        *fields[field] = tc_slice_make(text, sizeof text);
        assert_null(learn(d, s));
        *fields[field] = tc_slice_make(text, 256);
        assert_non_null(learn(d, s));
    }
}

/* One of eight GPUs by some of its names, and perhaps its user. Board 0 is exchanged by and by. */
static struct tc_scope any_scope(uint32_t *luck, int64_t i, char *uuid)
{
    static const char *const users[] = {"", "p1", "p2"};
    uint32_t draws[6];
    for (size_t k = 0; k < TC_COUNT(draws); k++) {
        *luck = *luck * 1664525 + 1013904223;
        draws[k] = *luck >> 24;
    }
    uint32_t which = draws[0] % 8;
    uint32_t names = draws[1];
    (void)snprintf(uuid, 32, "GPU-%u-%d", which, which == 0 ? (int)(i / 5000) : 0);
    struct tc_scope s =
        gpu(which < 4 ? "n1" : "n2", (names & 1) != 0 ? uuid : "",
            (names & 2) != 0 ? (uint8_t)(0xb0 + which) : 0, (names & 4) != 0 ? (int32_t)which : -1);
    s.pod = tc_slice_cstr(users[draws[2] % 3]);
    s.ns = tc_slice_cstr(draws[2] % 3 == 0 ? "" : users[draws[3] % 3]);
    s.container = tc_slice_cstr(draws[4] % 4 == 0 ? "c" : "");
    s.rank = (int32_t)(draws[5] % 4) - 1;
    return s;
}

static void assert_same_gpu(const struct tc_gpu *a, const struct tc_gpu *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a == NULL) {
        return;
    }
    assert_int_equal(a->id, b->id);
    assert_true(tc_bdf_eq(a->pci, b->pci) && a->index == b->index && a->rank == b->rank);
    assert_true(tc_slice_eq(a->node, b->node) && tc_slice_eq(a->uuid, b->uuid));
    assert_true(tc_slice_eq(a->pod, b->pod) && tc_slice_eq(a->ns, b->ns));
    assert_true(tc_slice_eq(a->container, b->container) && a->user_ns == b->user_ns);
}

static void note_all_and_only_news(enum tc_statements keeps)
{
    struct tc_directory *all = tc_directory_create(keeps, 1);
    struct tc_directory *news = tc_directory_create(keeps, 1);
    uint32_t luck = 1;
    size_t known = 0;
    assert_non_null(all);
    assert_non_null(news);
    for (int64_t i = 0; i < 20000; i++) {
        char uuid[32];
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_METRIC);
        ev.scope = any_scope(&luck, i, uuid);
        ev.time_ns = TC_SECOND * (i - (luck >> 8) % 4);
        for (int again = 0; again < 2; again++) {
            tc_directory_note(all, &ev);
            bool is_known = tc_directory_is_known(news, &ev);
            if (!is_known) {
                tc_directory_note(news, &ev);
            }
            known += is_known;
            assert_same_gpu(tc_directory_event_gpu(all), tc_directory_event_gpu(news));
        }
        assert_int_equal(counts_of(all).statements, counts_of(news).statements);
    }
    assert_true(known > 10000);
    tc_directory_destroy(news);
    tc_directory_destroy(all);
}

static void what_is_known_already_need_not_be_noted(void **state)
{
    (void)state;
    note_all_and_only_news(TC_STATEMENTS_LATEST);
    note_all_and_only_news(TC_STATEMENTS_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_scope_that_names_no_gpu_is_refused),
        TEST(two_names_in_one_event_are_one_gpu),
        TEST(what_turns_out_to_be_one_gpu_keeps_the_oldest_id_and_says_so),
        TEST(an_exchanged_board_is_another_gpu),
        TEST(a_name_leads_to_the_gpu_that_was_last_given_it),
        TEST(names_of_two_gpus_in_one_event_do_not_make_them_one),
        TEST(who_uses_it_is_taken_whole_or_not),
        TEST(one_that_changes_all_the_time_does_not_push_out_the_others),
        TEST(a_full_table_forgets_who_was_not_heard_of_for_longest),
        TEST(a_flood_of_one_sender_forgets_only_its_own),
        TEST(making_room_gives_no_name_back),
        TEST(three_that_turn_out_to_be_one_know_all_ids),
        TEST(who_used_it_last_does_not_follow_the_order_of_events),
        TEST(an_error_report_says_nothing_of_a_gpu_by_its_address),
        TEST(names_that_are_too_long_are_refused),
        TEST(what_is_known_already_need_not_be_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
