/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   sacct    JobID|State|ExitCode|NodeList|End     a row for each job of the window
 *   scontrol NodeName=gpu-07 ... State=IDLE+DRAIN ... Reason=...     a line for each node
 *
 * The parsable text is the same in all versions of Slurm, and is what src/codec/slurm reads of
 * jobs; JSON differs from version to version, and lists a hundred fields of which five are needed.
 *
 * A job is in the window of sacct if it was known to Slurm in any state after its beginning, so one
 * that ran before and failed in it is there. What slurmdbd records late is found by the margin.
 */
#include "source/slurm/slurm.h"

#include "base/clock.h"
#include "source/slurm/priv.h"
#include "source/text_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define HEADER TC_LIT("JobID|State|ExitCode|NodeList|End")
#define MARGIN_NS (600 * TC_SECOND)
#define OUTPUT_MAX ((size_t)32 << 20)
/* Rounds for one interval: so many rows at once are a first look at a large cluster. */
#define ROUNDS_MAX 64

struct slurm {
    char *sacct;
    char *scontrol;
    int64_t interval_ns;
    int64_t timeout_ns;
    int64_t back_ns;
    struct tc__rows jobs;
    struct tc__rows nodes;
    bool is_full; /* no memory for what was stored before */
};

static void destroy(void *state)
{
    struct slurm *s = state;
    if (s != NULL) {
        tc__rows_fini(&s->jobs);
        tc__rows_fini(&s->nodes);
        free(s->sacct);
        free(s->scontrol);
        free(s);
    }
}

bool tc_slurm_is_there(const char *sacct, const char *scontrol)
{
    return tc__command_is_there(sacct) && tc__command_is_there(scontrol);
}

tc_status tc_slurm_create(const struct tc_slurm_config *config, void **out_state,
                          struct tc_error *err)
{
    struct slurm *s = calloc(1, sizeof *s);
    if (s != NULL) {
        s->sacct = tc__text_copy(config->sacct);
        s->scontrol = tc__text_copy(config->scontrol);
        s->interval_ns = config->interval_ns;
        s->timeout_ns = config->timeout_ns;
        s->back_ns = config->back_ns;
        s->jobs.stream = 'j';
        s->nodes.stream = 'n';
    }
    if (s == NULL || s->sacct == NULL || s->scontrol == NULL) {
        destroy(s);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the Slurm source");
    }
    *out_state = s;
    return TC_OK;
}

static void restore(void *of, struct tc_slice stream, struct tc_slice position)
{
    struct slurm *s = of;
    s->is_full |= tc__rows_restore(&s->jobs, stream, position) != TC_OK ||
                  tc__rows_restore(&s->nodes, stream, position) != TC_OK;
}

/* ---- rows ---- */

uint64_t tc__slurm_job_hash(struct tc_slice row, bool *out_is_row)
{
    *out_is_row = row.len > 0 && tc_is_digit(row.ptr[0]) && tc_slice_find_byte(row, '|') != TC_NPOS;
    return *out_is_row ? tc_slice_hash(row, 0) : 0;
}

/* From " key=" on, to the next blank or to the end. */
static struct tc_slice field(struct tc_slice row, struct tc_slice key, bool to_end)
{
    size_t at = tc_slice_find(row, key);
    struct tc_slice value = tc_slice_from(row, at == TC_NPOS ? row.len : at + key.len);
    return to_end ? value : tc_slice_head(value, tc_slice_find_byte(value, ' '));
}

/* Load and free memory are others each time: a node is another by its state and the reason. */
uint64_t tc__slurm_node_hash(struct tc_slice row, bool *out_is_row)
{
    struct tc_slice state = field(row, TC_LIT(" State="), false);
    *out_is_row = tc_slice_starts(row, TC_LIT("NodeName=")) && state.len > 0;
    if (!*out_is_row) {
        return 0;
    }
    uint64_t hash = tc_slice_hash(field(row, TC_LIT("NodeName="), false), 1);
    return tc_slice_hash(field(row, TC_LIT(" Reason="), true), tc_slice_hash(state, hash));
}

/* ---- the commands ---- */

static tc_status run_command(const struct slurm *s, struct tc_source_port *port,
                             const char *const *args, struct tc_grow *out, struct tc_error *err)
{
    struct tc__command command = {.args = args,
                                  .timeout_ns = s->timeout_ns,
                                  .bytes_max = OUTPUT_MAX,
                                  .stop_fd = tc_port_stop_fd(port)};
    return tc__command_run(&command, out, err);
}

static tc_status store(struct tc__rows *r, struct tc_source_port *port, const char *name,
                       struct tc_slice header, struct tc_slice text, tc__row_hash hash,
                       int64_t time_ns, struct tc_error *err)
{
    struct tc_source_chunk like = {
        .name = tc_slice_cstr(name), .format = TC_LIT("slurm"), .tz = TC_LIT("+00:00")};
    tc_status status = tc__rows_look(r, header, text, hash);
    if (status != TC_OK) {
        const char *why = status == TC_E_MALFORMED ? "prints something else than rows"
                          : status == TC_E_LIMIT   ? "prints too many rows"
                                                   : "no memory";
        return tc_fail(err, status, 0, "%s: %s", name, why);
    }
    if (r->lost > 0) {
        tc_port_lost(port, r->lost);
    }
    return tc__rows_store(r, port, &like, time_ns);
}

static tc_status poll_jobs(struct slurm *s, struct tc_source_port *port, struct tc_grow *out,
                           struct tc_error *err)
{
    char since[64];
    struct tc_civil c;
    int64_t now_ns = tc_wall_ns();
    int64_t from_ns = s->jobs.time_ns > 0 ? s->jobs.time_ns - MARGIN_NS : now_ns - s->back_ns;
    tc_time_to_civil(from_ns > 0 ? from_ns : 0, &c);
    (void)snprintf(since, sizeof since, "--starttime=%04d-%02d-%02dT%02d:%02d:%02d", c.year,
                   c.month, c.day, c.hour, c.minute, c.second);
    const char *const args[] = {
        s->sacct,        "--allusers",
        "--allocations", "--duplicates", /* those that were requeued: each of their ends */
        "--parsable2",   "--format=JobID,State,ExitCode,NodeList,End",
        since,           NULL};
    TC_TRY(run_command(s, port, args, out, err));
    struct tc_slice rest;
    struct tc_slice header = tc_slice_trim(tc_slice_cut(tc_grow_slice(out), '\n', &rest));
    if (!tc_slice_eq(header, HEADER)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "%s: prints something else than a table of jobs",
                       s->sacct);
    }
    return store(&s->jobs, port, "sacct", HEADER, rest, tc__slurm_job_hash, now_ns, err);
}

static tc_status poll_nodes(struct slurm *s, struct tc_source_port *port, struct tc_grow *out,
                            struct tc_error *err)
{
    const char *const args[] = {s->scontrol, "--oneliner", "show", "node", NULL};
    TC_TRY(run_command(s, port, args, out, err));
    return store(&s->nodes, port, "scontrol", TC_EMPTY, tc_grow_slice(out), tc__slurm_node_hash,
                 tc_wall_ns(), err);
}

/* False: the daemon ends. */
static bool poll_both(struct slurm *s, struct tc_source_port *port)
{
    static tc_status (*const POLLS[])(struct slurm * s, struct tc_source_port * port,
                                      struct tc_grow * out,
                                      struct tc_error * err) = {poll_jobs, poll_nodes};
    bool is_well = true;
    for (size_t i = 0; i < TC_COUNT(POLLS); i++) {
        struct tc_grow out = {0};
        struct tc_error err = {0};
        tc_status status = POLLS[i](s, port, &out, &err);
        tc_grow_fini(&out);
        if (tc_port_is_stopping(port)) {
            return false;
        }
        if (status != TC_OK) {
            tc_port_fail(port, "%s", err.message);
            is_well = false;
        }
    }
    if (is_well) {
        tc_port_ok(port);
    }
    tc_port_watches(port, s->jobs.seen_count + s->nodes.seen_count);
    return true;
}

static void run(void *state, struct tc_source_port *port)
{
    struct slurm *s = state;
    tc_port_positions(port, restore, s);
    if (s->is_full) {
        tc_port_fail(port, "no memory for what was stored before");
        return;
    }
    tc__rows_ready(&s->jobs);
    tc__rows_ready(&s->nodes);
    int64_t next_ns = tc_mono_ns();
    while (!tc_port_is_stopping(port)) {
        bool is_more = true;
        for (int i = 0; i < ROUNDS_MAX && is_more; i++) {
            s->jobs.is_more = s->nodes.is_more = false;
            if (!poll_both(s, port)) {
                return;
            }
            is_more = s->jobs.is_more || s->nodes.is_more;
            tc_port_behind(port, is_more);
        }
        int64_t now_ns = tc_mono_ns();
        next_ns =
            next_ns + s->interval_ns > now_ns ? next_ns + s->interval_ns : now_ns + s->interval_ns;
        (void)tc_port_wait(port, -1, next_ns - now_ns);
    }
}

const struct tc_source_kind tc_source_slurm = {.name = "slurm", .run = run, .destroy = destroy};
