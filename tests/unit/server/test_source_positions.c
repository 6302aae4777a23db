/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/format.h"
#include "base/time.h"
#include "evidence/store.h"
#include "server/sources/positions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static char evidence[80];
static struct tc_store *store;
static struct tc_positions *p;
static struct tc_error err;
static unsigned said;

static void say(void *context, const char *line)
{
    (void)context;
    assert_non_null(strstr(line, "damaged"));
    said++;
}

static int setup(void **state)
{
    (void)state;
    struct tc_store_config config = {.segment_bytes = 1 << 20, .segment_ns = TC_SECOND * 3600};
    (void)snprintf(dir, sizeof dir, "/tmp/tc_positions_XXXXXX");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(evidence, sizeof evidence, "%s/evidence", dir);
    assert_int_equal(mkdir(evidence, 0700), 0);
    assert_int_equal(tc_store_open(evidence, &config, NULL, NULL, &store, &err), TC_OK);
    p = tc_positions_create(dir);
    assert_non_null(p);
    said = 0;
    return 0;
}

static int teardown(void **state)
{
    char command[128];
    (void)state;
    tc_positions_destroy(p);
    tc_store_close(store);
    (void)snprintf(command, sizeof command, "rm -r '%s'", dir);
    return system(command); /* NOLINT(cert-env33-c): a directory of our own */
}

/* A batch as a source leaves it. */
static void put(uint64_t number, enum tc_batch_kind kind, const char *name)
{
    struct tc_batch batch = {.number = number,
                             .arrival_ns = (int64_t)number * TC_SECOND,
                             .kind = kind,
                             .name = tc_slice_cstr(name),
                             .body = TC_LIT("line\n")};
    assert_int_equal(tc_store_append(store, &batch, &err), TC_OK);
    assert_int_equal(tc_store_commit(store, &err), TC_OK);
}

static tc_status load(uint64_t last)
{
    tc_positions_destroy(p);
    p = tc_positions_create(dir);
    return tc_positions_load(p, evidence, last, say, NULL, &err);
}

static void collect(void *of, struct tc_slice stream, struct tc_slice position)
{
    struct tc_buf *b = of;
    (void)tc_format(b, "{}={};", stream, position);
}

/* All streams of a source: there is at most one of each in these tests. */
static void assert_positions(const char *source, const char *expected)
{
    char text[512];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_positions_each(p, tc_slice_cstr(source), collect, &b);
    if (!tc_slice_eq(tc_buf_slice(&b), tc_slice_cstr(expected))) {
        fail_msg("\"%.*s\" instead of \"%s\"", TC_FMT(tc_buf_slice(&b)), expected);
    }
}

static void set(const char *source, const char *stream, const char *position)
{
    assert_true(
        tc_positions_set(p, tc_slice_cstr(source), tc_slice_cstr(stream), tc_slice_cstr(position)));
}

static void batches_say_where_sources_go_on(void **state)
{
    (void)state;
    put(1, TC_BATCH_SOURCE, "/a\nsource=files\nstream=s1\nposition=10 /a\nsender=source:files");
    put(2, TC_BATCH_LOGS_JSON, "\nsender=10.0.0.1");
    put(3, TC_BATCH_SOURCE, "/a\nsource=files\nstream=s1\nposition=20 /a\nsender=source:files");
    put(4, TC_BATCH_FILE, "/d/x\nsource=dumps\nstream=d1\nposition=7\nsender=source:dumps");
    put(5, TC_BATCH_FILE, "uploaded\nsender=10.0.0.1");
    put(6, TC_BATCH_SOURCE, "http://x/metrics\nsource=scrape\nsender=source:scrape");
    assert_int_equal(load(6), TC_OK);
    assert_positions("files", "s1=20 /a;");
    assert_positions("dumps", "d1=7;");
    assert_positions("scrape", "");
    assert_positions("file", "");
    assert_int_equal(said, 0);
}

static void the_summary_spares_the_batches_before_it(void **state)
{
    (void)state;
    put(1, TC_BATCH_SOURCE, "/a\nsource=files\nstream=s1\nposition=10\nsender=s");
    assert_int_equal(load(1), TC_OK);
    set("files", "s1", ""); /* forgotten */
    set("files", "s2", "30");
    tc_positions_note(p, 1);
    assert_int_equal(tc_positions_save(p, &err), TC_OK);
    assert_int_equal(load(1), TC_OK);
    assert_positions("files", "s2=30;");
    put(2, TC_BATCH_SOURCE, "/a\nsource=files\nstream=s2\nposition=40\nsender=s");
    assert_int_equal(load(2), TC_OK);
    assert_positions("files", "s2=40;");
}

static char *summary(void)
{
    static char path[96];
    (void)snprintf(path, sizeof path, "%s/source_positions", dir);
    return path;
}

static void a_damaged_summary_counts_as_none(void **state)
{
    (void)state;
    put(1, TC_BATCH_SOURCE, "/a\nsource=files\nstream=s1\nposition=10\nsender=s");
    set("files", "s1", "99");
    tc_positions_note(p, 1);
    assert_int_equal(tc_positions_save(p, &err), TC_OK);
    FILE *f = fopen(summary(), "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, 30, SEEK_SET), 0);
    assert_int_equal(fputc('x', f), 'x');
    (void)fclose(f);
    assert_int_equal(load(1), TC_OK);
    assert_int_equal(said, 1);
    assert_positions("files", "s1=10;");
    assert_int_equal(truncate(summary(), 5), 0);
    assert_int_equal(load(1), TC_OK);
    assert_int_equal(said, 2);
}

static void a_newer_summary_refuses_the_start(void **state)
{
    (void)state;
    FILE *f = fopen(summary(), "w");
    assert_non_null(f);
    (void)fputs("tracecore-sources 2 1\nend 0\n", f);
    (void)fclose(f);
    assert_int_equal(load(0), TC_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "version 2"));
}

/* The last batches before a crash were never stored: others have their numbers now. */
static void a_summary_ahead_of_the_store_is_cut_back(void **state)
{
    (void)state;
    set("files", "s1", "10");
    tc_positions_note(p, 50);
    assert_int_equal(tc_positions_save(p, &err), TC_OK);
    assert_int_equal(load(0), TC_OK);
    put(1, TC_BATCH_SOURCE, "/a\nsource=files\nstream=s1\nposition=20\nsender=s");
    assert_int_equal(load(1), TC_OK); /* without a save in between */
    assert_positions("files", "s1=20;");
}

static void many_streams_are_found_and_forgotten(void **state)
{
    (void)state;
    char stream[32];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 5000; i++) {
            (void)snprintf(stream, sizeof stream, "s%d", i);
            set("files", stream, round == 0 ? "1" : i == 4321 ? "2" : "");
        }
    }
    assert_positions("files", "s4321=2;");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(batches_say_where_sources_go_on),
        TEST(the_summary_spares_the_batches_before_it),
        TEST(a_damaged_summary_counts_as_none),
        TEST(a_newer_summary_refuses_the_start),
        TEST(a_summary_ahead_of_the_store_is_cut_back),
        TEST(many_streams_are_found_and_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
