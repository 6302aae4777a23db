/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/patterns.h"

#include "base/format.h"
#include "base/time.h"
#include "detect/detector.h"
#include "engine/engine.h"

/* A knob's value for people; durations may be of less than a second. */
static struct tc_arg value_of(const struct tc_knob *p, int64_t value)
{
    return p->type == TC_KNOB_DURATION ? tc_as_duration(value) : tc_arg_i64(value);
}

static void put_text(struct tc_output *out, const struct tc_detector *d)
{
    (void)tc_output_format(out, "{} (pattern {})\n  {}\n", d->name, d->id, d->summary);
    for (size_t i = 0; i < d->param_count; i++) {
        const struct tc_knob *p = &d->params[i];
        (void)tc_output_format(out, "  --set {}.{}={}\n      {}\n      default {}, from {} to {}\n",
                               d->name, p->name, p->type == TC_KNOB_DURATION ? "DURATION" : "COUNT",
                               p->help, value_of(p, p->value), value_of(p, p->min),
                               value_of(p, p->max));
    }
}

static void add_value(struct tc_json_out *j, const struct tc_knob *p, int64_t value)
{
    if (p->type == TC_KNOB_DURATION) {
        tc_json_add_f64(j, (double)value / (double)TC_SECOND);
    } else {
        tc_json_add_i64(j, value);
    }
}

static void put_json(struct tc_output *out, const struct tc_detector *d)
{
    struct tc_json_out j = tc_output_object(out);
    tc_json_put_cstr(&j, "pattern.id", d->id);
    tc_json_put_cstr(&j, "pattern.name", d->name);
    tc_json_put_cstr(&j, "summary", d->summary);
    tc_json_put_array(&j, "knobs");
    for (size_t i = 0; i < d->param_count; i++) {
        const struct tc_knob *p = &d->params[i];
        tc_json_add_object(&j);
        tc_json_put_cstr(&j, "name", p->name);
        tc_json_put_cstr(&j, "unit", p->type == TC_KNOB_DURATION ? "s" : "1");
        tc_json_key(&j, "default");
        add_value(&j, p, p->value);
        tc_json_key(&j, "min");
        add_value(&j, p, p->min);
        tc_json_key(&j, "max");
        add_value(&j, p, p->max);
        tc_json_put_cstr(&j, "help", p->help);
        tc_json_end_object(&j);
    }
    tc_json_end_array(&j);
    (void)tc_json_end_line(&j);
}

void tc_patterns_list(struct tc_output *out, const struct tc_engine *engine, bool json)
{
    size_t count = 0;
    size_t listed = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    for (size_t i = 0; i < count; i++) {
        if (engine != NULL && !tc_engine_is_enabled(engine, i)) {
            continue;
        }
        if (json) {
            put_json(out, all[i]);
            continue;
        }
        (void)tc_output_put(out, listed++ == 0 ? TC_EMPTY : TC_LIT("\n"));
        put_text(out, all[i]);
    }
}
