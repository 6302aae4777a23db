/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN_MARK "<!-- fields: begin -->\n"
#define END_MARK "<!-- fields: end -->\n"

static const struct tc_field *fields;
static size_t field_count;

static int setup(void **state)
{
    (void)state;
    fields = tc_fields(&field_count);
    return 0;
}

static size_t size_of(enum tc_field_type type)
{
    switch (type) {
    case TC_FIELD_STRING:
        return sizeof(struct tc_slice);
    case TC_FIELD_TIME:
    case TC_FIELD_I64:
        return sizeof(int64_t);
    case TC_FIELD_I32:
        return sizeof(int32_t);
    case TC_FIELD_KEY:
        return sizeof(uint64_t);
    case TC_FIELD_F64:
        return sizeof(double);
    case TC_FIELD_BOOL:
        return sizeof(bool);
    case TC_FIELD_BDF:
        return sizeof(struct tc_bdf);
    case TC_FIELD_STATE:
        return sizeof(uint8_t);
    case TC_FIELD_METRIC:
        return sizeof(uint16_t);
    }
    return 0;
}

static void every_string_of_a_kind_is_found_once(void **state)
{
    (void)state;
    struct tc_event_strings all;
    size_t found = 0;
    size_t wanted = 0;
    tc_event_strings_init(&all);
    for (size_t i = 0; i < field_count; i++) {
        for (unsigned kind = 0; kind < TC_EVENT_KIND_COUNT; kind++) {
            bool has =
                fields[i].type == TC_FIELD_STRING && (fields[i].kinds & TC_EVENT_BIT(kind)) != 0;
            wanted += has;
            for (size_t s = 0; has && s < all.counts[kind]; s++) {
                found += all.offsets[kind][s] == fields[i].offset;
            }
        }
    }
    assert_true(wanted > TC_EVENT_KIND_COUNT);
    assert_int_equal(found, wanted);
    struct tc_event ev = {.kind = TC_EVENT_ADDRESS};
    ev.address.address = TC_LIT("10.0.0.1");
    uint16_t offsets[TC_EVENT_STRINGS_MAX];
    size_t count = tc_event_strings(TC_EVENT_ADDRESS, offsets);
    assert_int_equal(count, all.counts[TC_EVENT_ADDRESS]);
    assert_ptr_equal(tc_event_string(&ev, offsets[count - 1]), &ev.address.address);
}

static void names_are_lower_case_and_never_kind_or_raw(void **state)
{
    (void)state;
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_.";
    for (size_t i = 0; i < field_count; i++) {
        assert_true(fields[i].name.len > 0);
        assert_int_equal(strspn(fields[i].name.ptr, allowed), fields[i].name.len);
        assert_false(tc_slice_eq(fields[i].name, TC_LIT("kind")));
        assert_false(tc_slice_eq(fields[i].name, TC_LIT("raw")));
        assert_true(strlen(fields[i].help) > 0);
        assert_null(strpbrk(fields[i].help, "|\n")); /* it becomes a cell of a table */
    }
}

static void every_field_lies_inside_the_event_and_belongs_to_a_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < field_count; i++) {
        assert_true(fields[i].kinds != 0);
        assert_true((fields[i].kinds >> TC_EVENT_KIND_COUNT) == 0);
        assert_true(fields[i].offset + size_of(fields[i].type) <= sizeof(struct tc_event));
        if (fields[i].type == TC_FIELD_I32) {
            assert_true(fields[i].none >= INT32_MIN && fields[i].none <= INT32_MAX);
        }
    }
}

static void no_kind_has_a_name_or_a_place_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < field_count; i++) {
        for (size_t j = 0; j < i; j++) {
            if ((fields[i].kinds & fields[j].kinds) == 0) {
                continue;
            }
            assert_false(tc_slice_eq(fields[i].name, fields[j].name));
            size_t i_end = fields[i].offset + size_of(fields[i].type);
            size_t j_end = fields[j].offset + size_of(fields[j].type);
            assert_true(i_end <= fields[j].offset || j_end <= fields[i].offset);
        }
    }
}

/* A reader that knows one kind is not surprised by another. */
static void a_name_has_one_type_but_for_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < field_count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (tc_slice_eq(fields[i].name, fields[j].name) &&
                !tc_slice_eq(fields[i].name, TC_LIT("status"))) {
                assert_int_equal(fields[i].type, fields[j].type);
                assert_true(fields[i].none == fields[j].none);
            }
        }
    }
}

static void every_kind_has_the_common_fields_and_some_of_its_own(void **state)
{
    (void)state;
    uint32_t all = (UINT32_C(1) << TC_EVENT_KIND_COUNT) - 1;
    for (unsigned kind = 0; kind < TC_EVENT_KIND_COUNT; kind++) {
        size_t common = 0;
        size_t own = 0;
        for (size_t i = 0; i < field_count; i++) {
            common += fields[i].kinds == all;
            own += fields[i].kinds != all && (fields[i].kinds & TC_EVENT_BIT(kind)) != 0;
        }
        assert_int_equal(common, 15);
        assert_true(own > 0);
    }
}

static const char *type_text(enum tc_field_type type)
{
    switch (type) {
    case TC_FIELD_STRING:
        return "string";
    case TC_FIELD_TIME:
        return "time";
    case TC_FIELD_I64:
        return "integer";
    case TC_FIELD_I32:
        return "integer, 32 bits";
    case TC_FIELD_KEY:
        return "16 hex digits";
    case TC_FIELD_F64:
        return "number";
    case TC_FIELD_BOOL:
        return "boolean";
    case TC_FIELD_BDF:
        return "PCI address";
    case TC_FIELD_STATE:
        return "state";
    case TC_FIELD_METRIC:
        return "metric";
    }
    return "";
}

static void put_absent(struct tc_buf *b, const struct tc_field *f)
{
    switch (f->type) {
    case TC_FIELD_STRING:
    case TC_FIELD_TIME:
    case TC_FIELD_KEY:
    case TC_FIELD_BDF:
        tc_buf_lit(b, "unknown");
        return;
    case TC_FIELD_I64:
    case TC_FIELD_I32:
        if (f->none == TC_TIME_NONE) {
            tc_buf_lit(b, "unknown");
        } else {
            tc_buf_i64(b, f->none);
        }
        return;
    case TC_FIELD_F64:
        tc_buf_lit(b, "0");
        return;
    case TC_FIELD_BOOL:
        tc_buf_lit(b, "false");
        return;
    case TC_FIELD_STATE:
        tc_buf_lit(b, "scheduled");
        return;
    case TC_FIELD_METRIC:
        tc_buf_lit(b, "\"\"");
        return;
    }
}

static void put_kinds(struct tc_buf *b, uint32_t kinds)
{
    if (kinds == (UINT32_C(1) << TC_EVENT_KIND_COUNT) - 1) {
        tc_buf_lit(b, "every kind");
        return;
    }
    const char *comma = "";
    for (unsigned kind = 0; kind < TC_EVENT_KIND_COUNT; kind++) {
        if ((kinds & TC_EVENT_BIT(kind)) != 0) {
            tc_buf_str(b, tc_slice_cstr(comma));
            tc_buf_str(b, tc_event_kind_name((enum tc_event_kind)kind));
            comma = ", ";
        }
    }
}

static void put_table(struct tc_buf *b)
{
    tc_buf_lit(b, "| field | kinds | type | when absent | meaning |\n"
                  "| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < field_count; i++) {
        tc_buf_lit(b, "| `");
        tc_buf_str(b, fields[i].name);
        tc_buf_lit(b, "` | ");
        put_kinds(b, fields[i].kinds);
        tc_buf_lit(b, " | ");
        tc_buf_str(b, tc_slice_cstr(type_text(fields[i].type)));
        tc_buf_lit(b, " | ");
        put_absent(b, &fields[i]);
        tc_buf_lit(b, " | ");
        tc_buf_str(b, tc_slice_cstr(fields[i].help));
        tc_buf_lit(b, " |\n");
    }
}

static void put_metrics(struct tc_buf *b)
{
    tc_buf_lit(b, "| metric | sort | unit | meaning |\n"
                  "| --- | --- | --- | --- |\n");
    for (unsigned i = TC_METRIC_NONE + 1; i < TC_METRIC_COUNT; i++) {
        const struct tc_metric_info *m = tc_metric_info((enum tc_metric)i);
        tc_buf_lit(b, "| `");
        tc_buf_str(b, m->name);
        tc_buf_str(b,
                   m->type == TC_METRIC_GAUGE ? TC_LIT("` | gauge | ") : TC_LIT("` | counter | "));
        tc_buf_str(b, tc_slice_cstr(m->unit));
        tc_buf_lit(b, " | ");
        tc_buf_str(b, tc_slice_cstr(m->help));
        tc_buf_lit(b, " |\n");
    }
}

static struct tc_slice read_page(char *memory, size_t size)
{
    const char *root = getenv("TC_SOURCE_DIR");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/docs/events.md", root == NULL ? "." : root);
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        fail_msg("%s cannot be read; set TC_SOURCE_DIR", path);
        return TC_EMPTY;
    }
    size_t len = fread(memory, 1, size, f);
    assert_int_equal(fclose(f), 0);
    assert_true(len < size);
    return tc_slice_make(memory, len);
}

static char page_memory[1 << 17];
static char table_memory[1 << 17];

/* The page has the text of `put` between two marks; otherwise the test prints what to put there. */
static void page_shows(void (*put)(struct tc_buf *b), const char *begin_mark, const char *end_mark)
{
    struct tc_slice page = read_page(page_memory, sizeof page_memory);
    struct tc_buf want = tc_buf_make(table_memory, sizeof table_memory);
    put(&want);
    assert_false(want.overflowed);
    size_t begin = tc_slice_find(page, tc_slice_cstr(begin_mark));
    size_t end = tc_slice_find(page, tc_slice_cstr(end_mark));
    assert_true(begin != TC_NPOS && end != TC_NPOS && begin < end);
    begin += strlen(begin_mark);
    struct tc_slice got = tc_slice_head(tc_slice_from(page, begin), end - begin);
    if (!tc_slice_eq(got, tc_buf_slice(&want))) {
        (void)printf("docs/events.md: put this between %s and %s:\n\n", begin_mark, end_mark);
        (void)fwrite(want.data, 1, want.len, stdout);
        (void)printf("\n");
        (void)fflush(stdout); /* before cmocka writes its own */
        fail_msg("docs/events.md and the tables of src/event differ");
    }
}

static void the_page_shows_the_table_as_it_is(void **state)
{
    (void)state;
    page_shows(put_table, BEGIN_MARK, END_MARK);
}

static void the_page_shows_the_metrics_as_they_are(void **state)
{
    (void)state;
    page_shows(put_metrics, "<!-- metrics: begin -->\n", "<!-- metrics: end -->");
}

static void the_page_names_every_kind(void **state)
{
    (void)state;
    struct tc_slice page = read_page(page_memory, sizeof page_memory);
    for (unsigned kind = 0; kind < TC_EVENT_KIND_COUNT; kind++) {
        char row[64];
        struct tc_buf b = tc_buf_make(row, sizeof row);
        tc_buf_lit(&b, "\n| `");
        tc_buf_str(&b, tc_event_kind_name((enum tc_event_kind)kind));
        tc_buf_lit(&b, "` | ");
        if (!tc_slice_contains(page, tc_buf_slice(&b))) {
            fail_msg("docs/events.md: the table of kinds has no row%.*s", TC_FMT(tc_buf_slice(&b)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_lower_case_and_never_kind_or_raw),
        cmocka_unit_test(every_string_of_a_kind_is_found_once),
        cmocka_unit_test(every_field_lies_inside_the_event_and_belongs_to_a_kind),
        cmocka_unit_test(no_kind_has_a_name_or_a_place_twice),
        cmocka_unit_test(a_name_has_one_type_but_for_status),
        cmocka_unit_test(every_kind_has_the_common_fields_and_some_of_its_own),
        cmocka_unit_test(the_page_shows_the_table_as_it_is),
        cmocka_unit_test(the_page_shows_the_metrics_as_they_are),
        cmocka_unit_test(the_page_names_every_kind),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
