/* SPDX-License-Identifier: Apache-2.0 */
/* The actions of `tracecore contract`. Each gives the exit status. */
#ifndef TC_CLI_CONTRACT_CONTRACT_H
#define TC_CLI_CONTRACT_CONTRACT_H

#include "contract/contract.h"

#include <stdbool.h>
#include <stddef.h>

struct tc_contract_args {
    bool strict;
    bool json;
    bool markdown;
    bool force;
    const char *output;
    const char *overrides;
    const char *fields[TC_FIELD_COUNT]; /* NULL: not given */
};

int tc_contract_run_check(const struct tc_contract_args *args, char *const *paths, size_t count);
int tc_contract_run_init(const struct tc_contract_args *args);
int tc_contract_run_list(const struct tc_contract_args *args);
int tc_contract_run_explain(const struct tc_contract_args *args, const char *path);

#endif
