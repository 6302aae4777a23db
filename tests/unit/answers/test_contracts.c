/* SPDX-License-Identifier: Apache-2.0 */
/* The contracts, with the keys of the original; and the description of the HTTP API. */
#include "answers/openapi.h"
#include "base/json/canonical.h"
#include "contract/contract.h"
#include "support/asking.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct asking a;

static int setup(void **state)
{
    (void)state;
    asking_init(&a, NULL, "/nonexistent");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    asking_fini(&a);
    return 0;
}

static void a_run_is_rendered_and_valid(void **state)
{
    (void)state;
    struct tc_contract *contract = NULL;
    struct tc_slice yaml;
    struct tc_json r = ask_object(&a, "render_run", "name", "mine", "workloadType", "mixed",
                                  "cadence", "", "comparisonVariable", "driver_stack");
    asking_is(r, "schema_version", "2026-03-13");
    asking_is(r, "template_path", "builtin:benchmark_run.yaml");
    asking_is(r, "generated_at_utc", "2025-11-15T00:00:00Z");
    asking_is(r, "applied_values.name", "mine");
    asking_is(r, "applied_values.workloadType", "mixed");
    asking_is(r, "applied_values.cadence", "pre_release");
    asking_is(r, "applied_values.comparisonVariable", "driver_stack");
    assert_int_equal(asking_count(r, "applied_values"), TC_FIELD_COUNT);
    assert_true(tc_json_string(asking_at(r, "rendered_yaml"), &yaml));
    assert_int_equal(tc_contract_parse(yaml, &contract, &a.err), TC_OK);
    assert_int_equal(tc_contract_check(contract, true, NULL, NULL), 0);
    tc_contract_destroy(contract);
}

static void wrong_values_of_a_run_are_refused(void **state)
{
    (void)state;
    ask_refused(&a, TC_E_USAGE, "\"workloadType\" takes one of training inference mixed",
                "render_run", "workloadType", "batch");
    ask_refused(&a, TC_E_USAGE, "did you mean \"precision\"?", "render_run", "precison", "fp8");
    ask_refused(&a, TC_E_USAGE, "there is no parameter \"overrides\"", "render_run", "overrides",
                "{}");
    ask_refused(&a, TC_E_USAGE, "", "render_run", "name", "a\nb: c");
}

static void words_are_those_of_the_contract(void **state)
{
    (void)state;
    const struct tc_question *q = asking_question("render_run");
    assert_int_equal(q->param_count, TC_FIELD_COUNT);
    for (unsigned i = 0; i < TC_FIELD_COUNT; i++) {
        const char *const *choices = tc_contract_field_choices(i);
        char words[256] = "";
        assert_string_equal(q->params[i].name, tc_contract_field_name(i));
        for (size_t n = 0; choices != NULL && choices[n] != NULL; n++) {
            (void)strncat(words, n > 0 ? " " : "", 2);
            (void)strncat(words, choices[n], 64);
        }
        assert_string_equal(q->params[i].words == NULL ? "" : q->params[i].words, words);
    }
}

static void contracts_have_the_keys_of_the_original(void **state)
{
    (void)state;
    struct tc_json c = ask_object(&a, "contracts", NULL);
    asking_is(c, "schema_version", "2026-03-13");
    asking_is(c, "surface_count", "7");
    asking_is(c, "surface_order.0", "methodology");
    asking_is(c, "surface_order.6", "benchmark_run_crd");
    asking_is(c, "missing_surface_count", "2");
    asking_is(c, "available", "false");
    asking_is(c, "contracts.benchmark_run.exists", "true");
    asking_is(c, "contracts.benchmark_run.summary.top_level_keys.0", "apiVersion");
    asking_is(c, "contracts.benchmark_run.summary.has_sinks", "true");
    asking_is(c, "contracts.benchmark_run.summary.enabled_layers.0", "micro");
    asking_is(c, "contracts.workload_spec.summary.top_level_keys.0", "batchingPolicy");
    asking_is(c, "interfaces.cli", "tracecore contract list --json");
    asking_is(c, "interfaces.dashboard_api", "/api/benchmark/contracts");
    asking_is(c, "interface_entries.2.entrypoint", "benchmark_contracts");
    asking_is(c, "generator.defaults.model", "openai/gpt-oss-20b");
    asking_is(c, "generator.choices.workloadType.1", "inference");
    asking_is(c, "generator.render_interfaces.mcp_tool", "render_benchmark_run");
    asking_is(c, "generator.render_interface_entries.1.method", "POST");
    ask_refused(&a, TC_E_USAGE, "contracts takes none", "contracts", "x", "1");
}

static void the_description_has_every_question(void **state)
{
    (void)state;
    struct tc_grow g = {0};
    struct tc_json root;
    struct tc_json path;
    struct tc_json operation;
    size_t count = 0;
    struct tc_json_out j = tc_json_out_grow(&g);
    tc_openapi_write(&j);
    assert_true(tc_json_done_line(&j));
    assert_int_equal(tc_json_parse(a.parser, tc_grow_slice(&g), &root, &a.err), TC_OK);
    asking_is(root, "openapi", "3.1.0");
    const struct tc_question *const *all = tc_questions(&count);
    for (size_t n = 0; n < count; n++) {
        assert_true(tc_json_get(asking_at(root, "paths"), tc_slice_cstr(all[n]->path), &path));
        assert_true(tc_json_get(path, all[n]->posts ? TC_LIT("post") : TC_LIT("get"), &operation));
        asking_is(operation, "operationId", all[n]->name);
        asking_is(operation, "security.0.token.0",
                  all[n]->scope == TC_SCOPE_ADMIN ? "admin" : "read");
        assert_int_equal(asking_count(operation, "parameters"),
                         all[n]->posts ? 0 : all[n]->param_count);
    }
    tc_grow_fini(&g);
}

/* Both with their members in one order. */
static void the_copy_of_the_description_is_up_to_date(void **state)
{
    (void)state;
    static char copy[1 << 20];
    char path[1024];
    const char *root = getenv("TC_SOURCE_DIR");
    struct tc_grow made = {0};
    struct tc_digest digests[2];
    if (root == NULL) {
        skip();
    }
    (void)snprintf(path, sizeof path, "%s/schemas/openapi.json", root);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t len = fread(copy, 1, sizeof copy, file);
    (void)fclose(file);
    struct tc_json_out j = tc_json_out_grow(&made);
    tc_openapi_write(&j);
    assert_true(tc_json_done_line(&j));
    assert_int_equal(tc_canonical_digest(tc_grow_slice(&made), &digests[0], &a.err), TC_OK);
    assert_int_equal(tc_canonical_digest(tc_slice_make(copy, len), &digests[1], &a.err), TC_OK);
    if (memcmp(&digests[0], &digests[1], sizeof digests[0]) != 0) {
        fail_msg("schemas/openapi.json is out of date: a daemon has it at /api/v1/openapi.json");
    }
    tc_grow_fini(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_rendered_and_valid),
        cmocka_unit_test(wrong_values_of_a_run_are_refused),
        cmocka_unit_test(words_are_those_of_the_contract),
        cmocka_unit_test(contracts_have_the_keys_of_the_original),
        cmocka_unit_test(the_description_has_every_question),
        cmocka_unit_test(the_copy_of_the_description_is_up_to_date),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
