/* SPDX-License-Identifier: Apache-2.0 */
/* What the methods of the protocol share. */
#ifndef TC_MCP_MCP_PRIV_H
#define TC_MCP_MCP_PRIV_H

#include "base/json/json.h"
#include "base/json/out.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"
#include "mcp/mcp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The oldest first: what came later has what came before, unless it was removed. */
enum tc__revision {
    TC_REVISION_NONE,
    TC_REVISION_2025_03_26, /* batches */
    TC_REVISION_2025_06_18,
    TC_REVISION_2025_11_25,
    TC_REVISION_2026_07_28, /* stateless: results say what they are, and for how long */
};
#define TC_REVISION_COUNT 5
#define TC_REVISION_LEGACY TC_REVISION_2025_11_25

/* Codes of JSON-RPC and of MCP. */
enum {
    TC_RPC_OK = 0,
    TC_RPC_PARSE = -32700,
    TC_RPC_INVALID = -32600,
    TC_RPC_NO_METHOD = -32601,
    TC_RPC_PARAMS = -32602,
    TC_RPC_INTERNAL = -32603,
    TC_RPC_NO_RESOURCE = -32002, /* until 2025-11-25 */
    TC_RPC_HEADER = -32020,
    TC_RPC_VERSION = -32022,
};

struct tc_mcp {
    struct tc_mcp_parts parts;
    struct tc_json_parser *parser;  /* of messages */
    struct tc_json_parser *answers; /* of what was answered, while the message is still needed */
    enum tc__revision session;      /* what `initialize` agreed on; NONE before */
};

/*
 * One request. A method adds the members of its result to `j`, whose object has begun, and returns
 * TC_RPC_OK; or a code, with `err` saying what is wrong: what it wrote does not count then.
 */
struct tc__call {
    struct tc_mcp *m;
    const struct tc_mcp_http *head; /* NULL: not by HTTP */
    enum tc__revision revision;
    struct tc_json params;
    bool has_params;
    int64_t now_ns;
    struct tc_json_out *j;
    struct tc_slice requested; /* of TC_RPC_VERSION */
    struct tc_error err;
    int http_status;
};

static inline bool tc__is_modern(const struct tc__call *c)
{
    return c->revision >= TC_REVISION_2026_07_28;
}

/* Fills c->err, and returns the code. */
#define tc__refuse(c, code, ...) ((void)tc_fail(&(c)->err, TC_E_USAGE, 0, __VA_ARGS__), (int)(code))

/* A member of the params that is a text; empty when it is not there, or is none. */
struct tc_slice tc__param(const struct tc__call *c, struct tc_slice name);

/* How long a list or what was read holds, from 2026-07-28 on. What lies in the program is the same
 * for everybody. */
#define TC_TTL_FIXED_MS 3600000
void tc__put_cache(struct tc__call *c, bool is_fixed);

/* Marks what was quoted from outside, for programs that look at it. */
static inline void tc__put_untrusted(struct tc_json_out *j)
{
    tc_json_put_object(j, "_meta");
    tc_json_put_bool(j, "untrusted", true);
    tc_json_end_object(j);
}

/* One that may be read. NULL: there is none of that name. */
const struct tc_question *tc__question(const struct tc_mcp *m, struct tc_slice name);
/* Asks through the parts; after a failure c->err says why. */
TC_CHECKED tc_status tc__ask(struct tc__call *c, struct tc_asked *asked, struct tc_reply *out);

/* Methods. */
int tc__tools_list(struct tc__call *c);
int tc__tools_call(struct tc__call *c);
int tc__resources_list(struct tc__call *c);
int tc__resource_templates(struct tc__call *c);
int tc__resources_read(struct tc__call *c);
int tc__prompts_list(struct tc__call *c);
int tc__prompts_get(struct tc__call *c);
int tc__complete(struct tc__call *c);
/* The question that a message of such a method asks; NULL: none, or it is wrong. */
const struct tc_question *tc__question_of_call(const struct tc__call *c);
const struct tc_question *tc__question_of_list(const struct tc__call *c);
const struct tc_question *tc__question_of_read(const struct tc__call *c);

/* What tells a model how to use all of it. */
extern const char tc__instructions[];

/* ---- answers that are too long ---- */

/* Lists that were cut, and how. */
#define TC_CUT_LISTS 6
#define TC_CUT_NAME 48
struct tc__cut {
    char names[TC_CUT_LISTS][TC_CUT_NAME];
    size_t shown[TC_CUT_LISTS];
    size_t total[TC_CUT_LISTS];
    size_t list_count;
    size_t text_count; /* texts that were cut */
};

/*
 * The JSON object `text` as one line of at most `max` bytes: lists keep their first items, then
 * long texts their beginning. Adds to `out`; a member "cut" says what is not there. TC_E_LIMIT when
 * nothing helps.
 */
TC_CHECKED tc_status tc__cut_json(struct tc_slice text, size_t max, struct tc_grow *out,
                                  struct tc__cut *out_cut);
/* Of the longest list in the object, so many items fit into max bytes with all that is around it.
 * SIZE_MAX when there is no list, or all of it fits. */
size_t tc__items_that_fit(struct tc_slice text, size_t max);

/* ---- HTTP ---- */

/* Whether a header's value is that value, plain or between =?base64? and ?=. */
bool tc__header_eq(struct tc_slice header, struct tc_slice value);

#endif
