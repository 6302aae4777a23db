/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/format.h"

#include <string.h>

#define STAMP "w0000000-"
#define STAMP_DIGITS 7

struct tc_slice tc_bench_name(struct tc_buf *b, const char *prefix, unsigned number)
{
    size_t start = b->len;
    (void)tc_format(b, "{}{}", prefix, number);
    TC_ASSERT(!b->overflowed);
    return tc_buf_since(b, start);
}

struct tc_slice tc_bench_stamped(struct tc_bench_fixture *f, struct tc_buf *b, const char *prefix,
                                 unsigned number)
{
    size_t start = b->len;
    TC_ASSERT(f->stamp_count < 2 * TC_BENCH_WINDOW);
    f->stamps[f->stamp_count++] = b->data + start;
    tc_buf_lit(b, STAMP);
    (void)tc_bench_name(b, prefix, number);
    return tc_buf_since(b, start);
}

struct tc_event *tc_bench_put(struct tc_bench_fixture *f, size_t i, enum tc_event_kind kind,
                              int64_t time_ns)
{
    struct tc_event *ev = &f->events[i];
    tc_event_init(ev, kind);
    ev->time_ns = time_ns;
    ev->raw = (struct tc_raw){.source = 0, .offset = i * 200, .length = 180};
    return ev;
}

void tc_bench_kernel_xid(struct tc_bench_fixture *f, struct tc_buf *b, unsigned i, unsigned gpu,
                         int64_t code)
{
    struct tc_event *ev = tc_bench_put(f, i, TC_EVENT_XID, tc_bench_dense_ns(i));
    ev->scope.node = tc_bench_name(b, "gpu-node-", 100 + gpu / 8);
    ev->scope.pci = (struct tc_bdf){.bus = (uint8_t)(16 + gpu % 8), .known = true};
    ev->scope.pid = 4711;
    ev->xid.code = code;
    ev->xid.process = TC_LIT("python");
    ev->xid.message = TC_LIT("pid=4711, name=python");
}

const struct tc_bench_pattern *tc_bench_patterns(size_t *out_count)
{
    static const struct tc_bench_pattern patterns[] = {
#define DETECTOR(pattern) {.name = #pattern, .fill = tc_bench_fill_##pattern},
#include "detect/detectors.def"
#undef DETECTOR
    };
    *out_count = TC_COUNT(patterns);
    return patterns;
}

void tc_bench_next_window(struct tc_bench_fixture *f)
{
    f->window++;
    for (size_t i = 0; i < f->stamp_count; i++) {
        uint64_t rest = f->window;
        for (size_t d = STAMP_DIGITS; d > 0; d--) {
            f->stamps[i][d] = (char)('0' + rest % 10);
            rest /= 10;
        }
    }
    for (size_t i = 0; i < TC_BENCH_WINDOW; i++) {
        struct tc_event *ev = &f->events[i];
        ev->time_ns += f->span_ns;
        if (ev->kind == TC_EVENT_NCCL_RECORD) {
            ev->nccl.seq += 1000;
            if (ev->nccl.completed_ns != TC_TIME_NONE) {
                ev->nccl.completed_ns += f->span_ns;
            }
        } else if (ev->kind == TC_EVENT_METRIC) {
            ev->metric.value += f->metric_step;
        } else if (ev->kind == TC_EVENT_TRAIN_STEP) {
            ev->train.step += 1000;
        }
    }
}
