/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the HTTP API, up to the point where a question would be answered: a line each for
 * the path, the query, Range, If-None-Match and Accept-Encoding. */
#include "answers/cursor.h"
#include "base/assert.h"
#include "server/api/http.h"
#include "server/api/priv.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_cursor(const struct tc_question *q)
{
    for (size_t i = 0; i < q->param_count; i++) {
        if (strcmp(q->params[i].name, "cursor") == 0) {
            return true;
        }
    }
    return false;
}

static void ask(const struct tc_route *route, struct tc_slice query)
{
    struct tc_asked *asked = malloc(sizeof *asked);
    struct tc_cursor *cursor = malloc(sizeof *cursor);
    char *room = malloc(query.len + 1);
    struct tc_error err = {0};
    tc_status status = TC_OK;
    TC_ASSERT(asked != NULL && cursor != NULL && room != NULL);
    tc_asked_init(asked, route->question, 0);
    for (size_t i = 0; i < route->part_count && status == TC_OK; i++) {
        status = tc_asked_add(asked, route->parts[i].name, route->parts[i].value, &err);
    }
    status = status == TC_OK ? tc__api_read_query(asked, query, room, &err) : status;
    status = status == TC_OK ? tc_asked_complete(asked, &err) : status;
    if (status == TC_OK && has_cursor(route->question)) {
        status = tc_cursor_read(asked, cursor, &err);
    }
    TC_ASSERT(status == TC_OK || err.message[0] != '\0');
    free(room);
    free(cursor);
    free(asked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum tc_method methods[] = {TC_METHOD_GET, TC_METHOD_HEAD, TC_METHOD_POST,
                                             TC_METHOD_OTHER};
    struct tc_slice rest = tc_slice_make((const char *)data, size);
    struct tc_slice path = tc_slice_cut(rest, '\n', &rest);
    struct tc_slice query = tc_slice_cut(rest, '\n', &rest);
    struct tc_slice range = tc_slice_cut(rest, '\n', &rest);
    struct tc_slice tags = tc_slice_cut(rest, '\n', &rest);
    uint64_t first = 0;
    uint64_t length = 0;
    for (size_t i = 0; i < TC_COUNT(methods); i++) {
        struct tc_route route;
        tc_route_find(path, methods[i], &route);
        TC_ASSERT(route.question == NULL || route.is_path);
        if (route.question != NULL) {
            ask(&route, query);
        }
    }
    enum tc_http_range kind = tc_http_range_of(range, &first, &length);
    TC_ASSERT(kind != TC_HTTP_RANGE_FROM || length > 0);
    (void)tc_http_has_tag(tags, TC_LIT("\"a\""));
    (void)tc_http_takes_gzip(rest);
    return 0;
}
