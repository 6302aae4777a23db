/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /api/v1/events: verdicts as they are told, as server-sent events. An event's id is the number
 * of the verdict in the outbox, and it is sent once it is durable there; so a reader that comes
 * back with Last-Event-ID goes on where it was, over a restart too. What the log has no more is
 * told as an event "reset": read the list anew.
 *
 * Bounded: so many readers, each with so many bytes that wait for it; recent verdicts are kept once
 * for all. A reader that falls behind those is closed, and may come back. The loop's thread.
 */
#ifndef TC_SERVER_API_EVENTS_H
#define TC_SERVER_API_EVENTS_H

#include "answers/question.h"
#include "config/config.h"
#include "net/request.h"
#include "outbox/outbox.h"
#include "server/api/workers.h"
#include "server/detection.h"

struct tc_api_events;

/* All borrowed. */
struct tc_api_events_parts {
    const struct tc_config *config; /* as it is now */
    struct event_base *base;
    struct tc_outbox *outbox;
    struct tc_detection *detection;
    struct tc_api_workers *workers;
};

TC_CHECKED tc_status tc_api_events_create(const struct tc_api_events_parts *parts,
                                          struct tc_api_events **out, struct tc_error *err);
/* Nothing is told from here on. Before the workers and the loop end. */
void tc_api_events_stop(struct tc_api_events *e);
/* After the connections are gone. */
void tc_api_events_destroy(struct tc_api_events *e);

/* A request for the stream, whose parameters are those of the question. */
void tc_api_events_open(struct tc_api_events *e, struct tc_request *r,
                        const struct tc_question *question);

#endif
