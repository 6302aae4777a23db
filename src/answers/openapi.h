/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenAPI 3.1 description of the HTTP API, made from the table of questions. */
#ifndef TC_ANSWERS_OPENAPI_H
#define TC_ANSWERS_OPENAPI_H

#include "base/json/out.h"

/* One object, the same for every build: schemas/openapi.json is a copy. */
void tc_openapi_write(struct tc_json_out *j);

#endif
