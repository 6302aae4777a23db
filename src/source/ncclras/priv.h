/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SOURCE_NCCLRAS_PRIV_H
#define TC_SOURCE_NCCLRAS_PRIV_H

#include "base/table/grow.h"
#include "source/ncclras/ncclras.h"

#define TC__RAS_ANSWER_MAX ((size_t)1 << 20)
#define TC__RAS_HOST_MAX 256

/* ---- target.c ---- */

struct tc__ras_address {
    char name[TC__RAS_HOST_MAX + 16]; /* as it is written */
    char host[TC__RAS_HOST_MAX];
    char port[8];
    char node[TC__RAS_HOST_MAX];
    char job[TC__RAS_HOST_MAX];
};

TC_CHECKED tc_status tc__ras_address_read(struct tc_slice line, struct tc_slice local,
                                          struct tc__ras_address *out, struct tc_error *err);

/* What of a report matters: whether it tells of no fault, and what it says but for how long it took
 * to make. False: it is no report. */
struct tc__ras_report {
    bool is_well;
    uint64_t hash;
};
bool tc__ras_report_read(struct tc_slice text, struct tc__ras_report *out);

/* ---- talk.c ---- */

struct addrinfo;

enum tc__ras_step {
    TC__RAS_CONNECT,
    TC__RAS_HELLO,
    TC__RAS_TIMEOUT,
    TC__RAS_REPORT,
    TC__RAS_DONE,   /* `got` is the report */
    TC__RAS_NO_JOB, /* nobody listens */
    TC__RAS_FAILED,
};

/* One conversation. Zero it, set `at`, begin it, and end it whatever came. */
struct tc__ras_talk {
    const struct tc__ras_address *at;
    enum tc__ras_step step;
    int fd; /* -1: none */
    struct addrinfo *list;
    struct addrinfo *next;
    struct tc_grow got;
    bool is_ras;   /* it said that it is NCCL's service */
    char why[160]; /* it failed */
};

/* All at once, until each is done or has failed, or the time is up. False: stop_fd is readable. */
bool tc__ras_talk_all(struct tc__ras_talk *talks, size_t count, int64_t timeout_ns, int stop_fd);
void tc__ras_talk_end(struct tc__ras_talk *t);

#endif
