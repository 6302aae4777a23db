/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A YAML document (or a JSON one, which is YAML) as a tree of values with their places. Scalars
 * are resolved by a schema; what else readers differ in is an option. Aliases point at the node of
 * their anchor, so that a small text stays small.
 */
#ifndef TC_BASE_YAML_TREE_H
#define TC_BASE_YAML_TREE_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/yaml/events.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_YAML_ANCHORS_MAX 1024

enum tc_yaml_kind {
    TC_YAML_NULL,
    TC_YAML_BOOL,
    TC_YAML_INT,
    TC_YAML_REAL,
    TC_YAML_STRING,
    TC_YAML_TIME,  /* a date, or a date and time */
    TC_YAML_BYTES, /* !!binary */
    TC_YAML_LIST,
    TC_YAML_MAPPING,
    TC_YAML_SET,     /* !!set */
    TC_YAML_UNKNOWN, /* TC_YAML_TEXT: an alias; the value of a key after which the text broke off */
};

enum tc_yaml_schema {
    /* YAML 1.2's core schema. Keys are texts as they stand, each of them once; dates are text. An
     * alias is not inside of what it means; an anchor may be set again. */
    TC_YAML_CORE_1_2,
    /* YAML 1.1 as PyYAML's safe loader reads it: yes, no, on, off are booleans; 1_000; 010 is
     * eight; 1:30 is ninety; 1e3 is text. Of a key that occurs twice the last counts; "<<" merges
     * when its mapping ends, and what it copies counts as values do. */
    TC_YAML_PYTHON_1_1,
    /* Null and texts, for readers that know what they expect. Nothing is refused: tags, anchors
     * and aliases are noted, keys may be anything. */
    TC_YAML_TEXT,
};

/*
 * What the place of a value is: that of the text that libfyaml marks; of the quote before it; or of
 * its first character, also the star of an alias and the bar of a block. What is not written at all
 * stands where the value before it does; where the last key does; or where its own key or list
 * does.
 */
enum tc_yaml_places { TC_YAML_AT_TEXT, TC_YAML_AT_QUOTE, TC_YAML_AT_SIGN };

/* What a tree refuses: the status, and the words unless the options have others. */
#define TC_YAML_FAULT_MAP(X)                                                             \
    X(TOO_DEEP, TC_E_LIMIT, "nested too deeply")                                         \
    X(TOO_MANY, TC_E_LIMIT, "too many values")                                           \
    X(MANY_KEYS, TC_E_LIMIT, "too many members")                                         \
    X(MANY_ANCHORS, TC_E_LIMIT, "too many anchors, or a name that is too long")          \
    X(MANY_ALIASES, TC_E_LIMIT, "too many aliases")                                      \
    X(TAG, TC_E_UNSUPPORTED, "a tag that is not read")                                   \
    X(TAG_VALUE, TC_E_MALFORMED, "a value that is not what its tag says")                \
    X(TAG_PAIRS, TC_E_MALFORMED, "the tag wants a list of mappings of one key each")     \
    X(INTEGER, TC_E_MALFORMED, "a number without digits, or with too many")              \
    X(NUMBER, TC_E_MALFORMED, "a number without digits, or with too many")               \
    X(DATE, TC_E_MALFORMED, "there is no such date; write it in quotes if it is a name") \
    X(SIGN, TC_E_MALFORMED, "= and << mean something else in YAML; write it in quotes")  \
    X(KEY, TC_E_UNSUPPORTED, "a key that is a mapping or a list")                        \
    X(KEY_ALIAS, TC_E_UNSUPPORTED, "an alias as a key")                                  \
    X(KEY_ANCHOR, TC_E_UNSUPPORTED, "an anchor on a key")                                \
    X(KEY_TWICE, TC_E_MALFORMED, "a key that is there already")                          \
    X(ALIAS, TC_E_MALFORMED, "an alias of nothing that was named before")                \
    X(ALIAS_INSIDE, TC_E_UNSUPPORTED, "an alias of something that it is itself in")      \
    X(ANCHOR_TWICE, TC_E_MALFORMED, "an anchor of this name was there before")           \
    X(MERGE, TC_E_MALFORMED, "<< takes a mapping or a list of mappings")                 \
    X(MERGE_LIST, TC_E_MALFORMED, "<< takes a mapping or a short list of mappings")      \
    X(MERGE_INSIDE, TC_E_MALFORMED, "<< takes a mapping that it is part of")             \
    X(DOCUMENTS, TC_E_UNSUPPORTED, "more than one document")                             \
    X(JSON_NUMBER, TC_E_UNSUPPORTED, "JSON has no such number")                          \
    X(JSON_VALUE, TC_E_UNSUPPORTED, "JSON has no such value")                            \
    X(JSON_DEPTH, TC_E_LIMIT, "nested too deeply")                                       \
    X(JSON_LOOP, TC_E_UNSUPPORTED, "nested too deeply, or inside of itself")             \
    X(JSON_ALIASES, TC_E_LIMIT, "aliases would make the document too large")             \
    X(JSON_LARGE, TC_E_LIMIT, "too large as JSON")

enum tc_yaml_fault {
#define TC_YAML_FAULT(name, status, words) TC_YAML_FAULT_##name,
    TC_YAML_FAULT_MAP(TC_YAML_FAULT)
#undef TC_YAML_FAULT
        TC_YAML_FAULT_COUNT,
    TC_YAML_FAULT_NONE = TC_YAML_FAULT_COUNT,
};

struct tc_yaml_options {
    enum tc_yaml_schema schema;
    enum tc_yaml_places places;
    unsigned lines_before;        /* of the text; added to every line */
    size_t depth_max;             /* <= TC_JSON_DEPTH_MAX */
    size_t values_max;            /* nodes, and as many entries */
    size_t keys_max;              /* of one mapping */
    size_t anchors_max;           /* <= TC_YAML_ANCHORS_MAX */
    size_t json_max;              /* bytes of JSON, see tc_yaml_json */
    size_t json_alias_max;        /* ... of those in aliases and what they mean */
    const char *const *own_words; /* by fault; NULL, also of one: those above */
};

struct tc_block;
struct tc_yaml_entry;

struct tc_yaml_node {
    enum tc_yaml_kind kind;
    bool is_plain : 1;   /* a scalar without quotes */
    bool is_pairs : 1;   /* LIST: !!omap or !!pairs, whose items are tuples */
    bool is_open : 1;    /* its end was not read */
    bool has_anchor : 1; /* of TEXT and UNKNOWN */
    bool has_tag : 1;
    uint32_t number; /* of the node in its tree, from 0 */
    struct tc_yaml_place at;
    union {
        struct tc_slice text; /* of a scalar: as written, unescaped */
        struct {              /* of a list, mapping or set */
            struct tc_yaml_entry *first;
            size_t count;
        };
    };
};

/* An item of a list, or a pair of a mapping. */
struct tc_yaml_entry {
    struct tc_yaml_node *key; /* NULL in a list */
    struct tc_yaml_node *value;
    struct tc_yaml_entry *next;
    struct tc_yaml_place at; /* of the value where it is used: of an alias, not of its anchor */
    bool is_merged;          /* came by a merge key */
    bool is_overridden;      /* a later pair has the same key */
};

/* Which of them found what is wrong. */
enum tc_yaml_stage { TC_YAML_SCREEN, TC_YAML_PARSER, TC_YAML_TREE };

struct tc_yaml_failure {
    enum tc_yaml_stage stage;
    enum tc_yaml_fault fault;  /* of TC_YAML_TREE */
    size_t offset;             /* in the text; 0 where it is not known */
    struct tc_yaml_place last; /* of the event that was read last */
    struct tc_yaml_problem problem;
};

/* All in an arena of its own. Invariant: with a root, or nothing was read. */
struct tc_yaml_tree {
    struct tc_block *block;
    struct tc_arena arena;
    struct tc_yaml_node *root; /* NULL: the text has no document */
    size_t node_count;
    size_t entry_count;
};

/*
 * Reads a text. Borrows the options, which outlive the tree. *out is to be destroyed, whatever is
 * returned: after TC_E_MALFORMED, TC_E_UNSUPPORTED or TC_E_LIMIT, which come with *out_failure, it
 * has what was read until then. TC_E_NOMEM.
 */
TC_CHECKED tc_status tc_yaml_tree_read(struct tc_slice text, const struct tc_yaml_options *options,
                                       struct tc_yaml_tree *out,
                                       struct tc_yaml_failure *out_failure);
void tc_yaml_tree_fini(struct tc_yaml_tree *t);

/* The words and the status of a fault. */
const char *tc_yaml_fault_words(const struct tc_yaml_options *options, enum tc_yaml_fault fault);
tc_status tc_yaml_fault_status(enum tc_yaml_fault fault);

static inline bool tc_yaml_is_collection(const struct tc_yaml_node *n)
{
    return n->kind == TC_YAML_LIST || n->kind == TC_YAML_MAPPING || n->kind == TC_YAML_SET;
}

/* Of a scalar; empty for everything else. */
static inline struct tc_slice tc_yaml_text(const struct tc_yaml_node *n)
{
    return tc_yaml_is_collection(n) ? TC_EMPTY : n->text;
}

/* The first entry of a collection; NULL for everything else. */
static inline const struct tc_yaml_entry *tc_yaml_first(const struct tc_yaml_node *n)
{
    return n != NULL && tc_yaml_is_collection(n) ? n->first : NULL;
}

/* What an INT or REAL is worth, 0 or 1 for a BOOL, by the schema it was resolved by. */
struct tc_yaml_number {
    double real;
    uint64_t magnitude; /* INT: without its sign; UINT64_MAX when it is more */
    bool is_negative;
    bool is_exact; /* INT: the magnitude is */
};
struct tc_yaml_number tc_yaml_number(const struct tc_yaml_node *n, enum tc_yaml_schema schema);

/* What a plain scalar is. TC_YAML_UNKNOWN: one that is refused. */
enum tc_yaml_kind tc_yaml_kind_of(struct tc_slice text, enum tc_yaml_schema schema);

#endif
