/* SPDX-License-Identifier: Apache-2.0 */
/* Values of single keys: how they are written, what is wrong with one, how they are shown. */
#include "base/assert.h"
#include "base/format.h"
#include "base/units.h"
#include "base/yaml/tree.h"
#include "config/config_priv.h"

#include <string.h>

/* Of what was written, in a message. */
#define SHOWN_MAX 64

static size_t count_among(struct tc_slice s, const char *set)
{
    size_t len = 0;
    while (len < s.len && s.ptr[len] != '\0' && strchr(set, s.ptr[len]) != NULL) {
        len++;
    }
    return len;
}

bool tc__config_is_host(struct tc_slice host, bool in_brackets)
{
    const char *set = in_brackets ? "0123456789abcdefABCDEF:.%"
                                  : "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    ".-_";
    return host.len > 0 && host.len <= 253 && count_among(host, set) == host.len;
}

bool tc__config_address(struct tc_slice text, struct tc_slice *out_host, uint16_t *out_port)
{
    size_t colon = text.len;
    while (colon > 0 && text.ptr[colon - 1] != ':') {
        colon--;
    }
    uint64_t port = 0;
    if (colon == 0 || !tc_slice_is_u64(tc_slice_from(text, colon), &port) || port > UINT16_MAX) {
        return false;
    }
    struct tc_slice host = tc_slice_head(text, colon - 1);
    bool in_brackets = host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';
    if (in_brackets) {
        host = tc_slice_make(host.ptr + 1, host.len - 2);
    }
    if (!tc__config_is_host(host, in_brackets)) {
        return false;
    }
    *out_host = host;
    *out_port = (uint16_t)port;
    return true;
}

bool tc__config_is_url(struct tc_slice text)
{
    struct tc_slice rest = tc_slice_starts(text, TC_LIT("http://"))    ? tc_slice_from(text, 7)
                           : tc_slice_starts(text, TC_LIT("https://")) ? tc_slice_from(text, 8)
                                                                       : TC_EMPTY;
    struct tc_slice path;
    struct tc_slice host = tc_slice_cut(rest, '/', &path);
    uint16_t port = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == ' ' || text.ptr[i] == '#') {
            return false;
        }
    }
    return tc__config_address(host, &host, &port) ? port > 0 : tc__config_is_host(host, false);
}

static bool has_control(struct tc_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

/* What is being set: the arguments of tc__config_set, for the messages. */
struct setting {
    struct tc__config_load *load;
    struct tc__config_node *node;
    const struct tc__config_place *place;
    struct tc_slice text;
};

#define REFUSE(s, ...) \
    (tc__config_mistake((s)->load, (s)->place, (s)->node->path, __VA_ARGS__), false)
#define SHOWN(s) TC_FMT(tc_slice_head((s)->text, SHOWN_MAX))

static bool set_text(const struct setting *s, char *to, size_t size)
{
    if (s->text.len >= size) {
        return REFUSE(s, "is %zu bytes long; at most %zu can be kept", s->text.len, size - 1);
    }
    if (has_control(s->text)) {
        return REFUSE(s, "has a control character in it");
    }
    memset(to, 0, size);
    if (s->text.len > 0) {
        memcpy(to, s->text.ptr, s->text.len);
    }
    return true;
}

static bool set_address(const struct setting *s, char *to, size_t size)
{
    struct tc_slice host;
    uint16_t port = 0;
    uint64_t number = 0;
    if (s->text.len == 0 || tc__config_address(s->text, &host, &port)) {
        return set_text(s, to, size);
    }
    if (s->text.ptr[0] == ':' && tc_slice_is_u64(tc_slice_from(s->text, 1), &number)) {
        return REFUSE(s,
                      "\"%.*s\" would be every address of this machine; write 0.0.0.0%.*s if that "
                      "is meant, 127.0.0.1%.*s if not",
                      SHOWN(s), SHOWN(s), SHOWN(s));
    }
    if (tc_slice_is_u64(s->text, &number)) {
        return REFUSE(s, "\"%.*s\" has no host; write 127.0.0.1:%.*s", SHOWN(s), SHOWN(s));
    }
    return REFUSE(s,
                  "\"%.*s\" is no address: write host:port, such as 127.0.0.1:4318 or [::1]:4318",
                  SHOWN(s));
}

/* A number of the row's type; sizes beyond all bounds are the largest number. */
static bool parse_number(enum tc__config_type type, struct tc_slice text, int64_t *out)
{
    uint64_t size = 0;
    if (type != TC__SIZE) {
        return type == TC__DURATION ? tc_duration_parse(text, out) : tc_slice_is_i64(text, out);
    }
    bool good = tc_size_parse(text, TC_SIZE_STRICT, &size);
    *out = size > INT64_MAX ? INT64_MAX : (int64_t)size;
    return good;
}

/* *to is an int64_t, or a uint64_t for sizes. */
static bool set_number(const struct setting *s, const struct tc__config_row *row, void *to)
{
    int64_t value = 0;
    int64_t min = 0;
    int64_t max = 0;
    TC_ASSERT(parse_number(row->type, tc_slice_cstr(row->min), &min) &&
              parse_number(row->type, tc_slice_cstr(row->max), &max));
    if (!parse_number(row->type, s->text, &value)) {
        return REFUSE(s, "\"%.*s\" is no %s", SHOWN(s),
                      row->type == TC__DURATION ? "duration: write 500ms, 5s, 10m or 1h"
                      : row->type == TC__SIZE   ? "size: write 64MiB, 64MB or a number of bytes"
                                                : "whole number");
    }
    if (value < min || value > max) {
        return REFUSE(s, "%.*s is outside %s..%s", SHOWN(s), row->min, row->max);
    }
    memcpy(to, &value, sizeof value);
    return true;
}

static bool read_flag(const struct setting *s, bool *to)
{
    bool is_true = tc_slice_eq(s->text, TC_LIT("true"));
    if (!is_true && !tc_slice_eq(s->text, TC_LIT("false"))) {
        return REFUSE(s, "\"%.*s\" is neither true nor false", SHOWN(s));
    }
    *to = is_true;
    return true;
}

static bool set_choice(const struct setting *s, const struct tc__config_row *row, char *to)
{
    struct tc_slice rest = tc_slice_cstr(row->choices);
    char list_text[128];
    struct tc_buf list = tc_buf_make(list_text, sizeof list_text);
    while (rest.len > 0) {
        struct tc_slice choice = tc_slice_cut(rest, ' ', &rest);
        if (tc_slice_eq(choice, s->text)) {
            return set_text(s, to, TC_CONFIG_CHOICE_MAX);
        }
        (void)tc_format(&list, "{}{}", list.len == 0 ? "" : ", ", choice);
    }
    return REFUSE(s, "\"%.*s\" is none of %.*s", SHOWN(s), TC_FMT(tc_buf_slice(&list)));
}

static bool set_row(const struct setting *s, const struct tc__config_row *row)
{
    void *to = (char *)s->load->out + row->offset;
    switch (row->type) {
    case TC__TEXT:
        return set_text(s, to, TC_CONFIG_TEXT_MAX);
    case TC__ADDRESS:
        return set_address(s, to, TC_CONFIG_TEXT_MAX);
    case TC__URL:
        if (s->text.len > 0 && !tc__config_is_url(s->text)) {
            return REFUSE(s, "\"%.*s\" is no http:// or https:// address", SHOWN(s));
        }
        return set_text(s, to, TC_CONFIG_TEXT_MAX);
    case TC__DURATION:
    case TC__SIZE:
    case TC__COUNT:
        return set_number(s, row, to);
    case TC__FLAG:
        return read_flag(s, to);
    case TC__CHOICE:
        return set_choice(s, row, to);
    case TC__HEADERS:
        return REFUSE(s, "is a map of names and values, not one value");
    case TC__TOKENS:
        return REFUSE(s, "is a list of tokens, not one value");
    case TC__HOSTS:
        return REFUSE(s, "is a list of names: [%.*s]", SHOWN(s));
    case TC__OUTPUTS:
        return REFUSE(s, "is a list of receivers, not one value");
    case TC__LIST:
        return REFUSE(s, "is a list: [%.*s]", SHOWN(s));
    }
    return false;
}

static bool set_knob(const struct setting *s)
{
    struct tc__config_node *node = s->node;
    struct tc_error err;
    if (node->param == NULL) {
        bool on = false;
        if (!read_flag(s, &on)) {
            return false;
        }
        node->value = on;
    } else if (s->text.len > SHOWN_MAX) {
        return REFUSE(s, "is longer than any number");
    } else if (tc_param_parse(node->param, "", s->text, &node->value, &err) != TC_OK) {
        /* The message begins with the path that was given, which the mistake has already. */
        return REFUSE(s, "%s", err.message + strlen(": "));
    }
    struct tc_buf b = tc_buf_make(node->text, sizeof node->text - 1);
    memset(node->text, 0, sizeof node->text);
    tc_buf_str(&b, s->text);
    return true;
}

void tc__config_taken(struct tc__config_load *l, struct tc__config_node *node,
                      const struct tc__config_place *place)
{
    node->place = *place;
    node->bad = false;
    if (node->kind == TC__ROW) {
        l->out->origins[node->key] = (uint8_t)place->origin;
    }
}

void tc__config_set(struct tc__config_load *l, struct tc__config_node *node,
                    const struct tc__config_place *place, struct tc_slice text, bool is_plain)
{
    const struct setting s = {.load = l, .node = node, .place = place, .text = text};
    const struct tc__config_row *row = node->kind == TC__ROW ? &tc__config_rows[node->key] : NULL;
    bool is_flag = row == NULL ? node->param == NULL : row->type == TC__FLAG;
    bool is_count = row == NULL ? node->param != NULL && node->param->type == TC_KNOB_COUNT
                                : row->type == TC__COUNT;
    bool taken = false;
    if (place->origin == TC_CONFIG_FILE && is_plain &&
        tc_yaml_kind_of(text, TC_YAML_TEXT) == TC_YAML_NULL) {
        tc__config_mistake(l, place, node->path,
                           "has no value; leave the key out for the default%s",
                           row != NULL && row->value[0] == '\0' ? ", or write \"\"" : "");
    } else if (place->origin == TC_CONFIG_FILE && !is_plain && (is_flag || is_count)) {
        tc__config_mistake(l, place, node->path, "is text; write %s without quotes",
                           is_flag ? "true or false" : "the number");
    } else {
        taken = row == NULL ? set_knob(&s) : set_row(&s, row);
    }
    if (taken) {
        tc__config_taken(l, node, place);
    } else {
        node->bad = true;
    }
}
