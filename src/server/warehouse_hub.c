/* SPDX-License-Identifier: Apache-2.0 */
#include "server/warehouse_hub.h"

#include <pthread.h>
#include <stdlib.h>

/* Invariant: uses > 0 only while open is not NULL. */
struct tc_warehouse_hub {
    struct tc_warehouse_hub_config config;
    pthread_mutex_t lock;
    struct tc_warehouse *open;
    size_t uses;
    bool suspect;
};

struct tc_warehouse_hub *tc_warehouse_hub_create(const struct tc_warehouse_hub_config *config)
{
    struct tc_warehouse_hub *h = calloc(1, sizeof *h);
    if (h != NULL) {
        h->config = *config;
        (void)pthread_mutex_init(&h->lock, NULL);
    }
    return h;
}

/* Holds the lock. */
static void close_suspect(struct tc_warehouse_hub *h)
{
    if (h->suspect && h->uses == 0) {
        tc_warehouse_close(h->open);
        h->open = NULL;
        h->suspect = false;
    }
}

void tc_warehouse_hub_destroy(struct tc_warehouse_hub *h)
{
    if (h == NULL) {
        return;
    }
    tc_warehouse_close(h->open);
    (void)pthread_mutex_destroy(&h->lock);
    free(h);
}

/* Holds the lock. */
static tc_status share(struct tc_warehouse_hub *h, int64_t wait_ns, struct tc_warehouse **out,
                       struct tc_error *err)
{
    close_suspect(h);
    if (h->suspect) {
        return tc_fail(err, TC_E_IO, 0, "the warehouse failed and is being opened anew; try again");
    }
    if (h->open == NULL) {
        struct tc_warehouse_config config = {
            .data_dir = h->config.data_dir,
            .mode = TC_WAREHOUSE_WRITE,
            .memory_bytes = h->config.memory_bytes,
            .threads = h->config.threads,
            .wait_ns = wait_ns,
            .own = true,
        };
        TC_TRY(tc_warehouse_open(&config, &h->open, err));
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
    close_suspect(h);
    (void)pthread_mutex_unlock(&h->lock);
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
