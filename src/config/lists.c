/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that are no single value: headers to send, tokens to let in, hosts to be. */
#include "base/assert.h"
#include "base/format.h"
#include "config/config_priv.h"

#include <string.h>

#define SHOWN_MAX 64

static const struct {
    const char *name;
    unsigned bit;
} SCOPES[] = {
#define SCOPE(id, value, text) {text, value},
    TC_TOKEN_SCOPE_MAP(SCOPE)
#undef SCOPE
};

/* A token of RFC 9110. */
static bool is_name(struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_word && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL)) {
            return false;
        }
    }
    return s.len > 0;
}

static bool has_header(struct tc_slice lines, struct tc_slice name)
{
    while (lines.len > 0) {
        struct tc_slice line = tc_slice_cut(lines, '\n', &lines);
        struct tc_slice value;
        if (tc_slice_eq_nocase(tc_slice_cut(line, ':', &value), name)) {
            return true;
        }
    }
    return false;
}

bool tc__config_header(struct tc__config_load *l, const struct tc__config_header *h)
{
    char *to = h->to;
    struct tc_buf b = tc_buf_make(to, h->to_size - 1);
    b.len = strlen(to);
    struct tc_slice shown = tc_slice_head(h->name, SHOWN_MAX);
    size_t before = b.len;
    bool is_clean = true;
    for (size_t i = 0; i < h->value.len; i++) {
        is_clean = is_clean && ((unsigned char)h->value.ptr[i] >= ' ' || h->value.ptr[i] == '\t') &&
                   h->value.ptr[i] != 0x7f;
    }
    if (!is_name(h->name)) {
        tc__config_mistake(l, &h->place, h->path, "\"%.*s\" cannot be the name of a header",
                           TC_FMT(shown));
        return false;
    }
    if (!is_clean) {
        tc__config_mistake(l, &h->place, h->path, "the value of %.*s has a control character in it",
                           TC_FMT(shown));
        return false;
    }
    if (has_header(tc_buf_slice(&b), h->name)) {
        tc__config_mistake(l, &h->place, h->path, "%.*s is there twice", TC_FMT(shown));
        return false;
    }
    (void)tc_format(&b, "{}: {}\r\n", h->name, h->value);
    if (b.overflowed) {
        memset(to + before, 0, h->to_size - before);
        tc__config_mistake(l, &h->place, h->path, "headers of more than %zu bytes together",
                           h->to_size - 1);
        return false;
    }
    return true;
}

void tc__config_host(struct tc__config_load *l, const char *path,
                     const struct tc__config_place *place, struct tc_slice name)
{
    char *to = l->out->server_allowed_hosts;
    struct tc_buf b = tc_buf_make(to, TC_CONFIG_HOSTS_MAX - 1);
    b.len = strlen(to);
    size_t before = b.len;
    struct tc_slice shown = tc_slice_head(name, SHOWN_MAX);
    struct tc_slice host = name;
    uint16_t port = 0;
    if (tc__config_address(name, &host, &port)) {
        tc__config_mistake(l, place, path, "\"%.*s\" has a port; write the name alone",
                           TC_FMT(shown));
        return;
    }
    host = tc_slice_starts(name, TC_LIT("*.")) ? tc_slice_from(name, 2) : name;
    if (!tc_slice_eq(name, TC_LIT("*")) && !tc__config_is_host(host, false)) {
        tc__config_mistake(l, place, path,
                           "\"%.*s\" is no host name: write name.example, *.example or *",
                           TC_FMT(shown));
        return;
    }
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        tc_buf_char(&b, c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c);
    }
    tc_buf_char(&b, '\n');
    if (b.overflowed) {
        memset(to + before, 0, TC_CONFIG_HOSTS_MAX - before);
        tc__config_mistake(l, place, path, "names of more than %d bytes together",
                           TC_CONFIG_HOSTS_MAX - 1);
    }
}

void tc__config_line(struct tc__config_load *l, char *to, const char *path,
                     const struct tc__config_place *place, struct tc_slice text)
{
    struct tc_buf b = tc_buf_make(to, TC_CONFIG_LIST_MAX - 1);
    b.len = strlen(to);
    size_t before = b.len;
    bool is_clean = text.len > 0;
    for (size_t i = 0; i < text.len; i++) {
        is_clean = is_clean && (unsigned char)text.ptr[i] >= ' ' && text.ptr[i] != 0x7f;
    }
    if (!is_clean) {
        tc__config_mistake(l, place, path, "an entry is empty or has a control character in it");
        return;
    }
    (void)tc_format(&b, "{}\n", text);
    if (b.overflowed) {
        memset(to + before, 0, TC_CONFIG_LIST_MAX - before);
        tc__config_mistake(l, place, path, "entries of more than %d bytes together",
                           TC_CONFIG_LIST_MAX - 1);
    }
}

enum tc__config_token_field tc__config_token_field(struct tc__config_load *l, const char *path,
                                                   const struct tc__config_place *place,
                                                   struct tc_slice name)
{
    static const char *const names[] = {
        [TC__TOKEN_NAME] = "name", [TC__TOKEN_SHA256] = "sha256", [TC__TOKEN_SCOPES] = "scopes"};
    for (size_t i = 0; i < TC__TOKEN_NONE; i++) {
        if (tc_slice_eq(name, tc_slice_cstr(names[i]))) {
            return (enum tc__config_token_field)i;
        }
    }
    tc__config_mistake(l, place, path,
                       "there is no key \"%.*s\"; a token has name, sha256 and scopes",
                       TC_FMT(tc_slice_head(name, SHOWN_MAX)));
    return TC__TOKEN_NONE;
}

static bool is_taken(const struct tc_config *c, struct tc_slice name)
{
    for (size_t i = 0; i < c->auth_token_count; i++) {
        if (tc_slice_eq(name, tc_slice_cstr(c->auth_tokens[i].name))) {
            return true;
        }
    }
    return false;
}

static void set_name(struct tc__config_load *l, const char *path,
                     const struct tc__config_place *place, struct tc_config_token *token,
                     struct tc_slice text)
{
    if (!is_name(text) || text.len >= sizeof token->name) {
        tc__config_mistake(l, place, path,
                           "\"%.*s\" is no name: letters, digits, - and _, at most %zu",
                           TC_FMT(tc_slice_head(text, SHOWN_MAX)), sizeof token->name - 1);
        return;
    }
    if (is_taken(l->out, text)) {
        tc__config_mistake(l, place, path, "another token is called %.*s already", TC_FMT(text));
        return;
    }
    memcpy(token->name, text.ptr, text.len);
}

static void add_scope(struct tc__config_load *l, const char *path,
                      const struct tc__config_place *place, struct tc_config_token *token,
                      struct tc_slice text)
{
    size_t i = tc_slice_row(text, SCOPES, name);
    if (i < TC_COUNT(SCOPES)) {
        token->scopes |= SCOPES[i].bit;
        return;
    }
    tc__config_mistake(l, place, path, "\"%.*s\" is none of ingest, read, admin",
                       TC_FMT(tc_slice_head(text, SHOWN_MAX)));
}

void tc__config_token_set(struct tc__config_load *l, const char *path,
                          const struct tc__config_place *place, enum tc__config_token_field field,
                          struct tc_slice text)
{
    /* One that is too many is skipped as a whole. */
    TC_ASSERT(l->out->auth_token_count < TC_CONFIG_TOKENS_MAX);
    struct tc_config_token *token = &l->out->auth_tokens[l->out->auth_token_count];
    switch (field) {
    case TC__TOKEN_NAME:
        set_name(l, path, place, token, text);
        break;
    case TC__TOKEN_SHA256:
        if (!tc_digest_parse(text, &token->sha256)) {
            tc__config_mistake(l, place, path,
                               "is no SHA-256: 64 hex digits, as "
                               "\"printf %%s TOKEN | sha256sum\" prints");
        }
        break;
    case TC__TOKEN_SCOPES:
        add_scope(l, path, place, token, text);
        break;
    case TC__TOKEN_NONE:
        break;
    }
}
