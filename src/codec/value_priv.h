/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value of a document or request: plain JSON, OpenTelemetry's AnyValue ({"kvlistValue": ...}) in
 * JSON, or a node on the tape of a request (otlp/tape_priv.h). All are read through the functions
 * below, so that an object is the same object whichever way it came.
 */
#ifndef TC_CODEC_VALUE_PRIV_H
#define TC_CODEC_VALUE_PRIV_H

#include "base/json/json.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* Dies with the next parse. */
struct tc__value {
    struct tc_json v; /* on a tape: the tape, and the number of a node */
    bool there;       /* false: absent, and so is every member of it */
    bool any;         /* an AnyValue */
    bool tape;
};

struct tc__value_iter {
    struct tc_json_iter it;
    bool any;
    bool pairs; /* AnyValue: {key, value} elements */
    bool tape;
    /* On a tape, while attributes that came before are read: where to go on behind them; 0. */
    size_t back;
    size_t back_end;
};

/* The member of that name, absent when there is none or v is no object. */
struct tc__value tc__value_get(struct tc__value v, struct tc_slice key);
/* The member as a string; the empty slice when absent or of another type. */
struct tc_slice tc__value_string(struct tc__value v, struct tc_slice key);
/* The member as an integer, also one written as a string. */
int64_t tc__value_int(struct tc__value v, struct tc_slice key, int64_t fallback);
/* v itself as an integer, as a string. */
int64_t tc__value_number(struct tc__value v, int64_t fallback);
struct tc_slice tc__value_text(struct tc__value v);
/* Elements of an array or members of an object; over anything else it ends at once. */
struct tc__value_iter tc__value_iter(struct tc__value v);
/* out_key may be NULL. */
bool tc__value_next(struct tc__value_iter *it, struct tc_slice *out_key, struct tc__value *out);
/* A member that counts nanoseconds since 1970; 0 is OpenTelemetry's "not known". */
int64_t tc__value_unix_nano(struct tc__value v, struct tc_slice key);
/* The attributes of a resource, record or data point. */
struct tc__value_iter tc__value_attributes(struct tc__value owner);

#endif
