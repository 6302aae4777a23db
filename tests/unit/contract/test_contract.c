/* SPDX-License-Identifier: Apache-2.0 */
/* Reading contracts: places, YAML's edges and limits, facts and canonical forms. Which paths are
 * told for what is compared with an oracle in tests/oracle/contract_mutants.py. */
#include "unit/contract/contract_testing.h"

static void places_are_those_of_values(void **state)
{
    (void)state;
    const char *text = "kind: Other\n"
                       "apiVersion: ''\n"
                       "metadata: {name: 12}\n"
                       "spec:\n"
                       "  intent:\n"
                       "    cadence: &a yes\n"
                       "    schedulerPath: *a\n"
                       "    benchmarkClass: |\n"
                       "      x\n"
                       "    workloadType:\n"
                       "  layers: !!map {}\n";
    const char *all = told(text, false);
    const char *const lines[] = {
        "2:13: apiVersion: expected non-empty string, found an empty string\n",
        "1:7: kind: expected BenchmarkRun, found string \"Other\"\n",
        "3:18: metadata.name: expected non-empty string, found integer 12; write it in quotes\n",
        "8:21: spec.intent.benchmarkClass: expected one of publication_grade, realism_grade, found "
        "string \"x\\x0a\"\n",
        "10:5: spec.intent.workloadType: expected one of inference, mixed, training, found null\n",
        "6:17: spec.intent.cadence: expected non-empty string, found boolean yes; write it in "
        "quotes\n",
        "7:20: spec.intent.schedulerPath: expected non-empty string, found boolean yes; write it "
        "in quotes\n",
        "11:17: spec.layers: expected list, found a mapping\n",
        /* What is missing is missed in the mapping where it should be. */
        "5:3: spec.workload: expected mapping, found nothing\n",
        "5:3: spec.workload.model: expected non-empty string, found nothing\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (strstr(all, lines[i]) == NULL) {
            fail_msg("not told: %sbut\n%.2000s", lines[i], all);
        }
    }
}

static void places_survive_line_ends_and_marks(void **state)
{
    (void)state;
    assert_non_null(strstr(told("a: 1\r\nkind: Other\r\n", false), "2:7: kind: "));
    assert_non_null(strstr(told("\xef\xbb\xbfkind: Other\n", false), "1:7: kind: "));
    assert_non_null(strstr(told("%YAML 1.1\n---\nkind: Other\n", false), "3:7: kind: "));
    assert_non_null(
        strstr(told("\"\xc3\xa9\xc3\xa9\": {kind: 1}\nkind: Other\n", false), "2:7: kind: "));
    assert_non_null(
        strstr(told("{\"x\": \"\xc3\xa9\", \"kind\": \"Other\"}", false), "1:20: kind: "));
}

static void what_is_no_mapping_is_one_error(void **state)
{
    (void)state;
    static const char *const texts[] = {"",      "\n", "# x\n", "---\n", "~",
                                        "- a\n", "[]", "word",  "3"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *all = told(texts[i], true);
        const char *at = strstr(all, " ");
        assert_string_equal(at, " document: expected YAML mapping\n");
    }
}

static void what_is_no_yaml_says_where(void **state)
{
    (void)state;
    assert_refused("a: b\nc: [\n", "line ");
    assert_refused("a: b: c\n", "line 1, column 5");
    assert_refused("a: 1\n---\nb: 1\n", "line 2, column 1: a second document");
    assert_refused("a: *x\n", "line 1, column 4: an alias without an anchor");
    assert_refused("a: &x 1\nb: &x 2\n", "an anchor of this name");
    assert_refused("a: !foo 1\n", "line 1, column 9: a tag");
    assert_refused("a: !!python/object:os.system x\n", "a tag");
    assert_refused("a: !!int x\n", "does not fit its tag");
    assert_refused("? [a]\n: b\n", "a key that is not a scalar");
    assert_refused("a: =\n", "in quotes");
    assert_refused("a: <<\n", "in quotes");
    assert_refused("a: 2026-02-30\n", "no such date");
    assert_refused("<<: 3\n", "<< takes a mapping");
    assert_refused("<<: [{a: 1}, 3]\n", "<< takes a mapping");
    assert_refused("&a\n<<: *a\n", "<< takes a mapping that it is part of");
    assert_refused("a: !!pairs [3]\n", "mappings of one key");
    assert_refused("a: \xff\n", "line 1");
    assert_refused("a:\n\tb: 1\n", "line 2");
    assert_refused_n("a: \0\n", 5, "line 1");
}

static void nesting_has_a_limit(void **state)
{
    (void)state;
    for (size_t depth = 63; depth <= 65; depth++) {
        char text[256] = "";
        size_t n = 0;
        for (size_t i = 0; i < depth; i++) {
            text[n++] = '[';
        }
        for (size_t i = 0; i < depth; i++) {
            text[n++] = ']';
        }
        if (depth <= 64) {
            tc_contract_destroy(parsed_n(text, n));
        } else {
            assert_refused_n(text, n, "nested too deeply");
        }
    }
}

static void size_has_a_limit(void **state)
{
    (void)state;
    char *text = malloc(TC_CONTRACT_BYTES_MAX + 1);
    assert_non_null(text);
    for (size_t i = 0; i <= TC_CONTRACT_BYTES_MAX; i++) {
        text[i] = i % 64 == 0 ? '-' : i % 64 == 1 ? ' ' : i % 64 == 63 ? '\n' : 'x';
    }
    tc_contract_destroy(parsed_n(text, TC_CONTRACT_BYTES_MAX));
    assert_refused_n(text, TC_CONTRACT_BYTES_MAX + 1, "a contract has at most");
    free(text);
}

/* `count` lines made by `format`, which takes a number. */
static char *many_lines(const char *head, const char *format, size_t count)
{
    size_t cap = strlen(head) + count * 32 + 1;
    char *text = malloc(cap);
    assert_non_null(text);
    size_t n = (size_t)snprintf(text, cap, "%s", head);
    for (size_t i = 0; i < count; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        n += (size_t)snprintf(text + n, cap - n, format, i);
#pragma GCC diagnostic pop
    }
    return text;
}

static void values_have_a_limit(void **state)
{
    (void)state;
    char *text = many_lines("a:\n", "- x\n", ((size_t)1 << 18) - 3);
    tc_contract_destroy(parsed(text));
    free(text);
    text = many_lines("a:\n", "- x\n", (size_t)1 << 18);
    assert_refused(text, "too many values");
    free(text);
    text = many_lines("", "k%zu: 1\n", 1024);
    tc_contract_destroy(parsed(text));
    free(text);
    text = many_lines("", "k%zu: 1\n", 1025);
    assert_refused(text, "too many keys");
    free(text);
    text = many_lines("", "k%zu: &a%1$zu 1\n", 256);
    tc_contract_destroy(parsed(text));
    free(text);
    text = many_lines("", "k%zu: &a%1$zu 1\n", 257);
    assert_refused(text, "too many anchors");
    free(text);
}

/* A small text whose written-out form is huge is read, and has no digest. */
static void laughs_stay_small(void **state)
{
    (void)state;
    char text[4096] = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
    size_t n = strlen(text);
    for (int i = 1; i < 20; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i,
                              i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    }
    (void)snprintf(text + n, sizeof text - n,
                   "spec:\n  workload:\n    model: *a19\n  intent:\n    schedulerPath: *a19\n"
                   "  comparison: {controls: {fixed: {model: *a19}}}\n");
    struct tc_contract *c = parsed(text);
    struct tc_slice out = TC_EMPTY;
    assert_true(tc_contract_check(c, true, NULL, NULL) > 0);
    assert_int_equal(tc_contract_canonical(c, false, &out, &err), TC_E_LIMIT);
    assert_int_equal(tc_contract_canonical(c, true, &out, &err), TC_E_LIMIT);
    assert_int_equal(tc_contract_workload_json(c, "model").len, 0);
    tc_contract_destroy(c);

    /* The same with merge keys: what they copy counts. */
    n = (size_t)snprintf(text, sizeof text, "m0: &m0 {k: 1}\n");
    for (int i = 1; i < 24; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "m%d: &m%d {<<: [*m%d, *m%d], k%d: 1}\n",
                              i, i, i - 1, i - 1, i);
    }
    assert_refused(text, "too many");
}

static void what_holds_itself_has_no_digest(void **state)
{
    (void)state;
    struct tc_contract *c = parsed("spec: &s\n  workload: *s\n  layers: &l [*l]\n");
    struct tc_slice out = TC_EMPTY;
    assert_true(tc_contract_check(c, true, NULL, NULL) > 0);
    assert_int_equal(tc_contract_canonical(c, false, &out, &err), TC_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "inside of itself"));
    tc_contract_destroy(c);
}

static void violations_have_a_limit(void **state)
{
    (void)state;
    char *text = many_lines("spec:\n  layers:\n", "  - %zu\n", 12000);
    const char *all = told(text, false);
    size_t lines = 0;
    for (const char *at = all; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    assert_int_equal(lines, TC_CONTRACT_VIOLATIONS_MAX + 1);
    assert_non_null(strstr(all, "document: there are more violations than these\n"));
    free(text);
}

static void assert_canonical(const char *text, bool workload, const char *want)
{
    struct tc_contract *c = parsed(text);
    struct tc_slice out = TC_EMPTY;
    if (tc_contract_canonical(c, workload, &out, &err) != TC_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    assert_int_equal(out.len, strlen(want));
    assert_memory_equal(out.ptr, want, out.len);
    tc_contract_destroy(c);
}

static void equal_contracts_have_one_form(void **state)
{
    (void)state;
    const char *want = "{\"a\":[1,true,null,\"x\"],\"b\":{\"c\":0.5}}";
    assert_canonical("a: [1, true, ~, x]\nb: {c: 0.5}\n", false, want);
    assert_canonical("# other\nb:\n  c: 5.0e-1\na:\n- 0x1\n- yes\n- ~\n- 'x'\n", false, want);
    assert_canonical("{\"b\":{\"c\":.5},\"a\":[1.0,on,null,\"\\u0078\"]}", false, want);
    assert_canonical("b: &b {c: 0.5}\na: &a [1, true, ~, x]\n", false, want);
    assert_canonical("a: 0\na: [1, true, ~, x]\nb: {<<: {c: 0.5}}\n", false, want);
    assert_canonical("d: 2026-01-31\n1: x\nyes: y\n", false,
                     "{\"1\":\"x\",\"d\":\"2026-01-31\",\"true\":\"y\"}");
    assert_canonical("spec: {workload: {b: 1, a: 2}}\n", true, "{\"a\":2,\"b\":1}");
}

static void what_json_lacks_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"a: .nan\n", "a: .inf\n", "a: !!set {x}\n",
                                        "a: !!binary aGk=\n", "a: 99999999999999999999\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct tc_contract *c = parsed(texts[i]);
        struct tc_slice out = TC_EMPTY;
        assert_int_equal(tc_contract_canonical(c, false, &out, &err), TC_E_UNSUPPORTED);
        assert_non_null(strstr(err.message, "line 1, column"));
        tc_contract_destroy(c);
    }
    struct tc_contract *c = parsed("a: 1\n");
    struct tc_slice out = TC_EMPTY;
    assert_int_equal(tc_contract_canonical(c, true, &out, &err), TC_E_NOTFOUND);
    assert_int_equal(tc_contract_workload_json(c, "x").len, 0);
    tc_contract_destroy(c);
}

static void assert_slice(struct tc_slice s, const char *want)
{
    assert_int_equal(s.len, strlen(want));
    assert_memory_equal(s.ptr, want, s.len);
}

static void facts_are_what_it_says(void **state)
{
    (void)state;
    struct tc_contract_facts f;
    struct tc_contract *c = parsed(template_of("realism_grade", "training"));
    tc_contract_facts(c, &f);
    assert_slice(f.name, "publication-inference-stack-b200");
    assert_slice(f.benchmark_class, "realism_grade");
    assert_slice(f.workload_type, "training");
    assert_slice(f.scheduler_path, "slinky-kueue");
    assert_slice(f.cadence, "pre_release");
    assert_slice(f.variable_under_test, "runtime_version");
    assert_slice(f.model, "openai/gpt-oss-20b");
    assert_slice(f.precision, "bf16");
    assert_slice(f.batching_policy, "continuous");
    assert_slice(f.concurrency_model, "closed_loop");
    assert_slice(f.dataset, "datasets/evaluation");
    assert_int_equal(f.protocol.len, 0);
    assert_int_equal(f.min_replicates, 5);
    assert_true(f.confidence_level == 0.95);
    assert_slice(tc_contract_workload_json(c, "sequenceLengthMix"),
                 "[{\"inputTokens\":512,\"outputTokens\":128,\"weight\":0.7},"
                 "{\"inputTokens\":1024,\"outputTokens\":256,\"weight\":0.3}]");
    tc_contract_destroy(c);
    /* Of other types they are not there. */
    c = parsed("metadata: 3\nspec: {trials: {minReplicates: '5', confidenceLevel: [1]}}\n");
    tc_contract_facts(c, &f);
    assert_int_equal(f.name.len, 0);
    assert_int_equal(f.min_replicates, 0);
    assert_true(f.confidence_level == 0);
    tc_contract_destroy(c);
    tc_contract_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_those_of_values),
        cmocka_unit_test(places_survive_line_ends_and_marks),
        cmocka_unit_test(what_is_no_mapping_is_one_error),
        cmocka_unit_test(what_is_no_yaml_says_where),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(size_has_a_limit),
        cmocka_unit_test(values_have_a_limit),
        cmocka_unit_test(laughs_stay_small),
        cmocka_unit_test(what_holds_itself_has_no_digest),
        cmocka_unit_test(violations_have_a_limit),
        cmocka_unit_test(equal_contracts_have_one_form),
        cmocka_unit_test(what_json_lacks_is_refused),
        cmocka_unit_test(facts_are_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
