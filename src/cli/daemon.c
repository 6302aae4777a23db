/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/daemon.h"

#include "base/buf.h"
#include "base/format.h"
#include "base/json/json.h"
#include "base/time.h"
#include "cli/output/say.h"

#include <stdlib.h>

#define TIMEOUT_NS (5 * TC_SECOND)
#define HEADER_MAX 4096
/* Of what a daemon says about a refusal. */
#define REASON_MAX 240

bool tc_daemon_open(struct tc_daemon *d, const char *command, const char *url,
                    const struct tc_http_tls *tls)
{
    struct tc_error err = {0};
    *d = (struct tc_daemon){.command = command, .url = url};
    if (tc_http_client_create(url, TIMEOUT_NS, &d->client, &err) != TC_OK) {
        tc_say(command, "--api: %s", err.message);
        return false;
    }
    if (tls != NULL && tc_http_client_tls(d->client, tls, &err) != TC_OK) {
        tc_say(command, "%s", err.message);
        tc_daemon_close(d);
        return false;
    }
    return true;
}

void tc_daemon_close(struct tc_daemon *d)
{
    tc_http_client_destroy(d->client);
    *d = (struct tc_daemon){0};
}

/* "Authorization: Bearer ..." from the environment; empty without, or when it is no token. */
static struct tc_slice token_header(struct tc_buf *b)
{
    const char *token = getenv(TC_DAEMON_TOKEN);
    struct tc_slice text = token == NULL ? TC_EMPTY : tc_slice_trim(tc_slice_cstr(token));
    if (text.len == 0 || !tc_slice_is_plain(text)) {
        return TC_EMPTY;
    }
    (void)tc_format(b, "Authorization: Bearer {}\r\n", text);
    return b->overflowed ? TC_EMPTY : tc_buf_slice(b);
}

/* The detail of a problem (RFC 9457), or the first line of what was answered instead. Strings lie
 * in the parser. */
static struct tc_slice reason_of(struct tc_json_parser *parser, struct tc_slice body)
{
    struct tc_json root;
    struct tc_slice rest;
    struct tc_error err = {0};
    struct tc_slice detail = TC_EMPTY;
    if (parser != NULL && tc_json_parse(parser, body, &root, &err) == TC_OK) {
        detail = tc_json_get_string(root, TC_LIT("detail"));
    }
    return detail.len > 0 ? detail : tc_slice_trim(tc_slice_cut(tc_slice_trim(body), '\n', &rest));
}

/* What it answered instead, which says why, and the remedy where there is one. */
static void say_refusal(const struct tc_daemon *d, const char *path,
                        const struct tc_http_reply *reply)
{
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_slice why = reason_of(parser, reply->body);
    bool is_host = tc_slice_find(why, TC_LIT("server.allowed_hosts")) != TC_NPOS;
    const char *remedy = (reply->status == 401 || reply->status == 403) && !is_host
                             ? "; put a token with the scope 'read' into " TC_DAEMON_TOKEN
                             : "";
    why = tc_slice_head(why, REASON_MAX);
    tc_say(d->command, "%s answered %d to %s: %.*s%s", d->url, reply->status, path,
           TC_FMT(why.len > 0 ? why : TC_LIT("it does not say why")), remedy);
    tc_json_parser_destroy(parser);
}

tc_status tc_daemon_call(struct tc_daemon *d, const char *path, struct tc_http_reply *out_reply,
                         struct tc_error *err)
{
    char text[HEADER_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    return tc_http_client_call(d->client, "GET", path, token_header(&b), TC_EMPTY, out_reply, err);
}

bool tc_daemon_get(struct tc_daemon *d, const char *path, struct tc_slice *out_body)
{
    struct tc_http_reply reply;
    struct tc_error err = {0};
    if (tc_daemon_call(d, path, &reply, &err) != TC_OK) {
        if (!d->silent) {
            tc_say(
                d->command,
                "no daemon answers at %s (%s); start one with 'tracecore serve', or say where it "
                "is with --api URL",
                d->url, err.message);
        }
        return false;
    }
    if (reply.status != 200) {
        say_refusal(d, path, &reply);
        return false;
    }
    *out_body = reply.body;
    return true;
}
