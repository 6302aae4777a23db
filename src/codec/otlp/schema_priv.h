/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of OTLP and their fields: fields.def, with an index to find a field by its
 * number or by its name in JSON.
 */
#ifndef TC_CODEC_OTLP_SCHEMA_PRIV_H
#define TC_CODEC_OTLP_SCHEMA_PRIV_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tc__otlp_message_id {
#define MESSAGE(id, role) TC__OTLP_M_##id,
#define FIELD(number, name, type, keep)
#define LIST(number, name, type, keep)
#define NESTED(number, name, message, keep)
#define NESTEDS(number, name, message, keep)
#define ATTRIBUTES(number, name, keep)
#include "codec/otlp/fields.def"
#undef MESSAGE
#undef FIELD
#undef LIST
#undef NESTED
#undef NESTEDS
#undef ATTRIBUTES
    TC__OTLP_MESSAGE_COUNT
};

/* What a message is to whoever counts and limits. */
enum tc__otlp_role {
    TC__OTLP_PLAIN,
    TC__OTLP_RESOURCE, /* the records of one resource */
    TC__OTLP_SCOPE,    /* ... of one scope */
    TC__OTLP_METRIC,
    TC__OTLP_RECORD, /* a log record, a data point or a span */
    TC__OTLP_PAIR,   /* KeyValue */
    TC__OTLP_VALUE,  /* AnyValue */
};

enum tc__otlp_type {
    TC__OTLP_T_MESSAGE,
    TC__OTLP_T_STRING,
    TC__OTLP_T_BYTES,
    TC__OTLP_T_ID16, /* a trace's id: 16 bytes or none */
    TC__OTLP_T_ID8,
    TC__OTLP_T_BOOL,
    TC__OTLP_T_ENUM,
    TC__OTLP_T_UINT32,
    TC__OTLP_T_SINT32,
    TC__OTLP_T_INT64,
    TC__OTLP_T_UINT64,
    TC__OTLP_T_FIXED32,
    TC__OTLP_T_FIXED64,
    TC__OTLP_T_SFIXED64,
    TC__OTLP_T_DOUBLE,
};

/* What becomes of a field on the tape. */
enum tc__otlp_keep {
    TC__OTLP_K_NONE,
    TC__OTLP_K_TRANSPARENT, /* no node of its own, but what is inside may have */
    TC__OTLP_K_RESOURCE_LOGS,
    TC__OTLP_K_RESOURCE_METRICS,
    TC__OTLP_K_RESOURCE_SPANS,
    TC__OTLP_K_RESOURCE,
    TC__OTLP_K_RECORD,
    TC__OTLP_K_TIME,
    TC__OTLP_K_OBSERVED,
    TC__OTLP_K_SEVERITY_NUMBER,
    TC__OTLP_K_SEVERITY_TEXT,
    TC__OTLP_K_EVENT_NAME,
    TC__OTLP_K_BODY,
    TC__OTLP_K_ATTRIBUTE,
    TC__OTLP_K_KEY,   /* of a pair: goes into the pair's node */
    TC__OTLP_K_VALUE, /* of a pair or of an array; and what an AnyValue holds */
    TC__OTLP_K_ARRAY, /* makes the AnyValue's node an array */
    TC__OTLP_K_PAIRS, /* ... or a list of pairs */
    TC__OTLP_K_METRIC,
    TC__OTLP_K_NAME,
    TC__OTLP_K_GAUGE,
    TC__OTLP_K_SUM,
    TC__OTLP_K_TEMPORALITY,
    TC__OTLP_K_POINT,
    TC__OTLP_K_AS_DOUBLE,
    TC__OTLP_K_AS_INT,
    TC__OTLP_K_FLAGS,
    TC__OTLP_K_UNIT,
    TC__OTLP_K_MONOTONIC,
    TC__OTLP_K_HISTOGRAM, /* exponential ones too */
    TC__OTLP_K_SUMMARY,
    TC__OTLP_K_START,
    TC__OTLP_K_COUNT,
    TC__OTLP_K_TOTAL, /* the sum of a histogram's or summary's point */
    TC__OTLP_K_QUANTILE,
    TC__OTLP_K_RANK, /* which quantile */
    TC__OTLP_K_TRACE_ID,
    TC__OTLP_K_SPAN_KIND,
    TC__OTLP_K_END,
    TC__OTLP_K_STATUS,
    TC__OTLP_K_STATUS_MESSAGE,
    TC__OTLP_K_STATUS_CODE,
};

struct tc__otlp_field {
    struct tc_slice name; /* in JSON */
    uint8_t number;
    uint8_t type;    /* enum tc__otlp_type */
    uint8_t message; /* enum tc__otlp_message_id, with TC__OTLP_T_MESSAGE */
    uint8_t keep;    /* enum tc__otlp_keep */
    bool many;
    bool is_attributes; /* a list of pairs that limits count */
};

#define TC__OTLP_NUMBERS 20   /* field numbers are below this */
#define TC__OTLP_TAGS 128     /* protobuf's tags of one byte: number << 3 | wire type */
#define TC__OTLP_KEY_SLOTS 64 /* a power of two; a message has some 16 fields */

struct tc__otlp_message {
    const struct tc__otlp_field *fields;
    uint8_t field_count;
    uint8_t role;                        /* enum tc__otlp_role */
    uint8_t by_number[TC__OTLP_NUMBERS]; /* index in fields + 1 */
    uint8_t by_tag[TC__OTLP_TAGS];       /* the same, where the wire type is the field's */
    uint8_t by_key[TC__OTLP_KEY_SLOTS];  /* the same, open addressing */
};

struct tc__otlp_schema {
    struct tc__otlp_message messages[TC__OTLP_MESSAGE_COUNT];
};

void tc__otlp_schema_init(struct tc__otlp_schema *s);

/* How protobuf writes a type: enum tc_pb_wire by enum tc__otlp_type. */
extern const uint8_t tc__otlp_wires[];

/* What is kept of a log record's, a data point's or a metric's member of that name. */
enum tc__otlp_keep tc__otlp_keep_by_name(struct tc_slice name);

/* NULL: not known. */
static inline const struct tc__otlp_field *
tc__otlp_field_by_number(const struct tc__otlp_message *m, uint32_t number)
{
    unsigned index = number < TC__OTLP_NUMBERS ? m->by_number[number] : 0;
    return index == 0 ? NULL : &m->fields[index - 1];
}

/* NULL: not known, of another wire type, or longer than one byte. */
static inline const struct tc__otlp_field *tc__otlp_field_by_tag(const struct tc__otlp_message *m,
                                                                 unsigned char first)
{
    unsigned index = first < TC__OTLP_TAGS ? m->by_tag[first] : 0;
    return index == 0 ? NULL : &m->fields[index - 1];
}

static inline unsigned tc__otlp_key_slot(struct tc_slice key)
{
    unsigned first = (unsigned char)key.ptr[0];
    unsigned last = (unsigned char)key.ptr[key.len - 1];
    return (first * 3 + last + (unsigned)key.len * 5) & (TC__OTLP_KEY_SLOTS - 1);
}

static inline const struct tc__otlp_field *tc__otlp_field_by_key(const struct tc__otlp_message *m,
                                                                 struct tc_slice key)
{
    if (key.len == 0) {
        return NULL;
    }
    for (unsigned slot = tc__otlp_key_slot(key); m->by_key[slot] != 0;
         slot = (slot + 1) & (TC__OTLP_KEY_SLOTS - 1)) {
        const struct tc__otlp_field *f = &m->fields[m->by_key[slot] - 1];
        if (f->name.len == key.len && tc_bytes_eq(f->name.ptr, key.ptr, key.len)) {
            return f;
        }
    }
    return NULL;
}

#endif
