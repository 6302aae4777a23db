/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a result file: by the reader that knows them, and by the one that the length names.
 * What is read has rows, each with known columns of its table only; what is refused says why.
 */
#include "base/assert.h"
#include "result/json.h"
#include "result/requests.h"
#include "result/result.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
static void check_row(const struct tc_result_row *row)
{
    for (size_t i = 0; i < row->rows->column_count; i++) {
        enum tc_column_type type = row->rows->columns[i].type;
        if (!tc_result_known(row, i)) {
            continue;
        }
        TC_ASSERT(type != TC_COLUMN_TEXT || tc_result_get_text(row, i).len > 0);
        TC_ASSERT(type != TC_COLUMN_REAL || isfinite(tc_result_get_real(row, i)));
        TC_ASSERT(row->definitions[i] == NULL || row->definitions[i]->field != NULL);
    }
}

static tc_status take_requests(void *context, size_t serving, struct tc_rows *rows,
                               struct tc_error *err)
{
    size_t column = 0;
    size_t row = 0;
    uint64_t *count = context;
    (void)serving;
    (void)err;
    TC_ASSERT(tc_rows_are_sound(rows, &column, &row));
    for (row = 0; row < rows->count; row++) {
        TC_ASSERT(!tc_rows_is_null(rows, TC_REQUEST_STATUS, row));
        for (column = TC_REQUEST_QUEUE; column <= TC_REQUEST_E2E; column++) {
            double ms = tc_rows_get_real(rows, column, row);
            TC_ASSERT(ms >= 0 && ms <= TC_REQUEST_MS_MAX);
        }
    }
    *count += rows->count;
    return TC_OK;
}

/* As many as the first reading counted, each of them sound. */
static void read_requests(struct tc_slice bytes, const struct tc_reader *reader, uint64_t want)
{
    struct tc_error err = {.message = ""};
    uint64_t count = 0;
    TC_ASSERT(tc_result_read_requests(TC_LIT("fuzz"), bytes, reader, take_requests, &count, &err) ==
              TC_OK);
    TC_ASSERT(count == want);
}

static void read_with(struct tc_slice bytes, const struct tc_reader *reader)
{
    struct tc_result *r = NULL;
    struct tc_error err = {.message = ""};
    if (tc_result_read(TC_LIT("fuzz"), bytes, reader, &r, &err) != TC_OK) {
        TC_ASSERT(r == NULL && err.message[0] != '\0');
        return;
    }
    TC_ASSERT(tc_result_rows(r) > 0);
    for (size_t i = 0; i < tc_result_rows(r); i++) {
        check_row(tc_result_row_at(r, i));
    }
    struct tc_grow out = {0};
    tc_result_json(&out, TC_LIT("fuzz"), r);
    tc_grow_fini(&out);
    if (tc_result_requests(r) > 0) {
        read_requests(bytes, reader, tc_result_requests(r));
    }
    tc_result_destroy(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t count = 0;
    const struct tc_reader *const *readers = tc_readers(&count);
    struct tc_slice bytes = tc_slice_make((const char *)data, size);
    read_with(bytes, NULL);
    read_with(bytes, readers[size % count]);
    return 0;
}
