/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore evidence` on a store: what it prints, where to, and how it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/command.h"
#include "evidence/data_dir.h"
#include "unit/evidence/evidence_testing.h"

#include <pty.h>

static char data_dir[80];
static char printed[1 << 20];
static size_t printed_len;
static char complained[8192];

/* test_dir is DATA_DIR/evidence here. */
static int make_data_dir(void **state)
{
    if (make_dir(state) != 0) {
        return -1;
    }
    memcpy(data_dir, test_dir, sizeof test_dir);
    size_t len = strlen(test_dir);
    memcpy(test_dir + len, "/evidence", sizeof "/evidence");
    return 0;
}

static int remove_data_dir(void **state)
{
    memcpy(test_dir, data_dir, sizeof test_dir);
    return remove_dir(state);
}

static size_t read_back(int fd, char *out, size_t size)
{
    ssize_t n = pread(fd, out, size - 1, 0);
    assert_true(n >= 0);
    out[n] = '\0';
    (void)close(fd);
    return (size_t)n;
}

static int scratch_file(void)
{
    char name[] = "/tmp/tc-evidence-out-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    (void)unlink(name);
    return fd;
}

/* Runs the command with standard output and error caught. Arguments end with NULL. */
static int run(int out_fd, ...)
{
    char *argv[16] = {(char[]){"evidence"}};
    int argc = 1;
    va_list args;
    va_start(args, out_fd);
    for (char *a; (a = va_arg(args, char *)) != NULL;) {
        assert_true(argc < 15);
        argv[argc++] = a;
    }
    va_end(args);
    int out = out_fd >= 0 ? out_fd : scratch_file();
    int err = scratch_file();
    int old_out = dup(STDOUT_FILENO);
    int old_err = dup(STDERR_FILENO);
    (void)fflush(stdout);
    assert_true(dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0);
    optind = 0;
    int code = tc_command_evidence.run(argc, argv);
    assert_true(dup2(old_out, STDOUT_FILENO) >= 0 && dup2(old_err, STDERR_FILENO) >= 0);
    (void)close(old_out);
    (void)close(old_err);
    if (out_fd < 0) {
        printed_len = read_back(out, printed, sizeof printed);
    }
    (void)read_back(err, complained, sizeof complained);
    return code;
}

#define DIR_OPTION "--data-dir", data_dir

static void make_store(void)
{
    struct tc_store_config config = small_config();
    config.segment_bytes = 3000;
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    struct tc_digest digest;
    fill(s, 12, 1);
    assert_int_equal(tc_digest_sha256(body_of(9, size_of(9)), &digest), TC_OK);
    assert_int_equal(tc_store_cite(s, 9, &digest, &err), TC_OK);
    struct tc_batch b = batch_of(13, 50);
    b.name = TC_LIT("../\x1b[2Jevil\"\nnode=a");
    b.body = TC_LIT("one\x1b[31m\ntwo\xff\xc3\xa9\n");
    assert_int_equal(tc_store_append(s, &b, &err), TC_OK);
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
    tc_store_close(s);
}

static size_t lines(void)
{
    size_t count = 0;
    for (size_t i = 0; i < printed_len; i++) {
        count += printed[i] == '\n';
    }
    return count;
}

static void ls_lists(void **state)
{
    (void)state;
    make_store();
    assert_int_equal(run(-1, "ls", DIR_OPTION, NULL), 0);
    assert_int_equal(lines(), 13);
    assert_non_null(strstr(printed, "         1  2026-05-28T20:26:41Z"));
    assert_non_null(strstr(printed, "logs/protobuf"));
    assert_non_null(strstr(printed, " sha256:"));
    assert_non_null(strstr(printed, "../\\x1b[2Jevil\"\n"));
    assert_null(strchr(printed, '\x1b'));
    assert_int_equal(run(-1, "ls", "--json", DIR_OPTION, NULL), 0);
    assert_int_equal(lines(), 13);
    assert_non_null(strstr(printed, "{\"number\":3,\"arrival\":\"2026-05-28T20:26:43Z\",\"kind\":"
                                    "\"file\",\"bytes\":4096,\"disk_bytes\":"));
    assert_non_null(
        strstr(printed, "\"digest\":null,\"name\":\"dump_7\\nnode=gpu-1\",\"sender\":\"\"}"));
    assert_non_null(strstr(printed, "\\u001b[2Jevil\\\""));
    assert_int_equal(run(-1, "ls", "--since", "2026-05-28T20:26:50Z", DIR_OPTION, NULL), 0);
    assert_int_equal(lines(), 4);
    assert_int_equal(run(-1, "ls", "--since", "1d", DIR_OPTION, NULL), 0);
    assert_int_equal(run(-1, "ls", "--since", "yesterday", DIR_OPTION, NULL), 2);
    assert_non_null(strstr(complained, "--since takes"));
}

static void ls_lists_objects(void **state)
{
    (void)state;
    make_store();
    assert_int_equal(run(-1, "ls", "--objects", DIR_OPTION, NULL), 0);
    size_t objects = lines();
    assert_true(objects >= 2);
    assert_non_null(strstr(printed, "sha256:"));
    assert_int_equal(run(-1, "ls", "--objects", "--json", DIR_OPTION, NULL), 0);
    assert_int_equal(lines(), objects);
    assert_non_null(strstr(printed, "\",\"first\":1,\"last\":"));
}

static void cat_prints_the_bytes(void **state)
{
    (void)state;
    char text[128] = "sha256:";
    struct tc_digest digest;
    make_store();
    assert_int_equal(run(-1, "cat", "10", DIR_OPTION, NULL), 0);
    struct tc_slice body = body_of(10, size_of(10));
    assert_true(tc_slice_eq(tc_slice_make(printed, printed_len), body));
    assert_int_equal(run(-1, "cat", "10", "--at", "17,33", DIR_OPTION, NULL), 0);
    assert_true(
        tc_slice_eq(tc_slice_make(printed, printed_len), tc_slice_make(body_bytes + 17, 33)));
    /* By digest: one that was cited, and one that was not. */
    for (uint64_t n = 9; n <= 10; n++) {
        body = body_of(n, size_of(n));
        assert_int_equal(tc_digest_sha256(body, &digest), TC_OK);
        (void)tc_put_hex_bytes(text + 7, digest.bytes, sizeof digest.bytes);
        assert_int_equal(run(-1, "cat", text, DIR_OPTION, NULL), 0);
        assert_true(tc_slice_eq(tc_slice_make(printed, printed_len), body));
    }
    assert_int_equal(run(-1, "cat", "10", "--verify", text, DIR_OPTION, NULL), 0);
    assert_int_equal(run(-1, "cat", "9", "--verify", text, DIR_OPTION, NULL), 1);
    assert_int_equal(printed_len, 0);
    text[9] = text[9] == '0' ? '1' : '0';
    assert_int_equal(run(-1, "cat", text, DIR_OPTION, NULL), 2);
    assert_non_null(strstr(complained, "no stored batch"));
    assert_int_equal(run(-1, "cat", "99", DIR_OPTION, NULL), 2);
    assert_int_equal(run(-1, "cat", "3", "--at", "4090,7", DIR_OPTION, NULL), 2);
    assert_non_null(strstr(complained, "4096 bytes"));
    assert_int_equal(run(-1, "cat", "sha256:12", DIR_OPTION, NULL), 2);
}

static void cat_escapes_for_a_terminal(void **state)
{
    (void)state;
    int master = -1;
    int slave = -1;
    char shown[256];
    make_store();
    if (openpty(&master, &slave, NULL, NULL, NULL) != 0) {
        skip();
    }
    assert_int_equal(run(slave, "cat", "13", DIR_OPTION, NULL), 0);
    (void)close(slave);
    ssize_t n = read(master, shown, sizeof shown - 1);
    assert_true(n > 0);
    shown[n] = '\0';
    (void)close(master);
    assert_string_equal(shown, "one\\x1b[31m\r\ntwo\\xff\xc3\xa9\r\n");
}

static void verify_finds_damage(void **state)
{
    (void)state;
    char path[256];
    make_store();
    assert_int_equal(run(-1, "verify", DIR_OPTION, NULL), 0);
    assert_non_null(strstr(printed, "13 batches, 1 citation: no damage\n"));
    segment_path(path, sizeof path);
    flip(path, file_size(path) - 1, 4);
    assert_int_equal(run(-1, "verify", DIR_OPTION, NULL), 1);
    assert_non_null(strstr(printed, path));
    assert_non_null(strstr(printed, "batch 13: the checksum of the payload does not match"));
    assert_non_null(strstr(printed, "1 is damaged"));
    assert_int_equal(run(-1, "verify", "--json", DIR_OPTION, NULL), 1);
    assert_non_null(strstr(printed, "{\"damage\":true,\"path\":"));
    assert_non_null(strstr(printed, "\"batch\":13,"));
    assert_non_null(strstr(printed, "\"damaged\":1}\n"));
    assert_int_equal(run(-1, "cat", "13", DIR_OPTION, NULL), 1);
    assert_int_equal(printed_len, 0);
    assert_non_null(strstr(complained, "batch 13 is damaged"));
}

static void wrong_usage_is_told(void **state)
{
    (void)state;
    assert_int_equal(run(-1, "ls", DIR_OPTION, NULL), 2);
    assert_non_null(strstr(complained, "there is no evidence store"));
    assert_int_equal(run(-1, "verify", "more", DIR_OPTION, NULL), 2);
    assert_int_equal(run(-1, "cat", NULL), 2);
    assert_non_null(strstr(complained, "what is to be done?"));
}

static void the_default_follows_the_environment(void **state)
{
    (void)state;
    char dir[64];
    assert_int_equal(setenv("HOME", "/home/x", 1), 0);
    assert_int_equal(unsetenv("TRACECORE_DATA_DIR"), 0);
    assert_int_equal(unsetenv("STATE_DIRECTORY"), 0);
    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    assert_true(tc_data_dir_default(dir, sizeof dir));
    assert_string_equal(dir, "/home/x/.local/state/tracecore");
    assert_int_equal(setenv("XDG_STATE_HOME", "/state", 1), 0);
    assert_true(tc_data_dir_default(dir, sizeof dir));
    assert_string_equal(dir, "/state/tracecore");
    assert_int_equal(setenv("STATE_DIRECTORY", "/var/lib/tracecore:/var/lib/more", 1), 0);
    assert_true(tc_data_dir_default(dir, sizeof dir));
    assert_string_equal(dir, "/var/lib/tracecore");
    assert_int_equal(setenv("TRACECORE_DATA_DIR", "/data", 1), 0);
    assert_true(tc_data_dir_default(dir, sizeof dir));
    assert_string_equal(dir, "/data");
    assert_false(tc_data_dir_default(dir, 5));
    assert_int_equal(unsetenv("TRACECORE_DATA_DIR"), 0);
    assert_int_equal(unsetenv("STATE_DIRECTORY"), 0);
    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_false(tc_data_dir_default(dir, sizeof dir));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ls_lists, make_data_dir, remove_data_dir),
        cmocka_unit_test_setup_teardown(ls_lists_objects, make_data_dir, remove_data_dir),
        cmocka_unit_test_setup_teardown(cat_prints_the_bytes, make_data_dir, remove_data_dir),
        cmocka_unit_test_setup_teardown(cat_escapes_for_a_terminal, make_data_dir, remove_data_dir),
        cmocka_unit_test_setup_teardown(verify_finds_damage, make_data_dir, remove_data_dir),
        cmocka_unit_test_setup_teardown(wrong_usage_is_told, make_data_dir, remove_data_dir),
        cmocka_unit_test(the_default_follows_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
