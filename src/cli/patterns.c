/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/patterns.h"

#include "base/buf.h"
#include "base/time.h"
#include "detect/detector.h"
#include "engine/engine.h"

/* One detector with its knobs; all texts are ours. */
#define ENTRY_MAX 16384

/* A knob's value for people; durations may be of less than a second. */
static void put_value(struct tc_buf *b, const struct tc_param *p, int64_t value)
{
    if (p->type == TC_PARAM_DURATION) {
        tc_buf_duration(b, value);
    } else {
        tc_buf_i64(b, value);
    }
}

static void put_text(struct tc_buf *b, const struct tc_detector *d)
{
    tc_buf_str(b, tc_slice_cstr(d->name));
    tc_buf_lit(b, " (pattern ");
    tc_buf_str(b, tc_slice_cstr(d->id));
    tc_buf_lit(b, ")\n  ");
    tc_buf_str(b, tc_slice_cstr(d->summary));
    tc_buf_char(b, '\n');
    for (size_t i = 0; i < d->param_count; i++) {
        const struct tc_param *p = &d->params[i];
        tc_buf_lit(b, "  --set ");
        tc_buf_str(b, tc_slice_cstr(d->name));
        tc_buf_char(b, '.');
        tc_buf_str(b, tc_slice_cstr(p->name));
        tc_buf_lit(b, "=");
        tc_buf_str(b, p->type == TC_PARAM_DURATION ? TC_LIT("DURATION") : TC_LIT("COUNT"));
        tc_buf_lit(b, "\n      ");
        tc_buf_str(b, tc_slice_cstr(p->help));
        tc_buf_lit(b, "\n      default ");
        put_value(b, p, p->value);
        tc_buf_lit(b, ", from ");
        put_value(b, p, p->min);
        tc_buf_lit(b, " to ");
        put_value(b, p, p->max);
        tc_buf_char(b, '\n');
    }
}

static void number_member(struct tc_buf *b, struct tc_slice quoted_key, const struct tc_param *p,
                          int64_t value)
{
    tc_buf_str(b, quoted_key);
    if (p->type == TC_PARAM_DURATION) {
        tc_buf_f64(b, (double)value / (double)TC_SECOND);
    } else {
        tc_buf_i64(b, value);
    }
}

static void put_json(struct tc_buf *b, const struct tc_detector *d)
{
    tc_buf_lit(b, "{\"pattern.id\":");
    tc_buf_json(b, tc_slice_cstr(d->id));
    tc_buf_lit(b, ",\"pattern.name\":");
    tc_buf_json(b, tc_slice_cstr(d->name));
    tc_buf_lit(b, ",\"summary\":");
    tc_buf_json(b, tc_slice_cstr(d->summary));
    tc_buf_lit(b, ",\"knobs\":[");
    for (size_t i = 0; i < d->param_count; i++) {
        const struct tc_param *p = &d->params[i];
        tc_buf_str(b, i == 0 ? TC_LIT("{\"name\":") : TC_LIT(",{\"name\":"));
        tc_buf_json(b, tc_slice_cstr(p->name));
        tc_buf_lit(b, ",\"unit\":");
        tc_buf_json(b, p->type == TC_PARAM_DURATION ? TC_LIT("s") : TC_LIT("1"));
        number_member(b, TC_LIT(",\"default\":"), p, p->value);
        number_member(b, TC_LIT(",\"min\":"), p, p->min);
        number_member(b, TC_LIT(",\"max\":"), p, p->max);
        tc_buf_lit(b, ",\"help\":");
        tc_buf_json(b, tc_slice_cstr(p->help));
        tc_buf_char(b, '}');
    }
    tc_buf_lit(b, "]}\n");
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
        char text[ENTRY_MAX];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        if (json) {
            put_json(&b, all[i]);
        } else {
            tc_buf_str(&b, listed++ == 0 ? TC_EMPTY : TC_LIT("\n"));
            put_text(&b, all[i]);
        }
        (void)tc_output_put(out, tc_buf_slice(&b));
    }
}
