/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts, as they are written in addresses. */
#ifndef TC_BASE_OS_HOST_H
#define TC_BASE_OS_HOST_H

#include "base/slice.h"

#include <stdbool.h>

/*
 * Whether a host can only be this one: "localhost", a number of 127.0.0.0/8, ::1, without brackets.
 * A name that only begins so ("127.0.0.1.example.com") is somebody's, who decides where it leads.
 */
bool tc_host_is_loopback(struct tc_slice host);

#endif
