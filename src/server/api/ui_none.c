/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown when the program was built without its dashboard. */
#include "server/api/ui_files.h"

#ifndef TC_WEB

static const char PAGE[] =
    "<!doctype html>\n"
    "<html lang=\"en\">\n"
    "<head><meta charset=\"utf-8\"><title>tracecore</title></head>\n"
    "<body>\n"
    "<h1>tracecore</h1>\n"
    "<p>This program was built without its dashboard (<code>-DTC_WEB=OFF</code>). With Node 18 or "
    "later, <code>./dev build</code> builds it in.</p>\n"
    "<p>The HTTP API is here: <a href=\"/api/v1/openapi.json\">/api/v1/openapi.json</a>.</p>\n"
    "</body>\n"
    "</html>\n";

const struct tc_ui_file tc_ui_files[] = {
    {.path = "/index.html",
     .content_type = "text/html; charset=utf-8",
     .etag = "\"none-1\"",
     .bytes = (const unsigned char *)PAGE,
     .len = sizeof PAGE - 1},
};
const size_t tc_ui_file_count = sizeof tc_ui_files / sizeof tc_ui_files[0];

#endif
