/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the library, and finds the GPUs. */
#include "base/os/library.h"
#include "base/clock.h"
#include "base/format.h"
#include "observe/log.h"
#include "source/nvml/priv.h"

#include <stdio.h>
#include <string.h>

/* nvmlEventTypeXidCriticalError */
#define EVENT_XID 8ULL

static const char *const NAMES[] = {
#define FUNCTION(result, name, parameters) #name,
#include "source/nvml/nvml_functions.def"
#undef FUNCTION
};

void tc__nvml_enter(struct tc__nvml *n, const char *name)
{
    atomic_store(&n->calling, name);
    atomic_store(&n->calling_ns, tc_mono_ns());
}

int tc__nvml_leave(struct tc__nvml *n, int code)
{
    atomic_store(&n->calling_ns, 0);
    return code;
}

const char *tc__nvml_code_text(int code)
{
    static const struct {
        int code;
        const char *text;
    } ROWS[] = {
        {1, "the library is not initialised"},
        {4, "no permission; the device nodes /dev/nvidia* have to be readable and writable"},
        {8, "power cables of a GPU are not connected"},
        {TC__NVML_DRIVER_NOT_LOADED, "the driver is not loaded"},
        {TC__NVML_TIMEOUT, "a timeout"},
        {11, "the kernel has a problem with the GPU's interrupts"},
        {12, "the library cannot be found"},
        {TC__NVML_FUNCTION_NOT_FOUND, "the library lacks the function"},
        {14, "the infoROM is corrupted"},
        {TC__NVML_GPU_IS_LOST, "GPU is lost"},
        {TC__NVML_RESET_REQUIRED, "GPU requires reset"},
        {17, "the operating system refuses it"},
        {18, "driver and library are of different versions; load the new driver, or reboot"},
    };
    for (size_t i = 0; i < TC_COUNT(ROWS); i++) {
        if (ROWS[i].code == code) {
            return ROWS[i].text;
        }
    }
    return "an error that has no name here";
}

static bool fail(struct tc__nvml *n, const char *what, const char *why)
{
    (void)pthread_mutex_lock(&n->lock);
    (void)snprintf(n->error, sizeof n->error, "%.80s: %.120s", what, why);
    (void)pthread_mutex_unlock(&n->lock);
    return false;
}

static bool fail_call(struct tc__nvml *n, const char *function, int code)
{
    char what[64];
    (void)snprintf(what, sizeof what, "%.40s gives %d", function, code);
    return fail(n, what, tc__nvml_code_text(code));
}

/* An older library lacks some, and their readings: once is enough to say it. */
static void say_missing(struct tc__nvml *n)
{
    char text[TC_LOG_TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    for (size_t i = 0; i < TC_COUNT(NAMES) && !b.overflowed; i++) {
        const void *function = NULL;
        memcpy(&function, (const char *)&n->fn + i * sizeof function, sizeof function);
        if (function == NULL) {
            (void)tc_format(&b, "{}{}", tc_when(b.len > 0, ", "), NAMES[i]);
        }
    }
    if (b.len > 0 && !n->is_missing_said) {
        n->is_missing_said = true;
        tc_log_fields(TC_LOG_INFO, "this NVML lacks functions: their readings are left out",
                      TC_LOG_CSTR("library", n->library_name),
                      TC_LOG_TEXT("functions", tc_buf_slice(&b)));
    }
}

static bool load(struct tc__nvml *n)
{
    struct tc_error err = {0};
    if (n->library == NULL) {
        tc__nvml_enter(n, "dlopen");
        n->library = tc_library_open(n->library_name, &err);
        (void)tc__nvml_leave(n, 0);
    }
    if (n->library == NULL) {
        return fail(n, n->library_name, err.message);
    }
    (void)tc_library_bind(n->library, NAMES, TC_COUNT(NAMES), &n->fn);
    if (n->fn.nvmlInit_v2 == NULL || n->fn.nvmlShutdown == NULL ||
        n->fn.nvmlDeviceGetCount_v2 == NULL || n->fn.nvmlDeviceGetHandleByIndex_v2 == NULL ||
        n->fn.nvmlDeviceGetUUID == NULL) {
        return fail(n, n->library_name, "it is no NVML, or too old");
    }
    say_missing(n);
    return true;
}

/* What a library writes may lack its end, or have anything in it: such a text is not known. */
static void clean(char text[TC__NVML_TEXT_MAX], int code)
{
    text[TC__NVML_TEXT_MAX - 1] = '\0';
    bool is_good = code == TC__NVML_OK;
    for (size_t i = 0; is_good && text[i] != '\0'; i++) {
        is_good = tc_is_word(text[i]) || text[i] == '-' || text[i] == '.';
    }
    if (!is_good) {
        text[0] = '\0';
    }
}

static void find_pci(struct tc__nvml *n, struct tc__nvml_gpu *g)
{
    struct tc__nvml_pci pci = {0};
    if (TC__NVML_CALL(n, nvmlDeviceGetPciInfo_v3, (g->handle, &pci)) == TC__NVML_OK &&
        pci.bus <= UINT8_MAX && pci.device < 32) {
        g->pci = (struct tc_bdf){.domain = pci.domain,
                                 .bus = (uint8_t)pci.bus,
                                 .device = (uint8_t)pci.device,
                                 .known = true};
    }
}

static void find_gpu(struct tc__nvml *n, unsigned index)
{
    struct tc__nvml_gpu *g = &n->gpus[n->count++];
    *g = (struct tc__nvml_gpu){.index = index};
    g->code = TC__NVML_CALL(n, nvmlDeviceGetHandleByIndex_v2, (index, &g->handle));
    if (g->code != TC__NVML_OK || g->handle == NULL) {
        g->handle = NULL;
        return;
    }
    clean(g->uuid, TC__NVML_CALL(n, nvmlDeviceGetUUID, (g->handle, g->uuid, sizeof g->uuid)));
    clean(g->serial,
          TC__NVML_CALL(n, nvmlDeviceGetSerial, (g->handle, g->serial, sizeof g->serial)));
    find_pci(n, g);
    if (n->event_set != NULL) {
        g->has_event = TC__NVML_CALL(n, nvmlDeviceRegisterEvents,
                                     (g->handle, EVENT_XID, n->event_set)) == TC__NVML_OK;
    }
}

static void find_gpus(struct tc__nvml *n, unsigned count)
{
    n->count = 0;
    if (TC__NVML_CALL(n, nvmlEventSetCreate, (&n->event_set)) != TC__NVML_OK) {
        n->event_set = NULL;
    }
    for (unsigned i = 0; i < count && i < TC__NVML_GPUS_MAX; i++) {
        find_gpu(n, i);
    }
}

static void say_found(struct tc__nvml *n, unsigned count)
{
    char driver[TC__NVML_TEXT_MAX] = {0};
    clean(driver, TC__NVML_CALL(n, nvmlSystemGetDriverVersion, (driver, sizeof driver)));
    (void)pthread_mutex_lock(&n->lock);
    memcpy(n->driver, driver, sizeof n->driver);
    (void)pthread_mutex_unlock(&n->lock);
    tc_log_fields(TC_LOG_INFO, "NVML gives GPUs", TC_LOG_CSTR("library", n->library_name),
                  TC_LOG_CSTR("driver", driver), TC_LOG_NUMBER("gpus", (int64_t)n->count),
                  TC_LOG_NUMBER("left_out", (int64_t)(count - n->count)));
}

bool tc__nvml_open(struct tc__nvml *n)
{
    unsigned count = 0;
    if (!load(n)) {
        return false;
    }
    int code = TC__NVML_CALL(n, nvmlInit_v2, ());
    if (code != TC__NVML_OK) {
        return fail_call(n, "nvmlInit_v2", code);
    }
    n->is_open = true;
    code = TC__NVML_CALL(n, nvmlDeviceGetCount_v2, (&count));
    if (code != TC__NVML_OK) {
        tc__nvml_close(n);
        return fail_call(n, "nvmlDeviceGetCount_v2", code);
    }
    find_gpus(n, count);
    say_found(n, count);
    n->opened_ns = tc_mono_ns();
    n->listed_ns = 0;
    return true;
}

void tc__nvml_close(struct tc__nvml *n)
{
    if (n->event_set != NULL) {
        (void)TC__NVML_CALL(n, nvmlEventSetFree, (n->event_set));
        n->event_set = NULL;
    }
    if (n->is_open) {
        (void)TC__NVML_CALL(n, nvmlShutdown, ());
        n->is_open = false;
    }
    n->count = 0;
}
