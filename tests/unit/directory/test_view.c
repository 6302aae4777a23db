/* SPDX-License-Identifier: Apache-2.0 */
/* Who says where a rank is: every job has a rank 0. */
#include "directory_testing.h"

#include "base/os/block.h"
#include "base/time.h"
#include "directory/view.h"

#include <stdio.h>

#define T0 (INT64_C(1780000000) * TC_SECOND)
#define JOBS 200
#define RANKS 4

static void note_rank(struct tc_directory *d, const char *job, int32_t rank, const char *node,
                      int64_t time_ns)
{
    struct tc_scope scope = TC_SCOPE_NONE;
    scope.job = tc_slice_cstr(job);
    scope.rank = rank;
    scope.node = tc_slice_cstr(node);
    note_scope(d, TC_EVENT_RANK_PLACE, scope, time_ns);
}

struct viewed {
    struct tc_directory *directory;
    struct tc_block *block;
    struct tc_arena arena;
    struct tc_view view;
};

static void begin(struct viewed *v)
{
    v->directory = tc_directory_create(TC_STATEMENTS_LATEST, 1);
    v->block = tc_block_new((size_t)64 << 20);
    assert_true(v->directory != NULL && v->block != NULL);
    tc_arena_init_zeroed(&v->arena, "view", v->block->bytes, v->block->size);
}

static void make(struct viewed *v)
{
    assert_true(tc_view_begin(&v->view, v->directory, NULL, 0, 0, &v->arena));
    assert_int_equal(tc_view_make(&v->view, NULL), TC_OK);
}

static void end(struct viewed *v)
{
    tc_arena_fini(&v->arena);
    tc_block_free(v->block);
    tc_directory_destroy(v->directory);
}

/* The nodes that a walk gives, one after the other. */
static void assert_walk(const struct tc_view *view, const char *job, int32_t rank,
                        const char *nodes)
{
    char text[4096];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_view_ranks walk = tc_view_ranks(view, tc_slice_cstr(job), rank);
    const struct tc_statement *f = NULL;
    while ((f = tc_view_ranks_next(view, &walk)) != NULL) {
        assert_int_equal(f->scope.rank, rank);
        tc_buf_str(&b, b.len == 0 ? TC_EMPTY : TC_LIT(" "));
        tc_buf_str(&b, f->scope.node);
    }
    assert_slice(tc_buf_slice(&b), nodes);
}

static void a_walk_is_in_the_order_of_statements(void **state)
{
    (void)state;
    struct viewed v;
    begin(&v);
    note_rank(v.directory, "a", 1, "a-early", T0 + 1);
    note_rank(v.directory, "", 1, "nobody's", T0 + 2);
    note_rank(v.directory, "b", 1, "b", T0 + 3);
    note_rank(v.directory, "a", 1, "a-late", T0 + 4);
    note_rank(v.directory, "a", 2, "other-rank", T0 + 5);
    note_rank(v.directory, "", 1, "nobody's-late", T0 + 6);
    make(&v);
    assert_walk(&v.view, "a", 1, "a-early nobody's a-late nobody's-late");
    assert_walk(&v.view, "b", 1, "nobody's b nobody's-late");
    assert_walk(&v.view, "c", 1, "nobody's nobody's-late");
    assert_walk(&v.view, "", 1, "a-early nobody's b a-late nobody's-late");
    assert_walk(&v.view, "a", 2, "other-rank");
    assert_walk(&v.view, "a", 3, "");
    end(&v);
}

/* The one job that there is may be called otherwise by others. */
static void the_only_job_is_everybodys(void **state)
{
    (void)state;
    struct viewed v;
    begin(&v);
    note_rank(v.directory, "a", 0, "first", T0 + 1);
    note_rank(v.directory, "", 0, "second", T0 + 2);
    make(&v);
    assert_walk(&v.view, "another", 0, "first second");
    end(&v);
}

/* A cluster of many jobs: a walk sees those of its own. */
static void a_walk_does_not_grow_with_jobs(void **state)
{
    (void)state;
    struct viewed v;
    begin(&v);
    for (int i = 0; i < JOBS * RANKS; i++) {
        char job[32];
        (void)snprintf(job, sizeof job, "job-%d", i / RANKS);
        note_rank(v.directory, job, i % RANKS, job, T0 + i);
    }
    make(&v);
    for (int i = 0; i < JOBS; i++) {
        char job[32];
        (void)snprintf(job, sizeof job, "job-%d", i);
        assert_walk(&v.view, job, 3, job);
    }
    end(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_is_in_the_order_of_statements),
        cmocka_unit_test(the_only_job_is_everybodys),
        cmocka_unit_test(a_walk_does_not_grow_with_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
