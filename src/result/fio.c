/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fio's --output-format=json and json+, with or without the plain text that fio and shells put
 * around it. Latencies: since 3.0 nanoseconds in members that end with _ns, before microseconds in
 * members without a unit. Bandwidth: bw_bytes since 3.0, else bw in KiB/s. Percentiles are members
 * named "99.000000". All becomes slices: us, bytes/s, IO/s.
 */
#include "base/buf.h"
#include "base/json/raw.h"
#include "base/time.h"
#include "codec/codec.h"
#include "result/map.h"
#include "result/result_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define S(literal) TC_LIT(literal)

#define NS_PER_MS INT64_C(1000000)
#define JOBS_MAX 4096
/* Among so many a job looks for another one of its name; JOBS_MAX squared is too much. */
#define TWIN_JOBS_MAX 1024

struct fio {
    struct tc_result *r;
    struct tc_error *err;
    int64_t ended_ns; /* TC_TIME_NONE: not known */
    int64_t started_ns;
    size_t failed;
    size_t rows;
};

/* One direction of one job. */
struct part {
    struct tc_json value;
    const char *direction;
    const char *where;
    struct tc_slice point;
};

static struct tc_result_row *add_slice(struct fio *f, const struct part *p, const char *metric,
                                       const char *unit)
{
    char where[128];
    char name[48];
    (void)snprintf(where, sizeof where, "%s/%s", p->where, p->direction);
    (void)snprintf(name, sizeof name, "%s_%s", p->direction, metric);
    struct tc_result_row *row = tc_map_add_slice(f->r, tc_slice_cstr(where), p->point, name, unit);
    tc_map_slice_window(row, f->started_ns, f->ended_ns);
    f->rows++;
    return row;
}

/* What is measured of one kind: which members, in which unit, and what they are. */
struct kind {
    const char *prefix; /* of the members min, max and mean, and of their fields */
    const char *measures;
    const char *source_unit;
    const char *unit;
    const char *note;
    double factor; /* from one unit to the other */
};

static const struct tc_definition *define(struct fio *f, const struct kind *k, const char *field,
                                          const char *note)
{
    return tc_result_define(f->r, field, k->measures, k->source_unit, k->unit, note);
}

static void put_count(struct tc_result_row *row, struct tc_json object, const char *member)
{
    int64_t count = 0;
    if (tc_map_int_at(object, member, &count)) {
        tc_result_int(row, TC_SLICE_COUNT, count, NULL);
    }
}

/* min, max and mean of `object`, in members that begin with `begin`. */
static void put_spread(struct fio *f, const struct part *p, struct tc_result_row *row,
                       struct tc_json object, const char *begin, const struct kind *k)
{
    static const enum tc_stat SPREAD[] = {TC_STAT_MIN, TC_STAT_MAX, TC_STAT_MEAN};
    for (size_t i = 0; i < TC_COUNT(SPREAD); i++) {
        char member[32];
        char field[64];
        double value = 0;
        (void)snprintf(member, sizeof member, "%s%s", begin, tc_stat_names[SPREAD[i]]);
        (void)snprintf(field, sizeof field, "%s%s", k->prefix, tc_stat_names[SPREAD[i]]);
        if (!tc_map_number_at(object, member, &value)) {
            continue;
        }
        if (value < 0 && begin[0] == '\0') {
            tc_result_note(f->r, true, p->where, field, "a negative latency: %.17g", value);
        }
        tc_result_real(row, tc_stat_slice_columns[SPREAD[i]], value * k->factor,
                       define(f, k, field, k->note));
    }
}

static const struct kind BANDWIDTH = {"bw_",     "io_bandwidth",        "KiB/s",
                                      "bytes/s", "of samples, one job", 1024};
static const struct kind RATE = {"iops_", "io_rate", "IO/s", "IO/s", "of samples, one job", 1};

static void add_bandwidth(struct fio *f, const struct part *p)
{
    static const struct kind IN_BYTES = {
        .measures = "io_bandwidth", .source_unit = "bytes/s", .unit = "bytes/s"};
    double value = 0;
    bool bytes = tc_map_number_at(p->value, "bw_bytes", &value);
    if (!bytes && !tc_map_number_at(p->value, "bw", &value)) {
        return;
    }
    struct tc_result_row *row = add_slice(f, p, "bw", "bytes/s");
    tc_result_real(row, TC_SLICE_MEAN, bytes ? value : value * BANDWIDTH.factor,
                   bytes ? define(f, &IN_BYTES, "bw_bytes", "bytes / runtime")
                         : define(f, &BANDWIDTH, "bw", "bytes / runtime"));
    /* Of samples taken while it ran; all 0 when there were none. */
    if (tc_map_number_at(p->value, "bw_samples|bw_mean", &value) && value > 0) {
        row = add_slice(f, p, "bw_sampled", "bytes/s");
        put_spread(f, p, row, p->value, "bw_", &BANDWIDTH);
        put_count(row, p->value, "bw_samples");
    }
}

static void add_iops(struct fio *f, const struct part *p)
{
    double value = 0;
    if (tc_map_number_at(p->value, "iops", &value)) {
        struct tc_result_row *row = add_slice(f, p, "iops", "IO/s");
        tc_result_real(row, TC_SLICE_MEAN, value, define(f, &RATE, "iops", "total_ios / runtime"));
        put_count(row, p->value, "total_ios");
    }
    if (tc_map_number_at(p->value, "iops_samples", &value) && value > 0) {
        struct tc_result_row *row = add_slice(f, p, "iops_sampled", "IO/s");
        put_spread(f, p, row, p->value, "iops_", &RATE);
        put_count(row, p->value, "iops_samples");
    }
}

/* "99.000000" is 99; what fills the list up is "0.00" and counts for nothing. */
static void add_percentiles(struct fio *f, struct tc_result_row *row, struct tc_json latency,
                            const char *field, const struct kind *k)
{
    static const struct {
        double percent;
        size_t column;
    } wanted[] = {{50, TC_SLICE_P50}, {95, TC_SLICE_P95}, {99, TC_SLICE_P99}};
    struct tc_json list;
    struct tc_json v;
    struct tc_slice key;
    if (!tc_map_at(latency, "percentile", &list)) {
        return;
    }
    struct tc_json_iter it = tc_json_iter_make(list);
    while (tc_json_iter_next(&it, &key, &v)) {
        double percent = 0;
        double value = 0;
        if (!tc_map_parse_number(key, &percent) || !tc_map_number(v, &value)) {
            continue;
        }
        for (size_t i = 0; i < TC_COUNT(wanted); i++) {
            if (percent == wanted[i].percent) {
                char name[64];
                struct kind of = *k;
                of.measures = field;
                (void)snprintf(name, sizeof name, "%s.percentile.%.6f", field, percent);
                tc_result_real(row, wanted[i].column, value * k->factor,
                               define(f, &of, name, "of a histogram of fio"));
            }
        }
    }
}

static void add_latency(struct fio *f, const struct part *p, const char *name, const char *note)
{
    char field[32];
    char prefix[40];
    struct tc_json latency;
    struct kind k = {prefix, name, "ns", "us", note, 1e-3};
    (void)snprintf(field, sizeof field, "%s_ns", name);
    if (!tc_map_at(p->value, field, &latency)) {
        (void)snprintf(field, sizeof field, "%s", name);
        if (!tc_map_at(p->value, field, &latency)) {
            return;
        }
        k.factor = 1;
        k.source_unit = "us";
    }
    (void)snprintf(prefix, sizeof prefix, "%s.", field);
    double mean = 0;
    double max = 0;
    if (!tc_map_number_at(latency, "mean", &mean) || !tc_map_number_at(latency, "max", &max) ||
        (mean == 0 && max == 0)) {
        /* Nothing of this kind was measured. */
        return;
    }
    struct tc_result_row *row = add_slice(f, p, name, "us");
    put_spread(f, p, row, latency, "", &k);
    put_count(row, latency, "N");
    add_percentiles(f, row, latency, field, &k);
}

static void add_part(struct fio *f, const struct part *p)
{
    double total = 0;
    double bytes = 0;
    bool ran = (tc_map_number_at(p->value, "total_ios", &total) && total > 0) ||
               (tc_map_number_at(p->value, "io_bytes", &bytes) && bytes > 0);
    if (!ran) {
        return; /* this direction was not asked for */
    }
    add_bandwidth(f, p);
    add_iops(f, p);
    add_latency(f, p, "slat", "submission: until the kernel had it");
    add_latency(f, p, "clat", "completion: from submission to completion");
    add_latency(f, p, "lat", "total: from when fio made it to completion");
}

/* bs, iodepth, numjobs: of the job, else of all. */
static void option(struct tc_buf *b, struct tc_json job, struct tc_json global, const char *name,
                   const char *key)
{
    struct tc_slice text = tc_map_string_at(job, name);
    text = text.len > 0 ? text : tc_map_string_at(global, name);
    tc_map_point_text(b, key, text);
}

static void add_sync(struct fio *f, struct tc_json job, const char *where, struct tc_slice point)
{
    struct tc_json sync;
    struct tc_json inner;
    if (!tc_map_at(job, "sync", &sync) || !tc_map_at(sync, "lat_ns|lat", &inner)) {
        return;
    }
    struct part p = {.value = sync, .direction = "sync", .where = where, .point = point};
    add_latency(f, &p, "lat", "of fsync and the like");
}

/* numjobs without group_reporting gives several entries that differ in their place alone. */
static bool has_twin(struct tc_json jobs, struct tc_json job, size_t index)
{
    static const char *const NAMES[] = {"jobname", "hostname"};
    struct tc_json_iter it = tc_json_iter_make(jobs);
    struct tc_json other;
    for (size_t n = 0; tc_json_iter_next(&it, NULL, &other) && n < TWIN_JOBS_MAX; n++) {
        int64_t group = -1;
        int64_t other_group = -1;
        bool same = n != index;
        for (size_t i = 0; same && i < TC_COUNT(NAMES); i++) {
            same = tc_slice_eq(tc_map_string_at(job, NAMES[i]), tc_map_string_at(other, NAMES[i]));
        }
        if (!same) {
            continue;
        }
        (void)tc_map_int_at(job, "groupid", &group);
        (void)tc_map_int_at(other, "groupid", &other_group);
        if (group == other_group) {
            return true;
        }
    }
    return false;
}

struct job_place {
    const char *where;
    size_t index;
    bool has_many; /* the list has other jobs */
    bool has_twin; /* one of them has the same name, host and group */
};

static void add_job(struct fio *f, struct tc_json job, struct tc_json global,
                    const struct job_place *place)
{
    const char *where = place->where;
    static const char *const directions[] = {"read", "write", "trim", "mixed"};
    char data[512];
    struct tc_buf point = tc_buf_make(data, sizeof data);
    struct tc_json options = job;
    int64_t number = 0;
    (void)tc_map_at(job, "job options", &options);
    tc_map_point_text(&point, "job", tc_slice_head(tc_map_string_at(job, "jobname"), 128));
    tc_map_point_text(&point, "host", tc_slice_head(tc_map_string_at(job, "hostname"), 64));
    if (place->has_many && tc_map_int_at(job, "groupid", &number)) {
        tc_map_point_number(&point, "group", (double)number);
    }
    if (place->has_twin) {
        tc_map_point_number(&point, "job_index", (double)place->index);
    }
    option(&point, options, global, "rw", "rw");
    option(&point, options, global, "bs", "bs");
    option(&point, options, global, "iodepth", "iodepth");
    option(&point, options, global, "numjobs", "numjobs");
    if (tc_map_int_at(job, "error", &number) && number != 0) {
        f->failed++;
        tc_result_note(f->r, false, where, "error", "fio ended with error %" PRId64, number);
    }
    int64_t start_ms = 0;
    int64_t elapsed = 0;
    bool dated = tc_map_int_at(job, "job_start", &start_ms) && start_ms > 0 &&
                 start_ms <= TC_TIME_MAX / NS_PER_MS;
    if (dated) {
        f->started_ns = start_ms * NS_PER_MS;
    } else if (f->ended_ns != TC_TIME_NONE && tc_map_int_at(job, "elapsed", &elapsed) &&
               elapsed >= 0 && elapsed < f->ended_ns / TC_SECOND) {
        f->started_ns = f->ended_ns - elapsed * TC_SECOND;
    }
    tc_result_fact_time(f->r, TC_TABLE_RUN, TC_RUN_STARTED, f->started_ns);
    for (size_t i = 0; i < TC_COUNT(directions); i++) {
        struct part p = {.direction = directions[i], .where = where, .point = tc_buf_slice(&point)};
        if (tc_map_at(job, directions[i], &p.value)) {
            add_part(f, &p);
        }
    }
    add_sync(f, job, where, tc_buf_slice(&point));
}

static void set_times(struct fio *f, struct tc_json root)
{
    int64_t number = 0;
    f->ended_ns = TC_TIME_NONE;
    f->started_ns = TC_TIME_NONE;
    if (tc_map_int_at(root, "timestamp_ms", &number) && number > 0 &&
        number <= TC_TIME_MAX / NS_PER_MS) {
        f->ended_ns = number * NS_PER_MS;
    } else if (tc_map_int_at(root, "timestamp", &number) && number > 0 &&
               number <= TC_TIME_MAX / TC_SECOND) {
        f->ended_ns = number * TC_SECOND;
    }
    tc_result_fact_time(f->r, TC_TABLE_RUN, TC_RUN_ENDED, f->ended_ns);
}

static tc_status read_root(struct fio *f, struct tc_json root, const char *where)
{
    /* Of several hosts, client_stats has one entry each and one for all. */
    static const char *const lists[] = {"jobs", "client_stats"};
    struct tc_json global = root;
    struct tc_json jobs;
    struct tc_json job;
    size_t count = 0;
    struct tc_slice version = tc_map_string_at(root, "fio version");
    tc_result_tool_version(f->r, tc_slice_starts(version, S("fio-")) ? tc_slice_from(version, 4)
                                                                     : version);
    (void)tc_map_at(root, "global options", &global);
    set_times(f, root);
    for (size_t i = 0; i < TC_COUNT(lists); i++) {
        if (!tc_map_at(root, lists[i], &jobs) || tc_json_type(jobs) != TC_JSON_ARRAY) {
            continue;
        }
        struct tc_json_iter all = tc_json_iter_make(jobs);
        size_t jobs_here = 0;
        while (tc_json_iter_next(&all, NULL, &job)) {
            jobs_here++;
        }
        struct tc_json_iter it = tc_json_iter_make(jobs);
        for (size_t n = 0; tc_json_iter_next(&it, NULL, &job); n++) {
            char at[96];
            (void)snprintf(at, sizeof at, "%s/%s/%zu", where, lists[i], n);
            if (count++ == JOBS_MAX) {
                return tc_fail(f->err, TC_E_LIMIT, 0, "%s: more than %d jobs", at, JOBS_MAX);
            }
            struct job_place place = {at, n, jobs_here > 1, has_twin(jobs, job, n)};
            add_job(f, job, global, &place);
        }
    }
    return count > 0
               ? TC_OK
               : tc_fail(f->err, TC_E_MALFORMED, 0, "%s/jobs: a list of jobs is needed", where);
}

/* Where a document begins in a text from `from` on: the brace before "fio version". */
static bool find_document(struct tc_slice text, size_t from, size_t *out_at)
{
    struct tc_slice key = S("\"fio version\"");
    for (;;) {
        size_t at = tc_slice_find(tc_slice_from(text, from), key);
        if (at == TC_NPOS) {
            return false;
        }
        size_t brace = from + at;
        while (brace > from && tc_json_is_space(text.ptr[brace - 1])) {
            brace--;
        }
        if (brace > from && text.ptr[brace - 1] == '{') {
            *out_at = brace - 1;
            return true;
        }
        from += at + key.len;
    }
}

static tc_status read_text(struct fio *f, const struct tc_result_input *in)
{
    struct tc_slice text = in->bytes;
    size_t at = 0;
    size_t end = 0;
    size_t line = 1;
    size_t documents = 0;
    while (find_document(text, end, &at)) {
        struct tc_slice document;
        struct tc_json root;
        char where[32];
        for (; end < at; end++) {
            line += text.ptr[end] == '\n';
        }
        size_t first = line;
        if (!tc_json_raw_value(text, &at, &document)) {
            return tc_fail(f->err, TC_E_MALFORMED, text.len,
                           "cut off inside the JSON document that starts in line %zu", first);
        }
        for (; end < at; end++) {
            line += text.ptr[end] == '\n';
        }
        struct tc_error why = {.message = ""};
        tc_status status = tc__result_parse_loose(in->parser, document, &root, &why);
        if (status != TC_OK) {
            return tc_fail(f->err, status == TC_E_NOMEM ? status : TC_E_MALFORMED, 0,
                           "the JSON document in line %zu: %.150s", first, why.message);
        }
        (void)snprintf(where, sizeof where, "line:%zu", first);
        TC_TRY(read_root(f, root, where));
        documents++;
    }
    return documents > 0
               ? TC_OK
               : tc_fail(f->err, TC_E_MALFORMED, 0, "no JSON document of fio in the text");
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    struct fio f = {.r = r, .err = err};
    tc_status status = in->form == TC_RESULT_JSON ? read_root(&f, in->root, "") : read_text(&f, in);
    TC_TRY(status);
    if (f.rows == 0) {
        return tc_fail(err, TC_E_MALFORMED, 0, "/jobs: no job did any I/O");
    }
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_STATUS,
                        f.failed > 0 ? S("failed") : S("succeeded"));
    return TC_OK;
}

static int sniff(const struct tc_result_input *in)
{
    size_t at = 0;
    return find_document(in->bytes, 0, &at) ? TC_SNIFF_SURE : TC_SNIFF_NO;
}

const struct tc_reader tc_reader_fio = {
    .name = "fio",
    .summary = "fio --output-format=json or json+, with or without text around it",
    .forms = 1u << TC_RESULT_TEXT | 1u << TC_RESULT_JSON | 1u << TC_RESULT_LINES,
    .keys =
        {
            {"fio version?, jobs?|client_stats?", TC_SNIFF_SURE, TC_OF_FIRST},
        },
    .sniff = sniff,
    .read = read_file,
    .bucket_share = 1.0 / 64,
};
