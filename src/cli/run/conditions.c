/* SPDX-License-Identifier: Apache-2.0 */
/* What publishing asks of a run, for people. */
#include "run/conditions.h"
#include "base/format.h"
#include "base/json/json.h"
#include "cli/run/run.h"

void tc_run_conditions_unmet(struct tc_slice json, struct tc_grow *out)
{
    struct tc_condition conditions[TC_CONDITIONS_MAX];
    struct tc_json_parser *parser = tc_json_parser_create();
    size_t count = parser == NULL ? 0 : tc_conditions_read(parser, json, conditions);
    size_t told = 0;
    for (size_t n = 0; n < count; n++) {
        if (conditions[n].state != TC_CONDITION_MET) {
            tc_grow_format(out, "{}{}", told++ > 0 ? ", " : "",
                           tc_as_printable(conditions[n].name));
        }
    }
    tc_json_parser_destroy(parser);
}

void tc_run_conditions_put(struct tc_grow *g, const struct tc_condition *conditions, size_t count)
{
    tc_grow_lit(g, "conditions for publishing\n");
    for (size_t n = 0; n < count; n++) {
        tc_text_finding(g, conditions[n].name, tc_condition_state_name(conditions[n].state, true),
                        conditions[n].why);
    }
}
