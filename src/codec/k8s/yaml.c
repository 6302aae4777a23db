/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes as YAML. The events of the text are written out as JSON, one item
 * of a list (or one log record) at a time, and read as such; their marks give the
 * bytes of each item. Every scalar becomes a string, which loses nothing here:
 * numbers are read from strings as well. Aliases are refused, not expanded, so
 * that a small document cannot become a large one.
 *
 * A resource must come before its logs, as every writer does it. A text that
 * was cut between two lines is mostly still YAML and cannot be told from a
 * whole one.
 */
#include "base/assert.h"
#include "base/limits.h"
#include "base/yaml/events.h"
#include "base/yaml/screen.h"
#include "base/yaml/tree.h"
#include "codec/k8s/k8s_priv.h"

#define S(literal) TC_LIT(literal)

/* One YAML text. kubectl's lists of a large cluster have tens of MB. */
#define YAML_TEXT_MAX ((size_t)256 << 20)
/* One item as JSON. The API server takes objects of up to 1.5 MB; AnyValues are some times that. */
#define YAML_ITEM_MAX ((size_t)16 << 20)

/* What a value is in the shapes we know; OTHER for all that is merely inside of something. */
enum role {
    OTHER,
    ROOT,  /* a document */
    ITEMS, /* the list of a List, or a document that is a sequence */
    ITEM,  /* read as an object */
    RESOURCE_LOGS,
    RESOURCE_LOG,
    RESOURCE, /* read for the records that follow */
    SCOPE_LOGS,
    SCOPE_LOG,
    LOG_RECORDS,
    LOG_RECORD, /* read as a record */
};

/* An open mapping or sequence. */
struct frame {
    enum role role;
    enum role value_role; /* of the value whose key was read */
    bool is_mapping;
    bool has_key; /* the next node is a value */
    bool has_items;
    size_t json_start; /* where it begins in the JSON text */
    size_t text_start; /* ... and in the YAML text */
};

/* Invariant: depth <= TC_JSON_DEPTH_MAX; json holds the JSON of what is open and not yet read. */
struct yaml {
    struct tc__decode *decode;
    struct tc_slice text;
    struct tc_buf json;
    struct frame frames[TC_JSON_DEPTH_MAX];
    size_t depth;
    size_t text_end; /* behind the last byte that carried content */
    bool is_cut;     /* text ends inside of something */
    bool has_list;   /* this document's items were read already */
    struct tc_k8s_resource resource;
    tc_arena_mark resource_mark;
};

static enum role role_of_member(enum role parent, struct tc_slice key)
{
    static const struct {
        enum role parent;
        enum role role;
        const char *key;
    } table[] = {
        {ROOT, ITEMS, "items"},
        {ROOT, RESOURCE_LOGS, "resourceLogs"},
        {RESOURCE_LOG, RESOURCE, "resource"},
        {RESOURCE_LOG, SCOPE_LOGS, "scopeLogs"},
        {SCOPE_LOG, LOG_RECORDS, "logRecords"},
    };
    for (size_t i = 0; i < TC_COUNT(table); i++) {
        if (table[i].parent == parent && tc_slice_eq(key, tc_slice_cstr(table[i].key))) {
            return table[i].role;
        }
    }
    return OTHER;
}

static enum role role_of_element(const struct frame *parent)
{
    static const enum role elements[] = {
        [ROOT] = ITEM,
        [ITEMS] = ITEM,
        [RESOURCE_LOGS] = RESOURCE_LOG,
        [SCOPE_LOGS] = SCOPE_LOG,
        [LOG_RECORDS] = LOG_RECORD,
        [LOG_RECORD] = OTHER,
    };
    return parent->is_mapping ? parent->value_role : elements[parent->role];
}

static tc_status refuse(struct yaml *y, tc_status status, const char *what)
{
    return tc_fail(y->decode->err, status, y->text_end, "YAML: %s", what);
}

/* A value begins: its role, and the comma before it where it stays in the JSON text. */
static enum role begin_value(struct yaml *y)
{
    if (y->depth == 0) {
        return ROOT;
    }
    struct frame *parent = &y->frames[y->depth - 1];
    enum role role = role_of_element(parent);
    if (!parent->is_mapping && role == OTHER) {
        if (parent->has_items) {
            tc_buf_char(&y->json, ',');
        }
        parent->has_items = true;
    }
    parent->has_key = false;
    return role;
}

/* A resource, or one of the records that follow it. */
static tc_status read_log_part(struct yaml *y, enum role role, struct tc_slice json)
{
    struct tc__decode *d = y->decode;
    struct tc__value value;
    bool is_record = role == LOG_RECORD;
    TC_TRY(tc__decode_json(d, json, is_record ? "a log record" : "the resource of log records",
                           &value));
    if (is_record) {
        return value.there ? tc__k8s_record(d, &y->resource, value) : TC_OK;
    }
    tc_arena_rewind(d->out->scratch, y->resource_mark);
    return tc__k8s_resource(d, value, &y->resource);
}

/* A value is complete in the JSON text from json_start on: reads it if its role says so. */
static tc_status end_value(struct yaml *y, enum role role, size_t json_start, size_t text_start)
{
    struct tc__decode *d = y->decode;
    if (role == OTHER) {
        return TC_OK;
    }
    if (y->json.overflowed) {
        return refuse(y, TC_E_LIMIT, "an item is too large");
    }
    struct tc_slice json = tc_buf_since(&y->json, json_start);
    struct tc_slice raw = tc_slice_from(tc_slice_head(y->text, y->text_end), text_start);
    d->raw_offset = text_start;
    d->raw_length = tc_slice_trim(raw).len;
    tc_status status = TC_OK;
    if (role == ITEM || (role == ROOT && !y->has_list)) {
        status = tc__k8s_item(d, json);
    } else if (role == LOG_RECORD || role == RESOURCE) {
        status = read_log_part(y, role, json);
    }
    y->json.len = json_start;
    return status;
}

static tc_status on_key(struct yaml *y, struct frame *parent, struct tc_slice key)
{
    if (parent->has_items) {
        tc_buf_char(&y->json, ',');
    }
    tc_buf_json(&y->json, key);
    tc_buf_char(&y->json, ':');
    parent->has_items = true;
    parent->has_key = true;
    parent->value_role = role_of_member(parent->role, key);
    y->has_list = y->has_list || (parent->role == ROOT && parent->value_role != OTHER);
    return TC_OK;
}

static tc_status on_scalar(struct yaml *y, const struct tc_yaml_event *event, size_t text_start)
{
    struct frame *parent = y->depth == 0 ? NULL : &y->frames[y->depth - 1];
    if (parent != NULL && parent->is_mapping && !parent->has_key) {
        return on_key(y, parent, event->text);
    }
    enum role role = begin_value(y);
    size_t json_start = y->json.len;
    if (event->style == TC_YAML_PLAIN &&
        tc_yaml_kind_of(event->text, TC_YAML_TEXT) == TC_YAML_NULL) {
        /* An empty document is nothing. */
        tc_buf_lit(&y->json, "null");
        return role == ROOT ? TC_OK : end_value(y, role, json_start, text_start);
    }
    if (role == ROOT) {
        return refuse(y, TC_E_MALFORMED, "a document that is neither a mapping nor a sequence");
    }
    tc_buf_json(&y->json, event->text);
    return end_value(y, role, json_start, text_start);
}

static tc_status on_open(struct yaml *y, bool is_mapping, size_t text_start)
{
    struct frame *parent = y->depth == 0 ? NULL : &y->frames[y->depth - 1];
    if (parent != NULL && parent->is_mapping && !parent->has_key) {
        return refuse(y, TC_E_MALFORMED, "a key that is not a scalar");
    }
    if (y->depth == TC_JSON_DEPTH_MAX) {
        return refuse(y, TC_E_LIMIT, "nested too deeply");
    }
    enum role role = begin_value(y);
    if (role == ROOT && !is_mapping) {
        y->has_list = true;
    }
    if (role == RESOURCE_LOG) {
        y->resource = (struct tc_k8s_resource){0};
    }
    y->frames[y->depth++] = (struct frame){
        .role = role,
        .is_mapping = is_mapping,
        .json_start = y->json.len,
        .text_start = text_start,
    };
    tc_buf_char(&y->json, is_mapping ? '{' : '[');
    return TC_OK;
}

static tc_status on_close(struct yaml *y, size_t at)
{
    /* libfyaml closes only what it opened. */
    TC_ASSERT(y->depth > 0);
    struct frame *frame = &y->frames[--y->depth];
    if (y->is_cut && at >= y->text.len) {
        return TC_OK; /* it ended because the text did: not a whole item */
    }
    tc_buf_char(&y->json, frame->is_mapping ? '}' : ']');
    return end_value(y, frame->role, frame->json_start, frame->text_start);
}

/* Keeps text_end behind what was read: quotes lie outside of the bytes of a scalar. */
static void advance(struct yaml *y, const struct tc_yaml_event *event)
{
    bool is_written = event->at.line > 0;
    size_t end = is_written ? event->end : y->text_end;
    if (event->type == TC_YAML_SCALAR) {
        end += event->style == TC_YAML_QUOTED;
        /* "key:" with nothing after it: the colon belongs to it. */
        end += !is_written && end < y->text.len && y->text.ptr[end] == ':';
    } else if (event->start == event->end) {
        /* The end of a block lies behind the blank lines and comments after it. */
        return;
    }
    if (end > y->text_end && end <= y->text.len) {
        y->text_end = end;
    }
}

static tc_status on_event(void *context, const struct tc_yaml_event *event)
{
    struct yaml *y = context;
    size_t start = event->at.line > 0 ? event->start : y->text_end;
    advance(y, event);
    if (event->has_anchor || event->type == TC_YAML_ALIAS) {
        return refuse(y, TC_E_UNSUPPORTED, "anchors and aliases are not read");
    }
    switch (event->type) {
    case TC_YAML_DOCUMENT_START:
        y->has_list = false;
        y->resource = (struct tc_k8s_resource){0};
        tc_buf_reset(&y->json);
        break;
    case TC_YAML_OPEN:
        return on_open(y, event->is_mapping, start);
    case TC_YAML_CLOSE:
        return on_close(y, start);
    case TC_YAML_SCALAR:
        return on_scalar(y, event, start);
    case TC_YAML_ALIAS:
    case TC_YAML_DOCUMENT_END:
        break;
    }
    return TC_OK;
}

static tc_status parse(struct yaml *y)
{
    struct tc_yaml_problem problem;
    tc_status cut_status = TC_OK;
    size_t screened = 0;
    const char *cut_why = tc_yaml_screen(y->text, &screened, &cut_status);
    y->text.len = screened;
    y->is_cut = cut_why != NULL;
    tc_status status = tc_yaml_events(y->text, on_event, y, &problem);
    bool is_broken = problem.text[0] != '\0';
    if (cut_why != NULL && (status == TC_OK || (is_broken && status == TC_E_MALFORMED))) {
        y->text_end = y->text.len;
        return refuse(y, cut_status, cut_why);
    }
    if (is_broken && problem.at.line == 0) {
        return refuse(y, status, problem.text);
    }
    if (is_broken) {
        return tc_fail(y->decode->err, status, y->text_end, "YAML, near line %u, column %u: %s",
                       problem.at.line, problem.at.column, problem.text);
    }
    return status;
}

tc_status tc__k8s_yaml(struct tc__decode *d)
{
    struct tc_arena *scratch = d->out->scratch;
    struct yaml y = {.decode = d, .text = d->in->bytes};
    if (y.text.len > YAML_TEXT_MAX) {
        return tc_fail(d->err, TC_E_LIMIT, 0, "YAML of %zu bytes; the limit is %zu", y.text.len,
                       YAML_TEXT_MAX);
    }
    tc_arena_mark mark = tc_arena_snapshot(scratch);
    /* The other half is for the strings of a resource and of composed ids. */
    size_t cap = (scratch->size - scratch->used) / 2;
    cap = cap > YAML_ITEM_MAX ? YAML_ITEM_MAX : cap;
    char *bytes = tc_new(scratch, char, cap);
    y.json = tc_buf_make(bytes, bytes == NULL ? 0 : cap);
    y.resource_mark = tc_arena_snapshot(scratch);
    tc_status status = bytes == NULL ? refuse(&y, TC_E_NOMEM, "no memory for an item") : parse(&y);
    tc_arena_rewind(scratch, mark);
    d->cursor->offset = status == TC_OK ? y.text.len : y.text_end;
    d->cursor->done = status == TC_OK;
    return status;
}
