/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/clickhouse/binary_priv.h"

#include "base/digest.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "ClickHouse has numbers as they are here");

/* Of a length: seven bits to a byte. */
#define VARINT_MAX 10

const char *tc__ch_type_name(enum tc__ch_type type)
{
    static const char *const names[] = {
        [TC__CH_NUMBER] = "UInt64",        [TC__CH_WORD] = "String",
        [TC__CH_MOMENT] = "Int64",         [TC__CH_TEXT] = "Nullable(String)",
        [TC__CH_INT] = "Nullable(Int64)",  [TC__CH_REAL] = "Nullable(Float64)",
        [TC__CH_BOOL] = "Nullable(UInt8)",
    };
    return names[type];
}

/* ---- layouts ---- */

static void add(struct tc__ch_layout *l, const char *name, enum tc__ch_type type, size_t from)
{
    l->columns[l->column_count++] =
        (struct tc__ch_column){.name = name, .type = type, .from = from};
}

static enum tc__ch_type type_of(enum tc_column_type type)
{
    switch (type) {
    case TC_COLUMN_TEXT:
        return TC__CH_TEXT;
    case TC_COLUMN_REAL:
        return TC__CH_REAL;
    case TC_COLUMN_BOOL:
        return TC__CH_BOOL;
    case TC_COLUMN_INT:
    case TC_COLUMN_TIME: /* microseconds: 18.16 has no type for them */
        break;
    }
    return TC__CH_INT;
}

static void add_all(struct tc__ch_layout *l, const struct tc_table_info *info)
{
    add(l, TC__CH_BLOCK, TC__CH_NUMBER, SIZE_MAX);
    for (size_t i = 0; i < info->column_count; i++) {
        add(l, info->columns[i].name, type_of(info->columns[i].type), i);
    }
}

static bool is_of_fact(size_t column)
{
    return column == TC_SLICE_RUN_ID || column == TC_SLICE_METRIC || column == TC_SLICE_START ||
           column == TC_SLICE_END || column >= TC_SLICE_COUNT;
}

#define MONTH(column) "toYYYYMM(toDateTime(intDiv(greatest(" column ", 0), 1000000)))"

static void slice_layout(struct tc__ch_layout *out)
{
    const struct tc_table_info *info = tc_table_info(TC_TABLE_SLICE);
    *out = (struct tc__ch_layout){
        .name = "telemetry_slice",
        .order = "run_id, metric, series, window_start",
        .partition = MONTH("window_start"),
        .shard = TC__CH_SERIES,
    };
    add(out, TC__CH_BLOCK, TC__CH_NUMBER, SIZE_MAX);
    add(out, TC__CH_SERIES, TC__CH_NUMBER, SIZE_MAX);
    out->columns[out->column_count - 1].is_strand = true;
    for (size_t i = 0; i < info->column_count; i++) {
        if (is_of_fact(i)) {
            enum tc__ch_type type = info->columns[i].type == TC_COLUMN_TEXT ? TC__CH_WORD
                                    : info->columns[i].type == TC_COLUMN_TIME
                                        ? TC__CH_MOMENT
                                        : type_of(info->columns[i].type);
            out->time = i == TC_SLICE_START ? out->column_count : out->time;
            add(out, info->columns[i].name, type, i);
            out->columns[out->column_count - 1].is_strand = type == TC__CH_WORD;
        }
    }
}

void tc__ch_series_layout(struct tc__ch_layout *out)
{
    const struct tc_table_info *info = tc_table_info(TC_TABLE_SLICE);
    *out = (struct tc__ch_layout){.name = "telemetry_series",
                                  .order = TC__CH_SERIES,
                                  .shard = TC__CH_SERIES,
                                  .replaces = true};
    add(out, TC__CH_SERIES, TC__CH_NUMBER, SIZE_MAX);
    for (size_t i = 0; i < info->column_count; i++) {
        if (!is_of_fact(i)) {
            add(out, info->columns[i].name, type_of(info->columns[i].type), i);
        }
    }
}

void tc__ch_layout_of(enum tc_table table, struct tc__ch_layout *out)
{
    const struct tc_table_info *info = tc_table_info(table);
    if (table == TC_TABLE_SLICE) {
        slice_layout(out);
        return;
    }
    *out = (struct tc__ch_layout){.name = info->name, .order = TC__CH_BLOCK, .shard = TC__CH_BLOCK};
    if (table == TC_TABLE_REQUEST) {
        out->order = "ifNull(run_id, ''), ifNull(workload_point, ''), ifNull(started_at, 0)";
        out->partition = MONTH("ifNull(started_at, 0)");
    }
    add_all(out, info);
}

/* ---- series ---- */

uint64_t tc__ch_series_of(const struct tc__ch_layout *series, const struct tc_rows *rows,
                          size_t row)
{
    struct tc_sha256 sha;
    struct tc_digest digest;
    uint64_t number = 0;
    tc_sha256_init(&sha);
    for (size_t i = 1; i < series->column_count; i++) {
        tc_rows_hash_cell(rows, series->columns[i].from, row, &sha);
    }
    tc_sha256_final(&sha, &digest);
    memcpy(&number, digest.bytes, sizeof number);
    return number == 0 ? 1 : number;
}

/* ---- reading ---- */

/* The bytes of a text at the beginning of s, its length included; 0: not all are there. */
static size_t text_bytes(struct tc_slice s, struct tc_slice *out)
{
    uint64_t len = 0;
    for (size_t i = 0; i < s.len && i < VARINT_MAX; i++) {
        len |= (uint64_t)(s.ptr[i] & 0x7f) << (7 * i);
        if ((s.ptr[i] & 0x80) == 0) {
            *out = tc_slice_from(s, i + 1);
            bool all = len <= out->len;
            *out = tc_slice_head(*out, (size_t)len);
            return all ? i + 1 + (size_t)len : 0;
        }
    }
    return 0;
}

/* A value: NULL, a number of `bytes` bytes or a text. 0: not all of it is there. */
struct value {
    bool is_null;
    int64_t number;
    struct tc_slice text;
};

static size_t read_value(struct tc_slice s, enum tc__ch_type type, struct value *out)
{
    size_t head = type == TC__CH_NUMBER || type == TC__CH_WORD || type == TC__CH_MOMENT ? 0 : 1;
    *out = (struct value){0};
    if (s.len < head + 1 && !(head == 1 && s.len == 1 && s.ptr[0] != 0)) {
        return 0;
    }
    if (head == 1 && s.ptr[0] != 0) {
        out->is_null = true;
        return 1;
    }
    struct tc_slice rest = tc_slice_from(s, head);
    if (type == TC__CH_WORD || type == TC__CH_TEXT) {
        size_t used = text_bytes(rest, &out->text);
        out->is_null = type == TC__CH_WORD && out->text.len == 0;
        return used == 0 ? 0 : head + used;
    }
    size_t bytes = type == TC__CH_BOOL ? 1 : sizeof out->number;
    if (rest.len < bytes) {
        return 0;
    }
    memcpy(&out->number, rest.ptr, bytes);
    out->is_null = type == TC__CH_MOMENT && out->number == INT64_MIN;
    return head + bytes;
}

/* How long the row at the beginning of s is; 0: not all of it is there. */
static size_t row_bytes(const struct tc__ch_reader *r, struct tc_slice s)
{
    size_t at = 0;
    struct value value;
    for (size_t i = 0; i < r->field_count; i++) {
        size_t used = read_value(tc_slice_from(s, at), r->fields[i].type, &value);
        if (used == 0) {
            return 0;
        }
        at += used;
    }
    return at;
}

static tc_status give_on(struct tc__ch_reader *r)
{
    tc_status status = r->rows->count == 0 ? TC_OK : r->take(r->context, r->rows, r->err);
    tc_rows_reset(r->rows);
    return status;
}

static tc_status put_cell(struct tc__ch_reader *r, const struct tc__ch_field *f,
                          const struct value *v)
{
    if (f->to == SIZE_MAX || v->is_null) {
        return TC_OK;
    }
    double real;
    switch (r->rows->columns[f->to].type) {
    case TC_COLUMN_TEXT:
        return tc_rows_text(r->rows, f->to, v->text);
    case TC_COLUMN_REAL:
        memcpy(&real, &v->number, sizeof real);
        tc_rows_real(r->rows, f->to, real);
        return TC_OK;
    case TC_COLUMN_INT:
    case TC_COLUMN_BOOL:
    case TC_COLUMN_TIME:
        tc_rows_int(r->rows, f->to, v->number);
        return TC_OK;
    }
    return TC_OK;
}

static tc_status read_row(struct tc__ch_reader *r, struct tc_slice s)
{
    size_t at = 0;
    struct value value;
    if (r->rows->count == TC_ROWS_MAX || r->rows->text_len > TC_ROWS_TEXT_MAX / 2) {
        TC_TRY(give_on(r));
    }
    (void)tc_rows_add(r->rows);
    for (size_t i = 0; i < r->field_count; i++) {
        at += read_value(tc_slice_from(s, at), r->fields[i].type, &value);
        tc_status status = put_cell(r, &r->fields[i], &value);
        if (status != TC_OK) {
            return tc_fail(r->err, status, 0, "no memory for rows of ClickHouse");
        }
    }
    r->row_count++;
    return TC_OK;
}

/* How much of s was read: whole rows. */
static size_t read_rows(struct tc__ch_reader *r, struct tc_slice s)
{
    size_t at = 0;
    size_t len = 0;
    while (r->status == TC_OK && (len = row_bytes(r, tc_slice_from(s, at))) > 0) {
        r->status = read_row(r, tc_slice_from(s, at));
        at += len;
    }
    return at;
}

bool tc__ch_reader_take(void *context, struct tc_slice bytes)
{
    struct tc__ch_reader *r = context;
    struct tc_buf *b = &r->pending.buf;
    if (b->len == 0) {
        tc_grow_str(&r->pending, tc_slice_from(bytes, read_rows(r, bytes)));
    } else {
        tc_grow_str(&r->pending, bytes);
        size_t used = r->pending.failed ? 0 : read_rows(r, tc_grow_slice(&r->pending));
        if (used > 0) {
            memmove(b->data, b->data + used, b->len - used);
            b->len -= used;
        }
    }
    if (r->pending.failed && r->status == TC_OK) {
        r->status = tc_fail(r->err, TC_E_LIMIT, 0, "a row of ClickHouse is too long");
    }
    return r->status == TC_OK;
}

tc_status tc__ch_reader_end(struct tc__ch_reader *r)
{
    if (r->status == TC_OK && r->pending.buf.len > 0) {
        r->status = tc_fail(r->err, TC_E_MALFORMED, 0, "ClickHouse's answer ends within a row");
    }
    r->status = r->status == TC_OK ? give_on(r) : r->status;
    tc_grow_fini(&r->pending);
    return r->status;
}
