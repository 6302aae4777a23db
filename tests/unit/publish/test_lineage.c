/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever is changed behind a published number breaks its chain at that step, and at no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/manifest.h"
#include "support/published.h"
#include "warehouse/answer.h"
#include "warehouse/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AUDIT "ledger/audit.log"
#define COMMANDS "ledger/commands.log"

static void expect(struct pb_room *room, const char *id, enum tc_step step, const char *words)
{
    struct tc_chain chain;
    enum tc_step broken = pb_broken(room, id, NULL, &chain);
    if (broken != step) {
        fail_msg("broken at %s, not at %s: %s",
                 broken == TC_STEP_COUNT ? "nothing" : tc_step_name(broken, true),
                 step == TC_STEP_COUNT ? "nothing" : tc_step_name(step, true),
                 broken == TC_STEP_COUNT ? "" : chain.steps[broken].what);
    }
    if (words != NULL && strstr(chain.steps[step].what, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", chain.steps[step].what, words);
    }
}

static void a_number_that_nobody_touched_is_safe(void **state)
{
    struct pb_room *room = *state;
    char id[TC_NUMBER_ID_BYTES];
    struct tc_chain chain;
    pb_published(room, id);
    assert_int_equal(pb_broken(room, id, NULL, &chain), TC_STEP_COUNT);
    for (enum tc_step step = TC_STEP_AUDIT; step < TC_STEP_COUNT; step++) {
        assert_int_equal(chain.steps[step].state, TC_STEP_HOLDS);
    }
    assert_non_null(strstr(chain.steps[TC_STEP_NUMBER].what, "501"));
}

/* ---- rows ---- */

static tc_status change_value(void *context, struct tc_rows *rows)
{
    tc_rows_seek(rows, 0);
    tc_rows_real(rows, *(const size_t *)context, PB_FIRST + 1e-9);
    return TC_OK;
}

static tc_status change_text(void *context, struct tc_rows *rows)
{
    tc_rows_seek(rows, 0);
    return tc_rows_text(rows, *(const size_t *)context,
                        TC_LIT("sha256:"
                               "0000000000000000000000000000000000000000000000000000000000000000"));
}

struct change {
    enum tc_table table;
    size_t key;
    size_t column;
    tc_run_edit_fn edit;
    enum tc_step step;
    const char *words;
};

/* Changes a row of r1, looks, and puts it back. */
static void try_change(struct pb_room *room, const char *id, const struct change *c)
{
    struct tc_grow sql = {0};
    struct tc_answer old;
    struct tc_error err = {0};
    struct tc_bind run = {.type = TC_COLUMN_TEXT, .as.text = TC_LIT("r1")};
    tc_table_select(&sql, c->table);
    tc_grow_lit(&sql, " WHERE run_id = ?");
    tc_grow_str(&sql, tc_slice_make("", 1));
    assert_int_equal(tc_answer_query(room->w, sql.buf.data, &run, 1, &old, &err), TC_OK);
    size_t column = c->column;
    pb_edit(room, c->table, c->key, "r1", c->edit, &column);
    expect(room, id, c->step, c->words);
    const struct tc_slice key = TC_LIT("r1");
    const struct tc_forget all = {.table = c->table,
                                  .key_column = c->key,
                                  .keys = &key,
                                  .key_count = 1,
                                  .before_us = INT64_MIN};
    uint64_t gone = 0;
    assert_int_equal(tc_warehouse_begin(room->w, &err), TC_OK);
    assert_int_equal(tc_warehouse_forget(room->w, &all, &gone, &err), TC_OK);
    assert_int_equal(tc_warehouse_append(room->w, c->table, old.rows, &err), TC_OK);
    assert_int_equal(tc_warehouse_commit(room->w, &err), TC_OK);
    tc_answer_fini(&old);
    tc_grow_fini(&sql);
}

static void a_row_that_was_changed_is_the_broken_step(void **state)
{
    struct pb_room *room = *state;
    char id[TC_NUMBER_ID_BYTES];
    static const struct change changes[] = {
        {TC_TABLE_SERVING, TC_SERVING_RUN_ID, TC_SERVING_TTFT_P99, change_value, TC_STEP_TABLES,
         "run r1 has 500.00000000"},
        {TC_TABLE_PUBLISHED, TC_PUBLISHED_RUN_ID, TC_PUBLISHED_VALUE, change_value, TC_STEP_ROW,
         "value of published_number"},
        {TC_TABLE_PUBLISHED, TC_PUBLISHED_RUN_ID, TC_PUBLISHED_STATEMENT, change_text, TC_STEP_ROW,
         "statement of published_number"},
        {TC_TABLE_PUBLISHED, TC_PUBLISHED_RUN_ID, TC_PUBLISHED_QUERY, change_text, TC_STEP_QUERY,
         "query_text of published_number"},
        {TC_TABLE_PUBLISHED, TC_PUBLISHED_RUN_ID, TC_PUBLISHED_QUERY_DIGEST, change_text,
         TC_STEP_QUERY, "query_spec_digest"},
        {TC_TABLE_PUBLISHED, TC_PUBLISHED_RUN_ID, TC_PUBLISHED_ENTRY, change_text, TC_STEP_AUDIT,
         "audit_entry_digest"},
        {TC_TABLE_RUN, TC_RUN_RUN_ID, TC_RUN_SPEC_DIGEST, change_text, TC_STEP_RUNS,
         "run r1 has another workload"},
        {TC_TABLE_RUN, TC_RUN_RUN_ID, TC_RUN_MANIFEST_DIGEST, change_text, TC_STEP_RUNS,
         "run r1 has another manifest"},
        {TC_TABLE_LINEAGE, TC_LINEAGE_RUN_ID, TC_LINEAGE_MANIFEST_DIGEST, change_text, TC_STEP_RUNS,
         "run r1 has another lineage"},
    };
    pb_published(room, id);
    for (size_t i = 0; i < TC_COUNT(changes); i++) {
        try_change(room, id, &changes[i]);
    }
    expect(room, id, TC_STEP_COUNT, NULL);
}

static void a_row_that_is_gone_is_the_broken_step_and_comes_back(void **state)
{
    struct pb_room *room = *state;
    char id[TC_NUMBER_ID_BYTES];
    struct tc_error err = {0};
    struct tc_publish_outcome out;
    uint64_t gone = 0;
    pb_published(room, id);
    const struct tc_slice run = TC_LIT("r2");
    const struct tc_slice number = tc_slice_cstr(id);
    struct tc_forget what = {.table = TC_TABLE_PUBLISHED,
                             .key_column = TC_PUBLISHED_RUN_ID,
                             .keys = &run,
                             .key_count = 1,
                             .before_us = INT64_MIN};
    assert_int_equal(tc_warehouse_begin(room->w, &err), TC_OK);
    assert_int_equal(tc_warehouse_forget(room->w, &what, &gone, &err), TC_OK);
    assert_int_equal(tc_warehouse_commit(room->w, &err), TC_OK);
    expect(room, id, TC_STEP_ROW, "run_id of published_number");
    what.key_column = TC_PUBLISHED_ID;
    what.keys = &number;
    assert_int_equal(tc_warehouse_begin(room->w, &err), TC_OK);
    assert_int_equal(tc_warehouse_forget(room->w, &what, &gone, &err), TC_OK);
    assert_int_equal(tc_warehouse_commit(room->w, &err), TC_OK);
    expect(room, id, TC_STEP_ROW, "has 0 rows of it, not 3");
    /* As after a crash between the audit log and the tables: it is not claimed twice. */
    assert_int_equal(pb_publish(room, NULL, "a test", &out, &err), TC_OK);
    assert_true(out.is_published && out.was_there);
    tc_publish_fini(&out);
    expect(room, id, TC_STEP_COUNT, NULL);
}

/* ---- bytes ---- */

static struct tc_slice text_of(struct pb_room *room, const char *sql, char out[TC_DIGEST_TEXT])
{
    struct tc_answer set;
    struct tc_error err = {0};
    assert_int_equal(tc_answer_query(room->w, sql, NULL, 0, &set, &err), TC_OK);
    assert_int_equal(set.row_count, 1);
    (void)snprintf(out, TC_DIGEST_TEXT, "%.*s", TC_FMT(tc_answer_text(&set, 0, 0)));
    tc_answer_fini(&set);
    return tc_slice_cstr(out);
}

static void a_byte_of_a_raw_file_or_manifest_is_the_broken_step(void **state)
{
    struct pb_room *room = *state;
    char id[TC_NUMBER_ID_BYTES];
    char text[TC_DIGEST_TEXT];
    pb_published(room, id);
    struct tc_slice raw =
        text_of(room, "SELECT source_digest FROM serving_outcome_fact WHERE run_id = 'r2'", text);
    pb_flip(room, raw);
    expect(room, id, TC_STEP_FILES, "run r2: result r2.json");
    pb_flip(room, raw);
    struct tc_slice manifest = text_of(
        room, "SELECT artifact_manifest_digest FROM benchmark_run_fact WHERE run_id = 'r3'", text);
    pb_flip(room, manifest);
    expect(room, id, TC_STEP_MANIFESTS, "run r3");
    pb_flip(room, manifest);
    expect(room, id, TC_STEP_COUNT, NULL);
}

/* ---- the ledger ---- */

/* Another word of the same length in a file of the ledger, with sums that are right. */
static char *change_ledger(struct pb_room *room, const char *name, const char *from, const char *to,
                           size_t *out_len)
{
    char *old = pb_slurp(room, name, out_len);
    char *text = malloc(*out_len);
    assert_non_null(text);
    memcpy(text, old, *out_len);
    char *at = memmem(text, *out_len, from, strlen(from));
    assert_non_null(at);
    memcpy(at, to, strlen(to));
    pb_mend_sums(text, *out_len);
    pb_write(room, name, text, *out_len);
    free(text);
    return old;
}

static void what_the_ledger_says_of_a_run_is_part_of_the_chain(void **state)
{
    struct pb_room *room = *state;
    char id[TC_NUMBER_ID_BYTES];
    size_t len = 0;
    pb_published(room, id);
    char *old = change_ledger(room, COMMANDS, "night", "light", &len);
    expect(room, id, TC_STEP_RUNS, "the ledger says something else");
    pb_write(room, COMMANDS, old, 0);
    expect(room, id, TC_STEP_RUNS, "has no record");
    pb_write(room, COMMANDS, old, len);
    free(old);
    expect(room, id, TC_STEP_COUNT, NULL);
}

static void an_entry_of_the_audit_log_that_was_changed_is_the_broken_step(void **state)
{
    struct pb_room *room = *state;
    char id[TC_NUMBER_ID_BYTES];
    struct tc_publish_outcome other;
    struct tc_error err;
    struct tc_chain chain;
    size_t len = 0;
    pb_published(room, id);
    /* Of the claim itself, and of what is around it: it is the last line. */
    char *old = change_ledger(room, AUDIT, "a row", "a bow", &len);
    expect(room, id, TC_STEP_AUDIT, "the claim in its entry is not that of");
    assert_int_equal(pb_broken(room, id, NULL, &chain), TC_STEP_AUDIT);
    assert_int_equal(chain.steps[TC_STEP_NUMBER].state, TC_STEP_UNCHECKED);
    pb_write(room, AUDIT, old, len);
    free(old);
    old = change_ledger(room, AUDIT, "tester", "toaster" + 1, &len);
    expect(room, id, TC_STEP_AUDIT, "audit_entry_digest");
    pb_write(room, AUDIT, old, len);
    free(old);
    /* A line before it. */
    assert_int_equal(pb_publish(room, PB_QUERY " ", "another", &other, &err), TC_OK);
    assert_true(other.is_published);
    old = change_ledger(room, AUDIT, "tester", "toaster" + 1, &len);
    expect(room, other.number_id, TC_STEP_AUDIT, "line 2 does not follow");
    assert_int_equal(pb_broken(room, other.number_id, NULL, &chain), TC_STEP_AUDIT);
    assert_int_equal(chain.steps[TC_STEP_NUMBER].state, TC_STEP_HOLDS);
    pb_write(room, AUDIT, old, len);
    free(old);
    expect(room, other.number_id, TC_STEP_COUNT, NULL);
    tc_publish_fini(&other);
}

/* ---- signatures ---- */

static tc_status put_signature(void *context, struct tc_rows *rows)
{
    for (size_t row = 0; row < rows->count; row++) {
        tc_rows_seek(rows, row);
        if (context == NULL) {
            tc_rows_null(rows, TC_LINEAGE_SIGNATURE_DIGEST);
        } else {
            TC_TRY(tc_rows_text(rows, TC_LINEAGE_SIGNATURE_DIGEST, tc_slice_cstr(context)));
        }
    }
    return TC_OK;
}

/* Signs the manifest of a run; `of` is the run whose manifest is signed. */
static void sign(struct pb_room *room, const char *run, const char *of,
                 const struct tc_sign_key *key)
{
    char sql[160];
    char text[TC_DIGEST_TEXT];
    struct tc_digest digest;
    struct tc_error err = {0};
    struct tc_manifest manifest;
    void *memory = NULL;
    char *bytes = NULL;
    char *envelope = NULL;
    size_t len = 0;
    size_t count = 0;
    struct tc_files_batch *batch = NULL;
    (void)snprintf(sql, sizeof sql,
                   "SELECT artifact_manifest_digest FROM benchmark_run_fact WHERE run_id = '%s'",
                   of);
    assert_true(tc_digest_parse(text_of(room, sql, text), &digest));
    assert_int_equal(tc_files_read(room->files, &digest, 1 << 20, &bytes, &len, &err), TC_OK);
    assert_int_equal(tc_manifest_read(tc_slice_make(bytes, len), &manifest, &memory, &err), TC_OK);
    struct tc_subject *subjects = tc_manifest_subjects(&manifest, &digest, &count);
    assert_int_equal(tc_sign_statement(key, subjects, count, TC_LIT("test"), TC_LIT("{}"),
                                       &envelope, &len, &err),
                     TC_OK);
    assert_int_equal(tc_files_begin(room->files, &batch, &err), TC_OK);
    assert_int_equal(tc_files_add_bytes(batch, tc_slice_make(envelope, len), &digest, &err), TC_OK);
    assert_int_equal(tc_files_keep(batch, &err), TC_OK);
    tc_files_end(batch);
    tc_digest_text(&digest, text);
    pb_edit(room, TC_TABLE_LINEAGE, TC_LINEAGE_RUN_ID, run, put_signature, text);
    free(envelope);
    free(subjects);
    free(memory);
    free(bytes);
}

static void a_signature_by_another_key_or_of_other_files_is_the_broken_step(void **state)
{
    struct pb_room *room = *state;
    char id[TC_NUMBER_ID_BYTES];
    struct tc_sign_key *key = NULL;
    struct tc_sign_key *other = NULL;
    struct tc_error err = {0};
    struct tc_chain chain;
    assert_int_equal(tc_sign_key_make(&key, &err), TC_OK);
    assert_int_equal(tc_sign_key_make(&other, &err), TC_OK);
    sign(room, "r1", "r1", key);
    sign(room, "r2", "r2", key);
    pb_published(room, id);
    assert_int_equal(pb_broken(room, id, NULL, NULL), TC_STEP_COUNT);
    assert_int_equal(pb_broken(room, id, key, &chain), TC_STEP_SIGNATURES);
    assert_string_equal(chain.steps[TC_STEP_SIGNATURES].what, "run r3 is not signed");
    sign(room, "r3", "r3", key);
    assert_int_equal(pb_broken(room, id, key, NULL), TC_STEP_COUNT);
    assert_int_equal(pb_broken(room, id, other, &chain), TC_STEP_SIGNATURES);
    assert_non_null(
        strstr(chain.steps[TC_STEP_SIGNATURES].what, "run r1: no signature in it is by"));
    sign(room, "r2", "r1", key); /* a good signature, but of other files */
    assert_int_equal(pb_broken(room, id, NULL, &chain), TC_STEP_SIGNATURES);
    assert_non_null(
        strstr(chain.steps[TC_STEP_SIGNATURES].what, "run r2: what is signed does not"));
    pb_edit(room, TC_TABLE_LINEAGE, TC_LINEAGE_RUN_ID, "r2", put_signature, NULL);
    assert_int_equal(pb_broken(room, id, NULL, &chain), TC_STEP_SIGNATURES);
    assert_string_equal(chain.steps[TC_STEP_SIGNATURES].what, "run r2 is no longer signed");
    tc_sign_key_destroy(key);
    tc_sign_key_destroy(other);
}

/* ---- the number ---- */

static tc_status set_value(void *context, struct tc_rows *rows)
{
    tc_rows_seek(rows, 0);
    tc_rows_real(rows, TC_SERVING_TTFT_P99, *(const double *)context);
    return TC_OK;
}

/* The query gives what the tables say; only the bytes tell that they lie. */
static void tables_that_lie_are_found_before_anything_is_published(void **state)
{
    struct pb_room *room = *state;
    struct tc_publish_outcome out;
    struct tc_error err;
    double value = 2 * PB_FIRST;
    pb_edit(room, TC_TABLE_SERVING, TC_SERVING_RUN_ID, "r1", set_value, &value);
    assert_int_equal(pb_publish(room, NULL, "never mind", &out, &err), TC_OK);
    assert_false(out.is_published);
    assert_true(out.is_damaged);
    assert_int_equal(out.chain.steps[TC_STEP_TABLES].state, TC_STEP_HOLDS);
    assert_int_equal(out.chain.steps[TC_STEP_NUMBER].state, TC_STEP_BROKEN);
    assert_non_null(strstr(out.chain.steps[TC_STEP_NUMBER].what,
                           "from the raw files: run r1 has 500 (1 rows), the claim says 1000"));
    tc_publish_fini(&out);
    value = PB_FIRST;
    pb_edit(room, TC_TABLE_SERVING, TC_SERVING_RUN_ID, "r1", set_value, &value);
}

/* They share one data_dir, and leave it as it was but for signatures. */
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_that_nobody_touched_is_safe),
        cmocka_unit_test(a_row_that_was_changed_is_the_broken_step),
        cmocka_unit_test(a_row_that_is_gone_is_the_broken_step_and_comes_back),
        cmocka_unit_test(a_byte_of_a_raw_file_or_manifest_is_the_broken_step),
        cmocka_unit_test(what_the_ledger_says_of_a_run_is_part_of_the_chain),
        cmocka_unit_test(an_entry_of_the_audit_log_that_was_changed_is_the_broken_step),
        cmocka_unit_test(tables_that_lie_are_found_before_anything_is_published),
        cmocka_unit_test(a_signature_by_another_key_or_of_other_files_is_the_broken_step),
    };
    return cmocka_run_group_tests(tests, pb_setup, pb_teardown);
}
