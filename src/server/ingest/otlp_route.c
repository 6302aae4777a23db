/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ingest/otlp_route.h"

/* Which request it is. */
struct route {
    struct tc_slice path;
    enum tc_otlp_signal signal;
};

#define GRPC_PATH(name) "/opentelemetry.proto.collector." name "/Export"

static const struct route HTTP_ROUTES[] = {
    {{"/v1/logs", sizeof "/v1/logs" - 1}, TC_OTLP_LOGS},
    {{"/v1/metrics", sizeof "/v1/metrics" - 1}, TC_OTLP_METRICS},
    {{"/v1/traces", sizeof "/v1/traces" - 1}, TC_OTLP_TRACES},
};

#define GRPC_ROUTE(name, signal)                                \
    {                                                           \
        {GRPC_PATH(name), sizeof GRPC_PATH(name) - 1}, (signal) \
    }

static const struct route GRPC_ROUTES[] = {
    GRPC_ROUTE("logs.v1.LogsService", TC_OTLP_LOGS),
    GRPC_ROUTE("metrics.v1.MetricsService", TC_OTLP_METRICS),
    GRPC_ROUTE("trace.v1.TraceService", TC_OTLP_TRACES),
};

#define ROUTES 3

bool tc_otlp_route(const struct tc_request *r, enum tc_otlp_signal *out)
{
    const struct route *routes = r->protocol == TC_PROTOCOL_HTTP ? HTTP_ROUTES : GRPC_ROUTES;
    for (size_t i = 0; i < ROUTES; i++) {
        if (tc_slice_eq(r->path, routes[i].path)) {
            *out = routes[i].signal;
            return true;
        }
    }
    return false;
}

bool tc_otlp_form_of(const struct tc_request *r, enum tc_otlp_form *out)
{
    struct tc_slice parameters;
    struct tc_slice type = tc_slice_trim(tc_slice_cut(r->content_type, ';', &parameters));
    if (r->protocol == TC_PROTOCOL_GRPC ||
        tc_slice_eq_nocase(type, TC_LIT("application/x-protobuf"))) {
        *out = TC_OTLP_PROTOBUF;
        return true;
    }
    *out = TC_OTLP_JSON;
    return tc_slice_eq_nocase(type, TC_LIT("application/json"));
}

enum tc_batch_kind tc_otlp_batch_kind(enum tc_otlp_signal signal, enum tc_otlp_form form)
{
    static const enum tc_batch_kind kinds[3][2] = {
        [TC_OTLP_LOGS] = {TC_BATCH_LOGS_PROTOBUF, TC_BATCH_LOGS_JSON},
        [TC_OTLP_METRICS] = {TC_BATCH_METRICS_PROTOBUF, TC_BATCH_METRICS_JSON},
        [TC_OTLP_TRACES] = {TC_BATCH_TRACES_PROTOBUF, TC_BATCH_TRACES_JSON},
    };
    return kinds[signal][form];
}
