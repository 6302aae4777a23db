/* SPDX-License-Identifier: Apache-2.0 */
/* What answers have in common, whatever they answer. */
#ifndef TC_SERVER_ANSWER_H
#define TC_SERVER_ANSWER_H

#include "net/request.h"

/* What a sender is told to wait, in seconds: for a moment's shortage, and for a full disk. */
#define TC_RETRY_SOON_S 1
#define TC_RETRY_DISK_S 5

/* Counts an answer by protocol and by what it is. */
void tc_answer_count(const struct tc_request *r, enum tc_answer answer);

/* Counts a batch that could not be stored; returns how long its sender is told to wait. */
unsigned tc_answer_not_stored(bool disk_full);

#endif
