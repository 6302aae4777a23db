/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `tracecore sql`. */
#ifndef TC_CLI_SQL_SQL_H
#define TC_CLI_SQL_SQL_H

#include "base/slice.h"
#include "cli/data.h"
#include "cli/output/output.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text of all queries of one call; the engine takes as much. */
#define TC_SQL_TEXT_MAX ((size_t)4 << 20)
/* Rows that a terminal is shown unless --limit says otherwise. */
#define TC_SQL_TERMINAL_ROWS 1000
/* Of a text that a table may show. */
#define TC_SQL_CELL_BYTES 16384

enum tc_sql_mode { TC_SQL_TABLE, TC_SQL_CSV, TC_SQL_JSON };

struct tc_sql {
    char dir[TC_DATA_PATH_BYTES];
    enum tc_sql_mode mode;
    uint64_t rows_max; /* 0: all */
    int64_t time_ns;   /* 0: as long as it takes */
    size_t width;      /* of tables */
    bool shell;        /* lines from a person: .limit, not --limit */
    struct tc_output out;
};

/* One statement: opens the database, so that no other is kept from it between two, and prints the
 * answer. Exit status. */
int tc_sql_run(struct tc_sql *s, struct tc_slice sql);
/* All statements of a text; stops at the first that fails. */
int tc_sql_run_all(struct tc_sql *s, struct tc_slice text);
/* Lines from a person, with history, until .quit or the end. */
int tc_sql_shell(struct tc_sql *s);

/* True once the user has pressed Ctrl-C; asking forgets it. */
bool tc_sql_interrupted(void);
/* Ctrl-C stops a query, not the program. */
void tc_sql_catch_interrupts(void);

/* ---- text ---- */

/* The length of the first statement with its semicolon, or 0 when the text does not end one.
 * Quotes, comments and $$ are seen. */
size_t tc_sql_statement(struct tc_slice text);
/* Nothing but blanks, comments and semicolons. */
bool tc_sql_is_blank(struct tc_slice text);
/* Says what is wrong with a query and shows the place where it can be told. */
void tc_sql_say_error(struct tc_slice sql, const struct tc_error *err);

/* ---- answers ---- */

struct tc_sql_printer;
struct tc_sql_printer *tc_sql_printer_create(struct tc_output *out, enum tc_sql_mode mode,
                                             size_t width);
/* tc_rows_fn */
tc_status tc_sql_print(void *printer, const struct tc_rows *rows);
/* Prints what is left. How many rows there were; *out_left_out: columns that had no room. */
uint64_t tc_sql_printer_end(struct tc_sql_printer *p, size_t *out_left_out);
void tc_sql_printer_destroy(struct tc_sql_printer *p);

/* Rows as a table. `widths` has column_count entries, made from the first rows. */
struct tc_sql_layout {
    size_t width;
    bool is_escaped; /* a line end in a text is shown as one: it could look like the next row */
    size_t *widths;
    size_t columns; /* that have room */
};
bool tc_sql_layout_make(struct tc_sql_layout *l, const struct tc_rows *rows, size_t width);
bool tc_sql_layout_head(const struct tc_sql_layout *l, const struct tc_rows *rows,
                        struct tc_output *out);
bool tc_sql_layout_rows(const struct tc_sql_layout *l, const struct tc_rows *rows,
                        struct tc_output *out);

/* ---- the schema ---- */

enum tc_sql_describe { TC_SQL_DESCRIBE_TEXT, TC_SQL_DESCRIBE_MARKDOWN, TC_SQL_DESCRIBE_JSON };
/* All tables, or one (its name; NULL: all). Exit status. */
int tc_sql_describe(struct tc_output *out, const char *table, enum tc_sql_describe form);
void tc_sql_tables(struct tc_output *out);

#endif
