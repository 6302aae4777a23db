/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What AMD's driver says of GPUs that are broken (drivers/gpu/drm/amd/amdgpu: amdgpu_device.c,
 * amdgpu_ras.c, amdgpu_kms.c). That a ring hung or a reset began is no fault yet: an application
 * does that. How the reset ended decides.
 */
#include "codec/kmsg/kmsg_priv.h"
#include "codec/match_priv.h"

/* "amdgpu: ", "[drm:psp_hw_start [amdgpu]] ", "*ERROR* ": so many in front of a message. */
#define LABELS_MAX 4

/* By the text behind the address and the labels. */
static const struct {
    const char *fault;
    const char *says;
} ROWS[] = {
    {"gpu_reset_failed", "GPU reset(%d) failed"},
    {"gpu_reset_failed", "GPU reset end with ret = -%d"},
    {"gpu_reset_failed", "GPU Recovery Failed: -%d"},
    {"gpu_reset_failed", "ASIC reset failed with error, -%d"},
    {"gpu_reset_failed", "GPU <psp |>mode<1|2> reset failed"},
    {"gpu_reset_ok", "GPU reset(%d) succeeded"},
    {"gpu_reset_ok", "GPU reset end with ret = 0$"},
    {"gpu_ras_fatal", "uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected"},
    {"gpu_unreachable", "device lost from bus"},
    {"gpu_init_failed", "Fatal error during GPU init"},
};

static struct tc_slice without_labels(struct tc_slice s)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    for (int i = 0; i < LABELS_MAX; i++) {
        if (!tc__text_match(s, "<amdgpu: |[drm] |[drm:*]] |%*ERROR%* >{0*}", got)) {
            break;
        }
        s = got[0];
    }
    return s;
}

/* An initialisation fails without its firmware or the VBIOS, too, and on a board that the driver
 * does not know: that is the system's installation, not the GPU. */
static bool is_installation(const struct tc__kmsg_context *c)
{
    static const char *const reasons[] = {
        "Direct firmware load for amdgpu", "failed to load amdgpu/",  "info firmware",
        "early_init of IP block",          "Unable to locate a BIOS", NULL};
    return tc__kmsg_said_above(c, reasons);
}

enum tc__kmsg_verdict tc__kmsg_rule_amd(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice ignored[TC__TEXT_SLOTS];
    if (!tc__text_match(c->line->message, "amdgpu {0%b}: {1*}", got)) {
        return TC__KMSG_NOT_MINE;
    }
    struct tc_slice s = without_labels(got[1]);
    for (size_t i = 0; i < TC_COUNT(ROWS); i++) {
        if (!tc__text_match(s, ROWS[i].says, ignored)) {
            continue;
        }
        struct tc_slice fault = tc_slice_cstr(ROWS[i].fault);
        if (tc_slice_eq(fault, TC_LIT("gpu_init_failed")) && is_installation(c)) {
            fault = TC_LIT("gpu_firmware_missing");
        }
        tc__kmsg_fault(c, ev, TC_EVENT_DRIVER_FAULT, fault, TC_EMPTY);
        (void)tc_bdf_parse(got[0], &ev->scope.pci);
        return TC__KMSG_EVENT;
    }
    return TC__KMSG_NOT_MINE;
}
