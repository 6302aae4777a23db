/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC over HTTP/2 (tc_proto_grpc of net.h): unary calls become requests, the health service
 * (grpc.health.v1) is answered here. Belongs to the loop's thread.
 */
#ifndef TC_NET_HTTP2_HTTP2_H
#define TC_NET_HTTP2_HTTP2_H

#include <stdbool.h>

/* What the health service says from now on, and tells those who watch. Not serving at start. */
void tc_grpc_health_set(bool serving);

#endif
