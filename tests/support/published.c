/* SPDX-License-Identifier: Apache-2.0 */
#include "support/published.h"

#include "support/temp_folder.h"

#include "base/digest.h"
#include "publish/numbers.h"
#include "run/import.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SUM_DIGITS 16
#define NOW_NS INT64_C(1771000000123456000)

/* ---- runs ---- */

static void write_result(const struct pb_room *room, char path[256], double p99)
{
    (void)snprintf(path, 256, "%s/r%zu.json", room->from, room->runs);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    double duration = 1.5 + (double)room->runs / 16;
    assert_true(
        fprintf(file,
                "{\"backend\":\"vllm\",\"date\":\"20260213-141321\",\"model_id\":\"m\","
                "\"num_prompts\":2,\"completed\":2,\"failed\":0,\"duration\":%.17g,"
                "\"max_concurrency\":1,\"total_input_tokens\":10,\"total_output_tokens\":10,"
                "\"mean_ttft_ms\":3,\"median_ttft_ms\":3,\"p99_ttft_ms\":%.17g,"
                "\"request_throughput\":%.17g,\"output_throughput\":%.17g}",
                duration, p99, 2 / duration, 10 / duration) > 0);
    assert_int_equal(fclose(file), 0);
}

void pb_add_run(struct pb_room *room, double p99)
{
    char path[256];
    char id[16];
    struct tc_error err = {0};
    struct tc_import_outcome out;
    room->runs++;
    write_result(room, path, p99);
    (void)snprintf(id, sizeof id, "r%zu", room->runs);
    const struct tc_import_file file = {TC_ROLE_RESULT, path, false};
    const struct tc_import want = {.data_dir = room->dir,
                                   .files = &file,
                                   .file_count = 1,
                                   .run_id = id,
                                   .name = "night",
                                   .now_us = NOW_NS / 1000};
    const struct tc_import_sink sink = {0};
    if (tc_import_run(room->w, &want, &sink, &out, &err) != TC_OK) {
        fail_msg("import: %s", err.message);
    }
}

int pb_setup(void **state)
{
    struct pb_room *room = calloc(1, sizeof *room);
    struct tc_error err = {0};
    assert_non_null(room);
    const char *outside = getenv("TMPDIR");
    (void)snprintf(room->outside, sizeof room->outside, "%s", outside == NULL ? "" : outside);
    assert_true(tc_temp_folder(room->dir, sizeof room->dir, "tc_published"));
    (void)snprintf(room->from, sizeof room->from, "%s/from", room->dir);
    assert_int_equal(mkdir(room->from, 0700), 0);
    assert_int_equal(setenv("TMPDIR", room->from, 1), 0);
    const struct tc_warehouse_config config = {
        .data_dir = room->dir, .mode = TC_WAREHOUSE_WRITE, .own = true, .threads = 1};
    if (tc_warehouse_open(&config, &room->w, &err) != TC_OK) {
        fail_msg("open: %s", err.message);
    }
    for (int i = 0; i < 3; i++) {
        pb_add_run(room, PB_FIRST + i);
    }
    assert_int_equal(tc_files_open(room->dir, false, &room->files, &err), TC_OK);
    *state = room;
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    return type == FTW_DP ? rmdir(path) : unlink(path);
}

int pb_teardown(void **state)
{
    struct pb_room *room = *state;
    tc_made_close(&room->made);
    tc_files_close(room->files);
    tc_warehouse_close(room->w);
    (void)nftw(room->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void)(room->outside[0] == '\0' ? unsetenv("TMPDIR") : setenv("TMPDIR", room->outside, 1));
    free(room);
    return 0;
}

/* ---- rows ---- */

void pb_edit(struct pb_room *room, enum tc_table table, size_t column, const char *run,
             tc_run_edit_fn edit, void *context)
{
    struct tc_error err = {0};
    assert_int_equal(tc_warehouse_begin(room->w, &err), TC_OK);
    if (tc_run_update(room->w, table, column, tc_slice_cstr(run), edit, context, &err) != TC_OK) {
        fail_msg("edit: %s", err.message);
    }
    assert_int_equal(tc_warehouse_commit(room->w, &err), TC_OK);
}

struct contract {
    const char *digest;
    int64_t replicates;
    const char *conditions;
};

static tc_status put_contract(void *context, struct tc_rows *rows)
{
    const struct contract *c = context;
    for (size_t row = 0; row < rows->count; row++) {
        tc_rows_seek(rows, row);
        tc_rows_null(rows, TC_RUN_CONTRACT_DIGEST);
        tc_rows_null(rows, TC_RUN_MIN_REPLICATES);
        TC_TRY(tc_rows_text(rows, TC_RUN_CONDITIONS, tc_slice_cstr(c->conditions)));
        if (c->digest != NULL) {
            tc_rows_int(rows, TC_RUN_MIN_REPLICATES, c->replicates);
            TC_TRY(tc_rows_text(rows, TC_RUN_CONTRACT_DIGEST, tc_slice_cstr(c->digest)));
        }
    }
    return TC_OK;
}

void pb_set_contract(struct pb_room *room, const char *digest, int64_t replicates,
                     const char *conditions)
{
    struct contract c = {digest, replicates, conditions};
    for (size_t i = 1; i <= room->runs; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "r%zu", i);
        pb_edit(room, TC_TABLE_RUN, TC_RUN_RUN_ID, id, put_contract, &c);
    }
}

/* ---- numbers ---- */

tc_status pb_publish(struct pb_room *room, const char *query, const char *unstable,
                     struct tc_publish_outcome *out, struct tc_error *err)
{
    const struct tc_publish_want want = {
        .data_dir = room->dir,
        .w = room->w,
        .files = room->files,
        .metric = TC_LIT("ttft_p99_ms"),
        .definition_id = TC_LIT("vllm:p99_ttft_ms"),
        .unit = TC_LIT("ms"),
        .report_row = TC_LIT("a row"),
        .query = tc_slice_cstr(query == NULL ? PB_QUERY : query),
        .unstable = tc_slice_cstr(unstable),
        .by = TC_LIT("tester"),
        .now_ns = NOW_NS,
        .made = &room->made,
    };
    *err = (struct tc_error){0};
    return tc_publish(&want, out, err);
}

void pb_published(struct pb_room *room, char out_id[TC_NUMBER_ID_BYTES])
{
    struct tc_publish_outcome out;
    struct tc_error err;
    if (pb_publish(room, NULL, "a test", &out, &err) != TC_OK || !out.is_published) {
        fail_msg("publish: %s", err.message);
    }
    (void)snprintf(out_id, TC_NUMBER_ID_BYTES, "%s", out.number_id);
    tc_publish_fini(&out);
}

enum tc_step pb_broken(struct pb_room *room, const char *id, const struct tc_sign_key *key,
                       struct tc_chain *out_chain)
{
    struct tc_numbers numbers;
    struct tc_chain chain;
    struct tc_claim claim;
    struct tc_error err = {0};
    assert_int_equal(tc_numbers_read(room->dir, &numbers, &err), TC_OK);
    const struct tc_number *number = tc_numbers_find(&numbers, tc_slice_cstr(id));
    assert_non_null(number);
    const struct tc_lineage_want want = {.data_dir = room->dir,
                                         .w = room->w,
                                         .files = room->files,
                                         .numbers = &numbers,
                                         .key = key,
                                         .made = &room->made};
    if (tc_lineage_check(&want, number, &chain, &claim, &err) != TC_OK) {
        fail_msg("lineage: %s", err.message);
    }
    tc_claim_fini(&claim);
    tc_numbers_fini(&numbers);
    enum tc_step broken = tc_chain_broken(&chain);
    for (enum tc_step step = TC_STEP_AUDIT; step < TC_STEP_COUNT; step++) {
        if (step != broken && chain.steps[step].state == TC_STEP_BROKEN) {
            fail_msg("%s and %s are both broken", tc_step_name(broken, true),
                     tc_step_name(step, true));
        }
    }
    if (out_chain != NULL) {
        *out_chain = chain;
    }
    return broken;
}

/* ---- bytes ---- */

static void path_of(const struct pb_room *room, const char *name, char out[512])
{
    (void)snprintf(out, 512, "%s/%s", room->dir, name);
}

char *pb_slurp(const struct pb_room *room, const char *name, size_t *out_len)
{
    char path[512];
    struct stat st;
    path_of(room, name, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    char *text = malloc((size_t)st.st_size + 1);
    assert_non_null(text);
    assert_int_equal(read(fd, text, (size_t)st.st_size), st.st_size);
    (void)close(fd);
    text[st.st_size] = '\0';
    *out_len = (size_t)st.st_size;
    return text;
}

void pb_write(const struct pb_room *room, const char *name, const char *text, size_t len)
{
    char path[512];
    path_of(room, name, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), len);
    (void)close(fd);
}

void pb_flip(const struct pb_room *room, struct tc_slice digest)
{
    char name[128];
    size_t len = 0;
    const char *hex = digest.ptr + 7; /* behind "sha256:" */
    (void)snprintf(name, sizeof name, "files/%.2s/%.64s", hex, hex);
    char *bytes = pb_slurp(room, name, &len);
    bytes[len / 2] = (char)(bytes[len / 2] ^ 1);
    pb_write(room, name, bytes, len);
    free(bytes);
}

void pb_mend_sums(char *text, size_t len)
{
    struct tc_slice rest = tc_slice_make(text, len);
    while (rest.len > 0) {
        char *line = text + (rest.ptr - text);
        struct tc_slice whole = tc_slice_cut(rest, '\n', &rest);
        struct tc_digest digest;
        char hex[TC_DIGEST_TEXT];
        assert_true(whole.len > SUM_DIGITS);
        assert_int_equal(tc_digest_sha256(tc_slice_from(whole, SUM_DIGITS + 1), &digest), TC_OK);
        tc_digest_text(&digest, hex);
        memcpy(line, hex + 7, SUM_DIGITS);
    }
}
