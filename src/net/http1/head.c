/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a request. Lines are held to CRLF without folding, names to the characters of a token
 * and lengths to digits here, whatever http_parser takes: two readers that disagree about where a
 * request ends are how requests are smuggled.
 */
#include "net/http1/priv.h"

#include <string.h>

static const struct {
    struct tc_slice name;
    enum tc__http_field field;
} known[] = {
    {{"content-type", 12}, TC__HTTP_CONTENT_TYPE},
    {{"content-encoding", 16}, TC__HTTP_CONTENT_ENCODING},
    {{"authorization", 13}, TC__HTTP_AUTHORIZATION},
    {{"content-length", 14}, TC__HTTP_CONTENT_LENGTH},
    {{"transfer-encoding", 17}, TC__HTTP_TRANSFER_ENCODING},
    {{"expect", 6}, TC__HTTP_EXPECT},
    {{"host", 4}, TC__HTTP_HOST},
    {{"origin", 6}, TC__HTTP_ORIGIN},
    {{"sec-fetch-site", 14}, TC__HTTP_FETCH_SITE},
    {{"accept", 6}, TC__HTTP_ACCEPT},
    {{"accept-encoding", 15}, TC__HTTP_ACCEPT_ENCODING},
    {{"if-none-match", 13}, TC__HTTP_IF_NONE_MATCH},
    {{"range", 5}, TC__HTTP_RANGE},
    {{"last-event-id", 13}, TC__HTTP_LAST_EVENT_ID},
    {{"mcp-protocol-version", 20}, TC__HTTP_MCP_VERSION},
    {{"mcp-method", 10}, TC__HTTP_MCP_METHOD},
    {{"mcp-name", 8}, TC__HTTP_MCP_NAME},
    {{"tracecore-batch", 15}, TC__HTTP_TRACECORE_BATCH},
};

void tc__http_refuse_with(struct tc__http *h, int status, enum tc_counter counter,
                          const char *words)
{
    if (h->refusal.status == 0) {
        h->refusal =
            (struct tc__http_refusal){.status = status, .counter = counter, .words = words};
    }
}

static int bad(struct tc__http *h, const char *words)
{
    tc__http_refuse_with(h, 400, TC_COUNT_HTTP_BAD_SYNTAX, words);
    return 1;
}

static bool is_framing(enum tc__http_field field)
{
    return field == TC__HTTP_CONTENT_LENGTH || field == TC__HTTP_TRANSFER_ENCODING;
}

static int unclear_length(struct tc__http *h)
{
    tc__http_refuse_with(h, 400, TC_COUNT_HTTP_BAD_FRAMING, "the length of the body is unclear");
    return 1;
}

static char *text_of(struct tc__request_slot *slot)
{
    return slot->long_text != NULL ? (char *)slot->long_text->data : slot->text;
}

/* Keeps bytes of a field. An ordinary head fits into the slot; a long one takes a buffer once. */
static int keep(struct tc__http *h, enum tc__http_field field, const char *at, size_t len)
{
    struct tc__request_slot *slot = h->slot;
    size_t cap = slot->long_text != NULL ? slot->long_text->cap : sizeof slot->text;
    if (len > cap - h->text_len && slot->long_text == NULL) {
        size_t most = tc_conn_limits(h->conn)->header_bytes_max;
        struct tc_buffer *b = tc_pool_take(tc_conn_pool(h->conn), most);
        if (b == NULL) {
            tc__http_refuse_with(h, 503, TC_COUNT_HTTP_NO_MEMORY, "no memory for the headers now");
            return 1;
        }
        memcpy(b->data, slot->text, h->text_len);
        slot->long_text = b;
        cap = b->cap;
    }
    if (len > cap - h->text_len) {
        tc__http_refuse_with(h, 431, TC_COUNT_HTTP_HEADERS_TOO_LARGE, "the head is too large");
        return 1;
    }
    memcpy(text_of(slot) + h->text_len, at, len);
    h->text_len += len;
    h->fields[field].len += len;
    return 0;
}

static int start_field(struct tc__http *h, enum tc__http_field field)
{
    if (h->fields[field].there && is_framing(field)) {
        return unclear_length(h);
    }
    if (h->fields[field].there) {
        return bad(h, "a header that may come once came twice");
    }
    h->fields[field] = (struct tc__http_span){.start = h->text_len, .there = true};
    return 0;
}

static int on_url(http_parser *p, const char *at, size_t len)
{
    struct tc__http *h = p->data;
    if (!h->fields[TC__HTTP_URL].there) {
        (void)start_field(h, TC__HTTP_URL);
    }
    return keep(h, TC__HTTP_URL, at, len);
}

/* scan_lines has counted the headers and looked at the name. */
static int on_field(http_parser *p, const char *at, size_t len)
{
    struct tc__http *h = p->data;
    if (h->in_value) {
        h->in_value = false;
        h->name_len = 0;
    }
    for (size_t i = 0; i < len && h->name_len < sizeof h->name; i++) {
        char b = at[i];
        h->name[h->name_len++] = (char)(b >= 'A' && b <= 'Z' ? b | 0x20 : b);
    } /* a longer one is none that is known */
    return 0;
}

static int on_value(http_parser *p, const char *at, size_t len)
{
    struct tc__http *h = p->data;
    if (!h->in_value) {
        h->in_value = true;
        h->field = TC__HTTP_NO_FIELD;
        struct tc_slice name = tc_slice_make(h->name, h->name_len);
        for (size_t i = 0; i < TC_COUNT(known); i++) {
            if (tc_slice_eq(name, known[i].name)) {
                h->field = known[i].field;
            }
        }
        if (h->field >= TC__HTTP_ACCEPT && h->field != TC__HTTP_NO_FIELD &&
            h->fields[h->field].there) {
            h->field = TC__HTTP_NO_FIELD;
        }
        if (h->field != TC__HTTP_NO_FIELD && start_field(h, h->field) != 0) {
            return 1;
        }
    }
    return h->field == TC__HTTP_NO_FIELD ? 0 : keep(h, h->field, at, len);
}

static int on_headers_complete(http_parser *p)
{
    struct tc__http *h = p->data;
    h->head_done = true;
    http_parser_pause(p, 1); /* the body is not its business */
    return 0;
}

bool tc__http_head_begin(struct tc__http *h)
{
    struct tc_net *n = tc_conn_net(h->conn);
    h->slot = tc__request_take(n->requests);
    if (h->slot == NULL) {
        return false;
    }
    http_parser_init(&h->parser, HTTP_REQUEST);
    h->parser.data = h;
    h->in_value = false;
    h->head_done = false;
    h->head_bytes = 0;
    h->name_len = 0;
    h->text_len = 0;
    h->lines = (struct tc__http_lines){.line_start = true};
    memset(h->fields, 0, sizeof h->fields);
    h->refusal = (struct tc__http_refusal){0};
    return true;
}

/* RFC 9110 5.6.2 */
static bool is_token(char b)
{
    return tc_is_word(b) || (b != '\0' && strchr("!#$%&'*+-.^_`|~", b) != NULL);
}

/* One byte that is no end of a line; false when it may not stand there. */
static bool scan_byte(struct tc__http *h, char b)
{
    struct tc__http_lines *l = &h->lines;
    if (((unsigned char)b < ' ' && b != '\t') || b == 0x7f) {
        (void)bad(h, "a control character in the head");
    } else if (l->line_start && (b == ' ' || b == '\t')) {
        (void)bad(h, "a line of the head begins with white space");
    } else if (l->line_start && l->began &&
               l->header_count++ == tc_conn_limits(h->conn)->headers_max) {
        tc__http_refuse_with(h, 431, TC_COUNT_HTTP_HEADERS_TOO_LARGE, "too many headers");
    } else {
        l->in_name = l->line_start ? l->began : l->in_name;
        l->line_start = false;
        l->began = true;
        if (l->in_name && b == ':') {
            l->in_name = false;
        } else if (l->in_name && !is_token(b)) {
            (void)bad(h, "a header name has a character that none may have");
        }
    }
    return h->refusal.status == 0;
}

/*
 * How many of the bytes belong to the head; *out_end when it ends with them. Every line ends with
 * CRLF, none begins with white space or has control characters, each but the first has a name;
 * empty lines before the request line are skipped.
 */
static size_t scan_lines(struct tc__http *h, struct tc_slice bytes, bool *out_end)
{
    struct tc__http_lines *l = &h->lines;
    *out_end = false;
    for (size_t i = 0; i < bytes.len; i++) {
        char b = bytes.ptr[i];
        if ((b == '\n') != l->after_cr) {
            (void)bad(h, "a line of the head does not end with CR LF");
            return i;
        }
        if (b == '\n') {
            l->after_cr = false;
            if (l->line_start && l->began) {
                *out_end = true;
                return i + 1;
            }
            l->line_start = true;
        } else if (b == '\r') {
            l->after_cr = true;
            if (l->in_name) {
                (void)bad(h, "a header without a colon");
                return i;
            }
        } else if (!scan_byte(h, b)) {
            return i;
        }
    }
    return bytes.len;
}

size_t tc__http_head_read(struct tc__http *h, struct tc_slice bytes)
{
    static const http_parser_settings settings = {
        .on_url = on_url,
        .on_header_field = on_field,
        .on_header_value = on_value,
        .on_headers_complete = on_headers_complete,
    };
    size_t room = tc_conn_limits(h->conn)->header_bytes_max;
    room = room > h->head_bytes ? room - h->head_bytes : 0;
    bool end = false;
    size_t len = scan_lines(h, bytes, &end);
    size_t fed = len < room ? len : room;
    /* What is wrong first is what is said, so that it does not depend on how the bytes came. */
    struct tc__http_refusal of_lines = h->refusal;
    h->refusal = (struct tc__http_refusal){0};
    /* To http_parser no bytes mean the end of the connection. */
    size_t parsed = fed > 0 ? http_parser_execute(&h->parser, &settings, bytes.ptr, fed) : 0;
    h->head_bytes += fed;
    enum http_errno code = HTTP_PARSER_ERRNO(&h->parser);
    if (code == HPE_INVALID_CONTENT_LENGTH || code == HPE_UNEXPECTED_CONTENT_LENGTH ||
        code == HPE_INVALID_TRANSFER_ENCODING) {
        (void)unclear_length(h);
    } else if (code != HPE_OK && code != HPE_PAUSED) {
        (void)bad(h, "not a request of HTTP/1.1");
    }
    if (len > room) {
        tc__http_refuse_with(h, 431, TC_COUNT_HTTP_HEADERS_TOO_LARGE, "the head is too large");
    } else if (of_lines.status != 0) {
        tc__http_refuse_with(h, of_lines.status, of_lines.counter, of_lines.words);
    } else if (h->head_done != end || (end && parsed + 1 != fed)) {
        (void)bad(h, "not a request of HTTP/1.1"); /* it sees another end than we do */
    }
    return len;
}

/* What a field holds, without white space around it; empty when it is not there. */
static struct tc_slice value(const struct tc__http *h, enum tc__http_field field)
{
    const struct tc__http_span *s = &h->fields[field];
    return s->there ? tc_slice_trim(tc_slice_make(text_of(h->slot) + s->start, s->len)) : TC_EMPTY;
}

static bool decode_path(struct tc__http *h, char *text, size_t len, struct tc_slice *out_path)
{
    size_t to = 0;
    for (size_t from = 0; from < len; from++) {
        unsigned char b = (unsigned char)text[from];
        if (b == '%') {
            uint64_t code = 0;
            if (len - from < 3 || tc_slice_hex(tc_slice_make(text + from + 1, 2), &code) != 2) {
                tc__http_refuse_with(h, 400, TC_COUNT_HTTP_BAD_PATH,
                                     "a % in the path is not a %XX");
                return false;
            }
            b = (unsigned char)code;
            from += 2;
        }
        if (b < 0x20 || b == 0x7f) {
            tc__http_refuse_with(h, 400, TC_COUNT_HTTP_BAD_PATH, "a control character in the path");
            return false;
        }
        text[to++] = (char)b;
    }
    *out_path = tc_slice_make(text, to);
    return true;
}

/* Path and query of "/path?query", "http://host/path?query" and "*". The host of the second form
 * counts, whatever Host says (RFC 9112 3.2.2). */
static bool split_url(struct tc__http *h, struct tc_request *r)
{
    char *text = text_of(h->slot) + h->fields[TC__HTTP_URL].start;
    struct tc_slice url = tc_slice_make(text, h->fields[TC__HTTP_URL].len);
    struct tc_slice fragment;
    url = tc_slice_cut(url, '#', &fragment);
    size_t scheme = url.len > 0 && url.ptr[0] != '/' ? tc_slice_find(url, TC_LIT("://")) : TC_NPOS;
    if (scheme != TC_NPOS) {
        struct tc_slice host = tc_slice_from(url, scheme + 3);
        size_t start = 0;
        while (start < host.len && host.ptr[start] != '/' && host.ptr[start] != '?') {
            start++;
        }
        r->host = tc_slice_head(host, start);
        url = tc_slice_from(host, start);
    }
    struct tc_slice path = tc_slice_cut(url, '?', &r->query);
    if (path.len == 0) {
        r->path = TC_LIT("/");
        return true;
    }
    return decode_path(h, text + (path.ptr - text), path.len, &r->path);
}

/* How long the body is. RFC 9112 6.1: both headers, or a coding besides chunked, is an error. */
static bool body_framing(struct tc__http *h, bool *out_chunked, uint64_t *out_length)
{
    bool coded = h->fields[TC__HTTP_TRANSFER_ENCODING].there;
    bool counted = h->fields[TC__HTTP_CONTENT_LENGTH].there;
    struct tc_slice coding = value(h, TC__HTTP_TRANSFER_ENCODING);
    *out_chunked = coded;
    *out_length = 0;
    if ((coded && counted) || (coded && h->parser.http_minor == 0) ||
        (coded && !tc_slice_eq_nocase(coding, TC_LIT("chunked"))) ||
        (counted && !tc_slice_is_u64(value(h, TC__HTTP_CONTENT_LENGTH), out_length))) {
        (void)unclear_length(h);
        return false;
    }
    return true;
}

/* RFC 9112 3.2: HTTP/1.1 has a Host, which may be empty, and nothing stands in it that no host and
 * port have. */
static bool check_host(struct tc__http *h)
{
    struct tc_slice host = value(h, TC__HTTP_HOST);
    if (!h->fields[TC__HTTP_HOST].there && h->parser.http_minor > 0) {
        (void)bad(h, "a request without a Host header");
        return false;
    }
    for (size_t i = 0; i < host.len; i++) {
        char b = host.ptr[i];
        if (!tc_is_word(b) && (b == '\0' || strchr("-.~:[]%!$&'()*+,;=", b) == NULL)) {
            (void)bad(h, "the Host header is no host");
            return false;
        }
    }
    return true;
}

static enum tc_method method_of(const http_parser *p)
{
    switch (p->method) {
    case HTTP_GET:
        return TC_METHOD_GET;
    case HTTP_HEAD:
        return TC_METHOD_HEAD;
    case HTTP_POST:
        return TC_METHOD_POST;
    case HTTP_PUT:
        return TC_METHOD_PUT;
    default:
        return TC_METHOD_OTHER;
    }
}

bool tc__http_head_request(struct tc__http *h, bool *out_chunked, uint64_t *out_length)
{
    struct tc_request *r = &h->slot->request;
    r->protocol = TC_PROTOCOL_HTTP;
    r->method = method_of(&h->parser);
    if (h->parser.http_major != 1 || h->parser.http_minor > 1) {
        tc__http_refuse_with(h, 505, TC_COUNT_HTTP_BAD_VERSION, "this server speaks HTTP/1.1");
        return false;
    }
    if (h->fields[TC__HTTP_HOST].there) {
        r->host = value(h, TC__HTTP_HOST);
    }
    if (!body_framing(h, out_chunked, out_length) || !check_host(h) || !split_url(h, r)) {
        return false;
    }
    if (h->fields[TC__HTTP_EXPECT].there &&
        !tc_slice_eq_nocase(value(h, TC__HTTP_EXPECT), TC_LIT("100-continue"))) {
        tc__http_refuse_with(h, 417, TC_COUNT_HTTP_BAD_EXPECT,
                             "100-continue is all that can be expected");
        return false;
    }
    r->content_type = value(h, TC__HTTP_CONTENT_TYPE);
    r->content_encoding = value(h, TC__HTTP_CONTENT_ENCODING);
    r->authorization = value(h, TC__HTTP_AUTHORIZATION);
    r->origin = value(h, TC__HTTP_ORIGIN);
    r->fetch_site = value(h, TC__HTTP_FETCH_SITE);
    r->accept = value(h, TC__HTTP_ACCEPT);
    r->accept_encoding = value(h, TC__HTTP_ACCEPT_ENCODING);
    r->if_none_match = value(h, TC__HTTP_IF_NONE_MATCH);
    r->range = value(h, TC__HTTP_RANGE);
    r->last_event_id = value(h, TC__HTTP_LAST_EVENT_ID);
    r->mcp_version = value(h, TC__HTTP_MCP_VERSION);
    r->mcp_method = value(h, TC__HTTP_MCP_METHOD);
    r->mcp_name = value(h, TC__HTTP_MCP_NAME);
    r->tracecore_batch = value(h, TC__HTTP_TRACECORE_BATCH);
    return true;
}
