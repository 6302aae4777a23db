/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kubernetes codec: what kubectl prints as JSON or YAML, and what the
 * OpenTelemetry Collector writes of it. This file recognises the input and
 * walks JSON text. A list is never parsed as a whole: its items are cut out one
 * at a time, so that memory follows the largest item, each event points at the
 * exact bytes of its object, and a file that was cut off gives what came before
 * the cut. Only what is cut out is parsed; the text around it is walked by its
 * brackets and strings.
 */
#include "base/json_raw.h"
#include "codec/k8s_priv.h"

#define S(literal) TC_LIT(literal)
#define BYTE_ORDER_MARK S("\xef\xbb\xbf")

static size_t skip_space(struct tc_slice s, size_t at)
{
    while (at < s.len &&
           (s.ptr[at] == ' ' || s.ptr[at] == '\t' || s.ptr[at] == '\n' || s.ptr[at] == '\r')) {
        at++;
    }
    return at;
}

static bool byte_is(struct tc_slice text, size_t at, char c)
{
    return at < text.len && text.ptr[at] == c;
}

enum step { STEP_ITEM, STEP_END, STEP_BROKEN };

/* From behind the bracket or the item before to the next item, or behind the closing bracket. */
static enum step next_item(struct tc_slice text, size_t *io_at, bool first, char close)
{
    size_t at = skip_space(text, *io_at);
    *io_at = at;
    if (byte_is(text, at, close)) {
        *io_at = at + 1;
        return STEP_END;
    }
    if (at >= text.len || (!first && text.ptr[at] != ',')) {
        return STEP_BROKEN;
    }
    *io_at = skip_space(text, first ? at : at + 1);
    return STEP_ITEM;
}

/* The key of a member, without its quotes; moves to the value. */
static bool read_key(struct tc_slice text, size_t *io_at, struct tc_slice *out)
{
    struct tc_slice key;
    size_t at = *io_at;
    if (!byte_is(text, at, '"') || !tc_json_raw_value(text, &at, &key)) {
        return false;
    }
    at = skip_space(text, at);
    if (!byte_is(text, at, ':')) {
        return false;
    }
    *io_at = skip_space(text, at + 1);
    *out = tc_slice_make(key.ptr + 1, key.len - 2);
    return true;
}

/*
 * An array at a place we know. Its elements are either cut out and read, or
 * objects to walk into; one of the two functions is there. *io_at is at the
 * object's opening bracket then, and afterwards behind the closing one.
 */
struct array {
    struct tc_slice key; /* the member that holds it */
    tc_status (*read)(struct tc_k8s *k, struct tc_slice json, const struct tc_k8s_resource *of);
    tc_status (*walk)(struct tc_k8s *k, size_t *io_at, const struct tc_k8s_resource *of);
};

/* *io_at is at the opening bracket; afterwards behind the closing one, or where it broke. */
static tc_status walk_array(struct tc_k8s *k, size_t *io_at, const struct array *array,
                            const struct tc_k8s_resource *of)
{
    struct tc_slice text = k->in->bytes;
    *io_at += 1;
    for (size_t i = 0;; i++) {
        enum step step = next_item(text, io_at, i == 0, ']');
        if (step == STEP_END) {
            return TC_OK;
        }
        struct tc_slice element;
        size_t start = *io_at;
        size_t end = start;
        if (step == STEP_ITEM && array->walk != NULL && byte_is(text, start, '{')) {
            TC_TRY(array->walk(k, io_at, of));
            continue;
        }
        if (step == STEP_BROKEN || !tc_json_raw_value(text, &end, &element)) {
            k->is_broken = true;
            return tc_fail(k->err, TC_E_MALFORMED, start, "%.*s[%zu] is cut off or is not JSON",
                           TC_FMT(array->key), i);
        }
        *io_at = end;
        k->raw_offset = start;
        k->raw_length = element.len;
        TC_TRY(array->read != NULL ? array->read(k, element, of)
                                   : tc__k8s_unknown(k, "an element of a list that is no object"));
    }
}

/*
 * Walks the object at *io_at, into those of its members that are listed and
 * arrays. Duplicate members are all walked.
 */
static tc_status walk_object(struct tc_k8s *k, size_t *io_at, const struct array *arrays,
                             size_t count, const struct tc_k8s_resource *of, bool *out_found)
{
    struct tc_slice text = k->in->bytes;
    size_t start = *io_at;
    *io_at += 1;
    for (size_t members = 0;; members++) {
        enum step step = next_item(text, io_at, members == 0, '}');
        if (step == STEP_END) {
            return TC_OK;
        }
        struct tc_slice key = TC_EMPTY;
        bool whole = step == STEP_ITEM && read_key(text, io_at, &key);
        const struct array *array = NULL;
        for (size_t i = 0; whole && i < count; i++) {
            if (tc_slice_eq(key, arrays[i].key)) {
                array = &arrays[i];
                *out_found = true;
            }
        }
        if (array != NULL && byte_is(text, *io_at, '[')) {
            TC_TRY(walk_array(k, io_at, array, of));
            continue;
        }
        struct tc_slice skipped;
        if (!whole || !tc_json_raw_value(text, io_at, &skipped)) {
            k->is_broken = true;
            return tc_fail(k->err, TC_E_MALFORMED, start,
                           "the object is cut off or is not JSON after %zu whole members", members);
        }
    }
}

static tc_status read_item(struct tc_k8s *k, struct tc_slice json, const struct tc_k8s_resource *of)
{
    (void)of;
    return tc__k8s_item(k, json);
}

static tc_status read_record(struct tc_k8s *k, struct tc_slice json,
                             const struct tc_k8s_resource *of)
{
    return tc__k8s_record(k, of, json);
}

static tc_status walk_scope_logs(struct tc_k8s *k, size_t *io_at, const struct tc_k8s_resource *of)
{
    static const struct array records = {
        .key = {"logRecords", sizeof "logRecords" - 1},
        .read = read_record,
    };
    bool found = false;
    return walk_object(k, io_at, &records, 1, of, &found);
}

static tc_status walk_resource_logs(struct tc_k8s *k, size_t *io_at,
                                    const struct tc_k8s_resource *of)
{
    static const struct array scopes = {
        .key = {"scopeLogs", sizeof "scopeLogs" - 1},
        .walk = walk_scope_logs,
    };
    (void)of;
    struct tc_k8s_resource resource = {0};
    struct tc_slice json;
    tc_arena_mark mark = tc_arena_snapshot(k->out->scratch);
    tc_status status = TC_OK;
    bool found = false;
    /* Looked for ahead: nothing says that the resource comes before its logs. */
    if (tc_json_raw_get(tc_slice_from(k->in->bytes, *io_at), S("resource"), &json)) {
        k->raw_offset = (size_t)(json.ptr - k->in->bytes.ptr);
        status = tc__k8s_resource(k, json, &resource);
    }
    if (status == TC_OK) {
        status = walk_object(k, io_at, &scopes, 1, &resource, &found);
    }
    tc_arena_rewind(k->out->scratch, mark);
    return status;
}

/* One JSON text: a list, one object, or a request with logs. */
static tc_status walk_document(struct tc_k8s *k, size_t *io_at)
{
    static const struct array top[] = {
        {.key = {"items", sizeof "items" - 1}, .read = read_item},
        {.key = {"resourceLogs", sizeof "resourceLogs" - 1}, .walk = walk_resource_logs},
    };
    static const struct array bare = {.key = {"element", sizeof "element" - 1}, .read = read_item};
    size_t start = *io_at;
    bool found = false;
    if (byte_is(k->in->bytes, start, '[')) {
        return walk_array(k, io_at, &bare, NULL);
    }
    if (!byte_is(k->in->bytes, start, '{')) {
        k->is_broken = true;
        return tc_fail(k->err, TC_E_MALFORMED, start, "expected a JSON object or array");
    }
    TC_TRY(walk_object(k, io_at, top, sizeof top / sizeof top[0], NULL, &found));
    if (found) {
        return TC_OK;
    }
    k->raw_offset = start;
    k->raw_length = *io_at - start;
    return tc__k8s_item(k, tc_slice_make(k->in->bytes.ptr + start, k->raw_length));
}

/*
 * A document that could not be walked to its end is skipped where its brackets say where it ends:
 * moves *io_at, which is at its start, behind it.
 */
static bool skip_document(struct tc_k8s *k, size_t *io_at, const struct tc_error *why)
{
    struct tc_slice skipped;
    bool has_brackets = byte_is(k->in->bytes, *io_at, '{') || byte_is(k->in->bytes, *io_at, '[');
    if (!k->is_broken || !has_brackets || !tc_json_raw_value(k->in->bytes, io_at, &skipped)) {
        return false;
    }
    k->is_broken = false;
    k->bad = k->bad.status == TC_OK ? *why : k->bad;
    return true;
}

/*
 * Documents one after another, with or without line ends between them. A bad one is told at the
 * end, and what is told then cannot be kept over a pause: there is none any more.
 */
static tc_status walk_documents(struct tc_k8s *k, size_t at)
{
    struct tc_error *err = k->err;
    struct tc_error why = {0};
    tc_status status = TC_OK;
    k->err = &why;
    k->out->pause = false;
    while (status == TC_OK && (!k->out->pause || k->bad.status != TC_OK)) {
        at = skip_space(k->in->bytes, at);
        if (at >= k->in->bytes.len) {
            k->cursor->done = true;
            break;
        }
        size_t start = at;
        status = walk_document(k, &at);
        if (status != TC_OK && skip_document(k, &start, &why)) {
            status = TC_OK;
            at = start;
        }
    }
    k->err = err;
    if (status != TC_OK && err != NULL) {
        *err = why;
    }
    k->cursor->offset = at;
    return status;
}

static size_t content_start(struct tc_slice bytes)
{
    return skip_space(bytes, tc_slice_starts(bytes, BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.len : 0);
}

static bool is_json(struct tc_slice bytes)
{
    size_t at = content_start(bytes);
    return byte_is(bytes, at, '{') || byte_is(bytes, at, '[');
}

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    size_t start = content_start(in->bytes);
    if (cursor->done || start >= in->bytes.len) {
        cursor->done = true;
        return TC_OK;
    }
    struct tc_k8s k = {
        .in = in,
        .cursor = cursor,
        .out = out,
        .err = err,
        .parser = tc_json_parser_create(),
        .seen_ns = TC_TIME_NONE,
    };
    if (k.parser == NULL) {
        return tc_fail(err, TC_E_NOMEM, cursor->offset, "no memory for a JSON parser");
    }
    tc_status status = TC_OK;
    if (is_json(in->bytes)) {
        status = walk_documents(&k, cursor->offset > start ? cursor->offset : start);
    } else {
        status = tc__k8s_yaml(&k);
    }
    tc_json_parser_destroy(k.parser);
    /* Of two things that are wrong with the input the first is told; other failures come first. */
    if (k.bad.status != TC_OK && (status == TC_OK || k.is_broken)) {
        return tc_fail(err, k.bad.status, k.bad.offset, "%s", k.bad.message);
    }
    return status;
}

/* Kubernetes writes its kinds in CamelCase; other formats that have a "kind" do not. */
static bool has_kind(struct tc_slice s)
{
    for (size_t hit = 0; (hit = tc_slice_find(s, S("\"kind\""))) != TC_NPOS;) {
        s = tc_slice_from(s, hit + S("\"kind\"").len);
        size_t at = skip_space(s, 0);
        at = byte_is(s, at, ':') ? skip_space(s, at + 1) : s.len;
        if (byte_is(s, at, '"') && at + 1 < s.len && s.ptr[at + 1] >= 'A' && s.ptr[at + 1] <= 'Z') {
            return true;
        }
    }
    return false;
}

/* True when the first object has one of the members by which our documents are known. */
static bool has_known_member(struct tc_slice head, size_t at)
{
    static const char *const known[] = {"apiVersion",     "kind",      "items",  "resourceLogs",
                                        "involvedObject", "regarding", "object", "metadata"};
    struct tc_slice key;
    struct tc_slice skipped;
    if (byte_is(head, at, '[')) {
        at = skip_space(head, at + 1);
    }
    if (!byte_is(head, at, '{')) {
        return false;
    }
    at++;
    for (size_t n = 0; next_item(head, &at, n == 0, '}') == STEP_ITEM; n++) {
        if (!read_key(head, &at, &key)) {
            return false;
        }
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            if (tc_slice_eq(key, tc_slice_cstr(known[i]))) {
                return true;
            }
        }
        if (!tc_json_raw_value(head, &at, &skipped)) {
            return false;
        }
    }
    return false;
}

static int sniff_json(struct tc_slice head)
{
    if (!has_known_member(head, content_start(head))) {
        return TC_SNIFF_NO;
    }
    if (tc_slice_contains(head, S("\"resourceLogs\""))) {
        bool ours = tc_slice_contains(head, S("\"k8s.event.")) ||
                    tc_slice_contains(head, S("\"k8s.resource.name\"")) ||
                    tc_slice_contains(head, S("receiver/k8seventsreceiver\"")) ||
                    tc_slice_contains(head, S("receiver/k8sobjectsreceiver\""));
        return ours ? TC_SNIFF_SURE : TC_SNIFF_MAYBE;
    }
    if (has_kind(head) && tc_slice_contains(head, S("\"apiVersion\""))) {
        return TC_SNIFF_SURE;
    }
    return tc_slice_contains(head, S("\"involvedObject\"")) ||
                   tc_slice_contains(head, S("\"regarding\""))
               ? TC_SNIFF_LIKELY
               : TC_SNIFF_NO;
}

/* True for "key: Value" with a value of any kind, or of a CamelCase one only. */
static bool line_has_key(struct tc_slice line, struct tc_slice key, bool camel)
{
    struct tc_slice value;
    if (!tc_slice_eq(tc_slice_cut(line, ':', &value), key) || key.len == line.len) {
        return false;
    }
    value = tc_slice_trim(value);
    return !camel || (value.len > 0 && value.ptr[0] >= 'A' && value.ptr[0] <= 'Z');
}

/* A YAML mapping's first line: "word:" or "word: ...". Prose, logs and Markdown have none. */
static bool is_mapping_line(struct tc_slice line)
{
    size_t at = 0;
    while (at < line.len && ((line.ptr[at] | 0x20) >= 'a' && (line.ptr[at] | 0x20) <= 'z')) {
        at++;
    }
    return at > 0 && byte_is(line, at, ':') && (at + 1 == line.len || line.ptr[at + 1] == ' ');
}

static int sniff_yaml(struct tc_slice head)
{
    struct tc_slice rest = tc_slice_from(head, content_start(head));
    bool first = true;
    while (rest.len > 0) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        line = tc_slice_ends(line, S("\r")) ? tc_slice_head(line, line.len - 1) : line;
        if (line.len == 0 || line.ptr[0] == '#' || tc_slice_eq(tc_slice_trim(line), S("---"))) {
            continue;
        }
        if (first && tc_slice_starts(line, S("- "))) {
            line = tc_slice_from(line, 2);
        }
        if (first && !is_mapping_line(line)) {
            return TC_SNIFF_NO;
        }
        if (line_has_key(line, S("apiVersion"), false) || line_has_key(line, S("kind"), true) ||
            (first && line_has_key(line, S("resourceLogs"), false))) {
            return TC_SNIFF_LIKELY;
        }
        first = false;
    }
    return TC_SNIFF_NO;
}

static int sniff(struct tc_slice head, bool at_end, struct tc_slice name)
{
    (void)at_end;
    (void)name;
    return is_json(head) ? sniff_json(head) : sniff_yaml(head);
}

const struct tc_codec tc_codec_k8s = {
    .name = "k8s",
    .summary = "Kubernetes events, pods and nodes: kubectl JSON or YAML, or OTLP logs of them",
    .ordered = false,
    .sniff = sniff,
    .decode = decode,
};
