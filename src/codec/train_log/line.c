/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/train_log/line.h"

#include "codec/train_log/text_priv.h"

void tc_train_search_init(struct tc_train_search *s)
{
    size_t count = 0;
    const struct tc_slice *literals = tc__train_text_literals(&count);
    tc_scan_init(&s->scan, literals, count);
}

bool tc_train_line_read(const struct tc_train_search *s, struct tc_slice line,
                        struct tc_train_line *out)
{
    struct tc_event ev;
    if (!tc__train_text_read(&s->scan, line, &ev) || ev.kind != TC_EVENT_TRAIN_STEP) {
        return false;
    }
    *out = (struct tc_train_line){
        .word = tc_slice_eq(ev.train.phase, TC_LIT("eval"))   ? TC_TRAIN_EVAL
                : tc_slice_eq(ev.train.phase, TC_LIT("done")) ? TC_TRAIN_DONE
                                                              : TC_TRAIN_STEP,
        .step = ev.train.step,
        .seconds = ev.train.seconds,
    };
    return true;
}
