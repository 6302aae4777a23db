/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as text: the defaults as YAML, the tables of its page, the values in use. */
#include "base/format.h"
#include "base/units.h"
#include "config/config_priv.h"

#include <string.h>

#define COMMENT_COLUMNS 96
#define DEPTH_MAX 8

static void put(struct tc_buf *b, const char *text)
{
    tc_buf_str(b, tc_slice_cstr(text));
}

static void put_indent(struct tc_buf *b, size_t depth)
{
    for (size_t i = 0; i < depth; i++) {
        tc_buf_lit(b, "  ");
    }
}

/* A comment in lines of COMMENT_COLUMNS. */
static void put_comment(struct tc_buf *b, size_t depth, struct tc_slice text)
{
    size_t column = 0;
    while (text.len > 0) {
        struct tc_slice word = tc_slice_cut(text, ' ', &text);
        if (column > 0 && column + 1 + word.len > COMMENT_COLUMNS) {
            tc_buf_char(b, '\n');
            column = 0;
        }
        if (column == 0) {
            put_indent(b, depth);
            tc_buf_char(b, '#');
            column = 2 * depth + 1;
        }
        (void)tc_format(b, " {}", word);
        column += 1 + word.len;
    }
    tc_buf_char(b, '\n');
}

static size_t count_parts(struct tc_slice path)
{
    size_t count = 1;
    for (size_t i = 0; i < path.len; i++) {
        count += path.ptr[i] == '.';
    }
    return count;
}

/* Opens the sections of path that `before` was not in; returns the depth of the key. */
static size_t put_sections(struct tc_buf *b, struct tc_slice before, struct tc_slice path)
{
    size_t parts = count_parts(path);
    bool same = true;
    for (size_t depth = 0; depth + 1 < parts; depth++) {
        struct tc_slice part = tc_slice_cut(path, '.', &path);
        same = same && tc_slice_eq(part, tc_slice_cut(before, '.', &before)) && before.len > 0;
        if (!same) {
            if (depth == 0 && b->len > 0) {
                tc_buf_char(b, '\n');
            }
            put_indent(b, depth);
            (void)tc_format(b, "{}:\n", part);
        }
    }
    return parts - 1;
}

/* "Default 5s; 100ms to 1h; RESTART" as a sentence. */
static void put_facts(struct tc_buf *b, const struct tc__config_row *row)
{
    if (row->min != NULL) {
        (void)tc_format(b, " From {} to {}.", row->min, row->max);
    }
    if (row->choices != NULL) {
        struct tc_slice rest = tc_slice_cstr(row->choices);
        tc_buf_lit(b, " One of ");
        while (rest.len > 0) {
            tc_buf_str(b, tc_slice_cut(rest, ' ', &rest));
            tc_buf_str(b, rest.len > 0 ? TC_LIT(", ") : TC_LIT("."));
        }
    }
}

static void put_value(struct tc_buf *b, const struct tc__config_row *row)
{
    bool is_text = row->type == TC__TEXT || row->type == TC__ADDRESS || row->type == TC__URL;
    if (is_text) {
        tc_buf_json(b, tc_slice_cstr(row->value));
    } else {
        put(b, row->value);
    }
}

static void write_knob_duration(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_buf_duration_exact(b, arg->integer);
}

static struct tc_arg knob_value(const struct tc_knob *param, int64_t value)
{
    bool is_duration = param->type == TC_KNOB_DURATION;
    return (struct tc_arg){.write = is_duration ? write_knob_duration : tc_arg_write_i64,
                           .integer = value};
}

/* Between this key and the one behind it the patterns are printed, as part of `detection`. */
#define LAST_BEFORE_PATTERNS TC_KEY_detection_replay_bytes

static void put_patterns(struct tc_buf *b)
{
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    put(b, "  patterns:\n");
    for (size_t i = 0; i < count; i++) {
        (void)tc_format(b, "    {}:\n", all[i]->name);
        put_comment(b, 3, tc_slice_cstr(all[i]->summary));
        put_indent(b, 3);
        tc_buf_lit(b, "enabled: true\n");
        for (size_t p = 0; p < all[i]->param_count; p++) {
            const struct tc_knob *param = &all[i]->params[p];
            char text[512];
            struct tc_buf help = tc_buf_make(text, sizeof text);
            put_comment(b, 3,
                        tc_format(&help, "{} ({} to {})", param->help,
                                  knob_value(param, param->min), knob_value(param, param->max)));
            put_indent(b, 3);
            (void)tc_format(b, "{}: {}\n", param->name, knob_value(param, param->value));
        }
    }
}

void tc_config_print_default(struct tc_buf *b)
{
    struct tc_slice before = TC_EMPTY;
    put(b, "# tracecore's configuration with every key at its default. Leave out what you do not\n"
           "# change. Durations: 500ms, 5s, 10m, 1h, 2d. Sizes: 64MiB, 64MB, bytes. Every key can\n"
           "# also be set by the environment: TRACECORE_API_LISTEN is api.listen.\n\n");
    for (size_t i = 0; i < TC_CONFIG_KEY_COUNT; i++) {
        const struct tc__config_row *row = &tc__config_rows[i];
        struct tc_slice path = tc_slice_cstr(row->path);
        char text[1024];
        struct tc_buf help = tc_buf_make(text, sizeof text);
        size_t depth = put_sections(b, before, path);
        if (depth == 0 && i > 0) {
            tc_buf_char(b, '\n');
        }
        put(&help, row->help);
        put_facts(&help, row);
        put_comment(b, depth, tc_buf_slice(&help));
        put_indent(b, depth);
        (void)tc_format(b, "{}: ", tc__config_last_part(path));
        put_value(b, row);
        tc_buf_char(b, '\n');
        if (i == LAST_BEFORE_PATTERNS) {
            put_patterns(b);
        }
        before = path;
    }
}

/* Text of a table's cell. */
static void put_cell(struct tc_buf *b, struct tc_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        tc_buf_str(b, text.ptr[i] == '|' ? TC_LIT("\\") : TC_EMPTY);
        tc_buf_char(b, text.ptr[i]);
    }
}

static void put_markdown_row(struct tc_buf *b, const struct tc__config_row *row)
{
    char text[1024];
    struct tc_buf help = tc_buf_make(text, sizeof text);
    put(&help, row->help);
    put_facts(&help, row);
    bool is_empty = row->value[0] == '\0';
    (void)tc_format(b, is_empty ? "| `{}` | empty{} | " : "| `{}` | `{}` | ", row->path,
                    row->value);
    put_cell(b, tc_buf_slice(&help));
    put(b, row->reload ? " | reload |\n" : " | restart |\n");
}

static void put_markdown_knob(struct tc_buf *b, const struct tc_detector *d,
                              const struct tc_knob *param)
{
    (void)tc_format(b, "| `{}.{}` | `{}` | ", d->name, param->name,
                    knob_value(param, param->value));
    put_cell(b, tc_slice_cstr(param->help));
    (void)tc_format(b, " | {} to {} |\n", knob_value(param, param->min),
                    knob_value(param, param->max));
}

static struct tc_slice section_of(const struct tc__config_row *row)
{
    struct tc_slice rest;
    struct tc_slice first = tc_slice_cut(tc_slice_cstr(row->path), '.', &rest);
    return rest.len == 0 ? TC_EMPTY : first;
}

/* The keys of a section, or those that are in none. */
static void put_markdown_section(struct tc_buf *b, struct tc_slice section)
{
    (void)tc_format(b, "### {}", section.len == 0 ? TC_LIT("Outside of sections") : section);
    put(b, "\n\n| key | default | what it does | a change takes |\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < TC_CONFIG_KEY_COUNT; i++) {
        if (tc_slice_eq(section_of(&tc__config_rows[i]), section)) {
            put_markdown_row(b, &tc__config_rows[i]);
        }
    }
    if (tc_slice_eq(section, TC_LIT("detection"))) {
        put(b,
            "| `detection.patterns.NAME.enabled` | `true` | Whether the pattern is looked for. | "
            "restart |\n"
            "| `detection.patterns.NAME.KEY` | see below | A knob of the pattern. | restart "
            "|\n");
    }
    tc_buf_char(b, '\n');
}

static bool is_new_section(size_t at)
{
    struct tc_slice section = section_of(&tc__config_rows[at]);
    for (size_t i = 0; i < at; i++) {
        if (tc_slice_eq(section_of(&tc__config_rows[i]), section)) {
            return false;
        }
    }
    return true;
}

void tc_config_print_markdown(struct tc_buf *b)
{
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    for (size_t i = 0; i < TC_CONFIG_KEY_COUNT; i++) {
        if (is_new_section(i)) {
            put_markdown_section(b, section_of(&tc__config_rows[i]));
        }
    }
    put(b, "### Knobs of the patterns\n\n"
           "| detection.patterns. | default | what it does | range |\n"
           "| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < count; i++) {
        for (size_t p = 0; p < all[i]->param_count; p++) {
            put_markdown_knob(b, all[i], &all[i]->params[p]);
        }
    }
}
