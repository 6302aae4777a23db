/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/nodes.h"

#include "codec/codec.h"
#include "codec/node_name.h"
#include "intake/scrapes.h"

#include <stdlib.h>
#include <string.h>

/* A folder with more files than this is no ticket about one node. */
#define TICKET_FILES_MAX 32
/* What the log of a device plugin has near its beginning. */
#define PLUGIN_WITHIN ((size_t)16 << 10)

static bool is_tool(const struct tc_input *in)
{
    static const char *const tools[] = {"kmsg", "fabric_manager", "nvidia_smi",
                                        "dcgm", "infiniband",     NULL};
    return tc_slice_which(tc_slice_cstr(in->codec->name), tools) >= 0;
}

/* The kubelet's reader takes logs of controllers, too, which are of no node. */
static bool is_device_plugin(const struct tc_input *in)
{
    struct tc_slice head = tc_slice_head(in->bytes, PLUGIN_WITHIN);
    return strcmp(in->codec->name, "kubelet") == 0 &&
           (tc_slice_contains(head, TC_LIT("device-plugin")) ||
            tc_slice_contains(head, TC_LIT("device plugin")));
}

bool tc_nodes_takes_one(const struct tc_input *in)
{
    return is_tool(in) || tc_scrapes_is_one(in) || is_device_plugin(in);
}

void tc_nodes_apply(struct tc_inputs *in)
{
    for (size_t i = 0; i < in->count; i++) {
        struct tc_input *file = &in->items[i];
        struct tc_slice path = tc_slice_cstr(file->path);
        if (is_tool(file)) {
            file->node = tc_node_of_file(path);
        } else if (tc_scrapes_is_one(file)) {
            file->node = tc_scrape_node(path);
        }
    }
}

/* One input or note of a folder. */
struct telling {
    struct tc_input *file; /* NULL: a note */
    struct tc_slice folder;
    struct tc_node_said said;
    bool was_read;
};

static struct tc_slice folder_of(struct tc_slice path)
{
    return tc_slice_head(path, path.len - tc_path_base(path).len);
}

static int by_folder(const void *a, const void *b)
{
    const struct telling *x = a;
    const struct telling *y = b;
    int order = tc_slice_cmp(x->folder, y->folder);
    if (order != 0 || x->file == NULL || y->file == NULL) {
        return order != 0 ? order : (x->file == NULL) - (y->file == NULL);
    }
    return (x->file > y->file) - (x->file < y->file);
}

static void read_said(struct telling *t)
{
    if (t->file == NULL || t->was_read) {
        return;
    }
    t->was_read = true;
    t->said = tc_node_said(tc_slice_cstr(t->file->path), t->file->bytes);
    if (t->file->node.len > 0) {
        t->said.node = t->file->node;
        t->said.several = false;
    }
}

/* "gpu-07" and "gpu-07.example.com" */
static bool is_same_node(struct tc_slice a, struct tc_slice b)
{
    struct tc_slice rest;
    bool whole = tc_slice_contains(a, TC_LIT(".")) && tc_slice_contains(b, TC_LIT("."));
    return tc_slice_eq_nocase(a, b) ||
           (!whole && tc_slice_eq_nocase(tc_slice_cut(a, '.', &rest), tc_slice_cut(b, '.', &rest)));
}

/* The only node that the tellings name; empty for none or several. */
static struct tc_slice only_node(struct telling *all, size_t count)
{
    struct tc_slice node = TC_EMPTY;
    for (size_t i = 0; i < count; i++) {
        read_said(&all[i]);
        struct tc_slice next = all[i].said.node;
        if (all[i].said.several || (node.len > 0 && next.len > 0 && !is_same_node(node, next))) {
            return TC_EMPTY;
        }
        node = node.len > 0 ? node : next;
    }
    return node;
}

static bool is_nameless(struct telling *t)
{
    if (t->file == NULL || t->file->node.len > 0 || tc_scrapes_is_one(t->file) ||
        !tc_nodes_takes_one(t->file)) {
        return false;
    }
    read_said(t);
    return t->said.node.len == 0 && !t->said.several && !t->said.in_heading;
}

/* Of one folder. */
static void assume_in_folder(struct telling *all, size_t count, tc_intake_say_fn say)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (is_nameless(&all[i])) {
            all[i].file->node = tc_node_of_folder(tc_slice_cstr(all[i].file->path));
            any = any || all[i].file->node.len == 0;
        }
    }
    struct tc_slice node = any && count <= TICKET_FILES_MAX ? only_node(all, count) : TC_EMPTY;
    for (size_t i = 0; i < count && node.len > 0; i++) {
        if (!is_nameless(&all[i])) {
            continue;
        }
        all[i].file->node = node;
        if (say != NULL && !all[i].file->again) {
            say("%s: names no node; assumed: %.*s, the only one that the files beside it name. "
                "--node NAME=FILE sets it right",
                all[i].file->path, TC_FMT(node));
        }
    }
}

tc_status tc_nodes_assume(struct tc_inputs *in)
{
    struct telling *all = calloc(in->count + in->note_count + 1, sizeof *all);
    size_t count = 0;
    if (all == NULL) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < in->count; i++) {
        struct tc_slice path = tc_slice_cstr(in->items[i].path);
        all[count++] = (struct telling){.file = &in->items[i], .folder = folder_of(path)};
    }
    for (size_t i = 0; i < in->note_count; i++) {
        all[count++] = (struct telling){.folder = folder_of(tc_slice_cstr(in->notes[i].path)),
                                        .said = {.node = tc_slice_cstr(in->notes[i].node)}};
    }
    qsort(all, count, sizeof *all, by_folder);
    for (size_t start = 0, end = 0; start < count; start = end) {
        for (end = start + 1; end < count && tc_slice_eq(all[end].folder, all[start].folder);) {
            end++;
        }
        assume_in_folder(&all[start], end - start, in->say);
    }
    free(all);
    return TC_OK;
}
