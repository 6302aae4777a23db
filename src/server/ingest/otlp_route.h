/* SPDX-License-Identifier: Apache-2.0 */
/* Which OTLP request it is: the signal by its path, the encoding by its type. */
#ifndef TC_SERVER_INGEST_OTLP_ROUTE_H
#define TC_SERVER_INGEST_OTLP_ROUTE_H

#include "codec/otlp/wire.h"
#include "evidence/store.h"
#include "net/request.h"

#include <stdbool.h>

/* False: there is no such path. */
bool tc_otlp_route(const struct tc_request *r, enum tc_otlp_signal *out);
/* False: its type is none of OTLP's; *out is JSON then. */
bool tc_otlp_form_of(const struct tc_request *r, enum tc_otlp_form *out);
/* What its body is in the store. */
enum tc_batch_kind tc_otlp_batch_kind(enum tc_otlp_signal signal, enum tc_otlp_form form);

#endif
