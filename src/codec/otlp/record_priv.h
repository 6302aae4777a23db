/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From log records and metrics to events. codec_json.c walks files of JSON to them, wire.c the tape
 * of a request; attrs.c knows which attribute means what; log.c decides what a log record is;
 * kernel.c hands the kernel's lines to the rules of the kmsg codec, event.c reads tracecore's own
 * events; metric.c reads data points. What is Kubernetes' goes to k8s/otlp.c, whose reading of
 * AnyValues all of these use.
 */
#ifndef TC_CODEC_OTLP_RECORD_PRIV_H
#define TC_CODEC_OTLP_RECORD_PRIV_H

#include "base/buf.h"
#include "base/slice.h"
#include "base/status.h"
#include "codec/codec.h"
#include "codec/event_json/event_json_priv.h"
#include "codec/k8s/k8s_priv.h"
#include "codec/kmsg/kmsg_priv.h"
#include "codec/metric/map_priv.h"
#include "codec/otlp/names_priv.h"
#include "codec/train_log/text_priv.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What attributes, and the fields of journald, say: attrs.def. */
enum tc__otlp_attr {
#define ATTRIBUTE(id, field, meaning) TC__OTLP_##id,
#define NAME(id, name, claim)
#include "codec/otlp/attrs.def"
#undef ATTRIBUTE
#undef NAME
    TC__OTLP_ATTR_COUNT
};

enum tc__otlp_value_kind { TC__OTLP_NOTHING, TC__OTLP_TEXT, TC__OTLP_WHOLE, TC__OTLP_REAL };

/* An attribute's value as it came. A text may be a number and an integer has a text: see
 * tc__otlp_text and tc__otlp_number, which work only where that is asked for. */
struct tc__otlp_value {
    struct tc_slice text; /* of TC__OTLP_TEXT */
    int64_t whole;
    double real; /* finite */
    uint8_t kind;
    uint8_t claim; /* of the name it came under; 0 when it did not come */
};

extern const struct tc__otlp_value tc__otlp_nothing;

/* Those that came: of[] holds nothing elsewhere, so that a record begins with clearing one word. */
struct tc__otlp_attrs {
    uint64_t came;      /* a bit for each enum tc__otlp_attr */
    bool has_k8s_event; /* one of k8s.event.* is there */
    struct tc__otlp_value of[TC__OTLP_ATTR_COUNT];
};

_Static_assert(TC__OTLP_ATTR_COUNT <= 64, "a bit each");

static inline const struct tc__otlp_value *tc__otlp_own(const struct tc__otlp_attrs *attrs,
                                                        enum tc__otlp_attr attr)
{
    return (attrs->came >> attr & 1) != 0 ? &attrs->of[attr] : &tc__otlp_nothing;
}

/* The most label pairs of a resource that are kept for its data points. */
#define TC__OTLP_LABELS_MAX TC__METRIC_PLACES

struct tc__otlp_label {
    const struct tc__metric_label_row *row;
    struct tc_slice value;
};

/* What a resource says about its records or data points. Strings in scratch. */
struct tc__otlp_resource {
    struct tc_k8s_resource k8s;
    struct tc__otlp_attrs attrs;
    struct tc__otlp_label labels[TC__OTLP_LABELS_MAX];
    size_t label_count;
};

/* One log record while it is being read. */
struct tc__otlp_record {
    const struct tc__otlp_resource *resource;
    struct tc__value v;
    struct tc__value body;
    int64_t time_ns;     /* timeUnixNano; TC_TIME_NONE */
    int64_t observed_ns; /* observedTimeUnixNano; TC_TIME_NONE */
    struct tc_slice event_name;
    struct tc_slice text; /* the message: of the body, or of the journal's field */
    struct tc__otlp_attrs attrs;
};

/* When it was made, else when it was seen. */
static inline int64_t tc__otlp_time(const struct tc__otlp_record *r)
{
    return r->time_ns != TC_TIME_NONE ? r->time_ns : r->observed_ns;
}

enum tc__otlp_line_state {
    TC__OTLP_LINE_RULED,   /* it was read, and the rules are tried on it */
    TC__OTLP_LINE_RAW,     /* no rule begins with it: read when a rule looks at it from another */
    TC__OTLP_LINE_READ,    /* ... and that happened */
    TC__OTLP_LINE_FOREIGN, /* ... but it is not one of the kernel's */
};

/* Where a line came from, and what its record says about it. */
struct tc__otlp_line {
    struct tc_raw record;
    struct tc_slice told; /* the node by the record's attributes, else its resource's */
    struct tc_slice host; /* the node where neither those nor the line name one */
    int64_t time_ns;      /* as in struct tc__otlp_record */
    int64_t observed_ns;
    bool is_kernel; /* the attributes say that the kernel wrote it */
    uint8_t state;  /* enum tc__otlp_line_state */
};

/*
 * Lines of the kernel, gathered until there are many or the call ends, so that lines which belong
 * together (a PCIe error has three) see each other. Most lines tell nothing: those wait as they
 * came, and are read only if a rule looks at them from another line. Strings that do not outlive
 * the call anyway are copied to text. Invariant: of[i] belongs to lines[i]; count <= cap; of a raw
 * line lines[i] has nothing but raw.
 */
struct tc__otlp_kernel {
    struct tc__kmsg_line *lines;
    struct tc__otlp_line *of;
    struct tc_buf text;
    size_t count;
    size_t ruled; /* of them */
    size_t cap;   /* 0: there was no memory for lines */
};

/* Data points of a metric whose labels are remembered for the next metric of the same resource. */
#define TC__OTLP_LABEL_SETS 256

/* What the attributes of a data point, and those of its resource, say; by the nodes of the former:
 * points that have the same nodes have the same attributes. */
struct tc__otlp_label_set {
    uint32_t node;  /* of the first pair */
    uint32_t pairs; /* UINT32_MAX: of no other point */
    bool lasts;     /* the labels are in what outlives the call */
    struct tc__metric_sample sample;
};

/* Invariant: next <= count <= TC__OTLP_LABEL_SETS. Of one tape and one resource. */
struct tc__otlp_label_sets {
    struct tc__otlp_label_set *of; /* NULL: none are remembered */
    size_t count;
    size_t next; /* the one that may come again now */
};

/* Names of metrics, each at its own remainder, and what they mean. */
#define TC__OTLP_METRIC_NAMES 256
#define TC__OTLP_METRIC_NAME_MAX 64

struct tc__otlp_metric_name {
    const struct tc__metric_row *row; /* NULL: nothing reads it */
    uint8_t length;                   /* 0: none is remembered */
    uint8_t link_at;                  /* the number of an NVLink in the name */
    uint8_t link_length;
    char text[TC__OTLP_METRIC_NAME_MAX];
};

/* Ranks of which it is remembered that their place was told; a power of two. */
#define TC__OTLP_PLACES 4096
/* One call of decode. decode comes first: the walker and k8s/otlp.c know only that. */
struct tc__otlp {
    struct tc__decode decode;
    struct tc__train_text train;
    struct tc__otlp_kernel kernel;
    /* For bodies that are events in JSON; NULL: made when the first one comes. */
    struct tc_json_parser *line_parser;
    struct tc__event_index event_index;
    /* Hashes of the places of ranks that were told, each at its own remainder: every record
     * repeats the place, and once is enough. */
    uint64_t places[TC__OTLP_PLACES];
    bool has_places;
    /* Set by tc__otlp_init. */
    struct tc__otlp_names names;
    struct tc_event blank_xid;
    struct tc__metric_keys label_keys; /* of the data points of a tape, whose keys last */
    struct tc__otlp_label_sets label_sets;
    struct tc__otlp_metric_name metric_names[TC__OTLP_METRIC_NAMES];
    struct tc_scan kernel_scan; /* see tc__kmsg_has_literal */
};

/* wire.c: what a reader maps with. */
struct tc_otlp_reader;
struct tc__otlp *tc__otlp_reader_mapping(struct tc_otlp_reader *r);

/* attrs.c */
/* What does not change from record to record: the search for wordings, the index of names. */
void tc__otlp_init(struct tc__otlp *o);
/* What is told by attributes comes before what a structured body tells. */
#define TC__OTLP_BOOST_ATTRIBUTE 10
#define TC__OTLP_BOOST_BODY 0
/* Adds the attributes of a resource or record, or the fields of a body; of one name the first
 * counts. Text is borrowed from the parser. */
void tc__otlp_attrs_add(struct tc__otlp *o, struct tc__value_iter pairs, uint8_t boost,
                        struct tc__otlp_attrs *io);
/* The same for one pair of a tape, in an attribute. */
struct tc_otlp_tape;
void tc__otlp_attrs_add_pair(struct tc__otlp *o, const struct tc_otlp_tape *tape, size_t at,
                             struct tc__otlp_attrs *io);
/* All that a resource says, *out being empty. */
TC_CHECKED tc_status tc__otlp_resource_read(struct tc__otlp *o, struct tc__value resource,
                                            struct tc__otlp_resource *out);
/* The value of the record, else of its resource. */
static inline const struct tc__otlp_value *tc__otlp_get(const struct tc__otlp_record *r,
                                                        enum tc__otlp_attr attr)
{
    return tc__otlp_own((r->attrs.came >> attr & 1) != 0 ? &r->attrs : &r->resource->attrs, attr);
}

/* Fills what is not known yet of an event's scope. */
void tc__otlp_scope(struct tc__otlp *o, const struct tc__otlp_record *r, struct tc_scope *io);
/* One value of any type. */
struct tc__otlp_value tc__otlp_value_read(struct tc__value v);
/* The text of a string or of an integer, which is written to scratch; empty otherwise. */
struct tc_slice tc__otlp_text(struct tc__otlp *o, const struct tc__otlp_value *v);
/* False when it is no number. */
bool tc__otlp_number(const struct tc__otlp_value *v, double *out);

/* log.c: one log record, as JSON text that decode.raw_offset points at, or parsed. */
TC_CHECKED tc_status tc__otlp_record(struct tc__otlp *o, const struct tc__otlp_resource *resource,
                                     struct tc_slice json);
TC_CHECKED tc_status tc__otlp_record_read(struct tc__otlp *o,
                                          const struct tc__otlp_resource *resource,
                                          struct tc__value record);

/* Says where a rank runs, from the scope of an event of it, unless that was just said. */
TC_CHECKED tc_status tc__otlp_place(struct tc__otlp *o, const struct tc_event *ev);

/* metric.c: one metric with its data points, a part of the input, or parsed. */
TC_CHECKED tc_status tc__otlp_metric(struct tc__otlp *o, const struct tc__otlp_resource *resource,
                                     struct tc_slice json);
TC_CHECKED tc_status tc__otlp_metric_read(struct tc__otlp *o,
                                          const struct tc__otlp_resource *resource,
                                          struct tc__value metric);
/* Keeps what a resource says in the words of metrics. */
void tc__otlp_labels(struct tc__otlp *o, struct tc__value resource, struct tc__otlp_resource *io);

/* kernel.c */
/* The memory is room bytes of the arena at the most. */
void tc__otlp_kernel_init(struct tc__otlp_kernel *b, struct tc_arena *arena, size_t room);
/* Forgets the lines. */
void tc__otlp_kernel_drop(struct tc__otlp_kernel *b);
/* Reads the lines that wait and delivers their events: before any other event, so that events come
 * in the order of records. */
TC_CHECKED tc_status tc__otlp_flush(struct tc__otlp *o);
enum tc__otlp_writer { TC__OTLP_BY_ANYBODY, TC__OTLP_BY_KERNEL, TC__OTLP_BY_OOMD };
/* One body of the kernel's, r->text, perhaps of several lines. `writer`: who wrote it, by its
 * attributes. *out_taken is false when none of it is the kernel's, and nothing was done; true too
 * for lines that say nothing, for which it does not matter. */
TC_CHECKED tc_status tc__otlp_kernel_record(struct tc__otlp *o, const struct tc__otlp_record *r,
                                            enum tc__otlp_writer writer, bool *out_taken);

/* event.c */
/* A record whose attributes are the fields of one of tracecore's events. */
TC_CHECKED tc_status tc__otlp_event(struct tc__otlp *o, const struct tc__otlp_record *r,
                                    enum tc_event_kind kind);
/* A record whose body is the line of one. */
TC_CHECKED tc_status tc__otlp_event_line(struct tc__otlp *o, const struct tc__otlp_record *r,
                                         struct tc_slice line);

#endif
