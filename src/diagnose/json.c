/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/diagnose.h"

static void put_where(struct tc_json_out *j, const struct tc_where *where)
{
    tc_json_put_object(j, "scope");
    tc_json_put_str_or_null(j, "node", where->node);
    tc_json_put_str_or_null(j, "gpu", where->gpu);
    tc_json_put_str_or_null(j, "pod", where->pod);
    tc_json_key(j, "rank");
    if (where->rank < 0) {
        tc_json_add_null(j);
    } else {
        tc_json_add_i64(j, where->rank);
    }
    tc_json_end_object(j);
}

static void put_check(struct tc_json_out *j, const struct tc_check *check)
{
    tc_json_add_object(j);
    tc_json_put_cstr(j, "check", tc_check_name(check->info));
    tc_json_put_cstr(j, "title", tc_check_title(check->info));
    tc_json_put_cstr(j, "answer", tc_check_answer_name(check->answer));
    tc_json_put_f64(j, "strength", check->strength);
    tc_json_put_cstr(j, "numbers", check->numbers);
    put_where(j, &check->where);
    tc_json_put_array(j, "evidence");
    for (size_t i = 0; i < check->proof_count; i++) {
        tc_json_add_object(j);
        tc_json_put_str(j, "metric", check->proofs[i].metric);
        tc_json_put_str_or_null(j, "digest", check->proofs[i].digest);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    tc_json_put_str_or_null(j, "incident", check->verdict);
    tc_json_end_object(j);
}

static void put_hypothesis(struct tc_json_out *j, const struct tc_diagnosis *d,
                           const struct tc_hypothesis *h)
{
    struct tc_grow experiment = {0};
    tc_hypothesis_experiment(d, h, &experiment);
    tc_json_add_object(j);
    tc_json_put_cstr(j, "playbook", tc_playbook_name(h->playbook->info));
    tc_json_put_cstr(j, "cause", tc_check_name(h->check->info));
    tc_json_put_cstr(j, "words", tc_check_cause(h->check->info));
    tc_json_put_cstr(j, "confidence", tc_sureness_name(h->confidence));
    tc_json_put_f64(j, "score", h->score);
    put_where(j, &h->check->where);
    tc_json_put_str(j, "experiment", tc_grow_slice(&experiment));
    tc_json_end_object(j);
    tc_grow_fini(&experiment);
}

void tc_diagnosis_json(struct tc_json_out *j, const struct tc_diagnosis *d)
{
    tc_json_add_object(j);
    tc_json_put_str(j, "run_id", d->run_id);
    tc_json_put_str_or_null(j, "name", d->run_name);
    tc_json_key(j, "against");
    if (d->base == NULL) {
        tc_json_add_null(j);
    } else {
        tc_json_add_cstr(j, d->base->text);
    }
    tc_json_put_u64(j, "base_runs", d->base_runs);
    tc_json_put_u64(j, "series", d->slices);
    tc_json_key(j, "answer");
    if (d->has_answer) {
        put_hypothesis(j, d, &d->hypotheses[0]);
    } else {
        tc_json_add_null(j);
    }
    tc_json_put_array(j, "hypotheses");
    for (size_t i = 0; i < d->hypothesis_count; i++) {
        put_hypothesis(j, d, &d->hypotheses[i]);
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "playbooks");
    for (size_t i = 0; i < TC_PLAYBOOK_COUNT; i++) {
        const struct tc_playbook *p = &d->playbooks[i];
        tc_json_add_object(j);
        tc_json_put_cstr(j, "playbook", tc_playbook_name(p->info));
        tc_json_put_cstr(j, "recognised", tc_recognised_name(p->recognised));
        tc_json_put_cstr(j, "why", p->why);
        tc_json_put_array(j, "checks");
        for (size_t n = 0; n < p->check_count; n++) {
            put_check(j, &p->checks[n]);
        }
        tc_json_end_array(j);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}
