/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/io.h"
#include "cli/command.h"
#include "cli/output/say.h"
#include "cli/publish/publish.h"
#include "publish/lineage.h"
#include "report/check.h"

#include "publish/made.h"
#include <stdlib.h>

/* No report is longer. */
#define REPORT_MAX ((size_t)64 << 20)

struct args {
    const char *data_dir;
    const char *pub;
    const char *report;
    bool all;
    bool json;
};

static const struct tc_option OPTIONS[] = {
    TC_FLAG("all", struct args, all, "Every number that is published now."),
    TC_TEXT("report", "FILE", struct args, report,
            "Every number of a report that was written as JSON. Numbers that were not published "
            "are made again from the tables."),
    TC_TEXT("pub", "FILE", struct args, pub,
            "The public key that the manifests of all runs must be signed by."),
    TC_TEXT("data-dir", "DIR", struct args, data_dir, TC_DATA_DIR_HELP),
    TC_FLAG("json", struct args, json, "One JSON object a line."),
};

struct walking {
    const struct args *args;
    struct tc_lineage_want want;
    struct tc_grow out;
    struct tc_made made;
    size_t broken;
};

static tc_status check(struct walking *w, const struct tc_number *number, struct tc_error *err)
{
    struct tc_chain chain;
    struct tc_claim claim;
    tc_status status = tc_lineage_check(&w->want, number, &chain, &claim, err);
    if (status == TC_OK) {
        w->broken += tc_chain_broken(&chain) < TC_STEP_COUNT ? 1 : 0;
        tc_publish_put_lineage(&w->out, number->id, &claim, &chain, w->args->json);
    }
    tc_claim_fini(&claim);
    return status;
}

static tc_status check_all(struct walking *w, struct tc_error *err)
{
    for (size_t i = 0; i < w->want.numbers->count; i++) {
        if (!w->want.numbers->items[i].is_retracted) {
            TC_TRY(check(w, &w->want.numbers->items[i], err));
        }
    }
    return TC_OK;
}

static tc_status check_some(struct walking *w, char **ids, size_t count, struct tc_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct tc_number *number = tc_numbers_find(w->want.numbers, tc_slice_cstr(ids[i]));
        if (number == NULL) {
            return tc_fail(err, TC_E_NOTFOUND, 0,
                           "%s is not in the audit log%s; `tracecore publish list` shows what is",
                           ids[i], w->want.numbers->chain.broken_at > 0 ? ", which is broken" : "");
        }
        TC_TRY(check(w, number, err));
    }
    return TC_OK;
}

/* One number of a report: a published one has a chain, the others were checked already. */
static tc_status take_report_number(void *context, const struct tc_report_number *n)
{
    struct walking *w = context;
    const struct tc_number *number = tc_numbers_find(w->want.numbers, n->id);
    struct tc_error err = {0};
    if (n->is_published && number != NULL) {
        tc_status status = check(w, number, &err);
        if (status != TC_OK) {
            tc_say("lineage", "%s", err.message);
        }
        return status;
    }
    w->broken += n->holds ? 0 : 1;
    const char *why = n->is_published ? "it is not in the audit log" : n->why;
    if (w->args->json) {
        struct tc_json_out j = tc_json_object_grow(&w->out);
        tc_json_put_str(&j, "number_id", n->id);
        tc_json_put_str(&j, "what", n->what);
        tc_json_put_bool(&j, "published", n->is_published);
        tc_json_put_bool(&j, "holds", n->holds);
        tc_json_put_some(&j, "why", tc_slice_cstr(n->holds ? NULL : why));
        (void)tc_json_end_line(&j);
    } else {
        tc_grow_format(&w->out, "{}  {}  {}\n", tc_as_printable(n->id),
                       n->holds ? "holds, not published" : "BROKEN", tc_as_printable(n->what));
        if (!n->holds) {
            tc_grow_format(&w->out, "    {}\n", tc_as_printable(tc_slice_cstr(why)));
        }
    }
    return TC_OK;
}

static tc_status check_report(struct walking *w, struct tc_error *err)
{
    char *text = malloc(REPORT_MAX + 1);
    ssize_t len = text == NULL ? -1 : tc_io_read_path(w->args->report, text, REPORT_MAX + 1);
    tc_status status =
        text == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the report")
        : len < 0    ? tc_fail_errno(err, w->args->report)
        : (size_t)len > REPORT_MAX
            ? tc_fail(err, TC_E_LIMIT, 0, "%s is longer than any report", w->args->report)
            : tc_report_check(w->want.w, tc_slice_make(text, (size_t)len), take_report_number, w,
                              err);
    free(text);
    return status;
}

static int act(const struct args *args, char **ids, size_t count, const struct tc_sign_key *key)
{
    struct tc_publish_place p;
    struct tc_numbers numbers = {0};
    struct tc_error err = {0};
    struct walking w = {.args = args};
    int code = TC_EXIT_BAD;
    if (tc_publish_place_open(&p, "lineage", args->data_dir, TC_WAREHOUSE_READ)) {
        tc_status status = tc_numbers_read(p.dir, &numbers, &err);
        w.want = (struct tc_lineage_want){.data_dir = p.dir,
                                          .w = p.w,
                                          .files = p.files,
                                          .numbers = &numbers,
                                          .key = key,
                                          .made = &w.made};
        if (status == TC_OK) {
            status = args->report != NULL ? check_report(&w, &err)
                     : args->all          ? check_all(&w, &err)
                                          : check_some(&w, ids, count, &err);
        }
        code = status != TC_OK                               ? TC_EXIT_BAD
               : w.broken > 0 || numbers.chain.broken_at > 0 ? TC_EXIT_FOUND
                                                             : TC_EXIT_OK;
        code = tc_output_grown("lineage", &w.out, code);
        if (status != TC_OK) {
            tc_say("lineage", "%s", err.message);
            code = status == TC_E_NOTFOUND && numbers.chain.broken_at > 0 ? TC_EXIT_FOUND : code;
        }
    }
    tc_made_close(&w.made);
    tc_numbers_fini(&numbers);
    tc_publish_place_close(&p);
    return code;
}

static int run(int argc, char **argv)
{
    struct args args = {0};
    bool bad = false;
    int code = tc_options_read(&tc_command_lineage, argc, argv, &args);
    if (code != TC_GO_ON) {
        return code;
    }
    if ((argc > optind) + args.all + (args.report != NULL) != 1) {
        return tc_command_refuse(&tc_command_lineage, "of what? give the ID of a published "
                                                      "number, --all, or --report FILE");
    }
    struct tc_sign_key *key = tc_publish_key("lineage", args.pub, &bad);
    code = bad ? TC_EXIT_BAD : act(&args, argv + optind, (size_t)(argc - optind), key);
    tc_sign_key_destroy(key);
    return code;
}

const struct tc_command tc_command_lineage = {
    .name = "lineage",
    .summary = "follow a published number back to its raw bytes",
    .usage = "usage: tracecore lineage ID... [--pub FILE] [--json]\n"
             "       tracecore lineage --all [--pub FILE] [--json]\n"
             "       tracecore lineage --report FILE [--pub FILE] [--json]\n"
             "\n"
             "Checks each step from the number to what it was made of: audit log, report row,\n"
             "query, tables, runs, manifests, signatures, raw files, and the number itself,\n"
             "made again from the bytes. Steps are judged each on its own; the one that is\n"
             "broken is named, and the number is no longer publication-safe.\n"
             "\n"
             "The tables that it is made again with are in $TMPDIR, else /var/tmp, meanwhile:\n"
             "as much as the files of its runs.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  publication-safe\n"
             "  1  a step is broken, or the number was retracted\n"
             "  2  wrong usage, no such number, or it cannot be told\n",
    .words = "",
    .run = run,
};
