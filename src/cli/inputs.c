/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inputs.h"

#include "base/buf.h"
#include "cli/command.h"
#include "cli/say.h"
#include "cli/walk.h"
#include "codec/codec.h"

#include <stdlib.h>
#include <string.h>

static void not_recognised(struct tc_inputs *in, const struct tc_input *file,
                           const struct tc_inputs_want *want)
{
    char names[256];
    if (!file->direct) {
        /* An empty file says nothing, so leaving it out hides nothing. */
        if (file->bytes.len > 0) {
            in->unrecognised++;
            if (want->verbose) {
                tc_say_plain("%s: not a format we read", file->path);
            }
        }
        return;
    }
    in->failed = true;
    struct tc_buf b = tc_buf_make(names, sizeof names);
    tc_option_values(&b, TC_VALUES_FORMATS, TC_LIT(", "));
    tc_say_plain("%s: %snot a format we read; known: %.*s (--format says which it is)", file->path,
                 file->bytes.len == 0 ? "empty, " : "", TC_FMT(tc_buf_slice(&b)));
}

/* Takes what file holds, or closes it. */
static tc_status keep(struct tc_inputs *in, struct tc_input *file,
                      const struct tc_inputs_want *want)
{
    file->codec = want->codec != NULL ? want->codec
                                      : tc_codec_recognise(file->bytes, tc_slice_cstr(file->path));
    if (file->codec == NULL) {
        not_recognised(in, file, want);
        tc_input_close(file);
        return TC_OK;
    }
    if (in->count == in->cap) {
        size_t cap = in->cap == 0 ? 16 : in->cap * 2;
        struct tc_input *items = reallocarray(in->items, cap, sizeof *items);
        if (items == NULL) {
            tc_input_close(file);
            tc_say(want->command, "no memory for the list of files");
            return TC_E_NOMEM;
        }
        in->items = items;
        in->cap = cap;
    }
    if (want->verbose) {
        tc_say_plain("%s: %s, %zu bytes", file->path, file->codec->name, file->bytes.len);
    }
    in->total_bytes += file->bytes.len;
    in->items[in->count++] = *file;
    return TC_OK;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct tc_input *)a)->path, ((const struct tc_input *)b)->path);
}

static int by_inode(const void *a, const void *b)
{
    const struct tc_input *x = *(const struct tc_input *const *)a;
    const struct tc_input *y = *(const struct tc_input *const *)b;
    if (x->device != y->device) {
        return x->device < y->device ? -1 : 1;
    }
    if (x->inode != y->inode) {
        return x->inode < y->inode ? -1 : 1;
    }
    return x < y ? -1 : x > y; /* in the order given */
}

/* The same file under two names would count every event twice. */
static tc_status drop_repeats(struct tc_inputs *in, const struct tc_inputs_want *want)
{
    struct tc_input **order = calloc(in->count + 1, sizeof(struct tc_input *));
    if (order == NULL) {
        tc_say(want->command, "no memory for the list of files");
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < in->count; i++) {
        order[i] = &in->items[i];
    }
    qsort(order, in->count, sizeof(struct tc_input *), by_inode);
    for (size_t i = 1; i < in->count; i++) {
        struct tc_input *first = order[i - 1];
        struct tc_input *again = order[i];
        if (again->inode != 0 && again->inode == first->inode && again->device == first->device) {
            if (want->verbose) {
                tc_say_plain("%s: the same file as %s: read once", again->path, first->path);
            }
            in->total_bytes -= again->bytes.len;
            tc_input_close(again);
            order[i] = first;
        }
    }
    free(order);
    size_t kept = 0;
    for (size_t i = 0; i < in->count; i++) {
        if (in->items[i].path != NULL) {
            in->items[kept++] = in->items[i];
        }
    }
    in->count = kept;
    return TC_OK;
}

static tc_status open_all(struct tc_inputs *in, const struct tc_walk *walk,
                          const struct tc_inputs_want *want)
{
    for (size_t i = 0; i < walk->count; i++) {
        struct tc_input file;
        struct tc_error err;
        if (tc_input_open(&file, walk->files[i].path, &in->copied_bytes, &err) != TC_OK) {
            tc_say_plain("%s: %s", walk->files[i].path, err.message);
            in->failed = true;
            continue;
        }
        file.direct = walk->files[i].direct;
        TC_TRY(keep(in, &file, want));
    }
    if (want->by_path && in->count > 0) {
        qsort(in->items, in->count, sizeof *in->items, by_path);
    }
    return drop_repeats(in, want);
}

tc_status tc_inputs_open(struct tc_inputs *in, char *const *paths, size_t path_count,
                         const struct tc_inputs_want *want)
{
    struct tc_walk walk = {0};
    tc_status status = TC_OK;
    *in = (struct tc_inputs){0};
    tc_input_guard();
    for (size_t i = 0; i < path_count && status == TC_OK; i++) {
        status = tc_walk_add(&walk, paths[i], want->command);
    }
    if (status == TC_OK) {
        in->failed = walk.failed;
        status = open_all(in, &walk, want);
    }
    tc_walk_fini(&walk);
    if (status != TC_OK) {
        tc_inputs_close(in);
    }
    return status;
}

void tc_inputs_close(struct tc_inputs *in)
{
    for (size_t i = 0; i < in->count; i++) {
        tc_input_close(&in->items[i]);
    }
    free(in->items);
    *in = (struct tc_inputs){0};
}

static bool view(void *context, uint32_t index, struct tc_source_view *out)
{
    struct tc_inputs *in = context;
    if (index >= in->count) {
        return false;
    }
    struct tc_input *file = &in->items[index];
    struct tc_slice digest = tc_input_digest(file);
    if (digest.len == 0) {
        return false;
    }
    *out = (struct tc_source_view){tc_slice_cstr(file->path), digest, file->bytes};
    return true;
}

struct tc_sources tc_inputs_sources(struct tc_inputs *in)
{
    return (struct tc_sources){view, in};
}
