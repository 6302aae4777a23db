/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.json of `tracecore probe`: no measurements, only what the machine is. Its members software
 * and hardware have the names of the columns of both dimensions.
 */
#include "codec/codec.h"
#include "result/result.h"

#define S(literal) TC_LIT(literal)
#define VERSION_KNOWN 1

/* Every column that the object has a member for. */
static tc_status take(struct tc_result *r, enum tc_table table, struct tc_json object,
                      const char *where, struct tc_error *err)
{
    const struct tc_table_info *info = tc_table_info(table);
    for (size_t i = 1; i < info->column_count; i++) { /* the first is the key */
        struct tc_json value;
        struct tc_slice text = TC_EMPTY;
        int64_t number = 0;
        const char *name = info->columns[i].name;
        if (!tc_json_get(object, tc_slice_cstr(name), &value) ||
            tc_json_type(value) == TC_JSON_NULL) {
            continue;
        }
        if (info->columns[i].type == TC_COLUMN_TEXT && tc_json_string(value, &text)) {
            tc_result_fact_text(r, table, i, text);
        } else if (info->columns[i].type == TC_COLUMN_INT && tc_json_type(value) == TC_JSON_INT &&
                   tc_json_int(value, &number) && number > 0) {
            tc_result_fact_int(r, table, i, number);
        } else {
            return tc_fail(err, TC_E_MALFORMED, 0, "%s/%s: expected %s or null", where, name,
                           info->columns[i].type == TC_COLUMN_INT ? "a positive integer"
                                                                  : "a string");
        }
    }
    return TC_OK;
}

static tc_status read_probe(const struct tc_result_input *in, struct tc_result *r,
                            struct tc_error *err)
{
    struct tc_json part;
    int64_t version = tc_json_get_int(in->root, S("tracecore_probe"), 0);
    if (version != VERSION_KNOWN) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "/tracecore_probe: version %lld; this program reads %d", (long long)version,
                       VERSION_KNOWN);
    }
    if (tc_json_get(in->root, S("software"), &part)) {
        TC_TRY(take(r, TC_TABLE_SOFTWARE, part, "/software", err));
    }
    if (tc_json_get(in->root, S("hardware"), &part)) {
        TC_TRY(take(r, TC_TABLE_HARDWARE, part, "/hardware", err));
    }
    return tc_result_status(r, err);
}

const struct tc_reader tc_reader_probe = {
    .name = "probe",
    .summary = "probe.json of tracecore probe: software and hardware of a machine.",
    .forms = 1U << TC_RESULT_JSON,
    .keys =
        {
            {"tracecore_probe?, software?|hardware?", TC_SNIFF_SURE, TC_OF_FILE},
        },
    .read = read_probe,
    .only_facts = true,
};
