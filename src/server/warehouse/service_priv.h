/* SPDX-License-Identifier: Apache-2.0 */
/* One command that asks, between the thread that accepts and the thread that serves it. */
#ifndef TC_SERVER_WAREHOUSE_SERVICE_PRIV_H
#define TC_SERVER_WAREHOUSE_SERVICE_PRIV_H

#include "server/warehouse/service.h"
#include "warehouse/daemon/wire.h"

#include <pthread.h>
#include <stdbool.h>

enum tc__client_state { TC__CLIENT_FREE, TC__CLIENT_RUNS, TC__CLIENT_ENDED };

struct tc__warehouse_client {
    struct tc_warehouse_service *service;
    pthread_t thread;
    /* Under the service's lock. */
    enum tc__client_state state;
    bool busy;    /* something runs that can be interrupted */
    bool noticed; /* its socket was looked at while it ran */
    bool gave_up; /* and it had cancelled, or was gone */

    /* The thread's own. */
    struct tc_wire_link link;
    struct tc_warehouse *warehouse;
};

/* Serves until the command ends or all is to end. */
void tc__warehouse_client_serve(struct tc__warehouse_client *c);
/* Something that can be interrupted begins or is over. */
void tc__warehouse_client_busy(struct tc__warehouse_client *c, bool busy);
const struct tc_warehouse_service_config *
tc__warehouse_config(const struct tc_warehouse_service *s);
struct tc_warehouse_hub *tc__warehouse_hub(const struct tc_warehouse_service *s);

#endif
