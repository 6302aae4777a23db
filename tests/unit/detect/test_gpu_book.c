/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detect/gpu_book_priv.h"
#include "support/assert_text.h"

#include <stdio.h>
#include <stdlib.h>

#define BOOK_BYTES ((size_t)64 << 10)
#define ARENA_BYTES ((size_t)1 << 20)
#define UUID_A "GPU-aaaaaaaa-0000-0000-0000-000000000000"
#define UUID_B "GPU-bbbbbbbb-0000-0000-0000-000000000000"

struct fixture {
    struct tc_arena arena;
    struct tc_arena scratch;
    struct tc_gpu_book book;
    unsigned char *blocks[2];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    for (size_t i = 0; i < 2; i++) {
        f->blocks[i] = calloc(1, ARENA_BYTES);
        assert_non_null(f->blocks[i]);
    }
    tc_arena_init_zeroed(&f->arena, "book", f->blocks[0], ARENA_BYTES);
    tc_arena_init_zeroed(&f->scratch, "scratch", f->blocks[1], ARENA_BYTES);
    assert_true(tc__gpu_book_init(&f->book, &f->arena, &f->scratch, BOOK_BYTES));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    tc_arena_fini(&f->arena);
    tc_arena_fini(&f->scratch);
    free(f->blocks[0]);
    free(f->blocks[1]);
    free(f);
    return 0;
}

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

static const struct tc_gpu *learn(struct fixture *f, struct tc_scope scope)
{
    tc_arena_reset(&f->scratch);
    return tc__gpu_book_learn(&f->book, &scope, TC_SECOND);
}

static const struct tc_gpu *find(struct fixture *f, struct tc_scope scope)
{
    return tc__gpu_book_find(&f->book, &scope);
}

static void a_scope_that_names_no_gpu_is_refused(void **state)
{
    struct fixture *f = *state;
    assert_null(learn(f, gpu("n1", "", 0, -1)));
    assert_null(learn(f, gpu("", "", 0xb3, 3))); /* of which node? */
    assert_null(find(f, gpu("n1", "", 0, -1)));
    assert_non_null(learn(f, gpu("", UUID_A, 0, -1)));
    assert_non_null(learn(f, gpu("n1", "", 0xb3, -1)));
    assert_non_null(learn(f, gpu("n1", "", 0, 3)));
}

static void two_names_in_one_event_are_one_gpu(void **state)
{
    struct fixture *f = *state;
    uint64_t id = learn(f, gpu("n1", UUID_A, 0xb3, -1))->id;
    assert_int_equal(learn(f, gpu("n1", UUID_A, 0, 3))->id, id);
    assert_int_equal(find(f, gpu("n1", "", 0xb3, -1))->id, id);
    assert_int_equal(find(f, gpu("n1", "", 0, 3))->id, id);
    assert_int_equal(find(f, gpu("", UUID_A, 0, -1))->index, 3);
    assert_null(find(f, gpu("n2", "", 0xb3, -1)));
    assert_null(find(f, gpu("n1", "", 0xb4, -1)));
    struct tc_scope scope = gpu("n1", "", 0xb3, -1);
    tc__gpu_complete(find(f, scope), &scope);
    assert_text(scope.gpu_uuid, UUID_A);
    assert_int_equal(scope.gpu_index, 3);
}

static void what_turns_out_to_be_one_gpu_keeps_the_oldest_id_and_says_so(void **state)
{
    struct fixture *f = *state;
    uint64_t by_pci = learn(f, gpu("n1", "", 0xb3, -1))->id;
    uint64_t by_uuid = learn(f, gpu("n1", UUID_A, 0, 3))->id;
    assert_true(by_pci < by_uuid);
    const struct tc_gpu *one = learn(f, gpu("n1", UUID_A, 0xb3, -1));
    assert_int_equal(one->id, by_pci);
    assert_int_equal(one->also, by_uuid);
    assert_int_equal(find(f, gpu("n1", "", 0, 3))->id, by_pci);
    assert_int_equal(learn(f, gpu("n1", UUID_A, 0xb3, 3))->also, by_uuid);
    assert_ptr_equal(learn(f, gpu("n1", UUID_A, 0xb3, 3)), learn(f, gpu("n1", "", 0xb3, 3)));
}

static void an_exchanged_board_is_another_gpu(void **state)
{
    struct fixture *f = *state;
    uint64_t old = learn(f, gpu("n1", UUID_A, 0xb3, 3))->id;
    const struct tc_gpu *new = learn(f, gpu("n1", UUID_B, 0xb3, 3));
    assert_int_not_equal(new->id, old);
    assert_int_equal(new->also, 0);
    assert_int_equal(find(f, gpu("n1", "", 0xb3, -1))->id, new->id);
    assert_int_equal(find(f, gpu("", UUID_A, 0, -1))->id, old);
}

static void names_of_two_gpus_in_one_event_do_not_make_them_one(void **state)
{
    struct fixture *f = *state;
    uint64_t a = learn(f, gpu("n1", UUID_A, 0xa0, 0))->id;
    uint64_t b = learn(f, gpu("n1", UUID_B, 0xb0, 1))->id;
    /* Address of one, index of the other: the address is believed. */
    const struct tc_gpu *mixed = learn(f, gpu("n1", "", 0xb0, 0));
    assert_int_equal(mixed->id, b);
    assert_int_equal(mixed->also, 0);
    assert_int_equal(find(f, gpu("", UUID_A, 0, -1))->id, a);
    assert_text(mixed->uuid, UUID_B);
}

static void who_uses_it_is_taken_whole_or_not(void **state)
{
    struct fixture *f = *state;
    struct tc_scope used = gpu("n1", UUID_A, 0, 3);
    used.ns = TC_LIT("ml");
    used.pod = TC_LIT("worker-1");
    used.container = TC_LIT("main");
    used.job = TC_LIT("j1");
    used.rank = 7;
    (void)learn(f, used);
    const struct tc_gpu *g = learn(f, gpu("n1", UUID_A, 0, 3)); /* says nothing of pods */
    assert_text(g->pod, "worker-1");
    assert_int_equal(g->rank, 7);
    used.pod = TC_LIT("worker-2");
    used.container = TC_EMPTY;
    g = learn(f, used);
    assert_text(g->pod, "worker-2");
    assert_int_equal(g->container.len, 0);
    struct tc_scope scope = gpu("n1", UUID_A, 0, -1);
    scope.pod = TC_LIT("other");
    tc__gpu_complete(g, &scope);
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
    struct fixture *f = *state;
    char name[16];
    uint64_t ids[40];
    for (unsigned i = 0; i < 40; i++) {
        ids[i] = learn(f, numbered(i, name))->id;
    }
    for (unsigned i = 0; i < 20000; i++) {
        struct tc_scope shared = gpu("n1", UUID_A, 0, 7);
        shared.pod = i % 2 == 0 ? TC_LIT("one") : TC_LIT("two");
        assert_non_null(learn(f, shared));
        assert_int_equal(learn(f, numbered(i % 40, name))->id, ids[i % 40]);
    }
    assert_int_equal(f->book.forgotten, 0);
    assert_int_equal(f->book.last_id, 41);
}

static void a_full_book_forgets_and_counts(void **state)
{
    struct fixture *f = *state;
    char name[16];
    for (unsigned i = 0; i < 5000; i++) {
        assert_non_null(learn(f, numbered(i, name)));
    }
    assert_in_range(f->book.forgotten, 4000, 4999);
    assert_non_null(find(f, numbered(4999, name)));
    assert_null(find(f, numbered(0, name)));
    assert_int_equal(f->book.window.ring.dropped_count, 0);
}

static void names_that_are_too_long_are_refused(void **state)
{
    struct fixture *f = *state;
    static char text[100000];
    memset(text, 'x', sizeof text);
    for (unsigned field = 0; field < 6; field++) {
        struct tc_scope s = gpu("n1", UUID_A, 0, 3);
        struct tc_slice *fields[] = {&s.node, &s.gpu_uuid, &s.ns, &s.pod, &s.container, &s.job};
        *fields[field] = tc_slice_make(text, sizeof text);
        assert_null(learn(f, s));
        *fields[field] = tc_slice_make(text, 256);
        assert_non_null(learn(f, s));
    }
}

static void memory_that_is_too_small_is_reported(void **state)
{
    struct fixture *f = *state;
    struct tc_gpu_book book;
    struct tc_arena small;
    unsigned char block[1024];
    tc_arena_init(&small, "small", block, sizeof block);
    assert_false(tc__gpu_book_init(&book, &small, &f->scratch, BOOK_BYTES));
    assert_false(tc__gpu_book_init(&book, &f->arena, &f->scratch, 1024));
    tc_arena_fini(&small);
    struct tc_arena scratch;
    tc_arena_init(&scratch, "scratch", block, 64);
    assert_true(tc__gpu_book_init(&book, &f->arena, &scratch, BOOK_BYTES));
    struct tc_scope s = gpu("n1", UUID_A, 0, 3);
    assert_null(tc__gpu_book_learn(&book, &s, 0));
    tc_arena_fini(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_scope_that_names_no_gpu_is_refused),
        TEST(two_names_in_one_event_are_one_gpu),
        TEST(what_turns_out_to_be_one_gpu_keeps_the_oldest_id_and_says_so),
        TEST(an_exchanged_board_is_another_gpu),
        TEST(names_of_two_gpus_in_one_event_do_not_make_them_one),
        TEST(who_uses_it_is_taken_whole_or_not),
        TEST(one_that_changes_all_the_time_does_not_push_out_the_others),
        TEST(a_full_book_forgets_and_counts),
        TEST(names_that_are_too_long_are_refused),
        TEST(memory_that_is_too_small_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
