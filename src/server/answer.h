/* SPDX-License-Identifier: Apache-2.0 */
/* Counts answers by protocol and by what they are. */
#ifndef TC_SERVER_ANSWER_H
#define TC_SERVER_ANSWER_H

#include "server/request.h"

void tc_answer_count(const struct tc_request *r, enum tc_answer answer);

#endif
