/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Once means once, at any number: detection and the outbox together, as the daemon runs them.
 *
 *   bench_once [DIR [INCIDENTS [RESTARTS]]]
 *
 * So many incidents (160,000) are told by one life; then so many lives (3) begin with the marks of
 * the outbox and a replay of all events. One JSON line; exit 1 unless each incident was opened
 * exactly once.
 */
#include "base/time.h"
#include "live/live.h"
#include "outbox/outbox.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define T0 (INT64_C(1772600000) * TC_SECOND)
#define STEP_NS (TC_SECOND / 100)
#define CLOSE_NS (60 * TC_SECOND)

struct life {
    struct tc_outbox *outbox;
    struct tc_live *live;
    uint64_t opened;
    uint64_t other;
};

static void need(bool ok, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "bench_once: %s\n", what);
        exit(2);
    }
}

static tc_status tell(void *context, const struct tc_verdict *v,
                      const struct tc_incident_mark *mark)
{
    struct life *life = context;
    life->opened += v->status == TC_VERDICT_OPEN;
    life->other += v->status != TC_VERDICT_OPEN;
    tc_status status = TC_OK;
    while ((status = tc_outbox_put(life->outbox, mark, TC_LIT("{}"), 0)) == TC_E_LIMIT) {
        (void)usleep(1000); /* the disk is slower than this loop */
    }
    return status;
}

static tc_status restore(void *context, const struct tc_incident_mark *mark)
{
    return tc_live_restore(context, mark);
}

/* An uncorrectable memory error of a node's GPU: a verdict by itself. */
static void feed_fault(struct tc_live *live, unsigned n)
{
    char node[32];
    struct tc_event ev;
    (void)snprintf(node, sizeof node, "gpu-%u", n);
    tc_event_init(&ev, TC_EVENT_XID);
    ev.time_ns = T0 + (int64_t)n * STEP_NS;
    ev.scope.node = tc_slice_cstr(node);
    ev.scope.pci = (struct tc_bdf){.bus = 0x3b, .known = true};
    ev.xid.code = 48;
    need(n % 64 != 0 || tc_live_advance(live, ev.time_ns) == TC_OK, "the advance failed");
    need(tc_live_feed(live, &ev, ev.time_ns, false) == TC_OK, "the feed failed");
}

static void live_once(struct life *life, const char *dir, unsigned incidents, bool replaying)
{
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    struct tc_outbox_config box = {.dir = dir, .marks_max = config.told_max};
    struct tc_live_out out = {tell, life};
    struct tc_error err = {0};
    need(tc_live_create(&config, &out, &life->live, &err) == TC_OK, err.message);
    need(tc_outbox_open(&box, restore, life->live, &life->outbox, &err) == TC_OK, err.message);
    need(tc_outbox_start(life->outbox, &err) == TC_OK, err.message);
    need(tc_live_replaying(life->live, replaying) == TC_OK, "the replay failed");
    for (unsigned n = 0; n < incidents; n++) {
        feed_fault(life->live, n);
    }
    need(tc_live_replaying(life->live, false) == TC_OK, "the replay failed");
    int64_t end_ns = T0 + (int64_t)incidents * STEP_NS + 10 * TC_SECOND;
    need(tc_live_drain(life->live, end_ns) == TC_OK, "the drain failed");
    tc_outbox_close(life->outbox, CLOSE_NS);
    tc_live_destroy(life->live);
}

static int take_away(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static unsigned number_of(int argc, char **argv, int i, unsigned fallback)
{
    uint64_t value = 0;
    bool good = argc > i && tc_slice_is_u64(tc_slice_cstr(argv[i]), &value) && value <= 1000000;
    return good ? (unsigned)value : fallback;
}

int main(int argc, char **argv)
{
    char folder[512];
    char dir[600];
    struct life life = {0};
    (void)snprintf(folder, sizeof folder, "%s/tc_once_XXXXXX", argc > 1 ? argv[1] : "/tmp");
    need(mkdtemp(folder) != NULL, "cannot make a directory");
    (void)snprintf(dir, sizeof dir, "%s/outbox", folder);
    unsigned incidents = number_of(argc, argv, 2, 160000);
    unsigned restarts = number_of(argc, argv, 3, 3);
    for (unsigned i = 0; i <= restarts; i++) {
        live_once(&life, dir, incidents, i > 0);
    }
    (void)nftw(folder, take_away, 16, FTW_DEPTH | FTW_PHYS);
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    (void)printf("{\"bench\":\"once\",\"incidents\":%u,\"restarts\":%u,\"opened\":%llu,"
                 "\"updated_or_resolved\":%llu,\"cpu_seconds\":%ld,\"rss_mib\":%ld}\n",
                 incidents, restarts, (unsigned long long)life.opened,
                 (unsigned long long)life.other,
                 (long)(used.ru_utime.tv_sec + used.ru_stime.tv_sec), used.ru_maxrss / 1024);
    return life.opened == incidents ? 0 : 1;
}
