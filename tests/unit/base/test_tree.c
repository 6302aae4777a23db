/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/os/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
}

/* root, with directories within each other and a file in the innermost. */
static void make(const char *root, unsigned depth)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s", root);
    for (unsigned i = 0; i < depth; i++) {
        size_t len = strlen(path);
        (void)snprintf(path + len, sizeof path - len, "/d");
        assert_int_equal(mkdir(path, 0700), 0);
    }
    size_t len = strlen(path);
    (void)snprintf(path + len, sizeof path - len, "/file");
    put(path);
}

static void all_of_it_is_gone_down_to_its_depth(void **state)
{
    (void)state;
    char root[] = "/tmp/tc_unit_tree_XXXXXX";
    char link[64];
    char kept[64];
    struct tc_error err;
    assert_non_null(mkdtemp(root));
    (void)snprintf(kept, sizeof kept, "%s.kept", root);
    (void)snprintf(link, sizeof link, "%s/link", root);
    put(kept);
    assert_int_equal(symlink(kept, link), 0);
    make(root, TC_TREE_DEPTH_MAX);
    assert_int_equal(tc_tree_remove(root, &err), TC_OK);
    assert_int_not_equal(access(root, F_OK), 0);
    assert_int_equal(access(kept, F_OK), 0); /* what a link points to is no part of it */
    assert_int_equal(tc_tree_remove(root, &err), TC_OK);
    assert_int_equal(unlink(kept), 0);
}

static void what_lies_deeper_stays_and_is_named(void **state)
{
    (void)state;
    char root[] = "/tmp/tc_unit_tree_XXXXXX";
    char inner[64];
    struct tc_error err;
    assert_non_null(mkdtemp(root));
    make(root, TC_TREE_DEPTH_MAX + 1);
    assert_int_equal(tc_tree_remove(root, &err), TC_E_IO);
    assert_non_null(strstr(err.message, "/d/d/d/d/d"));
    (void)snprintf(inner, sizeof inner, "%s/d", root);
    assert_int_equal(tc_tree_remove(inner, &err), TC_OK);
    assert_int_equal(tc_tree_remove(root, &err), TC_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_is_gone_down_to_its_depth),
        cmocka_unit_test(what_lies_deeper_stays_and_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
