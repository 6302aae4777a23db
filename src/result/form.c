/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/json/raw.h"
#include "base/limits.h"
#include "base/yaml/json.h"
#include "result/map.h"
#include "result/result_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much of a text is looked at to see whether it may be YAML. */
#define YAML_LOOK_BYTES 4096

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t skip_space(struct tc_slice s, size_t at)
{
    while (at < s.len && is_space(s.ptr[at])) {
        at++;
    }
    return at;
}

static size_t count_lines(struct tc_slice s, size_t from, size_t to)
{
    size_t lines = 0;
    while (from < to) {
        const char *end = memchr(s.ptr + from, '\n', to - from);
        if (end == NULL) {
            break;
        }
        lines++;
        from = (size_t)(end - s.ptr) + 1;
    }
    return lines;
}

/* ---- NaN and infinities ---- */

/* Python's json.dump writes them, and C's printf those in small letters; they are no JSON. */
static const struct {
    struct tc_slice word;
    const char *instead; /* as many bytes */
} LITERALS[] = {
    {{"-Infinity", 9}, "\"-inf\"   "},
    {{"Infinity", 8}, "\"inf\"   "},
    {{"NaN", 3}, "\"\" "},
    {{"-nan", 4}, "\"\"  "},
    {{"nan", 3}, "\"\" "},
    {{"-inf", 4}, "\"\"  "},
    {{"inf", 3}, "\"\" "},
};

static bool has_literals(struct tc_slice s)
{
    return tc_slice_contains(s, TC_LIT("NaN")) || tc_slice_contains(s, TC_LIT("Infinity"));
}

/* The end of a string that opens at s[at]; the end of s when it does not close. */
static size_t behind_string(const char *s, size_t len, size_t at)
{
    for (at++; at < len && s[at] != '"'; at++) {
        if (s[at] == '\\') {
            at++;
        }
    }
    return at < len ? at + 1 : len;
}

/* Replaces the words outside strings, in place; how many of them were NaN. */
static size_t replace_literals(char *s, size_t len, size_t *out_first)
{
    size_t nan_count = 0;
    for (size_t at = 0; at < len;) {
        if (s[at] == '"') {
            at = behind_string(s, len, at);
            continue;
        }
        size_t step = 1;
        if (s[at] == 'N' || s[at] == 'I' || s[at] == '-' || s[at] == 'n' || s[at] == 'i') {
            struct tc_slice rest = tc_slice_make(s + at, len - at);
            for (size_t i = 0; i < TC_COUNT(LITERALS); i++) {
                if (tc_slice_starts(rest, LITERALS[i].word)) {
                    step = LITERALS[i].word.len;
                    memcpy(s + at, LITERALS[i].instead, step);
                    if (step <= 4 && nan_count++ == 0) {
                        *out_first = at;
                    }
                    break;
                }
            }
        }
        at += step;
    }
    return nan_count;
}

tc_status tc__result_parse_loose(struct tc_json_parser *parser, struct tc_slice text,
                                 struct tc_json *out, struct tc_error *err)
{
    tc_status status = tc_json_parse(parser, text, out, err);
    bool may = tc_slice_contains(text, TC_LIT("nan")) || tc_slice_contains(text, TC_LIT("inf"));
    if (status != TC_E_MALFORMED || (!may && !has_literals(text))) {
        return status;
    }
    char *copy = malloc(text.len);
    size_t first = 0;
    if (copy == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for %zu bytes", text.len);
    }
    memcpy(copy, text.ptr, text.len);
    (void)replace_literals(copy, text.len, &first);
    status = tc_json_parse(parser, tc_slice_make(copy, text.len), out, err);
    free(copy);
    return status;
}

static tc_status patch_literals(struct tc_result_parsed *p, struct tc_error *err)
{
    if (!has_literals(p->in.bytes)) {
        return TC_OK;
    }
    p->patched = malloc(p->in.bytes.len);
    if (p->patched == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for %zu bytes", p->in.bytes.len);
    }
    memcpy(p->patched, p->in.bytes.ptr, p->in.bytes.len);
    p->nan_count = replace_literals(p->patched, p->in.bytes.len, &p->nan_at);
    p->in.bytes.ptr = p->patched;
    return TC_OK;
}

/* ---- where a JSON document is broken ---- */

/* One step of a search: the member or element of `text` that does not parse alone. */
static bool broken_part(struct tc_json_parser *parser, struct tc_slice text, struct tc_buf *pointer,
                        struct tc_slice *out)
{
    bool object = text.ptr[0] == '{';
    size_t at = 0;
    size_t index = 0;
    struct tc_slice key = TC_EMPTY;
    struct tc_slice part;
    while (object ? tc_json_raw_member(text, &at, &key, &part)
                  : tc_json_raw_element(text, &at, &part)) {
        struct tc_json root;
        if (tc_json_parse(parser, part, &root, NULL) != TC_OK) {
            tc_buf_char(pointer, '/');
            if (object) {
                tc_buf_str(pointer, tc_slice_head(key, 64));
            } else {
                tc_buf_u64(pointer, index);
            }
            *out = part;
            return true;
        }
        index++;
    }
    return false;
}

/* Says where `text` (of in->bytes) stops being JSON: the innermost member that does not parse. */
static tc_status say_broken(const struct tc_result_input *in, struct tc_slice text,
                            const char *reason, struct tc_error *err)
{
    char data[160];
    struct tc_buf pointer = tc_buf_make(data, sizeof data);
    struct tc_slice part = text;
    for (int depth = 0; depth < TC_JSON_DEPTH_MAX; depth++) {
        struct tc_slice inner;
        if (part.len == 0 || (part.ptr[0] != '{' && part.ptr[0] != '[') ||
            !broken_part(in->parser, part, &pointer, &inner)) {
            break;
        }
        part = inner;
    }
    size_t offset = (size_t)(part.ptr - in->bytes.ptr);
    double number = 0;
    if (tc_map_parse_number(part, &number)) {
        reason = "this number is out of range";
    }
    return tc_fail(err, TC_E_MALFORMED, offset, "line %zu, byte %zu, in %.*s: %s",
                   count_lines(in->bytes, 0, offset) + 1, offset,
                   TC_FMT(pointer.len > 0 ? tc_buf_slice(&pointer) : TC_LIT("the document")),
                   reason);
}

static tc_status say_cut(struct tc_slice bytes, size_t from, struct tc_error *err)
{
    return tc_fail(err, TC_E_MALFORMED, bytes.len,
                   "cut off: it ends at byte %zu (line %zu) inside the JSON document that starts "
                   "in line %zu",
                   bytes.len, count_lines(bytes, 0, bytes.len) + 1,
                   count_lines(bytes, 0, from) + 1);
}

/* A document that was cut out of in->bytes. */
static tc_status parse_part(const struct tc_result_input *in, struct tc_slice part,
                            struct tc_json *out, struct tc_error *err)
{
    struct tc_error why = {.status = TC_OK};
    tc_status status = tc_json_parse(in->parser, part, out, &why);
    if (status == TC_OK) {
        return TC_OK;
    }
    if (status == TC_E_MALFORMED) {
        return say_broken(in, part, why.message, err);
    }
    return tc_fail(err, status, 0, "%s", why.message);
}

/* ---- forms ---- */

/* JSON, one document or several. TC_E_MALFORMED: it is neither. */
static tc_status parse_json(struct tc_result_parsed *p, struct tc_error *err)
{
    TC_TRY(patch_literals(p, err));
    struct tc_slice bytes = p->in.bytes;
    size_t at = 0;
    struct tc_slice first;
    if (!tc_json_raw_value(bytes, &at, &first)) {
        return say_cut(bytes, skip_space(bytes, 0), err);
    }
    TC_TRY(parse_part(&p->in, first, &p->in.root, err));
    at = skip_space(bytes, at);
    if (at == bytes.len) {
        p->in.form = TC_RESULT_JSON;
        return TC_OK;
    }
    if (bytes.ptr[at] == '{') {
        p->in.form = TC_RESULT_LINES;
        return TC_OK;
    }
    return tc_fail(err, TC_E_MALFORMED, at,
                   "line %zu, byte %zu: text behind the end of the JSON document",
                   count_lines(bytes, 0, at) + 1, at);
}

/* A line "name: value", "name:", "- value" or "---", before any other. */
static bool may_be_yaml(struct tc_slice text)
{
    struct tc_slice rest = tc_slice_head(text, YAML_LOOK_BYTES);
    while (rest.len > 0) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        struct tc_slice word = tc_slice_trim(line);
        if (word.len == 0 || word.ptr[0] == '#') {
            continue;
        }
        if (tc_slice_eq(word, TC_LIT("---"))) {
            return true;
        }
        size_t colon = tc_slice_find_byte(line, ':');
        if (colon == TC_NPOS || colon == 0 || is_space(line.ptr[0])) {
            return false;
        }
        for (size_t i = 0; i < colon; i++) {
            if (is_space(line.ptr[i])) {
                return false;
            }
        }
        return colon + 1 == line.len || is_space(line.ptr[colon + 1]);
    }
    return false;
}

static tc_status parse_yaml(struct tc_result_parsed *p, struct tc_error *err)
{
    size_t len = 0;
    TC_TRY(tc_yaml_to_json(p->in.bytes, &p->json, &len, err));
    TC_TRY(tc_json_parse(p->in.parser, tc_slice_make(p->json, len), &p->in.root, err));
    if (tc_json_type(p->in.root) != TC_JSON_OBJECT) {
        return tc_fail(err, TC_E_MALFORMED, 0, "YAML, but no mapping");
    }
    p->in.form = TC_RESULT_JSON;
    p->in.was_yaml = true;
    return TC_OK;
}

static tc_status refuse_encoded(struct tc_slice bytes, struct tc_error *err)
{
    static const struct {
        struct tc_slice magic;
        const char *name;
    } KINDS[] = {
        {{"\x1f\x8b", 2}, "gzip"},
        {{"\x28\xb5\x2f\xfd", 4}, "zstd"},
        {{"PK\x03\x04", 4}, "zip"},
    };
    for (size_t i = 0; i < TC_COUNT(KINDS); i++) {
        if (tc_slice_starts(bytes, KINDS[i].magic)) {
            return tc_fail(err, TC_E_UNSUPPORTED, 0, "compressed (%s): unpack it first",
                           KINDS[i].name);
        }
    }
    /* What PowerShell writes with ">". */
    if (tc_slice_starts(bytes, TC_LIT("\xff\xfe")) || tc_slice_starts(bytes, TC_LIT("\xfe\xff"))) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0, "UTF-16 text: write it as UTF-8 first");
    }
    return TC_OK;
}

/* Only what says that the bytes are no JSON or YAML lets them be text. */
static tc_status parse_as(struct tc_result_parsed *p, struct tc_error *err)
{
    char first = p->in.bytes.ptr[skip_space(p->in.bytes, 0)];
    tc_status status = TC_OK;
    if (first == '{' || first == '[') {
        status = parse_json(p, &p->json_error);
    } else if (p->in.bytes.len <= TC_YAML_TEXT_MAX && may_be_yaml(p->in.bytes)) {
        status = parse_yaml(p, &p->json_error);
        p->tried_yaml = true;
        /* "0: ..." of srun begins a log like YAML: what YAML cannot be may still be text. */
        status = status == TC_OK || status == TC_E_NOMEM ? status : TC_E_MALFORMED;
    }
    if (status != TC_OK && status != TC_E_MALFORMED) {
        *err = p->json_error;
        return status;
    }
    return TC_OK;
}

tc_status tc__result_parse(struct tc_slice name, struct tc_slice bytes,
                           struct tc_result_parsed *out, struct tc_error *err)
{
    memset(out, 0, sizeof *out);
    if (bytes.len > TC_RESULT_BYTES_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0, "a file of %zu bytes; the limit is %zu", bytes.len,
                       TC_RESULT_BYTES_MAX);
    }
    if (tc_slice_starts(bytes, TC_LIT("\xef\xbb\xbf"))) {
        bytes = tc_slice_from(bytes, 3);
    }
    if (skip_space(bytes, 0) == bytes.len) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       bytes.len == 0 ? "the file is empty" : "the file has nothing but blanks");
    }
    TC_TRY(refuse_encoded(bytes, err));
    out->in = (struct tc_result_input){.name = name, .bytes = bytes, .form = TC_RESULT_TEXT};
    out->in.parser = tc_json_parser_create();
    if (out->in.parser == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a JSON parser");
    }
    tc_status status = parse_as(out, err);
    if (status != TC_OK) {
        tc__result_parsed_fini(out);
    }
    return status;
}

void tc__result_as_text(struct tc_result_parsed *p)
{
    p->in.form = TC_RESULT_TEXT;
    p->in.was_yaml = false;
}

void tc__result_parsed_fini(struct tc_result_parsed *p)
{
    tc_json_parser_destroy(p->in.parser);
    free(p->patched);
    free(p->json);
    memset(p, 0, sizeof *p);
}

/* ---- documents ---- */

struct tc_json tc_result_first(const struct tc_result_input *in)
{
    struct tc_json first = in->root;
    if (tc_json_type(in->root) == TC_JSON_ARRAY) {
        struct tc_json_iter it = tc_json_iter_make(in->root);
        (void)tc_json_iter_next(&it, NULL, &first);
    }
    return first;
}

static tc_status next_line(const struct tc_result_input *in, struct tc_result_documents *docs,
                           struct tc_json *out, struct tc_error *err)
{
    docs->at = skip_space(in->bytes, docs->at);
    if (docs->at == in->bytes.len) {
        return TC_E_NOTFOUND;
    }
    docs->line += count_lines(in->bytes, docs->counted, docs->at) + (docs->count == 0);
    docs->counted = docs->at;
    (void)snprintf(docs->where, sizeof docs->where, "line:%zu", docs->line);
    size_t from = docs->at;
    struct tc_slice part;
    if (!tc_json_raw_value(in->bytes, &docs->at, &part)) {
        return say_cut(in->bytes, from, err);
    }
    return parse_part(in, part, out, err);
}

tc_status tc_result_next(const struct tc_result_input *in, struct tc_result_documents *docs,
                         struct tc_json *out, struct tc_error *err)
{
    tc_status status = TC_OK;
    if (in->form == TC_RESULT_LINES) {
        status = next_line(in, docs, out, err);
    } else if (tc_json_type(in->root) == TC_JSON_ARRAY) {
        if (docs->count == 0) {
            docs->list = tc_json_iter_make(in->root);
        }
        (void)snprintf(docs->where, sizeof docs->where, "/%zu", docs->count);
        status = tc_json_iter_next(&docs->list, NULL, out) ? TC_OK : TC_E_NOTFOUND;
    } else if (docs->count == 0) {
        *out = in->root;
    } else {
        status = TC_E_NOTFOUND;
    }
    docs->count += status == TC_OK;
    return status;
}
