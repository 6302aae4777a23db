/* SPDX-License-Identifier: Apache-2.0 */
/* The tree is made by the test itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "cli/output/say.h"
#include "codec/codec.h"
#include "intake/inputs.h"
#include "intake/walk.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static const char *at(const char *name)
{
    static char path[8][512];
    static unsigned turn;
    char *p = path[turn++ % 8];
    (void)snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static void make(const char *name, const char *content)
{
    int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    (void)close(fd);
}

static int setup(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/tc_walk_XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int delete_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    return nftw(folder, delete_entry, 32, FTW_DEPTH | FTW_PHYS);
}

/* Messages of the code under test are not the test's output. */
static int hide_stderr(void)
{
    int saved = dup(STDERR_FILENO);
    int null = open("/dev/null", O_WRONLY);
    (void)dup2(null, STDERR_FILENO);
    (void)close(null);
    return saved;
}

static void show_stderr(int saved)
{
    (void)dup2(saved, STDERR_FILENO);
    (void)close(saved);
}

static void directories_give_their_files_by_name(void **state)
{
    (void)state;
    assert_int_equal(mkdir(at("b"), 0700), 0);
    make("z", "");
    make("a", "");
    make("b/m", "");
    make(".hidden", "");
    make("b/.hidden", "");
    assert_int_equal(mkdir(at(".git"), 0700), 0);
    make(".git/x", "");
    assert_int_equal(symlink(folder, at("circle")), 0);
    assert_int_equal(symlink(at("a"), at("link")), 0);
    assert_int_equal(symlink(at("nowhere"), at("dangling")), 0);
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    struct tc_walk w = {.say = tc_say_plain};
    assert_int_equal(tc_walk_add(&w, folder), TC_OK);
    static const char *const names[] = {"a", "b/m", "link", "z"};
    assert_int_equal(w.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(w.files[i].path, at(names[i]));
        assert_false(w.files[i].direct);
    }
    assert_int_equal(w.skipped, 3); /* circle, dangling, pipe; what is hidden is not counted */
    tc_walk_end(&w);
    assert_int_equal(w.count, 4);
    assert_false(w.failed);
    tc_walk_fini(&w);
}

static void of_too_many_files_the_first_in_order_of_path_stay(void **state)
{
    (void)state;
    char path[512];
    assert_int_equal(mkdir(at("d"), 0700), 0);
    for (int i = 0; i < 40; i++) {
        (void)snprintf(path, sizeof path, "%s%02d", i % 2 == 0 ? "d/" : "f", (i * 7) % 40);
        make(path, "");
    }
    for (size_t most = 39; most <= 40; most++) {
        struct tc_walk w = {.count_max = most, .say = tc_say_plain};
        int saved = hide_stderr();
        tc_status status = tc_walk_add(&w, folder);
        tc_walk_end(&w);
        show_stderr(saved);
        assert_int_equal(status, TC_OK);
        assert_int_equal(w.count, most);
        assert_int_equal(w.left_out, 40 - most);
        assert_int_equal(w.failed, most < 40);
        tc_walk_fini(&w);
    }
    struct tc_walk w = {.count_max = 7, .say = tc_say_plain}; /* cut more than once on the way */
    int saved = hide_stderr();
    tc_status status = tc_walk_add(&w, folder);
    status = status == TC_OK ? tc_walk_add(&w, at("d/00")) : status;
    tc_walk_end(&w);
    show_stderr(saved);
    assert_int_equal(status, TC_OK);
    static const char *const names[] = {"d/00", "d/00", "d/02", "d/04", "d/06", "d/08", "d/10"};
    assert_int_equal(w.count, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_string_equal(w.files[i].path, at(names[i]));
    }
    assert_int_equal(w.left_out, 34);
    assert_true(w.failed);
    tc_walk_fini(&w);
}

static void what_is_named_is_taken_as_it_is(void **state)
{
    (void)state;
    make(".hidden", "");
    struct tc_walk w = {.say = tc_say_plain};
    assert_int_equal(tc_walk_add(&w, at(".hidden")), TC_OK);
    assert_int_equal(tc_walk_add(&w, "does/not/exist"), TC_OK);
    assert_int_equal(tc_walk_add(&w, "-"), TC_OK);
    assert_int_equal(w.count, 3);
    assert_true(w.files[0].direct && w.files[1].direct && w.files[2].direct);
    assert_string_equal(w.files[1].path, "does/not/exist");
    assert_string_equal(w.files[2].path, "-");
    tc_walk_fini(&w);
}

static void a_slash_at_the_end_is_not_doubled(void **state)
{
    (void)state;
    make("a", "");
    struct tc_walk w = {.say = tc_say_plain};
    assert_int_equal(tc_walk_add(&w, at("")), TC_OK);
    assert_int_equal(w.count, 1);
    assert_string_equal(w.files[0].path, at("a"));
    tc_walk_fini(&w);
}

static void depth_is_bounded_and_said(void **state)
{
    (void)state;
    char deep[512] = "d";
    for (unsigned i = 1; i <= TC_DIR_DEPTH_MAX; i++) {
        assert_int_equal(mkdir(at(deep), 0700), 0);
        char file[560];
        (void)snprintf(file, sizeof file, "%s/f", deep);
        make(file, "");
        size_t len = strlen(deep);
        (void)snprintf(deep + len, sizeof deep - len, "/d");
    }
    struct tc_walk w = {.say = tc_say_plain};
    int saved = hide_stderr();
    tc_status status = tc_walk_add(&w, folder);
    show_stderr(saved);
    assert_int_equal(status, TC_OK);
    /* The directory given is the first level, so the last of ours is one too deep. */
    assert_int_equal(w.count, TC_DIR_DEPTH_MAX - 1);
    assert_true(w.failed);
    tc_walk_fini(&w);
}

static void a_directory_that_cannot_be_read_is_said(void **state)
{
    (void)state;
    if (geteuid() == 0) {
        skip(); /* root reads everything */
    }
    assert_int_equal(mkdir(at("locked"), 0), 0);
    struct tc_walk w = {.say = tc_say_plain};
    int saved = hide_stderr();
    tc_status status = tc_walk_add(&w, folder);
    show_stderr(saved);
    assert_int_equal(status, TC_OK);
    assert_true(w.failed);
    tc_walk_fini(&w);
}

static const char XID[] = "2026-11-15T03:04:05,123456+00:00 NVRM: Xid (PCI:0000:b3:00): 79, "
                          "pid=1234, GPU has fallen off the bus.\n";

static tc_status open_inputs(struct tc_inputs *in, char **paths, size_t count, bool verbose,
                             bool by_path)
{
    struct tc_inputs_want want = {"test", tc_say_plain, NULL, verbose, by_path};
    int saved = hide_stderr();
    tc_status status = tc_inputs_open(in, paths, count, &want);
    show_stderr(saved);
    return status;
}

static void walked_files_that_are_not_recognised_are_counted_and_named_ones_fail(void **state)
{
    (void)state;
    make("dmesg-gpu-07.txt", XID);
    make("junk", "\x01\x02\x03 nothing we know");
    make("empty", "");
    struct tc_inputs in;
    char *paths[] = {folder};
    assert_int_equal(open_inputs(&in, paths, 1, false, false), TC_OK);
    assert_int_equal(in.count, 1);
    assert_int_equal(in.unrecognised, 1); /* an empty file is not counted */
    assert_false(in.failed);
    assert_string_equal(in.items[0].codec->name, "kmsg");
    assert_int_equal(in.total_bytes, sizeof XID - 1);
    tc_inputs_close(&in);
    char junk[512];
    (void)snprintf(junk, sizeof junk, "%s", at("junk"));
    char *direct[] = {junk};
    assert_int_equal(open_inputs(&in, direct, 1, false, false), TC_OK);
    assert_true(in.failed);
    assert_int_equal(in.count, 0);
    tc_inputs_close(&in);
    char empty[512];
    (void)snprintf(empty, sizeof empty, "%s", at("empty"));
    direct[0] = empty;
    assert_int_equal(open_inputs(&in, direct, 1, false, false), TC_OK);
    assert_true(in.failed);
    tc_inputs_close(&in);
}

static void make_bytes(const char *name, struct tc_slice bytes)
{
    int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes.ptr, bytes.len), (ssize_t)bytes.len);
    (void)close(fd);
}

/* What opening the folder says on standard error. */
static const char *said_about_folder(struct tc_inputs *in, const struct tc_codec *codec)
{
    static char text[4096];
    struct tc_inputs_want want = {"detect", tc_say_plain, codec, false, false};
    char *paths[] = {folder};
    int saved = dup(STDERR_FILENO);
    int said = memfd_create("said", 0);
    (void)dup2(said, STDERR_FILENO);
    tc_status status = tc_inputs_open(in, paths, 1, &want);
    show_stderr(saved);
    assert_int_equal(status, TC_OK);
    ssize_t len = pread(said, text, sizeof text - 1, 0);
    text[len < 0 ? 0 : len] = '\0';
    (void)close(said);
    return text;
}

static void utf16_is_named_with_a_remedy_and_fails(void **state)
{
    (void)state;
    static const struct {
        struct tc_slice bytes;
        const char *remedy; /* NULL: an ordinary file nobody knows */
    } cases[] = {
        {{"\xff\xfe[\0 \0", 6}, "UTF-16 text; convert it first (iconv -f UTF-16 -t UTF-8 "},
        {{"\xfe\xff\0[\0 ", 6}, "UTF-16 text; convert it first"},
        {{"[\0 \0a\0\n\0", 8}, "UTF-16 text; convert it first"},
        {{"\0[\0 \0a\0\n", 8}, "UTF-16 text; convert it first"},
        {{"[\0 \0a\0", 6}, NULL},
        {{"[\0 \0\x01\0\n\0", 8}, NULL},
        {{"[\0 \0a\0bc", 8}, NULL},
        {{"\x1f\x8a\x08", 3}, NULL},
        {{"BZ-", 3}, NULL},
        {{"\xfd\x37\x7a\x58", 4}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_inputs in;
        make_bytes("dmesg.txt", cases[i].bytes);
        const char *said = said_about_folder(&in, NULL);
        assert_int_equal(in.failed, cases[i].remedy != NULL);
        assert_int_equal(in.unrecognised, cases[i].remedy == NULL);
        assert_int_equal(in.count, 0);
        if (cases[i].remedy != NULL) {
            assert_non_null(strstr(said, cases[i].remedy));
            assert_non_null(strstr(said, "/dmesg.txt | tracecore detect -)\n"));
        }
        tc_inputs_close(&in);
        said = said_about_folder(&in, &tc_codec_kmsg); /* --format cannot read it either */
        assert_int_equal(in.failed, cases[i].remedy != NULL);
        assert_int_equal(in.count, cases[i].remedy == NULL);
        tc_inputs_close(&in);
    }
}

static void a_name_in_a_remedy_is_one_word_of_a_shell(void **state)
{
    (void)state;
    struct tc_inputs in;
    make_bytes("a $(b) 'c.txt", TC_LIT("\xff\xfe[\0"));
    const char *said = said_about_folder(&in, NULL);
    char expected[512];
    (void)snprintf(expected, sizeof expected, "-t UTF-8 '%s/a $(b) '\\''c.txt' | tracecore",
                   folder);
    assert_non_null(strstr(said, expected));
    tc_inputs_close(&in);
}

static void the_same_file_twice_is_read_once(void **state)
{
    (void)state;
    make("dmesg-gpu-07.txt", XID);
    make("dmesg-gpu-08.txt", XID);
    struct tc_inputs in;
    char again[512];
    (void)snprintf(again, sizeof again, "%s", at("dmesg-gpu-08.txt"));
    char *paths[] = {again, folder, again};
    assert_int_equal(open_inputs(&in, paths, 3, true, false), TC_OK);
    assert_int_equal(in.count, 2);
    assert_string_equal(in.items[0].path, at("dmesg-gpu-08.txt"));
    assert_string_equal(in.items[1].path, at("dmesg-gpu-07.txt"));
    assert_int_equal(in.total_bytes, 2 * (sizeof XID - 1));
    tc_inputs_close(&in);
    assert_int_equal(open_inputs(&in, paths, 3, true, true), TC_OK);
    assert_int_equal(in.count, 2);
    assert_string_equal(in.items[0].path, at("dmesg-gpu-07.txt"));
    assert_string_equal(in.items[1].path, at("dmesg-gpu-08.txt"));
    tc_inputs_close(&in);
}

static void sources_have_name_digest_and_bytes(void **state)
{
    (void)state;
    make("dmesg-gpu-07.txt", XID);
    struct tc_inputs in;
    char *paths[] = {folder};
    assert_int_equal(open_inputs(&in, paths, 1, false, false), TC_OK);
    struct tc_sources sources = tc_inputs_sources(&in);
    struct tc_source_view view;
    assert_true(sources.view(sources.context, 0, &view));
    assert_true(tc_slice_ends(view.name, TC_LIT("/dmesg-gpu-07.txt")));
    assert_int_equal(view.digest.len, TC_DIGEST_TEXT_MAX);
    assert_int_equal(view.bytes.len, sizeof XID - 1);
    assert_false(sources.view(sources.context, 1, &view));
    assert_false(sources.view(sources.context, TC_SOURCE_NONE, &view));
    tc_inputs_close(&in);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(directories_give_their_files_by_name),
        TEST(of_too_many_files_the_first_in_order_of_path_stay),
        TEST(what_is_named_is_taken_as_it_is),
        TEST(a_slash_at_the_end_is_not_doubled),
        TEST(depth_is_bounded_and_said),
        TEST(a_directory_that_cannot_be_read_is_said),
        TEST(walked_files_that_are_not_recognised_are_counted_and_named_ones_fail),
        TEST(utf16_is_named_with_a_remedy_and_fails),
        TEST(a_name_in_a_remedy_is_one_word_of_a_shell),
        TEST(the_same_file_twice_is_read_once),
        TEST(sources_have_name_digest_and_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
