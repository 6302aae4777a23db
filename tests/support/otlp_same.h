/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same request in three ways: by the otlp codec, which reads files, and by the daemon's reader
 * as JSON and as protobuf. Where all take it, the events have to be the same.
 */
#ifndef TC_TESTS_OTLP_SAME_H
#define TC_TESTS_OTLP_SAME_H

#include "base/slice.h"

#include <stddef.h>

struct tc_otlp_same {
    size_t events;   /* of the otlp codec */
    size_t requests; /* compared; 0 when the text is not one request that is well-formed */
    size_t protobuf; /* of them in protobuf as well */
};

/* Compares each line of text that is a request; the whole text when it has no line that is. Stops
 * the test at a difference. */
void tc_otlp_same(struct tc_slice text, struct tc_otlp_same *out);

#endif
