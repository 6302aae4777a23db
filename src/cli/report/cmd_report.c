/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore report`: options, and where the report goes. */
#include "cli/command.h"
#include "cli/data.h"
#include "cli/output/output.h"
#include "cli/output/say.h"
#include "cli/whole_file.h"
#include "report/document/render.h"
#include "report/report.h"

#include <string.h>
#include <unistd.h>

enum format { FORMAT_MARKDOWN, FORMAT_HTML, FORMAT_JSON };

struct asked {
    const char *audience;
    const char *format;
    const char *output;
    const char *data_dir;
};

static const struct tc_option OPTIONS[] = {
    TC_TEXT("for", "AUDIENCE", struct asked, audience,
            "Who reads it: engineering, product or partner. Default: engineering.",
            .values = TC_VALUES_AUDIENCES),
    TC_TEXT("format", "FORMAT", struct asked, format,
            "markdown, html or json. Default: what the name of the output ends in, else markdown.",
            .values = TC_VALUES_REPORTS),
    TC_TEXT("output", "FILE", struct asked, output,
            "Write it there: the whole report, or the file stays as it was.", .letter = 'o'),
    TC_TEXT("data-dir", "DIR", struct asked, data_dir, TC_DATA_DIR_HELP),
};

/* The format that was asked for, by name or by what the file's name ends in. */
static bool choose_format(const struct asked *a, enum format *out)
{
    static const char *const NAMES[] = {"markdown", "html", "json", NULL};
    struct tc_slice name = tc_slice_cstr(a->output);
    *out = FORMAT_MARKDOWN;
    if (a->format == NULL) {
        *out = tc_slice_ends(name, TC_LIT(".html")) || tc_slice_ends(name, TC_LIT(".htm"))
                   ? FORMAT_HTML
               : tc_slice_ends(name, TC_LIT(".json")) ? FORMAT_JSON
                                                      : FORMAT_MARKDOWN;
        return true;
    }
    int which = tc_slice_which(tc_slice_cstr(a->format), NAMES);
    if (which < 0) {
        tc_say("report", "there is no format \"%s\": markdown, html or json", a->format);
        return false;
    }
    *out = (enum format)which;
    return true;
}

static void put_document(struct tc_grow *g, const struct tc_doc *d, enum format format)
{
    struct tc_json_out j;
    switch (format) {
    case FORMAT_MARKDOWN:
        tc_doc_markdown(d, g);
        return;
    case FORMAT_HTML:
        tc_doc_html(d, g);
        return;
    case FORMAT_JSON:
        j = tc_json_out_grow(g);
        tc_doc_json(d, &j);
        (void)tc_json_done_line(&j);
        return;
    }
}

static int print_document(struct tc_grow *g, enum format format)
{
    static struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    tc_output_escape_on_terminal(&out, format == FORMAT_JSON ? TC_ESCAPE_JSON : TC_ESCAPE_TEXT);
    (void)tc_output_put(&out, tc_grow_slice(g));
    return tc_output_end(&out, "report", TC_EXIT_OK);
}

static int write_document(const struct asked *a, const struct tc_doc *d, enum format format)
{
    struct tc_error err = {0};
    struct tc_grow g = {0};
    int code = TC_EXIT_BAD;
    put_document(&g, d, format);
    if (g.failed) {
        tc_say("report", "no memory for the report");
    } else if (a->output == NULL || strcmp(a->output, "-") == 0) {
        code = print_document(&g, format);
    } else if (tc_whole_file_write(a->output, tc_grow_slice(&g), &err) != TC_OK) {
        tc_say("report", "%s", err.message);
    } else {
        code = TC_EXIT_OK;
    }
    tc_grow_fini(&g);
    return code;
}

static int act(const struct asked *a, const struct tc_report_want *want, enum format format)
{
    char dir[TC_DATA_PATH_BYTES];
    struct tc_error err = {0};
    struct tc_report *r = NULL;
    if (!tc_data_dir_of("report", a->data_dir, dir)) {
        return TC_EXIT_BAD;
    }
    struct tc_warehouse *w = tc_data_open("report", dir, TC_WAREHOUSE_READ);
    if (w == NULL) {
        return TC_EXIT_BAD;
    }
    int code = TC_EXIT_BAD;
    if (tc_report_create(w, want, &r, &err) == TC_OK) {
        code = write_document(a, tc_report_document(r), format);
    } else {
        tc_say("report", "%s", err.message);
    }
    tc_report_destroy(r);
    tc_warehouse_close(w);
    return code;
}

static int run(int argc, char **argv)
{
    struct asked a = {.audience = "engineering"};
    struct tc_report_want want = {.version = TC_LIT(TC_VERSION_FULL)};
    enum format format;
    int code = tc_options_read(&tc_command_report, argc, argv, &a);
    if (code != TC_GO_ON) {
        return code;
    }
    if (argc - optind < 1 || argc - optind > 2) {
        return tc_command_refuse(&tc_command_report,
                                 "which runs? tracecore report RUN, or BASE CANDIDATE");
    }
    if (!tc_audience_parse(tc_slice_cstr(a.audience), &want.audience)) {
        return tc_refuse("report", "there is no audience \"%s\": engineering, product or partner",
                         a.audience);
    }
    if (!choose_format(&a, &format)) {
        return TC_EXIT_BAD;
    }
    want.runs = tc_slice_cstr(argv[argc - 1]);
    want.base = argc - optind == 2 ? tc_slice_cstr(argv[optind]) : TC_EMPTY;
    if (want.runs.len == 0 || (argc - optind == 2 && want.base.len == 0)) {
        return tc_command_refuse(&tc_command_report, "the name of the runs is empty");
    }
    return act(&a, &want, format);
}

const struct tc_command tc_command_report = {
    .name = "report",
    .summary = "write a report on runs for one audience",
    .usage = "usage: tracecore report RUN [--for AUDIENCE] [--format FORMAT] [-o FILE]\n"
             "       tracecore report BASE CANDIDATE [--for AUDIENCE] ...\n"
             "\n"
             "Writes a report on a run, or on CANDIDATE compared with BASE, as Markdown, as one\n"
             "HTML file with plots, or as JSON. RUN, BASE and CANDIDATE are what `tracecore\n"
             "compare` takes: a run, a replicate group, a name or an SQL condition.\n"
             "\n"
             "  engineering  metrics, traces, hypothesis, minimal repro, proposed experiment\n"
             "  product      impact, expected user impact, confidence, next step\n"
             "  partner      what is ours, what is upstream, minimal repro, smallest change\n"
             "\n"
             "Every number has the runs that it stands on, its interval (or why there is none)\n"
             "and a lineage id; the end of the report says what is behind each id.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  written\n"
             "  2  wrong usage, no such runs, or the report cannot be written\n"
             "\n"
             "Examples:\n"
             "  tracecore report nightly -o report.html\n"
             "  tracecore report base candidate --for product -o impact.md\n"
             "  tracecore report base candidate --for partner --format json\n",
    .run = run,
};
