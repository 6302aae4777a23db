/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "source/source.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* `lock` guards health; the rest does not change but for stopping. */
struct tc_source_port {
    const char *name;
    struct tc_port_ops ops;
    int stop_fd;
    atomic_bool stopping;
    pthread_mutex_t lock;
    struct tc_source_health health;
};

const char *tc_source_state_name(enum tc_source_state state)
{
    static const char *const names[] = {
        [TC_SOURCE_STARTING] = "starting", [TC_SOURCE_OK] = "ok", [TC_SOURCE_FAILING] = "failing"};
    return names[state];
}

struct tc_source_port *tc_port_create(const char *name, const struct tc_port_ops *ops)
{
    struct tc_source_port *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return NULL;
    }
    p->name = name;
    p->ops = *ops;
    p->health.since_ns = tc_wall_ns();
    (void)pthread_mutex_init(&p->lock, NULL);
    p->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (p->stop_fd < 0) {
        tc_port_destroy(p);
        return NULL;
    }
    return p;
}

void tc_port_destroy(struct tc_source_port *p)
{
    if (p == NULL) {
        return;
    }
    if (p->stop_fd >= 0) {
        (void)close(p->stop_fd);
    }
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
}

const char *tc_port_name(const struct tc_source_port *p)
{
    return p->name;
}

void tc_port_stop(struct tc_source_port *p)
{
    uint64_t one = 1;
    atomic_store(&p->stopping, true);
    (void)!write(p->stop_fd, &one, sizeof one);
}

bool tc_port_is_stopping(const struct tc_source_port *p)
{
    return atomic_load(&p->stopping);
}

int tc_port_stop_fd(const struct tc_source_port *p)
{
    return p->stop_fd;
}

void tc_port_health(struct tc_source_port *p, struct tc_source_health *out)
{
    (void)pthread_mutex_lock(&p->lock);
    *out = p->health;
    (void)pthread_mutex_unlock(&p->lock);
}

/* ---- the way of the bytes ---- */

tc_status tc_port_put(struct tc_source_port *p, const struct tc_source_chunk *chunks, size_t count)
{
    if (count == 0) {
        return TC_OK;
    }
    (void)pthread_mutex_lock(&p->lock);
    bool was_level = p->health.behind_ns == 0;
    p->health.behind_ns = was_level ? tc_wall_ns() : p->health.behind_ns;
    (void)pthread_mutex_unlock(&p->lock);
    TC_TRY(p->ops.put(p->ops.context, p, chunks, count));
    (void)pthread_mutex_lock(&p->lock);
    p->health.behind_ns = was_level ? 0 : p->health.behind_ns;
    for (size_t i = 0; i < count; i++) {
        p->health.records += chunks[i].records;
        p->health.bytes += chunks[i].body.len;
    }
    p->health.read_ns = tc_wall_ns();
    (void)pthread_mutex_unlock(&p->lock);
    tc_port_save(p, false);
    return TC_OK;
}

void tc_port_positions(const struct tc_source_port *p,
                       void (*take)(void *of, struct tc_slice stream, struct tc_slice position),
                       void *of)
{
    p->ops.positions(p->ops.context, p, take, of);
}

void tc_port_keep(const struct tc_source_port *p, struct tc_slice stream, struct tc_slice position)
{
    p->ops.keep(p->ops.context, p, stream, position);
}

void tc_port_save(const struct tc_source_port *p, bool now)
{
    p->ops.save(p->ops.context, now);
}

bool tc_port_wait(struct tc_source_port *p, int fd, int64_t ns)
{
    struct pollfd polled[2] = {{.fd = p->stop_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    int64_t ms = ns <= 0 ? 0 : (ns + 999999) / 1000000;
    tc_port_save(p, false);
    if (tc_port_is_stopping(p)) {
        return false;
    }
    int rc = poll(polled, fd < 0 ? 1 : 2, ms > INT32_MAX ? INT32_MAX : (int)ms);
    return rc > 0 && fd >= 0 && polled[1].revents != 0;
}

/* ---- health ---- */

/* Called with the lock. */
static void enter(struct tc_source_port *p, enum tc_source_state state)
{
    if (p->health.state != state) {
        p->health.state = state;
        p->health.since_ns = tc_wall_ns();
    }
}

void tc_port_ok(struct tc_source_port *p)
{
    (void)pthread_mutex_lock(&p->lock);
    enter(p, TC_SOURCE_OK);
    p->health.error[0] = '\0';
    (void)pthread_mutex_unlock(&p->lock);
}

void tc_port_fail(struct tc_source_port *p, const char *format, ...)
{
    va_list args;
    (void)pthread_mutex_lock(&p->lock);
    enter(p, TC_SOURCE_FAILING);
    va_start(args, format);
    (void)vsnprintf(p->health.error, sizeof p->health.error, format, args);
    va_end(args);
    p->health.errors++;
    (void)pthread_mutex_unlock(&p->lock);
}

void tc_port_lost(struct tc_source_port *p, uint64_t records)
{
    (void)pthread_mutex_lock(&p->lock);
    p->health.lost += records;
    (void)pthread_mutex_unlock(&p->lock);
}

void tc_port_watches(struct tc_source_port *p, uint64_t streams)
{
    (void)pthread_mutex_lock(&p->lock);
    p->health.streams = streams;
    (void)pthread_mutex_unlock(&p->lock);
}

void tc_port_behind(struct tc_source_port *p, bool is_behind)
{
    (void)pthread_mutex_lock(&p->lock);
    if (!is_behind) {
        p->health.behind_ns = 0;
    } else if (p->health.behind_ns == 0) {
        p->health.behind_ns = tc_wall_ns();
    }
    (void)pthread_mutex_unlock(&p->lock);
}
