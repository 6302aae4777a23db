/* SPDX-License-Identifier: Apache-2.0 */
/* A run contract: read, checked both ways, and what it says. */
#include "base/assert.h"
#include "contract/contract.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
static void on_violation(void *context, const struct tc_violation *v)
{
    size_t *count = context;
    TC_ASSERT(v->path[0] != '\0' && v->message[0] != '\0' && v->line > 0 && v->column > 0);
    *count += 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[1 << 16];
    struct tc_contract *c = NULL;
    struct tc_contract_facts facts;
    struct tc_error err;
    struct tc_slice out;
    size_t told = 0;
    if (tc_contract_parse(tc_slice_make((const char *)data, size), &c, &err) != TC_OK) {
        return 0;
    }
    size_t plain = tc_contract_check(c, false, on_violation, &told);
    TC_ASSERT(plain == told);
    told = 0;
    size_t strict = tc_contract_check(c, true, on_violation, &told);
    TC_ASSERT(strict == told && strict >= plain);
    tc_contract_facts(c, &facts);
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_contract_summary(c, &b);
    if (tc_contract_canonical(c, false, &out, &err) == TC_OK) {
        TC_ASSERT(out.len > 0);
    }
    (void)!tc_contract_canonical(c, true, &out, &err);
    (void)tc_contract_workload_json(c, "sequenceLengthMix");
    tc_contract_destroy(c);
    return 0;
}
