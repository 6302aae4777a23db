/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/contracts.h"
#include "answers/question.h"
#include "base/json/json.h"

#include <stdlib.h>

#define SCHEMA_VERSION "2026-03-13"
#define TEMPLATE "builtin:benchmark_run.yaml"

/* ---- a run ---- */

/* Sorted, as the original's clients compare texts. */
static const unsigned char ORDER[TC_FIELD_COUNT] = {
    TC_FIELD_BATCHING,       TC_FIELD_CLASS, TC_FIELD_CADENCE, TC_FIELD_VARIABLE,
    TC_FIELD_CONCURRENCY,    TC_FIELD_MODEL, TC_FIELD_NAME,    TC_FIELD_PRECISION,
    TC_FIELD_SCHEDULER_PATH, TC_FIELD_TYPE};

static void add_values(struct tc_json_out *j, const struct tc_contract_values *values)
{
    tc_json_add_object(j);
    for (size_t i = 0; i < TC_FIELD_COUNT; i++) {
        tc_json_key_str(j, tc_slice_cstr(tc_contract_field_name(ORDER[i])));
        tc_json_add_str(j, values->at[ORDER[i]]);
    }
    tc_json_end_object(j);
}

void tc_rendered_run_json(struct tc_json_out *j, const struct tc_contract_values *values,
                          struct tc_slice yaml, int64_t now_ns)
{
    tc_json_add_object(j);
    tc_json_key(j, "applied_values");
    add_values(j, values);
    tc_json_put_time(j, "generated_at_utc", now_ns);
    tc_json_put_str(j, "rendered_yaml", yaml);
    tc_json_put_plain(j, "schema_version", TC_LIT(SCHEMA_VERSION));
    tc_json_put_plain(j, "template_path", TC_LIT(TEMPLATE));
    tc_json_end_object(j);
}

static tc_status answer_render(const struct tc_asked *asked, struct tc_reply *out,
                               struct tc_error *err)
{
    struct tc_contract_values values;
    tc_contract_values_init(&values);
    for (unsigned i = 0; i < TC_FIELD_COUNT; i++) {
        struct tc_slice text = tc_asked_text(asked, tc_contract_field_name(i));
        if (text.len > 0) {
            TC_TRY(tc_contract_value_set(&values, i, text, err));
        }
    }
    char *room = malloc(TC_CONTRACT_TEXT_MAX);
    if (room == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the contract");
    }
    struct tc_buf yaml = tc_buf_make(room, TC_CONTRACT_TEXT_MAX);
    struct tc_json_out j = tc_json_out_grow(&out->body);
    tc_contract_template(&values, &yaml);
    tc_rendered_run_json(&j, &values, tc_buf_slice(&yaml), asked->now_ns);
    (void)tc_json_done_line(&j);
    free(room);
    return TC_OK;
}

/* Named as the original's generator names them (tc_contract_field_name). */
static const struct tc_param RENDER_PARAMS[] = {
    {.name = "name", .help = "metadata.name.", .kind = TC_PARAM_TEXT},
    {.name = "benchmarkClass",
     .help = "How strict the run is.",
     .kind = TC_PARAM_WORD,
     .words = "publication_grade realism_grade"},
    {.name = "workloadType",
     .help = "What is measured.",
     .kind = TC_PARAM_WORD,
     .words = "training inference mixed"},
    {.name = "schedulerPath", .help = "How it is scheduled.", .kind = TC_PARAM_TEXT},
    {.name = "cadence",
     .help = "How often it runs.",
     .kind = TC_PARAM_WORD,
     .words = "canary nightly pre_release adhoc"},
    {.name = "model", .help = "The model.", .kind = TC_PARAM_TEXT},
    {.name = "precision", .help = "Its precision, as bf16.", .kind = TC_PARAM_TEXT},
    {.name = "batchingPolicy", .help = "How requests are batched.", .kind = TC_PARAM_TEXT},
    {.name = "concurrencyModel",
     .help = "closed_loop, or how load is made.",
     .kind = TC_PARAM_TEXT},
    {.name = "comparisonVariable",
     .help = "The one thing that is varied.",
     .kind = TC_PARAM_WORD,
     .words = "hardware_generation runtime_version scheduler_path control_plane_path driver_stack "
              "network_topology storage_stack"},
};

static const struct tc_member RENDER_MEMBERS[] = {
    {.name = "applied_values", .type = "object", .help = "The values, defaults too."},
    {.name = "generated_at_utc", .type = "string", .help = "When."},
    {.name = "rendered_yaml", .type = "string", .help = "The contract."},
    {.name = "schema_version", .type = "string", .help = "Of this object."},
    {.name = "template_path", .type = "string", .help = "What it was made from."},
};

const struct tc_question tc_question_render_run = {
    .name = "render_run",
    .tool = "render_benchmark_run",
    .path = "/api/benchmark/contracts/render-run",
    .summary = "write a new contract of a benchmark run",
    .help = "Writes a valid BenchmarkRun contract as YAML from a few values; what is left out or "
            "blank has a default. Nothing is stored.",
    .place = TC_PLACE_TABLES,
    .posts = true,
    .params = RENDER_PARAMS,
    .param_count = TC_COUNT(RENDER_PARAMS),
    .members = RENDER_MEMBERS,
    .member_count = TC_COUNT(RENDER_MEMBERS),
    .answer = answer_render,
};

/* ---- all contracts ---- */

static const struct surface {
    const char *name;
    const char *path;
    const char *kind;
    const char *description;
    bool exists;
    const char *summary_of; /* of YAML: the member of the contract; "": all of it */
} SURFACES[] = {
    {"methodology", "docs/statistics.md", "doc", "How runs are compared, and what the tests are.",
     true, NULL},
    {"warehouse", "docs/tables.md", "doc", "The tables: what a row is, and what each column means.",
     true, NULL},
    {"workload_spec", TEMPLATE "#spec.workload", "yaml",
     "What is measured: spec.workload, whose digest tells workloads from each other.", true,
     "workload"},
    {"benchmark_run", TEMPLATE, "yaml",
     "The contract of a run, as `tracecore contract init` "
     "writes it and `contract check` checks it.",
     true, ""},
    {"warehouse_contract", "/api/v1/tables", "json", "The schema of the warehouse as it is now.",
     true, NULL},
    {"kubernetes_service", "", "doc",
     "A service that runs benchmarks in Kubernetes; not part of "
     "this program.",
     false, NULL},
    {"benchmark_run_crd", "", "yaml",
     "A CustomResourceDefinition of BenchmarkRun; not part of "
     "this program.",
     false, NULL},
};

static const struct entry {
    const char *id;
    const char *label;
    const char *transport;
    const char *method;
    const char *reads;
    const char *renders;
} ENTRIES[] = {
    {"cli", "CLI", "cli", NULL, "tracecore contract list --json",
     "tracecore contract init --json --overrides-json '{...}'"},
    {"dashboard_api", "HTTP API", "http", "GET", "/api/benchmark/contracts",
     "/api/benchmark/contracts/render-run"},
    {"mcp", "MCP", "mcp", NULL, "benchmark_contracts", "render_benchmark_run"},
};

static void put_interfaces(struct tc_json_out *j, bool renders)
{
    static const char *const keys[] = {"cli", "dashboard_api", "mcp_tool"};
    tc_json_add_object(j);
    for (size_t n = 0; n < TC_COUNT(ENTRIES); n++) {
        tc_json_key_plain(j, tc_slice_cstr(keys[n]));
        tc_json_add_cstr(j, renders ? ENTRIES[n].renders : ENTRIES[n].reads);
    }
    tc_json_end_object(j);
}

static void put_entries(struct tc_json_out *j, bool renders)
{
    tc_json_add_array(j);
    for (size_t n = 0; n < TC_COUNT(ENTRIES); n++) {
        const struct entry *e = &ENTRIES[n];
        tc_json_add_object(j);
        tc_json_put_cstr(j, "id", e->id);
        tc_json_put_cstr(j, "label", e->label);
        tc_json_put_cstr(j, "transport", e->transport);
        tc_json_put_cstr(j, "entrypoint", renders ? e->renders : e->reads);
        if (e->method != NULL) {
            tc_json_put_cstr(j, "method", renders ? "POST" : e->method);
        }
        tc_json_put_cstr(j, "description",
                         renders ? "Writes a contract from a few values." : "Shows the contracts.");
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}

/* The names of the members of an object; canonical JSON has them sorted. */
static void put_keys(struct tc_json_out *j, struct tc_json object)
{
    struct tc_slice key;
    struct tc_json value;
    struct tc_json_iter it = tc_json_iter_make(object);
    tc_json_add_array(j);
    while (tc_json_iter_next(&it, &key, &value)) {
        tc_json_add_str(j, key);
    }
    tc_json_end_array(j);
}

static void put_enabled(struct tc_json_out *j, struct tc_json spec)
{
    struct tc_json layers;
    struct tc_json layer;
    struct tc_json enabled;
    bool is = false;
    tc_json_put_array(j, "enabled_layers");
    if (tc_json_get(spec, TC_LIT("layers"), &layers)) {
        struct tc_json_iter it = tc_json_iter_make(layers);
        while (tc_json_iter_next(&it, NULL, &layer)) {
            if (tc_json_get(layer, TC_LIT("enabled"), &enabled) && tc_json_bool(enabled, &is) &&
                is) {
                tc_json_add_str(j, tc_json_get_string(layer, TC_LIT("name")));
            }
        }
    }
    tc_json_end_array(j);
}

static void put_summary(struct tc_json_out *j, struct tc_json contract, const char *member)
{
    struct tc_json spec = contract;
    struct tc_json part = contract;
    bool has_spec = tc_json_get(contract, TC_LIT("spec"), &spec);
    tc_json_put_object(j, "summary");
    if (member[0] != '\0' && has_spec) {
        (void)tc_json_get(spec, tc_slice_cstr(member), &part);
    }
    tc_json_key(j, "top_level_keys");
    put_keys(j, part);
    if (member[0] == '\0' && has_spec) {
        tc_json_key(j, "spec_keys");
        put_keys(j, spec);
        put_enabled(j, spec);
        tc_json_put_bool(j, "has_observability", tc_json_get(spec, TC_LIT("observability"), &part));
        tc_json_put_bool(j, "has_sinks", tc_json_get(spec, TC_LIT("sinks"), &part));
    }
    tc_json_end_object(j);
}

static void put_surfaces(struct tc_json_out *j, struct tc_json contract)
{
    size_t missing = 0;
    for (size_t n = 0; n < TC_COUNT(SURFACES); n++) {
        missing += SURFACES[n].exists ? 0 : 1;
    }
    tc_json_put_bool(j, "available", missing == 0);
    tc_json_put_cstr(j, "repo_root", "builtin:");
    tc_json_put_array(j, "surface_order");
    for (size_t n = 0; n < TC_COUNT(SURFACES); n++) {
        tc_json_add_cstr(j, SURFACES[n].name);
    }
    tc_json_end_array(j);
    tc_json_put_u64(j, "surface_count", TC_COUNT(SURFACES));
    tc_json_put_u64(j, "missing_surface_count", missing);
    tc_json_put_array(j, "missing_surfaces");
    for (size_t n = 0; n < TC_COUNT(SURFACES); n++) {
        if (!SURFACES[n].exists) {
            tc_json_add_cstr(j, SURFACES[n].name);
        }
    }
    tc_json_end_array(j);
    tc_json_put_object(j, "contracts");
    for (size_t n = 0; n < TC_COUNT(SURFACES); n++) {
        const struct surface *s = &SURFACES[n];
        tc_json_key_plain(j, tc_slice_cstr(s->name));
        tc_json_add_object(j);
        tc_json_put_cstr(j, "name", s->name);
        tc_json_put_cstr(j, "path", s->path);
        tc_json_put_bool(j, "exists", s->exists);
        tc_json_put_cstr(j, "kind", s->kind);
        tc_json_put_cstr(j, "description", s->description);
        if (s->summary_of != NULL) {
            put_summary(j, contract, s->summary_of);
        }
        tc_json_end_object(j);
    }
    tc_json_end_object(j);
}

static void put_generator(struct tc_json_out *j, const struct tc_contract_values *values,
                          struct tc_slice yaml)
{
    tc_json_put_object(j, "generator");
    tc_json_put_cstr(j, "template_path", TEMPLATE);
    tc_json_key(j, "defaults");
    add_values(j, values);
    tc_json_put_object(j, "choices");
    for (unsigned i = 0; i < TC_FIELD_COUNT; i++) {
        const char *const *choices = tc_contract_field_choices(i);
        if (choices == NULL) {
            continue;
        }
        tc_json_key_plain(j, tc_slice_cstr(tc_contract_field_name(i)));
        tc_json_add_array(j);
        for (size_t n = 0; choices[n] != NULL; n++) {
            tc_json_add_cstr(j, choices[n]);
        }
        tc_json_end_array(j);
    }
    tc_json_end_object(j);
    tc_json_put_str(j, "preview_yaml", yaml);
    tc_json_key(j, "render_interfaces");
    put_interfaces(j, true);
    tc_json_key(j, "render_interface_entries");
    put_entries(j, true);
    tc_json_end_object(j);
}

static void put_contracts(struct tc_json_out *j, const struct tc_asked *asked,
                          const struct tc_contract_values *values, struct tc_slice yaml,
                          struct tc_json contract)
{
    tc_json_add_object(j);
    tc_json_put_plain(j, "schema_version", TC_LIT(SCHEMA_VERSION));
    tc_json_put_time(j, "generated_at_utc", asked->now_ns);
    put_surfaces(j, contract);
    tc_json_key(j, "interfaces");
    put_interfaces(j, false);
    tc_json_key(j, "interface_entries");
    put_entries(j, false);
    put_generator(j, values, yaml);
    tc_json_end_object(j);
}

static tc_status answer_contracts(const struct tc_asked *asked, struct tc_reply *out,
                                  struct tc_error *err)
{
    struct tc_contract_values values;
    struct tc_contract *contract = NULL;
    struct tc_slice json = TC_EMPTY;
    struct tc_json root;
    struct tc_json_parser *parser = tc_json_parser_create();
    char *room = malloc(TC_CONTRACT_TEXT_MAX);
    struct tc_buf yaml = tc_buf_make(room, room == NULL ? 0 : TC_CONTRACT_TEXT_MAX);
    tc_status status = parser == NULL || room == NULL
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the contracts")
                           : TC_OK;
    if (status == TC_OK) {
        tc_contract_values_init(&values);
        tc_contract_template(&values, &yaml);
        status = tc_contract_parse(tc_buf_slice(&yaml), &contract, err);
    }
    status = status == TC_OK ? tc_contract_canonical(contract, false, &json, err) : status;
    status = status == TC_OK ? tc_json_parse(parser, json, &root, err) : status;
    if (status == TC_OK) {
        struct tc_json_out j = tc_json_out_grow(&out->body);
        put_contracts(&j, asked, &values, tc_buf_slice(&yaml), root);
        (void)tc_json_done_line(&j);
    }
    tc_contract_destroy(contract);
    tc_json_parser_destroy(parser);
    free(room);
    return status;
}

static const struct tc_member CONTRACTS_MEMBERS[] = {
    {.name = "schema_version", .type = "string", .help = "Of this object."},
    {.name = "generated_at_utc", .type = "string", .help = "When."},
    {.name = "available", .type = "boolean", .help = "No surface is missing."},
    {.name = "repo_root", .type = "string", .help = "builtin: they are in the program."},
    {.name = "surface_order", .type = "array", .help = "Names of the surfaces."},
    {.name = "surface_count", .type = "integer", .help = "How many."},
    {.name = "missing_surface_count", .type = "integer", .help = "How many are not part of it."},
    {.name = "missing_surfaces", .type = "array", .help = "Which."},
    {.name = "contracts", .type = "object", .help = "Each surface by its name."},
    {.name = "interfaces", .type = "object", .help = "Where this is asked."},
    {.name = "interface_entries", .type = "array", .help = "The same with words."},
    {.name = "generator", .type = "object", .help = "Values of a new contract, and a preview."},
};

const struct tc_question tc_question_contracts = {
    .name = "contracts",
    .tool = "benchmark_contracts",
    .path = "/api/benchmark/contracts",
    .summary = "the contracts of benchmarks",
    .help = "What a benchmark run must say of itself: the contracts, where they are described, and "
            "the values that a new one is made from.",
    .place = TC_PLACE_TABLES,
    .members = CONTRACTS_MEMBERS,
    .member_count = TC_COUNT(CONTRACTS_MEMBERS),
    .answer = answer_contracts,
};
