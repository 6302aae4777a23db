/* SPDX-License-Identifier: Apache-2.0 */
/* A document in its three formats: complete, escaped, and with nothing that a number lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/digest.h"
#include "base/json/json.h"
#include "report/document/html_priv.h"
#include "report/document/render.h"
#include "support/assert_text.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ATTACK                                                                              \
    "</script></style></title><script>alert(1)</script><img src=//e.example onerror=x>|`a`" \
    "](https://e.example)\"'\xe2\x80\xae\n@all"

static unsigned char block[1 << 20];
static struct tc_arena arena;
static struct tc_doc doc;
static struct tc_grow out;

static int set_up(void **state)
{
    (void)state;
    tc_arena_init(&arena, "report", block, sizeof block);
    tc_doc_init(&doc, &arena, TC_LIT("Title"));
    doc.audience = TC_LIT("engineering");
    doc.version = TC_LIT("1.2.3");
    out = (struct tc_grow){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tc_grow_fini(&out);
    tc_arena_fini(&arena);
    return 0;
}

static const struct tc_doc_number MEASURED = {
    .value = 412.34,
    .unit = {"ms", 2},
    .runs = 5,
    .has_interval = true,
    .interval = {401.2, 420.8, 0.95},
    .id = {"num-0123456789abcdef", 20},
};

static const struct tc_doc_number RATIO = {
    .value = 1.38,
    .style = TC_DOC_RATIO,
    .runs = 4,
    .base_runs = 5,
    .has_interval = true,
    .interval = {1.2, 1.5, 0.95},
    .id = {"num-00000000000000ff", 20},
};

static const struct tc_doc_number SINGLE = {
    .value = -3,
    .style = TC_DOC_CHANGE,
    .unit = {"ms", 2},
    .runs = 1,
    .why = {"one run: no interval can be given", 33},
    .id = {"num-1111111111111111", 20},
};

/* All of the style sheet. */
static const char *style_text(void)
{
    static char text[16384];
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    for (size_t i = 0; tc__html_style[i] != NULL; i++) {
        tc_buf_str(&b, tc_slice_cstr(tc__html_style[i]));
    }
    assert_false(b.overflowed);
    text[b.len] = '\0';
    return text;
}

static struct tc_slice markdown(void)
{
    tc_grow_fini(&out);
    tc_doc_markdown(&doc, &out);
    assert_false(out.failed || doc.failed);
    return tc_grow_slice(&out);
}

static struct tc_slice html(void)
{
    tc_grow_fini(&out);
    tc_doc_html(&doc, &out);
    assert_false(out.failed || doc.failed);
    return tc_grow_slice(&out);
}

static struct tc_slice json(void)
{
    tc_grow_fini(&out);
    struct tc_json_out j = tc_json_out_grow(&out);
    tc_doc_json(&doc, &j);
    assert_true(tc_json_done(&j));
    assert_false(doc.failed);
    return tc_grow_slice(&out);
}

static void an_empty_document_is_whole(void **state)
{
    (void)state;
    assert_text(markdown(), "# Title\n\n\nWritten by tracecore 1.2.3 for engineering.\n");
    assert_says(html(), "<h1>Title</h1>");
    assert_says(tc_grow_slice(&out), "</html>\n");
    assert_text(json(), "{\"title\":\"Title\",\"audience\":\"engineering\",\"tracecore\":\"1.2.3\","
                        "\"answer\":[],\"facts\":[],\"blocks\":[],\"lineage\":[],\"runs\":[]}");
}

static void a_number_has_all_its_parts_in_a_sentence(void **state)
{
    (void)state;
    struct tc_doc_spans *p = tc_doc_paragraph(&doc);
    tc_doc_say(&doc, p, "It takes ");
    assert_non_null(tc_doc_add_number(&doc, p, &MEASURED));
    tc_doc_say(&doc, p, " now.");
    assert_says(markdown(), "It takes **412.3 ms** (401.2 to 420.8 at 95 %; n 5; "
                            "`num-0123456789abcdef`) now.\n");
    assert_says(html(), "<span class=\"value\">412.3 ms</span> <span class=\"range\">(401.2 to "
                        "420.8 at 95 %;</span> <span class=\"runs\">n 5; <a class=\"id\" "
                        "href=\"#num-0123456789abcdef\">num-0123456789abcdef</a>)</span>");
    assert_says(json(), "{\"number\":{\"id\":\"num-0123456789abcdef\",\"kind\":\"value\",\"value\":"
                        "412.34,\"unit\":\"ms\",\"n\":5,\"interval\":{\"low\":401.2,\"high\":420.8,"
                        "\"level\":0.95}}}");
}

static void a_number_of_one_run_says_why_it_has_no_interval(void **state)
{
    (void)state;
    tc_doc_add_number(&doc, tc_doc_paragraph(&doc), &SINGLE);
    assert_says(markdown(), "**-3 ms** (one run: no interval can be given; n 1; "
                            "`num-1111111111111111`)");
    assert_says(html(), "<span class=\"range none\">(one run: no interval can be given;</span>");
    assert_says(json(), "\"kind\":\"difference\",\"value\":-3,\"unit\":\"ms\",\"n\":1,\"interval\":"
                        "null,\"no_interval\":\"one run: no interval can be given\"");
}

static void add_table(void)
{
    struct tc_doc_table *t = tc_doc_table(&doc, TC_LIT("Changes"));
    tc_doc_column(&doc, t, TC_LIT("metric"), false);
    tc_doc_column(&doc, t, TC_LIT("base"), true);
    tc_doc_column(&doc, t, TC_LIT("change"), true);
    tc_doc_column(&doc, t, TC_LIT("verdict"), false);
    tc_doc_row(&doc, t);
    tc_doc_add(&doc, tc_doc_cell(&doc, t), TC_DOC_CODE, TC_LIT("ttft"));
    tc_doc_add_number(&doc, tc_doc_cell(&doc, t), &MEASURED);
    tc_doc_add_number(&doc, tc_doc_cell(&doc, t), &RATIO);
    tc_doc_stress(&doc, tc_doc_cell(&doc, t), "worse");
    tc_doc_row(&doc, t);
    tc_doc_add(&doc, tc_doc_cell(&doc, t), TC_DOC_CODE, TC_LIT("a|b"));
    tc_doc_say(&doc, tc_doc_cell(&doc, t), "not measured");
}

static void markdown_tables_have_a_row_for_each_number(void **state)
{
    (void)state;
    add_table();
    assert_says(
        markdown(),
        "Changes\n\n"
        "| metric | verdict   |        | value        | interval               | n       | "
        "lineage                |\n"
        "| ------ | --------- | ------ | ------------ | ---------------------- | ------- | "
        "---------------------- |\n"
        "| `ttft` | **worse** | base   | 412.3 ms     | 401.2 to 420.8 at 95 % | 5       | "
        "`num-0123456789abcdef` |\n"
        "|        |           | change | 1.38 x       | 1.2 to 1.5 at 95 %     | 5 and 4 | "
        "`num-00000000000000ff` |\n"
        "| `a\\|b` |           | base   | not measured |                        |         | "
        "                       |\n");
}

static void html_tables_have_heads_for_rows_and_columns(void **state)
{
    (void)state;
    add_table();
    assert_says(html(), "<table class=\"wide\"><caption>Changes</caption><thead><tr><th "
                        "scope=\"col\">metric</th>");
    assert_says(tc_grow_slice(&out), "<th scope=\"row\"><bdi><code>ttft</code></bdi></th><td "
                                     "class=\"number\" data-head=\"base\"><span class=\"value\">");
    assert_says(tc_grow_slice(&out), "<td data-head=\"verdict\"></td></tr>");
}

static void json_tables_have_cells(void **state)
{
    (void)state;
    add_table();
    assert_says(json(), "\"columns\":[\"metric\",\"base\",\"change\",\"verdict\"],\"rows\":[[[{"
                        "\"code\":\"ttft\"}],[{\"number\":{");
    assert_says(tc_grow_slice(&out), "\"n\":4,\"n_base\":5,");
}

/* ---- what comes from outside, in every place there is ---- */

static const struct tc_doc_mark MARKS[] = {
    {.x = 1, .y = 2, .label = {ATTACK, sizeof ATTACK - 1}},
    {.x = 2, .y = 3, .low = 2, .high = 4, .has_range = true, .label = {"c=2", 3}},
    {.x = 2.001, .y = 3},
};

static void add_plot(enum tc_doc_plot_kind kind, struct tc_slice text)
{
    static struct tc_doc_change change;
    struct tc_doc_plot *p = tc_doc_plot(&doc, kind, text);
    change = (struct tc_doc_change){.at = 1, .before = 2, .after = 3, .label = text};
    p->describes = text;
    p->x_name = text;
    p->y_name = text;
    p->side_count = kind == TC_DOC_TREND ? 1 : 2;
    p->sides[0] = (struct tc_doc_side){text, MARKS, TC_COUNT(MARKS), &MEASURED};
    p->sides[1] = (struct tc_doc_side){TC_LIT("candidate"), MARKS, TC_COUNT(MARKS), &SINGLE};
    p->changes = &change;
    p->change_count = kind == TC_DOC_TREND ? 1 : 0;
}

static void fill_with(struct tc_slice text)
{
    static struct tc_doc_run run;
    static struct tc_doc_source source;
    static struct tc_doc_number number;
    run = (struct tc_doc_run){text, text, text};
    source = (struct tc_doc_source){text, text, text, text};
    number = MEASURED;
    number.id = text;
    number.unit = text;
    doc.title = text;
    doc.audience = text;
    doc.version = text;
    tc_doc_add(&doc, &doc.answer, TC_DOC_TEXT, text);
    tc_doc_add(&doc, tc_doc_fact(&doc, text), TC_DOC_CODE, text);
    tc_doc_heading(&doc, 2, text);
    tc_doc_add(&doc, tc_doc_paragraph(&doc), TC_DOC_STRONG, text);
    tc_doc_add(&doc, tc_doc_item(&doc), TC_DOC_TEXT, text);
    tc_doc_add(&doc, tc_doc_note(&doc), TC_DOC_CODE, text);
    tc_doc_add_number(&doc, tc_doc_paragraph(&doc), &number);
    tc_doc_command(&doc, text);
    struct tc_doc_table *t = tc_doc_table(&doc, text);
    tc_doc_column(&doc, t, text, false);
    tc_doc_column(&doc, t, text, true);
    tc_doc_row(&doc, t);
    tc_doc_add(&doc, tc_doc_cell(&doc, t), TC_DOC_TEXT, text);
    tc_doc_add_number(&doc, tc_doc_cell(&doc, t), &number);
    add_plot(TC_DOC_STRIP, text);
    add_plot(TC_DOC_CURVE, text);
    add_plot(TC_DOC_TREND, text);
    const struct tc_doc_basis *basis = tc_doc_basis_add(
        &doc,
        &(struct tc_doc_basis){
            .name = text, .runs = &run, .run_count = 1, .sources = &source, .source_count = 1});
    tc_doc_lineage_add(&doc, &(struct tc_doc_lineage){.id = text,
                                                      .what = text,
                                                      .query = text,
                                                      .query_digest = text,
                                                      .bases = {basis, basis}});
}

static void nothing_from_outside_is_markup_in_html(void **state)
{
    (void)state;
    fill_with(TC_LIT(ATTACK));
    struct tc_slice page = html();
    static const char *const OURS[] = {"<script", "<img", "onerror=x>", "</style></title>",
                                       "\xe2\x80\xae"};
    for (size_t i = 0; i < TC_COUNT(OURS); i++) {
        assert_false(tc_slice_contains(page, tc_slice_cstr(OURS[i])));
    }
    assert_says(page, "&lt;script&gt;alert(1)&lt;/script&gt;");
    assert_says(page, "onerror=x&gt;|`a`](https://e.example)&quot;&#39;\\xe2\\x80\\xae");
}

/* Quotes are balanced, and in every tag there are only the attributes of ours. */
static void every_tag_of_the_page_is_well_formed(void **state)
{
    (void)state;
    fill_with(TC_LIT(ATTACK));
    struct tc_slice page = html();
    size_t style = 0;
    while (strncmp(page.ptr + style, "<style>", 7) != 0) {
        style++;
    }
    bool in_tag = false;
    bool in_quotes = false;
    for (size_t i = 0; i < page.len; i++) {
        char c = page.ptr[i];
        if (i == style) {
            i += 7 + strlen(style_text());
            assert_memory_equal(page.ptr + i, "</style>", 8);
            c = page.ptr[i];
        }
        assert_false(c == '<' && in_tag);
        assert_true(c != '>' || in_tag || in_quotes);
        in_quotes = in_tag && c == '"' ? !in_quotes : in_quotes;
        in_tag = in_quotes || c == '<' || (in_tag && c != '>');
    }
    assert_false(in_tag || in_quotes);
}

/* Those that part cells. In a table every row has as many as the others. */
static size_t count_bars(struct tc_slice line)
{
    size_t bars = 0;
    for (size_t i = 0; i < line.len; i++) {
        bars += line.ptr[i] == '|' && (i == 0 || line.ptr[i - 1] != '\\');
    }
    return bars;
}

static void nothing_from_outside_is_markup_in_markdown(void **state)
{
    (void)state;
    fill_with(TC_LIT(ATTACK));
    struct tc_slice page = markdown();
    assert_false(tc_slice_contains(page, TC_LIT("\xe2\x80\xae")));
    assert_false(tc_slice_contains(page, TC_LIT(" @all")));
    assert_says(page, "# \\</script\\>\\</style\\>");
    assert_says(page, "\\](https`:`//e.example)");
    size_t before = 0;
    for (size_t at = 0; at < page.len;) {
        struct tc_slice line = tc_slice_from(page, at);
        const char *end = memchr(line.ptr, '\n', line.len);
        assert_non_null(end);
        line.len = (size_t)(end - line.ptr);
        size_t bars = line.len > 0 && line.ptr[0] == '|' ? count_bars(line) : 0;
        assert_true(bars == 0 || before == 0 || bars == before);
        before = bars;
        at += line.len + 1;
    }
}

static void any_text_is_json(void **state)
{
    (void)state;
    fill_with(TC_LIT(ATTACK "\xff"));
    struct tc_slice text = json();
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_json value;
    assert_non_null(parser);
    assert_int_equal(tc_json_parse(parser, text, &value, NULL), TC_OK);
    tc_json_parser_destroy(parser);
}

static void other_directions_stay_in_their_element(void **state)
{
    (void)state;
    tc_doc_add(&doc, tc_doc_paragraph(&doc), TC_DOC_TEXT, TC_LIT("שלום 1"));
    tc_doc_add(&doc, tc_doc_paragraph(&doc), TC_DOC_CODE, TC_LIT("مرحبا"));
    assert_says(html(), "<bdi>שלום 1</bdi>");
    assert_says(tc_grow_slice(&out), "<bdi><code>مرحبا</code></bdi>");
}

/* ---- the page asks nobody for anything ---- */

static size_t count_of(struct tc_slice page, const char *text)
{
    size_t count = 0;
    for (size_t i = 0; i < page.len; i++) {
        count += tc_slice_starts(tc_slice_from(page, i), tc_slice_cstr(text));
    }
    return count;
}

static void the_page_has_no_address_and_no_script(void **state)
{
    (void)state;
    add_table();
    add_plot(TC_DOC_CURVE, TC_LIT("plot"));
    for (size_t i = 0; i < 2; i++) { /* without the text that has an address */
        doc.last->plot->sides[i].marks = &MARKS[1];
        doc.last->plot->sides[i].mark_count = 2;
    }
    struct tc_slice page = html();
    static const char *const NONE[] = {"://",     "src=",    "url(",      "<script", "<link",
                                       "@import", "<img",    " on",       "style=",  "<iframe",
                                       "<base",   "<meta h", "javascript"};
    for (size_t i = 0; i < TC_COUNT(NONE); i++) {
        bool is_policy = strcmp(NONE[i], "<meta h") == 0;
        if (count_of(page, NONE[i]) != (is_policy ? 1 : 0)) {
            fail_msg("the page has %s", NONE[i]);
        }
    }
}

static void the_policy_names_the_digest_of_the_style(void **state)
{
    (void)state;
    struct tc_digest digest;
    char text[TC_BASE64_LEN(TC_DIGEST_BYTES)];
    struct tc_slice page = html();
    assert_int_equal(tc_digest_sha256(tc_slice_cstr(style_text()), &digest), TC_OK);
    (void)tc_base64_put(text, tc_slice_make((const char *)digest.bytes, sizeof digest.bytes), true);
    assert_says(page, "content=\"default-src 'none'; style-src 'sha256-");
    assert_true(tc_slice_contains(page, tc_slice_make(text, sizeof text)));
    assert_null(strchr(style_text(), '<'));
}

/* ---- plots ---- */

static void plots_take_any_values(void **state)
{
    (void)state;
    static const double VALUES[] = {0,       -0.0,     1,   -1,       1e-300, 1e300,
                                    DBL_MAX, -DBL_MAX, NAN, INFINITY, 1e15,   1e15 + 1};
    static struct tc_doc_mark marks[TC_COUNT(VALUES)];
    for (size_t a = 0; a < TC_COUNT(VALUES); a++) {
        for (size_t b = 0; b < TC_COUNT(VALUES); b++) {
            marks[0] = (struct tc_doc_mark){.x = VALUES[a], .y = VALUES[b]};
            marks[1] = (struct tc_doc_mark){
                .x = VALUES[b], .y = VALUES[a], .has_range = true, .low = VALUES[b], .high = 3};
            tc_arena_reset(&arena);
            tc_doc_init(&doc, &arena, TC_LIT("t"));
            for (int kind = TC_DOC_STRIP; kind <= TC_DOC_TREND; kind++) {
                struct tc_doc_plot *p = tc_doc_plot(&doc, (enum tc_doc_plot_kind)kind, TC_LIT("p"));
                p->side_count = 1;
                p->sides[0] = (struct tc_doc_side){TC_LIT("s"), marks, 2, NULL};
            }
            struct tc_slice page = html();
            assert_false(tc_slice_contains(page, TC_LIT("nan")));
            assert_false(tc_slice_contains(page, TC_LIT("inf")));
            (void)markdown();
        }
    }
}

static void plots_without_marks_say_so(void **state)
{
    (void)state;
    for (int kind = TC_DOC_STRIP; kind <= TC_DOC_TREND; kind++) {
        (void)tc_doc_plot(&doc, (enum tc_doc_plot_kind)kind, TC_LIT("p"));
    }
    assert_says(html(), "There are no values.");
    (void)markdown();
    (void)json();
}

static void every_replicate_is_a_mark(void **state)
{
    (void)state;
    add_plot(TC_DOC_STRIP, TC_LIT("base"));
    struct tc_slice page = html();
    assert_int_equal(count_of(page, "<circle"), 2 * TC_COUNT(MARKS));
    assert_says(page, "<title id=\"plot0t\">base</title><desc id=\"plot0d\">base</desc>");
    assert_says(markdown(), "o                                                          2  base\n");
}

static void ticks_are_round(void **state)
{
    (void)state;
    static struct tc_doc_mark marks[] = {{.x = 401.3}, {.x = 433.9}};
    struct tc_doc_plot *p = tc_doc_plot(&doc, TC_DOC_STRIP, TC_LIT("p"));
    p->side_count = 1;
    p->sides[0] = (struct tc_doc_side){TC_LIT("s"), marks, 2, NULL};
    struct tc_slice page = html();
    assert_says(page, ">400</text>");
    assert_says(page, ">410</text>");
    assert_says(page, ">440</text>");
    assert_false(tc_slice_contains(page, TC_LIT(">450</text>")));
}

/* ---- lineage ---- */

static void lineage_lists_each_id_once_and_each_query_once(void **state)
{
    (void)state;
    const struct tc_doc_lineage entries[] = {
        {.id = TC_LIT("num-1"), .what = TC_LIT("a"), .query = TC_LIT("SELECT 1")},
        {.id = TC_LIT("num-2"),
         .what = TC_LIT("b"),
         .query = TC_LIT("SELECT 1"),
         .is_published = true},
        {.id = TC_LIT("num-1"), .what = TC_LIT("c"), .query = TC_LIT("SELECT 2")},
    };
    for (size_t i = 0; i < TC_COUNT(entries); i++) {
        tc_doc_lineage_add(&doc, &entries[i]);
    }
    assert_says(markdown(), "- `num-1` a; not published; query ");
    assert_says(tc_grow_slice(&out), "`SELECT 1`\n\n- `num-2` b; published; query of `num-1`\n");
    assert_false(tc_slice_contains(tc_grow_slice(&out), TC_LIT("SELECT 2")));
    assert_says(html(), "<li id=\"num-1\"><code>num-1</code> a; not published");
    assert_says(json(), "{\"id\":\"num-2\",\"what\":\"b\",\"published\":true,");
}

/* ---- memory ---- */

static void a_full_arena_fails_the_document_and_nothing_else(void **state)
{
    (void)state;
    static unsigned char little[8192];
    for (size_t size = 0; size <= sizeof little; size += 64) {
        struct tc_arena small;
        tc_arena_init(&small, "small", little, size);
        tc_doc_init(&doc, &small, TC_LIT("Title"));
        add_table();
        tc_doc_say(&doc, tc_doc_note(&doc), "{}", TC_LIT("note"));
        tc_doc_lineage_add(&doc, &(struct tc_doc_lineage){.id = TC_LIT("num-1")});
        assert_true(doc.failed || size > 0);
        assert_false(doc.failed && size == sizeof little);
        tc_arena_fini(&small);
    }
}

static void a_long_text_is_kept(void **state)
{
    (void)state;
    static char text[100000];
    memset(text, 'x', sizeof text);
    tc_doc_say(&doc, tc_doc_paragraph(&doc), "<{}>", tc_slice_make(text, sizeof text));
    assert_false(doc.failed);
    assert_int_equal(doc.first->spans.first->text.len, sizeof text + 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_empty_document_is_whole),
        TEST(a_number_has_all_its_parts_in_a_sentence),
        TEST(a_number_of_one_run_says_why_it_has_no_interval),
        TEST(markdown_tables_have_a_row_for_each_number),
        TEST(html_tables_have_heads_for_rows_and_columns),
        TEST(json_tables_have_cells),
        TEST(nothing_from_outside_is_markup_in_html),
        TEST(every_tag_of_the_page_is_well_formed),
        TEST(nothing_from_outside_is_markup_in_markdown),
        TEST(any_text_is_json),
        TEST(other_directions_stay_in_their_element),
        TEST(the_page_has_no_address_and_no_script),
        TEST(the_policy_names_the_digest_of_the_style),
        TEST(plots_take_any_values),
        TEST(plots_without_marks_say_so),
        TEST(every_replicate_is_a_mark),
        TEST(ticks_are_round),
        TEST(lineage_lists_each_id_once_and_each_query_once),
        TEST(a_full_arena_fails_the_document_and_nothing_else),
        TEST(a_long_text_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
