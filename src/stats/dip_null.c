/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dip of uniform numbers, for which it is largest among distributions with one mode, as far as
 * the tails matter. From samples of our own: a million of each size up to 100, 500,000 of 200 and
 * 500, and 200,000 of 1,000, by `dipnull` of tests/oracle/stats_cases.c. Times sqrt(n) the dip
 * hardly depends on n, so the table is of that, and linear between its sizes in 1 / sqrt(n).
 */
#include "stats/stats.h"
#include "stats/stats_priv.h"

#include <math.h>

#define SHARES 14

/* Of the samples, this share has a larger dip. */
static const double SHARE[SHARES] = {0.9,  0.7,  0.5,   0.3,   0.2,   0.1,    0.05,
                                     0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0001};

static const struct {
    double n;
    double dip[SHARES]; /* times sqrt(n) */
} NULL_DIPS[] = {
    {8,
     {0.2319, 0.2818, 0.3140, 0.3410, 0.3550, 0.4012, 0.4354, 0.4693, 0.4891, 0.5060, 0.5278,
      0.5502, 0.5695, 0.6073}},
    {9,
     {0.2413, 0.2852, 0.3126, 0.3378, 0.3690, 0.4094, 0.4398, 0.4714, 0.4927, 0.5178, 0.5467,
      0.5648, 0.5813, 0.6103}},
    {10,
     {0.2467, 0.2856, 0.3091, 0.3476, 0.3756, 0.4125, 0.4411, 0.4765, 0.5046, 0.5283, 0.5543,
      0.5722, 0.5866, 0.6195}},
    {11,
     {0.2492, 0.2841, 0.3091, 0.3530, 0.3791, 0.4141, 0.4439, 0.4847, 0.5105, 0.5332, 0.5592,
      0.5784, 0.5962, 0.6342}},
    {12,
     {0.2507, 0.2820, 0.3154, 0.3566, 0.3812, 0.4160, 0.4505, 0.4896, 0.5144, 0.5374, 0.5655,
      0.5867, 0.6052, 0.6444}},
    {14,
     {0.2501, 0.2855, 0.3222, 0.3597, 0.3837, 0.4236, 0.4574, 0.4956, 0.5222, 0.5479, 0.5769,
      0.5977, 0.6178, 0.6581}},
    {16,
     {0.2473, 0.2909, 0.3249, 0.3617, 0.3886, 0.4281, 0.4615, 0.5020, 0.5296, 0.5539, 0.5849,
      0.6058, 0.6244, 0.6686}},
    {20,
     {0.2540, 0.2952, 0.3280, 0.3688, 0.3952, 0.4349, 0.4703, 0.5109, 0.5398, 0.5653, 0.5964,
      0.6179, 0.6397, 0.6838}},
    {25,
     {0.2580, 0.2981, 0.3335, 0.3735, 0.4007, 0.4415, 0.4777, 0.5200, 0.5493, 0.5757, 0.6080,
      0.6306, 0.6527, 0.6997}},
    {30,
     {0.2598, 0.3019, 0.3368, 0.3778, 0.4053, 0.4465, 0.4831, 0.5264, 0.5561, 0.5833, 0.6172,
      0.6404, 0.6626, 0.7067}},
    {40,
     {0.2643, 0.3063, 0.3421, 0.3836, 0.4115, 0.4539, 0.4913, 0.5354, 0.5657, 0.5950, 0.6296,
      0.6529, 0.6764, 0.7293}},
    {60,
     {0.2689, 0.3119, 0.3482, 0.3906, 0.4192, 0.4624, 0.5008, 0.5466, 0.5779, 0.6079, 0.6445,
      0.6701, 0.6935, 0.7517}},
    {100,
     {0.2740, 0.3177, 0.3546, 0.3978, 0.4270, 0.4714, 0.5110, 0.5585, 0.5915, 0.6220, 0.6594,
      0.6847, 0.7095, 0.7640}},
    {200,
     {0.2799, 0.3241, 0.3617, 0.4057, 0.4355, 0.4808, 0.5210, 0.5692, 0.6033, 0.6351, 0.6756,
      0.7044, 0.7285, 0.7889}},
    {500,
     {0.2847, 0.3298, 0.3680, 0.4126, 0.4431, 0.4890, 0.5302, 0.5792, 0.6137, 0.6456, 0.6862,
      0.7160, 0.7437, 0.8033}},
    {1000,
     {0.2877, 0.3330, 0.3714, 0.4162, 0.4466, 0.4933, 0.5352, 0.5860, 0.6197, 0.6530, 0.6938,
      0.7248, 0.7519, 0.8064}},
};
#define SIZES (sizeof NULL_DIPS / sizeof NULL_DIPS[0])

/* A column of the table for n, which may lie between two sizes, or beyond the last. */
static double dip_of_share(size_t share, double n, size_t upper)
{
    const double *b = NULL_DIPS[upper].dip;
    if (upper == 0 || n >= NULL_DIPS[upper].n) {
        return b[share];
    }
    const double *a = NULL_DIPS[upper - 1].dip;
    double from = 1 / sqrt(NULL_DIPS[upper - 1].n);
    double to = 1 / sqrt(NULL_DIPS[upper].n);
    double part = (1 / sqrt(n) - from) / (to - from);
    return a[share] + part * (b[share] - a[share]);
}

double tc__dip_p(double dip, size_t n)
{
    const double size = (double)n;
    const double wanted = dip * sqrt(size);
    size_t upper = 0;
    while (upper + 1 < SIZES && NULL_DIPS[upper].n < size) {
        upper++;
    }
    double before = dip_of_share(0, size, upper);
    if (wanted <= before) {
        return 1;
    }
    for (size_t i = 1; i < SHARES; i++) {
        double here = dip_of_share(i, size, upper);
        if (wanted < here) { /* the share falls as a power between two entries */
            double part = (wanted - before) / (here - before);
            return SHARE[i - 1] * pow(SHARE[i] / SHARE[i - 1], part);
        }
        before = here;
    }
    return SHARE[SHARES - 1];
}
