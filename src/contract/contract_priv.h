/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contract as a graph of values with their places in the text. Aliases point at the node of
 * their anchor, so that a small text stays small; merge keys are resolved when a mapping ends.
 */
#ifndef TC_CONTRACT_CONTRACT_PRIV_H
#define TC_CONTRACT_CONTRACT_PRIV_H

#include "contract/contract.h"

#include "base/limits.h"

/* Values and pairs of one document; an ordinary contract has some 250. */
#define TC__CONTRACT_NODES_MAX ((size_t)1 << 18)
#define TC__CONTRACT_ANCHORS_MAX 256
/* Keys of one mapping: a key is looked for one by one, and a list of aliases can ask for it in the
 * same mapping as often as there are values. */
#define TC__CONTRACT_KEYS_MAX 1024
/* JSON of one document, with its aliases written out. */
#define TC__CONTRACT_JSON_MAX ((size_t)16 << 20)

/* What Python would make of it. */
enum tc__kind {
    TC__NULL,
    TC__BOOL,
    TC__INT,
    TC__REAL,
    TC__STRING,
    TC__TIME,  /* a date, or a date and time */
    TC__BYTES, /* !!binary */
    TC__LIST,
    TC__MAPPING,
    TC__SET, /* !!set */
};

#define TC__NONE UINT32_MAX

struct tc__node {
    enum tc__kind kind;
    unsigned line; /* from 1 */
    unsigned column;
    bool plain;   /* a scalar without quotes */
    bool too_big; /* INT: integer is the nearest that fits */
    bool pairs;   /* LIST: !!omap or !!pairs, whose items are tuples */
    size_t text;  /* scalars: as written, unescaped; in tc_contract.text */
    size_t text_len;
    int64_t integer; /* INT, BOOL */
    double real;     /* REAL, INT */
    uint32_t first;  /* entries of a list, mapping or set */
    uint32_t last;
    uint32_t count;
};

/* An item of a list, or a pair of a mapping. */
struct tc__entry {
    uint32_t key; /* node; TC__NONE in a list */
    uint32_t value;
    uint32_t next;
    unsigned line; /* of the value where it is used: of an alias, not of its anchor */
    unsigned column;
    bool merged;     /* came by a merge key */
    bool overridden; /* a later pair has the same key */
};

struct tc__text {
    struct tc__text *next;
    char *bytes;
};

struct tc_contract {
    struct tc__node *nodes;
    size_t node_count;
    size_t node_cap;
    struct tc__entry *entries;
    size_t entry_count;
    size_t entry_cap;
    char *text;
    size_t text_len;
    size_t text_cap;
    uint32_t root;
    struct tc__text **texts; /* canonical texts that were given out */
};

/* A value and where it stands; node is NULL when there is none, and the place is then that of the
 * innermost mapping on the way to it. */
struct tc__value {
    const struct tc__node *node;
    unsigned line;
    unsigned column;
};

struct tc_slice tc__contract_text(const struct tc_contract *c, const struct tc__node *n);
const struct tc__entry *tc__contract_entry(const struct tc_contract *c, uint32_t index);
const struct tc__node *tc__contract_node(const struct tc_contract *c, uint32_t index);
/* The pair of that key in a mapping, the last one when there are several; NULL when there is none
 * or it is no mapping. */
const struct tc__entry *tc__contract_pair(const struct tc_contract *c, const struct tc__node *n,
                                          struct tc_slice key);
/* By a path of keys with dots between them, from a value. */
struct tc__value tc__contract_find(const struct tc_contract *c, struct tc__value from,
                                   struct tc_slice path);
struct tc__value tc__contract_root(const struct tc_contract *c);
/* The string at a path from the root; empty when it is none. */
struct tc_slice tc__contract_string(const struct tc_contract *c, const char *path);

/* contract_scalar.c: what PyYAML makes of a scalar. False when it raises an error, *out_why says
 * what is wrong. `tag` is the full tag, or empty. */
bool tc__contract_scalar(struct tc_slice text, bool plain, struct tc_slice tag,
                         struct tc__node *node, const char **out_why);

/* contract_json.c: canonical JSON of a value, in memory that lives as long as c. */
tc_status tc__contract_canonical(const struct tc_contract *c, const struct tc__node *n,
                                 struct tc_slice *out, struct tc_error *err);

/*
 * contract_template.c: lines up to a NULL. The first character says when one is written: ' '
 * always; k, s when the scheduler path names kueue or slinky; i, t, m for inference, training or
 * mixed. %NAME% is a value of a field, or a boolean: trains, serves, shares.
 */
extern const char *const tc__contract_template[];

#endif
