/* SPDX-License-Identifier: Apache-2.0 */
/* The pickle machine of the Flight Recorder codec: what it runs, what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/fr_probe.h"
#include "support/pickle_writer.h"

#include "base/limits.h"

#include <stdio.h>
#include <string.h>

static struct tc_fr_probe probe;

static void run(struct tc_slice bytes)
{
    tc_fr_probe_run(&probe, bytes, "_dump_3");
}

/* String literals may hold NUL bytes: the length is the literal's. */
#define RUN(literal) run(TC_LIT(literal))

#define RAW(literal) tc_pickle_raw(&w, literal, sizeof(literal) - 1)

static void assert_refused(tc_status status, const char *part)
{
    assert_int_equal(probe.count, 1);
    assert_int_equal(probe.events[0].scope.rank, 3);
    assert_true(probe.events[0].dump.error.len > 0);
    if (strstr(probe.err.message, part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, probe.err.message);
    }
    assert_int_equal(probe.status, status);
}

static const struct tc_ev_nccl *record(size_t n)
{
    const struct tc_event *ev = tc_fr_probe_event(&probe, TC_EVENT_NCCL_RECORD, n);
    if (ev == NULL) {
        fail_msg("no record %zu: %s", n, probe.err.message);
    }
    return &ev->nccl;
}

/* A dump whose only entry is { "record_id": <opcodes> }. */
static void run_value(const char *opcodes, size_t len)
{
    struct tc_pickle w = {0};
    tc_pickle_begin(&w);
    tc_pickle_dict_open(&w);
    tc_pickle_str(&w, TC_LIT("entries"));
    tc_pickle_list_open(&w);
    tc_pickle_dict_open(&w);
    tc_pickle_str(&w, TC_LIT("record_id"));
    tc_pickle_raw(&w, opcodes, len);
    tc_pickle_dict_close(&w);
    tc_pickle_list_close(&w);
    tc_pickle_dict_close(&w);
    tc_pickle_end(&w);
    run(tc_pickle_slice(&w));
    tc_pickle_fini(&w);
}

#define RUN_VALUE(literal) run_value(literal, sizeof(literal) - 1)

static void opcodes_that_name_or_call_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        unsigned char code;
        const char *name;
    } cases[] = {
        {'c', "GLOBAL"},        {'R', "REDUCE"},  {'b', "BUILD"},     {'i', "INST"},
        {'o', "OBJ"},           {0x81, "NEWOBJ"}, {0x82, "EXT1"},     {0x83, "EXT2"},
        {0x84, "EXT4"},         {'P', "PERSID"},  {'Q', "BINPERSID"}, {0x92, "NEWOBJ_EX"},
        {0x93, "STACK_GLOBAL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        /* An argument that would work, were the opcode run. */
        char bytes[] = "\x80\x02}(X\x07\0\0\0entries?os\nsystem\n)u.";
        bytes[16] = (char)cases[i].code;
        char part[64];
        (void)snprintf(part, sizeof part, "opcode %s (0x%02x) at byte 16 is refused", cases[i].name,
                       (unsigned)cases[i].code);
        run(tc_slice_make(bytes, sizeof bytes - 1));
        assert_refused(TC_E_MALFORMED, part);
        assert_int_equal(probe.err.offset, 16);
        assert_int_equal(probe.cursor.offset, 16);
    }
}

static void every_other_opcode_is_refused_too(void **state)
{
    (void)state;
    static const char allowed[] = "().BCGJKMNX]aehjqrstu}\x80\x85\x86\x87\x88\x89\x8a\x8b\x8c"
                                  "\x8d\x94\x95";
    size_t refused = 0;
    for (int code = 0; code < 256; code++) {
        if (memchr(allowed, code, sizeof allowed - 1) != NULL) {
            continue;
        }
        char bytes[4] = {'\x80', 2, (char)code, '.'};
        run(tc_slice_make(bytes, sizeof bytes));
        assert_refused(TC_E_MALFORMED, "at byte 2 is refused");
        refused++;
    }
    assert_int_equal(refused, 256 - 34);
}

static void integers_of_every_form_read_with_their_sign(void **state)
{
    (void)state;
    static const struct {
        const char *opcodes;
        size_t len;
        int64_t value;
    } cases[] = {
        {"K\xff", 2, 255},
        {"M\xff\xff", 3, 65535},
        {"J\xff\xff\xff\xff", 5, -1},
        {"J\0\0\0\x80", 5, INT32_MIN},
        {"\x8a\0", 2, 0},
        {"\x8a\1\x7f", 3, 127},
        {"\x8a\1\x80", 3, -128},
        {"\x8a\2\xff\0", 4, 255},
        {"\x8a\7\0\0\0\0\0\0\x80", 9, -(INT64_C(1) << 55)},
        {"\x8a\10\xff\xff\xff\xff\xff\xff\xff\x7f", 10, INT64_MAX},
        {"\x8a\10\0\0\0\0\0\0\0\x80", 10, INT64_MIN},
        {"\x8b\3\0\0\0\xfe\xff\xff", 8, -2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run_value(cases[i].opcodes, cases[i].len);
        assert_int_equal(probe.status, TC_OK);
        assert_int_equal(record(0)->record_id, cases[i].value);
    }
}

static void integer_of_more_than_eight_bytes_is_refused(void **state)
{
    (void)state;
    RUN_VALUE("\x8a\x09\0\0\0\0\0\0\0\0\1");
    assert_refused(TC_E_MALFORMED, "integer of 9 bytes");
    RUN_VALUE("\x8b\x09\0\0\0\0\0\0\0\0\0\0\0\1");
    assert_refused(TC_E_MALFORMED, "integer of 9 bytes");
    RUN_VALUE("\x8b\xff\xff\xff\xff");
    assert_refused(TC_E_MALFORMED, "integer of 4294967295 bytes");
}

static void value_of_another_kind_is_no_integer(void **state)
{
    (void)state;
    static const struct {
        const char *opcodes;
        size_t len;
        const char *is;
    } cases[] = {
        {"G?\xf0\0\0\0\0\0\0", 9, "is a number that is no 64-bit integer"},
        {"\x88", 1, "is a boolean"},
        {"C\2hi", 4, "is bytes"},
        {"B\2\0\0\0hi", 7, "is bytes"},
        {")", 1, "is a tuple"},
        {"]", 1, "is a list"},
        {"}", 1, "is a dictionary"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run_value(cases[i].opcodes, cases[i].len);
        assert_refused(TC_E_MALFORMED, cases[i].is);
    }
}

static void protocols_2_to_5_are_read_at_the_start_only(void **state)
{
    (void)state;
    char bytes[] = "\x80?}X\x07\0\0\0entries]s.";
    for (int protocol = 0; protocol < 256; protocol++) {
        bytes[1] = (char)protocol;
        run(tc_slice_make(bytes, sizeof bytes - 1));
        if (protocol >= 2 && protocol <= 5) {
            assert_int_equal(probe.status, TC_OK);
        } else {
            assert_refused(TC_E_MALFORMED, "pickle protocol");
        }
    }
    RUN("\x80\2}\x80\2.");
    assert_refused(TC_E_MALFORMED, "pickle protocol 2 at byte 3");
}

/* Protocol 4 as Python writes it: a frame, short strings, MEMOIZE. */
static void python_protocol_4_is_read(void **state)
{
    (void)state;
    RUN("\x80\4\x95\x37\0\0\0\0\0\0\0}\x94(\x8c\7version\x94\x8c\3"
        "2.9\x94\x8d\7\0\0\0\0\0\0\0entries\x94]\x94}\x94\x8c\x09record_id\x94K\5sau.");
    assert_int_equal(probe.status, TC_OK);
    assert_int_equal(record(0)->record_id, 5);
}

/* A long dump has several frames, and they begin and end anywhere. */
static void frame_inside_a_record_is_skipped(void **state)
{
    (void)state;
    RUN("\x80\4}(\x8c\7entries](}(\x8c\x09record_id\x95\x0f\0\0\0\0\0\0\0K\5\x8c\5pg_idK\6ueu.");
    assert_int_equal(probe.status, TC_OK);
    assert_int_equal(record(0)->record_id, 5);
    assert_int_equal(record(0)->pg_id, 6);
    RUN("\x80\4}\x95\2\0\0\0\0\0\0\0.");
    assert_refused(TC_E_MALFORMED, "cut off");
    RUN("\x80\4}\x95\xff\xff\xff\xff\xff\xff\xff\xff.");
    assert_refused(TC_E_MALFORMED, "cut off");
}

static void list_may_come_in_several_batches(void **state)
{
    (void)state;
    RUN("\x80\2}X\7\0\0\0entries](}}e}a(}}es.");
    assert_int_equal(probe.status, TC_OK);
    assert_int_equal(tc_fr_probe_count(&probe, TC_EVENT_NCCL_RECORD), 5);
    RUN("\x80\2}X\7\0\0\0entries](es.");
    assert_int_equal(probe.status, TC_OK);
    assert_int_equal(tc_fr_probe_count(&probe, TC_EVENT_NCCL_RECORD), 0);
}

/* ((1, 2), (3,)): the outer tuple starts at the byte where the inner one does. */
static void tuples_that_start_together_are_told_apart(void **state)
{
    (void)state;
    RUN("\x80\2}(X\7\0\0\0entries](}(X\x0b\0\0\0input_sizesK\1K\2\x86K\3\x85\x86"
        "X\x0c\0\0\0output_sizes((K\1K\2K\3K\4t)tueu.");
    assert_int_equal(probe.status, TC_OK);
    assert_true(tc_slice_eq(record(0)->sizes_in, TC_LIT("[[1, 2], [3]]")));
    assert_true(tc_slice_eq(record(0)->sizes_out, TC_LIT("[[1, 2, 3, 4], []]")));
}

/* A tuple whose first item is a list that is filled at the bottom of the stack. */
static void tuple_around_a_list_gives_the_tuples_items(void **state)
{
    (void)state;
    RUN("\x80\2}(X\7\0\0\0entries](}(X\x0b\0\0\0input_sizes](K\7K\x08"
        "e](e\x86ueu.");
    assert_int_equal(probe.status, TC_OK);
    assert_true(tc_slice_eq(record(0)->sizes_in, TC_LIT("[[7, 8], []]")));
}

static void objects_in_the_memo_are_read_where_they_were_made(void **state)
{
    (void)state;
    /* The entry is memo 1, made under a key of its own; the list holds it twice. */
    RUN("\x80\2}(X\1\0\0\0a}q\1(X\5\0\0\0pg_idK\x2auX\7\0\0\0entries](h\1j\1\0\0\0eu.");
    assert_int_equal(probe.status, TC_OK);
    assert_int_equal(tc_fr_probe_count(&probe, TC_EVENT_NCCL_RECORD), 2);
    assert_int_equal(record(0)->pg_id, 42);
    assert_int_equal(record(1)->pg_id, 42);
    const struct tc_raw *raw = &tc_fr_probe_event(&probe, TC_EVENT_NCCL_RECORD, 1)->raw;
    assert_int_equal(raw->offset, 10);
    assert_int_equal(raw->length, 17);
}

static void memo_rules_are_enforced(void **state)
{
    (void)state;
    static const struct {
        const char *opcodes;
        size_t len;
        tc_status status;
        const char *part;
    } cases[] = {
#define CASE(literal, status, part) {literal, sizeof(literal) - 1, status, part}
        CASE("h\0.", TC_E_MALFORMED, "memo id 0 at byte 2 was not given"),
        CASE("j\xff\xff\xff\xff.", TC_E_MALFORMED, "was not given"),
        CASE("j\0\x09\x3d\0.", TC_E_MALFORMED, "was not given"),
        CASE("q\0.", TC_E_MALFORMED, "finds nothing"),
        CASE("\x94.", TC_E_MALFORMED, "finds nothing"),
        CASE("](q\0e.", TC_E_MALFORMED, "finds nothing"),
        CASE("]q\0Nq\0.", TC_E_MALFORMED, "memo id 0 at byte 6 is given twice"),
        CASE("]q\0q\1.", TC_E_MALFORMED, "memo id 1 at byte 5 is given twice"),
        CASE("]q\x04.", TC_E_LIMIT, "memo id 4 at byte 3 is too large"),
        CASE("]r\xff\xff\xff\x7f.", TC_E_LIMIT, "memo id 2147483647 at byte 3 is too large"),
        /* A list that holds itself. */
        CASE("]q\0h\0a.", TC_E_MALFORMED, "changes at byte 7 after it was referred to"),
        CASE("]q\0(h\0e.", TC_E_MALFORMED, "changes at byte 8 after it was referred to"),
        /* Writing through a reference. */
        CASE("]q\0(h\0Nae.", TC_E_MALFORMED, "does not fit"),
        CASE("}q\0(h\0NNse.", TC_E_MALFORMED, "does not fit"),
#undef CASE
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char bytes[64] = "\x80\2";
        memcpy(bytes + 2, cases[i].opcodes, cases[i].len);
        run(tc_slice_make(bytes, cases[i].len + 2));
        assert_refused(cases[i].status, cases[i].part);
    }
}

static void reference_may_be_kept_under_another_id(void **state)
{
    (void)state;
    RUN("\x80\2}(X\1\0\0\0aKAq\1X\1\0\0\0bh\1q\2X\7\0\0\0entries](}X\5\0\0\0pg_idh\2seu.");
    assert_int_equal(probe.status, TC_OK);
    assert_int_equal(record(0)->pg_id, 'A');
}

static void opcode_without_its_operands_is_an_error(void **state)
{
    (void)state;
    static const struct {
        const char *opcodes;
        size_t len;
        const char *part;
    } cases[] = {
        {".", 1, "stops at byte 2 with 0 values left"},
        {"NN.", 3, "stops at byte 4 with 2 values left"},
        {"(.", 2, "stops at byte 3 with 1 values left"},
        {"a.", 2, "finds nothing"},
        {"Na.", 3, "finds nothing"},
        {"NNa.", 4, "does not fit"},
        {"(Na.", 4, "finds nothing"},
        {"s.", 2, "finds nothing"},
        {"NNs.", 4, "finds nothing"},
        {"]NNs.", 5, "does not fit"},
        {"e.", 2, "finds nothing"},
        {"(e.", 3, "finds nothing"},
        {"N(e.", 4, "does not fit"},
        {"((e.", 4, "does not fit"},
        {"}(Nu.", 5, "does not fit"},
        {"](NNu.", 6, "does not fit"},
        {"}(Ne.", 5, "does not fit"},
        {"t.", 2, "finds nothing"},
        {"\x85.", 2, "finds nothing"},
        {"N\x86.", 3, "finds nothing"},
        {"NN\x87.", 4, "finds nothing"},
        {"N(\x85.", 4, "finds nothing"},
        {"N.N", 3, "1 bytes follow the end of the pickle at byte 4"},
        {"N.", 2, "not a Flight Recorder dump"},
        {"].", 2, "not a Flight Recorder dump"},
        {"}.", 2, "not a Flight Recorder dump"},
        {"X\xff\xff\xff\xffhi.", 8, "cut off"},
        {"\x8d\xff\xff\xff\xff\xff\xff\xff\xffhi.", 12, "cut off"},
        {"}(KAK\1u", 7, "without a STOP"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char bytes[64] = "\x80\2";
        memcpy(bytes + 2, cases[i].opcodes, cases[i].len);
        run(tc_slice_make(bytes, cases[i].len + 2));
        assert_refused(TC_E_MALFORMED, cases[i].part);
    }
}

/* A field of the root with `levels` containers around each other. */
static void run_nested(const char *open, const char *close, size_t levels)
{
    struct tc_pickle w = {0};
    tc_pickle_begin(&w);
    RAW("}X\1\0\0\0x");
    for (size_t i = 0; i < levels; i++) {
        tc_pickle_raw(&w, open, strlen(open));
    }
    tc_pickle_none(&w);
    for (size_t i = 0; i < levels; i++) {
        tc_pickle_raw(&w, close, strlen(close));
    }
    RAW("sX\7\0\0\0entries]s.");
    run(tc_pickle_slice(&w));
    tc_pickle_fini(&w);
}

static void nesting_is_bounded_however_it_is_written(void **state)
{
    (void)state;
    static const char *const shapes[][2] = {
        {"](", "e"},
        {"(", "t"},
        {"]", "a"}, /* without marks */
        {"", "\x85"},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        /* One level is the root's own. */
        run_nested(shapes[i][0], shapes[i][1], TC_PICKLE_DEPTH_MAX - 1);
        assert_int_equal(probe.status, TC_OK);
        run_nested(shapes[i][0], shapes[i][1], TC_PICKLE_DEPTH_MAX);
        assert_refused(TC_E_LIMIT, "nested deeper than 64 levels");
        run_nested(shapes[i][0], shapes[i][1], 100000);
        assert_refused(TC_E_LIMIT, "nested deeper than 64 levels");
    }
}

/* Each level refers to the one below many times: 20 levels would be 20^20 items. */
static void references_that_multiply_cost_nothing(void **state)
{
    (void)state;
    struct tc_pickle w = {0};
    tc_pickle_begin(&w);
    RAW("}(X\1\0\0\0x]q\0");
    for (unsigned level = 1; level <= 20; level++) {
        RAW("](");
        for (int i = 0; i < 20; i++) {
            char get[2] = {'h', (char)(level - 1)};
            tc_pickle_raw(&w, get, 2);
        }
        char put[3] = {'e', 'q', (char)level};
        tc_pickle_raw(&w, put, 3);
    }
    RAW("X\7\0\0\0entries]u.");
    run(tc_pickle_slice(&w));
    assert_int_equal(probe.status, TC_OK);
    tc_pickle_fini(&w);
}

/* One large entry, taken from the memo again and again. */
static void references_that_make_us_look_too_often_are_refused(void **state)
{
    (void)state;
    struct tc_pickle w = {0};
    tc_pickle_begin(&w);
    RAW("}(X\1\0\0\0a}(");
    for (int i = 0; i < 20000; i++) {
        RAW("NN");
    }
    RAW("uq\1X\7\0\0\0entries](");
    for (int i = 0; i < 20000; i++) {
        RAW("h\1");
    }
    RAW("eu.");
    run(tc_pickle_slice(&w));
    assert_refused(TC_E_LIMIT, "refers to the same objects too often");
    tc_pickle_fini(&w);
}

/* A large list of sizes in every entry: its text is made once, but compared each time. */
static void lists_that_are_compared_too_often_are_refused(void **state)
{
    (void)state;
    struct tc_pickle w = {0};
    tc_pickle_begin(&w);
    RAW("}(X\1\0\0\0a](](");
    for (int i = 0; i < 20000; i++) {
        RAW("K\1");
    }
    RAW("eeq\1X\1\0\0\0bX\x0b\0\0\0input_sizesq\2X\7\0\0\0entries](");
    for (int i = 0; i < 1000; i++) {
        RAW("}h\2h\1s");
    }
    RAW("eu.");
    run(tc_pickle_slice(&w));
    assert_refused(TC_E_LIMIT, "refers to the same objects too often");
    tc_pickle_fini(&w);
}

/* A long group name in every entry: it stays where it is, but is looked up each time. */
static void strings_that_are_looked_at_too_often_are_refused(void **state)
{
    (void)state;
    static char name[40000];
    struct tc_pickle w = {0};
    tc_pickle_begin(&w);
    RAW("}(X\1\0\0\0a");
    tc_pickle_str(&w, tc_slice_make(name, sizeof name));
    RAW("X\1\0\0\0bX\x0d\0\0\0process_groupq\2X\7\0\0\0entries](");
    for (int i = 0; i < 1000; i++) {
        RAW("}h\2h\0s");
    }
    RAW("eu.");
    run(tc_pickle_slice(&w));
    assert_refused(TC_E_LIMIT, "refers to the same objects too often");
    tc_pickle_fini(&w);
}

/* A list of sizes that is small in the file and large when written out. */
static void sizes_made_of_references_are_bounded(void **state)
{
    (void)state;
    struct tc_pickle w = {0};
    tc_pickle_begin(&w);
    RAW("}(X\1\0\0\0a](");
    for (int i = 0; i < 2000; i++) {
        RAW("K\1");
    }
    RAW("eq\1X\7\0\0\0entries](}(X\x0b\0\0\0input_sizes](");
    for (int i = 0; i < 2000; i++) {
        RAW("h\1");
    }
    RAW("eueu.");
    run(tc_pickle_slice(&w));
    assert_refused(TC_E_LIMIT, "input_sizes holds more than 1048576 numbers");
    tc_pickle_fini(&w);
}

static void types_made_of_references_are_bounded(void **state)
{
    (void)state;
    static char text[20000];
    struct tc_pickle w = {0};
    memset(text, 'F', sizeof text);
    tc_pickle_begin(&w);
    RAW("}(X\1\0\0\0a");
    tc_pickle_str(&w, tc_slice_make(text, sizeof text));
    RAW("X\7\0\0\0entries](}(X\x0c\0\0\0input_dtypes](");
    for (int i = 0; i < 100; i++) {
        RAW("h\0");
    }
    RAW("eueu.");
    run(tc_pickle_slice(&w));
    assert_refused(TC_E_LIMIT, "input_dtypes holds more than 1048576 bytes");
    tc_pickle_fini(&w);
}

static void strings_need_not_be_utf_8(void **state)
{
    (void)state;
    RUN("\x80\2}(X\7\0\0\0entries](}(X\x0d\0\0\0process_groupX\3\0\0\0\xff\0\xfeueu.");
    assert_int_equal(probe.status, TC_OK);
    assert_true(tc_slice_eq(record(0)->group, TC_LIT("\xff\0\xfe")));
}

static void keys_that_are_no_strings_are_not_ours(void **state)
{
    (void)state;
    RUN("\x80\2}(K\1K\2X\7\0\0\0entries](}(NNK\7Nueu.");
    assert_int_equal(probe.status, TC_OK);
    assert_int_equal(record(0)->record_id, -1);
    RUN("\x80\2}X\x09\0\0\0pg_config}(K\1}us.");
    assert_refused(TC_E_MALFORMED, "a key of pg_config at byte");
    RUN("\x80\2}X\x09\0\0\0pg_status}(N}us.");
    assert_refused(TC_E_MALFORMED, "a key of pg_status at byte");
    RUN("\x80\2}X\x09\0\0\0pg_status}(K\7}us.");
    assert_int_equal(probe.status, TC_OK);
    assert_int_equal(tc_fr_probe_event(&probe, TC_EVENT_NCCL_STATUS, 0)->status.pg_id, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opcodes_that_name_or_call_are_refused_by_name),
        cmocka_unit_test(every_other_opcode_is_refused_too),
        cmocka_unit_test(integers_of_every_form_read_with_their_sign),
        cmocka_unit_test(integer_of_more_than_eight_bytes_is_refused),
        cmocka_unit_test(value_of_another_kind_is_no_integer),
        cmocka_unit_test(protocols_2_to_5_are_read_at_the_start_only),
        cmocka_unit_test(python_protocol_4_is_read),
        cmocka_unit_test(frame_inside_a_record_is_skipped),
        cmocka_unit_test(list_may_come_in_several_batches),
        cmocka_unit_test(tuples_that_start_together_are_told_apart),
        cmocka_unit_test(tuple_around_a_list_gives_the_tuples_items),
        cmocka_unit_test(objects_in_the_memo_are_read_where_they_were_made),
        cmocka_unit_test(memo_rules_are_enforced),
        cmocka_unit_test(reference_may_be_kept_under_another_id),
        cmocka_unit_test(opcode_without_its_operands_is_an_error),
        cmocka_unit_test(nesting_is_bounded_however_it_is_written),
        cmocka_unit_test(references_that_multiply_cost_nothing),
        cmocka_unit_test(references_that_make_us_look_too_often_are_refused),
        cmocka_unit_test(lists_that_are_compared_too_often_are_refused),
        cmocka_unit_test(strings_that_are_looked_at_too_often_are_refused),
        cmocka_unit_test(sizes_made_of_references_are_bounded),
        cmocka_unit_test(types_made_of_references_are_bounded),
        cmocka_unit_test(strings_need_not_be_utf_8),
        cmocka_unit_test(keys_that_are_no_strings_are_not_ours),
    };
    probe.scratch_bytes = (size_t)16 << 20;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tc_fr_probe_fini(&probe);
    return failed;
}
