/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/duckdb/types_priv.h"

#include "warehouse/rows_priv.h"

/* A decimal of so many digits is one double, and reads back as the same digits. */
#define EXACT_DIGITS 15
#define INLINED_MAX 12

/* The type of ours, where there is one. */
static bool map_type(duckdb_type from, unsigned width, enum tc_column_type *out)
{
    switch (from) {
    case DUCKDB_TYPE_BOOLEAN:
        *out = TC_COLUMN_BOOL;
        return true;
    case DUCKDB_TYPE_TINYINT:
    case DUCKDB_TYPE_SMALLINT:
    case DUCKDB_TYPE_INTEGER:
    case DUCKDB_TYPE_BIGINT:
    case DUCKDB_TYPE_UTINYINT:
    case DUCKDB_TYPE_USMALLINT:
    case DUCKDB_TYPE_UINTEGER:
    case DUCKDB_TYPE_UBIGINT:
    case DUCKDB_TYPE_HUGEINT:
    case DUCKDB_TYPE_UHUGEINT:
        *out = TC_COLUMN_INT;
        return true;
    case DUCKDB_TYPE_FLOAT:
    case DUCKDB_TYPE_DOUBLE:
        *out = TC_COLUMN_REAL;
        return true;
    case DUCKDB_TYPE_DECIMAL:
        *out = TC_COLUMN_REAL;
        return width <= EXACT_DIGITS;
    case DUCKDB_TYPE_TIMESTAMP:
    case DUCKDB_TYPE_TIMESTAMP_S:
    case DUCKDB_TYPE_TIMESTAMP_MS:
    case DUCKDB_TYPE_TIMESTAMP_TZ:
        *out = TC_COLUMN_TIME;
        return true;
    case DUCKDB_TYPE_VARCHAR:
        *out = TC_COLUMN_TEXT;
        return true;
    default:
        return false;
    }
}

bool tc__duckdb_is_nested(duckdb_type type)
{
    return type == DUCKDB_TYPE_LIST || type == DUCKDB_TYPE_ARRAY || type == DUCKDB_TYPE_STRUCT ||
           type == DUCKDB_TYPE_MAP || type == DUCKDB_TYPE_UNION;
}

static unsigned decimal_width(const struct tc__duckdb_api *api, duckdb_logical_type type,
                              unsigned *out_scale)
{
    unsigned width = api->decimal_width(type);
    *out_scale = api->decimal_scale(type);
    api->destroy_logical_type(&type);
    return width;
}

bool tc__duckdb_needs_text(const struct tc__duckdb_api *api, duckdb_prepared_statement prepared,
                           size_t column)
{
    duckdb_type from = api->prepared_statement_column_type(prepared, column);
    enum tc_column_type type;
    unsigned scale;
    unsigned width = 0;
    if (from == DUCKDB_TYPE_DECIMAL) {
        width = decimal_width(api, api->prepared_statement_column_logical_type(prepared, column),
                              &scale);
    }
    /* INVALID: not known before the parameters are. */
    return from != DUCKDB_TYPE_INVALID && !map_type(from, width, &type);
}

bool tc__duckdb_value_of(const struct tc__duckdb_api *api, duckdb_result *result, size_t column,
                         struct tc__duckdb_value *out)
{
    *out = (struct tc__duckdb_value){.from = api->column_type(result, column)};
    if (out->from == DUCKDB_TYPE_DECIMAL) {
        out->width = decimal_width(api, api->column_logical_type(result, column), &out->scale);
    }
    return map_type(out->from, out->width, &out->type);
}

static bool is_valid(const uint64_t *validity, size_t row)
{
    return validity == NULL || (validity[row / 64] >> (row % 64) & 1) != 0;
}

static uint32_t text_len(const duckdb_string_t *s)
{
    return s->value.inlined.length;
}

static const char *text_ptr(const duckdb_string_t *s)
{
    return text_len(s) <= INLINED_MAX ? s->value.inlined.inlined : s->value.pointer.ptr;
}

/* How many rows from `from` have text for one batch: at least one, which may be too much. */
static size_t rows_that_fit(const struct tc__duckdb_api *api, duckdb_data_chunk chunk,
                            const struct tc__duckdb_value *values, size_t column_count, size_t from,
                            size_t to)
{
    size_t bytes[TC_ROWS_MAX] = {0};
    for (size_t c = 0; c < column_count; c++) {
        if (values[c].type == TC_COLUMN_TEXT) {
            duckdb_vector vector = api->data_chunk_get_vector(chunk, c);
            const duckdb_string_t *texts = api->vector_get_data(vector);
            const uint64_t *validity = api->vector_get_validity(vector);
            for (size_t i = from; i < to; i++) {
                bytes[i - from] += is_valid(validity, i) ? text_len(&texts[i]) : 0;
            }
        }
    }
    size_t sum = 0;
    size_t count = 0;
    while (count < to - from && (count == 0 || bytes[count] <= TC_ROWS_TEXT_MAX - sum)) {
        sum += bytes[count++];
        if (sum > TC_ROWS_TEXT_MAX) {
            break;
        }
    }
    return count;
}

/* A whole number of any width; false when it does not fit. */
static bool read_integer(duckdb_type from, const void *data, size_t row, int64_t *out)
{
    switch (from) {
    case DUCKDB_TYPE_BOOLEAN:
        *out = ((const bool *)data)[row];
        return true;
    case DUCKDB_TYPE_TINYINT:
        *out = ((const int8_t *)data)[row];
        return true;
    case DUCKDB_TYPE_SMALLINT:
        *out = ((const int16_t *)data)[row];
        return true;
    case DUCKDB_TYPE_INTEGER:
        *out = ((const int32_t *)data)[row];
        return true;
    case DUCKDB_TYPE_UTINYINT:
        *out = ((const uint8_t *)data)[row];
        return true;
    case DUCKDB_TYPE_USMALLINT:
        *out = ((const uint16_t *)data)[row];
        return true;
    case DUCKDB_TYPE_UINTEGER:
        *out = ((const uint32_t *)data)[row];
        return true;
    case DUCKDB_TYPE_UBIGINT:
        *out = (int64_t)((const uint64_t *)data)[row];
        return *out >= 0;
    case DUCKDB_TYPE_HUGEINT: {
        const duckdb_hugeint *h = &((const duckdb_hugeint *)data)[row];
        *out = (int64_t)h->lower;
        return h->upper == (*out < 0 ? -1 : 0);
    }
    case DUCKDB_TYPE_UHUGEINT: {
        const duckdb_uhugeint *h = &((const duckdb_uhugeint *)data)[row];
        *out = (int64_t)h->lower;
        return h->upper == 0 && *out >= 0;
    }
    default:
        *out = ((const int64_t *)data)[row];
        return true;
    }
}

/* Microseconds. Infinities are no time: false. */
static bool read_time(duckdb_type from, const void *data, size_t row, int64_t *out)
{
    int64_t value = ((const int64_t *)data)[row];
    int64_t factor = from == DUCKDB_TYPE_TIMESTAMP_S    ? 1000000
                     : from == DUCKDB_TYPE_TIMESTAMP_MS ? 1000
                                                        : 1;
    return value != INT64_MAX && value != -INT64_MAX && !__builtin_mul_overflow(value, factor, out);
}

static double read_real(const struct tc__duckdb_value *v, const void *data, size_t row)
{
    if (v->from == DUCKDB_TYPE_FLOAT) {
        return (double)((const float *)data)[row];
    }
    if (v->from == DUCKDB_TYPE_DOUBLE) {
        return ((const double *)data)[row];
    }
    /* A decimal, in the smallest integer that has its digits. */
    int64_t digits = v->width <= 4   ? ((const int16_t *)data)[row]
                     : v->width <= 9 ? ((const int32_t *)data)[row]
                                     : ((const int64_t *)data)[row];
    double divisor = 1;
    for (unsigned i = 0; i < v->scale; i++) {
        divisor *= 10;
    }
    return (double)digits / divisor;
}

/* Where a column's values come from and go to. */
struct column {
    const struct tc__duckdb_value *value;
    const void *data;
    struct tc_rows *rows;
    size_t index;
};

static tc_status read_cell(const struct column *c, size_t row, size_t to_row, struct tc_error *err)
{
    int64_t integer = 0;
    switch (c->value->type) {
    case TC_COLUMN_TEXT: {
        const duckdb_string_t *s = &((const duckdb_string_t *)c->data)[row];
        tc_status status =
            tc__rows_text_at(c->rows, c->index, to_row, tc_slice_make(text_ptr(s), text_len(s)));
        return status == TC_OK ? TC_OK
                               : tc_fail(err, status, 0, "a row has more than %zu bytes of text",
                                         TC_ROWS_TEXT_MAX);
    }
    case TC_COLUMN_REAL:
        tc__rows_set(c->rows, c->index, to_row)->real = read_real(c->value, c->data, row);
        return TC_OK;
    case TC_COLUMN_TIME:
        if (read_time(c->value->from, c->data, row, &integer)) {
            tc__rows_set(c->rows, c->index, to_row)->integer = integer;
        }
        return TC_OK;
    case TC_COLUMN_INT:
    case TC_COLUMN_BOOL:
        if (!read_integer(c->value->from, c->data, row, &integer)) {
            return tc_fail(err, TC_E_USAGE, 0,
                           "column %s has a number beyond 64 bits; cast it to DOUBLE or VARCHAR",
                           c->rows->columns[c->index].name);
        }
        tc__rows_set(c->rows, c->index, to_row)->integer = integer;
        return TC_OK;
    }
    return TC_OK;
}

tc_status tc__duckdb_read(const struct tc__duckdb_api *api, duckdb_data_chunk chunk,
                          const struct tc__duckdb_value *values, size_t from, size_t to,
                          struct tc_rows *rows, size_t *out_taken, struct tc_error *err)
{
    to = to - from > TC_ROWS_MAX ? from + TC_ROWS_MAX : to;
    size_t count = rows_that_fit(api, chunk, values, rows->column_count, from, to);
    for (size_t i = 0; i < count; i++) {
        (void)tc_rows_add(rows);
    }
    for (size_t c = 0; c < rows->column_count; c++) {
        duckdb_vector vector = api->data_chunk_get_vector(chunk, c);
        const uint64_t *validity = api->vector_get_validity(vector);
        struct column column = {&values[c], api->vector_get_data(vector), rows, c};
        for (size_t i = 0; i < count; i++) {
            if (is_valid(validity, from + i)) {
                TC_TRY(read_cell(&column, from + i, i, err));
            }
        }
    }
    *out_taken = count;
    return TC_OK;
}
