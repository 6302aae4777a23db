/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/duckdb/scope_priv.h"

#include "base/digest.h"
#include "warehouse/duckdb/duckdb_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SLOTS_FIRST ((size_t)4096)
/* Scopes that are read back, the newest: those of now are among them. */
#define KNOWN_MAX ((size_t)1 << 19)
/* Numbers that the database gives at once. */
#define BLOCK 65536

_Static_assert(KNOWN_MAX <= TC__SCOPE_SLOTS_MAX / 4 * 3, "what is read back fits");

/* ---- maps ---- */

/* The slot of a key, or the free one where it belongs. */
static struct tc__scope_slot *slot_of(const struct tc__scope_map *m, struct tc__scope_key key)
{
    size_t at = (size_t)key.low;
    for (;; at++) {
        struct tc__scope_slot *s = &m->slots[at & (m->slot_count - 1)];
        if (s->id == 0 || (s->key.low == key.low && s->key.high == key.high)) {
            return s;
        }
    }
}

int64_t tc__scope_map_get(const struct tc__scope_map *m, struct tc__scope_key key)
{
    return m->slot_count == 0 ? 0 : slot_of(m, key)->id;
}

void tc__scope_map_reset(struct tc__scope_map *m)
{
    free(m->slots);
    *m = (struct tc__scope_map){0};
}

static tc_status grow(struct tc__scope_map *m)
{
    struct tc__scope_map old = *m;
    size_t count = old.slot_count == 0 ? SLOTS_FIRST : old.slot_count * 2;
    if (count > TC__SCOPE_SLOTS_MAX) {
        memset(m->slots, 0, m->slot_count * sizeof *m->slots);
        m->count = 0;
        return TC_OK;
    }
    struct tc__scope_slot *slots = calloc(count, sizeof *slots);
    if (slots == NULL) {
        return TC_E_NOMEM;
    }
    m->slots = slots;
    m->slot_count = count;
    for (size_t i = 0; i < old.slot_count; i++) {
        if (old.slots[i].id != 0) {
            *slot_of(m, old.slots[i].key) = old.slots[i];
        }
    }
    free(old.slots);
    return TC_OK;
}

tc_status tc__scope_map_put(struct tc__scope_map *m, struct tc__scope_key key, int64_t id)
{
    if (m->count >= m->slot_count / 4 * 3) {
        TC_TRY(grow(m));
    }
    *slot_of(m, key) = (struct tc__scope_slot){key, id};
    m->count++;
    return TC_OK;
}

/* ---- keys ---- */

__extension__ typedef unsigned __int128 wide;

/* A product of 128 bits, its halves folded. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static void absorb_word(const uint64_t *secret, struct tc__scope_key *k, uint64_t word)
{
    k->high = fold(k->high ^ word, secret[0]) + word;
    k->low = fold(k->low ^ word, secret[1]) + word;
}

/* Texts are read eight bytes at a time, the last ones with zeros. The length goes first. */
static void absorb_text(const uint64_t *secret, struct tc__scope_key *k, const char *p, size_t len)
{
    uint64_t word = 0;
    absorb_word(secret, k, len);
    for (; len >= sizeof word; p += sizeof word, len -= sizeof word) {
        memcpy(&word, p, sizeof word);
        absorb_word(secret, k, word);
    }
    if (len > 0) {
        word = 0;
        memcpy(&word, p, len);
        absorb_word(secret, k, word);
    }
}

/* Other than any length. */
#define IS_NULL UINT64_MAX

static void absorb_column(const uint64_t *secret, const struct tc_rows *rows, size_t column,
                          struct tc__scope_key *keys)
{
    const struct tc_rows_column *c = &rows->columns[column];
    for (size_t i = 0; i < rows->count; i++) {
        if ((c->valid[i / 64] >> (i % 64) & 1) == 0) {
            absorb_word(secret, &keys[i], IS_NULL);
        } else if (c->type == TC_COLUMN_TEXT) {
            const union tc_cell *cell = &c->cells[i];
            absorb_text(secret, &keys[i], rows->text + cell->text.at, cell->text.len);
        } else {
            absorb_word(secret, &keys[i], (uint64_t)c->cells[i].integer);
        }
    }
}

tc_status tc__scope_secret(uint64_t out[TC__SCOPE_SECRET], struct tc_error *err)
{
    size_t bytes = TC__SCOPE_SECRET * sizeof out[0];
    if (getrandom(out, bytes, 0) != (ssize_t)bytes) {
        return tc_fail(err, TC_E_IO, 0, "the system gives no random numbers");
    }
    out[0] |= 1;
    out[1] |= 1;
    return TC_OK;
}

void tc__scope_hash(const uint64_t secret[TC__SCOPE_SECRET], const struct tc_rows *rows,
                    const size_t *columns, size_t column_count, struct tc__scope_key *out)
{
    for (size_t i = 0; i < rows->count; i++) {
        out[i] = (struct tc__scope_key){secret[2], secret[3]};
    }
    for (size_t i = 0; i < column_count; i++) {
        absorb_column(secret, rows, columns[i], out);
    }
}

/* For the table: the first half of a SHA-256, the same in every process. */
static struct tc__scope_key digest_of(const struct tc__split_part *part, const struct tc_rows *rows,
                                      size_t row)
{
    struct tc_sha256 sha;
    struct tc_digest digest;
    struct tc__scope_key key;
    tc_sha256_init(&sha);
    for (size_t i = TC__SCOPE_FIRST; i < part->info.column_count; i++) {
        tc_rows_hash_cell(rows, part->from[i], row, &sha);
    }
    tc_sha256_final(&sha, &digest);
    memcpy(&key, digest.bytes, sizeof key);
    return key;
}

/* ---- what the table has ---- */

static tc_status take_known(void *context, const struct tc_rows *rows)
{
    struct tc__scope_map *m = context;
    for (size_t i = 0; i < rows->count; i++) {
        struct tc__scope_key key = {
            (uint64_t)rows->columns[TC__SCOPE_COLUMN_KEY_HIGH].cells[i].integer,
            (uint64_t)rows->columns[TC__SCOPE_COLUMN_KEY_LOW].cells[i].integer,
        };
        if (tc__scope_map_get(m, key) == 0) {
            TC_TRY(tc__scope_map_put(m, key, rows->columns[TC__SCOPE_COLUMN_ID].cells[i].integer));
        }
    }
    return TC_OK;
}

static tc_status get_ready(struct tc__duckdb *d, size_t split, struct tc_error *err)
{
    struct tc__scopes *s = &d->writers[split].scopes;
    const struct tc_table_info *info = &d->base->splits[split].scopes.info;
    char sql[160];
    bool cut = false;
    if (s->is_ready) {
        return TC_OK;
    }
    TC_TRY(tc__scope_secret(s->secret, err));
    if (s->fresh == NULL) {
        s->fresh = tc_rows_create_for(info->columns, info->column_count);
    }
    if (s->fresh == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for rows");
    }
    (void)snprintf(sql, sizeof sql,
                   "SELECT " TC__SCOPE_ID ", key_high, key_low FROM %s ORDER BY " TC__SCOPE_ID
                   " DESC LIMIT %zu",
                   info->name, KNOWN_MAX);
    struct tc_query query = {.sql = tc_slice_cstr(sql)};
    TC_TRY(tc__duckdb_query(d, &query, take_known, &s->known, &cut, err));
    s->is_ready = true;
    return TC_OK;
}

/* Numbers come in blocks, so that the database is asked seldom. */
static tc_status next_id(struct tc__duckdb *d, size_t split, int64_t *out, struct tc_error *err)
{
    struct tc__scopes *s = &d->writers[split].scopes;
    if (s->next == s->end) {
        int64_t block = 0;
        char sql[96];
        (void)snprintf(sql, sizeof sql, "SELECT nextval('%s')",
                       d->base->splits[split].kind->sequence);
        TC_TRY(tc__duckdb_ask(d, tc_slice_cstr(sql), &block, err));
        if (block <= 0) {
            return tc_fail(err, TC_E_IO, 0, "DuckDB gives no numbers for scopes");
        }
        s->next = (block - 1) * BLOCK + 1;
        s->end = s->next + BLOCK;
    }
    *out = s->next++;
    return TC_OK;
}

/* ---- new ones ---- */

static tc_status append_fresh(struct tc__duckdb *d, size_t split, struct tc_error *err)
{
    struct tc_rows *fresh = d->writers[split].scopes.fresh;
    tc_status status =
        fresh->count == 0 ? TC_OK : tc__duckdb_append_to(d, TC__LANE_SCOPES + split, fresh, err);
    tc_rows_reset(fresh);
    return status;
}

static tc_status add_scope(struct tc__duckdb *d, size_t split, const struct tc_rows *rows,
                           size_t row, struct tc__scope_key key, int64_t id, struct tc_error *err)
{
    const struct tc__split_part *part = &d->base->splits[split].scopes;
    struct tc_rows *fresh = d->writers[split].scopes.fresh;
    if (!tc_rows_add(fresh)) {
        TC_TRY(append_fresh(d, split, err));
        (void)tc_rows_add(fresh);
    }
    tc_rows_int(fresh, TC__SCOPE_COLUMN_ID, id);
    tc_rows_int(fresh, TC__SCOPE_COLUMN_KEY_HIGH, (int64_t)key.high);
    tc_rows_int(fresh, TC__SCOPE_COLUMN_KEY_LOW, (int64_t)key.low);
    for (size_t i = TC__SCOPE_FIRST; i < part->info.column_count; i++) {
        tc_status status = tc_rows_copy_cell(fresh, i, rows, part->from[i], row, SIZE_MAX);
        if (status != TC_OK) {
            return tc_fail(err, status, 0, "no memory for rows");
        }
    }
    return TC_OK;
}

static tc_status find_scope(struct tc__duckdb *d, size_t split, const struct tc_rows *rows,
                            size_t row, int64_t *out, struct tc_error *err)
{
    struct tc__scope_map *known = &d->writers[split].scopes.known;
    struct tc__scope_key key = digest_of(&d->base->splits[split].scopes, rows, row);
    *out = tc__scope_map_get(known, key);
    if (*out != 0) {
        return TC_OK;
    }
    TC_TRY(next_id(d, split, out, err));
    TC_TRY(add_scope(d, split, rows, row, key, *out, err));
    tc_status status = tc__scope_map_put(known, key, *out);
    return status == TC_OK ? TC_OK : tc_fail(err, status, 0, "no memory for scopes");
}

tc_status tc__scopes_of(struct tc__duckdb *d, size_t split, const struct tc_rows *rows,
                        int64_t *out, struct tc_error *err)
{
    struct tc__scope_key keys[TC_ROWS_MAX];
    const struct tc__split_part *part = &d->base->splits[split].scopes;
    struct tc__scope_map *seen = &d->writers[split].scopes.seen;
    TC_TRY(get_ready(d, split, err));
    tc__scope_hash(d->writers[split].scopes.secret, rows, &part->from[TC__SCOPE_FIRST],
                   part->info.column_count - TC__SCOPE_FIRST, keys);
    for (size_t i = 0; i < rows->count; i++) {
        out[i] = tc__scope_map_get(seen, keys[i]);
        if (out[i] == 0) {
            TC_TRY(find_scope(d, split, rows, i, &out[i], err));
            tc_status status = tc__scope_map_put(seen, keys[i], out[i]);
            if (status != TC_OK) {
                return tc_fail(err, status, 0, "no memory for scopes");
            }
        }
    }
    return append_fresh(d, split, err);
}

/* ---- the end ---- */

void tc__scopes_forget(struct tc__scopes *s)
{
    tc__scope_map_reset(&s->seen);
    tc__scope_map_reset(&s->known);
    /* DuckDB remembers that a block was given when the transaction that asked for it commits. */
    s->next = 0;
    s->end = 0;
    s->is_ready = false;
    if (s->fresh != NULL) {
        tc_rows_reset(s->fresh);
    }
}

void tc__scopes_fini(struct tc__scopes *s)
{
    tc__scopes_forget(s);
    tc_rows_destroy(s->fresh);
    s->fresh = NULL;
}

tc_status tc__scopes_sweep(struct tc__duckdb *d, struct tc_error *err)
{
    for (size_t i = 0; i < TC__SPLITS; i++) {
        const struct tc__split *s = &d->base->splits[i];
        char sql[256];
        if (!s->there) {
            continue;
        }
        (void)snprintf(sql, sizeof sql,
                       "DELETE FROM %s WHERE " TC__SCOPE_ID " NOT IN (SELECT " TC__SCOPE_ID
                       " FROM %s)",
                       s->kind->scopes, s->kind->facts);
        TC_TRY(tc__duckdb_run(d, sql, "scopes that nothing names cannot be deleted", err));
        tc__scopes_forget(&d->writers[i].scopes);
    }
    return TC_OK;
}
