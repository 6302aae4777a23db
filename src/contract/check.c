/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules against a document, all of them in one pass. Which paths are told, and how often, is
 * what the original does: a mapping that is missing is told and then taken as empty, so that all
 * that is asked of its members is told as well.
 */
#include "base/format.h"
#include "contract/check_priv.h"

#include <stdlib.h>

#define S(literal) TC_LIT(literal)

struct tc_buf *tc__check_say(struct tc__check *k)
{
    /* One byte stays for the end. */
    k->message = tc_buf_make(k->message_text, sizeof k->message_text - 1);
    return &k->message;
}

void tc__check_tell(struct tc__check *k, const char *path, struct tc__value at, bool strict)
{
    k->message_text[k->message.len] = '\0';
    if (tc__check_is_full(k)) {
        return;
    }
    k->count++;
    if (tc__check_is_full(k)) {
        tc_buf_lit(tc__check_say(k), "there are more violations than these");
        k->message_text[k->message.len] = '\0';
        path = "document";
    }
    if (k->take != NULL) {
        k->take(k->context, &(struct tc_violation){.path = path,
                                                   .message = k->message_text,
                                                   .line = at.at.line,
                                                   .column = at.at.column,
                                                   .strict = strict});
    }
}

bool tc__check_is_full(const struct tc__check *k)
{
    return k->count > TC_CONTRACT_VIOLATIONS_MAX;
}

void tc__check_words(struct tc_buf *b, const char *const *words, const char *before_last)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        if (i > 0) {
            tc_buf_str(b, words[i + 1] == NULL ? tc_slice_cstr(before_last) : S(", "));
        }
        tc_buf_str(b, tc_slice_cstr(words[i]));
    }
}

void tc__check_quote(struct tc_buf *b, struct tc_slice s)
{
    tc_buf_char(b, '"');
    tc_buf_printable(b, tc_slice_head(s, TC__QUOTED_MAX));
    tc_buf_str(b, s.len > TC__QUOTED_MAX ? S("...\"") : S("\""));
}

static const char *check_nearest(struct tc_slice s, const char *const *words)
{
    size_t nearest = s.len / 3 + 1;
    const char *found = NULL;
    for (size_t i = 0; words[i] != NULL; i++) {
        size_t distance = tc_slice_distance(s, tc_slice_cstr(words[i]));
        if (distance < nearest) {
            nearest = distance;
            found = words[i];
        }
    }
    return found;
}

static const char *const KIND_NAMES[] = {
    [TC_YAML_NULL] = "null",         [TC_YAML_BOOL] = "boolean ",  [TC_YAML_INT] = "integer ",
    [TC_YAML_REAL] = "number ",      [TC_YAML_STRING] = "string ", [TC_YAML_TIME] = "date ",
    [TC_YAML_BYTES] = "binary data", [TC_YAML_LIST] = "a list",    [TC_YAML_MAPPING] = "a mapping",
    [TC_YAML_SET] = "a set",         [TC_YAML_UNKNOWN] = "", /* not by this schema */
};

static void write_found(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_yaml_node *n = arg->object;
    tc_buf_lit(b, ", found ");
    if (n == NULL) {
        tc_buf_lit(b, "nothing");
        return;
    }
    struct tc_slice text = tc_yaml_text(n);
    if (n->kind == TC_YAML_STRING && text.len == 0) {
        tc_buf_lit(b, "an empty string");
        return;
    }
    tc_buf_str(b, tc_slice_cstr(KIND_NAMES[n->kind]));
    if (n->kind == TC_YAML_STRING) {
        tc__check_quote(b, text);
    } else if (n->kind == TC_YAML_BOOL || n->kind == TC_YAML_INT || n->kind == TC_YAML_REAL ||
               n->kind == TC_YAML_TIME) {
        tc_buf_printable(b, tc_slice_head(text, TC__QUOTED_MAX));
    }
}

struct tc_arg tc__as_found(struct tc__value v)
{
    return tc_as_written(write_found, v.node);
}

static void write_printable(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_buf_printable(b, tc_slice_head(arg->text, TC__QUOTED_MAX));
}

struct tc_arg tc__as_printable(struct tc_slice text)
{
    return (struct tc_arg){.write = write_printable, .text = text};
}

/* When the rule that is broken counts. */
static void put_when(struct tc_buf *b, unsigned when)
{
    tc_buf_str(b, when == TC__TRAINING      ? S(" (training and mixed)")
                  : when == TC__INFERENCE   ? S(" (inference and mixed)")
                  : when == TC__PUBLICATION ? S(" (publication_grade)")
                  : when == TC__REALISM     ? S(" (realism_grade)")
                                            : S(""));
}

static void tell_expected(struct tc__check *k, const struct tc__rule *r, struct tc__value v,
                          const char *what)
{
    struct tc_buf *b = tc__check_say(k);
    (void)tc_format(b, "{}{}", what, tc__as_found(v));
    if (r->kind == TC__IS_STRING && v.node != NULL && v.node->is_plain &&
        v.node->kind != TC_YAML_STRING && v.node->kind != TC_YAML_NULL) {
        tc_buf_lit(b, "; write it in quotes");
    }
    bool wants_bool = r->kind == TC__IS_BOOL || r->kind == TC__IS_TRUE;
    if (wants_bool && v.node != NULL && v.node->kind == TC_YAML_STRING && !v.node->is_plain) {
        tc_buf_lit(b, "; write it without quotes");
    }
    put_when(b, r->when);
    tc__check_tell(k, r->path, v, r->strict);
}

static bool is_kind(struct tc__value v, enum tc_yaml_kind kind)
{
    return v.node != NULL && v.node->kind == kind;
}

static bool is_word(const struct tc_yaml_node *n, const char *word)
{
    return n->kind == TC_YAML_STRING && tc_slice_eq(tc_yaml_text(n), tc_slice_cstr(word));
}

static bool is_filled(struct tc__value v)
{
    return is_kind(v, TC_YAML_STRING) && v.node->text.len > 0;
}

static bool is_true(struct tc__value v)
{
    return is_kind(v, TC_YAML_BOOL) && tc__contract_number(v.node) > 0;
}

/* Python's True is the integer 1, and the original lets it pass where 1 does. */
static bool is_at_least(struct tc__value v, double low)
{
    return (is_kind(v, TC_YAML_INT) || is_kind(v, TC_YAML_BOOL)) &&
           tc__contract_number(v.node) >= low;
}

static bool list_has(struct tc__value list, const char *word)
{
    if (!is_kind(list, TC_YAML_LIST)) {
        return false;
    }
    for (const struct tc_yaml_entry *e = tc_yaml_first(list.node); e != NULL; e = e->next) {
        if (is_word(e->value, word)) {
            return true;
        }
    }
    return false;
}

static void check_one_of(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    for (size_t i = 0; v.node != NULL && r->words[i] != NULL; i++) {
        if (is_word(v.node, r->words[i])) {
            return;
        }
    }
    struct tc_buf *b = tc__check_say(k);
    tc_buf_str(b, r->words[1] == NULL ? S("expected ") : S("expected one of "));
    tc__check_words(b, r->words, ", ");
    (void)tc_format(b, "{}", tc__as_found(v));
    const char *nearest =
        is_kind(v, TC_YAML_STRING) ? check_nearest(tc_yaml_text(v.node), r->words) : NULL;
    if (nearest != NULL && r->words[1] != NULL) {
        (void)tc_format(b, "; did you mean {}?", nearest);
    }
    tc__check_tell(k, r->path, v, r->strict);
}

/* Lists and mappings cannot be names; the original breaks off over them. */
static void check_items(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    const struct tc_yaml_entry *e =
        is_kind(v, TC_YAML_LIST) && !v.node->is_pairs ? v.node->first : NULL;
    for (size_t i = 0; !tc__check_is_full(k) && e != NULL; e = e->next, i++) {
        struct tc__value item = {e->value, e->at};
        if (item.node->kind == TC_YAML_LIST || item.node->kind == TC_YAML_MAPPING ||
            item.node->kind == TC_YAML_SET) {
            tc__check_tell_that(k, r->path, item, false, "expected names, but item {} is {}", i,
                                KIND_NAMES[item.node->kind]);
        }
    }
}

static bool is_first_of_path(const struct tc__rule *r)
{
    size_t count = 0;
    for (const struct tc__rule *at = tc__contract_rules(&count); at < r; at++) {
        if (at->kind == r->kind && strcmp(at->path, r->path) == 0) {
            return false;
        }
    }
    return true;
}

static void check_has_all(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    struct tc_buf *b = tc__check_say(k);
    bool is_missing = false;
    tc_buf_lit(b, "missing ");
    for (size_t i = 0; r->words[i] != NULL; i++) {
        bool has = r->kind == TC__HAS_KEYS
                       ? tc__contract_pair(v.node, tc_slice_cstr(r->words[i])) != NULL
                       : list_has(v, r->words[i]);
        if (!has) {
            (void)tc_format(b, "{}{}", is_missing ? ", " : "", r->words[i]);
            is_missing = true;
        }
    }
    if (is_missing) {
        put_when(b, r->when);
        tc__check_tell(k, r->path, v, r->strict);
    }
    if (r->kind == TC__HAS_ALL && is_first_of_path(r)) {
        check_items(k, r, v);
    }
}

static void check_has_one(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    for (size_t i = 0; r->words[i] != NULL; i++) {
        if (list_has(v, r->words[i])) {
            return;
        }
    }
    struct tc_buf *b = tc__check_say(k);
    tc_buf_lit(b, "missing ");
    tc__check_words(b, r->words, " or ");
    put_when(b, r->when);
    tc__check_tell(k, r->path, v, false);
}

/* Whether a string in the value has the word in it: what Python's str() of it would show. Every
 * node is looked at once, whatever aliases there are. */
static bool mentions(const struct tc_contract *c, const struct tc_yaml_node *n,
                     struct tc_slice word)
{
    if (n == NULL || n->kind == TC_YAML_STRING) {
        return n != NULL && tc_slice_contains(tc_yaml_text(n), word);
    }
    const struct tc_yaml_node **todo = calloc(c->tree.node_count, sizeof *todo);
    bool *seen = calloc(c->tree.node_count, sizeof *seen);
    bool found = false;
    size_t count = 0;
    if (todo != NULL && seen != NULL) {
        todo[count++] = n;
    }
    while (!found && count > 0) {
        const struct tc_yaml_node *now = todo[--count];
        found = now->kind == TC_YAML_STRING && tc_slice_contains(now->text, word);
        for (const struct tc_yaml_entry *e = tc_yaml_first(now); e != NULL; e = e->next) {
            const struct tc_yaml_node *next[] = {e->key, e->value};
            for (size_t i = 0; i < 2; i++) {
                if (next[i] != NULL && !seen[next[i]->number]) {
                    seen[next[i]->number] = true;
                    todo[count++] = next[i];
                }
            }
        }
    }
    free(todo);
    free(seen);
    return found;
}

static void check_sources(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    struct tc__value path =
        tc__contract_find(tc__contract_root(k->c), S("spec.intent.schedulerPath"));
    for (size_t i = 0; r->words[i] != NULL; i++) {
        if (mentions(k->c, path.node, tc_slice_cstr(r->words[i])) && !list_has(v, r->words[i])) {
            tc__check_tell_that(k, r->path, v, false,
                                "missing {}, which spec.intent.schedulerPath names", r->words[i]);
        }
    }
}

static void check_order(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    double last = 0;
    bool in_order = true;
    for (size_t i = 0; r->words[i] != NULL; i++) {
        const struct tc_yaml_entry *e = tc__contract_pair(v.node, tc_slice_cstr(r->words[i]));
        struct tc__value days = {e == NULL ? NULL : e->value, {0, 0}};
        if (!is_at_least(days, 1)) {
            return; /* told by the row of that tier */
        }
        double now = tc__contract_number(days.node);
        in_order = in_order && now >= last;
        last = now;
    }
    if (!in_order) {
        tc__check_tell_that(k, r->path, v, false, "must satisfy hotDays <= warmDays <= coldDays");
    }
}

/* Path of a member of an item; what follows "spec.layers[2]". */
const char *tc__check_item(char *text, size_t cap, const char *list, size_t i, const char *member)
{
    struct tc_buf b = tc_buf_make(text, cap - 1);
    (void)tc_format(&b, "{}[{}]{}", list, i, member);
    text[b.len] = '\0';
    return text;
}

/* One layer; true when it is enabled. Its name goes to *out_name unless it has none. */
static bool check_layer(struct tc__check *k, const char *list, size_t i, struct tc__value item,
                        struct tc_slice *out_name)
{
    char path[TC__PATH_MAX];
    struct tc__rule r = {.path = tc__check_item(path, sizeof path, list, i, "")};
    struct tc__value name = {NULL, item.at};
    if (is_kind(item, TC_YAML_MAPPING)) {
        name = tc__contract_find(item, S("name"));
    } else {
        tell_expected(k, &r, item, "expected mapping");
    }
    if (!is_filled(name)) {
        r = (struct tc__rule){.path = tc__check_item(path, sizeof path, list, i, ".name"),
                              .kind = TC__IS_STRING};
        tell_expected(k, &r, name, "expected non-empty string");
        return false;
    }
    *out_name = tc_yaml_text(name.node);
    struct tc__value enabled = tc__contract_find(item, S("enabled"));
    if (!is_kind(enabled, TC_YAML_BOOL)) {
        r = (struct tc__rule){.path = tc__check_item(path, sizeof path, list, i, ".enabled"),
                              .kind = TC__IS_BOOL};
        tell_expected(k, &r, enabled, "expected boolean");
        return false;
    }
    struct tc__value suites = tc__contract_find(item, S("suites"));
    r = (struct tc__rule){.path = tc__check_item(path, sizeof path, list, i, ".suites")};
    if (!is_kind(suites, TC_YAML_LIST)) {
        tell_expected(k, &r, suites, "expected list");
    }
    if (is_true(enabled) && (!is_kind(suites, TC_YAML_LIST) || suites.node->count == 0)) {
        tc__check_tell_that(k, r.path, suites, false, "an enabled layer needs at least one suite");
    }
    return is_true(enabled);
}

static void check_layers(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    bool has[8] = {false};
    bool is_enabled = false;
    const struct tc_yaml_entry *e = is_kind(v, TC_YAML_LIST) ? v.node->first : NULL;
    for (size_t i = 0; !tc__check_is_full(k) && e != NULL; e = e->next, i++) {
        struct tc_slice name = TC_EMPTY;
        struct tc__value item = {e->value, e->at};
        is_enabled = check_layer(k, r->path, i, item, &name) || is_enabled;
        for (size_t w = 0; r->words[w] != NULL && w < sizeof has; w++) {
            has[w] = has[w] || tc_slice_eq(name, tc_slice_cstr(r->words[w]));
        }
    }
    if (!is_enabled) {
        tc__check_tell_that(k, r->path, v, false, "at least one layer must be enabled");
    }
    struct tc_buf *b = tc__check_say(k);
    bool is_missing = false;
    tc_buf_lit(b, "missing layer ");
    for (size_t w = 0; r->words[w] != NULL && w < sizeof has; w++) {
        if (!has[w]) {
            (void)tc_format(b, "{}{}", is_missing ? ", " : "", r->words[w]);
            is_missing = true;
        }
    }
    if (is_missing) {
        tc__check_tell(k, r->path, v, false);
    }
}

static void check_number(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    char text[64];
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    if (r->kind == TC__AT_LEAST) {
        if (is_at_least(v, r->low)) {
            return;
        }
        (void)tc_format(&b, "must be an integer >= {}", r->low);
    } else {
        bool is_number = is_kind(v, TC_YAML_REAL) || is_kind(v, TC_YAML_INT);
        double number = is_number ? tc__contract_number(v.node) : 0;
        if (is_number && number >= r->low && number < r->high) {
            return;
        }
        (void)tc_format(&b, "must be a number >= {} and < {}", r->low, r->high);
    }
    text[b.len] = '\0';
    tell_expected(k, r, v, text);
}

static void check_kind(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    static const struct {
        enum tc_yaml_kind kind;
        const char *expected;
    } kinds[] = {
        [TC__IS_MAPPING] = {TC_YAML_MAPPING, "expected mapping"},
        [TC__IS_LIST] = {TC_YAML_LIST, "expected list"},
        [TC__IS_STRING] = {TC_YAML_STRING, "expected non-empty string"},
        [TC__IS_BOOL] = {TC_YAML_BOOL, "expected boolean"},
        [TC__IS_TRUE] = {TC_YAML_BOOL, "must be true"},
    };
    bool holds = is_kind(v, kinds[r->kind].kind) && (r->kind != TC__IS_STRING || is_filled(v)) &&
                 (r->kind != TC__IS_TRUE || is_true(v));
    if (!holds) {
        tell_expected(k, r, v, kinds[r->kind].expected);
    }
}

static void check_has_item(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    if (!is_kind(v, TC_YAML_LIST) || v.node->count == 0) {
        tc__check_tell_that(k, r->path, v, false, "needs at least one entry");
    }
}

/* NULL: nothing is asked, or only by strict. */
static const tc__check_fn CHECKS[TC__RULE_KINDS] = {
    [TC__IS_MAPPING] = check_kind,  [TC__IS_LIST] = check_kind,
    [TC__IS_STRING] = check_kind,   [TC__IS_BOOL] = check_kind,
    [TC__IS_TRUE] = check_kind,     [TC__IS_WORD] = check_one_of,
    [TC__IS_ONE_OF] = check_one_of, [TC__AT_LEAST] = check_number,
    [TC__BETWEEN] = check_number,   [TC__HAS_ITEM] = check_has_item,
    [TC__HAS_ALL] = check_has_all,  [TC__HAS_KEYS] = check_has_all,
    [TC__HAS_ONE] = check_has_one,  [TC__HAS_SOURCES] = check_sources,
    [TC__IN_ORDER] = check_order,   [TC__LAYERS] = check_layers,
};

/* What holds for this contract; what cannot be told counts as the strictest. */
static unsigned conditions(const struct tc_contract *c)
{
    struct tc_slice type = tc__contract_string(c, "spec.intent.workloadType");
    struct tc_slice class = tc__contract_string(c, "spec.intent.benchmarkClass");
    unsigned when = tc_slice_eq(class, S("realism_grade")) ? TC__REALISM : TC__PUBLICATION;
    when |= tc_slice_eq(type, S("inference")) ? 0 : TC__TRAINING;
    when |= tc_slice_eq(type, S("training")) ? 0 : TC__INFERENCE;
    return when;
}

size_t tc_contract_check(const struct tc_contract *c, bool strict,
                         void (*take)(void *context, const struct tc_violation *v), void *context)
{
    struct tc__check k = {.c = c, .take = take, .context = context, .strict = strict};
    struct tc__value root = tc__contract_root(c);
    if (root.node->kind != TC_YAML_MAPPING) {
        tc__check_tell_that(&k, "document", root, false, "expected YAML mapping");
        return k.count;
    }
    k.when = conditions(c);
    size_t count = 0;
    const struct tc__rule *rules = tc__contract_rules(&count);
    for (size_t i = 0; i < count; i++) {
        const struct tc__rule *r = &rules[i];
        if ((r->strict && !strict) || (r->when != 0 && (r->when & k.when) == 0) ||
            strstr(r->path, "[]") != NULL) {
            continue;
        }
        struct tc__value v = tc__contract_find(root, tc_slice_cstr(r->path));
        if (CHECKS[r->kind] != NULL) {
            CHECKS[r->kind](&k, r, v);
        }
        if (strict && tc__strict_checks[r->kind] != NULL) {
            tc__strict_checks[r->kind](&k, r, v);
        }
    }
    if (strict) {
        tc__strict_keys(&k);
    }
    return k.count;
}
