/* SPDX-License-Identifier: Apache-2.0 */
/* A document as JSON: all that it holds, and nothing of how it looks. */
#include "report/document/render.h"

static void put_number(struct tc_json_out *j, const struct tc_doc_number *n)
{
    static const char *const STYLES[] = {
        [TC_DOC_PLAIN] = "value", [TC_DOC_RATIO] = "ratio", [TC_DOC_CHANGE] = "difference"};
    tc_json_add_object(j);
    tc_json_put_str(j, "id", n->id);
    tc_json_put_cstr(j, "kind", STYLES[n->style]);
    tc_json_put_f64(j, "value", n->value);
    tc_json_put_str_or_null(j, "unit", n->unit);
    tc_json_put_u64(j, "n", n->runs);
    if (n->base_runs > 0) {
        tc_json_put_u64(j, "n_base", n->base_runs);
    }
    if (n->has_interval) {
        tc_json_put_object(j, "interval");
        tc_json_put_f64(j, "low", n->interval.low);
        tc_json_put_f64(j, "high", n->interval.high);
        tc_json_put_f64(j, "level", n->interval.level);
        tc_json_end_object(j);
    } else {
        tc_json_put_null(j, "interval");
        tc_json_put_str(j, "no_interval", n->why);
    }
    tc_json_end_object(j);
}

static void put_spans(struct tc_json_out *j, const struct tc_doc_spans *spans)
{
    tc_json_add_array(j);
    for (const struct tc_doc_span *s = spans->first; s != NULL; s = s->next) {
        tc_json_add_object(j);
        switch (s->kind) {
        case TC_DOC_TEXT:
            tc_json_put_str(j, "text", s->text);
            break;
        case TC_DOC_STRONG:
            tc_json_put_str(j, "strong", s->text);
            break;
        case TC_DOC_CODE:
            tc_json_put_str(j, "code", s->text);
            break;
        case TC_DOC_NUMBER:
            tc_json_key(j, "number");
            put_number(j, s->number);
            break;
        }
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}

static void put_table(struct tc_json_out *j, const struct tc_doc_table *t)
{
    tc_json_add_object(j);
    tc_json_put_str(j, "caption", t->caption);
    tc_json_put_array(j, "columns");
    for (size_t i = 0; i < t->column_count; i++) {
        tc_json_add_str(j, t->heads[i]);
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "rows");
    for (const struct tc_doc_row *row = t->first; row != NULL; row = row->next) {
        tc_json_add_array(j);
        for (size_t i = 0; i < row->cell_count; i++) {
            put_spans(j, &row->cells[i]);
        }
        tc_json_end_array(j);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}

static void put_marks(struct tc_json_out *j, const struct tc_doc_plot *p,
                      const struct tc_doc_side *side)
{
    tc_json_put_array(j, "marks");
    for (size_t i = 0; i < side->mark_count; i++) {
        const struct tc_doc_mark *m = &side->marks[i];
        tc_json_add_object(j);
        tc_json_put_f64(j, "x", m->x);
        if (p->kind != TC_DOC_STRIP) {
            tc_json_put_f64(j, "y", m->y);
        }
        if (m->has_range) {
            tc_json_put_f64(j, "low", m->low);
            tc_json_put_f64(j, "high", m->high);
        }
        tc_json_put_some(j, "label", m->label);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}

static void put_plot(struct tc_json_out *j, const struct tc_doc_plot *p)
{
    static const char *const KINDS[] = {
        [TC_DOC_STRIP] = "strip", [TC_DOC_CURVE] = "curve", [TC_DOC_TREND] = "trend"};
    tc_json_add_object(j);
    tc_json_put_cstr(j, "kind", KINDS[p->kind]);
    tc_json_put_str(j, "title", p->title);
    tc_json_put_str(j, "describes", p->describes);
    tc_json_put_some(j, "x", p->x_name);
    tc_json_put_some(j, "y", p->y_name);
    tc_json_put_array(j, "sides");
    for (size_t i = 0; i < p->side_count; i++) {
        tc_json_add_object(j);
        tc_json_put_str(j, "name", p->sides[i].name);
        put_marks(j, p, &p->sides[i]);
        if (p->sides[i].middle != NULL) {
            tc_json_key(j, "median");
            put_number(j, p->sides[i].middle);
        }
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "changes");
    for (size_t i = 0; i < p->change_count; i++) {
        tc_json_add_object(j);
        tc_json_put_u64(j, "at", p->changes[i].at);
        tc_json_put_some(j, "label", p->changes[i].label);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}

static void put_block(struct tc_json_out *j, const struct tc_doc_block *b)
{
    tc_json_add_object(j);
    switch (b->kind) {
    case TC_DOC_HEADING:
        tc_json_put_str(j, "heading", b->text);
        tc_json_put_u64(j, "level", b->level);
        break;
    case TC_DOC_PARAGRAPH:
        tc_json_key(j, "paragraph");
        put_spans(j, &b->spans);
        break;
    case TC_DOC_ITEM:
        tc_json_key(j, "item");
        put_spans(j, &b->spans);
        break;
    case TC_DOC_NOTE:
        tc_json_key(j, "note");
        put_spans(j, &b->spans);
        break;
    case TC_DOC_COMMAND:
        tc_json_put_str(j, "command", b->text);
        break;
    case TC_DOC_TABLE:
        tc_json_key(j, "table");
        put_table(j, b->table);
        break;
    case TC_DOC_PLOT:
        tc_json_key(j, "plot");
        put_plot(j, b->plot);
        break;
    }
    tc_json_end_object(j);
}

static void put_lineage(struct tc_json_out *j, const struct tc_doc_lineage *l)
{
    tc_json_add_object(j);
    tc_json_put_str(j, "id", l->id);
    tc_json_put_str(j, "what", l->what);
    tc_json_put_bool(j, "published", l->is_published);
    tc_json_put_str(j, "query", l->query);
    tc_json_put_str(j, "query_spec_digest", l->query_digest);
    if (l->claim.len > 0) {
        tc_json_put_raw(j, "claim", l->claim);
    }
    tc_json_put_array(j, "runs_of");
    for (size_t i = 0; i < TC_DOC_SIDES_MAX && l->bases[i] != NULL; i++) {
        tc_json_add_str(j, l->bases[i]->name);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}

static void put_basis(struct tc_json_out *j, const struct tc_doc_basis *b)
{
    tc_json_add_object(j);
    tc_json_put_str(j, "name", b->name);
    tc_json_put_array(j, "runs");
    for (size_t i = 0; i < b->run_count; i++) {
        tc_json_add_object(j);
        tc_json_put_str(j, "run_id", b->runs[i].run_id);
        tc_json_put_str_or_null(j, "artifact_manifest_digest", b->runs[i].manifest_digest);
        tc_json_put_str_or_null(j, "workload_spec_digest", b->runs[i].spec_digest);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "sources");
    for (size_t i = 0; i < b->source_count; i++) {
        tc_json_add_object(j);
        tc_json_put_str(j, "run_id", b->sources[i].run_id);
        tc_json_put_str_or_null(j, "name", b->sources[i].name);
        tc_json_put_str(j, "digest", b->sources[i].digest);
        tc_json_put_str_or_null(j, "pointer", b->sources[i].pointer);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}

void tc_doc_json(const struct tc_doc *d, struct tc_json_out *j)
{
    tc_json_add_object(j);
    tc_json_put_str(j, "title", d->title);
    tc_json_put_str(j, "audience", d->audience);
    tc_json_put_str(j, "tracecore", d->version);
    tc_json_key(j, "answer");
    put_spans(j, &d->answer);
    tc_json_put_array(j, "facts");
    for (const struct tc_doc_fact *f = d->first_fact; f != NULL; f = f->next) {
        tc_json_add_object(j);
        tc_json_put_str(j, "name", f->name);
        tc_json_key(j, "says");
        put_spans(j, &f->spans);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "blocks");
    for (const struct tc_doc_block *b = d->first; b != NULL; b = b->next) {
        put_block(j, b);
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "lineage");
    for (const struct tc_doc_lineage *l = d->first_lineage; l != NULL; l = l->next) {
        put_lineage(j, l);
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "runs");
    for (const struct tc_doc_basis *b = d->first_basis; b != NULL; b = b->next) {
        put_basis(j, b);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}
