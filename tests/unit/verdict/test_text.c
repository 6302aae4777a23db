/* SPDX-License-Identifier: Apache-2.0 */
/* All names, times and bytes here are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "verdict/render.h"

#include <stdio.h>
#include <string.h>

#define T0 INT64_C(1794711845123000000) /* 2026-11-15T03:04:05.123Z */

static const char KERNEL_LOG[] = "first line\n"
                                 "[    7.5] NVRM: Xid (PCI:0000:b3:00): 79, GPU has fallen off\n"
                                 "third line\n";

static const char PICKLE[] = "\x80\x02}q\x00(X\x05\x00\x00\x00hello tail that looks like text";

static bool view(void *context, uint32_t index, struct tc_source_view *out)
{
    (void)context;
    if (index == 0) {
        *out = (struct tc_source_view){.name = TC_LIT("logs/dmesg-gpu-07.txt"),
                                       .digest = TC_LIT("sha256:00"),
                                       .bytes = TC_LIT(KERNEL_LOG)};
        return true;
    }
    if (index == 1) {
        *out = (struct tc_source_view){.name = TC_LIT("dumps/_dump_13"),
                                       .digest = TC_LIT("sha256:01"),
                                       .bytes = tc_slice_make(PICKLE, sizeof PICKLE - 1)};
        return true;
    }
    if (index == 2) {
        *out = (struct tc_source_view){
            .name = TC_LIT("gone"), .digest = TC_LIT("sha256:02"), .bytes = TC_EMPTY};
        return true;
    }
    return false;
}

static const struct tc_sources SOURCES = {view, NULL};

static struct tc_finding finding(void)
{
    struct tc_finding f = {
        .pattern_id = TC_LIT("1"),
        .pattern_name = TC_LIT("nccl_hang"),
        .severity = TC_SEVERITY_CRITICAL,
        .discriminator = TC_LIT("missing_rank"),
        .headline = TC_LIT("Collective 20537 waits for rank 12"),
        .remediation = TC_LIT("Look at rank 12 first."),
        .first_ns = T0,
        .last_ns = T0,
    };
    f.scope = TC_SCOPE_NONE;
    return f;
}

static char text[65536];

static const char *render_wide(const struct tc_finding *f, unsigned columns, bool colour)
{
    struct tc_verdict v = {.finding = f,
                           .incident_id = TC_LIT("0123456789abcdef0123456789abcdef"),
                           .status = TC_VERDICT_OPEN,
                           .first_ns = f->first_ns};
    struct tc_text_style style = {columns, colour};
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    tc_verdict_render_story(&b, &v, NULL, 0, 0, &SOURCES, &style);
    assert_false(b.overflowed);
    text[b.len] = '\0';
    return text;
}

static const char *render(const struct tc_finding *f)
{
    return render_wide(f, 80, false);
}

static void assert_has(const char *haystack, const char *needle)
{
    if (strstr(haystack, needle) == NULL) {
        print_error("not found: \"%s\" in:\n%s\n", needle, haystack);
        fail();
    }
}

static void assert_lacks(const char *haystack, const char *needle)
{
    if (strstr(haystack, needle) != NULL) {
        print_error("found: \"%s\" in:\n%s\n", needle, haystack);
        fail();
    }
}

static unsigned widest(const char *s)
{
    unsigned most = 0;
    unsigned at = 0;
    for (; *s != '\0'; s++) {
        if (*s == '\n') {
            at = 0;
        } else {
            at += ((unsigned char)*s & 0xc0) != 0x80;
        }
        most = at > most ? at : most;
    }
    return most;
}

static void the_first_line_has_severity_pattern_and_time(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    assert_has(render(&f), "CRITICAL  nccl_hang  missing_rank                           "
                           "2026-11-15T03:04:05Z\nCollective 20537 waits for rank 12\n");
    assert_int_equal(widest(text), 80);
    f.severity = TC_SEVERITY_WARNING;
    assert_has(render(&f), "WARNING  nccl_hang");
    f.severity = TC_SEVERITY_INFO;
    assert_has(render(&f), "INFO  nccl_hang");
}

static void a_verdict_without_a_date_says_so(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    f.first_ns = TC_TIME_NONE;
    assert_has(render(&f), "undated\n");
}

static void resolved_is_said_and_open_is_not(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    assert_lacks(render(&f), "resolved");
    assert_lacks(render(&f), "open");
    struct tc_verdict v = {.finding = &f, .status = TC_VERDICT_RESOLVED, .first_ns = T0};
    struct tc_text_style style = {80, false};
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    tc_verdict_render_story(&b, &v, NULL, 0, 0, &SOURCES, &style);
    text[b.len] = '\0';
    assert_has(text, "missing_rank  resolved");
}

static void the_scope_names_what_is_known(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    f.scope.job = TC_LIT("dumps");
    f.scope.node = TC_LIT("gpu-07");
    f.scope.ns = TC_LIT("train");
    f.scope.pod = TC_LIT("llm-0");
    f.scope.container = TC_LIT("main");
    f.scope.gpu_uuid = TC_LIT("GPU-1");
    f.scope.pci = (struct tc_bdf){0, 0xb3, 0, 0, true};
    f.scope.rank = 0;
    f.scope.pid = 42;
    assert_has(
        render_wide(&f, 120, false),
        "  job dumps \xc2\xb7 node gpu-07 \xc2\xb7 namespace train \xc2\xb7 pod llm-0 \xc2\xb7 "
        "container main \xc2\xb7 GPU-1 \xc2\xb7 PCI 0000:b3:00.0 \xc2\xb7 rank 0 \xc2\xb7 "
        "pid 42\n");
}

static void attributes_of_every_type_are_shown_by_short_name(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    static const int32_t ranks[] = {0, 1, 2, 3, 7, 8, 11};
    static const struct tc_slice names[] = {{"a", 1}, {"b c", 3}};
    const struct tc_attr attrs[] = {
        {.key = TC_LIT("tracecore.alert.nccl_hang.stall_seconds"),
         .type = TC_ATTR_INT,
         {.integer = 41}},
        {.key = TC_LIT("event.reason"), .type = TC_ATTR_STRING, {.string = TC_LIT("Evicted")}},
        {.key = TC_LIT("tracecore.alert.x"), .type = TC_ATTR_BOOL, {.boolean = true}},
        {.key = TC_LIT("tracecore.alert.p.waiting_ranks"),
         .type = TC_ATTR_INTS,
         {.ints = ranks},
         .count = 7},
        {.key = TC_LIT("tracecore.alert.p.names"),
         .type = TC_ATTR_STRINGS,
         {.strings = names},
         .count = 2},
        {.key = TC_LIT("tracecore.alert.p.nobody"),
         .type = TC_ATTR_INTS,
         {.ints = ranks},
         .count = 0},
    };
    f.attrs = attrs;
    f.attr_count = sizeof attrs / sizeof attrs[0];
    assert_has(render_wide(&f, 120, false),
               "  stall seconds 41 \xc2\xb7 event.reason Evicted \xc2\xb7 x yes \xc2\xb7 "
               "waiting ranks 0-3, 7, 8, 11 \xc2\xb7 names a \xc2\xb7 b c\n");
    assert_lacks(text, "nobody");
}

static void what_the_scope_says_is_not_said_again(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    const struct tc_attr attr = {.key = TC_LIT("tracecore.alert.p.container"),
                                 .type = TC_ATTR_STRING,
                                 {.string = TC_LIT("main")}};
    f.attrs = &attr;
    f.attr_count = 1;
    f.scope.container = TC_LIT("main");
    assert_has(render(&f), "\n  container main\n");
    f.scope.container = TC_LIT("other");
    assert_has(render(&f), "\n  container other \xc2\xb7 container main\n");
}

static void what_the_headline_says_is_not_said_again(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    const struct tc_attr attrs[] = {
        {.key = TC_LIT("tracecore.alert.p.seq"), .type = TC_ATTR_INT, {.integer = 4711}},
        {.key = TC_LIT("tracecore.alert.p.op"), .type = TC_ATTR_STRING, {.string = TC_LIT("sum")}},
        {.key = TC_LIT("tracecore.alert.p.none"), .type = TC_ATTR_INT, {.integer = 0}},
        {.key = TC_LIT("tracecore.alert.p.left"), .type = TC_ATTR_INT, {.integer = 9}},
    };
    f.attrs = attrs;
    f.attr_count = 4;
    f.headline = TC_LIT("Collective 4711 (sum) stands still");
    assert_has(render(&f), "\n  left 9\n");
    f.headline = TC_LIT("It stands still");
    assert_has(render(&f), "\n  seq 4711 \xc2\xb7 op sum \xc2\xb7 left 9\n");
}

static void long_lists_are_cut_and_counted(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    int32_t even[40];
    struct tc_slice names[20];
    for (int32_t i = 0; i < 40; i++) {
        even[i] = i * 2;
    }
    for (size_t i = 0; i < 20; i++) {
        names[i] = TC_LIT("name");
    }
    const struct tc_attr attrs[] = {
        {.key = TC_LIT("tracecore.alert.p.even"),
         .type = TC_ATTR_INTS,
         {.ints = even},
         .count = 40},
        {.key = TC_LIT("tracecore.alert.p.names"),
         .type = TC_ATTR_STRINGS,
         {.strings = names},
         .count = 20},
    };
    f.attrs = attrs;
    f.attr_count = 2;
    render_wide(&f, 120, false);
    assert_has(text, "28, 30 \xe2\x80\xa6 (40 in all)");
    assert_lacks(text, "32");
    assert_has(text, "\xe2\x80\xa6 in all 20");
}

static void sixteen_runs_are_not_cut(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    int32_t even[16];
    for (int32_t i = 0; i < 16; i++) {
        even[i] = i * 2;
    }
    const struct tc_attr attr = {
        .key = TC_LIT("tracecore.alert.p.even"), .type = TC_ATTR_INTS, {.ints = even}, .count = 16};
    f.attrs = &attr;
    f.attr_count = 1;
    assert_has(render(&f), "28, 30");
    assert_lacks(text, "in all");
}

static void culprits_have_a_block_of_their_own(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    static const int32_t ranks[] = {12, 14};
    static const struct tc_slice reasons[] = {
        {"rank 12: never reached it: the last it issued was 20536, while its peers waited", 79},
        {"rank 14: entered", 16}};
    const struct tc_attr attrs[] = {
        {.key = TC_LIT("tracecore.alert.nccl_hang.culprit_ranks"),
         .type = TC_ATTR_INTS,
         {.ints = ranks},
         .count = 2},
        {.key = TC_LIT("tracecore.alert.nccl_hang.culprit_reasons"),
         .type = TC_ATTR_STRINGS,
         {.strings = reasons},
         .count = 2},
    };
    f.attrs = attrs;
    f.attr_count = 2;
    assert_has(render(&f), "  Culprits\n"
                           "    rank 12: never reached it: the last it issued was 20536, while its "
                           "peers\n      waited\n"
                           "    rank 14: entered\n");
    assert_lacks(text, "culprit ranks");
    struct tc_attr fewer[2] = {attrs[0], attrs[1]};
    fewer[1].count = 1;
    f.attrs = fewer;
    assert_has(render(&f), "  Culprit\n");
    assert_has(text, "culprit ranks 12, 14"); /* one reason for two ranks: the list says more */
}

static void the_timeline_is_in_order_of_time_with_undated_last(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    const struct tc_evidence e[] = {
        {.description = TC_LIT("second"), .time_ns = T0 + TC_SECOND, .raw.source = TC_SOURCE_NONE},
        {.description = TC_LIT("never"), .time_ns = TC_TIME_NONE, .raw.source = TC_SOURCE_NONE},
        {.description = TC_LIT("first"), .time_ns = T0, .raw.source = TC_SOURCE_NONE},
        {.kind = TC_LIT("kind_only"), .time_ns = T0 - T0 % TC_SECOND, .raw.source = TC_SOURCE_NONE},
    };
    f.evidence = e;
    f.evidence_count = 4;
    assert_has(render(&f), "  Timeline\n"
                           "    03:04:05.000  kind_only\n"
                           "    03:04:05.123  first\n"
                           "    03:04:06.123  second\n"
                           "         undated  never\n");
    assert_lacks(text, "Evidence");
}

static void different_days_are_shown_relative_to_the_first(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    struct tc_evidence e[] = {
        {.description = TC_LIT("first"), .time_ns = T0, .raw.source = TC_SOURCE_NONE},
        {.description = TC_LIT("same"), .time_ns = T0, .raw.source = TC_SOURCE_NONE},
        {.description = TC_LIT("later"),
         .time_ns = T0 + 86400 * TC_SECOND,
         .raw.source = TC_SOURCE_NONE},
    };
    f.evidence = e;
    f.evidence_count = 3;
    assert_has(render(&f), "    2026-11-15T03:04:05Z  first\n"
                           "    2026-11-15T03:04:05Z  same\n"
                           "                    +1 d  later\n");
    e[2].time_ns = T0 + 3600 * TC_SECOND;
    assert_has(render(&f), "    04:04:05.123  later\n");
}

static void text_is_quoted_with_its_line(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    const struct tc_evidence e[] = {
        {.description = TC_LIT("Xid 79"), .time_ns = T0, .raw = {0, 60, 11}},
        {.description = TC_LIT("the same bytes"), .time_ns = T0, .raw = {0, 60, 11}},
        {.description = TC_LIT("whole file"), .time_ns = T0, .raw = {0, 82, 0}},
    };
    f.evidence = e;
    f.evidence_count = 3;
    render(&f);
    assert_has(text, "  Evidence\n"
                     "    logs/dmesg-gpu-07.txt:2:\n"
                     "      [ 7.5] NVRM: Xid (PCI:0000:b3:00): 79, GPU has fallen off\n"
                     "    logs/dmesg-gpu-07.txt:1:\n"
                     "      first line [ 7.5] NVRM: Xid (PCI:0000:b3:00): 79, GPU has fallen off "
                     "thir\xe2\x80\xa6\n");
    assert_has(render_wide(&f, 120, false), "    logs/dmesg-gpu-07.txt:2: [ 7.5] NVRM: Xid (PCI");
}

static void bytes_that_are_no_text_are_named_as_evidence_cat_takes_them(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    const struct tc_evidence e[] = {
        {.description = TC_LIT("a"), .time_ns = T0, .raw = {1, 4, 2}},
        {.description = TC_LIT("looks like text"), .time_ns = T0, .raw = {1, 10, 20}},
        {.description = TC_LIT("no content"), .time_ns = T0, .raw = {2, 5, 3}},
        {.description = TC_LIT("past the end"), .time_ns = T0, .raw = {0, 5, 100000}},
        {.description = TC_LIT("unknown source"), .time_ns = T0, .raw = {9, 5, 3}},
    };
    f.evidence = e;
    f.evidence_count = 5;
    assert_has(render(&f), "  Evidence\n"
                           "    dumps/_dump_13 --at 2,4\n"
                           "    dumps/_dump_13 --at 20,10\n"
                           "    gone --at 3,5\n"
                           "    logs/dmesg-gpu-07.txt --at 100000,5\n"
                           "  Next\n");
}

static void long_trails_are_cut_and_counted(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    struct tc_evidence e[80];
    for (size_t i = 0; i < 80; i++) {
        e[i] =
            (struct tc_evidence){.description = TC_LIT("entry"), .time_ns = T0, .raw = {0, 5, i}};
    }
    f.evidence = e;
    f.evidence_count = 9;
    assert_has(render(&f), "    \xe2\x80\xa6 and 1 more in --json\n");
    f.evidence_count = 8;
    assert_lacks(render(&f), "more in --json");
    f.evidence_count = 80; /* more than a verdict may carry */
    assert_has(render(&f), "    \xe2\x80\xa6 and 72 more in --json\n");
}

static void nothing_from_outside_can_move_the_cursor(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    f.headline = TC_LIT("evil \033[2J\xff headline");
    f.scope.node = TC_LIT("node\r\x07");
    f.remediation = TC_LIT("clear\033[H");
    const struct tc_evidence e = {
        .description = TC_LIT("desc\033]0;x\x07"), .time_ns = T0, .raw.source = TC_SOURCE_NONE};
    f.evidence = &e;
    f.evidence_count = 1;
    render(&f);
    assert_has(text, "evil \\x1b[2J\\xff headline");
    for (const char *c = text; *c != '\0'; c++) {
        assert_true((unsigned char)*c >= 0x20 || *c == '\n');
    }
}

static void lines_stay_within_the_columns(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    char word[300];
    memset(word, 'w', sizeof word);
    char umlauts[200];
    for (size_t i = 0; i < sizeof umlauts; i += 2) {
        memcpy(umlauts + i, "\xc3\xa4", 2);
    }
    f.remediation = tc_slice_make(word, sizeof word);
    f.headline = tc_slice_make(umlauts, sizeof umlauts);
    f.scope.node = TC_LIT("\x01\x02\x03\x04\x05\x06\x07 \x01\x02\x03\x04\x05\x06\x07\x01\x02\x03");
    const struct tc_evidence e = {
        .description = tc_slice_make(word, sizeof word), .time_ns = T0, .raw = {0, 82, 0}};
    f.evidence = &e;
    f.evidence_count = 1;
    for (unsigned columns = 40; columns <= 120; columns += 7) {
        render_wide(&f, columns, false);
        assert_true(widest(text) <= columns);
        assert_lacks(text, " \n");
    }
    render_wide(&f, 3, false); /* narrower than anything readable is taken as 40 */
    assert_int_equal(widest(text), 40);
    f.discriminator = tc_slice_make(word, 100);
    render_wide(&f, 40, false);
    assert_int_equal(widest(text), 40);
}

static void one_hundred_umlauts_fill_one_hundred_columns(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    char umlauts[200];
    for (size_t i = 0; i < sizeof umlauts; i += 2) {
        memcpy(umlauts + i, "\xc3\xa4", 2);
    }
    f.headline = tc_slice_make(umlauts, sizeof umlauts);
    render_wide(&f, 100, false);
    const char *line = strstr(text, "\n\xc3\xa4") + 1;
    assert_ptr_equal(strchr(line, '\n'), line + 200);
    /* Two words of 24 and 25 umlauts are 50 columns wide, not 99. */
    umlauts[48] = ' ';
    memmove(umlauts + 49, umlauts + 50, 50);
    f.headline = tc_slice_make(umlauts, 99);
    render_wide(&f, 50, false);
    line = strstr(text, "\n\xc3\xa4") + 1;
    assert_ptr_equal(strchr(line, '\n'), line + 99);
    render_wide(&f, 49, false);
    line = strstr(text, "\n\xc3\xa4") + 1;
    assert_ptr_equal(strchr(line, '\n'), line + 48);
}

static void colour_is_there_only_when_asked_for(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    assert_lacks(render_wide(&f, 80, false), "\033");
    assert_has(render_wide(&f, 80, true), "\033[1;31mCRITICAL\033[0m");
}

static void causes_and_incompleteness_are_said(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    f.incomplete = true;
    f.confidence = TC_CONFIDENCE_PARTIAL;
    const struct tc_verdict_cause causes[] = {{TC_LIT("aaaa"), TC_LIT("rank 3 waits there")},
                                              {TC_EMPTY, TC_LIT("it is gone")}};
    struct tc_verdict v = {.finding = &f,
                           .first_ns = T0,
                           .incident_id = TC_LIT("bb"),
                           .causes = causes,
                           .cause_count = 2};
    struct tc_text_style style = {80, false};
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    tc_verdict_render_story(&b, &v, NULL, 0, 0, NULL, &style);
    text[b.len] = '\0';
    assert_has(text, "  Because of\n    incident aaaa rank 3 waits there\n    it is gone\n");
    assert_has(text,
               "  incident bb \xc2\xb7 confidence partial \xc2\xb7\n  incomplete: a memory budget");
}

static void a_buffer_that_is_too_small_is_reported(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    struct tc_verdict v = {.finding = &f, .first_ns = T0};
    struct tc_text_style style = {80, true};
    char small[64];
    struct tc_buf b = tc_buf_make(small, sizeof small);
    tc_verdict_render_story(&b, &v, NULL, 0, 0, &SOURCES, &style);
    assert_true(b.overflowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_has_severity_pattern_and_time),
        cmocka_unit_test(a_verdict_without_a_date_says_so),
        cmocka_unit_test(resolved_is_said_and_open_is_not),
        cmocka_unit_test(the_scope_names_what_is_known),
        cmocka_unit_test(attributes_of_every_type_are_shown_by_short_name),
        cmocka_unit_test(what_the_scope_says_is_not_said_again),
        cmocka_unit_test(what_the_headline_says_is_not_said_again),
        cmocka_unit_test(long_lists_are_cut_and_counted),
        cmocka_unit_test(sixteen_runs_are_not_cut),
        cmocka_unit_test(culprits_have_a_block_of_their_own),
        cmocka_unit_test(the_timeline_is_in_order_of_time_with_undated_last),
        cmocka_unit_test(different_days_are_shown_relative_to_the_first),
        cmocka_unit_test(text_is_quoted_with_its_line),
        cmocka_unit_test(bytes_that_are_no_text_are_named_as_evidence_cat_takes_them),
        cmocka_unit_test(long_trails_are_cut_and_counted),
        cmocka_unit_test(nothing_from_outside_can_move_the_cursor),
        cmocka_unit_test(lines_stay_within_the_columns),
        cmocka_unit_test(one_hundred_umlauts_fill_one_hundred_columns),
        cmocka_unit_test(colour_is_there_only_when_asked_for),
        cmocka_unit_test(causes_and_incompleteness_are_said),
        cmocka_unit_test(a_buffer_that_is_too_small_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
