/* SPDX-License-Identifier: Apache-2.0 */
/* What an import makes of its inputs before anything is written: dry runs without a database. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/import.h"
#include "support/temp_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOLD_MAX 4096

static char folder[96];

/* What was told, one line each. */
struct told {
    char text[TOLD_MAX];
    size_t errors;
    size_t files;
    size_t opened;
};

static void take_problem(void *context, bool error, const char *path, struct tc_slice where,
                         struct tc_slice field, struct tc_slice text)
{
    struct told *t = context;
    size_t len = strlen(t->text);
    t->errors += error ? 1 : 0;
    (void)snprintf(t->text + len, sizeof t->text - len, "%s|%.*s|%.*s|%.*s\n",
                   path == NULL ? "" : path, TC_FMT(where), TC_FMT(field), TC_FMT(text));
}

static void take_file(void *context, const struct tc_import_file *file, const char *reader,
                      uint64_t rows, struct tc_slice digest)
{
    struct told *t = context;
    (void)file;
    (void)reader;
    (void)rows;
    assert_int_equal(digest.len, 71);
    t->files++;
}

static tc_status open_none(void *context, struct tc_warehouse **out, struct tc_error *err)
{
    struct told *t = context;
    (void)err;
    t->opened++;
    *out = NULL;
    return TC_OK;
}

static const char *file_of(const char *name, const char *text)
{
    static char paths[16][256];
    static size_t next;
    char *path = paths[next++ % 16];
    (void)snprintf(path, 256, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

static const char *vllm(const char *name, const char *model, int concurrency, double duration)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{\"backend\":\"vllm\",\"date\":\"20260213-141321\",\"model_id\":\"%s\","
                   "\"num_prompts\":2,\"completed\":2,\"failed\":0,\"duration\":%g,"
                   "\"max_concurrency\":%d,\"total_input_tokens\":10,\"total_output_tokens\":10,"
                   "\"request_throughput\":%g,\"output_throughput\":%g,\"mean_ttft_ms\":3,\"median_"
                   "ttft_ms\":3,\"p99_ttft_ms\":4}",
                   model, duration, concurrency, 2 / duration, 10 / duration);
    return file_of(name, text);
}

static tc_status import(const struct tc_import_file *files, size_t count, const char *run_id,
                        struct told *t, struct tc_import_outcome *out, struct tc_error *err)
{
    struct tc_import want = {
        .data_dir = folder, .files = files, .file_count = count, .run_id = run_id, .dry_run = true};
    struct tc_import_sink sink = {
        .context = t, .open = open_none, .problem = take_problem, .file = take_file};
    *t = (struct told){0};
    *err = (struct tc_error){0};
    return tc_import_run(NULL, &want, &sink, out, err);
}

static void the_order_and_place_of_files_do_not_name_a_run(void **state)
{
    (void)state;
    struct told t;
    struct tc_import_outcome there;
    struct tc_import_outcome back;
    struct tc_error err;
    const char *a = vllm("a.json", "m", 1, 1.5);
    const char *b = vllm("b.json", "m", 2, 1.5);
    const struct tc_import_file one[] = {{TC_ROLE_RESULT, a, false}, {TC_ROLE_RESULT, b, false}};
    const struct tc_import_file two[] = {{TC_ROLE_RESULT, b, true}, {TC_ROLE_RESULT, a, true}};
    assert_int_equal(import(one, 2, NULL, &t, &there, &err), TC_OK);
    assert_int_equal(t.files, 2);
    assert_int_equal(t.opened, 1);
    assert_int_equal(import(two, 2, NULL, &t, &back, &err), TC_OK);
    assert_string_equal(there.run_id, back.run_id);
    assert_string_equal(there.manifest_digest, back.manifest_digest);
    assert_string_equal(there.name, "a.json");
    assert_false(there.publishable);
    /* The same bytes under other names are the same run, which has no other name of its own. */
    const char *c = vllm("c.json", "m", 1, 1.5);
    const char *d = vllm("d.json", "m", 2, 1.5);
    const struct tc_import_file renamed[] = {{TC_ROLE_RESULT, c, false},
                                             {TC_ROLE_RESULT, d, false}};
    assert_int_equal(import(renamed, 2, NULL, &t, &back, &err), TC_OK);
    assert_string_equal(there.run_id, back.run_id);
    /* Other content is another run, and so is another role. */
    const struct tc_import_file role[] = {{TC_ROLE_RESULT, a, false}, {TC_ROLE_ARTIFACT, b, false}};
    assert_int_equal(import(role, 2, NULL, &t, &back, &err), TC_OK);
    assert_string_not_equal(there.run_id, back.run_id);
}

static void two_models_are_told_once_whatever_the_order(void **state)
{
    (void)state;
    struct told first;
    struct told second;
    struct tc_import_outcome out;
    struct tc_error err;
    struct tc_import_file files[] = {{TC_ROLE_RESULT, vllm("a.json", "m", 1, 1.5), false},
                                     {TC_ROLE_RESULT, vllm("b.json", "other", 2, 1.5), false},
                                     {TC_ROLE_RESULT, vllm("c.json", "other", 3, 1.5), false}};
    assert_int_equal(import(files, 3, NULL, &first, &out, &err), TC_OK);
    const char *said = strstr(first.text, "|model|says ");
    assert_non_null(said);
    assert_null(strstr(said + 1, "|model|"));
    struct tc_import_file swap = files[0];
    files[0] = files[2];
    files[2] = swap;
    assert_int_equal(import(files, 3, NULL, &second, &out, &err), TC_OK);
    assert_string_equal(strstr(second.text, "|model|says "), said);
}

/* A probe is of one machine: its counts are no second opinion about the GPUs of all. */
static void a_probe_of_one_machine_contradicts_no_result_of_several(void **state)
{
    (void)state;
    struct told t;
    struct tc_import_outcome out;
    struct tc_error err;
    const char *probe =
        file_of("probe.json", "{\"tracecore_probe\":1,\"hardware\":{\"gpu_count\":8,"
                              "\"node_count\":1}}");
    const char *many =
        file_of("nccl.json",
                "{\"nccl_version\":22703,\"args\":[\"all_reduce_perf\"],\"config\":{\"devices\":[{"
                "\"rank\":0,"
                "\"hostname\":\"a\"},{\"rank\":15,\"hostname\":\"b\"}]},\"results\":[{\"size\":8,"
                "\"out_of_place\":{\"time\":1,\"bus_bw\":1}}],\"average_bus_bandwidth\":{"
                "\"bandwidth\":1}}");
    const struct tc_import_file files[] = {{TC_ROLE_RESULT, probe, false},
                                           {TC_ROLE_RESULT, many, false}};
    assert_int_equal(import(files, 2, NULL, &t, &out, &err), TC_OK);
    if (strstr(t.text, "_count") != NULL) {
        fail_msg("%s", t.text);
    }
}

static void ids_are_taken_up_to_their_limit(void **state)
{
    (void)state;
    struct told t;
    struct tc_import_outcome out;
    struct tc_error err;
    struct tc_import_file file = {TC_ROLE_RESULT, vllm("a.json", "m", 1, 1.5), false};
    char id[TC_RUN_ID_MAX + 2];
    memset(id, 'x', sizeof id);
    id[TC_RUN_ID_MAX] = '\0';
    assert_int_equal(import(&file, 1, id, &t, &out, &err), TC_OK);
    assert_string_equal(out.run_id, id);
    id[TC_RUN_ID_MAX] = 'x';
    id[TC_RUN_ID_MAX + 1] = '\0';
    assert_int_equal(import(&file, 1, id, &t, &out, &err), TC_E_USAGE);
    assert_int_equal(import(&file, 1, "", &t, &out, &err), TC_E_USAGE);
    assert_int_equal(import(&file, 1, "-x", &t, &out, &err), TC_E_USAGE);
    assert_int_equal(import(&file, 1, "a/b", &t, &out, &err), TC_E_USAGE);
    assert_int_equal(import(&file, 1, "a.b_c:d-1", &t, &out, &err), TC_OK);
}

static void files_are_taken_up_to_their_limit(void **state)
{
    (void)state;
    struct told t;
    struct tc_import_outcome out;
    struct tc_error err;
    static struct tc_import_file files[TC_MANIFEST_FILES_MAX + 1];
    const char *path = vllm("a.json", "m", 1, 1.5);
    for (size_t n = 0; n <= TC_MANIFEST_FILES_MAX; n++) {
        files[n] = (struct tc_import_file){TC_ROLE_ARTIFACT, path, false};
    }
    files[0].role = TC_ROLE_RESULT;
    assert_int_equal(import(files, TC_MANIFEST_FILES_MAX + 1, NULL, &t, &out, &err), TC_E_USAGE);
    assert_int_equal(import(files, TC_MANIFEST_FILES_MAX, NULL, &t, &out, &err), TC_OK);
    assert_int_equal(t.files, 2); /* the same bytes are one file of a role */
}

static void everything_wrong_is_told_before_the_warehouse_is_opened(void **state)
{
    (void)state;
    struct told t;
    struct tc_import_outcome out;
    struct tc_error err;
    struct tc_import_file files[] = {
        {TC_ROLE_RESULT, vllm("a.json", "m", 1, 1.5), false},
        {TC_ROLE_RESULT, file_of("empty.json", ""), false},
        {TC_ROLE_RESULT, vllm("negative.json", "m", 1, -1.5), false},
        {TC_ROLE_CONTRACT, file_of("list.yaml", "- 1\n"), false},
        {TC_ROLE_TELEMETRY, file_of("no.prom", "nothing {{{\n"), false},
    };
    assert_int_equal(import(files, 5, NULL, &t, &out, &err), TC_E_MALFORMED);
    assert_int_equal(t.opened, 0);
    assert_true(t.errors >= 4);
    assert_non_null(strstr(t.text, "empty.json||"));
    assert_non_null(strstr(t.text, "negative.json|"));
    assert_non_null(strstr(t.text, "list.yaml|line 1, column 1|document|"));
    assert_non_null(strstr(t.text, "no.prom|"));
    assert_non_null(strstr(err.message, "contract"));
    /* What cannot be read at all is another kind of failure. */
    files[1].path = "/nowhere/at/all.json";
    assert_int_equal(import(files, 5, NULL, &t, &out, &err), TC_E_IO);
}

static int setup(void **state)
{
    (void)state;
    return tc_temp_folder(folder, sizeof folder, "tc_unit_import") ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_and_place_of_files_do_not_name_a_run),
        cmocka_unit_test(two_models_are_told_once_whatever_the_order),
        cmocka_unit_test(a_probe_of_one_machine_contradicts_no_result_of_several),
        cmocka_unit_test(ids_are_taken_up_to_their_limit),
        cmocka_unit_test(files_are_taken_up_to_their_limit),
        cmocka_unit_test(everything_wrong_is_told_before_the_warehouse_is_opened),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
