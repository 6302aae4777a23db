/* SPDX-License-Identifier: Apache-2.0 */
#include "publish/numbers.h"

#include "base/table/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct tc_numbers *n;
    struct tc_error *err;
};

static char *append(char *to, struct tc_slice from, struct tc_slice *out)
{
    if (from.len > 0) {
        memcpy(to, from.ptr, from.len);
    }
    *out = tc_slice_make(to, from.len);
    return to + from.len;
}

/* One act; those of one number are put together behind the reading. */
static tc_status take(void *context, const struct tc_audit_entry *e)
{
    struct reading *r = context;
    struct tc_numbers *n = r->n;
    bool is_retraction = tc_slice_eq(e->act, TC_LIT(TC_AUDIT_RETRACT));
    if ((!is_retraction && !tc_slice_eq(e->act, TC_LIT(TC_AUDIT_PUBLISH))) ||
        !tc_claim_is_name(e->number_id)) {
        return TC_OK; /* of a newer program */
    }
    char *text = malloc(e->text.len + e->claim.len + e->by.len + e->reason.len + 1);
    if (text == NULL || tc_grow_items(n->items, n->cap, n->count + 1, TC_NUMBERS_MAX) != TC_OK) {
        free(text);
        return tc_fail(r->err, TC_E_NOMEM, 0, "no memory for the published numbers");
    }
    struct tc_number *number = &n->items[n->count++];
    *number = (struct tc_number){.text = text,
                                 .seq = e->seq,
                                 .entry_digest = e->digest,
                                 .at_ns = e->at_ns,
                                 .retracted_ns = e->at_ns,
                                 .is_retracted = is_retraction};
    (void)snprintf(number->id, sizeof number->id, "%.*s", TC_FMT(e->number_id));
    text = append(text, e->text, &number->entry);
    text = append(text, e->claim, &number->claim);
    text = append(text, e->by, &number->by);
    (void)append(text, e->reason, &number->reason);
    return TC_OK;
}

static int by_id(const void *a, const void *b)
{
    const struct tc_number *x = a;
    const struct tc_number *y = b;
    int order = strcmp(x->id, y->id);
    return order != 0 ? order : x->seq < y->seq ? -1 : x->seq > y->seq ? 1 : 0;
}

/* The acts on one number, in their order, as one: the last publication, and the last retraction if
 * that came after it. */
static struct tc_number merge(const struct tc_number *acts, size_t count)
{
    size_t kept = count - 1;
    while (kept > 0 && acts[kept].is_retracted) {
        kept--;
    }
    kept = acts[kept].is_retracted ? count - 1 : kept;
    struct tc_number number = acts[kept];
    for (size_t i = 0; i < count; i++) {
        if (i > kept && i == count - 1) {
            number.is_retracted = true;
            number.retracted_ns = acts[i].at_ns;
            number.reason = acts[i].reason;
            number.retraction = acts[i].text;
        } else if (i != kept) {
            free(acts[i].text);
        }
    }
    return number;
}

static void put_together(struct tc_numbers *n)
{
    size_t to = 0;
    for (size_t from = 0, end; from < n->count; from = end) {
        for (end = from + 1; end < n->count && strcmp(n->items[end].id, n->items[from].id) == 0;) {
            end++;
        }
        n->items[to++] = merge(&n->items[from], end - from);
    }
    n->count = to;
}

tc_status tc_numbers_read(const char *data_dir, struct tc_numbers *out, struct tc_error *err)
{
    struct reading r = {out, err};
    *out = (struct tc_numbers){0};
    TC_TRY(tc_audit_read(data_dir, take, &r, &out->chain, err));
    if (out->count > 1) {
        qsort(out->items, out->count, sizeof *out->items, by_id);
    }
    put_together(out);
    return TC_OK;
}

void tc_numbers_fini(struct tc_numbers *n)
{
    for (size_t i = 0; i < n->count; i++) {
        free(n->items[i].text);
        free(n->items[i].retraction);
    }
    free(n->items);
    *n = (struct tc_numbers){0};
}

const struct tc_number *tc_numbers_find(const struct tc_numbers *n, struct tc_slice id)
{
    struct tc_number key = {.seq = 0};
    size_t low = 0;
    size_t high = n->count;
    (void)snprintf(key.id, sizeof key.id, "%.*s", TC_FMT(id));
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(n->items[middle].id, key.id);
        if (order == 0) {
            return &n->items[middle];
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

void tc_number_json(struct tc_json_out *j, const struct tc_number *n, const struct tc_claim *claim)
{
    tc_json_add_object(j);
    tc_json_put_cstr(j, "number_id", n->id);
    tc_json_put_time(j, "published_at", n->at_ns);
    tc_json_put_str_or_null(j, "by", n->by);
    tc_json_put_digest(j, "entry_digest", &n->entry_digest);
    if (n->is_retracted) {
        tc_json_put_time(j, "retracted_at", n->retracted_ns);
        tc_json_put_str(j, "reason", n->reason);
    }
    tc_json_key(j, "claim");
    tc_claim_json(claim, j);
    tc_json_end_object(j);
}
