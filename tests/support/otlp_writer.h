/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP/JSON to protobuf, for tests: written from opentelemetry-proto, with a table of its own, so
 * that it shares no mistake with the reader.
 */
#ifndef TC_TESTS_OTLP_WRITER_H
#define TC_TESTS_OTLP_WRITER_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * One request. *out is malloc'ed. padded: lengths take one byte more than they need, which protobuf
 * allows and nobody does. False when the text is no single document, or has something that
 * protobuf cannot say (a wrong type, a member that is not known).
 */
bool tc_otlp_write(struct tc_slice json, bool padded, char **out, size_t *out_length);

#endif
