/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the API listener serves: /healthz, /readyz and /metrics; under /api/v1 the questions of
 * answers/questions.def, the status, the stream of verdicts and the upload; and the dashboard. The
 * loop's thread; what may take long is done by workers (server/api/workers.h).
 */
#ifndef TC_SERVER_API_API_H
#define TC_SERVER_API_API_H

#include "base/buf.h"
#include "base/json/out.h"
#include "config/config.h"
#include "net/inflate.h"
#include "net/pool.h"
#include "net/request.h"
#include "outbox/outbox.h"
#include "server/auth.h"
#include "server/detection.h"
#include "server/follow/catch_up.h"
#include "server/ingest/upload.h"
#include "server/warehouse/hub.h"

#include <stdbool.h>

struct event_base;
struct tc_api;

struct tc_api_parts {
    const struct tc_config *config; /* as it is now */
    struct event_base *base;
    const char *data_dir;
    struct tc_auth *auth;
    struct tc_detection *detection;
    struct tc_outbox *outbox;
    struct tc_upload *upload;
    struct tc_pool *pool;         /* of the listener */
    struct tc_inflater *inflater; /* for who takes no gzip */
    /* The warehouse, when it has been opened; NULL there: warehouse.enabled is false. */
    struct tc_warehouse_hub *const *hub;
    const bool *stopping;
    struct tc_catch_up *catch_up;
    /* Brings the metrics up to date: what is counted elsewhere is copied. */
    void (*refresh)(void *context);
    /* Writes the status object's own members, with a comma behind each. */
    void (*describe)(void *context, struct tc_json_out *j);
    void *context;
};

TC_CHECKED tc_status tc_api_create(const struct tc_api_parts *parts, struct tc_api **out,
                                   struct tc_error *err);
/* No more questions; those that run are interrupted. Before the warehouse goes. False: queries do
 * not end, see tc_api_workers_stop(). */
TC_CHECKED bool tc_api_stop(struct tc_api *a, int64_t wait_ns);
/* After the loop's connections are gone. */
void tc_api_destroy(struct tc_api *a);
const struct tc_service *tc_api_service(struct tc_api *a);

/* "ready", "replaying" or "stopping"; and how far the replay is, as /readyz and the status say it.
 */
const char *tc_api_state(const struct tc_catch_up *catch_up, bool is_stopping);
void tc_api_put_replay(const struct tc_catch_up *catch_up, struct tc_json_out *j);

#endif
