/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the API: what its files share. */
#ifndef TC_SERVER_API_PRIV_H
#define TC_SERVER_API_PRIV_H

#include "server/api/api.h"
#include "server/api/events.h"
#include "server/api/kept.h"
#include "server/api/problem.h"
#include "server/api/routes.h"
#include "server/api/workers.h"

/* The body of a question. */
#define TC__API_BODY_BYTES_MAX ((size_t)1 << 20)

struct tc__ask;

struct tc_api {
    struct tc_api_parts parts;
    struct tc_service service;
    struct tc_api_workers *workers;
    struct tc_api_events *events;
    struct tc_kept *kept; /* answers that may be given again */
    size_t held_bytes;    /* of answers that wait for their readers */
    struct tc__ask *asks; /* with the workers */
    char *text;           /* of the pages that are written on the loop */
    char refusal[TC_PROBLEM_BYTES_MAX];
};

/* ask.c: answers a request that asks a question; now, or when a worker has done it. */
void tc__api_ask(struct tc_api *a, struct tc_request *r, const struct tc_route *route);
/* mcp.c: answers a message of MCP. */
void tc__api_mcp(struct tc_api *a, struct tc_request *r);
/* Adds the parameters of a query; room has as many bytes as it, for the texts. */
TC_CHECKED tc_status tc__api_read_query(struct tc_asked *asked, struct tc_slice query, char *room,
                                        struct tc_error *err);

#endif
