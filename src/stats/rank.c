/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Mann-Whitney test. Under the null hypothesis every choice of which values are the
 * candidate's is equally likely, so p is a count of choices: those with a U as far out as ours.
 */
#include "stats/stats.h"

#include <math.h>
#include <string.h>

/* Counts are exact in a double below this, and differences of two of them in an int64_t. */
#define CHOICES_MAX 0x1p53
/* Values of U that are counted, each with its number of choices. */
#define COUNTS_MAX 2500

/* C(n + m, n), as far as a double goes. */
static double choices(size_t n, size_t m)
{
    size_t few = n < m ? n : m;
    double c = 1;
    for (size_t i = 1; i <= few && isfinite(c); i++) {
        c = c * (double)(n + m - few + i) / (double)i;
    }
    return c;
}

double tc_rank_least_p(size_t n1, size_t n2)
{
    double p = 2 / choices(n1, n2);
    return p < 1 ? p : 1;
}

size_t tc_rank_least_n(double alpha)
{
    for (size_t n = 1; alpha > 0; n++) { /* 2 / C(2n, n) is 0 from n = 515 on */
        if (tc_rank_least_p(n, n) <= alpha) {
            return n;
        }
    }
    return 0;
}

/* A walk over both samples together, one group of equal values at a time. */
struct walk {
    struct tc_sorted base;
    struct tc_sorted candidate;
    size_t i; /* values behind us, of the base and of the candidate */
    size_t j;
    size_t base_equal; /* of this group */
    size_t candidate_equal;
};

static bool next_equal_values(struct walk *w)
{
    const struct tc_sorted *b = &w->base;
    const struct tc_sorted *c = &w->candidate;
    w->i += w->base_equal;
    w->j += w->candidate_equal;
    w->base_equal = w->candidate_equal = 0;
    if (w->i == b->n && w->j == c->n) {
        return false;
    }
    bool from_base = w->j == c->n || (w->i < b->n && b->x[w->i] < c->x[w->j]);
    double x = from_base ? b->x[w->i] : c->x[w->j];
    while (w->i + w->base_equal < b->n && b->x[w->i + w->base_equal] == x) {
        w->base_equal++;
    }
    while (w->j + w->candidate_equal < c->n && c->x[w->j + w->candidate_equal] == x) {
        w->candidate_equal++;
    }
    return true;
}

struct ties {
    bool any;
    double cubes; /* sum of t^3 - t over groups of t equal values */
};

/* U of the candidate, and what is tied. */
static double count_pairs(struct tc_sorted base, struct tc_sorted candidate, struct ties *out)
{
    double u = 0;
    *out = (struct ties){0};
    for (struct walk w = {.base = base, .candidate = candidate}; next_equal_values(&w);) {
        double t = (double)(w.base_equal + w.candidate_equal);
        u += (double)w.candidate_equal * ((double)w.i + (double)w.base_equal / 2);
        out->any = out->any || t > 1;
        out->cubes += t * t * t - t;
    }
    return u;
}

/*
 * Without ties the choices by U are the coefficients of the Gaussian binomial: the product over
 * i = 1 .. n of (1 - q^(m + i)) / (1 - q^i). Symmetric, so the lower half up to u is enough.
 */
static double p_untied(size_t n, size_t m, double u)
{
    int64_t count[COUNTS_MAX / 2 + 1] = {1};
    double total = (double)n * (double)m;
    size_t last = (size_t)(u < total - u ? u : total - u);
    for (size_t i = 1; i <= n; i++) {
        for (size_t k = last; k >= m + i; k--) {
            count[k] -= count[k - m - i];
        }
        for (size_t k = i; k <= last; k++) {
            count[k] += count[k - i];
        }
    }
    int64_t sum = 0;
    for (size_t k = 0; k <= last; k++) {
        sum += count[k];
    }
    double p = 2 * (double)sum / choices(n, m);
    return p < 1 ? p : 1;
}

struct tie_step {
    size_t t;     /* equal values */
    size_t seen;  /* values of both sides below them */
    size_t n;     /* of the candidate, in all */
    size_t width; /* of a row of the table */
};

/*
 * table[j][w]: choices in which j of the values so far are the candidate's and 2 U is w. Taking c
 * of t equal values with `low` of the base's below adds c (2 low + t - c) to 2 U. In place: from
 * the most taken down, each row is read by those above it before it changes.
 */
static void add_equal_values(double *table, const struct tie_step *s)
{
    size_t most = s->seen + s->t < s->n ? s->seen + s->t : s->n;
    for (size_t j = most + 1; j-- > 0;) {
        double *row = table + j * s->width;
        double ways = 1; /* C(t, c) */
        for (size_t c = 1; c <= s->t && c <= j; c++) {
            ways = ways * (double)(s->t - c + 1) / (double)c;
            if (j - c > s->seen) {
                continue;
            }
            size_t shift = c * (2 * (s->seen - (j - c)) + s->t - c);
            const double *from = row - c * s->width;
            for (size_t w = shift; w < s->width; w++) {
                row[w] += ways * from[w - shift];
            }
        }
    }
}

/* Ties make the distribution lopsided: twice the smaller tail, as scipy and benchstat have it. */
static tc_status p_tied(struct tc_sorted base, struct tc_sorted candidate, double u,
                        struct tc_arena *arena, double *out)
{
    size_t n = candidate.n;
    size_t width = 2 * n * base.n + 1;
    tc_arena_mark mark = tc_arena_snapshot(arena);
    double *table = tc_new(arena, double, (n + 1) * width);
    if (table == NULL) {
        return TC_E_NOMEM;
    }
    table[0] = 1;
    for (struct walk w = {.base = base, .candidate = candidate}; next_equal_values(&w);) {
        struct tie_step step = {
            .t = w.base_equal + w.candidate_equal, .seen = w.i + w.j, .n = n, .width = width};
        add_equal_values(table, &step);
    }
    const double *row = table + n * width;
    size_t at = (size_t)(2 * u);
    double low = 0;
    double high = 0;
    for (size_t w = 0; w < width; w++) {
        low += w <= at ? row[w] : 0;
        high += w >= at ? row[w] : 0;
    }
    double p = 2 * (low < high ? low : high) / choices(n, base.n);
    *out = p < 1 ? p : 1;
    tc_arena_rewind(arena, mark);
    return TC_OK;
}

static double p_normal(double n, double m, double u, double cubes)
{
    double all = n + m;
    double variance = n * m / 12 * (all + 1 - cubes / (all * (all - 1)));
    double z = (fabs(u - n * m / 2) - 0.5) / sqrt(variance);
    double p = variance > 0 && z > 0 ? erfc(z * M_SQRT1_2) : 1;
    return p < 1 ? p : 1;
}

tc_status tc_rank_test(struct tc_sorted base, struct tc_sorted candidate, struct tc_arena *arena,
                       struct tc_rank_test *out)
{
    struct ties ties;
    struct tc_rank_test test = {
        .u = (double)NAN, .p = (double)NAN, .delta = (double)NAN, .method = TC_RANK_NONE};
    if (base.n == 0 || candidate.n == 0) {
        *out = test;
        return TC_OK;
    }
    double n = (double)candidate.n;
    double m = (double)base.n;
    test.u = count_pairs(base, candidate, &ties);
    test.delta = 2 * test.u / (n * m) - 1;
    if (!ties.any && n * m <= COUNTS_MAX && choices(base.n, candidate.n) < CHOICES_MAX) {
        test.method = TC_RANK_EXACT;
        test.p = p_untied(candidate.n, base.n, test.u);
    } else if (ties.any && base.n + candidate.n <= TC_RANK_TIES_MAX) {
        test.method = TC_RANK_EXACT_TIES;
        TC_TRY(p_tied(base, candidate, test.u, arena, &test.p));
    } else {
        test.method = TC_RANK_NORMAL;
        test.p = p_normal(n, m, test.u, ties.cubes);
    }
    *out = test;
    return TC_OK;
}

const char *tc_delta_word(double delta)
{
    static const struct {
        double below;
        const char *word;
    } words[] = {{0.147, "negligible"}, {0.33, "small"}, {0.474, "medium"}, {2, "large"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (fabs(delta) < words[i].below) {
            return words[i].word;
        }
    }
    return "-";
}
