/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a YAML text: what PyYAML makes of it, where everything stands, and its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/yaml/json.h"
#include "base/yaml/tree.h"

#include "base/buf.h"
#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    const char *yaml;
    const char *json; /* NULL: refused */
};

static const struct tc_yaml_options PYTHON = {
    .schema = TC_YAML_PYTHON_1_1,
    .places = TC_YAML_AT_SIGN,
    .depth_max = TC_JSON_DEPTH_MAX,
    .values_max = 4096,
    .keys_max = 100,
    .anchors_max = 16,
    .json_max = 1 << 20,
    .json_alias_max = SIZE_MAX,
};

static const struct tc_yaml_options TEXT = {
    .schema = TC_YAML_TEXT, .places = TC_YAML_AT_QUOTE, .depth_max = 4, .values_max = 4096};

static void check(const struct pair *p)
{
    struct tc_yaml_tree tree;
    struct tc_yaml_failure failure;
    struct tc_error err = {.message = ""};
    char *json = NULL;
    size_t len = 0;
    tc_status status = tc_yaml_tree_read(tc_slice_cstr(p->yaml), &PYTHON, &tree, &failure);
    if (status == TC_OK) {
        assert_non_null(tree.root);
        status = tc_yaml_json(tree.root, &PYTHON, &json, &len, &err);
        assert_true(status == TC_OK || strncmp(err.message, "line ", 5) == 0);
    } else {
        assert_true(failure.problem.text[0] != '\0');
    }
    if ((status == TC_OK) != (p->json != NULL)) {
        fail_msg("<%s>: %s%s", p->yaml, status == TC_OK ? json : failure.problem.text, err.message);
    }
    if (status == TC_OK) {
        assert_string_equal(json, p->json);
    }
    free(json);
    tc_yaml_tree_fini(&tree);
}

#define CHECK_ALL(pairs)                                              \
    for (size_t i = 0; i < sizeof(pairs) / sizeof((pairs)[0]); i++) { \
        check(&(pairs)[i]);                                           \
    }

static void python_scalars_are_resolved(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {"yes", "true"},
        {"Yes", "true"},
        {"yEs", "\"yEs\""},
        {"y", "\"y\""},
        {"ON", "true"},
        {"off", "false"},
        {"No", "false"},
        {"010", "8"},
        {"0_10", "8"},
        {"08", "\"08\""},
        {"0o10", "\"0o10\""},
        {"0b1_01", "5"},
        {"-0x1_F", "-31"},
        {"0x_", NULL},
        {"0b", "\"0b\""},
        {"1_000", "1000"},
        {"_1", "\"_1\""},
        {"1e3", "\"1e3\""},
        {"1.0e3", "\"1.0e3\""},
        {"1.0e+3", "1000"},
        {"1_0.5_0", "10.5"},
        {".5", "0.5"},
        {"-.5", "\"-.5\""},
        {"._5", "\"._5\""},
        {"1:30", "90"},
        {"-1:30", "-90"},
        {"1:60", "\"1:60\""},
        {"1:5:3", "3903"},
        {"01:30", "\"01:30\""},
        {"01:30.5", "90.5"},
        {"1:30.", "90"},
        {"+.inf", NULL},
        {"2001-12-14", "\"2001-12-14\""},
        {"=", NULL},
        {"'yes'", "\"yes\""},
        {"!!str yes", "\"yes\""},
        {"2001-02-29", NULL},
        {"-0", "0"},
        {"9223372036854775808", NULL},
        {"!!bool oFf", "false"},
        {"!!float 1", "1"},
        {"!!int 0o7", NULL},
        {"!!null x", "null"},
        {"!!binary eA==", NULL},
        {"! yes", "true"},
    };
    CHECK_ALL(pairs);
}

static void of_a_key_twice_the_last_counts(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {"a: 1\nb: 2\na: 3\n", "{\"b\":2,\"a\":3}"},
        {"x: {a: 1, a: {a: 2, a: 3}}\nx: [{b: 1, b: 2}]\n", "{\"x\":[{\"b\":2}]}"},
        {"a: 1\na: 2\na: 3\n", "{\"a\":3}"},
        {"true: 1\n1.50: 2\n~: 3\n", "{\"true\":1,\"1.5\":2,\"null\":3}"},
        {"? [1]\n: 2\n", NULL},
        {"a: 1\n---\nb: 2\n", NULL},
        {"!!set {a, b}", NULL},
        {"!!pairs [{a: 1}, {a: 2}]", "[{\"a\":1},{\"a\":2}]"},
        {"!!omap [{a: 1, b: 2}]", NULL},
    };
    CHECK_ALL(pairs);
}

static void aliases_are_the_node_of_their_anchor(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {"a: &x [1, 2]\nb: *x\n", "{\"a\":[1,2],\"b\":[1,2]}"},
        {"a: &x 1\n*x : 2\n", "{\"a\":1,\"1\":2}"},
        {"a: &x 1\nb: &x 2\n", NULL},
        {"a: *x\n", NULL},
        {"a: &x [*x]\n", NULL},
        {"a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\n",
         "{\"a\":{\"p\":1,\"q\":2},\"b\":{\"p\":1,\"q\":3}}"},
        {"b:\n  q: 3\n  <<: {p: 1, q: 2}\n", "{\"b\":{\"p\":1,\"q\":3}}"},
        {"b:\n  <<: [{p: 1}, {p: 2, r: 3}]\n", "{\"b\":{\"r\":3,\"p\":1}}"},
        {"a: &x {p: 1, p: 2}\nb: {<<: *x}\n", "{\"a\":{\"p\":2},\"b\":{\"p\":2}}"},
        {"<<: {}\n", "{}"},
        {"<<: 1\n", NULL},
        {"<<: [1]\n", NULL},
        {"a: &x\n  <<: *x\n", NULL},
        {"'<<': 1\n", "{\"<<\":1}"},
    };
    CHECK_ALL(pairs);
}

static tc_status try_text(const char *text, size_t len, enum tc_yaml_fault *out)
{
    struct tc_yaml_tree tree;
    struct tc_yaml_failure failure;
    tc_status status = tc_yaml_tree_read(tc_slice_make(text, len), &PYTHON, &tree, &failure);
    *out = status == TC_OK ? TC_YAML_FAULT_NONE : failure.fault;
    tc_yaml_tree_fini(&tree);
    return status;
}

static void limits_are_those_of_the_options(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        const char *part; /* with the number of it */
        size_t most;
        enum tc_yaml_fault fault;
    } cases[] = {
        {"", "- %zu\n", 4095, TC_YAML_FAULT_TOO_MANY},
        {"", "k%zu: 1\n", 100, TC_YAML_FAULT_MANY_KEYS},
        {"", "- &x%zu 1\n", 16, TC_YAML_FAULT_MANY_ANCHORS},
        {"<<:\n", "- {a: %zu}\n", 64, TC_YAML_FAULT_MERGE_LIST},
    };
    static char text[1 << 20];
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct tc_buf b = tc_buf_make(text, sizeof text);
        enum tc_yaml_fault fault = TC_YAML_FAULT_NONE;
        tc_buf_str(&b, tc_slice_cstr(cases[c].before));
        for (size_t i = 0; i <= cases[c].most; i++) {
            char line[64];
            if (i == cases[c].most) {
                assert_int_equal(try_text(text, b.len, &fault), TC_OK);
            }
            const char *rest = strstr(cases[c].part, "%zu");
            (void)snprintf(line, sizeof line, "%.*s%zu%s", (int)(rest - cases[c].part),
                           cases[c].part, i, rest + 3);
            tc_buf_str(&b, tc_slice_cstr(line));
        }
        assert_int_not_equal(try_text(text, b.len, &fault), TC_OK);
        assert_int_equal(fault, cases[c].fault);
    }
}

/* Merges copy: a small text does not become a large tree by them. */
static void merged_pairs_count_as_values(void **state)
{
    (void)state;
    char text[8192];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    enum tc_yaml_fault fault = TC_YAML_FAULT_NONE;
    tc_buf_lit(&b, "a: &a {");
    for (unsigned i = 0; i < 90; i++) {
        tc_buf_lit(&b, "k");
        tc_buf_u64(&b, i);
        tc_buf_lit(&b, ": 1, ");
    }
    tc_buf_lit(&b, "}\nb:\n");
    for (unsigned i = 0; i < 60; i++) {
        tc_buf_lit(&b, "- {<<: *a}\n");
    }
    assert_false(b.overflowed);
    assert_int_equal(try_text(text, b.len, &fault), TC_E_LIMIT);
    assert_int_equal(fault, TC_YAML_FAULT_TOO_MANY);
}

/* "KEY L:C VALUE L:C" of the pairs of a root, and what is open. */
static void put_places(struct tc_buf *b, const struct tc_yaml_node *n)
{
    for (const struct tc_yaml_entry *e = tc_yaml_first(n); e != NULL; e = e->next) {
        char text[128];
        (void)snprintf(text, sizeof text, "%.*s %u:%u %d%s%s %u:%u,",
                       TC_FMT(e->key == NULL ? TC_EMPTY : tc_yaml_text(e->key)),
                       e->key == NULL ? 0 : e->key->at.line, e->key == NULL ? 0 : e->key->at.column,
                       (int)e->value->kind, e->value->has_anchor ? "&" : "",
                       e->value->has_tag ? "!" : "", e->at.line, e->at.column);
        tc_buf_str(b, tc_slice_cstr(text));
        assert_true(e->value->kind != TC_YAML_UNKNOWN || e->next == NULL || e->value->has_anchor);
    }
    tc_buf_str(b, n->is_open ? TC_LIT("...") : TC_EMPTY);
}

static const char *places(const char *yaml, enum tc_yaml_schema schema, enum tc_yaml_places at)
{
    static char text[1024];
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    struct tc_yaml_options options = TEXT;
    struct tc_yaml_tree tree;
    struct tc_yaml_failure failure;
    options.schema = schema;
    options.places = at;
    options.keys_max = options.anchors_max = 16;
    tc_status status = tc_yaml_tree_read(tc_slice_cstr(yaml), &options, &tree, &failure);
    if (tree.root != NULL) {
        put_places(&b, tree.root);
    }
    if (status != TC_OK) {
        char why[600];
        (void)snprintf(why, sizeof why, " %d %d %u:%u", (int)failure.stage, (int)failure.fault,
                       failure.problem.at.line, failure.problem.at.column);
        tc_buf_str(&b, tc_slice_cstr(why));
    }
    text[b.len] = '\0';
    tc_yaml_tree_fini(&tree);
    return text;
}

static void places_are_those_that_are_asked_for(void **state)
{
    (void)state;
    static const char yaml[] = "'a': \"x\"\nb: |\n  y\nc: &n 1\nd: *n\ne:\n";
    assert_string_equal(places(yaml, TC_YAML_PYTHON_1_1, TC_YAML_AT_TEXT),
                        "a 1:2 4 1:7,b 2:1 4 3:1,c 4:1 2& 4:7,d 5:1 2& 5:5,e 6:1 0 6:1,");
    assert_string_equal(places(yaml, TC_YAML_PYTHON_1_1, TC_YAML_AT_QUOTE),
                        "a 1:1 4 1:6,b 2:1 4 3:1,c 4:1 2& 4:7,d 5:1 2& 5:5,e 6:1 0 6:1,");
    assert_string_equal(places(yaml, TC_YAML_PYTHON_1_1, TC_YAML_AT_SIGN),
                        "a 1:1 4 1:6,b 2:1 4 2:4,c 4:1 2& 4:7,d 5:1 2& 5:4,e 6:1 0 6:1,");
}

static void a_tree_of_text_refuses_nothing(void **state)
{
    (void)state;
    assert_string_equal(
        places("a: &n 1\na: *n\nb: !t yes\n[k]: ~\n*n : 2\n", TC_YAML_TEXT, TC_YAML_AT_QUOTE),
        "a 1:1 4& 1:7,a 2:1 10& 2:5,b 3:1 4! 3:7, 4:1 0 4:6, 5:2 4 5:6,");
}

static void what_stands_before_a_failure_is_there(void **state)
{
    (void)state;
    /* A key, and nothing that its value could be. */
    assert_string_equal(places("a: 1\nb: \"c", TC_YAML_TEXT, TC_YAML_AT_QUOTE),
                        "a 1:1 4 1:4,b 2:1 10 2:1,... 1 0 2:5");
    assert_string_equal(places("a: 1\nb: [[[[]]]]\n", TC_YAML_TEXT, TC_YAML_AT_QUOTE),
                        "a 1:1 4 1:4,b 2:1 7 2:4,... 2 0 2:7");
    assert_string_equal(places("a: 1\n---\nb: 2\n", TC_YAML_TEXT, TC_YAML_AT_QUOTE),
                        "a 1:1 4 1:4, 2 22 2:1");
    /* What libfyaml must not see is not read at all. */
    assert_string_equal(places("a: 1\nb: \x01", TC_YAML_TEXT, TC_YAML_AT_QUOTE), " 0 0 2:4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_scalars_are_resolved),
        cmocka_unit_test(of_a_key_twice_the_last_counts),
        cmocka_unit_test(aliases_are_the_node_of_their_anchor),
        cmocka_unit_test(limits_are_those_of_the_options),
        cmocka_unit_test(merged_pairs_count_as_values),
        cmocka_unit_test(places_are_those_that_are_asked_for),
        cmocka_unit_test(a_tree_of_text_refuses_nothing),
        cmocka_unit_test(what_stands_before_a_failure_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
