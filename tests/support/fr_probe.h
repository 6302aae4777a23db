/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the Flight Recorder codec over bytes and keeps what came out, for tests.
 * The input must stay alive as long as the events are looked at.
 */
#ifndef TC_TESTS_SUPPORT_FR_PROBE_H
#define TC_TESTS_SUPPORT_FR_PROBE_H

#include "base/arena.h"
#include "base/status.h"
#include "codec/codec.h"

#include <stdbool.h>
#include <stddef.h>

#define TC_FR_PROBE_EVENTS_MAX 512

struct tc_fr_probe {
    /* Set before a run; 0 means plenty for a small dump. */
    size_t arena_bytes;
    size_t scratch_bytes;
    size_t fail_at; /* the receiver fails from this event on; 0 never */
    bool pause;

    tc_status status;
    struct tc_error err;
    struct tc_codec_cursor cursor;
    struct tc_event events[TC_FR_PROBE_EVENTS_MAX];
    size_t count; /* events kept; more abort */

    struct tc_arena arena;
    struct tc_arena scratch;
    struct tc_block *arena_block;
    struct tc_block *scratch_block;
};

/*
 * Decode bytes under that name, job "job-1", source 7. Aborts when the codec leaves something in
 * its scratch memory. Run as often as needed, then tc_fr_probe_fini.
 */
void tc_fr_probe_run(struct tc_fr_probe *p, struct tc_slice bytes, const char *name);
void tc_fr_probe_fini(struct tc_fr_probe *p);

/* The n-th event of a kind, or NULL. */
const struct tc_event *tc_fr_probe_event(const struct tc_fr_probe *p, enum tc_event_kind kind,
                                         size_t n);
size_t tc_fr_probe_count(const struct tc_fr_probe *p, enum tc_event_kind kind);

#endif
