/* SPDX-License-Identifier: Apache-2.0 */
#include "support/warehouse_room.h"

#include "support/temp_folder.h"

#include <dlfcn.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

int wh_setup(void **state)
{
    struct wh_room *room = calloc(1, sizeof *room);
    assert_non_null(room);
    assert_true(tc_temp_folder(room->dir, sizeof room->dir, "tc_warehouse"));
    room->threads = 1;
    *state = room;
    return 0;
}

int wh_setup_parallel(void **state)
{
    int result = wh_setup(state);
    struct wh_room *room = *state;
    room->threads = 2;
    return result;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    return type == FTW_DP ? rmdir(path) : unlink(path);
}

int wh_teardown(void **state)
{
    struct wh_room *room = *state;
    (void)nftw(room->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(room);
    return 0;
}

struct tc_warehouse_config wh_config(struct wh_room *room, enum tc_warehouse_mode mode)
{
    return (struct tc_warehouse_config){
        .data_dir = room->dir, .mode = mode, .own = true, .threads = room->threads};
}

struct tc_warehouse *wh_open(struct wh_room *room, enum tc_warehouse_mode mode)
{
    struct tc_warehouse_config config = wh_config(room, mode);
    struct tc_warehouse *w = NULL;
    struct tc_error err = {0};
    if (tc_warehouse_open(&config, &w, &err) != TC_OK) {
        fail_msg("open: %s", err.message);
    }
    return w;
}

static void put_text(struct tc_rows *rows, size_t column, const char *text)
{
    assert_int_equal(tc_rows_text(rows, column, tc_slice_cstr(text)), TC_OK);
}

static void put_slice(struct tc_rows *rows, size_t n)
{
    char text[64];
    assert_true(tc_rows_add(rows));
    put_text(rows, TC_SLICE_RUN_ID, n % 2 == 0 ? "run-even" : "run-odd");
    tc_rows_int(rows, TC_SLICE_START, INT64_C(1762000000000000) + (int64_t)(n / 512) * 60000000);
    tc_rows_int(rows, TC_SLICE_END, INT64_C(1762000060000000) + (int64_t)(n / 512) * 60000000);
    put_text(rows, TC_SLICE_FAMILY, "dcgm");
    put_text(rows, TC_SLICE_METRIC, "gpu_temperature");
    (void)snprintf(text, sizeof text, "node-%02zu", n / 8 % 64);
    put_text(rows, TC_SLICE_NODE, text);
    (void)snprintf(text, sizeof text, "GPU-6f1b2c3d-0000-0000-0000-%012zx", n % 512);
    put_text(rows, TC_SLICE_GPU, text);
    tc_rows_int(rows, TC_SLICE_COUNT, 60);
    tc_rows_real(rows, TC_SLICE_MEAN, 60.5 + (double)(n % 16));
}

void wh_append_slices(struct tc_warehouse *w, size_t first, size_t count)
{
    struct tc_rows *rows = tc_rows_create(TC_TABLE_SLICE);
    struct tc_error err = {0};
    assert_non_null(rows);
    for (size_t i = 0; i < count;) {
        tc_rows_reset(rows);
        for (; i < count && rows->count < TC_ROWS_MAX; i++) {
            put_slice(rows, first + i);
        }
        if (tc_warehouse_append(w, TC_TABLE_SLICE, rows, &err) != TC_OK) {
            fail_msg("append: %s", err.message);
        }
    }
    tc_rows_destroy(rows);
}

void wh_add_slices(struct tc_warehouse *w, size_t first, size_t count)
{
    struct tc_error err = {0};
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    wh_append_slices(w, first, count);
    if (tc_warehouse_commit(w, &err) != TC_OK) {
        fail_msg("commit: %s", err.message);
    }
}

int64_t wh_count(struct tc_warehouse *w, const char *sql)
{
    struct tc_error err = {0};
    int64_t value = -1;
    if (tc_warehouse_int(w, sql, NULL, 0, -1, &value, &err) != TC_OK) {
        fail_msg("%s: %s", sql, err.message);
    }
    return value;
}

void wh_load_for_children(void)
{
    /* Where warehouse/duckdb/load.c finds it. */
    static const char beside[] = "../lib/tracecore/libduckdb.so";
    static void *library;
    char path[PATH_MAX + sizeof beside];
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
    assert_true(len > 0);
    path[len] = '\0';
    char *slash = strrchr(path, '/');
    assert_non_null(slash);
    memcpy(slash + 1, beside, sizeof beside);
    const char *given = getenv(TC_WAREHOUSE_LIBRARY_VARIABLE);
    const char *file = access(path, F_OK) == 0 ? path : "libduckdb.so";
    library = dlopen(given != NULL && given[0] != '\0' ? given : file, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
}
