/* SPDX-License-Identifier: Apache-2.0 */
/* Takes what the thread that calls the library has written down, and tells how it is. */
#include "source/nvml/nvml.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/json/out.h"
#include "base/os/library.h"
#include "observe/log.h"
#include "source/answer_priv.h"
#include "source/nvml/priv.h"
#include "source/text_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* How often it is looked whether a call hangs. */
#define LOOK_NS (TC_SECOND / 2)
/* The thread ends within a wait of its own, unless it hangs. */
#define END_NS (3 * TC_SECOND)
#define CHUNKS_MAX 32 /* 8 MiB: a reading of 64 GPUs has less than 2 */

static void destroy(void *state)
{
    if (state != NULL) {
        tc__nvml_release(state);
    }
}

tc_status tc_nvml_create(const struct tc_nvml_config *config, void **out_state,
                         struct tc_error *err)
{
    struct tc__nvml *n = calloc(1, sizeof *n);
    if (n == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for NVML");
    }
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&n->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_mutex_init(&n->lock, NULL);
    n->holders = 1;
    n->config = *config;
    n->library_name = strdup(config->library);
    n->node = tc__text_copy(config->node);
    n->config.library = n->library_name;
    n->config.node = TC_EMPTY;
    n->told_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (n->library_name == NULL || n->node == NULL || n->told_fd < 0) {
        destroy(n);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for NVML");
    }
    *out_state = n;
    return TC_OK;
}

bool tc_nvml_is_there(const char *library)
{
    void *handle = tc_library_open(library, NULL);
    tc_library_close(handle);
    return handle != NULL;
}

/* What waits to be stored. */
struct batch {
    struct tc_grow metrics;
    struct tc_grow events;
    uint64_t event_count;
    uint64_t lost;
};

static void take(struct tc__nvml *n, struct batch *out)
{
    uint64_t count = 0;
    (void)!read(n->told_fd, &count, sizeof count);
    (void)pthread_mutex_lock(&n->lock);
    *out = (struct batch){n->metrics, n->events, n->event_count, n->lost};
    n->metrics = n->events = (struct tc_grow){0};
    n->event_count = n->lost = 0;
    (void)pthread_mutex_unlock(&n->lock);
}

/* The next reading may be made. */
static void let_go_on(struct tc__nvml *n)
{
    (void)pthread_mutex_lock(&n->lock);
    n->is_waiting = false;
    (void)pthread_mutex_unlock(&n->lock);
}

static size_t cut(const struct tc__nvml *n, struct tc_slice text, const char *format,
                  uint64_t records, struct tc_source_chunk *out, size_t count)
{
    while (text.len > 0 && count < CHUNKS_MAX) {
        struct tc_slice body = tc_slice_head(text, tc__answer_cut(text));
        text = tc_slice_from(text, body.len);
        out[count++] = (struct tc_source_chunk){
            .name = tc_slice_cstr(n->library_name),
            .format = tc_slice_cstr(format),
            .node = tc_slice_cstr(n->node),
            .body = body,
            .records = records > 0 ? records : tc__answer_samples(body),
        };
    }
    return count;
}

/* False: the daemon ends. */
static bool store(struct tc__nvml *n, struct tc_source_port *port)
{
    struct batch batch;
    struct tc_source_chunk chunks[CHUNKS_MAX];
    take(n, &batch);
    if (batch.metrics.failed || batch.events.failed) {
        tc_port_lost(port, 1);
    }
    tc_port_lost(port, batch.lost);
    size_t count = cut(n, tc_grow_slice(&batch.events), "event_json", batch.event_count, chunks, 0);
    count = cut(n, tc_grow_slice(&batch.metrics), "prometheus", 0, chunks, count);
    bool go_on = count == 0 || tc_port_put(port, chunks, count) == TC_OK;
    tc_grow_fini(&batch.metrics);
    tc_grow_fini(&batch.events);
    let_go_on(n);
    return go_on;
}

static void tell_health(struct tc__nvml *n, struct tc_source_port *port)
{
    char error[TC_ERROR_MESSAGE_MAX];
    int64_t since_ns = atomic_load(&n->calling_ns);
    int64_t took_ns = since_ns == 0 ? 0 : tc_mono_ns() - since_ns;
    (void)pthread_mutex_lock(&n->lock);
    memcpy(error, n->error, sizeof error);
    bool has_answered = n->has_answered;
    size_t gpus = n->gpus_seen;
    (void)pthread_mutex_unlock(&n->lock);
    if (took_ns > n->config.timeout_ns) {
        tc_port_fail(port,
                     "%s has not returned for %lld s: the driver hangs, and no GPU can be read; "
                     "look at the kernel's log",
                     atomic_load(&n->calling), (long long)(took_ns / TC_SECOND));
    } else if (error[0] != '\0') {
        tc_port_fail(port, "%s", error);
        tc_port_watches(port, 0);
    } else if (has_answered) {
        tc_port_ok(port);
        tc_port_watches(port, gpus);
    }
}

/* A guess that was wrong: there is a library, and no GPU behind it. */
static bool is_wrong_guess(struct tc__nvml *n)
{
    (void)pthread_mutex_lock(&n->lock);
    bool is = n->config.is_guess && !n->has_answered && n->error[0] != '\0';
    (void)pthread_mutex_unlock(&n->lock);
    return is;
}

static void give_up(const struct tc__nvml *n, struct tc_source_port *port)
{
    tc_log_fields(TC_LOG_INFO, "NVML gives no GPUs: they are not asked",
                  TC_LOG_CSTR("library", n->library_name), TC_LOG_CSTR("error", n->error));
    tc_port_watches(port, 0);
    tc_port_ok(port);
}

/* Waits for the thread, unless it hangs: then it keeps what it works on. */
static void end_thread(struct tc__nvml *n)
{
    int64_t until_ns = tc_mono_ns() + END_NS;
    struct timespec until = tc_timespec(until_ns);
    (void)pthread_mutex_lock(&n->lock);
    n->is_stopping = true;
    (void)pthread_cond_broadcast(&n->wake);
    while (!n->has_ended && tc_mono_ns() < until_ns) {
        (void)pthread_cond_timedwait(&n->wake, &n->lock, &until);
    }
    (void)pthread_mutex_unlock(&n->lock);
}

static void run(void *state, struct tc_source_port *port)
{
    struct tc__nvml *n = state;
    if (!tc__nvml_start(n)) {
        tc_port_fail(port, "its thread cannot be started");
        return;
    }
    while (!tc_port_is_stopping(port)) {
        bool is_told = tc_port_wait(port, n->told_fd, LOOK_NS);
        if (is_wrong_guess(n)) {
            give_up(n, port);
            break;
        }
        if (is_told && !store(n, port)) {
            break;
        }
        tell_health(n, port);
    }
    end_thread(n);
}

/* ---- how it is ---- */

static void describe(void *state, struct tc_json_out *j)
{
    struct tc__nvml *n = state;
    (void)pthread_mutex_lock(&n->lock);
    tc_json_put_cstr(j, "driver", n->driver);
    tc_json_put_u64(j, "gpus", n->gpus_seen);
    tc_json_put_u64(j, "gpus_lost", n->gpus_lost);
    tc_json_put_u64(j, "xids", n->xids);
    (void)pthread_mutex_unlock(&n->lock);
}

static void metrics(void *state, struct tc_buf *b)
{
    struct tc__nvml *n = state;
    (void)pthread_mutex_lock(&n->lock);
    const struct {
        const char *name;
        const char *type;
        const char *help;
        uint64_t value;
    } rows[] = {
        {"tracecore_nvml_gpus", "gauge", "GPUs that NVML gives.", n->gpus_seen},
        {"tracecore_nvml_gpus_lost", "gauge", "Those of them that cannot be read.", n->gpus_lost},
        {"tracecore_nvml_xids_total", "counter", "Xids that NVML told of.", n->xids},
    };
    (void)pthread_mutex_unlock(&n->lock);
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        (void)tc_format(b, "# HELP {} {}\n# TYPE {} {}\n{} {}\n", rows[i].name, rows[i].help,
                        rows[i].name, rows[i].type, rows[i].name, rows[i].value);
    }
}

const struct tc_source_kind tc_source_nvml = {
    .name = "nvml",
    .run = run,
    .destroy = destroy,
    .describe = describe,
    .metrics = metrics,
};
