/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the GPUs, one after the other: each value by a call of its own. */
#include "source/nvml/priv.h"

#include <string.h>

/* nvmlTemperatureSensors_t, nvmlClockType_t, nvmlMemoryErrorType_t, nvmlEccCounterType_t. */
#define SENSOR_GPU 0U
#define CLOCK_SM 1U
#define ECC_CORRECTED 0U
#define ECC_UNCORRECTED 1U
#define SINCE_BOOT 0U
#define SINCE_MADE 1U
/* NVML_FI_DEV_MEMORY_TEMP, and the type of its value. */
#define FIELD_MEMORY_TEMP 82U
#define VALUE_NATURAL 1U
/* NVML_ERROR_INVALID_ARGUMENT: behind the last link. */
#define INVALID_ARGUMENT 2

/* Whether it says something of the GPU, not only of the value. */
static bool is_grave(int code)
{
    return code == TC__NVML_UNINITIALIZED || code == TC__NVML_DRIVER_NOT_LOADED ||
           code == TC__NVML_GPU_IS_LOST || code == TC__NVML_RESET_REQUIRED;
}

/* All ones is how a value is written that there is none of. */
static void keep(struct tc__nvml_gpu *g, enum tc__nvml_reading key, int code, uint64_t value,
                 uint64_t none)
{
    if (is_grave(code)) {
        g->code = code;
    }
    if (code == TC__NVML_OK && value != none) {
        g->readings[key] = (struct tc__nvml_value){true, value};
    }
}

#define READ_32(n, g, key, name, ...)                                  \
    do {                                                               \
        unsigned value = UINT32_MAX;                                   \
        int said = TC__NVML_CALL(n, name, ((g)->handle, __VA_ARGS__)); \
        keep((g), TC__NVML_##key, said, value, UINT32_MAX);            \
    } while (0)

#define READ_64(n, g, key, name, ...)                                  \
    do {                                                               \
        unsigned long long value = UINT64_MAX;                         \
        int said = TC__NVML_CALL(n, name, ((g)->handle, __VA_ARGS__)); \
        keep((g), TC__NVML_##key, said, value, UINT64_MAX);            \
    } while (0)

static void read_state(struct tc__nvml *n, struct tc__nvml_gpu *g)
{
    struct tc__nvml_use use = {UINT32_MAX, UINT32_MAX};
    struct tc__nvml_field field = {.id = FIELD_MEMORY_TEMP, .code = TC__NVML_NOT_SUPPORTED};
    READ_32(n, g, TEMP, nvmlDeviceGetTemperature, SENSOR_GPU, &value);
    READ_32(n, g, POWER, nvmlDeviceGetPowerUsage, &value);
    READ_32(n, g, SM_CLOCK, nvmlDeviceGetClockInfo, CLOCK_SM, &value);
    int code = TC__NVML_CALL(n, nvmlDeviceGetUtilizationRates, (g->handle, &use));
    keep(g, TC__NVML_UTIL, code, use.gpu, UINT32_MAX);
    code = TC__NVML_CALL(n, nvmlDeviceGetFieldValues, (g->handle, 1, &field));
    if (code == TC__NVML_OK && field.code == TC__NVML_OK && field.value_type == VALUE_NATURAL) {
        keep(g, TC__NVML_MEM_TEMP, code, field.natural, UINT32_MAX);
    }
    if (n->fn.nvmlDeviceGetCurrentClocksEventReasons != NULL) {
        READ_64(n, g, REASONS, nvmlDeviceGetCurrentClocksEventReasons, &value);
    } else {
        READ_64(n, g, REASONS, nvmlDeviceGetCurrentClocksThrottleReasons, &value);
    }
}

static void read_memory(struct tc__nvml *n, struct tc__nvml_gpu *g)
{
    unsigned rows[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    READ_64(n, g, ECC_SBE, nvmlDeviceGetTotalEccErrors, ECC_CORRECTED, SINCE_BOOT, &value);
    READ_64(n, g, ECC_DBE, nvmlDeviceGetTotalEccErrors, ECC_UNCORRECTED, SINCE_BOOT, &value);
    READ_64(n, g, ECC_SBE_AGG, nvmlDeviceGetTotalEccErrors, ECC_CORRECTED, SINCE_MADE, &value);
    READ_64(n, g, ECC_DBE_AGG, nvmlDeviceGetTotalEccErrors, ECC_UNCORRECTED, SINCE_MADE, &value);
    int code = TC__NVML_CALL(n, nvmlDeviceGetRemappedRows,
                             (g->handle, &rows[0], &rows[1], &rows[2], &rows[3]));
    keep(g, TC__NVML_ROWS_COR, code, rows[0], UINT32_MAX);
    keep(g, TC__NVML_ROWS_UNC, code, rows[1], UINT32_MAX);
    keep(g, TC__NVML_ROW_PENDING, code, rows[2], UINT32_MAX);
    keep(g, TC__NVML_ROW_FAILURE, code, rows[3], UINT32_MAX);
}

static void read_pcie(struct tc__nvml *n, struct tc__nvml_gpu *g)
{
    READ_32(n, g, PCIE_GEN, nvmlDeviceGetCurrPcieLinkGeneration, &value);
    READ_32(n, g, PCIE_GEN_MAX, nvmlDeviceGetMaxPcieLinkGeneration, &value);
    READ_32(n, g, PCIE_WIDTH, nvmlDeviceGetCurrPcieLinkWidth, &value);
    READ_32(n, g, PCIE_WIDTH_MAX, nvmlDeviceGetMaxPcieLinkWidth, &value);
    READ_32(n, g, PCIE_REPLAYS, nvmlDeviceGetPcieReplayCounter, &value);
}

static void read_link(struct tc__nvml *n, struct tc__nvml_gpu *g, unsigned link, unsigned state)
{
    g->links[link] = (struct tc__nvml_value){true, state == 1};
    for (unsigned i = 0; i < TC__NVML_COUNTERS; i++) {
        unsigned long long value = UINT64_MAX;
        int code = TC__NVML_CALL(n, nvmlDeviceGetNvLinkErrorCounter, (g->handle, link, i, &value));
        bool known = code == TC__NVML_OK && value != UINT64_MAX;
        g->counters[i][link] = (struct tc__nvml_value){known, known ? value : 0};
    }
}

/* Links may have numbers that are left out; a GPU without the first has none. */
static void read_links(struct tc__nvml *n, struct tc__nvml_gpu *g)
{
    for (unsigned i = 0; i < TC__NVML_LINKS_MAX; i++) {
        unsigned state = 0;
        int code = TC__NVML_CALL(n, nvmlDeviceGetNvLinkState, (g->handle, i, &state));
        if (code == TC__NVML_OK) {
            read_link(n, g, i, state);
        } else if (i == 0 || code == INVALID_ARGUMENT || is_grave(code)) {
            return;
        }
    }
}

static void read_gpu(struct tc__nvml *n, struct tc__nvml_gpu *g)
{
    struct tc__nvml_value xid = g->readings[TC__NVML_XID];
    memset(g->readings, 0, sizeof g->readings);
    memset(g->links, 0, sizeof g->links);
    memset(g->counters, 0, sizeof g->counters);
    if (g->handle == NULL) {
        return; /* its code is why */
    }
    g->code = TC__NVML_OK;
    read_state(n, g);
    if (g->code != TC__NVML_OK) {
        return; /* the rest would say the same, and some calls take long on such a GPU */
    }
    read_memory(n, g);
    read_pcie(n, g);
    read_links(n, g);
    if (g->has_event) {
        g->readings[TC__NVML_XID] = (struct tc__nvml_value){true, xid.value};
    }
}

bool tc__nvml_read(struct tc__nvml *n)
{
    unsigned count = 0;
    int code = TC__NVML_CALL(n, nvmlDeviceGetCount_v2, (&count));
    if (code != TC__NVML_OK ||
        (count > TC__NVML_GPUS_MAX ? TC__NVML_GPUS_MAX : count) != n->count) {
        return false;
    }
    for (size_t i = 0; i < n->count; i++) {
        read_gpu(n, &n->gpus[i]);
        if (n->gpus[i].code == TC__NVML_UNINITIALIZED ||
            n->gpus[i].code == TC__NVML_DRIVER_NOT_LOADED) {
            return false;
        }
    }
    return true;
}
