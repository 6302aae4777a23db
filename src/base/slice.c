/* SPDX-License-Identifier: Apache-2.0 */
#include "base/slice.h"

/* Its memcpy of a word is a call under _FORTIFY_SOURCE; a packed read is one instruction. */
#define XXH_FORCE_MEMORY_ACCESS 1
#define XXH_INLINE_ALL
#include <xxhash.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Needles up to here are compared where their first byte is found: at most so much work per byte.
 */
#define NEEDLE_SHORT 16

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

int tc_slice_cmp(struct tc_slice a, struct tc_slice b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n == 0 ? 0 : memcmp(a.ptr, b.ptr, n);
    if (order != 0) {
        return order;
    }
    return a.len < b.len ? -1 : a.len > b.len;
}

static bool same_nocase(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (lower(a[i]) != lower(b[i])) {
            return false;
        }
    }
    return true;
}

bool tc_slice_eq_nocase(struct tc_slice a, struct tc_slice b)
{
    return a.len == b.len && same_nocase(a.ptr, b.ptr, a.len);
}

static inline int which(struct tc_slice s, const char *const *words,
                        bool (*fits)(struct tc_slice s, struct tc_slice word))
{
    for (int i = 0; words[i] != NULL; i++) {
        if (fits(s, tc_slice_cstr(words[i]))) {
            return i;
        }
    }
    return -1;
}

int tc_slice_which(struct tc_slice s, const char *const *words)
{
    return which(s, words, tc_slice_eq);
}

int tc_slice_which_start(struct tc_slice s, const char *const *words)
{
    return which(s, words, tc_slice_starts);
}

int tc_slice_which_part(struct tc_slice s, const char *const *words)
{
    return which(s, words, tc_slice_contains);
}

size_t tc_slice_find_row(struct tc_slice s, const char *const *first, size_t count,
                         size_t row_bytes, bool (*is_equal)(struct tc_slice a, struct tc_slice b))
{
    const char *at = (const char *)first;
    size_t row = 0;
    while (row < count && !is_equal(s, tc_slice_cstr(*(const char *const *)(const void *)at))) {
        row++;
        at += row_bytes;
    }
    return row;
}

size_t tc_slice_find(struct tc_slice s, struct tc_slice needle)
{
    if (needle.len == 0) {
        return 0;
    }
    if (s.len < needle.len) {
        return TC_NPOS;
    }
    if (needle.len > NEEDLE_SHORT) {
        const char *hit = memmem(s.ptr, s.len, needle.ptr, needle.len);
        return hit == NULL ? TC_NPOS : (size_t)(hit - s.ptr);
    }
    /* memmem makes a table first, which costs more than to look at a line of a log. */
    const char *end = s.ptr + s.len - needle.len + 1;
    for (const char *at = s.ptr;
         at < end && (at = memchr(at, needle.ptr[0], (size_t)(end - at))) != NULL; at++) {
        if (memcmp(at, needle.ptr, needle.len) == 0) {
            return (size_t)(at - s.ptr);
        }
    }
    return TC_NPOS;
}

size_t tc_slice_find_last(struct tc_slice s, struct tc_slice needle)
{
    while (needle.len > 0 && s.len >= needle.len) {
        const char *last = memrchr(s.ptr, needle.ptr[0], s.len - needle.len + 1);
        if (last == NULL) {
            break;
        }
        size_t at = (size_t)(last - s.ptr);
        if (memcmp(last, needle.ptr, needle.len) == 0) {
            return at;
        }
        s.len = at + needle.len - 1;
    }
    return TC_NPOS;
}

size_t tc_slice_find_nocase(struct tc_slice s, struct tc_slice needle)
{
    if (needle.len == 0) {
        return 0;
    }
    for (size_t i = 0; i + needle.len <= s.len; i++) {
        if (same_nocase(s.ptr + i, needle.ptr, needle.len)) {
            return i;
        }
    }
    return TC_NPOS;
}

size_t tc_slice_find_byte(struct tc_slice s, char byte)
{
    const char *hit = s.len == 0 ? NULL : memchr(s.ptr, byte, s.len);
    return hit == NULL ? TC_NPOS : (size_t)(hit - s.ptr);
}

#if defined(__SSE2__)
#define VECTOR_BYTES sizeof(__m128i)
/* So many vectors before a count of one of its bytes could overflow. */
#define VECTORS_MAX 255

static size_t count_vectors(const char *p, size_t vectors, char byte)
{
    const __m128i wanted = _mm_set1_epi8(byte);
    __m128i counts = _mm_setzero_si128();
    for (size_t i = 0; i < vectors; i++) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)(p + i * VECTOR_BYTES));
        counts = _mm_sub_epi8(counts, _mm_cmpeq_epi8(text, wanted));
    }
    __m128i sums = _mm_sad_epu8(counts, _mm_setzero_si128());
    return (size_t)_mm_cvtsi128_si64(sums) +
           (size_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums));
}
#endif

size_t tc_slice_count(struct tc_slice s, char byte)
{
    size_t count = 0;
    size_t at = 0;
#if defined(__SSE2__)
    while (s.len - at >= VECTOR_BYTES) {
        size_t vectors = (s.len - at) / VECTOR_BYTES;
        vectors = vectors < VECTORS_MAX ? vectors : VECTORS_MAX;
        count += count_vectors(s.ptr + at, vectors, byte);
        at += vectors * VECTOR_BYTES;
    }
#endif
    for (; at < s.len; at++) {
        count += s.ptr[at] == byte;
    }
    return count;
}

struct tc_slice tc_slice_trim(struct tc_slice s)
{
    while (s.len > 0 && is_space(s.ptr[0])) {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && is_space(s.ptr[s.len - 1])) {
        s.len--;
    }
    return s;
}

struct tc_slice tc_slice_cut(struct tc_slice s, char byte, struct tc_slice *out_rest)
{
    size_t at = tc_slice_find_byte(s, byte);
    if (at == TC_NPOS) {
        *out_rest = tc_slice_from(s, s.len);
        return s;
    }
    *out_rest = tc_slice_from(s, at + 1);
    return tc_slice_head(s, at);
}

size_t tc_slice_u64(struct tc_slice s, uint64_t *out)
{
    uint64_t value = 0;
    size_t i = 0;
    for (; i < s.len && tc_is_digit(s.ptr[i]); i++) {
        uint64_t digit = (uint64_t)(s.ptr[i] - '0');
        /* Fewer than twenty digits always fit. */
        if (i >= 19 && value > (UINT64_MAX - digit) / 10) {
            return 0;
        }
        value = value * 10 + digit;
    }
    if (i > 0) {
        *out = value;
    }
    return i;
}

size_t tc_slice_i64(struct tc_slice s, int64_t *out)
{
    bool negative = s.len > 0 && s.ptr[0] == '-';
    uint64_t magnitude = 0;
    size_t used = tc_slice_u64(tc_slice_from(s, negative), &magnitude);
    if (used == 0 || magnitude > (uint64_t)INT64_MAX + negative) {
        return 0;
    }
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return used + negative;
}

size_t tc_slice_hex(struct tc_slice s, uint64_t *out)
{
    uint64_t value = 0;
    size_t i = 0;
    for (; i < s.len && i <= 16; i++) {
        unsigned c = (unsigned char)s.ptr[i];
        unsigned digit = c - '0';
        unsigned letter = (c | 0x20) - 'a'; /* of either case */
        if (digit > 9) {
            if (letter > 5) {
                break;
            }
            digit = letter + 10;
        }
        value = (value << 4) | digit;
    }
    if (i == 0 || i > 16) {
        return 0;
    }
    *out = value;
    return i;
}

bool tc_slice_is_u64(struct tc_slice s, uint64_t *out)
{
    uint64_t value = 0;
    if (s.len == 0 || tc_slice_u64(s, &value) != s.len) {
        return false;
    }
    *out = value;
    return true;
}

bool tc_slice_is_i64(struct tc_slice s, int64_t *out)
{
    int64_t value = 0;
    if (s.len == 0 || tc_slice_i64(s, &value) != s.len) {
        return false;
    }
    *out = value;
    return true;
}

uint64_t tc_slice_hash(struct tc_slice s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.ptr == NULL ? "" : s.ptr, s.len, seed);
}

size_t tc_slice_distance(struct tc_slice a, struct tc_slice b)
{
    size_t row[TC_DISTANCE_MAX + 1];
    if (a.len > TC_DISTANCE_MAX || b.len > TC_DISTANCE_MAX) {
        return TC_DISTANCE_MAX;
    }
    for (size_t j = 0; j <= b.len; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t change = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
            size_t add = row[j - 1] + 1;
            size_t drop = row[j] + 1;
            diagonal = row[j];
            row[j] = change < add ? change : add;
            row[j] = row[j] < drop ? row[j] : drop;
        }
    }
    return row[b.len];
}

struct tc_slice tc_path_base(struct tc_slice path)
{
    for (size_t i = path.len; i > 0; i--) {
        if (path.ptr[i - 1] == '/') {
            return tc_slice_from(path, i);
        }
    }
    return path;
}
