/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A template of alerts: what is taken renders JSON for whatever an alert says. The input is a
 * template, and after its first line that is "%" the text of every field.
 */
#include "alert/template.h"
#include "base/assert.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct tc_template *t, struct tc_json_parser *parser,
                  const struct tc_alert *alert)
{
    struct tc_grow out = {0};
    struct tc_json root;
    if (tc_template_render(t, alert, &out) == TC_OK) {
        TC_ASSERT(out.buf.len <= TC_TEMPLATE_OUTPUT_MAX + TC_TEMPLATE_BYTES_MAX);
        (void)!tc_json_parse(parser, tc_grow_slice(&out), &root, NULL);
    }
    tc_grow_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_slice all = tc_slice_make((const char *)data, size);
    size_t cut = tc_slice_find(all, TC_LIT("\n%\n"));
    struct tc_slice text = tc_slice_head(all, cut);
    struct tc_slice field = cut == TC_NPOS ? TC_LIT("\"}") : tc_slice_from(all, cut + 3);
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_template *t = NULL;
    struct tc_error err = {0};
    TC_ASSERT(parser != NULL);
    if (tc_template_read(text, parser, &t, &err) == TC_OK) {
        for (int i = 0; i < 2; i++) {
            struct tc_alert a;
            tc_alert_sample(&a, i == 0, 0);
            field = tc_slice_head(field, 4096);
            a.id = a.pattern = a.headline = a.remediation = a.node = a.gpu = a.job = field;
            a.name_space = a.pod = a.merged_into = a.link = a.token = field;
            a.parts[0].id = a.parts[0].headline = a.parts[0].node = a.parts[0].pattern = field;
            check(t, parser, &a);
        }
        tc_template_destroy(t);
    } else {
        TC_ASSERT(err.message[0] != '\0');
    }
    tc_json_parser_destroy(parser);
    return 0;
}
