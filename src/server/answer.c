/* SPDX-License-Identifier: Apache-2.0 */
#include "server/answer.h"

#include "observe/metrics.h"

void tc_answer_count(const struct tc_request *r, enum tc_answer answer)
{
    static const enum tc_counter counters[][2] = {
#define ROW(name, http, grpc) \
    [TC_ANSWER_##name] = {TC_COUNT_ANSWERED_HTTP_##name, TC_COUNT_ANSWERED_GRPC_##name},
        TC_ANSWER_MAP(ROW)
#undef ROW
    };
    tc_count(counters[answer][r->protocol == TC_PROTOCOL_GRPC], 1);
}

unsigned tc_answer_not_stored(bool disk_full)
{
    tc_count(disk_full ? TC_COUNT_REJECTED_DISK_FULL : TC_COUNT_REJECTED_STORE_FAILED, 1);
    return disk_full ? TC_RETRY_DISK_S : TC_RETRY_SOON_S;
}
