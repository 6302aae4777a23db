/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/detector.h"

#include "base/time.h"

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

/* Nanoseconds of a duration's unit; no unit is seconds. 0 when it is none of ours. */
static int64_t unit_ns(struct tc_slice unit)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"", TC_SECOND},         {"s", TC_SECOND},         {"m", 60 * TC_SECOND},
                 {"h", 3600 * TC_SECOND}, {"d", 86400 * TC_SECOND}, {"ms", TC_SECOND / 1000}};
    for (size_t i = 0; i < TC_COUNT(units); i++) {
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
