/* SPDX-License-Identifier: Apache-2.0 */
/* The logs by their paths. */
#include "base/format.h"
#include "base/table/grow.h"
#include "base/time.h"
#include "source/files/priv.h"
#include "source/text_priv.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 256
/* A path at which nothing is for so long is forgotten with its positions. */
#define FORGET_NS (600 * TC_SECOND)

static size_t slot_of(const struct tc__files *f, uint64_t hash, struct tc_slice path)
{
    size_t at = (size_t)hash & (f->slot_count - 1);
    while (f->slots[at] != 0) {
        const struct tc__log *log = f->logs[f->slots[at] - 1];
        if (log->hash == hash && tc_slice_eq(tc_slice_cstr(log->path), path)) {
            break;
        }
        at = (at + 1) & (f->slot_count - 1);
    }
    return at;
}

/* Makes the index anew, with room for twice as many. */
static bool index_logs(struct tc__files *f)
{
    size_t slot_count = SLOTS_FIRST;
    while (slot_count < 4 * f->count) {
        slot_count *= 2;
    }
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    free(f->slots);
    f->slots = slots;
    f->slot_count = slot_count;
    for (size_t i = 0; i < f->count; i++) {
        f->slots[slot_of(f, f->logs[i]->hash, tc_slice_cstr(f->logs[i]->path))] = (uint32_t)i + 1;
    }
    return true;
}

struct tc__log *tc__logs_find(const struct tc__files *f, struct tc_slice path)
{
    if (f->slot_count == 0) {
        return NULL;
    }
    uint32_t found = f->slots[slot_of(f, tc_slice_hash(path, 0), path)];
    return found == 0 ? NULL : f->logs[found - 1];
}

static void free_log(struct tc__files *f, struct tc__log *log)
{
    for (size_t i = 0; i < log->count; i++) {
        tc__gen_close(f, &log->gens[i]);
    }
    free(log->gens);
    free(log->path);
    free(log);
}

struct tc__log *tc__logs_add(struct tc__files *f, struct tc_slice path)
{
    if (tc_grow_array(&f->logs, &f->cap, f->count + 1, TC_FILES_MAX, sizeof(struct tc__log *)) !=
            TC_OK ||
        (2 * (f->count + 1) > f->slot_count && !index_logs(f))) {
        return NULL;
    }
    struct tc__log *log = calloc(1, sizeof *log);
    char *copy = tc__text_copy(path);
    if (log == NULL || copy == NULL) {
        free(log);
        free(copy);
        return NULL;
    }
    log->path = copy;
    log->hash = tc_slice_hash(path, 0);
    f->logs[f->count++] = log;
    f->slots[slot_of(f, log->hash, path)] = (uint32_t)f->count;
    return log;
}

static bool is_over(const struct tc__log *log, int64_t now_ns)
{
    if (log->gone_ns == 0 || now_ns - log->gone_ns < FORGET_NS) {
        return false;
    }
    for (size_t i = 0; i < log->count; i++) {
        if (log->gens[i].state == TC__GEN_DRAINING) {
            return false;
        }
    }
    return true;
}

static void forget_positions(const struct tc__files *f, const struct tc__log *log)
{
    for (size_t i = 0; i < log->count; i++) {
        char stream[24];
        struct tc_buf b = tc_buf_make(stream, sizeof stream);
        tc_buf_hex(&b, log->gens[i].number, 16);
        tc_port_keep(f->port, tc_buf_slice(&b), TC_EMPTY);
    }
}

void tc__logs_forget(struct tc__files *f, int64_t now_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        struct tc__log *log = f->logs[i];
        if (is_over(log, now_ns)) {
            forget_positions(f, log);
            free_log(f, log);
        } else {
            f->logs[kept++] = log;
        }
    }
    if (kept < f->count) {
        f->count = kept;
        f->turn = 0;
        memset(f->slots, 0, f->slot_count * sizeof *f->slots);
        for (size_t i = 0; i < f->count; i++) {
            f->slots[slot_of(f, f->logs[i]->hash, tc_slice_cstr(f->logs[i]->path))] =
                (uint32_t)i + 1;
        }
    }
}

void tc__logs_fini(struct tc__files *f)
{
    for (size_t i = 0; i < f->count; i++) {
        free_log(f, f->logs[i]);
    }
    free(f->logs);
    free(f->slots);
    f->logs = NULL;
    f->slots = NULL;
    f->count = f->cap = f->slot_count = 0;
}
