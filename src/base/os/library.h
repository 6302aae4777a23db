/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared libraries that are loaded when they are first needed: most commands never touch them, and
 * the program starts without them. Their functions are called through a table of pointers, which a
 * .def file of names declares and fills.
 */
#ifndef TC_BASE_OS_LIBRARY_H
#define TC_BASE_OS_LIBRARY_H

#include "base/status.h"

#include <stddef.h>

/* A path, or a name for the system's search. NULL: err (may be NULL) says why, as the loader does.
 */
void *tc_library_open(const char *path, struct tc_error *err);
void tc_library_close(void *library);

/*
 * Writes the addresses of `count` functions to out_table, which is as many function pointers in the
 * order of the names. Returns the first name that the library lacks, its pointer being NULL then;
 * NULL when it has them all.
 */
const char *tc_library_bind(void *library, const char *const *names, size_t count, void *out_table);

/*
 * Lets go of the pages of its code and constants, which are as they are in the file: what is called
 * again comes back from there, or from the kernel's cache. For a large library that has a lot to do
 * when it starts, and little afterwards.
 */
void tc_library_rest(void *library);

#endif
