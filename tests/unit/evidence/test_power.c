/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loss of power leaves behind on ext4 and xfs: files that have grown, with zeros where the
 * bytes were to be. Zeros at the end are a torn tail, whatever they follow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evidence/verify.h"
#include "unit/evidence/evidence_testing.h"

static void add_zeros(const char *path, size_t count)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size + (off_t)count), 0);
}

static void path_of(char *out, size_t size, const char *name)
{
    (void)snprintf(out, size, "%s/%s", test_dir, name);
}

static void cite(struct tc_store *s, uint64_t number)
{
    struct tc_digest digest;
    struct tc_error err = {0};
    assert_int_equal(tc_digest_sha256(body_of(number, size_of(number)), &digest), TC_OK);
    assert_int_equal(tc_store_cite(s, number, &digest, &err), TC_OK);
}

static void ignore_damage(void *context, const struct tc_verify_finding *f)
{
    (void)context;
    (void)f;
}

static struct tc_verify_result verify(void)
{
    struct tc_error err = {0};
    struct tc_verify_result r;
    struct tc_verify_sink sink = {.damage = ignore_damage};
    struct tc_evidence *e = open_evidence();
    assert_int_equal(tc_evidence_verify(e, &sink, &r, &err), TC_OK);
    tc_evidence_close(e);
    return r;
}

/* Opens and closes the store once; what it said is in `said`. */
static void start_once(const struct tc_store_config *config)
{
    said[0] = '\0';
    tc_store_close(open_store(config));
}

static size_t times_said(const char *what)
{
    size_t count = 0;
    for (const char *p = said; (p = strstr(p, what)) != NULL; p++) {
        count++;
    }
    return count;
}

static void zeros_behind_citations_are_cut(void **state)
{
    (void)state;
    static const size_t zeros[] = {1, 127, 128, 129, 4096, 300 * 128 + 5, 1 << 20};
    char path[256];
    struct tc_store_config config = small_config();
    struct tc_store *s = open_store(&config);
    fill(s, 8, 2);
    cite(s, 3);
    cite(s, 5);
    tc_store_close(s);
    path_of(path, sizeof path, "citations.idx");
    uint64_t whole = file_size(path);
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++) {
        /* With and without a part of a line before them. */
        for (size_t part = 0; part <= 100; part += 50) {
            char line[100];
            memset(line, '7', sizeof line);
            int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
            assert_int_equal(write(fd, line, part), (ssize_t)part);
            (void)close(fd);
            add_zeros(path, zeros[i]);
            start_once(&config);
            assert_int_equal(file_size(path), whole);
            assert_int_equal(times_said("citations.idx: cut a torn tail of "), 1);
            char bytes[32];
            (void)snprintf(bytes, sizeof bytes, " %zu bytes", part + zeros[i]);
            assert_int_equal(times_said(bytes), 1);
            struct tc_verify_result r = verify();
            assert_int_equal(r.citations, 2);
            assert_int_equal(r.damaged, 0);
        }
    }
    s = open_store(&config);
    cite(s, 6);
    assert_int_equal(stats_of(s).cited, 3);
    tc_store_close(s);
    assert_int_equal(verify().citations, 3);
}

/* A line that is damaged otherwise stays, and is told by verify. */
static void a_damaged_last_citation_is_no_torn_tail(void **state)
{
    (void)state;
    char path[256];
    struct tc_store_config config = small_config();
    struct tc_store *s = open_store(&config);
    fill(s, 4, 1);
    cite(s, 2);
    tc_store_close(s);
    path_of(path, sizeof path, "citations.idx");
    flip(path, 10, 0x40);
    start_once(&config);
    assert_int_equal(said[0], '\0');
    assert_int_equal(file_size(path), 128);
    assert_int_equal(verify().damaged, 1);
}

static void zeros_behind_the_list_of_objects_are_cut(void **state)
{
    (void)state;
    char path[256];
    struct tc_store_config config = small_config();
    config.segment_bytes = 4096;
    struct tc_store *s = open_store(&config);
    fill(s, 30, 2);
    tc_store_close(s);
    path_of(path, sizeof path, "objects.idx");
    uint64_t whole = file_size(path);
    assert_true(whole > 0);
    for (size_t zeros = 1; zeros < 10000; zeros = zeros * 3 + 1) {
        add_zeros(path, zeros);
        start_once(&config);
        assert_int_equal(times_said("objects.idx: cut a torn tail of "), 1);
        assert_int_equal(times_said("anew"), 0);
        assert_int_equal(file_size(path), whole);
        assert_int_equal(verify().damaged, 0);
    }
}

/* Each length that a segment may be whole to, with zeros from there on. */
static void zeros_behind_batches_are_cut(void **state)
{
    (void)state;
    char path[256];
    struct tc_store_config config = small_config();
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    uint64_t ends[4] = {64};
    for (uint64_t n = 1; n <= 3; n++) {
        assert_int_equal(append_one(s, n, n * 700), TC_OK);
        assert_int_equal(tc_store_commit(s, &err), TC_OK);
        segment_path(path, sizeof path);
        ends[n] = file_size(path);
    }
    tc_store_close(s);
    static char bytes[16384];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, bytes, sizeof bytes), (ssize_t)ends[3]);
    (void)close(fd);
    for (uint64_t cut = 0; cut <= ends[3]; cut += 61) {
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, bytes, (size_t)cut), (ssize_t)cut);
        assert_int_equal(ftruncate(fd, (off_t)ends[3] + 4096), 0);
        (void)close(fd);
        uint64_t whole = cut >= ends[3] ? 3 : cut >= ends[2] ? 2 : cut >= ends[1] ? 1 : 0;
        struct tc_verify_result r = verify(); /* also before the next start */
        assert_int_equal(r.damaged, cut < 64);
        assert_int_equal(r.torn_bytes, ends[3] + 4096 - ends[whole]);
        said[0] = '\0';
        s = open_store(&config);
        struct tc_store_stats stats = stats_of(s);
        tc_store_close(s);
        assert_int_equal(stats.damaged, 0);
        assert_int_equal(stats.torn_bytes, ends[3] + 4096 - ends[whole]);
        assert_int_equal(times_said("cut a torn tail of "), 1);
        if (whole > 0) {
            assert_int_equal(file_size(path), ends[whole]);
        }
        struct seen seen = {0};
        walk_all(&seen, 0);
        assert_int_equal(seen.count, whole);
        assert_int_equal(seen.bad, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(zeros_behind_citations_are_cut, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_damaged_last_citation_is_no_torn_tail, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(zeros_behind_the_list_of_objects_are_cut, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(zeros_behind_batches_are_cut, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
