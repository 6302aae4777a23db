/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec.h"
#include "result/perf_analyzer/priv.h"

static int sniff(const struct tc_result_input *in)
{
    return tc__perf_analyzer_is_csv(in->bytes) ? TC_SNIFF_SURE : TC_SNIFF_NO;
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    TC_TRY(in->form == TC_RESULT_TEXT ? tc__perf_analyzer_read_csv(in, r, err)
                                      : tc__perf_analyzer_read_export(in, r, err));
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_WORKLOAD_TYPE, TC_LIT("inference"));
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_STATUS, TC_LIT("succeeded"));
    return TC_OK;
}

const struct tc_reader tc_reader_perf_analyzer = {
    .name = "perf-analyzer",
    .summary = "Triton perf_analyzer: the CSV of -f, or the JSON of --profile-export-file",
    .forms = 1u << TC_RESULT_TEXT | 1u << TC_RESULT_JSON,
    .keys =
        {
            {"experiments/0/experiment{}, experiments/0/requests[]", TC_SNIFF_SURE, TC_OF_FILE},
        },
    .sniff = sniff,
    .read = read_file,
};
