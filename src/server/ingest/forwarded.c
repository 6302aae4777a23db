/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ingest/forwarded.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/time.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/sources/positions.h"
#include "stored/batch_name.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS ((size_t)2 * TC_FORWARDED_AGENTS_MAX)
#define HALF_DIGITS 16
#define ID_DIGITS (2 * HALF_DIGITS)

struct agent {
    uint64_t id[2];
    uint64_t stored;  /* the last number that is durable; 0: none */
    uint64_t pending; /* the one on its way to the disk; 0: none */
    int64_t heard_ns; /* monotonic; 0: not since the start. */
    bool is_used;
};

/* Invariant: an agent is found from the slot of its id on, before the first free one. */
struct tc_forwarded {
    struct tc_positions *positions;
    size_t count;
    struct agent slots[SLOTS];
};

/* ---- the table ---- */

/* Its slot, or the free one where it would be. */
static size_t find(const struct tc_forwarded *f, const uint64_t id[2])
{
    size_t at = (size_t)(id[0] ^ id[1]) % SLOTS;
    while (f->slots[at].is_used && (f->slots[at].id[0] != id[0] || f->slots[at].id[1] != id[1])) {
        at = (at + 1) % SLOTS;
    }
    return at;
}

/* Those behind it move up, so that each is still found. */
static void remove_at(struct tc_forwarded *f, size_t at)
{
    f->slots[at] = (struct agent){.is_used = false};
    f->count--;
    for (size_t i = (at + 1) % SLOTS; f->slots[i].is_used; i = (i + 1) % SLOTS) {
        struct agent moved = f->slots[i];
        f->slots[i] = (struct agent){.is_used = false};
        f->slots[find(f, moved.id)] = moved;
    }
}

static void put_id(struct tc_buf *b, const uint64_t id[2])
{
    tc_buf_hex(b, id[0], HALF_DIGITS);
    tc_buf_hex(b, id[1], HALF_DIGITS);
}

static bool keep_position(struct tc_forwarded *f, const struct agent *a, bool is_known)
{
    char id[ID_DIGITS];
    char number[32];
    struct tc_buf id_buf = tc_buf_make(id, sizeof id);
    struct tc_buf number_buf = tc_buf_make(number, sizeof number);
    put_id(&id_buf, a->id);
    (void)tc_format(&number_buf, "{}", a->stored);
    return tc_positions_set(f->positions, TC_LIT(TC_BATCH_FORWARDED), tc_buf_slice(&id_buf),
                            is_known ? tc_buf_slice(&number_buf) : TC_EMPTY);
}

/* The one that was not heard of for longest; one of those that have a batch on its way stays. */
static void forget_one(struct tc_forwarded *f)
{
    size_t oldest = SLOTS;
    for (size_t i = 0; i < SLOTS; i++) {
        const struct agent *a = &f->slots[i];
        if (a->is_used && a->pending == 0 &&
            (oldest == SLOTS || a->heard_ns < f->slots[oldest].heard_ns)) {
            oldest = i;
        }
    }
    if (oldest < SLOTS) {
        (void)keep_position(f, &f->slots[oldest], false);
        remove_at(f, oldest);
        tc_count(TC_COUNT_FORWARDED_AGENTS_FORGOTTEN, 1);
    }
}

/* It is there afterwards. NULL: all have a batch on its way. */
static struct agent *get_agent(struct tc_forwarded *f, const uint64_t id[2])
{
    size_t at = find(f, id);
    if (!f->slots[at].is_used) {
        if (f->count >= TC_FORWARDED_AGENTS_MAX) {
            forget_one(f);
            at = find(f, id);
        }
        if (f->count >= TC_FORWARDED_AGENTS_MAX) {
            return NULL;
        }
        f->slots[at] = (struct agent){.id = {id[0], id[1]}, .is_used = true};
        f->count++;
    }
    return &f->slots[at];
}

/* ---- texts ---- */

static bool read_id(struct tc_slice text, uint64_t out[2])
{
    return text.len == ID_DIGITS &&
           tc_slice_hex(tc_slice_head(text, HALF_DIGITS), &out[0]) == HALF_DIGITS &&
           tc_slice_hex(tc_slice_from(text, HALF_DIGITS), &out[1]) == HALF_DIGITS;
}

tc_status tc_forwarded_read(struct tc_slice header, struct tc_forwarded_batch *out,
                            struct tc_error *err)
{
    *out = (struct tc_forwarded_batch){.number = 0};
    if (header.len == 0) {
        return TC_OK;
    }
    struct tc_slice rest;
    struct tc_slice id = tc_slice_cut(header, ' ', &rest);
    struct tc_slice number = tc_slice_cut(rest, ' ', &rest);
    uint64_t taken = 0;
    if (!read_id(id, out->agent) || !tc_slice_is_u64(number, &out->number) || out->number == 0 ||
        !tc_slice_is_u64(rest, &taken) || taken == 0 || taken > INT64_MAX) {
        *out = (struct tc_forwarded_batch){.number = 0};
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "Tracecore-Batch is an id of %d hex digits, a number and nanoseconds",
                       ID_DIGITS);
    }
    out->taken_ns = (int64_t)taken;
    return TC_OK;
}

void tc_forwarded_put(struct tc_buf *name, const struct tc_forwarded_batch *b)
{
    if (b->number == 0) {
        return;
    }
    (void)tc_format(name, "{}{}\nsource={}\nstream=", TC_BATCH_TAKEN, tc_as_time(b->taken_ns),
                    TC_BATCH_FORWARDED);
    put_id(name, b->agent);
    (void)tc_format(name, "\nposition={}", b->number);
}

/* ---- one batch ---- */

enum tc_forwarded_claim tc_forwarded_claim(struct tc_forwarded *f, struct tc_forwarded_batch *b,
                                           uint64_t *out_last)
{
    *out_last = 0;
    if (b->number == 0) {
        return TC_FORWARDED_NEW;
    }
    struct agent *a = get_agent(f, b->agent);
    if (a == NULL || a->pending != 0) {
        return TC_FORWARDED_BUSY;
    }
    a->heard_ns = tc_mono_ns();
    if (b->number <= a->stored) {
        tc_count(TC_COUNT_FORWARDED_KNOWN, 1);
        *out_last = a->stored;
        return TC_FORWARDED_KNOWN;
    }
    a->pending = b->number;
    b->is_claimed = true;
    return TC_FORWARDED_NEW;
}

void tc_forwarded_end(struct tc_forwarded *f, struct tc_forwarded_batch *b, bool is_stored)
{
    if (!b->is_claimed) {
        return;
    }
    b->is_claimed = false;
    struct agent *a = &f->slots[find(f, b->agent)]; /* it stays while it is claimed */
    a->pending = 0;
    if (!is_stored) {
        return;
    }
    a->stored = b->number;
    tc_count(TC_COUNT_FORWARDED_STORED, 1);
    if (!keep_position(f, a, true)) {
        tc_log(TC_LOG_ERROR,
               "no room for the position of an agent that forwards; after a restart, a batch of "
               "its may be stored twice",
               NULL, 0);
    }
}

/* ---- life ---- */

static void take_position(void *context, struct tc_slice stream, struct tc_slice position)
{
    struct tc_forwarded *f = context;
    uint64_t id[2];
    uint64_t stored = 0;
    if (f->count < TC_FORWARDED_AGENTS_MAX && read_id(stream, id) &&
        tc_slice_is_u64(position, &stored)) {
        struct agent *a = &f->slots[find(f, id)];
        f->count += !a->is_used;
        *a = (struct agent){.id = {id[0], id[1]}, .stored = stored, .is_used = true};
    }
}

struct tc_forwarded *tc_forwarded_create(struct tc_positions *positions)
{
    struct tc_forwarded *f = calloc(1, sizeof *f);
    if (f != NULL) {
        f->positions = positions;
        tc_positions_each(positions, TC_LIT(TC_BATCH_FORWARDED), take_position, f);
    }
    return f;
}

void tc_forwarded_destroy(struct tc_forwarded *f)
{
    free(f);
}
