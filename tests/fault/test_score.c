/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore score` with every allocation and every write failing in turn: no crash, no
 * leak, and an exit status that says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/command.h"
#include "cli/output/say.h"
#include "support/faulty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS_MAX 1000
#define ARGS 5

/* Of two files of the tree: a chain that is proved, and one verdict too many. */
static char truth_path[512];
static char verdicts_path[512];

static int run(const char *option, int out_fd)
{
    const char *words[ARGS] = {"score", option, "--truth", truth_path, verdicts_path};
    char *argv[ARGS + 1] = {0};
    for (int i = 0; i < ARGS; i++) {
        argv[i] = strdup(words[i]);
    }
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        (void)dup2(out_fd, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
        int status = tc_command_score.run(ARGS, argv);
        tc_faulty_plan->fault = FAULT_NONE;
        _exit(status);
    }
    for (int i = 0; i < ARGS; i++) {
        free(argv[i]);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct output {
    int fd;
    size_t len;
    char text[1 << 16];
};

static int run_and_keep(const char *option, struct output *o)
{
    assert_int_equal(ftruncate(o->fd, 0), 0);
    assert_int_equal(lseek(o->fd, 0, SEEK_SET), 0);
    int status = run(option, o->fd);
    ssize_t len = pread(o->fd, o->text, sizeof o->text, 0);
    assert_true(len >= 0 && (size_t)len < sizeof o->text);
    o->len = (size_t)len;
    return status;
}

/* A failure is told, or did not matter: then the output is the very same. */
static void fail_each(const char *option, enum fault fault)
{
    static struct output whole;
    static struct output now;
    whole.fd = memfd_create("whole", 0);
    now.fd = memfd_create("now", 0);
    assert_true(whole.fd >= 0 && now.fd >= 0);
    *tc_faulty_plan = (struct plan){.fault = FAULT_NONE, .write_fd = STDOUT_FILENO};
    assert_int_equal(run_and_keep(option, &whole), TC_EXIT_OK);
    assert_true(whole.len > 0);
    for (long n = 0; n < CALLS_MAX; n++) {
        *tc_faulty_plan = (struct plan){.fault = fault, .write_fd = STDOUT_FILENO, .fail_at = n};
        int status = run_and_keep(option, &now);
        bool same = status == TC_EXIT_OK && now.len == whole.len &&
                    memcmp(now.text, whole.text, now.len) == 0;
        if (!tc_faulty_plan->hit) {
            assert_true(same && n > 0);
            (void)close(whole.fd);
            (void)close(now.fd);
            return;
        }
        if (status != TC_EXIT_BAD && !same) {
            fail_msg("%s: call %ld failed, exit status %d", option, n, status);
        }
    }
    fail_msg("more than %d calls", CALLS_MAX);
}

static void it_survives_every_failing_allocation(void **state)
{
    (void)state;
    fail_each("--json", FAULT_ALLOC);
    fail_each("--list=3", FAULT_ALLOC);
}

static void it_reports_every_failing_write(void **state)
{
    (void)state;
    fail_each("--json", FAULT_WRITE);
}

static int setup(void **state)
{
    (void)state;
    const char *root = getenv("TC_SOURCE_DIR");
    (void)snprintf(truth_path, sizeof truth_path, "%s/docs/score/truth.ndjson",
                   root == NULL ? "." : root);
    (void)snprintf(verdicts_path, sizeof verdicts_path, "%s/docs/score/verdicts.ndjson",
                   root == NULL ? "." : root);
    return tc_faulty_init();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_survives_every_failing_allocation),
        cmocka_unit_test(it_reports_every_failing_write),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
