/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of evidence by their digest: of a file of a run, or of a batch that a daemon stored. */
#ifndef TC_ANSWERS_EVIDENCE_H
#define TC_ANSWERS_EVIDENCE_H

#include "answers/question.h"
#include "base/digest.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_evidence_want {
    struct tc_digest digest;
    bool has_batch; /* the number of the batch is known: nothing is searched */
    uint64_t batch;
    bool has_range;
    uint64_t offset;
    uint64_t length;
};
/* From "digest", "at" and "batch" of a question. TC_E_USAGE: they are none. */
TC_CHECKED tc_status tc_evidence_want_read(const struct tc_asked *asked,
                                           struct tc_evidence_want *out, struct tc_error *err);

/* The parameters that it reads. */
#define TC_EVIDENCE_PARAMS                                                                        \
    {.name = "digest",                                                                            \
     .help = "sha256: and 64 hex digits, as verdicts and rows cite it.",                          \
     .kind = TC_PARAM_TEXT,                                                                       \
     .flags = TC_PARAM_NEEDED | TC_PARAM_IN_PATH},                                                \
        {.name = "at",                                                                            \
         .help = "Which bytes: OFFSET,LENGTH, as verdicts cite them.",                            \
         .kind = TC_PARAM_TEXT},                                                                  \
    {                                                                                             \
        .name = "batch", .kind = TC_PARAM_COUNT, .most = 9e15,                                    \
        .help = "Number of the stored batch, where a row says it (evidence_batch): batches that " \
                "no verdict cites are not found by digest alone."                                 \
    }

struct tc_evidence_part {
    char *bytes;
    size_t len;
    uint64_t offset; /* of the first of them */
    uint64_t total;  /* bytes of the whole */
};

/*
 * Up to `length` bytes from `offset` on; the digest of the whole was checked. TC_E_NOTFOUND: there
 * is no such evidence; TC_E_MALFORMED: it is damaged. No message names a path of ours. The caller
 * frees bytes.
 */
TC_CHECKED tc_status tc_evidence_part_read(const char *data_dir,
                                           const struct tc_evidence_want *want, uint64_t offset,
                                           size_t length, struct tc_evidence_part *out,
                                           struct tc_error *err);
/* TC_E_USAGE when the range that is wanted is not within it. */
TC_CHECKED tc_status tc_evidence_range_check(const struct tc_evidence_want *want, uint64_t total,
                                             struct tc_error *err);

#endif
