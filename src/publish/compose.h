/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The query of a number that is named by a group of runs, a metric and a point: with the ids of the
 * runs in it, so that it means the same runs for ever.
 */
#ifndef TC_PUBLISH_COMPOSE_H
#define TC_PUBLISH_COMPOSE_H

#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"
#include "compare/groups.h"
#include "compare/samples.h"
#include "publish/publish.h"
#include "warehouse/warehouse.h"

struct tc_compose_want {
    struct tc_slice group;      /* compare/groups.h */
    struct tc_slice metric;     /* by its whole name */
    struct tc_slice point;      /* words of it; empty: there is one only */
    struct tc_slice definition; /* empty: there is one only */
};

struct tc_composed {
    struct tc_group group;
    struct tc_series_set set;
    const struct tc_series *series; /* that it is; metric, definition, unit and point are in it */
    struct tc_grow query;
    struct tc_grow report_row; /* where nothing else is said */
};

/* TC_E_NOTFOUND: no such runs or values; TC_E_USAGE: several points or definitions, which err
 * lists. tc_compose_fini frees what it holds, also after a failure. */
TC_CHECKED tc_status tc_compose(struct tc_warehouse *w, const struct tc_compose_want *want,
                                struct tc_composed *out, struct tc_error *err);
void tc_compose_fini(struct tc_composed *c);

/*
 * tc_publish for a group of runs, by metric, point and definition of want; without a group for the
 * query of want. Unit and report row are made up where they are not given.
 */
TC_CHECKED tc_status tc_publish_of(const struct tc_publish_want *want, struct tc_slice group,
                                   struct tc_publish_outcome *out, struct tc_error *err);

#endif
