/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/detector.h"

#include "base/time.h"
#include "base/units.h"

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

tc_status tc_param_parse(const struct tc_param *param, const char *path, struct tc_slice text,
                         int64_t *out, struct tc_error *err)
{
    int64_t value = 0;
    if (param->type == TC_PARAM_COUNT) {
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
