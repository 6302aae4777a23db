/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is: what a receiver believes, compared with what is so. */
#include "alert/book_priv.h"

#include "base/assert.h"
#include "base/time.h"

#include <string.h>

/* More than the settling time, where the root of a story is named but was not heard of. */
#define ROOT_WAIT (30 * TC_SECOND)
/* How long after it was forgotten an alert's end is told: a restart long after says nothing. */
#define FORGOTTEN_TOLD (3600 * TC_SECOND)
/* Quiet hours are looked at so often. */
#define QUIET_STEP (60 * TC_SECOND)

static struct tc_slice id_of(const struct tc__story *s)
{
    return tc_slice_make(s->id, TC_INCIDENT_ID_LEN);
}

static void forget_old(struct tc__story *s, struct tc__told *t,
                       const struct tc_alert_policy *policy, int64_t now_ns)
{
    if (policy->forget_ns == 0 || s->open_count == 0 || now_ns - s->news_ns < policy->forget_ns) {
        return;
    }
    s->ended_ns = s->is_forgotten ? s->ended_ns : now_ns;
    s->is_forgotten = true;
    if (now_ns - s->news_ns > policy->forget_ns + FORGOTTEN_TOLD) {
        t->is_firing = false;
        t->waits_from = 0;
    }
}

/* When a firing alert that the receiver does not know of is told. */
static int64_t first_due(const struct tc_alert_book *b, const struct tc__story *s,
                         const struct tc_alert_policy *policy)
{
    const struct tc__part *root = tc__book_find(b, id_of(s));
    bool has_root = root != NULL && root->of == s;
    return s->began_ns + policy->settle_ns + (has_root ? 0 : ROOT_WAIT);
}

/* When a firing alert that it knows of is told again. */
static int64_t again_due(const struct tc__story *s, const struct tc__told *t,
                         const struct tc_alert_policy *policy, bool is_held)
{
    int64_t at_ns = INT64_MAX;
    if (t->version != s->version && policy->update_ns >= 0 && !is_held) {
        at_ns = t->at_ns + policy->update_ns;
    }
    if (policy->resend_ns > 0 && t->at_ns + policy->resend_ns < at_ns) {
        at_ns = t->at_ns + policy->resend_ns;
    }
    return at_ns;
}

/* When the receiver is to be told of a story that fires. */
static int64_t firing_due(const struct tc_alert_book *b, struct tc__story *s, struct tc__told *t,
                          const struct tc_alert_policy *policy, int64_t now_ns)
{
    bool is_held = policy->is_quiet && s->severity == TC_SEVERITY_INFO;
    if (!t->is_firing && is_held) {
        t->was_held = true;
        return now_ns + QUIET_STEP;
    }
    if (!t->is_firing) {
        t->waits_from = t->waits_from == 0 ? s->version : t->waits_from;
        return first_due(b, s, policy);
    }
    if (t->severity < s->severity) {
        return now_ns;
    }
    t->waits_from = 0;
    return again_due(s, t, policy, is_held);
}

/* The same of one that is over; *out_is_firing: it is told that it began, before its end. */
static int64_t over_due(const struct tc__story *s, struct tc__told *t,
                        const struct tc_alert_policy *policy, int64_t now_ns, bool *out_is_firing)
{
    if (t->is_firing) {
        return now_ns;
    }
    bool was_short = s->ended_ns - s->began_ns < policy->settle_ns;
    if (t->waits_from == 0 || t->was_held || s->is_merged || was_short) {
        t->waits_from = 0;
        return INT64_MAX;
    }
    *out_is_firing = true;
    return now_ns;
}

static int64_t story_due(const struct tc_alert_book *b, struct tc__story *s, size_t receiver,
                         const struct tc_alert_policy *policy, int64_t now_ns, bool *out_is_firing)
{
    struct tc__told *t = &s->told[receiver];
    forget_old(s, t, policy, now_ns);
    bool matters = s->severity >= policy->severity;
    *out_is_firing = tc__story_fires(s) && matters;
    if (!matters && !t->is_firing) {
        t->waits_from = 0;
        return INT64_MAX;
    }
    return *out_is_firing ? firing_due(b, s, t, policy, now_ns)
                          : over_due(s, t, policy, now_ns, out_is_firing);
}

size_t tc_alert_book_due(struct tc_alert_book *b, size_t receiver,
                         const struct tc_alert_policy *policy, int64_t now_ns,
                         struct tc_alert_due *out, size_t max, int64_t *out_next_ns)
{
    TC_ASSERT(receiver < TC_ALERT_RECEIVERS_MAX);
    size_t count = 0;
    *out_next_ns = INT64_MAX;
    for (size_t i = 0; i < b->story_count && b->receivers[receiver].is_on; i++) {
        struct tc__story *s = b->stories[i];
        bool is_firing = false;
        int64_t at_ns = story_due(b, s, receiver, policy, now_ns, &is_firing);
        if (at_ns > now_ns) {
            *out_next_ns = at_ns < *out_next_ns ? at_ns : *out_next_ns;
            continue;
        }
        if (count == max) {
            *out_next_ns = now_ns;
            break;
        }
        out[count] = (struct tc_alert_due){.version = s->version,
                                           .severity = (enum tc_severity)s->severity,
                                           .is_firing = is_firing};
        memcpy(out[count++].id, s->id, TC_INCIDENT_ID_LEN);
    }
    return count;
}

/* ---- what is told --------------------------------------------------------------------------- */

static struct tc_slice text_of(const struct tc__part *p, enum tc__part_field field)
{
    size_t at = 0;
    for (size_t i = 0; i < (size_t)field; i++) {
        at += p->lens[i];
    }
    return tc_slice_make(p->text + at, p->lens[field]);
}

/* Without half a character at the end. */
static struct tc_slice short_text(struct tc_slice text, size_t max)
{
    size_t len = text.len < max ? text.len : max;
    while (len < text.len && len > 0 && ((unsigned char)text.ptr[len] & 0xc0) == 0x80) {
        len--;
    }
    return tc_slice_head(text, len);
}

static void add_part(struct tc_alert *out, const struct tc__part *p)
{
    out->parts[out->shown_count++] = (struct tc_alert_part){
        .id = tc_slice_make(p->id, TC_INCIDENT_ID_LEN),
        .pattern = text_of(p, TC__PART_PATTERN),
        .headline = short_text(text_of(p, TC__PART_HEADLINE), TC_ALERT_PART_TEXT_MAX),
        .node = short_text(text_of(p, TC__PART_NODE), TC_ALERT_PART_NODE_MAX),
        .severity = (enum tc_severity)p->severity,
        .is_open = p->is_open,
    };
}

bool tc_alert_book_view(const struct tc_alert_book *b, size_t receiver,
                        const struct tc_alert_due *due, struct tc_alert *out)
{
    struct tc_slice id = tc_slice_make(due->id, TC_INCIDENT_ID_LEN);
    const struct tc__story *s = tc__book_story(b, id);
    const struct tc__part *root = s == NULL ? NULL : tc__story_root(b, s);
    if (root == NULL) {
        return false;
    }
    const struct tc__told *t = &s->told[receiver];
    *out = (struct tc_alert){
        .id = id_of(s),
        .is_firing = due->is_firing,
        .severity = due->severity,
        .told_severity = t->is_firing ? (enum tc_severity)t->severity : due->severity,
        .starts_ns = s->starts_ns < s->began_ns ? s->starts_ns : s->began_ns,
        .ends_ns = s->ended_ns,
        .pattern = text_of(root, TC__PART_PATTERN),
        .headline = text_of(root, TC__PART_HEADLINE),
        .remediation = text_of(root, TC__PART_REMEDIATION),
        .node = text_of(root, TC__PART_NODE),
        .gpu = text_of(root, TC__PART_GPU),
        .name_space = text_of(root, TC__PART_NAMESPACE),
        .pod = text_of(root, TC__PART_POD),
        .job = text_of(root, TC__PART_JOB),
        .merged_into = s->is_merged ? tc_slice_make(s->merged_into, TC_INCIDENT_ID_LEN) : TC_EMPTY,
        .part_count = s->part_count,
        .open_count = s->open_count,
    };
    add_part(out, root);
    for (const struct tc__part *p = s->first; p != NULL && out->shown_count < TC_ALERT_PARTS_SHOWN;
         p = p->next) {
        if (p != root) {
            add_part(out, p);
        }
    }
    return true;
}

bool tc_alert_book_node_fires(const struct tc_alert_book *b, struct tc_slice node,
                              enum tc_severity severity, struct tc_slice other_than)
{
    for (size_t i = 0; i < b->story_count; i++) {
        const struct tc__story *s = b->stories[i];
        const struct tc__part *root = tc__story_fires(s) ? tc__story_root(b, s) : NULL;
        if (root != NULL && s->severity >= severity && !tc_slice_eq(id_of(s), other_than) &&
            tc_slice_eq(text_of(root, TC__PART_NODE), node)) {
            return true;
        }
    }
    return false;
}

void tc_alert_book_told(struct tc_alert_book *b, size_t receiver, const struct tc_alert_due *due,
                        int64_t now_ns)
{
    struct tc__story *s = tc__book_story(b, tc_slice_make(due->id, TC_INCIDENT_ID_LEN));
    if (s == NULL) {
        return;
    }
    struct tc__told *t = &s->told[receiver];
    t->is_firing = due->is_firing;
    t->severity = (uint8_t)due->severity;
    t->version = due->version;
    t->at_ns = now_ns;
    t->was_held = false;
    if (tc__story_fires(s) == t->is_firing && (!t->is_firing || t->severity >= s->severity)) {
        t->waits_from = 0;
    }
}

/* ---- how it stands -------------------------------------------------------------------------- */

uint64_t tc_alert_book_cursor(const struct tc_alert_book *b, size_t receiver)
{
    uint64_t cursor = b->next;
    for (size_t i = 0; i < b->story_count; i++) {
        uint64_t from = b->stories[i]->told[receiver].waits_from;
        cursor = from != 0 && from < cursor ? from : cursor;
    }
    return cursor;
}

void tc_alert_book_waiting(const struct tc_alert_book *b, size_t receiver,
                           struct tc_alert_waiting *out)
{
    *out = (struct tc_alert_waiting){0};
    for (size_t i = 0; i < b->story_count && b->receivers[receiver].is_on; i++) {
        const struct tc__told *t = &b->stories[i]->told[receiver];
        if (t->waits_from != 0) {
            out->count++;
            out->oldest_ns =
                out->oldest_ns == 0 || t->waits_ns < out->oldest_ns ? t->waits_ns : out->oldest_ns;
        }
    }
}

void tc_alert_book_stats(const struct tc_alert_book *b, struct tc_alert_book_stats *out)
{
    *out = (struct tc_alert_book_stats){
        .alerts = b->story_count, .incidents = b->part_count, .refused = b->refused};
    for (size_t i = 0; i < b->story_count; i++) {
        out->firing += tc__story_fires(b->stories[i]);
    }
}
