/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore contract check`: violations as lines, or as one JSON object a file. */
#include "base/os/io.h"
#include "cli/contract/contract.h"
#include "cli/output/output.h"
#include "cli/output/say.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* A line of a person's output; what of it a JSON string has. */
#define LINE_MAX_BYTES ((size_t)16 << 10)
#define JSON_TEXT_MAX (LINE_MAX_BYTES / 8)
#define SUMMARY_MAX ((size_t)1 << 20)

struct report {
    struct tc_output *out;
    const char *name;
    struct tc_json_out *json;
    bool places; /* the list of objects, not that of strings */
};

static void put(struct tc_output *out, struct tc_slice s)
{
    (void)tc_output_put(out, s);
}

static void on_violation(void *context, const struct tc_violation *v)
{
    const struct report *r = context;
    char text[LINE_MAX_BYTES];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    (void)tc_format(&b, "{}:{}:{}: {}: {}\n",
                    tc_as_printable(tc_slice_head(tc_slice_cstr(r->name), LINE_MAX_BYTES / 8)),
                    v->line, v->column, v->path, v->message);
    put(r->out, tc_buf_slice(&b));
}

/* "where: what", as an element. */
static void add_message(struct tc_json_out *j, const char *where, const char *what)
{
    char text[LINE_MAX_BYTES];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    (void)tc_format(&b, "{}: {}", where, what);
    tc_json_add_str(j, tc_slice_head(tc_buf_slice(&b), JSON_TEXT_MAX));
}

static void on_violation_json(void *context, const struct tc_violation *v)
{
    const struct report *r = context;
    struct tc_json_out *j = r->json;
    if (!r->places) {
        add_message(j, v->path, v->message);
        return;
    }
    tc_json_add_object(j);
    tc_json_put_u64(j, "column", v->column);
    tc_json_put_u64(j, "line", v->line);
    tc_json_put_cstr(j, "message", v->message);
    tc_json_put_cstr(j, "path", v->path);
    tc_json_put_bool(j, "strict", v->strict);
    tc_json_end_object(j);
}

/* All of a file, one byte more than a contract may have at most; NULL when it was told why not. */
static char *read_all(const char *path, size_t *out_len)
{
    char *bytes = malloc(TC_CONTRACT_BYTES_MAX + 1);
    ssize_t len = bytes == NULL ? -1 : tc_io_read_path(path, bytes, TC_CONTRACT_BYTES_MAX + 1);
    if (len < 0) {
        tc_say_plain("%s: %s", strcmp(path, "-") == 0 ? "<stdin>" : path, strerror(errno));
        free(bytes);
        return NULL;
    }
    *out_len = (size_t)len;
    return bytes;
}

/* A file that is no contract at all: the keys are there for whoever reads them. */
static void report_unreadable(struct tc_output *out, const char *name, const char *why)
{
    struct tc_json_out j = tc_output_object(out);
    tc_json_put_array(&j, "errors");
    add_message(&j, "document", why);
    tc_json_end_array(&j);
    tc_json_put_str(&j, "file", tc_slice_head(tc_slice_cstr(name), JSON_TEXT_MAX));
    tc_json_put_raw(&j, "summary", TC_LIT("{}"));
    tc_json_put_bool(&j, "valid", false);
    tc_json_put_raw(&j, "violations", TC_LIT("[]"));
    (void)tc_json_end_line(&j);
}

static bool report_json(struct tc_output *out, const char *name, const struct tc_contract *c,
                        bool strict)
{
    struct tc_json_out j = tc_output_json(out);
    struct report r = {.out = out, .name = name, .json = &j};
    tc_json_add_object(&j);
    tc_json_put_array(&j, "errors");
    bool valid = tc_contract_check(c, strict, on_violation_json, &r) == 0;
    tc_json_end_array(&j);
    tc_json_put_str(&j, "file", tc_slice_head(tc_slice_cstr(name), JSON_TEXT_MAX));
    char *text = valid ? malloc(SUMMARY_MAX) : NULL;
    struct tc_buf b = tc_buf_make(text, text == NULL ? 0 : SUMMARY_MAX);
    if (text != NULL) {
        tc_contract_summary(c, &b);
    }
    tc_json_put_raw(&j, "summary", text == NULL || b.overflowed ? TC_LIT("{}") : tc_buf_slice(&b));
    free(text);
    tc_json_put_bool(&j, "valid", valid);
    tc_json_put_array(&j, "violations");
    r.places = true;
    (void)tc_contract_check(c, strict, on_violation_json, &r);
    tc_json_end_array(&j);
    (void)tc_json_end_line(&j);
    return valid;
}

static bool report_lines(struct tc_output *out, const char *name, const struct tc_contract *c,
                         bool strict)
{
    struct report r = {.out = out, .name = name};
    if (tc_contract_check(c, strict, on_violation, &r) > 0) {
        return false;
    }
    struct tc_contract_facts facts;
    tc_contract_facts(c, &facts);
    char text[LINE_MAX_BYTES];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    (void)tc_format(&b, "{}: valid: {} {}, {} under test\n",
                    tc_as_printable(tc_slice_head(tc_slice_cstr(name), LINE_MAX_BYTES / 8)),
                    facts.benchmark_class, facts.workload_type, facts.variable_under_test);
    put(out, tc_buf_slice(&b));
    return true;
}

static int check_file(struct tc_output *out, const char *path, const struct tc_contract_args *args)
{
    size_t len = 0;
    struct tc_error err = {.status = TC_OK};
    struct tc_contract *c = NULL;
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    char *bytes = read_all(path, &len);
    if (bytes == NULL) {
        if (args->json) {
            report_unreadable(out, name, "cannot be read");
        }
        return TC_EXIT_BAD;
    }
    if (tc_contract_parse(tc_slice_make(bytes, len), &c, &err) != TC_OK) {
        tc_say_plain("%s: %s", name, err.message);
        if (args->json) {
            report_unreadable(out, name, err.message);
        }
        free(bytes);
        return TC_EXIT_BAD;
    }
    bool valid = args->json ? report_json(out, name, c, args->strict)
                            : report_lines(out, name, c, args->strict);
    tc_contract_destroy(c);
    free(bytes);
    return valid ? TC_EXIT_OK : TC_EXIT_FOUND;
}

int tc_contract_run_check(const struct tc_contract_args *args, char *const *paths, size_t count)
{
    struct tc_output out;
    int worst = TC_EXIT_OK;
    tc_output_init(&out, STDOUT_FILENO);
    for (size_t i = 0; i < count; i++) {
        int code = check_file(&out, paths[i], args);
        worst = code > worst ? code : worst;
    }
    return tc_output_end(&out, "contract", worst);
}
