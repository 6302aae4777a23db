/* SPDX-License-Identifier: Apache-2.0 */
/* The source works while all of its resources do. */
#include "source/kubernetes/priv.h"

#include <stdio.h>

/* Tries in a row that fail, and a resource counts as failing: one may be a restart. */
#define TRIES_ENOUGH 3

/* One that fails; NULL: none does. Called with the lock. */
static const struct tc__kube_resource *find_failing(const struct tc_kubernetes *k)
{
    for (size_t i = 0; i < k->count; i++) {
        if (k->resources[i].state == TC_SOURCE_FAILING) {
            return &k->resources[i];
        }
    }
    return NULL;
}

void tc__kube_failed(struct tc__kube_resource *r, const char *why)
{
    (void)pthread_mutex_lock(&r->of->lock);
    r->failures++;
    (void)snprintf(r->error, sizeof r->error, "%s", why);
    if (++r->tries >= TRIES_ENOUGH) {
        r->state = TC_SOURCE_FAILING;
        tc_port_fail(r->port, "%s: %s", r->name, why);
    }
    (void)pthread_mutex_unlock(&r->of->lock);
}

void tc__kube_worked(struct tc__kube_resource *r, bool is_list)
{
    struct tc_kubernetes *k = r->of;
    (void)pthread_mutex_lock(&k->lock);
    bool is_news = r->state == TC_SOURCE_FAILING;
    r->state = TC_SOURCE_OK;
    r->tries = 0;
    r->error[0] = '\0';
    r->lists += is_list;
    r->watches += !is_list;
    const struct tc__kube_resource *failing = find_failing(k);
    if (failing == NULL) {
        tc_port_ok(r->port);
    } else if (is_news) {
        tc_port_fail(r->port, "%s: %s", failing->name, failing->error);
    }
    (void)pthread_mutex_unlock(&k->lock);
}

void tc__kube_describe(void *state, struct tc_json_out *j)
{
    struct tc_kubernetes *k = state;
    (void)pthread_mutex_lock(&k->lock);
    tc_json_put_cstr(j, "url", k->account.url);
    tc_json_put_array(j, "resources");
    for (size_t i = 0; i < k->count; i++) {
        const struct tc__kube_resource *r = &k->resources[i];
        tc_json_add_object(j);
        tc_json_put_cstr(j, "name", r->name);
        tc_json_put_cstr(j, "state", tc_source_state_name(r->state));
        if (r->error[0] != '\0') {
            tc_json_put_cstr(j, "error", r->error);
        }
        tc_json_put_u64(j, "lists", r->lists);
        tc_json_put_u64(j, "watches", r->watches);
        tc_json_put_u64(j, "failures", r->failures);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    (void)pthread_mutex_unlock(&k->lock);
}
