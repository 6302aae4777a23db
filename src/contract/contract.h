/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run contract (BenchmarkRun): is a document one, which rules does it break, and what does it
 * say. The rules are a table (rules.def) that check, explain and the docs are made from.
 * Scalars are resolved as the original's YAML 1.1 reader does it: yes, no, on and off are booleans.
 */
#ifndef TC_CONTRACT_CONTRACT_H
#define TC_CONTRACT_CONTRACT_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_CONTRACT_BYTES_MAX ((size_t)4 << 20)
/* Beyond these a last one says that there are more. */
#define TC_CONTRACT_VIOLATIONS_MAX 10000
#define TC_CONTRACT_API_VERSION "benchmarking.aisp.dev/v1alpha1"

struct tc_contract; /* a document that could be parsed, valid or not */

struct tc_violation {
    const char *path; /* spec.trials.minReplicates, spec.layers[2].suites */
    const char *message;
    unsigned line; /* of the value, or of the mapping where it is missing; from 1 */
    unsigned column;
    bool strict; /* the original accepts it */
};

/* TC_E_MALFORMED, with line and column, when it is no YAML or too deep or large. */
TC_CHECKED tc_status tc_contract_parse(struct tc_slice text, struct tc_contract **out_contract,
                                       struct tc_error *err);
void tc_contract_destroy(struct tc_contract *c);

/* Tells every violation, in the order of the document's rules; the number of them (strict ones
 * count only when asked for). `take` borrows. */
size_t tc_contract_check(const struct tc_contract *c, bool strict,
                         void (*take)(void *context, const struct tc_violation *v), void *context);

/* What a contract says, for the run's rows; empty or 0 where it does not. Lives as long as c. */
struct tc_contract_facts {
    struct tc_slice name;
    struct tc_slice benchmark_class;
    struct tc_slice workload_type;
    struct tc_slice scheduler_path;
    struct tc_slice cadence;
    struct tc_slice variable_under_test;
    struct tc_slice model;
    struct tc_slice precision;
    struct tc_slice batching_policy;
    struct tc_slice concurrency_model;
    struct tc_slice dataset;
    struct tc_slice protocol; /* where a contract has it */
    struct tc_slice deployment;
    struct tc_slice image_digest; /* of the candidate */
    int64_t min_replicates;
    double confidence_level;
    double gpu_hour_usd; /* 0: it does not say; NaN: it is no number above 0 */
    bool must_be_signed;
};
void tc_contract_facts(const struct tc_contract *c, struct tc_contract_facts *out);

/* Canonical JSON (RFC 8785) of the whole document, or of spec.workload: what digests are made of.
 * TC_E_NOTFOUND without spec.workload. Lives as long as c. */
TC_CHECKED tc_status tc_contract_canonical(const struct tc_contract *c, bool workload_only,
                                           struct tc_slice *out, struct tc_error *err);
/* Canonical JSON of one member of spec.workload (the token mixes); empty when there is none. */
struct tc_slice tc_contract_workload_json(const struct tc_contract *c, const char *member);
/* The metrics that the run is judged by (spec.metrics.*.primary), of training or of inference: the
 * n-th; empty behind the last one, or where they do not count. */
struct tc_slice tc_contract_metric(const struct tc_contract *c, bool of_training, size_t n);
/* The columns of outcomes that such a metric may be, separated by blanks: any of them will do. One
 * that is no name of contracts alone is itself. */
struct tc_slice tc_contract_metric_columns(struct tc_slice metric);

/* What the original's checker says of a valid contract, as one JSON object with sorted keys. */
void tc_contract_summary(const struct tc_contract *c, struct tc_buf *out);

/* ---- from the table of rules ---- */

/* Room for the longest of the texts below. */
#define TC_CONTRACT_TEXT_MAX ((size_t)128 << 10)

/* What a field is for, its rules and an example; all of them, short, for the empty path; those of
 * that name when it is the last part of a path. TC_E_NOTFOUND with the nearest in err. */
TC_CHECKED tc_status tc_contract_explain(struct tc_slice path, struct tc_buf *out,
                                         struct tc_error *err);
/* The tables of docs/contract.md. */
void tc_contract_explain_markdown(struct tc_buf *out);

/* ---- a new contract ---- */

enum tc_contract_field {
    TC_FIELD_NAME,
    TC_FIELD_CLASS,
    TC_FIELD_TYPE,
    TC_FIELD_SCHEDULER_PATH,
    TC_FIELD_CADENCE,
    TC_FIELD_MODEL,
    TC_FIELD_PRECISION,
    TC_FIELD_BATCHING,
    TC_FIELD_CONCURRENCY,
    TC_FIELD_VARIABLE,
    TC_FIELD_COUNT
};
#define TC_CONTRACT_VALUE_MAX 256

/* Set to the defaults by tc_contract_values_init. Borrows what is set. */
struct tc_contract_values {
    struct tc_slice at[TC_FIELD_COUNT];
};
/* The name of the original's generator: "benchmarkClass". */
const char *tc_contract_field_name(enum tc_contract_field field);
/* The values that it may have, up to a NULL; NULL: any text. */
const char *const *tc_contract_field_choices(enum tc_contract_field field);
void tc_contract_values_init(struct tc_contract_values *values);
/* A blank value leaves the default. TC_E_USAGE for a value that the field cannot have. */
TC_CHECKED tc_status tc_contract_value_set(struct tc_contract_values *values,
                                           enum tc_contract_field field, struct tc_slice value,
                                           struct tc_error *err);
/* A complete contract with comments that passes the strict check. */
void tc_contract_template(const struct tc_contract_values *values, struct tc_buf *out);

#endif
