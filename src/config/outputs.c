/* SPDX-License-Identifier: Apache-2.0 */
/* The receivers of alerts: alerts.outputs, and what alerts.* is to those who deliver. */
#include "alert/quiet.h"
#include "base/assert.h"
#include "base/format.h"
#include "config/config_priv.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_MAX 64

enum field {
    FIELD_NAME,
    FIELD_TYPE,
    FIELD_URL,
    FIELD_URL_FILE,
    FIELD_TEMPLATE,
    FIELD_SEVERITY,
    FIELD_HEADERS,
    FIELD_LABELS,
    FIELD_CONDITION,
    FIELD_TOKEN_FILE,
    FIELD_CA_FILE,
    FIELD_CERT_FILE,
    FIELD_KEY_FILE,
    FIELD_COUNT
};

#define AT(member) \
    offsetof(struct tc_alert_output, member), sizeof(((const struct tc_alert_output *)0)->member)

static const struct {
    const char *name;
    size_t offset;
    size_t size;
    enum tc__config_output_kind kind;
} FIELDS[FIELD_COUNT] = {
    [FIELD_NAME] = {"name", AT(name), TC__OUTPUT_TEXT},
    [FIELD_TYPE] = {"type", AT(type), TC__OUTPUT_TEXT},
    [FIELD_URL] = {"url", AT(url), TC__OUTPUT_TEXT},
    [FIELD_URL_FILE] = {"url_file", AT(url_file), TC__OUTPUT_TEXT},
    [FIELD_TEMPLATE] = {"template", AT(template_file), TC__OUTPUT_TEXT},
    [FIELD_SEVERITY] = {"severity", AT(severity), TC__OUTPUT_TEXT},
    [FIELD_HEADERS] = {"headers", AT(headers), TC__OUTPUT_MAP},
    [FIELD_LABELS] = {"labels", AT(labels), TC__OUTPUT_MAP},
    [FIELD_CONDITION] = {"condition", AT(condition), TC__OUTPUT_TEXT},
    [FIELD_TOKEN_FILE] = {"token_file", AT(token_file), TC__OUTPUT_TEXT},
    [FIELD_CA_FILE] = {"ca_file", AT(ca_file), TC__OUTPUT_TEXT},
    [FIELD_CERT_FILE] = {"cert_file", AT(cert_file), TC__OUTPUT_TEXT},
    [FIELD_KEY_FILE] = {"key_file", AT(key_file), TC__OUTPUT_TEXT},
};

static const char *const TYPES[] = {[TC_ALERT_ALERTMANAGER] = "alertmanager",
                                    [TC_ALERT_WEBHOOK] = "webhook",
                                    [TC_ALERT_KUBERNETES] = "kubernetes",
                                    NULL};
static const char *const SEVERITIES[] = {[TC_SEVERITY_INFO] = "info",
                                         [TC_SEVERITY_WARNING] = "warning",
                                         [TC_SEVERITY_CRITICAL] = "critical",
                                         NULL};

static struct tc_alert_output *output_of(struct tc__config_load *l)
{
    /* One that is too many is skipped as a whole. */
    TC_ASSERT(l->out->alerts_output_count < TC_ALERT_RECEIVERS_MAX);
    return &l->out->alerts_outputs[l->out->alerts_output_count];
}

bool tc__config_output_begin(struct tc__config_load *l, struct tc__config_output *o,
                             const struct tc__config_place *place)
{
    o->seen = 0;
    (void)snprintf(o->path, sizeof o->path, "%s[%zu]", tc__config_rows[TC_KEY_alerts_outputs].path,
                   o->at);
    if (l->out->alerts_output_count == TC_ALERT_RECEIVERS_MAX) {
        tc__config_mistake(l, place, o->path, "there can be %d receivers at most",
                           TC_ALERT_RECEIVERS_MAX);
        return false;
    }
    memset(output_of(l), 0, sizeof *output_of(l));
    return true;
}

enum tc__config_output_kind tc__config_output_field(struct tc__config_load *l,
                                                    struct tc__config_output *o,
                                                    const struct tc__config_place *place,
                                                    struct tc_slice name, size_t *out_field)
{
    size_t i = tc_slice_row(name, FIELDS, name);
    if (i == FIELD_COUNT) {
        tc__config_mistake(
            l, place, o->path,
            "\"%.*s\" is no key of a receiver; there are name, type, url, "
            "url_file, template, severity, headers, labels, condition, token_file, ca_file, "
            "cert_file and key_file",
            TC_FMT(tc_slice_head(name, SHOWN_MAX)));
        return TC__OUTPUT_UNKNOWN;
    }
    if ((o->seen & 1U << i) != 0) {
        tc__config_mistake(l, place, o->path, "%s is there twice", FIELDS[i].name);
        return TC__OUTPUT_UNKNOWN;
    }
    o->seen |= 1U << i;
    *out_field = i;
    return FIELDS[i].kind;
}

/* Letters, digits, '_', '-' and '.': it becomes a label of metrics. */
static bool is_name(struct tc_slice text)
{
    bool good = text.len > 0;
    for (size_t i = 0; i < text.len && good; i++) {
        good = tc_is_word(text.ptr[i]) || text.ptr[i] == '-' || text.ptr[i] == '.';
    }
    return good;
}

/* What is wrong with a field's text; NULL: nothing. */
static const char *judge(enum field field, struct tc_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f) {
            return "has a control character in it";
        }
    }
    if (text.len >= FIELDS[field].size && field != FIELD_TYPE && field != FIELD_SEVERITY) {
        return "is too long";
    }
    if (field == FIELD_NAME && !is_name(text)) {
        return "is made of letters, digits, _, - and .";
    }
    if (field == FIELD_CONDITION && !is_name(text)) {
        return "is no name of a condition, such as TracecoreIncident";
    }
    if (field == FIELD_URL && !tc__config_is_url(text)) {
        return "is no http:// or https:// address";
    }
    return text.len == 0 ? "is empty" : NULL;
}

static bool set_word(struct tc__config_load *l, struct tc__config_output *o,
                     const struct tc__config_place *place, enum field field, struct tc_slice text)
{
    bool is_type = field == FIELD_TYPE;
    int which = tc_slice_which(text, is_type ? TYPES : SEVERITIES);
    if (which < 0) {
        tc__config_mistake(
            l, place, o->path, "\"%.*s\" is none of %s", TC_FMT(tc_slice_head(text, SHOWN_MAX)),
            is_type ? "alertmanager, webhook, kubernetes" : "info, warning, critical");
    } else if (is_type) {
        output_of(l)->type = (enum tc_alert_output_type)which;
    } else {
        output_of(l)->severity = (enum tc_severity)which;
    }
    return which >= 0;
}

void tc__config_output_set(struct tc__config_load *l, struct tc__config_output *o,
                           const struct tc__config_place *place, size_t field, struct tc_slice text)
{
    TC_ASSERT(field < FIELD_COUNT);
    if (field == FIELD_TYPE || field == FIELD_SEVERITY) {
        (void)set_word(l, o, place, (enum field)field, text);
        return;
    }
    const char *why = judge((enum field)field, text);
    if (why != NULL) {
        tc__config_mistake(l, place, o->path, "%s: \"%.*s\" %s", FIELDS[field].name,
                           TC_FMT(tc_slice_head(text, SHOWN_MAX)), why);
        return;
    }
    memcpy((char *)output_of(l) + FIELDS[field].offset, text.ptr, text.len);
}

/* [a-zA-Z_][a-zA-Z0-9_]*, and none that an alert has of its own. */
static bool is_label(struct tc_slice name)
{
    bool good = name.len > 0 && name.len < 64 && !tc_is_digit(name.ptr[0]);
    for (size_t i = 0; i < name.len && good; i++) {
        good = tc_is_word(name.ptr[i]);
    }
    return good && !tc_slice_is_any(name, "alertname", "story", "severity", "pattern");
}

static void add_label(struct tc__config_load *l, struct tc__config_output *o,
                      const struct tc__config_place *place, struct tc_slice name,
                      struct tc_slice value)
{
    char *to = output_of(l)->labels;
    struct tc_buf b = tc_buf_make(to, TC_ALERT_LINES_MAX - 1);
    b.len = strlen(to);
    char line_text[128];
    struct tc_buf line = tc_buf_make(line_text, sizeof line_text);
    bool is_twice =
        tc_slice_starts(tc_buf_slice(&b), tc_format(&line, "{}=", name)) ||
        (tc_buf_reset(&line), tc_slice_contains(tc_buf_slice(&b), tc_format(&line, "\n{}=", name)));
    const char *why = !is_label(name) ? "cannot be the name of a label, or is one already"
                      : is_twice      ? "is there twice"
                                      : judge(FIELD_LABELS, value);
    if (why == NULL && b.cap - b.len < name.len + value.len + 2) {
        why = "is one too many: there is room for 2 KiB";
    }
    if (why != NULL) {
        tc__config_mistake(l, place, o->path, "labels: \"%.*s\" %s",
                           TC_FMT(tc_slice_head(name, SHOWN_MAX)), why);
        return;
    }
    (void)tc_format(&b, "{}={}\n", name, value);
}

void tc__config_output_add(struct tc__config_load *l, struct tc__config_output *o,
                           const struct tc__config_place *place, size_t field, struct tc_slice name,
                           struct tc_slice value)
{
    if (field == FIELD_LABELS) {
        add_label(l, o, place, name, value);
        return;
    }
    (void)tc__config_header(l, &(struct tc__config_header){.path = o->path,
                                                           .place = *place,
                                                           .name = name,
                                                           .value = value,
                                                           .to = output_of(l)->headers,
                                                           .to_size = TC_ALERT_LINES_MAX});
}

static bool has(const struct tc__config_output *o, enum field field)
{
    return (o->seen & 1U << field) != 0;
}

/* What is wrong with the fields together; NULL: nothing. */
static const char *judge_all(const struct tc_alert_output *out, const struct tc__config_output *o)
{
    bool is_webhook = out->type == TC_ALERT_WEBHOOK;
    bool is_kubernetes = out->type == TC_ALERT_KUBERNETES;
    bool has_both = has(o, FIELD_URL) && has(o, FIELD_URL_FILE);
    bool has_none = !has(o, FIELD_URL) && !has(o, FIELD_URL_FILE);
    const struct {
        bool is_wrong;
        const char *why;
    } rules[] = {
        {!has(o, FIELD_NAME), "name is missing"},
        {!has(o, FIELD_TYPE), "type is missing"},
        {has_both || (has_none && !is_kubernetes), "needs url or url_file, one of them"},
        {is_webhook && !has(o, FIELD_TEMPLATE), "a webhook needs a template"},
        {!is_webhook && has(o, FIELD_TEMPLATE), "template is for webhooks"},
        {out->type != TC_ALERT_ALERTMANAGER && has(o, FIELD_LABELS),
         "labels are for alertmanagers"},
        {!is_kubernetes && has(o, FIELD_CONDITION), "condition is for kubernetes"},
        {has(o, FIELD_CERT_FILE) != has(o, FIELD_KEY_FILE), "cert_file and key_file come together"},
    };
    for (size_t i = 0; i < TC_COUNT(rules); i++) {
        if (rules[i].is_wrong) {
            return rules[i].why;
        }
    }
    return NULL;
}

void tc__config_output_end(struct tc__config_load *l, struct tc__config_output *o,
                           const struct tc__config_place *place)
{
    struct tc_alert_output *out = output_of(l);
    const char *why = judge_all(out, o);
    if (why != NULL) {
        tc__config_mistake(l, place, o->path, "%s", why);
    }
    for (size_t i = 0; i < l->out->alerts_output_count; i++) {
        if (strcmp(l->out->alerts_outputs[i].name, out->name) == 0) {
            tc__config_mistake(l, place, o->path, "another receiver has the name %s", out->name);
        }
    }
    l->out->alerts_output_count++;
}

void tc__config_outputs_print(struct tc_buf *b, const struct tc_config *c)
{
    tc_buf_char(b, '[');
    for (size_t i = 0; i < c->alerts_output_count; i++) {
        tc_buf_str(b, i == 0 ? TC_EMPTY : TC_LIT(", "));
        (void)tc_format(b, "\"{} ({})\"", c->alerts_outputs[i].name,
                        TYPES[c->alerts_outputs[i].type]);
    }
    tc_buf_char(b, ']');
}

static void check_text(struct tc__config_load *l, enum tc_config_key key, const char *why)
{
    const struct tc__config_node *node =
        tc__config_find(l, tc_slice_cstr(tc__config_rows[key].path));
    if (!node->bad) {
        tc__config_mistake(l, &node->place, node->path, "%s", why);
    }
}

void tc__config_check_quiet(struct tc__config_load *l)
{
    struct tc_quiet quiet;
    struct tc_zone zone;
    struct tc_error err = {0};
    struct tc_slice hours = tc_slice_cstr(l->out->alerts_quiet_hours);
    struct tc_slice name = tc_slice_cstr(l->out->alerts_quiet_time_zone);
    if (tc_quiet_read(hours, &quiet, &err) != TC_OK) {
        check_text(l, TC_KEY_alerts_quiet_hours, err.message);
    } else if (hours.len >= TC_ALERT_HOURS_MAX) {
        check_text(l, TC_KEY_alerts_quiet_hours, "is too long");
    }
    if (name.len >= TC_ALERT_NAME_MAX || (!tc_zone_fixed(name, &zone) && !tc_zone_is_name(name))) {
        check_text(l, TC_KEY_alerts_quiet_time_zone,
                   "is no time zone: write UTC, +02:00 or a name such as Europe/Berlin");
    }
}

void tc_config_alerts(const struct tc_config *config, struct tc_alert_settings *out)
{
    memset(out, 0, sizeof *out);
    memcpy(out->outputs, config->alerts_outputs, sizeof out->outputs);
    out->output_count = config->alerts_output_count;
    out->settle_ns = config->alerts_settle;
    out->update_ns = config->alerts_update;
    out->resend_ns = config->alerts_resend;
    out->forget_ns = config->alerts_forget;
    out->timeout_ns = config->alerts_timeout;
    out->backoff_min_ns = config->alerts_backoff_min;
    out->backoff_max_ns = config->alerts_backoff_max;
    /* They were checked to fit. */
    memcpy(out->link, config->alerts_link, sizeof out->link - 1);
    memcpy(out->quiet_hours, config->alerts_quiet_hours, sizeof out->quiet_hours - 1);
    memcpy(out->quiet_time_zone, config->alerts_quiet_time_zone, sizeof out->quiet_time_zone - 1);
}
