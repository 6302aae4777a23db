/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ingest/look.h"

#include "base/clock.h"
#include "observe/metrics.h"
#include "server/answer.h"
#include "server/front.h"
#include "server/ingest/otlp_answer.h"
#include "server/ingest/otlp_route.h"
#include "server/ingest/piece.h"

enum tc_answer tc_ingest_look(const struct tc_ingest_parts *p, const struct tc_request *r,
                              struct tc_response *out)
{
    enum tc_otlp_signal signal;
    enum tc_otlp_form form;
    *out = (struct tc_response){0};
    bool is_piece = tc_piece_route(r) != TC_PIECE_NONE;
    if (!is_piece && !tc_otlp_route(r, &signal)) {
        tc_count(TC_COUNT_REJECTED_NOT_FOUND, 1);
        out->message = TC_LIT("there are /v1/logs, /v1/metrics and /v1/traces here");
        return TC_ANSWER_NOT_FOUND;
    }
    if (r->method != TC_METHOD_POST) {
        tc_count(TC_COUNT_REJECTED_WRONG_METHOD, 1);
        out->allow = TC_LIT("POST");
        out->message = TC_LIT("telemetry is sent with POST");
        return TC_ANSWER_WRONG_METHOD;
    }
    enum tc_answer allowed =
        r->protocol == TC_PROTOCOL_HTTP ? tc_front_check_page(p->config, r, out) : TC_ANSWER_OK;
    if (allowed != TC_ANSWER_OK) {
        return allowed;
    }
    allowed = tc_auth_check(p->auth, r, TC_TOKEN_INGEST, tc_mono_ns(), out);
    if (allowed != TC_ANSWER_OK) {
        return allowed;
    }
    if (is_piece &&
        (!tc_slice_eq(r->content_type, TC_LIT(TC_PIECE_TYPE)) || r->tracecore_batch.len == 0)) {
        tc_count(TC_COUNT_REJECTED_UNSUPPORTED_TYPE, 1);
        out->message = TC_LIT("this is for daemons that forward: Content-Type is " TC_PIECE_TYPE
                              ", and Tracecore-Batch says which batch it is");
        return TC_ANSWER_UNSUPPORTED;
    }
    if (!is_piece && !tc_otlp_form_of(r, &form)) {
        tc_count(TC_COUNT_REJECTED_UNSUPPORTED_TYPE, 1);
        out->message = TC_LIT("Content-Type is application/x-protobuf or application/json");
        return TC_ANSWER_UNSUPPORTED;
    }
    if (tc_encoding_parse(r->content_encoding) == TC_ENCODING_UNKNOWN) {
        tc_count(TC_COUNT_REJECTED_UNSUPPORTED_ENCODING, 1);
        out->message = TC_LIT("Content-Encoding is gzip, zstd or identity");
        return TC_ANSWER_UNSUPPORTED;
    }
    if (tc_committer_is_full(p->committer)) {
        out->retry_after_s = tc_answer_not_stored(true);
        out->message = TC_LIT("the disk is full");
        return TC_ANSWER_BUSY;
    }
    if (tc_committer_waiting(p->committer) > (size_t)p->config->ingest_queue_batches) {
        tc_count(TC_COUNT_REJECTED_BUSY_QUEUE, 1);
        out->retry_after_s = TC_RETRY_SOON_S;
        out->message = TC_LIT("too many requests wait to be stored");
        return TC_ANSWER_BUSY;
    }
    return TC_ANSWER_OK;
}
