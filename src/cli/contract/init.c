/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore contract init` and `explain`: text from the rules and the template. */
#include "answers/contracts.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "cli/contract/contract.h"
#include "cli/output/output.h"
#include "cli/output/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Room for what numbers and booleans of --overrides-json are written as. */
#define OVERRIDE_MAX 64

struct maker {
    struct tc_contract_values values;
    struct tc_json_parser *parser;
    char numbers[TC_FIELD_COUNT][OVERRIDE_MAX];
    char yaml[TC_CONTRACT_TEXT_MAX];
    char json[2 * TC_CONTRACT_TEXT_MAX];
};

static int usage_error(const char *option, const struct tc_error *err)
{
    return tc_refuse("contract", "--%s: %s", option, err->message);
}

/* The text of a value, as the original's str() gives it. */
static bool value_text(struct tc_json v, char *text, struct tc_slice *out)
{
    bool truth = false;
    double number = 0;
    int64_t integer = 0;
    struct tc_buf b = tc_buf_make(text, OVERRIDE_MAX);
    if (tc_json_type(v) == TC_JSON_NULL) {
        *out = TC_EMPTY;
        return true;
    }
    if (tc_json_string(v, out)) {
        return true;
    }
    if (tc_json_bool(v, &truth)) {
        tc_buf_str(&b, truth ? TC_LIT("True") : TC_LIT("False"));
    } else if (tc_json_type(v) == TC_JSON_INT && tc_json_int(v, &integer)) {
        tc_buf_i64(&b, integer);
    } else if (tc_json_double(v, &number)) {
        tc_buf_f64(&b, number);
    } else {
        return false;
    }
    *out = tc_buf_slice(&b);
    return true;
}

static tc_status set_override(struct maker *m, struct tc_slice key, struct tc_json value,
                              struct tc_error *err)
{
    for (unsigned i = 0; i < TC_FIELD_COUNT; i++) {
        struct tc_slice text = TC_EMPTY;
        if (!tc_slice_eq(key, tc_slice_cstr(tc_contract_field_name(i)))) {
            continue;
        }
        if (!value_text(value, m->numbers[i], &text)) {
            return tc_fail(err, TC_E_USAGE, 0, "%s: a list or an object cannot be a value",
                           tc_contract_field_name(i));
        }
        return tc_contract_value_set(&m->values, i, text, err);
    }
    char names[TC_ERROR_MESSAGE_MAX];
    struct tc_buf b = tc_buf_make(names, sizeof names - 1);
    for (unsigned i = 0; i < TC_FIELD_COUNT; i++) {
        (void)tc_format(&b, "{}{}", i == 0 ? "" : ", ", tc_contract_field_name(i));
    }
    names[b.len] = '\0';
    return tc_fail(err, TC_E_USAGE, 0, "unknown field %.*s; there are %s",
                   TC_FMT(tc_slice_head(key, OVERRIDE_MAX)), names);
}

static tc_status set_overrides(struct maker *m, const char *text, struct tc_error *err)
{
    struct tc_json root;
    struct tc_slice key = TC_EMPTY;
    struct tc_json value;
    m->parser = tc_json_parser_create();
    if (m->parser == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "out of memory");
    }
    TC_TRY(tc_json_parse(m->parser, tc_slice_cstr(text), &root, err));
    if (tc_json_type(root) != TC_JSON_OBJECT) {
        return tc_fail(err, TC_E_USAGE, 0, "expected a JSON object");
    }
    struct tc_json_iter it = tc_json_iter_make(root);
    while (tc_json_iter_next(&it, &key, &value)) {
        TC_TRY(set_override(m, key, value, err));
    }
    return TC_OK;
}

static int write_out(const struct tc_contract_args *args, struct tc_slice text)
{
    struct tc_output out;
    if (args->output == NULL || strcmp(args->output, "-") == 0) {
        tc_output_init(&out, STDOUT_FILENO);
        (void)tc_output_put(&out, text);
        return tc_output_end(&out, "contract", TC_EXIT_OK);
    }
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (args->force ? O_TRUNC : O_EXCL);
    int fd = open(args->output, flags, 0666);
    if (fd < 0) {
        tc_say("contract", "%s: %s%s", args->output, strerror(errno),
               errno == EEXIST ? "; --force replaces it" : "");
        return TC_EXIT_BAD;
    }
    tc_output_init(&out, fd);
    (void)tc_output_put(&out, text);
    int code = tc_output_end(&out, "contract", TC_EXIT_OK);
    if (close(fd) != 0 && code == TC_EXIT_OK) {
        tc_say("contract", "%s: %s", args->output, strerror(errno));
        code = TC_EXIT_BAD;
    }
    return code;
}

static int make(struct maker *m, const struct tc_contract_args *args)
{
    static const char *const options[TC_FIELD_COUNT] = {
        [TC_FIELD_NAME] = "name",
        [TC_FIELD_CLASS] = "class",
        [TC_FIELD_TYPE] = "workload-type",
        [TC_FIELD_SCHEDULER_PATH] = "scheduler-path",
        [TC_FIELD_CADENCE] = "cadence",
        [TC_FIELD_MODEL] = "model",
        [TC_FIELD_PRECISION] = "precision",
        [TC_FIELD_BATCHING] = "batching-policy",
        [TC_FIELD_CONCURRENCY] = "concurrency-model",
        [TC_FIELD_VARIABLE] = "variable",
    };
    struct tc_error err = {.status = TC_OK};
    tc_contract_values_init(&m->values);
    if (args->overrides != NULL && set_overrides(m, args->overrides, &err) != TC_OK) {
        return usage_error("overrides-json", &err);
    }
    for (unsigned i = 0; i < TC_FIELD_COUNT; i++) {
        if (args->fields[i] != NULL &&
            tc_contract_value_set(&m->values, i, tc_slice_cstr(args->fields[i]), &err) != TC_OK) {
            return usage_error(options[i], &err);
        }
    }
    struct tc_buf yaml = tc_buf_make(m->yaml, sizeof m->yaml);
    struct tc_buf json = tc_buf_make(m->json, sizeof m->json);
    tc_contract_template(&m->values, &yaml);
    if (args->json) {
        struct tc_json_out j = tc_json_out_make(&json);
        tc_rendered_run_json(&j, &m->values, tc_buf_slice(&yaml), tc_wall_ns());
        (void)tc_json_done_line(&j);
    }
    return write_out(args, tc_buf_slice(args->json ? &json : &yaml));
}

int tc_contract_run_init(const struct tc_contract_args *args)
{
    struct maker *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return tc_refuse("contract", "out of memory");
    }
    int code = make(m, args);
    tc_json_parser_destroy(m->parser);
    free(m);
    return code;
}

int tc_contract_run_explain(const struct tc_contract_args *args, const char *path)
{
    struct tc_output out;
    struct tc_error err = {.status = TC_OK};
    char *text = malloc(TC_CONTRACT_TEXT_MAX);
    if (text == NULL) {
        return tc_refuse("contract", "out of memory");
    }
    struct tc_buf b = tc_buf_make(text, TC_CONTRACT_TEXT_MAX);
    int code = TC_EXIT_OK;
    if (args->markdown) {
        tc_contract_explain_markdown(&b);
    } else if (tc_contract_explain(tc_slice_cstr(path), &b, &err) != TC_OK) {
        tc_say("contract", "%s: %s", path, err.message);
        code = TC_EXIT_BAD;
    }
    tc_output_init(&out, STDOUT_FILENO);
    (void)tc_output_put(&out, tc_buf_slice(&b));
    code = tc_output_end(&out, "contract", code);
    free(text);
    return code;
}
