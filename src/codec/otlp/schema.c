/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/otlp/schema_priv.h"

#include "base/assert.h"
#include "base/pb.h"

/* A message's row has no name, and its role in `type`; its fields follow. */
static const struct tc__otlp_field ROWS[] = {
#define MESSAGE(id, what) {.message = TC__OTLP_M_##id, .type = TC__OTLP_##what},
#define ROW(n, json, kind, of, kept, list, pairs) \
    {.name = {json, sizeof(json) - 1},            \
     .number = (n),                               \
     .type = TC__OTLP_T_##kind,                   \
     .message = TC__OTLP_M_##of,                  \
     .keep = TC__OTLP_K_##kept,                   \
     .many = (list),                              \
     .is_attributes = (pairs)},
#define FIELD(number, name, type, keep) ROW(number, name, type, LOGS_REQUEST, keep, false, false)
#define LIST(number, name, type, keep) ROW(number, name, type, LOGS_REQUEST, keep, true, false)
#define NESTED(number, name, message, keep) ROW(number, name, MESSAGE, message, keep, false, false)
#define NESTEDS(number, name, message, keep) ROW(number, name, MESSAGE, message, keep, true, false)
#define ATTRIBUTES(number, name, keep) ROW(number, name, MESSAGE, KEY_VALUE, keep, true, true)
#include "codec/otlp/fields.def"
#undef MESSAGE
#undef ROW
#undef FIELD
#undef LIST
#undef NESTED
#undef NESTEDS
#undef ATTRIBUTES
};

#define ROW_COUNT TC_COUNT(ROWS)

const uint8_t tc__otlp_wires[] = {
    [TC__OTLP_T_MESSAGE] = TC_PB_LENGTH,  [TC__OTLP_T_STRING] = TC_PB_LENGTH,
    [TC__OTLP_T_BYTES] = TC_PB_LENGTH,    [TC__OTLP_T_ID16] = TC_PB_LENGTH,
    [TC__OTLP_T_ID8] = TC_PB_LENGTH,      [TC__OTLP_T_BOOL] = TC_PB_VARINT,
    [TC__OTLP_T_ENUM] = TC_PB_VARINT,     [TC__OTLP_T_UINT32] = TC_PB_VARINT,
    [TC__OTLP_T_SINT32] = TC_PB_VARINT,   [TC__OTLP_T_INT64] = TC_PB_VARINT,
    [TC__OTLP_T_UINT64] = TC_PB_VARINT,   [TC__OTLP_T_FIXED32] = TC_PB_FIXED32,
    [TC__OTLP_T_FIXED64] = TC_PB_FIXED64, [TC__OTLP_T_SFIXED64] = TC_PB_FIXED64,
    [TC__OTLP_T_DOUBLE] = TC_PB_FIXED64,
};

static void add(struct tc__otlp_message *m, const struct tc__otlp_field *f)
{
    TC_ASSERT(f->number < TC__OTLP_NUMBERS && m->by_number[f->number] == 0);
    m->field_count++;
    m->by_number[f->number] = m->field_count;
    unsigned tag = (unsigned)f->number << 3 | tc__otlp_wires[f->type];
    if (tag < TC__OTLP_TAGS) {
        m->by_tag[tag] = m->field_count;
    }
    unsigned slot = tc__otlp_key_slot(f->name);
    while (m->by_key[slot] != 0) {
        slot = (slot + 1) & (TC__OTLP_KEY_SLOTS - 1);
    }
    m->by_key[slot] = m->field_count;
}

void tc__otlp_schema_init(struct tc__otlp_schema *s)
{
    struct tc__otlp_message *m = NULL;
    *s = (struct tc__otlp_schema){0};
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (ROWS[i].name.len == 0) {
            m = &s->messages[ROWS[i].message];
            m->role = ROWS[i].type;
            m->fields = &ROWS[i] + 1;
        } else {
            TC_ASSERT(m != NULL); /* the first row is a message */
            add(m, &ROWS[i]);
        }
    }
}

enum tc__otlp_keep tc__otlp_keep_by_name(struct tc_slice name)
{
    /* One name is kept as one thing, whatever message it is in. */
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (ROWS[i].keep != TC__OTLP_K_NONE && tc_slice_eq(ROWS[i].name, name)) {
            return (enum tc__otlp_keep)ROWS[i].keep;
        }
    }
    return TC__OTLP_K_NONE;
}
