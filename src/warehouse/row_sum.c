/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/row_sum.h"

#include <string.h>

_Static_assert(sizeof(((struct tc_row_sum *)NULL)->parts) == TC_DIGEST_BYTES,
               "a digest is four numbers");

void tc_row_sum_add(struct tc_row_sum *s, const struct tc_rows *rows)
{
    for (size_t row = 0; row < rows->count; row++) {
        struct tc_sha256 sha;
        struct tc_digest digest;
        uint64_t parts[TC_COUNT(s->parts)];
        tc_sha256_init(&sha);
        for (size_t column = 0; column < rows->column_count; column++) {
            tc_rows_hash_cell(rows, column, row, &sha);
        }
        tc_sha256_final(&sha, &digest);
        memcpy(parts, digest.bytes, sizeof parts);
        for (size_t i = 0; i < TC_COUNT(parts); i++) {
            s->parts[i] += parts[i];
        }
    }
    s->rows += rows->count;
}

void tc_row_sum_join(struct tc_row_sum *s, const struct tc_row_sum *other)
{
    s->rows += other->rows;
    for (size_t i = 0; i < TC_COUNT(s->parts); i++) {
        s->parts[i] += other->parts[i];
    }
}

bool tc_row_sum_eq(const struct tc_row_sum *a, const struct tc_row_sum *b)
{
    return a->rows == b->rows && memcmp(a->parts, b->parts, sizeof a->parts) == 0;
}

void tc_row_sum_digest(const struct tc_row_sum *s, struct tc_digest *out)
{
    struct tc_sha256 sha;
    tc_sha256_init(&sha);
    tc_sha256_update(&sha, tc_slice_make((const char *)&s->rows, sizeof s->rows));
    tc_sha256_update(&sha, tc_slice_make((const char *)s->parts, sizeof s->parts));
    tc_sha256_final(&sha, out);
}
