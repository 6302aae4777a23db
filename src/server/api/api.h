/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the API listener serves: /healthz, /readyz, /metrics, /api/v1/status, /api/v1/incidents and
 * the upload. The loop's thread.
 */
#ifndef TC_SERVER_API_H
#define TC_SERVER_API_H

#include "base/buf.h"
#include "base/json/out.h"
#include "config/config.h"
#include "net/request.h"
#include "server/auth.h"
#include "server/detection.h"
#include "server/follow/catch_up.h"
#include "server/upload.h"

#include <stdbool.h>

struct tc_api;

struct tc_api_parts {
    const struct tc_config *config; /* as it is now */
    struct tc_auth *auth;
    struct tc_detection *detection;
    struct tc_upload *upload;
    const bool *ready;
    const bool *stopping;
    struct tc_catch_up *catch_up;
    /* Brings the metrics up to date: what is counted elsewhere is copied. */
    void (*refresh)(void *context);
    /* Writes the status object's own members, with a comma behind each. */
    void (*describe)(void *context, struct tc_json_out *j);
    void *context;
};

/* NULL when there is no memory. */
struct tc_api *tc_api_create(const struct tc_api_parts *parts);
void tc_api_destroy(struct tc_api *a);
const struct tc_service *tc_api_service(struct tc_api *a);

/* "ready", "replaying" or "stopping"; and how far the replay is, as /readyz and the status say it.
 */
const char *tc_api_state(bool is_ready, bool is_stopping);
void tc_api_put_replay(const struct tc_catch_up *catch_up, struct tc_json_out *j);

#endif
