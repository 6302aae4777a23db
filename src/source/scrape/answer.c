/* SPDX-License-Identifier: Apache-2.0 */
#include "source/scrape/priv.h"

#include <string.h>

/* So many answers in a row without a GPU, and it is missing: an exporter that restarts may give one
 * before it has found all. */
#define MISSED_ENOUGH 2

/* The next line of the text, without its end; false: there is none. */
static bool next_line(struct tc_slice *io_text, struct tc_slice *out)
{
    if (io_text->len == 0) {
        return false;
    }
    *out = tc_slice_cut(*io_text, '\n', io_text);
    return true;
}

static bool is_comment(struct tc_slice line)
{
    return line.len > 0 && line.ptr[0] == '#';
}

uint64_t tc__answer_samples(struct tc_slice text)
{
    struct tc_slice line;
    uint64_t count = 0;
    while (next_line(&text, &line)) {
        count += !is_comment(line) && tc_slice_trim(line).len > 0;
    }
    return count;
}

size_t tc__answer_cut(struct tc_slice text)
{
    if (text.len <= TC_SOURCE_CHUNK_MAX) {
        return text.len;
    }
    size_t metric = 0; /* where one begins with the lines about it */
    size_t at = 0;     /* of the last line that began */
    bool was_comment = true;
    struct tc_slice line;
    struct tc_slice rest = tc_slice_head(text, TC_SOURCE_CHUNK_MAX);
    while (next_line(&rest, &line)) {
        at = (size_t)(line.ptr - text.ptr);
        metric = is_comment(line) && !was_comment ? at : metric;
        was_comment = is_comment(line);
    }
    if (metric > TC_SOURCE_CHUNK_MAX / 2) {
        return metric;
    }
    /* A line that is longer than a chunk is no sample. */
    return at > 0 ? at : TC_SOURCE_CHUNK_MAX;
}

/* ---- GPUs ---- */

/* The UUID that a line of a GPU's exporter says; empty: it is none, or has none. */
static struct tc_slice gpu_of(struct tc_slice line)
{
    static const struct tc_slice KEYS[] = {
        {.ptr = "UUID=\"", .len = 6},
        {.ptr = "uuid=\"", .len = 6},
    };
    if (!tc_slice_starts(line, TC_LIT("DCGM_")) && !tc_slice_starts(line, TC_LIT("dcgm_")) &&
        !tc_slice_starts(line, TC_LIT("nvidia_"))) {
        return TC_EMPTY;
    }
    for (size_t i = 0; i < TC_COUNT(KEYS); i++) {
        size_t at = tc_slice_find(line, KEYS[i]);
        if (at != TC_NPOS && at > 0 && strchr("{, ", line.ptr[at - 1]) != NULL) {
            struct tc_slice rest;
            struct tc_slice value = tc_slice_cut(tc_slice_from(line, at + 6), '"', &rest);
            bool is_name =
                value.len < TC__TARGET_GPU_NAME_MAX && tc_slice_find_byte(value, '\0') == TC_NPOS;
            return is_name ? value : TC_EMPTY;
        }
    }
    return TC_EMPTY;
}

static void see_gpu(struct tc__gpus *g, struct tc_slice name)
{
    size_t i = 0;
    while (i < g->count && !tc_slice_eq(tc_slice_cstr(g->list[i].name), name)) {
        i++;
    }
    if (i == TC__TARGET_GPUS_MAX) {
        return; /* more than a host has */
    }
    if (i == g->count) {
        struct tc__gpu *fresh = &g->list[g->count++];
        *fresh = (struct tc__gpu){0};
        memcpy(fresh->name, name.ptr, name.len);
    }
    g->list[i].is_seen = true;
}

void tc__gpus_look(struct tc__gpus *g, struct tc_slice text,
                   void (*tell)(void *context, const char *gpu, bool is_gone), void *context)
{
    struct tc_slice line;
    for (size_t i = 0; i < g->count; i++) {
        g->list[i].is_seen = false;
    }
    while (next_line(&text, &line)) {
        struct tc_slice name = gpu_of(line);
        if (name.len > 0) {
            see_gpu(g, name);
        }
    }
    for (size_t i = 0; i < g->count; i++) {
        struct tc__gpu *one = &g->list[i];
        one->missed = one->is_seen ? 0 : one->missed + (one->missed < MISSED_ENOUGH);
        bool is_gone = one->missed == MISSED_ENOUGH;
        if (is_gone != one->is_gone) {
            one->is_gone = is_gone;
            g->gone_total += is_gone;
            tell(context, one->name, is_gone);
        }
    }
}
