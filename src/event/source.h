/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of a run: struct tc_raw names one by index. The digest is computed
 * when a verdict first needs it, by whoever holds the bytes.
 */
#ifndef TC_EVENT_SOURCE_H
#define TC_EVENT_SOURCE_H

#include "base/slice.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define TC_DIGEST_TEXT_MAX 71 /* "sha256:" and 64 hex digits */

/* What a renderer needs to know about one source. */
struct tc_source_view {
    struct tc_slice name;   /* path as the user gave it */
    struct tc_slice digest; /* "sha256:..." of the file */
    struct tc_slice member; /* offsets count in this member of that file, an archive; empty */
    struct tc_slice bytes;  /* the content, for quoting; may be empty */
    struct tc_slice store;  /* data_dir of the daemon that has it, where it has no name; empty */
};

/* False when index is unknown or the digest could not be made. Borrows nothing; the view
 * lives as long as the sources. */
typedef bool (*tc_source_fn)(void *context, uint32_t index, struct tc_source_view *out);

struct tc_sources {
    tc_source_fn view;
    void *context;
};

#endif
