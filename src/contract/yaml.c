/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contract's text into its tree. One document, as PyYAML's safe_load takes it: an anchor once, an
 * alias only behind it, keys that are scalars, no tags of others.
 */
#include "base/limits.h"
#include "contract/contract_priv.h"

#include <stdlib.h>

#define S(literal) TC_LIT(literal)
#define ANCHORS_MAX 256

static const char *const WORDS[TC_YAML_FAULT_COUNT] = {
    [TC_YAML_FAULT_TOO_MANY] = "too many values for a contract",
    [TC_YAML_FAULT_MANY_KEYS] = "too many keys in one mapping",
    [TC_YAML_FAULT_MANY_ANCHORS] = "too many anchors for a contract",
    [TC_YAML_FAULT_TAG] = "a tag that a contract cannot have",
    [TC_YAML_FAULT_TAG_VALUE] = "the value does not fit its tag",
    [TC_YAML_FAULT_INTEGER] = "an integer that cannot be read",
    [TC_YAML_FAULT_NUMBER] = "a number that cannot be read",
    [TC_YAML_FAULT_KEY] = "a key that is not a scalar",
    [TC_YAML_FAULT_ALIAS] = "an alias without an anchor before it",
    [TC_YAML_FAULT_DOCUMENTS] = "a second document; a contract is one",
    [TC_YAML_FAULT_JSON_NUMBER] = "JSON has no such number, so the contract has no digest",
    [TC_YAML_FAULT_JSON_VALUE] = "JSON has no such value, so the contract has no digest",
};

const struct tc_yaml_options tc__contract_options = {
    .schema = TC_YAML_PYTHON_1_1,
    .places = TC_YAML_AT_SIGN,
    .depth_max = TC_JSON_DEPTH_MAX,
    .values_max = TC__CONTRACT_NODES_MAX,
    .keys_max = TC__CONTRACT_KEYS_MAX,
    .anchors_max = ANCHORS_MAX,
    .json_max = TC__CONTRACT_JSON_MAX,
    .json_alias_max = SIZE_MAX,
    .own_words = WORDS,
};

/* "%YAML 1.1" before "---" says what is so anyway; the screen lets no directive through. */
static bool skip_version(struct tc_slice *io_text)
{
    struct tc_slice rest = TC_EMPTY;
    struct tc_slice line = tc_slice_trim(tc_slice_cut(*io_text, '\n', &rest));
    bool is_version = (tc_slice_eq(line, S("%YAML 1.1")) || tc_slice_eq(line, S("%YAML 1.2"))) &&
                      tc_slice_starts(rest, S("---"));
    *io_text = is_version ? rest : *io_text;
    return is_version;
}

static tc_status say_failure(const struct tc_yaml_failure *f, tc_status status,
                             struct tc_error *err)
{
    struct tc_yaml_place at = f->problem.at;
    const char *no_yaml = f->stage == TC_YAML_PARSER ? "no YAML: " : "";
    if (status == TC_E_NOMEM) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the contract");
    }
    if (at.line > 0) {
        return tc_fail(err, TC_E_MALFORMED, f->offset, "line %u, column %u: %s%s", at.line,
                       at.column, no_yaml, f->problem.text);
    }
    return f->stage == TC_YAML_PARSER
               ? tc_fail(err, TC_E_MALFORMED, 0, "%s%s", no_yaml, f->problem.text)
               : tc_fail(err, TC_E_MALFORMED, 0, "more than one document");
}

tc_status tc_contract_parse(struct tc_slice text, struct tc_contract **out_contract,
                            struct tc_error *err)
{
    static const struct tc_yaml_node nothing = {.kind = TC_YAML_NULL, .at = {1, 1}};
    struct tc_yaml_options options = tc__contract_options;
    struct tc_yaml_failure failure;
    *out_contract = NULL;
    if (text.len > TC_CONTRACT_BYTES_MAX) {
        return tc_fail(err, TC_E_MALFORMED, TC_CONTRACT_BYTES_MAX,
                       "%zu bytes; a contract has at most %zu", text.len, TC_CONTRACT_BYTES_MAX);
    }
    struct tc_contract *c = calloc(1, sizeof *c);
    struct tc__text **texts = calloc(1, sizeof(struct tc__text *));
    if (c == NULL || texts == NULL) {
        free(c);
        free(texts);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the contract");
    }
    c->texts = texts;
    options.lines_before = skip_version(&text) ? 1 : 0;
    tc_status status = tc_yaml_tree_read(text, &options, &c->tree, &failure);
    if (status != TC_OK) {
        tc_contract_destroy(c);
        return say_failure(&failure, status, err);
    }
    /* An empty stream is an empty document. */
    c->root = c->tree.root == NULL ? &nothing : c->tree.root;
    *out_contract = c;
    return TC_OK;
}

void tc_contract_destroy(struct tc_contract *c)
{
    if (c == NULL) {
        return;
    }
    for (struct tc__text *t = *c->texts; t != NULL;) {
        struct tc__text *next = t->next;
        free(t->bytes);
        free(t);
        t = next;
    }
    free(c->texts);
    tc_yaml_tree_fini(&c->tree);
    free(c);
}
