/* SPDX-License-Identifier: Apache-2.0 */
/* A check while it runs: shared by the rules of the original and those of strict. */
#ifndef TC_CONTRACT_CHECK_PRIV_H
#define TC_CONTRACT_CHECK_PRIV_H

#include "base/format.h"
#include "contract/contract_priv.h"
#include "contract/rules_priv.h"

#define TC__PATH_MAX 512
#define TC__MESSAGE_MAX 1024
/* Of a value that is quoted in a message. */
#define TC__QUOTED_MAX 64

struct tc__check {
    const struct tc_contract *c;
    void (*take)(void *context, const struct tc_violation *v);
    void *context;
    size_t count;
    unsigned when; /* TC__TRAINING, ... that hold for this contract */
    bool strict;   /* asked for */
    char message_text[TC__MESSAGE_MAX];
    struct tc_buf message;
};

/* A message is begun, written into, and told. */
struct tc_buf *tc__check_say(struct tc__check *k);
void tc__check_tell(struct tc__check *k, const char *path, struct tc__value at, bool strict);
/* Nothing more is told: loops over what a document has many of end. */
bool tc__check_is_full(const struct tc__check *k);
/* Both at once, for a message that is one format. */
#define tc__check_tell_that(k, path, at, strict, ...) \
    ((void)tc_format(tc__check_say(k), __VA_ARGS__), tc__check_tell((k), (path), (at), (strict)))
/* ", found a list": what a value is instead. */
struct tc_arg tc__as_found(struct tc__value v);
/* The beginning of a text, without what no terminal should get. */
struct tc_arg tc__as_printable(struct tc_slice text);
/* "a, b or c". */
void tc__check_words(struct tc_buf *b, const char *const *words, const char *before_last);
void tc__check_quote(struct tc_buf *b, struct tc_slice s);
/* "spec.layers[2].name" into text. */
const char *tc__check_item(char *text, size_t cap, const char *list, size_t i, const char *member);

/* One rule of some kind against the value at its path. */
typedef void (*tc__check_fn)(struct tc__check *k, const struct tc__rule *r, struct tc__value v);
/* strict.c: what strict asks besides, by the kind of the rule (NULL: nothing), and keys that nobody
 * knows. */
extern const tc__check_fn tc__strict_checks[TC__RULE_KINDS];
void tc__strict_keys(struct tc__check *k);

#endif
