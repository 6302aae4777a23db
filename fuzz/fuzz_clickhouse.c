/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what the ClickHouse engine reads: an address, a filter of a plan, rows of an answer
 * in two pieces, an error. The first byte says which. Reading never looks at anything outside.
 */
#include "base/assert.h"
#include "warehouse/clickhouse/binary_priv.h"
#include "warehouse/clickhouse/client_priv.h"
#include "warehouse/clickhouse/filter_priv.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static tc_status take(void *context, struct tc_rows *rows, struct tc_error *err)
{
    (void)context;
    (void)err;
    TC_ASSERT(rows->count > 0 && rows->count <= TC_ROWS_MAX);
    return TC_OK;
}

static void fuzz_rows(struct tc_slice bytes, size_t piece)
{
    struct tc__ch_layout l;
    struct tc__ch_field fields[TC_TABLE_COLUMNS_MAX];
    struct tc_error err;
    tc__ch_layout_of(TC_TABLE_SLICE, &l);
    for (size_t i = 0; i < l.column_count; i++) {
        fields[i] = (struct tc__ch_field){l.columns[i].type, l.columns[i].from};
    }
    struct tc__ch_reader r = {.fields = fields,
                              .field_count = l.column_count,
                              .rows = tc_rows_create(TC_TABLE_SLICE),
                              .take = take,
                              .err = &err};
    TC_ASSERT(r.rows != NULL);
    (void)tc__ch_reader_take(&r, tc_slice_head(bytes, piece));
    (void)tc__ch_reader_take(&r, tc_slice_from(bytes, piece));
    (void)!tc__ch_reader_end(&r);
    tc_rows_destroy(r.rows);
}

static void fuzz_url(struct tc_slice text)
{
    struct tc__ch_url url;
    struct tc_error err;
    char *copy = malloc(text.len + 1);
    TC_ASSERT(copy != NULL);
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (tc__ch_url_parse(copy, &url, &err) == TC_OK) {
        TC_ASSERT(url.host_count > 0 && url.database[0] != '\0' && url.user[0] != '\0');
    }
    free(copy);
}

static void fuzz_filter(struct tc_slice text)
{
    static struct tc__filter f;
    bool ok = tc__filter_parse(text, &f);
    TC_ASSERT(ok == (f.term_count > 0));
    for (size_t i = 0; i < f.term_count; i++) {
        TC_ASSERT(f.terms[i].first + f.terms[i].count <= f.value_count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    /* A copy of its own length: a look behind it is seen. */
    char *bytes = malloc(size - 1);
    TC_ASSERT(bytes != NULL);
    memcpy(bytes, data + 1, size - 1);
    struct tc_slice text = tc_slice_make(bytes, size - 1);
    struct tc__ch_url url = {.user = "u", .database = "d"};
    struct tc__ch_client client = {.url = &url, .host = "h:1"};
    struct tc_error err;
    switch (data[0] % 4) {
    case 0:
        fuzz_rows(text, data[0]);
        break;
    case 1:
        fuzz_url(text);
        break;
    case 2:
        fuzz_filter(text);
        break;
    default:
        TC_ASSERT(tc__ch_explain(&client, 500, text, &err) != TC_OK);
        break;
    }
    free(bytes);
    return 0;
}
