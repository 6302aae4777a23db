/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a GPU. The kernel log knows it by node and PCI address, exporters
 * by UUID and by its index on the node; some events carry two of these, and then
 * all of them are known to be one GPU. Also who uses it, as exporters label it.
 *
 * Bounded: when the book is full, the GPU that was not heard of for longest is
 * forgotten first, about: who changes often does not push out who stays the same.
 */
#ifndef TC_DETECT_GPU_BOOK_PRIV_H
#define TC_DETECT_GPU_BOOK_PRIV_H

#include "detect/window_priv.h"

/* Everything known of a GPU; "" and -1 are not known. Good until the next tc__gpu_book_learn. */
struct tc_gpu {
    struct tc_window_head head;
    uint64_t id;   /* names the GPU in this book; never 0. What turns out to be one GPU keeps the
                      id that is known for longest. */
    uint64_t also; /* the last id that turned out to be this GPU too, 0 when none did: what is
                      kept under that one belongs to this one */
    struct tc_slice node;
    struct tc_slice uuid;
    struct tc_slice ns; /* who used it last; of several at one time the last by name */
    struct tc_slice pod;
    struct tc_slice container;
    int64_t user_ns; /* when that was told */
    struct tc_slice job;
    struct tc_bdf pci;
    int32_t index;
    int32_t rank;
    bool used; /* heard of since it was last moved to the young end */
};

struct tc_gpu_book {
    struct tc_window window;
    struct tc_arena *scratch;
    uint64_t last_id;
    uint64_t forgotten; /* GPUs that a full book pushed out */
};

/* What a book of so many bytes takes from an arena, about; a GPU takes some 300 bytes. */
#define TC_GPU_BOOK_ARENA_BYTES(bytes) ((bytes)*2)

/* False when the arena is full, or bytes is less than a few GPUs with long names take. */
bool tc__gpu_book_init(struct tc_gpu_book *book, struct tc_arena *arena, struct tc_arena *scratch,
                       size_t bytes);

/*
 * Takes in what a scope says of a GPU and gives all that is known of it; NULL when the scope
 * names none (no UUID, and no node with a PCI address or index), when a name is longer than
 * TC_SCOPE_TEXT_MAX, or when scratch is full.
 */
const struct tc_gpu *tc__gpu_book_learn(struct tc_gpu_book *book, const struct tc_scope *scope,
                                        int64_t time_ns);
/* The same without taking anything in: NULL when the GPU is not known. */
const struct tc_gpu *tc__gpu_book_find(const struct tc_gpu_book *book,
                                       const struct tc_scope *scope);
/* Fills in what scope does not say of its GPU. The slices are the book's. */
void tc__gpu_complete(const struct tc_gpu *gpu, struct tc_scope *scope);

#endif
