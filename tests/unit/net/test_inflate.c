/* SPDX-License-Identifier: Apache-2.0 */
#define ZLIB_CONST

#include "net/inflate.h"
#include "net/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

#define POOL_BYTES ((size_t)4 << 20)
#define LIMIT ((size_t)1 << 20)

struct rig {
    struct tc_pool *pool;
    struct tc_inflater *inflater;
    struct tc_error err;
};

static int set_up(void **state)
{
    struct rig *r = calloc(1, sizeof *r);
    r->pool = tc_pool_create(POOL_BYTES, LIMIT + 4096);
    r->inflater = tc_inflater_create();
    *state = r;
    return r->pool == NULL || r->inflater == NULL;
}

static int tear_down(void **state)
{
    struct rig *r = *state;
    tc_inflater_destroy(r->inflater);
    tc_pool_destroy(r->pool);
    free(r);
    return 0;
}

/* Text that shrinks about as telemetry does. */
static char *make_text(size_t len)
{
    char *text = malloc(len);
    for (size_t i = 0; i < len; i++) {
        text[i] = (char)('a' + (i * i + i / 7) % 23);
    }
    return text;
}

static struct tc_slice gzip(struct tc_slice text)
{
    z_stream z = {0};
    size_t room = text.len + text.len / 10 + 1024;
    char *out = malloc(room);
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (const Bytef *)text.ptr;
    z.avail_in = (uInt)text.len;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    struct tc_slice all = tc_slice_make(out, room - z.avail_out);
    (void)deflateEnd(&z);
    return all;
}

static struct tc_slice zstd(struct tc_slice text)
{
    size_t room = ZSTD_compressBound(text.len);
    char *out = malloc(room);
    size_t len = ZSTD_compress(out, room, text.ptr, text.len, 3);
    assert_false(ZSTD_isError(len));
    return tc_slice_make(out, len);
}

static struct tc_slice pack(enum tc_encoding encoding, struct tc_slice text)
{
    return encoding == TC_ENCODING_GZIP ? gzip(text) : zstd(text);
}

static void drop(struct tc_slice s)
{
    free((void *)(uintptr_t)s.ptr);
}

static size_t used(struct rig *r)
{
    struct tc_pool_stats stats;
    tc_pool_stats(r->pool, &stats);
    return stats.used;
}

static const enum tc_encoding BOTH[] = {TC_ENCODING_GZIP, TC_ENCODING_ZSTD};

static void names_of_encodings(void **state)
{
    (void)state;
    assert_int_equal(tc_encoding_parse(TC_LIT("")), TC_ENCODING_NONE);
    assert_int_equal(tc_encoding_parse(TC_LIT("identity")), TC_ENCODING_NONE);
    assert_int_equal(tc_encoding_parse(TC_LIT("GZIP")), TC_ENCODING_GZIP);
    assert_int_equal(tc_encoding_parse(TC_LIT("zstd")), TC_ENCODING_ZSTD);
    assert_int_equal(tc_encoding_parse(TC_LIT("br")), TC_ENCODING_UNKNOWN);
    assert_int_equal(tc_encoding_parse(TC_LIT("gzip, zstd")), TC_ENCODING_UNKNOWN);
}

static void gives_back_what_was_packed(void **state)
{
    struct rig *r = *state;
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 100000, LIMIT - 1, LIMIT};
    for (size_t e = 0; e < 2; e++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            char *text = make_text(sizes[i]);
            struct tc_slice packed = pack(BOTH[e], tc_slice_make(text, sizes[i]));
            struct tc_buffer *b = NULL;
            assert_int_equal(tc_inflate(r->inflater, BOTH[e], packed, r->pool, LIMIT, &b, &r->err),
                             TC_OK);
            assert_int_equal(b->len, sizes[i]);
            assert_memory_equal(b->data, text, sizes[i]);
            tc_buffer_give(b);
            drop(packed);
            free(text);
        }
    }
    assert_int_equal(used(r), 0);
}

static void one_byte_over_the_limit_is_too_long(void **state)
{
    struct rig *r = *state;
    char *text = make_text(LIMIT + 1);
    for (size_t e = 0; e < 2; e++) {
        struct tc_slice packed = pack(BOTH[e], tc_slice_make(text, LIMIT + 1));
        struct tc_buffer *b = NULL;
        assert_int_equal(tc_inflate(r->inflater, BOTH[e], packed, r->pool, LIMIT, &b, &r->err),
                         TC_E_LIMIT);
        assert_null(b);
        drop(packed);
    }
    free(text);
    assert_int_equal(used(r), 0);
}

/* 64 MiB of zeros in some 64 KiB: the pool is what it may cost. */
static void a_bomb_costs_no_more_than_the_limit(void **state)
{
    struct rig *r = *state;
    size_t len = (size_t)64 << 20;
    char *zeros = calloc(1, len);
    for (size_t e = 0; e < 2; e++) {
        struct tc_slice packed = pack(BOTH[e], tc_slice_make(zeros, len));
        struct tc_buffer *b = NULL;
        struct tc_pool_stats stats;
        assert_int_equal(tc_inflate(r->inflater, BOTH[e], packed, r->pool, LIMIT, &b, &r->err),
                         TC_E_LIMIT);
        tc_pool_stats(r->pool, &stats);
        assert_true(stats.held <= POOL_BYTES);
        assert_int_equal(stats.used, 0);
        drop(packed);
    }
    free(zeros);
}

static void every_cut_is_malformed(void **state)
{
    struct rig *r = *state;
    char *text = make_text(2000);
    for (size_t e = 0; e < 2; e++) {
        struct tc_slice packed = pack(BOTH[e], tc_slice_make(text, 2000));
        for (size_t cut = 1; cut < packed.len; cut++) {
            struct tc_buffer *b = NULL;
            assert_int_equal(tc_inflate(r->inflater, BOTH[e], tc_slice_head(packed, cut), r->pool,
                                        LIMIT, &b, &r->err),
                             TC_E_MALFORMED);
        }
        drop(packed);
    }
    free(text);
    assert_int_equal(used(r), 0);
}

static void damage_never_gives_other_content(void **state)
{
    struct rig *r = *state;
    char *text = make_text(2000);
    struct tc_slice packed = gzip(tc_slice_make(text, 2000));
    char *bytes = (char *)(uintptr_t)packed.ptr;
    for (size_t i = 10; i < packed.len; i++) { /* behind gzip's header, whose flags may change */
        bytes[i] = (char)(bytes[i] ^ 0x10);
        struct tc_buffer *b = NULL;
        tc_status status =
            tc_inflate(r->inflater, TC_ENCODING_GZIP, packed, r->pool, LIMIT, &b, &r->err);
        assert_int_not_equal(status, TC_OK);
        bytes[i] = (char)(bytes[i] ^ 0x10);
    }
    drop(packed);
    free(text);
}

static void members_of_gzip_are_one_content(void **state)
{
    struct rig *r = *state;
    struct tc_slice one = gzip(TC_LIT("hello "));
    struct tc_slice two = gzip(TC_LIT("world"));
    char both[256];
    memcpy(both, one.ptr, one.len);
    memcpy(both + one.len, two.ptr, two.len);
    struct tc_buffer *b = NULL;
    assert_int_equal(tc_inflate(r->inflater, TC_ENCODING_GZIP,
                                tc_slice_make(both, one.len + two.len), r->pool, LIMIT, &b,
                                &r->err),
                     TC_OK);
    assert_int_equal(b->len, 11);
    assert_memory_equal(b->data, "hello world", 11);
    tc_buffer_give(b);
    drop(one);
    drop(two);
}

static void a_spent_pool_is_no_memory(void **state)
{
    struct rig *r = *state;
    struct tc_buffer *held[16] = {0};
    size_t count = 0;
    for (; count < 16; count++) {
        held[count] = tc_pool_take(r->pool, LIMIT);
        if (held[count] == NULL) {
            break;
        }
    }
    char *text = make_text(LIMIT);
    struct tc_slice packed = zstd(tc_slice_make(text, LIMIT));
    struct tc_buffer *b = NULL;
    assert_int_equal(tc_inflate(r->inflater, TC_ENCODING_ZSTD, packed, r->pool, LIMIT, &b, &r->err),
                     TC_E_NOMEM);
    for (size_t i = 0; i < count; i++) {
        tc_buffer_give(held[i]);
    }
    assert_int_equal(tc_inflate(r->inflater, TC_ENCODING_ZSTD, packed, r->pool, LIMIT, &b, &r->err),
                     TC_OK);
    tc_buffer_give(b);
    drop(packed);
    free(text);
}

/* The pool has room for the content, but not for growing to it. */
static void a_tight_pool_takes_the_limit_and_knows_a_bomb(void **state)
{
    struct rig *r = *state;
    struct tc_pool *tight = tc_pool_create(LIMIT + LIMIT / 4, LIMIT + 4096);
    char *zeros = calloc(1, LIMIT + 1);
    for (size_t e = 0; e < 2; e++) {
        struct tc_buffer *b = NULL;
        struct tc_slice fits = pack(BOTH[e], tc_slice_make(zeros, LIMIT));
        struct tc_slice over = pack(BOTH[e], tc_slice_make(zeros, LIMIT + 1));
        assert_int_equal(tc_inflate(r->inflater, BOTH[e], fits, tight, LIMIT, &b, &r->err), TC_OK);
        assert_int_equal(b->len, LIMIT);
        tc_buffer_give(b);
        assert_int_equal(tc_inflate(r->inflater, BOTH[e], over, tight, LIMIT, &b, &r->err),
                         TC_E_LIMIT);
        drop(fits);
        drop(over);
    }
    free(zeros);
    tc_pool_destroy(tight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_encodings),
        cmocka_unit_test_setup_teardown(gives_back_what_was_packed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_byte_over_the_limit_is_too_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bomb_costs_no_more_than_the_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_cut_is_malformed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_never_gives_other_content, set_up, tear_down),
        cmocka_unit_test_setup_teardown(members_of_gzip_are_one_content, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_tight_pool_takes_the_limit_and_knows_a_bomb, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_spent_pool_is_no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
