/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tc_manifest_file file_of(enum tc_role role, const char *name, uint8_t first)
{
    struct tc_manifest_file f = {.role = role, .name = tc_slice_cstr(name), .size = first};
    f.digest.bytes[0] = first;
    return f;
}

static char *written(struct tc_manifest *m)
{
    char *text = NULL;
    size_t len = 0;
    struct tc_error err;
    assert_int_equal(tc_manifest_write(m, &text, &len, &err), TC_OK);
    char *copy = calloc(1, len + 1); /* strndup would look for an end */
    assert_non_null(copy);
    memcpy(copy, text, len);
    free(text);
    return copy;
}

static void the_order_of_files_makes_no_difference(void **state)
{
    (void)state;
    struct tc_manifest_file there[] = {
        file_of(TC_ROLE_RESULT, "b", 2), file_of(TC_ROLE_ARTIFACT, "z", 9),
        file_of(TC_ROLE_RESULT, "a", 1), file_of(TC_ROLE_CONTRACT, "c", 3),
        file_of(TC_ROLE_RESULT, "a2", 2)};
    struct tc_manifest_file back[5];
    for (size_t n = 0; n < 5; n++) {
        back[n] = there[4 - n];
    }
    struct tc_manifest x = {.name = TC_LIT("n"), .files = there, .file_count = 5};
    struct tc_manifest y = {.name = TC_LIT("n"), .files = back, .file_count = 5};
    char *a = written(&x);
    char *b = written(&y);
    assert_string_equal(a, b);
    /* By role, then digest, then name. */
    assert_true(strstr(a, "\"name\":\"z\"") < strstr(a, "\"name\":\"c\""));
    assert_true(strstr(a, "\"name\":\"c\"") < strstr(a, "\"name\":\"a\""));
    assert_true(strstr(a, "\"name\":\"a\"") < strstr(a, "\"name\":\"a2\""));
    assert_true(strstr(a, "\"name\":\"a2\"") < strstr(a, "\"name\":\"b\""));
    free(a);
    free(b);
}

static void names_of_files_are_no_part_of_the_identity(void **state)
{
    (void)state;
    struct tc_error err;
    struct tc_digest a;
    struct tc_digest b;
    struct tc_digest workload = {.bytes = {8}};
    struct tc_manifest_file there[] = {file_of(TC_ROLE_RESULT, "b", 2),
                                       file_of(TC_ROLE_RESULT, "a", 1)};
    struct tc_manifest_file renamed[] = {file_of(TC_ROLE_RESULT, "x", 1),
                                         file_of(TC_ROLE_RESULT, "y", 2)};
    struct tc_manifest x = {.files = there, .file_count = 2};
    struct tc_manifest y = {.files = renamed, .file_count = 2, .workload = &workload};
    assert_int_equal(tc_manifest_identity(&x, &a, &err), TC_OK);
    assert_int_equal(tc_manifest_identity(&y, &b, &err), TC_OK);
    assert_memory_equal(&a, &b, sizeof a);
    /* Everything else is. */
    y.repetition = 2;
    assert_int_equal(tc_manifest_identity(&y, &b, &err), TC_OK);
    assert_memory_not_equal(&a, &b, sizeof a);
    y.repetition = 0;
    y.name = TC_LIT("n");
    assert_int_equal(tc_manifest_identity(&y, &b, &err), TC_OK);
    assert_memory_not_equal(&a, &b, sizeof a);
    y.name = TC_EMPTY;
    y.contract = &workload;
    assert_int_equal(tc_manifest_identity(&y, &b, &err), TC_OK);
    assert_memory_not_equal(&a, &b, sizeof a);
    y.contract = NULL;
    renamed[0].role = TC_ROLE_ARTIFACT;
    assert_int_equal(tc_manifest_identity(&y, &b, &err), TC_OK);
    assert_memory_not_equal(&a, &b, sizeof a);
}

static void it_is_canonical_and_has_only_what_is_known(void **state)
{
    (void)state;
    struct tc_manifest_file f = file_of(TC_ROLE_RESULT, "a\"\xc3\xa9\n\xff", 255);
    struct tc_manifest m = {.files = &f, .file_count = 1};
    char *text = written(&m);
    assert_string_equal(
        text, "{\"files\":[{\"digest\":\"sha256:"
              "ff00000000000000000000000000000000000000000000000000000000000000\","
              "\"name\":\"a\\\"\xc3\xa9\\n\xef\xbf\xbd\",\"role\":\"result\",\"size\":255}],"
              "\"manifest_version\":1,\"run\":{}}");
    free(text);
}

static void what_was_written_is_read_again(void **state)
{
    (void)state;
    struct tc_digest contract = {.bytes = {7}};
    struct tc_digest workload = {.bytes = {8}};
    struct tc_manifest_file files[] = {file_of(TC_ROLE_TELEMETRY, "t.prom", 4),
                                       file_of(TC_ROLE_CONTRACT, "run.yaml", 3)};
    struct tc_manifest m = {.name = TC_LIT("nightly"),
                            .contract = &contract,
                            .workload = &workload,
                            .run_id = TC_LIT("mine"),
                            .files = files,
                            .file_count = 2};
    struct tc_manifest again;
    void *memory = NULL;
    struct tc_error err;
    char *text = written(&m);
    assert_int_equal(tc_manifest_read(tc_slice_cstr(text), &again, &memory, &err), TC_OK);
    assert_int_equal(again.file_count, 2);
    assert_true(tc_slice_eq(again.name, m.name));
    assert_true(tc_slice_eq(again.run_id, m.run_id));
    assert_memory_equal(again.contract, &contract, sizeof contract);
    assert_memory_equal(again.workload, &workload, sizeof workload);
    assert_int_equal(again.files[1].role, TC_ROLE_TELEMETRY);
    assert_int_equal(again.files[1].size, 4);
    assert_true(tc_slice_eq(again.files[0].name, TC_LIT("run.yaml")));
    char *text_again = written(&again);
    assert_string_equal(text, text_again);
    free(text_again);
    free(text);
    free(memory);
}

static void refused(const char *text, const char *why)
{
    struct tc_manifest m;
    void *memory = NULL;
    struct tc_error err = {0};
    assert_int_not_equal(tc_manifest_read(tc_slice_cstr(text), &m, &memory, &err), TC_OK);
    assert_null(memory);
    if (strstr(err.message, why) == NULL) {
        fail_msg("\"%s\": \"%s\", not \"%s\"", text, err.message, why);
    }
}

#define HEX64 "0000000000000000000000000000000000000000000000000000000000000000"

static void another_document_is_refused_with_its_place(void **state)
{
    (void)state;
    refused("", "");
    refused("{", "");
    refused("[]", "/manifest_version");
    refused("{\"manifest_version\":2}", "/manifest_version: 1");
    refused("{\"manifest_version\":1}", "/run");
    refused("{\"manifest_version\":1,\"run\":{}}", "/files");
    refused("{\"files\":[1],\"manifest_version\":1,\"run\":{}}", "/files/0");
    refused("{\"files\":[{\"name\":\"a\"}],\"manifest_version\":1,\"run\":{}}", "\"digest\"");
    refused("{\"files\":[{\"digest\":\"sha256:" HEX64 "\",\"name\":\"a\",\"role\":\"king\"}],"
            "\"manifest_version\":1,\"run\":{}}",
            "\"role\"");
    refused("{\"files\":[{\"digest\":\"sha256:" HEX64 "\",\"name\":\"a\",\"role\":\"result\","
            "\"size\":-1}],\"manifest_version\":1,\"run\":{}}",
            "\"size\"");
    refused("{\"files\":[],\"manifest_version\":1,\"run\":{\"contract_digest\":\"x\"}}",
            "/run/contract_digest");
}

static void another_spelling_is_refused(void **state)
{
    (void)state;
    refused("{\"files\":[], \"manifest_version\":1,\"run\":{}}", "canonical");
    refused("{\"manifest_version\":1,\"files\":[],\"run\":{}}", "canonical");
    refused("{\"files\":[],\"manifest_version\":1,\"more\":1,\"run\":{}}", "canonical");
    refused("{\"files\":[],\"manifest_version\":1,\"run\":{\"name\":\"\"}}", "canonical");
    struct tc_manifest m;
    void *memory = NULL;
    struct tc_error err;
    assert_int_equal(tc_manifest_read(TC_LIT("{\"files\":[],\"manifest_version\":1,\"run\":{}}"),
                                      &m, &memory, &err),
                     TC_OK);
    free(memory);
}

/* As many files as there may be, and one more. */
static void the_limit_of_files_holds_on_both_sides(void **state)
{
    (void)state;
    static struct tc_manifest_file files[TC_MANIFEST_FILES_MAX];
    for (size_t n = 0; n < TC_MANIFEST_FILES_MAX; n++) {
        files[n] = file_of(TC_ROLE_RESULT, "a", (uint8_t)(n % 256));
        files[n].digest.bytes[1] = (uint8_t)(n / 256);
    }
    struct tc_manifest m = {.files = files, .file_count = TC_MANIFEST_FILES_MAX};
    struct tc_manifest again;
    void *memory = NULL;
    struct tc_error err;
    char *text = written(&m);
    assert_int_equal(tc_manifest_read(tc_slice_cstr(text), &again, &memory, &err), TC_OK);
    free(memory);
    char *more = malloc(strlen(text) + 256);
    assert_non_null(more);
    static const char first[] = "{\"files\":[{\"digest\":\"sha256:" HEX64
                                "\",\"name\":\"\",\"role\":\"result\",\"size\":0},";
    (void)snprintf(more, strlen(text) + 256, "%s%s", first, text + strlen("{\"files\":["));
    assert_int_equal(tc_manifest_read(tc_slice_cstr(more), &again, &memory, &err), TC_E_LIMIT);
    free(more);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_files_makes_no_difference),
        cmocka_unit_test(names_of_files_are_no_part_of_the_identity),
        cmocka_unit_test(it_is_canonical_and_has_only_what_is_known),
        cmocka_unit_test(what_was_written_is_read_again),
        cmocka_unit_test(another_document_is_refused_with_its_place),
        cmocka_unit_test(another_spelling_is_refused),
        cmocka_unit_test(the_limit_of_files_holds_on_both_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
