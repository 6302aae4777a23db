/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/file_priv.h"
#include "sim/program_priv.h"

#include <stdlib.h>

#define OUT_BYTES (512u << 10)
/* Of a dump that is cut off; a whole one has some 100 KB. */
#define TORN_BYTES 9000

bool tc__sim_drain(struct sim_out *out)
{
    if (out->status == TC_OK && out->size - out->b.len < SIM_OUT_ROOM) {
        out->status = out->write(out->context, tc_buf_slice(&out->b));
        tc_buf_reset(&out->b);
    }
    return out->status == TC_OK;
}

static tc_status add_file(struct tc_sim *s, enum sim_file_kind kind, uint32_t which, uint32_t rank)
{
    struct sim_file *f = tc__sim_add(&s->files, sizeof *f);
    if (f == NULL) {
        return TC_E_NOMEM;
    }
    *f = (struct sim_file){kind, which, rank};
    return TC_OK;
}

/* Dumps are written when the watchdog gives up, if that is before the end. */
static bool dumps(const struct tc_sim *s, const struct sim_job *j)
{
    return j->stop == SIM_STOP_HANG && j->stop_ns + (j->live_dump ? 0 : j->watchdog_ns) < s->end_ns;
}

/* Where each rank of a hung job comes to wait. */
static tc_status find_waits(const struct tc_sim *s, struct sim_job *j)
{
    uint16_t *entered = calloc((size_t)j->ranks * SIM_ENTERED_PER_RANK, sizeof *entered);
    j->waits = calloc(j->ranks, sizeof *j->waits);
    bool ok = entered != NULL && j->waits != NULL;
    if (ok) {
        j->stuck = tc__sim_hang_op(s, j);
        tc__sim_propagate(j, j->waits, entered);
    }
    free(entered);
    return ok ? TC_OK : TC_E_NOMEM;
}

/* Whether what a node tells itself was lost altogether. */
static bool is_silent(const struct tc_sim *s, uint32_t node)
{
    uint64_t d = sim_draw(s->options.seed, SIM_FOR_DELIVERY, node, UINT64_C(3) << 32);
    return sim_has(&s->options, TC_SIM_MISSING) && !s->nodes[node].faulty && sim_chance(d, 100000);
}

/* Two ranks of a job that hangs, neither of them the culprit. */
static bool is_torn(const struct tc_sim *s, const struct sim_file *f)
{
    if (!sim_has(&s->options, TC_SIM_TORN) || f->kind != SIM_FILE_DUMP) {
        return false;
    }
    const struct sim_job *j = SIM_AT(s->jobs, struct sim_job, f->which);
    uint64_t d = sim_draw(s->options.seed, SIM_FOR_DUMP, j->id, UINT64_C(3) << 32);
    return !j->live_dump && f->rank != j->culprit &&
           (f->rank == sim_below(d, j->ranks) || f->rank == sim_below(tc_random_mix(d), j->ranks));
}

tc_status tc__sim_list_files(struct tc_sim *s)
{
    TC_TRY(add_file(s, SIM_FILE_TRUTH, 0, 0));
    TC_TRY(add_file(s, SIM_FILE_STREAM, SIM_EVENTS, 0));
    TC_TRY(add_file(s, SIM_FILE_STREAM, SIM_OBJECTS, 0));
    for (uint32_t node = 0; node < s->options.nodes; node++) {
        if (is_silent(s, node)) {
            continue;
        }
        TC_TRY(add_file(s, SIM_FILE_KERNEL, node, 0));
        TC_TRY(add_file(s, SIM_FILE_DCGM, node, 0));
    }
    for (uint32_t job = 0; job < s->jobs.count; job++) {
        struct sim_job *j = tc__sim_job(s, job);
        TC_TRY(add_file(s, SIM_FILE_TRAIN, job, 0));
        if (!dumps(s, j)) {
            continue;
        }
        if (!j->live_dump) {
            TC_TRY(find_waits(s, j));
        }
        for (uint32_t rank = 0; rank < j->ranks; rank++) {
            if (tc__sim_has_dump(s, j, rank)) {
                TC_TRY(add_file(s, SIM_FILE_DUMP, job, rank));
            }
        }
    }
    return TC_OK;
}

size_t tc_sim_file_count(const struct tc_sim *s)
{
    return s->files.count;
}

void tc_sim_file_path(const struct tc_sim *s, size_t file, struct tc_buf *out)
{
    const struct sim_file *f = SIM_AT(s->files, struct sim_file, file);
    switch (f->kind) {
    case SIM_FILE_TRUTH:
        tc_format(out, "truth.ndjson");
        break;
    case SIM_FILE_STREAM:
        tc_format(out, "k8s/{}.json", f->which == SIM_EVENTS ? "events" : "objects");
        break;
    case SIM_FILE_KERNEL:
        tc_format(out, "kernel/kern-{}.log", tc__sim_node(f->which));
        break;
    case SIM_FILE_DCGM:
        tc_format(out, "dcgm/dcgm-{}.prom", tc__sim_node(f->which));
        break;
    case SIM_FILE_TRAIN:
        tc_format(out, "training/{}.json", tc__sim_job_name(f->which));
        break;
    case SIM_FILE_DUMP:
        tc_format(out, "dumps/{}/nccl_trace_rank_{}", tc__sim_job_name(f->which), f->rank);
        break;
    }
}

static bool is_before(const struct sim_line *line, enum sim_stream stream, uint32_t place)
{
    return line->stream < stream || (line->stream == stream && line->place < place);
}

struct sim_lines tc__sim_lines(const struct tc_sim *s, enum sim_stream stream, uint32_t place)
{
    size_t low = 0;
    size_t high = s->lines.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(SIM_AT(s->lines, struct sim_line, middle), stream, place)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    struct sim_lines lines = {SIM_AT(s->lines, struct sim_line, low), NULL};
    while (low < s->lines.count && SIM_AT(s->lines, struct sim_line, low)->stream == stream &&
           SIM_AT(s->lines, struct sim_line, low)->place == place) {
        low++;
    }
    lines.end = SIM_AT(s->lines, struct sim_line, low);
    return lines;
}

/* Passes on so many bytes of a file, and drops the rest. */
struct cut {
    tc_sim_write_fn write;
    void *context;
    size_t left;
};

static tc_status write_cut(void *context, struct tc_slice bytes)
{
    struct cut *c = context;
    struct tc_slice head = tc_slice_head(bytes, c->left);
    c->left -= head.len;
    return head.len == 0 ? TC_OK : c->write(c->context, head);
}

tc_status tc_sim_file_write(const struct tc_sim *s, size_t file, tc_sim_write_fn write,
                            void *context)
{
    static sim_write_file *const writers[] = {
        [SIM_FILE_TRUTH] = tc__sim_write_truth,   [SIM_FILE_STREAM] = tc__sim_write_stream,
        [SIM_FILE_KERNEL] = tc__sim_write_kernel, [SIM_FILE_DCGM] = tc__sim_write_dcgm,
        [SIM_FILE_TRAIN] = tc__sim_write_train,   [SIM_FILE_DUMP] = tc__sim_write_dump,
    };
    const struct sim_file *f = SIM_AT(s->files, struct sim_file, file);
    struct cut cut = {write, context, TORN_BYTES};
    if (is_torn(s, f)) {
        write = write_cut;
        context = &cut;
    }
    struct sim_out out = {.write = write, .context = context, .size = OUT_BYTES};
    out.text = malloc(OUT_BYTES);
    if (out.text == NULL) {
        return TC_E_NOMEM;
    }
    out.b = tc_buf_make(out.text, OUT_BYTES);
    writers[f->kind](s, f, &out);
    if (out.status == TC_OK && out.b.overflowed) {
        out.status = TC_E_LIMIT;
    }
    if (out.status == TC_OK && out.b.len > 0) {
        out.status = write(context, tc_buf_slice(&out.b));
    }
    free(out.text);
    return out.status;
}
