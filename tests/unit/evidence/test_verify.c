/* SPDX-License-Identifier: Apache-2.0 */
/* A store that is in order is said to be; a byte that is not what it was is found, wherever it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evidence/verify.h"
#include "unit/evidence/evidence_testing.h"

static char found[4096]; /* the first finding */
static size_t findings;
static uint64_t advanced;

static void take_damage(void *context, const struct tc_verify_finding *f)
{
    (void)context;
    if (findings++ == 0) {
        (void)snprintf(found, sizeof found, "%s|%llu|%llu|%s", f->path,
                       (unsigned long long)f->offset, (unsigned long long)f->number, f->text);
    }
}

static void take_progress(void *context, uint64_t bytes, size_t files)
{
    (void)context;
    (void)files;
    advanced += bytes;
}

static struct tc_verify_result verify(void)
{
    struct tc_verify_sink sink = {.damage = take_damage, .advance = take_progress};
    struct tc_verify_result result;
    struct tc_error err = {0};
    struct tc_evidence *e = open_evidence();
    findings = 0;
    advanced = 0;
    found[0] = '\0';
    if (tc_evidence_verify(e, &sink, &result, &err) != TC_OK) {
        fail_msg("verify: %s", err.message);
    }
    tc_evidence_close(e);
    assert_int_equal(result.damaged, findings);
    return result;
}

/* Two objects, an open segment, two citations. */
static void make_store(void)
{
    struct tc_store_config config = small_config();
    config.segment_bytes = 600;
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    struct tc_digest digest;
    for (uint64_t n = 1; n <= 8; n++) {
        assert_int_equal(append_one(s, n, 100 + n * 10), TC_OK);
        assert_int_equal(tc_store_commit(s, &err), TC_OK);
        if (n == 2 || n == 8) {
            assert_int_equal(tc_digest_sha256(body_of(n, 100 + n * 10), &digest), TC_OK);
            assert_int_equal(tc_store_cite(s, n, &digest, &err), TC_OK);
        }
    }
    assert_int_equal(stats_of(s).sealed, 2);
    tc_store_close(s);
}

static void a_good_store_is_said_to_be(void **state)
{
    (void)state;
    make_store();
    struct tc_verify_result r = verify();
    assert_int_equal(r.damaged, 0);
    assert_int_equal(r.objects, 2);
    assert_int_equal(r.segments, 1);
    assert_int_equal(r.batches, 8);
    assert_int_equal(r.citations, 2);
    assert_int_equal(r.torn_bytes, 0);
    assert_int_equal(r.bytes, advanced);
}

static char damaged_file[512];
static size_t flips;

static int flip_all(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    if (type != FTW_F) {
        return 0;
    }
    (void)snprintf(damaged_file, sizeof damaged_file, "%s", path);
    for (uint64_t at = 0; at < (uint64_t)st->st_size; at++) {
        uint8_t mask = (uint8_t)(1 << at % 8);
        flip(path, at, mask);
        (void)verify();
        if (findings == 0) {
            fail_msg("%s: a flipped byte at %llu is not found", path, (unsigned long long)at);
        }
        if (strncmp(found, path, strlen(path)) != 0) {
            fail_msg("%s: byte %llu: %s", path, (unsigned long long)at, found);
        }
        flip(path, at, mask);
        flips++;
    }
    return 0;
}

static void every_flipped_byte_is_found(void **state)
{
    (void)state;
    make_store();
    assert_int_equal(nftw(test_dir, flip_all, 16, FTW_PHYS), 0);
    assert_true(flips > 2000);
    assert_int_equal(verify().damaged, 0);
}

static void the_place_is_named(void **state)
{
    (void)state;
    char path[256];
    make_store();
    segment_path(path, sizeof path);
    flip(path, 64 + 100, 1); /* in the first payload of the open segment */
    (void)verify();
    assert_non_null(strstr(found, ".seg|64|"));
    assert_non_null(strstr(found, "checksum of the payload"));
}

static void what_is_missing_is_told(void **state)
{
    (void)state;
    char path[256];
    make_store();
    (void)snprintf(path, sizeof path, "%s/objects.idx", test_dir);
    assert_int_equal(truncate(path, 256), 0);
    assert_int_equal(verify().damaged, 1);
    assert_non_null(strstr(found, "the index does not have this object"));
    struct tc_store_config config = small_config();
    assert_int_equal(truncate(path, 0), 0);
    tc_store_close(open_store(&config)); /* writes it anew */
    assert_int_equal(verify().damaged, 0);
}

static void a_lost_object_is_told(void **state)
{
    (void)state;
    char command[256];
    make_store();
    (void)snprintf(command, sizeof command, "%s/objects", test_dir);
    DIR *d = opendir(command);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] != '.') {
            char sub[512];
            (void)snprintf(sub, sizeof sub, "%s/%.8s", command, e->d_name);
            assert_int_equal(nftw(sub, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
            break;
        }
    }
    (void)closedir(d);
    struct tc_verify_result r = verify();
    assert_true(r.damaged >= 1);
    assert_non_null(strstr(found, "it is not there"));
}

static void a_torn_tail_is_no_damage(void **state)
{
    (void)state;
    char path[256];
    make_store();
    segment_path(path, sizeof path);
    assert_int_equal(truncate(path, (off_t)file_size(path) - 20), 0);
    struct tc_verify_result r = verify();
    assert_true(r.torn_bytes > 0);
    /* But a verdict cites that batch. */
    assert_int_equal(r.damaged, 1);
    assert_non_null(strstr(found, "citations.idx|0|8|"));
}

static void deleted_citations_are_no_damage(void **state)
{
    (void)state;
    struct tc_store_config config = small_config();
    config.segment_bytes = 1;
    config.keep_bytes = 2000;
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    struct tc_digest digest;
    for (uint64_t n = 1; n <= 40; n++) {
        assert_int_equal(append_one(s, n, 100), TC_OK);
        assert_int_equal(tc_digest_sha256(body_of(n, 100), &digest), TC_OK);
        assert_int_equal(tc_store_cite(s, n, &digest, &err), TC_OK);
        assert_int_equal(tc_store_commit(s, &err), TC_OK);
    }
    assert_true(stats_of(s).deleted > 0);
    tc_store_close(s);
    struct tc_verify_result r = verify();
    assert_int_equal(r.damaged, 0);
    assert_int_equal(r.citations, 40);
    assert_true(r.citations_gone > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_good_store_is_said_to_be, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(every_flipped_byte_is_found, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_place_is_named, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_is_missing_is_told, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_lost_object_is_told, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_torn_tail_is_no_damage, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(deleted_citations_are_no_damage, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
