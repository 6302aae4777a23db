/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

/* 256 daemons lose two sources each, and have them back. */
enum { NODES = 256 };

void tc_bench_fill_source_failing(struct tc_bench_fixture *f)
{
    static const struct tc_slice SOURCES[] = {{"scrape", 6}, {"kubernetes", 10}};
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    unsigned n = 0;
    for (unsigned state = 0; state < 2; state++) {
        for (unsigned i = 0; i < NODES; i++) {
            for (unsigned k = 0; k < 2; k++) {
                int64_t time_ns = TC_BENCH_START_NS + n * TC_SECOND / 100;
                struct tc_event *ev = tc_bench_put(f, n++, TC_EVENT_SOURCE_STATE, time_ns);
                ev->scope.node = tc_bench_stamped(f, &b, "gpu-node-", i);
                ev->source.source = SOURCES[k];
                ev->source.state = state == 0 ? TC_LIT("failing") : TC_LIT("ok");
                ev->source.since_ns = time_ns - 300 * TC_SECOND;
                ev->source.message = TC_LIT("Could not connect to server");
            }
        }
    }
    f->verdicts = (size_t)4 * NODES; /* opened, one more, one less, over */
    f->span_ns = 3600 * TC_SECOND;
    f->settle_ns = 0;
}
