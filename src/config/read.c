/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The YAML of a configuration. Nothing stops at a mistake but what YAML itself cannot go on after,
 * and what stands before that is read; below something unknown nothing is looked at. Anchors,
 * aliases and tags are refused: nobody needs them here.
 */
#include "base/assert.h"
#include "base/format.h"
#include "base/yaml/tree.h"
#include "config/config_priv.h"

#include <stdio.h>
#include <string.h>

/* Mappings and lists in each other; the deepest key needs six. */
#define DEPTH_MAX 16
#define SHOWN_MAX 64

static const struct tc_yaml_options OPTIONS = {
    .schema = TC_YAML_TEXT,
    .places = TC_YAML_AT_QUOTE,
    .depth_max = DEPTH_MAX,
    .values_max = 2 * TC_CONFIG_FILE_MAX,
};

/* A section whose keys are being read. */
struct section {
    const struct tc__config_node *of;
    const struct tc_yaml_entry *next;
};

/* Invariant: depth <= DEPTH_MAX. */
struct reader {
    struct tc__config_load *load;
    struct tc__config_place base; /* origin and variable */
    struct section sections[DEPTH_MAX];
    size_t depth;
    char path[TC__CONFIG_PATH_MAX + SHOWN_MAX];
    size_t token; /* number in the list */
};

#define TELL(r, place, path, ...) tc__config_mistake((r)->load, (place), (path), __VA_ARGS__)

/* "auth.tokens[2].sha256": in r->path until the next call. */
static const char *token_path(struct reader *r, const char *field)
{
    (void)snprintf(r->path, sizeof r->path, "%s[%zu]%s%s", tc__config_rows[TC_KEY_auth_tokens].path,
                   r->token, field[0] == '\0' ? "" : ".", field);
    return r->path;
}

static void tell_unknown_key(struct reader *r, const char *parent,
                             const struct tc__config_place *place, struct tc_slice key)
{
    struct tc_slice shown = tc_slice_head(key, SHOWN_MAX);
    (void)snprintf(r->path, sizeof r->path, "%s%s%.*s", parent, parent[0] == '\0' ? "" : ".",
                   TC_FMT(shown));
    const struct tc__config_node *near = tc__config_nearest(r->load, tc_slice_cstr(parent), shown);
    if (near != NULL) {
        TELL(r, place, r->path, "there is no such key; did you mean %s?", near->path);
    } else {
        TELL(r, place, r->path, "there is no such key; 'tracecore config print-default' shows all");
    }
}

/* The key of a section, NULL after a mistake. */
static struct tc__config_node *find_key(struct reader *r, const struct tc__config_node *of,
                                        const struct tc__config_place *place, struct tc_slice key)
{
    char text[TC__CONFIG_PATH_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    memset(text, 0, sizeof text);
    (void)tc_format(&b, "{}{}{}", of->path, of->path[0] == '\0' ? "" : ".", key);
    bool is_part = tc_slice_find_byte(key, '.') == TC_NPOS && key.len > 0 && !b.overflowed;
    struct tc__config_node *node = is_part ? tc__config_find(r->load, tc_buf_slice(&b)) : NULL;
    if (node == NULL) {
        bool is_path =
            key.len > 0 && !b.overflowed && tc__config_find(r->load, tc_buf_slice(&b)) != NULL;
        if (is_path) {
            TELL(r, place, text, "is a path; write each part on a line of its own, indented");
        } else {
            tell_unknown_key(r, of->path, place, key);
        }
        return NULL;
    }
    if (node->first_line != 0) {
        TELL(r, place, node->path, "is there twice; the first is in line %u", node->first_line);
        return NULL;
    }
    node->first_line = place->line;
    return node;
}

static struct tc__config_place place_at(const struct reader *r, struct tc_yaml_place at)
{
    struct tc__config_place place = r->base;
    place.line = at.line;
    place.column = at.column;
    return place;
}

/* What is not read, of any value. */
static void check_value(struct reader *r, const struct tc_yaml_node *n)
{
    struct tc__config_place place = place_at(r, n->at);
    if (n->has_anchor) {
        TELL(r, &place, "", "anchors and aliases (& and *) are not read; write the value out");
    } else if (n->has_tag) {
        TELL(r, &place, "", "tags (!) are not read; write the value without");
    }
}

/* Nothing else is said of what is inside of a value: something was already. */
static void skip_inside(struct reader *r, const struct tc_yaml_node *n)
{
    /* Of a level there can be a key and its value. */
    const struct tc_yaml_entry *next[2 * DEPTH_MAX] = {tc_yaml_first(n)};
    for (size_t depth = 1; depth > 0;) {
        const struct tc_yaml_entry *e = next[depth - 1];
        if (e == NULL) {
            depth--;
            continue;
        }
        next[depth - 1] = e->next;
        const struct tc_yaml_node *both[] = {e->key, e->value};
        for (size_t i = 0; i < 2; i++) {
            if (both[i] != NULL) {
                check_value(r, both[i]);
            }
            if (tc_yaml_first(both[i]) != NULL) {
                TC_ASSERT(depth < 2 * DEPTH_MAX);
                next[depth++] = tc_yaml_first(both[i]);
            }
        }
    }
}

/* Whether the key of a pair is text; tells what it is otherwise. *out_place is where. */
static bool read_key(struct reader *r, const char *path, const struct tc_yaml_node *key,
                     struct tc__config_place *out_place)
{
    *out_place = place_at(r, key->at);
    check_value(r, key);
    if (tc_yaml_is_collection(key)) {
        TELL(r, out_place, path, "a key that is not text");
        skip_inside(r, key);
        return false;
    }
    return key->kind != TC_YAML_UNKNOWN;
}

static bool is_scalar(const struct tc_yaml_node *n)
{
    return !tc_yaml_is_collection(n) && n->kind != TC_YAML_UNKNOWN;
}

static void read_headers(struct reader *r, const struct tc__config_node *of,
                         const struct tc_yaml_node *headers)
{
    char *to = (char *)r->load->out + tc__config_rows[of->key].offset;
    for (const struct tc_yaml_entry *e = headers->first; e != NULL; e = e->next) {
        struct tc__config_place place;
        bool has_name = read_key(r, of->path, e->key, &place);
        place = place_at(r, e->value->at);
        check_value(r, e->value);
        if (tc_yaml_is_collection(e->value)) {
            TELL(r, &place, of->path, "the value of a header is text");
            skip_inside(r, e->value);
        } else if (has_name && is_scalar(e->value)) {
            (void)tc__config_header(r->load,
                                    &(struct tc__config_header){.path = of->path,
                                                                .place = place,
                                                                .name = e->key->text,
                                                                .value = e->value->text,
                                                                .to = to,
                                                                .to_size = TC_CONFIG_HEADERS_MAX});
        }
    }
}

static void read_scopes(struct reader *r, const struct tc_yaml_node *scopes)
{
    struct tc__config_place place = place_at(r, scopes->at);
    bool has_any = scopes->is_open;
    for (const struct tc_yaml_entry *e = scopes->first; e != NULL; e = e->next) {
        struct tc__config_place at = place_at(r, e->value->at);
        check_value(r, e->value);
        has_any = has_any || e->value->kind != TC_YAML_UNKNOWN;
        if (tc_yaml_is_collection(e->value)) {
            TELL(r, &at, token_path(r, "scopes"), "is a list of ingest, read and admin");
            skip_inside(r, e->value);
        } else if (is_scalar(e->value)) {
            tc__config_token_set(r->load, token_path(r, "scopes"), &at, TC__TOKEN_SCOPES,
                                 e->value->text);
        }
    }
    if (!has_any) {
        TELL(r, &place, token_path(r, "scopes"), "is empty: the token would be good for nothing");
    }
}

static void read_token_field(struct reader *r, enum tc__config_token_field field,
                             const struct tc_yaml_node *value)
{
    struct tc__config_place place = place_at(r, value->at);
    check_value(r, value);
    if (field == TC__TOKEN_SCOPES && value->kind == TC_YAML_LIST) {
        read_scopes(r, value);
    } else if (tc_yaml_is_collection(value)) {
        if (field != TC__TOKEN_NONE) {
            TELL(r, &place, token_path(r, ""), "%s",
                 field == TC__TOKEN_SCOPES ? "scopes is a list: [ingest, read]"
                                           : "name and sha256 are text");
        }
        skip_inside(r, value);
    } else if (field == TC__TOKEN_SCOPES && is_scalar(value)) {
        TELL(r, &place, token_path(r, "scopes"), "is a list: [ingest, read]");
    } else if (is_scalar(value)) {
        const char *path = token_path(r, field == TC__TOKEN_NAME ? "name" : "sha256");
        tc__config_token_set(r->load, path, &place, field, value->text);
    }
}

static void read_token(struct reader *r, const struct tc_yaml_node *token)
{
    static const char *const names[] = {"name", "sha256", "scopes"};
    struct tc__config_place place = place_at(r, token->at);
    unsigned seen = 0; /* bits of the fields */
    for (const struct tc_yaml_entry *e = token->first; e != NULL; e = e->next) {
        struct tc__config_place at;
        enum tc__config_token_field field = TC__TOKEN_NONE;
        if (read_key(r, tc__config_rows[TC_KEY_auth_tokens].path, e->key, &at)) {
            field = tc__config_token_field(r->load, token_path(r, ""), &at, e->key->text);
        }
        if (field != TC__TOKEN_NONE && (seen & 1U << field) != 0) {
            TELL(r, &at, token_path(r, ""), "\"%.*s\" is there twice", TC_FMT(e->key->text));
            field = TC__TOKEN_NONE;
        }
        seen |= field == TC__TOKEN_NONE ? 0 : 1U << field;
        read_token_field(r, field, e->value);
    }
    for (size_t i = 0; !token->is_open && i < TC__TOKEN_NONE; i++) {
        if ((seen & 1U << i) == 0) {
            TELL(r, &place, token_path(r, ""), "%s is missing", names[i]);
        }
    }
    r->load->out->auth_token_count += !token->is_open;
}

static void read_tokens(struct reader *r, const struct tc_yaml_node *tokens)
{
    r->token = 0;
    for (const struct tc_yaml_entry *e = tokens->first; e != NULL; e = e->next, r->token++) {
        struct tc__config_place place = place_at(r, e->value->at);
        bool is_full = r->load->out->auth_token_count == TC_CONFIG_TOKENS_MAX;
        check_value(r, e->value);
        if (e->value->kind == TC_YAML_MAPPING && !is_full) {
            read_token(r, e->value);
            continue;
        }
        if (e->value->kind == TC_YAML_MAPPING) {
            TELL(r, &place, token_path(r, ""), "there can be %d tokens at most",
                 TC_CONFIG_TOKENS_MAX);
        } else if (e->value->kind != TC_YAML_UNKNOWN) {
            TELL(r, &place, token_path(r, ""),
                 "is no token: {name: ..., sha256: ..., scopes: [...]}");
        }
        skip_inside(r, e->value);
    }
}

static void read_hosts(struct reader *r, const struct tc__config_node *of,
                       const struct tc_yaml_node *hosts)
{
    for (const struct tc_yaml_entry *e = hosts->first; e != NULL; e = e->next) {
        struct tc__config_place place = place_at(r, e->value->at);
        check_value(r, e->value);
        if (is_scalar(e->value)) {
            tc__config_host(r->load, of->path, &place, e->value->text);
        } else if (e->value->kind != TC_YAML_UNKNOWN) {
            TELL(r, &place, of->path, "is a list of names");
            skip_inside(r, e->value);
        }
    }
}

/* A map of a receiver: headers, labels. */
static void read_output_map(struct reader *r, struct tc__config_output *o, size_t field,
                            const struct tc_yaml_node *map)
{
    for (const struct tc_yaml_entry *e = map->first; e != NULL; e = e->next) {
        struct tc__config_place place;
        bool has_name = read_key(r, o->path, e->key, &place);
        place = place_at(r, e->value->at);
        check_value(r, e->value);
        if (tc_yaml_is_collection(e->value)) {
            TELL(r, &place, o->path, "its values are text");
            skip_inside(r, e->value);
        } else if (has_name && is_scalar(e->value)) {
            tc__config_output_add(r->load, o, &place, field, e->key->text, e->value->text);
        }
    }
}

static void read_output(struct reader *r, struct tc__config_output *o,
                        const struct tc_yaml_node *output)
{
    struct tc__config_place place = place_at(r, output->at);
    for (const struct tc_yaml_entry *e = output->first; e != NULL; e = e->next) {
        struct tc__config_place at;
        size_t field = 0;
        enum tc__config_output_kind kind = TC__OUTPUT_UNKNOWN;
        if (read_key(r, o->path, e->key, &at)) {
            kind = tc__config_output_field(r->load, o, &at, e->key->text, &field);
        }
        at = place_at(r, e->value->at);
        check_value(r, e->value);
        if (kind == TC__OUTPUT_MAP && e->value->kind == TC_YAML_MAPPING) {
            read_output_map(r, o, field, e->value);
        } else if (kind == TC__OUTPUT_TEXT && is_scalar(e->value)) {
            tc__config_output_set(r->load, o, &at, field, e->value->text);
        } else if (kind != TC__OUTPUT_UNKNOWN && e->value->kind != TC_YAML_UNKNOWN) {
            TELL(r, &at, o->path, "%.*s is %s", TC_FMT(tc_slice_head(e->key->text, SHOWN_MAX)),
                 kind == TC__OUTPUT_MAP ? "a map of names and values" : "text");
            skip_inside(r, e->value);
        } else {
            skip_inside(r, e->value);
        }
    }
    if (!output->is_open) {
        tc__config_output_end(r->load, o, &place);
    }
}

static void read_outputs(struct reader *r, const struct tc_yaml_node *outputs)
{
    struct tc__config_output o = {0};
    for (const struct tc_yaml_entry *e = outputs->first; e != NULL; e = e->next, o.at++) {
        struct tc__config_place place = place_at(r, e->value->at);
        check_value(r, e->value);
        bool is_mapping = e->value->kind == TC_YAML_MAPPING;
        if (is_mapping && tc__config_output_begin(r->load, &o, &place)) {
            read_output(r, &o, e->value);
            continue;
        }
        if (!is_mapping && e->value->kind != TC_YAML_UNKNOWN) {
            TELL(r, &place, tc__config_rows[TC_KEY_alerts_outputs].path,
                 "is a list of receivers: {name: ..., type: ..., url: ...}");
        }
        skip_inside(r, e->value);
    }
}

static void read_lines(struct reader *r, const struct tc__config_node *of,
                       const struct tc_yaml_node *lines)
{
    char *to = (char *)r->load->out + tc__config_rows[of->key].offset;
    memset(to, 0, TC_CONFIG_LIST_MAX);
    for (const struct tc_yaml_entry *e = lines->first; e != NULL; e = e->next) {
        struct tc__config_place place = place_at(r, e->value->at);
        check_value(r, e->value);
        if (is_scalar(e->value)) {
            tc__config_line(r->load, to, of->path, &place, e->value->text);
        } else if (e->value->kind != TC_YAML_UNKNOWN) {
            TELL(r, &place, of->path, "is a list of texts: one with a colon in it needs quotes");
            skip_inside(r, e->value);
        }
    }
}

static bool is_list(const struct tc__config_node *node)
{
    return node->kind == TC__ROW && tc__config_is_list(tc__config_rows[node->key].type);
}

/* One value for a key of a section, or for the whole text. */
static void read_scalar(struct reader *r, struct tc__config_node *node,
                        const struct tc_yaml_node *value)
{
    struct tc__config_place place = place_at(r, value->at);
    /* Null and NULL are not how anybody writes it. */
    bool is_nothing =
        value->kind == TC_YAML_NULL && (value->text.len == 0 || value->text.ptr[0] != 'N');
    if (is_nothing && (node->kind == TC__SECTION || is_list(node))) {
        return;
    }
    /* warehouse: clickhouse://... */
    if (node->kind == TC__SECTION && strcmp(node->path, "warehouse") == 0 &&
        tc_slice_starts(value->text, TC_LIT("clickhouse"))) {
        node = tc__config_find(r->load, TC_LIT("warehouse.url"));
    }
    if (node->kind == TC__SECTION) {
        TELL(r, &place, node->path,
             node->path[0] == '\0' ? "the file is no mapping of keys and values"
                                   : "is a section: its keys come below it, indented");
        return;
    }
    tc__config_set(r->load, node, &place, value->text, value->is_plain);
}

/* A mapping or list that the key cannot have. */
static void tell_collection(struct reader *r, struct tc__config_node *node,
                            const struct tc__config_place *place, bool is_mapping)
{
    enum tc__config_type type = node->kind == TC__ROW ? tc__config_rows[node->key].type : TC__TEXT;
    if (node->kind == TC__SECTION) {
        TELL(r, place, node->path,
             node->path[0] == '\0' ? "the file is no mapping of keys and values"
                                   : "is a section: its keys come below it, not a list");
        return;
    }
    node->bad = true;
    TELL(r, place, node->path, "%s",
         type == TC__HEADERS   ? "is a map of names and values, not a list"
         : type == TC__TOKENS  ? "is a list of tokens: each begins with \"- \""
         : type == TC__HOSTS   ? "is a list of names: each begins with \"- \""
         : type == TC__LIST    ? "is a list: each entry begins with \"- \""
         : type == TC__OUTPUTS ? "is a list of receivers: each begins with \"- \""
         : is_mapping          ? "is one value and has no keys below it"
                               : "is one value, not a list");
}

/* The value of a key, or of the whole text; node is NULL where the key is unknown. A section is
 * begun. */
static void read_value(struct reader *r, struct tc__config_node *node,
                       const struct tc_yaml_node *value)
{
    struct tc__config_place place = place_at(r, value->at);
    bool is_mapping = value->kind == TC_YAML_MAPPING;
    check_value(r, value);
    if (node == NULL || value->kind == TC_YAML_UNKNOWN) {
        skip_inside(r, value);
        return;
    }
    enum tc__config_type type = node->kind == TC__ROW ? tc__config_rows[node->key].type : TC__TEXT;
    if (!tc_yaml_is_collection(value)) {
        read_scalar(r, node, value);
    } else if (node->kind == TC__SECTION && is_mapping) {
        TC_ASSERT(r->depth < DEPTH_MAX);
        r->sections[r->depth++] = (struct section){.of = node, .next = value->first};
    } else if (type == TC__HEADERS && is_mapping) {
        memset((char *)r->load->out + tc__config_rows[node->key].offset, 0, TC_CONFIG_HEADERS_MAX);
        tc__config_taken(r->load, node, &place);
        read_headers(r, node, value);
    } else if (type == TC__TOKENS && !is_mapping) {
        memset(r->load->out->auth_tokens, 0, sizeof r->load->out->auth_tokens);
        r->load->out->auth_token_count = 0;
        tc__config_taken(r->load, node, &place);
        read_tokens(r, value);
    } else if (type == TC__HOSTS && !is_mapping) {
        memset(r->load->out->server_allowed_hosts, 0, TC_CONFIG_HOSTS_MAX);
        tc__config_taken(r->load, node, &place);
        read_hosts(r, node, value);
    } else if (type == TC__OUTPUTS && !is_mapping) {
        memset(r->load->out->alerts_outputs, 0, sizeof r->load->out->alerts_outputs);
        r->load->out->alerts_output_count = 0;
        tc__config_taken(r->load, node, &place);
        read_outputs(r, value);
    } else if (type == TC__LIST && !is_mapping) {
        tc__config_taken(r->load, node, &place);
        read_lines(r, node, value);
    } else {
        tell_collection(r, node, &place, is_mapping);
        skip_inside(r, value);
    }
}

static void read_sections(struct reader *r)
{
    while (r->depth > 0) {
        struct section *s = &r->sections[r->depth - 1];
        const struct tc_yaml_entry *e = s->next;
        struct tc__config_place place;
        if (e == NULL) {
            r->depth--;
            continue;
        }
        s->next = e->next;
        bool is_text = read_key(r, s->of->path, e->key, &place);
        read_value(r, is_text ? find_key(r, s->of, &place, e->key->text) : NULL, e->value);
    }
}

static void tell_failure(struct reader *r, const struct tc_yaml_failure *f)
{
    struct tc__config_place place = place_at(r, f->problem.at);
    if (f->stage != TC_YAML_TREE) {
        TELL(r, &place, "", "%s%s", f->stage == TC_YAML_PARSER ? "this is not YAML: " : "",
             f->problem.text);
    } else if (f->fault == TC_YAML_FAULT_DOCUMENTS) {
        TELL(r, &place, "", "a second document begins here; one is read");
    } else if (f->fault == TC_YAML_FAULT_TOO_DEEP) {
        TELL(r, &place, "", "nested more than %d levels deep", DEPTH_MAX);
    } else {
        TELL(r, &place, "", "%s", f->problem.text);
    }
}

void tc__config_yaml(struct tc__config_load *l, struct tc_slice text, struct tc__config_node *root,
                     const struct tc__config_place *base)
{
    struct reader r = {.load = l, .base = *base};
    struct tc_yaml_tree tree;
    struct tc_yaml_failure failure;
    tc_status status = tc_yaml_tree_read(text, &OPTIONS, &tree, &failure);
    if (tree.root != NULL) {
        read_value(&r, root, tree.root);
        read_sections(&r);
    }
    if (status != TC_OK && status != TC_E_NOMEM) {
        tell_failure(&r, &failure);
    }
    l->no_memory = l->no_memory || status == TC_E_NOMEM;
    tc_yaml_tree_fini(&tree);
}
