/* SPDX-License-Identifier: Apache-2.0 */
#include "directory_testing.h"

#include "base/time.h"

#include <stdio.h>

#define RANKS_MAX 32768

static void tell_rank(struct tc_directory *d, const char *job, int32_t rank, const char *node,
                      const char *pod)
{
    struct tc_scope s = TC_SCOPE_NONE;
    s.job = tc_slice_cstr(job);
    s.rank = rank;
    s.node = tc_slice_cstr(node);
    s.pod = tc_slice_cstr(pod);
    s.ns = s.pod.len > 0 ? TC_LIT("ml") : TC_EMPTY;
    note_scope(d, TC_EVENT_RANK_PLACE, s, TC_TIME_NONE);
}

static void tell_pod(struct tc_directory *d, const char *pod, const char *uid, const char *node)
{
    struct tc_scope s = TC_SCOPE_NONE;
    s.ns = TC_LIT("ml");
    s.pod = tc_slice_cstr(pod);
    s.pod_uid = tc_slice_cstr(uid);
    s.node = tc_slice_cstr(node);
    note_scope(d, TC_EVENT_ADDRESS, s, TC_SECOND);
}

static struct tc_scope rank_of(struct tc_directory *d, const char *job, int32_t rank)
{
    struct tc_scope s = TC_SCOPE_NONE;
    s.job = tc_slice_cstr(job);
    s.rank = rank;
    tc_directory_place(d, &s);
    return s;
}

static void a_rank_is_where_it_was_told_last(void **state)
{
    struct tc_directory *d = *state;
    tell_rank(d, "j1", 3, "n1", "worker-3");
    assert_text(rank_of(d, "j1", 3).node, "n1");
    assert_text(rank_of(d, "j1", 3).pod, "worker-3");
    tell_rank(d, "j1", 3, "n2", "worker-3b");
    assert_text(rank_of(d, "j1", 3).node, "n2");
    assert_int_equal(rank_of(d, "j1", 4).node.len, 0);
    /* What the scope says itself stands. */
    struct tc_scope elsewhere = TC_SCOPE_NONE;
    elsewhere.job = TC_LIT("j1");
    elsewhere.rank = 3;
    elsewhere.node = TC_LIT("n9");
    tc_directory_place(d, &elsewhere);
    assert_text(elsewhere.node, "n9");
    assert_int_equal(elsewhere.pod.len, 0);
}

static void a_host_with_the_name_of_the_pod_is_no_other_place(void **state)
{
    struct tc_directory *d = *state;
    tell_rank(d, "j1", 3, "n1", "worker-3");
    tell_rank(d, "j1", 3, "worker-3", "");
    assert_text(rank_of(d, "j1", 3).node, "n1");
    assert_text(rank_of(d, "j1", 3).pod, "worker-3");
    tell_rank(d, "j1", 3, "worker-4", "");
    assert_text(rank_of(d, "j1", 3).node, "worker-4");
}

static void who_names_no_job_means_the_only_one(void **state)
{
    struct tc_directory *d = *state;
    tell_rank(d, "j1", 3, "n1", "");
    assert_text(rank_of(d, "", 3).node, "n1");
    assert_int_equal(rank_of(d, "j2", 3).node.len, 0);
    tell_rank(d, "j2", 3, "n2", "");
    assert_int_equal(rank_of(d, "", 3).node.len, 0);
    assert_text(rank_of(d, "j1", 3).node, "n1");
    assert_text(rank_of(d, "j2", 3).node, "n2");
}

static void a_map_without_a_job_holds_for_any(void **state)
{
    struct tc_directory *d = *state;
    tell_rank(d, "", 3, "n1", "");
    assert_text(rank_of(d, "j1", 3).node, "n1");
}

static void a_pod_has_the_node_of_its_address(void **state)
{
    struct tc_directory *d = *state;
    tell_pod(d, "worker-1", "uid-1", "n1");
    tell_rank(d, "j1", 1, "", "worker-1");
    assert_text(rank_of(d, "j1", 1).node, "n1");
    struct tc_scope s = TC_SCOPE_NONE;
    s.ns = TC_LIT("ml");
    s.pod = TC_LIT("worker-1");
    s.pod_uid = TC_LIT("uid-2"); /* made anew, and not told of yet */
    tc_directory_place(d, &s);
    assert_int_equal(s.node.len, 0);
    tell_pod(d, "worker-1", "uid-2", "n2");
    tc_directory_place(d, &s);
    assert_text(s.node, "n2");
}

static void what_is_told_again_stays_when_room_is_made(void **state)
{
    struct tc_directory *d = *state;
    char name[16];
    tell_rank(d, "j1", 1, "n1", "");
    tell_pod(d, "worker-1", "uid-1", "n1");
    for (int i = 0; i < 2 * RANKS_MAX; i++) {
        (void)snprintf(name, sizeof name, "w-%d", i);
        tell_rank(d, name, 1, "n2", "");
        tell_pod(d, name, "", "n2");
        if (i % 1000 == 0) {
            tell_rank(d, "j1", 1, "n1", "");
            tell_pod(d, "worker-1", "uid-1", "n1");
        }
    }
    assert_in_range(counts_of(d).places_forgotten, 2 * RANKS_MAX, 3 * RANKS_MAX);
    assert_text(rank_of(d, "j1", 1).node, "n1");
    assert_int_equal(rank_of(d, "w-1", 1).node.len, 0);
    struct tc_scope s = TC_SCOPE_NONE;
    s.ns = TC_LIT("ml");
    s.pod = TC_LIT("worker-1");
    tc_directory_place(d, &s);
    assert_text(s.node, "n1");
}

static void tell_gpu(struct tc_directory *d, int32_t rank, const char *node, const char *uuid)
{
    struct tc_scope s = TC_SCOPE_NONE;
    s.job = TC_LIT("j1");
    s.rank = rank;
    s.node = tc_slice_cstr(node);
    s.gpu_uuid = tc_slice_cstr(uuid);
    note_scope(d, TC_EVENT_RANK_PLACE, s, TC_TIME_NONE);
}

static struct tc_scope whole_place(struct tc_directory *d, int32_t rank, const char *node)
{
    struct tc_scope s = TC_SCOPE_NONE;
    s.job = TC_LIT("j1");
    s.rank = rank;
    s.node = tc_slice_cstr(node);
    tc_directory_place_rank(d, &s);
    return s;
}

static void a_rank_has_the_gpu_that_another_told_of(void **state)
{
    struct tc_directory *d = *state;
    tell_rank(d, "j1", 3, "n1", "worker-3");
    tell_gpu(d, 3, "n1", "GPU-1");
    struct tc_scope s = whole_place(d, 3, "");
    assert_text(s.node, "n1");
    assert_text(s.pod, "worker-3");
    assert_text(s.gpu_uuid, "GPU-1");
    /* Who names the pod again says nothing of the GPU. */
    tell_rank(d, "j1", 3, "n1", "worker-3");
    assert_text(whole_place(d, 3, "").gpu_uuid, "GPU-1");
    assert_int_equal(whole_place(d, 4, "").gpu_uuid.len, 0);
}

static void a_rank_that_moved_has_left_its_gpu(void **state)
{
    struct tc_directory *d = *state;
    tell_gpu(d, 3, "n1", "GPU-1");
    assert_int_equal(whole_place(d, 3, "n2").gpu_uuid.len, 0);
    tell_rank(d, "j1", 3, "n2", "worker-3");
    assert_text(whole_place(d, 3, "").node, "n2");
    assert_int_equal(whole_place(d, 3, "").gpu_uuid.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_rank_is_where_it_was_told_last),
        TEST(who_names_no_job_means_the_only_one),
        TEST(a_map_without_a_job_holds_for_any),
        TEST(a_pod_has_the_node_of_its_address),
        TEST(what_is_told_again_stays_when_room_is_made),
        TEST(a_host_with_the_name_of_the_pod_is_no_other_place),
        TEST(a_rank_has_the_gpu_that_another_told_of),
        TEST(a_rank_that_moved_has_left_its_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
