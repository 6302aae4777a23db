/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/xid.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tc_xid *table;
static size_t count;

static int setup(void **state)
{
    (void)state;
    table = tc_xid_table(&count);
    return 0;
}

static void codes_ascend_without_repetition(void **state)
{
    (void)state;
    assert_true(count > 100);
    assert_true(table[0].code > 0);
    for (size_t i = 1; i < count; i++) {
        assert_true(table[i].code > table[i - 1].code);
    }
}

static void every_code_is_found_and_no_other(void **state)
{
    (void)state;
    size_t i = 0;
    for (int64_t code = -2; code <= table[count - 1].code + 2; code++) {
        const struct tc_xid *x = tc_xid_find(code);
        if (i < count && table[i].code == code) {
            assert_ptr_equal(x, &table[i]);
            i++;
        } else {
            assert_null(x);
        }
    }
    assert_int_equal(i, count);
    assert_null(tc_xid_find(INT64_MIN));
    assert_null(tc_xid_find(INT64_MAX));
    assert_null(tc_xid_find(INT64_C(79) + (INT64_C(1) << 32)));
}

static void application_codes_never_blame_hardware(void **state)
{
    (void)state;
    static const int64_t codes[] = {8, 11, 13, 25, 31, 32, 43, 45, 69, 80};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        const struct tc_xid *x = tc_xid_find(codes[i]);
        assert_non_null(x);
        assert_int_equal(x->class, TC_XID_APPLICATION);
        assert_true(x->severity <= TC_XID_WARNING);
    }
    for (size_t i = 0; i < count; i++) {
        /* What the program did never loses the GPU. */
        assert_true(table[i].class != TC_XID_APPLICATION || table[i].severity < TC_XID_ERROR);
        assert_true(table[i].class != TC_XID_INFO || table[i].severity == TC_XID_NOTICE);
        assert_true(table[i].severity != TC_XID_FATAL || table[i].class == TC_XID_HARDWARE);
    }
}

static void the_well_known_codes_say_what_they_should(void **state)
{
    (void)state;
    static const struct {
        int64_t code;
        enum tc_xid_class class;
        enum tc_xid_severity severity;
    } cases[] = {
        {45, TC_XID_APPLICATION, TC_XID_NOTICE}, {46, TC_XID_HARDWARE, TC_XID_ERROR},
        {48, TC_XID_HARDWARE, TC_XID_FATAL},     {62, TC_XID_HARDWARE, TC_XID_FATAL},
        {63, TC_XID_HARDWARE, TC_XID_ERROR},     {64, TC_XID_HARDWARE, TC_XID_FATAL},
        {74, TC_XID_HARDWARE, TC_XID_FATAL},     {79, TC_XID_HARDWARE, TC_XID_FATAL},
        {92, TC_XID_HARDWARE, TC_XID_ERROR},     {94, TC_XID_HARDWARE, TC_XID_ERROR},
        {95, TC_XID_HARDWARE, TC_XID_FATAL},     {119, TC_XID_HARDWARE, TC_XID_FATAL},
        {120, TC_XID_HARDWARE, TC_XID_FATAL},    {140, TC_XID_HARDWARE, TC_XID_FATAL},
        {149, TC_XID_HARDWARE, TC_XID_ERROR},    {154, TC_XID_INFO, TC_XID_NOTICE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct tc_xid *x = tc_xid_find(cases[i].code);
        assert_non_null(x);
        assert_int_equal(x->class, cases[i].class);
        assert_int_equal(x->severity, cases[i].severity);
    }
    assert_string_equal(tc_xid_find(79)->name, "GPU has fallen off the bus");
}

static bool plain(const char *s)
{
    for (; *s != '\0'; s++) {
        if (*s < 0x20 || *s > 0x7e || *s == '"') {
            return false;
        }
    }
    return true;
}

static void texts_fit_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < count; i++) {
        const struct tc_xid *x = &table[i];
        size_t name = strlen(x->name);
        size_t action = strlen(x->action);
        if (name == 0 || name > 60 || action == 0 || action > 100 || !plain(x->name) ||
            !plain(x->action) || !islower((unsigned char)x->action[0]) ||
            x->name[name - 1] == '.' || x->action[action - 1] == '.') {
            fail_msg("xid %d: \"%s\", \"%s\"", (int)x->code, x->name, x->action);
        }
    }
}

static void actions_start_with_a_verb_we_use(void **state)
{
    (void)state;
    static const char *const verbs[] = {"bring ",  "check ",   "do ",    "drain ",   "follow ",
                                        "ignore ", "keep ",    "look ",  "open ",    "plan ",
                                        "reboot ", "replace ", "reset ", "restart ", "run ",
                                        "seat ",   "update ",  "watch "};
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t v = 0; v < sizeof verbs / sizeof verbs[0]; v++) {
            found = found || strncmp(table[i].action, verbs[v], strlen(verbs[v])) == 0;
        }
        if (!found) {
            fail_msg("xid %d: \"%s\"", (int)table[i].code, table[i].action);
        }
    }
}

static void classes_and_severities_have_names(void **state)
{
    (void)state;
    assert_string_equal(tc_xid_class_name(TC_XID_HARDWARE), "hardware");
    assert_string_equal(tc_xid_class_name(TC_XID_APPLICATION), "application");
    assert_string_equal(tc_xid_class_name(TC_XID_DRIVER), "driver");
    assert_string_equal(tc_xid_class_name(TC_XID_INFO), "info");
    assert_string_equal(tc_xid_class_name((enum tc_xid_class)77), "unknown");
    assert_string_equal(tc_xid_severity_name(TC_XID_NOTICE), "notice");
    assert_string_equal(tc_xid_severity_name(TC_XID_WARNING), "warning");
    assert_string_equal(tc_xid_severity_name(TC_XID_ERROR), "error");
    assert_string_equal(tc_xid_severity_name(TC_XID_FATAL), "fatal");
    assert_string_equal(tc_xid_severity_name((enum tc_xid_severity)77), "unknown");
    assert_true(TC_XID_NOTICE < TC_XID_WARNING && TC_XID_WARNING < TC_XID_ERROR &&
                TC_XID_ERROR < TC_XID_FATAL);
}

/* The samples' file of that name, or NULL when there are none here. */
static FILE *open_sample(const char *name)
{
    const char *samples = getenv("TC_SAMPLES");
    const char *source = getenv("TC_SOURCE_DIR");
    char path[4096];
    if (samples != NULL && samples[0] != '\0') {
        (void)snprintf(path, sizeof path, "%s/xid/%s", samples, name);
    } else {
        (void)snprintf(path, sizeof path, "%s/../shared/samples/xid/%s",
                       source == NULL ? "." : source, name);
    }
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        print_message("no %s: set TC_SAMPLES\n", path);
    }
    return f;
}

/* The column of a tab-separated line, from 0. */
static struct tc_slice column(struct tc_slice line, size_t index)
{
    struct tc_slice cell = tc_slice_cut(line, '\t', &line);
    for (size_t i = 0; i < index; i++) {
        cell = tc_slice_cut(line, '\t', &line);
    }
    return tc_slice_trim(cell);
}

/* Every code whose description says something must be in the table. */
static void check_sample(const char *name, size_t description_column, size_t at_least)
{
    FILE *f = open_sample(name);
    if (f == NULL) {
        skip();
        return;
    }
    char text[4096];
    size_t seen = 0;
    while (fgets(text, sizeof text, f) != NULL) {
        struct tc_slice line = tc_slice_cstr(text);
        struct tc_slice description = column(line, description_column);
        uint64_t code = 0;
        if (!tc_slice_is_u64(column(line, 0), &code) || description.len == 0 ||
            tc_slice_eq(description, TC_LIT("Unused")) ||
            tc_slice_eq(description, TC_LIT("Reserved"))) {
            continue;
        }
        seen++;
        if (tc_xid_find((int64_t)code) == NULL) {
            fail_msg("%s: xid %u is missing: %.*s", name, (unsigned)code, TC_FMT(description));
        }
    }
    assert_int_equal(fclose(f), 0);
    assert_true(seen >= at_least);
}

static void every_described_code_of_the_nvidia_catalogue_is_there(void **state)
{
    (void)state;
    check_sample("nvidia_xid_catalog.tsv", 2, 90);
}

static void every_described_code_of_older_tables_is_there(void **state)
{
    (void)state;
    check_sample("gpud_xid_actions.tsv", 1, 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_ascend_without_repetition),
        cmocka_unit_test(every_code_is_found_and_no_other),
        cmocka_unit_test(application_codes_never_blame_hardware),
        cmocka_unit_test(the_well_known_codes_say_what_they_should),
        cmocka_unit_test(texts_fit_a_sentence),
        cmocka_unit_test(actions_start_with_a_verb_we_use),
        cmocka_unit_test(classes_and_severities_have_names),
        cmocka_unit_test(every_described_code_of_the_nvidia_catalogue_is_there),
        cmocka_unit_test(every_described_code_of_older_tables_is_there),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
