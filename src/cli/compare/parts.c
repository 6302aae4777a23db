/* SPDX-License-Identifier: Apache-2.0 */
/* What the page for people and the one for a pull request share. */
#include "base/format.h"
#include "base/number.h"
#include "cli/compare/compare.h"

#include <math.h>

bool tc_compare_is_shown(const struct tc_pair *p, bool all)
{
    switch (p->verdict) {
    case TC_PAIR_DIFFERENT:
        return all || p->is_main;
    case TC_PAIR_BETTER:
    case TC_PAIR_WORSE:
        return true;
    case TC_PAIR_INSUFFICIENT:
    case TC_PAIR_MULTIMODAL:
    case TC_PAIR_SAME:
    case TC_PAIR_UNSTABLE:
    case TC_PAIR_VERDICTS:
        break;
    }
    return all || p->is_main;
}

void tc_compare_others(const struct tc_comparison *c, bool all, struct tc_grow *g)
{
    size_t hidden[TC_PAIR_VERDICTS] = {0};
    size_t count = 0;
    bool any = false;
    for (size_t n = 0; n < c->pair_count; n++) {
        if (!tc_compare_is_shown(&c->pairs[n], all)) {
            hidden[c->pairs[n].verdict]++;
            count++;
        }
    }
    if (count == 0) {
        return;
    }
    tc_grow_format(g, "{} other series: ", count);
    for (size_t n = TC_PAIR_VERDICTS; n > 0; n--) {
        if (hidden[n - 1] > 0) {
            tc_grow_format(g, "{}{} {}", any ? ", " : "", hidden[n - 1],
                           tc_pair_verdict_name((enum tc_pair_verdict)(n - 1)));
            any = true;
        }
    }
}

/* ---- what else differs ---- */

static void put_unknown(const struct tc_differences *d, struct tc_grow *g)
{
    const struct {
        bool is;
        const char *name;
    } parts[] = {{d->unknown_software, "software"},
                 {d->unknown_hardware, "hardware"},
                 {d->unknown_cluster, "cluster"}};
    size_t count = 0;
    size_t told = 0;
    for (size_t n = 0; n < TC_COUNT(parts); n++) {
        count += parts[n].is ? 1 : 0;
    }
    if (count == 0) {
        return;
    }
    tc_grow_lit(g, " Of ");
    for (size_t n = 0; n < TC_COUNT(parts); n++) {
        if (parts[n].is) {
            tc_grow_format(g, "{}{}",
                           told == 0           ? ""
                           : told + 1 == count ? " and "
                                               : ", ",
                           parts[n].name);
            told++;
        }
    }
    tc_grow_lit(g, " nothing is known on either side: they may differ.");
}

void tc_compare_confounded(const struct tc_comparison *c, struct tc_grow *g)
{
    const struct tc_differences *d = &c->differs;
    size_t between = 0;
    for (size_t n = 0; n < d->count; n++) {
        between += d->items[n].kind == TC_DIFFERS_BETWEEN ? 1 : 0;
    }
    if (d->is_confounded && d->variable.len > 0) {
        tc_grow_format(g, "Confounded: more differs than the variable under test ({}).",
                       tc_as_printable(d->variable));
    } else if (d->is_confounded) {
        tc_grow_format(g,
                       "Confounded: {} things differ, and the numbers cannot tell which of them "
                       "made a difference.",
                       between);
    } else if (between > 0 && d->variable.len > 0) {
        tc_grow_format(g, "Only the variable under test ({}) differs.",
                       tc_as_printable(d->variable));
    } else if (between > 0) {
        tc_grow_lit(g, "Not confounded, as far as known.");
    } else {
        tc_grow_lit(g, "Nothing else that is known differs.");
    }
    put_unknown(d, g);
}

/* ---- numbers ---- */

void tc_compare_median(const struct tc_pair_side *s, struct tc_grow *g)
{
    if (s->mode_count > 1) {
        tc_grow_format(g, "{} modes", s->mode_count);
    } else if (s->mode_count == 1) {
        tc_grow_lit(g, "modes");
    } else {
        tc_grow_format(g, "{}", tc_as_number(s->spread.median));
    }
}

struct tc_slice tc_compare_typical_run(const struct tc_comparison *c, const struct tc_pair *p,
                                       size_t side)
{
    const struct tc_series *s = p->sides[side].series;
    double median = p->sides[side].spread.median;
    size_t best = 0;
    for (size_t n = 1; n < s->count; n++) {
        if (fabs(s->values[n] - median) < fabs(s->values[best] - median)) {
            best = n;
        }
    }
    return tc_group_text(&c->groups[side], s->runs[best], TC_GROUP_RUN_ID);
}
