/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that others forward are stored once, and known after a restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/ingest/forwarded.h"
#include "server/ingest/piece.h"
#include "server/sources/positions.h"

#include <stdio.h>
#include <string.h>

#define ID "0123456789abcdef00000000000000ff"

static struct tc_positions *positions;
static struct tc_forwarded *f;
static struct tc_error err;

static int setup(void **state)
{
    (void)state;
    positions = tc_positions_create("/nowhere");
    f = positions == NULL ? NULL : tc_forwarded_create(positions);
    return f == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    tc_forwarded_destroy(f);
    tc_positions_destroy(positions);
    return 0;
}

static struct tc_forwarded_batch batch(uint64_t agent, uint64_t number)
{
    return (struct tc_forwarded_batch){.agent = {1, agent}, .number = number, .taken_ns = 1};
}

static void store(uint64_t agent, uint64_t number)
{
    struct tc_forwarded_batch b = batch(agent, number);
    uint64_t last = 0;
    assert_int_equal(tc_forwarded_claim(f, &b, &last), TC_FORWARDED_NEW);
    tc_forwarded_end(f, &b, true);
    assert_false(b.is_claimed);
}

static enum tc_forwarded_claim claim(uint64_t agent, uint64_t number, uint64_t *out_last)
{
    struct tc_forwarded_batch b = batch(agent, number);
    enum tc_forwarded_claim result = tc_forwarded_claim(f, &b, out_last);
    tc_forwarded_end(f, &b, false);
    return result;
}

static void the_header(void **state)
{
    (void)state;
    struct tc_forwarded_batch b;
    assert_int_equal(tc_forwarded_read(TC_EMPTY, &b, &err), TC_OK);
    assert_int_equal(b.number, 0);
    assert_int_equal(tc_forwarded_read(TC_LIT(ID " 17 1700000000000000001"), &b, &err), TC_OK);
    assert_int_equal(b.agent[0], 0x0123456789abcdef);
    assert_int_equal(b.agent[1], 0xff);
    assert_int_equal(b.number, 17);
    char text[TC_FORWARDED_NAME_MAX];
    struct tc_buf name = tc_buf_make(text, sizeof text);
    tc_forwarded_put(&name, &b);
    assert_false(name.overflowed);
    static const char WANTED[] =
        "\ntaken=2023-11-14T22:13:20.000000001Z\nsource=forward\nstream=" ID "\nposition=17";
    assert_int_equal(name.len, sizeof WANTED - 1);
    assert_memory_equal(text, WANTED, name.len);
    static const char *const bad[] = {"x",
                                      ID,
                                      ID " 1",
                                      ID " 0 1",
                                      ID " 1 0",
                                      ID " -1 1",
                                      ID " 1 9223372036854775808",
                                      ID "0 1 1",
                                      " 1 1",
                                      "0123456789abcdef00000000000000fg 1 1",
                                      ID " 1 1 "};
    for (size_t i = 0; i < TC_COUNT(bad); i++) {
        assert_int_equal(tc_forwarded_read(tc_slice_cstr(bad[i]), &b, &err), TC_E_MALFORMED);
        assert_int_equal(b.number, 0);
    }
    b.number = 0;
    name = tc_buf_make(text, sizeof text);
    tc_forwarded_put(&name, &b);
    assert_int_equal(name.len, 0);
}

static void each_is_stored_once(void **state)
{
    (void)state;
    uint64_t last = 0;
    store(7, 3);
    store(7, 5); /* numbers may be missing */
    store(8, 1);
    assert_int_equal(claim(7, 5, &last), TC_FORWARDED_KNOWN);
    assert_int_equal(last, 5);
    assert_int_equal(claim(7, 1, &last), TC_FORWARDED_KNOWN);
    assert_int_equal(claim(8, 2, &last), TC_FORWARDED_NEW); /* and was not stored */
    assert_int_equal(claim(8, 2, &last), TC_FORWARDED_NEW);
    struct tc_forwarded_batch on_its_way = batch(7, 6);
    assert_int_equal(tc_forwarded_claim(f, &on_its_way, &last), TC_FORWARDED_NEW);
    assert_int_equal(claim(7, 6, &last), TC_FORWARDED_BUSY);
    assert_int_equal(claim(7, 7, &last), TC_FORWARDED_BUSY);
    tc_forwarded_end(f, &on_its_way, false);
    tc_forwarded_end(f, &on_its_way, true); /* it ended */
    assert_int_equal(claim(7, 6, &last), TC_FORWARDED_NEW);
    struct tc_forwarded_batch none = {.number = 0};
    assert_int_equal(tc_forwarded_claim(f, &none, &last), TC_FORWARDED_NEW);
    tc_forwarded_end(f, &none, true);
}

static void known_after_a_restart(void **state)
{
    (void)state;
    uint64_t last = 0;
    store(7, 9);
    store(7, 10);
    tc_forwarded_destroy(f);
    assert_true(tc_positions_set(positions, TC_LIT("forward"), TC_LIT("nonsense"), TC_LIT("1")));
    f = tc_forwarded_create(positions);
    assert_non_null(f);
    assert_int_equal(claim(7, 10, &last), TC_FORWARDED_KNOWN);
    assert_int_equal(last, 10);
    assert_int_equal(claim(7, 11, &last), TC_FORWARDED_NEW);
}

/* The one that was not heard of for longest makes room. */
static void there_is_room_for_others(void **state)
{
    (void)state;
    uint64_t last = 0;
    struct tc_forwarded_batch on_its_way = batch(1, 1);
    assert_int_equal(tc_forwarded_claim(f, &on_its_way, &last), TC_FORWARDED_NEW);
    for (uint64_t agent = 2; agent <= TC_FORWARDED_AGENTS_MAX; agent++) {
        store(agent, 1);
    }
    store(2, 2); /* heard of again */
    store(TC_FORWARDED_AGENTS_MAX + 1, 1);
    assert_int_equal(claim(3, 1, &last), TC_FORWARDED_NEW); /* forgotten */
    assert_int_equal(claim(2, 2, &last), TC_FORWARDED_KNOWN);
    assert_int_equal(claim(5, 1, &last), TC_FORWARDED_KNOWN);
    tc_forwarded_end(f, &on_its_way, true);
    assert_int_equal(claim(1, 1, &last), TC_FORWARDED_KNOWN);
}

static void pieces(void **state)
{
    (void)state;
    struct tc_piece p;
    assert_int_equal(tc_piece_read(TC_LIT("a b\nnode=n\nformat=kmsg\n\nx\n\ny"), &p, &err), TC_OK);
    assert_true(tc_slice_eq(p.name, TC_LIT("a b\nnode=n\nformat=kmsg")));
    assert_true(tc_slice_eq(p.bytes, TC_LIT("x\n\ny")));
    assert_int_equal(p.lines, 4);
    assert_int_equal(tc_piece_read(TC_LIT("\nnode=n\n\nx"), &p, &err), TC_OK); /* no label */
    assert_true(tc_slice_eq(p.name, TC_LIT("\nnode=n")));
    assert_int_equal(tc_piece_read(TC_LIT("\n\n"), &p, &err), TC_OK);
    assert_int_equal(p.bytes.len, 0);
    static const char *const bad[] = {"",
                                      "x",
                                      "x\nnode=n\nx",
                                      "x\ncolour=red\n\n",
                                      "x\nsender=a\n\n",
                                      "x\nsource=a\n\n",
                                      "x\nstream=a\n\n",
                                      "x\nposition=a\n\n",
                                      "x\ntaken=a\n\n",
                                      "x\ty\n\nz",
                                      "x\x7f\n\nz"};
    for (size_t i = 0; i < TC_COUNT(bad); i++) {
        assert_int_equal(tc_piece_read(tc_slice_cstr(bad[i]), &p, &err), TC_E_MALFORMED);
    }
    static char long_name[8192];
    memset(long_name, 'a', sizeof long_name);
    memcpy(long_name + 4097, "\n\n", 2);
    assert_int_equal(tc_piece_read(tc_slice_make(long_name, sizeof long_name), &p, &err),
                     TC_E_MALFORMED);
    memcpy(long_name + 4096, "\n\n", 2);
    assert_int_equal(tc_piece_read(tc_slice_make(long_name, sizeof long_name), &p, &err), TC_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_header, setup, teardown),
        cmocka_unit_test_setup_teardown(each_is_stored_once, setup, teardown),
        cmocka_unit_test_setup_teardown(known_after_a_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(there_is_room_for_others, setup, teardown),
        cmocka_unit_test_setup_teardown(pieces, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
