/* SPDX-License-Identifier: Apache-2.0 */
/* The nouns of events as arguments of tc_format: PCI addresses, GPUs, pods. */
#ifndef TC_EVENT_FORMAT_H
#define TC_EVENT_FORMAT_H

#include "base/format.h"
#include "event/event.h"

/* "0000:b3:00.0" */
struct tc_arg tc_as_pci(struct tc_bdf pci);
/* A GPU for a sentence, by index and address, one of them, or its UUID: "GPU 3 (0000:b3:00.0)". */
struct tc_arg tc_as_gpu(const struct tc_scope *scope);
/* A GPU for an id, by the first that is known of UUID, address and index. */
struct tc_arg tc_as_gpu_id(const struct tc_scope *scope);
/* "ns/name", or "name" without a namespace. Borrows both slices' bytes only. */
#define tc_as_pod(ns, name) tc_when(true, "{}{}{}", (ns), (ns).len > 0 ? "/" : "", (name))

#endif
