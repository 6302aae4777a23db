/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /api/v1/upload?name=FILE: any file that `tracecore detect` reads becomes evidence and is
 * detected on. The name is only a label: it never becomes a path.
 */
#ifndef TC_SERVER_INGEST_UPLOAD_H
#define TC_SERVER_INGEST_UPLOAD_H

#include "server/ingest/ingest.h"

struct tc_upload;

/* Borrows the parts. NULL when there is no memory. */
struct tc_upload *tc_upload_create(const struct tc_ingest_parts *parts, const char *spool_dir);
void tc_upload_destroy(struct tc_upload *u);

/* Before the body: OK, or why not. */
enum tc_answer tc_upload_begin(struct tc_upload *u, struct tc_request *head, size_t *io_body_max,
                               struct tc_response *out_refusal);
void tc_upload_handle(struct tc_upload *u, struct tc_request *r);

#endif
