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

static struct tc_slice named; /* of source 3 */

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
    if (index == 3) {
        *out = (struct tc_source_view){
            .name = named, .digest = TC_LIT("sha256:03"), .bytes = TC_LIT("bytes")};
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

static const char *render_story(const struct tc_story_text *story,
                                const struct tc_text_style *style)
{
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    tc_verdict_render_story(&b, story, &SOURCES, style);
    assert_false(b.overflowed);
    text[b.len] = '\0';
    return text;
}

static const char *render_verdict(const struct tc_verdict *v, const struct tc_text_style *style)
{
    return render_story(&(struct tc_story_text){&v, 1, 1, 0}, style);
}

static struct tc_verdict verdict(const struct tc_finding *f)
{
    return (struct tc_verdict){.finding = f,
                               .incident_id = TC_LIT("0123456789abcdef0123456789abcdef"),
                               .status = TC_VERDICT_OPEN,
                               .first_ns = f->first_ns};
}

static const char *render_wide(const struct tc_finding *f, unsigned columns, bool colour)
{
    struct tc_verdict v = verdict(f);
    return render_verdict(&v, &(struct tc_text_style){.columns = columns, .colour = colour});
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

static void the_first_line_has_severity_what_and_where(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    f.scope.node = TC_LIT("gpu-07");
    f.scope.gpu_index = 1;
    f.scope.pci = (struct tc_bdf){0, 0xb3, 0, 0, true};
    f.scope.job = TC_LIT("llama");
    f.scope.rank = 12;
    assert_true(strstr(render(&f), "CRITICAL  nccl_hang missing_rank \xc2\xb7 node gpu-07 \xc2\xb7 "
                                   "GPU 1 \xc2\xb7 job llama \xc2\xb7 rank 12\n"
                                   "Collective 20537 waits for rank 12\n"
                                   "  open since 2026-11-15T03:04:05Z\n"
                                   "  To do\n"
                                   "    Look at rank 12 first.\n") == text);
    f.severity = TC_SEVERITY_WARNING;
    assert_has(render(&f), "WARNING  nccl_hang");
    f.severity = TC_SEVERITY_INFO;
    assert_has(render(&f), "INFO  nccl_hang");
    f.last_ns = T0 + 420 * TC_SECOND;
    assert_has(render(&f), "  open since 2026-11-15T03:04:05Z \xc2\xb7 last seen 7 min later\n");
}

static void a_verdict_without_a_date_says_so(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    f.first_ns = TC_TIME_NONE;
    f.last_ns = TC_TIME_NONE;
    assert_has(render(&f), "  open; its time is not known (undated)\n");
}

static void a_resolved_story_needs_nothing(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    const struct tc_evidence e = {
        .description = TC_LIT("seen"), .time_ns = T0, .raw.source = TC_SOURCE_NONE};
    f.evidence = &e;
    f.evidence_count = 1;
    f.last_ns = T0 + 2820 * TC_SECOND;
    assert_lacks(render(&f), "resolved");
    struct tc_verdict v = verdict(&f);
    v.status = TC_VERDICT_RESOLVED;
    render_verdict(&v, &(struct tc_text_style){.columns = 120});
    assert_string_equal(text, "RESOLVED  nccl_hang missing_rank\n"
                              "Collective 20537 waits for rank 12\n"
                              "  resolved: it lasted 47 min, from 2026-11-15T03:04:05Z to "
                              "03:51:05Z \xc2\xb7 nothing needs doing\n"
                              "  incident 0123456789abcdef0123456789abcdef \xc2\xb7 confidence "
                              "full\n");
    render_verdict(&v, &(struct tc_text_style){.columns = 120, .all = true});
    assert_has(text, "  Timeline\n    03:04:05.123  seen\n");
    assert_lacks(text, "To do");
}

static void what_the_first_line_has_no_room_for_is_in_the_details(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    f.scope.ns = TC_LIT("train");
    f.scope.pod = TC_LIT("llm-0");
    f.scope.container = TC_LIT("main");
    f.scope.pid = 42;
    assert_has(render_wide(&f, 120, false), "missing_rank \xc2\xb7 pod train/llm-0\n");
    assert_has(text, "  Details\n    container main \xc2\xb7 pid 42\n");
    f.scope.gpu_uuid = TC_LIT("GPU-1");
    assert_has(render_wide(&f, 120, false), "missing_rank \xc2\xb7 GPU-1\n");
    assert_has(text, "  Details\n    pod train/llm-0 \xc2\xb7 container main \xc2\xb7 pid 42\n");
    f.scope.pci = (struct tc_bdf){0, 0xb3, 0, 0, true};
    assert_has(render_wide(&f, 120, false), "missing_rank \xc2\xb7 PCI 0000:b3:00.0\n");
    f.scope.gpu_index = 1;
    assert_has(render_wide(&f, 120, false), "missing_rank \xc2\xb7 GPU 1\n");
    assert_has(text,
               "  Details\n    pod train/llm-0 \xc2\xb7 container main \xc2\xb7 GPU-1 \xc2\xb7 "
               "PCI 0000:b3:00.0 \xc2\xb7 pid 42\n");
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
               "    stall 41 s \xc2\xb7 event.reason Evicted \xc2\xb7 x yes \xc2\xb7 "
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
    assert_has(render(&f), "\n    container main\n");
    f.scope.container = TC_LIT("other");
    assert_has(render(&f), "\n    container other \xc2\xb7 container main\n");
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
    assert_has(render(&f), "\n    left 9\n");
    f.headline = TC_LIT("It stands still");
    assert_has(render(&f), "\n    seq 4711 \xc2\xb7 op sum \xc2\xb7 left 9\n");
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

static void the_reasons_of_culprits_are_why(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    static const int32_t ranks[] = {12, 13, 14};
    static const struct tc_slice reasons[] = {
        {"rank 12: never reached it: the last it issued was 20536, while its peers waited", 79},
        {"rank 13: entered", 16},
        {"rank 14: never reached it: the last it issued was 20536, while its peers waited", 79}};
    const struct tc_attr attrs[] = {
        {.key = TC_LIT("tracecore.alert.nccl_hang.culprit_ranks"),
         .type = TC_ATTR_INTS,
         {.ints = ranks},
         .count = 3},
        {.key = TC_LIT("tracecore.alert.nccl_hang.culprit_reasons"),
         .type = TC_ATTR_STRINGS,
         {.strings = reasons},
         .count = 3},
    };
    f.attrs = attrs;
    f.attr_count = 2;
    assert_has(render(&f),
               "  Why\n"
               "    each of ranks 12, 14: never reached it: the last it issued was 20536, "
               "while\n      its peers waited\n"
               "    rank 13: entered\n");
    assert_lacks(text, "culprit");
    struct tc_attr fewer[2] = {attrs[0], attrs[1]};
    fewer[1].count = 1;
    f.attrs = fewer;
    assert_has(render(&f), "  Why\n    rank 12: never");
    assert_has(text, "culprit ranks 12-14"); /* one reason for three ranks: the list says more */
}

static void why_has_three_lines_at_most(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    char reasons_text[5][128];
    struct tc_slice reasons[5];
    for (size_t i = 0; i < 5; i++) {
        (void)snprintf(
            reasons_text[i], sizeof reasons_text[i], "rank %zu: reason number %zu%s", i, i,
            i == 0 ? " is so long that it needs more than one line of the page to be told" : "");
        reasons[i] = tc_slice_cstr(reasons_text[i]);
    }
    const struct tc_attr attr = {.key = TC_LIT("tracecore.alert.nccl_hang.culprit_reasons"),
                                 .type = TC_ATTR_STRINGS,
                                 {.strings = reasons},
                                 .count = 5};
    f.attrs = &attr;
    f.attr_count = 1;
    assert_has(render(&f),
               "  Why\n    rank 0: reason number 0 is so long that it needs more than one "
               "line of the\n      page to be told\n    rank 1: reason number 1\n  Details\n");
    assert_has(text, "rank 4: reason number 4"); /* all of them, in the details */
}

static void without_reasons_what_was_seen_is_why(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    const struct tc_evidence e[] = {
        {.kind = TC_LIT("place"),
         .description = TC_LIT("who is who"),
         .time_ns = T0 - TC_SECOND,
         .raw.source = TC_SOURCE_NONE},
        {.kind = TC_LIT("xid"),
         .description = TC_LIT("Xid 48: a"),
         .time_ns = T0,
         .raw.source = TC_SOURCE_NONE},
        {.kind = TC_LIT("xid"),
         .description = TC_LIT("Xid 63: b"),
         .time_ns = T0,
         .raw.source = TC_SOURCE_NONE},
        {.kind = TC_LIT("step"),
         .description = TC_LIT("No step ended for 420 s, none at all"),
         .time_ns = T0,
         .raw.source = TC_SOURCE_NONE},
    };
    f.evidence = e;
    f.evidence_count = 4;
    assert_has(render(&f), "  Why\n"
                           "    Xid 48: a\n"
                           "    No step ended for 7 min, none at all\n"
                           "    who is who\n"
                           "  Timeline\n");
}

static void a_timeline_that_only_repeats_why_is_left_out(void **state)
{
    (void)state;
    const struct tc_evidence e[] = {
        {TC_LIT("xid"), TC_EMPTY, TC_LIT("Xid 79"), T0, {0, 0, 0}},
        {TC_LIT("pod"), TC_EMPTY, TC_LIT("pod failed"), T0 + TC_SECOND, {0, 0, 0}},
    };
    struct tc_finding f = finding();
    f.evidence = e;
    f.evidence_count = 1;
    assert_has(render(&f), "  Why\n    Xid 79\n");
    assert_lacks(text, "Timeline");
    f.evidence_count = 2;
    assert_has(render(&f), "  Timeline\n");
    /* Its time is another than the story's. */
    f.evidence = e + 1;
    f.evidence_count = 1;
    assert_has(render(&f), "  Timeline\n");
}

static void seconds_are_set_as_all_durations_are(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    f.headline =
        TC_LIT("stood 2820 s; (3661 s) 59 s 60 s. 61 sec 99999999999999999999 s x60 s 120");
    assert_has(render_wide(&f, 120, false),
               "stood 47 min; (3661 s) 59 s 1 min. 61 sec 99999999999999999999 s x60 s 120\n");
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

static void lines_of_a_text_are_quoted_under_the_command_that_prints_them(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    const struct tc_evidence e[] = {
        {.description = TC_LIT("Xid 79"), .time_ns = T0, .raw = {0, 60, 11}},
        {.description = TC_LIT("the same bytes"), .time_ns = T0, .raw = {0, 60, 11}},
        {.description = TC_LIT("whole file"), .time_ns = T0, .raw = {0, 82, 0}},
        {.description = TC_LIT("part of a line"), .time_ns = T0, .raw = {0, 9, 22}},
    };
    f.evidence = e;
    f.evidence_count = 4;
    render(&f);
    assert_has(text, "  Evidence\n"
                     "    sed -n 2p logs/dmesg-gpu-07.txt\n"
                     "      [ 7.5] NVRM: Xid (PCI:0000:b3:00): 79, GPU has fallen off\n"
                     "    sed -n 1,3p logs/dmesg-gpu-07.txt\n"
                     "      first line [ 7.5] NVRM: Xid (PCI:0000:b3:00): 79, GPU has fallen off "
                     "third line\n"
                     "    tracecore evidence cat logs/dmesg-gpu-07.txt --at 22,9\n");
    struct tc_verdict v = verdict(&f);
    render_verdict(&v, &(struct tc_text_style){.columns = 80, .cut = true});
    assert_has(text, "GPU has fallen off thir\xe2\x80\xa6\n");
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
                           "    tracecore evidence cat dumps/_dump_13 --at 2,4\n"
                           "    tracecore evidence cat dumps/_dump_13 --at 20,10\n"
                           "    tracecore evidence cat gone --at 3,5\n"
                           "    tracecore evidence cat logs/dmesg-gpu-07.txt --at 100000,5\n"
                           "  incident");
}

static void long_trails_are_counted_and_all_shows_them(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    struct tc_evidence e[80];
    char words[80][8];
    for (size_t i = 0; i < 80; i++) {
        (void)snprintf(words[i], sizeof words[i], "e%c%c", 'a' + (int)i / 10, 'a' + (int)i % 10);
        e[i] = (struct tc_evidence){
            .description = tc_slice_cstr(words[i]), .time_ns = T0, .raw = {0, 5, i}};
    }
    f.evidence = e;
    f.evidence_count = 9;
    assert_has(render(&f), "    \xe2\x80\xa6 and 1 more, see --all\n");
    f.evidence_count = 8;
    assert_lacks(render(&f), "see --all");
    f.evidence_count = 80; /* more than a verdict may carry */
    assert_has(render(&f), "    \xe2\x80\xa6 and 72 more, see --all\n");
    f.evidence_count = 64;
    struct tc_verdict v = verdict(&f);
    render_verdict(&v, &(struct tc_text_style){.columns = 80, .all = true});
    assert_lacks(text, "see --all");
    assert_has(text, "  egd\n");
}

static void lines_that_differ_in_numbers_only_are_folded(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    struct tc_evidence e[] = {
        {.description = TC_LIT("rank 4 entered 17"), .time_ns = T0},
        {.description = TC_LIT("rank 11 entered 9"), .time_ns = T0 + TC_SECOND},
        {.description = TC_LIT("rank 12 entered 17"), .time_ns = T0 + 2 * TC_SECOND},
        {.description = TC_LIT("rank 12 entered it"), .time_ns = T0 + 3 * TC_SECOND},
        {.description = TC_LIT("rank 5 entered 17"), .time_ns = T0 + 4 * TC_SECOND},
    };
    for (size_t i = 0; i < 5; i++) {
        e[i].raw.source = TC_SOURCE_NONE;
    }
    f.evidence = e;
    f.evidence_count = 5;
    assert_has(render(&f), "  Why\n    rank 4 entered 17 (and 3 alike)\n");
    assert_has(render(&f), "    03:04:05.123  rank 4 entered 17\n"
                           "                  and 2 alike, the last at 03:04:07.123\n"
                           "    03:04:08.123  rank 12 entered it\n"
                           "    03:04:09.123  rank 5 entered 17\n");
    struct tc_verdict v = verdict(&f);
    render_verdict(&v, &(struct tc_text_style){.columns = 80, .all = true});
    assert_has(text, "    03:04:06.123  rank 11 entered 9\n");
}

static void names_are_quoted_for_a_shell(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *shown;
    } cases[] = {
        {"a b.log", "'a b.log'"},
        {"it's", "'it'\\''s'"},
        {"\xc3\xa4.log", "'\xc3\xa4.log'"},
        {"a\x1b[2J\\'", "$'a\\x1b[2J\\\\\\''"},
        {"\xff", "$'\\xff'"},
        {"$(reboot)", "'$(reboot)'"},
    };
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        char expected[64];
        named = tc_slice_cstr(cases[i].name);
        struct tc_finding f = finding();
        const struct tc_evidence e = {.description = TC_LIT("x"), .time_ns = T0, .raw = {3, 5, 0}};
        f.evidence = &e;
        f.evidence_count = 1;
        (void)snprintf(expected, sizeof expected, "    sed -n 1p %s\n", cases[i].shown);
        assert_has(render(&f), expected);
    }
    named = TC_LIT("-");
    struct tc_finding f = finding();
    const struct tc_evidence e = {.description = TC_LIT("x"), .time_ns = T0, .raw = {3, 5, 0}};
    f.evidence = &e;
    f.evidence_count = 1;
    assert_has(render(&f), "    standard input, 5 bytes at 0\n");
}

/* Verdicts of a story: what each is about, and which came of which. */
static void what_followed_is_folded_by_pattern_and_job(void **state)
{
    (void)state;
    struct tc_finding f[60];
    struct tc_verdict v[60];
    const struct tc_verdict *list[60];
    const struct tc_verdict_cause cause = {TC_LIT("aa"),
                                           TC_LIT("rank 5 ran there; x began 90 s before")};
    for (size_t i = 0; i < 60; i++) {
        f[i] = finding();
        f[i].scope.job = i == 59 ? TC_LIT("other") : TC_LIT("llama");
        f[i].headline = i == 59 ? TC_LIT("The other job") : TC_LIT("A group waits");
        v[i] = verdict(&f[i]);
        v[i].causes = &cause;
        v[i].cause_count = i > 0;
        list[i] = &v[i];
    }
    f[0].pattern_name = TC_LIT("hbm_ecc");
    f[0].headline = TC_LIT("GPU 1 lost memory");
    struct tc_story_text story = {list, 1, 60, 3};
    render_story(&story, &(struct tc_text_style){.columns = 80});
    assert_has(text, "3. CRITICAL  hbm_ecc missing_rank");
    assert_has(text, "  What followed\n"
                     "    A group waits (nccl_hang)\n"
                     "      because rank 5 ran there; x began 1 min 30 s before\n"
                     "      and 57 other groups\n"
                     "    The other job (nccl_hang)\n");
}

static void every_open_root_says_what_to_do(void **state)
{
    (void)state;
    struct tc_finding f[3] = {finding(), finding(), finding()};
    f[1].headline = TC_LIT("The second cause");
    f[1].remediation = TC_LIT("Look at the second.");
    f[2].headline = TC_LIT("The consequence");
    f[2].remediation = TC_LIT("Restart the job.");
    f[2].pattern_name = TC_LIT("pod_evicted");
    struct tc_verdict v[3] = {verdict(&f[0]), verdict(&f[1]), verdict(&f[2])};
    const struct tc_verdict *list[] = {&v[0], &v[1], &v[2]};
    struct tc_story_text story = {list, 2, 3, 0};
    struct tc_text_style style = {.columns = 80};
    render_story(&story, &style);
    assert_has(text, "  To do\n    Look at rank 12 first.\n    Look at the second.\n");
    assert_has(text, "  Together with\n    The second cause (nccl_hang)\n");
    v[0].status = TC_VERDICT_RESOLVED;
    render_story(&story, &style);
    assert_has(text, "  To do\n    Look at the second.\n");
    v[1].status = TC_VERDICT_RESOLVED;
    f[2].severity = TC_SEVERITY_WARNING;
    render_story(&story, &style);
    assert_has(text, "WARNING  nccl_hang");
    assert_has(text, "  To do\n    nccl_hang is over, pod_evicted is not: Restart the job.\n");
    v[2].status = TC_VERDICT_RESOLVED;
    render_story(&story, &style);
    assert_has(text, "RESOLVED  nccl_hang");
    assert_lacks(text, "To do");
}

static const char *overview(const struct tc_story_text *stories, size_t count,
                            const struct tc_text_style *style)
{
    struct tc_overview o = {0};
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    for (size_t i = 0; i < count; i++) {
        struct tc_story_sum sum = tc_story_sum_of(&stories[i]);
        tc_overview_add(&o, &sum);
    }
    tc_overview_render_head(&b, &o, style);
    for (size_t i = 0; i < count; i++) {
        tc_overview_render_line(&b, &o, &stories[i], style);
    }
    text[b.len] = '\0';
    return text;
}

static void the_overview_has_a_line_per_story(void **state)
{
    (void)state;
    struct tc_finding f[3] = {finding(), finding(), finding()};
    f[0].scope.node = TC_LIT("gpu-07");
    f[1].severity = TC_SEVERITY_WARNING;
    f[2].scope.job = TC_LIT("a-job-with-a-name-that-no-terminal-of-eighty-columns-has-room-for");
    struct tc_verdict v[3] = {verdict(&f[0]), verdict(&f[1]), verdict(&f[2])};
    v[2].status = TC_VERDICT_RESOLVED;
    const struct tc_verdict *list[] = {&v[0], &v[1], &v[2], &v[2]};
    const struct tc_story_text stories[] = {
        {list, 1, 1, 1}, {list + 1, 1, 1, 2}, {list + 2, 1, 2, 3}};
    struct tc_text_style style = {.columns = 80};
    assert_string_equal(overview(stories, 3, &style),
                        "3 stories on 2026-11-15 (UTC): 2 open (1 critical, 1 warning), 1 "
                        "resolved\n"
                        "  1  CRITICAL  03:04  nccl_hang missing_rank \xc2\xb7 node gpu-07\n"
                        "  2  WARNING   03:04  nccl_hang missing_rank\n"
                        "  3  RESOLVED  03:04  nccl_hang missing_rank \xc2\xb7 job "
                        "a-job-with-a-name-that-no-terminal-of-eighty-columns-has-room-for "
                        "\xc2\xb7 1 followed\n");
    style.cut = true;
    overview(stories, 3, &style);
    assert_true(widest(text) <= 80);
    assert_has(text, "\xe2\x80\xa6\n");
    v[1].first_ns = T0 + 86400 * TC_SECOND;
    v[2].first_ns = TC_TIME_NONE;
    f[2].last_ns = TC_TIME_NONE;
    overview(stories, 3, &style);
    assert_has(text, "1 resolved\n  1  CRITICAL  11-15 03:04  nccl_hang");
    assert_has(text, "3 stories (times are UTC): 2 open");
    assert_has(text, "  2  WARNING   11-16 03:04  nccl_hang");
    assert_has(text, "  3  RESOLVED               nccl_hang");
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
    struct tc_verdict v = verdict(&f);
    for (unsigned columns = 40; columns <= 120; columns += 7) {
        render_verdict(&v, &(struct tc_text_style){.columns = columns, .cut = true});
        assert_true(widest(text) <= columns);
        assert_lacks(text, " \n");
    }
    /* Narrower than anything readable is taken as 40. */
    render_verdict(&v, &(struct tc_text_style){.columns = 3, .cut = true});
    assert_int_equal(widest(text), 40);
    f.discriminator = tc_slice_make(word, 100);
    render_verdict(&v, &(struct tc_text_style){.columns = 40, .cut = true});
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
    render_verdict(&v, &(struct tc_text_style){.columns = 80});
    assert_has(text, "  Why\n    rank 3 waits there (incident aaaa)\n    it is gone\n");
    assert_has(text,
               "  incident bb \xc2\xb7 confidence partial \xc2\xb7\n  incomplete: a memory budget");
}

static void a_buffer_that_is_too_small_is_reported(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    struct tc_verdict v = verdict(&f);
    const struct tc_verdict *list = &v;
    struct tc_story_text story = {&list, 1, 1, 0};
    struct tc_text_style style = {.columns = 80, .colour = true};
    char small[64];
    struct tc_buf b = tc_buf_make(small, sizeof small);
    tc_verdict_render_story(&b, &story, &SOURCES, &style);
    assert_true(b.overflowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_has_severity_what_and_where),
        cmocka_unit_test(a_verdict_without_a_date_says_so),
        cmocka_unit_test(a_resolved_story_needs_nothing),
        cmocka_unit_test(what_the_first_line_has_no_room_for_is_in_the_details),
        cmocka_unit_test(attributes_of_every_type_are_shown_by_short_name),
        cmocka_unit_test(what_the_scope_says_is_not_said_again),
        cmocka_unit_test(what_the_headline_says_is_not_said_again),
        cmocka_unit_test(long_lists_are_cut_and_counted),
        cmocka_unit_test(sixteen_runs_are_not_cut),
        cmocka_unit_test(the_reasons_of_culprits_are_why),
        cmocka_unit_test(why_has_three_lines_at_most),
        cmocka_unit_test(without_reasons_what_was_seen_is_why),
        cmocka_unit_test(a_timeline_that_only_repeats_why_is_left_out),
        cmocka_unit_test(seconds_are_set_as_all_durations_are),
        cmocka_unit_test(the_timeline_is_in_order_of_time_with_undated_last),
        cmocka_unit_test(different_days_are_shown_relative_to_the_first),
        cmocka_unit_test(lines_of_a_text_are_quoted_under_the_command_that_prints_them),
        cmocka_unit_test(bytes_that_are_no_text_are_named_as_evidence_cat_takes_them),
        cmocka_unit_test(long_trails_are_counted_and_all_shows_them),
        cmocka_unit_test(lines_that_differ_in_numbers_only_are_folded),
        cmocka_unit_test(names_are_quoted_for_a_shell),
        cmocka_unit_test(what_followed_is_folded_by_pattern_and_job),
        cmocka_unit_test(every_open_root_says_what_to_do),
        cmocka_unit_test(the_overview_has_a_line_per_story),
        cmocka_unit_test(nothing_from_outside_can_move_the_cursor),
        cmocka_unit_test(lines_stay_within_the_columns),
        cmocka_unit_test(one_hundred_umlauts_fill_one_hundred_columns),
        cmocka_unit_test(colour_is_there_only_when_asked_for),
        cmocka_unit_test(causes_and_incompleteness_are_said),
        cmocka_unit_test(a_buffer_that_is_too_small_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
