/* SPDX-License-Identifier: Apache-2.0 */
/* Objects wait until they are shipped, are not deleted before, and are found again afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evidence/ship.h"
#include "evidence/verify.h"
#include "unit/evidence/evidence_testing.h"

#define BATCHES 24
#define URL_1 "s3://one/p"
#define URL_2 "s3://two/p"

static struct tc_store_config shipping(uint64_t keep_bytes)
{
    struct tc_store_config config = small_config();
    config.segment_bytes = 1000;
    config.keep_bytes = keep_bytes;
    config.remote_url = URL_1;
    return config;
}

/* The copy of an object, beside the store. */
static void copy_path(const struct tc_digest *digest, char out[256])
{
    char text[TC_DIGEST_TEXT];
    tc_digest_text(digest, text);
    (void)snprintf(out, 256, "%s/copy-%s", test_dir, text + 7);
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 20];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t len = read(in, bytes, sizeof bytes);
    assert_true(in >= 0 && out >= 0 && len > 0 && write(out, bytes, (size_t)len) == len);
    (void)close(in);
    (void)close(out);
}

/* Ships up to `max` objects; how many there were. Each comes after the one before. */
static size_t ship(struct tc_store *s, size_t max)
{
    struct tc_object_info info;
    struct tc_error err = {0};
    char path[TC_STORE_PATH_BYTES];
    char copy[256];
    uint64_t last = 0;
    bool any = true;
    size_t count = 0;
    for (; count < max; count++) {
        assert_int_equal(tc_store_unshipped(s, 0, &info, path, &any, &err), TC_OK);
        if (!any) {
            break;
        }
        assert_true(info.first > last);
        last = info.last;
        copy_path(&info.digest, copy);
        copy_file(path, copy);
        assert_int_equal(tc_store_mark_shipped(s, &info, &err), TC_OK);
    }
    return count;
}

static tc_status fetch_status;

static tc_status fetch(void *context, const struct tc_object_info *info, int *out_fd,
                       struct tc_error *err)
{
    char copy[256];
    ++*(size_t *)context;
    if (fetch_status != TC_OK) {
        return tc_fail(err, fetch_status, 0, "no fetching");
    }
    copy_path(&info->digest, copy);
    *out_fd = open(copy, O_RDONLY | O_CLOEXEC);
    return *out_fd >= 0 ? TC_OK : tc_fail(err, TC_E_MALFORMED, 0, "no copy");
}

static struct tc_evidence *open_remote(size_t *fetched)
{
    struct tc_evidence *e = open_evidence();
    fetch_status = TC_OK;
    tc_evidence_fetch_from(
        e, &(struct tc_evidence_remote){.fetch = fetch, .context = fetched, .name = URL_1});
    return e;
}

struct listed {
    size_t here;
    size_t remote;
    uint64_t last;
};

static tc_status take_object(void *context, const struct tc_object_info *info)
{
    struct listed *l = context;
    assert_true(info->first > l->last);
    l->last = info->last;
    l->here += !info->is_remote;
    l->remote += info->is_remote;
    return TC_OK;
}

static struct listed list(struct tc_evidence *e)
{
    struct listed l = {0};
    struct tc_error err = {0};
    assert_int_equal(tc_evidence_objects(e, take_object, NULL, &l, &err), TC_OK);
    return l;
}

/* More than fits is kept as long as nothing was shipped; then it goes, and is found. */
static void nothing_is_deleted_before_it_is_shipped(void **state)
{
    (void)state;
    size_t fetched = 0;
    struct tc_store_config config = shipping(1);
    struct tc_store *s = open_store(&config);
    fill(s, BATCHES, 2);
    struct tc_store_stats stats = stats_of(s);
    uint64_t objects = stats.sealed;
    assert_true(objects >= 4);
    assert_int_equal(stats.deleted, 0);
    assert_int_equal(stats.unshipped, objects);
    assert_int_equal(stats.unshipped_bytes, stats.object_bytes);
    assert_int_equal(ship(s, 2), 2);
    struct tc_store_pause never = {0};
    struct tc_error err = {0};
    bool sealed = false;
    assert_int_equal(tc_store_seal(s, &never, &sealed, &err), TC_OK);
    stats = stats_of(s);
    assert_int_equal(stats.deleted, 2);
    assert_int_equal(stats.shipped, 2);
    assert_int_equal(stats.unshipped, objects - 2);
    tc_store_close(s);

    s = open_store(&config);
    assert_int_equal(stats_of(s).unshipped, objects - 2);
    assert_int_equal(ship(s, SIZE_MAX), objects - 2);
    assert_int_equal(ship(s, SIZE_MAX), 0);
    assert_int_equal(stats_of(s).unshipped_bytes, 0);
    assert_int_equal(tc_store_seal(s, &never, &sealed, &err), TC_OK);
    assert_int_equal(stats_of(s).deleted, objects - 3); /* the newest stays */
    tc_store_close(s);

    struct tc_evidence *e = open_remote(&fetched);
    struct listed l = list(e);
    assert_int_equal(l.remote, objects - 1);
    assert_int_equal(l.here, 1);
    for (uint64_t n = 1; n <= BATCHES; n++) {
        struct tc_slice body;
        assert_int_equal(tc_evidence_body(e, n, &body, &err), TC_OK);
        assert_true(tc_slice_eq(body, body_of(n, size_of(n))));
    }
    assert_int_equal(fetched, objects - 1); /* each once */
    tc_evidence_close(e);
    e = open_evidence();
    struct tc_slice body;
    assert_int_equal(tc_evidence_body(e, 1, &body, &err), TC_E_NOTFOUND);
    assert_int_equal(list(e).remote, 0);
    tc_evidence_close(e);
}

static void count_damage(void *context, const struct tc_verify_finding *finding)
{
    (void)finding;
    ++*(size_t *)context;
}

static tc_status count_batch(void *context, const struct tc_batch *batch,
                             const struct tc_batch_info *info)
{
    uint64_t *next = context;
    (void)info;
    assert_int_equal(batch->number, *next);
    (*next)++;
    return TC_OK;
}

static void walks_and_checks_fetch_too(void **state)
{
    (void)state;
    size_t fetched = 0;
    size_t damage = 0;
    struct tc_error err = {0};
    struct tc_digest digest;
    struct tc_verify_result sum;
    struct tc_verify_sink sink = {.context = &damage, .damage = count_damage};
    struct tc_store_config config = shipping(1);
    struct tc_store *s = open_store(&config);
    fill(s, 16, 2);
    assert_int_equal(tc_digest_sha256(body_of(2, size_of(2)), &digest), TC_OK);
    assert_int_equal(tc_store_cite(s, 2, &digest, &err), TC_OK);
    assert_true(ship(s, SIZE_MAX) >= 2);
    fill(s, BATCHES - 16, 2);
    tc_store_close(s);
    struct tc_evidence *e = open_remote(&fetched);
    uint64_t next = 1;
    assert_int_equal(tc_evidence_walk(e, 1, true, count_batch, NULL, &next, &err), TC_OK);
    assert_int_equal(next, BATCHES + 1);
    assert_true(fetched >= 2);
    size_t walked = fetched;
    assert_int_equal(tc_evidence_verify(e, &sink, &sum, &err), TC_OK);
    assert_int_equal(damage, 0);
    assert_int_equal(sum.remote, walked);
    assert_int_equal(sum.batches, BATCHES);
    assert_int_equal(sum.citations_gone, 0);
    /* What nobody cites is searched: here first, then there. */
    uint64_t number = 0;
    assert_int_equal(tc_digest_sha256(body_of(3, size_of(3)), &digest), TC_OK);
    assert_int_equal(tc_evidence_find(e, &digest, true, &number, &err), TC_OK);
    assert_int_equal(number, 3);
    uint64_t from = BATCHES;
    assert_int_equal(tc_evidence_remote_from(e, T0, &from, &err), TC_OK);
    assert_int_equal(from, 1);
    from = BATCHES;
    assert_int_equal(tc_evidence_remote_from(e, INT64_MAX, &from, &err), TC_OK);
    assert_int_equal(from, BATCHES);
    tc_evidence_close(e);

    e = open_remote(&fetched);
    fetch_status = TC_E_AGAIN;
    struct tc_slice body;
    assert_int_equal(tc_evidence_body(e, 1, &body, &err), TC_E_AGAIN);
    fetched = 0;
    assert_int_equal(tc_evidence_verify(e, &sink, &sum, &err), TC_OK);
    assert_int_equal(fetched, 1); /* one attempt tells */
    assert_int_equal(damage, 0);
    assert_true(sum.unreachable >= 3);
    assert_string_equal(err.message, "no fetching");
    fetch_status = TC_E_MALFORMED;
    assert_int_equal(tc_evidence_verify(e, &sink, &sum, &err), TC_OK);
    assert_true(damage >= 3);
    assert_int_equal(sum.unreachable, 0);
    tc_evidence_close(e);
}

/* The bytes of shipped.idx. */
static size_t read_index(char *out, size_t size)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/shipped.idx", test_dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = read(fd, out, size);
    assert_true(fd >= 0 && len >= 0);
    (void)close(fd);
    return (size_t)len;
}

static void write_index(const char *bytes, size_t len)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/shipped.idx", test_dir);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    (void)close(fd);
}

static void lost_lines_are_put_back_in_their_place(void **state)
{
    (void)state;
    static char before[16384];
    static char after[16384];
    struct tc_store_config config = shipping(0);
    struct tc_store *s = open_store(&config);
    fill(s, BATCHES, 2);
    size_t objects = ship(s, SIZE_MAX);
    tc_store_close(s);
    size_t len = read_index(before, sizeof before);
    assert_int_equal(len, objects * 256);
    /* Every line but the last, damaged; a torn tail; lines in the wrong order. */
    for (size_t i = 0; i < objects; i++) {
        memcpy(after, before, len);
        after[i * 256 + 30] ^= 1;
        write_index(after, len);
        s = open_store(&config);
        assert_int_equal(stats_of(s).unshipped, 1);
        assert_int_equal(ship(s, SIZE_MAX), 1);
        tc_store_close(s);
        assert_int_equal(read_index(after, sizeof after), len);
        assert_memory_equal(after, before, len);
    }
    write_index(before, len - 100);
    s = open_store(&config);
    assert_int_equal(ship(s, SIZE_MAX), 1);
    tc_store_close(s);
    memcpy(after, before + 256, 256);
    memcpy(after + 256, before, 256);
    write_index(after, 512);
    s = open_store(&config);
    assert_int_equal(ship(s, SIZE_MAX), objects - 1);
    tc_store_close(s);
    assert_int_equal(read_index(after, sizeof after), len);
    assert_memory_equal(after, before, len);
    assert_non_null(strstr(said, "lines were damaged"));
}

static void another_place_begins_anew_unless_something_would_be_lost(void **state)
{
    (void)state;
    struct tc_error err = {0};
    struct tc_remote_place place;
    struct tc_store_config config = shipping(0);
    assert_int_equal(tc_remote_place_read(test_dir, &place, &err), TC_E_NOTFOUND);
    struct tc_store *s = open_store(&config);
    fill(s, BATCHES, 2);
    size_t objects = ship(s, SIZE_MAX);
    tc_store_close(s);
    assert_int_equal(tc_remote_place_read(test_dir, &place, &err), TC_OK);
    assert_string_equal(place.url, URL_1);
    assert_string_equal(place.credentials, "");
    config.remote_url = URL_2;
    config.remote_credentials = "/some/file";
    s = open_store(&config);
    assert_int_equal(stats_of(s).unshipped, objects);
    assert_int_equal(ship(s, SIZE_MAX), objects);
    tc_store_close(s);
    config.keep_bytes = 1;
    s = open_store(&config);
    bool sealed = false;
    struct tc_store_pause never = {0};
    assert_int_equal(tc_store_seal(s, &never, &sealed, &err), TC_OK);
    assert_true(stats_of(s).deleted > 0);
    tc_store_close(s);
    config.remote_url = URL_1;
    assert_int_equal(tc_store_open(test_dir, &config, say, NULL, &s, &err), TC_E_USAGE);
    assert_non_null(strstr(err.message, URL_2));
    config.remote_url = URL_2;
    config.remote_credentials = NULL;
    s = open_store(&config);
    tc_store_close(s);
    assert_int_equal(tc_remote_place_read(test_dir, &place, &err), TC_OK);
    assert_string_equal(place.url, URL_2);
    assert_string_equal(place.credentials, "");
    /* One that is damaged is not taken for another. */
    char path[128];
    (void)snprintf(path, sizeof path, "%s/remote", test_dir);
    assert_int_equal(truncate(path, 10), 0);
    assert_int_equal(tc_store_open(test_dir, &config, say, NULL, &s, &err), TC_E_MALFORMED);
}

static int calls_left;

static ssize_t failing_write(int fd, const void *data, size_t len)
{
    if (calls_left-- == 0) {
        errno = EIO;
        return -1;
    }
    return write(fd, data, len);
}

static int failing_sync(int fd)
{
    (void)fd;
    if (calls_left-- == 0) {
        errno = EIO;
        return -1;
    }
    return 0;
}

static int failing_rename(const char *from, const char *to)
{
    if (calls_left-- == 0) {
        errno = EIO;
        return -1;
    }
    return rename(from, to);
}

/* Opening and marking with the n-th call failing: it is said, and the next attempt is good. */
static void marks_survive_failing_calls(void **state)
{
    (void)state;
    struct tc_store_config good = shipping(0);
    struct tc_store *s = open_store(&good);
    fill(s, BATCHES, 2);
    assert_true(ship(s, 3) == 3);
    uint64_t waiting = stats_of(s).unshipped;
    tc_store_close(s);
    struct tc_store_config bad = good;
    bad.io = (struct tc_store_io){
        .write = failing_write, .sync = failing_sync, .rename = failing_rename};
    size_t failed = 0;
    for (int at = 0; waiting > 0; at++) {
        struct tc_error err = {0};
        struct tc_object_info info;
        char path[TC_STORE_PATH_BYTES];
        bool any = false;
        assert_true(at < 200);
        calls_left = at;
        bad.remote_credentials = at % 2 == 0 ? "a" : "b"; /* the place is written too */
        tc_status status = tc_store_open(test_dir, &bad, say, NULL, &s, &err);
        if (status == TC_OK) {
            waiting = stats_of(s).unshipped; /* recovery may have sealed one more */
            assert_int_equal(tc_store_unshipped(s, 0, &info, path, &any, &err), TC_OK);
            assert_true(any);
            status = tc_store_mark_shipped(s, &info, &err);
            if (status == TC_E_IO) {
                assert_int_equal(tc_store_mark_shipped(s, &info, &err), TC_OK);
                failed++;
            }
            waiting--;
            assert_int_equal(stats_of(s).unshipped, waiting);
            tc_store_close(s);
        } else {
            assert_int_equal(status, TC_E_IO);
            failed++;
        }
    }
    assert_true(failed >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_deleted_before_it_is_shipped, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(walks_and_checks_fetch_too, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(lost_lines_are_put_back_in_their_place, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(another_place_begins_anew_unless_something_would_be_lost,
                                        make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(marks_survive_failing_calls, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
