/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ncclras/ncclras.h"

#include "base/clock.h"
#include "base/json/out.h"
#include "source/ncclras/priv.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An unchanged report without a fault is stored again after this: it says that the job is well. */
#define REPEAT_NS (600 * TC_SECOND)
#define PROBE_NS (TC_SECOND / 5)

struct target {
    struct tc__ras_address at;
    bool has_report;
    uint64_t hash; /* of the last report that was stored */
    int64_t stored_ns;
    const char *state; /* a literal */
    char error[sizeof((struct tc__ras_talk *)NULL)->why];
    uint64_t reports;
    uint64_t stored;
};

/* `lock` guards state, error and counts of targets: describe reads them. */
struct ncclras {
    int64_t interval_ns;
    int64_t timeout_ns;
    pthread_mutex_t lock;
    size_t count;
    struct target targets[TC_NCCLRAS_TARGETS_MAX];
    struct tc__ras_talk talks[TC_NCCLRAS_TARGETS_MAX];
};

static void destroy(void *state)
{
    struct ncclras *n = state;
    if (n != NULL) {
        (void)pthread_mutex_destroy(&n->lock);
        free(n);
    }
}

static tc_status add_target(struct ncclras *n, struct tc_slice line, struct tc_slice local,
                            struct tc_error *err)
{
    if (n->count == TC_NCCLRAS_TARGETS_MAX) {
        return tc_fail(err, TC_E_USAGE, 0, "more than %d targets", TC_NCCLRAS_TARGETS_MAX);
    }
    struct target *t = &n->targets[n->count];
    TC_TRY(tc__ras_address_read(line, local, &t->at, err));
    t->state = "starting";
    n->count++;
    return TC_OK;
}

tc_status tc_ncclras_create(const struct tc_ncclras_config *config, void **out_state,
                            struct tc_error *err)
{
    struct ncclras *n = calloc(1, sizeof *n);
    tc_status status = TC_OK;
    if (n == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for NCCL's RAS service");
    }
    (void)pthread_mutex_init(&n->lock, NULL);
    n->interval_ns = config->interval_ns;
    n->timeout_ns = config->timeout_ns;
    for (struct tc_slice rest = config->targets; status == TC_OK && rest.len > 0;) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        status = tc_slice_trim(line).len == 0 ? TC_OK : add_target(n, line, config->node, err);
    }
    if (status != TC_OK) {
        destroy(n);
        return status;
    }
    *out_state = n;
    return TC_OK;
}

bool tc_ncclras_is_there(void)
{
    struct tc__ras_address at;
    struct tc_error err;
    if (tc__ras_address_read(TC_LIT(TC_NCCLRAS_LOCAL), TC_EMPTY, &at, &err) != TC_OK) {
        return false;
    }
    struct tc__ras_talk talk = {.at = &at};
    (void)tc__ras_talk_all(&talk, 1, PROBE_NS, -1);
    tc__ras_talk_end(&talk);
    return talk.is_ras;
}

/* ---- one round ---- */

static void note(struct ncclras *n, struct target *t, const char *state, const char *why)
{
    (void)pthread_mutex_lock(&n->lock);
    t->state = state;
    (void)snprintf(t->error, sizeof t->error, "%s", why);
    (void)pthread_mutex_unlock(&n->lock);
}

static void count(struct ncclras *n, struct target *t, bool is_stored)
{
    (void)pthread_mutex_lock(&n->lock);
    t->reports++;
    t->stored += is_stored;
    (void)pthread_mutex_unlock(&n->lock);
}

/* A report that is worth it. TC_E_AGAIN: the daemon ends. */
static tc_status take(struct ncclras *n, struct tc_source_port *port, struct target *t,
                      struct tc_slice text)
{
    struct tc__ras_report report;
    if (!tc__ras_report_read(text, &report)) {
        note(n, t, "failing", "answers with something that is no report");
        return TC_OK;
    }
    int64_t now_ns = tc_mono_ns();
    bool is_same = t->has_report && t->hash == report.hash && now_ns - t->stored_ns < REPEAT_NS;
    if (!report.is_well || !is_same) {
        struct tc_source_chunk chunk = {
            .name = tc_slice_cstr(t->at.name),
            .format = TC_LIT("ncclras"),
            .node = tc_slice_cstr(t->at.node),
            .job = tc_slice_cstr(t->at.job),
            .body = text,
            .records = 1,
            .is_file = text.len > TC_SOURCE_CHUNK_MAX, /* a report is read as a whole */
        };
        TC_TRY(tc_port_put(port, &chunk, 1));
        t->has_report = true;
        t->hash = report.hash;
        t->stored_ns = now_ns;
    }
    count(n, t, !report.is_well || !is_same);
    note(n, t, "ok", "");
    return TC_OK;
}

/* Without a job nobody listens, and the next job's report is news whatever it says. */
static void no_job(struct ncclras *n, struct target *t)
{
    t->has_report = false;
    note(n, t, "no job", "");
}

static void tell_health(struct ncclras *n, struct tc_source_port *port)
{
    for (size_t i = 0; i < n->count; i++) {
        if (strcmp(n->targets[i].state, "failing") == 0) {
            tc_port_fail(port, "%s: %s", n->targets[i].at.name, n->targets[i].error);
            return;
        }
    }
    tc_port_ok(port);
}

/* False: the daemon ends. */
static bool ask_all(struct ncclras *n, struct tc_source_port *port)
{
    for (size_t i = 0; i < n->count; i++) {
        n->talks[i] = (struct tc__ras_talk){.at = &n->targets[i].at, .fd = -1};
    }
    bool go_on = tc__ras_talk_all(n->talks, n->count, n->timeout_ns, tc_port_stop_fd(port));
    for (size_t i = 0; i < n->count; i++) {
        struct tc__ras_talk *talk = &n->talks[i];
        if (go_on && talk->step == TC__RAS_DONE) {
            go_on = take(n, port, &n->targets[i], tc_grow_slice(&talk->got)) == TC_OK;
        } else if (go_on && talk->step == TC__RAS_NO_JOB) {
            no_job(n, &n->targets[i]);
        } else if (go_on) {
            note(n, &n->targets[i], "failing", talk->why);
        }
        tc__ras_talk_end(talk);
    }
    if (go_on) {
        tell_health(n, port);
    }
    return go_on;
}

static void run(void *state, struct tc_source_port *port)
{
    struct ncclras *n = state;
    tc_port_watches(port, n->count);
    while (!tc_port_is_stopping(port)) {
        int64_t begin_ns = tc_mono_ns();
        if (!ask_all(n, port)) {
            return;
        }
        int64_t left_ns = begin_ns + n->interval_ns - tc_mono_ns();
        if (left_ns > 0) {
            (void)tc_port_wait(port, -1, left_ns);
        }
    }
}

static void describe(void *state, struct tc_json_out *j)
{
    struct ncclras *n = state;
    (void)pthread_mutex_lock(&n->lock);
    tc_json_put_array(j, "targets");
    for (size_t i = 0; i < n->count; i++) {
        const struct target *t = &n->targets[i];
        tc_json_add_object(j);
        tc_json_put_cstr(j, "name", t->at.name);
        tc_json_put_cstr(j, "node", t->at.node);
        tc_json_put_cstr(j, "state", t->state);
        if (t->error[0] != '\0') {
            tc_json_put_cstr(j, "error", t->error);
        }
        tc_json_put_u64(j, "reports", t->reports);
        tc_json_put_u64(j, "stored", t->stored);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    (void)pthread_mutex_unlock(&n->lock);
}

const struct tc_source_kind tc_source_ncclras = {
    .name = "ncclras", .run = run, .destroy = destroy, .describe = describe};
