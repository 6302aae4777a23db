/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The YAML of a configuration, event by event, with the place of each. Nothing stops at a mistake
 * but what YAML itself cannot go on after; below something unknown nothing is looked at. Anchors,
 * aliases and tags are refused: nobody needs them here, and a small text cannot become a large one.
 */
#include "base/assert.h"
#include "base/yaml/events.h"
#include "base/yaml/screen.h"
#include "config/config_priv.h"

#include <libfyaml.h>
#include <stdio.h>
#include <string.h>

/* Mappings and lists in each other; the deepest key needs six. */
#define DEPTH_MAX 16
#define SHOWN_MAX 64

/* What an open mapping or list is. */
enum role {
    SKIPPED, /* told already, or below something that was */
    SECTION, /* of keys */
    HEADERS,
    TOKENS, /* the list */
    TOKEN,  /* one of it */
    SCOPES, /* of one */
};

struct frame {
    enum role role;
    bool is_mapping;
    bool has_key;                      /* the next node is a value */
    bool is_key;                       /* this is itself a key of the frame below */
    const struct tc__config_node *of;  /* a section or row */
    struct tc__config_node *node;      /* of the key; NULL when it is unknown */
    enum tc__config_token_field field; /* of the key in a token */
    unsigned seen;                     /* bits of the fields a token has; scopes: has any */
    struct tc__config_place place;
    struct tc_slice key; /* of a header, in key_text */
};

/* Invariant: depth <= DEPTH_MAX. */
struct reader {
    struct tc__config_load *load;
    struct tc__config_node *root;
    struct tc__config_place base; /* origin and variable */
    struct frame frames[DEPTH_MAX];
    size_t depth;
    struct tc__config_place key_place;
    char key_text[TC_CONFIG_TEXT_MAX];
    char path[TC__CONFIG_PATH_MAX + SHOWN_MAX];
    size_t token; /* number in the list */
    size_t documents;
    bool stopped;
};

#define TELL(r, place, path, ...) tc__config_mistake((r)->load, (place), (path), __VA_ARGS__)

static struct frame *top(struct reader *r)
{
    return r->depth == 0 ? NULL : &r->frames[r->depth - 1];
}

/* "auth.tokens[2].sha256": in r->path until the next call. */
static const char *token_path(struct reader *r, const char *field)
{
    (void)snprintf(r->path, sizeof r->path, "%s[%zu]%s%s", tc__config_rows[TC_KEY_auth_tokens].path,
                   r->token, field[0] == '\0' ? "" : ".", field);
    return r->path;
}

static struct tc__config_place place_of(const struct reader *r, struct fy_event *event)
{
    struct tc__config_place place = r->base;
    const struct fy_mark *mark = fy_event_start_mark(event);
    if (mark == NULL) {
        /* A value that is not there stands where its key does. */
        return r->key_place.line == 0 ? place : r->key_place;
    }
    place.line = (unsigned)mark->line + 1;
    place.column = (unsigned)mark->column + 1;
    if (event->type == FYET_SCALAR && event->scalar.value != NULL) {
        enum fy_scalar_style style = fy_token_scalar_style(event->scalar.value);
        /* Quotes lie outside of libfyaml's marks. */
        place.column -=
            place.column > 1 && (style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED);
    }
    return place;
}

static void unknown_key(struct reader *r, const struct frame *f,
                        const struct tc__config_place *place, struct tc_slice key)
{
    const char *parent = f->of->path;
    TC_ASSERT(parent != NULL); /* only list elements have none, and they hold no keys */
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

static void section_key(struct reader *r, struct frame *f, const struct tc__config_place *place,
                        struct tc_slice key)
{
    char text[TC__CONFIG_PATH_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    memset(text, 0, sizeof text);
    f->has_key = true;
    f->node = NULL;
    tc_buf_str(&b, tc_slice_cstr(f->of->path));
    tc_buf_str(&b, b.len == 0 ? TC_EMPTY : TC_LIT("."));
    tc_buf_str(&b, key);
    bool is_part = tc_slice_find_byte(key, '.') == TC_NPOS && key.len > 0 && !b.overflowed;
    struct tc__config_node *node = is_part ? tc__config_find(r->load, tc_buf_slice(&b)) : NULL;
    if (node == NULL) {
        bool is_path =
            key.len > 0 && !b.overflowed && tc__config_find(r->load, tc_buf_slice(&b)) != NULL;
        if (is_path) {
            TELL(r, place, text, "is a path; write each part on a line of its own, indented");
        } else {
            unknown_key(r, f, place, key);
        }
        return;
    }
    if (node->first_line != 0) {
        TELL(r, place, node->path, "is there twice; the first is in line %u", node->first_line);
        return;
    }
    node->first_line = place->line;
    f->node = node;
}

static void token_key(struct reader *r, struct frame *f, const struct tc__config_place *place,
                      struct tc_slice key)
{
    f->has_key = true;
    f->field = tc__config_token_field(r->load, token_path(r, ""), place, key);
    if (f->field != TC__TOKEN_NONE && (f->seen & 1U << f->field) != 0) {
        TELL(r, place, token_path(r, ""), "\"%.*s\" is there twice", TC_FMT(key));
        f->field = TC__TOKEN_NONE;
    }
    f->seen |= f->field == TC__TOKEN_NONE ? 0 : 1U << f->field;
}

static void on_key(struct reader *r, struct frame *f, const struct tc__config_place *place,
                   struct tc_slice key)
{
    struct tc_buf b = tc_buf_make(r->key_text, sizeof r->key_text);
    r->key_place = *place;
    switch (f->role) {
    case SECTION:
        section_key(r, f, place, key);
        break;
    case TOKEN:
        token_key(r, f, place, key);
        break;
    case HEADERS:
        tc_buf_str(&b, tc_slice_head(key, sizeof r->key_text));
        f->key = tc_buf_slice(&b);
        f->has_key = true;
        break;
    case SKIPPED:
    case TOKENS:
    case SCOPES:
        f->has_key = true;
        break;
    }
}

static bool is_list(const struct tc__config_node *node)
{
    enum tc__config_type type = tc__config_rows[node->key].type;
    return node->kind == TC__ROW && (type == TC__HEADERS || type == TC__TOKENS);
}

/* One value for a key of a section, or for the whole text. */
static void scalar_for(struct reader *r, struct tc__config_node *node,
                       const struct tc__config_place *place, struct tc_slice text, bool is_plain)
{
    bool is_null = is_plain && (text.len == 0 || tc_slice_eq(text, TC_LIT("~")) ||
                                tc_slice_eq(text, TC_LIT("null")));
    if (node == NULL || (is_null && (node->kind == TC__SECTION || is_list(node)))) {
        return;
    }
    if (node->kind == TC__SECTION) {
        TELL(r, place, node->path,
             node->path[0] == '\0' ? "the file is no mapping of keys and values"
                                   : "is a section: its keys come below it, indented");
        return;
    }
    tc__config_set(r->load, node, place, text, is_plain);
}

static void on_scalar(struct reader *r, struct fy_event *event,
                      const struct tc__config_place *place)
{
    size_t len = 0;
    struct fy_token *token = event->scalar.value;
    const char *bytes = token == NULL ? NULL : fy_token_get_text(token, &len);
    struct tc_slice text = tc_slice_make(bytes, bytes == NULL ? 0 : len);
    bool is_plain = token == NULL || fy_token_scalar_style(token) == FYSS_PLAIN;
    struct frame *f = top(r);
    if (f == NULL) {
        scalar_for(r, r->root, place, text, is_plain);
        return;
    }
    if (f->is_mapping && !f->has_key) {
        on_key(r, f, place, text);
        return;
    }
    f->has_key = false;
    switch (f->role) {
    case SKIPPED:
        break;
    case SECTION:
        scalar_for(r, f->node, place, text, is_plain);
        break;
    case HEADERS:
        (void)tc__config_header(
            r->load, &(struct tc__config_header){
                         .path = f->of->path, .place = *place, .name = f->key, .value = text});
        break;
    case TOKENS:
        TELL(r, place, token_path(r, ""), "is no token: {name: ..., sha256: ..., scopes: [...]}");
        r->token++;
        break;
    case TOKEN:
        if (f->field == TC__TOKEN_SCOPES) {
            TELL(r, place, token_path(r, "scopes"), "is a list: [ingest, read]");
        } else {
            const char *path = token_path(r, f->field == TC__TOKEN_NAME ? "name" : "sha256");
            tc__config_token_set(r->load, path, place, f->field, text);
        }
        break;
    case SCOPES:
        f->seen = 1;
        tc__config_token_set(r->load, token_path(r, "scopes"), place, TC__TOKEN_SCOPES, text);
        break;
    }
}

/* A mapping or list as the value of a key. */
static struct frame open_value(struct reader *r, struct tc__config_node *node,
                               const struct tc__config_place *place, bool is_mapping)
{
    struct frame f = {.role = SKIPPED, .of = node};
    if (node == NULL) {
        return f;
    }
    enum tc__config_type type = node->kind == TC__ROW ? tc__config_rows[node->key].type : TC__TEXT;
    if (node->kind == TC__SECTION && is_mapping) {
        f.role = SECTION;
    } else if (node->kind == TC__SECTION) {
        TELL(r, place, node->path,
             node->path[0] == '\0' ? "the file is no mapping of keys and values"
                                   : "is a section: its keys come below it, not a list");
    } else if (type == TC__HEADERS && is_mapping) {
        f.role = HEADERS;
        memset(r->load->out->verdicts_otlp_headers, 0, TC_CONFIG_HEADERS_MAX);
        tc__config_taken(r->load, node, place);
    } else if (type == TC__TOKENS && !is_mapping) {
        f.role = TOKENS;
        memset(r->load->out->auth_tokens, 0, sizeof r->load->out->auth_tokens);
        r->load->out->auth_token_count = 0;
        r->token = 0;
        tc__config_taken(r->load, node, place);
    } else {
        node->bad = true;
        TELL(r, place, node->path, "%s",
             type == TC__HEADERS  ? "is a map of names and values, not a list"
             : type == TC__TOKENS ? "is a list of tokens: each begins with \"- \""
             : is_mapping         ? "is one value and has no keys below it"
                                  : "is one value, not a list");
    }
    return f;
}

/* A mapping or list inside of headers or tokens. */
static struct frame open_inside(struct reader *r, struct frame *parent,
                                const struct tc__config_place *place, bool is_mapping)
{
    struct frame f = {.role = SKIPPED, .of = parent->of};
    if (parent->role == TOKENS && is_mapping) {
        f.role = TOKEN;
        if (r->load->out->auth_token_count == TC_CONFIG_TOKENS_MAX) {
            TELL(r, place, token_path(r, ""), "there can be %d tokens at most",
                 TC_CONFIG_TOKENS_MAX);
            f.role = SKIPPED;
        }
    } else if (parent->role == TOKENS) {
        TELL(r, place, token_path(r, ""), "is no token: {name: ..., sha256: ..., scopes: [...]}");
    } else if (parent->role == TOKEN && parent->field == TC__TOKEN_SCOPES && !is_mapping) {
        f.role = SCOPES;
    } else if (parent->role == TOKEN && parent->field != TC__TOKEN_NONE) {
        TELL(r, place, token_path(r, ""), "%s",
             parent->field == TC__TOKEN_SCOPES ? "scopes is a list: [ingest, read]"
                                               : "name and sha256 are text");
    } else if (parent->role == SCOPES) {
        parent->seen = 1;
        TELL(r, place, token_path(r, "scopes"), "is a list of ingest, read and admin");
    } else if (parent->role == HEADERS) {
        TELL(r, place, parent->of->path, "the value of a header is text");
    }
    return f;
}

static void on_open(struct reader *r, const struct tc__config_place *place, bool is_mapping)
{
    struct frame *parent = top(r);
    struct frame f = {.role = SKIPPED};
    if (r->depth == DEPTH_MAX) {
        TELL(r, place, "", "nested more than %d levels deep", DEPTH_MAX);
        r->stopped = true;
        return;
    }
    if (parent == NULL) {
        f = open_value(r, r->root, place, is_mapping);
    } else if (parent->is_mapping && !parent->has_key) {
        f.is_key = true;
        if (parent->role != SKIPPED) {
            TELL(r, place, parent->of->path, "a key that is not text");
        }
    } else if (parent->role == SECTION) {
        f = open_value(r, parent->node, place, is_mapping);
    } else if (parent->role != SKIPPED) {
        f = open_inside(r, parent, place, is_mapping);
    }
    f.is_mapping = is_mapping;
    f.place = *place;
    r->frames[r->depth++] = f;
}

static void end_token(struct reader *r, const struct frame *f)
{
    static const char *const names[] = {"name", "sha256", "scopes"};
    for (size_t i = 0; i < TC__TOKEN_NONE; i++) {
        if ((f->seen & 1U << i) == 0) {
            TELL(r, &f->place, token_path(r, ""), "%s is missing", names[i]);
        }
    }
    r->load->out->auth_token_count++;
}

static void on_close(struct reader *r)
{
    /* libfyaml closes only what it opened. */
    TC_ASSERT(r->depth > 0);
    const struct frame *f = &r->frames[--r->depth];
    if (f->role == TOKEN) {
        end_token(r, f);
    } else if (f->role == SCOPES && f->seen == 0) {
        TELL(r, &f->place, token_path(r, "scopes"),
             "is empty: the token would be good for nothing");
    }
    struct frame *parent = top(r);
    if (parent != NULL) {
        r->token += parent->role == TOKENS;
        parent->has_key = f->is_key;
        parent->node = f->is_key ? NULL : parent->node;
        parent->field = f->is_key ? TC__TOKEN_NONE : parent->field;
    }
}

static void on_alias(struct reader *r)
{
    struct frame *f = top(r);
    r->token += f != NULL && f->role == TOKENS;
    if (f != NULL && f->is_mapping) {
        f->has_key = !f->has_key;
        f->node = NULL;
        f->field = TC__TOKEN_NONE;
    }
}

static tc_status on_event(void *context, struct fy_event *event)
{
    struct reader *r = context;
    struct tc__config_place place = place_of(r, event);
    if (event->type == FYET_ALIAS || fy_event_get_anchor_token(event) != NULL) {
        TELL(r, &place, "", "anchors and aliases (& and *) are not read; write the value out");
    } else if (fy_event_get_tag_token(event) != NULL) {
        TELL(r, &place, "", "tags (!) are not read; write the value without");
    }
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (r->documents++ > 0) {
            TELL(r, &place, "", "a second document begins here; one is read");
            r->stopped = true;
        }
        break;
    case FYET_MAPPING_START:
    case FYET_SEQUENCE_START:
        on_open(r, &place, event->type == FYET_MAPPING_START);
        break;
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        on_close(r);
        break;
    case FYET_SCALAR:
        on_scalar(r, event, &place);
        break;
    case FYET_ALIAS:
        on_alias(r);
        break;
    case FYET_NONE:
    case FYET_STREAM_START:
    case FYET_STREAM_END:
    case FYET_DOCUMENT_END:
        break;
    }
    return r->stopped ? TC_E_LIMIT : TC_OK; /* told already */
}

static void tell_problem(struct reader *r, const struct tc_yaml_problem *problem)
{
    struct tc__config_place place = r->base;
    if (problem->at.line > 0) {
        place.line = problem->at.line;
        place.column = problem->at.column;
    }
    TELL(r, &place, "", "this is not YAML: %s", problem->text);
}

void tc__config_yaml(struct tc__config_load *l, struct tc_slice text, struct tc__config_node *root,
                     const struct tc__config_place *base)
{
    struct reader r = {.load = l, .root = root, .base = *base};
    struct tc_yaml_problem problem;
    tc_status status = TC_OK;
    size_t at = 0;
    const char *why = tc_yaml_screen(text, &at, &status);
    if (why != NULL) {
        struct tc__config_place place = r.base;
        struct tc_yaml_place found = tc_yaml_place_of(text, at);
        place.line = found.line;
        place.column = found.column;
        TELL(&r, &place, "", "%s", why);
        return;
    }
    status = tc_yaml_events(text, on_event, &r, &problem);
    if (status == TC_E_NOMEM) {
        TELL(&r, &r.base, "", "no memory to read it");
    } else if (problem.text[0] != '\0') {
        tell_problem(&r, &problem);
    }
}
