/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/value_priv.h"

#include "base/time.h"
#include "codec/otlp/tape_priv.h"

#include <math.h>

#define S(literal) TC_LIT(literal)

/* A double of less than this fits int64_t. */
#define INTEGER_DOUBLE_MAX 9.2e18

static struct tc__value member(struct tc_json v, struct tc_slice key, bool any)
{
    struct tc__value out = {.any = any};
    out.there = tc_json_get(v, key, &out.v);
    return out;
}

static const struct tc__otlp_node *node_of(struct tc_json v)
{
    return &((const struct tc_otlp_tape *)v.doc)->nodes[v.at];
}

/* A member of a message on a tape: by its name in JSON. Of one that came twice the last counts, as
 * protobuf has it. */
static struct tc__value tape_member(struct tc__value v, struct tc_slice key)
{
    const struct tc_otlp_tape *tape = v.v.doc;
    unsigned keep = tc__otlp_keep_by_name(key);
    struct tc__value out = {0};
    for (size_t at = v.v.at + 1; keep != TC__OTLP_K_NONE && at < node_of(v.v)->next;
         at = tape->nodes[at].next) {
        if (tape->nodes[at].keep == keep) {
            out = (struct tc__value){.v = {tape, at}, .there = true, .tape = true};
        }
    }
    return out;
}

struct tc__value tc__value_get(struct tc__value v, struct tc_slice key)
{
    if (!v.there) {
        return v;
    }
    if (v.tape && node_of(v.v)->type == TC__OTLP_N_MESSAGE) {
        return tape_member(v, key);
    }
    if (!v.tape && !v.any) {
        return member(v.v, key, false);
    }
    struct tc__value_iter it = tc__value_iter(v);
    struct tc_slice name;
    struct tc__value value;
    while (it.pairs && tc__value_next(&it, &name, &value)) {
        if (tc_slice_eq(name, key)) {
            return value;
        }
    }
    return (struct tc__value){0};
}

struct tc_slice tc__value_text(struct tc__value v)
{
    struct tc_slice s = TC_EMPTY;
    if (!v.there) {
        return s;
    }
    if (v.tape) {
        return node_of(v.v)->type == TC__OTLP_N_STRING ? tc__otlp_node_text(v.v.doc, node_of(v.v))
                                                       : s;
    }
    if (v.any) {
        return tc_json_get_string(v.v, S("stringValue"));
    }
    (void)tc_json_string(v.v, &s);
    return s;
}

struct tc_slice tc__value_string(struct tc__value v, struct tc_slice key)
{
    return tc__value_text(tc__value_get(v, key));
}

static int64_t tape_number(struct tc__value v, int64_t fallback)
{
    const struct tc__otlp_node *n = node_of(v.v);
    int64_t number = fallback;
    if (n->type == TC__OTLP_N_INT) {
        return n->integer;
    }
    if (n->type == TC__OTLP_N_DOUBLE && floor(n->number) == n->number &&
        fabs(n->number) < INTEGER_DOUBLE_MAX) {
        return (int64_t)n->number;
    }
    if (n->type == TC__OTLP_N_STRING) {
        (void)tc_slice_is_i64(tc__otlp_node_text(v.v.doc, n), &number);
    }
    return number;
}

int64_t tc__value_number(struct tc__value v, int64_t fallback)
{
    int64_t number = fallback;
    if (!v.there) {
        return fallback;
    }
    if (v.tape) {
        return tape_number(v, fallback);
    }
    if (!v.any) {
        (void)tc_json_int(v.v, &number);
        return number;
    }
    /* A pulled object passed through JSON on its way: its integers may be doubles. */
    static const struct tc_slice types[] = {
        {"intValue", sizeof "intValue" - 1},
        {"doubleValue", sizeof "doubleValue" - 1},
        {"stringValue", sizeof "stringValue" - 1},
    };
    for (size_t i = 0; i < TC_COUNT(types); i++) {
        struct tc__value typed = member(v.v, types[i], false);
        if (typed.there && tc_json_int(typed.v, &number)) {
            break;
        }
    }
    return number;
}

int64_t tc__value_int(struct tc__value v, struct tc_slice key, int64_t fallback)
{
    return tc__value_number(tc__value_get(v, key), fallback);
}

struct tc__value_iter tc__value_iter(struct tc__value v)
{
    struct tc__value_iter out = {.it = {v.v, v.v, false}, .any = v.any};
    if (!v.there) {
        return out;
    }
    if (v.tape) {
        unsigned type = node_of(v.v)->type;
        out.tape = true;
        out.pairs = type == TC__OTLP_N_PAIRS;
        if (out.pairs || type == TC__OTLP_N_ARRAY) {
            out.it.now.at = v.v.at + 1;
            out.it.end.at = node_of(v.v)->next;
        }
        return out;
    }
    if (!v.any) {
        out.it = tc_json_iter_make(v.v);
        return out;
    }
    struct tc__value list = member(v.v, S("kvlistValue"), false);
    out.pairs = list.there;
    if (!list.there) {
        list = member(v.v, S("arrayValue"), false);
    }
    struct tc__value values = tc__value_get(list, S("values"));
    if (values.there) {
        out.it = tc_json_iter_make(values.v);
    }
    return out;
}

/*
 * The next node of the list; of pairs only those of an attribute's or a list's count: a message has
 * other members too. Attributes that came before are read where they are. False at the end.
 */
static bool tape_find(struct tc__value_iter *it)
{
    const struct tc_otlp_tape *tape = it->it.now.doc;
    for (;;) {
        size_t at = it->it.now.at;
        if (at >= it->it.end.at) {
            if (it->back == 0) {
                return false;
            }
            it->it.now.at = it->back;
            it->it.end.at = it->back_end;
            it->back = 0;
            continue;
        }
        const struct tc__otlp_node *n = &tape->nodes[at];
        if (!it->pairs || n->type == TC__OTLP_N_PAIR) {
            return true;
        }
        it->it.now.at = n->next;
        if (n->type == TC__OTLP_N_AGAIN) {
            it->back = n->next;
            it->back_end = it->it.end.at;
            it->it.now.at = n->at;
            it->it.end.at = n->at + n->length;
        }
    }
}

static bool tape_next(struct tc__value_iter *it, struct tc_slice *out_key, struct tc__value *out)
{
    const struct tc_otlp_tape *tape = it->it.now.doc;
    struct tc_slice key = TC_EMPTY;
    if (!tape_find(it)) {
        return false;
    }
    size_t at = it->it.now.at;
    const struct tc__otlp_node *n = &tape->nodes[at];
    it->it.now.at = n->next;
    bool there = true;
    if (it->pairs) {
        key = tc__otlp_node_text(tape, n);
        there = n->next > at + 1;
        at++;
    }
    if (out_key != NULL) {
        *out_key = key;
    }
    *out = (struct tc__value){.v = {tape, at}, .there = there, .tape = true};
    return true;
}

bool tc__value_next(struct tc__value_iter *it, struct tc_slice *out_key, struct tc__value *out)
{
    if (it->tape) {
        return tape_next(it, out_key, out);
    }
    struct tc_slice key = TC_EMPTY;
    struct tc__value value = {.there = true, .any = it->any};
    if (!tc_json_iter_next(&it->it, &key, &value.v)) {
        return false;
    }
    if (it->pairs) {
        key = tc_json_get_string(value.v, S("key"));
        value = member(value.v, S("value"), true);
    }
    if (out_key != NULL) {
        *out_key = key;
    }
    *out = value;
    return true;
}

/* A list of {key, value}, as resources and records carry it, to be read as an object. */
struct tc__value_iter tc__value_attributes(struct tc__value owner)
{
    if (owner.tape && owner.there) {
        struct tc_json end = {owner.v.doc, node_of(owner.v)->next};
        struct tc_json now = {owner.v.doc, owner.v.at + 1};
        return (struct tc__value_iter){.it = {now, end, false}, .pairs = true, .tape = true};
    }
    struct tc__value_iter it = tc__value_iter(tc__value_get(owner, S("attributes")));
    it.pairs = !it.it.is_object;
    return it;
}

int64_t tc__value_unix_nano(struct tc__value v, struct tc_slice key)
{
    int64_t ns = tc__value_int(v, key, 0);
    return ns > 0 && ns <= TC_TIME_MAX ? ns : TC_TIME_NONE;
}
