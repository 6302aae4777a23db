/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What OTLP says in answers: an Export response, with a partial success only when there is one, and
 * google.rpc.Status for failures; each in protobuf or JSON, as the request came.
 */
#ifndef TC_SERVER_INGEST_OTLP_ANSWER_H
#define TC_SERVER_INGEST_OTLP_ANSWER_H

#include "base/buf.h"
#include "codec/otlp/wire.h"
#include "net/request.h"

#include <stdint.h>

/* The Export response. rejected 0: nothing was, and the message is empty. */
void tc_otlp_answer_ok(struct tc_buf *b, enum tc_otlp_signal signal, enum tc_otlp_form form,
                       uint64_t rejected, struct tc_slice why);
/* The Status of a failure. */
void tc_otlp_answer_failure(struct tc_buf *b, enum tc_otlp_form form, enum tc_answer answer,
                            struct tc_slice message);
/* "application/x-protobuf" or "application/json". */
struct tc_slice tc_otlp_content_type(enum tc_otlp_form form);

#endif
