/* SPDX-License-Identifier: Apache-2.0 */
#include "report/document/document.h"

#include "base/assert.h"

#include <math.h>

/* Of a formatted text that needs no memory of its own while it is made. */
#define TEXT_BYTES 2048

void tc_doc_init(struct tc_doc *d, struct tc_arena *arena, struct tc_slice title)
{
    *d = (struct tc_doc){.arena = arena, .title = title};
}

/* A list in the arena: `first`, `last` and `next` as all lists here have them. */
#define APPEND(list_first, list_last, item) \
    do {                                    \
        if ((list_last) == NULL) {          \
            (list_first) = (item);          \
        } else {                            \
            (list_last)->next = (item);     \
        }                                   \
        (list_last) = (item);               \
    } while (0)

#define NEW(d, type) ((d)->failed ? NULL : check_new((d), tc_new((d)->arena, type, 1)))

static void *check_new(struct tc_doc *d, void *memory)
{
    d->failed = d->failed || memory == NULL;
    return memory;
}

static struct tc_doc_block *add_block(struct tc_doc *d, enum tc_doc_block_kind kind)
{
    struct tc_doc_block *b = NEW(d, struct tc_doc_block);
    if (b != NULL) {
        b->kind = kind;
        APPEND(d->first, d->last, b);
    }
    return b;
}

static struct tc_doc_spans *add_spans(struct tc_doc *d, enum tc_doc_block_kind kind)
{
    struct tc_doc_block *b = add_block(d, kind);
    return b == NULL ? &d->lost : &b->spans;
}

struct tc_doc_spans *tc_doc_fact(struct tc_doc *d, struct tc_slice name)
{
    struct tc_doc_fact *f = NEW(d, struct tc_doc_fact);
    if (f == NULL) {
        return &d->lost;
    }
    f->name = name;
    APPEND(d->first_fact, d->last_fact, f);
    return &f->spans;
}

void tc_doc_heading(struct tc_doc *d, unsigned level, struct tc_slice text)
{
    TC_ASSERT(level == 2 || level == 3);
    struct tc_doc_block *b = add_block(d, TC_DOC_HEADING);
    if (b != NULL) {
        b->level = level;
        b->text = text;
    }
}

struct tc_doc_spans *tc_doc_paragraph(struct tc_doc *d)
{
    return add_spans(d, TC_DOC_PARAGRAPH);
}

struct tc_doc_spans *tc_doc_item(struct tc_doc *d)
{
    return add_spans(d, TC_DOC_ITEM);
}

struct tc_doc_spans *tc_doc_note(struct tc_doc *d)
{
    return add_spans(d, TC_DOC_NOTE);
}

void tc_doc_command(struct tc_doc *d, struct tc_slice text)
{
    struct tc_doc_block *b = add_block(d, TC_DOC_COMMAND);
    if (b != NULL) {
        b->text = text;
    }
}

struct tc_doc_table *tc_doc_table(struct tc_doc *d, struct tc_slice caption)
{
    struct tc_doc_block *b = add_block(d, TC_DOC_TABLE);
    struct tc_doc_table *t = NEW(d, struct tc_doc_table);
    if (b == NULL || t == NULL) {
        return NULL;
    }
    t->caption = caption;
    b->table = t;
    return t;
}

void tc_doc_column(struct tc_doc *d, struct tc_doc_table *t, struct tc_slice head, bool is_number)
{
    if (d->failed) {
        return;
    }
    TC_ASSERT(t->column_count < TC_DOC_COLUMNS_MAX && t->first == NULL);
    t->heads[t->column_count] = head;
    t->is_number[t->column_count++] = is_number;
}

void tc_doc_row(struct tc_doc *d, struct tc_doc_table *t)
{
    struct tc_doc_row *row = NEW(d, struct tc_doc_row);
    if (row != NULL) {
        APPEND(t->first, t->last, row);
        t->row_count++;
    }
}

struct tc_doc_spans *tc_doc_cell(struct tc_doc *d, struct tc_doc_table *t)
{
    if (d->failed) {
        return &d->lost;
    }
    TC_ASSERT(t->last != NULL && t->last->cell_count < t->column_count);
    return &t->last->cells[t->last->cell_count++];
}

struct tc_doc_plot *tc_doc_plot(struct tc_doc *d, enum tc_doc_plot_kind kind, struct tc_slice title)
{
    struct tc_doc_block *b = add_block(d, TC_DOC_PLOT);
    struct tc_doc_plot *p = NEW(d, struct tc_doc_plot);
    if (b == NULL || p == NULL) {
        return NULL;
    }
    p->kind = kind;
    p->title = title;
    b->plot = p;
    return p;
}

void tc_doc_add(struct tc_doc *d, struct tc_doc_spans *spans, enum tc_doc_span_kind kind,
                struct tc_slice text)
{
    struct tc_doc_span *s = text.len == 0 ? NULL : NEW(d, struct tc_doc_span);
    if (s != NULL) {
        s->kind = kind;
        s->text = text;
        APPEND(spans->first, spans->last, s);
    }
}

const struct tc_doc_number *tc_doc_add_number(struct tc_doc *d, struct tc_doc_spans *spans,
                                              const struct tc_doc_number *number)
{
    TC_ASSERT(isfinite(number->value) && number->runs > 0);
    TC_ASSERT(number->has_interval || number->why.len > 0);
    TC_ASSERT(number->id.len > 0);
    struct tc_doc_span *s = NEW(d, struct tc_doc_span);
    struct tc_doc_number *copy = NEW(d, struct tc_doc_number);
    if (s == NULL || copy == NULL) {
        return NULL;
    }
    *copy = *number;
    s->kind = TC_DOC_NUMBER;
    s->number = copy;
    APPEND(spans->first, spans->last, s);
    return copy;
}

static struct tc_slice copy_text(struct tc_doc *d, struct tc_slice text)
{
    struct tc_slice copy = tc_arena_copy(d->arena, text);
    d->failed = d->failed || !tc_arena_ok(d->arena);
    return copy;
}

struct tc_slice tc_doc_text_args(struct tc_doc *d, const struct tc_arg *args, size_t count)
{
    char data[TEXT_BYTES];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    struct tc_slice text = tc_format_args(&b, args, count);
    if (d->failed || !b.overflowed) {
        return d->failed ? TC_EMPTY : copy_text(d, text);
    }
    struct tc_grow g = {0};
    tc_grow_format_args(&g, args, count);
    d->failed = g.failed;
    text = d->failed ? TC_EMPTY : copy_text(d, tc_grow_slice(&g));
    tc_grow_fini(&g);
    return text;
}

static const struct tc_doc_lineage *find_lineage(const struct tc_doc *d, struct tc_slice id)
{
    const struct tc_doc_lineage *l = d->first_lineage;
    while (l != NULL && !tc_slice_eq(l->id, id)) {
        l = l->next;
    }
    return l;
}

const struct tc_doc_lineage *tc_doc_lineage_same_query(const struct tc_doc *d,
                                                       const struct tc_doc_lineage *entry)
{
    const struct tc_doc_lineage *l = d->first_lineage;
    while (!tc_slice_eq(l->query, entry->query)) {
        l = l->next;
    }
    return l;
}

void tc_doc_lineage_add(struct tc_doc *d, const struct tc_doc_lineage *entry)
{
    if (find_lineage(d, entry->id) != NULL) {
        return;
    }
    struct tc_doc_lineage *l = NEW(d, struct tc_doc_lineage);
    if (l != NULL) {
        *l = *entry;
        l->next = NULL;
        APPEND(d->first_lineage, d->last_lineage, l);
    }
}

const struct tc_doc_basis *tc_doc_basis_add(struct tc_doc *d, const struct tc_doc_basis *basis)
{
    struct tc_doc_basis *b = NEW(d, struct tc_doc_basis);
    if (b != NULL) {
        *b = *basis;
        b->next = NULL;
        APPEND(d->first_basis, d->last_basis, b);
    }
    return b;
}
