/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, from a file and from the environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "object_store/credentials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct tc_s3_credentials keys;
static struct tc_error err;

static tc_status read_text(const char *text)
{
    err = (struct tc_error){0};
    return tc_s3_credentials_read(tc_slice_cstr(text), &keys, &err);
}

static void a_file_is_read(void **state)
{
    (void)state;
    assert_int_equal(read_text("aws_access_key_id=k:1\naws_secret_access_key = s/+=\r\n"), TC_OK);
    assert_string_equal(keys.key, "k:1");
    assert_string_equal(keys.secret, "s/+=");
    assert_string_equal(keys.token, "");
    assert_int_equal(
        read_text("[other]\naws_access_key_id = no\n[default]\n# c\naws_access_key_id = yes\n"
                  "aws_secret_access_key = s\naws_session_token = t\n[more]\n"
                  "aws_session_token = no\n"),
        TC_OK);
    assert_string_equal(keys.key, "yes");
    assert_string_equal(keys.token, "t");
}

static void what_is_missing_or_wrong_is_named(void **state)
{
    (void)state;
    static char text[400] = "aws_access_key_id = k\naws_secret_access_key = ";
    assert_int_equal(read_text(""), TC_E_USAGE);
    assert_non_null(strstr(err.message, "aws_access_key_id is missing"));
    assert_int_equal(read_text("aws_access_key_id = k\n"), TC_E_USAGE);
    assert_non_null(strstr(err.message, "aws_secret_access_key is missing"));
    assert_int_equal(read_text("aws_access_key_id = a b\naws_secret_access_key = s\n"), TC_E_USAGE);
    assert_int_equal(read_text("aws_access_key_id = a\x01\naws_secret_access_key = s\n"),
                     TC_E_USAGE);
    size_t used = strlen(text);
    memset(text + used, 's', TC_S3_SECRET_MAX - 1);
    assert_int_equal(read_text(text), TC_OK);
    memset(text + used, 's', TC_S3_SECRET_MAX);
    assert_int_equal(read_text(text), TC_E_USAGE);
}

static void files_and_the_environment_are_loaded(void **state)
{
    (void)state;
    char path[] = "/tmp/tc-credentials-XXXXXX";
    int fd = mkstemp(path);
    static const char text[] = "aws_access_key_id = f\naws_secret_access_key = s\n";
    assert_true(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    assert_int_equal(tc_s3_credentials_load(path, &keys, &err), TC_OK);
    assert_string_equal(keys.key, "f");
    assert_int_equal(ftruncate(fd, (off_t)64 << 10), 0);
    assert_int_equal(tc_s3_credentials_load(path, &keys, &err), TC_E_LIMIT);
    (void)close(fd);
    (void)unlink(path);
    assert_int_equal(tc_s3_credentials_load(path, &keys, &err), TC_E_IO);
    assert_non_null(strstr(err.message, "evidence.remote_credentials_file"));
    (void)unsetenv("AWS_ACCESS_KEY_ID");
    (void)unsetenv("AWS_SESSION_TOKEN");
    (void)setenv("AWS_SECRET_ACCESS_KEY", "s", 1);
    assert_int_equal(tc_s3_credentials_load("", &keys, &err), TC_E_USAGE);
    assert_non_null(strstr(err.message, "AWS_ACCESS_KEY_ID is missing"));
    (void)setenv("AWS_ACCESS_KEY_ID", "e", 1);
    assert_int_equal(tc_s3_credentials_load(NULL, &keys, &err), TC_OK);
    assert_string_equal(keys.key, "e");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read),
        cmocka_unit_test(what_is_missing_or_wrong_is_named),
        cmocka_unit_test(files_and_the_environment_are_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
