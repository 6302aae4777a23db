/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of evidence: by digest, in parts, to be looked at; and what is no digest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evidence/files/files.h"
#include "support/asking.h"
#include "unit/evidence/evidence_testing.h"

#define LINE "2026-11-15T03:00:00Z n1 kernel: NVRM: Xid 79\n"
#define LINES 1000

static struct asking a;
static char text_digest[TC_DIGEST_TEXT];
static char binary_digest[TC_DIGEST_TEXT];
static char batch_digest[TC_DIGEST_TEXT];
static char cited_digest[TC_DIGEST_TEXT];
static char text[LINES * (sizeof LINE - 1) + 1];

static void keep(struct tc_files *f, struct tc_slice bytes, char out[TC_DIGEST_TEXT])
{
    struct tc_files_batch *b = NULL;
    struct tc_digest digest;
    struct tc_error err;
    assert_int_equal(tc_files_begin(f, &b, &err), TC_OK);
    assert_int_equal(tc_files_add_bytes(b, bytes, &digest, &err), TC_OK);
    assert_int_equal(tc_files_keep(b, &err), TC_OK);
    tc_files_end(b);
    tc_digest_text(&digest, out);
}

/* A batch of a daemon; a verdict may cite it. */
static void store(struct tc_store *s, uint64_t number, const char *body, bool is_cited,
                  char out[TC_DIGEST_TEXT])
{
    struct tc_batch batch = {.number = number,
                             .arrival_ns = T0,
                             .kind = TC_BATCH_LOGS_PROTOBUF,
                             .body = tc_slice_cstr(body)};
    struct tc_digest digest;
    struct tc_error err;
    assert_int_equal(tc_store_append(s, &batch, &err), TC_OK);
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
    assert_int_equal(tc_digest_sha256(batch.body, &digest), TC_OK);
    if (is_cited) {
        assert_int_equal(tc_store_cite(s, number, &digest, &err), TC_OK);
        assert_int_equal(tc_store_commit(s, &err), TC_OK);
    }
    tc_digest_text(&digest, out);
}

static int setup(void **state)
{
    static const char bytes[] = "\x80\x02\x00PK\x03\x04\xff\xfe\x00 binary \x00\x01\x02\x03 end";
    struct tc_files *f = NULL;
    struct tc_store *s = NULL;
    struct tc_error err;
    struct tc_store_config config = small_config();
    char path[128];
    if (make_dir(state) != 0) {
        return -1;
    }
    for (size_t n = 0; n < LINES; n++) {
        memcpy(text + n * (sizeof LINE - 1), LINE, sizeof LINE);
    }
    assert_int_equal(tc_files_open(test_dir, true, &f, &err), TC_OK);
    keep(f, tc_slice_cstr(text), text_digest);
    keep(f, tc_slice_make(bytes, sizeof bytes - 1), binary_digest);
    tc_files_close(f);
    (void)snprintf(path, sizeof path, "%s/evidence", test_dir);
    assert_int_equal(tc_store_open(path, &config, say, NULL, &s, &err), TC_OK);
    store(s, 1, "not cited", false, batch_digest);
    store(s, 2, "cited by a verdict", true, cited_digest);
    tc_store_close(s);
    asking_init(&a, NULL, test_dir);
    return 0;
}

static int teardown(void **state)
{
    asking_fini(&a);
    return remove_dir(state);
}

static void body_is(const char *want)
{
    struct tc_slice body = tc_grow_slice(&a.reply.body);
    if (!tc_slice_eq(body, tc_slice_cstr(want))) {
        fail_msg("\"%.*s\", not \"%s\"", TC_FMT(body), want);
    }
    assert_string_equal(a.reply.content_type, "application/octet-stream");
}

static void bytes_come_whole_and_in_parts(void **state)
{
    (void)state;
    assert_int_equal(ask(&a, "evidence", "digest", text_digest), TC_OK);
    body_is(text);
    assert_int_equal(a.reply.range_total, 0);
    assert_int_equal(ask(&a, "evidence", "digest", text_digest, "at", "24,6"), TC_OK);
    body_is("kernel");
    assert_int_equal(a.reply.range_from, 24);
    assert_int_equal(a.reply.range_total, sizeof text - 1);
    assert_int_equal(ask(&a, "evidence", "digest", text_digest + 7, "at", "0,0"), TC_OK);
    body_is("");
    ask_refused(&a, TC_E_USAGE, "is outside of the evidence, which has", "evidence", "digest",
                text_digest, "at", "46000,1");
    ask_refused(&a, TC_E_USAGE, "OFFSET,LENGTH", "evidence", "digest", text_digest, "at", "5");
    ask_refused(&a, TC_E_USAGE, "OFFSET,LENGTH", "evidence", "digest", text_digest, "at", "-1,5");
    ask_refused(&a, TC_E_USAGE, "OFFSET,LENGTH", "evidence", "digest", text_digest, "at",
                "18446744073709551615,18446744073709551615");
    ask_refused(&a, TC_E_LIMIT, "at most", "evidence", "digest", text_digest, "at", "0,16777217");
}

static void batches_are_found_by_citation_or_number(void **state)
{
    (void)state;
    assert_int_equal(ask(&a, "evidence", "digest", cited_digest), TC_OK);
    body_is("cited by a verdict");
    assert_int_equal(ask(&a, "evidence", "digest", cited_digest, "at", "6,2"), TC_OK);
    body_is("by");
    ask_refused(&a, TC_E_NOTFOUND, "there is no evidence", "evidence", "digest", batch_digest);
    assert_int_equal(ask(&a, "evidence", "digest", batch_digest, "batch", "1"), TC_OK);
    body_is("not cited");
    ask_refused(&a, TC_E_NOTFOUND, "there is no evidence", "evidence", "digest", batch_digest,
                "batch", "2");
    ask_refused(&a, TC_E_NOTFOUND, "there is no evidence", "evidence", "digest", batch_digest,
                "batch", "99");
}

static void what_is_no_digest_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "../../../etc/passwd",       "sha256:../../../../etc/passwd", "sha256:",
        "md5:0123456789abcdef",      "sha256:0123456789abcdef",       "%2e%2e%2f",
        "<script>alert(1)</script>",
    };
    for (size_t n = 0; n < TC_COUNT(wrong); n++) {
        ask_refused(&a, TC_E_USAGE, "64 hex digits", "evidence", "digest", wrong[n]);
        ask_refused(&a, TC_E_USAGE, "64 hex digits", "evidence_view", "digest", wrong[n]);
    }
    char other[TC_DIGEST_TEXT];
    memcpy(other, text_digest, sizeof other);
    other[20] = other[20] == '0' ? '1' : '0';
    ask_refused(&a, TC_E_NOTFOUND, "there is no evidence", "evidence", "digest", other);
    assert_null(strstr(a.err.message, test_dir));
}

static void damage_is_told_without_a_path(void **state)
{
    (void)state;
    char path[256];
    (void)snprintf(path, sizeof path, "%s/files/%.2s/%s", test_dir, binary_digest + 7,
                   binary_digest + 7);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char byte = 0;
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, 20), 1);
    byte = (char)(byte ^ 1);
    assert_int_equal(pwrite(fd, &byte, 1, 20), 1);
    ask_refused(&a, TC_E_MALFORMED, "damaged", "evidence", "digest", binary_digest);
    assert_null(strstr(a.err.message, test_dir));
    byte = (char)(byte ^ 1);
    assert_int_equal(pwrite(fd, &byte, 1, 20), 1);
    (void)close(fd);
    assert_int_equal(ask(&a, "evidence", "digest", binary_digest), TC_OK);
}

static void lines_are_quoted_with_what_is_around(void **state)
{
    (void)state;
    char at[64];
    size_t line = sizeof LINE - 1;
    (void)snprintf(at, sizeof at, "%zu,4", 500 * line + 41);
    struct tc_json v = ask_object(&a, "evidence_view", "digest", text_digest, "at", at);
    asking_is(v, "kind", "text");
    assert_int_equal(asking_count(v, "lines"), 7);
    assert_int_equal(asking_count(v, "rows"), 0);
    asking_is(v, "lines.3.before", "2026-11-15T03:00:00Z n1 kernel: NVRM: Xid");
    asking_is(v, "lines.3.cited", " 79");
    asking_is(v, "lines.3.after", "");
    asking_is(v, "lines.2.cited", "");
    asking_is(v, "lines.2.before", "2026-11-15T03:00:00Z n1 kernel: NVRM: Xid 79");
    asking_is(v, "more_before", "true");
    asking_is(v, "more_after", "true");
    v = ask_object(&a, "evidence_view", "digest", text_digest, "at", "0,10", "context", "0");
    assert_int_equal(asking_count(v, "lines"), 1);
    asking_is(v, "lines.0.cited", "2026-11-15");
    asking_is(v, "more_before", "false");
    v = ask_object(&a, "evidence_view", "digest", text_digest);
    assert_true(asking_count(v, "lines") > 50);
    asking_is(v, "length", "0");
    asking_is(v, "more_after", "true");
    /* All of it is cited: bounded all the same. */
    (void)snprintf(at, sizeof at, "0,%zu", sizeof text - 1);
    v = ask_object(&a, "evidence_view", "digest", text_digest, "at", at, "context", "50");
    assert_int_equal(asking_count(v, "lines"), 400);
    ask_refused(&a, TC_E_USAGE, "is outside", "evidence_view", "digest", text_digest, "at",
                "99999999,1");
    ask_refused(&a, TC_E_USAGE, "from 0 to 50", "evidence_view", "digest", text_digest, "context",
                "51");
}

static void binary_is_shown_in_rows(void **state)
{
    (void)state;
    struct tc_json v =
        ask_object(&a, "evidence_view", "digest", binary_digest, "at", "18,3", "context", "0");
    asking_is(v, "kind", "binary");
    assert_int_equal(asking_count(v, "rows"), 1);
    asking_is(v, "rows.0.offset", "16");
    asking_is(v, "rows.0.cited_from", "2");
    asking_is(v, "rows.0.cited_to", "5");
    v = ask_object(&a, "evidence_view", "digest", binary_digest, "at", "18,3");
    assert_int_equal(asking_count(v, "rows"), 2);
    asking_is(v, "rows.0.hex", "800200504b0304fffe002062696e6172");
    asking_is(v, "rows.0.text", "...PK..... binar");
    asking_is(v, "more_before", "false");
    asking_is(v, "more_after", "false");
}

static void a_long_line_is_shown_where_it_is_cited(void **state)
{
    (void)state;
    static char one[20001];
    char digest[TC_DIGEST_TEXT];
    struct tc_files *f = NULL;
    struct tc_error err;
    memset(one, 'x', sizeof one - 1);
    memcpy(one + 15000, "HERE", 4);
    assert_int_equal(tc_files_open(test_dir, false, &f, &err), TC_OK);
    keep(f, tc_slice_cstr(one), digest);
    tc_files_close(f);
    struct tc_json v = ask_object(&a, "evidence_view", "digest", digest, "at", "15000,4");
    asking_is(v, "lines.0.cited", "HERE");
    asking_is(v, "lines.0.cut", "true");
    asking_is(v, "lines.0.offset", "14488");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_whole_and_in_parts),
        cmocka_unit_test(batches_are_found_by_citation_or_number),
        cmocka_unit_test(what_is_no_digest_is_refused),
        cmocka_unit_test(damage_is_told_without_a_path),
        cmocka_unit_test(lines_are_quoted_with_what_is_around),
        cmocka_unit_test(binary_is_shown_in_rows),
        cmocka_unit_test(a_long_line_is_shown_where_it_is_cited),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
