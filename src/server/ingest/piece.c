/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ingest/piece.h"

#include "base/format.h"
#include "server/answer.h"
#include "stored/batch_name.h"

enum tc_piece_route tc_piece_route(const struct tc_request *r)
{
    if (r->protocol != TC_PROTOCOL_HTTP) {
        return TC_PIECE_NONE;
    }
    return tc_slice_eq(r->path, TC_LIT(TC_PIECE_SOURCE_PATH)) ? TC_PIECE_SOURCE
           : tc_slice_eq(r->path, TC_LIT(TC_PIECE_FILE_PATH)) ? TC_PIECE_FILE
                                                              : TC_PIECE_NONE;
}

static bool has_control_character(struct tc_slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        if ((c < ' ' && c != '\n') || c == 0x7f) {
            return true;
        }
    }
    return false;
}

tc_status tc_piece_read(struct tc_slice body, struct tc_piece *out, struct tc_error *err)
{
    struct tc_batch_said said;
    struct tc_error why = {0};
    struct tc_slice head = tc_slice_head(body, TC_UPLOAD_NAME_MAX + TC_PIECE_GAP);
    size_t end = tc_slice_find(head, TC_LIT("\n\n"));
    *out = (struct tc_piece){.lines = 1};
    if (end == TC_NPOS) {
        return tc_fail(err, TC_E_MALFORMED, 0, "no name of up to %d bytes, ended by a blank line",
                       TC_UPLOAD_NAME_MAX);
    }
    out->name = tc_slice_head(body, end);
    out->bytes = tc_slice_from(body, end + TC_PIECE_GAP);
    if (tc_batch_name_read(out->name, &said, &why) != TC_OK) {
        return tc_fail(err, TC_E_MALFORMED, 0, "its name: %s", why.message);
    }
    if (said.source.len + said.stream.len + said.position.len + said.taken.len + said.sender.len >
            0 ||
        has_control_character(out->name)) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "its name has a control character, or says what the daemon that stores it "
                       "has to say");
    }
    struct tc_slice rest = out->bytes;
    while (rest.len > 0) {
        (void)tc_slice_cut(rest, '\n', &rest);
        out->lines++;
    }
    return TC_OK;
}

void tc_piece_answer_known(struct tc_request *r, enum tc_forwarded_claim claim, uint64_t last)
{
    char text[32];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    (void)tc_format(&b, "{}\n", last);
    struct tc_response response = {.answer = TC_ANSWER_CONFLICT,
                                   .content_type = TC_LIT("text/plain"),
                                   .body = tc_buf_slice(&b)};
    if (claim == TC_FORWARDED_BUSY) {
        response = (struct tc_response){
            .answer = TC_ANSWER_BUSY,
            .retry_after_s = TC_RETRY_SOON_S,
            .message = TC_LIT("a batch of this agent is on its way to the disk")};
    }
    tc_answer_count(r, response.answer);
    tc_request_respond(r, &response);
}
