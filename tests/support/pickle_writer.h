/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes pickles of plain data (protocol 2) the way PyTorch's own pickler does:
 * each string is put into the memo the first time and fetched from it later, the
 * items of a container follow one MARK, the finished root gets the last memo id.
 * For tests and made-up dumps; out of memory aborts.
 */
#ifndef TC_TESTS_SUPPORT_PICKLE_WRITER_H
#define TC_TESTS_SUPPORT_PICKLE_WRITER_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero it, write, then tc_pickle_fini. data and len are what was written so far. */
struct tc_pickle {
    char *data;
    size_t len;
    size_t cap;
    uint32_t memo_count;
    struct tc_pickle_string *strings; /* by memo id */
    size_t string_cap;
};

/* PROTO 2; the first call. */
void tc_pickle_begin(struct tc_pickle *w);
/* A memo id for the root, and STOP; the last call. */
void tc_pickle_end(struct tc_pickle *w);
void tc_pickle_fini(struct tc_pickle *w);

static inline struct tc_slice tc_pickle_slice(const struct tc_pickle *w)
{
    return tc_slice_make(w->data, w->len);
}

/* Between open and close: key, value, key, value; or items. */
void tc_pickle_dict_open(struct tc_pickle *w);
void tc_pickle_dict_close(struct tc_pickle *w);
void tc_pickle_list_open(struct tc_pickle *w);
void tc_pickle_list_close(struct tc_pickle *w);
/* For tuples: tc_pickle_tuple_open, `count` items, tc_pickle_tuple_close with the same count. */
void tc_pickle_tuple_open(struct tc_pickle *w, size_t count);
void tc_pickle_tuple_close(struct tc_pickle *w, size_t count);

void tc_pickle_str(struct tc_pickle *w, struct tc_slice s);
void tc_pickle_int(struct tc_pickle *w, int64_t value);
void tc_pickle_float(struct tc_pickle *w, double value);
void tc_pickle_bool(struct tc_pickle *w, bool value);
void tc_pickle_none(struct tc_pickle *w);

/* Opcodes and arguments that PyTorch would not write. */
void tc_pickle_raw(struct tc_pickle *w, const void *bytes, size_t len);

/*
 * A whole pickle of what a JSON text says. The array under a key "process_group"
 * becomes a tuple, as PyTorch writes it. Aborts when the text is not JSON.
 */
void tc_pickle_json(struct tc_pickle *w, const char *text);

#endif
