/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UUIDs as text, for the view of requests: DuckDB's own ways take 120 ns (with dashes) to 700 ns
 * (without), which a query pays for each row that it puts in order. These take some 10.
 */
#include "base/buf.h"
#include "warehouse/duckdb/scan_priv.h"

#include <string.h>

#define HEX_DIGITS 32
#define UUID_CHARS 36
/* Rows at a time: their texts stay in the processor's nearest cache. */
#define SOME_MAX ((size_t)128)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first digit is of the lowest byte");

/* DuckDB keeps a UUID as a number of 128 bits with the other sign. */
static void write_hex(const duckdb_hugeint *uuids, size_t count, char *out)
{
    uint64_t words[SOME_MAX][2];
    for (size_t i = 0; i < count; i++) {
        words[i][0] = __builtin_bswap64((uint64_t)uuids[i].upper ^ UINT64_C(1) << 63);
        words[i][1] = __builtin_bswap64(uuids[i].lower);
    }
    (void)tc_put_hex_bytes(out, (const uint8_t *)words, count * sizeof words[0]);
}

/* 8, 4, 4, 4 and 12 digits. */
static void add_dashes(const char *hex, char *out)
{
    memcpy(out, hex, 8);
    memcpy(out + 9, hex + 8, 4);
    memcpy(out + 14, hex + 12, 4);
    memcpy(out + 19, hex + 16, 4);
    memcpy(out + 24, hex + 20, 12);
    out[8] = out[13] = out[18] = out[23] = '-';
}

/* The text of a row, where the vector keeps it. */
static duckdb_string_t text_at(char *text, size_t len)
{
    duckdb_string_t out = {.value.pointer = {.length = (uint32_t)len, .ptr = text}};
    memcpy(out.value.pointer.prefix, text, sizeof out.value.pointer.prefix);
    return out;
}

/*
 * The vector takes the texts of all these rows as one, and each row is a part of that: a call for
 * each would take longer than its digits. Rows that are NULL have any bytes; DuckDB makes their
 * answers NULL.
 */
static void write_some(const duckdb_hugeint *uuids, duckdb_vector output, size_t at, size_t count,
                       bool dashes)
{
    const struct tc__duckdb_api *api = tc__duckdb_api_now();
    size_t len = dashes ? UUID_CHARS : HEX_DIGITS;
    char hex[SOME_MAX * HEX_DIGITS];
    char dashed[SOME_MAX * UUID_CHARS];
    write_hex(uuids + at, count, hex);
    for (size_t i = 0; dashes && i < count; i++) {
        add_dashes(hex + i * HEX_DIGITS, dashed + i * UUID_CHARS);
    }
    api->vector_assign_string_element_len(output, at, dashes ? dashed : hex, count * len);
    duckdb_string_t *out = (duckdb_string_t *)api->vector_get_data(output) + at;
    char *kept = out[0].value.pointer.ptr;
    for (size_t i = 0; i < count; i++) {
        out[i] = text_at(kept + i * len, len);
    }
}

static void write_all(duckdb_data_chunk input, duckdb_vector output, bool dashes)
{
    const struct tc__duckdb_api *api = tc__duckdb_api_now();
    const duckdb_hugeint *uuids = api->vector_get_data(api->data_chunk_get_vector(input, 0));
    size_t count = api->data_chunk_get_size(input);
    for (size_t at = 0; at < count; at += SOME_MAX) {
        write_some(uuids, output, at, count - at < SOME_MAX ? count - at : SOME_MAX, dashes);
    }
}

static void write_dashed(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
    (void)info;
    write_all(input, output, true);
}

static void write_plain(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
    (void)info;
    write_all(input, output, false);
}

static bool add_function(struct tc__duckdb *d, const char *name, duckdb_scalar_function_t call)
{
    const struct tc__duckdb_api *api = d->api;
    duckdb_scalar_function f = api->create_scalar_function();
    duckdb_logical_type uuid = api->create_logical_type(DUCKDB_TYPE_UUID);
    duckdb_logical_type text = api->create_logical_type(DUCKDB_TYPE_VARCHAR);
    api->scalar_function_set_name(f, name);
    api->scalar_function_add_parameter(f, uuid);
    api->scalar_function_set_return_type(f, text);
    api->scalar_function_set_function(f, call);
    bool ok = api->register_scalar_function(d->connection, f) == DuckDBSuccess;
    api->destroy_logical_type(&uuid);
    api->destroy_logical_type(&text);
    api->destroy_scalar_function(&f);
    return ok;
}

tc_status tc__id_text_register(struct tc__duckdb *d, struct tc_error *err)
{
    return add_function(d, TC__UUID_FUNCTION, write_dashed) &&
                   add_function(d, TC__HEX_FUNCTION, write_plain)
               ? TC_OK
               : tc_fail(err, TC_E_IO, 0, "DuckDB does not take a function");
}
