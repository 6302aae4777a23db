/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/detector.h"

#include "base/time.h"
#include "detect/window_priv.h"

static const struct tc_detector *const DETECTORS[] = {
#define DETECTOR(name) &tc_detector_##name,
#include "detect/detectors.def"
#undef DETECTOR
};

const struct tc_detector *const *tc_detectors(size_t *out_count)
{
    *out_count = sizeof DETECTORS / sizeof DETECTORS[0];
    return DETECTORS;
}

tc_status tc_detector_init(const struct tc_detector *d, void *state,
                           const struct tc_detector_env *env)
{
    struct tc_detector_base *base = tc_detector_base(d, state);
    if (base != NULL) {
        *base = (struct tc_detector_base){.arena = env->arena,
                                          .scratch = env->scratch,
                                          .lag_ns = env->lag_ns,
                                          .now_ns = TC_TIME_NONE};
    }
    return d->init(state, env);
}

tc_status tc_detector_advance(const struct tc_detector *d, void *state, int64_t now_ns,
                              const struct tc_sink *out)
{
    struct tc_detector_base *base = tc_detector_base(d, state);
    if (base != NULL && now_ns <= base->now_ns) {
        return TC_OK;
    }
    if (d->on_advance != NULL) {
        TC_TRY(d->on_advance(state, now_ns, out));
    }
    if (base == NULL) {
        return TC_OK;
    }
    base->now_ns = now_ns;
    for (struct tc_window *w = base->windows; w != NULL; w = w->next) {
        if (w->kept_ns != TC_KEPT_ALWAYS) {
            tc__window_expire(w, now_ns - w->kept_ns);
        }
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
    if (d->stats != NULL) {
        d->stats(state, out);
        return;
    }
    const struct tc_detector_base *base = state;
    out->dropped = base->dropped;
    out->late = base->late;
    out->ignored = base->ignored;
    for (const struct tc_window *w = base->windows; w != NULL; w = w->next) {
        out->dropped += w->ring.dropped_count;
    }
}

/* Nanoseconds of a duration's unit; no unit is seconds. 0 when it is none of ours. */
static int64_t unit_ns(struct tc_slice unit)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"", TC_SECOND},         {"s", TC_SECOND},         {"m", 60 * TC_SECOND},
                 {"h", 3600 * TC_SECOND}, {"d", 86400 * TC_SECOND}, {"ms", TC_SECOND / 1000}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (tc_slice_eq(unit, tc_slice_cstr(units[i].name))) {
            return units[i].ns;
        }
    }
    return 0;
}

tc_status tc_param_parse(const struct tc_param *param, const char *path, struct tc_slice text,
                         int64_t *out, struct tc_error *err)
{
    int64_t number = 0;
    size_t used = tc_slice_i64(text, &number);
    int64_t value = 0;
    if (param->type == TC_PARAM_COUNT) {
        if (used == 0 || used != text.len) {
            return tc_fail(err, TC_E_USAGE, 0, "%s: \"%.*s\" is not a whole number", path,
                           TC_FMT(text));
        }
        value = number;
        if (value < param->min || value > param->max) {
            return tc_fail(err, TC_E_USAGE, 0, "%s: %lld is outside %lld..%lld", path,
                           (long long)value, (long long)param->min, (long long)param->max);
        }
    } else {
        int64_t scale = used == 0 ? 0 : unit_ns(tc_slice_from(text, used));
        if (scale == 0 || __builtin_mul_overflow(number, scale, &value)) {
            return tc_fail(err, TC_E_USAGE, 0, "%s: \"%.*s\" is not a duration (300, 300s, 5m, 2h)",
                           path, TC_FMT(text));
        }
        if (value < param->min || value > param->max) {
            return tc_fail(err, TC_E_USAGE, 0, "%s: %.*s is outside %lld s..%lld s", path,
                           TC_FMT(text), (long long)(param->min / TC_SECOND),
                           (long long)(param->max / TC_SECOND));
        }
    }
    *out = value;
    return TC_OK;
}
