/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/daemon.h"

#include "base/buf.h"
#include "base/format.h"
#include "base/time.h"
#include "cli/say.h"

#include <stdlib.h>

#define TIMEOUT_NS (5 * TC_SECOND)
#define HEADER_MAX 4096

bool tc_daemon_open(struct tc_daemon *d, const char *command, const char *url)
{
    struct tc_error err = {0};
    *d = (struct tc_daemon){.command = command, .url = url};
    if (tc_http_client_create(url, TIMEOUT_NS, &d->client, &err) != TC_OK) {
        tc_say(command, "--api: %s", err.message);
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

bool tc_daemon_get(struct tc_daemon *d, const char *path, struct tc_slice *out_body)
{
    char text[HEADER_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_http_reply reply;
    struct tc_error err = {0};
    if (tc_http_client_call(d->client, "GET", path, token_header(&b), TC_EMPTY, &reply, &err) !=
        TC_OK) {
        if (!d->silent) {
            tc_say(
                d->command,
                "no daemon answers at %s (%s); start one with 'tracecore serve', or say where it "
                "is with --api URL",
                d->url, err.message);
        }
        return false;
    }
    if (reply.status == 401 || reply.status == 403) {
        tc_say(d->command,
               "%s answered %d: put a token with the scope 'read' into " TC_DAEMON_TOKEN, d->url,
               reply.status);
        return false;
    }
    if (reply.status != 200) {
        tc_say(d->command, "%s answered %d to %s", d->url, reply.status, path);
        return false;
    }
    *out_body = reply.body;
    return true;
}
