/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/host.h"
#include "source/scrape/priv.h"
#include "source/text_priv.h"

#include <stdio.h>

static bool is_address(struct tc_slice text)
{
    return tc_slice_starts(text, TC_LIT("http://")) || tc_slice_starts(text, TC_LIT("https://"));
}

static bool is_name(struct tc_slice text)
{
    bool is = text.len > 0;
    for (size_t i = 0; i < text.len; i++) {
        is = is && (tc_is_word(text.ptr[i]) ||
                    tc_slice_find_byte(TC_LIT("-.:/"), text.ptr[i]) != TC_NPOS);
    }
    return is;
}

/* "host" of "host:port", "[::1]:port". */
static struct tc_slice host_of(struct tc_slice authority)
{
    struct tc_slice rest;
    if (authority.len > 0 && authority.ptr[0] == '[') {
        return tc_slice_cut(tc_slice_from(authority, 1), ']', &rest);
    }
    return tc_slice_cut(authority, ':', &rest);
}

static tc_status read_words(struct tc_slice line, struct tc_slice words,
                            struct tc__target_address *out, struct tc_error *err)
{
    while (words.len > 0) {
        struct tc_slice value;
        struct tc_slice word = tc_slice_cut(words, ' ', &words);
        struct tc_slice key = tc_slice_cut(word, '=', &value);
        bool is_node = tc_slice_eq(key, TC_LIT("node"));
        if (word.len == 0) {
            continue;
        }
        if (value.len == 0 || (!is_node && !tc_slice_eq(key, TC_LIT("token_file")))) {
            return tc__text_wrong(err, line, "behind an address stand node= or token_file=");
        }
        if (!(is_node ? tc__text_fill(out->node, sizeof out->node, value)
                      : tc__text_fill(out->token_file, sizeof out->token_file, value))) {
            return tc__text_wrong(err, line, "a value behind the address is too long");
        }
    }
    return TC_OK;
}

/* Where the path begins, and what stands before it, the client is told apart. */
static tc_status split_url(struct tc_slice line, struct tc_slice url,
                           struct tc__target_address *out, struct tc_error *err)
{
    size_t scheme = tc_slice_find(url, TC_LIT("://")) + 3;
    size_t slash = scheme;
    while (slash < url.len && url.ptr[slash] != '/' && url.ptr[slash] != '?') {
        slash++;
    }
    struct tc_slice path = tc_slice_from(url, slash);
    if (tc_slice_find_byte(path, '#') != TC_NPOS) {
        return tc__text_wrong(err, line, "an address to scrape has no fragment (#)");
    }
    if (!tc__text_fill(out->url, sizeof out->url, url)) {
        return tc__text_wrong(err, line, "an address has at most 1,023 bytes");
    }
    (void)tc__text_fill(out->base, sizeof out->base, tc_slice_head(url, slash));
    (void)snprintf(out->path, sizeof out->path, "%s%.*s",
                   path.len > 0 && path.ptr[0] == '?' ? "/" : "",
                   TC_FMT(path.len == 0 ? TC_LIT("/metrics") : path));
    return TC_OK;
}

tc_status tc__target_read(struct tc_slice line, struct tc_slice local,
                          struct tc__target_address *out, struct tc_error *err)
{
    struct tc_slice words;
    struct tc_slice url = tc_slice_cut(tc_slice_trim(line), ' ', &words);
    struct tc_slice name = TC_EMPTY;
    *out = (struct tc__target_address){0};
    if (!is_address(url)) {
        name = tc_slice_cut(url, '=', &url);
        if (!is_address(url) || !is_name(name)) {
            return tc__text_wrong(
                err, line,
                "write http://host:port/metrics, https://... or name=http://...; a name "
                "has letters, digits and - _ . : /");
        }
    }
    TC_TRY(split_url(line, url, out, err));
    if (!tc__text_fill(out->name, sizeof out->name, name.len > 0 ? name : url)) {
        return tc__text_wrong(err, line,
                              "a name has at most 127 bytes, and so long an address needs one");
    }
    struct tc_slice base = tc_slice_cstr(out->base);
    struct tc_slice host = host_of(tc_slice_from(base, tc_slice_find(base, TC_LIT("://")) + 3));
    if (!tc__text_fill(out->node, sizeof out->node, tc_host_is_loopback(host) ? local : host)) {
        return tc__text_wrong(err, line, "a host has at most 255 bytes");
    }
    return read_words(line, words, out, err);
}

int64_t tc__target_turn(int64_t start_ns, int64_t interval_ns, size_t index, size_t count,
                        int64_t now_ns)
{
    int64_t first_ns = start_ns + interval_ns / (int64_t)count * (int64_t)index;
    if (now_ns < first_ns) {
        return first_ns;
    }
    return first_ns + ((now_ns - first_ns) / interval_ns + 1) * interval_ns;
}
