/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contract's text into its graph, from libfyaml's event stream. One document, as PyYAML's
 * safe_load takes it: an anchor once, an alias only behind it, keys that are scalars, no tags of
 * others. Merge keys are resolved when their mapping ends; what they copy counts as values do.
 */
#include "base/assert.h"
#include "base/sort.h"
#include "base/yaml_screen.h"
#include "run/contract_priv.h"

#include <libfyaml.h>
#include <stdlib.h>

#define S(literal) TC_LIT(literal)
#define TAG(name) TC_LIT("tag:yaml.org,2002:" name)

/* What a collection becomes. */
enum shape { PLAIN, SET, PAIRS };

struct frame {
    uint32_t node;
    uint32_t key;       /* of the pair whose value comes next, or TC__NONE */
    uint32_t merge;     /* first of the entries that merge keys wait in */
    uint32_t merge_end; /* ... and the last */
    enum shape shape;
};

struct anchor {
    size_t text;
    size_t len;
    uint32_t node;
};

/* Invariant: depth <= TC_JSON_DEPTH_MAX, anchor_count <= TC__CONTRACT_ANCHORS_MAX. */
struct build {
    struct tc_contract *c;
    struct tc_slice source;
    struct frame frames[TC_JSON_DEPTH_MAX];
    size_t depth;
    struct anchor anchors[TC__CONTRACT_ANCHORS_MAX];
    size_t anchor_count;
    size_t documents;
    unsigned lines_before; /* not seen by libfyaml */
    struct tc_error *err;
    char problem_text[TC_ERROR_MESSAGE_MAX];
    struct tc_buf problem; /* what libfyaml said first */
};

/* Where an event stands, from 1. */
struct place {
    unsigned line;
    unsigned column;
    size_t at;
};

static tc_status refuse(const struct build *b, struct place p, const char *why)
{
    return tc_fail(b->err, TC_E_MALFORMED, p.at, "line %u, column %u: %s", p.line, p.column, why);
}

static tc_status no_memory(const struct build *b)
{
    return tc_fail(b->err, TC_E_NOMEM, 0, "no memory for the contract");
}

/* Room for one more in an array that doubles. */
static bool grow(void **items, size_t count, size_t *cap, size_t size)
{
    if (count < *cap) {
        return true;
    }
    size_t wanted = *cap == 0 ? 256 : *cap * 2;
    void *grown = realloc(*items, wanted * size);
    if (grown == NULL) {
        return false;
    }
    *items = grown;
    *cap = wanted;
    return true;
}

static tc_status add_node(struct build *b, enum tc__kind kind, struct place p, uint32_t *out)
{
    struct tc_contract *c = b->c;
    if (c->node_count == TC__CONTRACT_NODES_MAX) {
        return refuse(b, p, "too many values for a contract");
    }
    void *nodes = c->nodes;
    if (!grow(&nodes, c->node_count, &c->node_cap, sizeof *c->nodes)) {
        return no_memory(b);
    }
    c->nodes = nodes;
    *out = (uint32_t)c->node_count;
    c->nodes[c->node_count++] = (struct tc__node){
        .kind = kind, .line = p.line, .column = p.column, .first = TC__NONE, .last = TC__NONE};
    return TC_OK;
}

static tc_status add_entry(struct build *b, struct tc__entry entry, struct place p, uint32_t *out)
{
    struct tc_contract *c = b->c;
    if (c->entry_count == TC__CONTRACT_NODES_MAX) {
        return refuse(b, p, "too many values for a contract");
    }
    void *entries = c->entries;
    if (!grow(&entries, c->entry_count, &c->entry_cap, sizeof *c->entries)) {
        return no_memory(b);
    }
    c->entries = entries;
    *out = (uint32_t)c->entry_count;
    c->entries[c->entry_count++] = entry;
    return TC_OK;
}

/* A list of entries from `first` to `last`. */
static void chain(struct tc_contract *c, uint32_t *first, uint32_t *last, uint32_t entry)
{
    c->entries[entry].next = TC__NONE;
    if (*first == TC__NONE) {
        *first = entry;
    } else {
        c->entries[*last].next = entry;
    }
    *last = entry;
}

static tc_status keep_text(struct build *b, struct tc_slice s, size_t *out)
{
    struct tc_contract *c = b->c;
    if (s.len > c->text_cap - c->text_len) {
        size_t wanted = (c->text_cap + s.len) * 2;
        char *grown = realloc(c->text, wanted);
        if (grown == NULL) {
            return no_memory(b);
        }
        c->text = grown;
        c->text_cap = wanted;
    }
    *out = c->text_len;
    if (s.len > 0) {
        memcpy(c->text + c->text_len, s.ptr, s.len);
    }
    c->text_len += s.len;
    return TC_OK;
}

static struct tc_slice token_text(struct fy_token *token)
{
    size_t len = 0;
    const char *bytes = token == NULL ? NULL : fy_token_get_text(token, &len);
    return tc_slice_make(bytes, bytes == NULL ? 0 : len);
}

/* libfyaml marks the text inside of quotes, behind a star, and below the bar of a block. */
static struct place place_of(const struct build *b, struct fy_event *event)
{
    const struct fy_mark *mark = fy_event_start_mark(event);
    if (mark == NULL) {
        /* Nothing is written: the place is that of its key. */
        const struct frame *f = b->depth == 0 ? NULL : &b->frames[b->depth - 1];
        const struct tc__node *n =
            f == NULL ? NULL : &b->c->nodes[f->key == TC__NONE ? f->node : f->key];
        return n == NULL ? (struct place){1, 1, 0} : (struct place){n->line, n->column, 0};
    }
    struct place p = {(unsigned)mark->line + 1 + b->lines_before, (unsigned)mark->column + 1,
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

static struct anchor *find_anchor(struct build *b, struct tc_slice name)
{
    for (size_t i = 0; i < b->anchor_count; i++) {
        struct anchor *a = &b->anchors[i];
        if (tc_slice_eq(name, tc_slice_make(b->c->text + a->text, a->len))) {
            return a;
        }
    }
    return NULL;
}

static tc_status add_anchor(struct build *b, struct fy_token *token, uint32_t node, struct place p)
{
    if (token == NULL) {
        return TC_OK;
    }
    struct tc_slice name = token_text(token);
    if (find_anchor(b, name) != NULL) {
        return refuse(b, p, "an anchor of this name was there before");
    }
    if (b->anchor_count == TC__CONTRACT_ANCHORS_MAX) {
        return refuse(b, p, "too many anchors for a contract");
    }
    struct anchor *a = &b->anchors[b->anchor_count];
    *a = (struct anchor){.len = name.len, .node = node};
    TC_TRY(keep_text(b, name, &a->text));
    b->anchor_count++;
    return TC_OK;
}

static bool is_merge_key(const struct build *b, uint32_t node)
{
    const struct tc__node *n = &b->c->nodes[node];
    return n->kind == TC__STRING && n->plain && tc_slice_eq(tc__contract_text(b->c, n), S("<<"));
}

static bool is_open(const struct build *b, uint32_t node)
{
    for (size_t i = 0; i < b->depth; i++) {
        if (b->frames[i].node == node) {
            return true;
        }
    }
    return false;
}

/* A merge takes mappings that have ended. */
static tc_status check_merged(const struct build *b, uint32_t node, struct place p)
{
    if (b->c->nodes[node].kind != TC__MAPPING) {
        return refuse(b, p, "<< takes a mapping or a list of mappings");
    }
    return is_open(b, node) ? refuse(b, p, "<< takes a mapping that it is part of") : TC_OK;
}

/* A whole value: into the collection that is open. */
static tc_status place_value(struct build *b, uint32_t node, struct place p)
{
    if (b->depth == 0) {
        b->c->root = node;
        return TC_OK;
    }
    struct frame *f = &b->frames[b->depth - 1];
    struct tc__entry e = {.key = TC__NONE, .value = node, .line = p.line, .column = p.column};
    bool is_pair = b->c->nodes[f->node].kind != TC__LIST;
    uint32_t at = TC__NONE;
    if (is_pair && f->key == TC__NONE) {
        enum tc__kind kind = b->c->nodes[node].kind;
        if (kind == TC__LIST || kind == TC__MAPPING || kind == TC__SET) {
            return refuse(b, p, "a key that is not a scalar");
        }
        f->key = node;
        return TC_OK;
    }
    if (is_pair) {
        e.key = f->key;
        f->key = TC__NONE;
    }
    TC_TRY(add_entry(b, e, p, &at));
    if (is_pair && is_merge_key(b, e.key)) {
        chain(b->c, &f->merge, &f->merge_end, at);
        return TC_OK;
    }
    struct tc__node *parent = &b->c->nodes[f->node];
    chain(b->c, &parent->first, &parent->last, at);
    parent->count++;
    return TC_OK;
}

/* Behind the others of a chain: copies of the pairs of a mapping. */
static tc_status copy_pairs(struct build *b, uint32_t from, uint32_t *first, uint32_t *last,
                            uint32_t *count, struct place p)
{
    TC_TRY(check_merged(b, from, p));
    for (uint32_t at = b->c->nodes[from].first; at != TC__NONE; at = b->c->entries[at].next) {
        struct tc__entry e = b->c->entries[at];
        uint32_t copy = TC__NONE;
        e.merged = true;
        TC_TRY(add_entry(b, e, p, &copy));
        chain(b->c, first, last, copy);
        *count += 1;
    }
    return TC_OK;
}

/* The mappings of a list, the last one first: where two have a key the first one's counts. */
static tc_status copy_list(struct build *b, uint32_t list, uint32_t *first, uint32_t *last,
                           uint32_t *count, struct place p)
{
    uint32_t items = b->c->nodes[list].count;
    for (uint32_t i = items; i > 0; i--) {
        uint32_t at = b->c->nodes[list].first;
        for (uint32_t skip = 1; skip < i; skip++) {
            at = b->c->entries[at].next;
        }
        TC_TRY(copy_pairs(b, b->c->entries[at].value, first, last, count, p));
    }
    return TC_OK;
}

/* Lists of more mappings to merge are not written by anybody, and cost their square. */
#define MERGED_LIST_MAX 64

/* Merged pairs come before the mapping's own, which so win. */
static tc_status merge(struct build *b, struct frame *f)
{
    uint32_t first = TC__NONE;
    uint32_t last = TC__NONE;
    uint32_t count = 0;
    for (uint32_t at = f->merge; at != TC__NONE; at = b->c->entries[at].next) {
        struct tc__entry e = b->c->entries[at];
        struct place p = {e.line, e.column, 0};
        if (b->c->nodes[e.value].kind != TC__LIST) {
            TC_TRY(copy_pairs(b, e.value, &first, &last, &count, p));
        } else if (b->c->nodes[e.value].count > MERGED_LIST_MAX || is_open(b, e.value)) {
            return refuse(b, p, "<< takes a mapping or a short list of mappings");
        } else {
            TC_TRY(copy_list(b, e.value, &first, &last, &count, p));
        }
    }
    struct tc__node *n = &b->c->nodes[f->node];
    if (first != TC__NONE) {
        b->c->entries[last].next = n->first;
        n->last = n->first == TC__NONE ? last : n->last;
        n->first = first;
        n->count += count;
    }
    return TC_OK;
}

/* By kind and text, then as they came. */
static int compare_keys(const void *left, const void *right, void *context)
{
    const struct tc_contract *c = context;
    const struct tc__node *a = &c->nodes[((const struct tc__entry *)left)->key];
    const struct tc__node *b = &c->nodes[((const struct tc__entry *)right)->key];
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    return tc_slice_cmp(tc__contract_text(c, a), tc__contract_text(c, b));
}

/* Of pairs with one key the last one counts. */
static tc_status mark_overridden(struct build *b, const struct tc__node *n)
{
    struct tc_contract *c = b->c;
    size_t count = 0;
    if (n->count > TC__CONTRACT_KEYS_MAX) {
        return refuse(b, (struct place){n->line, n->column, 0}, "too many keys in one mapping");
    }
    if (n->count < 2) {
        return TC_OK;
    }
    const void **pairs = calloc((size_t)n->count * 2, sizeof *pairs);
    if (pairs == NULL) {
        return no_memory(b);
    }
    for (uint32_t at = n->first; at != TC__NONE; at = c->entries[at].next) {
        pairs[count++] = &c->entries[at];
    }
    tc_sort_ptrs(pairs, pairs + count, count, compare_keys, c);
    for (size_t i = 0; i + 1 < count; i++) {
        if (compare_keys(pairs[i], pairs[i + 1], c) == 0) {
            size_t index = (size_t)((const struct tc__entry *)pairs[i] - c->entries);
            c->entries[index].overridden = true;
        }
    }
    free(pairs);
    return TC_OK;
}

static tc_status on_scalar(struct build *b, struct fy_event *event, struct place p)
{
    struct fy_token *token = event->scalar.value;
    struct tc_slice text = token_text(token);
    struct tc_slice tag = token_text(event->scalar.tag);
    bool plain = token == NULL || fy_token_scalar_style(token) == FYSS_PLAIN;
    const struct frame *f = b->depth == 0 ? NULL : &b->frames[b->depth - 1];
    bool is_key = f != NULL && b->c->nodes[f->node].kind != TC__LIST && f->key == TC__NONE;
    uint32_t node = TC__NONE;
    TC_TRY(add_node(b, TC__STRING, p, &node));
    struct tc__node *n = &b->c->nodes[node];
    const char *why = NULL;
    if (is_key && plain && tag.len == 0 &&
        (tc_slice_eq(text, S("<<")) || tc_slice_eq(text, S("=")))) {
        n->plain = true;
    } else if (!tc__contract_scalar(text, plain, tag, n, &why)) {
        return refuse(b, p, why);
    }
    n->text_len = text.len;
    size_t at = 0;
    TC_TRY(keep_text(b, text, &at));
    b->c->nodes[node].text = at;
    TC_TRY(add_anchor(b, event->scalar.anchor, node, p));
    return place_value(b, node, p);
}

static tc_status on_open(struct build *b, struct fy_event *event, struct place p)
{
    bool is_mapping = event->type == FYET_MAPPING_START;
    struct tc_slice tag =
        token_text(is_mapping ? event->mapping_start.tag : event->sequence_start.tag);
    struct fy_token *anchor =
        is_mapping ? event->mapping_start.anchor : event->sequence_start.anchor;
    enum shape shape = PLAIN;
    if (is_mapping && tc_slice_eq(tag, TAG("set"))) {
        shape = SET;
    } else if (!is_mapping && (tc_slice_eq(tag, TAG("omap")) || tc_slice_eq(tag, TAG("pairs")))) {
        shape = PAIRS;
    } else if (tag.len > 0 && !tc_slice_eq(tag, S("!")) &&
               !tc_slice_eq(tag, is_mapping ? TAG("map") : TAG("seq"))) {
        return refuse(b, p, "a tag that a contract cannot have");
    }
    if (b->depth == TC_JSON_DEPTH_MAX) {
        return refuse(b, p, "nested too deeply");
    }
    uint32_t node = TC__NONE;
    TC_TRY(add_node(b, !is_mapping ? TC__LIST : shape == SET ? TC__SET : TC__MAPPING, p, &node));
    TC_TRY(add_anchor(b, anchor, node, p));
    /* Placed now, so that an alias inside of it finds it. */
    TC_TRY(place_value(b, node, p));
    b->frames[b->depth++] = (struct frame){
        .node = node, .key = TC__NONE, .merge = TC__NONE, .merge_end = TC__NONE, .shape = shape};
    return TC_OK;
}

static tc_status on_close(struct build *b, struct place p)
{
    /* libfyaml closes only what it opened. */
    TC_ASSERT(b->depth > 0);
    struct frame *f = &b->frames[b->depth - 1];
    TC_TRY(merge(b, f));
    struct tc__node *n = &b->c->nodes[f->node];
    b->depth--;
    if (n->kind == TC__MAPPING) {
        return mark_overridden(b, n);
    }
    if (f->shape != PAIRS) {
        return TC_OK;
    }
    n->pairs = true;
    for (uint32_t at = n->first; at != TC__NONE; at = b->c->entries[at].next) {
        const struct tc__node *item = &b->c->nodes[b->c->entries[at].value];
        if (item->kind != TC__MAPPING || item->count != 1) {
            return refuse(b, p, "the tag wants a list of mappings of one key each");
        }
    }
    return TC_OK;
}

static tc_status on_alias(struct build *b, struct fy_event *event, struct place p)
{
    const struct anchor *a = find_anchor(b, token_text(event->alias.anchor));
    if (a == NULL) {
        return refuse(b, p, "an alias without an anchor before it");
    }
    return place_value(b, a->node, p);
}

static tc_status on_event(struct build *b, struct fy_event *event)
{
    struct place p = place_of(b, event);
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (++b->documents > 1) {
            const struct fy_mark *mark = fy_event_start_mark(event);
            if (mark == NULL) {
                return tc_fail(b->err, TC_E_MALFORMED, 0, "more than one document");
            }
            return refuse(b, p, "a second document; a contract is one");
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

/* libfyaml explains itself in several pieces; the first is the sentence, the rest a drawing. */
static void on_problem(struct fy_diag *diag, void *user, const char *bytes, size_t len)
{
    (void)diag;
    struct build *b = user;
    struct tc_slice rest;
    struct tc_slice line = tc_slice_cut(tc_slice_make(bytes, len), '\n', &rest);
    /* "<memory-@0x...-0x...>:4:2: error: what": the address is noise. */
    size_t at = tc_slice_find(line, S(">:"));
    if (b->problem.len == 0) {
        line = tc_slice_from(line, at == TC_NPOS ? 0 : at + 2);
        tc_buf_printable(&b->problem, tc_slice_head(line, sizeof b->problem_text / 4));
    }
}

/* "4:2: error: what" as "line 4, column 2: what". */
static tc_status fail_as_libfyaml(const struct build *b)
{
    struct tc_slice s = tc_buf_slice(&b->problem);
    uint64_t line = 0;
    uint64_t column = 0;
    size_t n = tc_slice_u64(s, &line);
    struct tc_slice rest = tc_slice_from(s, n + 1);
    size_t m = n == 0 ? 0 : tc_slice_u64(rest, &column);
    size_t what = tc_slice_find(s, S("error: "));
    if (m == 0 || what == TC_NPOS) {
        return tc_fail(b->err, TC_E_MALFORMED, 0, "no YAML: %.*s", TC_FMT(s));
    }
    s = tc_slice_from(s, what + 7);
    return tc_fail(b->err, TC_E_MALFORMED, 0, "line %u, column %u: no YAML: %.*s",
                   (unsigned)line + b->lines_before, (unsigned)column, TC_FMT(s));
}

static struct place place_at(struct tc_slice text, size_t at)
{
    struct place p = {1, 1, at};
    for (size_t i = 0; i < at && i < text.len; i++) {
        p.line += text.ptr[i] == '\n' ? 1 : 0;
        p.column = text.ptr[i] == '\n' ? 1 : p.column + 1;
    }
    return p;
}

static tc_status build_all(struct build *b, struct fy_parser *parser)
{
    tc_status status = TC_OK;
    if (b->source.len > 0 && fy_parser_set_string(parser, b->source.ptr, b->source.len) != 0) {
        return no_memory(b);
    }
    for (struct fy_event *event = NULL;
         b->source.len > 0 && status == TC_OK && (event = fy_parser_parse(parser)) != NULL;) {
        status = on_event(b, event);
        fy_parser_event_free(parser, event);
    }
    if (status == TC_OK && b->source.len > 0 && fy_parser_get_stream_error(parser)) {
        return fail_as_libfyaml(b);
    }
    return status;
}

/* "%YAML 1.1" before "---" says what is so anyway; the screen lets no directive through. */
static void skip_version(struct build *b)
{
    struct tc_slice rest = TC_EMPTY;
    struct tc_slice line = tc_slice_trim(tc_slice_cut(b->source, '\n', &rest));
    if ((tc_slice_eq(line, S("%YAML 1.1")) || tc_slice_eq(line, S("%YAML 1.2"))) &&
        tc_slice_starts(rest, S("---"))) {
        b->source = rest;
        b->lines_before = 1;
    }
}

static tc_status build_document(struct build *b)
{
    size_t screened = 0;
    tc_status status = TC_OK;
    skip_version(b);
    const char *why = tc_yaml_screen(b->source, &screened, &status);
    if (why != NULL) {
        struct place p = place_at(b->source, screened);
        p.line += b->lines_before;
        return refuse(b, p, why);
    }
    struct fy_diag_cfg diag_cfg;
    fy_diag_cfg_default(&diag_cfg);
    diag_cfg.fp = NULL;
    diag_cfg.output_fn = on_problem;
    diag_cfg.user = b;
    diag_cfg.colorize = false;
    struct fy_diag *diag = fy_diag_create(&diag_cfg);
    struct fy_parse_cfg cfg = {.flags = FYPCF_JSON_NONE | FYPCF_DISABLE_MMAP_OPT, .diag = diag};
    struct fy_parser *parser = diag == NULL ? NULL : fy_parser_create(&cfg);
    b->problem = tc_buf_make(b->problem_text, sizeof b->problem_text);
    status = parser == NULL ? no_memory(b) : build_all(b, parser);
    fy_parser_destroy(parser);
    fy_diag_destroy(diag);
    return status;
}

tc_status tc_contract_parse(struct tc_slice text, struct tc_contract **out_contract,
                            struct tc_error *err)
{
    *out_contract = NULL;
    if (text.len > TC_CONTRACT_BYTES_MAX) {
        return tc_fail(err, TC_E_MALFORMED, TC_CONTRACT_BYTES_MAX,
                       "%zu bytes; a contract has at most %zu", text.len, TC_CONTRACT_BYTES_MAX);
    }
    struct build *b = calloc(1, sizeof *b);
    struct tc_contract *c = calloc(1, sizeof *c);
    struct tc__text **texts = calloc(1, sizeof *texts);
    tc_status status = TC_OK;
    if (b == NULL || c == NULL || texts == NULL) {
        free(b);
        free(c);
        free(texts);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the contract");
    }
    *b = (struct build){.c = c, .source = text, .err = err};
    c->texts = texts;
    c->root = TC__NONE;
    status = build_document(b);
    if (status == TC_OK && c->root == TC__NONE) {
        /* An empty stream is an empty document. */
        status = add_node(b, TC__NULL, (struct place){1, 1, 0}, &c->root);
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
