/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/jobs.h"

#include "codec/codec.h"

#include <stdlib.h>
#include <string.h>

#define DUMP "flight_recorder"

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
    while (at > 0 && stem.ptr[at - 1] >= '0' && stem.ptr[at - 1] <= '9') {
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
