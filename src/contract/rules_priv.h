/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a contract as rows: check walks them, explain and docs/contract.md are printed from
 * them. Rows of one path stand in the order in which the original reports them, which is not
 * always next to each other.
 */
#ifndef TC_CONTRACT_RULES_PRIV_H
#define TC_CONTRACT_RULES_PRIV_H

#include "contract/contract.h"

/* What a row asks of the value at its path. */
enum tc__rule_kind {
    TC__IS_MAPPING,
    TC__IS_LIST,
    TC__IS_STRING, /* not empty */
    TC__IS_BOOL,
    TC__IS_TRUE,
    TC__IS_WORD,     /* exactly words[0] */
    TC__IS_ONE_OF,   /* one of words */
    TC__AT_LEAST,    /* an integer from low on */
    TC__BETWEEN,     /* a number from low on, below high */
    TC__HAS_ITEM,    /* a list with something in it */
    TC__HAS_ALL,     /* a list with all words */
    TC__HAS_ONE,     /* a list with one of words */
    TC__HAS_KEYS,    /* a mapping with all words as keys */
    TC__HAS_SOURCES, /* a list with each of words that spec.intent.schedulerPath names */
    TC__IN_ORDER,    /* hotDays <= warmDays <= coldDays */
    TC__LAYERS,      /* all that is asked of spec.layers and its items */
    TC__KNOWN,       /* may be there; nothing is asked */
    TC__OPEN,        /* a mapping that may have any key */
    /* What only strict asks. */
    TC__SAME_AS_WORKLOAD, /* members that spec.workload has as well are equal */
    TC__MIX,              /* entries with tokens and weights that sum to 1 */
    TC__IS_DIGEST,        /* sha256: and 64 hex digits, if it is there */
    TC__IS_PINNED,        /* a reference; with a digest when it names one */
    TC__DIFFERS,          /* from the value at words[0] */
    TC__IS_PRICE,         /* a number above 0, if it is there */
    TC__RULE_KINDS
};

/* When a row counts: any of the bits. */
enum {
    TC__ALWAYS = 0,
    TC__TRAINING = 1,  /* workloadType training or mixed */
    TC__INFERENCE = 2, /* workloadType inference or mixed */
    TC__PUBLICATION = 4,
    TC__REALISM = 8,
};

struct tc__rule {
    const char *path; /* items of a list as [] */
    enum tc__rule_kind kind;
    unsigned when;
    bool strict;              /* the original does not ask it */
    const char *const *words; /* up to a NULL */
    double low;
    double high;
    /* For people; with the first row of a path. */
    const char *about;
    const char *example;
};

const struct tc__rule *tc__contract_rules(size_t *out_count);
/* The first row of a path, or NULL. */
const struct tc__rule *tc__contract_rule(struct tc_slice path);

#endif
