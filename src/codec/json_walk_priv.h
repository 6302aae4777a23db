/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking JSON text to the arrays that hold what a codec reads. A large list is
 * never parsed as a whole: its elements are cut out one at a time, so that memory
 * follows the largest element, each event points at the exact bytes of its own,
 * and a file that was cut off gives what came before the cut. Only what is cut
 * out is parsed; the text around it is walked by its brackets and strings.
 */
#ifndef TC_CODEC_JSON_WALK_PRIV_H
#define TC_CODEC_JSON_WALK_PRIV_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct tc__json_walk {
    struct tc_slice text; /* offsets count from its start; nothing is read behind its end */
    struct tc_error *err;
    void *context; /* for the functions of the lists */
    /* The walk itself failed: brackets, commas or keys are not where JSON has them. */
    bool is_broken;
};

/*
 * An array at a place we know. Its elements are either cut out and read, or objects to walk
 * into: with `walk`, *io_at is at the object's opening bracket, and afterwards behind the closing
 * one. Elements that are no objects go to `read`. `of` is what the caller of the walk gave.
 */
struct tc__json_list {
    struct tc_slice key; /* the member that holds it */
    tc_status (*read)(struct tc__json_walk *w, struct tc_slice json, size_t at, const void *of);
    tc_status (*walk)(struct tc__json_walk *w, size_t *io_at, const void *of);
};

size_t tc__json_skip_space(struct tc_slice s, size_t at);

/* Behind a byte order mark and white space. */
static inline size_t tc__json_start(struct tc_slice bytes)
{
    return tc__json_skip_space(bytes, tc_slice_bom(bytes));
}

static inline bool tc__json_byte_is(struct tc_slice text, size_t at, char c)
{
    return at < text.len && text.ptr[at] == c;
}

/* *io_at is at the opening bracket; afterwards behind the closing one, or where it broke. */
TC_CHECKED tc_status tc__json_walk_array(struct tc__json_walk *w, size_t *io_at,
                                         const struct tc__json_list *list, const void *of);
/*
 * Walks the object at *io_at, into those of its members that are listed and arrays. Duplicate
 * members are all walked. *out_found is set when one of them is there.
 */
TC_CHECKED tc_status tc__json_walk_object(struct tc__json_walk *w, size_t *io_at,
                                          const struct tc__json_list *lists, size_t count,
                                          const void *of, bool *out_found);
/* True when the first object of the text, or of the array it starts with, has one of the members;
 * *out_at is at its value. */
bool tc__json_has_member(struct tc_slice text, size_t at, const char *const *keys, size_t count,
                         size_t *out_at);
/*
 * A document that could not be walked to its end is skipped where its brackets say where it ends:
 * moves *io_at, which is at its start, behind it.
 */
bool tc__json_skip_broken(struct tc__json_walk *w, size_t *io_at);

#endif
