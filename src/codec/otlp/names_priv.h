/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of attrs.def as small numbers, so that a name is looked up once while a body is checked
 * and not again while it is read.
 */
#ifndef TC_CODEC_OTLP_NAMES_PRIV_H
#define TC_CODEC_OTLP_NAMES_PRIV_H

#include "base/slice.h"

#include <stdint.h>

/* What a name is, where it is none of the table; the others follow TC__OTLP_NAME_FIRST. */
enum {
    TC__OTLP_NAME_NOT_LOOKED_UP,
    TC__OTLP_NAME_OTHER,
    TC__OTLP_NAME_K8S_EVENT, /* k8s.event.* */
    TC__OTLP_NAME_FIRST,
};

#define TC__OTLP_NAME_SLOTS 256 /* a power of two */

/* Open addressing: the name of a row, or 0. tc__otlp_init fills it. */
struct tc__otlp_names {
    uint8_t slots[TC__OTLP_NAME_SLOTS];
};

/* Never TC__OTLP_NAME_NOT_LOOKED_UP. */
uint8_t tc__otlp_name(const struct tc__otlp_names *names, struct tc_slice key);

#endif
