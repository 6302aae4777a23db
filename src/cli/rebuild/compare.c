/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The old tables against the new ones, whatever the order of their rows. Of each row two digests
 * are kept, of what tells it from others and of all of it, in files by the first byte of the first:
 * each pair of files is sorted in memory and walked side by side. No column is left out.
 */
#include "base/os/io.h"
#include "cli/rebuild/rebuild.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUCKETS 256
#define BUCKET_ROWS 128
/* Of the digest of a key, and of a row: chance makes no two equal. */
#define SUM_BYTES 16

struct mark {
    uint8_t key[SUM_BYTES];
    uint8_t row[SUM_BYTES];
};

/* The columns that tell a row from others. */
#define BIT(column) (UINT64_C(1) << (column))
static const uint64_t KEYS[TC_TABLE_COUNT] = {
    [TC_TABLE_RUN] = BIT(TC_RUN_RUN_ID),
    [TC_TABLE_SERVING] = BIT(TC_SERVING_RUN_ID) | BIT(TC_SERVING_SOURCE_DIGEST) |
                         BIT(TC_SERVING_SOURCE_POINTER) | BIT(TC_SERVING_WORKLOAD_POINT),
    [TC_TABLE_REQUEST] = BIT(TC_REQUEST_RUN_ID) | BIT(TC_REQUEST_SOURCE_DIGEST) |
                         BIT(TC_REQUEST_SOURCE_POINTER) | BIT(TC_REQUEST_REQUEST_ID) |
                         BIT(TC_REQUEST_TRACE_ID),
    [TC_TABLE_TRAINING] = BIT(TC_TRAINING_RUN_ID) | BIT(TC_TRAINING_SOURCE_DIGEST) |
                          BIT(TC_TRAINING_SOURCE_POINTER) | BIT(TC_TRAINING_PHASE),
    [TC_TABLE_SLICE] = (BIT(TC_SLICE_COUNT) - 1) & ~BIT(TC_SLICE_JOIN),
    [TC_TABLE_SOFTWARE] = BIT(0),
    [TC_TABLE_HARDWARE] = BIT(0),
    [TC_TABLE_CLUSTER] = BIT(0),
    [TC_TABLE_WORKLOAD] = BIT(0),
    [TC_TABLE_LINEAGE] = BIT(TC_LINEAGE_RUN_ID),
    [TC_TABLE_DEFINITION] = BIT(0),
    [TC_TABLE_VERDICT] = BIT(TC_VERDICT_DIGEST),
    [TC_TABLE_RUN_SCOPE] = BIT(TC_RUN_SCOPE_RUN_ID) | BIT(TC_RUN_SCOPE_KIND) |
                           BIT(TC_RUN_SCOPE_NAME) | BIT(TC_RUN_SCOPE_SOURCE),
    [TC_TABLE_PUBLISHED] = BIT(TC_PUBLISHED_ID) | BIT(TC_PUBLISHED_RUN_ID),
};

/* One table of one database, on its way into files. */
struct side {
    const char *dir;
    int fds[BUCKETS];
    struct mark marks[BUCKETS][BUCKET_ROWS];
    size_t counts[BUCKETS]; /* in marks */
    uint64_t totals[BUCKETS];
    uint64_t rows;
    enum tc_table table;
    tc_status written;
    struct tc_error *err;
};

/* ---- a row in digests ---- */

static void hash_number(struct tc_sha256 *h, uint64_t value)
{
    tc_sha256_update(h, tc_slice_make((const char *)&value, sizeof value));
}

static void hash_cell(struct tc_sha256 *h, const struct tc_rows *rows, size_t column, size_t row)
{
    union tc_cell cell = rows->columns[column].cells[row];
    if (tc_rows_is_null(rows, column, row)) {
        hash_number(h, UINT64_MAX);
        return;
    }
    if (rows->columns[column].type == TC_COLUMN_TEXT) {
        struct tc_slice text = tc_rows_get_text(rows, column, row);
        hash_number(h, text.len);
        tc_sha256_update(h, text);
        return;
    }
    hash_number(h, sizeof cell.integer);
    tc_sha256_update(h, tc_slice_make((const char *)&cell.integer, sizeof cell.integer));
}

static void mark_of(const struct tc_rows *rows, size_t row, uint64_t keys, struct mark *out)
{
    struct tc_sha256 key;
    struct tc_sha256 all;
    struct tc_digest digest;
    tc_sha256_init(&key);
    tc_sha256_init(&all);
    for (size_t column = 0; column < rows->column_count; column++) {
        hash_cell(&all, rows, column, row);
        if ((keys & BIT(column)) != 0) {
            hash_cell(&key, rows, column, row);
        }
    }
    tc_sha256_final(&key, &digest);
    memcpy(out->key, digest.bytes, SUM_BYTES);
    tc_sha256_final(&all, &digest);
    memcpy(out->row, digest.bytes, SUM_BYTES);
}

/* ---- into files ---- */

static tc_status fail_on(struct side *s, size_t bucket)
{
    s->written = tc_fail(s->err, TC_E_IO, 0, "%s/%zu: %s", s->dir, bucket, strerror(errno));
    return s->written;
}

/* Most tables have few rows: only files that get some are made. */
static tc_status open_file(struct side *s, size_t bucket)
{
    char path[TC_REBUILD_PATH_BYTES + 32];
    if (s->fds[bucket] >= 0) {
        return TC_OK;
    }
    (void)snprintf(path, sizeof path, "%s/%zu", s->dir, bucket);
    s->fds[bucket] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    return s->fds[bucket] >= 0 ? TC_OK : fail_on(s, bucket);
}

static tc_status flush(struct side *s, size_t bucket)
{
    struct tc_slice bytes =
        tc_slice_make((const char *)s->marks[bucket], s->counts[bucket] * sizeof(struct mark));
    s->counts[bucket] = 0;
    if (bytes.len == 0) {
        return TC_OK;
    }
    TC_TRY(open_file(s, bucket));
    return tc_io_write(s->fds[bucket], bytes) ? TC_OK : fail_on(s, bucket);
}

static tc_status take(void *context, const struct tc_rows *rows)
{
    struct side *s = context;
    for (size_t row = 0; row < rows->count; row++) {
        struct mark mark;
        mark_of(rows, row, KEYS[s->table], &mark);
        size_t bucket = mark.key[0];
        if (s->counts[bucket] == BUCKET_ROWS) {
            TC_TRY(flush(s, bucket));
        }
        s->marks[bucket][s->counts[bucket]++] = mark;
        s->totals[bucket]++;
        s->rows++;
    }
    return TC_OK;
}

static void close_files(struct side *s)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        if (s->fds[i] >= 0) {
            (void)close(s->fds[i]);
        }
    }
}

/* NULL without memory. */
static struct side *side_of(const char *dir, enum tc_table table, struct tc_error *err)
{
    struct side *s = calloc(1, sizeof *s);
    if (s != NULL) {
        s->dir = dir;
        s->table = table;
        s->err = err;
        memset(s->fds, -1, sizeof s->fds);
    }
    return s;
}

static tc_status fill(struct side *s, struct tc_warehouse *w, struct tc_error *err)
{
    struct tc_grow sql = {0};
    if (mkdir(s->dir, 0700) != 0 && errno != EEXIST) {
        return fail_on(s, 0);
    }
    tc_table_select(&sql, s->table);
    struct tc_query query = {.sql = tc_grow_slice(&sql)};
    tc_status status =
        sql.failed ? tc_rebuild_nomem(err) : tc_warehouse_query(w, &query, take, s, NULL, err);
    tc_grow_fini(&sql);
    for (size_t i = 0; i < BUCKETS && status == TC_OK; i++) {
        status = flush(s, i);
    }
    return status;
}

/* ---- side by side ---- */

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct mark));
}

static tc_status load(struct side *s, size_t bucket, struct mark **out, size_t *out_count,
                      struct tc_error *err)
{
    size_t count = s == NULL ? 0 : (size_t)s->totals[bucket];
    struct mark *marks = calloc(count + 1, sizeof *marks);
    *out = marks;
    *out_count = count;
    if (marks == NULL) {
        return tc_rebuild_nomem(err);
    }
    size_t bytes = count * sizeof *marks;
    if (count > 0 && (lseek(s->fds[bucket], 0, SEEK_SET) != 0 ||
                      tc_io_read(s->fds[bucket], (char *)marks, bytes) != (ssize_t)bytes)) {
        return fail_on(s, bucket);
    }
    if (count > 1) {
        qsort(marks, count, sizeof *marks, by_bytes);
    }
    return TC_OK;
}

/* Rows of one key that only the one or the other has: as many as both have of them differ. */
static void settle(struct tc_rebuild_table *t, uint64_t only_old, uint64_t only_new)
{
    uint64_t both = only_old < only_new ? only_old : only_new;
    t->differing += both;
    t->extra += only_old - both;
    t->missing += only_new - both;
}

static void walk(struct tc_rebuild_table *t, const struct mark *a, size_t a_count,
                 const struct mark *b, size_t b_count)
{
    size_t i = 0;
    size_t k = 0;
    while (i < a_count || k < b_count) {
        const struct mark *least =
            k == b_count || (i < a_count && by_bytes(&a[i], &b[k]) <= 0) ? &a[i] : &b[k];
        uint64_t only_old = 0;
        uint64_t only_new = 0;
        uint8_t key[SUM_BYTES];
        memcpy(key, least->key, sizeof key);
        for (;;) {
            bool in_a = i < a_count && memcmp(a[i].key, key, sizeof key) == 0;
            bool in_b = k < b_count && memcmp(b[k].key, key, sizeof key) == 0;
            int order = in_a && in_b ? by_bytes(&a[i], &b[k]) : in_a ? -1 : 1;
            if (!in_a && !in_b) {
                break;
            }
            only_old += order < 0;
            only_new += order > 0;
            i += order <= 0;
            k += order >= 0;
        }
        settle(t, only_old, only_new);
    }
}

static tc_status compare_files(struct tc_rebuild_table *t, struct side *old, struct side *made,
                               struct tc_error *err)
{
    struct tc_sha256 before;
    struct tc_sha256 after;
    tc_status status = TC_OK;
    tc_sha256_init(&before);
    tc_sha256_init(&after);
    for (size_t i = 0; i < BUCKETS && status == TC_OK; i++) {
        struct mark *a = NULL;
        struct mark *b = NULL;
        size_t a_count = 0;
        size_t b_count = 0;
        status = load(old, i, &a, &a_count, err);
        status = status == TC_OK ? load(made, i, &b, &b_count, err) : status;
        if (status == TC_OK) {
            tc_sha256_update(&before, tc_slice_make((const char *)a, a_count * sizeof *a));
            tc_sha256_update(&after, tc_slice_make((const char *)b, b_count * sizeof *b));
            walk(t, a, a_count, b, b_count);
        }
        free(a);
        free(b);
    }
    tc_sha256_final(&before, &t->digest_before);
    tc_sha256_final(&after, &t->digest_after);
    return status;
}

/* A table of the old one that cannot be read counts as none. */
static tc_status fill_old(struct tc_rebuild *r, struct side *s, bool *out_read,
                          struct tc_error *err)
{
    struct tc_error why = {0};
    *out_read = false;
    if (r->old == NULL) {
        return TC_OK;
    }
    tc_status status = fill(s, r->old, &why);
    *out_read = status == TC_OK;
    if (s->written != TC_OK || status == TC_E_NOMEM) {
        *err = s->written != TC_OK ? *s->err : why;
        return status;
    }
    if (status != TC_OK) {
        tc_rebuild_note(r, "%s of the old database cannot be read: %s",
                        tc_table_info(s->table)->name, why.message);
        tc_rebuild_open_old(r);
    }
    return TC_OK;
}

static tc_status compare(struct tc_rebuild *r, struct side *old, struct side *made,
                         struct tc_error *err)
{
    struct tc_rebuild_table *t = &r->tables[made->table];
    TC_TRY(fill_old(r, old, &t->has_before, err));
    TC_TRY(fill(made, r->made, err));
    t->before = t->has_before ? old->rows : 0;
    t->after = made->rows;
    return compare_files(t, t->has_before ? old : NULL, made, err);
}

static tc_status compare_table(struct tc_rebuild *r, enum tc_table table, struct tc_error *err)
{
    char dirs[2][TC_REBUILD_PATH_BYTES + 16];
    struct tc_error of_writing = {0};
    (void)snprintf(dirs[0], sizeof dirs[0], "%s/before", r->work);
    (void)snprintf(dirs[1], sizeof dirs[1], "%s/after", r->work);
    struct side *old = side_of(dirs[0], table, &of_writing);
    struct side *made = side_of(dirs[1], table, err);
    tc_status status =
        old == NULL || made == NULL ? tc_rebuild_nomem(err) : compare(r, old, made, err);
    if (old != NULL) {
        close_files(old);
    }
    if (made != NULL) {
        close_files(made);
    }
    free(old);
    free(made);
    return status;
}

tc_status tc_rebuild_compare(struct tc_rebuild *r, struct tc_error *err)
{
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        TC_TRY(compare_table(r, (enum tc_table)i, err));
    }
    return TC_OK;
}
