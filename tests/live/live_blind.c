/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_blind EVENTS PATTERN [CASE]: can a sender that invents names blind a detector? The events of
 * a case of tests/replay/PATTERN come from an honest sender. Another one sends copies of them under
 * names that do not exist (nodes, GPUs, pods, jobs, communicators, addresses), EVENTS of them:
 * before the fault, and while it goes on, with a restart at the end. Each incident that is opened
 * without the flood must be opened with it, once, and the flood must have been one: records were
 * pushed out. Without a CASE, the first of the pattern that fires.
 */
#include "base/table/sort.h"
#include "codec/codec.h"
#include "live/live.h"
#include "support/order.h"
#include "support/replay_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS (TC_SECOND / 1000)
#define JITTER_NS (15 * MS)
#define TAIL_NS (100 * TC_SECOND)
#define INCIDENTS_MAX 128
/* In every name that is invented. */
#define MARK '~'
#define NAMES_MAX 12
#define NAME_BYTES 320

enum attack { ATTACK_NONE, ATTACK_BEFORE, ATTACK_DURING, ATTACKS };
static const char *const ATTACK_NAMES[] = {"none", "before", "during"};

struct incident {
    char id[TC_INCIDENT_ID_LEN];
    char key[512];
    char pattern_id[8];
    struct tc_incident_mark mark;
    unsigned opened;
};

/* What was told of the honest sender's incidents. */
struct told {
    struct incident incidents[INCIDENTS_MAX];
    size_t count;
    uint64_t others;  /* verdicts about what was invented */
    uint64_t dropped; /* records of all windows */
};

struct world {
    struct tc_replay_case replay;
    struct tc_sort_pair arrivals[TC_ORDER_EVENTS_MAX]; /* key: when; value: which event */
    struct tc_live *lives[2];
    int64_t end_ns;
    size_t flood; /* events of it */
    uint64_t names;
};

static struct tc_event events[TC_ORDER_EVENTS_MAX];
static struct world world;
static struct told *told; /* by a child */

const char *__asan_default_options(void);
/* As in tests/order/order_replay.c. */
const char *__asan_default_options(void)
{
    return "allow_user_poisoning=0:poison_heap=0:quarantine_size_mb=0:"
           "thread_local_quarantine_size_kb=0:max_uar_stack_size_log=18";
}

static void need(bool ok, const char *what, const char *name)
{
    if (!ok) {
        (void)fprintf(stderr, "live_blind: %s: %s\n", name, what);
        exit(2);
    }
}

static struct incident *incident_of(struct told *t, struct tc_slice id)
{
    for (size_t i = 0; i < t->count; i++) {
        if (memcmp(t->incidents[i].id, id.ptr, TC_INCIDENT_ID_LEN) == 0) {
            return &t->incidents[i];
        }
    }
    need(t->count < INCIDENTS_MAX, "too many incidents", "");
    struct incident *in = &t->incidents[t->count++];
    memcpy(in->id, id.ptr, TC_INCIDENT_ID_LEN);
    return in;
}

static tc_status take(void *context, const struct tc_verdict *v,
                      const struct tc_incident_mark *mark)
{
    struct told *t = *(struct told **)context;
    if (memchr(mark->key.ptr, MARK, mark->key.len) != NULL) {
        t->others++;
        return TC_OK;
    }
    struct incident *in = incident_of(t, mark->incident_id);
    in->opened += v->status == TC_VERDICT_OPEN;
    (void)snprintf(in->key, sizeof in->key, "%.*s", TC_FMT(mark->key));
    (void)snprintf(in->pattern_id, sizeof in->pattern_id, "%.*s", TC_FMT(mark->pattern_id));
    in->mark = *mark;
    in->mark.key = tc_slice_cstr(in->key);
    in->mark.pattern_id = tc_slice_cstr(in->pattern_id);
    in->mark.incident_id = tc_slice_make(in->id, TC_INCIDENT_ID_LEN);
    return TC_OK;
}

/* ---- the attacker ---- */

static size_t names_of(struct tc_event *ev, struct tc_slice *out[NAMES_MAX])
{
    size_t n = 0;
    out[n++] = &ev->uid;
    out[n++] = &ev->scope.node;
    out[n++] = &ev->scope.pod;
    out[n++] = &ev->scope.pod_uid;
    out[n++] = &ev->scope.job;
    out[n++] = &ev->scope.gpu_uuid;
    if (ev->kind == TC_EVENT_K8S_EVENT || ev->kind == TC_EVENT_NODE_CONDITION) {
        out[n++] = &ev->k8s.object_name;
        out[n++] = &ev->k8s.object_uid;
    } else if (ev->kind == TC_EVENT_OOM_KILL) {
        out[n++] = &ev->oom.container_id;
        out[n++] = &ev->oom.cgroup;
    } else if (ev->kind == TC_EVENT_ADDRESS) {
        out[n++] = &ev->address.address;
    } else if (ev->kind == TC_EVENT_NCCL_RAS) {
        out[n++] = &ev->ras.comm;
    }
    return n;
}

static void invent_group(struct tc_event *ev, uint64_t name)
{
    uint64_t *key = ev->kind == TC_EVENT_NCCL_RECORD   ? &ev->nccl.group_key
                    : ev->kind == TC_EVENT_NCCL_GROUP  ? &ev->group.group_key
                    : ev->kind == TC_EVENT_NCCL_STATUS ? &ev->status.group_key
                                                       : NULL;
    if (key != NULL && *key != 0) {
        *key = tc_hash_mix(*key, name) | 1;
    }
}

static bool is_dump(const struct world *w, const struct tc_event *ev)
{
    const struct tc_input *in = &w->replay.reading.inputs.items[ev->raw.source];
    return strcmp(in->codec->name, "flight_recorder") == 0;
}

/* A copy of an event under names that nobody has. */
static void feed_invented(struct world *w, struct tc_live *l, const struct tc_event *like,
                          int64_t at_ns)
{
    static char text[NAMES_MAX][NAME_BYTES];
    struct tc_slice *names[NAMES_MAX];
    struct tc_event ev = *like;
    uint64_t name = ++w->names;
    bool dump = is_dump(w, like);
    size_t count = names_of(&ev, names);
    bool named = false;
    for (size_t i = 0; i < count; i++) {
        if (names[i]->len > 0 && names[i]->len < NAME_BYTES - 32) {
            (void)snprintf(text[i], sizeof text[i], "%.*s%c%llx", TC_FMT(*names[i]), MARK,
                           (unsigned long long)name);
            *names[i] = tc_slice_cstr(text[i]);
            named = named || i > 0;
        }
    }
    if (!named) { /* what nobody is named in is about somebody all the same */
        (void)snprintf(text[0], sizeof text[0], "node%c%llx", MARK, (unsigned long long)name);
        ev.scope.node = tc_slice_cstr(text[0]);
    }
    invent_group(&ev, name);
    ev.sender = 2;
    if (!dump && ev.time_ns != TC_TIME_NONE) {
        ev.time_ns = at_ns;
    }
    need(tc_live_feed(l, &ev, at_ns, dump) == TC_OK, "the feed failed", "");
}

static void flood(struct world *w, struct tc_live *l, size_t count, int64_t at_ns)
{
    for (size_t i = 0; i < count; i++) {
        feed_invented(w, l, &w->replay.events[i % w->replay.count], at_ns);
    }
}

/* ---- one daemon ---- */

static void run_to(struct tc_live *l, int64_t now_ns)
{
    for (int64_t due; (due = tc_live_due(l)) < now_ns && due != TC_TIME_NONE;) {
        need(tc_live_advance(l, due) == TC_OK, "the advance failed", "");
    }
    need(tc_live_advance(l, now_ns) == TC_OK, "the advance failed", "");
}

static void feed(struct world *w, struct tc_live *l, enum attack attack)
{
    size_t count = w->replay.count;
    w->names = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tc_event *ev = &w->replay.events[w->arrivals[i].value];
        int64_t at_ns = (int64_t)w->arrivals[i].key;
        bool dump = is_dump(w, ev);
        if (i == 0 && attack == ATTACK_BEFORE) {
            flood(w, l, w->flood, at_ns);
        }
        run_to(l, at_ns);
        need(tc_live_feed(l, ev, at_ns, dump) == TC_OK, "the feed failed", "");
        if (attack == ATTACK_DURING) {
            flood(w, l, (i + 1) * w->flood / count - i * w->flood / count, at_ns);
        }
        bool ends = i + 1 == count ||
                    w->replay.events[w->arrivals[i + 1].value].raw.source != ev->raw.source;
        if (dump && ends) {
            need(tc_live_end_of_file(l, at_ns, false) == TC_OK, "the end of a file failed", "");
        }
    }
}

static void run(struct world *w, enum attack attack)
{
    struct tc_live *l = w->lives[0];
    feed(w, l, attack);
    if (attack == ATTACK_DURING) {
        struct tc_live *next = w->lives[1];
        for (size_t i = 0; i < told->count; i++) {
            need(tc_live_restore(next, &told->incidents[i].mark) == TC_OK, "restore failed", "");
        }
        need(tc_live_replaying(next, true) == TC_OK, "the replay failed", "");
        feed(w, next, attack);
        need(tc_live_replaying(next, false) == TC_OK, "the replay failed", "");
        l = next;
    }
    run_to(l, w->end_ns + TAIL_NS);
    need(tc_live_drain(l, w->end_ns + TAIL_NS) == TC_OK, "the drain failed", "");
    size_t detectors = 0;
    (void)tc_detectors(&detectors);
    for (size_t i = 0; i < detectors; i++) {
        struct tc_detector_stats stats;
        tc_engine_detector_stats(tc_live_engine(l), i, &stats);
        told->dropped += stats.dropped;
    }
}

static void run_apart(struct world *w, enum attack attack)
{
    int status = 0;
    memset(told, 0, sizeof *told);
    pid_t child = fork();
    if (child == 0) {
        run(w, attack);
        _exit(0);
    }
    need(child > 0 && waitpid(child, &status, 0) == child, "cannot fork", "");
    need(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a run crashed", w->replay.name);
    for (size_t i = 0; i < told->count; i++) { /* pointers of the child */
        struct incident *in = &told->incidents[i];
        in->mark.key = tc_slice_cstr(in->key);
    }
}

/* ---- the cases ---- */

static void plan_arrivals(struct world *w)
{
    static struct tc_sort_pair scratch[TC_ORDER_EVENTS_MAX];
    int64_t first_ns = INT64_C(1772600000) * TC_SECOND;
    int64_t last_ns = 0;
    for (size_t i = 0; i < w->replay.count; i++) {
        const struct tc_event *ev = &w->replay.events[i];
        bool dump = is_dump(w, ev) || ev->time_ns == TC_TIME_NONE;
        first_ns = !dump && ev->time_ns < first_ns ? ev->time_ns : first_ns;
        last_ns = ev->time_ns > last_ns ? ev->time_ns : last_ns;
    }
    last_ns = last_ns > 0 ? last_ns : first_ns;
    first_ns = first_ns < last_ns ? first_ns : last_ns;
    for (size_t i = 0; i < w->replay.count; i++) {
        const struct tc_event *ev = &w->replay.events[i];
        int64_t at_ns = ev->time_ns + JITTER_NS;
        if (ev->time_ns == TC_TIME_NONE) { /* a table of places is there from the start */
            at_ns = first_ns - TC_SECOND;
        } else if (is_dump(w, ev)) {
            at_ns = last_ns + JITTER_NS + ev->raw.source;
        }
        w->arrivals[i] = (struct tc_sort_pair){(uint64_t)at_ns, i};
        w->replay.events[i].sender = 1;
    }
    tc_sort_keys(w->arrivals, scratch, w->replay.count);
    last_ns = w->replay.last_ns > last_ns ? w->replay.last_ns : last_ns;
    w->end_ns = last_ns + TC_SECOND;
}

/* How many of the incidents without a flood were not opened once with it. */
static unsigned compare(const char *name, enum attack attack, const struct told *expected)
{
    unsigned failed = 0;
    for (size_t i = 0; i < expected->count; i++) {
        const struct incident *in = &expected->incidents[i];
        unsigned opened = 0;
        for (size_t k = 0; k < told->count; k++) {
            const struct incident *other = &told->incidents[k];
            opened +=
                strcmp(in->key, other->key) == 0 && strcmp(in->pattern_id, other->pattern_id) == 0
                    ? other->opened
                    : 0;
        }
        if (opened != 1) {
            (void)fprintf(stderr, "%s: flood %s: pattern %s, %s was opened %u times\n", name,
                          ATTACK_NAMES[attack], in->pattern_id, in->key, opened);
            failed++;
        }
    }
    return failed;
}

static unsigned check_case(const char *name, size_t flood_count)
{
    static struct told expected;
    struct tc_error err = {0};
    unsigned failed = 0;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    struct tc_live_out out = {take, &told};
    memset(&world, 0, sizeof world);
    for (size_t i = 0; i < 2; i++) {
        need(tc_live_create(&config, &out, &world.lives[i], &err) == TC_OK, err.message, name);
    }
    struct tc_engine *engines[] = {tc_live_engine(world.lives[0]), tc_live_engine(world.lives[1])};
    tc_replay_case_open(&world.replay, name, events, TC_ORDER_EVENTS_MAX, engines, 2);
    world.flood = flood_count;
    plan_arrivals(&world);
    run_apart(&world, ATTACK_NONE);
    expected = *told;
    need(expected.count > 0, "the case has no incident", name);
    for (enum attack attack = ATTACK_BEFORE; attack < ATTACKS; attack++) {
        run_apart(&world, attack);
        unsigned bad = compare(name, attack, &expected);
        failed += bad + (told->dropped == 0);
        (void)printf(
            "%s: flood %s: %u of %zu incidents missed, %llu told of others, %llu dropped\n", name,
            ATTACK_NAMES[attack], bad, expected.count, (unsigned long long)told->others,
            (unsigned long long)told->dropped);
    }
    tc_replay_case_close(&world.replay);
    tc_live_destroy(world.lives[0]);
    tc_live_destroy(world.lives[1]);
    return failed;
}

int main(int argc, char **argv)
{
    struct dirent **names = NULL;
    unsigned failed = 0;
    bool found = false;
    need(argc >= 3, "usage: live_blind EVENTS PATTERN [CASE]", "");
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(told != MAP_FAILED, "no memory", "");
    size_t flood_count = strtoul(argv[1], NULL, 10);
    int count = tc_replay_case_list(argv[2], &names);
    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;
        bool wanted =
            argc > 3 ? strcmp(argv[3], name) == 0 : !found && strncmp(name, "fires_", 6) == 0;
        if (wanted) {
            found = true;
            need(chdir(name) == 0, "cannot go there", name);
            failed += check_case(name, flood_count);
            need(chdir("..") == 0, "cannot go back", name);
        }
        free(names[i]);
    }
    free(names);
    need(found, "no such case", argv[2]);
    return failed == 0 ? 0 : 1;
}
