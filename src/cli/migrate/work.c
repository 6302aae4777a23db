/* SPDX-License-Identifier: Apache-2.0 */
/* Opening both sides, and the rows on their way. */
#include "base/format.h"
#include "cli/migrate/migrate.h"
#include "evidence/data_dir.h"
#include "run/lock.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for the migration; run it again to go on");
}

/* ---- opening ---- */

static tc_status check_names(const struct tc_migrate *m, struct tc_error *err)
{
    const char *from = m->source.name;
    const char *to = m->target.name;
    struct stat a;
    struct stat b;
    bool same = false;
    if (tc_warehouse_is_url(from)) {
        TC_TRY(tc_warehouse_check_url(from, err));
    }
    if (tc_warehouse_is_url(to)) {
        TC_TRY(tc_warehouse_check_url(to, err));
    }
    if (tc_warehouse_is_url(from) && tc_warehouse_is_url(to)) {
        TC_TRY(tc_warehouse_same_url(from, to, &same, err));
    } else if (!tc_warehouse_is_url(from) && !tc_warehouse_is_url(to)) {
        same = stat(from, &a) == 0 && stat(to, &b) == 0 && a.st_dev == b.st_dev &&
               a.st_ino == b.st_ino;
    }
    return same ? tc_fail(err, TC_E_USAGE, 0, "--from and --to are the same warehouse: %s", to)
                : TC_OK;
}

/* beside: a data_dir, where a warehouse that is elsewhere may put what does not fit into memory. */
static tc_status open_side(struct tc_migrate_side *side, const char *beside,
                           enum tc_warehouse_mode mode, struct tc_error *err)
{
    bool is_url = tc_warehouse_is_url(side->name);
    struct tc_warehouse_config config =
        tc_data_config("migrate", is_url ? beside : side->name, mode);
    config.url = is_url ? side->name : NULL;
    config.own = !is_url;
    if (!is_url && strlen(side->name) >= TC_DATA_PATH_BYTES) {
        return tc_fail(err, TC_E_USAGE, 0, "the path of a data_dir is too long");
    }
    if (!is_url && mode == TC_WAREHOUSE_READ) {
        struct stat st;
        if (stat(side->name, &st) != 0 || !S_ISDIR(st.st_mode)) {
            return tc_fail(err, TC_E_NOTFOUND, 0,
                           "%s: there is no such directory; a warehouse is a data_dir, or "
                           "clickhouse://user@host/database",
                           side->name);
        }
        TC_TRY(tc_data_lock(side->name, "migration", &side->lock_fd, err));
    }
    TC_TRY(tc_warehouse_open(&config, &side->w, err));
    if (is_url) {
        return TC_OK;
    }
    if (side->lock_fd < 0) {
        TC_TRY(tc_data_lock(side->name, "migration", &side->lock_fd, err));
    }
    return tc_runs_lock(side->name, &side->runs_fd, err);
}

tc_status tc_migrate_open(struct tc_migrate *m, struct tc_error *err)
{
    char usual[TC_DATA_PATH_BYTES];
    const char *beside = m->source.name;
    TC_TRY(check_names(m, err));
    if (tc_warehouse_is_url(beside)) {
        beside = m->target.name;
    }
    if (tc_warehouse_is_url(beside)) {
        if (!tc_data_dir_default(usual, sizeof usual)) {
            return tc_fail(err, TC_E_USAGE, 0,
                           "where may files go that do not fit into memory? set "
                           "TRACECORE_DATA_DIR");
        }
        beside = usual;
    }
    TC_TRY(open_side(&m->source, beside, TC_WAREHOUSE_READ, err));
    return open_side(&m->target, beside, TC_WAREHOUSE_WRITE, err);
}

static void close_side(struct tc_migrate_side *side)
{
    tc_warehouse_close(side->w);
    if (side->runs_fd >= 0) {
        (void)close(side->runs_fd);
    }
    if (side->lock_fd >= 0) {
        (void)close(side->lock_fd);
    }
}

void tc_migrate_close(struct tc_migrate *m)
{
    close_side(&m->target);
    close_side(&m->source);
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        tc_migrate_minutes_fini(&m->tables[i].source);
        tc_migrate_minutes_fini(&m->tables[i].target);
    }
}

/* ---- what is there ---- */

static tc_status take_minute(void *context, const struct tc_minute *minute)
{
    return tc_migrate_minutes_add(context, minute);
}

static tc_status list(struct tc_warehouse *w, enum tc_table table, struct tc_migrate_minutes *out,
                      struct tc_error *err)
{
    tc_status status = tc_warehouse_minutes(w, table, take_minute, out, err);
    return status == TC_E_NOMEM || status == TC_E_LIMIT ? no_memory(err) : status;
}

static tc_status refuse(const struct tc_migrate *m, enum tc_table table, int64_t from_us,
                        const char *what, struct tc_error *err)
{
    char when[64];
    struct tc_buf b = tc_buf_make(when, sizeof when);
    if (from_us != TC_NO_TIME) {
        (void)tc_format(&b, " from {} on", tc_as_time(from_us * 1000));
    }
    return tc_fail(err, TC_E_USAGE, 0,
                   "%s has %s of %s%.*s: this is no migration from there that was begun, or the "
                   "source was written to since; name an empty warehouse, nothing was copied",
                   m->target.name, what, tc_table_info(table)->name, (int)b.len, when);
}

static tc_status list_both(struct tc_migrate *m, enum tc_table table, struct tc_error *err)
{
    struct tc_migrate_table *t = &m->tables[table];
    struct tc_minute wrong;
    TC_TRY(list(m->source.w, table, &t->source, err));
    TC_TRY(list(m->target.w, table, &t->target, err));
    return tc_migrate_minutes_fit(&t->source, &t->target, &wrong)
               ? TC_OK
               : refuse(m, table, wrong.minute_us, "other rows", err);
}

/* ---- rows ---- */

/* Rows that are read: added up, and written if there is where. */
struct passing {
    struct tc_migrate *m;
    enum tc_table table;
    struct tc_warehouse *to; /* NULL: nowhere */
    struct tc_row_sum sum;
    tc_status written;
    struct tc_error *err;
};

static tc_status take_rows(void *context, const struct tc_rows *rows)
{
    struct passing *p = context;
    if (!tc_rows_are_of(rows, p->table)) {
        return TC_E_MALFORMED;
    }
    tc_row_sum_add(&p->sum, rows);
    if (p->to != NULL) {
        p->written = tc_warehouse_append(p->to, p->table, rows, p->err);
        tc_progress_add(&p->m->progress, rows->count, 0);
    }
    return p->written;
}

static tc_status read_chunk(struct tc_migrate *m, struct tc_warehouse *from,
                            struct tc_warehouse *to, enum tc_table table,
                            const struct tc_migrate_chunk *chunk, struct tc_row_sum *out,
                            struct tc_error *err)
{
    struct tc_error of_writing = {0};
    struct passing p = {.m = m, .table = table, .to = to, .err = &of_writing};
    tc_status status =
        tc_warehouse_read(from, table, chunk->from_us, chunk->to_us, take_rows, &p, err);
    if (p.written != TC_OK) {
        *err = of_writing;
        return p.written;
    }
    *out = p.sum;
    return status;
}

/* What an earlier call has copied is what the source has. */
static tc_status check_there(struct tc_migrate *m, enum tc_table table, struct tc_error *err)
{
    struct tc_migrate_table *t = &m->tables[table];
    struct tc_migrate_chunk chunk;
    size_t at = 0;
    while (tc_migrate_next_chunk(&t->source, &t->target, true, m->batch, &at, &chunk)) {
        struct tc_row_sum a;
        struct tc_row_sum b;
        TC_TRY(read_chunk(m, m->source.w, NULL, table, &chunk, &a, err));
        TC_TRY(read_chunk(m, m->target.w, NULL, table, &chunk, &b, err));
        if (!tc_row_sum_eq(&a, &b)) {
            return refuse(m, table, chunk.from_us, "rows with other values", err);
        }
        tc_row_sum_join(&t->source_sum, &a);
        tc_row_sum_join(&t->target_sum, &b);
        tc_progress_add(&m->progress, a.rows, 0);
    }
    return TC_OK;
}

static tc_status copy_chunk(struct tc_migrate *m, enum tc_table table,
                            const struct tc_migrate_chunk *chunk, struct tc_error *err)
{
    struct tc_migrate_table *t = &m->tables[table];
    struct tc_row_sum sum = {0};
    TC_TRY(tc_warehouse_begin(m->target.w, err));
    tc_status status = read_chunk(m, m->source.w, m->target.w, table, chunk, &sum, err);
    if (status == TC_OK && sum.rows != chunk->rows) {
        status = tc_fail(err, TC_E_USAGE, 0,
                         "%s of %s had %llu rows and has %llu now: stop whoever writes there, and "
                         "run this again",
                         tc_table_info(table)->name, m->source.name,
                         (unsigned long long)chunk->rows, (unsigned long long)sum.rows);
    }
    if (status != TC_OK) {
        tc_warehouse_rollback(m->target.w);
        return status;
    }
    TC_TRY(tc_warehouse_commit(m->target.w, err));
    tc_row_sum_join(&t->source_sum, &sum);
    t->copied += sum.rows;
    TC_TRY(read_chunk(m, m->target.w, NULL, table, chunk, &sum, err));
    tc_row_sum_join(&t->target_sum, &sum);
    return TC_OK;
}

static tc_status copy_rest(struct tc_migrate *m, enum tc_table table, struct tc_error *err)
{
    struct tc_migrate_table *t = &m->tables[table];
    struct tc_migrate_chunk chunk;
    size_t at = 0;
    while (tc_migrate_next_chunk(&t->source, &t->target, false, m->batch, &at, &chunk)) {
        TC_TRY(copy_chunk(m, table, &chunk, err));
    }
    return TC_OK;
}

/* Once more how many there are of each minute: a writer that nobody kept away may have come. */
static tc_status count_again(struct tc_migrate *m, enum tc_table table, struct tc_error *err)
{
    struct tc_migrate_table *t = &m->tables[table];
    struct tc_migrate_minutes lists[2] = {0};
    struct tc_minute ignored;
    tc_status status = list(m->source.w, table, &lists[0], err);
    status = status == TC_OK ? list(m->target.w, table, &lists[1], err) : status;
    uint64_t rows = tc_migrate_minutes_rows(&t->source);
    for (size_t i = 0; status == TC_OK && i < TC_COUNT(lists); i++) {
        const struct tc_migrate_side *side = i == 0 ? &m->source : &m->target;
        uint64_t now = tc_migrate_minutes_rows(&lists[i]);
        if (now != rows || !tc_migrate_minutes_fit(&t->source, &lists[i], &ignored)) {
            status = tc_fail(err, TC_E_MALFORMED, 0,
                             "%s of %s has %llu rows where %llu were %s: somebody else wrote to it "
                             "meanwhile; stop them, and migrate to an empty warehouse",
                             tc_table_info(table)->name, side->name, (unsigned long long)now,
                             (unsigned long long)rows, i == 0 ? "read" : "copied");
        }
    }
    tc_migrate_minutes_fini(&lists[0]);
    tc_migrate_minutes_fini(&lists[1]);
    return status;
}

/* Tables that are read whole first: with the names of runs there, rows find theirs as they come. */
static tc_status each(struct tc_migrate *m,
                      tc_status (*work)(struct tc_migrate *m, enum tc_table table,
                                        struct tc_error *err),
                      struct tc_error *err)
{
    for (int by_time = 0; by_time < 2; by_time++) {
        for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
            if ((tc_stretch_column((enum tc_table)i) != SIZE_MAX) == by_time) {
                TC_TRY(work(m, (enum tc_table)i, err));
            }
        }
    }
    return TC_OK;
}

tc_status tc_migrate_do(struct tc_migrate *m, struct tc_error *err)
{
    uint64_t rows = 0;
    TC_TRY(tc_warehouse_settle(m->target.w, err));
    TC_TRY(each(m, list_both, err));
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        rows += tc_migrate_minutes_rows(&m->tables[i].source);
    }
    tc_progress_init_rows(&m->progress, !m->args->quiet, rows);
    TC_TRY(each(m, check_there, err));
    TC_TRY(each(m, copy_rest, err));
    return each(m, count_again, err);
}
