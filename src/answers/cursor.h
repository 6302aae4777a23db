/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a page of a list ended: a time and a key of the last row. Opaque to those who are given it;
 * with a checksum, so that one that was cut or belongs to another list is refused in words.
 */
#ifndef TC_ANSWERS_CURSOR_H
#define TC_ANSWERS_CURSOR_H

#include "answers/question.h"
#include "base/json/out.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the key of a row. */
#define TC_CURSOR_KEY_MAX 1024

struct tc_cursor {
    bool is_given;
    int64_t at;
    struct tc_slice key; /* in room */
    char room[2 * TC_CURSOR_KEY_MAX];
};

/* The member "next": a cursor, or null when there is no more. */
void tc_cursor_put(struct tc_json_out *j, const struct tc_question *q, bool has_more, int64_t at,
                   struct tc_slice key);
/* The parameter "cursor" of a question that has one. TC_E_USAGE: it is none of this list. */
TC_CHECKED tc_status tc_cursor_read(const struct tc_asked *asked, struct tc_cursor *out,
                                    struct tc_error *err);

/* The parameters of a list, and the member that goes with them. */
#define TC_PARAM_LIMIT(standard_, most_)                                          \
    {                                                                             \
        .name = "limit", .help = "At most so many rows.", .kind = TC_PARAM_COUNT, \
        .standard = (standard_), .least = 1, .most = (most_)                      \
    }
#define TC_PARAM_CURSOR                                                                      \
    {                                                                                        \
        .name = "cursor", .kind = TC_PARAM_TEXT,                                             \
        .help = "Where to go on: `next` of the page before, with the same other parameters." \
    }
#define TC_MEMBER_NEXT                                                 \
    {                                                                  \
        .name = "next", .type = "string null",                         \
        .help = "The cursor of the next page; null: there is no more." \
    }

#endif
