/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the dashboard, as they lie in the program. cmake/web.cmake generates the table when
 * the dashboard is built (TC_WEB); without it ui_none.c has one page that says how to build it.
 */
#ifndef TC_SERVER_API_UI_FILES_H
#define TC_SERVER_API_UI_FILES_H

#include <stdbool.h>
#include <stddef.h>

struct tc_ui_file {
    const char *path;           /* "/index.html", "/assets/index-4f2a9c01.js" */
    const char *content_type;   /* "text/html; charset=utf-8" */
    const char *etag;           /* of the content, with its quotes: "\"4f2a...\"" */
    const unsigned char *bytes; /* as they are sent: gzip with is_gzip, else the content itself */
    size_t len;
    bool is_gzip;
    bool is_hashed; /* the name holds a digest of the content: it may be kept for good */
};

/* "/index.html" is always one of them. */
extern const struct tc_ui_file tc_ui_files[];
extern const size_t tc_ui_file_count;

#endif
