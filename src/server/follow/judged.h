/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far detection has judged what is stored, in a small file of data_dir: the number of the last
 * batch of which everything that followed was told. A start begins its replay early enough for all
 * that is behind it, however long ago it came. Written seldom: what it says is true, and may be
 * some seconds old.
 */
#ifndef TC_SERVER_FOLLOW_JUDGED_H
#define TC_SERVER_FOLLOW_JUDGED_H

#include "base/status.h"

#include <stdint.h>

struct tc_judged {
    uint64_t number;    /* 0: nothing was judged yet */
    int64_t arrival_ns; /* of that batch, or before that of the next; 0: nothing is known */
};

/*
 * Reads the file; *out_judged is zero where there is none. TC_E_UNSUPPORTED: a newer program wrote
 * it. TC_E_MALFORMED: it is damaged (power was lost), and *out_judged is zero: err says so.
 */
TC_CHECKED tc_status tc_judged_read(const char *data_dir, struct tc_judged *out_judged,
                                    struct tc_error *err);
/* Replaces it, durably. */
TC_CHECKED tc_status tc_judged_write(const char *data_dir, const struct tc_judged *judged,
                                     struct tc_error *err);

#endif
