/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a JSON object short enough for a model: the first items of every list, then the beginnings
 * of long texts. It works on the text, so that numbers stay as they were written. What it is given
 * was written by us; that it is JSON is still not taken for granted.
 */
#include "base/json/raw.h"
#include "base/limits.h"
#include "mcp/mcp_priv.h"

#include <string.h>

/* Tried one after the other: items of a list, bytes of a text. Items that say of themselves that
 * they are minor ("main":false) go first. */
static const struct measure {
    size_t items;
    size_t text;
    bool only_main;
} MEASURES[] = {
    {SIZE_MAX, SIZE_MAX, false},
    {SIZE_MAX, 4096, true},
    {128, 4096, true},
    {64, 4096, true},
    {32, 2048, true},
    {20, 2048, true},
    {12, 1024, true},
    {8, 1024, true},
    {5, 512, true},
    {3, 512, true},
    {2, 256, true},
    {1, 256, true},
    {1, 64, true},
};
/* Of the member "cut", which is added behind. */
#define CUT_ROOM ((size_t)TC_CUT_LISTS * (TC_CUT_NAME + 64) + 64)

struct level {
    struct tc_slice name; /* of the member that it is the value of */
    size_t shown;         /* of a list: items that were copied, and items that there are */
    size_t total;
    bool is_list;
};

/* A walk over the text. */
struct walk {
    struct tc_slice text;
    size_t at;
    const struct measure *most;
    struct level levels[TC_JSON_DEPTH_MAX];
    size_t depth;
    struct tc_slice key; /* the last one seen */
    struct tc_grow *out;
    size_t out_max; /* bytes in out beyond which it need not go on */
    struct tc__cut *cut;
};

static size_t string_end(struct tc_slice text, size_t at)
{
    for (at++; at < text.len && text.ptr[at] != '"'; at++) {
        at += text.ptr[at] == '\\';
    }
    return at < text.len ? at + 1 : text.len;
}

static bool is_key(struct tc_slice text, size_t end)
{
    while (end < text.len && tc_json_is_space(text.ptr[end])) {
        end++;
    }
    return end < text.len && text.ptr[end] == ':';
}

/* The largest length up to max that cuts neither an escape nor a character; of what is between the
 * quotes. */
static size_t whole_text(struct tc_slice text, size_t max)
{
    size_t at = 0;
    size_t next = 0;
    while (next <= max && next < text.len) {
        at = next;
        unsigned char first = (unsigned char)text.ptr[at];
        size_t len =
            first == '\\' ? 2 : tc_utf8_len((const unsigned char *)text.ptr + at, text.len - at);
        len = first == '\\' && at + 1 < text.len && text.ptr[at + 1] == 'u' ? 6 : len;
        next = at + (len == 0 ? 1 : len);
    }
    return at;
}

/* Half of a surrogate pair must not end a text: the high one goes with what follows. */
static bool ends_in_high_surrogate(struct tc_slice text)
{
    return text.len >= 6 && text.ptr[text.len - 6] == '\\' && text.ptr[text.len - 5] == 'u' &&
           (text.ptr[text.len - 4] == 'd' || text.ptr[text.len - 4] == 'D') &&
           strchr("89abAB", text.ptr[text.len - 3]) != NULL;
}

static void copy_string(struct walk *w)
{
    size_t end = string_end(w->text, w->at);
    struct tc_slice whole = tc_slice_head(tc_slice_from(w->text, w->at), end - w->at);
    if (is_key(w->text, end)) {
        w->key = whole.len >= 2 ? tc_slice_make(whole.ptr + 1, whole.len - 2) : TC_EMPTY;
        tc_grow_str(w->out, whole);
    } else if (whole.len - 2 <= w->most->text) {
        tc_grow_str(w->out, whole);
    } else {
        struct tc_slice inside = tc_slice_make(whole.ptr + 1, whole.len - 2);
        struct tc_slice kept = tc_slice_head(inside, whole_text(inside, w->most->text));
        kept.len -= ends_in_high_surrogate(kept) ? 6 : 0;
        tc_grow_lit(w->out, "\"");
        tc_grow_str(w->out, kept);
        tc_grow_lit(w->out, " ...\"");
        w->cut->text_count++;
    }
    w->at = end;
}

static void remember_cut(struct tc__cut *cut, struct tc_slice name, size_t shown, size_t total)
{
    name = name.len == 0 ? TC_LIT("list") : tc_slice_head(name, TC_CUT_NAME - 1);
    for (size_t i = 0; i < cut->list_count; i++) {
        if (tc_slice_eq(name, tc_slice_cstr(cut->names[i]))) {
            /* Of lists of one name, the longest is told. */
            cut->total[i] = total > cut->total[i] ? total : cut->total[i];
            return;
        }
    }
    if (cut->list_count < TC_CUT_LISTS) {
        size_t i = cut->list_count++;
        memcpy(cut->names[i], name.ptr, name.len);
        cut->names[i][name.len] = '\0';
        cut->shown[i] = shown;
        cut->total[i] = total;
    }
}

static void skip_blanks(struct walk *w)
{
    while (w->at < w->text.len && tc_json_is_space(w->text.ptr[w->at])) {
        w->at++;
    }
}

static bool is_minor(struct tc_slice item)
{
    struct tc_slice main;
    return tc_json_raw_get(item, TC_LIT("main"), &main) && tc_slice_eq(main, TC_LIT("false"));
}

/* At the start of an item of the list on top: goes on to the next that is shown, or to the end. */
static bool find_item(struct walk *w)
{
    struct level *list = &w->levels[w->depth - 1];
    struct tc_slice item;
    for (;;) {
        skip_blanks(w);
        size_t end = w->at;
        if (w->at < w->text.len && w->text.ptr[w->at] == ']') {
            return true;
        }
        if (!tc_json_raw_value(w->text, &end, &item)) {
            return false;
        }
        list->total++;
        if (list->shown < w->most->items && !(w->most->only_main && is_minor(item))) {
            tc_grow_str(w->out, list->shown++ > 0 ? TC_LIT(",") : TC_EMPTY);
            return true;
        }
        w->at = end;
        skip_blanks(w);
        if (w->at < w->text.len && w->text.ptr[w->at] == ',') {
            w->at++;
        }
    }
}

static bool copy_mark(struct walk *w, char mark)
{
    struct level *top = w->depth > 0 ? &w->levels[w->depth - 1] : NULL;
    bool in_list = top != NULL && top->is_list;
    if (mark == ',' && in_list) {
        w->at++;
        return find_item(w);
    }
    tc_grow_str(w->out, tc_slice_make(&w->text.ptr[w->at], 1));
    w->at++;
    if (mark == '{' || mark == '[') {
        if (w->depth == TC_JSON_DEPTH_MAX) {
            return false;
        }
        w->levels[w->depth++] = (struct level){.name = w->key, .is_list = mark == '['};
        return mark == '{' || find_item(w);
    }
    if (mark == '}' || mark == ']') {
        if (top == NULL || in_list != (mark == ']')) {
            return false;
        }
        w->depth--;
        if (top->shown < top->total) {
            remember_cut(w->cut, top->name, top->shown, top->total);
        }
    }
    return true;
}

/* Numbers, words and colons. */
static size_t plain_end(struct tc_slice text, size_t at)
{
    while (at < text.len && strchr("{}[],\" \t\r\n", text.ptr[at]) == NULL) {
        at++;
    }
    return at;
}

/* False when it is no JSON; what is too long is left where it is. */
static bool copy_short(struct walk *w)
{
    while (w->at < w->text.len && w->out->buf.len <= w->out_max) {
        char now = w->text.ptr[w->at];
        if (tc_json_is_space(now)) {
            w->at++;
        } else if (now == '"') {
            copy_string(w);
        } else if (plain_end(w->text, w->at) > w->at) {
            size_t end = plain_end(w->text, w->at);
            tc_grow_str(w->out, tc_slice_make(&w->text.ptr[w->at], end - w->at));
            w->at = end;
        } else if (now == '\0' || !copy_mark(w, now)) {
            return false;
        }
        if (w->out->failed) {
            return false;
        }
    }
    return w->at < w->text.len || w->depth == 0;
}

static void put_cut(struct tc_grow *out, const struct tc__cut *cut)
{
    struct tc_json_out j;
    out->buf.len--; /* the object's end */
    tc_grow_str(out,
                out->buf.data[out->buf.len - 1] == '{' ? TC_LIT("\"cut\":") : TC_LIT(",\"cut\":"));
    j = tc_json_out_grow(out);
    tc_json_add_array(&j);
    for (size_t i = 0; i < cut->list_count; i++) {
        tc_json_add_object(&j);
        tc_json_put_cstr(&j, "list", cut->names[i]);
        tc_json_put_u64(&j, "shown", cut->shown[i]);
        tc_json_put_u64(&j, "of", cut->total[i]);
        tc_json_end_object(&j);
    }
    tc_json_end_array(&j);
    (void)tc_json_done(&j);
    tc_grow_lit(out, "}");
}

tc_status tc__cut_json(struct tc_slice text, size_t max, struct tc_grow *out,
                       struct tc__cut *out_cut)
{
    size_t start = out->buf.len;
    text = tc_slice_trim(text);
    for (size_t i = 0; i < TC_COUNT(MEASURES); i++) {
        struct tc__cut cut = {0};
        struct walk w = {
            .text = text, .most = &MEASURES[i], .out = out, .out_max = start + max, .cut = &cut};
        out->buf.len = start;
        bool is_whole = copy_short(&w);
        if (out->failed) {
            return TC_E_NOMEM;
        }
        if (!is_whole || out->buf.len - start < 2 || out->buf.data[start] != '{') {
            return TC_E_MALFORMED;
        }
        bool is_cut = cut.list_count + cut.text_count > 0;
        if (out->buf.len - start <= (is_cut ? max - CUT_ROOM : max)) {
            if (is_cut) {
                put_cut(out, &cut);
            }
            *out_cut = cut;
            return out->failed ? TC_E_NOMEM : TC_OK;
        }
    }
    out->buf.len = start;
    return TC_E_LIMIT;
}

/* The longest list of an object; empty when it has none. */
static struct tc_slice longest_list(struct tc_slice object)
{
    struct tc_slice longest = TC_EMPTY;
    struct tc_slice key;
    struct tc_slice value;
    size_t at = 0;
    while (tc_json_raw_member(object, &at, &key, &value)) {
        if (value.len > longest.len && value.ptr[0] == '[') {
            longest = value;
        }
    }
    return longest;
}

size_t tc__items_that_fit(struct tc_slice text, size_t max)
{
    struct tc_slice item;
    size_t at = 0;
    size_t count = 0;
    text = tc_slice_trim(text);
    struct tc_slice list = longest_list(text);
    size_t used = text.len - list.len;
    if (text.len <= max) {
        return SIZE_MAX;
    }
    while (tc_json_raw_element(list, &at, &item)) {
        used += item.len + 2;
        if (used > max) {
            return count;
        }
        count++;
    }
    return SIZE_MAX;
}
