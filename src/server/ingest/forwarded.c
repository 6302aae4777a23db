/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ingest/forwarded.h"

#include "base/assert.h"
#include "base/format.h"
#include "base/table/lru.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/sources/positions.h"
#include "stored/batch_name.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define HALF_DIGITS 16
#define ID_DIGITS (2 * HALF_DIGITS)

struct agent {
    uint64_t id[2];
    uint64_t stored;  /* the last number that is durable; 0: none */
    uint64_t pending; /* the one on its way to the disk; 0: none */
};

/* Invariant: an agent is expendable in the table as long as none of its batches is on its way. */
struct tc_forwarded {
    struct tc_positions *positions;
    struct tc_lru agents;
    uint64_t seeds[2]; /* whoever chooses ids cannot choose where they are in the table */
};

/* ---- the table ---- */

static struct tc_lru_key key_of(const struct tc_forwarded *f, const uint64_t id[2])
{
    struct tc_slice bytes = tc_slice_make((const char *)id, 2 * sizeof *id);
    return (struct tc_lru_key){
        {tc_slice_hash(bytes, f->seeds[0]), tc_slice_hash(bytes, f->seeds[1])}};
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

/* It is the last one heard of afterwards. NULL: all others have a batch on its way. */
static struct agent *get_agent(struct tc_forwarded *f, const uint64_t id[2])
{
    struct tc_lru_key key = key_of(f, id);
    if (tc_lru_find(&f->agents, key) == NULL) {
        const struct agent *leaving = tc_lru_leaving(&f->agents);
        if (leaving != NULL && leaving->pending != 0) {
            return NULL;
        }
        if (leaving != NULL) {
            (void)keep_position(f, leaving, false);
            tc_count(TC_COUNT_FORWARDED_AGENTS_FORGOTTEN, 1);
        }
    }
    struct agent *a = tc_lru_put(&f->agents, key, true);
    memcpy(a->id, id, sizeof a->id);
    return a;
}

/* Whether it may be forgotten. */
static void set_pending(struct tc_forwarded *f, struct agent *a, uint64_t number)
{
    a->pending = number;
    (void)tc_lru_put(&f->agents, key_of(f, a->id), number == 0); /* it is there, and stays */
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
    const struct agent *busy = tc_lru_find(&f->agents, key_of(f, b->agent));
    struct agent *a = busy != NULL && busy->pending != 0 ? NULL : get_agent(f, b->agent);
    if (a == NULL) {
        return TC_FORWARDED_BUSY;
    }
    if (b->number <= a->stored) {
        tc_count(TC_COUNT_FORWARDED_KNOWN, 1);
        *out_last = a->stored;
        return TC_FORWARDED_KNOWN;
    }
    set_pending(f, a, b->number);
    b->is_claimed = true;
    return TC_FORWARDED_NEW;
}

void tc_forwarded_end(struct tc_forwarded *f, struct tc_forwarded_batch *b, bool is_stored)
{
    if (!b->is_claimed) {
        return;
    }
    b->is_claimed = false;
    struct agent *a = tc_lru_find(&f->agents, key_of(f, b->agent));
    TC_ASSERT(a != NULL); /* it stays while it is claimed */
    set_pending(f, a, 0);
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
    if (tc_lru_leaving(&f->agents) == NULL && read_id(stream, id) &&
        tc_slice_is_u64(position, &stored)) {
        get_agent(f, id)->stored = stored;
    }
}

struct tc_forwarded *tc_forwarded_create(struct tc_positions *positions)
{
    struct tc_forwarded *f = calloc(1, sizeof *f);
    if (f == NULL || getrandom(f->seeds, sizeof f->seeds, 0) != (ssize_t)sizeof f->seeds ||
        !tc_lru_init(&f->agents, TC_FORWARDED_AGENTS_MAX, sizeof(struct agent))) {
        free(f);
        return NULL;
    }
    f->positions = positions;
    tc_positions_each(positions, TC_LIT(TC_BATCH_FORWARDED), take_position, f);
    return f;
}

void tc_forwarded_destroy(struct tc_forwarded *f)
{
    if (f != NULL) {
        tc_lru_fini(&f->agents);
        free(f);
    }
}
