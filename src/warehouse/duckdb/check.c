/* SPDX-License-Identifier: Apache-2.0 */
/* Is the database whole? DuckDB checks a block when it reads it, so everything is read. */
#include "base/buf.h"
#include "warehouse/warehouse.h"

/* Three headers of 4 KiB, then blocks. Free ones may have been cut off the end of the file. */
#define FILE_SQL \
    "SELECT CAST(used_blocks * block_size + 12288 AS BIGINT) FROM pragma_database_size()"
#define SQL_BYTES 16384

tc_status tc_warehouse_file_bytes(struct tc_warehouse *w, int64_t *out_bytes, struct tc_error *err)
{
    return tc_warehouse_int(w, FILE_SQL, NULL, 0, 0, out_bytes, err);
}

tc_status tc_warehouse_read_all(struct tc_warehouse *w, enum tc_table table, struct tc_error *err)
{
    const struct tc_table_info *info = tc_table_info(table);
    char sql[SQL_BYTES];
    int64_t ignored = 0;
    struct tc_buf b = tc_buf_make(sql, sizeof sql - 1);
    /* Counts and extremes would be answered from statistics. */
    tc_buf_lit(&b, "SELECT CAST(sum(hash(");
    for (size_t i = 0; i < info->column_count; i++) {
        tc_buf_str(&b, i == 0 ? TC_LIT("\"") : TC_LIT(", \""));
        tc_buf_str(&b, tc_slice_cstr(info->columns[i].name));
        tc_buf_lit(&b, "\"");
    }
    tc_buf_lit(&b, ") % 2) AS BIGINT) FROM ");
    tc_buf_str(&b, tc_slice_cstr(info->name));
    sql[b.len] = '\0';
    return tc_warehouse_int(w, sql, NULL, 0, 0, &ignored, err);
}
