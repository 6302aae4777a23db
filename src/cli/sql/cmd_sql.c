/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/output/say.h"
#include "cli/proof.h"
#include "cli/sql/sql.h"

#include "base/os/io.h"
#include "base/time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_DEFAULT 80
#define TIMEOUT_MAX_S 86400
/* As warehouse.query_timeout of a daemon: a forgotten JOIN must not hold two cores for the night.
 */
#define TIMEOUT_DEFAULT_S 60
#define EXIT_INTERRUPTED 130 /* 128 + SIGINT */

struct asked {
    struct tc_sql sql;
    const char *data_dir;
    const char *file;
    const char *limit;
    const char *timeout;
    bool describe;
    bool markdown;
};

static int take_mode(void *args, const struct tc_option *option, const char *value)
{
    struct asked *a = args;
    (void)value;
    a->sql.mode = strcmp(option->name, "csv") == 0    ? TC_SQL_CSV
                  : strcmp(option->name, "json") == 0 ? TC_SQL_JSON
                                                      : TC_SQL_TABLE;
    return TC_GO_ON;
}

static const struct tc_option OPTIONS[] = {
    TC_TAKEN("csv", NULL, take_mode, "CSV (RFC 4180) with a line of names."),
    TC_TAKEN("json", NULL, take_mode, "One JSON object a row, and a line."),
    TC_TAKEN("table", NULL, take_mode, "Columns for people. This is the default."),
    TC_TEXT("limit", "N", struct asked, limit,
            "At most so many rows; 0 for all. Default: 1000 on a terminal, all elsewhere."),
    TC_TEXT("timeout", "S", struct asked, timeout,
            "Stop a query after so many seconds, by default 60; 0 for never."),
    TC_TEXT("file", "FILE", struct asked, file, "Queries from a file."),
    TC_FLAG("describe", struct asked, describe,
            "The columns of TABLE, or of all tables: type, unit, meaning. Needs no database."),
    TC_FLAG("markdown", struct asked, markdown, "--describe as Markdown."),
    TC_TEXT("data-dir", "DIR", struct asked, data_dir, TC_DATA_DIR_HELP),
};

static size_t width_of_terminal(void)
{
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : COLUMNS_DEFAULT;
}

static bool settle(struct asked *a)
{
    uint64_t seconds = TIMEOUT_DEFAULT_S;
    a->sql.rows_max = isatty(STDOUT_FILENO) == 1 ? TC_SQL_TERMINAL_ROWS : 0;
    a->sql.width = width_of_terminal();
    if (a->limit != NULL && !tc_slice_is_u64(tc_slice_cstr(a->limit), &a->sql.rows_max)) {
        tc_say("sql", "--limit takes a number of rows, not \"%s\"", a->limit);
        return false;
    }
    if (a->timeout != NULL &&
        (!tc_slice_is_u64(tc_slice_cstr(a->timeout), &seconds) || seconds > TIMEOUT_MAX_S)) {
        tc_say("sql", "--timeout takes seconds, at most %d, not \"%s\"", TIMEOUT_MAX_S, a->timeout);
        return false;
    }
    a->sql.time_ns = (int64_t)seconds * TC_SECOND;
    return tc_data_dir_of("sql", a->data_dir, a->sql.dir);
}

/* Standard input to its end; NULL when it cannot, which was said. */
static char *read_stdin(size_t *out_len)
{
    char *text = malloc(TC_SQL_TEXT_MAX + 1);
    ssize_t len = text == NULL ? 0 : tc_io_read(STDIN_FILENO, text, TC_SQL_TEXT_MAX + 1);
    if (len < 0) {
        tc_say("sql", "standard input cannot be read: %s", strerror(errno));
    } else if (text == NULL || (size_t)len > TC_SQL_TEXT_MAX) {
        tc_say("sql", "queries of more than %zu bytes", TC_SQL_TEXT_MAX);
    } else {
        *out_len = (size_t)len;
        return text;
    }
    free(text);
    return NULL;
}

static int run_queries(struct asked *a, const char *query)
{
    struct tc_error err = {0};
    char *text = NULL;
    size_t len = 0;
    tc_sql_catch_interrupts();
    if (query != NULL) {
        return tc_sql_run_all(&a->sql, tc_slice_cstr(query));
    }
    if (a->file == NULL) {
        text = read_stdin(&len);
    } else if (tc_proof_slurp(a->file, TC_SQL_TEXT_MAX, &text, &len, &err) != TC_OK) {
        tc_say("sql", "%s", err.message);
    }
    int code = text == NULL ? TC_EXIT_BAD : tc_sql_run_all(&a->sql, tc_slice_make(text, len));
    free(text);
    return code;
}

static int act(struct asked *a, int argc, char **argv)
{
    const char *word = argc > 0 ? argv[0] : NULL;
    tc_output_init(&a->sql.out, STDOUT_FILENO);
    if (argc > 1 || (word != NULL && a->file != NULL) || (a->markdown && !a->describe)) {
        return tc_command_refuse(&tc_command_sql, argc > 1
                                                      ? "one query at a time: put it between quotes"
                                                      : "that does not go together");
    }
    if (a->describe) {
        enum tc_sql_describe form = a->markdown                  ? TC_SQL_DESCRIBE_MARKDOWN
                                    : a->sql.mode == TC_SQL_JSON ? TC_SQL_DESCRIBE_JSON
                                                                 : TC_SQL_DESCRIBE_TEXT;
        return tc_output_end(&a->sql.out, "sql", tc_sql_describe(&a->sql.out, word, form));
    }
    if (!settle(a)) {
        return TC_EXIT_BAD;
    }
    bool shell = word == NULL && a->file == NULL && isatty(STDIN_FILENO) == 1;
    int code = shell ? tc_sql_shell(&a->sql) : run_queries(a, word);
    if (!shell && tc_sql_interrupted()) {
        code = EXIT_INTERRUPTED;
    }
    return tc_output_end(&a->sql.out, "sql", code);
}

static int run(int argc, char **argv)
{
    static struct asked asked;
    int code = tc_options_read(&tc_command_sql, argc, argv, &asked);
    return code == TC_GO_ON ? act(&asked, argc - optind, argv + optind) : code;
}

const struct tc_command tc_command_sql = {
    .name = "sql",
    .summary = "ask the tables of runs, telemetry and verdicts",
    .usage = "usage: tracecore sql [QUERY] [--csv|--json|--table] [--limit N] [--timeout S]\n"
             "       tracecore sql --file QUERIES.sql\n"
             "       tracecore sql --describe [TABLE] [--markdown|--json]\n"
             "\n"
             "Runs a query over the warehouse and prints the answer. It only reads: nothing\n"
             "can be changed, and no file can be opened from a query. Without QUERY it reads\n"
             "queries from standard input, or from you when that is a terminal, with history\n"
             "and line editing. A running daemon is asked where it has the database open; the\n"
             "answer is the same. NULL is shown as \xe2\x88\x85 in tables, as nothing in CSV.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0    done\n"
             "  1    a query is wrong, failed, or took too long\n"
             "  2    wrong usage, there is no database, or it cannot be read\n"
             "  130  stopped by Ctrl-C\n"
             "\n"
             "Examples:\n"
             "  tracecore sql 'SELECT run_id, name, status FROM benchmark_run_fact'\n"
             "  tracecore sql --csv --file pivot.sql > pivot.csv\n"
             "  tracecore sql --describe serving_outcome_fact\n",
    .run = run,
};
