/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the Kubernetes codec share. codec.c recognises and cuts JSON text,
 * yaml.c does the same for YAML, otlp.c reads OpenTelemetry's shapes, object.c turns Kubernetes
 * objects into events, rank.c says which ranks a pod runs, address.c what nodes and pods are called
 * on the network.
 */
#ifndef TC_CODEC_K8S_K8S_PRIV_H
#define TC_CODEC_K8S_K8S_PRIV_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/decode_priv.h"
#include "codec/value_priv.h"
#include "event/event.h"

#include <stdbool.h>
#include <stdint.h>

/* A whole RFC 3339 text after 1970, or what Go prints for a time. *out is untouched on failure. */
bool tc__k8s_time(struct tc_slice text, int64_t *out);

/* The container named by a field path such as "spec.containers{worker}", or "". */
struct tc_slice tc__k8s_container(struct tc_slice field_path);
/* Fills the scope of an event about an object: node and pod, where the object is one. */
void tc__k8s_scope(struct tc_event *ev, struct tc_slice ns, struct tc_slice node);

/* Whether that is how a container ends that failed; exit_code -1: not known. */
bool tc__k8s_ended_badly(struct tc_slice reason, int64_t exit_code);
/* The signal in the exit code, as a shell says it; 0 for none. */
int64_t tc__k8s_exit_signal(int64_t exit_code);

/* The UUID of the only GPU that a pod names; "" when it names none, or several. */
struct tc_slice tc__k8s_pod_gpu(struct tc__value pod);
/* How many GPUs the containers of a pod ask for; -1 when it may have some that they do not. */
int64_t tc__k8s_pod_gpus(struct tc__value pod);

/* ---- rank.c ---- */

/* Numbers that a pod gives; -1 for those it does not. */
struct tc__k8s_numbers {
    int64_t rank;
    int64_t node_rank;
    int64_t per_node;
    int64_t world;
    int64_t index; /* of an Indexed Job */
    int64_t gpus;
    bool replica;       /* of a Kubeflow job: its RANK counts pods */
    bool rank_is_index; /* RANK is set from the index */
};

#define TC__K8S_NUMBERS_NONE ((struct tc__k8s_numbers){-1, -1, -1, -1, -1, 0, false, false})

/* A variable of a container or an annotation; where a field of the pod is its value, `value` is the
 * name of that. Others are left alone. */
void tc__k8s_note_number(struct tc__k8s_numbers *n, struct tc_slice name, struct tc_slice value);
/* The ranks [*out_first, *out_first + count); 0 when the numbers do not say. */
int64_t tc__k8s_ranks_of(const struct tc__k8s_numbers *n, int64_t *out_first);
/* Where the ranks of a pod run, when the pod says which they are; gpu_uuid is its only GPU or "".
 */
TC_CHECKED tc_status tc__k8s_pod_ranks(struct tc__decode *d, struct tc__value pod,
                                       struct tc_slice gpu_uuid);

/* The addresses of a pod and its node, of a node. */
TC_CHECKED tc_status tc__k8s_pod_addresses(struct tc__decode *d, struct tc__value pod);
TC_CHECKED tc_status tc__k8s_node_addresses(struct tc__decode *d, struct tc__value node);

/* One object: {kind, ...} or a watch's {type, object}, as JSON text. */
TC_CHECKED tc_status tc__k8s_item(struct tc__decode *d, struct tc_slice json);
/* The same, parsed. */
TC_CHECKED tc_status tc__k8s_object(struct tc__decode *d, struct tc__value item);

/* What the resource of OpenTelemetry logs says about its records. Strings in scratch. */
struct tc_k8s_resource {
    struct tc_slice node;
    struct tc_slice ns;
    struct tc_slice object_kind;
    struct tc_slice object_name;
    struct tc_slice object_uid;
    struct tc_slice object_path;
};

TC_CHECKED tc_status tc__k8s_resource(struct tc__decode *d, struct tc__value resource,
                                      struct tc_k8s_resource *out);
/*
 * One log record, parsed: a flattened Event, an object as AnyValue or as JSON text. That text
 * takes the parser: nothing of the record can be read afterwards.
 */
TC_CHECKED tc_status tc__k8s_record(struct tc__decode *d, const struct tc_k8s_resource *resource,
                                    struct tc__value record);
/* All documents of a YAML text. */
TC_CHECKED tc_status tc__k8s_yaml(struct tc__decode *d);

#endif
