/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs/ATTRIBUTES.md: which attributes, labels and metrics are read, and as what. Made of the
 * tables that the codecs read by, so that the page cannot say anything else.
 */
#ifndef TC_CODEC_ATTRIBUTES_H
#define TC_CODEC_ATTRIBUTES_H

#include "base/buf.h"

/* Room for the page. */
#define TC_ATTRIBUTES_MAX ((size_t)256 << 10)

void tc_attributes_write(struct tc_buf *out);

#endif
