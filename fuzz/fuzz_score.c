/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A truth, a zero byte, verdicts. Whatever can be read is paired and reported: the
 * counts add up, and the JSON is JSON.
 */
#include "base/assert.h"
#include "base/json/json.h"
#include "base/time.h"
#include "score/score.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIST_MAX 4

static char report[1 << 20];
static size_t report_len;

static bool put(void *context, struct tc_slice text)
{
    (void)context;
    TC_ASSERT(text.len < sizeof report - report_len);
    memcpy(report + report_len, text.ptr, text.len);
    report_len += text.len;
    return true;
}

static void check(struct tc_score *s)
{
    size_t count = 0;
    const struct tc_score_row *rows = tc_score_rows(s, &count);
    for (size_t i = 0; i < count; i++) {
        const struct tc_score_row *r = &rows[i];
        TC_ASSERT(r->faults == r->true_positives + r->false_negatives);
        TC_ASSERT(r->culprits_right <= r->true_positives && r->duplicates <= r->false_positives);
        TC_ASSERT(r->discriminators_right <= r->discriminators_stated);
        TC_ASSERT(r->discriminators_stated <= r->true_positives);
        TC_ASSERT(r->true_negatives <= r->noises && r->median_ns <= r->p95_ns);
        TC_ASSERT(r->median_ns == TC_SCORE_NO_TIME || r->true_positives > 0);
    }
    struct tc_json root;
    struct tc_json_parser *parser = tc_json_parser_create();
    TC_ASSERT(parser != NULL);
    report_len = 0;
    TC_ASSERT(tc_score_report_text(s, put, NULL) == TC_OK);
    report_len = 0;
    TC_ASSERT(tc_score_report_json(s, put, NULL) == TC_OK);
    TC_ASSERT(tc_json_parse(parser, tc_slice_make(report, report_len), &root, NULL) == TC_OK);
    tc_json_parser_destroy(parser);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tc_slice patterns[] = {{"hbm_ecc", 7}, {"nccl_hang", 9}};
    struct tc_score_options options = {.patterns = patterns,
                                       .pattern_count = 2,
                                       .grace_ns = 300 * TC_SECOND,
                                       .list_max = LIST_MAX};
    struct tc_slice all = size == 0 ? TC_EMPTY : tc_slice_make((const char *)data, size);
    struct tc_slice verdicts;
    struct tc_slice truth = tc_slice_cut(all, '\0', &verdicts);
    struct tc_error err = {0};
    struct tc_score *s = tc_score_create(&options);
    TC_ASSERT(s != NULL);
    tc_status status = tc_score_read_truth(s, truth, &err);
    TC_ASSERT(status == TC_OK || (err.offset <= truth.len && err.message[0] != '\0'));
    if (status == TC_OK) {
        status = tc_score_read_verdicts(s, verdicts, &err);
        TC_ASSERT(status == TC_OK || (err.offset <= verdicts.len && err.message[0] != '\0'));
    }
    if (status == TC_OK) {
        TC_ASSERT(tc_score_add(s, TC_LIT("truth"), &err) == TC_OK);
        check(s);
    }
    tc_score_destroy(s);
    return 0;
}
