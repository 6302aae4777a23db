/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A template is read into steps: text, the value of a field, or the beginning and the end of a
 * section. Rendering walks them with one place to go back to, since only {{#parts}} repeats and it
 * is not nested.
 */
#include "alert/template.h"

#include "alert/fields_priv.h"
#include "base/assert.h"
#include "event/verdict.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 40

enum kind { STEP_TEXT, STEP_VALUE, STEP_WHEN, STEP_UNLESS, STEP_PARTS, STEP_END };

struct step {
    enum kind kind;
    size_t field;         /* of a value or a condition */
    size_t partner;       /* of a section its end, of an end its beginning */
    struct tc_slice text; /* in the template */
};

struct tc_template {
    struct step *steps;
    size_t count;
    size_t cap;
    char text[];
};

struct reading {
    struct tc_template *t;
    struct tc_slice all;
    size_t at;
    size_t open[TC_TEMPLATE_DEPTH_MAX]; /* steps whose end has not come */
    size_t depth;
    bool in_parts;
    struct tc_error *err;
};

/* ---- reading -------------------------------------------------------------------------------- */

static size_t line_of(const struct reading *r, size_t at)
{
    size_t line = 1;
    for (size_t i = 0; i < at; i++) {
        line += r->all.ptr[i] == '\n';
    }
    return line;
}

static tc_status wrong(const struct reading *r, size_t at, const char *what, struct tc_slice name)
{
    return tc_fail(r->err, TC_E_MALFORMED, at, "line %zu: %s%s%.*s%s", line_of(r, at), what,
                   name.len > 0 ? " \"" : "", TC_FMT(tc_slice_head(name, SHOWN_MAX)),
                   name.len > 0 ? "\"" : "");
}

static tc_status add_step(struct reading *r, struct step step)
{
    struct tc_template *t = r->t;
    tc_status status = tc_grow_items(t->steps, t->cap, t->count + 1, (size_t)TC_TEMPLATE_STEPS_MAX);
    if (status != TC_OK) {
        return tc_fail(r->err, status, r->at, "more than %d fields and sections, or no memory",
                       TC_TEMPLATE_STEPS_MAX);
    }
    t->steps[t->count++] = step;
    return TC_OK;
}

static tc_status find_field(const struct reading *r, size_t at, struct tc_slice name,
                            size_t *out_field)
{
    *out_field = tc__field_find(name, r->in_parts);
    if (*out_field != SIZE_MAX) {
        return TC_OK;
    }
    struct tc_slice near = tc__field_near(name);
    if (near.len > 0 && !tc_slice_eq(near, name)) {
        return tc_fail(r->err, TC_E_MALFORMED, at,
                       "line %zu: there is no field \"%.*s\"; did you mean %.*s?", line_of(r, at),
                       TC_FMT(tc_slice_head(name, SHOWN_MAX)), TC_FMT(near));
    }
    return wrong(r, at, near.len > 0 ? "is a field of {{#parts}} only:" : "there is no field",
                 name);
}

static tc_status begin_section(struct reading *r, size_t at, struct tc_slice name, bool is_unless)
{
    struct step step = {.kind = is_unless ? STEP_UNLESS : STEP_WHEN, .text = name};
    if (r->depth == TC_TEMPLATE_DEPTH_MAX) {
        return wrong(r, at, "sections too deep in each other at", name);
    }
    if (tc_slice_eq(name, TC_LIT("parts"))) {
        if (is_unless || r->in_parts) {
            return wrong(r, at, is_unless ? "an alert always has parts:" : "parts inside of", name);
        }
        step.kind = STEP_PARTS;
        r->in_parts = true;
    } else {
        TC_TRY(find_field(r, at, name, &step.field));
    }
    r->open[r->depth++] = r->t->count;
    return add_step(r, step);
}

static tc_status end_section(struct reading *r, size_t at, struct tc_slice name)
{
    if (r->depth == 0) {
        return wrong(r, at, "the end of a section that did not begin:", name);
    }
    size_t begin = r->open[--r->depth];
    struct step *first = &r->t->steps[begin];
    if (!tc_slice_eq(first->text, name)) {
        return wrong(r, at, "another section is open at the end of", name);
    }
    first->partner = r->t->count;
    r->in_parts = r->in_parts && first->kind != STEP_PARTS;
    return add_step(r, (struct step){.kind = STEP_END, .partner = begin});
}

/* What stands between the braces, which begin at `at`. */
static tc_status read_tag(struct reading *r, size_t at, struct tc_slice tag)
{
    char sign = tag.len > 0 ? tag.ptr[0] : '\0';
    if (sign == '!') {
        return TC_OK; /* a comment */
    }
    if (sign == '{') {
        return wrong(r, at, "{{{ is nothing here: write a space between { and {{", TC_EMPTY);
    }
    bool is_signed = sign == '#' || sign == '^' || sign == '/';
    struct tc_slice name = tc_slice_trim(is_signed ? tc_slice_from(tag, 1) : tag);
    if (sign == '/') {
        return end_section(r, at, name);
    }
    if (is_signed) {
        return begin_section(r, at, name, sign == '^');
    }
    struct step step = {.kind = STEP_VALUE};
    TC_TRY(find_field(r, at, name, &step.field));
    return add_step(r, step);
}

static tc_status read_steps(struct reading *r)
{
    while (r->at < r->all.len) {
        struct tc_slice rest = tc_slice_from(r->all, r->at);
        size_t open = tc_slice_find(rest, TC_LIT("{{"));
        struct tc_slice text = tc_slice_head(rest, open);
        if (text.len > 0) {
            TC_TRY(add_step(r, (struct step){.kind = STEP_TEXT, .text = text}));
        }
        if (open == TC_NPOS) {
            break;
        }
        struct tc_slice tag = tc_slice_from(rest, open + 2);
        size_t close = tc_slice_find(tag, TC_LIT("}}"));
        if (close == TC_NPOS) {
            return wrong(r, r->at + open, "{{ without }}", TC_EMPTY);
        }
        TC_TRY(read_tag(r, r->at + open, tc_slice_trim(tc_slice_head(tag, close))));
        r->at += open + 2 + close + 2;
    }
    if (r->depth > 0) {
        struct tc_slice name = r->t->steps[r->open[r->depth - 1]].text;
        return wrong(r, (size_t)(name.ptr - r->all.ptr), "a section that does not end:", name);
    }
    return TC_OK;
}

/* ---- rendering ------------------------------------------------------------------------------ */

struct rendering {
    const struct tc_template *t;
    struct tc__field_of of;
    size_t part; /* the one whose turn it is */
    struct tc_buf scratch;
    struct tc_grow *out;
    size_t begin; /* of the output */
};

static void put_escaped(struct rendering *r, struct tc_slice text)
{
    /* A byte becomes six at most. */
    if (tc_grow_room(r->out, 6 * text.len)) {
        tc_buf_escaped(&r->out->buf, text);
    }
}

static void set_part(struct rendering *r, size_t part)
{
    const struct tc_alert *a = r->of.alert;
    r->part = part;
    r->of.part = part < a->shown_count ? &a->parts[part] : NULL;
    r->of.is_last = part + 1 == a->shown_count;
}

/* The step after `at`. */
static size_t take_step(struct rendering *r, size_t at)
{
    const struct step *s = &r->t->steps[at];
    bool is_set = false;
    switch (s->kind) {
    case STEP_TEXT:
        tc_grow_str(r->out, s->text);
        break;
    case STEP_VALUE:
        put_escaped(r, tc__field_text(s->field, &r->of, &r->scratch));
        break;
    case STEP_WHEN:
    case STEP_UNLESS:
        is_set = tc__field_text(s->field, &r->of, &r->scratch).len > 0;
        return is_set == (s->kind == STEP_WHEN) ? at + 1 : s->partner + 1;
    case STEP_PARTS:
        set_part(r, 0);
        return r->of.part != NULL ? at + 1 : s->partner + 1;
    case STEP_END:
        if (r->t->steps[s->partner].kind == STEP_PARTS) {
            set_part(r, r->part + 1);
            return r->of.part != NULL ? s->partner + 1 : at + 1;
        }
        break;
    }
    return at + 1;
}

tc_status tc_template_render(const struct tc_template *t, const struct tc_alert *alert,
                             struct tc_grow *out)
{
    char text[TC__FIELD_TEXT_MAX];
    TC_ASSERT(alert->shown_count <= TC_ALERT_PARTS_SHOWN);
    struct rendering r = {.t = t,
                          .of = {.alert = alert},
                          .scratch = tc_buf_make(text, sizeof text),
                          .out = out,
                          .begin = out->buf.len};
    for (size_t at = 0; at < t->count;) {
        at = take_step(&r, at);
        if (out->failed) {
            return TC_E_NOMEM;
        }
        if (out->buf.len - r.begin > TC_TEMPLATE_OUTPUT_MAX) {
            return TC_E_LIMIT;
        }
    }
    return TC_OK;
}

bool tc_template_uses(const struct tc_template *t, const char *field)
{
    size_t wanted = tc__field_find(tc_slice_cstr(field), false);
    for (size_t i = 0; i < t->count; i++) {
        const struct step *s = &t->steps[i];
        bool has_field = s->kind == STEP_VALUE || s->kind == STEP_WHEN || s->kind == STEP_UNLESS;
        if (has_field && s->field == wanted) {
            return true;
        }
    }
    return false;
}

/* ---- samples -------------------------------------------------------------------------------- */

void tc_alert_sample(struct tc_alert *out, bool is_firing, int64_t now_ns)
{
    *out = (struct tc_alert){
        .id = TC_LIT("7465737400000000000000000000test"),
        .is_firing = is_firing,
        .severity = TC_SEVERITY_WARNING,
        .told_severity = TC_SEVERITY_WARNING,
        .starts_ns = now_ns,
        .ends_ns = now_ns,
        .pattern = TC_LIT("alert_test"),
        .headline = TC_LIT("This is a test of tracecore's alerts: nothing is wrong"),
        .remediation = TC_LIT("Nothing is to be done"),
        .node = TC_LIT("no-node"),
        .link = TC_LIT("http://tracecore.invalid/"),
        .token = TC_LIT("token"),
        .part_count = 1,
        .open_count = is_firing,
        .shown_count = 1,
    };
    out->parts[0] = (struct tc_alert_part){.id = out->id,
                                           .pattern = out->pattern,
                                           .headline = out->headline,
                                           .node = out->node,
                                           .severity = out->severity,
                                           .is_open = is_firing};
}

/* The least and the most that an alert can say, so that every section is once there and once not.
 */
static void make_extreme(struct tc_alert *a, bool is_firing, bool is_full)
{
    tc_alert_sample(a, is_firing, 0);
    a->severity = is_full ? TC_SEVERITY_CRITICAL : TC_SEVERITY_INFO;
    if (is_full) {
        a->gpu = a->pod = a->name_space = a->job = a->merged_into = TC_LIT("\"\\\n}");
        a->shown_count = TC_ALERT_PARTS_SHOWN;
        a->part_count = TC_ALERT_PARTS_SHOWN + 1;
        for (size_t i = 1; i < TC_ALERT_PARTS_SHOWN; i++) {
            a->parts[i] = a->parts[0];
        }
    } else {
        a->headline = a->remediation = a->node = a->link = a->token = TC_EMPTY;
        a->parts[0].node = a->parts[0].headline = TC_EMPTY;
    }
}

static tc_status check_json(const struct tc_template *t, struct tc_json_parser *parser,
                            struct tc_error *err)
{
    struct tc_grow out = {0};
    tc_status status = TC_OK;
    for (unsigned i = 0; i < 4 && status == TC_OK; i++) {
        struct tc_alert alert;
        struct tc_json root;
        struct tc_error inner = {0};
        make_extreme(&alert, (i & 1) != 0, (i & 2) != 0);
        tc_buf_reset(&out.buf);
        status = tc_template_render(t, &alert, &out);
        if (status != TC_OK) {
            (void)tc_fail(err, status, 0, "what it renders is more than %zu KiB, or no memory",
                          TC_TEMPLATE_OUTPUT_MAX >> 10);
        } else if (tc_json_parse(parser, tc_grow_slice(&out), &root, &inner) != TC_OK) {
            status = tc_fail(err, TC_E_MALFORMED, 0,
                             "what it renders of a %s alert with %s fields is no JSON: %.80s",
                             alert.is_firing ? "firing" : "resolved", (i & 2) != 0 ? "all" : "few",
                             inner.message);
        }
    }
    tc_grow_fini(&out);
    return status;
}

tc_status tc_template_read(struct tc_slice text, struct tc_json_parser *parser,
                           struct tc_template **out_template, struct tc_error *err)
{
    if (text.len > TC_TEMPLATE_BYTES_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0, "more than %zu KiB", TC_TEMPLATE_BYTES_MAX >> 10);
    }
    struct tc_template *t = calloc(1, sizeof *t + text.len + 1);
    if (t == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory");
    }
    if (text.len > 0) {
        memcpy(t->text, text.ptr, text.len);
    }
    struct reading r = {.t = t, .all = tc_slice_make(t->text, text.len), .err = err};
    tc_status status = read_steps(&r);
    status = status == TC_OK ? check_json(t, parser, err) : status;
    if (status != TC_OK) {
        tc_template_destroy(t);
        return status;
    }
    *out_template = t;
    return TC_OK;
}

void tc_template_destroy(struct tc_template *t)
{
    if (t != NULL) {
        free(t->steps);
        free(t);
    }
}
