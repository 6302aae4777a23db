/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore publish list`, `retract` and `export`. */
#include "base/clock.h"
#include "base/format.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/output/say.h"
#include "cli/output/text_table.h"
#include "cli/publish/publish.h"
#include "publish/lineage.h"
#include "publish/packet.h"
#include "publish/publish.h"

#include <stdlib.h>

/* ---- list ---- */

struct listed {
    const struct tc_number *number;
};

static int by_time(const void *a, const void *b)
{
    uint64_t x = ((const struct listed *)a)->number->seq;
    uint64_t y = ((const struct listed *)b)->number->seq;
    return x < y ? -1 : x > y ? 1 : 0;
}

static void put_row(struct tc_text_table *t, const struct tc_number *n,
                    const struct tc_claim *claim)
{
    struct tc_civil day;
    tc_time_to_civil(n->at_ns, &day);
    tc_text_table_format(t, "{}", (const char *)n->id);
    tc_text_table_format(t, "{}-{}-{}", tc_as_digits((uint64_t)day.year, 4),
                         tc_as_digits((uint64_t)day.month, 2), tc_as_digits((uint64_t)day.day, 2));
    tc_text_table_format(t, "{}", tc_as_number(claim->value));
    tc_text_table_cell(t, claim->unit);
    tc_text_table_format(t, "{}", tc_claim_replicates(claim));
    tc_text_table_format(t, "{}",
                         n->is_retracted            ? "retracted"
                         : claim->statement.len > 0 ? "unstable"
                                                    : "");
    tc_text_table_cell(t, claim->report_row);
}

static void put_numbers(const struct tc_publish_args *args, const struct listed *sorted,
                        size_t count, struct tc_grow *g)
{
    struct tc_text_table table = {
        .column_count = 7,
        .heads = {"number", "published", "value", "unit", "runs", "", "report row"},
        .right = {false, false, true, false, true, false, false},
        .flexible = 6,
        .flexible_min = 12,
    };
    for (size_t i = 0; i < count; i++) {
        const struct tc_number *number = sorted[i].number;
        struct tc_claim claim;
        struct tc_error ignored;
        bool good = tc_claim_read(number->claim, &claim, &ignored) == TC_OK;
        if (good && (args->all || !number->is_retracted)) {
            if (args->json) {
                struct tc_json_out j = tc_json_out_grow(g);
                tc_number_json(&j, number, &claim);
                (void)tc_json_done_line(&j);
            } else {
                put_row(&table, number, &claim);
            }
        }
        tc_claim_fini(&claim);
    }
    if (!args->json) {
        (void)tc_text_table_print(&table, g, "");
    }
    g->failed |= table.failed;
    tc_text_table_fini(&table);
}

static void put_log(struct tc_grow *g, const struct tc_audit_chain *chain)
{
    if (chain->broken_at > 0) {
        tc_grow_format(g, "the audit log is broken: {}\n", (const char *)chain->why);
    } else if (chain->entries > 0) {
        tc_grow_format(g, "{} in the audit log, the last is {}\n",
                       tc_as_count((int64_t)chain->entries, "act"), tc_as_digest(&chain->head));
    } else {
        tc_grow_lit(g, "nothing was published yet\n");
    }
}

int tc_publish_list(const struct tc_publish_args *args)
{
    char dir[TC_DATA_PATH_BYTES];
    struct tc_numbers numbers = {0};
    struct tc_error err = {0};
    struct tc_grow g = {0};
    if (!tc_data_dir_of("publish", args->data_dir, dir)) {
        return TC_EXIT_BAD;
    }
    tc_status status = tc_numbers_read(dir, &numbers, &err);
    struct listed *sorted = calloc(numbers.count + 1, sizeof *sorted);
    if (status != TC_OK || sorted == NULL) {
        tc_say("publish", "%s", status != TC_OK ? err.message : "no memory for the list");
        free(sorted);
        tc_numbers_fini(&numbers);
        return TC_EXIT_BAD;
    }
    for (size_t i = 0; i < numbers.count; i++) {
        sorted[i].number = &numbers.items[i];
    }
    qsort(sorted, numbers.count, sizeof *sorted, by_time);
    if (numbers.count > 0) {
        put_numbers(args, sorted, numbers.count, &g);
    }
    if (!args->json) {
        put_log(&g, &numbers.chain);
    }
    int code = numbers.chain.broken_at > 0 ? TC_EXIT_FOUND : TC_EXIT_OK;
    free(sorted);
    tc_numbers_fini(&numbers);
    return tc_output_grown("publish", &g, code);
}

/* ---- retract ---- */

int tc_publish_take_back(const struct tc_publish_args *args, const char *id)
{
    struct tc_publish_place p;
    struct tc_error err = {0};
    struct tc_grow g = {0};
    char by[256];
    int code = TC_EXIT_BAD;
    tc_publish_by(by);
    if (tc_publish_place_open(&p, "publish", args->data_dir, TC_WAREHOUSE_WRITE)) {
        const struct tc_retract_want want = {.data_dir = p.dir,
                                             .w = p.w,
                                             .number_id = tc_slice_cstr(id),
                                             .reason = tc_slice_cstr(args->reason),
                                             .by = tc_slice_cstr(by),
                                             .now_ns = tc_wall_ns()};
        if (tc_publish_retract(&want, &err) == TC_OK) {
            tc_grow_format(&g, "retracted: {}\n", id);
            code = tc_output_grown("publish", &g, TC_EXIT_OK);
        } else {
            tc_say("publish", "%s", err.message);
        }
    }
    tc_publish_place_close(&p);
    return code;
}

/* ---- export ---- */

static tc_status write_packet(const struct tc_publish_args *args, const struct tc_publish_place *p,
                              const struct tc_number *number, const struct tc_claim *claim,
                              struct tc_grow *g, struct tc_error *err)
{
    struct tc_source source;
    uint64_t files = 0;
    uint64_t bytes = 0;
    tc_status status = tc_source_stored(p->dir, p->files, p->w, claim, &source, err);
    status = status == TC_OK
                 ? tc_packet_write(args->output, number, claim, &source, &files, &bytes, err)
                 : status;
    tc_source_fini(&source);
    if (status == TC_OK) {
        tc_grow_format(g, "{}: {} with {}, {} bytes\nnext: tracecore verify {}\n", args->output,
                       (const char *)number->id, tc_as_count((int64_t)files, "file"), bytes,
                       args->output);
    }
    return status;
}

/* A number that is not safe is not handed to others. */
static int export(const struct tc_publish_args *args, const struct tc_publish_place *p,
                  const struct tc_numbers *numbers, const struct tc_number *number,
                  struct tc_error *err)
{
    const struct tc_lineage_want want = {
        .data_dir = p->dir, .w = p->w, .files = p->files, .numbers = numbers};
    struct tc_chain chain;
    struct tc_claim claim;
    struct tc_grow g = {0};
    int code = TC_EXIT_BAD;
    tc_status status = tc_lineage_check(&want, number, &chain, &claim, err);
    if (status == TC_OK && tc_chain_broken(&chain) < TC_STEP_COUNT) {
        tc_publish_put_lineage(&g, number->id, &claim, &chain, args->json);
        code = tc_output_grown("publish", &g, TC_EXIT_FOUND);
    } else {
        status = status == TC_OK ? write_packet(args, p, number, &claim, &g, err) : status;
        if (status == TC_OK) {
            code = tc_output_grown("publish", &g, TC_EXIT_OK);
        } else {
            tc_say("publish", "%s", err->message);
        }
    }
    tc_claim_fini(&claim);
    return code;
}

int tc_publish_export(const struct tc_publish_args *args, const char *id)
{
    struct tc_publish_place p;
    struct tc_numbers numbers = {0};
    struct tc_error err = {0};
    int code = TC_EXIT_BAD;
    if (tc_publish_place_open(&p, "publish", args->data_dir, TC_WAREHOUSE_READ)) {
        tc_status status = tc_numbers_read(p.dir, &numbers, &err);
        const struct tc_number *number =
            status == TC_OK ? tc_numbers_find(&numbers, tc_slice_cstr(id)) : NULL;
        if (status != TC_OK || number == NULL) {
            tc_say("publish", "%s%s", status != TC_OK ? err.message : id,
                   status != TC_OK ? "" : " was never published");
        } else {
            code = export(args, &p, &numbers, number, &err);
        }
    }
    tc_numbers_fini(&numbers);
    tc_publish_place_close(&p);
    return code;
}
