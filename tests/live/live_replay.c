/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_replay PATTERN [CASE]: the cases of tests/replay/PATTERN, as a daemon would see them: events
 * as they arrive, dumps as files that are given whole. What was told last of each incident must be
 * what `tracecore detect` says, with the same incident ids; and it must be the same when the
 * daemon ends at some moment and another one goes on from what was told and a replay.
 */
#include "base/table/sort.h"
#include "codec/codec.h"
#include "live/live.h"
#include "support/essence.h"
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
/* After the last event: what detectors wait for to see whether more comes. */
#define TAIL_NS (100 * TC_SECOND)
#define RESTARTS 3
/* Between the ends of files that somebody gives one by one. */
#define SLOW_NS (3 * TC_SECOND)
#define INCIDENTS_MAX 256
#define LINE_MAX_BYTES 4096

struct incident {
    char id[TC_INCIDENT_ID_LEN];
    char key[512];
    char pattern_id[8];
    struct tc_incident_mark mark;
    unsigned opened;
    char line[LINE_MAX_BYTES];
    size_t len;
};

/* What was told, by all processes. */
struct world {
    struct tc_replay_case replay;
    struct tc_sort_pair arrivals[TC_ORDER_EVENTS_MAX]; /* key: when; value: which event */
    struct tc_live *lives[2];
    struct incident incidents[INCIDENTS_MAX];
    size_t incident_count;
    int64_t end_ns;
    bool wrong; /* opened twice, or told before it was opened */
    bool slow;  /* dumps come one by one: which came first names the incident */
};

static struct tc_event events[TC_ORDER_EVENTS_MAX];
static struct world world;
static struct tc_order order;
static char (*told)[TC_ORDER_OUT_BYTES]; /* by a child */

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
        (void)fprintf(stderr, "live_replay: %s: %s\n", name, what);
        exit(2);
    }
}

static tc_status take(void *context, const struct tc_verdict *v,
                      const struct tc_incident_mark *mark)
{
    struct world *w = context;
    size_t i = 0;
    while (i < w->incident_count &&
           memcmp(w->incidents[i].id, mark->incident_id.ptr, TC_INCIDENT_ID_LEN) != 0) {
        i++;
    }
    struct incident *in = &w->incidents[i];
    if (i == w->incident_count) {
        need(i < INCIDENTS_MAX, "too many incidents", "");
        w->incident_count++;
        memcpy(in->id, mark->incident_id.ptr, TC_INCIDENT_ID_LEN);
        w->wrong |= v->status != TC_VERDICT_OPEN;
    }
    in->opened += v->status == TC_VERDICT_OPEN;
    w->wrong |= in->opened != 1;
    (void)snprintf(in->key, sizeof in->key, "%.*s", TC_FMT(mark->key));
    (void)snprintf(in->pattern_id, sizeof in->pattern_id, "%.*s", TC_FMT(mark->pattern_id));
    in->mark = *mark;
    in->mark.key = tc_slice_cstr(in->key);
    in->mark.pattern_id = tc_slice_cstr(in->pattern_id);
    in->mark.incident_id = tc_slice_make(in->id, TC_INCIDENT_ID_LEN);
    struct tc_buf b = tc_buf_make(in->line, sizeof in->line);
    tc_essence_put(&b, v, !w->slow);
    in->len = b.len;
    return TC_OK;
}

/* ---- one daemon ---- */

static bool is_dump(const struct world *w, const struct tc_event *ev)
{
    const struct tc_input *in = &w->replay.reading.inputs.items[ev->raw.source];
    return strcmp(in->codec->name, "flight_recorder") == 0;
}

static void run_to(struct tc_live *l, int64_t now_ns)
{
    for (int64_t due; (due = tc_live_due(l)) < now_ns && due != TC_TIME_NONE;) {
        need(tc_live_advance(l, due) == TC_OK, "the advance failed", "");
    }
    need(tc_live_advance(l, now_ns) == TC_OK, "the advance failed", "");
}

/* The events from one to another, in the order in which they arrive. */
static void feed(struct world *w, struct tc_live *l, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct tc_event *ev = &w->replay.events[w->arrivals[i].value];
        int64_t at_ns = (int64_t)w->arrivals[i].key;
        bool dump = is_dump(w, ev);
        run_to(l, at_ns);
        need(tc_live_feed(l, ev, at_ns, dump) == TC_OK, "the feed failed", "");
        bool ends =
            i + 1 == to || w->replay.events[w->arrivals[i + 1].value].raw.source != ev->raw.source;
        if (dump && ends) {
            need(tc_live_end_of_file(l, at_ns, false) == TC_OK, "the end of a file failed", "");
        }
    }
}

/* A file that is given whole is stored whole: no daemon ends in the middle of one. */
static size_t whole_files(const struct world *w, size_t stop)
{
    while (stop > 0 && stop < w->replay.count) {
        const struct tc_event *before = &w->replay.events[w->arrivals[stop - 1].value];
        const struct tc_event *next = &w->replay.events[w->arrivals[stop].value];
        if (!is_dump(w, next) || before->raw.source != next->raw.source) {
            break;
        }
        stop++;
    }
    return stop;
}

static int by_text(const void *a, const void *b, void *context)
{
    (void)context;
    const struct incident *x = a;
    const struct incident *y = b;
    return tc_slice_cmp(tc_slice_make(x->line, x->len), tc_slice_make(y->line, y->len));
}

static void render(const struct world *w, char *out)
{
    static const void *sorted[INCIDENTS_MAX];
    static const void *scratch[INCIDENTS_MAX];
    struct tc_buf b = tc_buf_make(out, TC_ORDER_OUT_BYTES - 1);
    for (size_t i = 0; i < w->incident_count; i++) {
        sorted[i] = &w->incidents[i];
    }
    tc_sort_ptrs(sorted, scratch, w->incident_count, by_text, NULL);
    for (size_t i = 0; i < w->incident_count; i++) {
        const struct incident *in = sorted[i];
        tc_buf_str(&b, tc_slice_make(in->line, in->len));
        tc_buf_char(&b, '\n');
    }
    out[b.len] = '\0';
}

/* Ends the first daemon before event `stop`; another one goes on, its replay begins at `from`. */
static void run(struct world *w, size_t from, size_t stop)
{
    struct tc_live *l = w->lives[0];
    size_t count = w->replay.count;
    feed(w, l, 0, stop);
    if (stop < count) {
        struct tc_live *next = w->lives[1];
        for (size_t i = 0; i < w->incident_count; i++) {
            need(tc_live_restore(next, &w->incidents[i].mark) == TC_OK, "the restore failed", "");
        }
        need(tc_live_replaying(next, true) == TC_OK, "the replay failed", "");
        feed(w, next, from, stop);
        need(tc_live_replaying(next, false) == TC_OK, "the replay failed", "");
        feed(w, next, stop, count);
        l = next;
    }
    run_to(l, w->end_ns + TAIL_NS);
    need(tc_live_drain(l, w->end_ns + TAIL_NS) == TC_OK, "the drain failed", "");
}

static bool run_apart(struct world *w, size_t from, size_t stop)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        run(w, from, stop);
        render(w, *told);
        _exit(w->wrong ? 1 : 0);
    }
    need(child > 0 && waitpid(child, &status, 0) == child, "cannot fork", "");
    need(WIFEXITED(status) && WEXITSTATUS(status) <= 1, "a run crashed", w->replay.name);
    return WEXITSTATUS(status) == 0;
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
        uint64_t seed = ev->raw.source;
        int64_t jitter_ns = (int64_t)(tc_order_random(&seed) % JITTER_NS);
        int64_t at_ns = ev->time_ns + jitter_ns;
        if (ev->time_ns == TC_TIME_NONE) { /* a table of places is there from the start */
            at_ns = first_ns - TC_SECOND;
        } else if (is_dump(w, ev)) {
            at_ns = last_ns + JITTER_NS + ev->raw.source * (w->slow ? SLOW_NS : 1);
        }
        w->arrivals[i] = (struct tc_sort_pair){(uint64_t)at_ns, i};
    }
    tc_sort_keys(w->arrivals, scratch, w->replay.count);
    last_ns = w->replay.last_ns > last_ns ? w->replay.last_ns : last_ns;
    int64_t slow_ns = w->slow ? (int64_t)w->replay.reading.inputs.count * SLOW_NS : 0;
    w->end_ns = last_ns + slow_ns + TC_SECOND;
}

static bool same(const char *name, const char *what)
{
    const char *expected = tc_order_essence(&order);
    if (strcmp(expected, *told) == 0) {
        return true;
    }
    (void)fprintf(stderr, "%s: %s:\ndetect:\n%slive:\n%s", name, what, expected, *told);
    return false;
}

/*
 * Said by detect only because the input ended there: gauges of one reason each are one sample
 * when the next one comes.
 */
static bool needs_an_end(const char *name)
{
    return strcmp(name, "fires_on_gauges_of_single_reasons") == 0 ||
           strcmp(name, "fires_on_op_mismatch_in_log") == 0;
}

/* What detect says at the moment at which the daemon ends; a daemon is told no other one. */
static void expect(struct world *w, const struct tc_live_config *config, bool slow)
{
    w->slow = slow;
    plan_arrivals(w);
    order.last_ns = w->end_ns + TAIL_NS - config->silence_ns;
    order.ids = !slow;
    (void)tc_order_expect(&order);
}

/* Events whose time is only an order: the daemon has the time of arrival, and does not read them.
 */
static bool is_undated(const struct tc_replay_case *r)
{
    bool any = false;
    for (size_t i = 0; i < r->count; i++) {
        any = any || tc_time_is_order(r->events[i].time_ns);
    }
    return any;
}

static unsigned check_case(const char *name)
{
    struct tc_error err = {0};
    unsigned failed = 0;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    struct tc_live_out out = {take, &world};
    memset(&world, 0, sizeof world);
    tc_order_init(&order);
    for (size_t i = 0; i < 2; i++) {
        need(tc_live_create(&config, &out, &world.lives[i], &err) == TC_OK, err.message, name);
    }
    struct tc_engine *engines[] = {order.engine, tc_live_engine(world.lives[0]),
                                   tc_live_engine(world.lives[1])};
    tc_replay_case_open(&world.replay, name, events, TC_ORDER_EVENTS_MAX, engines, 3);
    order.events = events;
    order.count = world.replay.count;
    expect(&world, &config, false);
    uint64_t seed = 1;
    unsigned runs = is_undated(&world.replay) ? 0 : RESTARTS + 1;
    for (unsigned i = 0; i < runs; i++) {
        size_t count = world.replay.count;
        size_t stop = i == 0 || count == 0 ? count : tc_order_random(&seed) % count;
        stop = whole_files(&world, stop);
        bool once = run_apart(&world, 0, stop);
        if (!once) {
            (void)fprintf(stderr, "%s: an incident was not opened once, and first\n", name);
        }
        bool differs = !same(name, i == 0 ? "live" : "restarted");
        failed += !once || differs != needs_an_end(name);
        /* A replay that does not reach back to the beginning: nothing is opened again. */
        size_t from = whole_files(&world, stop == 0 ? 0 : tc_order_random(&seed) % stop);
        if (i > 0 && !run_apart(&world, from, stop)) {
            (void)fprintf(stderr, "%s: after half a replay something was opened again\n", name);
            failed++;
        }
    }
    expect(&world, &config, true);
    failed += runs > 0 && (!run_apart(&world, 0, world.replay.count) ||
                           (same(name, "slow") == needs_an_end(name)));
    tc_replay_case_close(&world.replay);
    tc_live_destroy(world.lives[0]);
    tc_live_destroy(world.lives[1]);
    tc_order_fini(&order);
    return failed;
}

int main(int argc, char **argv)
{
    struct dirent **names = NULL;
    unsigned failed = 0;
    need(argc >= 2, "usage: live_replay PATTERN [CASE]", "");
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(told != MAP_FAILED, "no memory", "");
    int count = tc_replay_case_list(argv[1], &names);
    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;
        if (argc < 3 || strcmp(argv[2], name) == 0) {
            need(chdir(name) == 0, "cannot go there", name);
            unsigned bad = check_case(name);
            (void)printf("%s: %u runs, %u differ\n", name, 2 * RESTARTS + 2u, bad);
            failed += bad;
            need(chdir("..") == 0, "cannot go back", name);
        }
        free(names[i]);
    }
    free(names);
    (void)printf("%d cases, %u failures\n", count, failed);
    return failed == 0 ? 0 : 1;
}
