/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other daemons forward that is no OTLP request: pieces that their sources read, and whole
 * files. A body is the name of the batch, a blank line, and its bytes. docs/forward.md.
 */
#ifndef TC_SERVER_INGEST_PIECE_H
#define TC_SERVER_INGEST_PIECE_H

#include "base/slice.h"
#include "base/status.h"
#include "net/request.h"
#include "server/ingest/forwarded.h"

#include <stddef.h>

#define TC_PIECE_TYPE "application/octet-stream"
#define TC_PIECE_SOURCE_PATH "/v1/tracecore/source"
#define TC_PIECE_FILE_PATH "/v1/tracecore/file"
/* Between a name and its bytes: the end of its last line, and a blank one. */
#define TC_PIECE_GAP 2

enum tc_piece_route { TC_PIECE_NONE, TC_PIECE_SOURCE, TC_PIECE_FILE };
enum tc_piece_route tc_piece_route(const struct tc_request *r);

struct tc_piece {
    struct tc_slice name;
    struct tc_slice bytes;
    size_t lines; /* line ends in the bytes, and one */
};
/* TC_E_MALFORMED: no name, or one that says what only the daemon that stores it can. */
TC_CHECKED tc_status tc_piece_read(struct tc_slice body, struct tc_piece *out,
                                   struct tc_error *err);

/* Answers that a batch is not stored: it is known, and the body is the last number that is; or one
 * of the agent is on its way. */
void tc_piece_answer_known(struct tc_request *r, enum tc_forwarded_claim claim, uint64_t last);

#endif
