/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port whose other end is the test: it keeps what a source puts and where the source goes on, as
 * the daemon's store does, and can end the source at any put as a kill does.
 */
#ifndef TC_TESTS_SOURCE_TESTING_H
#define TC_TESTS_SOURCE_TESTING_H

#include "base/clock.h"
#include "base/table/grow.h"
#include "source/source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nothing here takes so long; a test that fails waits for it. */
#define PATIENCE_NS (20 * TC_SECOND)

struct kept {
    char stream[TC_SOURCE_STREAM_MAX];
    char position[TC_SOURCE_POSITION_MAX];
};

/* What is durable survives `stop`; a source is started on it again. */
struct world {
    char dir[64];
    pthread_mutex_t lock;
    struct tc_grow text;  /* bodies, one after the other */
    struct tc_grow notes; /* "name|node|job|format|tz\n" of each chunk */
    _Atomic size_t chunks;
    struct kept kept[512];
    size_t kept_count;
    int puts_left;     /* until the process is killed; -1: it is not */
    bool dies_durable; /* the last put is stored before it */
    struct tc_source_port *port;
    const struct tc_source_kind *kind;
    void *state;
    pthread_t thread;
    struct tc_source_health health; /* of the last that was stopped */
};

static void world_set(struct world *w, struct tc_slice stream, struct tc_slice position)
{
    size_t i = 0;
    while (i < w->kept_count && !tc_slice_eq(tc_slice_cstr(w->kept[i].stream), stream)) {
        i++;
    }
    if (i == w->kept_count) {
        assert_true(w->kept_count < TC_COUNT(w->kept));
        w->kept_count++;
    }
    if (position.len == 0) {
        w->kept[i] = w->kept[--w->kept_count];
        return;
    }
    (void)snprintf(w->kept[i].stream, sizeof w->kept[i].stream, "%.*s", TC_FMT(stream));
    (void)snprintf(w->kept[i].position, sizeof w->kept[i].position, "%.*s", TC_FMT(position));
}

static tc_status world_put(void *context, struct tc_source_port *port,
                           const struct tc_source_chunk *chunks, size_t count)
{
    struct world *w = context;
    (void)pthread_mutex_lock(&w->lock);
    bool dies = w->puts_left == 0;
    w->puts_left -= w->puts_left > 0;
    for (size_t i = 0; i < count && (!dies || w->dies_durable); i++) {
        const struct tc_source_chunk *c = &chunks[i];
        tc_grow_str(&w->text, c->body);
        char note[4096];
        int n = snprintf(note, sizeof note, "%.*s|%.*s|%.*s|%.*s|%.*s\n", TC_FMT(c->name),
                         TC_FMT(c->node), TC_FMT(c->job), TC_FMT(c->format), TC_FMT(c->tz));
        tc_grow_str(&w->notes, tc_slice_make(note, (size_t)n));
        if (c->stream.len > 0) {
            world_set(w, c->stream, c->position);
        }
        w->chunks++;
    }
    (void)pthread_mutex_unlock(&w->lock);
    if (dies) {
        tc_port_stop(port);
    }
    return dies ? TC_E_AGAIN : TC_OK;
}

static void
world_positions(void *context, const struct tc_source_port *port,
                void (*take)(void *of, struct tc_slice stream, struct tc_slice position), void *of)
{
    const struct world *w = context;
    (void)port;
    for (size_t i = 0; i < w->kept_count; i++) {
        take(of, tc_slice_cstr(w->kept[i].stream), tc_slice_cstr(w->kept[i].position));
    }
}

static void world_keep(void *context, const struct tc_source_port *port, struct tc_slice stream,
                       struct tc_slice position)
{
    struct world *w = context;
    (void)port;
    (void)pthread_mutex_lock(&w->lock);
    world_set(w, stream, position);
    (void)pthread_mutex_unlock(&w->lock);
}

static void world_save(void *context, bool now)
{
    (void)context;
    (void)now;
}

static struct world *world_create(void)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)snprintf(w->dir, sizeof w->dir, "/tmp/tc_source_XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    w->puts_left = -1;
    return w;
}

static void *world_run(void *context)
{
    struct world *w = context;
    w->kind->run(w->state, w->port);
    return NULL;
}

/* Takes state. */
static void world_start(struct world *w, const struct tc_source_kind *kind, void *state)
{
    struct tc_port_ops ops = {world_put, world_positions, world_keep, world_save, w};
    w->kind = kind;
    w->state = state;
    w->port = tc_port_create("test", &ops);
    assert_non_null(w->port);
    assert_int_equal(pthread_create(&w->thread, NULL, world_run, w), 0);
}

static void world_stop(struct world *w)
{
    tc_port_stop(w->port);
    assert_int_equal(pthread_join(w->thread, NULL), 0);
    tc_port_health(w->port, &w->health);
    w->kind->destroy(w->state);
    tc_port_destroy(w->port);
    w->port = NULL;
}

static void world_destroy(struct world *w)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", w->dir);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a path of our own */
    tc_grow_fini(&w->text);
    tc_grow_fini(&w->notes);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
}

/* A path in the test's directory; valid until the fourth call after. */
static const char *world_path(const struct world *w, const char *name)
{
    static char paths[4][1400];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", w->dir, name);
    return path;
}

static void write_to(const char *path, const char *mode, const char *bytes, size_t len)
{
    FILE *f = fopen(path, mode);
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static inline void append(const struct world *w, const char *name, const char *text)
{
    write_to(world_path(w, name), "a", text, strlen(text));
}

/* Whether all that was put is this, by now. */
static inline bool has_text(struct world *w, const char *text)
{
    (void)pthread_mutex_lock(&w->lock);
    bool is = tc_slice_eq(tc_grow_slice(&w->text), tc_slice_cstr(text));
    (void)pthread_mutex_unlock(&w->lock);
    return is;
}

static inline void await_text(struct world *w, const char *text)
{
    int64_t until_ns = tc_mono_ns() + PATIENCE_NS;
    while (!has_text(w, text)) {
        if (tc_mono_ns() > until_ns) {
            (void)pthread_mutex_lock(&w->lock);
            print_error("put: \"%.*s\"\n", TC_FMT(tc_grow_slice(&w->text)));
            fail_msg("expected: \"%s\"", text);
        }
        (void)usleep(2000);
    }
}

/* Waits for a number of its health to be at least that. */
static struct tc_source_health await_health(struct world *w, enum tc_source_state state)
{
    struct tc_source_health h;
    int64_t until_ns = tc_mono_ns() + PATIENCE_NS;
    for (;;) {
        tc_port_health(w->port, &h);
        if (h.state == state) {
            return h;
        }
        assert_true(tc_mono_ns() < until_ns);
        (void)usleep(2000);
    }
}

#endif
