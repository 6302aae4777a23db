/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of config.def and of the detectors, and finding one by its path or by something like it.
 */
#include "base/assert.h"
#include "config/config_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RELOAD true
#define RESTART false

const struct tc__config_row tc__config_rows[TC_CONFIG_KEY_COUNT] = {
#define ROW(f, p, t, v, lo, hi, c, r, h)                     \
    [TC_KEY_##f] = {.path = (p),                             \
                    .type = (t),                             \
                    .offset = offsetof(struct tc_config, f), \
                    .value = (v),                            \
                    .min = (lo),                             \
                    .max = (hi),                             \
                    .choices = (c),                          \
                    .reload = (r),                           \
                    .help = (h)},
#define TEXT(f, p, v, r, h) ROW(f, p, TC__TEXT, v, NULL, NULL, NULL, r, h)
#define ADDRESS(f, p, v, r, h) ROW(f, p, TC__ADDRESS, v, NULL, NULL, NULL, r, h)
#define URL(f, p, v, r, h) ROW(f, p, TC__URL, v, NULL, NULL, NULL, r, h)
#define DURATION(f, p, v, lo, hi, r, h) ROW(f, p, TC__DURATION, v, lo, hi, NULL, r, h)
#define SIZE(f, p, v, lo, hi, r, h) ROW(f, p, TC__SIZE, v, lo, hi, NULL, r, h)
#define COUNT(f, p, v, lo, hi, r, h) ROW(f, p, TC__COUNT, #v, #lo, #hi, NULL, r, h)
#define FLAG(f, p, v, r, h) ROW(f, p, TC__FLAG, #v, NULL, NULL, NULL, r, h)
#define CHOICE(f, p, v, c, r, h) ROW(f, p, TC__CHOICE, v, NULL, NULL, c, r, h)
#define HEADERS(f, p, r, h) ROW(f, p, TC__HEADERS, "{}", NULL, NULL, NULL, r, h)
#define TOKENS(f, p, r, h) ROW(f, p, TC__TOKENS, "[]", NULL, NULL, NULL, r, h)
#define HOSTS(f, p, r, h) ROW(f, p, TC__HOSTS, "[]", NULL, NULL, NULL, r, h)
#define OUTPUTS(f, p, r, h) ROW(f, p, TC__OUTPUTS, "[]", NULL, NULL, NULL, r, h)
#define LIST(f, p, r, h) ROW(f, p, TC__LIST, "[]", NULL, NULL, NULL, r, h)
#include "config/config.def"
};

/* Rows, their sections, patterns and their knobs. */
#define NODES_MAX 512

struct tc_slice tc__config_last_part(struct tc_slice path)
{
    size_t at = path.len;
    while (at > 0 && path.ptr[at - 1] != '.') {
        at--;
    }
    return tc_slice_from(path, at);
}

static struct tc_slice parent_of(struct tc_slice path)
{
    size_t last = tc__config_last_part(path).len;
    return tc_slice_head(path, path.len == last ? 0 : path.len - last - 1);
}

struct tc__config_node *tc__config_find(struct tc__config_load *l, struct tc_slice path)
{
    for (size_t i = 0; i < l->node_count; i++) {
        if (tc_slice_eq(path, tc_slice_make(l->nodes[i].path, l->nodes[i].path_len))) {
            return &l->nodes[i];
        }
    }
    return NULL;
}

static struct tc__config_node *add(struct tc__config_load *l, struct tc_slice path,
                                   enum tc__config_kind kind)
{
    TC_ASSERT(l->node_count < NODES_MAX && path.len < TC__CONFIG_PATH_MAX);
    struct tc__config_node *node = &l->nodes[l->node_count++];
    struct tc_buf b = tc_buf_make(node->path, sizeof node->path - 1);
    tc_buf_str(&b, path);
    node->path_len = path.len;
    node->kind = kind;
    return node;
}

/* The sections that lead to a key. */
static void add_sections(struct tc__config_load *l, struct tc_slice path)
{
    for (size_t i = 0; i < path.len; i++) {
        struct tc_slice section = tc_slice_head(path, i);
        if (path.ptr[i] == '.' && tc__config_find(l, section) == NULL) {
            (void)add(l, section, TC__SECTION);
        }
    }
}

static void add_knob(struct tc__config_load *l, const struct tc_detector *d,
                     const struct tc_knob *param)
{
    char text[TC__CONFIG_PATH_MAX];
    int len = snprintf(text, sizeof text, "detection.patterns.%s.%s", d->name,
                       param == NULL ? "enabled" : param->name);
    TC_ASSERT(len > 0 && (size_t)len < sizeof text);
    struct tc_slice path = tc_slice_make(text, (size_t)len);
    add_sections(l, path);
    struct tc__config_node *node = add(l, path, TC__KNOB);
    node->detector = d;
    node->param = param;
    node->value = param == NULL ? 1 : param->value;
}

static void set_default(struct tc__config_load *l, size_t key)
{
    struct tc__config_node *node = tc__config_find(l, tc_slice_cstr(tc__config_rows[key].path));
    enum tc__config_type type = tc__config_rows[key].type;
    if (!tc__config_is_list(type)) {
        const struct tc__config_place none = {.origin = TC_CONFIG_DEFAULT};
        tc__config_set(l, node, &none, tc_slice_cstr(tc__config_rows[key].value), true);
    }
    TC_ASSERT(l->mistake_count == 0);
}

tc_status tc__config_nodes(struct tc__config_load *l)
{
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    l->nodes = calloc(NODES_MAX, sizeof *l->nodes);
    l->mistakes = calloc(TC__CONFIG_MISTAKES_MAX, sizeof *l->mistakes);
    if (l->nodes == NULL || l->mistakes == NULL) {
        return TC_E_NOMEM;
    }
    (void)add(l, TC_EMPTY, TC__SECTION);
    for (size_t i = 0; i < TC_CONFIG_KEY_COUNT; i++) {
        struct tc_slice path = tc_slice_cstr(tc__config_rows[i].path);
        add_sections(l, path);
        add(l, path, TC__ROW)->key = (enum tc_config_key)i;
        set_default(l, i);
    }
    for (size_t i = 0; i < count; i++) {
        add_knob(l, all[i], NULL);
        for (size_t p = 0; p < all[i]->param_count; p++) {
            add_knob(l, all[i], &all[i]->params[p]);
        }
    }
    return TC_OK;
}

/* Whether so many edits of a word still look like a slip of the finger. */
static bool is_slip(size_t distance, struct tc_slice word)
{
    return distance < word.len && distance <= (word.len < 6 ? 2 : word.len * 2 / 5);
}

const struct tc__config_node *tc__config_nearest(const struct tc__config_load *l,
                                                 struct tc_slice parent, struct tc_slice key)
{
    const struct tc__config_node *best[2] = {NULL, NULL};
    size_t distance[2] = {TC_DISTANCE_MAX, TC_DISTANCE_MAX};
    /* Nobody reads the answer where mistakes are only counted. */
    size_t count = l->mistake_count < TC__CONFIG_MISTAKES_MAX ? l->node_count : 0;
    for (size_t i = 1; i < count; i++) {
        struct tc_slice path = tc_slice_cstr(l->nodes[i].path);
        bool elsewhere = !tc_slice_eq(parent_of(path), parent);
        size_t now = tc_slice_distance(key, tc__config_last_part(path));
        if (now < distance[elsewhere]) {
            best[elsewhere] = &l->nodes[i];
            distance[elsewhere] = now;
        }
    }
    if (best[0] != NULL && is_slip(distance[0], key)) {
        return best[0];
    }
    return best[1] != NULL && distance[1] <= key.len / 4 ? best[1] : NULL;
}

void tc__config_variable(struct tc_buf *b, struct tc_slice path)
{
    tc_buf_lit(b, "TRACECORE_");
    for (size_t i = 0; i < path.len; i++) {
        char c = path.ptr[i];
        tc_buf_char(b, c == '.' ? '_' : c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c);
    }
}
