/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of playbooks.def, and what they share. */
#ifndef TC_DIAGNOSE_CHECKS_PRIV_H
#define TC_DIAGNOSE_CHECKS_PRIV_H

#include "base/number.h"
#include "diagnose/context_priv.h"

#include <math.h>

/* Checks are made in order: the first of a straggler says which node is suspected. */
typedef void (*tc__check_fn)(struct tc__context *c, const struct tc_playbook *p,
                             struct tc_check *out);
/* After all checks of it were made. */
typedef enum tc_recognised (*tc__recognise_fn)(struct tc__context *c, struct tc_playbook *p);

struct tc_check_info {
    const char *name;
    const char *title;
    double weight;
    const char *cause;
    const char *patterns; /* separated by blanks */
    const char *experiment;
    tc__check_fn check;
};

struct tc_playbook_info {
    const char *name;
    const char *title;
    tc__recognise_fn recognise;
};

#define PLAYBOOK(id, name, title) \
    enum tc_recognised tc__recognise_##id(struct tc__context *c, struct tc_playbook *p);
#define CHECK(playbook, id, name, title, weight, cause, patterns, experiment) \
    void tc__check_##id(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out);
#include "diagnose/playbooks.def"
#undef PLAYBOOK
#undef CHECK

/* From this on a check is worth a claim. */
#define TC__CLAIM_STRENGTH 0.5

/* At least `least`, and `times` as much as the base where that is known. */
static inline bool tc__is_up(double run, double base, double times, double least)
{
    return run >= least && (isnan(base) || run >= times * base);
}

/* "12.3 %" of a share. */
static inline struct tc_arg tc__as_percent(double share)
{
    return tc_as_number(100 * share);
}

/* "; 0.2 in the base", or nothing where that is not known. */
#define tc__in_base(value, unit) \
    tc_when(!isnan(value), " ({}" unit " in the base)", tc_as_number(value))

/* Values of a signal on both sides, in one go. */
struct tc__pair {
    struct tc__values run;
    struct tc__values base;
};
struct tc__pair tc__pair_of(struct tc__context *c, enum tc__signal signal,
                            const struct tc__want *want);
struct tc__pair tc__pair_quotient(struct tc__context *c, enum tc__signal a, enum tc__signal b,
                                  const struct tc__want *want);
/* How many of the values are up, as a share; 0 for none. The base is its median. */
double tc__share_up(struct tc__context *c, const struct tc__pair *p, double times, double least);

/* The containers that the kernel throttles, see docs/diagnose.md. */
void tc__throttling(struct tc__context *c, struct tc_check *out);

#endif
