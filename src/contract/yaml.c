/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contract's text into its graph, from libfyaml's event stream. One document, as PyYAML's
 * safe_load takes it: an anchor once, an alias only behind it, keys that are scalars, no tags of
 * others. Merge keys are resolved when their mapping ends; what they copy counts as values do.
 */
#include "base/assert.h"
#include "base/yaml/events.h"
#include "base/yaml/screen.h"
#include "contract/build_priv.h"

#include <libfyaml.h>
#include <stdlib.h>

#define S(literal) TC_LIT(literal)
#define TAG(name) TC_LIT("tag:yaml.org,2002:" name)

static struct tc_slice token_text(struct fy_token *token)
{
    size_t len = 0;
    const char *bytes = token == NULL ? NULL : fy_token_get_text(token, &len);
    return tc_slice_make(bytes, bytes == NULL ? 0 : len);
}

/* libfyaml marks the text inside of quotes, behind a star, and below the bar of a block. */
static struct tc__place place_of(const struct tc__build *b, struct fy_event *event)
{
    const struct fy_mark *mark = fy_event_start_mark(event);
    if (mark == NULL) {
        /* Nothing is written: the place is that of its key. */
        const struct tc__frame *f = b->depth == 0 ? NULL : &b->frames[b->depth - 1];
        const struct tc__node *n =
            f == NULL ? NULL : &b->c->nodes[f->key == TC__NONE ? f->node : f->key];
        return n == NULL ? (struct tc__place){1, 1, 0} : (struct tc__place){n->line, n->column, 0};
    }
    struct tc__place p = {(unsigned)mark->line + 1 + b->lines_before, (unsigned)mark->column + 1,
                          mark->input_pos};
    enum fy_scalar_style style = FYSS_ANY;
    if (event->type == FYET_SCALAR && event->scalar.value != NULL) {
        style = fy_token_scalar_style(event->scalar.value);
    }
    bool before =
        event->type == FYET_ALIAS || style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
    if (before && p.column > 1) {
        p.column--;
    }
    if (style == FYSS_LITERAL || style == FYSS_FOLDED) {
        size_t at = p.at < b->source.len ? p.at : b->source.len;
        while (at > 0 && b->source.ptr[at - 1] != (style == FYSS_LITERAL ? '|' : '>')) {
            at--;
            p.line -= b->source.ptr[at] == '\n' && p.line > 1 ? 1 : 0;
        }
        size_t start = at;
        while (start > 0 && b->source.ptr[start - 1] != '\n') {
            start--;
        }
        p.column = (unsigned)(at - start);
    }
    return p;
}

static struct tc__anchor *find_anchor(struct tc__build *b, struct tc_slice name)
{
    for (size_t i = 0; i < b->anchor_count; i++) {
        struct tc__anchor *a = &b->anchors[i];
        if (tc_slice_eq(name, tc_slice_make(b->c->text + a->text, a->len))) {
            return a;
        }
    }
    return NULL;
}

static tc_status add_anchor(struct tc__build *b, struct fy_token *token, uint32_t node,
                            struct tc__place p)
{
    if (token == NULL) {
        return TC_OK;
    }
    struct tc_slice name = token_text(token);
    if (find_anchor(b, name) != NULL) {
        return tc__build_refuse(b, p, "an anchor of this name was there before");
    }
    if (b->anchor_count == TC__CONTRACT_ANCHORS_MAX) {
        return tc__build_refuse(b, p, "too many anchors for a contract");
    }
    struct tc__anchor *a = &b->anchors[b->anchor_count];
    *a = (struct tc__anchor){.len = name.len, .node = node};
    TC_TRY(tc__build_text(b, name, &a->text));
    b->anchor_count++;
    return TC_OK;
}

static tc_status on_scalar(struct tc__build *b, struct fy_event *event, struct tc__place p)
{
    struct fy_token *token = event->scalar.value;
    struct tc_slice text = token_text(token);
    struct tc_slice tag = token_text(event->scalar.tag);
    bool plain = token == NULL || fy_token_scalar_style(token) == FYSS_PLAIN;
    const struct tc__frame *f = b->depth == 0 ? NULL : &b->frames[b->depth - 1];
    bool is_key = f != NULL && b->c->nodes[f->node].kind != TC__LIST && f->key == TC__NONE;
    uint32_t node = TC__NONE;
    TC_TRY(tc__build_node(b, TC__STRING, p, &node));
    struct tc__node *n = &b->c->nodes[node];
    const char *why = NULL;
    if (is_key && plain && tag.len == 0 &&
        (tc_slice_eq(text, S("<<")) || tc_slice_eq(text, S("=")))) {
        n->plain = true;
    } else if (!tc__contract_scalar(text, plain, tag, n, &why)) {
        return tc__build_refuse(b, p, why);
    }
    n->text_len = text.len;
    size_t at = 0;
    TC_TRY(tc__build_text(b, text, &at));
    b->c->nodes[node].text = at;
    TC_TRY(add_anchor(b, event->scalar.anchor, node, p));
    return tc__build_place(b, node, p);
}

static tc_status on_open(struct tc__build *b, struct fy_event *event, struct tc__place p)
{
    bool is_mapping = event->type == FYET_MAPPING_START;
    struct tc_slice tag =
        token_text(is_mapping ? event->mapping_start.tag : event->sequence_start.tag);
    struct fy_token *anchor =
        is_mapping ? event->mapping_start.anchor : event->sequence_start.anchor;
    enum tc__shape shape = TC__SHAPE_PLAIN;
    if (is_mapping && tc_slice_eq(tag, TAG("set"))) {
        shape = TC__SHAPE_SET;
    } else if (!is_mapping && (tc_slice_eq(tag, TAG("omap")) || tc_slice_eq(tag, TAG("pairs")))) {
        shape = TC__SHAPE_PAIRS;
    } else if (tag.len > 0 && !tc_slice_eq(tag, S("!")) &&
               !tc_slice_eq(tag, is_mapping ? TAG("map") : TAG("seq"))) {
        return tc__build_refuse(b, p, "a tag that a contract cannot have");
    }
    if (b->depth == TC_JSON_DEPTH_MAX) {
        return tc__build_refuse(b, p, "nested too deeply");
    }
    uint32_t node = TC__NONE;
    TC_TRY(tc__build_node(b,
                          !is_mapping              ? TC__LIST
                          : shape == TC__SHAPE_SET ? TC__SET
                                                   : TC__MAPPING,
                          p, &node));
    TC_TRY(add_anchor(b, anchor, node, p));
    /* Placed now, so that an alias inside of it finds it. */
    TC_TRY(tc__build_place(b, node, p));
    b->frames[b->depth++] = (struct tc__frame){
        .node = node, .key = TC__NONE, .merge = TC__NONE, .merge_end = TC__NONE, .shape = shape};
    return TC_OK;
}

static tc_status on_close(struct tc__build *b, struct tc__place p)
{
    /* libfyaml closes only what it opened. */
    TC_ASSERT(b->depth > 0);
    struct tc__frame *f = &b->frames[b->depth - 1];
    TC_TRY(tc__build_merge(b, f));
    struct tc__node *n = &b->c->nodes[f->node];
    b->depth--;
    if (n->kind == TC__MAPPING) {
        return tc__build_overridden(b, n);
    }
    if (f->shape != TC__SHAPE_PAIRS) {
        return TC_OK;
    }
    n->pairs = true;
    for (uint32_t at = n->first; at != TC__NONE; at = b->c->entries[at].next) {
        const struct tc__node *item = &b->c->nodes[b->c->entries[at].value];
        if (item->kind != TC__MAPPING || item->count != 1) {
            return tc__build_refuse(b, p, "the tag wants a list of mappings of one key each");
        }
    }
    return TC_OK;
}

static tc_status on_alias(struct tc__build *b, struct fy_event *event, struct tc__place p)
{
    const struct tc__anchor *a = find_anchor(b, token_text(event->alias.anchor));
    if (a == NULL) {
        return tc__build_refuse(b, p, "an alias without an anchor before it");
    }
    return tc__build_place(b, a->node, p);
}

static tc_status on_event(void *context, struct fy_event *event)
{
    struct tc__build *b = context;
    struct tc__place p = place_of(b, event);
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (++b->documents > 1) {
            const struct fy_mark *mark = fy_event_start_mark(event);
            if (mark == NULL) {
                return tc_fail(b->err, TC_E_MALFORMED, 0, "more than one document");
            }
            return tc__build_refuse(b, p, "a second document; a contract is one");
        }
        break;
    case FYET_MAPPING_START:
    case FYET_SEQUENCE_START:
        return on_open(b, event, p);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        return on_close(b, p);
    case FYET_SCALAR:
        return on_scalar(b, event, p);
    case FYET_ALIAS:
        return on_alias(b, event, p);
    case FYET_NONE:
    case FYET_STREAM_START:
    case FYET_STREAM_END:
    case FYET_DOCUMENT_END:
        break;
    }
    return TC_OK;
}

/* "%YAML 1.1" before "---" says what is so anyway; the screen lets no directive through. */
static void skip_version(struct tc__build *b)
{
    struct tc_slice rest = TC_EMPTY;
    struct tc_slice line = tc_slice_trim(tc_slice_cut(b->source, '\n', &rest));
    if ((tc_slice_eq(line, S("%YAML 1.1")) || tc_slice_eq(line, S("%YAML 1.2"))) &&
        tc_slice_starts(rest, S("---"))) {
        b->source = rest;
        b->lines_before = 1;
    }
}

static tc_status build_document(struct tc__build *b)
{
    struct tc_yaml_problem problem;
    size_t screened = 0;
    tc_status status = TC_OK;
    skip_version(b);
    const char *why = tc_yaml_screen(b->source, &screened, &status);
    if (why != NULL) {
        struct tc_yaml_place at = tc_yaml_place_of(b->source, screened);
        return tc__build_refuse(
            b, (struct tc__place){at.line + b->lines_before, at.column, screened}, why);
    }
    status = tc_yaml_events(b->source, on_event, b, &problem);
    if (status == TC_E_NOMEM) {
        return tc__build_no_memory(b);
    }
    if (problem.text[0] == '\0') {
        return status;
    }
    if (problem.at.line == 0) {
        return tc_fail(b->err, status, 0, "no YAML: %s", problem.text);
    }
    return tc_fail(b->err, status, 0, "line %u, column %u: no YAML: %s",
                   problem.at.line + b->lines_before, problem.at.column, problem.text);
}

tc_status tc_contract_parse(struct tc_slice text, struct tc_contract **out_contract,
                            struct tc_error *err)
{
    *out_contract = NULL;
    if (text.len > TC_CONTRACT_BYTES_MAX) {
        return tc_fail(err, TC_E_MALFORMED, TC_CONTRACT_BYTES_MAX,
                       "%zu bytes; a contract has at most %zu", text.len, TC_CONTRACT_BYTES_MAX);
    }
    struct tc__build *b = calloc(1, sizeof *b);
    struct tc_contract *c = calloc(1, sizeof *c);
    struct tc__text **texts = calloc(1, sizeof(struct tc__text *));
    tc_status status = TC_OK;
    if (b == NULL || c == NULL || texts == NULL) {
        free(b);
        free(c);
        free(texts);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the contract");
    }
    *b = (struct tc__build){.c = c, .source = text, .err = err};
    c->texts = texts;
    c->root = TC__NONE;
    status = build_document(b);
    if (status == TC_OK && c->root == TC__NONE) {
        /* An empty stream is an empty document. */
        status = tc__build_node(b, TC__NULL, (struct tc__place){1, 1, 0}, &c->root);
    }
    free(b);
    if (status != TC_OK) {
        tc_contract_destroy(c);
        return status;
    }
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
    free(c->nodes);
    free(c->entries);
    free(c->text);
    free(c);
}
