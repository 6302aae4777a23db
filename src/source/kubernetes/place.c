/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Positions: "watch VERSION", or "list BASE VERSION KEY TOKEN" with "-" for what is empty.
 */
#include "base/format.h"
#include "source/kubernetes/priv.h"

#include <string.h>

bool tc__kube_copy(char *to, size_t size, struct tc_slice word)
{
    bool is_word = word.len < size && !tc_slice_eq(word, TC_LIT("-"));
    for (size_t i = 0; i < word.len && is_word; i++) {
        is_word = word.ptr[i] > ' ' && word.ptr[i] < 0x7f;
    }
    if (is_word && word.len > 0) {
        memcpy(to, word.ptr, word.len);
    }
    to[is_word ? word.len : 0] = '\0';
    return is_word;
}

static const char *or_dash(const char *word)
{
    return word[0] == '\0' ? "-" : word;
}

void tc__kube_place_write(struct tc_buf *b, const struct tc__kube_place *p)
{
    if (p->is_watched) {
        (void)tc_format(b, "watch {}", p->version);
        return;
    }
    (void)tc_format(b, "list {} {} {} {}", or_dash(p->base), or_dash(p->version), or_dash(p->key),
                    or_dash(p->token));
}

static bool read_word(struct tc_slice *io_text, char *to, size_t size)
{
    struct tc_slice word = tc_slice_cut(*io_text, ' ', io_text);
    bool is_dash = tc_slice_eq(word, TC_LIT("-"));
    return word.len > 0 && tc__kube_copy(to, size, is_dash ? TC_EMPTY : word);
}

bool tc__kube_place_read(struct tc_slice text, struct tc__kube_place *out)
{
    *out = (struct tc__kube_place){0};
    struct tc_slice kind = tc_slice_cut(text, ' ', &text);
    if (tc_slice_eq(kind, TC_LIT("watch"))) {
        out->is_watched = true;
        return read_word(&text, out->version, sizeof out->version) && out->version[0] != '\0' &&
               text.len == 0;
    }
    return tc_slice_eq(kind, TC_LIT("list")) && read_word(&text, out->base, sizeof out->base) &&
           read_word(&text, out->version, sizeof out->version) &&
           read_word(&text, out->key, sizeof out->key) &&
           read_word(&text, out->token, sizeof out->token) && text.len == 0;
}

/* Without zeros in front; empty: no number. */
static struct tc_slice digits_of(struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9') {
            return TC_EMPTY;
        }
    }
    while (s.len > 1 && s.ptr[0] == '0') {
        s = tc_slice_from(s, 1);
    }
    return s;
}

bool tc__kube_version_le(struct tc_slice a, struct tc_slice b)
{
    a = digits_of(a);
    b = digits_of(b);
    if (a.len == 0 || b.len == 0) {
        return false;
    }
    return a.len != b.len ? a.len < b.len : memcmp(a.ptr, b.ptr, a.len) <= 0;
}

void tc__kube_place_relist(struct tc__kube_place *p)
{
    if (p->is_watched) {
        p->is_watched = false;
        memcpy(p->base, p->version, sizeof p->base);
        p->version[0] = '\0';
        p->key[0] = '\0';
    }
    p->token[0] = '\0';
}

void tc__kube_place_listing(struct tc__kube_place *p, struct tc_slice version)
{
    struct tc_slice base = tc_slice_cstr(p->base);
    /* A server whose versions went back is another one, or was restored: its objects are new. */
    if (tc__kube_version_le(version, base) && !tc__kube_version_le(base, version)) {
        p->base[0] = '\0';
        p->version[0] = '\0';
        p->key[0] = '\0';
    }
}

bool tc__kube_place_take(struct tc__kube_place *p, struct tc_slice list_version,
                         struct tc_slice key, struct tc_slice version)
{
    struct tc_slice last = tc_slice_cstr(p->key);
    bool is_behind = key.len == 0 || tc_slice_cmp(key, last) > 0;
    bool is_stored = tc__kube_version_le(version, tc_slice_cstr(p->base)) ||
                     (!is_behind && tc__kube_version_le(version, tc_slice_cstr(p->version)));
    if (is_behind) {
        (void)tc__kube_copy(p->version, sizeof p->version, list_version);
    }
    if (is_behind && key.len > 0) {
        (void)tc__kube_copy(p->key, sizeof p->key, key);
    }
    return !is_stored;
}

void tc__kube_place_watch(struct tc__kube_place *p, struct tc_slice version)
{
    *p = (struct tc__kube_place){.is_watched = true};
    (void)tc__kube_copy(p->version, sizeof p->version, version);
}
