/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults, file, environment, checks; and every mistake in the order of where it stands. */
#include "config/config.h"

#include "base/assert.h"
#include "base/format.h"
#include "base/os/io.h"
#include "base/table/sort.h"
#include "config/config_priv.h"
#include "engine/engine.h"
#include "evidence/data_dir.h"
#include "warehouse/warehouse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "TRACECORE_"
/* More variables than a system lets a process have. */
#define ENVIRONMENT_MAX (1 << 20)
#define VARIABLE_MAX 192
#define SHOWN_MAX 96

static void put_source(struct tc_buf *b, const struct tc__config_load *l,
                       const struct tc__config_place *place)
{
    struct tc_slice value;
    if (place->origin == TC_CONFIG_ENVIRONMENT) {
        struct tc_slice name = tc_slice_cut(tc_slice_cstr(place->variable), '=', &value);
        tc_buf_printable(b, tc_slice_head(name, SHOWN_MAX));
    } else {
        tc_buf_printable(b, tc_slice_cstr(l->name));
    }
    if (place->line > 0) {
        (void)tc_format(b, ":{}:{}", place->line, place->column);
    }
    tc_buf_lit(b, ": ");
}

void tc__config_mistake(struct tc__config_load *l, const struct tc__config_place *place,
                        const char *path, const char *format, ...)
{
    char message[TC__CONFIG_MISTAKE_TEXT_MAX / 2];
    va_list args;
    size_t order = l->mistake_count++;
    if (order >= TC__CONFIG_MISTAKES_MAX) {
        return;
    }
    struct tc__config_mistake *m = &l->mistakes[order];
    struct tc_buf b = tc_buf_make(m->text, sizeof m->text - 1);
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    m->place = *place;
    m->order = order;
    put_source(&b, l, place);
    if (path[0] != '\0') {
        (void)tc_format(&b, "{}: ", tc_as_printable(tc_slice_cstr(path)));
    }
    tc_buf_printable(&b, tc_slice_cstr(message));
}

static int compare_mistakes(const void *left, const void *right)
{
    const struct tc__config_mistake *a = left;
    const struct tc__config_mistake *b = right;
    int order = TC_ORDER(a->place.origin, b->place.origin);
    if (order == 0 && a->place.origin == TC_CONFIG_ENVIRONMENT) {
        order = strcmp(a->place.variable, b->place.variable);
    }
    order = order != 0 ? order : TC_ORDER(a->place.line, b->place.line);
    order = order != 0 ? order : TC_ORDER(a->place.column, b->place.column);
    return order != 0 ? order : TC_ORDER(a->order, b->order);
}

static void tell_mistakes(struct tc__config_load *l, tc_config_say_fn say, void *context)
{
    size_t told =
        l->mistake_count < TC__CONFIG_MISTAKES_MAX ? l->mistake_count : TC__CONFIG_MISTAKES_MAX;
    qsort(l->mistakes, told, sizeof l->mistakes[0], compare_mistakes);
    for (size_t i = 0; i < told; i++) {
        say(context, l->mistakes[i].text);
    }
    if (l->mistake_count > told) {
        char text[64];
        (void)snprintf(text, sizeof text, "%zu more mistakes", l->mistake_count - told);
        say(context, text);
    }
}

/*
 * A service named tracecore or tracecore-* in a Kubernetes namespace puts such variables into every
 * pod: TRACECORE_SERVICE_HOST, TRACECORE_SERVICE_PORT_HTTP, TRACECORE_PORT,
 * TRACECORE_PORT_4318_TCP_ADDR.
 */
static bool is_service_link(struct tc_slice name, struct tc_slice value)
{
    static const char *const schemes[] = {"tcp://", "udp://", "sctp://"};
    size_t at = tc_slice_find(name, TC_LIT("_PORT_"));
    struct tc_slice behind = tc_slice_from(name, at == TC_NPOS ? name.len : at + 6);
    uint64_t port = 0;
    if (tc_slice_ends(name, TC_LIT("_SERVICE_HOST")) ||
        tc_slice_contains(name, TC_LIT("_SERVICE_PORT")) || tc_slice_u64(behind, &port) > 0) {
        return true;
    }
    for (size_t i = 0; i < TC_COUNT(schemes); i++) {
        if (tc_slice_ends(name, TC_LIT("_PORT")) &&
            tc_slice_starts(value, tc_slice_cstr(schemes[i]))) {
            return true;
        }
    }
    return false;
}

/* The key of a variable; else NULL, and the one with the name most like it. */
static struct tc__config_node *find_variable(struct tc__config_load *l, struct tc_slice name,
                                             const struct tc__config_node **out_nearest)
{
    size_t nearest = TC_DISTANCE_MAX;
    *out_nearest = NULL;
    for (size_t i = 0; i < l->node_count; i++) {
        char text[VARIABLE_MAX];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc__config_variable(&b, tc_slice_cstr(l->nodes[i].path));
        if (l->nodes[i].kind == TC__SECTION) {
            continue;
        }
        if (tc_slice_eq(name, tc_buf_slice(&b))) {
            return &l->nodes[i];
        }
        size_t distance = tc_slice_distance(name, tc_buf_slice(&b));
        if (distance < nearest) {
            nearest = distance;
            *out_nearest = &l->nodes[i];
        }
    }
    if (nearest > name.len / 4) {
        *out_nearest = NULL;
    }
    return NULL;
}

static void read_variable(struct tc__config_load *l, const char *variable)
{
    struct tc_slice value;
    struct tc_slice name = tc_slice_cut(tc_slice_cstr(variable), '=', &value);
    const struct tc__config_place place = {.origin = TC_CONFIG_ENVIRONMENT, .variable = variable};
    const struct tc__config_node *nearest = NULL;
    /* As commands have it. */
    name = tc_slice_eq(name, TC_LIT(TC_WAREHOUSE_URL_VARIABLE))
               ? TC_LIT(TC_WAREHOUSE_URL_VARIABLE "_URL")
               : name;
    struct tc__config_node *node = find_variable(l, name, &nearest);
    if (node == NULL) {
        char text[VARIABLE_MAX];
        struct tc_buf b = tc_buf_make(text, sizeof text - 1);
        if (is_service_link(name, value) ||
            tc_slice_eq(name, TC_LIT(TC_WAREHOUSE_LIBRARY_VARIABLE)) ||
            tc_slice_eq(name, TC_LIT(TC_WAREHOUSE_PASSWORD_VARIABLE))) {
            return;
        }
        if (nearest == NULL) {
            tc__config_mistake(l, &place, "", "there is no key for this variable");
            return;
        }
        tc__config_variable(&b, tc_slice_cstr(nearest->path));
        tc__config_mistake(l, &place, "", "there is no key for this variable; did you mean %.*s?",
                           TC_FMT(tc_buf_slice(&b)));
        return;
    }
    enum tc__config_type type = node->kind == TC__ROW ? tc__config_rows[node->key].type : TC__TEXT;
    if (tc__config_is_list(type)) {
        tc__config_yaml(l, tc_slice_head(value, TC_CONFIG_FILE_MAX), node, &place);
    } else {
        tc__config_set(l, node, &place, value, true);
    }
}

static void read_environment(struct tc__config_load *l, char *const *environ_list)
{
    for (size_t i = 0; environ_list != NULL && environ_list[i] != NULL && i < ENVIRONMENT_MAX;
         i++) {
        if (strncmp(environ_list[i], PREFIX, strlen(PREFIX)) == 0) {
            read_variable(l, environ_list[i]);
        }
    }
}

/* The knobs that were changed, in the order of the detectors' tables. */
static void list_knobs(struct tc__config_load *l)
{
    struct tc_config *c = l->out;
    for (size_t i = 0; i < l->node_count; i++) {
        const struct tc__config_node *n = &l->nodes[i];
        bool is_knob = n->kind == TC__KNOB;
        if (!is_knob || n->value == (n->param == NULL ? 1 : n->param->value)) {
            continue;
        }
        TC_ASSERT(c->knob_count < TC_CONFIG_KNOBS_MAX);
        (void)snprintf(c->knobs[c->knob_count], sizeof c->knobs[0], "%s.%s=%.64s",
                       n->detector->name, n->param == NULL ? "enabled" : n->param->name, n->text);
        c->knob_origins[c->knob_count++] = (uint8_t)n->place.origin;
    }
}

tc_status tc_config_read(struct tc_slice text, const char *name, char *const *environ_list,
                         tc_config_say_fn say, void *context, struct tc_config *out)
{
    struct tc__config_load l = {.out = out, .name = name};
    const struct tc__config_place file = {.origin = TC_CONFIG_FILE};
    memset(out, 0, sizeof *out);
    tc_status status = tc__config_nodes(&l);
    if (status == TC_OK && text.len > TC_CONFIG_FILE_MAX) {
        tc__config_mistake(&l, &file, "", "is larger than %zu bytes", TC_CONFIG_FILE_MAX);
    } else if (status == TC_OK) {
        tc__config_yaml(&l, text, &l.nodes[0], &file);
    }
    if (status == TC_OK) {
        read_environment(&l, environ_list);
        status = l.no_memory ? TC_E_NOMEM : TC_OK;
    }
    if (status == TC_OK) {
        tc__config_check(&l);
        list_knobs(&l);
        tell_mistakes(&l, say, context);
        status = l.mistake_count > 0 ? TC_E_MALFORMED : TC_OK;
    } else {
        say(context, "no memory to read the configuration");
    }
    free(l.nodes);
    free(l.mistakes);
    return status;
}

tc_status tc_config_load(const char *path, char *const *environ_list, tc_config_say_fn say,
                         void *context, struct tc_config *out)
{
    if (path == NULL) {
        return tc_config_read(TC_EMPTY, "defaults", environ_list, say, context, out);
    }
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    char line[TC__CONFIG_MISTAKE_TEXT_MAX];
    struct tc_buf b = tc_buf_make(line, sizeof line - 1);
    /* One byte more than a file may have shows that it has more. */
    char *text = malloc(TC_CONFIG_FILE_MAX + 1);
    ssize_t len = text == NULL ? -1 : tc_io_read_path(path, text, TC_CONFIG_FILE_MAX + 1);
    tc_status status = TC_E_IO;
    if (len < 0) {
        memset(line, 0, sizeof line);
        (void)tc_format(&b, "{}: cannot be read: {}",
                        tc_as_printable(tc_slice_head(tc_slice_cstr(name), sizeof line / 8)),
                        strerror(text == NULL ? ENOMEM : errno));
        say(context, line);
    } else {
        status =
            tc_config_read(tc_slice_make(text, (size_t)len), name, environ_list, say, context, out);
    }
    free(text);
    return status;
}

tc_status tc_config_data_dir(const struct tc_config *config, char *out_text, struct tc_error *err)
{
    if (config->data_dir[0] != '\0') {
        memcpy(out_text, config->data_dir, sizeof config->data_dir);
        return TC_OK;
    }
    if (!tc_data_dir_default(out_text, TC_CONFIG_TEXT_MAX)) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "data_dir: where is data to be kept? set data_dir, for STATE_DIRECTORY, "
                       "XDG_STATE_HOME and HOME are not set or too long");
    }
    return TC_OK;
}

tc_status tc_config_tune(const struct tc_config *config, struct tc_engine *engine,
                         struct tc_error *err)
{
    for (size_t i = 0; i < config->knob_count; i++) {
        struct tc_slice knob = tc_slice_cstr(config->knobs[i]);
        struct tc_slice rest;
        struct tc_slice name = tc_slice_cut(knob, '.', &rest);
        if (tc_slice_starts(rest, TC_LIT("enabled="))) {
            TC_TRY(tc_engine_enable(engine, name, tc_slice_ends(rest, TC_LIT("=true")), err));
        } else {
            TC_TRY(tc_engine_set(engine, knob, err));
        }
    }
    return tc_engine_set_xids(engine, tc_slice_cstr(config->detection_xids), err);
}
