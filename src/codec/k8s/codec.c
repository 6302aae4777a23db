/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kubernetes codec: what kubectl prints as JSON or YAML, and YAML of
 * OpenTelemetry's logs of it; their JSON is the otlp codec's. This file
 * recognises the input and walks JSON text.
 */
#include "codec/json_walk_priv.h"
#include "codec/k8s/k8s_priv.h"

#define S(literal) TC_LIT(literal)

/* Evidence of what follows is the value at `at`. */
static void set_raw(struct tc__decode *d, size_t at, size_t length)
{
    d->raw_offset = at;
    d->raw_length = length;
}

static tc_status read_item(struct tc__json_walk *w, struct tc_slice json, size_t at, const void *of)
{
    (void)of;
    struct tc__decode *d = w->context;
    set_raw(d, at, json.len);
    return tc__k8s_item(d, json);
}

/* One JSON text: a list or one object. */
static tc_status walk_document(struct tc__decode *d, struct tc__json_walk *w, size_t *io_at)
{
    static const struct tc__json_list items = {.key = {"items", sizeof "items" - 1},
                                               .read = read_item};
    static const struct tc__json_list bare = {.key = {"element", sizeof "element" - 1},
                                              .read = read_item};
    size_t start = *io_at;
    bool found = false;
    if (tc__json_byte_is(w->text, start, '[')) {
        return tc__json_walk_array(w, io_at, &bare, NULL);
    }
    if (!tc__json_byte_is(w->text, start, '{')) {
        w->is_broken = true;
        return tc_fail(w->err, TC_E_MALFORMED, start, "expected a JSON object or array");
    }
    TC_TRY(tc__json_walk_object(w, io_at, &items, 1, NULL, &found));
    if (found) {
        return TC_OK;
    }
    set_raw(d, start, *io_at - start);
    return tc__k8s_item(d, tc_slice_make(w->text.ptr + start, d->raw_length));
}

/*
 * Documents one after another, with or without line ends between them. A bad one is told at the
 * end, and what is told then cannot be kept over a pause: there is none any more.
 */
static tc_status walk_documents(struct tc__decode *d, size_t at)
{
    struct tc_error *err = d->err;
    struct tc_error why = {0};
    struct tc__json_walk w = {.text = d->in->bytes, .err = &why, .context = d};
    tc_status status = TC_OK;
    d->err = &why;
    d->out->pause = false;
    while (status == TC_OK && (!d->out->pause || d->bad.status != TC_OK)) {
        at = tc__json_skip_space(d->in->bytes, at);
        if (at >= d->in->bytes.len) {
            d->cursor->done = true;
            break;
        }
        size_t start = at;
        status = walk_document(d, &w, &at);
        if (status != TC_OK && tc__json_skip_broken(&w, &start)) {
            d->bad = d->bad.status == TC_OK ? why : d->bad;
            status = TC_OK;
            at = start;
        }
    }
    d->err = err;
    d->is_broken = w.is_broken;
    if (status != TC_OK && err != NULL) {
        *err = why;
    }
    d->cursor->offset = at;
    return status;
}

static bool is_json(struct tc_slice bytes)
{
    size_t at = tc__json_start(bytes);
    return tc__json_byte_is(bytes, at, '{') || tc__json_byte_is(bytes, at, '[');
}

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    size_t start = tc__json_start(in->bytes);
    if (cursor->done || start >= in->bytes.len) {
        cursor->done = true;
        return TC_OK;
    }
    struct tc__decode d = {
        .in = in,
        .cursor = cursor,
        .out = out,
        .err = err,
        .parser = tc_json_parser_create(),
        .seen_ns = TC_TIME_NONE,
    };
    if (d.parser == NULL) {
        return tc_fail(err, TC_E_NOMEM, cursor->offset, "no memory for a JSON parser");
    }
    tc_status status = TC_OK;
    if (is_json(in->bytes)) {
        status = walk_documents(&d, cursor->offset > start ? cursor->offset : start);
    } else {
        status = tc__k8s_yaml(&d);
    }
    tc_json_parser_destroy(d.parser);
    /* Of two things that are wrong with the input the first is told; other failures come first. */
    if (d.bad.status != TC_OK && (status == TC_OK || d.is_broken)) {
        return tc_fail(err, d.bad.status, d.bad.offset, "%s", d.bad.message);
    }
    return status;
}

/* Kubernetes writes its kinds in CamelCase; other formats that have a "kind" do not. */
static bool has_kind(struct tc_slice s)
{
    for (size_t hit = 0; (hit = tc_slice_find(s, S("\"kind\""))) != TC_NPOS;) {
        s = tc_slice_from(s, hit + S("\"kind\"").len);
        size_t at = tc__json_skip_space(s, 0);
        at = tc__json_byte_is(s, at, ':') ? tc__json_skip_space(s, at + 1) : s.len;
        if (tc__json_byte_is(s, at, '"') && at + 1 < s.len && s.ptr[at + 1] >= 'A' &&
            s.ptr[at + 1] <= 'Z') {
            return true;
        }
    }
    return false;
}

static int sniff_json(struct tc_slice head)
{
    static const char *const known[] = {"apiVersion", "kind",   "items",   "involvedObject",
                                        "regarding",  "object", "metadata"};
    size_t at = 0;
    if (!tc__json_has_member(head, tc__json_start(head), known, TC_COUNT(known), &at)) {
        return TC_SNIFF_NO;
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
    return at > 0 && tc__json_byte_is(line, at, ':') &&
           (at + 1 == line.len || line.ptr[at + 1] == ' ');
}

static int sniff_yaml(struct tc_slice head)
{
    struct tc_slice rest = tc_slice_from(head, tc__json_start(head));
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

static int sniff(struct tc_codec_head head)
{
    return is_json(head.bytes) ? sniff_json(head.bytes) : sniff_yaml(head.bytes);
}

const struct tc_codec tc_codec_k8s = {
    .name = "k8s",
    .summary = "Kubernetes events, pods and nodes: kubectl JSON or YAML",
    .known_by = "`kind:` or `\"kind\":` with `apiVersion`",
    .gives = "k8s_event, pod_state, node_condition, rank_place, address",
    .example =
        "{\"kind\":\"Event\",\"reason\":\"Evicted\",\"involvedObject\":{\"kind\":\"Pod\",...",
    .ordered = false,
    .sniff = sniff,
    .decode = decode,
};
