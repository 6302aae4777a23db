/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of S3, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "object_store/xml.h"

#include <stdio.h>
#include <string.h>

static char seen[8192];

static bool take(void *context, struct tc_slice path, struct tc_slice text)
{
    size_t used = strlen(seen);
    (void)snprintf(seen + used, sizeof seen - used, "%.*s=%.*s\n", TC_FMT(path), TC_FMT(text));
    return context == NULL;
}

static tc_status read_xml(const char *document)
{
    seen[0] = '\0';
    return tc_xml_read(tc_slice_cstr(document), take, NULL);
}

static void leaves_are_given_with_their_path(void **state)
{
    (void)state;
    assert_int_equal(
        read_xml("\xef\xbb\xbf<?xml version='1.0'?>\n<!-- c > d --><s3:List xmlns=\"a>b\" "
                 "b='/'><Up><Key>a&amp;b</Key><Id/></Up><T>  x </T></s3:List>\n"),
        TC_OK);
    assert_string_equal(seen, "List/Up/Key=a&b\nList/Up/Id=\nList/T=  x \n");
    assert_int_equal(read_xml("<a>&lt;&gt;&quot;&apos;&#65;&#x42;&#8364;</a>"), TC_OK);
    assert_string_equal(seen, "a=<>\"'AB?\n");
    assert_int_equal(read_xml("<a></a >"), TC_OK);
}

static void it_stops_when_told(void **state)
{
    (void)state;
    seen[0] = '\0';
    assert_int_equal(tc_xml_read(TC_LIT("<a><b>1</b><c>2</c><broken"), take, seen), TC_OK);
    assert_string_equal(seen, "a/b=1\n");
}

static void what_is_no_document_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "text",
        "<",
        "<a",
        "<a>",
        "<a></b>",
        "</a>",
        "<a></a><b></b>",
        "<a></a>x",
        "<a><b></a></b>",
        "<>x</>",
        "<a b='></a>",
        "<a <b></a>",
        "<a>&nbsp;</a>",
        "<a>&#0;</a>",
        "<a>&#x;</a>",
        "<a>&#12x;</a>",
        "<a>&amp</a>",
        "&amp;",
        "<a></a x>",
        "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
        "<a><![CDATA[x]]></a>",
        "<?xml",
        "<!-- ",
        "<html><p>no",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (read_xml(cases[i]) != TC_E_MALFORMED) {
            fail_msg("%s", cases[i]);
        }
    }
}

/* <a> and so on, `depth` deep, with names of `name` characters. */
static tc_status nested(size_t depth, size_t name)
{
    static char text[8192];
    char word[256];
    size_t used = 0;
    memset(word, 'n', name);
    word[name] = '\0';
    for (size_t i = 0; i < 2 * depth; i++) {
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "<%s%s>", i < depth ? "" : "/", word);
    }
    return tc_xml_read(tc_slice_make(text, used), take, NULL);
}

static void depth_names_and_texts_are_bounded(void **state)
{
    (void)state;
    static char text[4096];
    seen[0] = '\0';
    assert_int_equal(nested(TC_XML_DEPTH_MAX, TC_XML_NAME_MAX), TC_OK);
    assert_int_equal(nested(TC_XML_DEPTH_MAX + 1, TC_XML_NAME_MAX), TC_E_MALFORMED);
    assert_int_equal(nested(1, TC_XML_NAME_MAX + 1), TC_E_MALFORMED);
    memset(text, 'x', sizeof text - 1);
    memcpy(text, "<a>", 3);
    memcpy(text + 2000, "</a>", 5);
    assert_int_equal(read_xml(text), TC_OK);
    assert_int_equal(strlen(seen), TC_XML_TEXT_MAX + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_are_given_with_their_path),
        cmocka_unit_test(it_stops_when_told),
        cmocka_unit_test(what_is_no_document_is_refused),
        cmocka_unit_test(depth_names_and_texts_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
