/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's configuration before it is used: check a file, print the defaults. */
#include "base/buf.h"
#include "base/format.h"
#include "cli/command.h"
#include "cli/output/say.h"
#include "config/config.h"
#include "server/sources/check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct asked {
    bool verbose;
    bool json;
    bool markdown;
};

static const struct tc_option OPTIONS[] = {
    TC_FLAG("verbose", struct asked, verbose,
            "check: also print every value that would be used and where it comes from: default, "
            "file or environment.",
            .letter = 'v'),
    TC_FLAG("json", struct asked, json, "check: the same, or the mistakes, as one JSON object."),
    TC_FLAG("markdown", struct asked, markdown,
            "print-default: the tables of docs/configuration.md instead."),
};

/* Room for the JSON of a hundred mistakes and of all values. */
#define REPORT_MAX (2 * TC_CONFIG_PRINT_MAX)

struct check {
    struct tc_config config;
    struct tc_buf mistakes_buf;
    struct tc_json_out mistakes; /* an array */
    bool json;
    char mistakes_text[REPORT_MAX];
    char report_text[REPORT_MAX];
};

static void on_mistake(void *context, const char *line)
{
    struct check *c = context;
    if (!c->json) {
        tc_say_plain("%s", line);
        return;
    }
    tc_json_add_cstr(&c->mistakes, line);
}

static void report_json(struct check *c, struct tc_output *out, const char *name, bool ok)
{
    struct tc_buf b = tc_buf_make(c->report_text, sizeof c->report_text);
    struct tc_json_out j = tc_output_object(out);
    tc_json_put_cstr(&j, "file", name);
    tc_json_put_bool(&j, "ok", ok);
    if (ok) {
        tc_config_print_effective(&c->config, true, &b);
        tc_json_put_raw(&j, "values", tc_buf_slice(&b));
    } else {
        tc_json_end_array(&c->mistakes);
        tc_json_put_raw(&j, "mistakes", tc_buf_slice(&c->mistakes_buf));
    }
    (void)tc_json_end_line(&j);
}

static int check_file(struct check *c, const char *path, bool verbose)
{
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    c->mistakes_buf = tc_buf_make(c->mistakes_text, sizeof c->mistakes_text);
    c->mistakes = tc_json_out_make(&c->mistakes_buf);
    tc_json_add_array(&c->mistakes);
    tc_status status = tc_config_load(path, environ, on_mistake, c, &c->config);
    if (status == TC_OK && !tc_sources_check(&c->config, on_mistake, c)) {
        status = TC_E_MALFORMED;
    }
    const char *name = path == NULL ? "environment" : strcmp(path, "-") == 0 ? "<stdin>" : path;
    if (c->json) {
        report_json(c, &out, name, status == TC_OK);
    } else if (status == TC_OK) {
        struct tc_buf b = tc_buf_make(c->report_text, sizeof c->report_text);
        if (verbose) {
            tc_config_print_effective(&c->config, false, &b);
        }
        (void)tc_format(&b, "{}: ok\n", tc_as_printable(tc_slice_cstr(name)));
        (void)tc_output_put(&out, tc_buf_slice(&b));
    }
    return tc_output_end(&out, "config",
                         status == TC_OK            ? TC_EXIT_OK
                         : status == TC_E_MALFORMED ? TC_EXIT_FOUND
                                                    : TC_EXIT_BAD);
}

static int print_default(struct check *c, bool markdown)
{
    struct tc_output out;
    struct tc_buf b = tc_buf_make(c->report_text, sizeof c->report_text);
    tc_output_init(&out, STDOUT_FILENO);
    if (markdown) {
        tc_config_print_markdown(&b);
    } else {
        tc_config_print_default(&b);
    }
    (void)tc_output_put(&out, tc_buf_slice(&b));
    return tc_output_end(&out, "config", TC_EXIT_OK);
}

static int run_what(int argc, char **argv, const struct asked *a)
{
    const char *what = optind < argc ? argv[optind] : "";
    bool is_check = strcmp(what, "check") == 0;
    bool is_print = strcmp(what, "print-default") == 0;
    if (!is_check && !is_print) {
        return tc_command_refuse(&tc_command_config, "%s",
                                 what[0] == '\0' ? "what is to be done? check or print-default"
                                                 : "there is check and there is print-default");
    }
    if (argc - optind > (is_check ? 2 : 1)) {
        return tc_command_refuse(&tc_command_config, "%s",
                                 is_check ? "one file can be checked"
                                          : "print-default takes no file");
    }
    if (is_check ? a->markdown : a->verbose || a->json) {
        return tc_command_refuse(&tc_command_config, "%s",
                                 is_check ? "--markdown is for print-default"
                                          : "--verbose and --json are for check");
    }
    struct check *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return tc_refuse("config", "out of memory");
    }
    c->json = a->json;
    int code = is_check ? check_file(c, argc - optind == 2 ? argv[optind + 1] : NULL, a->verbose)
                        : print_default(c, a->markdown);
    free(c);
    return code;
}

static int run(int argc, char **argv)
{
    struct asked a = {0};
    int code = tc_options_read(&tc_command_config, argc, argv, &a);
    return code == TC_GO_ON ? run_what(argc, argv, &a) : code;
}

const struct tc_command tc_command_config = {
    .name = "config",
    .summary = "check the daemon's configuration, or print the default",
    .usage = "usage: tracecore config check [-v | --json] [FILE]\n"
             "       tracecore config print-default [--markdown]\n"
             "\n"
             "check reads FILE (- is standard input) and the TRACECORE_* variables as the\n"
             "daemon would, and tells every mistake in one go as FILE:LINE:COLUMN: KEY: what.\n"
             "Without FILE the environment alone is checked. print-default prints a file with\n"
             "every key, what it does, its range and its default. docs/configuration.md has\n"
             "the same as a page.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  the configuration is right\n"
             "  1  there are mistakes in it\n"
             "  2  wrong usage, or the file cannot be read\n"
             "\n"
             "Examples:\n"
             "  tracecore config print-default > tracecore.yaml\n"
             "  tracecore config check tracecore.yaml\n"
             "  TRACECORE_API_LISTEN=127.0.0.1:9000 tracecore config check -v\n",
    .words = "check print-default",
    .run = run,
};
