/* SPDX-License-Identifier: Apache-2.0 */
#include "server/detector_memory.h"

#include "base/time.h"
#include "detect/detector.h"
#include "observe/log.h"
#include "observe/metrics.h"

#include <string.h>

#define LOOK_NS TC_SECOND
/* Without a drop for so long, an episode is over. */
#define QUIET_NS (60 * TC_SECOND)

void tc_detector_memory_note(struct tc_detector_memory *s, struct tc_slice sender, uint32_t number)
{
    char *known = s->senders[number % TC_SENDERS];
    if (sender.len < TC_SENDER_MAX && !tc_slice_eq(tc_slice_cstr(known), sender)) {
        memcpy(known, sender.ptr, sender.len);
        known[sender.len] = '\0';
    }
}

static struct tc_slice sender_of(const struct tc_detector_memory *s, const struct tc_saturated *d)
{
    const char *name = s->senders[d->sender % TC_SENDERS];
    return name[0] == '\0' ? TC_LIT("unknown") : tc_slice_cstr(name);
}

static void begin(const struct tc_detector_memory *s, struct tc_saturated *d, size_t index,
                  uint64_t dropped, int64_t now_ns)
{
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    d->active = true;
    d->since_ns = now_ns;
    d->before = d->dropped;
    tc_pattern_count(index, TC_PATTERN_SATURATIONS, 1);
    tc_log_fields(TC_LOG_WARN, "the memory of a detector is full: the oldest records go",
                  TC_LOG_CSTR("pattern", all[index]->name), TC_LOG_TEXT("source", sender_of(s, d)),
                  TC_LOG_NUMBER("dropped", (int64_t)(dropped - d->before)));
}

static void end(const struct tc_detector_memory *s, struct tc_saturated *d, size_t index)
{
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    d->active = false;
    tc_log_fields(TC_LOG_INFO, "the memory of a detector is no longer full",
                  TC_LOG_CSTR("pattern", all[index]->name), TC_LOG_TEXT("source", sender_of(s, d)),
                  TC_LOG_NUMBER("dropped", (int64_t)(d->dropped - d->before)),
                  TC_LOG_NUMBER("seconds", (d->last_ns - d->since_ns) / TC_SECOND));
}

static void look_at(struct tc_detector_memory *s, const struct tc_engine *engine, size_t index,
                    int64_t now_ns)
{
    struct tc_saturated *d = &s->detectors[index];
    struct tc_detector_stats stats;
    tc_engine_detector_stats(engine, index, &stats);
    if (stats.dropped > d->dropped) {
        d->sender = tc_engine_detector_presser(engine, index);
        d->last_ns = now_ns;
        if (!d->active) {
            begin(s, d, index, stats.dropped, now_ns);
        }
    } else if (d->active && now_ns - d->last_ns >= QUIET_NS) {
        end(s, d, index);
    }
    d->dropped = stats.dropped;
    tc_pattern_set(index, TC_PATTERN_SATURATED, d->active);
    tc_pattern_set(index, TC_PATTERN_WINDOWS, stats.window_bytes);
}

void tc_detector_memory_look(struct tc_detector_memory *s, const struct tc_engine *engine,
                             int64_t now_ns)
{
    size_t count = 0;
    (void)tc_detectors(&count);
    /* A clock that goes back is looked at, too. */
    if (now_ns >= s->looked_ns && now_ns - s->looked_ns < LOOK_NS) {
        return;
    }
    s->looked_ns = now_ns;
    for (size_t i = 0; i < count && i < TC_DETECTOR_MEMORY_MAX; i++) {
        look_at(s, engine, i, now_ns);
    }
}

void tc_detector_memory_describe(const struct tc_detector_memory *s, struct tc_json_out *j)
{
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    tc_json_put_array(j, "saturated");
    for (size_t i = 0; i < count && i < TC_DETECTOR_MEMORY_MAX; i++) {
        const struct tc_saturated *d = &s->detectors[i];
        if (d->active) {
            tc_json_add_object(j);
            tc_json_put_cstr(j, "pattern", all[i]->name);
            tc_json_put_str(j, "source", sender_of(s, d));
            tc_json_put_time(j, "since", d->since_ns);
            tc_json_put_u64(j, "dropped", d->dropped - d->before);
            tc_json_end_object(j);
        }
    }
    tc_json_end_array(j);
}
