/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the line of a verdict: what is made of it is a request in JSON with a record for
 * each line that was taken, whatever the room. And any bytes as what a receiver answers.
 */
#include "base/assert.h"
#include "cli/simulate/otlp.h"
#include "http_client/http_client.h"
#include "verdict/export.h"

#include <stdlib.h>
#include <string.h>

static void check_request(struct tc_json_parser *p, struct tc_slice line, size_t cap)
{
    static char room[1 << 18];
    struct tc_buf b = tc_buf_make(room, cap);
    struct tc_json_out j = tc_json_out_make(&b);
    struct tc_export_origin origin = {.instance_id = tc_slice_head(line, 20)};
    struct tc_error err = {0};
    tc_export_begin(&j, &origin);
    if (b.overflowed) {
        return;
    }
    tc_status first = tc_export_add(&j, p, line, 1, &err);
    tc_status second = tc_export_add(&j, p, line, 2, &err);
    TC_ASSERT(first == second || (first == TC_OK && second == TC_E_LIMIT));
    tc_export_end(&j);
    if (first != TC_OK && b.overflowed) {
        return; /* not even the end of an empty one fits */
    }
    struct tc_json root;
    TC_ASSERT(!b.overflowed);
    TC_ASSERT(tc_json_parse(p, tc_buf_slice(&b), &root, &err) == TC_OK);
}

static void check_address(struct tc_slice text)
{
    char *copy = calloc(1, text.len + 1); /* strndup would look for an end */
    TC_ASSERT(copy != NULL);
    if (text.len > 0) {
        memcpy(copy, text.ptr, text.len);
    }
    struct tc_http_client *client = NULL;
    struct tc_error err = {0};
    tc_status status = tc_http_client_create(copy, 1, &client, &err);
    TC_ASSERT(status == TC_OK || (status == TC_E_USAGE && client == NULL));
    tc_http_client_destroy(client);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tc_json_parser *p;
    if (p == NULL) {
        p = tc_json_parser_create();
    }
    if (size > 20000) {
        return 0;
    }
    struct tc_slice line = tc_slice_make((const char *)data, size);
    struct tc_slice why;
    check_request(p, line, (size_t)1 << 18);
    check_request(p, line, 300 + size % 700);
    check_address(line);
    (void)tc_simulate_rejected(line, NULL, &why);
    TC_ASSERT(why.len <= size);
    (void)tc_simulate_rejected(line, p, &why);
    return 0;
}
