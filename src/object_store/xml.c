/* SPDX-License-Identifier: Apache-2.0 */
#include "object_store/xml.h"

#include "base/buf.h"

#define PATH_MAX_BYTES (TC_XML_DEPTH_MAX * (TC_XML_NAME_MAX + 1))
#define ENTITY_MAX 10

struct reader {
    struct tc_slice rest;
    char path[PATH_MAX_BYTES];
    size_t path_len;
    size_t starts[TC_XML_DEPTH_MAX]; /* where the name of each element begins in path */
    size_t depth;
    bool has_root;
    bool is_leaf; /* no element was in the open one so far */
    char text[TC_XML_TEXT_MAX];
    size_t text_len;
};

static void put_text(struct reader *r, const char *bytes, size_t len)
{
    size_t room = sizeof r->text - r->text_len;
    len = len < room ? len : room;
    memcpy(r->text + r->text_len, bytes, len);
    r->text_len += len;
}

/* "&#38;" and "&#x26;": ASCII alone is made of them; others become a question mark. */
static bool put_number(struct reader *r, struct tc_slice digits)
{
    uint64_t value = 0;
    bool is_hex = tc_slice_starts(digits, TC_LIT("x"));
    struct tc_slice text = tc_slice_from(digits, is_hex ? 1 : 0);
    size_t used = is_hex ? tc_slice_hex(text, &value) : tc_slice_u64(text, &value);
    if (used == 0 || used != text.len || value == 0) {
        return false;
    }
    char c = value < 0x80 ? (char)value : '?';
    put_text(r, &c, 1);
    return true;
}

static bool put_entity(struct reader *r)
{
    static const struct {
        const char *name;
        char c;
    } entities[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
    size_t end = tc_slice_find_byte(tc_slice_head(r->rest, ENTITY_MAX), ';');
    if (end == TC_NPOS) {
        return false;
    }
    struct tc_slice name = tc_slice_from(tc_slice_head(r->rest, end), 1);
    r->rest = tc_slice_from(r->rest, end + 1);
    if (tc_slice_starts(name, TC_LIT("#"))) {
        return put_number(r, tc_slice_from(name, 1));
    }
    for (size_t i = 0; i < TC_COUNT(entities); i++) {
        if (tc_slice_eq(name, tc_slice_cstr(entities[i].name))) {
            put_text(r, &entities[i].c, 1);
            return true;
        }
    }
    return false;
}

/* Behind `mark`; false when it is not there. */
static bool skip_to(struct reader *r, struct tc_slice mark)
{
    size_t at = tc_slice_find(r->rest, mark);
    if (at == TC_NPOS) {
        return false;
    }
    r->rest = tc_slice_from(r->rest, at + mark.len);
    return true;
}

static bool is_name_char(char c)
{
    return tc_is_word(c) || c == '-' || c == '.' || c == ':';
}

/* The name at the beginning, without a namespace; empty: there is none. */
static struct tc_slice take_name(struct reader *r)
{
    size_t len = 0;
    while (len < r->rest.len && is_name_char(r->rest.ptr[len])) {
        len++;
    }
    struct tc_slice name = tc_slice_head(r->rest, len);
    r->rest = tc_slice_from(r->rest, len);
    size_t colon = tc_slice_find_last(name, TC_LIT(":"));
    return colon == TC_NPOS ? name : tc_slice_from(name, colon + 1);
}

/* Attributes up to the end of the tag; a ">" may be within quotes. */
static bool skip_attributes(struct reader *r, bool *out_is_empty)
{
    char quote = '\0';
    for (size_t i = 0; i < r->rest.len; i++) {
        char c = r->rest.ptr[i];
        if (quote != '\0') {
            quote = c == quote ? '\0' : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '<') {
            return false;
        } else if (c == '>') {
            *out_is_empty = i > 0 && r->rest.ptr[i - 1] == '/';
            r->rest = tc_slice_from(r->rest, i + 1);
            return true;
        }
    }
    return false;
}

/* The element ends. *out_go_on false: no more is wanted. */
static void close_element(struct reader *r, tc_xml_take take, void *context, bool *out_go_on)
{
    if (r->is_leaf) {
        *out_go_on =
            take(context, tc_slice_make(r->path, r->path_len), tc_slice_make(r->text, r->text_len));
    }
    r->depth--;
    r->path_len = r->starts[r->depth] > 0 ? r->starts[r->depth] - 1 : 0;
    r->is_leaf = false;
    r->text_len = 0;
}

static bool open_element(struct reader *r, tc_xml_take take, void *context, bool *out_go_on)
{
    bool is_empty = false;
    struct tc_slice name = take_name(r);
    if (name.len == 0 || name.len > TC_XML_NAME_MAX || r->depth == TC_XML_DEPTH_MAX ||
        (r->depth == 0 && r->has_root) || !skip_attributes(r, &is_empty)) {
        return false;
    }
    r->has_root = true;
    if (r->path_len > 0) {
        r->path[r->path_len++] = '/';
    }
    r->starts[r->depth++] = r->path_len;
    memcpy(r->path + r->path_len, name.ptr, name.len);
    r->path_len += name.len;
    r->is_leaf = true;
    r->text_len = 0;
    if (is_empty) {
        close_element(r, take, context, out_go_on);
    }
    return true;
}

static bool end_element(struct reader *r, tc_xml_take take, void *context, bool *out_go_on)
{
    struct tc_slice name = take_name(r);
    struct tc_slice end = tc_slice_trim(tc_slice_cut(r->rest, '>', &r->rest));
    if (r->depth == 0 || end.len > 0) {
        return false;
    }
    size_t start = r->starts[r->depth - 1];
    if (!tc_slice_eq(name, tc_slice_make(r->path + start, r->path_len - start))) {
        return false;
    }
    close_element(r, take, context, out_go_on);
    return true;
}

/* What begins with "<". */
static bool read_tag(struct reader *r, tc_xml_take take, void *context, bool *out_go_on)
{
    if (tc_slice_starts(r->rest, TC_LIT("<?"))) {
        return skip_to(r, TC_LIT("?>"));
    }
    if (tc_slice_starts(r->rest, TC_LIT("<!--"))) {
        return skip_to(r, TC_LIT("-->"));
    }
    if (tc_slice_starts(r->rest, TC_LIT("<!"))) {
        return false; /* a document type, or a kind of text that S3 does not use */
    }
    bool is_end = tc_slice_starts(r->rest, TC_LIT("</"));
    r->rest = tc_slice_from(r->rest, is_end ? 2 : 1);
    return is_end ? end_element(r, take, context, out_go_on)
                  : open_element(r, take, context, out_go_on);
}

static bool read_text(struct reader *r)
{
    if (r->rest.ptr[0] == '&') {
        return r->depth > 0 && put_entity(r);
    }
    size_t len = 0;
    while (len < r->rest.len && r->rest.ptr[len] != '<' && r->rest.ptr[len] != '&') {
        len++;
    }
    struct tc_slice text = tc_slice_head(r->rest, len);
    r->rest = tc_slice_from(r->rest, len);
    if (r->depth == 0) {
        return tc_slice_trim(text).len == 0;
    }
    put_text(r, text.ptr, text.len);
    return true;
}

tc_status tc_xml_read(struct tc_slice document, tc_xml_take take, void *context)
{
    struct reader r = {.rest = tc_slice_from(document, tc_slice_bom(document))};
    bool go_on = true;
    while (r.rest.len > 0 && go_on) {
        bool good = r.rest.ptr[0] == '<' ? read_tag(&r, take, context, &go_on) : read_text(&r);
        if (!good) {
            return TC_E_MALFORMED;
        }
    }
    return !go_on || (r.has_root && r.depth == 0) ? TC_OK : TC_E_MALFORMED;
}
