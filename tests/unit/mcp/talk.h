/* SPDX-License-Identifier: Apache-2.0 */
/* Talking to the protocol in tests: a message, and what came back. Include after cmocka.h. */
#ifndef TC_TESTS_UNIT_MCP_TALK_H
#define TC_TESTS_UNIT_MCP_TALK_H

#include "mcp/mcp.h"
#include "support/assert_text.h"
#include "support/mcp_table.h"

#include <stdlib.h>
#include <string.h>

#define META                                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

struct talk {
    struct mcp_table table;
    struct tc_mcp *m;
    struct tc_grow said;
};

static inline int talk_begin(void **state)
{
    struct talk *t = calloc(1, sizeof *t);
    t->table.items = 3;
    t->m = mcp_table_create(&t->table);
    *state = t;
    return t->m == NULL ? -1 : 0;
}

static inline int talk_end(void **state)
{
    struct talk *t = *state;
    tc_mcp_destroy(t->m);
    tc_grow_fini(&t->said);
    free(t);
    return 0;
}

/* The answer, until the next; always one line. */
static inline struct tc_slice say(struct talk *t, const char *message)
{
    t->said.buf.len = 0;
    tc_mcp_handle(t->m, tc_slice_cstr(message), 0, &t->said);
    assert_false(t->said.failed);
    assert_true(tc_slice_find_byte(tc_grow_slice(&t->said), '\n') == TC_NPOS);
    return tc_grow_slice(&t->said);
}

static inline struct tc_slice post(struct talk *t, const struct tc_mcp_http *head,
                                   const char *message, int *out_status)
{
    t->said.buf.len = 0;
    tc_mcp_handle_http(t->m, head, tc_slice_cstr(message), 0, &t->said, out_status);
    return tc_grow_slice(&t->said);
}

#endif
