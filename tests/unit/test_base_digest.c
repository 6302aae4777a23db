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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_examples_come_out),
        cmocka_unit_test(the_text_is_exactly_as_long_as_promised),
        cmocka_unit_test(one_bit_makes_another_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
