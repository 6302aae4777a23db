/* SPDX-License-Identifier: Apache-2.0 */
/* A truth is recognised, and nothing is learnt from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/codec.h"

#define RUN "{\"truth\":\"run\",\"version\":1,\"seed\":7}\n"
#define FAULT "{\"truth\":\"fault\",\"id\":\"f1\",\"kind\":\"xid\",\"what\":\"NVRM: Xid 79\"}\n"

static const struct tc_codec *recognise(const char *text)
{
    return tc_codec_recognise(tc_slice_cstr(text), TC_LIT("events.json"));
}

static void it_is_known_by_its_first_member(void **state)
{
    (void)state;
    assert_ptr_equal(recognise(RUN FAULT), &tc_codec_truth);
    assert_ptr_equal(recognise(FAULT), &tc_codec_truth);
    assert_ptr_equal(recognise("\xef\xbb\xbf" RUN), &tc_codec_truth);
    assert_ptr_equal(recognise("\n  { \"truth\" : \"run\" }"), &tc_codec_truth);
    assert_ptr_not_equal(recognise("{\"kind\":\"xid\",\"truth\":\"run\"}\n"), &tc_codec_truth);
    assert_ptr_not_equal(recognise("[\"truth\"]\n"), &tc_codec_truth);
    assert_ptr_not_equal(recognise("truth\n"), &tc_codec_truth);
    assert_ptr_not_equal(recognise(""), &tc_codec_truth);
}

static tc_status on_event(void *context, const struct tc_event *ev)
{
    (void)context;
    (void)ev;
    fail();
    return TC_OK;
}

static tc_status on_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    (void)context;
    (void)offset;
    (void)length;
    (void)why;
    fail();
    return TC_OK;
}

static void it_says_nothing(void **state)
{
    (void)state;
    struct tc_codec_input in = {.bytes = TC_LIT(RUN FAULT "no JSON at all\n"),
                                .want_unknown = true};
    struct tc_codec_cursor cursor = {0};
    struct tc_codec_out out = {.event = on_event, .unknown = on_unknown};
    struct tc_error err;
    assert_int_equal(tc_codec_truth.decode(&in, &cursor, &out, &err), TC_OK);
    assert_true(cursor.done);
    assert_int_equal(cursor.offset, in.bytes.len);
    assert_int_equal(cursor.events, 0);
    assert_int_equal(cursor.unknown, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_known_by_its_first_member),
        cmocka_unit_test(it_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
