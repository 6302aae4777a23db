/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-d's benchmark report: every distribution and series in it as a slice.
 */
#ifndef TC_RESULT_LLM_D_PRIV_H
#define TC_RESULT_LLM_D_PRIV_H

#include "result/map.h"

struct tc__llm_d {
    struct tc_result *r;
    struct tc_error *err;
    struct tc_slice point; /* of the load: in front of every slice's own */
    int64_t started_ns;    /* of the run; TC_TIME_NONE: not known */
    int64_t ended_ns;
    /* The report has the words of the tool that made the load: what AIPerf and GuideLLM call an
     * inter-token latency is a TPOT, and GuideLLM's time per output token has the first one in. */
    bool itl_is_tpot;
    bool tpot_has_first;
};

/* What a latency of the report is, by its name; the name itself for all else. */
const char *tc__llm_d_measures(const struct tc__llm_d *l, const char *name, const char **out_note);

/*
 * All of the object at the pointer `where` ("/results", "/metrics"). TC_E_MALFORMED that names the
 * pointer for a unit that is none of the report's.
 */
TC_CHECKED tc_status tc__llm_d_walk(const struct tc__llm_d *l, struct tc_json object,
                                    const char *where);

#endif
