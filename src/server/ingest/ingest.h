/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP requests on their way in: compression off, checked, stored, read, answered, in that order
 * (docs/internals/daemon.md; who owns what meanwhile: docs/internals/ingest.md). One for the HTTP
 * and the gRPC listener together. The loop's thread.
 */
#ifndef TC_SERVER_INGEST_INGEST_H
#define TC_SERVER_INGEST_INGEST_H

#include "base/status.h"
#include "codec/otlp/wire.h"
#include "config/config.h"
#include "net/inflate.h"
#include "net/pool.h"
#include "net/request.h"
#include "server/auth.h"
#include "server/committer.h"
#include "server/detection.h"
#include "server/follow/body_check.h"
#include "server/follow/catch_up.h"
#include "server/warehouse/handoff.h"

#include <stddef.h>

struct tc_forwarded;
struct tc_ingest;
struct tc_upload;

/* All borrowed. */
struct tc_ingest_parts {
    const struct tc_config *config; /* as it is now: a reload changes it in place */
    struct tc_auth *auth;
    struct tc_pool *pool;
    struct tc_inflater *inflater;
    struct tc_otlp_reader *reader;   /* for bodies that are not long */
    struct tc_body_checker *checker; /* for the others */
    struct tc_committer *committer;
    struct tc_store *store; /* to cite */
    struct tc_detection *detection;
    struct tc_catch_up *catch_up;
    struct tc_forwarded *forwarded; /* what other daemons forward; NULL: for sources of its own */
    struct tc_upload *upload;       /* the same, for whole files */
    struct tc_handoff *handoff;     /* NULL: neither slices nor requests are made */
    /* Events were fed: time may have come for something. */
    void (*fed)(void *context);
    void *context;
};

/* NULL when there is no memory. */
struct tc_ingest *tc_ingest_create(const struct tc_ingest_parts *parts);
/* Nothing may be in flight. */
void tc_ingest_destroy(struct tc_ingest *in);

/* What the OTLP listeners serve, whatever their protocol; the ingest's own. */
const struct tc_service *tc_ingest_service(struct tc_ingest *in);

/* Requests that wait to be stored. */
size_t tc_ingest_in_flight(const struct tc_ingest *in);

#endif
