/* SPDX-License-Identifier: Apache-2.0 */
/* Files here are made by the test itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/output/output.h"
#include "cli/output/say.h"
#include "intake/input.h"
#include "intake/inputs.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static char folder[64];
static char path[128];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/tc_input_XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static const char *make_file(const char *content, size_t size)
{
    (void)snprintf(path, sizeof path, "%s/file", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    size_t len = content == NULL ? 0 : strlen(content);
    assert_int_equal(pwrite(fd, content == NULL ? "" : content, len, 0), (ssize_t)len);
    (void)close(fd);
    return path;
}

static void small_files_are_copied_and_large_ones_mapped(void **state)
{
    (void)state;
    struct tc_input in;
    struct tc_error err;
    size_t copied = 0;
    assert_int_equal(tc_input_open(&in, make_file("hello", 5), &copied, &err), TC_OK);
    assert_true(tc_slice_eq(in.bytes, TC_LIT("hello")));
    assert_false(in.mapped);
    assert_int_equal(copied, 5);
    assert_true(in.inode != 0 && in.mtime_ns > 0);
    tc_input_close(&in);
    assert_int_equal(tc_input_open(&in, make_file(NULL, MIB - 1), &copied, &err), TC_OK);
    assert_false(in.mapped);
    tc_input_close(&in);
    assert_int_equal(tc_input_open(&in, make_file("x", MIB), &copied, &err), TC_OK);
    assert_true(in.mapped);
    assert_int_equal(in.bytes.len, MIB);
    assert_int_equal(copied, 5 + MIB - 1);
    tc_input_close(&in);
    (void)unlink(path);
}

static void once_enough_is_copied_small_files_are_mapped_too(void **state)
{
    (void)state;
    struct tc_input in;
    struct tc_error err;
    size_t copied = 256 * MIB - 4;
    assert_int_equal(tc_input_open(&in, make_file("hello", 5), &copied, &err), TC_OK);
    assert_true(in.mapped);
    assert_true(tc_slice_eq(in.bytes, TC_LIT("hello")));
    tc_input_close(&in);
    copied = 256 * MIB - 5;
    assert_int_equal(tc_input_open(&in, path, &copied, &err), TC_OK);
    assert_false(in.mapped);
    tc_input_close(&in);
    (void)unlink(path);
}

static void pages_that_were_given_back_are_read_again(void **state)
{
    (void)state;
    struct tc_input in;
    struct tc_error err;
    size_t copied = 0;
    assert_int_equal(tc_input_open(&in, make_file("first\nsecond", 64 * MIB), &copied, &err),
                     TC_OK);
    tc_input_pass(&in, 1);
    assert_int_equal(in.passed, 0);
    tc_input_pass(&in, in.bytes.len);
    assert_int_equal(in.passed, 48 * MIB);
    tc_input_pass(&in, 0);
    assert_int_equal(in.passed, 48 * MIB);
    assert_true(tc_slice_starts(in.bytes, TC_LIT("first\nsecond")));
    assert_int_equal(tc_input_line(&in, in.bytes.len), 2);
    tc_input_close(&in);
    assert_int_equal(tc_input_open(&in, make_file("small", 5), &copied, &err), TC_OK);
    tc_input_pass(&in, 100 * MIB); /* a copy is not touched */
    assert_true(tc_slice_eq(in.bytes, TC_LIT("small")));
    tc_input_close(&in);
    (void)unlink(path);
}

static void an_empty_file_is_an_input(void **state)
{
    (void)state;
    struct tc_input in;
    struct tc_error err;
    size_t copied = 256 * MIB;
    assert_int_equal(tc_input_open(&in, make_file(NULL, 0), &copied, &err), TC_OK);
    assert_int_equal(in.bytes.len, 0);
    tc_input_close(&in);
    (void)unlink(path);
}

static void a_file_that_hides_its_size_is_read_whole(void **state)
{
    (void)state;
    struct tc_input in;
    struct tc_error err;
    size_t copied = 0;
    if (access("/proc/self/status", R_OK) != 0) {
        skip();
    }
    assert_int_equal(tc_input_open(&in, "/proc/self/status", &copied, &err), TC_OK);
    assert_true(in.bytes.len > 100);
    tc_input_close(&in);
}

static void assert_refused(const char *name, const char *word)
{
    struct tc_input in;
    struct tc_error err;
    size_t copied = 0;
    assert_int_not_equal(tc_input_open(&in, name, &copied, &err), TC_OK);
    if (strstr(err.message, word) == NULL) {
        print_error("not \"%s\" in: %s\n", word, err.message);
        fail();
    }
    assert_null(in.path);
}

static void what_is_no_regular_file_is_refused_with_its_kind(void **state)
{
    (void)state;
    assert_refused(folder, "a directory");
    assert_refused("/dev/null", "a character device");
    (void)snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(path, "a pipe"); /* and does not wait for a writer */
    (void)unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/sock", folder);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_refused(address.sun_path, "a socket");
    (void)close(fd);
    (void)unlink(address.sun_path);
}

static void what_does_not_exist_is_said_with_the_reason(void **state)
{
    (void)state;
    (void)snprintf(path, sizeof path, "%s/nothing", folder);
    assert_refused(path, "No such file or directory");
}

static void the_digest_is_of_the_whole_content(void **state)
{
    (void)state;
    struct tc_input in;
    struct tc_error err;
    size_t copied = 0;
    assert_int_equal(tc_input_open(&in, make_file("abc", 3), &copied, &err), TC_OK);
    /* FIPS 180-2, appendix B.1 */
    static const struct tc_slice expected = {
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 71};
    assert_true(tc_slice_eq(tc_input_digest(&in), expected));
    assert_true(tc_slice_eq(tc_input_digest(&in), expected));
    tc_input_close(&in);
    (void)unlink(path);
}

static void lines_are_counted_from_one(void **state)
{
    (void)state;
    struct tc_input in = {.bytes = TC_LIT("a\nbc\n\nd")};
    assert_int_equal(tc_input_line(&in, 0), 1);
    assert_int_equal(tc_input_line(&in, 1), 1);
    assert_int_equal(tc_input_line(&in, 2), 2);
    assert_int_equal(tc_input_line(&in, 5), 3);
    assert_int_equal(tc_input_line(&in, 6), 4);
    assert_int_equal(tc_input_line(&in, 1000), 4);
    struct tc_input empty = {0};
    assert_int_equal(tc_input_line(&empty, 0), 1);
}

static void text_is_told_from_bytes(void **state)
{
    (void)state;
    struct tc_input text = {.bytes = TC_LIT("a\tb\r\n\033[0m\xc3\xa4")};
    struct tc_input bytes = {.bytes = TC_LIT("\x80\x02}q\x01")};
    struct tc_input empty = {0};
    assert_true(tc_input_is_text(&text));
    assert_false(tc_input_is_text(&bytes));
    assert_true(tc_input_is_text(&empty));
}

static void the_base_of_a_path_is_behind_the_last_slash(void **state)
{
    (void)state;
    assert_true(tc_slice_eq(tc_path_base(TC_LIT("a/b/c")), TC_LIT("c")));
    assert_true(tc_slice_eq(tc_path_base(TC_LIT("c")), TC_LIT("c")));
    assert_true(tc_slice_eq(tc_path_base(TC_LIT("a/")), TC_EMPTY));
}

/* The child maps a file, the file is cut, the child looks at what is gone. */
static void a_mapped_file_that_shrinks_ends_the_process_with_a_message(void **state)
{
    (void)state;
    int channel[2];
    make_file("x", 4 * MIB);
    assert_int_equal(pipe(channel), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct tc_input in;
        struct tc_error err;
        size_t copied = 0;
        (void)dup2(channel[1], STDERR_FILENO);
        tc_input_guard();
        if (tc_input_open(&in, path, &copied, &err) != TC_OK || truncate(path, 1) != 0) {
            _exit(99);
        }
        _exit(tc_input_line(&in, in.bytes.len) == 1 ? 98 : 97);
    }
    (void)close(channel[1]);
    char said[512] = {0};
    assert_true(read(channel[0], said, sizeof said - 1) > 0);
    (void)close(channel[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), TC_EXIT_BAD);
    assert_non_null(strstr(said, "input changed while being read"));
    (void)unlink(path);
}

static void what_a_file_lost_reads_as_zeros_and_is_said_once(void **state)
{
    (void)state;
    struct tc_input in;
    struct tc_input other;
    struct tc_error err;
    char second[160];
    size_t copied = 0;
    (void)snprintf(second, sizeof second, "%s/second", folder);
    assert_int_equal(tc_input_open(&in, make_file("x\ny", 4 * MIB), &copied, &err), TC_OK);
    assert_int_equal(rename(path, second), 0);
    assert_int_equal(tc_input_open(&other, make_file("x\ny\nz", 2 * MIB), &copied, &err), TC_OK);
    tc_input_go_on();
    assert_int_equal(tc_input_line(&in, in.bytes.len), 2);
    assert_false(tc_input_shrunk(&in));
    assert_int_equal(truncate(second, 3), 0);
    assert_int_equal(tc_input_line(&in, in.bytes.len), 2);
    assert_int_equal(in.bytes.ptr[in.bytes.len - 1], 0);
    assert_true(tc_input_shrunk(&in));
    assert_int_equal(tc_input_digest(&in).len, 0);
    assert_false(tc_input_shrunk(&other));
    assert_int_equal(tc_input_digest(&other).len, TC_DIGEST_TEXT_MAX);
    int saved = dup(STDERR_FILENO);
    int said = memfd_create("said", 0);
    (void)dup2(said, STDERR_FILENO);
    bool told = tc_input_tell_shrunk(&in, tc_say_plain) && tc_input_tell_shrunk(&in, tc_say_plain);
    bool other_told = tc_input_tell_shrunk(&other, tc_say_plain);
    (void)dup2(saved, STDERR_FILENO);
    (void)close(saved);
    char text[512] = {0};
    assert_true(pread(said, text, sizeof text - 1, 0) > 0);
    (void)close(said);
    assert_true(told && !other_told);
    const char *message = strstr(text, "/file: changed while being read");
    assert_non_null(message);
    assert_null(strstr(message + strlen("/file: changed"), "changed"));
    tc_input_close(&in);
    tc_input_close(&other);
    (void)signal(SIGBUS, SIG_DFL);
    (void)unlink(path);
    (void)unlink(second);
}

static void output_arrives_whole_whatever_its_pieces(void **state)
{
    (void)state;
    struct tc_output out;
    char big[100000];
    memset(big, 'b', sizeof big);
    int file = memfd_create("out", 0);
    tc_output_init(&out, file);
    assert_true(tc_output_put(&out, TC_LIT("small ")));
    assert_true(tc_output_put(&out, tc_slice_make(big, sizeof big)));
    for (int i = 0; i < 10000; i++) {
        assert_true(tc_output_put(&out, TC_LIT("0123456789")));
    }
    assert_int_equal(tc_output_end(&out, "test", 7), 7);
    struct stat st;
    assert_int_equal(fstat(file, &st), 0);
    assert_int_equal(st.st_size, 6 + 100000 + 100000);
    (void)close(file);
}

static void a_full_disk_is_an_error_and_a_gone_reader_is_not_told(void **state)
{
    (void)state;
    struct tc_output out;
    int full = open("/dev/full", O_WRONLY);
    int saved = dup(STDERR_FILENO);
    int said = memfd_create("said", 0);
    assert_true(full >= 0 && saved >= 0 && said >= 0);
    (void)dup2(said, STDERR_FILENO);
    tc_output_init(&out, full);
    (void)tc_output_put(&out, TC_LIT("x"));
    int code = tc_output_end(&out, "detect", TC_EXIT_OK);
    char text[256] = {0};
    ssize_t first = pread(said, text, sizeof text - 1, 0);
    int channel[2];
    assert_int_equal(pipe(channel), 0);
    (void)close(channel[0]);
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    tc_output_init(&out, channel[1]);
    (void)tc_output_put(&out, TC_LIT("x"));
    int gone = tc_output_end(&out, "detect", TC_EXIT_OK);
    (void)signal(SIGPIPE, before);
    ssize_t second = pread(said, text + 128, 100, first);
    (void)dup2(saved, STDERR_FILENO);
    assert_int_equal(code, TC_EXIT_BAD);
    assert_string_equal(
        text, "tracecore detect: cannot write standard output: No space left on device\n");
    assert_int_equal(gone, TC_EXIT_PIPE);
    assert_int_equal(second, 0);
    (void)close(channel[1]);
    (void)close(full);
    (void)close(said);
    (void)close(saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_files_are_copied_and_large_ones_mapped),
        cmocka_unit_test(once_enough_is_copied_small_files_are_mapped_too),
        cmocka_unit_test(pages_that_were_given_back_are_read_again),
        cmocka_unit_test(an_empty_file_is_an_input),
        cmocka_unit_test(a_file_that_hides_its_size_is_read_whole),
        cmocka_unit_test(what_is_no_regular_file_is_refused_with_its_kind),
        cmocka_unit_test(what_does_not_exist_is_said_with_the_reason),
        cmocka_unit_test(the_digest_is_of_the_whole_content),
        cmocka_unit_test(lines_are_counted_from_one),
        cmocka_unit_test(text_is_told_from_bytes),
        cmocka_unit_test(the_base_of_a_path_is_behind_the_last_slash),
        cmocka_unit_test(a_mapped_file_that_shrinks_ends_the_process_with_a_message),
        cmocka_unit_test(what_a_file_lost_reads_as_zeros_and_is_said_once),
        cmocka_unit_test(output_arrives_whole_whatever_its_pieces),
        cmocka_unit_test(a_full_disk_is_an_error_and_a_gone_reader_is_not_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
