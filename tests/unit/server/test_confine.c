/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char top[] = "/tmp/tc_confine_XXXXXX";
static char inside[64];
static char outside[64];

static int group_setup(void **state)
{
    (void)state;
    if (mkdtemp(top) == NULL) {
        return -1;
    }
    (void)snprintf(inside, sizeof inside, "%s/in", top);
    (void)snprintf(outside, sizeof outside, "%s/out", top);
    return mkdir(inside, 0700) != 0 || mkdir(outside, 0700) != 0;
}

static int group_teardown(void **state)
{
    (void)state;
    (void)rmdir(inside);
    (void)rmdir(outside);
    return rmdir(top);
}

/* What a child that is confined returns; a process cannot be freed again. */
static int in_child(int (*what)(void))
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const char *folders[] = {inside, NULL};
        struct tc_confined done = tc_confine(folders, 2);
        _exit(done.files && done.calls ? what() : 77);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("this kernel has no Landlock of version 2, or no seccomp\n");
        skip();
    }
    return WEXITSTATUS(status);
}

static int make(const char *folder, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int error = fd < 0 ? errno : 0;
    if (fd >= 0) {
        error = write(fd, "x", 1) == 1 ? 0 : errno;
        (void)close(fd);
        (void)unlink(path);
    }
    return error;
}

static int write_inside(void)
{
    char from[128];
    char to[128];
    (void)snprintf(from, sizeof from, "%s/a", inside);
    (void)snprintf(to, sizeof to, "%s/sub/b", inside);
    int error = make(inside, "file");
    (void)snprintf(to, sizeof to, "%s/sub", inside);
    error = error == 0 && mkdir(to, 0700) != 0 ? errno : error;
    int fd = open(from, O_WRONLY | O_CREAT, 0600);
    error = error == 0 && fd < 0 ? errno : error;
    (void)close(fd);
    (void)snprintf(to, sizeof to, "%s/sub/b", inside);
    error = error == 0 && rename(from, to) != 0 ? errno : error;
    (void)unlink(to);
    (void)snprintf(to, sizeof to, "%s/sub", inside);
    (void)rmdir(to);
    return error;
}

static int write_outside(void)
{
    return make(outside, "file");
}

static int read_outside(void)
{
    int fd = open("/proc/self/status", O_RDONLY);
    return fd < 0 ? errno : close(fd);
}

static int write_nowhere(void)
{
    int fd = open("/dev/null", O_WRONLY);
    return fd < 0 ? errno : close(fd);
}

static int leave_namespace(void)
{
    return unshare(CLONE_NEWNS) == 0 ? 0 : errno;
}

static int mount_something(void)
{
    return mount("none", inside, "tmpfs", 0, NULL) == 0 ? 0 : errno;
}

/* The second way to mount, since Linux 5.2. */
static int open_file_system(void)
{
    return syscall(SYS_fsopen, "tmpfs", 0) >= 0 ? 0 : errno;
}

static int clone_mount(void)
{
    return syscall(SYS_open_tree, AT_FDCWD, inside, 1U /* OPEN_TREE_CLONE */) >= 0 ? 0 : errno;
}

/* A descriptor of another process is as good as tracing it. */
static int take_descriptor(void)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    return fd >= 0 && syscall(SYS_pidfd_getfd, fd, fd, 0) >= 0 ? 0 : errno;
}

static int call_of_x32(void)
{
    return syscall(0x40000000 + SYS_getpid) > 0 ? 0 : errno;
}

static void *try_outside(void *context)
{
    *(int *)context = write_outside();
    return NULL;
}

static int thread_writes_outside(void)
{
    pthread_t thread;
    int error = 0;
    if (pthread_create(&thread, NULL, try_outside, &error) != 0) {
        return 1;
    }
    (void)pthread_join(thread, NULL);
    return error;
}

static void files_are_written_inside_only(void **state)
{
    (void)state;
    assert_int_equal(make(outside, "before"), 0);
    assert_int_equal(in_child(write_inside), 0);
    assert_int_equal(in_child(write_outside), EACCES);
    assert_int_equal(in_child(thread_writes_outside), EACCES);
    assert_int_equal(in_child(read_outside), 0);
    assert_int_equal(in_child(write_nowhere), 0);
}

static void calls_that_are_never_needed_are_refused(void **state)
{
    (void)state;
    assert_int_equal(in_child(leave_namespace), EPERM);
    assert_int_equal(in_child(mount_something), EPERM);
    assert_int_equal(in_child(open_file_system), EPERM);
    assert_int_equal(in_child(clone_mount), EPERM);
    assert_int_equal(in_child(take_descriptor), EPERM);
    assert_int_equal(in_child(call_of_x32), EPERM);
}

static void a_folder_that_is_not_there_closes_nothing(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const char *folders[] = {inside, "/no/such/folder"};
        struct tc_confined done = tc_confine(folders, 2);
        _exit(!done.files && write_outside() == 0 ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_written_inside_only),
        cmocka_unit_test(calls_that_are_never_needed_are_refused),
        cmocka_unit_test(a_folder_that_is_not_there_closes_nothing),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
