/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes that go on after a signal and until all is done. */
#ifndef TC_BASE_OS_IO_H
#define TC_BASE_OS_IO_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Up to size bytes, fewer only at the end; how many, or -1 with errno. */
ssize_t tc_io_read(int fd, char *out, size_t size);
/* The same of a file; "-" is standard input. */
ssize_t tc_io_read_path(const char *path, char *out, size_t size);
/* False, with errno, when not all of it was written. */
bool tc_io_write(int fd, struct tc_slice bytes);

/* TC_E_IO with what errno says behind `what` and a colon. */
tc_status tc_fail_errno(struct tc_error *err, const char *what);

#endif
