/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a mapping that is complete: keys that occur twice, and YAML 1.1's merge key.
 */
#ifndef TC_BASE_YAML_MEMBERS_PRIV_H
#define TC_BASE_YAML_MEMBERS_PRIV_H

#include "base/buf.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Members of all mappings that are open at one time. */
#define TC__YAML_MEMBERS_MAX ((size_t)1 << 20)
/* Mappings that one "<<" merges. */
#define TC__YAML_MERGE_MAX 64

/* One member, by its places in the JSON text. */
struct tc__yaml_member {
    size_t key; /* behind the quote */
    size_t key_len;
    size_t value;
    size_t value_end;
    unsigned line; /* of the key, from 1 */
    unsigned column;
    bool is_merge;
};

/*
 * Looks for a key that occurs twice. *out_at is the index of the first one that repeats an earlier
 * one, or count. TC_E_NOMEM.
 */
TC_CHECKED tc_status tc__yaml_find_twice(const char *json, const struct tc__yaml_member *members,
                                         size_t count, size_t *out_at);

/*
 * Writes the mapping that begins at `start` again, with what is merged into it and each key once:
 * the last one wins. It does not become longer. *out_why says what is wrong otherwise, with
 * TC_E_MALFORMED or TC_E_LIMIT, and *out_at which member.
 */
TC_CHECKED tc_status tc__yaml_merge(struct tc_buf *json, size_t start,
                                    const struct tc__yaml_member *members, size_t count,
                                    const char **out_why, size_t *out_at);

#endif
