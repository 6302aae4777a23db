/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore sql` at a terminal. Lines are edited by libedit, which is loaded here and nowhere else
 * (docs/decisions says why); without it there is no editing and no history.
 */
#include "base/format.h"
#include "base/os/library.h"
#include "base/table/grow.h"
#include "cli/output/say.h"
#include "cli/sql/sql.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROMPT "tracecore> "
#define PROMPT_MORE "      ...> "
#define HISTORY_LINES 1000

/* What is used of libedit: its readline face, which has no macros and no structures. */
struct editor {
    char *(*readline)(const char *prompt);
    int (*add_history)(const char *line);
    int (*read_history)(const char *path);
    int (*write_history)(const char *path);
    void (*stifle_history)(int lines);
    void *library; /* NULL, and the functions with it: there is none */
};

struct shell {
    struct tc_sql *sql;
    struct editor editor;
    char history[TC_DATA_PATH_BYTES]; /* "" when there is none */
    struct tc_grow statement;         /* lines so far */
};

/* ---- the editor ---- */

static void load_editor(struct editor *e)
{
    static const char *const NAMES[] = {"readline", "add_history", "read_history", "write_history",
                                        "stifle_history"};
    e->library = tc_library_open("libedit.so.2", NULL);
    if (e->library != NULL && tc_library_bind(e->library, NAMES, TC_COUNT(NAMES), e) != NULL) {
        tc_library_close(e->library);
        *e = (struct editor){0};
    }
}

/* $XDG_STATE_HOME/tracecore/sql_history, else under ~/.local/state: the user's own, whatever the
 * data_dir. The directories above it are made. */
static bool history_path(char *out, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    bool has_state = state != NULL && state[0] == '/';
    if (!has_state && (home == NULL || home[0] != '/')) {
        return false;
    }
    int len = snprintf(out, size, "%s%s/tracecore/sql_history", has_state ? state : home,
                       has_state ? "" : "/.local/state");
    if (len < 0 || (size_t)len >= size) {
        return false;
    }
    for (char *p = out + 1; *p != '\0'; p++) {
        if (*p == '/') {
            *p = '\0';
            bool made = mkdir(out, 0700) == 0 || errno == EEXIST;
            *p = '/';
            if (!made) {
                return false;
            }
        }
    }
    return true;
}

static void load_history(struct shell *s)
{
    if (s->editor.library == NULL || !history_path(s->history, sizeof s->history)) {
        s->history[0] = '\0';
        return;
    }
    s->editor.stifle_history(HISTORY_LINES);
    (void)s->editor.read_history(s->history);
}

/* Queries name customers and models: nobody else reads them. */
static void save_history(const struct shell *s)
{
    if (s->history[0] != '\0') {
        mode_t before = umask(077);
        (void)s->editor.write_history(s->history);
        (void)umask(before);
        (void)chmod(s->history, 0600);
    }
}

/* A line in memory of free(), without its end; NULL at the end of input or after Ctrl-C. */
static char *read_line(struct shell *s, const char *prompt)
{
    char *line = NULL;
    size_t cap = 0;
    if (s->editor.readline != NULL) {
        return s->editor.readline(prompt);
    }
    (void)!write(STDOUT_FILENO, prompt, strlen(prompt));
    ssize_t len = getline(&line, &cap, stdin);
    if (len < 0) {
        clearerr(stdin);
        free(line);
        return NULL;
    }
    line[len - (len > 0 && line[len - 1] == '\n')] = '\0';
    return line;
}

/* ---- commands with a dot ---- */

static void help(struct tc_output *out)
{
    (void)tc_output_put(out, TC_LIT("A query ends with a semicolon and may have several lines.\n"
                                    "  .tables            the tables\n"
                                    "  .describe TABLE    its columns: type, unit, meaning\n"
                                    "  .mode table|csv|json\n"
                                    "  .limit N           rows that are shown; 0: all\n"
                                    "  .help              this\n"
                                    "  .quit              or Ctrl-D\n"
                                    "Ctrl-C stops a query.\n"));
}

static void set_mode(struct tc_sql *s, struct tc_slice word)
{
    if (tc_slice_eq(word, TC_LIT("table"))) {
        s->mode = TC_SQL_TABLE;
    } else if (tc_slice_eq(word, TC_LIT("csv"))) {
        s->mode = TC_SQL_CSV;
    } else if (tc_slice_eq(word, TC_LIT("json"))) {
        s->mode = TC_SQL_JSON;
    } else {
        tc_say_plain(".mode takes table, csv or json");
    }
}

/* False when the user wants to leave. */
static bool dot_command(struct tc_sql *s, const char *line)
{
    struct tc_slice rest;
    struct tc_slice name = tc_slice_cut(tc_slice_trim(tc_slice_cstr(line)), ' ', &rest);
    char word[128];
    rest = tc_slice_trim(rest);
    (void)snprintf(word, sizeof word, "%.*s", (int)(rest.len < 100 ? rest.len : 100),
                   rest.len > 0 ? rest.ptr : "");
    if (tc_slice_eq(name, TC_LIT(".quit")) || tc_slice_eq(name, TC_LIT(".exit"))) {
        return false;
    }
    if (tc_slice_eq(name, TC_LIT(".tables"))) {
        tc_sql_tables(&s->out);
    } else if (tc_slice_eq(name, TC_LIT(".describe"))) {
        (void)tc_sql_describe(&s->out, word[0] == '\0' ? NULL : word, TC_SQL_DESCRIBE_TEXT);
    } else if (tc_slice_eq(name, TC_LIT(".mode"))) {
        set_mode(s, rest);
    } else if (tc_slice_eq(name, TC_LIT(".limit"))) {
        if (!tc_slice_is_u64(rest, &s->rows_max)) {
            tc_say_plain(".limit takes a number");
        }
    } else if (tc_slice_eq(name, TC_LIT(".help"))) {
        help(&s->out);
    } else {
        tc_say_plain("no such command: %.*s; .help lists them", TC_FMT(name));
    }
    (void)tc_output_flush(&s->out);
    return true;
}

/* ---- the loop ---- */

/* Adds a line; runs what is complete. */
static void take_line(struct shell *s, const char *line)
{
    struct tc_grow *text = &s->statement;
    if (text->buf.len + strlen(line) > TC_SQL_TEXT_MAX) {
        tc_say_plain("the query is too long");
        text->buf.len = 0;
        return;
    }
    tc_grow_format(text, "{}\n", line);
    for (size_t len; !text->failed && (len = tc_sql_statement(tc_grow_slice(text))) > 0;) {
        struct tc_slice one = tc_slice_trim(tc_slice_head(tc_grow_slice(text), len - 1));
        if (!tc_sql_is_blank(one)) {
            (void)tc_sql_run(s->sql, one);
        }
        memmove(text->buf.data, text->buf.data + len, text->buf.len - len);
        text->buf.len -= len;
    }
    if (tc_sql_is_blank(tc_grow_slice(text))) {
        text->buf.len = 0;
    }
}

int tc_sql_shell(struct tc_sql *sql)
{
    struct shell s = {.sql = sql};
    bool more = true;
    sql->shell = true;
    (void)setlocale(LC_CTYPE, ""); /* what is typed is in the terminal's encoding */
    load_editor(&s.editor);
    load_history(&s);
    tc_sql_catch_interrupts();
    (void)tc_output_put(&sql->out,
                        TC_LIT("Read only. .help for help, .quit or Ctrl-D to leave.\n"));
    (void)tc_output_flush(&sql->out);
    while (more && sql->out.error == 0) {
        char *line = read_line(&s, s.statement.buf.len == 0 ? PROMPT : PROMPT_MORE);
        if (line == NULL) {
            more = tc_sql_interrupted(); /* Ctrl-C drops what was typed, Ctrl-D leaves */
            s.statement.buf.len = 0;
            (void)!write(STDOUT_FILENO, "\n", 1);
            continue;
        }
        if (line[0] != '\0' && s.editor.add_history != NULL) {
            (void)s.editor.add_history(line);
        }
        if (s.statement.buf.len == 0 && line[0] == '.') {
            more = dot_command(sql, line);
        } else {
            take_line(&s, line);
        }
        free(line);
    }
    save_history(&s);
    tc_grow_fini(&s.statement);
    return TC_EXIT_OK;
}
