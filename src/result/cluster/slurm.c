/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Slurm says of a job: scontrol show job, scontrol show config, sacct and squeue with --json,
 * and the variables of a job (SLURM_JOB_ID=...). No measurements, only where the run was. What
 * several jobs disagree about is noted, and stays unknown.
 */
#include "codec/codec.h"
#include "result/lines_priv.h"
#include "result/map.h"
#include "result/result.h"

#define S(literal) TC_LIT(literal)
#define JOBS_MAX 65536
#define WORDS_MAX 65536

enum said { CLUSTER, PARTITION, JOB, FLAVOR, NODES, GPUS, SAID };

static const struct {
    enum tc_table table;
    size_t column;
    bool is_number;
} PLACES[SAID] = {
    [CLUSTER] = {TC_TABLE_CLUSTER, TC_CLUSTER_CLUSTER, false},
    [PARTITION] = {TC_TABLE_CLUSTER, TC_CLUSTER_QUEUE, false},
    [JOB] = {TC_TABLE_RUN, TC_RUN_SCHEDULER_RUN_ID, false},
    [FLAVOR] = {TC_TABLE_CLUSTER, TC_CLUSTER_FLAVOR, false},
    [NODES] = {TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT, true},
    [GPUS] = {TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, true},
};

/* KEY=VALUE of scontrol, of a configuration and of the environment. */
static const struct {
    const char *key;
    enum said what;
} KEYS[] = {
    {"JobId", JOB},
    {"Partition", PARTITION},
    {"NumNodes", NODES},
    {"ClusterName", CLUSTER},
    {"SLURM_CLUSTER_NAME", CLUSTER},
    {"SLURM_JOB_ID", JOB},
    {"SLURM_JOB_PARTITION", PARTITION},
    {"SLURM_JOB_NUM_NODES", NODES},
    {"SLURM_NNODES", NODES},
};

struct slurm {
    struct tc_result *r;
    struct tc_slice first[SAID];
    struct tc_slice other[SAID];
};

static void see(struct slurm *s, enum said what, struct tc_slice value)
{
    if (value.len == 0 || tc_slice_is_any(value, "(null)", "N/A", "None")) {
        return;
    }
    if (s->first[what].len == 0) {
        s->first[what] = value;
    } else if (s->other[what].len == 0 && !tc_slice_eq(s->first[what], value)) {
        s->other[what] = value;
    }
}

/* cpu=64,mem=1T,node=2,gres/gpu=16,gres/gpu:h100=16 */
static void see_tres(struct slurm *s, struct tc_slice tres)
{
    for (size_t n = 0; n < WORDS_MAX && tres.len > 0; n++) {
        struct tc_slice count;
        struct tc_slice name = tc_slice_cut(tc_slice_cut(tres, ',', &tres), '=', &count);
        if (tc_slice_eq(name, S("gres/gpu"))) {
            see(s, GPUS, count);
        } else if (tc_slice_starts(name, S("gres/gpu:"))) {
            see(s, FLAVOR, tc_slice_from(name, 9));
            see(s, GPUS, count);
        }
    }
}

static void take_pair(struct slurm *s, struct tc_slice key, struct tc_slice value)
{
    for (size_t n = 0; n < TC_COUNT(KEYS); n++) {
        if (tc_slice_eq(key, tc_slice_cstr(KEYS[n].key))) {
            /* NumNodes=2-2 */
            struct tc_slice most;
            see(s, KEYS[n].what, KEYS[n].what == NODES ? tc_slice_cut(value, '-', &most) : value);
            return;
        }
    }
    if (tc_slice_eq(key, S("TRES")) || tc_slice_eq(key, S("AllocTRES"))) {
        see_tres(s, value);
    }
}

static void put_facts(struct slurm *s)
{
    for (size_t n = 0; n < SAID; n++) {
        uint64_t number = 0;
        if (s->other[n].len > 0) {
            tc_result_note(s->r, false, "",
                           tc_table_info(PLACES[n].table)->columns[PLACES[n].column].name,
                           "is \"%.*s\" and \"%.*s\" among the jobs: unknown for the run",
                           TC_FMT(s->first[n]), TC_FMT(s->other[n]));
        } else if (!PLACES[n].is_number) {
            tc_result_fact_text(s->r, PLACES[n].table, PLACES[n].column, s->first[n]);
        } else if (tc_slice_is_u64(s->first[n], &number) && number > 0 && number < 1u << 24) {
            tc_result_fact_int(s->r, PLACES[n].table, PLACES[n].column, (int64_t)number);
        }
    }
}

/* ---- text ---- */

static void read_text(const struct tc_result_input *in, struct slurm *s)
{
    struct tc__lines lines = tc__lines_of(in->bytes);
    struct tc_slice line;
    while (tc__lines_next(&lines, &line)) {
        struct tc_slice value;
        struct tc_slice key = tc_slice_trim(tc_slice_cut(line, '=', &value));
        if (tc_slice_eq(key, S("ClusterName"))) { /* of a configuration, with blanks around it */
            take_pair(s, key, tc_slice_trim(value));
            continue;
        }
        for (size_t n = 0; n < WORDS_MAX && line.len > 0; n++) {
            struct tc_slice word = tc__word_next(&line);
            key = tc_slice_cut(word, '=', &value);
            take_pair(s, key, value);
        }
    }
}

/* ---- JSON ---- */

/* A number of Slurm's JSON may be {"set": true, "number": 5}. */
static struct tc_slice number_at(struct slurm *s, struct tc_json job, const char *path)
{
    int64_t number = 0;
    char text[24];
    if (!tc_map_int_at(job, path, &number) || number <= 0) {
        return TC_EMPTY;
    }
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_i64(&b, number);
    return tc_result_keep(s->r, tc_buf_slice(&b));
}

static void take_job(struct slurm *s, struct tc_json job)
{
    see(s, CLUSTER, tc_map_string_at(job, "cluster"));
    see(s, PARTITION, tc_map_string_at(job, "partition"));
    see(s, JOB, number_at(s, job, "job_id"));
    see(s, NODES, number_at(s, job, "allocation_nodes|node_count/number|node_count"));
    see_tres(s, tc_map_string_at(job, "tres_alloc_str"));
}

static void read_json(const struct tc_result_input *in, struct slurm *s)
{
    struct tc_json jobs;
    struct tc_json job;
    if (!tc_map_at(in->root, "jobs", &jobs)) {
        return;
    }
    struct tc_json_iter it = tc_json_iter_make(jobs);
    for (size_t n = 0; n < JOBS_MAX && tc_json_iter_next(&it, NULL, &job); n++) {
        take_job(s, job);
    }
}

static tc_status read_slurm(const struct tc_result_input *in, struct tc_result *r,
                            struct tc_error *err)
{
    struct slurm s = {.r = r};
    if (in->form == TC_RESULT_TEXT) {
        read_text(in, &s);
    } else {
        read_json(in, &s);
    }
    put_facts(&s);
    return tc_result_status(r, err);
}

static int sniff(const struct tc_result_input *in)
{
    struct tc__lines lines = tc__lines_of(in->bytes);
    struct tc_slice line;
    for (size_t n = 0; n < 4096 && tc__lines_next(&lines, &line); n++) {
        struct tc_slice text = tc_slice_trim(line);
        bool of_job = tc_slice_starts(text, S("JobId=")) && tc_slice_contains(text, S("JobName="));
        bool of_config =
            tc_slice_starts(text, S("ClusterName ")) && tc_slice_contains(text, S("="));
        if (of_job || of_config || tc_slice_starts(text, S("SLURM_JOB_ID="))) {
            return TC_SNIFF_SURE;
        }
    }
    return TC_SNIFF_NO;
}

const struct tc_reader tc_reader_slurm = {
    .name = "slurm",
    .summary = "Slurm's words about a job (scontrol, sacct --json, SLURM_*): where a run was.",
    .forms = 1U << TC_RESULT_JSON | 1U << TC_RESULT_TEXT,
    .keys =
        {
            {"jobs[], meta{}", TC_SNIFF_SURE, TC_OF_FILE},
        },
    .sniff = sniff,
    .read = read_slurm,
    .only_facts = true,
};
