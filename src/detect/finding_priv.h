/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a finding in the scratch arena: one text buffer that all its strings
 * are carved from, one array of attributes, one of evidence. Nothing is checked
 * on the way; tc__draft_emit looks once, at the end, whether all of it fitted.
 */
#ifndef TC_DETECT_FINDING_PRIV_H
#define TC_DETECT_FINDING_PRIV_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/format.h"
#include "base/limits.h"
#include "base/status.h"
#include "detect/detector.h"
#include "event/finding.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Invariant: once something did not fit, full stays set and nothing is emitted. */
struct tc_draft {
    struct tc_finding finding;
    struct tc_buf text;
    struct tc_attr *attrs;
    struct tc_evidence *evidence;
    struct tc_arena *scratch;
    tc_arena_mark mark;
    bool full;
};

/*
 * Takes both arrays and half of what is left of scratch, for the text, so that lists can be made
 * beside it; the scope starts as "nothing known".
 */
void tc__draft_open(struct tc_draft *d, const struct tc_detector *detector,
                    struct tc_arena *scratch);
/* Appends to the text of the draft, and returns what was appended: see tc_format. */
#define tc__draft_format(d, ...) tc_format(&(d)->text, __VA_ARGS__)
/* Keys are literals; borrows strings and arrays until tc__draft_emit returns. */
void tc__draft_attr_int(struct tc_draft *d, struct tc_slice key, int64_t value);
/* Only when there are some. */
void tc__draft_attr_some(struct tc_draft *d, struct tc_slice key, int64_t count);
/* An empty value is "not known" and leaves the attribute out. */
void tc__draft_attr_text(struct tc_draft *d, struct tc_slice key, struct tc_slice value);
/* The same, and an empty value is one. */
void tc__draft_attr_any(struct tc_draft *d, struct tc_slice key, struct tc_slice value);
/* Borrows the list until tc__draft_emit returns; it is not NULL, however short. */
void tc__draft_attr_ints(struct tc_draft *d, struct tc_slice key, const int32_t *ints,
                         size_t count);
void tc__draft_attr_list(struct tc_draft *d, struct tc_slice key, const struct tc_slice *strings,
                         size_t count);
void tc__draft_attr_scopes(struct tc_draft *d, struct tc_slice key, const struct tc_scope *scopes,
                           size_t count);
void tc__draft_evidence(struct tc_draft *d, struct tc_evidence evidence);
/* One more, to be filled in by the caller in whole; NULL when there is no room. */
static inline struct tc_evidence *tc__draft_next_evidence(struct tc_draft *d)
{
    d->full = d->full || d->finding.evidence_count == TC_VERDICT_EVIDENCE_MAX;
    return d->full ? NULL : &d->evidence[d->finding.evidence_count++];
}
/* Puts the evidence in the order of time; what has the same time stays as it was added. */
void tc__draft_sort(struct tc_draft *d);
/*
 * Passes the finding on, as `info` when it is resolved, and gives the scratch memory back.
 * TC_E_NOMEM when the arena was too small, TC_E_LIMIT when an array was; nothing is emitted then.
 */
TC_CHECKED tc_status tc__draft_emit(struct tc_draft *d, const struct tc_sink *out);

/* At most max bytes of s, not cut inside a UTF-8 character. */
struct tc_slice tc__text_clip(struct tc_slice s, size_t max);
/* True when no name of the scope is longer than TC_SCOPE_TEXT_MAX. */
bool tc__scope_fits(const struct tc_scope *scope);
/* True when no name of the scope needs escaping. */
bool tc__scope_is_plain(const struct tc_scope *scope);

#endif
