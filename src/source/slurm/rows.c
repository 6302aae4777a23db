/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command prints each time, and what of it is new.
 *
 * Which rows were stored is in the positions of 64 streams: a row belongs to one by its hash, and
 * new rows of a stream are stored in one batch with the hashes of all of its rows. A position also
 * has the time of the output, so after a restart the window never begins earlier than that of an
 * output whose rows were forgotten: nothing is doubled.
 */
#include "base/format.h"
#include "source/slurm/priv.h"

#include <stdlib.h>
#include <string.h>

#define HASH_DIGITS 16
#define STREAM_MAX 8

void tc__rows_fini(struct tc__rows *r)
{
    for (size_t i = 0; i < TC__ROWS_SHARDS; i++) {
        tc_grow_fini(&r->bodies[i]);
    }
    free(r->seen);
    free(r->now);
    r->seen = r->now = NULL;
    r->seen_count = r->now_count = r->seen_cap = r->now_cap = 0;
}

static size_t shard_of(uint64_t hash)
{
    return (size_t)(hash % TC__ROWS_SHARDS);
}

static int order(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return TC_ORDER(x, y);
}

static bool has(const uint64_t *items, size_t count, uint64_t hash)
{
    return count > 0 && bsearch(&hash, items, count, sizeof hash, order) != NULL;
}

/* ---- positions: "TIME HASH HASH ..." ---- */

tc_status tc__rows_restore(struct tc__rows *r, struct tc_slice stream, struct tc_slice position)
{
    struct tc_slice rest;
    int64_t time_ns = 0;
    if (stream.len < 2 || stream.ptr[0] != r->stream ||
        !tc_slice_is_i64(tc_slice_cut(position, ' ', &rest), &time_ns) || time_ns < 0 ||
        time_ns > TC_TIME_MAX) {
        return TC_OK;
    }
    r->time_ns = time_ns > r->time_ns ? time_ns : r->time_ns;
    while (rest.len > 0) {
        uint64_t hash = 0;
        struct tc_slice word = tc_slice_cut(rest, ' ', &rest);
        if (word.len == HASH_DIGITS && tc_slice_hex(word, &hash) == word.len) {
            TC_TRY(tc_grow_items(r->seen, r->seen_cap, r->seen_count + 1, TC__ROWS_MAX));
            r->seen[r->seen_count++] = hash;
        }
    }
    return TC_OK;
}

void tc__rows_ready(struct tc__rows *r)
{
    if (r->seen_count > 0) {
        qsort(r->seen, r->seen_count, sizeof *r->seen, order);
    }
}

static struct tc_slice stream_name(const struct tc__rows *r, size_t shard, char out[STREAM_MAX])
{
    struct tc_buf b = tc_buf_make(out, STREAM_MAX);
    tc_buf_str(&b, tc_slice_make(&r->stream, 1));
    (void)tc_format(&b, "{}", (uint64_t)shard);
    return tc_buf_slice(&b);
}

static struct tc_slice position_of(const struct tc__rows *r, size_t shard, int64_t time_ns,
                                   char out[TC_SOURCE_POSITION_MAX])
{
    struct tc_buf b = tc_buf_make(out, TC_SOURCE_POSITION_MAX);
    size_t kept = 0;
    (void)tc_format(&b, "{}", time_ns);
    for (size_t i = 0; i < r->now_count && kept < TC__ROWS_KEPT; i++) {
        if (shard_of(r->now[i]) == shard) {
            tc_buf_lit(&b, " ");
            tc_buf_hex(&b, r->now[i], HASH_DIGITS);
            kept++;
        }
    }
    return tc_buf_slice(&b);
}

/* ---- what is new ---- */

static tc_status add_row(struct tc__rows *r, struct tc_slice header, struct tc_slice row,
                         uint64_t hash)
{
    struct tc_grow *body = &r->bodies[shard_of(hash)];
    bool is_new = !has(r->seen, r->seen_count, hash);
    if (is_new && row.len > TC__ROW_MAX) {
        r->lost++;
    } else if (is_new) {
        size_t used = tc_grow_slice(body).len;
        if (used + header.len + row.len + 2 > TC__ROWS_BYTES) {
            r->is_more = true;
            return TC_OK; /* not remembered: it is new the next time too */
        }
        if (used == 0 && header.len > 0) {
            tc_grow_str(body, header);
            tc_grow_lit(body, "\n");
        }
        tc_grow_str(body, row);
        tc_grow_lit(body, "\n");
        r->counts[shard_of(hash)]++;
        r->new_rows++;
    }
    if (body->failed) {
        return TC_E_NOMEM;
    }
    TC_TRY(tc_grow_items(r->now, r->now_cap, r->now_count + 1, TC__ROWS_MAX));
    r->now[r->now_count++] = hash;
    return TC_OK;
}

static void begin(struct tc__rows *r)
{
    for (size_t i = 0; i < TC__ROWS_SHARDS; i++) {
        tc_grow_fini(&r->bodies[i]);
        r->counts[i] = 0;
    }
    r->now_count = 0;
    r->lost = r->new_rows = 0;
    r->is_more = false;
}

tc_status tc__rows_look(struct tc__rows *r, struct tc_slice header, struct tc_slice text,
                        tc__row_hash hash)
{
    bool is_any = false;
    bool is_text = tc_slice_trim(text).len > 0;
    begin(r);
    while (text.len > 0) {
        bool is_row = false;
        struct tc_slice row = tc_slice_trim(tc_slice_cut(text, '\n', &text));
        uint64_t value = hash(row, &is_row);
        if (is_row) {
            is_any = true;
            TC_TRY(add_row(r, header, row, value));
        }
    }
    if (r->now_count > 0) {
        qsort(r->now, r->now_count, sizeof *r->now, order);
    }
    return is_any || !is_text ? TC_OK : TC_E_MALFORMED;
}

/* Whether the shard has lost rows since the last time: its position is another without bytes. */
static bool is_changed(const struct tc__rows *r, size_t shard)
{
    for (size_t i = 0; i < r->seen_count; i++) {
        if (shard_of(r->seen[i]) == shard && !has(r->now, r->now_count, r->seen[i])) {
            return true;
        }
    }
    return false;
}

static tc_status put_new(struct tc__rows *r, struct tc_source_port *port,
                         const struct tc_source_chunk *like, int64_t time_ns)
{
    struct tc_source_chunk chunks[TC__ROWS_SHARDS];
    char streams[TC__ROWS_SHARDS][STREAM_MAX];
    char(*positions)[TC_SOURCE_POSITION_MAX] = malloc(TC__ROWS_SHARDS * sizeof *positions);
    size_t count = 0;
    if (positions == NULL) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < TC__ROWS_SHARDS; i++) {
        if (r->counts[i] > 0) {
            chunks[count] = *like;
            chunks[count].stream = stream_name(r, i, streams[count]);
            chunks[count].position = position_of(r, i, time_ns, positions[count]);
            chunks[count].body = tc_grow_slice(&r->bodies[i]);
            chunks[count++].records = r->counts[i];
        }
    }
    tc_status status = tc_port_put(port, chunks, count);
    free(positions);
    return status;
}

tc_status tc__rows_store(struct tc__rows *r, struct tc_source_port *port,
                         const struct tc_source_chunk *like, int64_t time_ns)
{
    char stream[STREAM_MAX];
    char position[TC_SOURCE_POSITION_MAX];
    /* What there was no room for has to be in the next output too. */
    time_ns = r->is_more || time_ns < r->time_ns ? r->time_ns : time_ns;
    TC_TRY(put_new(r, port, like, time_ns));
    for (size_t i = 0; i < TC__ROWS_SHARDS; i++) {
        if (r->counts[i] == 0 && (i == 0 || is_changed(r, i))) {
            tc_port_keep(port, stream_name(r, i, stream), position_of(r, i, time_ns, position));
        }
    }
    tc_port_save(port, false);
    r->time_ns = time_ns;
    uint64_t *before = r->seen;
    size_t before_cap = r->seen_cap;
    r->seen = r->now;
    r->seen_cap = r->now_cap;
    r->seen_count = r->now_count;
    r->now = before;
    r->now_cap = before_cap;
    r->now_count = 0;
    return TC_OK;
}
