/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resources: tracecore://run/ID, tracecore://incident/ID and tracecore://evidence/DIGEST?at=O,L.
 * The list has runs first, then incidents: each page asks one question, in one place.
 */
#include "base/base64.h"
#include "base/format.h"
#include "mcp/mcp_priv.h"

#include <stdlib.h>
#include <string.h>

#define SCHEME "tracecore://"
#define PAGE_ITEMS "50"
/* Cursors begin with what the page lists; what follows is the cursor of that list. */
#define OF_RUNS "runs:"
#define OF_INCIDENTS "incidents:"
/* Bytes of one resource: more than that is read in parts. */
#define READ_MAX ((size_t)256 << 10)
/* Of the part behind the scheme, decoded. */
#define ADDRESS_MAX 512

struct kind {
    const char *path; /* behind the scheme */
    const char *name;
    const char *template;
    const char *description;
    const char *question; /* that reads one; its first parameter is the id */
};

static const struct kind KINDS[] = {
    {"run/", "run", SCHEME "run/{run}",
     "A benchmark run: what ran where, its results, telemetry, incidents and files.", "run"},
    {"incident/", "incident", SCHEME "incident/{incident}",
     "An incident as a story: what happened, where, what to do, what it caused, and the evidence.",
     "incident"},
    {"evidence/", "evidence", SCHEME "evidence/{digest}{?at}",
     "Raw bytes that a verdict or a number cites; at=OFFSET,LENGTH for a part of them.",
     "evidence"},
};

const struct tc_question *tc__question(const struct tc_mcp *m, struct tc_slice name)
{
    for (size_t i = 0; i < m->parts.question_count; i++) {
        const struct tc_question *q = m->parts.questions[i];
        if (q->scope == TC_SCOPE_READ && tc_slice_eq(name, tc_slice_cstr(q->name))) {
            return q;
        }
    }
    return NULL;
}

/* ---- resources/list ---- */

/* What a page lists. */
struct page {
    const struct tc_question *question;
    struct tc_slice cursor; /* of that question */
    bool is_runs;
};

static bool read_page(const struct tc__call *c, struct page *out)
{
    struct tc_slice cursor = tc__param(c, TC_LIT("cursor"));
    out->is_runs = cursor.len == 0 || tc_slice_starts(cursor, TC_LIT(OF_RUNS));
    if (!out->is_runs && !tc_slice_starts(cursor, TC_LIT(OF_INCIDENTS))) {
        return false;
    }
    out->cursor =
        tc_slice_from(cursor, out->is_runs ? sizeof OF_RUNS - 1 : sizeof OF_INCIDENTS - 1);
    out->question = tc__question(c->m, out->is_runs ? TC_LIT("runs") : TC_LIT("incidents"));
    return true;
}

const struct tc_question *tc__question_of_list(const struct tc__call *c)
{
    struct page page;
    return read_page(c, &page) ? page.question : NULL;
}

static void put_resource(struct tc_json_out *j, struct tc_slice path, struct tc_slice id,
                         struct tc_slice title)
{
    char text[ADDRESS_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_slice uri = tc_format(&b, SCHEME "{}{}", path, id);
    if (b.overflowed || id.len == 0) {
        return;
    }
    tc_json_add_object(j);
    tc_json_put_str(j, "uri", uri);
    tc_json_put_str(j, "name", id);
    tc_json_put_some(j, "title", title);
    tc_json_put_cstr(j, "mimeType", "application/json");
    tc_json_end_object(j);
}

static void put_items(struct tc__call *c, const struct page *page, struct tc_json answer)
{
    struct tc_json list;
    struct tc_json item;
    if (!tc_json_get(answer, page->is_runs ? TC_LIT("runs") : TC_LIT("incidents"), &list)) {
        return;
    }
    struct tc_json_iter it = tc_json_iter_make(list);
    while (tc_json_iter_next(&it, NULL, &item)) {
        struct tc_slice id =
            tc_json_get_string(item, page->is_runs ? TC_LIT("run_id") : TC_LIT("incident_id"));
        put_resource(c->j, page->is_runs ? TC_LIT("run/") : TC_LIT("incident/"), id,
                     tc_json_get_string(item, page->is_runs ? TC_LIT("name") : TC_LIT("headline")));
    }
}

/* Behind the last page of runs come the incidents. */
static void put_next(struct tc__call *c, const struct page *page, struct tc_slice next)
{
    char text[ADDRESS_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    if (next.len > 0) {
        (void)tc_format(&b, "{}{}", page->is_runs ? OF_RUNS : OF_INCIDENTS, next);
    } else if (page->is_runs && tc__question(c->m, TC_LIT("incidents")) != NULL) {
        tc_buf_lit(&b, OF_INCIDENTS);
    }
    if (b.len > 0 && !b.overflowed) {
        tc_json_put_str(c->j, "nextCursor", tc_buf_slice(&b));
    }
}

static tc_status ask_page(struct tc__call *c, const struct page *page, struct tc_reply *reply)
{
    struct tc_asked asked;
    if (page->question == NULL) {
        return TC_E_NOTFOUND;
    }
    tc_asked_init(&asked, page->question, c->now_ns);
    TC_TRY(tc_asked_add(&asked, TC_LIT("limit"), TC_LIT(PAGE_ITEMS), &c->err));
    if (page->cursor.len > 0) {
        TC_TRY(tc_asked_add(&asked, TC_LIT("cursor"), page->cursor, &c->err));
    }
    return tc__ask(c, &asked, reply);
}

int tc__resources_list(struct tc__call *c)
{
    struct page page;
    struct tc_reply reply = {0};
    struct tc_json answer;
    struct tc_slice next = TC_EMPTY;
    if (!read_page(c, &page)) {
        return tc__refuse(c, TC_RPC_PARAMS, "Invalid cursor: it is none that was given out");
    }
    tc_status status = ask_page(c, &page, &reply);
    if (status == TC_E_USAGE) {
        return TC_RPC_PARAMS; /* the cursor */
    }
    if (status == TC_OK) {
        status = tc_json_parse(c->m->answers, tc_grow_slice(&reply.body), &answer, &c->err);
    }
    /* Nothing was added yet, or no daemon runs: a list without items is the truth then. */
    tc_json_put_array(c->j, "resources");
    if (status == TC_OK) {
        put_items(c, &page, answer);
        next = tc_json_get_string(answer, TC_LIT("next"));
    }
    tc_json_end_array(c->j);
    put_next(c, &page, next);
    tc__put_cache(c, false);
    tc_reply_fini(&reply);
    return status == TC_E_NOMEM ? tc__refuse(c, TC_RPC_INTERNAL, "out of memory") : TC_RPC_OK;
}

int tc__resource_templates(struct tc__call *c)
{
    tc_json_put_array(c->j, "resourceTemplates");
    for (size_t i = 0; i < TC_COUNT(KINDS); i++) {
        tc_json_add_object(c->j);
        tc_json_put_cstr(c->j, "uriTemplate", KINDS[i].template);
        tc_json_put_cstr(c->j, "name", KINDS[i].name);
        tc_json_put_cstr(c->j, "description", KINDS[i].description);
        tc_json_end_object(c->j);
    }
    tc_json_end_array(c->j);
    tc__put_cache(c, true);
    return TC_RPC_OK;
}

/* ---- resources/read ---- */

static int hex_value(char c)
{
    return tc_is_digit(c)           ? c - '0'
           : c >= 'a' && c <= 'f'   ? c - 'a' + 10
           : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                    : -1;
}

/* An address taken apart. `id` lies in `text`, `at` in the address. */
struct address {
    const struct kind *kind;
    struct tc_slice id;
    struct tc_slice at; /* of evidence: OFFSET,LENGTH; empty: all of it */
    char text[ADDRESS_MAX];
};

static bool decode(struct tc_slice from, struct tc_buf *b)
{
    for (size_t i = 0; i < from.len; i++) {
        char c = from.ptr[i];
        if (c == '%') {
            int high = i + 2 < from.len ? hex_value(from.ptr[i + 1]) : -1;
            int low = i + 2 < from.len ? hex_value(from.ptr[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return false;
            }
            c = (char)(high * 16 + low);
            i += 2;
        }
        tc_buf_char(b, c);
    }
    return !b->overflowed;
}

static bool read_range(struct tc_slice query, struct address *a)
{
    a->at = tc_slice_from(query, 3);
    return strcmp(a->kind->name, "evidence") == 0 && tc_slice_starts(query, TC_LIT("at=")) &&
           a->at.len > 0;
}

static bool read_address(struct tc_slice uri, struct address *a)
{
    struct tc_buf b = tc_buf_make(a->text, sizeof a->text);
    struct tc_slice query = TC_EMPTY;
    if (!tc_slice_starts(uri, TC_LIT(SCHEME))) {
        return false;
    }
    struct tc_slice path = tc_slice_cut(tc_slice_from(uri, sizeof SCHEME - 1), '?', &query);
    for (size_t i = 0; i < TC_COUNT(KINDS); i++) {
        if (tc_slice_starts(path, tc_slice_cstr(KINDS[i].path))) {
            a->kind = &KINDS[i];
        }
    }
    if (a->kind == NULL || !decode(tc_slice_from(path, strlen(a->kind->path)), &b)) {
        return false;
    }
    a->id = tc_buf_slice(&b);
    return a->id.len > 0 && (query.len == 0 || read_range(query, a));
}

const struct tc_question *tc__question_of_read(const struct tc__call *c)
{
    struct address a = {0};
    return read_address(tc__param(c, TC_LIT("uri")), &a)
               ? tc__question(c->m, tc_slice_cstr(a.kind->question))
               : NULL;
}

/* Bytes that a model can read: UTF-8 without control characters, but for ends of lines and tabs. */
static bool is_text(struct tc_slice bytes)
{
    for (size_t at = 0; at < bytes.len;) {
        unsigned char first = (unsigned char)bytes.ptr[at];
        size_t len = tc_utf8_len((const unsigned char *)bytes.ptr + at, bytes.len - at);
        if (len == 0 || (first < 0x20 && first != '\n' && first != '\r' && first != '\t')) {
            return false;
        }
        at += len;
    }
    return true;
}

static tc_status put_contents(struct tc__call *c, struct tc_slice uri, const struct tc_reply *reply)
{
    struct tc_slice body = tc_grow_slice(&reply->body);
    tc_json_put_array(c->j, "contents");
    tc_json_add_object(c->j);
    tc_json_put_str(c->j, "uri", uri);
    tc_json_put_cstr(c->j, "mimeType",
                     reply->content_type != NULL ? reply->content_type : "application/json");
    if (is_text(body)) {
        tc_json_put_str(c->j, "text", body);
    } else {
        char *text = malloc(TC_BASE64_LEN(body.len) + 1);
        if (text == NULL) {
            return TC_E_NOMEM;
        }
        const char *end = tc_base64_put(text, body, true);
        tc_json_put_str(c->j, "blob", tc_slice_make(text, (size_t)(end - text)));
        free(text);
    }
    tc__put_untrusted(c->j);
    tc_json_end_object(c->j);
    tc_json_end_array(c->j);
    tc__put_cache(c, false);
    return TC_OK;
}

static tc_status ask_address(struct tc__call *c, const struct address *a, struct tc_reply *reply)
{
    const struct tc_question *q = tc__question(c->m, tc_slice_cstr(a->kind->question));
    struct tc_asked asked;
    if (q == NULL || q->param_count == 0) {
        return tc_fail(&c->err, TC_E_NOTFOUND, 0, "there are no resources of that kind here");
    }
    tc_asked_init(&asked, q, c->now_ns);
    TC_TRY(tc_asked_add(&asked, tc_slice_cstr(q->params[0].name), a->id, &c->err));
    if (a->at.len > 0) {
        TC_TRY(tc_asked_add(&asked, TC_LIT("at"), a->at, &c->err));
    }
    return tc__ask(c, &asked, reply);
}

int tc__resources_read(struct tc__call *c)
{
    struct tc_slice uri = tc__param(c, TC_LIT("uri"));
    struct address a = {0};
    struct tc_reply reply = {0};
    int code = TC_RPC_OK;
    if (!read_address(uri, &a)) {
        return tc__refuse(c, tc__is_modern(c) ? TC_RPC_PARAMS : TC_RPC_NO_RESOURCE,
                          "Resource not found: %.*s", TC_FMT(tc_slice_head(uri, 128)));
    }
    tc_status status = ask_address(c, &a, &reply);
    if (status == TC_OK && reply.body.buf.len > READ_MAX) {
        status = tc_fail(&c->err, TC_E_USAGE, 0,
                         "it has %zu bytes; of evidence, read parts of up to %zu with "
                         "?at=OFFSET,LENGTH; of others, ask with a tool",
                         reply.body.buf.len, READ_MAX);
    }
    if (status == TC_OK) {
        status = put_contents(c, uri, &reply);
    }
    if (status == TC_E_NOMEM) {
        code = tc__refuse(c, TC_RPC_INTERNAL, "out of memory");
    } else if (status == TC_E_NOTFOUND || status == TC_E_USAGE) {
        code = tc__is_modern(c) ? TC_RPC_PARAMS : TC_RPC_NO_RESOURCE;
    } else if (status != TC_OK) {
        code = TC_RPC_INTERNAL;
    }
    tc_reply_fini(&reply);
    return code;
}
