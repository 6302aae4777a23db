/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/pivot.h"

static void put_head(struct tc_json_out *j, struct tc_slice run_id, const struct tc_group *base)
{
    tc_json_put_str(j, "run_id", run_id);
    tc_json_key(j, "against");
    if (base == NULL) {
        tc_json_add_null(j);
    } else {
        tc_json_add_cstr(j, base->text);
    }
    tc_json_put_u64(j, "base_runs", base == NULL ? 0 : base->run_count);
}

static void put_outcome(struct tc_json_out *j, const struct tc_outcome *o)
{
    tc_json_add_object(j);
    tc_json_put_str(j, "metric", o->series->name);
    tc_json_put_str_or_null(j, "unit", o->series->unit);
    tc_json_put_f64(j, "run", o->run);
    tc_json_put_f64(j, "base", o->base);
    tc_json_put_f64(j, "base_low", o->low);
    tc_json_put_f64(j, "base_high", o->high);
    tc_json_put_f64(j, "ratio", o->ratio);
    tc_json_put_bool(j, "worse", o->is_worse);
    tc_json_end_object(j);
}

void tc_points_json(struct tc_json_out *j, struct tc_slice run_id, const struct tc_group *base,
                    const struct tc_points *p)
{
    tc_json_add_object(j);
    put_head(j, run_id, base);
    tc_json_put_array(j, "points");
    for (size_t i = 0; i < p->point_count; i++) {
        const struct tc_slow_point *point = &p->points[i];
        tc_json_add_object(j);
        tc_json_put_str(j, "point", point->point->text);
        tc_json_put_bool(j, "in_base", point->in_base);
        tc_json_put_f64(j, "times_worse", point->worst);
        tc_json_put_array(j, "metrics");
        for (size_t n = 0; n < p->outcome_count; n++) {
            if (p->outcomes[n].point == i) {
                put_outcome(j, &p->outcomes[n]);
            }
        }
        tc_json_end_array(j);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}

static void put_series(struct tc_json_out *j, const struct tc_pivot_series *s)
{
    static const char *const peers[] = {
        [TC_PEERS_NONE] = "none", [TC_PEERS_RUN] = "run", [TC_PEERS_BASE] = "base"};
    tc_json_add_object(j);
    tc_json_put_str(j, "family", s->family);
    tc_json_put_str(j, "metric", s->metric);
    tc_json_put_str_or_null(j, "unit", s->unit);
    tc_json_put_str_or_null(j, "node", s->node);
    tc_json_put_str_or_null(j, "gpu", s->gpu);
    tc_json_key(j, "rank");
    if (s->rank < 0) {
        tc_json_add_null(j);
    } else {
        tc_json_add_i64(j, s->rank);
    }
    tc_json_put_str_or_null(j, "pod_uid", s->pod_uid);
    tc_json_put_str_or_null(j, "point", s->point);
    tc_json_put_f64(j, "value", s->value);
    tc_json_put_f64(j, "median", s->median);
    tc_json_put_f64(j, "z", s->z);
    tc_json_put_cstr(j, "peers", peers[s->peers]);
    tc_json_put_u64(j, "peer_count", s->peer_count);
    tc_json_put_bool(j, "by_time_only", s->is_fuzzy);
    tc_json_put_str_or_null(j, "digest", s->digest);
    tc_json_end_object(j);
}

void tc_pivot_json(struct tc_json_out *j, const struct tc_pivot_want *want,
                   const struct tc_pivot *p)
{
    tc_json_add_object(j);
    put_head(j, want->run_id, want->base);
    tc_json_put_str_or_null(j, "point", want->point != NULL ? want->point->point->text : TC_EMPTY);
    tc_json_put_str_or_null(j, "node", want->node);
    tc_json_put_u64(j, "series_read", p->read);
    tc_json_put_u64(j, "series_without_peers", p->unjudged);
    tc_json_put_array(j, "series");
    for (size_t i = 0; i < p->series_count; i++) {
        put_series(j, &p->series[i]);
    }
    tc_json_end_array(j);
    tc_json_key(j, "requests");
    tc_answer_rows_json(j, &p->requests);
    tc_json_key(j, "incidents");
    tc_answer_rows_json(j, &p->incidents);
    tc_json_end_object(j);
}
