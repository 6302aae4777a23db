/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/rules_priv.h"

#include <stddef.h>

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct tc__rule RULES[] = {
#define RULE(path_, kind_, ...) {.path = path_, .kind = TC__##kind_, __VA_ARGS__},
#include "contract/rules.def"
#undef RULE
};

const struct tc__rule *tc__contract_rules(size_t *out_count)
{
    *out_count = TC_COUNT(RULES);
    return RULES;
}

const struct tc__rule *tc__contract_rule(struct tc_slice path)
{
    size_t i = tc_slice_row(path, RULES, path);
    return i < TC_COUNT(RULES) ? &RULES[i] : NULL;
}
