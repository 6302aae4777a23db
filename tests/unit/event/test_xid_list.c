/* SPDX-License-Identifier: Apache-2.0 */
/* What a site says of Xids, and what the registers of an Xid 74 say. */
#include "event/nvlink_bits.h"
#include "event/xid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct tc_xid_list list;

static tc_status read_list(const char *lines, struct tc_error *err)
{
    return tc_xid_list_read(tc_slice_cstr(lines), &list, err);
}

static void the_list_comes_before_the_catalogue(void **state)
{
    (void)state;
    struct tc_error err = {0};
    assert_int_equal(read_list("201 hardware fatal: return the board\n13 hardware error\n", &err),
                     TC_OK);
    const struct tc_xid *own = tc_xid_list_find(&list, 201);
    assert_int_equal(own->class, TC_XID_HARDWARE);
    assert_int_equal(own->severity, TC_XID_FATAL);
    assert_string_equal(own->action, "return the board");
    const struct tc_xid *other = tc_xid_list_find(&list, 13);
    assert_int_equal(other->class, TC_XID_HARDWARE);
    assert_string_equal(other->name, tc_xid_find(13)->name);
    assert_string_equal(other->action, tc_xid_find(13)->action);
    assert_ptr_equal(tc_xid_list_find(&list, 79), tc_xid_find(79));
    assert_null(tc_xid_list_find(&list, 202));
    assert_ptr_equal(tc_xid_list_find(NULL, 13), tc_xid_find(13));
    assert_true(tc_xid_list_says(&list, 13, TC_XID_HARDWARE));
    assert_false(tc_xid_list_says(&list, 79, TC_XID_HARDWARE));
}

static void what_is_wrong_is_told_with_the_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        const char *told;
    } rows[] = {
        {"x hardware fatal", "number"},
        {"0 hardware fatal", "number"},
        {"10000 hardware fatal", "number"},
        {"13 soft fatal", "hardware, application, driver or info"},
        {"13 hardware", "notice, warning, error or fatal"},
        {"13 hardware fatal more", "notice, warning, error or fatal"},
        {"13 hardware fatal:", "advice"},
        {"13 hardware fatal: say \"no\"", "advice"},
        {"13 hardware fatal\n13 info notice", "twice"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tc_error err = {0};
        assert_int_equal(read_list(rows[i].lines, &err), TC_E_MALFORMED);
        assert_non_null(strstr(err.message, rows[i].told));
        assert_non_null(strstr(err.message, "write CODE CLASS SEVERITY: ADVICE"));
        assert_int_equal(list.count, 0);
    }
}

static void there_is_an_end_to_the_list(void **state)
{
    (void)state;
    char lines[TC_XID_LIST_MAX * 32 + 64];
    struct tc_error err = {0};
    size_t len = 0;
    for (int i = 1; i <= TC_XID_LIST_MAX; i++) {
        len += (size_t)snprintf(lines + len, sizeof lines - len, "%d info notice\n", i);
    }
    assert_int_equal(read_list(lines, &err), TC_OK);
    assert_int_equal(list.count, TC_XID_LIST_MAX);
    (void)snprintf(lines + len, sizeof lines - len, "999 info notice\n");
    assert_int_equal(read_list(lines, &err), TC_E_MALFORMED);
}

static bool registers(const char *message, uint32_t out[TC_NVLINK_REGISTERS])
{
    return tc_nvlink_registers(tc_slice_cstr(message), out);
}

static void all_seven_registers_or_none(void **state)
{
    (void)state;
    uint32_t words[TC_NVLINK_REGISTERS] = {7};
    assert_false(registers("NVLink: fatal error detected on link 14(0x0, 0x0, 0x10000)", words));
    assert_false(registers("on link 6(0x1, 0x2, 0x3, 0x4, 0x5, 0x6)", words));
    assert_false(registers("on link 6(0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0x7, 0x8)", words));
    assert_false(registers("on link 6(0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0x123456789)", words));
    assert_false(registers("on link 6(1, 2, 3, 4, 5, 6, 7)", words));
    assert_false(registers("on link 6", words));
    assert_false(registers("", words));
    assert_int_equal(words[0], 7);
    assert_true(registers("NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0,0x0, 0x0, "
                          "0x0, 0xffffffff)",
                          words));
    assert_int_equal(words[0], 0x10000);
    assert_int_equal(words[6], 0xffffffff);
}

/* How grave a bit is: the sort's place; the count of sorts when it is not described. */
static size_t sort_of(size_t number, unsigned bit)
{
    size_t count = 0;
    (void)tc_nvlink_sorts(&count);
    for (size_t sort = 0; sort < count; sort++) {
        if (tc_nvlink_bits(sort, number, UINT32_C(1) << bit) != 0) {
            return sort;
        }
    }
    return count;
}

static void bits_mean_what_the_catalogue_says(void **state)
{
    (void)state;
    size_t count = 0;
    const struct tc_nvlink_sort *sorts = tc_nvlink_sorts(&count);
    assert_non_null(strstr(sorts[sort_of(0, 4)].meaning, "parity"));
    assert_non_null(strstr(sorts[sort_of(4, 28)].meaning, "parity"));
    assert_string_equal(sorts[sort_of(0, 16)].meaning, "possibly hardware");
    assert_non_null(strstr(sorts[sort_of(0, 21)].meaning, "signal"));
    assert_non_null(strstr(sorts[sort_of(2, 16)].action, "field diagnostics"));
    assert_non_null(strstr(sorts[sort_of(3, 18)].action, "fabric"));
    assert_non_null(strstr(sorts[sort_of(4, 20)].action, "keep running"));
    assert_string_equal(sorts[sort_of(0, 0)].action, "ignore it");
    assert_int_equal(sort_of(0, 2), count);
    assert_int_equal(sort_of(1, 16), count);
    assert_int_equal(sort_of(5, 16), count);
    assert_true(sort_of(0, 4) < sort_of(0, 16) && sort_of(0, 16) < sort_of(0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_comes_before_the_catalogue),
        cmocka_unit_test(what_is_wrong_is_told_with_the_remedy),
        cmocka_unit_test(there_is_an_end_to_the_list),
        cmocka_unit_test(all_seven_registers_or_none),
        cmocka_unit_test(bits_mean_what_the_catalogue_says),
    };
    return cmocka_run_group_tests_name("xid_list", tests, NULL, NULL);
}
