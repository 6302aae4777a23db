/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/digest.h"
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tc_sim_options small(const char *faults)
{
    return (struct tc_sim_options){.nodes = 24,
                                   .gpus_per_node = 8,
                                   .minutes = 60,
                                   .seed = 7,
                                   .start_ns = TC_SIM_START,
                                   .faults = tc_slice_cstr(faults),
                                   .label = tc_slice_cstr(faults)};
}

/* All bytes of a fleet as one number, file after file. */
struct sum {
    uint64_t hash;
    uint64_t bytes;
    int64_t fail_after; /* pieces; -1 never */
};

static tc_status add_piece(void *context, struct tc_slice bytes)
{
    struct sum *sum = context;
    if (sum->fail_after == 0) {
        return TC_E_IO;
    }
    sum->fail_after -= sum->fail_after > 0;
    sum->bytes += bytes.len;
    for (size_t i = 0; i < bytes.len; i++) { /* FNV-1a: the same on every machine */
        sum->hash = (sum->hash ^ (unsigned char)bytes.ptr[i]) * UINT64_C(0x100000001b3);
    }
    return TC_OK;
}

static struct sum sum_of(const struct tc_sim_options *options)
{
    struct sum sum = {UINT64_C(0xcbf29ce484222325), 0, -1};
    struct tc_sim *sim = NULL;
    assert_int_equal(tc_sim_create(options, &sim, NULL), TC_OK);
    for (size_t i = 0; i < tc_sim_file_count(sim); i++) {
        assert_int_equal(tc_sim_file_write(sim, i, add_piece, &sum), TC_OK);
    }
    tc_sim_destroy(sim);
    return sum;
}

/*
 * The bytes of one fleet, pinned: another compiler or machine must give the same. A change of the
 * simulator changes the number; then look at the difference and write the new one here.
 */
#define PINNED UINT64_C(0x89652ee33924dd95)

static void the_same_seed_gives_the_pinned_bytes(void **state)
{
    (void)state;
    struct tc_sim_options options = small("mixed");
    struct sum sum = sum_of(&options);
    if (sum.hash != PINNED) {
        print_message("now 0x%016llx\n", (unsigned long long)sum.hash);
    }
    assert_true(sum.hash == PINNED);
    assert_true(sum_of(&options).hash == sum.hash);
}

static void another_seed_gives_other_bytes(void **state)
{
    (void)state;
    struct tc_sim_options options = small("none");
    options.nodes = 2;
    uint64_t first = sum_of(&options).hash;
    options.seed++;
    assert_true(sum_of(&options).hash != first);
}

/* Where a file is written first does not matter. */
static void files_do_not_depend_on_each_other(void **state)
{
    (void)state;
    struct tc_sim_options options = small("mixed");
    struct tc_sim *sim = NULL;
    assert_int_equal(tc_sim_create(&options, &sim, NULL), TC_OK);
    size_t count = tc_sim_file_count(sim);
    uint64_t *hashes = calloc(count, sizeof *hashes);
    assert_non_null(hashes);
    for (size_t i = 0; i < count; i++) {
        struct sum sum = {1, 0, -1};
        assert_int_equal(tc_sim_file_write(sim, i, add_piece, &sum), TC_OK);
        hashes[i] = sum.hash;
    }
    for (size_t i = count; i-- > 0;) {
        struct sum sum = {1, 0, -1};
        assert_int_equal(tc_sim_file_write(sim, i, add_piece, &sum), TC_OK);
        assert_true(sum.hash == hashes[i]);
    }
    free(hashes);
    tc_sim_destroy(sim);
}

static void no_two_files_have_one_path(void **state)
{
    (void)state;
    struct tc_sim_options options = small("mixed");
    struct tc_sim *sim = NULL;
    assert_int_equal(tc_sim_create(&options, &sim, NULL), TC_OK);
    char before[128] = "";
    char *all = calloc(tc_sim_file_count(sim), sizeof before);
    assert_non_null(all);
    for (size_t i = 0; i < tc_sim_file_count(sim); i++) {
        char *path = all + i * sizeof before;
        struct tc_buf b = tc_buf_make(path, sizeof before - 1);
        tc_sim_file_path(sim, i, &b);
        assert_false(b.overflowed);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(path, all + k * sizeof before);
        }
    }
    free(all);
    tc_sim_destroy(sim);
}

static void a_failed_write_ends_the_file(void **state)
{
    (void)state;
    struct tc_sim_options options = small("mixed");
    struct tc_sim *sim = NULL;
    assert_int_equal(tc_sim_create(&options, &sim, NULL), TC_OK);
    for (size_t i = 0; i < tc_sim_file_count(sim); i++) {
        for (int64_t pieces = 0; pieces < 3; pieces++) {
            struct sum sum = {1, 0, pieces};
            tc_status status = tc_sim_file_write(sim, i, add_piece, &sum);
            assert_true(status == TC_E_IO || (status == TC_OK && (pieces > 0 || sum.bytes == 0)));
        }
    }
    tc_sim_destroy(sim);
}

/* ---- SPECs --------------------------------------------------------------------------------- */

static void refused(const char *faults, const char *wanted)
{
    struct tc_sim_options options = small(faults);
    struct tc_sim *sim = NULL;
    struct tc_error err = {0};
    assert_int_equal(tc_sim_create(&options, &sim, &err), TC_E_USAGE);
    if (strstr(err.message, wanted) == NULL) {
        print_message("\"%s\": %s\n", faults, err.message);
    }
    assert_non_null(strstr(err.message, wanted));
    assert_true(err.offset <= options.faults.len);
}

static void a_bad_spec_names_the_field_and_what_exists(void **state)
{
    (void)state;
    refused("hbm", "no fault \"hbm\"; there are chain, checkpoint_stall");
    refused("mixed, nccl", "noise");
    refused("hbm_ecc size=3", "no key \"size\"; there are count, variant, at, node, gpu");
    refused("hbm_ecc variant=dbe", "no variant \"dbe\"; it has: uncorrectable contained");
    refused("mixed variant=host", "mixed has no variant");
    refused("hbm_ecc count=0", "count=0: not a number from 1 to");
    refused("hbm_ecc count=", "count=: not a number");
    refused("hbm_ecc count=1000000", "count=1000000");
    refused("hbm_ecc at=61m", "at=61m: not a time since the start");
    refused("hbm_ecc at=5x", "at=5x");
    refused("hbm_ecc node=gpu-0099", "node=gpu-0099: no such node");
    refused("hbm_ecc node=0", "no such node");
    refused("hbm_ecc gpu=8", "gpu=8: no such GPU");
    refused("noise", "noise takes one number");
    refused("noise 2000", "noise takes one number");
    refused("noise 1 2", "noise takes one number");
    refused("hbm_ecc count=99", "no place left for number");
    refused("nccl_hang node=gpu-0023", "no place left");
}

static struct tc_sim_counts counted(const char *faults)
{
    struct tc_sim_options options = small(faults);
    struct tc_sim *sim = NULL;
    struct tc_error err = {0};
    if (tc_sim_create(&options, &sim, &err) != TC_OK) {
        fail_msg("\"%s\": %s", faults, err.message);
    }
    struct tc_sim_counts counts;
    tc_sim_counts(sim, &counts);
    tc_sim_destroy(sim);
    return counts;
}

static void items_stand_between_commas_or_on_lines(void **state)
{
    (void)state;
    assert_int_equal(counted("none").faults, 0);
    assert_int_equal(counted("").faults, 0);
    assert_true(counted("none").noise > 0);
    assert_int_equal(counted("noise 0").noise, 0);
    assert_int_equal(counted("noise 0, hbm_ecc variant=corrected_storm").faults, 1);
    assert_int_equal(counted("# none\nhbm_ecc variant=remap_failed count=2\n\n nccl_hang at=10m , "
                             "pcie_aer gpu=3 # and one more\r\n")
                         .faults,
                     4);
    assert_int_equal(counted("chain variant=hbm_to_eviction").faults, 4);
    assert_int_equal(counted("chain variant=oom_to_loader").faults, 2);
}

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    const struct {
        struct tc_sim_options options;
        const char *wanted;
    } cases[] = {
        {{.nodes = 0, .gpus_per_node = 8, .minutes = 60}, "nodes: 0"},
        {{.nodes = 20001, .gpus_per_node = 8, .minutes = 60}, "nodes: 20001"},
        {{.nodes = 1, .gpus_per_node = 0, .minutes = 60}, "gpus-per-node: 0"},
        {{.nodes = 1, .gpus_per_node = 17, .minutes = 60}, "gpus-per-node: 17"},
        {{.nodes = 1, .gpus_per_node = 8, .minutes = 29}, "hours: 29 minutes"},
        {{.nodes = 1, .gpus_per_node = 8, .minutes = 10081}, "hours: 10081 minutes"},
        {{.nodes = 1, .gpus_per_node = 8, .minutes = 60, .start_ns = -1}, "start:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_sim *sim = NULL;
        struct tc_error err = {0};
        assert_int_equal(tc_sim_create(&cases[i].options, &sim, &err), TC_E_USAGE);
        assert_non_null(strstr(err.message, cases[i].wanted));
    }
}

/* Small and odd clusters, and every fault on its own, write something. */
static void every_shape_of_cluster_works(void **state)
{
    (void)state;
    static const uint32_t SHAPES[][2] = {{1, 1}, {1, 8}, {2, 4}, {3, 16}, {5, 2}, {40, 6}};
    for (size_t i = 0; i < sizeof SHAPES / sizeof SHAPES[0]; i++) {
        struct tc_sim_options options = small("mixed");
        options.nodes = SHAPES[i][0];
        options.gpus_per_node = SHAPES[i][1];
        options.minutes = 30;
        assert_true(sum_of(&options).bytes > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_pinned_bytes),
        cmocka_unit_test(another_seed_gives_other_bytes),
        cmocka_unit_test(files_do_not_depend_on_each_other),
        cmocka_unit_test(no_two_files_have_one_path),
        cmocka_unit_test(a_failed_write_ends_the_file),
        cmocka_unit_test(a_bad_spec_names_the_field_and_what_exists),
        cmocka_unit_test(items_stand_between_commas_or_on_lines),
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(every_shape_of_cluster_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
