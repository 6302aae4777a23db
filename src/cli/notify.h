/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the service manager that the daemon is up (sd_notify(3) says how: one datagram to
 * $NOTIFY_SOCKET, so libsystemd is not needed for it). Nothing happens without one.
 */
#ifndef TC_CLI_NOTIFY_H
#define TC_CLI_NOTIFY_H

void tc_notify_ready(void);

#endif
