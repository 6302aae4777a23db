/* SPDX-License-Identifier: Apache-2.0 */
#include "object_store/credentials.h"

#include "base/os/io.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)16 << 10)

/* They become headers: what is no plain character would end one. */
static tc_status copy(char *out, size_t size, struct tc_slice value, const char *name,
                      struct tc_error *err)
{
    bool good = value.len < size;
    for (size_t i = 0; good && i < value.len; i++) {
        good = value.ptr[i] > ' ' && value.ptr[i] < 0x7f;
    }
    if (!good) {
        return tc_fail(err, TC_E_USAGE, 0, "%s is too long, or has a blank or control character",
                       name);
    }
    if (value.len > 0) {
        memcpy(out, value.ptr, value.len);
    }
    out[value.len] = '\0';
    return TC_OK;
}

static tc_status complain_missing(const struct tc_s3_credentials *c, const char *key,
                                  const char *secret, struct tc_error *err)
{
    if (c->key[0] != '\0' && c->secret[0] != '\0') {
        return TC_OK;
    }
    return tc_fail(err, TC_E_USAGE, 0, "%s is missing", c->key[0] == '\0' ? key : secret);
}

tc_status tc_s3_credentials_read(struct tc_slice text, struct tc_s3_credentials *out,
                                 struct tc_error *err)
{
    struct tc_s3_credentials c = {0};
    const struct {
        const char *name;
        char *to;
        size_t size;
    } keys[] = {{"aws_access_key_id", c.key, sizeof c.key},
                {"aws_secret_access_key", c.secret, sizeof c.secret},
                {"aws_session_token", c.token, sizeof c.token}};
    bool is_ours = true; /* before any section, or in [default] */
    while (text.len > 0) {
        struct tc_slice value = TC_EMPTY;
        struct tc_slice line = tc_slice_trim(tc_slice_cut(text, '\n', &text));
        if (tc_slice_starts(line, TC_LIT("["))) {
            is_ours = tc_slice_eq(line, TC_LIT("[default]"));
        }
        struct tc_slice name = tc_slice_trim(tc_slice_cut(line, '=', &value));
        for (size_t i = 0; i < TC_COUNT(keys) && is_ours; i++) {
            if (tc_slice_eq(name, tc_slice_cstr(keys[i].name))) {
                TC_TRY(copy(keys[i].to, keys[i].size, tc_slice_trim(value), keys[i].name, err));
            }
        }
    }
    TC_TRY(complain_missing(&c, keys[0].name, keys[1].name, err));
    *out = c;
    return TC_OK;
}

static tc_status load_environment(struct tc_s3_credentials *out, struct tc_error *err)
{
    struct tc_s3_credentials c = {0};
    const struct {
        const char *name;
        char *to;
        size_t size;
    } names[] = {{"AWS_ACCESS_KEY_ID", c.key, sizeof c.key},
                 {"AWS_SECRET_ACCESS_KEY", c.secret, sizeof c.secret},
                 {"AWS_SESSION_TOKEN", c.token, sizeof c.token}};
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        const char *value = secure_getenv(names[i].name);
        TC_TRY(copy(names[i].to, names[i].size, tc_slice_cstr(value == NULL ? "" : value),
                    names[i].name, err));
    }
    struct tc_error why = {0};
    if (complain_missing(&c, names[0].name, names[1].name, &why) != TC_OK) {
        return tc_fail(
            err, TC_E_USAGE, 0,
            "%s in the environment; or name a file with evidence.remote_credentials_file",
            why.message);
    }
    *out = c;
    return TC_OK;
}

tc_status tc_s3_credentials_load(const char *file, struct tc_s3_credentials *out,
                                 struct tc_error *err)
{
    char text[FILE_MAX];
    if (file == NULL || file[0] == '\0') {
        return load_environment(out, err);
    }
    ssize_t len = tc_io_read_path(file, text, sizeof text);
    if (len < 0) {
        return tc_fail(err, TC_E_IO, 0, "evidence.remote_credentials_file: %s: %s", file,
                       strerror(errno));
    }
    struct tc_error why = {0};
    tc_status status = (size_t)len == sizeof text
                           ? tc_fail(&why, TC_E_LIMIT, 0, "more than 16 KiB")
                           : tc_s3_credentials_read(tc_slice_make(text, (size_t)len), out, &why);
    return status == TC_OK ? TC_OK
                           : tc_fail(err, status, 0, "evidence.remote_credentials_file: %s: %s",
                                     file, why.message);
}
