/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order_replay PATTERN [CASE]: the cases of tests/replay/PATTERN, their events in many orders. The
 * files of a case are read as `tracecore detect` reads them, once; every order must give the bytes
 * of expected.ndjson.
 */
#include "support/order.h"
#include "support/replay_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHUFFLES 1000 /* of a pattern, over the cases that say something */
#define SHUFFLES_QUIET 12
#define CHAIN "fires_chain_of_four_files" /* the story of stories has as many for itself */
#define GOLDEN_BYTES TC_ORDER_OUT_BYTES

static struct tc_event events[TC_ORDER_EVENTS_MAX];
static char golden[GOLDEN_BYTES];
static size_t golden_len;

const char *__asan_default_options(void);
/* Windows are 500 MiB of address space: to mark what is free in them would take most of the time.
 * Every other test has the marks; and without them there is no use in keeping what was freed.
 * Frames that may not be used any more go round in 256 KiB for each size, not in 1 MiB, which is
 * out of the cache before it comes again. */
const char *__asan_default_options(void)
{
    return "allow_user_poisoning=0:poison_heap=0:quarantine_size_mb=0:"
           "thread_local_quarantine_size_kb=0:max_uar_stack_size_log=18";
}

static void need(bool ok, const char *what, const char *name)
{
    if (!ok) {
        (void)fprintf(stderr, "order_replay: %s: %s\n", name, what);
        exit(2);
    }
}

/*
 * Not held where senders lag. Transfers have no number that both ends share, so the ends of one are
 * found by their order of arrival; and which pod a second kill was in is known when it is told,
 * not when it happened (host_oom), which then says more.
 */
static bool is_known(const char *name, enum tc_order_kind kind)
{
    return (kind == TC_ORDER_LAGGING && strcmp(name, "fires_twice_for_two_bursts") == 0) ||
           (kind == TC_ORDER_LAGGING_NODES && strcmp(name, "fires_on_slow_links_of_rank") == 0);
}

static unsigned shuffle_case(const char *name, unsigned shuffles)
{
    static struct tc_order order;
    static struct tc_replay_case replay;
    unsigned failed = 0;
    tc_order_init(&order);
    tc_replay_case_open(&replay, name, events, TC_ORDER_EVENTS_MAX, order.engines,
                        TC_ORDER_ENGINES);
    struct tc_sources sources = tc_inputs_sources(&replay.reading.inputs);
    order.name = name;
    order.events = events;
    order.count = replay.count;
    order.now_ns = replay.reading.hints.now_ns;
    order.last_ns = replay.last_ns;
    order.sources = &sources;
    for (uint32_t i = 0; i < replay.reading.inputs.count; i++) {
        struct tc_source_view view; /* digests are made here, once */
        (void)sources.view(sources.context, i, &view);
    }
    struct tc_slice told = tc_order_expect(&order);
    if (!tc_slice_eq(told, tc_slice_make(golden, golden_len))) {
        (void)fprintf(stderr, "%s: in canonical order it is not as in expected.ndjson:\n%.*s\n",
                      name, TC_FMT(told));
        failed++;
    }
    for (unsigned i = 0; i < shuffles; i++) {
        enum tc_order_kind kind = (enum tc_order_kind)(i % TC_ORDER_KINDS);
        if (!is_known(name, kind) && !tc_order_holds(&order, kind, i)) {
            failed++;
            order.quiet = failed >= TC_ORDER_KINDS;
        }
    }
    tc_replay_case_close(&replay);
    tc_order_fini(&order);
    return failed;
}

int main(int argc, char **argv)
{
    char path[1024];
    struct dirent **names = NULL;
    unsigned loud = 0;
    unsigned done = 0;
    unsigned failed = 0;
    need(argc >= 2, "usage: order_replay PATTERN [CASE]", "");
    int count = tc_replay_case_list(argv[1], &names);
    for (int i = 0; i < count; i++) {
        struct stat st;
        (void)snprintf(path, sizeof path, "%s/expected.ndjson", names[i]->d_name);
        loud += stat(path, &st) == 0 && st.st_size > 0;
    }
    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;
        if (argc < 3 || strcmp(argv[2], name) == 0) {
            need(chdir(name) == 0, "cannot go there", name);
            golden_len = tc_replay_case_file("expected.ndjson", golden, sizeof golden);
            unsigned shuffles = golden_len == 0 ? SHUFFLES_QUIET : SHUFFLES / loud + 1;
            shuffles = strcmp(name, CHAIN) == 0 ? SHUFFLES : shuffles;
            unsigned bad = shuffle_case(name, shuffles);
            (void)printf("%s: %u shuffles, %u differ\n", name, shuffles, bad);
            done += golden_len == 0 ? 0 : shuffles;
            failed += bad;
            need(chdir("..") == 0, "cannot go back", name);
        }
        free(names[i]);
    }
    free(names);
    (void)printf("%u shuffles of what fires, %u failures\n", done, failed);
    return failed == 0 ? 0 : 1;
}
