/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What training programs say in their logs, without attributes: steps,
 * checkpoints, evaluation and the failures of data loaders, in the wordings of
 * PyTorch, torchtitan, Megatron-LM, NeMo, DeepSpeed and the Transformers trainer.
 * One table; the codecs that come across such lines share it.
 *
 * A wording is taken in only when it says both ends of what it announces, or one
 * that needs no other: a checkpoint that begins in a log that never says when it
 * ended would look stalled for ever. One that the training waits for says so by its
 * phase, and the next step is its end.
 */
#ifndef TC_CODEC_TRAIN_LOG_TEXT_PRIV_H
#define TC_CODEC_TRAIN_LOG_TEXT_PRIV_H

#include "base/scan.h"
#include "base/slice.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>

/* A message is kept up to here. */
#define TC__TRAIN_MESSAGE_MAX 1024

/* The search for the wordings, set up once and used for many lines. */
struct tc__train_text {
    struct tc_scan scan;
};

void tc__train_text_init(struct tc__train_text *t);
/*
 * One line of a log, with or without a prefix before the wording. True when it is one of ours:
 * *out is then an event of its kind with payload, and the rank where the line has it; the
 * strings are slices of the line or literals. Time, node, job and evidence are the caller's.
 */
bool tc__train_text_read(const struct tc_scan *scan, struct tc_slice line, struct tc_event *out);
/* What the search is for. */
const struct tc_slice *tc__train_text_literals(size_t *out_count);

/* ---- place.c ---- */

/* The n of "[rank n]" or "[rank<n>]" in the head of a line, as torchrun and NCCL write it; -1. */
int32_t tc__train_rank(struct tc_slice line);
/* The pod whose log a path names, where it has the form that Kubernetes keeps logs in:
 * .../pods/NAMESPACE_POD_UID/CONTAINER/0.log. Slices of path; *io is untouched otherwise. */
void tc__train_pod(struct tc_slice path, struct tc_scope *io);
/* The pod whose log a file is, by its name, where that has the form of the Kubeflow operators:
 * "llama-worker-3.log", or only the role and the number. *io is untouched otherwise. */
void tc__train_pod_file(struct tc_slice path, struct tc_scope *io);
/* The rank whose log a path names, by its last part: "rank3.log", "train_rank-07.out"; -1. Ranks
 * of nodes, and those within a node, are not meant. */
int32_t tc__train_path_rank(struct tc_slice path);

#endif
