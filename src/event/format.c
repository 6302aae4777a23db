/* SPDX-License-Identifier: Apache-2.0 */
#include "event/format.h"

static void write_pci(struct tc_buf *b, const struct tc_arg *arg)
{
    uint64_t bits = arg->natural;
    tc_buf_bdf(b, (struct tc_bdf){.domain = (uint32_t)(bits >> 24),
                                  .bus = (uint8_t)(bits >> 16),
                                  .device = (uint8_t)(bits >> 8),
                                  .function = (uint8_t)bits});
}

struct tc_arg tc_as_pci(struct tc_bdf pci)
{
    return (struct tc_arg){.write = write_pci,
                           .natural = (uint64_t)pci.domain << 24 | (uint64_t)pci.bus << 16 |
                                      (uint64_t)pci.device << 8 | pci.function};
}

static void write_gpu(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_scope *s = arg->object;
    if (s->gpu_index >= 0) {
        (void)tc_format(b, "GPU {}{}", s->gpu_index,
                        tc_when(s->pci.known, " ({})", tc_as_pci(s->pci)));
    } else if (s->pci.known) {
        (void)tc_format(b, "GPU {}", tc_as_pci(s->pci));
    } else {
        /* A UUID says "GPU-" itself. */
        bool says = tc_slice_starts(s->gpu_uuid, TC_LIT("GPU-"));
        (void)tc_format(b, "{}{}", says ? "" : "GPU ", s->gpu_uuid);
    }
}

struct tc_arg tc_as_gpu(const struct tc_scope *scope)
{
    return tc_as_written(write_gpu, scope);
}

struct tc_arg tc_as_gpu_id(const struct tc_scope *scope)
{
    return scope->gpu_uuid.len > 0 ? tc_arg_text(scope->gpu_uuid)
           : scope->pci.known      ? tc_as_pci(scope->pci)
                                   : tc_arg_i64(scope->gpu_index);
}
