/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data_dir/warehouse.sock: commands that find a daemon ask it for the tables
 * (warehouse/daemon/wire.h). One thread accepts and watches for commands that cancel or go away;
 * each command has a thread and a view of the warehouse of its own. What a command did not commit
 * is rolled back when it ends. Own threads; nothing here touches the loop.
 */
#ifndef TC_SERVER_WAREHOUSE_SERVICE_H
#define TC_SERVER_WAREHOUSE_SERVICE_H

#include "base/status.h"
#include "server/warehouse/hub.h"

#include <stddef.h>
#include <stdint.h>

struct tc_warehouse_service;

#define TC_WAREHOUSE_CLIENTS_MAX 64

struct tc_warehouse_service_config {
    const char *data_dir; /* borrowed until the service is stopped */
    size_t clients;       /* at once, at most TC_WAREHOUSE_CLIENTS_MAX */
    /* Bounds of queries that people wrote; a query with smaller ones keeps them. 0: none. */
    int64_t query_ns;
    uint64_t query_rows;
};

/* Listens and starts. The caller holds the lock of data_dir. */
TC_CHECKED tc_status tc_warehouse_service_start(const struct tc_warehouse_service_config *config,
                                                struct tc_warehouse_hub *hub,
                                                struct tc_warehouse_service **out_service,
                                                struct tc_error *err);
/*
 * No new commands; queries are interrupted, the rest is rolled back; the socket goes. The hub was
 * retired before. False: after wait_ns there are queries that do not end. Then the service is not
 * freed, the hub must not be destroyed, and the process ends by _exit(). NULL is fine.
 */
TC_CHECKED bool tc_warehouse_service_stop(struct tc_warehouse_service *s, int64_t wait_ns);

#endif
