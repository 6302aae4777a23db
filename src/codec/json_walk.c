/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json_walk_priv.h"

#include "base/json/raw.h"

size_t tc__json_skip_space(struct tc_slice s, size_t at)
{
    while (at < s.len && tc_json_is_space(s.ptr[at])) {
        at++;
    }
    return at;
}

enum step { STEP_ITEM, STEP_END, STEP_BROKEN };

/* From behind the bracket or the item before to the next item, or behind the closing bracket. */
static enum step next_item(struct tc_slice text, size_t *io_at, bool first, char close)
{
    size_t at = tc__json_skip_space(text, *io_at);
    *io_at = at;
    if (tc__json_byte_is(text, at, close)) {
        *io_at = at + 1;
        return STEP_END;
    }
    if (at >= text.len || (!first && text.ptr[at] != ',')) {
        return STEP_BROKEN;
    }
    *io_at = tc__json_skip_space(text, first ? at : at + 1);
    return STEP_ITEM;
}

/* The key of a member, without its quotes; moves to the value. */
static bool read_key(struct tc_slice text, size_t *io_at, struct tc_slice *out)
{
    struct tc_slice key;
    size_t at = *io_at;
    if (!tc__json_byte_is(text, at, '"') || !tc_json_raw_value(text, &at, &key)) {
        return false;
    }
    at = tc__json_skip_space(text, at);
    if (!tc__json_byte_is(text, at, ':')) {
        return false;
    }
    *io_at = tc__json_skip_space(text, at + 1);
    *out = tc_slice_make(key.ptr + 1, key.len - 2);
    return true;
}

tc_status tc__json_walk_array(struct tc__json_walk *w, size_t *io_at,
                              const struct tc__json_list *list, const void *of)
{
    struct tc_slice text = w->text;
    *io_at += 1;
    for (size_t i = 0;; i++) {
        enum step step = next_item(text, io_at, i == 0, ']');
        if (step == STEP_END) {
            return TC_OK;
        }
        struct tc_slice element;
        size_t start = *io_at;
        size_t end = start;
        if (step == STEP_ITEM && list->walk != NULL && tc__json_byte_is(text, start, '{')) {
            TC_TRY(list->walk(w, io_at, of));
            continue;
        }
        if (step == STEP_BROKEN || !tc_json_raw_value(text, &end, &element)) {
            w->is_broken = true;
            return tc_fail(w->err, TC_E_MALFORMED, start, "%.*s[%zu] is cut off or is not JSON",
                           TC_FMT(list->key), i);
        }
        *io_at = end;
        TC_TRY(list->read(w, element, start, of));
    }
}

tc_status tc__json_walk_object(struct tc__json_walk *w, size_t *io_at,
                               const struct tc__json_list *lists, size_t count, const void *of,
                               bool *out_found)
{
    struct tc_slice text = w->text;
    size_t start = *io_at;
    *io_at += 1;
    for (size_t members = 0;; members++) {
        enum step step = next_item(text, io_at, members == 0, '}');
        if (step == STEP_END) {
            return TC_OK;
        }
        struct tc_slice key = TC_EMPTY;
        bool whole = step == STEP_ITEM && read_key(text, io_at, &key);
        const struct tc__json_list *list = NULL;
        for (size_t i = 0; whole && i < count; i++) {
            if (tc_slice_eq(key, lists[i].key)) {
                list = &lists[i];
                *out_found = true;
            }
        }
        if (list != NULL && tc__json_byte_is(text, *io_at, '[')) {
            TC_TRY(tc__json_walk_array(w, io_at, list, of));
            continue;
        }
        struct tc_slice skipped;
        if (!whole || !tc_json_raw_value(text, io_at, &skipped)) {
            w->is_broken = true;
            return tc_fail(w->err, TC_E_MALFORMED, start,
                           "the object is cut off or is not JSON after %zu whole members", members);
        }
    }
}

bool tc__json_has_member(struct tc_slice text, size_t at, const char *const *keys, size_t count,
                         size_t *out_at)
{
    struct tc_slice key;
    struct tc_slice skipped;
    if (tc__json_byte_is(text, at, '[')) {
        at = tc__json_skip_space(text, at + 1);
    }
    if (!tc__json_byte_is(text, at, '{')) {
        return false;
    }
    at++;
    for (size_t n = 0; next_item(text, &at, n == 0, '}') == STEP_ITEM; n++) {
        if (!read_key(text, &at, &key)) {
            return false;
        }
        for (size_t i = 0; i < count; i++) {
            if (tc_slice_eq(key, tc_slice_cstr(keys[i]))) {
                *out_at = at;
                return true;
            }
        }
        if (!tc_json_raw_value(text, &at, &skipped)) {
            return false;
        }
    }
    return false;
}

bool tc__json_skip_broken(struct tc__json_walk *w, size_t *io_at)
{
    struct tc_slice skipped;
    bool has_brackets =
        tc__json_byte_is(w->text, *io_at, '{') || tc__json_byte_is(w->text, *io_at, '[');
    if (!w->is_broken || !has_brackets || !tc_json_raw_value(w->text, io_at, &skipped)) {
        return false;
    }
    w->is_broken = false;
    return true;
}
