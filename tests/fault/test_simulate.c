/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore simulate` with every allocation and every write failing in turn: no crash,
 * no leak, and an exit status that says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/command.h"
#include "cli/output/say.h"
#include "support/faulty.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS_MAX 2000
#define ARGS_MAX 9

static int take_away(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

/* Into a directory of its own, which goes away again. */
static int run(bool streams)
{
    char folder[] = "/tmp/tc_fault_XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *words[ARGS_MAX] = {"simulate",    "--nodes=5", "--gpus-per-node=2",
                                   "--hours=0.5", "--seed=3",  "--faults",
                                   "mixed",       "--out",     folder};
    int args = ARGS_MAX - streams;
    char *argv[ARGS_MAX + 1] = {0};
    for (int i = 0; i < args; i++) {
        argv[i] = strdup(streams && i == args - 1 ? "--stream" : words[i]);
    }
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        (void)dup2(null, STDERR_FILENO);
        (void)dup2(null, STDOUT_FILENO);
        int status = tc_command_simulate.run(args, argv);
        tc_faulty_plan->fault = FAULT_NONE;
        _exit(status);
    }
    for (int i = 0; i < args; i++) {
        free(argv[i]);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(nftw(folder, take_away, 8, FTW_DEPTH | FTW_PHYS), 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void fail_each(enum fault fault, bool streams)
{
    for (long n = 0; n < CALLS_MAX; n++) {
        *tc_faulty_plan = (struct plan){.fault = fault, .write_fd = -1, .fail_at = n};
        int status = run(streams);
        if (!tc_faulty_plan->hit) {
            assert_int_equal(status, TC_EXIT_OK);
            assert_true(n > 10);
            return;
        }
        assert_int_equal(status, TC_EXIT_BAD);
    }
    fail_msg("more than %d calls", CALLS_MAX);
}

static void it_survives_every_failing_allocation(void **state)
{
    (void)state;
    fail_each(FAULT_ALLOC, false);
}

static void a_stream_survives_every_failing_allocation(void **state)
{
    (void)state;
    fail_each(FAULT_ALLOC, true);
}

static void it_reports_every_failing_write(void **state)
{
    (void)state;
    fail_each(FAULT_WRITE, false);
}

static int setup(void **state)
{
    (void)state;
    return tc_faulty_init();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_survives_every_failing_allocation),
        cmocka_unit_test(a_stream_survives_every_failing_allocation),
        cmocka_unit_test(it_reports_every_failing_write),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
