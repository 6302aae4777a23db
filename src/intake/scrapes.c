/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/scrapes.h"

#include "base/buf.h"
#include "base/time.h"
#include "codec/codec.h"
#include "codec/prometheus/prometheus.h"

#include <stdlib.h>
#include <string.h>

/* Files written this close together were copied, not scraped one after the other. */
#define COPIED_STEP TC_SECOND
/* Where a comment with the time of a scrape is looked for. */
#define COMMENT_WITHIN ((size_t)4 << 10)

/* A scrape that says nothing about its time. */
struct undated {
    struct tc_input *file;
    struct tc_slice folder;
    struct tc_slice base;
    struct tc_slice before; /* of the base: before and behind the last number in it */
    struct tc_slice behind;
    bool lone; /* no other file of the folder differs in that number only */
};

bool tc_scrapes_is_one(const struct tc_input *in)
{
    return in->codec == &tc_codec_prometheus;
}

/* Splits the name at its last number. */
static void split_name(struct undated *u)
{
    size_t end = u->base.len;
    while (end > 0 && !tc_is_digit(u->base.ptr[end - 1])) {
        end--;
    }
    size_t start = end;
    while (start > 0 && tc_is_digit(u->base.ptr[start - 1])) {
        start--;
    }
    u->before = tc_slice_head(u->base, start);
    u->behind = tc_slice_from(u->base, end);
    if (end == 0) { /* no number */
        u->before = u->base;
        u->behind = TC_EMPTY;
    }
}

static int cmp_sequence(const struct undated *a, const struct undated *b)
{
    int order = tc_slice_cmp(a->folder, b->folder);
    if (order == 0 && a->lone != b->lone) {
        return a->lone ? -1 : 1;
    }
    if (order == 0 && !a->lone) {
        order = tc_natural_cmp(a->before, b->before);
        order = order != 0 ? order : tc_natural_cmp(a->behind, b->behind);
    }
    return order;
}

static int by_sequence(const void *a, const void *b)
{
    const struct undated *x = a;
    const struct undated *y = b;
    int order = cmp_sequence(x, y);
    if (order == 0) {
        order = tc_natural_cmp(x->base, y->base);
    }
    return order;
}

/* The end of the sequence that begins at all[start]. */
static size_t sequence_end(const struct undated *all, size_t count, size_t start)
{
    size_t end = start + 1;
    while (end < count && cmp_sequence(&all[start], &all[end]) == 0) {
        end++;
    }
    return end;
}

/*
 * Files of one folder whose names differ in their last number only are a sequence; so are all
 * those of a folder that are in none.
 */
static void sort_sequences(struct undated *all, size_t count)
{
    qsort(all, count, sizeof *all, by_sequence);
    for (size_t start = 0, end = 0; start < count; start = end) {
        end = sequence_end(all, count, start);
        /* Comparisons go on with what is behind it, so that may change. */
        all[start].lone = end == start + 1;
    }
    qsort(all, count, sizeof *all, by_sequence);
}

/* Copied together: their modification times say nothing about when they were scraped. */
static bool is_copied(const struct undated *files, size_t count)
{
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        int64_t time_ns = files[i].file->mtime_ns;
        first = time_ns < first ? time_ns : first;
        last = time_ns > last ? time_ns : last;
    }
    return first < 0 || last - first < (int64_t)(count - 1) * COPIED_STEP;
}

static int64_t newest(const struct undated *files, size_t count)
{
    int64_t last = files[0].file->mtime_ns;
    for (size_t i = 1; i < count; i++) {
        last = files[i].file->mtime_ns > last ? files[i].file->mtime_ns : last;
    }
    return last;
}

/* so many intervals after (before) a time; TC_TIME_NONE when that is none we take. */
static int64_t shifted(int64_t time_ns, int64_t interval_ns, int64_t steps)
{
    int64_t by = 0;
    int64_t ns = 0;
    bool bad = time_ns == TC_TIME_NONE || __builtin_mul_overflow(interval_ns, steps, &by) ||
               __builtin_add_overflow(time_ns, by, &ns) || ns < 0 || ns > TC_TIME_MAX;
    return bad ? TC_TIME_NONE : ns;
}

/* "DIR: 12 scrapes say no time: ..." */
static void say_assumed(tc_intake_say_fn say, struct tc_slice where, uint64_t scrapes,
                        const char *order, int64_t interval_ns, const char *end, int64_t time_ns)
{
    if (say == NULL) {
        return;
    }
    char text[128];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_duration(&b, interval_ns);
    tc_buf_lit(&b, " apart, the ");
    tc_buf_str(&b, tc_slice_cstr(end));
    tc_buf_lit(&b, " at ");
    tc_buf_time(&b, time_ns);
    say("%.*s: %llu scrapes say no time; assumed: in the order of %s, %.*s. "
        "--scrape-interval sets how far apart",
        TC_FMT(where), (unsigned long long)scrapes, order, TC_FMT(tc_buf_slice(&b)));
}

/* The files are one after the other, and the scrapes inside of them. */
static void assume_order(struct undated *files, size_t count, int64_t last_ns,
                         const struct tc_scrape_options *o)
{
    int64_t interval = o->interval_ns > 0 ? o->interval_ns : TC_SCRAPE_INTERVAL;
    uint64_t behind = 0;
    for (size_t i = count; i > 0; i--) {
        files[i - 1].file->taken_ns = shifted(last_ns, interval, -(int64_t)behind);
        behind += files[i - 1].file->scrapes.count;
    }
    if (o->interval_ns == 0 && behind > 1 && last_ns != TC_TIME_NONE) {
        struct tc_slice folder = files[0].folder.len > 0 ? files[0].folder : TC_LIT("./");
        say_assumed(o->say, count > 1 ? folder : tc_slice_cstr(files[0].file->path), behind,
                    count > 1 ? "their names" : "the file", interval, "last", last_ns);
    }
}

static void date_sequence(struct undated *files, size_t count, bool alone,
                          const struct tc_scrape_options *o)
{
    int64_t last_ns = newest(files, count);
    bool said = o->now_ns != TC_TIME_NONE;
    if (count == 1) {
        assume_order(files, 1, alone && said ? o->now_ns : last_ns, o);
    } else if (o->interval_ns > 0 || is_copied(files, count)) {
        assume_order(files, count, said ? o->now_ns : last_ns, o);
    } else {
        for (size_t i = 0; i < count; i++) {
            assume_order(&files[i], 1, files[i].file->mtime_ns, o);
        }
    }
}

/* "# scraped at 2026-03-04T05:06:00Z", in what stands before the first sample. */
static bool comment_time(const struct tc_input *file, int32_t utc_offset_s, int64_t *out_ns)
{
    static const char *const others[] = {"# HELP ", "# TYPE ", "# UNIT ", NULL};
    struct tc_slice rest = tc_slice_head(file->bytes, COMMENT_WITHIN);
    while (tc_slice_starts(rest, TC_LIT("#"))) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        if (tc_slice_which_start(line, others) < 0 &&
            tc_scrape_text_time(line, utc_offset_s, out_ns)) {
            return true;
        }
    }
    return false;
}

/* A name or a comment has the time of the first scrape in the file: it was given when the file was
 * begun. */
static bool date_by_name(struct tc_input *file, const struct tc_scrape_options *o)
{
    int64_t interval = o->interval_ns > 0 ? o->interval_ns : TC_SCRAPE_INTERVAL;
    uint64_t scrapes = file->scrapes.count;
    int64_t time_ns = 0;
    if (!tc_scrape_name_time(tc_slice_cstr(file->path), o->utc_offset_s, &time_ns) &&
        !comment_time(file, o->utc_offset_s, &time_ns)) {
        return false;
    }
    file->taken_ns = shifted(time_ns, interval, (int64_t)scrapes - 1);
    if (file->scrapes.undated && scrapes > 1 && o->interval_ns == 0) {
        say_assumed(o->say, tc_slice_cstr(file->path), scrapes, "the file", interval, "first",
                    time_ns);
    }
    return true;
}

/* Looks at all of a file; pages of a large one are given back on the way, and it is read again. */
static void count_scrapes(struct tc_input *file)
{
    struct tc_prom_count count;
    tc_prom_count_begin(&count, file->bytes);
    while (tc_prom_count_more(&count)) {
        tc_input_pass(file, count.at);
    }
    file->passed = 0;
    file->scrapes = count.scrapes;
}

tc_status tc_scrapes_apply(struct tc_inputs *in, const struct tc_scrape_options *o)
{
    struct undated *all = calloc(in->count + 1, sizeof *all);
    size_t count = 0;
    if (all == NULL) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < in->count; i++) {
        struct tc_input *file = &in->items[i];
        if (!tc_scrapes_is_one(file)) {
            continue;
        }
        count_scrapes(file);
        file->interval_ns = o->interval_ns;
        if (date_by_name(file, o)) {
            continue;
        }
        file->taken_ns = file->mtime_ns; /* for samples without a time among others */
        if (file->scrapes.undated) {
            struct tc_slice path = tc_slice_cstr(file->path);
            struct tc_slice base = tc_path_base(path);
            all[count] = (struct undated){
                .file = file, .folder = tc_slice_head(path, path.len - base.len), .base = base};
            split_name(&all[count++]);
        }
    }
    sort_sequences(all, count);
    for (size_t start = 0, end = 0; start < count; start = end) {
        end = sequence_end(all, count, start);
        date_sequence(&all[start], end - start, count == 1, o);
    }
    free(all);
    return TC_OK;
}
