/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef TC_SOURCE_NVML_PRIV_H
#define TC_SOURCE_NVML_PRIV_H

#include "base/table/grow.h"
#include "event/event.h"
#include "source/nvml/nvml.h"

#include <pthread.h>
#include <stdatomic.h>

/* A library that says more is not believed. */
#define TC__NVML_GPUS_MAX 64
#define TC__NVML_LINKS_MAX 36
#define TC__NVML_TEXT_MAX 96

/* ---- the ABI: nvml.h of CUDA 12, whose older names and layouts are still served ---- */

enum tc__nvml_code {
    TC__NVML_OK = 0,
    TC__NVML_UNINITIALIZED = 1,
    TC__NVML_NOT_SUPPORTED = 3,
    TC__NVML_DRIVER_NOT_LOADED = 9,
    TC__NVML_TIMEOUT = 10,
    TC__NVML_FUNCTION_NOT_FOUND = 13,
    TC__NVML_GPU_IS_LOST = 15,
    TC__NVML_RESET_REQUIRED = 16,
};

struct tc__nvml_pci {
    char bus_id_legacy[16];
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned device_id;
    unsigned subsystem_id;
    char bus_id[32];
};

struct tc__nvml_use {
    unsigned gpu; /* percent */
    unsigned memory;
};

struct tc__nvml_field {
    unsigned id;
    unsigned scope;
    long long timestamp;
    long long latency_us;
    unsigned value_type;
    int code;
    union {
        double real;
        unsigned natural;
        unsigned long long wide;
    };
};

struct tc__nvml_event {
    void *gpu;
    unsigned long long type;
    unsigned long long data; /* of an Xid its number */
    unsigned gpu_instance;   /* UINT32_MAX: none */
    unsigned compute_instance;
};

_Static_assert(sizeof(struct tc__nvml_pci) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(struct tc__nvml_field) == 40, "nvmlFieldValue_t");
_Static_assert(sizeof(struct tc__nvml_event) == 32, "nvmlEventData_t");

struct tc__nvml_functions {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): these are parts of a declaration */
#define FUNCTION(result, name, parameters) result(*name) parameters;
#include "source/nvml/nvml_functions.def"
#undef FUNCTION
};

/* ---- what is known of the GPUs ---- */

enum tc__nvml_reading {
#define READING(key, name, type, divisor) TC__NVML_##key,
#include "source/nvml/readings.def"
#undef READING
    TC__NVML_READINGS
};

enum { TC__NVML_COUNTERS = 4 }; /* of a link: replays, recoveries, CRC of flits, CRC of data */

struct tc__nvml_value {
    bool known;
    uint64_t value;
};

struct tc__nvml_gpu {
    void *handle; /* NULL: the library gives none */
    unsigned index;
    char uuid[TC__NVML_TEXT_MAX]; /* "": not known */
    char serial[TC__NVML_TEXT_MAX];
    struct tc_bdf pci;
    int code;       /* why it cannot be read: TC__NVML_GPU_IS_LOST and the like; 0: it can */
    int code_told;  /* what an event said of that */
    bool has_event; /* it is registered for Xids */
    struct tc__nvml_value readings[TC__NVML_READINGS];
    struct tc__nvml_value links[TC__NVML_LINKS_MAX]; /* 1: active */
    struct tc__nvml_value links_told[TC__NVML_LINKS_MAX];
    struct tc__nvml_value counters[TC__NVML_COUNTERS][TC__NVML_LINKS_MAX];
};

/*
 * The library and what it says: of the thread that calls it, but for what `lock` guards. That
 * thread may hang in a call for ever, so it shares this with the source, and whoever lets go last
 * frees it.
 *
 * Invariants: while is_waiting the source has not taken the last reading, and no other is made.
 */
struct tc__nvml {
    struct tc_nvml_config config;
    char *library_name;
    char *node;
    void *library;
    struct tc__nvml_functions fn;
    bool is_missing_said;
    bool is_open;
    void *event_set;
    struct tc__nvml_gpu gpus[TC__NVML_GPUS_MAX];
    size_t count;
    int64_t opened_ns; /* monotonic */
    int64_t listed_ns; /* when GPUs and links were written last; 0: not yet */

    /* The call that is being made, for whoever wonders: a literal and since when; 0: none is. */
    _Atomic(const char *) calling;
    _Atomic int64_t calling_ns;

    pthread_mutex_t lock;
    pthread_cond_t wake; /* the thread that calls has to end, or has ended */
    int told_fd;         /* for the source: there is something to take */
    unsigned holders;
    bool is_stopping;
    bool has_ended;
    bool is_waiting;
    struct tc_grow metrics; /* what is to be stored */
    struct tc_grow events;
    uint64_t event_count;
    uint64_t lost;    /* Xids that there was no room for, since they were last asked for */
    uint64_t xids;    /* all */
    size_t gpus_seen; /* of count, gpus: for others to see */
    size_t gpus_lost;
    bool has_answered;
    char error[TC_ERROR_MESSAGE_MAX]; /* "": it works */
    char driver[TC__NVML_TEXT_MAX];
};

/* Calls a function of the library with (arguments), and lets others see that. A function that it
 * lacks is one that is not supported. */
#define TC__NVML_CALL(n, name, arguments)   \
    ((n)->fn.name == NULL                   \
         ? (int)TC__NVML_FUNCTION_NOT_FOUND \
         : (tc__nvml_enter((n), #name), tc__nvml_leave((n), (n)->fn.name arguments)))
void tc__nvml_enter(struct tc__nvml *n, const char *name);
int tc__nvml_leave(struct tc__nvml *n, int code);

/* ---- library.c: opening ---- */

/* False: n->error says why. */
bool tc__nvml_open(struct tc__nvml *n);
void tc__nvml_close(struct tc__nvml *n);
/* What a code means. */
const char *tc__nvml_code_text(int code);

/* ---- read.c ---- */

/* Reads all GPUs. False: the library has to be opened again. */
bool tc__nvml_read(struct tc__nvml *n);

/* ---- write.c: what was read, as bytes to store ---- */

/* Prometheus text of the readings. Borrows n, gpus only. */
void tc__nvml_write_metrics(const struct tc__nvml *n, struct tc_grow *out);
/* Events: GPUs and links that are new or are to be listed again, and GPUs that are lost. Returns
 * how many. */
uint64_t tc__nvml_write_news(struct tc__nvml *n, bool all, int64_t now_ns, struct tc_grow *out);
void tc__nvml_write_xid(const struct tc__nvml *n, const struct tc__nvml_event *event,
                        int64_t now_ns, struct tc_grow *out);

/* ---- thread.c ---- */

/* A thread that calls the library until n->is_stopping. False: it cannot be started. */
bool tc__nvml_start(struct tc__nvml *n);
/* Lets go of it; the last one frees. */
void tc__nvml_release(struct tc__nvml *n);

#endif
