/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libarchive, loaded when the first archive is met: most inputs are plain files, and the program
 * starts without it and the libraries that it brings.
 */
#ifndef TC_INTAKE_ARCHIVE_LIBARCHIVE_PRIV_H
#define TC_INTAKE_ARCHIVE_LIBARCHIVE_PRIV_H

#include "base/status.h"

#include <archive.h>
#include <archive_entry.h>

/* One pointer for each function, of the type that the header gives it. */
struct tc__libarchive {
#define FUNCTION(name) __typeof__(&archive_##name) name;
#include "intake/archive/functions.def"
#undef FUNCTION
};

/* For the rest of the process's life; one thread. TC_E_UNSUPPORTED: there is none, or it is too
 * old. */
TC_CHECKED tc_status tc__libarchive_load(const struct tc__libarchive **out, struct tc_error *err);

#endif
