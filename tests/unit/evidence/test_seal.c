/* SPDX-License-Identifier: Apache-2.0 */
/* Segments become objects, objects are listed, kept while there is room, and found again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/evidence/evidence_testing.h"

#include <pthread.h>
#include <sys/wait.h>

/* A segment for every few batches. */
static struct tc_store_config tiny_segments(void)
{
    struct tc_store_config config = small_config();
    config.segment_bytes = 1000;
    return config;
}

static size_t count_files(const char *sub)
{
    char path[256];
    size_t count = 0;
    (void)snprintf(path, sizeof path, "%s/%s", test_dir, sub);
    DIR *d = opendir(path);
    if (d == NULL) {
        return 0;
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        count += e->d_name[0] != '.';
    }
    (void)closedir(d);
    return count;
}

static size_t count_objects(void)
{
    size_t count = 0;
    for (unsigned i = 0; i < 256; i++) {
        char sub[32];
        (void)snprintf(sub, sizeof sub, "objects/%02x", i);
        count += count_files(sub);
    }
    return count;
}

static void expect_all(uint64_t count)
{
    struct seen seen = {.sized = true};
    walk_all(&seen, 0);
    assert_int_equal(seen.count, count);
    assert_int_equal(seen.bad, 0);
}

static void segments_are_sealed(void **state)
{
    (void)state;
    struct tc_store_config config = tiny_segments();
    for (uint64_t i = 1; i <= 10; i++) {
        struct tc_store *s = open_store(&config);
        assert_int_equal(tc_store_next_number(s), (i - 1) * 30 + 1);
        fill(s, 30, 2);
        struct tc_store_stats stats = stats_of(s);
        assert_true(stats.sealed > 3);
        assert_int_equal(stats.seal_failures, 0);
        assert_true(stats.object_bytes > 0);
        expect_all(i * 30);
        tc_store_close(s);
    }
    assert_string_equal(said, "");
    assert_true(count_files("open") <= 1);
    struct tc_evidence *e = open_evidence();
    struct tc_error err = {0};
    for (uint64_t n = 1; n <= 300; n++) {
        struct tc_slice body;
        assert_int_equal(tc_evidence_body(e, n, &body, &err), TC_OK);
        assert_true(tc_slice_eq(body, body_of(n, size_of(n))));
    }
    tc_evidence_close(e);
}

static void old_age_seals(void **state)
{
    (void)state;
    struct tc_store_config config = small_config();
    config.segment_ns = 10 * TC_SECOND; /* a batch a second */
    struct tc_store *s = open_store(&config);
    fill(s, 10, 1);
    assert_int_equal(stats_of(s).sealed, 0);
    fill(s, 1, 1);
    assert_int_equal(stats_of(s).sealed, 1);
    assert_int_equal(count_files("open"), 0);
    tc_store_close(s);
    expect_all(11);
}

/* The name of the object that holds a batch, as in objects.idx; the line's offset too. */
static uint64_t object_of(uint64_t number, char *out, size_t size)
{
    char path[256];
    char line[257] = {0};
    (void)snprintf(path, sizeof path, "%s/objects.idx", test_dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (off_t at = 0; pread(fd, line, 256, at) == 256; at += 256) {
        unsigned long long first = 0;
        unsigned long long last = 0;
        char hex[80];
        assert_int_equal(
            sscanf(line, "%*c %llu %llu %*u %*u %*u %*u %*u %*u %79s", &first, &last, hex), 3);
        if (first <= number && number <= last) {
            (void)snprintf(out, size, "%s/objects/%.2s/%s", test_dir, hex, hex);
            (void)close(fd);
            return (uint64_t)at;
        }
    }
    fail_msg("no object holds %llu", (unsigned long long)number);
    return 0;
}

static void objects_are_named_by_their_bytes(void **state)
{
    (void)state;
    char path[256];
    static char bytes[1 << 20];
    char hex[80] = {0};
    struct tc_store_config config = tiny_segments();
    struct tc_store *s = open_store(&config);
    fill(s, 30, 2);
    tc_store_close(s);
    for (uint64_t n = 1; n < 20; n++) {
        struct tc_digest digest;
        struct stat st;
        (void)object_of(n, path, sizeof path);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t len = read(fd, bytes, sizeof bytes);
        assert_true(len > 0 && fstat(fd, &st) == 0);
        assert_int_equal(st.st_mode & 0777, 0444);
        (void)close(fd);
        assert_int_equal(tc_digest_sha256(tc_slice_make(bytes, (size_t)len), &digest), TC_OK);
        (void)tc_put_hex_bytes(hex, digest.bytes, sizeof digest.bytes);
        assert_string_equal(strrchr(path, '/') + 1, hex);
    }
}

static void a_lost_index_is_written_anew(void **state)
{
    (void)state;
    char path[256];
    struct tc_store_config config = tiny_segments();
    struct tc_store *s = open_store(&config);
    fill(s, 60, 2);
    uint64_t bytes = stats_of(s).object_bytes;
    tc_store_close(s);
    (void)snprintf(path, sizeof path, "%s/objects.idx", test_dir);
    uint64_t size = file_size(path);
    for (uint64_t at = 0; at <= size; at += 77) {
        said[0] = '\0';
        if (at < size) {
            flip(path, at, 0x40);
        } else {
            assert_int_equal(unlink(path), 0);
        }
        s = open_store(&config);
        assert_non_null(strstr(said, "anew"));
        assert_int_equal(stats_of(s).object_bytes, bytes);
        assert_int_equal(tc_store_next_number(s), 61);
        tc_store_close(s);
        assert_int_equal(file_size(path), size);
        expect_all(60);
    }
    /* A torn last line, as after a crash, is no damage. */
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(write(fd, "o 12", 4), 4);
    (void)close(fd);
    expect_all(60);
    said[0] = '\0';
    s = open_store(&config);
    assert_null(strstr(said, "anew"));
    assert_non_null(strstr(said, "torn tail of 4 bytes"));
    tc_store_close(s);
    assert_int_equal(file_size(path), size);
}

static void cited_bodies_are_found_by_digest(void **state)
{
    (void)state;
    struct tc_store_config config = tiny_segments();
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    struct tc_digest digest;
    fill(s, 30, 2);
    for (uint64_t n = 2; n <= 30; n += 7) {
        assert_int_equal(tc_digest_sha256(body_of(n, size_of(n)), &digest), TC_OK);
        assert_int_equal(tc_store_cite(s, n, &digest, &err), TC_OK);
        assert_int_equal(tc_store_cite(s, n, &digest, &err), TC_OK);
    }
    assert_int_equal(stats_of(s).cited, 5);
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
    tc_store_close(s);
    struct tc_evidence *e = open_evidence();
    for (uint64_t n = 1; n <= 30; n++) {
        uint64_t found = 0;
        bool cited = n % 7 == 2;
        assert_int_equal(tc_digest_sha256(body_of(n, size_of(n)), &digest), TC_OK);
        if (size_of(n) > 1) {
            assert_int_equal(tc_evidence_find(e, &digest, false, &found, &err),
                             cited ? TC_OK : TC_E_NOTFOUND);
            assert_true(!cited || found == n);
            assert_int_equal(tc_evidence_find(e, &digest, true, &found, &err), TC_OK);
            assert_int_equal(found, n);
        }
    }
    digest.bytes[0] ^= 1;
    uint64_t found = 0;
    assert_int_equal(tc_evidence_find(e, &digest, true, &found, &err), TC_E_NOTFOUND);
    tc_evidence_close(e);
    struct seen seen = {.sized = true};
    walk_all(&seen, 0);
    assert_int_equal(seen.cited, 5);
}

/* A number that was cited is not given out again, though its batch is lost. */
static void cited_numbers_are_not_used_again(void **state)
{
    (void)state;
    struct tc_store_config config = small_config();
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    struct tc_digest digest = {{1}};
    assert_int_equal(tc_store_cite(s, 41, &digest, &err), TC_OK);
    tc_store_close(s);
    s = open_store(&config);
    assert_int_equal(tc_store_next_number(s), 42);
    assert_int_equal(stats_of(s).cited, 1);
    tc_store_close(s);
}

static void the_oldest_uncited_go_first(void **state)
{
    (void)state;
    char path[256];
    struct tc_store_config config = tiny_segments();
    config.keep_bytes = 200000;
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    struct tc_digest digest = {{7}};
    fill(s, 6, 1);
    assert_int_equal(tc_store_cite(s, 4, &digest, &err), TC_OK);
    (void)object_of(4, path, sizeof path);
    fill(s, 100, 1);
    struct tc_store_stats stats = stats_of(s);
    assert_true(stats.deleted > 10);
    assert_true(stats.object_bytes <= config.keep_bytes);
    assert_int_equal(stats.object_bytes > 0, 1);
    assert_int_equal(access(path, R_OK), 0);
    size_t objects = count_objects();
    struct seen seen = {.sized = true};
    walk_all(&seen, 0);
    assert_int_equal(seen.bad, 0);
    assert_true(seen.count > 6 && seen.count < 106);
    assert_int_equal(seen.numbers[0], 4);
    tc_store_close(s);
    /* The sums are the same at the next start. */
    s = open_store(&config);
    assert_int_equal(stats_of(s).object_bytes, stats.object_bytes);
    assert_int_equal(count_objects(), objects);
    assert_string_equal(said, "");
    /* When only cited ones are left, they go. */
    for (uint64_t n = 1; n <= 300; n++) {
        assert_int_equal(tc_store_cite(s, n, &digest, &err), TC_OK);
    }
    fill(s, 100, 1);
    assert_true(stats_of(s).object_bytes <= config.keep_bytes);
    assert_true(stats_of(s).kept_bytes >= stats_of(s).object_bytes);
    struct seen kept = {.sized = true};
    walk_all(&kept, 0);
    assert_int_equal(stats_of(s).kept_batches, kept.count);
    assert_int_not_equal(access(path, R_OK), 0);
    tc_store_close(s);
}

/* Many deleted objects do not make the index grow. */
static void the_index_is_squeezed(void **state)
{
    (void)state;
    char path[256];
    struct tc_store_config config = tiny_segments();
    config.keep_bytes = 20000;
    config.segment_bytes = 1;
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    struct tc_digest digest = {{7}};
    assert_int_equal(append_one(s, 1, 10), TC_OK);
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
    assert_int_equal(tc_store_cite(s, 1, &digest, &err), TC_OK);
    for (uint64_t n = 2; n < 1300; n++) {
        assert_int_equal(append_one(s, n, 10), TC_OK);
        assert_int_equal(tc_store_commit(s, &err), TC_OK);
    }
    struct tc_store_stats stats = stats_of(s);
    assert_true(stats.deleted > 1100);
    tc_store_close(s);
    (void)snprintf(path, sizeof path, "%s/objects.idx", test_dir);
    assert_int_equal(file_size(path), 1299 * 256);
    s = open_store(&config);
    assert_int_equal(stats_of(s).object_bytes, stats.object_bytes);
    assert_int_equal(tc_store_next_number(s), 1300);
    tc_store_close(s);
    /* The first, a line for all that are gone, and those that are kept. */
    assert_int_equal(file_size(path) / 256, 1299 - stats.deleted + 1);
    struct seen seen = {0};
    walk_all(&seen, 0);
    assert_int_equal(seen.count, 1299 - stats.deleted);
    assert_int_equal(seen.numbers[0], 1);
    assert_int_equal(seen.bad, 0);
}

static uint64_t replay(struct tc_evidence *e, int64_t since_ns, uint64_t bytes_max)
{
    uint64_t number = 0;
    struct tc_error err = {0};
    assert_int_equal(tc_evidence_replay_from(e, since_ns, bytes_max, &number, &err), TC_OK);
    return number;
}

/* The same answer as by looking at every batch. */
static void a_replay_begins_where_it_should(void **state)
{
    (void)state;
    struct tc_store_config config = tiny_segments();
    struct tc_store *s = open_store(&config);
    struct tc_evidence *e = open_evidence();
    assert_int_equal(replay(e, 0, 0), 1);
    fill(s, 60, 2);
    for (uint64_t since = 0; since <= 62; since++) {
        for (uint64_t max = 0; max < 800000; max += 12345) {
            uint64_t want = 61;
            uint64_t sum = 0;
            for (uint64_t n = 60; n > 0 && n >= since; n--) {
                sum += size_of(n);
                if (max > 0 && sum > max) {
                    break;
                }
                want = n;
            }
            uint64_t got = replay(e, T0 + (int64_t)since * TC_SECOND, max);
            assert_int_equal(got, want);
        }
    }
    tc_evidence_close(e);
    tc_store_close(s);
}

/* What another process sees while batches are added, sealed and deleted. */
static void reads_while_it_is_written(void **state)
{
    (void)state;
    struct tc_store_config config = tiny_segments();
    struct tc_store *s = open_store(&config);
    fill(s, 1, 1);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fill(s, 600, 2);
        _exit(0);
    }
    struct tc_evidence *e = open_evidence();
    struct tc_error err = {0};
    int status = 0;
    size_t before = 0;
    bool ended = false;
    do {
        ended = waitpid(child, &status, WNOHANG) == child;
        struct seen seen = {.sized = true};
        assert_int_equal(tc_evidence_walk(e, 0, true, take_batch, count_bad, &seen, &err), TC_OK);
        assert_int_equal(seen.bad, 0);
        assert_true(seen.count >= before);
        assert_int_equal(seen.numbers[seen.count - 1], seen.count);
        before = seen.count;
        struct tc_slice body;
        assert_int_equal(tc_evidence_body(e, before, &body, &err), TC_OK);
        assert_true(replay(e, T0, 0) == 1);
    } while (!ended);
    assert_int_equal(status, 0);
    assert_int_equal(before, 601);
    tc_evidence_close(e);
    tc_store_close(s);
}

/* Citations and figures from other threads while batches are added and sealed. */
struct citer {
    struct tc_store *s;
    uint64_t from;
};

static void *cite_many(void *context)
{
    struct citer *c = context;
    struct tc_error err = {0};
    struct tc_digest digest = {{9}};
    for (uint64_t n = c->from; n < c->from + 500; n++) {
        digest.bytes[1] = (uint8_t)n;
        struct tc_store_stats stats = stats_of(c->s);
        if (tc_store_cite(c->s, n, &digest, &err) != TC_OK || stats.commit_failures > 0 ||
            !tc_store_has_room(c->s)) {
            return context;
        }
    }
    return NULL;
}

static void other_threads_may_cite(void **state)
{
    (void)state;
    struct tc_store_config config = tiny_segments();
    struct tc_store *s = open_store(&config);
    struct citer citers[3];
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++) {
        citers[i] = (struct citer){s, 1 + i * 500};
        assert_int_equal(pthread_create(&threads[i], NULL, cite_many, &citers[i]), 0);
    }
    fill(s, 200, 2);
    for (size_t i = 0; i < 3; i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(stats_of(s).cited, 1500);
    tc_store_close(s);
    s = open_store(&config);
    assert_int_equal(stats_of(s).cited, 1500);
    assert_int_equal(tc_store_next_number(s), 1501);
    tc_store_close(s);
    struct seen seen = {.sized = true};
    walk_all(&seen, 0);
    assert_int_equal(seen.cited, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(segments_are_sealed, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(old_age_seals, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(objects_are_named_by_their_bytes, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_lost_index_is_written_anew, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(cited_bodies_are_found_by_digest, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(cited_numbers_are_not_used_again, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_oldest_uncited_go_first, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_index_is_squeezed, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_replay_begins_where_it_should, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(other_threads_may_cite, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(reads_while_it_is_written, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
