/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scan.h"

#include "base/assert.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define VECTOR_BYTES 32U
#endif

/* A run of text under search. `at` is where to go on; found when which < count. */
struct search {
    const uint8_t *text;
    size_t len;
    size_t at;
    unsigned which;
};

static bool machine_has(enum tc_scan_path path)
{
    switch (path) {
    case TC_SCAN_SCALAR:
        return true;
    case TC_SCAN_AVX2:
#if defined(__x86_64__)
        return __builtin_cpu_supports("avx2") != 0;
#else
        return false;
#endif
    }
    return false;
}

/* The first TC_SCAN_PREFIX bytes as one number, to be compared at once. */
static inline uint32_t prefix_at(const void *p)
{
    uint32_t prefix;
    _Static_assert(sizeof prefix == TC_SCAN_PREFIX, "a prefix is one number");
    memcpy(&prefix, p, sizeof prefix);
    return prefix;
}

/* Where the table of prefixes has this one. */
static inline uint32_t print_of(uint32_t prefix)
{
    _Static_assert(TC_SCAN_PRINTS == 1 << 14, "the highest 14 bits of the product");
    return (prefix * UINT32_C(0x9e3779b1)) >> 18;
}

static inline bool is_print(const struct tc_scan *s, uint32_t prefix)
{
    uint32_t print = print_of(prefix);
    return (s->prints[print / 64] >> (print % 64) & 1) != 0;
}

void tc_scan_init(struct tc_scan *s, const struct tc_slice *literals, size_t count)
{
    tc_scan_init_in(s, literals, NULL, count);
}

void tc_scan_init_in(struct tc_scan *s, const struct tc_slice *literals, const uint8_t *buckets,
                     size_t count)
{
    TC_ASSERT(count > 0 && count <= TC_SCAN_LITERALS_MAX);
    memset(s, 0, sizeof *s);
    s->literals = literals;
    s->count = count;
    s->path = machine_has(TC_SCAN_AVX2) ? TC_SCAN_AVX2 : TC_SCAN_SCALAR;
    for (size_t i = 0; i < count; i++) {
        TC_ASSERT(literals[i].len >= TC_SCAN_PREFIX);
        s->prefixes[i] = prefix_at(literals[i].ptr);
        uint32_t print = print_of(s->prefixes[i]);
        s->prints[print / 64] |= UINT64_C(1) << (print % 64);
        /* Literals that start alike share a bucket: that keeps its first table small. */
        unsigned bucket =
            (buckets == NULL ? (uint8_t)literals[i].ptr[0] : buckets[i]) % TC_SCAN_BUCKETS;
        uint8_t bit = (uint8_t)(1U << bucket);
        s->members[bucket] |= UINT64_C(1) << i;
        for (size_t j = 0; j < TC_SCAN_PREFIX; j++) {
            uint8_t c = (uint8_t)literals[i].ptr[j];
            s->low[j][c & 15] |= bit;
            s->high[j][c >> 4] |= bit;
            s->bytes[j][c] |= bit;
        }
    }
}

bool tc_scan_use(struct tc_scan *s, enum tc_scan_path path)
{
    if (!machine_has(path)) {
        return false;
    }
    s->path = path;
    return true;
}

static inline unsigned buckets_at(const struct tc_scan *s, const uint8_t *p)
{
    return s->bytes[0][p[0]] & s->bytes[1][p[1]] & s->bytes[2][p[2]] & s->bytes[3][p[3]];
}

/* Whether a literal stands at `at`, which has at least TC_SCAN_PREFIX bytes after it. */
static bool verify(const struct tc_scan *s, struct search *q, size_t at)
{
    const uint8_t *p = q->text + at;
    unsigned buckets = buckets_at(s, p);
    uint32_t prefix = prefix_at(p);
    uint64_t candidates = 0;
    for (; buckets != 0; buckets &= buckets - 1) {
        candidates |= s->members[__builtin_ctz(buckets)];
    }
    for (; candidates != 0; candidates &= candidates - 1) {
        unsigned which = (unsigned)__builtin_ctzll(candidates);
        if (s->prefixes[which] != prefix) {
            continue;
        }
        struct tc_slice literal = s->literals[which];
        if (literal.len <= q->len - at && memcmp(literal.ptr, p, literal.len) == 0) {
            q->at = at;
            q->which = which;
            return true;
        }
    }
    return false;
}

static bool search_scalar(const struct tc_scan *s, struct search *q)
{
    const uint8_t *p = q->text;
    for (size_t at = q->at; at + TC_SCAN_PREFIX <= q->len; at++) {
        if (buckets_at(s, p + at) != 0 && verify(s, q, at)) {
            return true;
        }
    }
    return false;
}

#if defined(__x86_64__)

struct tables {
    __m256i low[TC_SCAN_PREFIX];
    __m256i high[TC_SCAN_PREFIX];
};

__attribute__((target("avx2"))) static inline __m256i load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

__attribute__((target("avx2"))) static inline __m256i table(const uint8_t *nibbles)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)nibbles));
}

/* The buckets that byte `position` of the prefix leaves open, for 32 places. */
__attribute__((target("avx2"))) static inline __m256i open_buckets(const struct tables *t,
                                                                   size_t position, __m256i text)
{
    const __m256i nibble = _mm256_set1_epi8(15);
    __m256i low = _mm256_and_si256(text, nibble);
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(text, 4), nibble);
    return _mm256_and_si256(_mm256_shuffle_epi8(t->low[position], low),
                            _mm256_shuffle_epi8(t->high[position], high));
}

/* The same for the whole prefix. Reads TC_SCAN_PREFIX - 1 bytes more than 32. */
__attribute__((target("avx2"))) static inline __m256i filter(const struct tables *t,
                                                             const uint8_t *p)
{
    __m256i front = _mm256_and_si256(open_buckets(t, 0, load(p)), open_buckets(t, 1, load(p + 1)));
    __m256i back =
        _mm256_and_si256(open_buckets(t, 2, load(p + 2)), open_buckets(t, 3, load(p + 3)));
    return _mm256_and_si256(front, back);
}

/* The places that some bucket is open for, as bits. */
__attribute__((target("avx2"))) static inline uint32_t places(__m256i buckets)
{
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(buckets, _mm256_setzero_si256()));
}

/* What is less than two vectors: one, then one more that ends where the text does. Texts of less
 * than a vector are searched in a copy with zeros behind it. */
__attribute__((target("avx2"))) static bool search_rest(const struct tc_scan *s,
                                                        const struct tables *t, struct search *q)
{
    const size_t need = VECTOR_BYTES + TC_SCAN_PREFIX - 1;
    uint8_t copy[VECTOR_BYTES + TC_SCAN_PREFIX] = {0};
    while (q->len - q->at >= TC_SCAN_PREFIX) {
        size_t left = q->len - q->at;
        /* Where this vector begins, and how many of its places were looked at before. */
        size_t start = left >= need || q->len < need ? q->at : q->len - need;
        size_t before = q->at - start;
        const uint8_t *p = q->text + start;
        uint32_t keep = UINT32_MAX;
        if (q->len - start < need) {
            memcpy(copy, p, left);
            p = copy;
            keep = (uint32_t)((UINT64_C(1) << (left - TC_SCAN_PREFIX + 1)) - 1);
        }
        uint32_t bits = places(filter(t, p)) & keep & (UINT32_MAX << before);
        for (; bits != 0; bits &= bits - 1) {
            size_t place = start + (size_t)__builtin_ctz(bits);
            if (is_print(s, prefix_at(q->text + place)) && verify(s, q, place)) {
                return true;
            }
        }
        q->at = start + VECTOR_BYTES;
        q->at = q->at < q->len ? q->at : q->len;
    }
    return false;
}

/* Two vectors per step, while both and the rest of their last prefix lie in the text. */
__attribute__((target("avx2"))) static bool search_avx2(const struct tc_scan *s, struct search *q)
{
    struct tables t;
    for (size_t i = 0; i < TC_SCAN_PREFIX; i++) {
        t.low[i] = table(s->low[i]);
        t.high[i] = table(s->high[i]);
    }
    const size_t step = (size_t)2 * VECTOR_BYTES;
    size_t at = q->at;
    for (; q->len - at >= step + TC_SCAN_PREFIX - 1; at += step) {
        __m256i first = filter(&t, q->text + at);
        __m256i second = filter(&t, q->text + at + VECTOR_BYTES);
        __m256i both = _mm256_or_si256(first, second);
        if (__builtin_expect(_mm256_testz_si256(both, both), 1)) {
            continue;
        }
        uint64_t bits = (uint64_t)places(second) << VECTOR_BYTES | places(first);
        for (; bits != 0; bits &= bits - 1) {
            size_t place = at + (size_t)__builtin_ctzll(bits);
            if (__builtin_expect(is_print(s, prefix_at(q->text + place)), 0) &&
                verify(s, q, place)) {
                return true;
            }
        }
    }
    q->at = at;
    return search_rest(s, &t, q);
}

#endif

size_t tc_scan_next(const struct tc_scan *s, struct tc_slice text, size_t from, unsigned *out_which)
{
    if (from >= text.len) {
        return TC_NPOS;
    }
    struct search q = {(const uint8_t *)text.ptr, text.len, from, 0};
    bool found = false;
#if defined(__x86_64__)
    if (s->path == TC_SCAN_AVX2) {
        found = search_avx2(s, &q);
    } else {
        found = search_scalar(s, &q);
    }
#else
    found = search_scalar(s, &q);
#endif
    if (!found) {
        return TC_NPOS;
    }
    *out_which = q.which;
    return q.at;
}
