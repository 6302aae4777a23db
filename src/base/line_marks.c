/* SPDX-License-Identifier: Apache-2.0 */
#include "base/line_marks.h"

static struct tc_line_marks_text *text_of(struct tc_line_marks *m, struct tc_slice bytes)
{
    for (size_t i = 0; i < TC_LINE_MARKS_TEXTS; i++) {
        struct tc_line_marks_text *t = &m->texts[i];
        if (t->bytes.ptr == bytes.ptr && t->bytes.len == bytes.len) {
            return t;
        }
    }
    struct tc_line_marks_text *t = &m->texts[m->next];
    m->next = (m->next + 1) % TC_LINE_MARKS_TEXTS;
    size_t least = bytes.len / TC_LINE_MARKS_MAX + 1;
    t->bytes = bytes;
    t->step = least > TC_LINE_MARKS_STEP ? least : TC_LINE_MARKS_STEP;
    t->known = 1;
    t->lines[0] = 0;
    return t;
}

uint64_t tc_line_marks_count(struct tc_line_marks *m, struct tc_slice bytes, size_t offset)
{
    struct tc_slice before = tc_slice_head(bytes, offset);
    if (m == NULL || bytes.len < TC_LINE_MARKS_STEP) {
        return tc_slice_count(before, '\n');
    }
    struct tc_line_marks_text *t = text_of(m, bytes);
    size_t mark = before.len / t->step;
    for (; t->known <= mark; t->known++) {
        size_t from = (t->known - 1) * t->step;
        struct tc_slice piece = tc_slice_make(bytes.ptr + from, t->step);
        t->lines[t->known] = t->lines[t->known - 1] + tc_slice_count(piece, '\n');
    }
    return t->lines[mark] + tc_slice_count(tc_slice_from(before, mark * t->step), '\n');
}
