/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs of this host, asked through NVIDIA's management library (NVML), which is loaded when the
 * source starts: for a bare node without an exporter. What is read becomes what a dcgm-exporter
 * would have said, in the same names, and Xids become events. Nothing is to be gone on with after a
 * restart: what happened meanwhile is in the counters, or gone.
 */
#ifndef TC_SOURCE_NVML_NVML_H
#define TC_SOURCE_NVML_NVML_H

#include "source/source.h"

#define TC_NVML_LIBRARY "libnvidia-ml.so.1"

struct tc_nvml_config {
    const char *library; /* a path, or a name for the system's search */
    struct tc_slice node;
    int64_t interval_ns; /* from one reading to the next */
    int64_t timeout_ns;  /* a call that takes longer hangs */
    bool metrics;        /* readings are stored; otherwise GPUs, links and lost ones only */
    bool xids;           /* Xids are stored as events: nobody else reads the kernel's log */
    bool is_guess;       /* nobody asked for it: without a driver it is left alone */
};

extern const struct tc_source_kind tc_source_nvml;

/* Copies all; nothing is loaded yet. TC_E_NOMEM. */
TC_CHECKED tc_status tc_nvml_create(const struct tc_nvml_config *config, void **out_state,
                                    struct tc_error *err);
/* Whether the library is there: it is loaded, and let go of again. */
bool tc_nvml_is_there(const char *library);

#endif
