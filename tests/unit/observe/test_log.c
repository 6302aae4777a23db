/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json/json.h"
#include "base/time.h"
#include "observe/log.h"
#include "observe/metrics.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define START (INT64_C(1794805200) * TC_SECOND) /* 2026-11-16T05:00:00Z */

static int pipe_fds[2];
static char got[1 << 18];
static int64_t now_ns;

static int64_t clock_ns(void)
{
    return now_ns;
}

static int set_up(void **state)
{
    (void)state;
    if (pipe(pipe_fds) != 0 || fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK) != 0) {
        return -1;
    }
    now_ns = START;
    tc_log_configure(TC_LOG_INFO, false);
    tc_log_redirect(pipe_fds[1], clock_ns);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tc_log_redirect(STDERR_FILENO, NULL);
    return close(pipe_fds[0]) | close(pipe_fds[1]);
}

/* What was written since the last call. */
static const char *written(void)
{
    size_t len = 0;
    memset(got, 0, sizeof got);
    for (;;) {
        ssize_t n = read(pipe_fds[0], got + len, sizeof got - 1 - len);
        if (n <= 0) {
            return got;
        }
        len += (size_t)n;
    }
}

static struct tc_json parse(struct tc_json_parser *parser, const char *line)
{
    struct tc_json root = {0};
    struct tc_error err;
    assert_int_equal(tc_json_parse(parser, tc_slice_cstr(line), &root, &err), TC_OK);
    return root;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++) {
        count += *text == '\n';
    }
    return count;
}

static void a_line_has_time_level_message_and_fields(void **state)
{
    (void)state;
    tc_log_fields(TC_LOG_WARN, "the disk is full", TC_LOG_CSTR("path", "/var/lib"),
                  TC_LOG_NUMBER("free_bytes", -12), TC_LOG_CSTR("why", "no \"room\" left"),
                  TC_LOG_CSTR("empty", ""));
    assert_string_equal(written(), "time=2026-11-16T05:00:00Z level=warn msg=\"the disk is full\" "
                                   "path=/var/lib free_bytes=-12 why=\"no \\\"room\\\" left\" "
                                   "empty=\"\"\n");
    tc_log(TC_LOG_INFO, "ready", NULL, 0);
    assert_string_equal(written(), "time=2026-11-16T05:00:00Z level=info msg=\"ready\"\n");
}

static void the_same_as_json(void **state)
{
    (void)state;
    tc_log_configure(TC_LOG_INFO, true);
    now_ns += 5000000;
    tc_log_fields(TC_LOG_ERROR, "the disk is full", TC_LOG_CSTR("path", "/var/lib"),
                  TC_LOG_NUMBER("free_bytes", -12));
    assert_string_equal(written(), "{\"time\":\"2026-11-16T05:00:00.005Z\",\"level\":\"error\","
                                   "\"msg\":\"the disk is full\",\"path\":\"/var/lib\","
                                   "\"free_bytes\":-12}\n");
}

static void less_than_the_level_is_not_written(void **state)
{
    (void)state;
    tc_log(TC_LOG_DEBUG, "detail", NULL, 0);
    assert_string_equal(written(), "");
    assert_false(tc_log_wants(TC_LOG_DEBUG));
    tc_log_configure(TC_LOG_DEBUG, false);
    assert_true(tc_log_wants(TC_LOG_DEBUG));
    tc_log(TC_LOG_DEBUG, "detail", NULL, 0);
    assert_non_null(strstr(written(), "level=debug"));
    tc_log_configure(TC_LOG_ERROR, false);
    tc_log(TC_LOG_WARN, "less", NULL, 0);
    assert_string_equal(written(), "");
}

/* Every byte there is, in both forms: one line, valid, and no byte that a terminal would obey. */
static void any_bytes_give_one_line(void **state)
{
    (void)state;
    char bytes[256];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)i;
    }
    for (int json = 0; json < 2; json++) {
        tc_log_configure(TC_LOG_INFO, json != 0);
        tc_log_fields(TC_LOG_INFO, "odd", TC_LOG_TEXT("name", tc_slice_make(bytes, sizeof bytes)),
                      TC_LOG_CSTR("fake", "a\nlevel=error msg=\"no\""),
                      TC_LOG_CSTR("line", "\xe2\x80\xa8\xc2\x85"));
        const char *line = written();
        assert_int_equal(count_lines(line), 1);
        for (const char *c = line; *c != '\n'; c++) {
            assert_true((unsigned char)*c >= ' ' && (unsigned char)*c < 0x7f);
        }
        if (json != 0) {
            struct tc_json_parser *parser = tc_json_parser_create();
            struct tc_json root = parse(parser, line);
            struct tc_slice name = tc_json_get_string(root, TC_LIT("name"));
            assert_true(tc_slice_starts(name, TC_LIT("\\x00\\x01")));
            assert_true(tc_slice_ends(name, TC_LIT("\\xfe\\xff")));
            tc_json_parser_destroy(parser);
        }
    }
}

static void a_long_field_is_cut_and_too_many_are_left_out(void **state)
{
    (void)state;
    char bytes[TC_LOG_TEXT_MAX + 1];
    memset(bytes, 'x', sizeof bytes);
    tc_log_fields(TC_LOG_INFO, "long", TC_LOG_TEXT("a", tc_slice_make(bytes, sizeof bytes)));
    const char *line = written();
    assert_int_equal(strlen(strstr(line, "a=x")), 2 + TC_LOG_TEXT_MAX + 1);
    memset(bytes, '\1', sizeof bytes);
    for (int json = 0; json < 2; json++) {
        tc_log_configure(TC_LOG_INFO, json != 0);
        tc_log_fields(TC_LOG_INFO, "many", TC_LOG_TEXT("a", tc_slice_make(bytes, sizeof bytes)),
                      TC_LOG_TEXT("b", tc_slice_make(bytes, sizeof bytes)), TC_LOG_NUMBER("c", 1));
        line = written();
        assert_int_equal(count_lines(line), 1);
        assert_true(strlen(line) <= TC_LOG_LINE_MAX);
        assert_non_null(strstr(line, json != 0 ? ",\"cut\":true}\n" : " cut=true\n"));
        assert_null(strstr(line, json != 0 ? "\"b\":" : " b="));
        assert_null(strstr(line, "  "));
        if (json != 0) {
            struct tc_json_parser *parser = tc_json_parser_create();
            (void)parse(parser, line);
            tc_json_parser_destroy(parser);
        }
    }
}

static void too_many_of_one_kind_are_left_out_and_told(void **state)
{
    (void)state;
    uint64_t before = tc_counter_value(TC_COUNT_LOG_SUPPRESSED);
    for (int i = 0; i < TC_LOG_PER_SECOND_MAX + 5; i++) {
        tc_log(TC_LOG_INFO, "again", NULL, 0);
    }
    tc_log(TC_LOG_INFO, "another", NULL, 0);
    const char *lines = written();
    assert_int_equal(count_lines(lines), TC_LOG_PER_SECOND_MAX + 1);
    assert_non_null(strstr(lines, "another"));
    assert_null(strstr(lines, "suppressed"));
    assert_int_equal(tc_counter_value(TC_COUNT_LOG_SUPPRESSED), before + 5);
    now_ns += TC_SECOND;
    tc_log(TC_LOG_INFO, "again", NULL, 0);
    assert_string_equal(written(),
                        "time=2026-11-16T05:00:01Z level=info msg=\"again\" suppressed=5\n");
    tc_log(TC_LOG_INFO, "again", NULL, 0);
    assert_string_equal(written(), "time=2026-11-16T05:00:01Z level=info msg=\"again\"\n");
    /* A clock that was set back is another second. */
    now_ns -= 100 * TC_SECOND;
    tc_log(TC_LOG_INFO, "again", NULL, 0);
    assert_int_equal(count_lines(written()), 1);
}

/* More kinds than there are slots: still written, still limited. */
static void more_kinds_than_slots(void **state)
{
    (void)state;
    static char messages[600][16];
    for (size_t i = 0; i < 600; i++) {
        (void)snprintf(messages[i], sizeof messages[i], "kind %zu", i);
        tc_log(TC_LOG_INFO, messages[i], NULL, 0);
    }
    assert_true(count_lines(written()) > 256);
}

static void *log_many(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++) {
        tc_log_fields(TC_LOG_INFO, "from a thread", TC_LOG_NUMBER("i", i));
    }
    return NULL;
}

static void threads_write_whole_lines(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, log_many, NULL), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    const char *lines = written();
    assert_int_equal(count_lines(lines), TC_LOG_PER_SECOND_MAX);
    for (const char *at = lines; *at != '\0'; at += strcspn(at, "\n") + 1) {
        assert_int_equal(memcmp(at, "time=", 5), 0);
    }
}

static void a_log_that_cannot_be_written_is_let_be(void **state)
{
    (void)state;
    tc_log_redirect(-1, NULL);
    tc_log(TC_LOG_INFO, "to nobody", NULL, 0);
    assert_string_equal(written(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_has_time_level_message_and_fields, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_same_as_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(less_than_the_level_is_not_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_bytes_give_one_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_field_is_cut_and_too_many_are_left_out, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(too_many_of_one_kind_are_left_out_and_told, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(more_kinds_than_slots, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_write_whole_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_log_that_cannot_be_written_is_let_be, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
