/* SPDX-License-Identifier: Apache-2.0 */
/* The values in use, and which of them a running daemon cannot change. */
#include "base/format.h"
#include "base/units.h"
#include "config/config_priv.h"

#include <stdio.h>
#include <string.h>

#define VALUE_MAX (TC_CONFIG_HEADERS_MAX * 7)

static const char *const ORIGINS[] = {
    [TC_CONFIG_DEFAULT] = "default",
    [TC_CONFIG_FILE] = "file",
    [TC_CONFIG_ENVIRONMENT] = "environment",
};

/* Names only: values of headers are secrets. */
static void put_headers(struct tc_buf *b, const char *lines)
{
    struct tc_slice rest = tc_slice_cstr(lines);
    bool first = true;
    tc_buf_char(b, '[');
    while (rest.len > 0) {
        struct tc_slice value;
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        tc_buf_str(b, first ? TC_EMPTY : TC_LIT(", "));
        tc_buf_json(b, tc_slice_cut(line, ':', &value));
        first = false;
    }
    tc_buf_char(b, ']');
}

static void put_tokens(struct tc_buf *b, const struct tc_config *c)
{
    tc_buf_char(b, '[');
    for (size_t i = 0; i < c->auth_token_count; i++) {
        tc_buf_str(b, i == 0 ? TC_EMPTY : TC_LIT(", "));
        tc_buf_json(b, tc_slice_cstr(c->auth_tokens[i].name));
    }
    tc_buf_char(b, ']');
}

static void put_hosts(struct tc_buf *b, struct tc_slice names)
{
    tc_buf_char(b, '[');
    while (names.len > 0) {
        tc_buf_json(b, tc_slice_cut(names, '\n', &names));
        tc_buf_str(b, names.len > 0 ? TC_LIT(",") : TC_EMPTY);
    }
    tc_buf_char(b, ']');
}

static void put_current(struct tc_buf *b, const struct tc_config *c,
                        const struct tc__config_row *row, bool json)
{
    const void *at = (const char *)c + row->offset;
    bool quoted = json && (row->type == TC__DURATION || row->type == TC__SIZE);
    tc_buf_str(b, quoted ? TC_LIT("\"") : TC_EMPTY);
    switch (row->type) {
    case TC__TEXT:
    case TC__ADDRESS:
    case TC__URL:
    case TC__CHOICE:
        tc_buf_json(b, tc_slice_cstr(at));
        break;
    case TC__DURATION:
        tc_buf_duration_exact(b, *(const int64_t *)at);
        break;
    case TC__SIZE:
        tc_buf_size_exact(b, *(const uint64_t *)at);
        break;
    case TC__COUNT:
        tc_buf_i64(b, *(const int64_t *)at);
        break;
    case TC__FLAG:
        tc_buf_str(b, *(const bool *)at ? TC_LIT("true") : TC_LIT("false"));
        break;
    case TC__HEADERS:
        put_headers(b, at);
        break;
    case TC__TOKENS:
        put_tokens(b, c);
        break;
    case TC__HOSTS:
    case TC__LIST:
        put_hosts(b, tc_slice_cstr(at));
        break;
    case TC__OUTPUTS:
        tc__config_outputs_print(b, c);
        break;
    }
    tc_buf_str(b, quoted ? TC_LIT("\"") : TC_EMPTY);
}

static void put_entry(struct tc_buf *b, struct tc_slice path, struct tc_slice value,
                      enum tc_config_origin origin, bool json)
{
    if (json) {
        tc_buf_str(b, b->data[b->len - 1] == '{' ? TC_EMPTY : TC_LIT(","));
        tc_buf_json(b, path);
        (void)tc_format(b, ":{\"value\":{},\"origin\":\"{}\"}", value, ORIGINS[origin]);
    } else {
        (void)tc_format(b, "{}: {}  # {}\n", path, value, ORIGINS[origin]);
    }
}

static void put_knob(struct tc_buf *b, const struct tc_config *c, size_t at, bool json)
{
    char path_text[TC__CONFIG_PATH_MAX + TC_CONFIG_KNOB_TEXT_MAX];
    char value_text[TC_CONFIG_KNOB_TEXT_MAX * 2];
    struct tc_buf path = tc_buf_make(path_text, sizeof path_text);
    struct tc_buf value = tc_buf_make(value_text, sizeof value_text);
    struct tc_slice text;
    struct tc_slice name = tc_slice_cut(tc_slice_cstr(c->knobs[at]), '=', &text);
    uint64_t number = 0;
    bool is_word = tc_slice_is_u64(text, &number) || tc_slice_eq(text, TC_LIT("true")) ||
                   tc_slice_eq(text, TC_LIT("false"));
    (void)tc_format(&path, "detection.patterns.{}", name);
    if (json && !is_word) {
        tc_buf_json(&value, text);
    } else {
        tc_buf_str(&value, text);
    }
    put_entry(b, tc_buf_slice(&path), tc_buf_slice(&value),
              (enum tc_config_origin)c->knob_origins[at], json);
}

void tc_config_print_effective(const struct tc_config *config, bool json, struct tc_buf *b)
{
    char text[VALUE_MAX];
    tc_buf_str(b, json ? TC_LIT("{") : TC_EMPTY);
    for (size_t i = 0; i < TC_CONFIG_KEY_COUNT; i++) {
        struct tc_buf value = tc_buf_make(text, sizeof text);
        put_current(&value, config, &tc__config_rows[i], json);
        put_entry(b, tc_slice_cstr(tc__config_rows[i].path), tc_buf_slice(&value),
                  (enum tc_config_origin)config->origins[i], json);
    }
    for (size_t i = 0; i < config->knob_count; i++) {
        put_knob(b, config, i, json);
    }
    tc_buf_str(b, json ? TC_LIT("}") : TC_EMPTY);
}

static bool knobs_differ(const struct tc_config *a, const struct tc_config *b)
{
    if (a->knob_count != b->knob_count) {
        return true;
    }
    for (size_t i = 0; i < a->knob_count; i++) {
        if (strcmp(a->knobs[i], b->knobs[i]) != 0) {
            return true;
        }
    }
    return false;
}

size_t tc_config_fixed_changes(const struct tc_config *old_config,
                               const struct tc_config *new_config, tc_config_say_fn say,
                               void *context)
{
    size_t count = 0;
    for (size_t i = 0; i < TC_CONFIG_KEY_COUNT; i++) {
        char before_text[VALUE_MAX];
        char after_text[VALUE_MAX];
        char line[TC__CONFIG_MISTAKE_TEXT_MAX];
        const struct tc__config_row *row = &tc__config_rows[i];
        struct tc_buf before = tc_buf_make(before_text, sizeof before_text);
        struct tc_buf after = tc_buf_make(after_text, sizeof after_text);
        put_current(&before, old_config, row, false);
        put_current(&after, new_config, row, false);
        if (row->reload || tc_slice_eq(tc_buf_slice(&before), tc_buf_slice(&after))) {
            continue;
        }
        (void)snprintf(line, sizeof line, "%s: a change takes a restart: %.*s now, %.*s then",
                       row->path, TC_FMT(tc_slice_head(tc_buf_slice(&before), 128)),
                       TC_FMT(tc_slice_head(tc_buf_slice(&after), 128)));
        say(context, line);
        count++;
    }
    const char *exposed = tc__config_exposed_without(old_config, new_config);
    if (exposed != NULL) {
        char line[TC__CONFIG_MISTAKE_TEXT_MAX];
        (void)snprintf(line, sizeof line,
                       "auth.tokens: no token would be left, and other machines reach %s until a "
                       "restart: they stay",
                       exposed);
        say(context, line);
        count++;
    }
    if (knobs_differ(old_config, new_config)) {
        say(context, "detection.patterns: a change takes a restart");
        count++;
    }
    return count;
}

static size_t size_of(enum tc__config_type type)
{
    switch (type) {
    case TC__TEXT:
    case TC__ADDRESS:
    case TC__URL:
        return TC_CONFIG_TEXT_MAX;
    case TC__DURATION:
    case TC__SIZE:
    case TC__COUNT:
        return sizeof(int64_t);
    case TC__FLAG:
        return sizeof(bool);
    case TC__CHOICE:
        return TC_CONFIG_CHOICE_MAX;
    case TC__HEADERS:
        return TC_CONFIG_HEADERS_MAX;
    case TC__TOKENS:
        return sizeof(struct tc_config_token) * TC_CONFIG_TOKENS_MAX;
    case TC__HOSTS:
        return TC_CONFIG_HOSTS_MAX;
    case TC__OUTPUTS:
        return sizeof(struct tc_alert_output) * TC_ALERT_RECEIVERS_MAX;
    case TC__LIST:
        return TC_CONFIG_LIST_MAX;
    }
    return 0;
}

void tc_config_keep_fixed(const struct tc_config *old_config, struct tc_config *io_new_config)
{
    bool keeps_tokens = tc__config_exposed_without(old_config, io_new_config) != NULL;
    for (size_t i = 0; i < TC_CONFIG_KEY_COUNT; i++) {
        const struct tc__config_row *row = &tc__config_rows[i];
        if (!row->reload || (row->type == TC__TOKENS && keeps_tokens)) {
            memcpy((char *)io_new_config + row->offset, (const char *)old_config + row->offset,
                   size_of(row->type));
            io_new_config->origins[i] = old_config->origins[i];
        }
    }
    if (keeps_tokens) {
        io_new_config->auth_token_count = old_config->auth_token_count;
    }
    memcpy(io_new_config->knobs, old_config->knobs, sizeof io_new_config->knobs);
    memcpy(io_new_config->knob_origins, old_config->knob_origins,
           sizeof io_new_config->knob_origins);
    io_new_config->knob_count = old_config->knob_count;
}
