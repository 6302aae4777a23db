/* SPDX-License-Identifier: Apache-2.0 */
#include "server/warehouse/hub.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Invariant: uses > 0 only while open is not NULL. */
struct tc_warehouse_hub {
    struct tc_warehouse_hub_config config;
    pthread_mutex_t lock;
    struct tc_warehouse *open;
    size_t uses;
    bool suspect;
    bool retired;
    int leave_fd; /* eventfd: readable while suspect or retired */
    _Atomic uint64_t by_commands;
    _Atomic uint64_t by_feed;
};

void tc_warehouse_hub_wrote(struct tc_warehouse_hub *h, enum tc_warehouse_writer by)
{
    atomic_fetch_add(by == TC_WAREHOUSE_BY_COMMAND ? &h->by_commands : &h->by_feed, 1);
}

struct tc_warehouse_writes tc_warehouse_hub_writes(struct tc_warehouse_hub *h)
{
    return (struct tc_warehouse_writes){.by_commands = atomic_load(&h->by_commands),
                                        .by_feed = atomic_load(&h->by_feed)};
}

struct tc_warehouse_hub *tc_warehouse_hub_create(const struct tc_warehouse_hub_config *config)
{
    struct tc_warehouse_hub *h = calloc(1, sizeof *h);
    if (h != NULL) {
        h->config = *config;
        (void)pthread_mutex_init(&h->lock, NULL);
        h->leave_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    if (h != NULL && h->leave_fd < 0) {
        tc_warehouse_hub_destroy(h);
        return NULL;
    }
    return h;
}

/* Holds the lock. */
static void show_leave(struct tc_warehouse_hub *h)
{
    uint64_t count = 1;
    ssize_t n = h->suspect || h->retired ? write(h->leave_fd, &count, sizeof count)
                                         : read(h->leave_fd, &count, sizeof count);
    (void)n; /* full or empty already is fine */
}

/* Holds the lock. */
static void close_suspect(struct tc_warehouse_hub *h)
{
    if (h->suspect && h->uses == 0) {
        tc_warehouse_close(h->open);
        h->open = NULL;
        h->suspect = false;
        tc_warehouse_hub_wrote(h, TC_WAREHOUSE_BY_COMMAND);
        show_leave(h);
    }
}

void tc_warehouse_hub_destroy(struct tc_warehouse_hub *h)
{
    if (h == NULL) {
        return;
    }
    tc_warehouse_close(h->open);
    (void)pthread_mutex_destroy(&h->lock);
    if (h->leave_fd >= 0) {
        (void)close(h->leave_fd);
    }
    free(h);
}

/* Holds the lock. */
static tc_status share(struct tc_warehouse_hub *h, int64_t wait_ns, struct tc_warehouse **out,
                       struct tc_error *err)
{
    close_suspect(h);
    if (h->retired) {
        return tc_fail(err, TC_E_IO, 0, "the daemon is stopping");
    }
    if (h->suspect) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "the warehouse failed and is being opened anew; try again");
    }
    if (h->open == NULL) {
        struct tc_warehouse_config config = {
            .data_dir = h->config.data_dir,
            .url = h->config.url,
            .mode = TC_WAREHOUSE_WRITE,
            .memory_bytes = h->config.memory_bytes,
            .threads = h->config.threads,
            .wait_ns = wait_ns,
            .own = true,
        };
        TC_TRY(tc_warehouse_open(&config, &h->open, err));
        tc_warehouse_hub_wrote(h, TC_WAREHOUSE_BY_COMMAND);
    }
    TC_TRY(tc_warehouse_share(h->open, out, err));
    h->uses++;
    return TC_OK;
}

tc_status tc_warehouse_hub_share(struct tc_warehouse_hub *h, int64_t wait_ns,
                                 struct tc_warehouse **out_warehouse, struct tc_error *err)
{
    (void)pthread_mutex_lock(&h->lock);
    tc_status status = share(h, wait_ns, out_warehouse, err);
    (void)pthread_mutex_unlock(&h->lock);
    return status;
}

void tc_warehouse_hub_give(struct tc_warehouse_hub *h, struct tc_warehouse *w)
{
    if (w == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&h->lock);
    tc_warehouse_close(w);
    h->uses--;
    close_suspect(h);
    (void)pthread_mutex_unlock(&h->lock);
}

void tc_warehouse_hub_suspect(struct tc_warehouse_hub *h)
{
    (void)pthread_mutex_lock(&h->lock);
    h->suspect = h->open != NULL;
    show_leave(h);
    close_suspect(h);
    (void)pthread_mutex_unlock(&h->lock);
}

void tc_warehouse_hub_retire(struct tc_warehouse_hub *h)
{
    (void)pthread_mutex_lock(&h->lock);
    h->retired = true;
    show_leave(h);
    (void)pthread_mutex_unlock(&h->lock);
}

int tc_warehouse_hub_leave_fd(const struct tc_warehouse_hub *h)
{
    return h->leave_fd;
}

bool tc_warehouse_hub_is_suspect(struct tc_warehouse_hub *h)
{
    (void)pthread_mutex_lock(&h->lock);
    bool suspect = h->suspect;
    (void)pthread_mutex_unlock(&h->lock);
    return suspect;
}

bool tc_warehouse_hub_is_open(struct tc_warehouse_hub *h)
{
    (void)pthread_mutex_lock(&h->lock);
    bool is_open = h->open != NULL;
    (void)pthread_mutex_unlock(&h->lock);
    return is_open;
}
