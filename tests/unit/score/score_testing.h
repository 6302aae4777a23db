/* SPDX-License-Identifier: Apache-2.0 */
/* Truths and verdicts for tests of the score, all of one made-up day. */
#ifndef TC_UNIT_SCORE_TESTING_H
#define TC_UNIT_SCORE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "score/score.h"

#include <string.h>

#define RUN "{\"truth\":\"run\",\"version\":1,\"seed\":7}\n"
#define AT(t) "\"2026-03-02T" t "Z\""
#define INJECTED(kind, id, pattern, start, end, culprit, more)         \
    "{\"truth\":\"" kind "\",\"id\":\"" id "\",\"pattern\":\"" pattern \
    "\",\"start\":" AT(start) ",\"end\":" AT(end) ",\"culprit\":{" culprit "}" more "}\n"
#define FAULT_WITH(id, pattern, start, end, culprit, more) \
    INJECTED("fault", id, pattern, start, end, culprit, more)
#define FAULT(id, pattern, start, end, culprit) FAULT_WITH(id, pattern, start, end, culprit, "")
#define NOISE(id, pattern, start, end, culprit) \
    INJECTED("noise", id, pattern, start, end, culprit, "")
#define VERDICT(id, pattern, first, last, more)                                         \
    "{\"pattern.name\":\"" pattern "\",\"incident_id\":\"" id "\",\"status\":\"open\"," \
    "\"headline\":\"headline of " id                                                    \
    "\",\"first_seen\":" AT(first) ",\"last_seen\":" AT(last) "," more "}\n"
#define NODE(n) "\"k8s.node.name\":\"" n "\""
#define UUID(u) "\"gpu.uuid\":\"" u "\""
#define POD(ns, n) "\"k8s.namespace.name\":\"" ns "\",\"k8s.pod.name\":\"" n "\""
#define JOB(j) "\"job.id\":\"" j "\""
#define DISC(d) "\"discriminator\":\"" d "\""
#define CAUSED_BY(id) "\"caused_by\":[{\"incident_id\":\"" id "\",\"why\":\"so\"}]"
#define CULPRITS(list) "\"tracecore.alert.nccl_hang.culprit_ranks\":" list

static const struct tc_slice TEST_PATTERNS[] = {
    {"hbm_ecc", 7}, {"nccl_hang", 9}, {"pod_evicted", 11}, {"thermal_throttle", 16}};

static inline struct tc_score *new_score(int64_t grace_ns, size_t list_max)
{
    struct tc_score_options options = {.patterns = TEST_PATTERNS,
                                       .pattern_count =
                                           sizeof TEST_PATTERNS / sizeof TEST_PATTERNS[0],
                                       .grace_ns = grace_ns,
                                       .list_max = list_max};
    struct tc_score *s = tc_score_create(&options);
    assert_non_null(s);
    return s;
}

static inline void add_pair(struct tc_score *s, const char *name, const char *truth,
                            const char *verdicts)
{
    struct tc_error err = {0};
    tc_status status = tc_score_read_truth(s, tc_slice_cstr(truth), &err);
    if (status == TC_OK) {
        status = tc_score_read_verdicts(s, tc_slice_cstr(verdicts), &err);
    }
    if (status != TC_OK) {
        fail_msg("at %zu: %s", err.offset, err.message);
    }
    assert_int_equal(tc_score_add(s, tc_slice_cstr(name), &err), TC_OK);
}

/* The sums over all patterns of one pair, with a grace of five minutes. */
static inline struct tc_score_row score_of(const char *truth, const char *verdicts)
{
    struct tc_score *s = new_score(300 * TC_SECOND, 20);
    size_t count = 0;
    add_pair(s, "truth.ndjson", truth, verdicts);
    const struct tc_score_row *rows = tc_score_rows(s, &count);
    struct tc_score_row all = rows[count - 1];
    assert_true(tc_slice_eq(all.pattern, TC_LIT("all")));
    assert_int_equal(all.faults, all.true_positives + all.false_negatives);
    tc_score_destroy(s);
    return all;
}

/* What a report prints. */
struct printed {
    size_t len;
    size_t refuse_after; /* pieces; 0: never */
    size_t pieces;
    char text[1 << 16];
};

static inline bool print(void *context, struct tc_slice text)
{
    struct printed *p = context;
    p->pieces++;
    if (p->refuse_after > 0 && p->pieces > p->refuse_after) {
        return false;
    }
    assert_true(text.len < sizeof p->text - p->len);
    memcpy(p->text + p->len, text.ptr, text.len);
    p->len += text.len;
    p->text[p->len] = '\0';
    return true;
}

#endif
