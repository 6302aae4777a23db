/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wanted of the server's JSON is cut out, not parsed: there is no recursion and no memory
 * to be had. The bytes themselves are stored and parsed by the codec.
 */
#include "base/json/raw.h"
#include "source/kubernetes/priv.h"

/* The member as a string without escapes; empty: it is none. */
static struct tc_slice get_string(struct tc_slice object, struct tc_slice key)
{
    struct tc_slice value;
    if (!tc_json_raw_get(object, key, &value) || value.len < 2 || value.ptr[0] != '"') {
        return TC_EMPTY;
    }
    value = tc_slice_make(value.ptr + 1, value.len - 2);
    return tc_slice_find_byte(value, '\\') == TC_NPOS ? value : TC_EMPTY;
}

static struct tc_slice get(struct tc_slice object, struct tc_slice key)
{
    struct tc_slice value;
    return tc_json_raw_get(object, key, &value) ? value : TC_EMPTY;
}

/* "" unless it can stand in a position. */
static struct tc_slice version_of(struct tc_slice object)
{
    char copy[TC__KUBE_VERSION_MAX];
    struct tc_slice version =
        get_string(get(object, TC_LIT("metadata")), TC_LIT("resourceVersion"));
    return tc__kube_copy(copy, sizeof copy, version) ? version : TC_EMPTY;
}

struct tc__kube_event tc__kube_event_read(struct tc_slice line)
{
    struct tc__kube_event out = {.type = TC__KUBE_UNKNOWN};
    struct tc_slice type = get_string(line, TC_LIT("type"));
    struct tc_slice object = get(line, TC_LIT("object"));
    if (tc_slice_eq(type, TC_LIT("ERROR"))) {
        out.type = TC__KUBE_ERROR;
        (void)tc_slice_is_i64(get(object, TC_LIT("code")), &out.code);
        out.message = get_string(object, TC_LIT("message"));
        return out;
    }
    out.version = version_of(object);
    if (out.version.len == 0) {
        return out;
    }
    if (tc_slice_eq(type, TC_LIT("BOOKMARK"))) {
        out.type = TC__KUBE_BOOKMARK;
    } else if (tc_slice_eq(type, TC_LIT("ADDED")) || tc_slice_eq(type, TC_LIT("MODIFIED")) ||
               tc_slice_eq(type, TC_LIT("DELETED"))) {
        out.type = TC__KUBE_OBJECT;
    }
    return out;
}

bool tc__kube_page_read(struct tc_slice text, struct tc__kube_page *out)
{
    struct tc_slice token = get_string(get(text, TC_LIT("metadata")), TC_LIT("continue"));
    char copy[TC__KUBE_TOKEN_MAX];
    *out = (struct tc__kube_page){
        .version = version_of(text), .token = token, .items = get(text, TC_LIT("items"))};
    /* A server without objects may say null. */
    bool is_list =
        out->items.len > 0 && (out->items.ptr[0] == '[' || tc_slice_eq(out->items, TC_LIT("null")));
    return is_list && out->version.len > 0 && tc__kube_copy(copy, sizeof copy, token);
}

void tc__kube_item_read(struct tc_slice item, char *out_key, struct tc_slice *out_version)
{
    struct tc_slice meta = get(item, TC_LIT("metadata"));
    struct tc_slice space = get_string(meta, TC_LIT("namespace"));
    struct tc_slice name = get_string(meta, TC_LIT("name"));
    char bytes[TC__KUBE_KEY_MAX];
    struct tc_buf b = tc_buf_make(bytes, sizeof bytes);
    tc_buf_str(&b, space);
    if (space.len > 0) {
        tc_buf_char(&b, '/');
    }
    tc_buf_str(&b, name);
    (void)tc__kube_copy(out_key, TC__KUBE_KEY_MAX,
                        b.overflowed || name.len == 0 ? TC_EMPTY : tc_buf_slice(&b));
    *out_version = version_of(item);
}
