/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP export requests as they come over the network, in protobuf or JSON. Strict, as a server has
 * to be: tc_otlp_check says whether a whole body is well-formed before anything is made of it, and
 * leaves a tape of what the body holds. Events (tc_otlp_events) and samples (tc_otlp_samples) are
 * made from the tape; the body is parsed once. The table of attributes is that of the otlp codec,
 * which reads files and forgives.
 *
 * A reader takes its memory when it is made; checking and reading allocate nothing. It belongs to
 * one thread.
 */
#ifndef TC_CODEC_OTLP_WIRE_H
#define TC_CODEC_OTLP_WIRE_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/codec.h"

#include <stddef.h>
#include <stdint.h>

enum tc_otlp_signal { TC_OTLP_LOGS, TC_OTLP_METRICS, TC_OTLP_TRACES };
enum tc_otlp_form { TC_OTLP_PROTOBUF, TC_OTLP_JSON };

/* What one request may be. A record over one of the last three is rejected, the rest is taken. */
struct tc_otlp_limits {
    size_t objects_max;     /* messages of any kind in a request, down to attributes and values: one
                               with more is refused when that is seen. 0: no bound */
    size_t depth_max;       /* of nested values; more is malformed. At most 1024 */
    size_t attributes_max;  /* of one record, data point, span, resource or scope */
    size_t key_bytes_max;   /* of an attribute */
    size_t value_bytes_max; /* of one string or byte value, bodies too */
};

#define TC_OTLP_LIMITS_OF(objects)                     \
    ((struct tc_otlp_limits){.objects_max = (objects), \
                             .depth_max = 64,          \
                             .attributes_max = 1024,   \
                             .key_bytes_max = 1024,    \
                             .value_bytes_max = (size_t)1 << 20})
#define TC_OTLP_LIMITS_DEFAULT TC_OTLP_LIMITS_OF(1048576)
/* A file is as long as it is, and nobody waits for it. */
#define TC_OTLP_LIMITS_FILE TC_OTLP_LIMITS_OF(0)

struct tc_otlp_counts {
    uint64_t records;  /* log records, data points or spans in the body */
    uint64_t rejected; /* of them over a limit: the number for partial success */
    const char *why;   /* of the first rejected one, a literal; NULL */
};

struct tc__otlp_node;

/*
 * What a body that passed the check holds, flat. Its memory is the reader's, until the next check;
 * tc_otlp_tape_move moves it elsewhere. Strings of it are in the body, which has to outlive it.
 */
struct tc_otlp_tape {
    enum tc_otlp_signal signal;
    enum tc_otlp_form form;
    struct tc_slice body;
    struct tc_slice text; /* strings of JSON that had escapes */
    const struct tc__otlp_node *nodes;
    uint32_t count;
    struct tc_otlp_counts counts;
};

/* What the tape needs elsewhere. */
size_t tc_otlp_tape_bytes(const struct tc_otlp_tape *tape);
/* Copies it to `memory`, tc_otlp_tape_bytes of it, aligned as malloc does; from then on the tape is
 * there. */
void tc_otlp_tape_move(struct tc_otlp_tape *tape, void *memory);

struct tc_otlp_reader;

/* NULL when there is no memory. body_max: the largest body that will be given. */
struct tc_otlp_reader *tc_otlp_reader_create(const struct tc_otlp_limits *limits, size_t body_max);
void tc_otlp_reader_destroy(struct tc_otlp_reader *r);
/* Takes effect with the next body. */
void tc_otlp_reader_limit(struct tc_otlp_reader *r, const struct tc_otlp_limits *limits);

/*
 * The tape of a body that is a well-formed request of that signal. TC_E_MALFORMED with offset and
 * field in err when it is not: over-long varints, lengths past the end, field 0, groups, wrong wire
 * types, ids of a wrong length, JSON of wrong types or with integers out of range, nesting over
 * depth_max, more objects than objects_max. Strings that are no UTF-8 are well-formed: they are
 * kept and shown escaped. An empty body is a request without records. TC_E_LIMIT for a body above
 * body_max, and for one with more values than one for each three bytes of body_max: empty ones in
 * great numbers.
 */
TC_CHECKED tc_status tc_otlp_check(struct tc_otlp_reader *r, enum tc_otlp_signal signal,
                                   enum tc_otlp_form form, struct tc_slice body,
                                   struct tc_otlp_tape *out_tape, struct tc_error *err);

/* The same for who wants no tape: next to no memory is used, however many values the body has. */
TC_CHECKED tc_status tc_otlp_verify(struct tc_otlp_reader *r, enum tc_otlp_signal signal,
                                    enum tc_otlp_form form, struct tc_slice body,
                                    struct tc_otlp_counts *out_counts, struct tc_error *err);

/*
 * Hands over the events of a body; rejected records make none. in->bytes is the tape's body,
 * in->source names it in the events' raw, whose offset and length are those of the record or data
 * point in it. Strings of events live in the body or in out->arena.
 */
TC_CHECKED tc_status tc_otlp_events(struct tc_otlp_reader *r, const struct tc_otlp_tape *tape,
                                    const struct tc_codec_input *in, struct tc_codec_out *out,
                                    struct tc_error *err);

/* What the last tc_otlp_events made of its body: events, and records that nothing reads. */
const struct tc_codec_cursor *tc_otlp_reader_seen(const struct tc_otlp_reader *r);

#endif
