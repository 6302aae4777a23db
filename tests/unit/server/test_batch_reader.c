/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that reads stored batches, and the file that says how far detection is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "server/follow/batch_reader.h"
#include "support/temp_folder.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    char dir[96];
    char evidence[128];
    struct tc_store *store;
    struct tc_batch_reader *reader;
    atomic_uint woken;
} t;

#define T(seconds) ((seconds)*TC_SECOND)

static struct tc_error err;

static void must(tc_status status)
{
    if (status != TC_OK) {
        fail_msg("%s: %s", tc_status_text(status), err.message);
    }
}

static void wake(void *context)
{
    (void)context;
    atomic_fetch_add(&t.woken, 1);
}

static int setup(void **state)
{
    (void)state;
    if (!tc_temp_folder(t.dir, sizeof t.dir, "tc_reader")) {
        return 1;
    }
    (void)snprintf(t.evidence, sizeof t.evidence, "%s/evidence", t.dir);
    struct tc_store_config config = {.segment_bytes = (size_t)1 << 20,
                                     .segment_ns = TC_SECOND * 3600,
                                     .compression = TC_STORE_COMPRESSION_DEFAULT};
    (void)mkdir(t.evidence, 0700);
    must(tc_store_open(t.evidence, &config, NULL, NULL, &t.store, &err));
    struct tc_batch_reader_config reader = {.data_dir = t.dir,
                                            .evidence_dir = t.evidence,
                                            .otlp = TC_OTLP_LIMITS_DEFAULT,
                                            .body_max = (size_t)1 << 20,
                                            .wake = wake};
    must(tc_batch_reader_create(&reader, &t.reader, &err));
    return 0;
}

static int teardown(void **state)
{
    char command[128];
    (void)state;
    tc_batch_reader_destroy(t.reader);
    tc_store_close(t.store);
    t.reader = NULL;
    (void)snprintf(command, sizeof command, "rm -r '%s'", t.dir);
    return system(command); /* NOLINT(cert-env33-c): a directory of our own */
}

/* A file of so many events, on a node for each. */
static void store(uint64_t number, size_t events)
{
    size_t cap = events * 160 + 1;
    char *text = malloc(cap);
    size_t len = 0;
    assert_non_null(text);
    for (size_t i = 0; i < events; i++) {
        len += (size_t)snprintf(text + len, cap - len,
                                "{\"kind\":\"xid\",\"time\":\"2026-03-02T00:%02zu:%02zu.%03zuZ\","
                                "\"k8s.node.name\":\"node-%zu\",\"xid\":48}\n",
                                i / 60000 % 60, i / 1000 % 60, i % 1000, i);
    }
    struct tc_batch batch = {.number = number,
                             .arrival_ns = (int64_t)number * TC_SECOND,
                             .kind = TC_BATCH_FILE,
                             .name = TC_LIT("events.ndjson"),
                             .body = tc_slice_make(text, len)};
    must(tc_store_append(t.store, &batch, &err));
    must(tc_store_commit(t.store, &err));
    free(text);
}

static struct tc_chunk *next_chunk(void)
{
    for (int i = 0; i < 20000; i++) {
        struct tc_chunk *c = tc_batch_reader_take(t.reader);
        if (c != NULL) {
            return c;
        }
        (void)poll(NULL, 0, 1);
    }
    fail_msg("nothing was read");
    return NULL;
}

/* The next batch is that one, whole and in order. */
static void assert_batch(uint64_t number, size_t events)
{
    size_t seen = 0;
    for (bool is_first = true, is_last = false; !is_last; is_first = false) {
        struct tc_chunk *c = next_chunk();
        size_t at = 0;
        assert_false(c->is_end);
        assert_int_equal(c->number, number);
        assert_int_equal(c->arrival_ns, (int64_t)number * TC_SECOND);
        assert_int_equal(c->is_first, is_first);
        assert_true(c->is_file);
        assert_int_equal(c->has_digest, c->body_bytes >= (128 << 10));
        for (const struct tc_event *ev; (ev = tc_chunk_event(c, &at)) != NULL; seen++) {
            char name[32];
            (void)snprintf(name, sizeof name, "node-%zu", seen);
            assert_true(tc_slice_eq(ev->scope.node, tc_slice_cstr(name)));
            assert_int_equal(ev->raw.source, (uint32_t)number);
        }
        is_last = c->is_last;
        tc_batch_reader_give(t.reader, c);
    }
    assert_int_equal(seen, events);
}

static void assert_end(uint64_t next)
{
    struct tc_chunk *c = next_chunk();
    assert_true(c->is_end);
    assert_int_equal(c->number, next);
    tc_batch_reader_give(t.reader, c);
}

static void batches_come_in_order_and_no_further_than_asked(void **state)
{
    (void)state;
    store(1, 3);
    store(2, 0);
    store(3, 20000); /* many chunks: more than may wait */
    store(5, 1);
    store(6, 1);
    tc_batch_reader_begin(t.reader, 1, 5);
    assert_batch(1, 3);
    assert_batch(2, 0);
    assert_batch(3, 20000);
    assert_batch(5, 1);
    assert_end(6);
    assert_null(tc_batch_reader_take(t.reader));
    assert_true(atomic_load(&t.woken) > 0);
}

static void what_others_read_is_passed_over(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 6; i++) {
        store(i, i);
    }
    tc_batch_reader_want(t.reader, 2, NULL, TC_EMPTY); /* 1 was read by the loop */
    assert_batch(2, 2);
    assert_end(3);
    tc_batch_reader_want(t.reader, 5, NULL, TC_EMPTY); /* 3 and 4 too */
    assert_batch(5, 5);
    assert_end(6);
    tc_batch_reader_want(t.reader, 6, NULL, TC_EMPTY);
    assert_batch(6, 6);
    assert_end(7);
}

static void it_can_end_while_it_waits_for_room(void **state)
{
    (void)state;
    store(1, 60000);
    tc_batch_reader_begin(t.reader, 1, 1);
    tc_batch_reader_give(t.reader, next_chunk());
}

/* ---- the mark ---- */

static void write_file(const char *text, size_t len)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/judged", t.dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    (void)fclose(f);
}

static void the_mark_is_what_was_written(void **state)
{
    (void)state;
    struct tc_judged judged = {1, 1};
    must(tc_judged_read(t.dir, &judged, &err));
    assert_int_equal(judged.number, 0);
    assert_int_equal(judged.arrival_ns, 0);
    must(tc_judged_write(t.dir, &(struct tc_judged){42, T(7)}, &err));
    must(tc_judged_write(t.dir, &(struct tc_judged){43, T(8)}, &err));
    must(tc_judged_read(t.dir, &judged, &err));
    assert_int_equal(judged.number, 43);
    assert_int_equal(judged.arrival_ns, T(8));
}

static void a_damaged_mark_is_none_and_a_newer_one_is_refused(void **state)
{
    (void)state;
    char line[256];
    char path[128];
    struct tc_judged judged;
    must(tc_judged_write(t.dir, &(struct tc_judged){42, T(7)}, &err));
    (void)snprintf(path, sizeof path, "%s/judged", t.dir);
    int fd = open(path, O_RDONLY);
    ssize_t len = read(fd, line, sizeof line);
    (void)close(fd);
    assert_true(len > 30);
    for (ssize_t cut = 0; cut < len; cut++) { /* torn anywhere; zeros behind it */
        char torn[256] = {0};
        memcpy(torn, line, (size_t)cut);
        write_file(torn, (size_t)cut);
        assert_int_equal(tc_judged_read(t.dir, &judged, &err), TC_E_MALFORMED);
        write_file(torn, (size_t)len);
        assert_int_equal(tc_judged_read(t.dir, &judged, &err), TC_E_MALFORMED);
        assert_int_equal(judged.number, 0);
    }
    line[20] = (char)(line[20] ^ 1); /* another number, the same hash */
    write_file(line, (size_t)len);
    assert_int_equal(tc_judged_read(t.dir, &judged, &err), TC_E_MALFORMED);
    const char newer[] = "tracecore-judged 2 something else\n";
    write_file(newer, sizeof newer - 1);
    assert_int_equal(tc_judged_read(t.dir, &judged, &err), TC_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "format version 2, this program knows up to 1"));
}

static void what_was_judged_is_written_at_the_end(void **state)
{
    (void)state;
    struct tc_judged judged;
    tc_batch_reader_judged(t.reader, &(struct tc_judged){9, T(9)});
    tc_batch_reader_destroy(t.reader);
    t.reader = NULL;
    must(tc_judged_read(t.dir, &judged, &err));
    assert_int_equal(judged.number, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(batches_come_in_order_and_no_further_than_asked, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_others_read_is_passed_over, setup, teardown),
        cmocka_unit_test_setup_teardown(it_can_end_while_it_waits_for_room, setup, teardown),
        cmocka_unit_test_setup_teardown(the_mark_is_what_was_written, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_mark_is_none_and_a_newer_one_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_was_judged_is_written_at_the_end, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
