/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC: what a message is, whose method it calls, and how the answer is wrapped. */
#include "base/json/raw.h"
#include "mcp/mcp_priv.h"

#include <stdlib.h>

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"

static const char *const REVISIONS[TC_REVISION_COUNT] = {
    [TC_REVISION_NONE] = "",
    [TC_REVISION_2025_03_26] = "2025-03-26",
    [TC_REVISION_2025_06_18] = "2025-06-18",
    [TC_REVISION_2025_11_25] = "2025-11-25",
    [TC_REVISION_2026_07_28] = "2026-07-28",
};

static enum tc__revision revision_of(struct tc_slice name)
{
    for (size_t i = 1; i < TC_REVISION_COUNT; i++) {
        if (tc_slice_eq(name, tc_slice_cstr(REVISIONS[i]))) {
            return (enum tc__revision)i;
        }
    }
    return TC_REVISION_NONE;
}

struct tc_mcp *tc_mcp_create(const struct tc_mcp_parts *parts)
{
    struct tc_mcp *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return NULL;
    }
    m->parts = *parts;
    m->parser = tc_json_parser_create();
    m->answers = tc_json_parser_create();
    if (m->parser == NULL || m->answers == NULL) {
        tc_mcp_destroy(m);
        return NULL;
    }
    return m;
}

void tc_mcp_destroy(struct tc_mcp *m)
{
    if (m != NULL) {
        tc_json_parser_destroy(m->parser);
        tc_json_parser_destroy(m->answers);
        free(m);
    }
}

struct tc_slice tc__param(const struct tc__call *c, struct tc_slice name)
{
    return c->has_params ? tc_json_get_string(c->params, name) : TC_EMPTY;
}

void tc__put_cache(struct tc__call *c, bool is_fixed)
{
    if (tc__is_modern(c)) {
        tc_json_put_i64(c->j, "ttlMs", is_fixed ? TC_TTL_FIXED_MS : 0);
        tc_json_put_cstr(c->j, "cacheScope", is_fixed ? "public" : "private");
    }
}

/* ---- methods of the protocol itself ---- */

static void put_revisions(struct tc_json_out *j)
{
    tc_json_add_array(j);
    for (size_t i = TC_REVISION_COUNT - 1; i > 0; i--) {
        tc_json_add_cstr(j, REVISIONS[i]);
    }
    tc_json_end_array(j);
}

/* The lists do not change while the program runs, and nothing is subscribed to. */
static void put_capabilities(struct tc_json_out *j)
{
    tc_json_put_object(j, "capabilities");
    tc_json_put_object(j, "tools");
    tc_json_end_object(j);
    tc_json_put_object(j, "resources");
    tc_json_end_object(j);
    tc_json_put_object(j, "prompts");
    tc_json_end_object(j);
    tc_json_put_object(j, "completions");
    tc_json_end_object(j);
    tc_json_end_object(j);
}

static void put_server(struct tc_json_out *j)
{
    tc_json_add_object(j);
    tc_json_put_cstr(j, "name", "tracecore");
    tc_json_put_cstr(j, "title", "tracecore: GPU fleet incidents and benchmark runs");
    tc_json_put_cstr(j, "version", TC_VERSION);
    tc_json_end_object(j);
}

static int initialize(struct tc__call *c)
{
    struct tc_slice wanted = tc__param(c, TC_LIT("protocolVersion"));
    enum tc__revision revision = revision_of(wanted);
    if (wanted.len == 0) {
        return tc__refuse(c, TC_RPC_PARAMS, "initialize needs protocolVersion, as in \"%s\"",
                          REVISIONS[TC_REVISION_LEGACY]);
    }
    /* A revision that has no handshake, or that we do not know, gets the latest that has one. */
    if (revision == TC_REVISION_NONE || revision > TC_REVISION_LEGACY) {
        revision = TC_REVISION_LEGACY;
    }
    c->m->session = revision;
    tc_json_put_cstr(c->j, "protocolVersion", REVISIONS[revision]);
    put_capabilities(c->j);
    tc_json_key(c->j, "serverInfo");
    put_server(c->j);
    tc_json_put_cstr(c->j, "instructions", tc__instructions);
    return TC_RPC_OK;
}

static int discover(struct tc__call *c)
{
    tc_json_key(c->j, "supportedVersions");
    put_revisions(c->j);
    put_capabilities(c->j);
    tc_json_put_cstr(c->j, "instructions", tc__instructions);
    tc__put_cache(c, true);
    return TC_RPC_OK;
}

static int ping(struct tc__call *c)
{
    (void)c;
    return TC_RPC_OK;
}

enum era { BOTH, LEGACY_ONLY, MODERN_ONLY };

static const struct method {
    const char *name;
    int (*run)(struct tc__call *c);
    const struct tc_question *(*asks)(const struct tc__call *c);
    enum era era;
    const char *header; /* of the params, that Mcp-Name repeats; NULL: none */
} METHODS[] = {
    {"tools/list", tc__tools_list, NULL, BOTH, NULL},
    {"tools/call", tc__tools_call, tc__question_of_call, BOTH, "name"},
    {"resources/list", tc__resources_list, tc__question_of_list, BOTH, NULL},
    {"resources/templates/list", tc__resource_templates, NULL, BOTH, NULL},
    {"resources/read", tc__resources_read, tc__question_of_read, BOTH, "uri"},
    {"prompts/list", tc__prompts_list, NULL, BOTH, NULL},
    {"prompts/get", tc__prompts_get, NULL, BOTH, "name"},
    {"completion/complete", tc__complete, NULL, BOTH, NULL},
    {"initialize", initialize, NULL, LEGACY_ONLY, NULL},
    {"ping", ping, NULL, LEGACY_ONLY, NULL},
    {"server/discover", discover, NULL, MODERN_ONLY, NULL},
};

static const struct method *find_method(struct tc_slice name)
{
    size_t i = tc_slice_row(name, METHODS, name);
    return i < TC_COUNT(METHODS) ? &METHODS[i] : NULL;
}

/* ---- which revision ---- */

static bool get_meta(const struct tc__call *c, struct tc_slice key, struct tc_json *out)
{
    struct tc_json meta;
    return c->has_params && tc_json_get(c->params, TC_LIT("_meta"), &meta) &&
           tc_json_get(meta, key, out);
}

/* What the request itself says comes first, then the head of the POST, then what was agreed on. */
static int find_revision(struct tc__call *c, struct tc_slice method)
{
    struct tc_json value;
    bool is_said = get_meta(c, TC_LIT(META_VERSION), &value);
    bool by_head = c->head != NULL && c->head->version.len > 0;
    struct tc_slice name = by_head ? c->head->version : TC_EMPTY;
    c->revision = c->head == NULL ? c->m->session : TC_REVISION_2025_03_26;
    if (is_said && !tc_json_string(value, &name)) {
        return tc__refuse(c, TC_RPC_PARAMS, "_meta[\"" META_VERSION "\"] must be a string");
    }
    if (is_said || by_head) {
        c->revision = revision_of(name);
        c->requested = name;
        if (c->revision == TC_REVISION_NONE) {
            return tc__refuse(c, TC_RPC_VERSION, "Unsupported protocol version");
        }
    }
    if (!is_said && (tc__is_modern(c) || tc_slice_eq(method, TC_LIT("server/discover")))) {
        return tc__refuse(c, TC_RPC_PARAMS, "_meta[\"" META_VERSION "\"] is missing");
    }
    if (tc__is_modern(c) && (!get_meta(c, TC_LIT(META_CAPABILITIES), &value) ||
                             tc_json_type(value) != TC_JSON_OBJECT)) {
        return tc__refuse(c, TC_RPC_PARAMS, "_meta[\"" META_CAPABILITIES "\"] must be an object");
    }
    return TC_RPC_OK;
}

/* ---- one request ---- */

static int check_head(struct tc__call *c, struct tc_slice name, const struct method *method)
{
    struct tc_slice said = c->head->version;
    struct tc_slice field = TC_EMPTY;
    if (!tc_slice_eq(said, tc_slice_cstr(REVISIONS[c->revision]))) {
        return tc__refuse(c, TC_RPC_HEADER,
                          "Header mismatch: MCP-Protocol-Version is \"%.*s\", the body says %s",
                          TC_FMT(tc_slice_head(said, 32)), REVISIONS[c->revision]);
    }
    if (tc__is_modern(c) && !tc_slice_eq(c->head->method, name)) {
        return tc__refuse(
            c, TC_RPC_HEADER, "Header mismatch: Mcp-Method is \"%.*s\", the body says \"%.*s\"",
            TC_FMT(tc_slice_head(c->head->method, 48)), TC_FMT(tc_slice_head(name, 48)));
    }
    if (tc__is_modern(c) && method != NULL && method->header != NULL) {
        field = tc__param(c, tc_slice_cstr(method->header));
        if (!tc__header_eq(c->head->name, field)) {
            return tc__refuse(
                c, TC_RPC_HEADER, "Header mismatch: Mcp-Name is \"%.*s\", the body says \"%.*s\"",
                TC_FMT(tc_slice_head(c->head->name, 64)), TC_FMT(tc_slice_head(field, 64)));
        }
    }
    return TC_RPC_OK;
}

static bool is_of_era(const struct tc__call *c, const struct method *method)
{
    return method->era == BOTH || (method->era == MODERN_ONLY) == tc__is_modern(c);
}

/* Everything before the method itself; what fails here is 400 in HTTP. */
static int prepare(struct tc__call *c, struct tc_json message, struct tc_slice name,
                   const struct method *method)
{
    c->has_params = tc_json_get(message, TC_LIT("params"), &c->params);
    if (c->has_params && tc_json_type(c->params) != TC_JSON_OBJECT) {
        c->has_params = false;
        return tc__refuse(c, TC_RPC_PARAMS, "params must be an object");
    }
    int code = find_revision(c, name);
    /* The body says another revision than the head, or the head says none. */
    if (code == TC_RPC_OK && c->head != NULL && (tc__is_modern(c) || c->head->version.len > 0)) {
        code = check_head(c, name, method);
    }
    return code;
}

static void put_error_data(struct tc_json_out *j, const struct tc__call *c, int code)
{
    if (code == TC_RPC_VERSION) {
        tc_json_put_object(j, "data");
        tc_json_key(j, "supported");
        put_revisions(j);
        tc_json_put_str(j, "requested", tc_slice_head(c->requested, 64));
        tc_json_end_object(j);
    }
}

static void put_id(struct tc_json_out *j, struct tc_json id)
{
    struct tc_slice text;
    int64_t whole = 0;
    uint64_t large = 0;
    tc_json_key(j, "id");
    if (tc_json_string(id, &text)) {
        tc_json_add_str(j, text);
    } else if (tc_json_type(id) == TC_JSON_INT && tc_json_int(id, &whole)) {
        tc_json_add_i64(j, whole);
    } else if (tc_json_uint(id, &large)) {
        tc_json_add_u64(j, large);
    } else {
        tc_json_add_null(j);
    }
}

/* id: NULL when it could not be read. */
static void put_error(struct tc_grow *out, const struct tc__call *c, const struct tc_json *id,
                      int code)
{
    struct tc_json_out j = tc_json_object_grow(out);
    tc_json_put_cstr(&j, "jsonrpc", "2.0");
    if (id != NULL) {
        put_id(&j, *id);
    }
    tc_json_put_object(&j, "error");
    tc_json_put_i64(&j, "code", code);
    tc_json_put_cstr(&j, "message", c->err.message);
    put_error_data(&j, c, code);
    tc_json_end_object(&j);
    tc_json_end_object(&j);
    (void)tc_json_done(&j);
}

static void put_result(struct tc_grow *out, struct tc_json id, struct tc_slice result)
{
    struct tc_json_out j = tc_json_object_grow(out);
    tc_json_put_cstr(&j, "jsonrpc", "2.0");
    put_id(&j, id);
    tc_json_put_raw(&j, "result", result);
    tc_json_end_object(&j);
    (void)tc_json_done(&j);
}

static int run_method(struct tc__call *c, const struct method *method, struct tc_slice name,
                      struct tc_grow *result)
{
    if (method == NULL || !is_of_era(c, method)) {
        c->http_status = tc__is_modern(c) ? 404 : 200;
        return tc__refuse(c, TC_RPC_NO_METHOD, "Method not found: %.*s",
                          TC_FMT(tc_slice_head(name, 64)));
    }
    struct tc_json_out j = tc_json_object_grow(result);
    c->j = &j;
    if (tc__is_modern(c)) {
        tc_json_put_cstr(&j, "resultType", "complete");
    }
    int code = method->run(c);
    if (code != TC_RPC_OK) {
        return code;
    }
    if (tc__is_modern(c)) {
        tc_json_put_object(&j, "_meta");
        tc_json_key(&j, "io.modelcontextprotocol/serverInfo");
        put_server(&j);
        tc_json_end_object(&j);
    }
    tc_json_end_object(&j);
    return tc_json_done(&j) ? TC_RPC_OK : tc__refuse(c, TC_RPC_INTERNAL, "out of memory");
}

static void answer_request(struct tc__call *c, struct tc_json message, struct tc_json id,
                           struct tc_slice name, struct tc_grow *out)
{
    struct tc_grow result = {0};
    const struct method *method = find_method(name);
    int code = prepare(c, message, name, method);
    c->http_status = code == TC_RPC_OK ? 200 : 400;
    if (code == TC_RPC_OK) {
        code = run_method(c, method, name, &result);
    }
    if (code == TC_RPC_OK) {
        put_result(out, id, tc_grow_slice(&result));
    } else {
        put_error(out, c, &id, code);
    }
    tc_grow_fini(&result);
}

static bool is_id(struct tc_json id)
{
    enum tc_json_type type = tc_json_type(id);
    return type == TC_JSON_STRING || type == TC_JSON_INT || type == TC_JSON_UINT;
}

/* A request, a notification or a response; what is none of them is refused. */
static void answer_one(struct tc__call *c, struct tc_json message, struct tc_grow *out)
{
    struct tc_json id = {0};
    struct tc_json unused;
    struct tc_slice name = tc_json_get_string(message, TC_LIT("method"));
    bool has_id = tc_json_get(message, TC_LIT("id"), &id);
    bool has_good_id = has_id && is_id(id);
    const char *wrong = NULL;
    if (tc_json_type(message) != TC_JSON_OBJECT) {
        wrong = "a message is a JSON object";
    } else if (!tc_slice_eq(tc_json_get_string(message, TC_LIT("jsonrpc")), TC_LIT("2.0"))) {
        wrong = "jsonrpc must be \"2.0\"";
    } else if (has_id && !has_good_id) {
        wrong = "id must be a string or an integer";
    } else if (name.len == 0 && !tc_json_get(message, TC_LIT("result"), &unused) &&
               !tc_json_get(message, TC_LIT("error"), &unused)) {
        wrong = "method is missing, or is no string";
    }
    if (wrong != NULL) {
        c->http_status = 400;
        put_error(out, c, has_good_id ? &id : NULL, tc__refuse(c, TC_RPC_INVALID, "%s", wrong));
        return;
    }
    if (name.len > 0 && has_id) {
        answer_request(c, message, id, name, out);
    } else {
        c->http_status = 202; /* nothing of ours waits for a notification or a response */
    }
}

static void answer_batch(struct tc__call *c, struct tc_json batch, struct tc_grow *out)
{
    struct tc_json message;
    struct tc_json_iter it = tc_json_iter_make(batch);
    size_t count = 0;
    size_t start = out->buf.len;
    while (count < TC_MCP_BATCH_MAX && tc_json_iter_next(&it, NULL, &message)) {
        struct tc__call one = {.m = c->m, .head = c->head, .now_ns = c->now_ns};
        size_t before = out->buf.len;
        tc_grow_str(out, before == start ? TC_LIT("[") : TC_LIT(","));
        size_t begun = out->buf.len;
        answer_one(&one, message, out);
        if (out->buf.len == begun) {
            out->buf.len = before;
        }
        count++;
    }
    c->http_status = out->buf.len > start ? 200 : 202;
    if (out->buf.len > start) {
        tc_grow_lit(out, "]");
    }
}

/* Batches came with one revision and went with the next. */
static bool takes_batch(const struct tc__call *c)
{
    enum tc__revision revision = c->m->session;
    if (c->head != NULL) {
        revision =
            c->head->version.len == 0 ? TC_REVISION_2025_03_26 : revision_of(c->head->version);
    }
    return revision == TC_REVISION_2025_03_26;
}

static bool is_sound_batch(struct tc_json batch)
{
    struct tc_json message;
    struct tc_json_iter it = tc_json_iter_make(batch);
    size_t count = 0;
    while (count <= TC_MCP_BATCH_MAX && tc_json_iter_next(&it, NULL, &message)) {
        count++;
    }
    return count > 0 && count <= TC_MCP_BATCH_MAX;
}

static void answer_text(struct tc__call *c, struct tc_slice text, struct tc_grow *out)
{
    struct tc_json root;
    struct tc_error err = {0};
    tc_status status =
        text.len > TC_MCP_MESSAGE_MAX
            ? tc_fail(&err, TC_E_LIMIT, 0, "a message has at most %zu bytes", TC_MCP_MESSAGE_MAX)
            : tc_json_parse(c->m->parser, text, &root, &err);
    c->http_status = 400;
    if (status != TC_OK) {
        int code = status == TC_E_NOMEM   ? TC_RPC_INTERNAL
                   : status == TC_E_LIMIT ? TC_RPC_INVALID
                                          : TC_RPC_PARSE;
        put_error(out, c, NULL, tc__refuse(c, code, "Parse error: %s", err.message));
    } else if (tc_json_type(root) != TC_JSON_ARRAY) {
        answer_one(c, root, out);
    } else if (!takes_batch(c) || !is_sound_batch(root)) {
        put_error(out, c, NULL,
                  tc__refuse(c, TC_RPC_INVALID,
                             "a message is one object; only 2025-03-26 has batches, of up to %d",
                             TC_MCP_BATCH_MAX));
    } else {
        answer_batch(c, root, out);
    }
}

void tc_mcp_handle(struct tc_mcp *m, struct tc_slice message, int64_t now_ns, struct tc_grow *out)
{
    struct tc__call c = {.m = m, .now_ns = now_ns};
    answer_text(&c, message, out);
}

void tc_mcp_handle_http(struct tc_mcp *m, const struct tc_mcp_http *head, struct tc_slice body,
                        int64_t now_ns, struct tc_grow *out, int *out_status)
{
    struct tc__call c = {.m = m, .head = head, .now_ns = now_ns};
    answer_text(&c, body, out);
    *out_status = c.http_status;
}

enum tc_question_place tc_mcp_place(struct tc_mcp *m, struct tc_slice message)
{
    struct tc__call c = {.m = m};
    struct tc_json root;
    struct tc_error err;
    const struct tc_question *q = NULL;
    if (message.len <= TC_MCP_MESSAGE_MAX &&
        tc_json_parse(m->parser, message, &root, &err) == TC_OK) {
        const struct method *method = find_method(tc_json_get_string(root, TC_LIT("method")));
        c.has_params = tc_json_get(root, TC_LIT("params"), &c.params);
        q = method != NULL && method->asks != NULL ? method->asks(&c) : NULL;
    }
    return q == NULL ? TC_PLACE_TABLES : q->place;
}

/* ---- for those who carry messages ---- */

bool tc_mcp_request_id(struct tc_slice message, struct tc_slice *out_id)
{
    struct tc_slice method;
    return tc_json_raw_get(message, TC_LIT("method"), &method) &&
           tc_json_raw_get(message, TC_LIT("id"), out_id);
}

bool tc_mcp_cancels(struct tc_slice message, struct tc_slice *out_id)
{
    struct tc_slice method;
    struct tc_slice params;
    return tc_json_raw_get(message, TC_LIT("method"), &method) &&
           tc_slice_eq(method, TC_LIT("\"notifications/cancelled\"")) &&
           tc_json_raw_get(message, TC_LIT("params"), &params) &&
           tc_json_raw_get(params, TC_LIT("requestId"), out_id);
}
