/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Templates of a webhook's body: JSON with {{field}} in it. What a field says is escaped for a JSON
 * string, always, so that no text from outside can leave the quotes that it stands in; there is no
 * way to turn that off, no expression, no call and no file that is read. Sections {{#field}} ...
 * {{/field}} are there when the field is not empty, {{^field}} when it is; {{#parts}} is repeated.
 * docs/alerts.md lists the fields, docs/decisions/0022-templates-of-our-own.md says why no library.
 *
 * A template that was read renders any alert to JSON: reading renders samples and checks that.
 */
#ifndef TC_ALERT_TEMPLATE_H
#define TC_ALERT_TEMPLATE_H

#include "alert/alert.h"
#include "base/json/json.h"
#include "base/status.h"
#include "base/table/grow.h"

#define TC_TEMPLATE_BYTES_MAX ((size_t)64 << 10)
#define TC_TEMPLATE_STEPS_MAX 4096
#define TC_TEMPLATE_DEPTH_MAX 8
/* Of what is rendered. */
#define TC_TEMPLATE_OUTPUT_MAX ((size_t)512 << 10)

struct tc_template;

/*
 * Copies text. TC_E_MALFORMED with "line 3: ..." when it is no template, or when what it renders
 * would be no JSON; TC_E_LIMIT, TC_E_NOMEM.
 */
TC_CHECKED tc_status tc_template_read(struct tc_slice text, struct tc_json_parser *parser,
                                      struct tc_template **out_template, struct tc_error *err);
void tc_template_destroy(struct tc_template *t);

/* Whether it has the field in it. */
bool tc_template_uses(const struct tc_template *t, const char *field);

/* Appends the body for an alert. TC_E_LIMIT beyond TC_TEMPLATE_OUTPUT_MAX, TC_E_NOMEM. */
TC_CHECKED tc_status tc_template_render(const struct tc_template *t, const struct tc_alert *alert,
                                        struct tc_grow *out);

/* An alert as it might come, for previews, tests of a receiver, and to check a template with. */
void tc_alert_sample(struct tc_alert *out, bool is_firing, int64_t now_ns);

#endif
