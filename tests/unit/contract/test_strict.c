/* SPDX-License-Identifier: Apache-2.0 */
/* What strict tells and the original does not; and the texts made from the rules. */
#include "unit/contract/contract_testing.h"

/* The one thing that strict tells, and nothing without it. */
static void assert_strict(const char *old, const char *new, const char *want)
{
    char *text = changed(old, new);
    assert_string_equal(told(text, false), "");
    if (strcmp(strchr(told(text, true), ' ') == NULL ? "" : strchr(told_text, ' ') + 1, want) !=
        0) {
        fail_msg("%s: told %s, wanted %s", new, told_text, want);
    }
}

static void the_template_is_valid_for_all(void **state)
{
    (void)state;
    static const char *const classes[] = {"publication_grade", "realism_grade"};
    static const char *const types[] = {"training", "inference", "mixed"};
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(told(template_of(classes[i % 2], types[i / 2]), true), "");
    }
}

static void values_that_contradict(void **state)
{
    (void)state;
    assert_strict("        precision: bf16", "        precision: fp8",
                  "spec.comparison.controls.fixed.precision: differs from spec.workload.precision "
                  "(strict)\n");
    assert_strict("            weight: 0.7", "            weight: 0.6",
                  "spec.comparison.controls.fixed.sequenceLengthMix: differs from "
                  "spec.workload.sequenceLengthMix (strict)\n");
    assert_strict("artifactRef: runs/${RUN_ID}", "artifactRef: runs/published",
                  "spec.comparison.candidate.artifactRef: is the same as "
                  "spec.comparison.baseline.artifactRef (strict)\n");
    assert_strict("cadence: pre_release", "cadence: pre-release",
                  "spec.intent.cadence: expected one of adhoc, canary, nightly, pre_release, found "
                  "string \"pre-release\"; did you mean pre_release? (strict)\n");
    assert_strict("benchmarking.aisp.dev/v1alpha1", "v1",
                  "apiVersion: expected benchmarking.aisp.dev/v1alpha1, found string \"v1\" "
                  "(strict)\n");
    assert_strict("retentionDays: 30", "retentionDays: yes",
                  "spec.sinks.hotMetrics.retentionDays: expected integer, found a boolean "
                  "(strict)\n");
    assert_strict(
        "store: prometheus", "store: '  '",
        "spec.sinks.hotMetrics.store: expected non-empty string, found blanks (strict)\n");
}

/* Equal values in another spelling are equal. */
static void values_that_agree(void **state)
{
    (void)state;
    assert_string_equal(
        told(changed("          - inputTokens: 512\n            outputTokens: 128\n"
                     "            weight: 0.7\n",
                     "          - {weight: 7.0e-1, outputTokens: 128.0, inputTokens: 0x200}\n"),
             true),
        "");
    char *text = changed("sequenceLengthMix:  #", "sequenceLengthMix: &mix  #");
    assert_string_equal(told(text, true), "");
    /* The short form of the original's template. */
    static const char *const mixes[] = {"'[{512/128@0.7},{1024/256@0.3}]'",
                                        "'[{512/128@0.7}, {1024/256@0.30}]'",
                                        "'[{512/128@0.7}]'",
                                        "'[{512/128@0.6},{1024/256@0.3}]'",
                                        "'512'",
                                        "''"};
    for (size_t i = 0; i < sizeof mixes / sizeof mixes[0]; i++) {
        char new[256];
        (void)snprintf(new, sizeof new, "        sequenceLengthMix: %s\n        precision",
                       mixes[i]);
        text = changed("        sequenceLengthMix:\n          - inputTokens: 512\n"
                       "            outputTokens: 128\n            weight: 0.7\n"
                       "          - inputTokens: 1024\n            outputTokens: 256\n"
                       "            weight: 0.3\n        precision",
                       new);
        assert_int_equal(strlen(told(text, true)) == 0, i < 2);
        assert_string_equal(told(text, false), "");
    }
}

static void lengths_of_a_mix(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"      - inputTokens: 512\n", "      - inputTokens: 0\n"},
        {"      - inputTokens: 512\n", "      - inputTokens: true\n"},
        {"      - inputTokens: 512\n", "      - inputTokens: 5.5\n"},
        {"        outputTokens: 128\n", "        outputTokens: -1\n"},
        {"        weight: 0.7\n", "        weight: 0.75\n"},
        {"        weight: 0.7\n", "        weight: 0\n"},
        {"        weight: 0.7\n", "        weight: 1.5\n"},
        {"        weight: 0.7\n", "        weight: .nan\n"},
        {"        weight: 0.7\n", "        waight: 0.7\n"},
    };
    static const char *const want[] = {
        "sequenceLengthMix[0].inputTokens: must be an integer >= 1, found integer 0",
        "sequenceLengthMix[0].inputTokens: must be an integer >= 1, found boolean true",
        "sequenceLengthMix[0].inputTokens: must be an integer >= 1, found number 5.5",
        "sequenceLengthMix[0].outputTokens: must be an integer >= 0, found integer -1",
        "sequenceLengthMix: the weights sum to 1.05, not to 1",
        "sequenceLengthMix[0].weight: must be a number > 0 and <= 1, found integer 0",
        "sequenceLengthMix[0].weight: must be a number > 0 and <= 1, found number 1.5",
        "sequenceLengthMix[0].weight: must be a number > 0 and <= 1, found number .nan",
        "sequenceLengthMix[0].waight: unknown key; did you mean weight?",
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        char *text = changed(bad[i][0], bad[i][1]);
        if (strstr(told(text, true), want[i]) == NULL) {
            fail_msg("not told: %s, but\n%s", want[i], told_text);
        }
        assert_string_equal(told(text, false), "");
    }
    /* Rounded weights still sum to 1. */
    char *text = changed("        weight: 0.7\n", "        weight: 0.7000001\n");
    assert_null(strstr(told(text, true), "sum to"));
    assert_non_null(strstr(told(changed("    sequenceLengthMix:  # the weights sum to 1\n",
                                        "    sequenceLengthMix:\n      - 7\n"),
                                true),
                           "sequenceLengthMix[0]: expected mapping, found integer 7 (strict)"));
}

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void digests_look_like_digests(void **state)
{
    (void)state;
    assert_string_equal(
        told(changed("artifactRef: runs/published", "artifactRef: image@sha256:" HEX64), true), "");
    assert_strict("artifactRef: runs/published", "artifactRef: image@sha256:0123",
                  "spec.comparison.baseline.artifactRef: expected sha256: and 64 lower-case hex "
                  "digits behind the @ (strict)\n");
    assert_strict("artifactRef: runs/published", "artifactRef:",
                  "spec.comparison.baseline.artifactRef: expected non-empty string, found null "
                  "(strict)\n");
    assert_string_equal(
        told(changed("description: the run under test", "imageDigest: sha256:" HEX64), true), "");
    assert_strict("description: the run under test", "imageDigest: latest",
                  "spec.comparison.candidate.imageDigest: expected sha256: and 64 lower-case hex "
                  "digits, found string \"latest\" (strict)\n");
}

static void keys_nobody_knows(void **state)
{
    (void)state;
    assert_strict("      canary: true", "      canary: true\n      weekly: true",
                  "spec.automation.ci.weekly: unknown key (strict)\n");
    assert_strict("      canary: true", "      canary: true\n      nightli: true",
                  "spec.automation.ci.nightli: unknown key; did you mean nightly? (strict)\n");
    assert_strict("      canary: true", "      canary: true\n      canary: false",
                  "spec.automation.ci.canary: the key is there twice; the last one counts "
                  "(strict)\n");
    assert_strict("      canary: true", "      canary: true\n      on: true",
                  "spec.automation.ci.on: the key is no string; write it in quotes (strict)\n");
    assert_strict("      objective: Ceilings", "      objectiv: Ceilings",
                  "spec.layers[0].objectiv: unknown key; did you mean objective? (strict)\n");
    assert_strict("        - name: nccl-allreduce", "        - nam: nccl-allreduce",
                  "spec.layers[0].suites[0].nam: unknown key; did you mean name? (strict)\n");
    assert_strict("spec:\n", "'': 1\nspec:\n", "\"\": unknown key (strict)\n");
    assert_strict("spec:\n", ": 1\nspec:\n",
                  "\"\": the key is no string; write it in quotes (strict)\n");
    /* One's own. */
    assert_string_equal(told(changed("spec:\n", "x-notes: {a: 1}\nspec:\n"), true), "");
    assert_string_equal(told(changed("  labels:\n", "  labels:\n    any: thing\n"), true), "");
    assert_string_equal(
        told(changed("      canary: true\n", "      <<: {canary: false}\n      canary: true\n"),
             true),
        "");
}

static void names_in_lists(void **state)
{
    (void)state;
    assert_strict("        - logs\n", "        - logs\n        - logs\n",
                  "spec.sinks.rawArtifacts.artifacts: \"logs\" is there twice (strict)\n");
    assert_strict("        - logs\n", "        - logs\n        - 3\n",
                  "spec.sinks.rawArtifacts.artifacts: expected names, found integer 3 (strict)\n");
    /* The original breaks off over it. */
    assert_non_null(
        strstr(told(changed("        - logs\n", "        - logs\n        - {}\n"), false),
               "artifacts: expected names, but item 1 is a mapping\n"));
}

static char explained_text[TC_CONTRACT_TEXT_MAX];

static const char *explained(const char *path)
{
    struct tc_buf b = tc_buf_make(explained_text, sizeof explained_text - 1);
    memset(&err, 0, sizeof err);
    tc_status status = tc_contract_explain(tc_slice_cstr(path), &b, &err);
    assert_false(b.overflowed);
    explained_text[b.len] = '\0';
    return status == TC_OK ? explained_text : NULL;
}

static void fields_are_explained(void **state)
{
    (void)state;
    const char *one = "spec.trials.minReplicates\n"
                      "  Replicates that a comparison needs.\n"
                      "  rule:     integer >= 3\n"
                      "  example:  minReplicates: 5\n";
    assert_string_equal(explained("spec.trials.minReplicates"), one);
    assert_string_equal(explained("minReplicates"), one);
    assert_non_null(strstr(explained("spec.layers[12].name"), "spec.layers[].name\n"));
    assert_non_null(strstr(explained("spec.trials"), "    outlierPolicy "));
    assert_non_null(strstr(explained("spec.metrics.training.primary"),
                           "training, mixed: has mfu_pct, scaling_efficiency_pct, "));
    assert_non_null(strstr(explained("store"), "\n\nspec.sinks.hotMetrics.store\n"));
    assert_non_null(strstr(explained(""), "\n    minReplicates  "));
    assert_null(explained("minReplicatse"));
    assert_string_equal(err.message,
                        "a contract has no such field; did you mean spec.trials.minReplicates?");
    assert_null(explained("spec.trails"));
    assert_non_null(strstr(err.message, "spec.trials"));
    struct tc_buf b = tc_buf_make(explained_text, sizeof explained_text);
    tc_contract_explain_markdown(&b);
    assert_false(b.overflowed);
}

static void assert_value(enum tc_contract_field field, const char *value, tc_status want)
{
    struct tc_contract_values values;
    tc_contract_values_init(&values);
    assert_int_equal(tc_contract_value_set(&values, field, tc_slice_cstr(value), &err), want);
}

static void values_of_a_template(void **state)
{
    (void)state;
    char longest[TC_CONTRACT_VALUE_MAX + 2];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_value(TC_FIELD_NAME, longest, TC_E_USAGE);
    longest[TC_CONTRACT_VALUE_MAX] = '\0';
    assert_value(TC_FIELD_NAME, longest, TC_OK);
    assert_value(TC_FIELD_CLASS, "gold", TC_E_USAGE);
    assert_non_null(strstr(err.message, "must be one of: publication_grade, realism_grade"));
    assert_value(TC_FIELD_VARIABLE, "weather", TC_E_USAGE);
    assert_value(TC_FIELD_CADENCE, "adhoc", TC_OK);
    assert_value(TC_FIELD_MODEL, "a\nb", TC_E_USAGE);
    assert_value(TC_FIELD_MODEL, "\xc2\x85", TC_E_USAGE);
    assert_value(TC_FIELD_MODEL, "\xff", TC_E_USAGE);
    assert_value(TC_FIELD_MODEL, " \t", TC_OK);
    /* Values that YAML would take for something else come out as they went in. */
    static const char *const names[] = {"yes",  "12",     "1.5", "2026-01-31", "a: b",     "#x",
                                        "- a",  "\"",     "'",   "%name%",     "\xc3\xa9", "{}",
                                        "null", "a\\b",   "*a",  "x #y",       "~",        "=",
                                        "<<",   "[a, b]", "&a",  "0x1f",       "a/b",      "-"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct tc_contract_values values;
        struct tc_contract_facts f;
        struct tc_buf b = tc_buf_make(contract_text, sizeof contract_text - 1);
        tc_contract_values_init(&values);
        for (unsigned field = 0; field < TC_FIELD_COUNT; field++) {
            bool is_free = field == TC_FIELD_NAME || field == TC_FIELD_SCHEDULER_PATH ||
                           (field >= TC_FIELD_MODEL && field <= TC_FIELD_CONCURRENCY);
            assert_int_equal(
                tc_contract_value_set(&values, field, tc_slice_cstr(is_free ? names[i] : ""), &err),
                TC_OK);
        }
        tc_contract_template(&values, &b);
        contract_text[b.len] = '\0';
        assert_string_equal(told(contract_text, true), "");
        struct tc_contract *c = parsed(contract_text);
        tc_contract_facts(c, &f);
        assert_true(tc_slice_eq(f.name, tc_slice_cstr(names[i])));
        assert_true(tc_slice_eq(f.model, tc_slice_cstr(names[i])));
        tc_contract_destroy(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_template_is_valid_for_all),
        cmocka_unit_test(values_that_contradict),
        cmocka_unit_test(values_that_agree),
        cmocka_unit_test(lengths_of_a_mix),
        cmocka_unit_test(digests_look_like_digests),
        cmocka_unit_test(keys_nobody_knows),
        cmocka_unit_test(names_in_lists),
        cmocka_unit_test(fields_are_explained),
        cmocka_unit_test(values_of_a_template),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
