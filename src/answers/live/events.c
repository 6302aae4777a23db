/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of verdicts: described here, served by the daemon (server/api/events.h). */
#include "answers/live/filter.h"

static tc_status answer(const struct tc_asked *asked, struct tc_reply *out, struct tc_error *err)
{
    (void)asked;
    (void)out;
    return tc_fail(err, TC_E_UNSUPPORTED, 0, "the stream of verdicts is for HTTP only");
}

static const struct tc_param PARAMS[] = {TC_LIVE_FILTER_PARAMS};

const struct tc_question tc_question_events = {
    .name = "events",
    .path = "/api/v1/events",
    .summary = "verdicts as they are told, as server-sent events",
    .help =
        "text/event-stream: an event opened, updated or resolved for each verdict, its data the "
        "verdict. Last-Event-ID goes on where a reader was; an event reset says that this is "
        "not possible any more: read /api/v1/incidents anew.",
    .place = TC_PLACE_LIVE,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .media = "text/event-stream",
    .answer = answer,
};
