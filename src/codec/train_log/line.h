/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps in a training program's log, for readers that take the log as a result: the same
 * wordings as the codec's (text.c), without the event around them.
 */
#ifndef TC_CODEC_TRAIN_LOG_LINE_H
#define TC_CODEC_TRAIN_LOG_LINE_H

#include "base/scan.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum tc_train_word {
    TC_TRAIN_STEP, /* a step ended */
    TC_TRAIN_EVAL, /* an evaluation, or a part of one */
    TC_TRAIN_DONE, /* the program says that the training ended */
};

struct tc_train_line {
    enum tc_train_word word;
    int64_t step;   /* -1: not told */
    double seconds; /* of the step; 0: not told */
};

/* The search, set up once and used for many lines. */
struct tc_train_search {
    struct tc_scan scan;
};

void tc_train_search_init(struct tc_train_search *s);
/* One line of a log, without colours, with or without a prefix. False when it is about no step. */
bool tc_train_line_read(const struct tc_train_search *s, struct tc_slice line,
                        struct tc_train_line *out);

#endif
