/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detectors whose memory is full: an episode begins when one pushes out records, and ends when it
 * has not for a minute. Each is logged when it begins and when it ends, with the sender that takes
 * the most of the memory, counted in the metrics and shown in the status. The loop's thread.
 */
#ifndef TC_SERVER_DETECTOR_MEMORY_H
#define TC_SERVER_DETECTOR_MEMORY_H

#include "base/json/out.h"
#include "base/slice.h"
#include "evidence/store.h"
#include "live/live.h"
#include "server/ingest/sender.h"

#include <stdbool.h>
#include <stdint.h>

#define TC_DETECTOR_MEMORY_MAX 32

struct tc_detector_memory {
    struct tc_saturated {
        bool active;
        uint64_t dropped; /* by the detector, when it was last looked */
        uint64_t before;  /* when the episode began */
        int64_t since_ns;
        int64_t last_ns; /* when it last dropped something */
        uint32_t sender;
    } detectors[TC_DETECTOR_MEMORY_MAX];
    int64_t looked_ns;
    char senders[TC_SENDERS][TC_SENDER_MAX]; /* by number, as last heard of */
};

/* A sender, as it is called and by its number. */
void tc_detector_memory_note(struct tc_detector_memory *s, struct tc_slice sender, uint32_t number);
/* Our clock shows now_ns. Looks once a second. */
void tc_detector_memory_look(struct tc_detector_memory *s, const struct tc_engine *engine,
                             int64_t now_ns);
/* The episodes that go on, as the member "saturated". */
void tc_detector_memory_describe(const struct tc_detector_memory *s, struct tc_json_out *j);

#endif
