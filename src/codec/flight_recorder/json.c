/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON variant of a dump. The parser checks the whole text once; after that
 * base/json/raw.h cuts it, because records need their place in the bytes and
 * strings without escapes can stay there.
 */
#include "codec/flight_recorder/priv.h"

#include "base/json/raw.h"

/* The value whose text was cut out of the document. */
static struct tc__fr_value value_of(const struct tc__fr_doc *doc, struct tc_slice text)
{
    struct tc__fr_value v = {.type = TC__FR_NUMBER};
    int64_t integer = 0;
    v.start = (uint32_t)(text.ptr - doc->bytes.ptr);
    v.at = v.start;
    v.end = v.start + (uint32_t)text.len;
    switch (text.ptr[0]) {
    case '{':
        v.type = TC__FR_DICT;
        break;
    case '[':
        v.type = TC__FR_LIST;
        break;
    case '"':
        v.type = TC__FR_STRING;
        v.at++;
        v.end--;
        v.escaped = tc_slice_find_byte(text, '\\') != TC_NPOS;
        break;
    case 't':
    case 'f':
        v.type = TC__FR_BOOL;
        v.integer = text.ptr[0] == 't';
        break;
    case 'n':
        v.type = TC__FR_NONE;
        break;
    default:
        if (tc_slice_is_i64(text, &integer)) {
            v.type = TC__FR_INT;
            v.integer = integer;
        }
        break;
    }
    return v;
}

tc_status tc__fr_json_open(struct tc__fr_doc *doc, struct tc__fr_value *out_root)
{
    struct tc_json root;
    struct tc_slice text;
    size_t at = 0;
    TC_TRY(tc_json_parse(doc->parser, doc->bytes, &root, doc->err));
    if (!tc_json_raw_value(doc->bytes, &at, &text)) {
        return tc_fail(doc->err, TC_E_MALFORMED, at, "no JSON value at byte %zu", at);
    }
    *out_root = value_of(doc, text);
    return TC_OK;
}

size_t tc__fr_json_items(struct tc__fr_doc *doc, const struct tc__fr_value *v,
                         struct tc__fr_value *items)
{
    struct tc_slice text = tc_slice_make(doc->bytes.ptr + v->at, v->end - v->at);
    bool is_dict = v->type == TC__FR_DICT;
    struct tc_slice key;
    struct tc_slice item;
    size_t at = 0;
    size_t count = 0;
    while (is_dict ? tc_json_raw_member(text, &at, &key, &item)
                   : tc_json_raw_element(text, &at, &item)) {
        if (items != NULL && is_dict) {
            items[count] = value_of(doc, tc_slice_make(key.ptr - 1, key.len + 2));
        }
        count += is_dict;
        if (items != NULL) {
            items[count] = value_of(doc, item);
        }
        count++;
    }
    return count;
}

tc_status tc__fr_json_unescape(struct tc__fr_doc *doc, const struct tc__fr_value *v,
                               struct tc_arena *arena, struct tc_slice *out)
{
    struct tc_json parsed;
    struct tc_slice text = TC_EMPTY;
    struct tc_slice quoted = tc_slice_make(doc->bytes.ptr + v->at - 1, v->end - v->at + 2);
    TC_TRY(tc_json_parse(doc->parser, quoted, &parsed, doc->err));
    if (!tc_json_string(parsed, &text)) {
        return tc_fail(doc->err, TC_E_MALFORMED, v->start, "no string at byte %u", v->start);
    }
    *out = tc_arena_copy(arena, text);
    if (!tc_arena_ok(arena)) {
        return tc_fail(doc->err, TC_E_NOMEM, v->start,
                       "no memory left in %s for the string at byte %u", arena->name, v->start);
    }
    return TC_OK;
}
