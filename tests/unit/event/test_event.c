/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/event.h"

#include "base/arena.h"
#include "base/limits.h"
#include "event/fields.h"
#include "event/verdict.h"
#include "support/event_own.h"

#include <string.h>

static void every_kind_has_its_own_name_and_reads_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TC_EVENT_KIND_COUNT; i++) {
        enum tc_event_kind kind = TC_EVENT_KIND_COUNT;
        struct tc_slice name = tc_event_kind_name((enum tc_event_kind)i);
        assert_true(name.len > 0);
        assert_true(tc_event_kind_parse(name, &kind));
        assert_int_equal(kind, i); /* the first of that name, so no two share one */
    }
    assert_true(TC_EVENT_KIND_COUNT <= 32); /* bits of a uint32_t */
}

static void other_names_are_no_kind(void **state)
{
    (void)state;
    static const char *const names[] = {"", "Pod", "XID", "xi", "xids", "xid "};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        enum tc_event_kind kind = TC_EVENT_AER;
        assert_false(tc_event_kind_parse(tc_slice_cstr(names[i]), &kind));
        assert_int_equal(kind, TC_EVENT_AER);
    }
}

static void pci_addresses_are_read_in_every_form(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t used;
        struct tc_bdf bdf;
    } cases[] = {
        {"0000:b3:00.0", 12, {0, 0xb3, 0, 0, true}},
        {"0000:b3:00", 10, {0, 0xb3, 0, 0, true}},
        {"b3:00.0", 7, {0, 0xb3, 0, 0, true}},
        {"b3:00", 5, {0, 0xb3, 0, 0, true}},
        {"B3:1F.7)", 7, {0, 0xb3, 0x1f, 7, true}},
        {"ffff:ff:1f.7", 12, {0xffff, 0xff, 0x1f, 7, true}},
        {"00000001:b3:00.0", 16, {1, 0xb3, 0, 0, true}},
        {"1:2:3.4", 7, {1, 2, 3, 4, true}},
        {"0000:b3:00.", 10, {0, 0xb3, 0, 0, true}},
        {"0000:b3:00.x", 10, {0, 0xb3, 0, 0, true}},
        {"0000:b3:00: GPU-", 10, {0, 0xb3, 0, 0, true}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_bdf got = {0};
        assert_int_equal(tc_bdf_parse(tc_slice_cstr(cases[i].text), &got), cases[i].used);
        assert_true(tc_bdf_eq(got, cases[i].bdf));
    }
}

static void what_is_no_pci_address_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    static const char *const cases[] = {"",
                                        "b3",
                                        "b3:",
                                        ":b3:00",
                                        "x",
                                        "0000:b3:",
                                        "0000:b3:20",
                                        "0000:b3:00.8",
                                        "100000000:b3:00.0",
                                        "100:00",

                                        "b3-00",
                                        "g3:00.0",
                                        "0000:b3:xx",
                                        "123456789:b3:00"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_bdf got = {7, 7, 7, 7, true};
        struct tc_bdf before = got;
        if (tc_bdf_parse(tc_slice_cstr(cases[i]), &got) != 0) {
            fail_msg("%s was taken", cases[i]);
        }
        assert_true(tc_bdf_eq(got, before));
    }
}

static void pci_addresses_print_and_read_back(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 0x10000; bits += 37) {
        struct tc_bdf a = {(bits * 31) & 0x1ffff, (uint8_t)(bits >> 8), (uint8_t)((bits >> 3) & 31),
                           (uint8_t)(bits & 7), true};
        struct tc_bdf back = {0};
        char text[16];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_bdf(&b, a);
        assert_int_equal(b.len, a.domain > 0xffff ? 13 : 12);
        assert_int_equal(tc_bdf_parse(tc_buf_slice(&b), &back), a.domain > 0xffff ? 13 : 12);
        assert_true(tc_bdf_eq(a, back));
    }
}

static void pci_addresses_differ_in_every_part(void **state)
{
    (void)state;
    struct tc_bdf a = {1, 2, 3, 4, true};
    struct tc_bdf b[] = {
        {2, 2, 3, 4, true}, {1, 3, 3, 4, true},  {1, 2, 4, 4, true},
        {1, 2, 3, 5, true}, {1, 2, 3, 4, false},
    };
    assert_true(tc_bdf_eq(a, a));
    for (size_t i = 0; i < sizeof b / sizeof b[0]; i++) {
        assert_false(tc_bdf_eq(a, b[i]));
    }
}

static void a_new_event_knows_nothing(void **state)
{
    (void)state;
    struct tc_event ev;
    memset(&ev, 0xff, sizeof ev);
    tc_event_init(&ev, TC_EVENT_NCCL_RECORD);
    assert_int_equal(ev.kind, TC_EVENT_NCCL_RECORD);
    assert_true(ev.time_ns == TC_TIME_NONE && ev.uptime_ns == TC_TIME_NONE);
    assert_true(ev.raw.source == TC_SOURCE_NONE);
    assert_int_equal(ev.scope.rank, -1);
    assert_int_equal(ev.scope.pid, -1);
    assert_int_equal(ev.scope.node.len, 0);
    assert_false(ev.scope.pci.known);
    assert_int_equal(ev.nccl.peer, -1);
    assert_int_equal(ev.nccl.seq, -1);
    assert_true(ev.nccl.started_ns == TC_TIME_NONE && ev.nccl.completed_ns == TC_TIME_NONE);
    assert_int_equal(ev.nccl.timeout_ms, 0);
    assert_int_equal(ev.nccl.group_key, 0);
    tc_event_init(&ev, TC_EVENT_XID);
    assert_int_equal(ev.xid.code, -1);
    assert_int_equal(ev.xid.link, -1);
    tc_event_init(&ev, TC_EVENT_STORAGE_ERROR);
    assert_int_equal(ev.fault.count, 1);
    assert_int_equal(ev.fault.seconds, -1);
}

/* Changes the field to something greater than it is in a new event. */
static void raise_field(const struct tc_field *f, struct tc_event *ev)
{
    void *at = (char *)ev + f->offset;
    switch (f->type) {
    case TC_FIELD_STRING:
        *(struct tc_slice *)at = TC_LIT("x");
        break;
    case TC_FIELD_TIME:
    case TC_FIELD_I64:
        ++*(int64_t *)at;
        break;
    case TC_FIELD_I32:
        ++*(int32_t *)at;
        break;
    case TC_FIELD_KEY:
        *(uint64_t *)at = UINT64_MAX; /* would be negative if it were compared as signed */
        break;
    case TC_FIELD_F64:
        *(double *)at = 0.5;
        break;
    case TC_FIELD_BOOL:
        *(bool *)at = true;
        break;
    case TC_FIELD_STATE:
        *(uint8_t *)at = TC_NCCL_COMPLETED;
        break;
    case TC_FIELD_METRIC:
        *(uint16_t *)at = TC_METRIC_GPU_TEMP;
        break;
    case TC_FIELD_BDF:
        *(struct tc_bdf *)at = (struct tc_bdf){0, 0, 0, 1, true};
        break;
    }
}

static void every_field_counts_in_the_order_of_events(void **state)
{
    (void)state;
    size_t count = 0;
    const struct tc_field *fields = tc_fields(&count);
    for (unsigned kind = 0; kind < TC_EVENT_KIND_COUNT; kind++) {
        for (size_t i = 0; i < count; i++) {
            struct tc_event a;
            struct tc_event b;
            tc_event_init(&a, (enum tc_event_kind)kind);
            tc_event_init(&b, (enum tc_event_kind)kind);
            if ((fields[i].kinds & TC_EVENT_BIT(kind)) == 0) {
                continue;
            }
            assert_int_equal(tc_event_cmp(&a, &b), 0);
            raise_field(&fields[i], &b);
            assert_true(tc_event_cmp(&a, &b) < 0);
            assert_true(tc_event_cmp(&b, &a) > 0);
            assert_int_equal(tc_event_cmp(&b, &b), 0);
        }
    }
}

static void time_comes_first_then_kind_and_raw_does_not_count(void **state)
{
    (void)state;
    struct tc_event a;
    struct tc_event b;
    tc_event_init(&a, TC_EVENT_XID);
    tc_event_init(&b, TC_EVENT_NCCL_RECORD);
    a.time_ns = 1;
    b.time_ns = 2;
    assert_true(tc_event_cmp(&a, &b) < 0);
    b.time_ns = 1;
    assert_true(tc_event_cmp(&a, &b) > 0); /* by the order of the kinds */
    a.time_ns = TC_TIME_NONE;
    b.time_ns = -1;
    assert_true(tc_event_cmp(&a, &b) < 0); /* without a date, before all others */
    b = a;
    b.raw = (struct tc_raw){1, 2, 3};
    assert_int_equal(tc_event_cmp(&a, &b), 0);
}

static void an_owned_event_outlives_the_bytes_it_came_from(void **state)
{
    (void)state;
    static alignas(16) unsigned char block[8192];
    struct tc_arena arena;
    size_t count = 0;
    const struct tc_field *fields = tc_fields(&count);
    for (unsigned kind = 0; kind < TC_EVENT_KIND_COUNT; kind++) {
        char text[] = "text";
        struct tc_event ev;
        struct tc_event want;
        tc_arena_init(&arena, "own", block, sizeof block);
        tc_event_init(&ev, (enum tc_event_kind)kind);
        for (size_t i = 0; i < count; i++) {
            if (fields[i].type == TC_FIELD_STRING && (fields[i].kinds & TC_EVENT_BIT(kind)) != 0) {
                *(struct tc_slice *)(void *)((char *)&ev + fields[i].offset) =
                    tc_slice_make(text, 4);
            }
        }
        ev.scope.job = TC_EMPTY;
        want = ev;
        assert_true(event_own(&ev, &arena));
        assert_int_equal(tc_event_cmp(&ev, &want), 0);
        memset(text, '-', 4);
        assert_true(tc_slice_eq(ev.uid, TC_LIT("text")));
        assert_true(tc_event_cmp(&ev, &want) != 0);
        tc_arena_fini(&arena);
    }
}

static void an_event_that_does_not_fit_is_not_owned(void **state)
{
    (void)state;
    static unsigned char block[32];
    struct tc_arena arena;
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_XID);
    tc_arena_init(&arena, "own", block, sizeof block);
    assert_true(event_own(&ev, &arena)); /* nothing to copy */
    ev.uid = TC_LIT("0123456789");
    ev.xid.message = TC_LIT("0123456789012345678901234567890123456789");
    assert_false(event_own(&ev, &arena));
    tc_arena_fini(&arena);
}

static void verdicts_name_their_parts(void **state)
{
    (void)state;
    assert_string_equal(tc_severity_name(TC_SEVERITY_INFO), "info");
    assert_string_equal(tc_severity_name(TC_SEVERITY_WARNING), "warning");
    assert_string_equal(tc_severity_name(TC_SEVERITY_CRITICAL), "critical");
    assert_string_equal(tc_confidence_name(TC_CONFIDENCE_FULL), "full");
    assert_string_equal(tc_confidence_name(TC_CONFIDENCE_PARTIAL), "partial");
    assert_string_equal(tc_verdict_status_name(TC_VERDICT_OPEN), "open");
    assert_string_equal(tc_verdict_status_name(TC_VERDICT_UPDATED), "updated");
    assert_string_equal(tc_verdict_status_name(TC_VERDICT_RESOLVED), "resolved");
}

static void a_group_is_its_job_name_and_members(void **state)
{
    (void)state;
    struct tc_slice job = TC_LIT("job");
    struct tc_slice name = TC_LIT("dp");
    uint64_t key = tc_nccl_group_key(job, name, TC_LIT("[0, 1]"));
    assert_true(key != 0);
    assert_true(key == tc_nccl_group_key(job, name, TC_LIT("0,1")));
    assert_true(key != tc_nccl_group_key(job, name, TC_LIT("[1, 0]")));
    assert_true(key != tc_nccl_group_key(job, name, TC_LIT("[0, 2]")));
    assert_true(key != tc_nccl_group_key(job, name, TC_EMPTY));
    assert_true(key != tc_nccl_group_key(job, TC_LIT("tp"), TC_LIT("[0, 1]")));
    assert_true(key != tc_nccl_group_key(TC_LIT("other"), name, TC_LIT("[0, 1]")));
    assert_true(tc_nccl_group_key(TC_EMPTY, TC_EMPTY, TC_EMPTY) != 0);
}

static void rank_lists_are_read_up_to_what_is_no_rank(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t count;
        int32_t last;
    } cases[] = {
        {"[0, 2, 4]", 3, 4},
        {"0,2,4", 3, 4},
        {"[7]", 1, 7},
        {"[]", 0, 0},
        {"", 0, 0},
        {"[0, x, 2]", 1, 0},
        {"[-1]", 0, 0},
        {"[1048575]", 1, 1048575},
        {"[0,1048576]", 1, 0},
        {"[0, 99999999999999999999]", 1, 0},
        {"  [ 3 ,5", 2, 5},
    };
    assert_int_equal(TC_FR_RANK_MAX, 1048575);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t at = 0;
        size_t count = 0;
        int32_t rank = 0;
        while (tc_rank_list_next(tc_slice_cstr(cases[i].text), &at, &rank)) {
            count++;
        }
        assert_int_equal(count, cases[i].count);
        assert_int_equal(rank, cases[i].last);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_its_own_name_and_reads_back),
        cmocka_unit_test(other_names_are_no_kind),
        cmocka_unit_test(pci_addresses_are_read_in_every_form),
        cmocka_unit_test(what_is_no_pci_address_is_refused_and_changes_nothing),
        cmocka_unit_test(pci_addresses_print_and_read_back),
        cmocka_unit_test(pci_addresses_differ_in_every_part),
        cmocka_unit_test(a_new_event_knows_nothing),
        cmocka_unit_test(every_field_counts_in_the_order_of_events),
        cmocka_unit_test(time_comes_first_then_kind_and_raw_does_not_count),
        cmocka_unit_test(an_owned_event_outlives_the_bytes_it_came_from),
        cmocka_unit_test(an_event_that_does_not_fit_is_not_owned),
        cmocka_unit_test(verdicts_name_their_parts),
        cmocka_unit_test(a_group_is_its_job_name_and_members),
        cmocka_unit_test(rank_lists_are_read_up_to_what_is_no_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
