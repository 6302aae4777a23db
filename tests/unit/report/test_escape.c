/* SPDX-License-Identifier: Apache-2.0 */
/* What comes from outside is text in a report, whatever it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/document/escape_priv.h"

#include <stdio.h>
#include <string.h>

typedef void (*escape_fn)(struct tc_grow *g, struct tc_slice s);

static void in_cell(struct tc_grow *g, struct tc_slice s)
{
    tc__md_text(g, s, TC__MD_CELL);
}

static void at_start(struct tc_grow *g, struct tc_slice s)
{
    tc__md_text(g, s, TC__MD_LINE_START);
}

static void inside(struct tc_grow *g, struct tc_slice s)
{
    tc__md_text(g, s, TC__MD_INLINE);
}

static void code(struct tc_grow *g, struct tc_slice s)
{
    tc__md_code(g, s, TC__MD_INLINE);
}

static void code_in_cell(struct tc_grow *g, struct tc_slice s)
{
    tc__md_code(g, s, TC__MD_CELL);
}

static void block(struct tc_grow *g, struct tc_slice s)
{
    tc__md_block(g, s, "sh");
}

static void becomes(escape_fn escape, struct tc_slice from, const char *to)
{
    struct tc_grow g = {0};
    escape(&g, from);
    tc_grow_str(&g, tc_slice_make("", 1));
    assert_false(g.failed);
    assert_string_equal(g.buf.data, to);
    tc_grow_fini(&g);
}

#define BECOMES(escape, from, to) becomes((escape), TC_LIT(from), (to))

static void html_has_no_markup_from_outside(void **state)
{
    (void)state;
    BECOMES(tc__html_text, "<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;");
    BECOMES(tc__html_text, "\" onload=\"x", "&quot; onload=&quot;x");
    BECOMES(tc__html_text, "' onload='x", "&#39; onload=&#39;x");
    BECOMES(tc__html_text, "&lt;&#60;", "&amp;lt;&amp;#60;");
    BECOMES(tc__html_text, "]]>--><!--", "]]&gt;--&gt;&lt;!--");
    BECOMES(tc__html_text, "", "");
}

static void what_is_not_seen_is_shown(void **state)
{
    (void)state;
    BECOMES(tc__html_text,
            "a\xe2\x80\xae"
            "b",
            "a\\xe2\\x80\\xaeb");
    BECOMES(tc__html_text, "a\nb\tc\x1b[31m", "a\\x0ab\\x09c\\x1b[31m");
    BECOMES(tc__html_text, "a\0b", "a\\x00b");
    BECOMES(inside,
            "a\xe2\x80\xae"
            "b",
            "a\\\\xe2\\\\x80\\\\xaeb");
    BECOMES(code,
            "a\xe2\x80\xae"
            "b",
            "`a\\xe2\\x80\\xaeb`");
    BECOMES(in_cell, "a\nb", "a\\\\x0ab");
    BECOMES(block,
            "a\x1b"
            "b",
            "```sh\na\\x1bb\n```\n");
}

static void bytes_that_are_no_text_are_shown(void **state)
{
    (void)state;
    BECOMES(tc__html_text,
            "a\xff"
            "b\xc3",
            "a\\xffb\\xc3");
    BECOMES(inside, "\xed\xa0\x80", "\\\\xed\\\\xa0\\\\x80");
    BECOMES(code, "\xc0\xaf", "`\\xc0\\xaf`");
}

static void letters_of_any_script_stay(void **state)
{
    (void)state;
    BECOMES(tc__html_text, "שלום — Ω é 測試", "שלום — Ω é 測試");
    BECOMES(inside, "שלום — Ω é 測試", "שלום — Ω é 測試");
}

static void lines_stay_in_preformatted_text(void **state)
{
    (void)state;
    BECOMES(tc__html_lines, "a <b\nc\r\nd", "a &lt;b\nc\\x0d\nd");
    BECOMES(block, "a\nb", "```sh\na\nb\n```\n");
    BECOMES(block, "a\nb\n", "```sh\na\nb\n```\n");
    BECOMES(block, "", "```sh\n```\n");
}

static void markdown_has_no_markup_from_outside(void **state)
{
    (void)state;
    BECOMES(inside, "*a* _b_ ~c~", "\\*a\\* \\_b\\_ \\~c\\~");
    BECOMES(inside, "[x](y)", "\\[x\\](y)");
    BECOMES(inside, "![x](y)", "!\\[x\\](y)");
    BECOMES(inside, "<img src=x>", "\\<img src=x\\>");
    BECOMES(inside, "a\\b", "a\\\\b");
    BECOMES(inside, "`x`", "\\`x\\`");
    BECOMES(inside, "&lt;", "\\&lt;");
    BECOMES(inside, "$x$", "\\$x\\$");
    BECOMES(inside, "#12", "\\#12");
}

/* Neither a link nor a mail to anybody: not even a text that GitHub would make one of by itself. */
static void markdown_has_no_links_and_mentions(void **state)
{
    (void)state;
    BECOMES(inside, "@root see https://e.example", "`@`root see https`:`//e.example");
    BECOMES(inside, "www.e.example", "www`.`e.example");
    BECOMES(inside, "WwW.e", "WwW`.`e");
    BECOMES(inside, "a: b, 10:30, x.y", "a: b, 10:30, x.y");
    BECOMES(inside, "w.w", "w.w");
}

static void a_bar_does_not_end_a_cell(void **state)
{
    (void)state;
    BECOMES(in_cell, "a|b", "a\\|b");
    BECOMES(in_cell, "a\\|b", "a\\\\\\|b");
    BECOMES(code_in_cell, "a|b", "`a\\|b`");
    BECOMES(code, "a|b", "`a|b`");
}

static void a_line_is_no_list_heading_or_rule(void **state)
{
    (void)state;
    BECOMES(at_start, "- a", "\\- a");
    BECOMES(at_start, "+ a", "\\+ a");
    BECOMES(at_start, "1. a", "1\\. a");
    BECOMES(at_start, "12) a", "12\\) a");
    BECOMES(at_start, "===", "\\===");
    BECOMES(at_start, "# a", "\\# a");
    BECOMES(at_start, "> a", "\\> a");
    BECOMES(at_start, "    a", "a");
    BECOMES(at_start, "1.5 ms", "1.5 ms");
    BECOMES(inside, "- a", "- a");
}

static void code_ends_where_it_is_meant_to(void **state)
{
    (void)state;
    BECOMES(code, "a`b", "``a`b``");
    BECOMES(code, "``a", "``` ``a ```");
    BECOMES(code, "a`", "`` a` ``");
    BECOMES(code, " a ", "`  a  `");
    BECOMES(code, "", "``` ```");
    BECOMES(block, "```\nx", "````sh\n```\nx\n````\n");
    BECOMES(block, "a```b\n~~~", "````sh\na```b\n~~~\n````\n");
}

/* Every byte there is, and a long text: no byte of markup is left, and nothing is lost. */
static void any_bytes_are_taken(void **state)
{
    (void)state;
    static char bytes[100000];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)((i * 7919 + i / 256) % 256);
    }
    const escape_fn all[] = {tc__html_text, tc__html_lines, in_cell, at_start,
                             inside,        code,           block,   code_in_cell};
    for (size_t n = 0; n < TC_COUNT(all); n++) {
        struct tc_grow g = {0};
        all[n](&g, tc_slice_make(bytes, sizeof bytes));
        assert_false(g.failed);
        assert_true(g.buf.len >= sizeof bytes);
        assert_null(n < 2 ? memchr(g.buf.data, '<', g.buf.len) : NULL);
        for (size_t i = 0; i < g.buf.len;) {
            size_t len = tc_utf8_len((const unsigned char *)g.buf.data + i, g.buf.len - i);
            assert_true(len > 0);
            i += len;
        }
        tc_grow_fini(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_has_no_markup_from_outside),
        cmocka_unit_test(what_is_not_seen_is_shown),
        cmocka_unit_test(bytes_that_are_no_text_are_shown),
        cmocka_unit_test(letters_of_any_script_stay),
        cmocka_unit_test(lines_stay_in_preformatted_text),
        cmocka_unit_test(markdown_has_no_markup_from_outside),
        cmocka_unit_test(markdown_has_no_links_and_mentions),
        cmocka_unit_test(a_bar_does_not_end_a_cell),
        cmocka_unit_test(a_line_is_no_list_heading_or_rule),
        cmocka_unit_test(code_ends_where_it_is_meant_to),
        cmocka_unit_test(any_bytes_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
