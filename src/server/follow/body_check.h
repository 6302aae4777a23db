/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that takes compression off long requests and checks them, one after another, so that
 * the loop need not. It says whether a body is well-formed and keeps nothing of it: who reads it
 * later parses it again.
 */
#ifndef TC_SERVER_FOLLOW_BODY_CHECK_H
#define TC_SERVER_FOLLOW_BODY_CHECK_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/otlp/wire.h"
#include "net/inflate.h"

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct tc_body_checker;

/* One body. What `done` is told of is in the job until it returns. */
struct tc_body_check {
    struct tc_body_check *next; /* the checker's own */
    struct tc_slice bytes;      /* as it came; stays until done */
    enum tc_encoding encoding;
    enum tc_otlp_signal signal;
    enum tc_otlp_form form;
    bool is_inflated;   /* the content is another one than the bytes */
    bool was_inflating; /* what failed is the compression */
    struct tc_slice content;
    struct tc_otlp_counts counts;
    struct tc_error err;
    /* In the loop's thread, once. TC_E_IO: the daemon ends. */
    void (*done)(struct tc_body_check *check, tc_status status);
    tc_status status; /* the checker's own */
};

/* content_max: of a body without its compression. */
TC_CHECKED tc_status tc_body_checker_create(struct event_base *base,
                                            const struct tc_otlp_limits *limits, size_t content_max,
                                            struct tc_body_checker **out_checker,
                                            struct tc_error *err);
/* Bodies that wait are done with TC_E_IO. */
void tc_body_checker_destroy(struct tc_body_checker *k);

/* From the loop's thread, both. */
void tc_body_checker_put(struct tc_body_checker *k, struct tc_body_check *check);
/* Takes effect with the next body. */
void tc_body_checker_limit(struct tc_body_checker *k, const struct tc_otlp_limits *limits);

#endif
