/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that were published, as the audit log has them: what the tables should say. */
#ifndef TC_PUBLISH_NUMBERS_H
#define TC_PUBLISH_NUMBERS_H

#include "base/digest.h"
#include "base/json/out.h"
#include "base/slice.h"
#include "base/status.h"
#include "publish/audit.h"
#include "publish/claim.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_NUMBERS_MAX ((size_t)1 << 20)

struct tc_number {
    char id[TC_NUMBER_ID_BYTES];
    char *text;       /* holds the entry that published it */
    char *retraction; /* and the one that retracted it; NULL: none */
    struct tc_slice entry;
    struct tc_slice claim; /* canonical */
    struct tc_slice by;
    struct tc_slice reason; /* of the retraction */
    uint64_t seq;
    struct tc_digest entry_digest;
    int64_t at_ns;
    int64_t retracted_ns;
    bool is_retracted;
};

struct tc_numbers {
    struct tc_audit_chain chain;
    struct tc_number *items; /* in the order of their ids */
    size_t count;
    size_t cap;
};

/* tc_numbers_fini frees what it holds, also after a failure. */
TC_CHECKED tc_status tc_numbers_read(const char *data_dir, struct tc_numbers *out,
                                     struct tc_error *err);
void tc_numbers_fini(struct tc_numbers *n);
/* NULL: it never was published. */
const struct tc_number *tc_numbers_find(const struct tc_numbers *n, struct tc_slice id);
/* One object: the number, who published it and when, its claim. */
void tc_number_json(struct tc_json_out *j, const struct tc_number *n, const struct tc_claim *claim);

#endif
