/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/program_priv.h"

#include <stdlib.h>

#define RANKS_MAX 256

static uint16_t waits[RANKS_MAX];
static uint16_t entered[RANKS_MAX * SIM_ENTERED_PER_RANK];

static struct sim_job job_of(uint32_t tensor, uint32_t pipe, uint32_t data, uint32_t expert)
{
    return (struct sim_job){.id = 1,
                            .tensor = tensor,
                            .pipe = pipe,
                            .data = data,
                            .expert = expert,
                            .ranks = tensor * pipe * data,
                            .culprit = SIM_NONE};
}

/* As the plan does it. */
static void propagate(const struct tc_sim *s, struct sim_job *j)
{
    j->stuck = j->culprit < j->ranks ? tc__sim_hang_op(s, j) : 0;
    tc__sim_propagate(j, waits, entered);
}

static const struct sim_job SHAPES[] = {
    {.tensor = 8, .pipe = 4, .data = 8, .expert = 4, .ranks = 256},
    {.tensor = 8, .pipe = 2, .data = 2, .expert = 2, .ranks = 32},
    {.tensor = 8, .pipe = 1, .data = 4, .expert = 1, .ranks = 32},
    {.tensor = 1, .pipe = 1, .data = 3, .expert = 1, .ranks = 3},
    {.tensor = 8, .pipe = 1, .data = 1, .expert = 1, .ranks = 8},
};
#define SHAPE_COUNT (sizeof SHAPES / sizeof SHAPES[0])

/* Every member of a group finds the same members under the same number, itself among them. */
static void members_agree_on_their_groups(void **state)
{
    (void)state;
    for (size_t n = 0; n < SHAPE_COUNT; n++) {
        const struct sim_job *j = &SHAPES[n];
        for (uint32_t rank = 0; rank < j->ranks; rank++) {
            for (enum sim_group g = SIM_WORLD; g < SIM_GROUPS; g++) {
                uint32_t number = tc__sim_group_number(j, rank, g);
                bool found = false;
                for (uint32_t i = 0; i < tc__sim_group_size(j, g); i++) {
                    uint32_t member = tc__sim_member(j, rank, g, i);
                    assert_true(member < j->ranks);
                    assert_int_equal(tc__sim_group_number(j, member, g), number);
                    found = found || member == rank;
                }
                assert_true(found);
            }
        }
    }
}

static void groups_of_two_kinds_never_share_a_number(void **state)
{
    (void)state;
    const struct sim_job *j = &SHAPES[0];
    static uint8_t kind_of[4096];
    for (uint32_t rank = 0; rank < j->ranks; rank++) {
        for (enum sim_group g = SIM_WORLD; g < SIM_GROUPS; g++) {
            uint32_t number = tc__sim_group_number(j, rank, g);
            assert_true(number < sizeof kind_of);
            assert_true(kind_of[number] == 0 || kind_of[number] == g + 1);
            kind_of[number] = (uint8_t)(g + 1);
        }
    }
}

/* A culprit that stops behind the last operation stops nobody: the step has no deadlock. */
static void a_step_without_a_culprit_completes(void **state)
{
    (void)state;
    struct tc_sim s = {.options = {.seed = 1}};
    for (size_t n = 0; n < SHAPE_COUNT; n++) {
        struct sim_job j = SHAPES[n];
        j.culprit = j.ranks; /* nobody */
        j.hang = SIM_HANG_HOST;
        struct sim_program p;
        propagate(&s, &j);
        for (uint32_t rank = 0; rank < j.ranks; rank++) {
            tc__sim_program(&j, tc__sim_seat(&j, rank).stage, &p);
            assert_int_equal(waits[rank], p.count);
            assert_true(p.count <= SIM_OPS_MAX);
        }
    }
}

/* The culprit's peers wait in the very operation it did not enter; in the end nobody gets through.
 */
static void a_stopped_process_stops_its_group_first(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct tc_sim s = {.options = {.seed = seed}};
        struct sim_job j = job_of(8, 4, 8, 4);
        j.culprit = (uint32_t)(seed * 37 % j.ranks);
        j.hang = SIM_HANG_HOST;
        uint32_t stuck = tc__sim_hang_op(&s, &j);
        struct sim_program p;
        tc__sim_program(&j, tc__sim_seat(&j, j.culprit).stage, &p);
        enum sim_group group = (enum sim_group)p.ops[stuck].group;
        propagate(&s, &j);
        assert_int_equal(waits[j.culprit], stuck);
        for (uint32_t i = 0; i < tc__sim_group_size(&j, group); i++) {
            uint32_t member = tc__sim_member(&j, j.culprit, group, i);
            assert_true(waits[member] <= stuck); /* one of them may be held up elsewhere */
        }
        for (uint32_t rank = 0; rank < j.ranks; rank++) {
            tc__sim_program(&j, tc__sim_seat(&j, rank).stage, &p);
            assert_true(waits[rank] < p.count); /* the world's all-reduce needs everybody */
        }
    }
}

/* A device that stops inside a collective lets its peers through that one, and no further. */
static void a_stopped_device_lags_behind_its_peers(void **state)
{
    (void)state;
    struct tc_sim s = {.options = {.seed = 5}};
    struct sim_job j = job_of(8, 1, 4, 1);
    j.culprit = 11;
    j.hang = SIM_HANG_DEVICE;
    uint32_t stuck = tc__sim_hang_op(&s, &j);
    struct sim_program p;
    tc__sim_program(&j, 0, &p);
    enum sim_group group = (enum sim_group)p.ops[stuck].group;
    propagate(&s, &j);
    assert_int_equal(waits[11], stuck);
    for (uint32_t i = 0; i < tc__sim_group_size(&j, group); i++) {
        uint32_t member = tc__sim_member(&j, 11, group, i);
        assert_true(member == 11 || waits[member] > stuck);
    }
}

static void a_call_with_another_size_completes_for_nobody(void **state)
{
    (void)state;
    struct tc_sim s = {.options = {.seed = 9}};
    struct sim_job j = job_of(8, 2, 4, 1);
    j.culprit = 20;
    j.hang = SIM_HANG_MISMATCH;
    uint32_t stuck = tc__sim_hang_op(&s, &j);
    struct sim_program p;
    tc__sim_program(&j, tc__sim_seat(&j, 20).stage, &p);
    enum sim_group group = (enum sim_group)p.ops[stuck].group;
    propagate(&s, &j);
    for (uint32_t i = 0; i < tc__sim_group_size(&j, group); i++) {
        assert_true(waits[tc__sim_member(&j, 20, group, i)] <= stuck);
    }
    assert_int_equal(waits[20], stuck);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_agree_on_their_groups),
        cmocka_unit_test(groups_of_two_kinds_never_share_a_number),
        cmocka_unit_test(a_step_without_a_culprit_completes),
        cmocka_unit_test(a_stopped_process_stops_its_group_first),
        cmocka_unit_test(a_stopped_device_lags_behind_its_peers),
        cmocka_unit_test(a_call_with_another_size_completes_for_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
