/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/health_priv.h"

#include "base/slice.h"

/* Wordings of DCGM's messages (dcgm_errors.h of releases 1 to 4). */
static const struct {
    const char *system;
    const char *before; /* the number, when there is one, stands behind this ... */
    const char *words;  /* ... and these must be there, in any case */
    enum tc__health says;
} ROWS[] = {
    {"thermal", "", "thermal violation", TC__HEALTH_SLOWED},
    {"thermal", "", "thermal slowdown", TC__HEALTH_SLOWED},
    {"memory", "", "row remapping failed", TC__HEALTH_ROW_FAILURE},
    {"memory", "", "row remappings are pending", TC__HEALTH_ROW_PENDING},
    {"memory", "", "pending retired page", TC__HEALTH_PAGES_PENDING},
    {"memory", "Detected ", "double-bit ECC error", TC__HEALTH_UNCORRECTED},
    {"nvlink", "NvLink link ", "is currently down", TC__HEALTH_LINK_DOWN},
};

enum tc__health tc__health_of(const struct tc_ev_health *h, int64_t *out_number)
{
    *out_number = 1;
    for (size_t i = 0; i < TC_COUNT(ROWS); i++) {
        struct tc_slice before = tc_slice_cstr(ROWS[i].before);
        uint64_t number = 0;
        if (!tc_slice_eq(h->system, tc_slice_cstr(ROWS[i].system)) ||
            tc_slice_find_nocase(h->message, tc_slice_cstr(ROWS[i].words)) == TC_NPOS) {
            continue;
        }
        size_t at = before.len == 0 ? TC_NPOS : tc_slice_find(h->message, before);
        if (at == TC_NPOS) {
            return before.len == 0 ? ROWS[i].says : TC__HEALTH_UNCLEAR;
        }
        if (tc_slice_u64(tc_slice_from(h->message, at + before.len), &number) == 0 ||
            number > INT32_MAX) {
            return TC__HEALTH_UNCLEAR;
        }
        *out_number = (int64_t)number;
        return ROWS[i].says;
    }
    return TC__HEALTH_UNCLEAR;
}

const struct tc_gpu *tc__health_gpu(struct tc_directory *d, const struct tc_event *ev)
{
    const struct tc_gpu *names = tc_directory_event_gpu(d);
    if (names != NULL || ev->scope.node.len > 0) {
        return names;
    }
    struct tc_scope scope = ev->scope;
    scope.node = TC__NO_NODE;
    return tc_directory_learn_gpu(d, &scope, ev->time_ns);
}
