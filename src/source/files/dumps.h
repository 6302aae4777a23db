/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders in which PyTorch leaves its Flight Recorder dumps. A dump is taken as a whole file, once,
 * when it is complete: it did not change between two looks, and it ends as a pickle or a JSON
 * document does. One that is written anew is taken again.
 */
#ifndef TC_SOURCE_FILES_DUMPS_H
#define TC_SOURCE_FILES_DUMPS_H

#include "source/source.h"

/* A dump that is longer is not taken, and said. */
#define TC_DUMP_BYTES_MAX ((size_t)64 << 20)
#define TC_DUMPS_MAX ((size_t)65536)

struct tc_dumps_config {
    struct tc_slice paths; /* as those of files.h */
    int64_t poll_ns;
};

extern const struct tc_source_kind tc_source_dumps;

/* Copies all. TC_E_USAGE: a pattern is none. TC_E_NOMEM. */
TC_CHECKED tc_status tc_dumps_create(const struct tc_dumps_config *config, void **out_state,
                                     struct tc_error *err);
/* Whether the bytes are a whole dump, as far as can be told without reading it. */
bool tc_dump_is_whole(struct tc_slice bytes);

#endif
