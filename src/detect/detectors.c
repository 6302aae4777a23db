/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/detector.h"

#include "base/time.h"
#include "base/units.h"
#include "detect/window_priv.h"

static const struct tc_detector *const DETECTORS[] = {
#define DETECTOR(name) &tc_detector_##name,
#include "detect/detectors.def"
#undef DETECTOR
};

const struct tc_detector *const *tc_detectors(size_t *out_count)
{
    *out_count = TC_COUNT(DETECTORS);
    return DETECTORS;
}

tc_status tc_detector_init(const struct tc_detector *d, void *state,
                           const struct tc_detector_env *env)
{
    struct tc_detector_base *base = state;
    *base = (struct tc_detector_base){.arena = env->arena,
                                      .scratch = env->scratch,
                                      .xids = env->xids,
                                      .lag_ns = env->lag_ns,
                                      .scale = env->scale == 0 ? 1 : env->scale,
                                      .now_ns = TC_TIME_NONE,
                                      .expires_ns = INT64_MAX};
    return d->init(state, env);
}

/* Records that are too old go. Every event of another time asks, and few find any. */
static TC_SELDOM void expire(struct tc_detector_base *base)
{
    base->expires_ns = INT64_MAX;
    for (struct tc_window *w = base->windows; w != NULL; w = w->next) {
        if (w->kept_ns != TC_KEPT_ALWAYS) {
            tc__window_expire(w, base->now_ns - w->kept_ns);
        }
    }
}

tc_status tc_detector_advance(const struct tc_detector *d, void *state, int64_t now_ns,
                              const struct tc_sink *out)
{
    struct tc_detector_base *base = state;
    base->sender = 0;
    if (now_ns <= base->now_ns) {
        return TC_OK;
    }
    if (d->on_advance != NULL) {
        TC_TRY(d->on_advance(state, now_ns, out));
    }
    base->now_ns = now_ns;
    if (now_ns > base->expires_ns) {
        expire(base);
    }
    return TC_OK;
}

tc_status tc_detector_tick(const struct tc_detector *d, void *state, int64_t now_ns,
                           const struct tc_sink *out)
{
    TC_TRY(tc_detector_advance(d, state, now_ns, out));
    return d->on_tick == NULL ? TC_OK : d->on_tick(state, now_ns, out);
}

void tc_detector_stats(const struct tc_detector *d, const void *state,
                       struct tc_detector_stats *out)
{
    *out = (struct tc_detector_stats){0};
    const struct tc_detector_base *base = state;
    out->dropped = base->dropped + (d->dropped == NULL ? 0 : d->dropped(state));
    out->window_bytes = d->held_bytes == NULL ? 0 : d->held_bytes(state);
    out->late = base->late;
    out->ignored = base->ignored;
    for (const struct tc_window *w = base->windows; w != NULL; w = w->next) {
        out->dropped += w->ring.dropped_count;
        out->window_bytes += tc_ring_touched(&w->ring) + tc_map_touched(&w->moved) +
                             tc_map_touched(&w->index) + tc_map_touched(&w->chains);
    }
}

uint32_t tc_detector_presser(const void *state)
{
    const struct tc_detector_base *base = state;
    uint32_t sender = base->presser;
    uint32_t most = 0;
    for (const struct tc_window *w = base->windows; w != NULL; w = w->next) {
        uint32_t bytes = 0;
        uint32_t presser = tc__window_presser(w, &bytes);
        sender = bytes > most ? presser : sender;
        most = bytes > most ? bytes : most;
    }
    return sender;
}

tc_status tc_param_parse(const struct tc_knob *param, const char *path, struct tc_slice text,
                         int64_t *out, struct tc_error *err)
{
    int64_t value = 0;
    if (param->type == TC_KNOB_COUNT) {
        if (!tc_slice_is_i64(text, &value)) {
            return tc_fail(err, TC_E_USAGE, 0, "%s: \"%.*s\" is not a whole number", path,
                           TC_FMT(text));
        }
        if (value < param->min || value > param->max) {
            return tc_fail(err, TC_E_USAGE, 0, "%s: %lld is outside %lld..%lld", path,
                           (long long)value, (long long)param->min, (long long)param->max);
        }
    } else {
        /* A negative one is a duration too, and outside of every range. */
        bool negative = tc_slice_starts(text, TC_LIT("-"));
        if (!tc_duration_parse(tc_slice_from(text, negative ? 1 : 0), &value)) {
            return tc_fail(err, TC_E_USAGE, 0, "%s: \"%.*s\" is not a duration (300, 300s, 5m, 2h)",
                           path, TC_FMT(text));
        }
        value = negative ? -value : value;
        if (value < param->min || value > param->max) {
            return tc_fail(err, TC_E_USAGE, 0, "%s: %.*s is outside %lld s..%lld s", path,
                           TC_FMT(text), (long long)(param->min / TC_SECOND),
                           (long long)(param->max / TC_SECOND));
        }
    }
    *out = value;
    return TC_OK;
}
