/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/format.h"
#include "cli/command.h"
#include "cli/output/say.h"
#include "cli/retain/retain.h"

#include "base/time.h"
#include "run/lock.h"

#include <unistd.h>

#define HOT_DAYS 30
#define WARM_DAYS 180
#define COLD_DAYS 730
#define DAYS_MAX 36500
#define DAY_US (INT64_C(86400) * 1000000)
/* Runs that the text names. */
#define TOLD_MAX 20

/* ---- the plan in words ---- */

static uint64_t expired_snapshots(const struct tc_retain *r)
{
    uint64_t count = 0;
    for (size_t i = 0; i < r->snapshot_count; i++) {
        count += r->snapshots[i].expired;
    }
    return count;
}

static struct tc_arg counted(uint64_t count, const char *noun)
{
    return tc_as_count((int64_t)count, noun);
}

static void print_text(const struct tc_retain *r, struct tc_grow *g)
{
    tc_grow_format(g, "hot   before {}: forget {} and {} of no run\n",
                   tc_as_time(r->hot_before_us * 1000), counted(r->hot_slices, "slice"),
                   counted(r->hot_requests, "request"));
    tc_grow_format(g, "warm  before {}: move {} ({}, {}, {}, {}) and {} to a snapshot\n",
                   tc_as_time(r->warm_before_us * 1000), counted(r->runs.row_count, "run"),
                   counted(r->moved[TC_TABLE_SERVING], "serving row"),
                   counted(r->moved[TC_TABLE_REQUEST], "request"),
                   counted(r->moved[TC_TABLE_TRAINING], "training row"),
                   counted(r->moved[TC_TABLE_SLICE], "slice"),
                   counted(r->verdicts.row_count, "verdict"));
    for (size_t i = 0; i < r->runs.row_count && i < TOLD_MAX; i++) {
        tc_grow_format(g, "        {}  added {}\n", tc_answer_text(&r->runs, i, 0),
                       tc_as_time(tc_answer_int(&r->runs, i, 1) * 1000));
    }
    if (r->runs.row_count > TOLD_MAX) {
        tc_grow_format(g, "        and {} more\n", r->runs.row_count - TOLD_MAX);
    }
    tc_grow_format(g, "cold  before {}: remove {}, {} {}, {} ({} bytes)\n",
                   tc_as_time(r->cold_before_us * 1000), counted(expired_snapshots(r), "snapshot"),
                   r->expired_lineages,
                   r->expired_lineages == 1 ? "run's lineage" : "runs' lineages",
                   counted(r->remove_count, "file"), r->remove_bytes);
    if (r->protected_runs > 0) {
        tc_grow_format(g, "{} {}\n", r->protected_runs,
                       r->protected_runs == 1 ? "old run stays: a published number stands on it"
                                              : "old runs stay: published numbers stand on them");
    }
}

static void add_list(struct tc_json_out *j, const struct tc_answer *set, const bool *only)
{
    tc_json_add_array(j);
    for (size_t i = 0; i < set->row_count; i++) {
        if (only == NULL || only[i]) {
            tc_json_add_str(j, tc_answer_text(set, i, 0));
        }
    }
    tc_json_end_array(j);
}

static void print_json(const struct tc_retain *r, bool dry_run, struct tc_grow *g)
{
    struct tc_json_out j = tc_json_object_grow(g);
    tc_json_put_bool(&j, "dry_run", dry_run);
    tc_json_put_object(&j, "hot");
    tc_json_put_time(&j, "before", r->hot_before_us * 1000);
    tc_json_put_u64(&j, "slices", r->hot_slices);
    tc_json_put_u64(&j, "requests", r->hot_requests);
    tc_json_end_object(&j);
    tc_json_put_object(&j, "warm");
    tc_json_put_time(&j, "before", r->warm_before_us * 1000);
    tc_json_key(&j, "runs");
    add_list(&j, &r->runs, NULL);
    tc_json_put_u64(&j, "serving_rows", r->moved[TC_TABLE_SERVING]);
    tc_json_put_u64(&j, "requests", r->moved[TC_TABLE_REQUEST]);
    tc_json_put_u64(&j, "training_rows", r->moved[TC_TABLE_TRAINING]);
    tc_json_put_u64(&j, "slices", r->moved[TC_TABLE_SLICE]);
    tc_json_put_u64(&j, "verdicts", r->verdicts.row_count);
    tc_json_end_object(&j);
    tc_json_put_object(&j, "cold");
    tc_json_put_time(&j, "before", r->cold_before_us * 1000);
    tc_json_put_u64(&j, "snapshots", expired_snapshots(r));
    tc_json_key(&j, "runs");
    add_list(&j, &r->lineages, r->lineage_expired);
    tc_json_put_u64(&j, "files", r->remove_count);
    tc_json_put_u64(&j, "bytes", r->remove_bytes);
    tc_json_end_object(&j);
    tc_json_put_u64(&j, "protected_runs", r->protected_runs);
    (void)tc_json_end_line(&j);
}

static void retain_print(const struct tc_retain *r, bool json, bool dry_run, struct tc_grow *g)
{
    if (json) {
        print_json(r, dry_run, g);
    } else {
        print_text(r, g);
    }
}

/* ---- the command ---- */

struct asked {
    const char *data_dir;
    const char *hot_days;
    const char *warm_days;
    const char *cold_days;
    bool dry_run;
    bool json;
};

static const struct tc_option OPTIONS[] = {
    TC_FLAG("dry-run", struct asked, dry_run, "Print the plan and do nothing.", .letter = 'n'),
    TC_TEXT(
        "hot-days", "N", struct asked, hot_days,
        "Slices of telemetry that belong to no run are forgotten after so many days. Default: 30."),
    TC_TEXT("warm-days", "N", struct asked, warm_days,
            "Runs with their rows, and verdicts, move to Parquet snapshots so many days after they "
            "were added. Default: 180."),
    TC_TEXT("cold-days", "N", struct asked, cold_days,
            "Snapshots and the files of their runs are removed after so many days. Default: 730."),
    TC_TEXT("data-dir", "DIR", struct asked, data_dir, TC_DATA_DIR_HELP),
    TC_FLAG("json", struct asked, json, "The plan as a JSON object."),
};

static bool parse_days(const char *name, const char *text, uint64_t fallback, uint64_t *out)
{
    *out = fallback;
    if (text == NULL) {
        return true;
    }
    if (!tc_slice_is_u64(tc_slice_cstr(text), out) || *out == 0 || *out > DAYS_MAX) {
        tc_say("retain", "--%s takes days, from 1 to %d, not \"%s\"", name, DAYS_MAX, text);
        return false;
    }
    return true;
}

static bool set_times(const struct asked *a, struct tc_retain *r)
{
    uint64_t hot = 0;
    uint64_t warm = 0;
    uint64_t cold = 0;
    if (!parse_days("hot-days", a->hot_days, HOT_DAYS, &hot) ||
        !parse_days("warm-days", a->warm_days, WARM_DAYS, &warm) ||
        !parse_days("cold-days", a->cold_days, COLD_DAYS, &cold)) {
        return false;
    }
    if (hot > warm || warm > cold) {
        tc_say("retain", "hot, warm and cold days must not fall: %llu, %llu, %llu",
               (unsigned long long)hot, (unsigned long long)warm, (unsigned long long)cold);
        return false;
    }
    r->now_us = tc_wall_ns() / 1000;
    r->hot_before_us = r->now_us - (int64_t)hot * DAY_US;
    r->warm_before_us = r->now_us - (int64_t)warm * DAY_US;
    r->cold_before_us = r->now_us - (int64_t)cold * DAY_US;
    return true;
}

static int act(const struct asked *a)
{
    static struct tc_retain r;
    struct tc_error err = {0};
    struct tc_grow g = {0};
    int code = TC_EXIT_BAD;
    int lock_fd = -1; /* goes with the process */
    if (!set_times(a, &r)) {
        return tc_command_misused(&tc_command_retain);
    }
    if (!tc_data_dir_of("retain", a->data_dir, r.dir)) {
        return TC_EXIT_BAD;
    }
    /* Reading first: writing would make a database where there is none. */
    r.w = tc_data_open("retain", r.dir, TC_WAREHOUSE_READ);
    if (r.w != NULL && !a->dry_run) {
        tc_warehouse_close(r.w);
        r.w = tc_data_open("retain", r.dir, TC_WAREHOUSE_WRITE);
    }
    if (r.w == NULL) {
        return TC_EXIT_BAD;
    }
    /* ClickHouse does not keep two writers apart. */
    tc_status status = a->dry_run ? TC_OK : tc_runs_lock(r.dir, &lock_fd, &err);
    status = status == TC_OK ? tc_retain_plan(&r, &err) : status;
    if (status == TC_OK) {
        retain_print(&r, a->json, a->dry_run, &g);
        code = tc_output_grown("retain", &g, TC_EXIT_OK);
    }
    if (status == TC_OK && code == TC_EXIT_OK && !a->dry_run && !tc_retain_is_empty(&r)) {
        status = tc_retain_do(&r, &err);
    }
    if (status != TC_OK) {
        tc_say("retain", "%s", err.message);
        code = TC_EXIT_BAD;
    }
    tc_grow_fini(&g);
    tc_retain_fini(&r);
    return code;
}

static int run(int argc, char **argv)
{
    struct asked a = {0};
    int code = tc_options_read(&tc_command_retain, argc, argv, &a);
    if (code != TC_GO_ON) {
        return code;
    }
    if (argc > optind) {
        return tc_command_refuse(&tc_command_retain, "it takes no arguments but options");
    }
    return act(&a);
}

const struct tc_command tc_command_retain = {
    .name = "retain",
    .summary = "move and remove what is old, never what was published",
    .usage = "usage: tracecore retain [--dry-run] [--hot-days N] [--warm-days N]\n"
             "                        [--cold-days N] [--json]\n"
             "\n"
             "Prints what is to be done, and does it. Slices of no run are forgotten after the\n"
             "hot days. Runs with their rows, and verdicts, move to Parquet snapshots under\n"
             "data_dir/cold after the warm days. Snapshots and the files of their runs are\n"
             "removed after the cold days. What a published number stands on is never\n"
             "touched: its runs, their rows, manifests and files. A run's age counts from\n"
             "when it was added. Interrupted at any point nothing is lost, and the next call\n"
             "goes on.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  done, or there is nothing to do\n"
             "  2  wrong usage, there is no database, or it failed\n"
             "\n"
             "Examples:\n"
             "  tracecore retain --dry-run\n"
             "  tracecore retain --warm-days 90\n",
    .run = run,
};
