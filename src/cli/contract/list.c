/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore contract list`: the contracts that there are, as the HTTP API and MCP list them. */
#include "answers/question.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "cli/contract/contract.h"
#include "cli/output/output.h"
#include "cli/output/say.h"

#include <stdlib.h>

#define NAME_WIDTH 20
#define PATH_WIDTH 42

static void put_text(struct tc_grow *g, struct tc_json root)
{
    struct tc_json all;
    struct tc_json one;
    if (!tc_json_get(root, TC_LIT("contracts"), &all)) {
        return;
    }
    struct tc_json_iter it = tc_json_iter_make(all);
    while (tc_json_iter_next(&it, NULL, &one)) {
        struct tc_slice path = tc_json_get_string(one, TC_LIT("path"));
        tc_grow_format(g, "{}{}{}\n",
                       tc_as_padded(tc_json_get_string(one, TC_LIT("name")), NAME_WIDTH),
                       tc_as_padded(tc_slice_or(path, TC_LIT("-")), PATH_WIDTH),
                       tc_json_get_string(one, TC_LIT("description")));
    }
}

int tc_contract_run_list(const struct tc_contract_args *args)
{
    static struct tc_asked asked;
    struct tc_reply reply = {0};
    struct tc_error err = {0};
    struct tc_json root;
    struct tc_grow text = {0};
    struct tc_json_parser *parser = NULL;
    tc_asked_init(&asked, &tc_question_contracts, tc_wall_ns());
    tc_status status = tc_question_answer(&asked, &reply, &err);
    if (status == TC_OK && args->json) {
        return tc_output_grown("contract", &reply.body, TC_EXIT_OK);
    }
    if (status == TC_OK) {
        parser = tc_json_parser_create();
        status = parser == NULL ? tc_fail(&err, TC_E_NOMEM, 0, "out of memory")
                                : tc_json_parse(parser, tc_grow_slice(&reply.body), &root, &err);
    }
    if (status == TC_OK) {
        put_text(&text, root);
    }
    tc_json_parser_destroy(parser);
    tc_reply_fini(&reply);
    return status == TC_OK ? tc_output_grown("contract", &text, TC_EXIT_OK)
                           : tc_refuse("contract", "%s", err.message);
}
