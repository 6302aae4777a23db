/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore diagnose`: which of the four scenarios of playbooks.def a run is, and which cause the
 * evidence speaks for. Everything that is known of the run and of its base is read once; then each
 * check answers supports, contradicts or no data, with numbers and the files they stand in. The
 * hypotheses are ranked; without evidence nothing is claimed. docs/diagnose.md has the thresholds.
 */
#ifndef TC_DIAGNOSE_DIAGNOSE_H
#define TC_DIAGNOSE_DIAGNOSE_H

#include "base/json/out.h"
#include "base/slice.h"
#include "base/status.h"
#include "compare/groups.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tc_check_answer { TC_CHECK_NO_DATA, TC_CHECK_CONTRADICTS, TC_CHECK_SUPPORTS };

/* Where to look; empty, and -1: not known, or everywhere. */
struct tc_where {
    struct tc_slice node;
    struct tc_slice gpu;
    struct tc_slice pod; /* its name, or else its uid */
    int64_t rank;
};

/* A file with what a check stands on. */
struct tc_proof {
    struct tc_slice digest; /* empty: it came to the daemon, and is in no file */
    struct tc_slice metric;
};

#define TC_CHECK_TEXT 360
#define TC_CHECK_PROOFS 3
struct tc_check_info;
struct tc_check {
    const struct tc_check_info *info;
    enum tc_check_answer answer;
    double strength; /* of support, 0 to 1 */
    char numbers[TC_CHECK_TEXT];
    struct tc_where where;
    struct tc_proof proofs[TC_CHECK_PROOFS];
    size_t proof_count;
    struct tc_slice verdict; /* incident that says the same; empty: none */
};

enum tc_recognised { TC_RECOGNISED_NO_DATA, TC_RECOGNISED_NO, TC_RECOGNISED_YES };

#define TC_PLAYBOOK_COUNT 4
#define TC_PLAYBOOK_CHECKS 6
struct tc_playbook_info;
struct tc_playbook {
    const struct tc_playbook_info *info;
    enum tc_recognised recognised;
    char why[TC_CHECK_TEXT];
    struct tc_check checks[TC_PLAYBOOK_CHECKS];
    size_t check_count;
};

enum tc_sureness { TC_SURENESS_LOW, TC_SURENESS_MEDIUM, TC_SURENESS_HIGH };

/* A cause that a check speaks for. */
struct tc_hypothesis {
    const struct tc_playbook *playbook;
    const struct tc_check *check;
    double score; /* for the order only */
    enum tc_sureness confidence;
};
#define TC_HYPOTHESES_MAX (TC_PLAYBOOK_COUNT * TC_PLAYBOOK_CHECKS)

struct tc_diagnosis {
    struct tc_slice run_id;
    struct tc_slice run_name;
    const struct tc_group *base; /* NULL: none */
    struct tc_slice base_word;   /* what a command would call it */
    size_t base_runs;            /* that were read; 0: none */
    size_t slices;               /* series of telemetry that were read of the run */
    struct tc_playbook playbooks[TC_PLAYBOOK_COUNT];
    /* Best first: those of recognised playbooks, then the others. */
    struct tc_hypothesis hypotheses[TC_HYPOTHESES_MAX];
    size_t hypothesis_count;
    bool has_answer; /* hypotheses[0] is claimed: its playbook is recognised */
    struct tc__context *context;
};

/* Of the base's runs, so many are read: the latest. */
#define TC_DIAGNOSE_BASE_MAX 32

/*
 * Borrows w and base until tc_diagnosis_destroy. base may be NULL: then only what needs no
 * comparison can be said. TC_E_NOTFOUND: there is no such run. run_id must not be one of the
 * base's.
 */
TC_CHECKED tc_status tc_diagnose(struct tc_warehouse *w, struct tc_slice run_id,
                                 const struct tc_group *base, struct tc_diagnosis **out,
                                 struct tc_error *err);
void tc_diagnosis_destroy(struct tc_diagnosis *d);

/* The object of --json and of the HTTP API. */
void tc_diagnosis_json(struct tc_json_out *j, const struct tc_diagnosis *d);

/* ---- words ---- */

const char *tc_check_answer_name(enum tc_check_answer answer);  /* "supports", ... */
const char *tc_recognised_name(enum tc_recognised recognised);  /* "yes", "no", "no data" */
const char *tc_sureness_name(enum tc_sureness confidence);      /* "high", "medium", "low" */
const char *tc_playbook_name(const struct tc_playbook_info *p); /* tail_latency_regression */
const char *tc_playbook_title(const struct tc_playbook_info *p);
const char *tc_check_name(const struct tc_check_info *c);  /* throttling */
const char *tc_check_title(const struct tc_check_info *c); /* pod CPU throttling */
const char *tc_check_cause(const struct tc_check_info *c); /* a sentence without its end */
/* What to try next to prove or refute the hypothesis: one line that can be run or done. */
void tc_hypothesis_experiment(const struct tc_diagnosis *d, const struct tc_hypothesis *h,
                              struct tc_grow *out);
/* "node gpu-12, GPU ...01, rank 3"; nothing where nothing is known. */
void tc_where_words(const struct tc_where *where, struct tc_grow *out);

#endif
