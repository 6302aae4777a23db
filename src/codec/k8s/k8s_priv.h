/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the Kubernetes codec share. k8s.c recognises and cuts JSON
 * text, k8s_yaml.c does the same for YAML, k8s_otlp.c reads OpenTelemetry's
 * shapes, k8s_object.c turns Kubernetes objects into events, k8s_rank.c says which ranks a pod
 * runs, k8s_address.c what nodes and pods are called on the network.
 */
#ifndef TC_CODEC_K8S_K8S_PRIV_H
#define TC_CODEC_K8S_K8S_PRIV_H

#include "base/json.h"
#include "base/slice.h"
#include "base/status.h"
#include "codec/codec.h"
#include "event/event.h"
#include "event/fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One call of decode. */
struct tc_k8s {
    const struct tc_codec_input *in;
    struct tc_codec_cursor *cursor;
    struct tc_codec_out *out;
    struct tc_error *err;
    struct tc_json_parser *parser;
    /* Strings of events that lie in here live long enough: the others are copied. */
    struct tc_slice lasting;
    /* The bytes of the object or log record being read: the evidence of its events. */
    size_t raw_offset;
    size_t raw_length;
    /* When a log record was made: the time of what bears none itself. TC_TIME_NONE. */
    int64_t seen_ns;
    /* The first object or record that was skipped because it is not valid; TC_OK for none. */
    struct tc_error bad;
    /* Where the strings of an event of a kind are, for the kind that came last: most come in runs.
     */
    int strings_of; /* the kind + 1; 0: none yet */
    size_t string_count;
    uint16_t strings[TC_EVENT_STRINGS_MAX];
    /* The walk of the text failed, see tc__json_walk: of two things wrong the first is told. */
    bool is_broken;
};

/*
 * A value of an object, written as plain JSON or as OpenTelemetry's AnyValue
 * ({"kvlistValue": ...}), in JSON or on the tape of a request (otlp_tape_priv.h). All are read
 * through the functions below, so that an object is the same object whichever way it came. Dies
 * with the next parse.
 */
struct tc_k8s_val {
    struct tc_json v; /* on a tape: the tape, and the number of a node */
    bool there;       /* false: absent, and so is every member of it */
    bool any;         /* an AnyValue */
    bool tape;
};

struct tc_k8s_iter {
    struct tc_json_iter it;
    bool any;
    bool pairs; /* AnyValue: {key, value} elements */
    bool tape;
};

/* Whether a string lies in what outlives the call. */
static inline bool tc__k8s_lasts(const struct tc_k8s *k, struct tc_slice s)
{
    return (uintptr_t)s.ptr - (uintptr_t)k->lasting.ptr < k->lasting.len;
}

/* The member of that name, absent when there is none or v is no object. */
struct tc_k8s_val tc__k8s_get(struct tc_k8s_val v, struct tc_slice key);
/* The member as a string; the empty slice when absent or of another type. */
struct tc_slice tc__k8s_string(struct tc_k8s_val v, struct tc_slice key);
/* The member as an integer, also one written as a string. */
int64_t tc__k8s_int(struct tc_k8s_val v, struct tc_slice key, int64_t fallback);
/* v itself as an integer, as a string. */
int64_t tc__k8s_number(struct tc_k8s_val v, int64_t fallback);
struct tc_slice tc__k8s_text(struct tc_k8s_val v);
/* Elements of an array or members of an object; over anything else it ends at once. */
struct tc_k8s_iter tc__k8s_iter(struct tc_k8s_val v);
/* out_key may be NULL. */
bool tc__k8s_next(struct tc_k8s_iter *it, struct tc_slice *out_key, struct tc_k8s_val *out);

/* A whole RFC 3339 text after 1970, or what Go prints for a time. *out is untouched on failure. */
bool tc__k8s_time(struct tc_slice text, int64_t *out);

/* Copies the strings of ev into the batch arena, adds evidence and time of record, delivers it. */
TC_CHECKED tc_status tc__k8s_emit(struct tc_k8s *k, struct tc_event *ev);
/* The same for an event whose strings last. */
TC_CHECKED tc_status tc__k8s_deliver(struct tc_k8s *k, struct tc_event *ev);
/* Counts what was not understood, and reports it where that is wanted. */
TC_CHECKED tc_status tc__k8s_unknown(struct tc_k8s *k, const char *why);
/* The container named by a field path such as "spec.containers{worker}", or "". */
struct tc_slice tc__k8s_container(struct tc_slice field_path);
/* Fills the scope of an event about an object: node and pod, where the object is one. */
void tc__k8s_scope(struct tc_event *ev, struct tc_slice ns, struct tc_slice node);

/* The UUID of the only GPU that a pod names; "" when it names none, or several. */
struct tc_slice tc__k8s_pod_gpu(struct tc_k8s_val pod);
/* How many GPUs the containers of a pod ask for; -1 when it may have some that they do not. */
int64_t tc__k8s_pod_gpus(struct tc_k8s_val pod);

/* Where the ranks of a pod run, when the pod says which they are; gpu_uuid is its only GPU or "".
 */
TC_CHECKED tc_status tc__k8s_pod_ranks(struct tc_k8s *k, struct tc_k8s_val pod,
                                       struct tc_slice gpu_uuid);

/* The addresses of a pod and its node, of a node. */
TC_CHECKED tc_status tc__k8s_pod_addresses(struct tc_k8s *k, struct tc_k8s_val pod);
TC_CHECKED tc_status tc__k8s_node_addresses(struct tc_k8s *k, struct tc_k8s_val node);

/*
 * Parses the text of the object or record that raw_offset points at; `what` names it in errors.
 * One that is not valid is noted in k->bad and absent: where it ends is known, so the rest is read.
 */
TC_CHECKED tc_status tc__k8s_parse(struct tc_k8s *k, struct tc_slice json, const char *what,
                                   struct tc_k8s_val *out);
/* One object: {kind, ...} or a watch's {type, object}, as JSON text. */
TC_CHECKED tc_status tc__k8s_item(struct tc_k8s *k, struct tc_slice json);
/* The same, parsed. */
TC_CHECKED tc_status tc__k8s_object(struct tc_k8s *k, struct tc_k8s_val item);

/* What the resource of OpenTelemetry logs says about its records. Strings in scratch. */
struct tc_k8s_resource {
    struct tc_slice node;
    struct tc_slice ns;
    struct tc_slice object_kind;
    struct tc_slice object_name;
    struct tc_slice object_uid;
    struct tc_slice object_path;
};

TC_CHECKED tc_status tc__k8s_resource(struct tc_k8s *k, struct tc_k8s_val resource,
                                      struct tc_k8s_resource *out);
/*
 * One log record, parsed: a flattened Event, an object as AnyValue or as JSON text. That text
 * takes the parser: nothing of the record can be read afterwards.
 */
TC_CHECKED tc_status tc__k8s_record(struct tc_k8s *k, const struct tc_k8s_resource *resource,
                                    struct tc_k8s_val record);
/* When a log record was made, else when it was seen; TC_TIME_NONE. */
int64_t tc__k8s_record_time(struct tc_k8s_val record);
/* A member that counts nanoseconds since 1970; 0 is OpenTelemetry's "not known". */
int64_t tc__k8s_unix_nano(struct tc_k8s_val v, struct tc_slice key);
/* The attributes of a resource, record or data point. */
struct tc_k8s_iter tc__k8s_attributes(struct tc_k8s_val owner);

/* All documents of a YAML text. */
TC_CHECKED tc_status tc__k8s_yaml(struct tc_k8s *k);

#endif
