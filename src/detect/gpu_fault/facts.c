/* SPDX-License-Identifier: Apache-2.0 */
/* Which events prove a fault of a GPU, and which of them is graver. */
#include "detect/gpu_fault/priv.h"
#include "detect/words_priv.h"

#define XID_RECOVERY 154

/* Codes whose kind does not follow from class and severity of the catalogue alone. */
static const struct {
    int32_t code;
    enum gpuf_kind kind;
} SPECIAL[] = {
    {61, GPUF_FIRMWARE_ERROR}, {62, GPUF_FIRMWARE},  {79, GPUF_OFF_THE_BUS},
    {119, GPUF_FIRMWARE},      {120, GPUF_FIRMWARE}, {143, GPUF_INIT_FAILED},
    {169, GPUF_FIRMWARE},
};

bool tc__gpuf_is_owned(int64_t code)
{
    switch (code) {
    case 48: /* hbm_ecc */
    case 63:
    case 64:
    case 92:
    case 94:
    case 95:
    case 140:
    case 171:
    case 172:
        return true;
    default:
        return tc_xid_is_nvlink(code); /* nvlink_degraded */
    }
}

enum gpuf_kind tc__gpuf_xid_kind(const struct tc_xid_list *xids, int64_t code)
{
    const struct tc_xid *xid = tc_xid_list_find(xids, code);
    if (xid == NULL || xid->class != TC_XID_HARDWARE || xid->severity < TC_XID_ERROR ||
        tc__gpuf_is_owned(code)) {
        return GPUF_NONE;
    }
    for (size_t i = 0; i < TC_COUNT(SPECIAL); i++) {
        if (SPECIAL[i].code == code) {
            return SPECIAL[i].kind;
        }
    }
    return xid->severity == TC_XID_FATAL ? GPUF_OTHER : GPUF_OTHER_ERROR;
}

/* "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)" */
bool tc__gpuf_recovery(struct tc_slice message, enum gpuf_action *out)
{
    static const struct {
        const char *words;
        enum gpuf_action action;
    } rows[] = {
        {"reboot", GPUF_DO_REBOOT},
        {"drain and reset", GPUF_DO_DRAIN},
        {"reset", GPUF_DO_RESET},
        {"none", GPUF_NO_ACTION},
    };
    size_t at = tc_slice_find_last(message, TC_LIT("("));
    struct tc_slice now = at == TC_NPOS ? message : tc_slice_from(message, at);
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        if (tc_slice_find_nocase(now, tc_slice_cstr(rows[i].words)) != TC_NPOS) {
            *out = rows[i].action;
            return true;
        }
    }
    return false;
}

enum gpuf_kind tc__gpuf_sort_kind(enum gpuf_sort sort)
{
    static const enum gpuf_kind kinds[] = {
        [GPUF_XID] = GPUF_NONE,           [GPUF_UNREACHABLE] = GPUF_OFF_THE_BUS,
        [GPUF_LOST] = GPUF_OFF_THE_BUS,   [GPUF_INIT] = GPUF_INIT_FAILED,
        [GPUF_PROBE] = GPUF_INIT_FAILED,  [GPUF_NO_HANDLE] = GPUF_INIT_FAILED,
        [GPUF_RESET] = GPUF_NEEDS_RESET,  [GPUF_POWER] = GPUF_OTHER_ERROR,
        [GPUF_RESET_FAILED] = GPUF_OTHER, [GPUF_RAS] = GPUF_OTHER,
        [GPUF_ABSENT] = GPUF_GONE,
    };
    return kinds[sort];
}

static bool fact_of_xid(const struct tc_xid_list *xids, const struct tc_event *ev,
                        struct gpuf_fact *out)
{
    enum gpuf_action action = GPUF_NO_ACTION;
    enum gpuf_kind kind = GPUF_NONE;
    if (ev->xid.code != XID_RECOVERY) {
        kind = tc__gpuf_xid_kind(xids, ev->xid.code);
    } else if (tc__gpuf_recovery(ev->xid.message, &action) && action != GPUF_NO_ACTION) {
        kind = GPUF_NEEDS_RESET;
    }
    if (kind == GPUF_NONE) {
        return false;
    }
    *out = (struct gpuf_fact){.sort = GPUF_XID,
                              .code = (int32_t)ev->xid.code,
                              .kind = kind,
                              .action = action,
                              .pid = ev->scope.pid};
    out->process_len = tc__text_keep(out->process, GPUF_PROCESS_MAX, ev->xid.process);
    return true;
}

static bool fact_of_sentence(const struct tc_ev_fault *fault, struct gpuf_fact *out)
{
    static const struct {
        const char *fault;
        enum gpuf_sort sort;
    } rows[] = {
        {"gpu_init_failed", GPUF_INIT},          {"gpu_no_power", GPUF_POWER},
        {"gpu_probe_failed", GPUF_PROBE},        {"gpu_ras_fatal", GPUF_RAS},
        {"gpu_reset_failed", GPUF_RESET_FAILED}, {"gpu_unreachable", GPUF_UNREACHABLE},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        if (tc_slice_eq(fault->fault, tc_slice_cstr(rows[i].fault))) {
            out->sort = rows[i].sort;
            return true;
        }
    }
    return false;
}

/* Of what the driver and DCGM say of a GPU only these words have no innocent explanation. */
static bool fact_of_health(const struct tc_ev_health *h, struct gpuf_fact *out)
{
    static const struct {
        const char *words;
        enum gpuf_sort sort;
        enum gpuf_action action;
    } rows[] = {
        {"GPU is lost", GPUF_LOST, GPUF_NO_ACTION},
        {"is lost", GPUF_LOST, GPUF_NO_ACTION},
        {"fallen off the bus", GPUF_LOST, GPUF_NO_ACTION},
        {"requires reset", GPUF_RESET, GPUF_DO_RESET},
        {"requires a reset", GPUF_RESET, GPUF_DO_RESET},
        {"reset required", GPUF_RESET, GPUF_DO_RESET},
        {"reset_required", GPUF_RESET, GPUF_DO_RESET},
    };
    if (!tc_slice_eq(h->system, TC_LIT("driver")) || !tc_slice_eq(h->severity, TC_LIT("failure"))) {
        return false;
    }
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        if (tc_slice_find_nocase(h->message, tc_slice_cstr(rows[i].words)) != TC_NPOS) {
            out->sort = rows[i].sort;
            out->action = rows[i].action;
            return true;
        }
    }
    bool asks = tc_slice_find_nocase(h->message, TC_LIT("recovery action")) != TC_NPOS ||
                tc_slice_find_nocase(h->message, TC_LIT("recovery_action")) != TC_NPOS;
    if (asks && tc__gpuf_recovery(h->message, &out->action) && out->action != GPUF_NO_ACTION) {
        out->sort = GPUF_RESET;
        return true;
    }
    out->sort = GPUF_NO_HANDLE;
    return tc_slice_contains(h->message, TC_LIT("device handle for")) &&
           tc_slice_contains(h->message, TC_LIT("Unknown Error"));
}

bool tc__gpuf_fact_of(const struct tc_xid_list *xids, const struct tc_event *ev,
                      struct gpuf_fact *out)
{
    if (ev->kind == TC_EVENT_XID) {
        return fact_of_xid(xids, ev, out);
    }
    *out = (struct gpuf_fact){.pid = -1};
    bool is_fact = ev->kind == TC_EVENT_DRIVER_FAULT ? fact_of_sentence(&ev->fault, out)
                   : ev->kind == TC_EVENT_GPU_HEALTH ? fact_of_health(&ev->health, out)
                                                     : false;
    out->kind = is_fact ? tc__gpuf_sort_kind(out->sort) : GPUF_NONE;
    return is_fact;
}

bool tc__gpuf_graver(const struct gpuf_fact *a, const struct gpuf_fact *b)
{
    if (a->kind != b->kind) {
        return a->kind > b->kind;
    }
    return a->sort == b->sort ? a->code < b->code : a->sort < b->sort;
}

const struct gpuf_fact *tc__gpuf_gravest(const struct gpuf_incident *in)
{
    const struct gpuf_fact *gravest = &in->facts[0];
    for (size_t i = 1; i < in->fact_count; i++) {
        gravest = tc__gpuf_graver(&in->facts[i], gravest) ? &in->facts[i] : gravest;
    }
    return gravest;
}
