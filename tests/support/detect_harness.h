/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One detector on its own: memory as the engine gives it, events in, findings
 * out as deep copies that live as long as the harness. A failure of what is not
 * under test ends the test.
 */
#ifndef TC_TESTS_SUPPORT_DETECT_HARNESS_H
#define TC_TESTS_SUPPORT_DETECT_HARNESS_H

#include "base/slice.h"
#include "base/status.h"
#include "detect/detector.h"
#include "event/event.h"
#include "event/finding.h"

#include <stddef.h>
#include <stdint.h>

struct tc_harness;

/* Zero means the default everywhere. */
struct tc_harness_options {
    const char *param; /* a knob by name ... */
    int64_t value;     /* ... and its value */
    size_t arena_bytes;
    size_t scratch_bytes;
    tc_status sink_status; /* what the sink answers */
};

struct tc_harness *tc_harness_create(const struct tc_detector *detector,
                                     const struct tc_harness_options *options);
void tc_harness_destroy(struct tc_harness *h);
/* What init said; the other calls need TC_OK. */
tc_status tc_harness_init_status(const struct tc_harness *h);

void tc_harness_feed(struct tc_harness *h, const struct tc_event *ev);
tc_status tc_harness_try_feed(struct tc_harness *h, const struct tc_event *ev);
tc_status tc_harness_try_finish(struct tc_harness *h, int64_t now_ns);
void tc_harness_tick(struct tc_harness *h, int64_t now_ns);
/* The input ends; for detectors that have an on_finish. */
void tc_harness_finish(struct tc_harness *h, int64_t now_ns);

size_t tc_harness_count(const struct tc_harness *h);
/* By index from the first, or from the last with a negative one (-1 is the last). */
const struct tc_finding *tc_harness_finding(const struct tc_harness *h, long index);
struct tc_detector_stats tc_harness_stats(const struct tc_harness *h);
/* Forgets the findings so far. */
void tc_harness_clear(struct tc_harness *h);

/* Everything a reader would see of all findings, as text in the harness's memory. */
struct tc_slice tc_harness_dump(struct tc_harness *h);

/* The attribute of that name; fails the test when there is none or it is of another type. */
int64_t tc_harness_int(const struct tc_finding *f, const char *key);
struct tc_slice tc_harness_text(const struct tc_finding *f, const char *key);
bool tc_harness_has(const struct tc_finding *f, const char *key);

/* Fails the test unless every field of the finding is in schemas/verdict/<pattern>.schema.json
 * with its type, its required attributes are there, and its words are among the listed ones. */
void tc_harness_conforms(const struct tc_finding *f);

#endif
