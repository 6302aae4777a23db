/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the Model Context Protocol, one per line, in one session; and each as a POST. */
#include "../tests/support/mcp_table.h"
#include "base/assert.h"
#include "base/json/json.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct tc_json_parser *parser, const struct tc_grow *said)
{
    struct tc_json root;
    struct tc_error err;
    struct tc_slice text = tc_grow_slice(said);
    TC_ASSERT(!said->failed && tc_slice_find_byte(text, '\n') == TC_NPOS);
    TC_ASSERT(text.len == 0 || tc_json_parse(parser, text, &root, &err) == TC_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_slice rest = tc_slice_make((const char *)data, size);
    struct mcp_table table = {.items = 9, .item_bytes = 5000, .bytes = rest};
    struct tc_mcp *m = mcp_table_create(&table);
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_grow said = {0};
    struct tc_slice id;
    for (int i = 0; m != NULL && parser != NULL && rest.len > 0 && i < 64; i++) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        struct tc_mcp_http head = {TC_LIT("2026-07-28"), TC_LIT("tools/call"), TC_LIT("list_runs")};
        int status = 0;
        said.buf.len = 0;
        (void)tc_mcp_place(m, line);
        (void)tc_mcp_cancels(line, &id);
        tc_mcp_handle(m, line, 0, &said);
        check(parser, &said);
        said.buf.len = 0;
        tc_mcp_handle_http(m, &head, line, 0, &said, &status);
        check(parser, &said);
        TC_ASSERT(status == 200 || status == 202 || status == 400 || status == 404);
        TC_ASSERT((status == 202) == (said.buf.len == 0));
    }
    tc_grow_fini(&said);
    tc_json_parser_destroy(parser);
    tc_mcp_destroy(m);
    return 0;
}
