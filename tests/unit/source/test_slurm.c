/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/slurm/priv.h"
#include "source/slurm/slurm.h"

#include "unit/source/source_testing.h"

#include <fcntl.h>
#include <signal.h>

#define HEADER "JobID|State|ExitCode|NodeList|End\n"

static struct world *w;
static struct tc_error err;

static int begin(void **state)
{
    (void)state;
    w = world_create();
    err = (struct tc_error){0};
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (w->port != NULL) {
        world_stop(w);
    }
    world_destroy(w);
    return 0;
}

/* A command that does what a script says. */
static const char *script(const char *name, const char *text)
{
    const char *path = world_path(w, name);
    char temporary[1500];
    (void)snprintf(temporary, sizeof temporary, "%s.new", path);
    write_to(temporary, "w", "#!/bin/sh\n", 10);
    write_to(temporary, "a", text, strlen(text));
    assert_int_equal(chmod(temporary, 0755), 0);
    assert_int_equal(rename(temporary, path), 0);
    return path;
}

/* ---- commands ---- */

static tc_status run(const char *text, int64_t timeout_ns, size_t max, struct tc_grow *out)
{
    const char *args[] = {script("command", text), "a b", NULL};
    struct tc__command c = {
        .args = args, .timeout_ns = timeout_ns, .bytes_max = max, .stop_fd = -1};
    err = (struct tc_error){0};
    return tc__command_run(&c, out, &err);
}

static void commands_end_in_some_way(void **state)
{
    static const struct {
        const char *text;
        tc_status status;
        const char *out;
        const char *why;
    } CASES[] = {
        {"echo \"$1\" $#", TC_OK, "a b 1\n", ""},
        {"printf 12345678", TC_OK, "12345678", ""},
        {"printf 123456789", TC_E_LIMIT, "", "prints too much"},
        {"yes", TC_E_LIMIT, "", "prints too much"},
        {"echo bad thing >&2; exit 3", TC_E_IO, "", "ended with status 3: bad thing"},
        {"kill -9 $$", TC_E_IO, "", "ended with signal 9"},
        {"echo $TZ", TC_OK, "UTC\n", ""},
        {"sleep 1000 & exit 0", TC_OK, "", ""}, /* what it leaves behind does not hold us up */
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(CASES); i++) {
        struct tc_grow out = {0};
        assert_int_equal(run(CASES[i].text, PATIENCE_NS, 8, &out), CASES[i].status);
        if (CASES[i].status == TC_OK) {
            assert_true(tc_slice_eq(tc_grow_slice(&out), tc_slice_cstr(CASES[i].out)));
        }
        assert_non_null(strstr(err.message, CASES[i].why));
        tc_grow_fini(&out);
    }
}

static void one_that_hangs_is_killed_with_its_children(void **state)
{
    struct tc_grow out = {0};
    char text[1600];
    char bytes[32] = "";
    (void)state;
    const char *path = world_path(w, "pid");
    (void)snprintf(text, sizeof text, "sleep 1000 & echo $! >%s; wait", path);
    assert_int_equal(run(text, TC_SECOND / 2, 8, &out), TC_E_IO);
    assert_non_null(strstr(err.message, "killed"));
    tc_grow_fini(&out);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, bytes, sizeof bytes - 1) > 0);
    (void)close(fd);
    int64_t until_ns = tc_mono_ns() + PATIENCE_NS;
    int64_t pid = 0;
    assert_true(tc_slice_i64(tc_slice_cstr(bytes), &pid) > 0);
    /* It is gone, or a zombie that whoever adopted it has not waited for. */
    for (bool is_gone = false; !is_gone;) {
        char status[64];
        char line[256] = "";
        (void)snprintf(status, sizeof status, "/proc/%lld/stat", (long long)pid);
        FILE *f = fopen(status, "re");
        is_gone = f == NULL || fgets(line, sizeof line, f) == NULL || strstr(line, ") Z") != NULL;
        if (f != NULL) {
            (void)fclose(f);
        }
        assert_true(tc_mono_ns() < until_ns);
        (void)usleep(2000);
    }
}

static void what_is_not_there_is_said(void **state)
{
    const char *args[] = {"/nonexistent/sacct", NULL};
    struct tc__command c = {.args = args, .timeout_ns = TC_SECOND, .bytes_max = 8, .stop_fd = -1};
    struct tc_grow out = {0};
    (void)state;
    assert_int_equal(tc__command_run(&c, &out, &err), TC_E_IO);
    assert_non_null(strstr(err.message, "No such file"));
    tc_grow_fini(&out);
    assert_true(tc__command_is_there("sh"));
    assert_true(tc__command_is_there("/bin/sh"));
    assert_false(tc__command_is_there("/etc/passwd"));
    assert_false(tc__command_is_there("no-such-command"));
    assert_true(tc_slurm_is_there("sh", "cat"));
    assert_false(tc_slurm_is_there("sh", "no-such-command"));
    assert_false(tc_slurm_is_there("no-such-command", "sh"));
}

/* ---- rows ---- */

static void what_makes_a_row_another(void **state)
{
    bool is_row = false;
    uint64_t a = tc__slurm_job_hash(TC_LIT("7|RUNNING|0:0|n1|Unknown"), &is_row);
    (void)state;
    assert_true(is_row);
    assert_int_not_equal(a, tc__slurm_job_hash(TC_LIT("7|FAILED|1:0|n1|Unknown"), &is_row));
    (void)tc__slurm_job_hash(TC_LIT("no row"), &is_row);
    assert_false(is_row);
    (void)tc__slurm_job_hash(TC_LIT("7 RUNNING"), &is_row);
    assert_false(is_row);
    (void)tc__slurm_job_hash(TC_EMPTY, &is_row);
    assert_false(is_row);
    a = tc__slurm_node_hash(TC_LIT("NodeName=n1 CPULoad=0.1 State=IDLE X=1 Reason=a b"), &is_row);
    assert_true(is_row);
    assert_int_equal(a, tc__slurm_node_hash(
                            TC_LIT("NodeName=n1 CPULoad=9.9 State=IDLE X=2 Reason=a b"), &is_row));
    assert_int_not_equal(a,
                         tc__slurm_node_hash(TC_LIT("NodeName=n2 State=IDLE Reason=a b"), &is_row));
    assert_int_not_equal(a,
                         tc__slurm_node_hash(TC_LIT("NodeName=n1 State=DOWN Reason=a b"), &is_row));
    assert_int_not_equal(a,
                         tc__slurm_node_hash(TC_LIT("NodeName=n1 State=IDLE Reason=a c"), &is_row));
    (void)tc__slurm_node_hash(TC_LIT("NodeName=n1 CPUs=4"), &is_row);
    assert_false(is_row);
    (void)tc__slurm_node_hash(TC_LIT("JobId=1 State=x"), &is_row);
    assert_false(is_row);
}

static void rows_have_bounds(void **state)
{
    static char row[TC__ROW_MAX + 2];
    struct tc__rows r = {.stream = 'j'};
    (void)state;
    memset(row, '|', sizeof row);
    row[0] = '1';
    assert_int_equal(
        tc__rows_look(&r, TC_EMPTY, tc_slice_make(row, TC__ROW_MAX), tc__slurm_job_hash), TC_OK);
    assert_int_equal(r.lost, 0);
    assert_int_equal(r.new_rows, 1);
    assert_int_equal(
        tc__rows_look(&r, TC_EMPTY, tc_slice_make(row, TC__ROW_MAX + 1), tc__slurm_job_hash),
        TC_OK);
    assert_int_equal(r.lost, 1);
    assert_int_equal(r.new_rows, 0);
    assert_int_equal(tc__rows_look(&r, TC_EMPTY, TC_LIT("garbage\nmore\n"), tc__slurm_job_hash),
                     TC_E_MALFORMED);
    assert_int_equal(tc__rows_look(&r, TC_EMPTY, TC_LIT("\n"), tc__slurm_job_hash), TC_OK);
    tc__rows_fini(&r);
}

static void positions_that_are_none_are_left_alone(void **state)
{
    static const char *const CASES[] = {"", "x", "-1", "99999999999999999999",
                                        "x 0123456789abcdef"};
    struct tc__rows r = {.stream = 'j'};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(CASES); i++) {
        assert_int_equal(tc__rows_restore(&r, TC_LIT("j1"), tc_slice_cstr(CASES[i])), TC_OK);
    }
    assert_int_equal(tc__rows_restore(&r, TC_LIT("n1"), TC_LIT("5 0123456789abcdef")), TC_OK);
    assert_int_equal(r.time_ns, 0);
    assert_int_equal(r.seen_count, 0);
    assert_int_equal(tc__rows_restore(&r, TC_LIT("j1"), TC_LIT("5 0123456789abcdef 12 zz")), TC_OK);
    assert_int_equal(tc__rows_restore(&r, TC_LIT("j2"), TC_LIT("4 0000000000000001")), TC_OK);
    tc__rows_ready(&r);
    assert_int_equal(r.time_ns, 5);
    assert_int_equal(r.seen_count, 2);
    assert_int_equal(r.seen[0], 1);
    tc__rows_fini(&r);
}

/* ---- the source ---- */

static void start(const char *sacct, const char *scontrol)
{
    struct tc_slurm_config config = {.sacct = tc_slice_cstr(sacct),
                                     .scontrol = tc_slice_cstr(scontrol),
                                     .interval_ns = TC_SECOND / 50,
                                     .timeout_ns = 3600 * TC_SECOND,
                                     .back_ns = 3600 * TC_SECOND};
    void *source = NULL;
    assert_int_equal(tc_slurm_create(&config, &source, &err), TC_OK);
    world_start(w, &tc_source_slurm, source);
}

static void only_what_changes_is_stored(void **state)
{
    (void)state;
    const char *jobs = script("sacct", "printf '" HEADER "7|RUNNING|0:0|n1|Unknown\n'");
    const char *nodes = script("scontrol", ":");
    start(jobs, nodes);
    await_text(w, HEADER "7|RUNNING|0:0|n1|Unknown\n");
    (void)script("sacct", "printf '" HEADER "7|FAILED|1:0|n1|2026-11-18T01:00:00\n'");
    await_text(w,
               HEADER "7|RUNNING|0:0|n1|Unknown\n" HEADER "7|FAILED|1:0|n1|2026-11-18T01:00:00\n");
    /* The node's load changes each time. */
    (void)script("scontrol", "echo NodeName=n1 CPULoad=$$ State=IDLE ThreadsPerCore=1");
    int64_t until_ns = tc_mono_ns() + PATIENCE_NS;
    while (w->chunks < 3 && tc_mono_ns() < until_ns) {
        (void)usleep(2000);
    }
    (void)usleep(300000);
    world_stop(w);
    assert_int_equal(w->chunks, 3);
    assert_int_equal(w->health.state, TC_SOURCE_OK);
    assert_int_equal(w->health.records, 3);
    assert_true(tc_slice_starts(tc_grow_slice(&w->notes), TC_LIT("sacct|||slurm|+00:00\n")));
    /* After a restart nothing comes again. */
    start(jobs, nodes);
    (void)await_health(w, TC_SOURCE_OK);
    (void)usleep(100000);
    world_stop(w);
    assert_int_equal(w->chunks, 3);
}

static void killed_at_a_put_nothing_is_doubled_nor_lost(void **state)
{
    (void)state;
    const char *jobs = script("sacct", "printf '" HEADER "7|FAILED|1:0|n1|Unknown\n'");
    const char *nodes = script("scontrol", ":");
    for (int i = 0; i < 2; i++) {
        w->puts_left = 0;
        w->dies_durable = i == 1;
        start(jobs, nodes);
        int64_t until_ns = tc_mono_ns() + PATIENCE_NS;
        while (!tc_port_is_stopping(w->port) && tc_mono_ns() < until_ns) {
            (void)usleep(2000);
        }
        world_stop(w);
        assert_int_equal(w->chunks, i);
    }
    w->puts_left = -1;
    start(jobs, nodes);
    (void)await_health(w, TC_SOURCE_OK);
    world_stop(w);
    assert_true(has_text(w, HEADER "7|FAILED|1:0|n1|Unknown\n"));
}

static void more_than_fits_at_once_comes_in_rounds(void **state)
{
    (void)state;
    /* 700 rows of 8,000 bytes are more than 64 times 60 KiB. */
    const char *jobs = script(
        "sacct", "printf '" HEADER "'\nawk 'BEGIN { s = sprintf(\"%7980s\", \"\"); "
                 "gsub(/ /, \"x\", s); for (i = 0; i < 700; i++) print i \"|RUNNING|\" s }'");
    start(jobs, script("scontrol", ":"));
    int64_t until_ns = tc_mono_ns() + PATIENCE_NS;
    struct tc_source_health h = {0};
    while (h.records < 700 && tc_mono_ns() < until_ns) {
        tc_port_health(w->port, &h);
        (void)usleep(2000);
    }
    (void)usleep(200000);
    world_stop(w);
    assert_int_equal(w->health.records, 700);
    assert_int_equal(w->health.state, TC_SOURCE_OK);
}

static void what_fails_is_said(void **state)
{
    (void)state;
    const char *bad = script("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1");
    start(bad, script("scontrol", "echo NodeName=n1 State=DOWN"));
    struct tc_source_health h = await_health(w, TC_SOURCE_FAILING);
    assert_non_null(strstr(h.error, "Slurm accounting storage is disabled"));
    await_text(w, "NodeName=n1 State=DOWN\n"); /* the other goes on */
    (void)script("sacct", "printf '" HEADER "'");
    (void)await_health(w, TC_SOURCE_OK);
    (void)script("sacct", "echo garbage");
    h = await_health(w, TC_SOURCE_FAILING);
    assert_non_null(strstr(h.error, "something else than a table"));
    (void)script("sacct", "printf '" HEADER "'");
    (void)await_health(w, TC_SOURCE_OK);
    (void)script("scontrol", "echo garbage");
    h = await_health(w, TC_SOURCE_FAILING);
    assert_non_null(strstr(h.error, "something else than rows"));
}

static void a_hanging_command_does_not_hold_up_the_end(void **state)
{
    (void)state;
    start(script("sacct", "sleep 1000"), script("scontrol", ":"));
    (void)usleep(50000);
    world_stop(w);
    assert_int_equal(w->chunks, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        T(commands_end_in_some_way),
        T(one_that_hangs_is_killed_with_its_children),
        T(what_is_not_there_is_said),
        T(what_makes_a_row_another),
        T(rows_have_bounds),
        T(positions_that_are_none_are_left_alone),
        T(only_what_changes_is_stored),
        T(killed_at_a_put_nothing_is_doubled_nor_lost),
        T(more_than_fits_at_once_comes_in_rounds),
        T(what_fails_is_said),
        T(a_hanging_command_does_not_hold_up_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
