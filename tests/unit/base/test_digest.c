/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/digest.h"

#include <string.h>

static void assert_digest(struct tc_slice s, const char *want)
{
    struct tc_digest d;
    char text[128];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    assert_int_equal(tc_digest_sha256(s, &d), TC_OK);
    tc_buf_digest(&b, &d);
    assert_int_equal(b.len, strlen(want));
    assert_memory_equal(text, want, b.len);
}

/* The example messages of FIPS 180-4. */
static void published_examples_come_out(void **state)
{
    (void)state;
    assert_digest(TC_EMPTY,
                  "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_digest(TC_LIT("abc"),
                  "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_digest(TC_LIT("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
                  "sha256:248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

/* Around the lengths at which the padding takes another block; made with sha256sum. */
static void lengths_around_a_block_come_out(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        const char *want;
    } cases[] = {
        {1, "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"},
        {31, "sha256:61c60b487d1a921e0bcc9bf853dda0fb159b30bf57b2e2d2c753b00be15b5a09"},
        {32, "sha256:3ba3f5f43b92602683c19aee62a20342b084dd5971ddd33808d81a328879a547"},
        {33, "sha256:852785c805c77e71a22340a54e9d95933ed49121e7d2bf3c2d358854bc1359ea"},
        {54, "sha256:a3f01b6939256127582ac8ae9fb47a382a244680806a3f613a118851c1ca1d47"},
        {55, "sha256:9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {56, "sha256:b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {63, "sha256:7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {64, "sha256:ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {65, "sha256:635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
    };
    char text[65];
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_digest(tc_slice_make(text, cases[i].len), cases[i].want);
    }
}

static void the_text_is_exactly_as_long_as_promised(void **state)
{
    (void)state;
    struct tc_digest d = {{0}};
    char text[71];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_digest(&b, &d);
    assert_int_equal(b.len, 71);
    assert_false(b.overflowed);
    b = tc_buf_make(text, 70);
    tc_buf_digest(&b, &d);
    assert_true(b.overflowed);
    assert_int_equal(b.len, 0);
}

static void one_bit_makes_another_digest(void **state)
{
    (void)state;
    struct tc_digest a;
    struct tc_digest b;
    char text[1000] = {0};
    assert_int_equal(tc_digest_sha256(tc_slice_make(text, sizeof text), &a), TC_OK);
    text[999] = 1;
    assert_int_equal(tc_digest_sha256(tc_slice_make(text, sizeof text), &b), TC_OK);
    assert_memory_not_equal(&a, &b, sizeof a);
}

#define HEX "E3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void a_text_is_read_back(void **state)
{
    (void)state;
    struct tc_digest d;
    struct tc_digest read;
    char text[TC_DIGEST_TEXT];
    assert_int_equal(tc_digest_sha256(TC_LIT("abc"), &d), TC_OK);
    tc_digest_text(&d, text);
    assert_int_equal(strlen(text), TC_DIGEST_TEXT - 1);
    assert_true(tc_digest_parse_exact(tc_slice_cstr(text), &read));
    assert_memory_equal(&d, &read, sizeof d);
    assert_true(tc_digest_parse(tc_slice_cstr(text + 7), &read));
    assert_memory_equal(&d, &read, sizeof d);
    assert_false(tc_digest_parse_exact(tc_slice_cstr(text + 7), &read));
}

static void what_is_no_digest_is_refused(void **state)
{
    (void)state;
    struct tc_digest d;
    assert_true(tc_digest_from_hex(TC_LIT(HEX), &d));
    assert_true(tc_digest_parse(TC_LIT("sha256:" HEX), &d));
    assert_false(tc_digest_parse_exact(TC_LIT("sha256:" HEX), &d)); /* an upper-case E */
    assert_false(tc_digest_from_hex(TC_LIT("sha256:" HEX), &d));
    assert_false(tc_digest_parse(TC_LIT("sha256:sha256:" HEX), &d));
    assert_false(tc_digest_parse(TC_LIT(HEX "0"), &d));
    assert_false(tc_digest_parse(tc_slice_head(TC_LIT(HEX), 63), &d));
    assert_false(tc_digest_parse(TC_LIT("g" HEX), &d));
    assert_false(tc_digest_parse(TC_EMPTY, &d));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_examples_come_out),
        cmocka_unit_test(lengths_around_a_block_come_out),
        cmocka_unit_test(the_text_is_exactly_as_long_as_promised),
        cmocka_unit_test(one_bit_makes_another_digest),
        cmocka_unit_test(a_text_is_read_back),
        cmocka_unit_test(what_is_no_digest_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
