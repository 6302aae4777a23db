/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A borrowed run of bytes: the type of every string that came from outside.
 * Never NUL-terminated, may hold any byte, owns nothing.
 */
#ifndef TC_BASE_SLICE_H
#define TC_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct tc_slice {
    const char *ptr;
    size_t len;
};

/* A slice of a string literal; its length is known at compile time. */
#define TC_LIT(s) ((struct tc_slice){(s), sizeof(s) - 1})
#define TC_EMPTY ((struct tc_slice){NULL, 0})
/* The items of an array that is no pointer. */
#define TC_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* For printf's "%.*s". */
#define TC_FMT(s) (int)((s).len > 4096 ? 4096 : (s).len), ((s).ptr == NULL ? "" : (s).ptr)

static inline struct tc_slice tc_slice_make(const char *ptr, size_t len)
{
    return (struct tc_slice){ptr, len};
}

static inline struct tc_slice tc_slice_cstr(const char *s)
{
    return (struct tc_slice){s, s == NULL ? 0 : strlen(s)};
}

/* Kinds of bytes, in ASCII and whatever the locale. */
static inline bool tc_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool tc_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A letter, a digit or '_'. */
static inline bool tc_is_word(char c)
{
    return tc_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Sixteen bytes at once, anywhere. */
typedef uint64_t tc_two_words __attribute__((vector_size(16), aligned(1), may_alias));

/* The same for fewer than sixteen bytes: their two halves, which may overlap. */
static inline bool tc_few_bytes_eq(const char *a, const char *b, size_t len)
{
    if (len >= 8) {
        uint64_t words[4];
        memcpy(&words[0], a, 8);
        memcpy(&words[1], b, 8);
        memcpy(&words[2], a + len - 8, 8);
        memcpy(&words[3], b + len - 8, 8);
        return ((words[0] ^ words[1]) | (words[2] ^ words[3])) == 0;
    }
    if (len >= 4) {
        uint32_t words[4];
        memcpy(&words[0], a, 4);
        memcpy(&words[1], b, 4);
        memcpy(&words[2], a + len - 4, 4);
        memcpy(&words[3], b + len - 4, 4);
        return ((words[0] ^ words[1]) | (words[2] ^ words[3])) == 0;
    }
    return len == 0 || (a[0] == b[0] && a[len / 2] == b[len / 2] && a[len - 1] == b[len - 1]);
}

/* memcmp for equality: without a call where the length is that of most names. */
static inline bool tc_bytes_eq(const char *a, const char *b, size_t len)
{
    if (len < 16) {
        return tc_few_bytes_eq(a, b, len);
    }
    if (len > 64) {
        return memcmp(a, b, len) == 0;
    }
    const char *a_end = a + len;
    const char *b_end = b + len;
    tc_two_words differ = *(const tc_two_words *)a ^ *(const tc_two_words *)b;
    differ |= *(const tc_two_words *)(a_end - 16) ^ *(const tc_two_words *)(b_end - 16);
    if (len > 32) {
        differ |= *(const tc_two_words *)(a + 16) ^ *(const tc_two_words *)(b + 16);
        differ |= *(const tc_two_words *)(a_end - 32) ^ *(const tc_two_words *)(b_end - 32);
    }
    return (differ[0] | differ[1]) == 0;
}

static inline bool tc_slice_eq(struct tc_slice a, struct tc_slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* The part of a path behind the last slash. */
struct tc_slice tc_path_base(struct tc_slice path);

/* Bytewise order, shorter first on a common prefix: <0, 0, >0. */
int tc_slice_cmp(struct tc_slice a, struct tc_slice b);

/* ASCII letters compare without case. */
bool tc_slice_eq_nocase(struct tc_slice a, struct tc_slice b);

static inline bool tc_slice_starts(struct tc_slice s, struct tc_slice prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

/* The place of s, or of what it starts with, in a list of strings that ends with NULL; -1. */
int tc_slice_which(struct tc_slice s, const char *const *words);
int tc_slice_which_start(struct tc_slice s, const char *const *words);

#define tc_slice_is_any(s, ...) (tc_slice_which((s), (const char *const[]){__VA_ARGS__, NULL}) >= 0)
#define tc_slice_starts_any(s, ...) \
    (tc_slice_which_start((s), (const char *const[]){__VA_ARGS__, NULL}) >= 0)

/* The row of a table whose `member`, a string, is s; TC_COUNT(table) when there is none. */
#define tc_slice_row(s, table, member) \
    tc_slice_find_row((s), &(table)[0].member, TC_COUNT(table), sizeof(table)[0], tc_slice_eq)
#define tc_slice_row_nocase(s, table, member)                                     \
    tc_slice_find_row((s), &(table)[0].member, TC_COUNT(table), sizeof(table)[0], \
                      tc_slice_eq_nocase)
/* The same from the place of the first such member and the size of a row. */
size_t tc_slice_find_row(struct tc_slice s, const char *const *first, size_t count,
                         size_t row_bytes, bool (*is_equal)(struct tc_slice a, struct tc_slice b));

static inline bool tc_slice_ends(struct tc_slice s, struct tc_slice suffix)
{
    return s.len >= suffix.len &&
           (suffix.len == 0 || memcmp(s.ptr + s.len - suffix.len, suffix.ptr, suffix.len) == 0);
}

/* From offset to the end; an offset past the end gives the empty slice. */
static inline struct tc_slice tc_slice_from(struct tc_slice s, size_t offset)
{
    return offset >= s.len ? (struct tc_slice){s.ptr == NULL ? NULL : s.ptr + s.len, 0}
                           : (struct tc_slice){s.ptr + offset, s.len - offset};
}

/* a, or b when a is empty. */
static inline struct tc_slice tc_slice_or(struct tc_slice a, struct tc_slice b)
{
    return a.len > 0 ? a : b;
}

/* The bytes of a UTF-8 byte order mark at the start of s: editors leave one. */
static inline size_t tc_slice_bom(struct tc_slice s)
{
    return tc_slice_starts(s, TC_LIT("\xef\xbb\xbf")) ? 3 : 0;
}

static inline struct tc_slice tc_slice_head(struct tc_slice s, size_t len)
{
    return (struct tc_slice){s.ptr, len < s.len ? len : s.len};
}

#define TC_NPOS SIZE_MAX

/* Offset of the first occurrence, or TC_NPOS. */
size_t tc_slice_find(struct tc_slice s, struct tc_slice needle);
size_t tc_slice_find_nocase(struct tc_slice s, struct tc_slice needle);
/* The last place. */
size_t tc_slice_find_last(struct tc_slice s, struct tc_slice needle);
size_t tc_slice_find_byte(struct tc_slice s, char byte);
/* How often the byte stands in s, at the speed of memory. */
size_t tc_slice_count(struct tc_slice s, char byte);

static inline bool tc_slice_contains(struct tc_slice s, struct tc_slice needle)
{
    return tc_slice_find(s, needle) != TC_NPOS;
}

/* The place of a word that s contains in a list of strings that ends with NULL; -1. */
int tc_slice_which_part(struct tc_slice s, const char *const *words);
#define tc_slice_contains_any(s, ...) \
    (tc_slice_which_part((s), (const char *const[]){__VA_ARGS__, NULL}) >= 0)

/* Without the ASCII white space at both ends. */
struct tc_slice tc_slice_trim(struct tc_slice s);

/* The part before the first `byte`, and *rest after it; all of s when absent. */
struct tc_slice tc_slice_cut(struct tc_slice s, char byte, struct tc_slice *out_rest);

/*
 * Numbers at the start of s. Return how many bytes were used, 0 when s does not
 * start with one or it does not fit; *out is untouched then.
 */
size_t tc_slice_u64(struct tc_slice s, uint64_t *out);
size_t tc_slice_i64(struct tc_slice s, int64_t *out);
size_t tc_slice_hex(struct tc_slice s, uint64_t *out);

/* True when all of s is one decimal number. */
bool tc_slice_is_u64(struct tc_slice s, uint64_t *out);
bool tc_slice_is_i64(struct tc_slice s, int64_t *out);

/* How many edits make one word of the other: for "did you mean". At most TC_DISTANCE_MAX, which is
 * also the answer for longer words. */
#define TC_DISTANCE_MAX 128
size_t tc_slice_distance(struct tc_slice a, struct tc_slice b);

/* 64-bit hash (XXH3) of the bytes. Not for anything that outlives the process. */
uint64_t tc_slice_hash(struct tc_slice s, uint64_t seed);

/* Mix two 64-bit values into one; for composite keys. */
static inline uint64_t tc_hash_mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdULL;
    return x ^ (x >> 32);
}

#endif
