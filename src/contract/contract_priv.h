/* SPDX-License-Identifier: Apache-2.0 */
/* A contract as a tree of values with their places in the text, and how to find them in it. */
#ifndef TC_CONTRACT_CONTRACT_PRIV_H
#define TC_CONTRACT_CONTRACT_PRIV_H

#include "contract/contract.h"

#include "base/yaml/tree.h"

/* Values and pairs of one document; an ordinary contract has some 250. */
#define TC__CONTRACT_NODES_MAX ((size_t)1 << 18)
/* Keys of one mapping: a key is looked for one by one, and a list of aliases can ask for it in the
 * same mapping as often as there are values. */
#define TC__CONTRACT_KEYS_MAX 1024
/* JSON of one document, with its aliases written out. */
#define TC__CONTRACT_JSON_MAX ((size_t)16 << 20)

struct tc__text {
    struct tc__text *next;
    char *bytes;
};

struct tc_contract {
    struct tc_yaml_tree tree;
    const struct tc_yaml_node *root;
    struct tc__text **texts; /* canonical texts that were given out */
};

/* A value and where it stands; node is NULL when there is none, and the place is then that of the
 * innermost mapping on the way to it. */
struct tc__value {
    const struct tc_yaml_node *node;
    struct tc_yaml_place at;
};

/* How a contract is read and written. */
extern const struct tc_yaml_options tc__contract_options;

/* What a number is worth, 0 or 1 for a boolean; 0 for everything else. */
static inline double tc__contract_number(const struct tc_yaml_node *n)
{
    return tc_yaml_number(n, TC_YAML_PYTHON_1_1).real;
}

/* The pair of that key in a mapping, the last one when there are several; NULL when there is none
 * or it is no mapping. */
const struct tc_yaml_entry *tc__contract_pair(const struct tc_yaml_node *n, struct tc_slice key);
/* By a path of keys with dots between them, from a value. */
struct tc__value tc__contract_find(struct tc__value from, struct tc_slice path);
struct tc__value tc__contract_root(const struct tc_contract *c);
/* The string at a path from the root; empty when it is none. */
struct tc_slice tc__contract_string(const struct tc_contract *c, const char *path);

/*
 * template.c: lines up to a NULL. The first character says when one is written: ' '
 * always; k, s when the scheduler path names kueue or slinky; I, T for inference or training, i, t
 * for mixed as well. %NAME% is a value of a field, or a boolean: trains, serves, shares.
 */
extern const char *const tc__contract_template[];

#endif
