/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a configuration. The first byte says whether they are the file or the value of a
 * variable. What is right must print as JSON; what is wrong must say so in lines that are lines.
 */
#include "base/assert.h"
#include "base/json/json.h"
#include "config/config.h"

#include <stdint.h>
#include <string.h>

#define VALUE_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
static void on_line(void *context, const char *line)
{
    size_t *count = context;
    TC_ASSERT(line[0] != '\0');
    for (; *line != '\0'; line++) {
        TC_ASSERT((unsigned char)*line >= ' ' && *line != 0x7f);
    }
    (*count)++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {
        "TRACECORE_AUTH_TOKENS=", "TRACECORE_VERDICTS_OTLP_HEADERS=", "TRACECORE_API_LISTEN=",
        "TRACECORE_LIMITS_BODY=", "TRACECORE_DETECTION_HOLD=",        "TRACECORE_",
        "TRACECORE_LOG_LEVEL=",
    };
    static struct tc_config config;
    static char variable[VALUE_MAX];
    static char text[TC_CONFIG_PRINT_MAX];
    size_t mode = size == 0 ? 0 : data[0] % (sizeof names / sizeof names[0] + 1);
    struct tc_slice rest = size == 0 ? TC_EMPTY : tc_slice_make((const char *)data + 1, size - 1);
    char *environ_list[] = {NULL, NULL};
    size_t count = 0;
    if (mode > 0) {
        struct tc_buf b = tc_buf_make(variable, sizeof variable - 1);
        memset(variable, 0, sizeof variable);
        tc_buf_str(&b, tc_slice_cstr(names[mode - 1]));
        tc_buf_str(&b, tc_slice_head(rest, VALUE_MAX / 2));
        environ_list[0] = variable;
        rest = TC_EMPTY;
    }
    tc_status status = tc_config_read(rest, "f", environ_list, on_line, &count, &config);
    TC_ASSERT((status == TC_OK) == (count == 0));
    TC_ASSERT(status == TC_OK || status == TC_E_MALFORMED);
    if (status == TC_OK) {
        struct tc_buf b = tc_buf_make(text, sizeof text);
        struct tc_json_parser *parser = tc_json_parser_create();
        struct tc_json root;
        struct tc_error err;
        tc_config_print_effective(&config, true, &b);
        TC_ASSERT(!b.overflowed);
        TC_ASSERT(tc_json_parse(parser, tc_buf_slice(&b), &root, &err) == TC_OK);
        tc_json_parser_destroy(parser);
    }
    return 0;
}
