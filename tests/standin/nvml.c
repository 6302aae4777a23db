/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for libnvidia-ml.so.1: the tests compile it as a shared object. What it says is in the
 * file that TC_NVML_SCRIPT names, read at each call, a word and numbers a line:
 *
 *   gpus 2            how many there are (default 2)
 *   NAME 7            what the function of that short name answers, for all GPUs
 *   NAME.1 7          ... for GPU 1; for counters of links NAME.GPU.LINK
 *   lost 1            GPU 1 is lost (NVML_ERROR_GPU_IS_LOST); reset 1: it requires a reset
 *   code NAME 999     the function returns that
 *   hang NAME         the function does not return while the file says so
 *   event 5 1 79      event number 5: Xid 79 of GPU 1; each number is given once, ascending
 *   hostile           texts without an end and with control characters, absurd numbers
 *
 * With -DOLD it lacks what came later; with -DALIEN it is another library.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GPUS 8
#define LOST 15
#define RESET 16
#define NOT_SUPPORTED 3
#define TIMEOUT 10

struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};
struct use {
    unsigned gpu, memory;
};
struct field {
    unsigned id, scope;
    long long timestamp, latency;
    unsigned type;
    int code;
    union {
        double real;
        unsigned natural;
        unsigned long long wide;
    };
};
struct event {
    void *gpu;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

static char handles[GPUS + 1];
#if !defined ALIEN && !defined OLD
static long last_event;
#endif

static int gpu_of(void *handle)
{
    return (int)((char *)handle - handles);
}

/* The rest of the last line that begins with the word; NULL: none does. */
static const char *find(const char *word, char line[256])
{
    const char *path = getenv("TC_NVML_SCRIPT");
    FILE *f = path == NULL ? NULL : fopen(path, "r");
    char read[256];
    size_t len = strlen(word);
    int is_there = 0;
    while (f != NULL && fgets(read, sizeof read, f) != NULL) {
        if (strncmp(read, word, len) == 0 && (read[len] == ' ' || read[len] == '\n')) {
            (void)snprintf(line, 256, "%s", read + len);
            is_there = 1;
        }
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return is_there ? line : NULL;
}

static int is_hostile(void)
{
    char line[256];
    return find("hostile", line) != NULL;
}

static unsigned long long number(const char *name, int gpu, int link, unsigned long long other)
{
    char word[128];
    char line[256];
    const char *text = NULL;
    if (link >= 0) {
        (void)snprintf(word, sizeof word, "%s.%d.%d", name, gpu, link);
        text = find(word, line);
    }
    if (text == NULL && gpu >= 0) {
        (void)snprintf(word, sizeof word, "%s.%d", name, gpu);
        text = find(word, line);
    }
    text = text == NULL ? find(name, line) : text;
    return text == NULL ? other : strtoull(text, NULL, 0);
}

/* What the function returns before it does anything. */
static int enter(const char *name, int gpu)
{
    char word[128];
    char line[256];
    (void)snprintf(word, sizeof word, "hang %s", name);
    while (find(word, line) != NULL) {
        (void)usleep(5000);
    }
    if (gpu >= 0 && number("lost", -1, -1, GPUS) == (unsigned long long)gpu) {
        return LOST;
    }
    if (gpu >= 0 && number("reset", -1, -1, GPUS) == (unsigned long long)gpu) {
        return RESET;
    }
    (void)snprintf(word, sizeof word, "code %s", name);
    return (int)number(word, -1, -1, 0);
}

#ifndef ALIEN
int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    return enter("init", -1);
}
int nvmlShutdown(void);
int nvmlShutdown(void)
{
    return enter("shutdown", -1);
}
int nvmlDeviceGetCount_v2(unsigned *out);
int nvmlDeviceGetCount_v2(unsigned *out)
{
    *out = (unsigned)number("gpus", -1, -1, 2);
    return enter("count", -1);
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out)
{
    *out = &handles[index % GPUS];
    return enter("handle", -1);
}
int nvmlDeviceGetUUID(void *gpu, char *out, unsigned size);
int nvmlDeviceGetUUID(void *gpu, char *out, unsigned size)
{
    if (is_hostile()) {
        memset(out, 'A', size); /* no end */
        return 0;
    }
    (void)snprintf(out, size, "GPU-7d3c1a52-9e04-5b6f-a1c8-00000000000%d", gpu_of(gpu));
    return enter("uuid", -1);
}
int nvmlDeviceGetPciInfo_v3(void *gpu, struct pci *out);
int nvmlDeviceGetPciInfo_v3(void *gpu, struct pci *out)
{
    memset(out, is_hostile() ? 0xff : 0, sizeof *out);
    if (!is_hostile()) {
        out->bus = 0x3bU + (unsigned)gpu_of(gpu);
    }
    return enter("pci", -1);
}
#endif

#if !defined ALIEN && !defined OLD
int nvmlDeviceGetSerial(void *gpu, char *out, unsigned size);
int nvmlDeviceGetSerial(void *gpu, char *out, unsigned size)
{
    (void)snprintf(out, size, is_hostile() ? "1\n\"2\x01" : "165402%d", gpu_of(gpu));
    return enter("serial", -1);
}
int nvmlDeviceGetFieldValues(void *gpu, int count, struct field *io);
int nvmlDeviceGetFieldValues(void *gpu, int count, struct field *io)
{
    for (int i = 0; i < count; i++) {
        io[i].code = io[i].id == 82 ? 0 : NOT_SUPPORTED;
        io[i].type = is_hostile() ? 77 : 1;
        io[i].natural = (unsigned)number("memtemp", gpu_of(gpu), -1, 51);
    }
    return enter("fields", gpu_of(gpu));
}
int nvmlDeviceGetCurrentClocksEventReasons(void *gpu, unsigned long long *out);
int nvmlDeviceGetCurrentClocksEventReasons(void *gpu, unsigned long long *out)
{
    *out = number("reasons", gpu_of(gpu), -1, 0);
    return enter("reasons", gpu_of(gpu));
}
int nvmlDeviceGetRemappedRows(void *gpu, unsigned *cor, unsigned *unc, unsigned *pending,
                              unsigned *failed);
int nvmlDeviceGetRemappedRows(void *gpu, unsigned *cor, unsigned *unc, unsigned *pending,
                              unsigned *failed)
{
    *cor = (unsigned)number("rows_cor", gpu_of(gpu), -1, 0);
    *unc = (unsigned)number("rows_unc", gpu_of(gpu), -1, 0);
    *pending = (unsigned)number("row_pending", gpu_of(gpu), -1, 0);
    *failed = (unsigned)number("row_failed", gpu_of(gpu), -1, 0);
    return enter("rows", gpu_of(gpu));
}
int nvmlDeviceGetNvLinkState(void *gpu, unsigned link, unsigned *out);
int nvmlDeviceGetNvLinkState(void *gpu, unsigned link, unsigned *out)
{
    *out = (unsigned)number("link", gpu_of(gpu), (int)link, 1);
    return is_hostile() ? 0 : link >= number("links", -1, -1, 2) ? 2 : enter("link", gpu_of(gpu));
}
int nvmlDeviceGetNvLinkErrorCounter(void *gpu, unsigned link, unsigned counter,
                                    unsigned long long *out);
int nvmlDeviceGetNvLinkErrorCounter(void *gpu, unsigned link, unsigned counter,
                                    unsigned long long *out)
{
    static const char *const NAMES[] = {"replay", "recovery", "flit", "crc"};
    *out = is_hostile() ? ~0ULL - 1 : number(NAMES[counter % 4], gpu_of(gpu), (int)link, 0);
    return enter("counter", gpu_of(gpu));
}
int nvmlEventSetCreate(void **out);
int nvmlEventSetCreate(void **out)
{
    *out = &last_event;
    return enter("set", -1);
}
int nvmlEventSetFree(void *set);
int nvmlEventSetFree(void *set)
{
    (void)set;
    return 0;
}
int nvmlDeviceRegisterEvents(void *gpu, unsigned long long types, void *set);
int nvmlDeviceRegisterEvents(void *gpu, unsigned long long types, void *set)
{
    (void)gpu;
    return types == 8 && set == &last_event ? enter("register", -1) : 2;
}

/* The event with the least number over the last. */
static int next_event(struct event *out)
{
    const char *path = getenv("TC_NVML_SCRIPT");
    FILE *f = path == NULL ? NULL : fopen(path, "r");
    char line[256];
    long best = 0;
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        char *rest = line;
        if (strncmp(line, "event ", 6) != 0) {
            continue;
        }
        long n = strtol(line + 6, &rest, 10);
        if (n > last_event && (best == 0 || n < best)) {
            best = n;
            out->gpu = &handles[strtoul(rest, &rest, 10) % GPUS];
            out->data = strtoull(rest, NULL, 10);
        }
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    last_event = best > 0 ? best : last_event;
    return best > 0;
}

int nvmlEventSetWait_v2(void *set, struct event *out, unsigned ms);
int nvmlEventSetWait_v2(void *set, struct event *out, unsigned ms)
{
    (void)set;
    out->type = 8;
    if (is_hostile()) { /* for ever, at once */
        out->gpu = NULL;
        out->data = 31;
        return 0;
    }
    for (unsigned waited = 0;; waited += 5) {
        int code = enter("wait", -1);
        if (code != 0 || next_event(out)) {
            return code;
        }
        if (waited >= ms) {
            return TIMEOUT;
        }
        (void)usleep(5000);
    }
}
#endif

#ifndef ALIEN
#define NATURAL(function, word, other)                         \
    int function(void *gpu, unsigned *out);                    \
    int function(void *gpu, unsigned *out)                     \
    {                                                          \
        *out = (unsigned)number(word, gpu_of(gpu), -1, other); \
        return enter(word, gpu_of(gpu));                       \
    }
NATURAL(nvmlDeviceGetPowerUsage, "power", 71250)
NATURAL(nvmlDeviceGetCurrPcieLinkGeneration, "gen", 5)
NATURAL(nvmlDeviceGetMaxPcieLinkGeneration, "gen_max", 5)
NATURAL(nvmlDeviceGetCurrPcieLinkWidth, "width", 16)
NATURAL(nvmlDeviceGetMaxPcieLinkWidth, "width_max", 16)
NATURAL(nvmlDeviceGetPcieReplayCounter, "replays", 0)

int nvmlSystemGetDriverVersion(char *out, unsigned size);
int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    (void)snprintf(out, size, "550.54.15");
    return enter("driver", -1);
}
int nvmlDeviceGetTemperature(void *gpu, unsigned sensor, unsigned *out);
int nvmlDeviceGetTemperature(void *gpu, unsigned sensor, unsigned *out)
{
    *out = (unsigned)number("temp", gpu_of(gpu), -1, 41);
    return sensor == 0 ? enter("temp", gpu_of(gpu)) : 2;
}
int nvmlDeviceGetUtilizationRates(void *gpu, struct use *out);
int nvmlDeviceGetUtilizationRates(void *gpu, struct use *out)
{
    out->gpu = (unsigned)number("util", gpu_of(gpu), -1, 98);
    return enter("util", gpu_of(gpu));
}
int nvmlDeviceGetClockInfo(void *gpu, unsigned clock, unsigned *out);
int nvmlDeviceGetClockInfo(void *gpu, unsigned clock, unsigned *out)
{
    *out = (unsigned)number("clock", gpu_of(gpu), -1, 1980);
    return clock == 1 ? enter("clock", gpu_of(gpu)) : 2;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *gpu, unsigned long long *out);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *gpu, unsigned long long *out)
{
    *out = number("reasons", gpu_of(gpu), -1, 0);
    return enter("reasons", gpu_of(gpu));
}
int nvmlDeviceGetTotalEccErrors(void *gpu, unsigned type, unsigned since, unsigned long long *out);
int nvmlDeviceGetTotalEccErrors(void *gpu, unsigned type, unsigned since, unsigned long long *out)
{
    static const char *const NAMES[2][2] = {{"sbe", "sbe_agg"}, {"dbe", "dbe_agg"}};
    *out = number(NAMES[type % 2][since % 2], gpu_of(gpu), -1, 0);
    return enter("ecc", gpu_of(gpu));
}
#endif
