/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml/json.h"

#include "base/limits.h"
#include "base/table/grow.h"
#include "base/yaml/scalar_priv.h"

#include <string.h>

#define S(literal) TC_LIT(literal)

/* Values, members and aliases of one document. A text of 64 MiB with more is hardly a result. */
#define VALUES_MAX ((size_t)8 << 20)
#define KEYS_MAX ((size_t)1 << 20)

static const struct tc_yaml_options CORE = {
    .schema = TC_YAML_CORE_1_2,
    .places = TC_YAML_AT_TEXT,
    .depth_max = TC_JSON_DEPTH_MAX,
    .values_max = VALUES_MAX,
    .keys_max = KEYS_MAX,
    .anchors_max = TC_YAML_ANCHORS_MAX,
    .json_max = TC_GROW_MAX,
    .json_alias_max = TC_YAML_EXPANSION_MAX,
};

struct frame {
    const struct tc_yaml_node *node;
    const struct tc_yaml_entry *next;
    size_t start; /* in the JSON text */
    bool has_items;
};

/* The outermost alias that is being written: all inside of it is part of it. */
struct alias {
    bool is_open;
    size_t depth;
    size_t start; /* in the JSON text */
    struct tc_yaml_place at;
};

/* Invariant: depth <= TC_JSON_DEPTH_MAX; expanded <= options->json_alias_max. */
struct writer {
    const struct tc_yaml_options *options;
    struct tc_grow out;
    struct frame frames[TC_JSON_DEPTH_MAX];
    size_t depth;
    struct alias alias;
    size_t expanded; /* bytes of aliases, and of values that have an anchor for them */
    size_t steps;    /* pairs that are overridden write nothing */
    struct tc_error *err;
};

static tc_status refuse(struct writer *w, enum tc_yaml_fault fault, struct tc_yaml_place at)
{
    return tc_fail(w->err, tc_yaml_fault_status(fault), 0, "line %u, column %u: %s", at.line,
                   at.column, tc_yaml_fault_words(w->options, fault));
}

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory to read YAML");
}

/* Room for so many bytes; the bound is on those that were written. */
static tc_status grow_json(struct writer *w, size_t bytes, struct tc_yaml_place at)
{
    size_t len = w->out.buf.len;
    if (len > w->options->json_max || bytes > TC_GROW_MAX - len) {
        return refuse(w, TC_YAML_FAULT_JSON_LARGE, at);
    }
    return tc_grow_room(&w->out, bytes) ? TC_OK : no_memory(w->err);
}

/* A scalar as a value, or as the name of a member. */
static tc_status put_scalar(struct writer *w, const struct tc_yaml_node *n, bool is_key)
{
    struct tc_buf *b = &w->out.buf;
    struct tc_slice text = tc_yaml_text(n);
    bool is_quoted = is_key && (n->kind == TC_YAML_NULL || n->kind == TC_YAML_BOOL ||
                                n->kind == TC_YAML_INT || n->kind == TC_YAML_REAL);
    /* Six bytes for an escaped one; quotes, colon, a number. */
    TC_TRY(grow_json(w, text.len * 6 + 64, n->at));
    tc_buf_str(b, is_quoted ? S("\"") : TC_EMPTY);
    switch (n->kind) {
    case TC_YAML_NULL:
        tc_buf_lit(b, "null");
        break;
    case TC_YAML_BOOL:
        tc_buf_str(b, tc_yaml_number(n, w->options->schema).real > 0 ? S("true") : S("false"));
        break;
    case TC_YAML_INT:
    case TC_YAML_REAL:
        if (!tc__yaml_put_number(b, n, w->options->schema)) {
            return refuse(w, TC_YAML_FAULT_JSON_NUMBER, n->at);
        }
        break;
    case TC_YAML_STRING:
    case TC_YAML_TIME:
        tc_buf_json(b, text);
        break;
    case TC_YAML_BYTES:
    case TC_YAML_SET:
    case TC_YAML_LIST:
    case TC_YAML_MAPPING:
    case TC_YAML_UNKNOWN:
        return refuse(w, TC_YAML_FAULT_JSON_VALUE, n->at);
    }
    tc_buf_str(b, is_quoted ? S("\"") : TC_EMPTY);
    return TC_OK;
}

/* The bytes since `start` are those of an alias, or of what aliases mean. */
static tc_status count_expanded(struct writer *w, size_t start, struct tc_yaml_place at)
{
    size_t len = w->out.buf.len - start;
    if (len > w->options->json_alias_max - w->expanded) {
        return refuse(w, TC_YAML_FAULT_JSON_ALIASES, at);
    }
    return TC_OK;
}

/* A value is complete in the JSON text. */
static tc_status end_value(struct writer *w, const struct tc_yaml_node *n, size_t start)
{
    bool ends_alias = w->alias.is_open && w->alias.depth == w->depth;
    if (ends_alias || (!w->alias.is_open && n->has_anchor)) {
        TC_TRY(count_expanded(w, start, ends_alias ? w->alias.at : n->at));
        w->expanded += w->out.buf.len - start;
        w->alias.is_open = false;
    }
    return TC_OK;
}

static tc_status put_value(struct writer *w, const struct tc_yaml_node *n, struct tc_yaml_place at)
{
    size_t start = w->out.buf.len;
    bool is_alias = n->at.line != at.line || n->at.column != at.column;
    if (is_alias && !w->alias.is_open) {
        w->alias = (struct alias){.is_open = true, .depth = w->depth, .start = start, .at = at};
    }
    if (n->kind != TC_YAML_LIST && n->kind != TC_YAML_MAPPING) {
        TC_TRY(put_scalar(w, n, false));
        return end_value(w, n, start);
    }
    if (w->depth == TC_JSON_DEPTH_MAX) {
        return w->options->schema == TC_YAML_CORE_1_2
                   ? refuse(w, TC_YAML_FAULT_JSON_DEPTH, w->alias.at)
                   : refuse(w, TC_YAML_FAULT_JSON_LOOP, n->at);
    }
    TC_TRY(grow_json(w, 1, n->at));
    tc_buf_char(&w->out.buf, n->kind == TC_YAML_LIST ? '[' : '{');
    w->frames[w->depth++] = (struct frame){.node = n, .next = n->first, .start = start};
    return TC_OK;
}

/* The next item or pair of the innermost collection, or its end. */
static tc_status put_next(struct writer *w)
{
    struct frame *f = &w->frames[w->depth - 1];
    const struct tc_yaml_entry *e = f->next;
    bool is_list = f->node->kind == TC_YAML_LIST;
    TC_TRY(grow_json(w, 2, f->node->at));
    if (w->alias.is_open) {
        TC_TRY(count_expanded(w, w->alias.start, w->alias.at));
    }
    if (e == NULL) {
        tc_buf_char(&w->out.buf, is_list ? ']' : '}');
        w->depth--;
        return end_value(w, f->node, f->start);
    }
    f->next = e->next;
    if (e->is_overridden) {
        return ++w->steps > w->options->json_max ? refuse(w, TC_YAML_FAULT_JSON_LARGE, e->at)
                                                 : TC_OK;
    }
    tc_buf_str(&w->out.buf, f->has_items ? S(",") : TC_EMPTY);
    f->has_items = true;
    if (!is_list) {
        TC_TRY(put_scalar(w, e->key, true));
        tc_buf_char(&w->out.buf, ':');
    }
    return put_value(w, e->value, e->at);
}

tc_status tc_yaml_json(const struct tc_yaml_node *n, const struct tc_yaml_options *options,
                       char **out_json, size_t *out_len, struct tc_error *err)
{
    struct writer w = {.options = options, .err = err};
    tc_status status = put_value(&w, n, n->at);
    while (status == TC_OK && w.depth > 0) {
        status = put_next(&w);
    }
    if (status == TC_OK) {
        status = grow_json(&w, 1, n->at);
    }
    if (status != TC_OK) {
        tc_grow_fini(&w.out);
        return status;
    }
    w.out.buf.data[w.out.buf.len] = '\0';
    *out_json = w.out.buf.data;
    *out_len = w.out.buf.len;
    return TC_OK;
}

tc_status tc_yaml_to_json(struct tc_slice text, char **out_json, size_t *out_len,
                          struct tc_error *err)
{
    static const struct tc_yaml_node nothing = {.kind = TC_YAML_NULL};
    struct tc_yaml_tree tree;
    struct tc_yaml_failure f;
    if (text.len > TC_YAML_TEXT_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0, "YAML of %zu bytes; the limit is %zu", text.len,
                       TC_YAML_TEXT_MAX);
    }
    tc_status status = tc_yaml_tree_read(text, &CORE, &tree, &f);
    if (status == TC_OK) {
        const struct tc_yaml_node *root = tree.root == NULL ? &nothing : tree.root;
        status = tc_yaml_json(root, &CORE, out_json, out_len, err);
    } else if (status == TC_E_NOMEM) {
        status = no_memory(err);
    } else {
        struct tc_yaml_place at = f.problem.at.line > 0 ? f.problem.at : f.last;
        (void)tc_fail(err, status, f.offset, "line %u, column %u: %s", at.line, at.column,
                      f.problem.text);
    }
    tc_yaml_tree_fini(&tree);
    return status;
}
