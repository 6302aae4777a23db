/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libfyaml's events, written as JSON as they come. The text of an anchored node is kept beside and
 * copied where it is asked for. A mapping is looked over when it ends: only then are its keys and
 * values known.
 */
#include "base/yaml/json.h"

#include "base/assert.h"
#include "base/limits.h"
#include "base/yaml/events.h"
#include "base/yaml/members_priv.h"
#include "base/yaml/scalar_priv.h"
#include "base/yaml/screen.h"

#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

#define S(literal) TC_LIT(literal)

#define ANCHORS_MAX 1024
#define ANCHOR_NAME_MAX 128
#define ALIASES_MAX 65536
#define JSON_START ((size_t)4096)
#define NO_ANCHOR SIZE_MAX

struct anchor {
    char name[ANCHOR_NAME_MAX];
    size_t name_len;
    char *text; /* NULL while the node is open */
    size_t len;
    size_t height; /* levels of the node */
};

/* An open mapping or sequence. */
struct frame {
    bool is_mapping;
    bool has_key; /* the next node is a value */
    bool has_items;
    bool has_merge;
    size_t json_start;
    size_t first_member;
    size_t anchor;
    size_t height; /* levels that it has so far, itself counted */
};

struct place {
    unsigned line;
    unsigned column;
    size_t offset;
};

/* Invariant: depth <= TC_JSON_DEPTH_MAX; members of open mappings follow each other. */
struct yaml {
    enum tc_yaml_schema schema;
    struct tc_slice text;
    struct tc_buf json;
    struct frame frames[TC_JSON_DEPTH_MAX];
    size_t depth;
    struct tc__yaml_member *members;
    size_t member_count;
    size_t member_cap;
    struct anchor *anchors;
    size_t anchor_count;
    size_t aliases;
    size_t expanded; /* bytes of anchors kept, and of aliases written */
    size_t documents;
    struct place at; /* of the event */
    struct tc_error *err;
};

static tc_status refuse_at(struct yaml *y, tc_status status, struct place at, const char *what)
{
    return tc_fail(y->err, status, at.offset, "line %u, column %u: %s", at.line, at.column, what);
}

static tc_status refuse(struct yaml *y, tc_status status, const char *what)
{
    return refuse_at(y, status, y->at, what);
}

static tc_status no_memory(struct yaml *y)
{
    return tc_fail(y->err, TC_E_NOMEM, 0, "no memory to read YAML");
}

/* Makes room for so many more bytes of JSON. */
static tc_status room(struct yaml *y, size_t bytes)
{
    if (bytes <= y->json.cap - y->json.len) {
        return TC_OK;
    }
    if (bytes > TC_JSON_DOCUMENT_MAX || y->json.len > TC_JSON_DOCUMENT_MAX - bytes) {
        return refuse(y, TC_E_LIMIT, "too large as JSON");
    }
    size_t cap = y->json.cap == 0 ? JSON_START : y->json.cap * 2;
    cap = cap < y->json.len + bytes ? y->json.len + bytes : cap;
    char *data = realloc(y->json.data, cap);
    if (data == NULL) {
        return no_memory(y);
    }
    y->json.data = data;
    y->json.cap = cap;
    return TC_OK;
}

static struct frame *top(struct yaml *y)
{
    return y->depth == 0 ? NULL : &y->frames[y->depth - 1];
}

static bool is_key(struct yaml *y)
{
    const struct frame *f = top(y);
    return f != NULL && f->is_mapping && !f->has_key;
}

/* A value begins: the comma before it, and what its parent learns of its height. */
static tc_status begin_value(struct yaml *y, size_t height)
{
    struct frame *f = top(y);
    if (y->depth + height > TC_JSON_DEPTH_MAX) {
        return refuse(y, TC_E_LIMIT, "nested too deeply");
    }
    TC_TRY(room(y, 1));
    if (f == NULL) {
        return TC_OK;
    }
    if (!f->is_mapping && f->has_items) {
        tc_buf_char(&y->json, ',');
    }
    f->has_items = true;
    if (f->height < height + 1) {
        f->height = height + 1;
    }
    return TC_OK;
}

/* A value is complete in the JSON text. */
static void end_value(struct yaml *y)
{
    struct frame *f = top(y);
    if (f != NULL && f->is_mapping) {
        f->has_key = false;
        y->members[y->member_count - 1].value_end = y->json.len;
    }
}

static tc_status open_anchor(struct yaml *y, struct fy_token *token, size_t *out_anchor)
{
    *out_anchor = NO_ANCHOR;
    if (token == NULL) {
        return TC_OK;
    }
    size_t len = 0;
    const char *name = fy_token_get_text(token, &len);
    if (y->anchor_count == ANCHORS_MAX || name == NULL || len > ANCHOR_NAME_MAX) {
        return refuse(y, TC_E_LIMIT, "too many anchors, or a name that is too long");
    }
    if (y->anchors == NULL) {
        y->anchors = calloc(ANCHORS_MAX, sizeof *y->anchors);
    }
    if (y->anchors == NULL) {
        return no_memory(y);
    }
    struct anchor *a = &y->anchors[y->anchor_count];
    memcpy(a->name, name, len);
    a->name_len = len;
    *out_anchor = y->anchor_count++;
    return TC_OK;
}

static tc_status expand(struct yaml *y, size_t bytes)
{
    if (bytes > TC_YAML_EXPANSION_MAX - y->expanded) {
        return refuse(y, TC_E_LIMIT, "aliases would make the document too large");
    }
    y->expanded += bytes;
    return TC_OK;
}

/* Keeps the text of a node that is complete. */
static tc_status close_anchor(struct yaml *y, size_t anchor, size_t json_start, size_t height)
{
    if (anchor == NO_ANCHOR) {
        return TC_OK;
    }
    struct anchor *a = &y->anchors[anchor];
    size_t len = y->json.len - json_start;
    TC_TRY(expand(y, len));
    a->text = malloc(len + 1);
    if (a->text == NULL) {
        return no_memory(y);
    }
    memcpy(a->text, y->json.data + json_start, len);
    a->len = len;
    a->height = height;
    return TC_OK;
}

static tc_status on_alias(struct yaml *y, struct fy_token *token)
{
    size_t len = 0;
    const char *name = fy_token_get_text(token, &len);
    size_t i = y->anchor_count;
    if (y->aliases++ == ALIASES_MAX) {
        return refuse(y, TC_E_LIMIT, "too many aliases");
    }
    if (is_key(y)) {
        return refuse(y, TC_E_UNSUPPORTED, "an alias as a key");
    }
    while (name != NULL && i > 0 &&
           !tc_slice_eq(tc_slice_make(name, len),
                        tc_slice_make(y->anchors[i - 1].name, y->anchors[i - 1].name_len))) {
        i--;
    }
    if (name == NULL || i == 0) {
        return refuse(y, TC_E_MALFORMED, "an alias of nothing that was named before");
    }
    const struct anchor *a = &y->anchors[i - 1];
    if (a->text == NULL) {
        return refuse(y, TC_E_UNSUPPORTED, "an alias of something that it is itself in");
    }
    TC_TRY(expand(y, a->len));
    TC_TRY(begin_value(y, a->height));
    TC_TRY(room(y, a->len));
    tc_buf_put(&y->json, a->text, a->len);
    end_value(y);
    return TC_OK;
}

static tc_status on_key(struct yaml *y, struct tc_slice key, bool is_plain)
{
    struct frame *f = top(y);
    if (y->member_count == TC__YAML_MEMBERS_MAX) {
        return refuse(y, TC_E_LIMIT, "too many members");
    }
    if (y->member_count == y->member_cap) {
        size_t cap = y->member_cap == 0 ? 256 : y->member_cap * 2;
        struct tc__yaml_member *members = realloc(y->members, cap * sizeof *members);
        if (members == NULL) {
            return no_memory(y);
        }
        y->members = members;
        y->member_cap = cap;
    }
    TC_TRY(room(y, TC__YAML_PUT_MAX(key.len)));
    if (f->has_items) {
        tc_buf_char(&y->json, ',');
    }
    size_t start = y->json.len;
    tc_buf_json(&y->json, key);
    struct tc__yaml_member *m = &y->members[y->member_count++];
    *m = (struct tc__yaml_member){
        .key = start + 1,
        .key_len = y->json.len - start - 2,
        .line = y->at.line,
        .column = y->at.column,
        .is_merge = is_plain && y->schema == TC_YAML_PYTHON_1_1 && tc_slice_eq(key, S("<<")),
    };
    tc_buf_char(&y->json, ':');
    m->value = y->json.len;
    m->value_end = y->json.len;
    f->has_merge = f->has_merge || m->is_merge;
    f->has_items = true;
    f->has_key = true;
    return TC_OK;
}

/* What an explicit tag makes of a scalar. */
static tc_status tag_kind(struct yaml *y, struct fy_token *tag, struct tc_slice text,
                          enum tc__yaml_kind *io_kind)
{
    static const struct {
        const char *name;
        enum tc__yaml_kind kind;
    } tags[] = {{"str", TC__YAML_STRING},
                {"null", TC__YAML_NULL},
                {"bool", TC__YAML_BOOL},
                {"int", TC__YAML_INT},
                {"float", TC__YAML_FLOAT}};
    size_t len = 0;
    const char *bytes = fy_token_get_text(tag, &len);
    struct tc_slice name = tc_slice_make(bytes, bytes == NULL ? 0 : len);
    struct tc_slice core = S("tag:yaml.org,2002:");
    if (name.len == 0 || tc_slice_eq(name, S("!"))) {
        *io_kind = TC__YAML_STRING;
        return TC_OK;
    }
    name = tc_slice_starts(name, core) ? tc_slice_from(name, core.len) : TC_EMPTY;
    enum tc__yaml_kind found = tc__yaml_kind(text, y->schema);
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        if (tc_slice_eq(name, tc_slice_cstr(tags[i].name))) {
            bool widens = tags[i].kind == TC__YAML_FLOAT && found == TC__YAML_INT;
            if (tags[i].kind != TC__YAML_STRING && tags[i].kind != found && !widens) {
                return refuse(y, TC_E_MALFORMED, "a value that is not what its tag says");
            }
            *io_kind = widens ? found : tags[i].kind;
            return TC_OK;
        }
    }
    return refuse(y, TC_E_UNSUPPORTED, "a tag that is not read");
}

static tc_status on_scalar(struct yaml *y, struct fy_event *event)
{
    struct fy_token *token = event->scalar.value;
    size_t len = 0;
    const char *bytes = fy_token_get_text(token, &len);
    struct tc_slice text = bytes == NULL ? S("") : tc_slice_make(bytes, len);
    bool is_plain = token == NULL || fy_token_scalar_style(token) == FYSS_PLAIN;
    enum tc__yaml_kind kind = is_plain ? tc__yaml_kind(text, y->schema) : TC__YAML_STRING;
    size_t anchor = NO_ANCHOR;
    if (event->scalar.tag != NULL) {
        TC_TRY(tag_kind(y, event->scalar.tag, text, &kind));
    }
    if (is_key(y)) {
        if (event->scalar.anchor != NULL) {
            return refuse(y, TC_E_UNSUPPORTED, "an anchor on a key");
        }
        return on_key(y, text, is_plain);
    }
    if (kind == TC__YAML_WRONG) {
        return refuse(y, TC_E_MALFORMED, "a number without digits, or with too many");
    }
    TC_TRY(open_anchor(y, event->scalar.anchor, &anchor));
    TC_TRY(begin_value(y, 0));
    TC_TRY(room(y, TC__YAML_PUT_MAX(text.len)));
    size_t start = y->json.len;
    tc__yaml_put(&y->json, text, kind, y->schema);
    TC_TRY(close_anchor(y, anchor, start, 0));
    end_value(y);
    return TC_OK;
}

/* Tags of collections say nothing new, or something that is not data. */
static bool is_usual_tag(struct fy_token *tag, bool is_mapping)
{
    size_t len = 0;
    const char *bytes = fy_token_get_text(tag, &len);
    struct tc_slice name = tc_slice_make(bytes, bytes == NULL ? 0 : len);
    return name.len == 0 || tc_slice_eq(name, S("!")) ||
           tc_slice_eq(name, is_mapping ? S("tag:yaml.org,2002:map") : S("tag:yaml.org,2002:seq"));
}

static tc_status on_open(struct yaml *y, bool is_mapping, struct fy_token *tag,
                         struct fy_token *anchor)
{
    struct frame f = {.is_mapping = is_mapping, .height = 1};
    if (is_key(y)) {
        return refuse(y, TC_E_UNSUPPORTED, "a key that is a mapping or a list");
    }
    if (tag != NULL && !is_usual_tag(tag, is_mapping)) {
        return refuse(y, TC_E_UNSUPPORTED, "a tag that is not read");
    }
    TC_TRY(begin_value(y, 1));
    TC_TRY(open_anchor(y, anchor, &f.anchor));
    TC_TRY(room(y, 1));
    f.json_start = y->json.len;
    f.first_member = y->member_count;
    tc_buf_char(&y->json, is_mapping ? '{' : '[');
    y->frames[y->depth++] = f;
    return TC_OK;
}

/* Keys that occur twice, and merges. */
static tc_status settle_members(struct yaml *y, const struct frame *f)
{
    size_t count = y->member_count - f->first_member;
    size_t at = count;
    if (count == 0) {
        return TC_OK;
    }
    const struct tc__yaml_member *members = y->members + f->first_member;
    if (count > 1 && tc__yaml_find_twice(y->json.data, members, count, &at) != TC_OK) {
        return no_memory(y);
    }
    if (at < count && y->schema == TC_YAML_CORE_1_2) {
        return refuse_at(y, TC_E_MALFORMED, (struct place){members[at].line, members[at].column, 0},
                         "a key that is there already");
    }
    if (at == count && !f->has_merge) {
        return TC_OK;
    }
    const char *why = NULL;
    tc_status status = tc__yaml_merge(&y->json, f->json_start, members, count, &why, &at);
    if (status == TC_E_NOMEM) {
        return no_memory(y);
    }
    if (status != TC_OK) {
        return refuse_at(y, status, (struct place){members[at].line, members[at].column, 0}, why);
    }
    return TC_OK;
}

static tc_status on_close(struct yaml *y)
{
    /* libfyaml closes only what it opened. */
    TC_ASSERT(y->depth > 0);
    struct frame f = y->frames[y->depth - 1];
    if (f.is_mapping) {
        TC_TRY(settle_members(y, &f));
        y->member_count = f.first_member;
    }
    y->depth--;
    TC_TRY(room(y, 1));
    tc_buf_char(&y->json, f.is_mapping ? '}' : ']');
    TC_TRY(close_anchor(y, f.anchor, f.json_start, f.height));
    struct frame *parent = top(y);
    if (parent != NULL && parent->height < f.height + 1) {
        parent->height = f.height + 1;
    }
    end_value(y);
    return TC_OK;
}

static tc_status on_event(void *context, struct fy_event *event)
{
    struct yaml *y = context;
    const struct fy_mark *mark = fy_event_start_mark(event);
    if (mark != NULL) {
        y->at =
            (struct place){(unsigned)mark->line + 1, (unsigned)mark->column + 1, mark->input_pos};
    }
    switch (event->type) {
    case FYET_DOCUMENT_START:
        return y->documents++ == 0 ? TC_OK : refuse(y, TC_E_UNSUPPORTED, "more than one document");
    case FYET_MAPPING_START:
        return on_open(y, true, event->mapping_start.tag, event->mapping_start.anchor);
    case FYET_SEQUENCE_START:
        return on_open(y, false, event->sequence_start.tag, event->sequence_start.anchor);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        return on_close(y);
    case FYET_SCALAR:
        return on_scalar(y, event);
    case FYET_ALIAS:
        return on_alias(y, event->alias.anchor);
    case FYET_NONE:
    case FYET_STREAM_START:
    case FYET_STREAM_END:
    case FYET_DOCUMENT_END:
        break;
    }
    return TC_OK;
}

static tc_status parse(struct yaml *y)
{
    struct tc_yaml_problem problem;
    tc_status status = TC_OK;
    size_t screened = 0;
    const char *why = tc_yaml_screen(y->text, &screened, &status);
    if (why != NULL) {
        struct tc_yaml_place at = tc_yaml_place_of(y->text, screened);
        return refuse_at(y, status, (struct place){at.line, at.column, screened}, why);
    }
    status = tc_yaml_events(y->text, on_event, y, &problem);
    if (status == TC_E_NOMEM) {
        return no_memory(y);
    }
    if (problem.text[0] != '\0') {
        if (problem.at.line > 0) {
            y->at.line = problem.at.line;
            y->at.column = problem.at.column;
        }
        return refuse(y, status, problem.text);
    }
    TC_TRY(status);
    if (y->json.len == 0) {
        TC_TRY(room(y, TC__YAML_PUT_MAX(0)));
        tc_buf_lit(&y->json, "null");
    }
    TC_TRY(room(y, 1));
    y->json.data[y->json.len] = '\0';
    return TC_OK;
}

tc_status tc_yaml_to_json(struct tc_slice text, enum tc_yaml_schema schema, char **out_json,
                          size_t *out_len, struct tc_error *err)
{
    if (text.len > TC_YAML_TEXT_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0, "YAML of %zu bytes; the limit is %zu", text.len,
                       TC_YAML_TEXT_MAX);
    }
    struct yaml y = {.schema = schema, .err = err, .at = {1, 1, 0}};
    y.text = text.len == 0 ? S("") : text;
    tc_status status = parse(&y);
    for (size_t i = 0; i < y.anchor_count; i++) {
        free(y.anchors[i].text);
    }
    free(y.anchors);
    free(y.members);
    if (status != TC_OK) {
        free(y.json.data);
        return status;
    }
    *out_json = y.json.data;
    *out_len = y.json.len;
    return TC_OK;
}
