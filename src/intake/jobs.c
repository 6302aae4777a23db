/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/jobs.h"

#include "codec/codec.h"

#include <stdlib.h>
#include <string.h>

#define DUMP "flight_recorder"
/* Directories above a log that may be named after its job. */
#define FOLDERS_MAX 4
/* A directory or file of a job may have nothing but its number for a name. */
#define PLAIN_DIGITS_MIN 5

/* A dump, by where it lies. */
struct dump {
    struct tc_input *input;
    struct tc_slice folder;
    struct tc_slice parent;   /* of the folder */
    uint64_t rank;            /* in its name; UINT64_MAX without */
    struct tc_slice original; /* the folder of the first dump with that name and these bytes */
};

/* The directory of a path, without what does not name it: "./", a slash at the end. */
static struct tc_slice folder_of(struct tc_slice all)
{
    struct tc_slice folder = tc_slice_head(all, all.len - tc_path_base(all).len);
    while (folder.len > 0 && folder.ptr[folder.len - 1] == '/') {
        folder.len--;
    }
    while (tc_slice_starts(folder, TC_LIT("./"))) {
        folder = tc_slice_from(folder, 2);
    }
    struct tc_slice base = tc_path_base(folder);
    bool nameless = tc_slice_eq(base, TC_LIT(".")) || tc_slice_eq(base, TC_LIT(".."));
    return nameless ? TC_EMPTY : folder;
}

/* The number at the end of a name, the suffix of a format left aside. */
static uint64_t rank_of(struct tc_slice name)
{
    struct tc_slice stem = tc_slice_cut(name, '.', &(struct tc_slice){NULL, 0});
    size_t at = stem.len;
    uint64_t rank = UINT64_MAX;
    while (at > 0 && tc_is_digit(stem.ptr[at - 1])) {
        at--;
    }
    return tc_slice_is_u64(tc_slice_from(stem, at), &rank) ? rank : UINT64_MAX;
}

static int by_file(const void *a, const void *b)
{
    const struct dump *x = a;
    const struct dump *y = b;
    struct tc_slice x_path = tc_slice_cstr(x->input->path);
    struct tc_slice y_path = tc_slice_cstr(y->input->path);
    int order = tc_slice_cmp(tc_path_base(x_path), tc_path_base(y_path));
    if (order == 0 && x->input->bytes.len != y->input->bytes.len) {
        order = x->input->bytes.len < y->input->bytes.len ? -1 : 1;
    }
    return order != 0 ? order : tc_slice_cmp(x_path, y_path);
}

static int by_folder(const void *a, const void *b)
{
    const struct dump *x = a;
    const struct dump *y = b;
    return tc_slice_cmp(x->folder, y->folder);
}

/* For each dump the folder of the first one that has its name and its bytes. */
static void find_originals(struct dump *dumps, size_t count)
{
    qsort(dumps, count, sizeof *dumps, by_file);
    for (size_t i = 0; i < count; i++) {
        const struct dump *last = i == 0 ? NULL : &dumps[i - 1];
        struct tc_slice name = tc_path_base(tc_slice_cstr(dumps[i].input->path));
        bool copy = last != NULL && dumps[i].rank != UINT64_MAX && dumps[i].input->bytes.len > 0 &&
                    tc_slice_eq(name, tc_path_base(tc_slice_cstr(last->input->path))) &&
                    tc_slice_eq(dumps[i].input->bytes, last->input->bytes);
        dumps[i].original = copy ? last->original : dumps[i].folder;
    }
}

/* A directory of which every dump lies in another one too is a copy of it, and no second job. */
static void join_copies(struct dump *dumps, size_t count)
{
    find_originals(dumps, count);
    qsort(dumps, count, sizeof *dumps, by_folder);
    for (size_t start = 0; start < count;) {
        struct tc_slice folder = dumps[start].folder;
        struct tc_slice original = dumps[start].original;
        bool copy = true;
        size_t end = start;
        for (; end < count && tc_slice_eq(dumps[end].folder, folder); end++) {
            copy = copy && tc_slice_eq(dumps[end].original, original);
        }
        for (; start < end; start++) {
            dumps[start].folder = copy ? original : folder;
            dumps[start].parent = folder_of(dumps[start].folder);
        }
    }
}

static int by_place(const void *a, const void *b)
{
    const struct dump *x = a;
    const struct dump *y = b;
    int order = tc_slice_cmp(x->parent, y->parent);
    order = order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
    return order != 0 ? order : tc_slice_cmp(x->folder, y->folder);
}

/* Several directories under one, and no rank in two of them. The dumps are sorted by place. */
static bool are_parts(const struct dump *dumps, size_t count)
{
    bool several = false;
    for (size_t i = 1; i < count; i++) {
        bool same = tc_slice_eq(dumps[i].folder, dumps[i - 1].folder);
        several = several || !tc_slice_eq(dumps[i].folder, dumps[0].folder);
        if (dumps[i].rank == UINT64_MAX || (!same && dumps[i].rank == dumps[i - 1].rank)) {
            return false;
        }
    }
    return several && dumps[0].rank != UINT64_MAX;
}

static int by_name(const void *a, const void *b)
{
    const struct dump *x = a;
    const struct dump *y = b;
    int order = tc_slice_cmp(tc_path_base(x->folder), tc_path_base(y->folder));
    return order != 0 ? order : tc_slice_cmp(x->folder, y->folder);
}

/* Where two directories have the same name, the path tells them apart. */
static void name_jobs(struct dump *dumps, size_t count)
{
    qsort(dumps, count, sizeof *dumps, by_name);
    for (size_t start = 0; start < count;) {
        struct tc_slice first = dumps[start].folder;
        bool alone = true;
        size_t end = start;
        for (; end < count && tc_slice_eq(tc_path_base(dumps[end].folder), tc_path_base(first));
             end++) {
            alone = alone && tc_slice_eq(dumps[end].folder, first);
        }
        for (; start < end; start++) {
            dumps[start].input->job = alone ? tc_path_base(first) : dumps[start].folder;
        }
    }
}

static size_t digits_at(struct tc_slice s, size_t at)
{
    size_t len = 0;
    while (at + len < s.len && tc_is_digit(s.ptr[at + len])) {
        len++;
    }
    return len;
}

/* "slurm-4711.out", "job_4711", "4711": the number that Slurm gave, with that of an array. A plain
 * number that may be a date or a counter is none. */
static struct tc_slice numbered_job(struct tc_slice name)
{
    static const char *const words[] = {"slurm-", "slurm_", "slurm.", "job-", "job_", "job.", ""};
    for (size_t i = 0; i < TC_COUNT(words); i++) {
        struct tc_slice word = tc_slice_cstr(words[i]);
        size_t len = digits_at(name, word.len);
        if (!tc_slice_starts(name, word) || len == 0) {
            continue;
        }
        struct tc_slice number = tc_slice_make(name.ptr + word.len, len);
        size_t task = word.len + len + 1;
        if (task < name.len && name.ptr[task - 1] == '_' && digits_at(name, task) > 0) {
            number.len += 1 + digits_at(name, task);
        }
        struct tc_slice rest = tc_slice_from(name, word.len + number.len);
        bool date = len == 8 && tc_slice_starts(number, TC_LIT("20"));
        bool whole = rest.len == 0 || rest.ptr[0] == '.';
        if (whole && (word.len > 0 || (len >= PLAIN_DIGITS_MIN && !date))) {
            return number;
        }
    }
    return TC_EMPTY;
}

/* Whether a map of ranks has the name as one of its words. */
static bool is_in_map(const struct tc_inputs *in, struct tc_slice name)
{
    static const char ends[] = " \t\r\n,;\"':";
    for (size_t i = 0; i < in->count; i++) {
        struct tc_slice rest = in->items[i].bytes;
        if (in->items[i].codec != &tc_codec_rank_map || name.len == 0) {
            continue;
        }
        for (size_t at = 0; (at = tc_slice_find(rest, name)) != TC_NPOS;) {
            bool starts = at == 0 || strchr(ends, rest.ptr[at - 1]) != NULL;
            rest = tc_slice_from(rest, at + name.len);
            if (starts && (rest.len == 0 || strchr(ends, rest.ptr[0]) != NULL)) {
                return true;
            }
        }
    }
    return false;
}

/* The job whose log a path names: by the file, or by a directory that is called like one. */
static struct tc_slice job_of_log(const struct tc_inputs *in, struct tc_slice path)
{
    struct tc_slice job = numbered_job(tc_path_base(path));
    struct tc_slice folder = folder_of(path);
    for (unsigned i = 0; i < FOLDERS_MAX && job.len == 0 && folder.len > 0; i++) {
        struct tc_slice name = tc_path_base(folder);
        job = is_in_map(in, name) ? name : numbered_job(name);
        folder = folder_of(folder);
    }
    return job;
}

/* Logs of a node are of all jobs there. */
static bool is_job_log(const struct tc_input *in)
{
    return in->codec->picks_lines && in->codec != &tc_codec_kmsg;
}

tc_status tc_jobs_apply(struct tc_inputs *in)
{
    struct dump *dumps = calloc(in->count + 1, sizeof *dumps);
    size_t count = 0;
    if (dumps == NULL) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < in->count; i++) {
        if (strcmp(in->items[i].codec->name, DUMP) == 0) {
            struct tc_slice path = tc_slice_cstr(in->items[i].path);
            struct tc_slice folder = folder_of(path);
            /* Without a directory of its own a dump is part of nothing. */
            uint64_t rank = folder.len == 0 ? UINT64_MAX : rank_of(tc_path_base(path));
            dumps[count++] = (struct dump){.input = &in->items[i], .folder = folder, .rank = rank};
        } else if (is_job_log(&in->items[i])) {
            in->items[i].job = job_of_log(in, tc_slice_cstr(in->items[i].path));
        }
    }
    join_copies(dumps, count);
    qsort(dumps, count, sizeof *dumps, by_place);
    for (size_t start = 0; start < count;) {
        size_t end = start;
        while (end < count && tc_slice_eq(dumps[end].parent, dumps[start].parent)) {
            end++;
        }
        bool parts = are_parts(dumps + start, end - start);
        for (; start < end && parts; start++) {
            dumps[start].input->place = tc_path_base(dumps[start].folder);
            dumps[start].folder = dumps[start].parent;
        }
        start = end;
    }
    name_jobs(dumps, count);
    free(dumps);
    return TC_OK;
}
