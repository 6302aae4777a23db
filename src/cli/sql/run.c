/* SPDX-License-Identifier: Apache-2.0 */
/* One query and its answer; Ctrl-C while it runs. */
#include "base/clock.h"
#include "base/time.h"
#include "cli/output/say.h"
#include "cli/sql/sql.h"

#include <errno.h>
#include <signal.h>

/* What the signal handler stops. Read by it alone; set while a query runs. */
static struct tc_warehouse *volatile running;
static volatile sig_atomic_t pressed;

static void on_interrupt(int number)
{
    int error = errno;
    struct tc_warehouse *w = running;
    (void)number;
    pressed = 1;
    if (w != NULL) {
        tc_warehouse_interrupt(w);
    }
    errno = error;
}

void tc_sql_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
}

bool tc_sql_interrupted(void)
{
    bool was = pressed != 0;
    pressed = 0;
    return was;
}

static void tell_rows(const struct tc_sql *s, uint64_t rows, size_t left_out, bool cut)
{
    if (left_out > 0) {
        tc_say("sql", "%zu more %s no room; --csv and --json have all", left_out,
               left_out == 1 ? "column has" : "columns have");
    }
    if (cut && (s->rows_max == 0 || rows < s->rows_max)) {
        tc_say("sql",
               "only the first %llu rows: a running daemon gives no more (warehouse.query_rows)",
               (unsigned long long)rows);
    } else if (cut) {
        tc_say("sql", "only the first %llu rows; %s 0 gives all", (unsigned long long)s->rows_max,
               s->shell ? ".limit" : "--limit");
    } else if (s->mode == TC_SQL_TABLE) {
        tc_say_plain("%llu %s", (unsigned long long)rows, rows == 1 ? "row" : "rows");
    }
}

static int answer(struct tc_sql *s, struct tc_warehouse *w, struct tc_sql_printer *p,
                  struct tc_slice sql)
{
    struct tc_error err = {0};
    bool cut = false;
    size_t left_out = 0;
    struct tc_query query = {
        .sql = sql, .untrusted = true, .rows_max = s->rows_max, .time_ns = s->time_ns};
    int64_t began_ns = tc_mono_ns();
    running = w;
    tc_status status = pressed != 0 ? tc_fail(&err, TC_E_LIMIT, 0, "the query was stopped")
                                    : tc_warehouse_query(w, &query, tc_sql_print, p, &cut, &err);
    running = NULL;
    uint64_t rows = tc_sql_printer_end(p, &left_out);
    bool written = tc_output_flush(&s->out);
    if (status == TC_OK && written) {
        tell_rows(s, rows, left_out, cut);
        return TC_EXIT_OK;
    }
    if (!written) {
        return TC_EXIT_BAD; /* tc_output_end says why */
    }
    if (pressed != 0) {
        tc_say("sql", "the query was stopped");
    } else if (status == TC_E_LIMIT && s->time_ns > 0 && tc_mono_ns() - began_ns >= s->time_ns) {
        tc_say("sql",
               "the query took too long and was stopped after %lld s; --timeout S gives it more, "
               "--timeout 0 all it needs",
               (long long)(s->time_ns / TC_SECOND));
    } else if (err.status == TC_OK) {
        tc_say("sql", "%s", tc_status_text(status));
    } else {
        tc_sql_say_error(sql, &err);
    }
    return TC_EXIT_FOUND;
}

/* Ctrl-C waits until the database is open: it would break calls of the engine's half way, and its
 * threads inherit that they are not asked. */
static struct tc_warehouse *open_undisturbed(const char *dir)
{
    sigset_t interrupts;
    sigset_t before;
    (void)sigemptyset(&interrupts);
    (void)sigaddset(&interrupts, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &interrupts, &before);
    struct tc_warehouse *w = tc_data_open("sql", dir, TC_WAREHOUSE_READ);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return w;
}

int tc_sql_run(struct tc_sql *s, struct tc_slice sql)
{
    pressed = 0;
    struct tc_warehouse *w = open_undisturbed(s->dir);
    if (w == NULL) {
        return TC_EXIT_BAD;
    }
    struct tc_sql_printer *p = tc_sql_printer_create(&s->out, s->mode, s->width);
    int code = TC_EXIT_BAD;
    if (p == NULL) {
        tc_say("sql", "no memory for the answer");
    } else {
        code = answer(s, w, p, sql);
    }
    tc_sql_printer_destroy(p);
    tc_warehouse_close(w);
    return code;
}

int tc_sql_run_all(struct tc_sql *s, struct tc_slice text)
{
    int code = TC_EXIT_OK;
    bool any = false;
    while (code == TC_EXIT_OK && !tc_sql_is_blank(text)) {
        size_t len = tc_sql_statement(text);
        struct tc_slice one = tc_slice_head(text, len == 0 ? text.len : len - 1);
        text = tc_slice_from(text, len == 0 ? text.len : len);
        if (!tc_sql_is_blank(one)) {
            if (any && s->mode == TC_SQL_TABLE) {
                (void)tc_output_put(&s->out, TC_LIT("\n"));
            }
            any = true;
            code = tc_sql_run(s, tc_slice_trim(one));
        }
    }
    if (!any) {
        tc_say("sql", "there is no query");
        code = TC_EXIT_BAD;
    }
    return code;
}
