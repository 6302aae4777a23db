/* SPDX-License-Identifier: Apache-2.0 */
/* The frames but for rows (wire_rows.c) and sockets (wire_socket.c). */
#include "warehouse/daemon/wire.h"

#include "base/table/grow.h"
#include "warehouse/daemon/wire_priv.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC UINT32_C(0x48574354) /* "TCWH" */
#define BYTES_MAX (TC_WIRE_HEAD_BYTES + TC_WIRE_BODY_MAX)
/* A frame this long is seldom: its memory is not kept. */
#define KEEP_CAP ((size_t)4 << 20)

/* ---- making ---- */

void tc_wire_out_fini(struct tc_wire_out *o)
{
    free(o->data);
    *o = (struct tc_wire_out){0};
}

static char *wire_room(struct tc_wire_out *o, size_t len)
{
    if (o->status != TC_OK) {
        return NULL;
    }
    o->status = tc_grow_items(o->data, o->cap, o->len + len, BYTES_MAX);
    if (o->status != TC_OK) {
        return NULL;
    }
    char *at = o->data + o->len;
    o->len += len;
    return at;
}

void tc__wire_put(struct tc_wire_out *o, const void *bytes, size_t len)
{
    char *to = wire_room(o, len);
    if (to != NULL && len > 0) {
        memcpy(to, bytes, len);
    }
}

static void put_u8(struct tc_wire_out *o, uint8_t value)
{
    tc__wire_put(o, &value, sizeof value);
}

void tc__wire_put_u32(struct tc_wire_out *o, uint32_t value)
{
    tc__wire_put(o, &value, sizeof value);
}

static void put_text(struct tc_wire_out *o, struct tc_slice text, size_t max)
{
    if (text.len > max) {
        o->status = o->status == TC_OK ? TC_E_LIMIT : o->status;
        return;
    }
    tc__wire_put_u32(o, (uint32_t)text.len);
    tc__wire_put(o, text.ptr, text.len);
}

void tc_wire_begin(struct tc_wire_out *o, enum tc_wire_kind kind)
{
    if (o->cap > KEEP_CAP) {
        tc_wire_out_fini(o);
    }
    o->len = 0;
    o->status = TC_OK;
    tc__wire_put_u32(o, 0); /* tc_wire_end knows it */
    tc__wire_put_u32(o, (uint32_t)kind);
}

tc_status tc_wire_end(struct tc_wire_out *o, struct tc_error *err)
{
    if (o->status == TC_E_LIMIT) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "too much for one message to the daemon (%zu MiB at most, SQL %zu KiB, %d "
                       "parameters)",
                       TC_WIRE_BODY_MAX >> 20, TC_WIRE_SQL_MAX >> 10, TC_WIRE_BINDS_MAX);
    }
    if (o->status != TC_OK) {
        return tc_fail(err, o->status, 0, "no memory for a message to the daemon");
    }
    uint32_t len = (uint32_t)(o->len - TC_WIRE_HEAD_BYTES);
    memcpy(o->data, &len, sizeof len);
    return TC_OK;
}

void tc_wire_put_hello(struct tc_wire_out *o, const struct tc_wire_hello *hello)
{
    tc__wire_put_u32(o, MAGIC);
    tc__wire_put_u32(o, hello->version);
    tc__wire_put_u32(o, hello->schema);
    tc__wire_put_u32(o, (uint32_t)hello->mode);
    put_text(o, hello->engine, TC_WIRE_ENGINE_MAX);
}

void tc_wire_put_error(struct tc_wire_out *o, const struct tc_error *err)
{
    int32_t status = (int32_t)err->status;
    tc__wire_put(o, &status, sizeof status);
    uint64_t offset = err->offset;
    tc__wire_put(o, &offset, sizeof offset);
    put_text(o, tc_slice_make(err->message, strnlen(err->message, sizeof err->message)),
             sizeof err->message);
}

void tc_wire_put_done(struct tc_wire_out *o, uint64_t value)
{
    tc__wire_put(o, &value, sizeof value);
}

void tc_wire_put_forget(struct tc_wire_out *o, const struct tc_forget *what)
{
    if (what->key_count > TC_WIRE_KEYS_MAX) {
        o->status = o->status == TC_OK ? TC_E_LIMIT : o->status;
        return;
    }
    tc__wire_put_u32(o, (uint32_t)what->table);
    tc__wire_put_u32(o, (uint32_t)what->key_column);
    tc__wire_put_u32(o, (uint32_t)what->time_column);
    tc__wire_put_u32(o, (uint32_t)what->null_column);
    tc__wire_put(o, &what->before_us, sizeof what->before_us);
    put_u8(o, what->want_null);
    tc__wire_put_u32(o, (uint32_t)what->key_count);
    for (size_t i = 0; i < what->key_count; i++) {
        put_text(o, what->keys[i], TC_WIRE_BODY_MAX);
    }
}

static void put_bind(struct tc_wire_out *o, const struct tc_bind *bind)
{
    put_u8(o, (uint8_t)bind->type);
    put_u8(o, bind->is_null);
    if (bind->is_null) {
        return;
    }
    if (bind->type == TC_COLUMN_TEXT) {
        put_text(o, bind->as.text, TC_WIRE_BODY_MAX);
    } else if (bind->type == TC_COLUMN_REAL) {
        tc__wire_put(o, &bind->as.real, sizeof bind->as.real);
    } else {
        tc__wire_put(o, &bind->as.integer, sizeof bind->as.integer);
    }
}

void tc_wire_put_query(struct tc_wire_out *o, const struct tc_query *query)
{
    if (query->bind_count > TC_WIRE_BINDS_MAX) {
        o->status = o->status == TC_OK ? TC_E_LIMIT : o->status;
        return;
    }
    put_u8(o, query->untrusted);
    tc__wire_put(o, &query->rows_max, sizeof query->rows_max);
    tc__wire_put(o, &query->time_ns, sizeof query->time_ns);
    put_text(o, query->sql, TC_WIRE_SQL_MAX);
    tc__wire_put_u32(o, (uint32_t)query->bind_count);
    for (size_t i = 0; i < query->bind_count; i++) {
        put_bind(o, &query->binds[i]);
    }
}

void tc_wire_put_parquet(struct tc_wire_out *o, enum tc_table table, size_t time_column,
                         int64_t before_us, struct tc_slice path)
{
    tc__wire_put_u32(o, (uint32_t)table);
    tc__wire_put_u32(o, (uint32_t)time_column);
    tc__wire_put(o, &before_us, sizeof before_us);
    put_text(o, path, TC_WIRE_PATH_MAX - 1);
}

/* ---- reading ---- */

tc_status tc__wire_bad(struct tc_error *err, const char *what)
{
    return tc_fail(err, TC_E_MALFORMED, 0, "a message over the warehouse's socket: %s", what);
}

bool tc__wire_take(struct tc_slice *rest, void *out, size_t len)
{
    if (rest->len < len) {
        return false;
    }
    memcpy(out, rest->ptr, len);
    *rest = tc_slice_from(*rest, len);
    return true;
}

static bool wire_take_text(struct tc_slice *rest, size_t max, struct tc_slice *out)
{
    uint32_t len = 0;
    if (!tc__wire_take(rest, &len, sizeof len) || len > rest->len || len > max) {
        return false;
    }
    *out = tc_slice_head(*rest, len);
    *rest = tc_slice_from(*rest, len);
    return true;
}

static bool take_flag(struct tc_slice *rest, bool *out)
{
    uint8_t value = 0;
    bool is_good = tc__wire_take(rest, &value, sizeof value) && value <= 1;
    *out = value == 1;
    return is_good;
}

bool tc__wire_take_table(struct tc_slice *rest, enum tc_table *out)
{
    uint32_t value = 0;
    bool is_good = tc__wire_take(rest, &value, sizeof value) && value < TC_TABLE_COUNT;
    *out = is_good ? (enum tc_table)value : (enum tc_table)0;
    return is_good;
}

/* Whether the table has it is checked by whoever needs it. */
static bool take_column(struct tc_slice *rest, size_t *out)
{
    uint32_t value = 0;
    bool is_good = tc__wire_take(rest, &value, sizeof value);
    *out = value;
    return is_good;
}

tc_status tc_wire_get_hello(struct tc_slice body, struct tc_wire_hello *out, struct tc_error *err)
{
    uint32_t magic = 0;
    uint32_t mode = 0;
    *out = (struct tc_wire_hello){0};
    if (!tc__wire_take(&body, &magic, sizeof magic) || magic != MAGIC) {
        return tc__wire_bad(err, "no hello of a tracecore");
    }
    if (!tc__wire_take(&body, &out->version, sizeof out->version) ||
        !tc__wire_take(&body, &out->schema, sizeof out->schema) ||
        !tc__wire_take(&body, &mode, sizeof mode) ||
        !wire_take_text(&body, TC_WIRE_ENGINE_MAX, &out->engine)) {
        return tc__wire_bad(err, "a hello that is too short");
    }
    out->mode = mode == TC_WAREHOUSE_WRITE ? TC_WAREHOUSE_WRITE : TC_WAREHOUSE_READ;
    return TC_OK;
}

static bool is_status(int32_t value)
{
    switch (value) {
#define IS_STATUS(name, number, text) case (number):
        TC_STATUS_MAP(IS_STATUS)
#undef IS_STATUS
        return value != TC_OK;
    default:
        return false;
    }
}

tc_status tc_wire_get_error(struct tc_slice body, struct tc_error *err)
{
    int32_t status = 0;
    uint64_t offset = 0;
    struct tc_slice message;
    if (!tc__wire_take(&body, &status, sizeof status) ||
        !tc__wire_take(&body, &offset, sizeof offset) ||
        !wire_take_text(&body, TC_ERROR_MESSAGE_MAX, &message) || !is_status(status)) {
        return tc__wire_bad(err, "an error that cannot be read");
    }
    return tc_fail(err, (tc_status)status, (size_t)offset, "%.*s", TC_FMT(message));
}

tc_status tc_wire_get_done(struct tc_slice body, uint64_t *out, struct tc_error *err)
{
    return tc__wire_take(&body, out, sizeof *out) && body.len == 0
               ? TC_OK
               : tc__wire_bad(err, "an answer that cannot be read");
}

static tc_status check_forget(const struct tc_forget *what, struct tc_error *err)
{
    const struct tc_table_info *info = tc_table_info(what->table);
    if (what->key_count > 0 && (what->key_column >= info->column_count ||
                                info->columns[what->key_column].type != TC_COLUMN_TEXT)) {
        return tc__wire_bad(err, "keys of a column that has no text");
    }
    if (what->before_us != INT64_MIN && (what->time_column >= info->column_count ||
                                         info->columns[what->time_column].type != TC_COLUMN_TIME)) {
        return tc__wire_bad(err, "a time of a column that has none");
    }
    if (what->want_null && what->null_column >= info->column_count) {
        return tc__wire_bad(err, "a column that the table does not have");
    }
    return TC_OK;
}

tc_status tc_wire_get_forget(struct tc_slice body, struct tc_forget *out,
                             struct tc_slice **out_keys, struct tc_error *err)
{
    uint32_t count = 0;
    *out = (struct tc_forget){0};
    *out_keys = NULL;
    if (!tc__wire_take_table(&body, &out->table) || !take_column(&body, &out->key_column) ||
        !take_column(&body, &out->time_column) || !take_column(&body, &out->null_column) ||
        !tc__wire_take(&body, &out->before_us, sizeof out->before_us) ||
        !take_flag(&body, &out->want_null) || !tc__wire_take(&body, &count, sizeof count) ||
        count > TC_WIRE_KEYS_MAX || count > body.len / sizeof(uint32_t)) {
        return tc__wire_bad(err, "what to forget cannot be read");
    }
    out->key_count = count;
    TC_TRY(check_forget(out, err));
    struct tc_slice *keys = calloc(count + 1, sizeof *keys);
    if (keys == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for %u keys", count);
    }
    for (size_t i = 0; i < count; i++) {
        if (!wire_take_text(&body, TC_WIRE_BODY_MAX, &keys[i])) {
            free(keys);
            return tc__wire_bad(err, "a key that is too short");
        }
    }
    out->keys = keys;
    *out_keys = keys;
    return TC_OK;
}

static bool take_bind(struct tc_slice *rest, struct tc_bind *out)
{
    uint8_t type = 0;
    *out = (struct tc_bind){0};
    if (!tc__wire_take(rest, &type, sizeof type) || type > TC_COLUMN_TIME ||
        !take_flag(rest, &out->is_null)) {
        return false;
    }
    out->type = (enum tc_column_type)type;
    if (out->is_null) {
        return true;
    }
    if (out->type == TC_COLUMN_TEXT) {
        return wire_take_text(rest, TC_WIRE_BODY_MAX, &out->as.text);
    }
    if (out->type == TC_COLUMN_REAL) {
        return tc__wire_take(rest, &out->as.real, sizeof out->as.real);
    }
    return tc__wire_take(rest, &out->as.integer, sizeof out->as.integer);
}

tc_status tc_wire_get_query(struct tc_slice body, struct tc_query *out, struct tc_bind **out_binds,
                            struct tc_error *err)
{
    uint32_t count = 0;
    *out = (struct tc_query){0};
    *out_binds = NULL;
    if (!take_flag(&body, &out->untrusted) ||
        !tc__wire_take(&body, &out->rows_max, sizeof out->rows_max) ||
        !tc__wire_take(&body, &out->time_ns, sizeof out->time_ns) || out->time_ns < 0 ||
        !wire_take_text(&body, TC_WIRE_SQL_MAX, &out->sql) ||
        !tc__wire_take(&body, &count, sizeof count) || count > TC_WIRE_BINDS_MAX ||
        count > body.len / 2) {
        return tc__wire_bad(err, "a query that cannot be read");
    }
    struct tc_bind *binds = calloc((size_t)count + 1, sizeof *binds);
    if (binds == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for %u parameters", count);
    }
    for (size_t i = 0; i < count; i++) {
        if (!take_bind(&body, &binds[i])) {
            free(binds);
            return tc__wire_bad(err, "a parameter that cannot be read");
        }
    }
    out->binds = binds;
    out->bind_count = count;
    *out_binds = binds;
    return TC_OK;
}

tc_status tc_wire_get_parquet(struct tc_slice body, struct tc_wire_parquet *out,
                              struct tc_error *err)
{
    struct tc_slice path;
    if (!tc__wire_take_table(&body, &out->table) || !take_column(&body, &out->time_column) ||
        !tc__wire_take(&body, &out->before_us, sizeof out->before_us) ||
        !wire_take_text(&body, TC_WIRE_PATH_MAX - 1, &path) || path.len == 0 ||
        path.ptr[0] != '/' || tc_slice_find_byte(path, '\0') != TC_NPOS) {
        return tc__wire_bad(err, "a Parquet file that cannot be read: its path is absolute");
    }
    const struct tc_table_info *info = tc_table_info(out->table);
    if (out->before_us != INT64_MIN && (out->time_column >= info->column_count ||
                                        info->columns[out->time_column].type != TC_COLUMN_TIME)) {
        return tc__wire_bad(err, "a time of a column that has none");
    }
    memcpy(out->path, path.ptr, path.len);
    out->path[path.len] = '\0';
    return TC_OK;
}
