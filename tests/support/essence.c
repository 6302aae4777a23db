/* SPDX-License-Identifier: Apache-2.0 */
#include "support/essence.h"

static void put_word(struct tc_buf *b, struct tc_slice word)
{
    tc_buf_char(b, ' ');
    tc_buf_str(b, word.len == 0 ? TC_LIT("-") : word);
}

static void put_scope(struct tc_buf *b, const struct tc_scope *s)
{
    put_word(b, s->node);
    put_word(b, s->ns);
    put_word(b, s->pod);
    put_word(b, s->job);
    put_word(b, s->gpu_uuid);
    tc_buf_char(b, ' ');
    tc_buf_bdf(b, s->pci);
    tc_buf_char(b, ' ');
    tc_buf_i64(b, s->rank);
}

static void put_culprits(struct tc_buf *b, const struct tc_finding *f)
{
    for (size_t i = 0; i < f->attr_count; i++) {
        const struct tc_attr *a = &f->attrs[i];
        if (a->type == TC_ATTR_INTS && tc_slice_ends(a->key, TC_LIT("ranks"))) {
            put_word(b, a->key);
            for (size_t k = 0; k < a->count; k++) {
                tc_buf_char(b, ' ');
                tc_buf_i64(b, a->ints[k]);
            }
        }
    }
}

void tc_essence_put(struct tc_buf *b, const struct tc_verdict *v, bool with_id)
{
    const struct tc_finding *f = v->finding;
    tc_buf_str(b, f->pattern_name);
    put_word(b, with_id ? v->incident_id : TC_EMPTY);
    put_word(b, f->discriminator);
    put_word(b, v->status == TC_VERDICT_RESOLVED ? TC_LIT("resolved") : TC_LIT("open"));
    put_word(b, tc_slice_cstr(tc_confidence_name(f->confidence)));
    put_word(b, f->root ? TC_LIT("root") : TC_EMPTY);
    put_scope(b, &f->scope);
    put_culprits(b, f);
}
