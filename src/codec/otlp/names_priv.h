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

/* What an attribute of a log record is read for; bits. */
enum tc__otlp_use {
    TC__OTLP_USE_NONE = 1,  /* nothing, but in a record whose attributes are all read */
    TC__OTLP_USE_VALUE = 2, /* what it means */
    TC__OTLP_USE_ALL = 4,   /* it may say that all attributes of its record are read */
};

/* tc__otlp_init fills it. */
struct tc__otlp_names {
    uint8_t slots[TC__OTLP_NAME_SLOTS]; /* open addressing: the name of a row, or 0 */
    uint8_t use[UINT8_MAX + 1];         /* enum tc__otlp_use, by name */
};

/* Never TC__OTLP_NAME_NOT_LOOKED_UP. */
uint8_t tc__otlp_name(const struct tc__otlp_names *names, struct tc_slice key);

#endif
