/* SPDX-License-Identifier: Apache-2.0 */
#include "event/copy.h"

#include <stdint.h>
#include <string.h>

/* Payloads are aligned like the event itself. */
_Static_assert(_Alignof(struct tc_event) == TC_EVENT_COPY_ALIGN, "KIND_BYTES are multiples of it");

static const uint16_t KIND_BYTES[TC_EVENT_KIND_COUNT] = {
#define KIND(name, text, payload)                                       \
    [TC_EVENT_##name] = (uint16_t)(offsetof(struct tc_event, payload) + \
                                   sizeof(((struct tc_event *)NULL)->payload)),
    TC_EVENT_KIND_MAP(KIND)
#undef KIND
};

size_t tc_event_kind_bytes(enum tc_event_kind kind)
{
    return KIND_BYTES[kind];
}

size_t tc_event_copy_bytes(const struct tc_event_strings *strings, const struct tc_event *ev)
{
    size_t bytes = KIND_BYTES[ev->kind];
    const uint16_t *offsets = strings->offsets[ev->kind];
    for (size_t i = 0, count = strings->counts[ev->kind]; i < count; i++) {
        bytes += ((const struct tc_slice *)(const void *)((const char *)ev + offsets[i]))->len;
    }
    return (bytes + TC_EVENT_COPY_ALIGN - 1) & ~(TC_EVENT_COPY_ALIGN - 1);
}

void tc_event_copy(const struct tc_event_strings *strings, const struct tc_event *ev,
                   struct tc_event *to)
{
    char *text = (char *)to + KIND_BYTES[ev->kind];
    const uint16_t *offsets = strings->offsets[ev->kind];
    memcpy((void *)to, ev, KIND_BYTES[ev->kind]);
    for (size_t i = 0, count = strings->counts[ev->kind]; i < count; i++) {
        struct tc_slice *s = tc_event_string(to, offsets[i]);
        if (s->len > 0) {
            memcpy(text, s->ptr, s->len);
            s->ptr = text;
            text += s->len;
        }
    }
}
