/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rules, for people. */
#include "base/format.h"
#include "contract/check_priv.h"

#define S(literal) TC_LIT(literal)
#define NEAREST_SHOWN 3
/* Where the rule of a short line begins. */
#define RULE_COLUMN 44

/* What every row says of its kind; words and numbers are put in by rule_text. */
static const char *const KIND_TEXTS[TC__RULE_KINDS] = {
    [TC__IS_MAPPING] = "mapping",
    [TC__IS_LIST] = "list",
    [TC__IS_STRING] = "non-empty string",
    [TC__IS_BOOL] = "boolean",
    [TC__IS_TRUE] = "true",
    [TC__IS_WORD] = "exactly ",
    [TC__IS_ONE_OF] = "one of ",
    [TC__AT_LEAST] = "integer >= ",
    [TC__BETWEEN] = "number >= ",
    [TC__HAS_ITEM] = "at least one entry",
    [TC__HAS_ALL] = "has ",
    [TC__HAS_ONE] = "has one of ",
    [TC__HAS_KEYS] = "has the keys ",
    [TC__HAS_SOURCES] = "has those that spec.intent.schedulerPath names, of ",
    [TC__IN_ORDER] = "hotDays <= warmDays <= coldDays",
    [TC__LAYERS] = "at least one enabled; has ",
    [TC__KNOWN] = "optional",
    [TC__OPEN] = "may have other keys",
    [TC__SAME_AS_WORKLOAD] = "values equal those of spec.workload",
    [TC__MIX] = "inputTokens >= 1, outputTokens >= 0, weights that sum to 1",
    [TC__IS_DIGEST] = "optional; sha256: and 64 hex digits",
    [TC__IS_PINNED] = "non-empty string; behind an @ a sha256 digest",
    [TC__DIFFERS] = "not the same as ",
    [TC__IS_PRICE] = "optional; a number > 0",
};

static void rule_text(struct tc_buf *b, const struct tc__rule *r)
{
    tc_buf_str(b, r->strict ? S("strict: ") : S(""));
    tc_buf_str(b, r->when == TC__TRAINING      ? S("training, mixed: ")
                  : r->when == TC__INFERENCE   ? S("inference, mixed: ")
                  : r->when == TC__PUBLICATION ? S("publication_grade: ")
                  : r->when == TC__REALISM     ? S("realism_grade: ")
                                               : S(""));
    bool has_low = r->kind == TC__AT_LEAST || r->kind == TC__BETWEEN;
    (void)tc_format(b, "{}{}{}", KIND_TEXTS[r->kind], tc_when(has_low, "{}", r->low),
                    tc_when(r->kind == TC__BETWEEN, " and < {}", r->high));
    if (r->words != NULL && r->kind != TC__IN_ORDER) {
        tc__check_words(b, r->words, ", ");
    }
}

static bool is_first_row(const struct tc__rule *r)
{
    return tc__contract_rule(tc_slice_cstr(r->path)) == r;
}

/* All rules of the path of `first`, with `between` between them. */
static void rules_text(struct tc_buf *b, const struct tc__rule *first, const char *between)
{
    size_t count = 0;
    const struct tc__rule *rules = tc__contract_rules(&count);
    bool is_next = false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rules[i].path, first->path) == 0) {
            tc_buf_str(b, is_next ? tc_slice_cstr(between) : S(""));
            rule_text(b, &rules[i]);
            is_next = true;
        }
    }
}

/* "name", and how deep it is. */
static struct tc_slice last_part(struct tc_slice path, size_t *out_depth)
{
    size_t start = 0;
    *out_depth = 0;
    for (size_t i = 0; i < path.len; i++) {
        if (path.ptr[i] == '.') {
            start = i + 1;
            *out_depth += 1;
        }
    }
    return tc_slice_from(path, start);
}

static void pad(struct tc_buf *b, size_t line, size_t column)
{
    do {
        tc_buf_char(b, ' ');
    } while (b->len - line < column);
}

/* One line: the last part of the path, indented below `base`, and its rules. */
static void short_line(struct tc_buf *b, const struct tc__rule *r, size_t base)
{
    size_t depth = 0;
    size_t line = b->len;
    struct tc_slice name = last_part(tc_slice_cstr(r->path), &depth);
    for (size_t i = base; i < depth; i++) {
        tc_buf_lit(b, "  ");
    }
    tc_buf_str(b, name);
    pad(b, line, RULE_COLUMN);
    rules_text(b, r, "; ");
    tc_buf_char(b, '\n');
}

static bool is_below(const struct tc__rule *r, struct tc_slice path)
{
    struct tc_slice at = tc_slice_cstr(r->path);
    return tc_slice_starts(at, path) && at.len > path.len &&
           (at.ptr[path.len] == '.' || at.ptr[path.len] == '[');
}

static void explain_one(struct tc_buf *b, const struct tc__rule *r)
{
    size_t count = 0;
    size_t depth = 0;
    const struct tc__rule *rules = tc__contract_rules(&count);
    struct tc_slice path = tc_slice_cstr(r->path);
    (void)last_part(path, &depth);
    (void)tc_format(b, "{}\n  {}\n  rule:     ", path, r->about);
    rules_text(b, r, "\n            ");
    if (r->example != NULL) {
        size_t unused = 0;
        (void)tc_format(b, "\n  example:  {}: {}", last_part(path, &unused), r->example);
    }
    tc_buf_char(b, '\n');
    bool has_below = false;
    for (size_t i = 0; i < count; i++) {
        if (is_below(&rules[i], path) && is_first_row(&rules[i])) {
            tc_buf_str(b, has_below ? S("") : S("  below it:\n"));
            has_below = true;
            short_line(b, &rules[i], depth - 1);
        }
    }
}

/* Indices of items as [], so that a path of a message can be asked for. */
static struct tc_slice normal_path(struct tc_slice path, char *text, size_t cap)
{
    struct tc_buf b = tc_buf_make(text, cap);
    for (size_t i = 0; i < path.len; i++) {
        bool is_digit = path.ptr[i] >= '0' && path.ptr[i] <= '9';
        if (!is_digit || b.len == 0 || text[b.len - 1] != '[') {
            tc_buf_char(&b, path.ptr[i]);
        }
    }
    return tc_buf_slice(&b);
}

static tc_status fail_unknown(struct tc_slice path, struct tc_error *err)
{
    size_t count = 0;
    size_t depth = 0;
    const struct tc__rule *rules = tc__contract_rules(&count);
    const char *nearest[NEAREST_SHOWN + 1] = {NULL};
    size_t distances[NEAREST_SHOWN] = {TC_DISTANCE_MAX, TC_DISTANCE_MAX, TC_DISTANCE_MAX};
    for (size_t i = 0; i < count; i++) {
        struct tc_slice name = last_part(tc_slice_cstr(rules[i].path), &depth);
        size_t by_name = tc_slice_distance(last_part(path, &depth), name);
        size_t by_path = tc_slice_distance(path, tc_slice_cstr(rules[i].path));
        size_t distance = by_name < by_path ? by_name : by_path;
        size_t at = NEAREST_SHOWN;
        while (is_first_row(&rules[i]) && at > 0 && distance < distances[at - 1]) {
            at--;
        }
        if (at < NEAREST_SHOWN && is_first_row(&rules[i])) {
            for (size_t j = NEAREST_SHOWN - 1; j > at; j--) {
                distances[j] = distances[j - 1];
                nearest[j] = nearest[j - 1];
            }
            distances[at] = distance;
            nearest[at] = rules[i].path;
        }
    }
    for (size_t i = 1; i < NEAREST_SHOWN; i++) {
        nearest[i] = distances[i] > distances[0] + 1 ? NULL : nearest[i];
    }
    char text[TC_ERROR_MESSAGE_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    tc__check_words(&b, nearest, " or ");
    text[b.len] = '\0';
    return tc_fail(err, TC_E_NOTFOUND, 0, "a contract has no such field; did you mean %s?", text);
}

tc_status tc_contract_explain(struct tc_slice path, struct tc_buf *out, struct tc_error *err)
{
    size_t count = 0;
    const struct tc__rule *rules = tc__contract_rules(&count);
    char text[TC__PATH_MAX];
    path = normal_path(tc_slice_head(path, sizeof text), text, sizeof text);
    const struct tc__rule *exact = tc__contract_rule(path);
    if (exact != NULL) {
        explain_one(out, exact);
        return TC_OK;
    }
    bool is_found = path.len == 0;
    for (size_t i = 0; i < count; i++) {
        struct tc_slice at = tc_slice_cstr(rules[i].path);
        if (!is_first_row(&rules[i])) {
            continue;
        }
        if (path.len == 0) {
            short_line(out, &rules[i], 0);
        } else if (tc_slice_ends(at, path) && at.ptr[at.len - path.len - 1] == '.') {
            tc_buf_str(out, is_found ? S("\n") : S(""));
            explain_one(out, &rules[i]);
            is_found = true;
        }
    }
    return is_found ? TC_OK : fail_unknown(path, err);
}

void tc_contract_explain_markdown(struct tc_buf *out)
{
    size_t count = 0;
    const struct tc__rule *rules = tc__contract_rules(&count);
    tc_buf_lit(out, "| field | rule | what it is |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < count; i++) {
        if (is_first_row(&rules[i])) {
            (void)tc_format(out, "| `{}` | ", rules[i].path);
            rules_text(out, &rules[i], "; ");
            (void)tc_format(out, " | {} |\n", rules[i].about);
        }
    }
}
