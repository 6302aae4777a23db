/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a configuration from a text and an environment, and keeps what was said. */
#ifndef TC_UNIT_SERVER_CONFIG_TESTING_H
#define TC_UNIT_SERVER_CONFIG_TESTING_H

#include "config/config.h"

#include <string.h>

static struct tc_config config;
static char said[1 << 16];
static size_t said_count;

static void say(void *context, const char *line)
{
    struct tc_buf b = tc_buf_make(said, sizeof said - 1);
    (void)context;
    b.len = strlen(said);
    tc_buf_str(&b, tc_slice_cstr(line));
    tc_buf_char(&b, '\n');
    assert_false(b.overflowed);
    said_count++;
}

static tc_status read_text(struct tc_slice text, const char *const *variables)
{
    char *list[64] = {NULL};
    char copies[64][256];
    for (size_t i = 0; variables != NULL && variables[i] != NULL; i++) {
        assert_true(i < 63 && strlen(variables[i]) < sizeof copies[0]);
        memcpy(copies[i], variables[i], strlen(variables[i]) + 1);
        list[i] = copies[i];
    }
    memset(said, 0, sizeof said);
    said_count = 0;
    return tc_config_read(text, "t.yaml", list, say, NULL, &config);
}

/* Right, and nothing was said. */
static inline void assert_right(const char *yaml)
{
    tc_status status = read_text(tc_slice_cstr(yaml), NULL);
    assert_string_equal(said, "");
    assert_int_equal(status, TC_OK);
}

/* Exactly these lines. */
static inline void assert_wrong(const char *yaml, const char *want)
{
    assert_int_equal(read_text(tc_slice_cstr(yaml), NULL), TC_E_MALFORMED);
    assert_string_equal(said, want);
}

static inline void assert_variable(const char *variable, const char *want)
{
    const char *list[] = {variable, NULL};
    tc_status status = read_text(TC_EMPTY, list);
    assert_string_equal(said, want);
    assert_int_equal(status, want[0] == '\0' ? TC_OK : TC_E_MALFORMED);
}

#endif
