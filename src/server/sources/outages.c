/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is stored of the sources themselves: a record when one has failed for long, and one when it
 * works again, so that an incident has bytes to cite and a replay gives the same. A source like the
 * others, with a thread of its own, because the one that fails may hang. What was told last of a
 * source is the position of its stream: a restart tells nothing twice, and no end is forgotten.
 */
#include "base/clock.h"
#include "base/format.h"
#include "codec/event_json/event_json.h"
#include "server/sources/priv.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_NS TC_SECOND
/* An event: names and an error, all of which may have to be escaped. */
#define RECORD_MAX ((size_t)8192)

/* What was told of a source. */
struct told {
    char name[TC_SOURCE_STREAM_MAX];
    bool is_failing;
};

struct outages {
    struct tc_source_set *of;
    char node[256];
    int64_t after_ns;
    size_t count;
    struct told told[TC__SOURCES_MAX];
};

static void destroy(void *state)
{
    free(state);
}

/* NULL: there is no room; more than there can be sources were told of. */
static struct told *told_of(struct outages *o, struct tc_slice name)
{
    for (size_t i = 0; i < o->count; i++) {
        if (tc_slice_eq(tc_slice_cstr(o->told[i].name), name)) {
            return &o->told[i];
        }
    }
    if (o->count == TC__SOURCES_MAX || name.len >= sizeof o->told[0].name) {
        return NULL;
    }
    struct told *t = &o->told[o->count++];
    memcpy(t->name, name.ptr, name.len);
    return t;
}

static void restore(void *of, struct tc_slice stream, struct tc_slice position)
{
    struct told *t = told_of(of, stream);
    if (t != NULL) {
        t->is_failing = tc_slice_eq(position, TC_LIT("failing"));
    }
}

/* False: the daemon ends. */
static bool store(struct outages *o, struct tc_source_port *port, struct told *t, int64_t since_ns,
                  const char *why)
{
    char text[RECORD_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    const char *state = t->is_failing ? "ok" : "failing";
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_SOURCE_STATE);
    ev.time_ns = tc_wall_ns();
    ev.scope.node = tc_slice_cstr(o->node);
    ev.source.source = tc_slice_cstr(t->name);
    ev.source.state = tc_slice_cstr(state);
    ev.source.since_ns = since_ns;
    ev.source.message = tc_slice_cstr(why);
    tc_event_json_write(&b, &ev, NULL);
    tc_buf_char(&b, '\n');
    struct tc_source_chunk chunk = {
        .name = TC_LIT("sources"),
        .format = TC_LIT("event_json"),
        .node = tc_slice_cstr(o->node),
        .stream = tc_slice_cstr(t->name),
        .position = tc_slice_cstr(state),
        .body = tc_buf_slice(&b),
        .records = 1,
    };
    if (b.overflowed || tc_port_put(port, &chunk, 1) != TC_OK) {
        return false;
    }
    t->is_failing = !t->is_failing;
    return true;
}

/* False: the daemon ends. */
static bool look(struct outages *o, struct tc_source_port *port, struct tc__source *one)
{
    struct tc_source_health h;
    tc_port_health(one->port, &h);
    struct told *t = told_of(o, tc_slice_cstr(one->name));
    bool is_long = h.state == TC_SOURCE_FAILING && tc_wall_ns() - h.since_ns >= o->after_ns;
    bool is_news = t != NULL && (t->is_failing ? h.state == TC_SOURCE_OK : is_long);
    return !is_news || store(o, port, t, h.since_ns, h.error);
}

/* One that failed and is no longer there does so no more. */
static bool forget(struct outages *o, struct tc_source_port *port)
{
    for (size_t i = 0; i < o->count; i++) {
        bool is_there = false;
        for (size_t k = 0; k < o->of->count; k++) {
            is_there = is_there || strcmp(o->of->list[k].name, o->told[i].name) == 0;
        }
        if (!is_there && o->told[i].is_failing &&
            !store(o, port, &o->told[i], tc_wall_ns(), "it is no longer configured")) {
            return false;
        }
    }
    return true;
}

static void run(void *state, struct tc_source_port *port)
{
    struct outages *o = state;
    tc_port_positions(port, restore, o);
    bool go_on = forget(o, port);
    tc_port_ok(port);
    while (go_on && !tc_port_is_stopping(port)) {
        for (size_t i = 0; i < o->of->count && go_on; i++) {
            struct tc__source *one = &o->of->list[i];
            go_on = one->kind == &tc__source_outages || look(o, port, one);
        }
        (void)tc_port_wait(port, -1, LOOK_NS);
    }
}

const struct tc_source_kind tc__source_outages = {
    .name = "outages", .run = run, .destroy = destroy};

tc_status tc__source_set_add_outages(struct tc_source_set *s, const char *node,
                                     struct tc_error *err)
{
    struct outages *o = calloc(1, sizeof *o);
    if (o == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for sources");
    }
    struct tc_buf b = tc_buf_make(o->node, sizeof o->node - 1);
    tc_buf_str(&b, tc_slice_head(tc_slice_cstr(node), sizeof o->node - 1));
    o->of = s;
    o->after_ns = s->parts.config->sources_failing_after;
    return tc_source_set_add(s, &tc__source_outages, tc__source_outages.name, o, err);
}
