/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dashboard: files that lie in the program. They hold nothing secret and need no token; what
 * they show comes from the API, which asks for one. A strict policy keeps everything on the page of
 * this origin: no scripts, styles or requests from elsewhere, and none inline.
 */
#ifndef TC_SERVER_API_UI_H
#define TC_SERVER_API_UI_H

#include "net/inflate.h"
#include "net/pool.h"
#include "net/request.h"
#include "server/api/ui_files.h"

/*
 * The file for a path; NULL: there is none. The pages of the dashboard are one file: its index is
 * also what a browser gets that goes to an address within it (Accept: text/html).
 */
const struct tc_ui_file *tc_ui_find(const struct tc_request *r);
/* Answers a GET or HEAD with it. The pool and the inflater are for who takes no gzip. */
void tc_ui_respond(struct tc_request *r, const struct tc_ui_file *file, struct tc_pool *pool,
                   struct tc_inflater *inflater);

#endif
