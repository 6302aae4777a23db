/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/dirs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];
static char part[TC_DIRS_PATH_BYTES];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/tc_dirs_XXXXXX");
    return mkdtemp(folder) == NULL || chdir(folder) != 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink("file");
    (void)rmdir("a/b/c");
    (void)rmdir("a/b");
    (void)rmdir("a");
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void all_above_is_made_for_the_owner(void **state)
{
    (void)state;
    static const char *const paths[] = {"a", "a/b", "a/b/c"};
    struct stat st;
    assert_int_equal(tc_dirs_make("a//b/c/", part), 0);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        assert_int_equal(stat(paths[i], &st), 0);
        assert_true(S_ISDIR(st.st_mode));
        assert_int_equal(st.st_mode & 077, 0);
    }
    assert_int_equal(tc_dirs_make("a/b/c", part), 0); /* again */
}

static void an_absolute_path_is_one_too(void **state)
{
    (void)state;
    char path[128];
    (void)snprintf(path, sizeof path, "%s/a/b", folder);
    assert_int_equal(tc_dirs_make(path, part), 0);
    assert_int_equal(access("a/b", R_OK), 0);
    assert_int_equal(tc_dirs_make("/", part), 0);
}

static void what_cannot_be_made_is_named(void **state)
{
    (void)state;
    FILE *f = fopen("file", "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(tc_dirs_make("file/a/b", part), ENOTDIR);
    assert_string_equal(part, "file/a");
}

static void a_path_has_a_length(void **state)
{
    (void)state;
    char path[TC_DIRS_PATH_BYTES + 1];
    assert_int_equal(tc_dirs_make("", part), ENOENT);
    memset(path, '/', sizeof path);
    path[TC_DIRS_PATH_BYTES] = '\0';
    assert_int_equal(tc_dirs_make(path, part), ENAMETOOLONG);
    assert_string_equal(part, "");
    path[TC_DIRS_PATH_BYTES - 1] = '\0';
    assert_int_equal(tc_dirs_make(path, part), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_above_is_made_for_the_owner, setup, teardown),
        cmocka_unit_test_setup_teardown(an_absolute_path_is_one_too, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_made_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(a_path_has_a_length, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
