/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows log files: as many as patterns match, through rotation by rename, by copy and truncation
 * and by deletion, from where an earlier process was. docs/internals/sources.md says how.
 */
#ifndef TC_SOURCE_FILES_FILES_H
#define TC_SOURCE_FILES_FILES_H

#include "source/source.h"

/* Files that are followed at once. */
#define TC_FILES_MAX ((size_t)65536)

struct tc_files_config {
    struct tc_slice paths; /* a line each: "PATTERN [format=F] [node=N] [job=J] [tz=Z]" */
    struct tc_slice node;  /* of files that name none */
    struct tc_slice tz;    /* of files that state none */
    bool from_end;         /* files that are there at the very first look are not read again */
    int64_t poll_ns;
    size_t line_max; /* at most TC_SOURCE_CHUNK_MAX */
    size_t open_max;
};

extern const struct tc_source_kind tc_source_files;

/* Copies all. TC_E_USAGE: a pattern is none, and err says which. TC_E_NOMEM. */
TC_CHECKED tc_status tc_files_create(const struct tc_files_config *config, void **out_state,
                                     struct tc_error *err);

#endif
