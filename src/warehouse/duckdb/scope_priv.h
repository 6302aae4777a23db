/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scopes of a table that is split, and their numbers, for one connection. A cache: a scope that
 * it does not know (another connection just made it, or there are too many) gets a second row and
 * number, which costs its bytes and changes no answer. Never the other way round: a number stands
 * for one scope.
 */
#ifndef TC_WAREHOUSE_DUCKDB_SCOPE_PRIV_H
#define TC_WAREHOUSE_DUCKDB_SCOPE_PRIV_H

#include "base/status.h"
#include "warehouse/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc__duckdb;

struct tc__scope_key {
    uint64_t high;
    uint64_t low;
};

struct tc__scope_slot {
    struct tc__scope_key key;
    int64_t id; /* 0: free */
};

/* Invariant: at most three quarters of the slots are used. */
struct tc__scope_map {
    struct tc__scope_slot *slots;
    size_t slot_count; /* 0, or a power of two */
    size_t count;
};

/* Slots of a map: then it is emptied. */
#define TC__SCOPE_SLOTS_MAX ((size_t)1 << 20)

/* The number of a key, or 0. */
int64_t tc__scope_map_get(const struct tc__scope_map *m, struct tc__scope_key key);
/* Another key, which is not there. */
TC_CHECKED tc_status tc__scope_map_put(struct tc__scope_map *m, struct tc__scope_key key,
                                       int64_t id);
void tc__scope_map_reset(struct tc__scope_map *m);

/* A secret that nobody can choose texts against. */
#define TC__SCOPE_SECRET 4
TC_CHECKED tc_status tc__scope_secret(uint64_t out[TC__SCOPE_SECRET], struct tc_error *err);
/* Of some columns of each row, for this process: cheap. 128 bits: that two ever meet by chance is
 * not to be expected. */
void tc__scope_hash(const uint64_t secret[TC__SCOPE_SECRET], const struct tc_rows *rows,
                    const size_t *columns, size_t column_count, struct tc__scope_key *out);

struct tc__scopes {
    struct tc__scope_map seen;  /* by a hash with a secret: what this connection wrote */
    struct tc__scope_map known; /* by a digest, as the table has it */
    uint64_t secret[TC__SCOPE_SECRET];
    bool is_ready;         /* the secret is drawn, `known` was read */
    int64_t next;          /* numbers of our own that are left: next .. end */
    int64_t end;           /* of the block that the database gave */
    struct tc_rows *fresh; /* rows of the table of scopes that are not appended yet */
};

/* The numbers of the scopes of wide rows; new ones are appended. split: TC__SPLIT_SLICE, ... */
TC_CHECKED tc_status tc__scopes_of(struct tc__duckdb *d, size_t split, const struct tc_rows *rows,
                                   int64_t *out, struct tc_error *err);
/* What was given out since begin does not count: after a rollback. */
void tc__scopes_forget(struct tc__scopes *s);
void tc__scopes_fini(struct tc__scopes *s);

/* Deletes scopes that no row names. Nobody else may be writing. */
TC_CHECKED tc_status tc__scopes_sweep(struct tc__duckdb *d, struct tc_error *err);

#endif
