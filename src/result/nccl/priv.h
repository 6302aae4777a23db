/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl-tests: what its table and its JSON have in common.
 */
#ifndef TC_RESULT_NCCL_PRIV_H
#define TC_RESULT_NCCL_PRIV_H

#include "result/map.h"

#define TC__NCCL_COLUMNS_MAX 32
/* The longest row; a table of today has about 200 bytes. */
#define TC__NCCL_ROW_BYTES 512
/* Hosts and devices that are counted; beyond it how many they are is not told by them. */
#define TC__NCCL_NAMES_MAX 4096
#define TC__NCCL_NAME_SLOTS 8192

/* What is measured, once out of place and once in place. */
enum tc__nccl_value {
    TC__NCCL_TIME,
    TC__NCCL_ALGBW,
    TC__NCCL_BUSBW,
    TC__NCCL_WRONG,
    TC__NCCL_ERROR,
    TC__NCCL_BITDIFF,
    TC__NCCL_ITER_MIN,
    TC__NCCL_ITER_MAX,
    TC__NCCL_ITER_P99,
    /* Of JSON alone. */
    TC__NCCL_ITER_MEAN,
    TC__NCCL_ITER_P50,
    TC__NCCL_ITER_P95,
    TC__NCCL_VALUES
};

struct tc__nccl_half {
    double values[TC__NCCL_VALUES];
    bool known[TC__NCCL_VALUES];
    bool cpu_time;
};

struct tc__nccl_row {
    uint64_t size;
    struct tc_slice type;
    struct tc_slice redop;
    struct tc_slice root;
    struct tc__nccl_half half[2]; /* out of place, in place */
    bool one_place;               /* half[0] alone, and it is not told which one it is */
};

/* Names, each counted once. */
struct tc__nccl_names {
    size_t count;
    uint64_t hashes[TC__NCCL_NAME_SLOTS]; /* 0: free */
};

struct tc__nccl_log {
    struct tc_result *r;
    struct tc_error *err;
    char op[32];
    int columns[TC__NCCL_COLUMNS_MAX];
    bool in_place[TC__NCCL_COLUMNS_MAX];
    size_t column_ends[TC__NCCL_COLUMNS_MAX]; /* where the column's name ends in the head */
    size_t column_count;
    size_t prefix_words; /* that a log has before each line */
    bool cpu_time;
    bool in_ms; /* tables of before 2019 */
    size_t rows;
    size_t one_place_line;
    /* A row that messages of NCCL broke off: its beginning. */
    char torn[TC__NCCL_ROW_BYTES];
    size_t torn_len;
    size_t torn_columns;
    size_t torn_line;
    int64_t iterations; /* 0: not known */
    size_t tables;
    size_t ends; /* tables that told their average */
    size_t failures;
    size_t unnamed;
    int64_t ranks; /* the highest one, and one more */
    size_t rank_lines;
    int64_t gpus; /* that a file says by itself; 0: it does not */
    struct tc__nccl_names hosts;
    struct tc__nccl_names devices;
};

/* The one collective whose program a text names; "" for none or several. */
const char *tc__nccl_op_in(struct tc_slice text);
/* "AllReduce" is all_reduce; "" for one that is not known. */
const char *tc__nccl_op_named(struct tc_slice name);
void tc__nccl_set_op(struct tc__nccl_log *l, const char *op);

void tc__nccl_add_row(struct tc__nccl_log *l, const char *where, const struct tc__nccl_row *t);
void tc__nccl_add_average(struct tc__nccl_log *l, const char *where, double value);
/* device: what names it on its host; empty: not told. */
void tc__nccl_add_device(struct tc__nccl_log *l, int64_t rank, struct tc_slice host,
                         struct tc_slice device, struct tc_slice model);
/* 22703 is 2.27.3; before 2.9 it was 2708 for 2.7.8. */
void tc__nccl_version(struct tc__nccl_log *l, int64_t code);
/* What is to be said when all is read. */
void tc__nccl_finish(struct tc__nccl_log *l);

/* The file of -J. */
TC_CHECKED tc_status tc__nccl_read_json(const struct tc_result_input *in, struct tc__nccl_log *l);

/* The files of rccl-tests' -x, in both formats of its -Z. */
bool tc__nccl_is_rccl_json(const struct tc_result_input *in);
bool tc__nccl_is_rccl_csv(struct tc_slice text);
TC_CHECKED tc_status tc__nccl_read_rccl_json(const struct tc_result_input *in,
                                             struct tc__nccl_log *l);
TC_CHECKED tc_status tc__nccl_read_rccl_csv(const struct tc_result_input *in,
                                            struct tc__nccl_log *l);

#endif
