/* SPDX-License-Identifier: Apache-2.0 */
/* The tars here are written by the test itself, so that they can be wrong on purpose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "intake/archive/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 512
#define TAR_MAX (64 * BLOCK)

static char tar[TAR_MAX];
static size_t tar_len;
static struct tc_error err;

static int begin_tar(void **state)
{
    (void)state;
    memset(tar, 0, sizeof tar);
    tar_len = 0;
    return 0;
}

static void add_member(const char *name, char type, const char *content)
{
    char *h = tar + tar_len;
    unsigned sum = 0;
    size_t len = strlen(content);
    (void)snprintf(h, 100, "%s", name);
    memcpy(h + 100, "0000644", 8);
    memcpy(h + 108, "0000000", 8);
    memcpy(h + 116, "0000000", 8);
    (void)snprintf(h + 124, 12, "%011o", (unsigned)len);
    (void)snprintf(h + 136, 12, "%011o", 1000U);
    memset(h + 148, ' ', 8);
    h[156] = type;
    memcpy(h + 157, "/etc/passwd", 12);
    memcpy(h + 257, "ustar\00000", 8);
    for (size_t i = 0; i < BLOCK; i++) {
        sum += (unsigned char)h[i];
    }
    (void)snprintf(h + 148, 8, "%06o", sum);
    memcpy(h + BLOCK, content, len);
    tar_len += BLOCK + (len + BLOCK - 1) / BLOCK * BLOCK;
    assert_true(tar_len + 2 * BLOCK <= TAR_MAX);
}

struct content {
    char text[4096];
    size_t len;
};

static tc_status keep(void *context, struct tc_slice bytes, struct tc_error *e)
{
    struct content *c = context;
    (void)e;
    assert_true(c->len + bytes.len < sizeof c->text);
    memcpy(c->text + c->len, bytes.ptr, bytes.len);
    c->len += bytes.len;
    c->text[c->len] = '\0';
    return TC_OK;
}

static tc_status count(void *context, struct tc_slice bytes, struct tc_error *e)
{
    (void)e;
    *(uint64_t *)context += bytes.len;
    return TC_OK;
}

static struct tc_slice tar_bytes(void)
{
    return tc_slice_make(tar, tar_len + 2 * BLOCK);
}

static struct tc_archive *open_bytes(struct tc_slice bytes, const char *name)
{
    struct tc_archive *a = NULL;
    assert_int_equal(
        tc_archive_open(bytes, tc_slice_cstr(name), &tc_archive_limits_default, &a, &err), TC_OK);
    return a;
}

static void files_come_in_order_with_their_content_and_time(void **state)
{
    (void)state;
    add_member("logs/dmesg-gpu07.txt", '0', "one");
    add_member("logs/", '5', "");
    add_member("empty", '0', "");
    add_member("two", '0', "content of two");
    assert_true(tc_archive_is(tar_bytes()));
    struct tc_archive *a = open_bytes(tar_bytes(), "b.tar");
    struct tc_archive_member m;
    struct content c = {.len = 0};
    bool end = false;
    assert_int_equal(tc_archive_next(a, &m, &end, &err), TC_OK);
    assert_false(end);
    assert_true(tc_slice_eq(m.name, TC_LIT("logs/dmesg-gpu07.txt")));
    assert_int_equal(m.mtime_ns, 1000 * TC_SECOND);
    assert_false(m.only);
    assert_int_equal(tc_archive_read(a, keep, &c, &err), TC_OK);
    assert_string_equal(c.text, "one");
    assert_int_equal(tc_archive_next(a, &m, &end, &err), TC_OK);
    assert_true(tc_slice_eq(m.name, TC_LIT("empty")));
    assert_int_equal(tc_archive_next(a, &m, &end, &err), TC_OK); /* not read: stepped over */
    assert_true(tc_slice_eq(m.name, TC_LIT("two")));
    c.len = 0;
    assert_int_equal(tc_archive_read(a, keep, &c, &err), TC_OK);
    assert_string_equal(c.text, "content of two");
    assert_int_equal(tc_archive_next(a, &m, &end, &err), TC_OK);
    assert_true(end);
    tc_archive_close(a);
}

static void names_do_not_lead_out_and_links_are_no_files(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"../../etc/dmesg", "etc/dmesg"},
        {"/abs/./path", "abs/path"},
        {"a//b/../c", "a/b/c"},
        {"./..", "unnamed"},
    };
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        add_member(names[i][0], '0', "x");
    }
    add_member("symlink", '2', "");
    add_member("hardlink", '1', "");
    add_member("fifo", '6', "");
    add_member("device", '3', "");
    struct tc_archive *a = open_bytes(tar_bytes(), "b.tar");
    struct tc_archive_member m;
    bool end = false;
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        assert_int_equal(tc_archive_next(a, &m, &end, &err), TC_OK);
        assert_false(end);
        assert_true(tc_slice_eq(m.name, tc_slice_cstr(names[i][1])));
    }
    /* A hard link has the type of what it links to, and nothing of its own. */
    do {
        assert_int_equal(tc_archive_next(a, &m, &end, &err), TC_OK);
        assert_true(end || tc_slice_eq(m.name, TC_LIT("hardlink")));
    } while (!end);
    tc_archive_close(a);
}

/* gzip of "hello\n", made with gzip -n. */
static const char HELLO_GZ[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\xe7"
                               "\x02\x00\x20\x30\x3a\x36\x06\x00\x00\x00";

static void a_compressed_file_has_one_member_named_like_it(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"logs/dmesg-n1.txt.gz", "dmesg-n1.txt"},
        {"dmesg", "dmesg"},
        {".gz", ".gz"},
        {"-", "-"},
        {"dmesg.zst", "dmesg.zst"},
    };
    struct tc_slice bytes = tc_slice_make(HELLO_GZ, sizeof HELLO_GZ - 1);
    assert_true(tc_archive_is(bytes));
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        struct tc_archive *a = open_bytes(bytes, names[i][0]);
        struct tc_archive_member m;
        struct content c = {.len = 0};
        bool end = false;
        assert_int_equal(tc_archive_next(a, &m, &end, &err), TC_OK);
        assert_true(m.only);
        assert_true(tc_slice_eq(m.name, tc_slice_cstr(names[i][1])));
        assert_int_equal(tc_archive_read(a, keep, &c, &err), TC_OK);
        assert_string_equal(c.text, "hello\n");
        assert_int_equal(tc_archive_next(a, &m, &end, &err), TC_OK);
        assert_true(end);
        tc_archive_close(a);
    }
}

static void damage_is_told_and_what_came_before_it_was_given(void **state)
{
    (void)state;
    struct tc_archive_member m;
    bool end = false;
    add_member("first", '0', "whole");
    add_member("second", '0', "torn");
    struct tc_archive *a = open_bytes(tc_slice_make(tar, 3 * BLOCK + 2), "b.tar");
    struct content c = {.len = 0};
    assert_int_equal(tc_archive_next(a, &m, &end, &err), TC_OK);
    assert_int_equal(tc_archive_read(a, keep, &c, &err), TC_OK);
    assert_string_equal(c.text, "whole");
    tc_status status = tc_archive_next(a, &m, &end, &err);
    if (status == TC_OK) {
        status = tc_archive_read(a, keep, &c, &err);
    }
    assert_int_equal(status, TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "cannot be unpacked: "));
    tc_archive_close(a);
    /* Short enough to be read when it is opened. */
    struct tc_slice torn = tc_slice_make(HELLO_GZ, sizeof HELLO_GZ - 6);
    assert_int_equal(tc_archive_open(torn, TC_LIT("x.gz"), &tc_archive_limits_default, &a, &err),
                     TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "cannot be unpacked: "));
}

static void open_limited(struct tc_archive_limits limits, struct tc_archive **out)
{
    assert_int_equal(tc_archive_open(tar_bytes(), TC_LIT("b.tar"), &limits, out, &err), TC_OK);
}

static void members_are_bounded(void **state)
{
    (void)state;
    struct tc_archive_limits limits = tc_archive_limits_default;
    struct tc_archive *a = NULL;
    struct tc_archive_member m;
    bool end = false;
    add_member("a", '0', "1");
    add_member("b", '5', "");
    add_member("c", '0', "3");
    limits.members = 3;
    open_limited(limits, &a);
    while (!end) {
        assert_int_equal(tc_archive_next(a, &m, &end, &err), TC_OK);
    }
    tc_archive_close(a);
    limits.members = 2;
    open_limited(limits, &a);
    assert_int_equal(tc_archive_next(a, &m, &end, &err), TC_OK);
    assert_int_equal(tc_archive_next(a, &m, &end, &err), TC_E_LIMIT);
    assert_non_null(strstr(err.message, "more than 2 members"));
    tc_archive_close(a);
}

static void bytes_and_growth_are_bounded(void **state)
{
    (void)state;
    struct tc_archive_limits limits = tc_archive_limits_default;
    struct tc_archive *a = NULL;
    struct tc_archive_member m;
    uint64_t bytes = 0;
    bool end = false;
    add_member("a", '0', "0123456789");
    limits.bytes = 10;
    open_limited(limits, &a);
    assert_int_equal(tc_archive_next(a, &m, &end, &err), TC_OK);
    assert_int_equal(tc_archive_read(a, count, &bytes, &err), TC_OK);
    assert_int_equal(bytes, 10);
    tc_archive_close(a);
    limits.bytes = 9;
    open_limited(limits, &a);
    assert_int_equal(tc_archive_next(a, &m, &end, &err), TC_OK);
    assert_int_equal(tc_archive_read(a, count, &bytes, &err), TC_E_LIMIT);
    assert_non_null(strstr(err.message, "holds more than"));
    tc_archive_close(a);
}

/* 2 MiB of "A", made with gzip -9 -n: 2,064 bytes, so it grows 1,016 times. */
static size_t make_bomb(char *out, size_t cap)
{
    FILE *f = popen("head -c 2097152 /dev/zero | tr '\\0' A | gzip -9 -n", "r");
    assert_non_null(f);
    size_t len = fread(out, 1, cap, f);
    assert_int_equal(pclose(f), 0);
    return len;
}

static void a_bomb_is_noticed_once_it_is_large(void **state)
{
    (void)state;
    static char bomb[8192];
    size_t len = make_bomb(bomb, sizeof bomb);
    for (int strict = 0; strict < 2; strict++) {
        struct tc_archive_limits limits = tc_archive_limits_default;
        struct tc_archive *a = NULL;
        struct tc_archive_member m;
        uint64_t bytes = 0;
        bool end = false;
        limits.growth = strict ? 100 : 1100;
        limits.growth_after = 1 << 20;
        assert_int_equal(
            tc_archive_open(tc_slice_make(bomb, len), TC_LIT("a.gz"), &limits, &a, &err), TC_OK);
        assert_int_equal(tc_archive_next(a, &m, &end, &err), TC_OK);
        tc_status status = tc_archive_read(a, count, &bytes, &err);
        assert_int_equal(status, strict ? TC_E_LIMIT : TC_OK);
        assert_true(strict ? bytes <= (1 << 20) + (256 << 10) : bytes == 2 << 20);
        assert_true(!strict || strstr(err.message, "grows more than 100 times") != NULL);
        tc_archive_close(a);
    }
}

static void what_is_no_archive_is_known_by_its_first_bytes(void **state)
{
    (void)state;
    static const char zip[] = "PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x09\0\0\0";
    char weights[64] = {0};
    memcpy(weights, zip, sizeof zip - 1);
    memcpy(weights + 30, "dmesg.txt", 9);
    assert_true(tc_archive_is(tc_slice_make(weights, sizeof weights)));
    weights[26] = 12;
    memcpy(weights + 30, "ckpt/data.pkl", 13);
    weights[26] = 13;
    assert_false(tc_archive_is(tc_slice_make(weights, sizeof weights)));
    memcpy(weights + 30, "arr_0.npy", 9);
    weights[26] = 9;
    assert_false(tc_archive_is(tc_slice_make(weights, sizeof weights)));
    assert_false(tc_archive_is(TC_LIT("PK\x03\x04")));
    assert_false(tc_archive_is(TC_LIT("[  1.0] NVRM: Xid (PCI:0000:48:00): 48")));
    assert_false(tc_archive_is(TC_EMPTY));
    assert_true(tc_archive_is(TC_LIT("BZh9")));
    assert_true(tc_archive_is(TC_LIT("\xfd\x37\x7a\x58\x5a\x00")));
    assert_false(tc_archive_is(TC_LIT("\x1f\x8a")));
}

#define TEST(f) cmocka_unit_test_setup(f, begin_tar)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_come_in_order_with_their_content_and_time),
        TEST(names_do_not_lead_out_and_links_are_no_files),
        TEST(a_compressed_file_has_one_member_named_like_it),
        TEST(damage_is_told_and_what_came_before_it_was_given),
        TEST(members_are_bounded),
        TEST(bytes_and_growth_are_bounded),
        TEST(a_bomb_is_noticed_once_it_is_large),
        TEST(what_is_no_archive_is_known_by_its_first_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
