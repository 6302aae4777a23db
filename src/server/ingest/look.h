/* SPDX-License-Identifier: Apache-2.0 */
/* What must be right about an OTLP request before its body is read: route, method, who sends it,
 * its type, and whether it can be stored at all. */
#ifndef TC_SERVER_INGEST_LOOK_H
#define TC_SERVER_INGEST_LOOK_H

#include "server/ingest/ingest.h"

/* OK, or the answer, with its words in *out. */
enum tc_answer tc_ingest_look(const struct tc_ingest_parts *p, const struct tc_request *r,
                              struct tc_response *out);

#endif
