/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader and the writer of our own event format share. */
#ifndef TC_CODEC_EVENT_JSON_EVENT_JSON_PRIV_H
#define TC_CODEC_EVENT_JSON_EVENT_JSON_PRIV_H

#include "base/json/json.h"
#include "base/slice.h"
#include "codec/codec.h"
#include "event/event.h"
#include "event/fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC__EVENT_STATES (TC_NCCL_COMPLETED + 1)

/* The names of enum tc_nccl_state. */
extern const struct tc_slice tc__event_states[TC__EVENT_STATES];

/* A power of two, twice the fields of the richest kind: an empty slot is always near. */
#define TC__EVENT_SLOTS 64
/* Bits for the table's fields. */
#define TC__EVENT_SEEN_WORDS 4

/*
 * The fields of each kind by name; zero it before use. slots[kind] is a hash table from name to
 * field index + 1, made when the first event of the kind comes.
 */
struct tc__event_index {
    const struct tc_field *fields;
    size_t field_count;
    uint32_t indexed; /* bits of the kinds that have their slots */
    uint8_t slots[TC_EVENT_KIND_COUNT][TC__EVENT_SLOTS];
};

/* A field's value, wherever it came from. */
struct tc__event_value {
    enum tc_json_type type;
    struct tc_slice text; /* STRING */
    int64_t integer;      /* INT */
    double number;        /* INT, DOUBLE */
    bool truth;           /* BOOL */
};

/* An event while its fields are read. */
struct tc__event_draft {
    struct tc_arena *arena; /* for strings; NULL: they stay where they are */
    int32_t utc_offset_s;   /* zone of times without one */
    const char *advice;     /* a literal: what to do about JSON that cannot be parsed */
    struct tc_event event;
    bool unknown_field;
    uint64_t seen[TC__EVENT_SEEN_WORDS];
};

/* Nothing is known of the event but its kind. The first three members stay as they are. */
void tc__event_begin(struct tc__event_draft *d, enum tc_event_kind kind);
/* The field of that name; NULL when events of the kind have none. *out_again: it came before. */
const struct tc_field *tc__event_field(struct tc__event_index *index, struct tc__event_draft *d,
                                       struct tc_slice name, bool *out_again);
/* TC_E_MALFORMED when the value is not what the field's type expects. err may be NULL. */
TC_CHECKED tc_status tc__event_put(struct tc__event_draft *d, const struct tc_field *field,
                                   const struct tc__event_value *value, struct tc_error *err);
/* Fills in what producers may leave to us. */
void tc__event_end(struct tc__event_draft *d);

/*
 * One event as JSON. TC_E_NOTFOUND when its kind is not ours, TC_E_NOMEM, TC_E_MALFORMED with a
 * text in err, which may be NULL. With d->arena NULL its strings live until the parser's next text.
 */
TC_CHECKED tc_status tc__event_read(struct tc__event_index *index, struct tc_json_parser *parser,
                                    struct tc_slice json, struct tc__event_draft *d,
                                    struct tc_error *err);

#endif
