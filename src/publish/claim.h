/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A claim: a number that somebody stands for, and all that it stands on. Its canonical JSON
 * (RFC 8785) is what the audit log holds, and names the number: num- and 16 hex digits of its
 * SHA-256. docs/claims.md lists the members.
 */
#ifndef TC_PUBLISH_CLAIM_H
#define TC_PUBLISH_CLAIM_H

#include "base/digest.h"
#include "base/json/json.h"
#include "base/json/out.h"
#include "base/slice.h"
#include "base/status.h"
#include "run/conditions.h"
#include "warehouse/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All rows of a number are one batch, and each has the query. */
#define TC_CLAIM_RUNS_MAX 1000
#define TC_CLAIM_QUERY_MAX ((size_t)32 << 10)
#define TC_CLAIM_WORDS_MAX 1000
#define TC_CLAIM_LEVEL 0.95
/* "num-0123456789abcdef" and a NUL. */
#define TC_NUMBER_ID_BYTES 21

/* A run that the number stands on. */
struct tc_claim_run {
    struct tc_slice run_id;
    struct tc_slice workload; /* workload_spec_digest; empty: not known */
    struct tc_slice manifest; /* artifact_manifest_digest */
    struct tc_slice record;   /* digest of what the ledger says of it */
    double value;             /* NaN: of a basis */
    int64_t rows;             /* of the query that it is the median of: mostly 1 */
    bool is_basis;            /* has no value of its own, but others are measured against it */
    bool is_signed;
    bool is_outlier; /* flagged, and kept */
};

/* Texts are borrowed, or the claim's own when it was read. */
struct tc_claim {
    struct tc_slice metric;
    struct tc_slice definition_id; /* empty: not known */
    struct tc_slice unit;
    struct tc_slice point; /* empty: the query says */
    struct tc_slice report_row;
    struct tc_slice statistic;
    struct tc_slice interval_method;
    struct tc_slice query;
    struct tc_slice query_digest; /* of the bytes of the query */
    struct tc_slice statement;    /* that it is unstable or not representative, and why; or empty */
    double value;
    double low; /* NaN: there is no interval */
    double high;
    double level;       /* that the interval has */
    double level_asked; /* by the contract; else TC_CLAIM_LEVEL */
    double spread;      /* median absolute deviation, scaled; NaN: of one value */
    bool is_multimodal;
    struct tc_condition *conditions; /* of publishing, as they were */
    size_t condition_count;
    struct tc_claim_run *runs; /* in the order of their ids */
    size_t run_count;
    struct tc_json_parser *parser; /* NULL: texts are borrowed */
};

/* As an object. */
void tc_claim_json(const struct tc_claim *claim, struct tc_json_out *j);
/* Canonical; into memory of the caller's free(). TC_E_LIMIT: too long. */
TC_CHECKED tc_status tc_claim_write(const struct tc_claim *claim, char **out_text, size_t *out_len,
                                    struct tc_error *err);
/* TC_E_MALFORMED: it is no claim, or not canonical. tc_claim_fini frees what it holds, also after a
 * failure. */
TC_CHECKED tc_status tc_claim_read(struct tc_slice json, struct tc_claim *out,
                                   struct tc_error *err);
void tc_claim_fini(struct tc_claim *claim);

/* The name of the number that a claim in its canonical form makes. */
TC_CHECKED tc_status tc_claim_name(struct tc_slice canonical, char out_id[TC_NUMBER_ID_BYTES],
                                   struct tc_error *err);
/* How many of its runs have a value. */
size_t tc_claim_replicates(const struct tc_claim *claim);
/* Whether a text is such a name. */
bool tc_claim_is_name(struct tc_slice text);

/* The rows of published_number: one per run. NULL without memory. */
struct tc_rows *tc_claim_rows(const struct tc_claim *claim, const char *number_id,
                              int64_t published_us, const struct tc_digest *entry);

#endif
