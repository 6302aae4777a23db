/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/book_priv.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/table/grow.h"
#include "base/time.h"

#include <stdlib.h>
#include <string.h>

/* The verdict's member of each field, and how much of it is kept. */
static const struct {
    const char *key;
    size_t max;
} FIELDS[TC__PART_FIELDS] = {
    [TC__PART_PATTERN] = {"pattern.name", 64},
    [TC__PART_HEADLINE] = {"headline", 512},
    [TC__PART_REMEDIATION] = {"remediation", 1024},
    [TC__PART_NODE] = {"k8s.node.name", 253},
    [TC__PART_GPU] = {"gpu.uuid", 64},
    [TC__PART_NAMESPACE] = {"k8s.namespace.name", 63},
    [TC__PART_POD] = {"k8s.pod.name", 253},
    [TC__PART_JOB] = {"job.id", 128},
};

struct tc_alert_book *tc_alert_book_create(void)
{
    struct tc_alert_book *b = calloc(1, sizeof *b);
    if (b != NULL) {
        b->next = 1;
    }
    return b;
}

/* ---- finding -------------------------------------------------------------------------------- */

static size_t bucket_of(struct tc_slice id)
{
    return (size_t)tc_slice_hash(id, 0) % TC__BUCKETS;
}

static struct tc_slice id_slice(const char *id)
{
    return tc_slice_make(id, TC_INCIDENT_ID_LEN);
}

struct tc__part *tc__book_find(const struct tc_alert_book *b, struct tc_slice id)
{
    struct tc__part *p = b->parts[bucket_of(id)];
    while (p != NULL && !tc_slice_eq(id_slice(p->id), id)) {
        p = p->chain;
    }
    return p;
}

struct tc__story *tc__book_story(const struct tc_alert_book *b, struct tc_slice id)
{
    struct tc__story *s = b->by_id[bucket_of(id)];
    while (s != NULL && !tc_slice_eq(id_slice(s->id), id)) {
        s = s->chain;
    }
    return s;
}

const struct tc__part *tc__story_root(const struct tc_alert_book *b, const struct tc__story *s)
{
    const struct tc__part *root = tc__book_find(b, id_slice(s->id));
    return root != NULL && root->of == s ? root : s->first != NULL ? s->first : s->shown;
}

/* ---- parts ---------------------------------------------------------------------------------- */

/* At most max bytes, without half a character at the end. */
static struct tc_slice cut_text(struct tc_slice text, size_t max)
{
    if (text.len <= max) {
        return text;
    }
    size_t len = max;
    while (len > 0 && ((unsigned char)text.ptr[len] & 0xc0) == 0x80) {
        len--;
    }
    return tc_slice_head(text, len);
}

static enum tc_severity read_severity(struct tc_slice text)
{
    return tc_slice_eq(text, TC_LIT("critical"))  ? TC_SEVERITY_CRITICAL
           : tc_slice_eq(text, TC_LIT("warning")) ? TC_SEVERITY_WARNING
                                                  : TC_SEVERITY_INFO;
}

/* The incident that a verdict tells of; NULL when there is no memory. */
static struct tc__part *make_part(struct tc_json v, struct tc_slice id, uint64_t number,
                                  int64_t taken_ns)
{
    struct tc_slice texts[TC__PART_FIELDS];
    size_t len = 0;
    for (size_t i = 0; i < TC__PART_FIELDS; i++) {
        texts[i] = cut_text(tc_json_get_string(v, tc_slice_cstr(FIELDS[i].key)), FIELDS[i].max);
        len += texts[i].len;
    }
    struct tc__part *p = calloc(1, sizeof *p + len);
    if (p == NULL) {
        return NULL;
    }
    struct tc_buf b = tc_buf_make(p->text, len);
    for (size_t i = 0; i < TC__PART_FIELDS; i++) {
        tc_buf_str(&b, texts[i]);
        p->lens[i] = (uint16_t)texts[i].len;
    }
    memcpy(p->id, id.ptr, TC_INCIDENT_ID_LEN);
    p->number = number;
    p->severity = (uint8_t)read_severity(tc_json_get_string(v, TC_LIT("severity")));
    p->is_open = !tc_slice_eq(tc_json_get_string(v, TC_LIT("status")), TC_LIT("resolved"));
    if (tc_time_parse(tc_json_get_string(v, TC_LIT("first_seen")), 0, &p->first_ns) == 0 ||
        !tc_time_is_date(p->first_ns)) {
        p->first_ns = taken_ns;
    }
    return p;
}

/* Behind `after`, which is NULL for the first. */
static void link_part(struct tc__story *s, struct tc__part *p, struct tc__part *after)
{
    p->of = s;
    p->prev = after;
    p->next = after == NULL ? s->first : after->next;
    *(p->next == NULL ? &s->last : &p->next->prev) = p;
    *(after == NULL ? &s->first : &after->next) = p;
    s->part_count++;
    s->open_count += p->is_open;
}

static void unlink_part(struct tc__part *p)
{
    struct tc__story *s = p->of;
    *(p->next == NULL ? &s->last : &p->next->prev) = p->prev;
    *(p->prev == NULL ? &s->first : &p->prev->next) = p->next;
    s->part_count--;
    s->open_count -= p->is_open;
}

static void add_to_table(struct tc_alert_book *b, struct tc__part *p)
{
    struct tc__part **at = &b->parts[bucket_of(id_slice(p->id))];
    p->chain = *at;
    *at = p;
    b->part_count++;
}

static void take_from_table(struct tc_alert_book *b, const struct tc__part *p)
{
    struct tc__part **at = &b->parts[bucket_of(id_slice(p->id))];
    while (*at != p) {
        at = &(*at)->chain;
    }
    *at = p->chain;
    b->part_count--;
}

/* ---- stories -------------------------------------------------------------------------------- */

static struct tc__story *make_story(struct tc_alert_book *b, struct tc_slice id, int64_t taken_ns)
{
    struct tc__story *s = calloc(1, sizeof *s);
    if (s == NULL || tc_grow_array(&b->stories, &b->story_cap, b->story_count + 1,
                                   TC_ALERT_INCIDENTS_MAX, sizeof(void *)) != TC_OK) {
        free(s);
        return NULL;
    }
    memcpy(s->id, id.ptr, TC_INCIDENT_ID_LEN);
    s->began_ns = taken_ns;
    s->starts_ns = INT64_MAX;
    s->ended_ns = taken_ns;
    s->at = b->story_count;
    b->stories[b->story_count++] = s;
    struct tc__story **at = &b->by_id[bucket_of(id)];
    s->chain = *at;
    *at = s;
    return s;
}

static void drop_story(struct tc_alert_book *b, struct tc__story *s)
{
    struct tc__story **at = &b->by_id[bucket_of(id_slice(s->id))];
    while (*at != s) {
        at = &(*at)->chain;
    }
    *at = s->chain;
    for (struct tc__part *p = s->first; p != NULL;) {
        struct tc__part *next = p->next;
        take_from_table(b, p);
        free(p);
        p = next;
    }
    struct tc__story *last = b->stories[--b->story_count];
    b->stories[s->at] = last;
    last->at = s->at;
    free(s->shown);
    free(s);
}

void tc_alert_book_destroy(struct tc_alert_book *b)
{
    if (b != NULL) {
        while (b->story_count > 0) {
            drop_story(b, b->stories[b->story_count - 1]);
        }
        free(b->stories);
        free(b);
    }
}

/* ---- receivers ------------------------------------------------------------------------------ */

/* How it was before a record: what makes the record urgent. */
struct before {
    bool fires;
    uint8_t severity;
};

static struct before look_before(const struct tc__story *s)
{
    return (struct before){.fires = tc__story_fires(s), .severity = s->severity};
}

/* The record changed the story: receivers were told already, or wait. */
static void note_change(const struct tc_alert_book *b, struct tc__story *s, struct before before,
                        uint64_t number, int64_t taken_ns)
{
    bool fires = tc__story_fires(s);
    bool is_urgent = fires != before.fires || (fires && s->severity > before.severity);
    s->version = number;
    s->news_ns = taken_ns;
    s->ended_ns = fires ? 0 : before.fires ? taken_ns : s->ended_ns;
    for (size_t i = 0; i < TC_ALERT_RECEIVERS_MAX; i++) {
        struct tc__told *t = &s->told[i];
        if (!b->receivers[i].is_on) {
            continue;
        }
        if (number < b->receivers[i].next) {
            *t = (struct tc__told){.version = number, .severity = s->severity, .is_firing = fires};
        } else if (is_urgent && t->waits_from == 0) {
            t->waits_from = number;
            t->waits_ns = taken_ns;
        }
    }
}

void tc_alert_book_join(struct tc_alert_book *b, size_t receiver, uint64_t next, bool is_new)
{
    TC_ASSERT(receiver < TC_ALERT_RECEIVERS_MAX);
    b->receivers[receiver] = (struct tc__receiver){.is_on = true, .next = is_new ? 0 : next};
    for (size_t i = 0; i < b->story_count; i++) {
        struct tc__story *s = b->stories[i];
        s->told[receiver] = (struct tc__told){0};
        if (tc__story_fires(s)) {
            s->told[receiver].waits_from = s->version;
            s->told[receiver].waits_ns = s->began_ns;
        }
    }
}

void tc_alert_book_leave(struct tc_alert_book *b, size_t receiver)
{
    TC_ASSERT(receiver < TC_ALERT_RECEIVERS_MAX);
    b->receivers[receiver].is_on = false;
}

/* ---- records -------------------------------------------------------------------------------- */

/* All parts of `s` went to another story. What it was called is kept for who was told of it. */
static void merge_story(struct tc__story *s, const struct tc__part *last,
                        const struct tc__story *to)
{
    size_t len = 0;
    for (size_t i = 0; i < TC__PART_FIELDS; i++) {
        len += last->lens[i];
    }
    free(s->shown);
    s->shown = malloc(sizeof *last + len);
    if (s->shown != NULL) {
        memcpy(s->shown, last, sizeof *last + len);
    }
    s->is_merged = true;
    memcpy(s->merged_into, to->id, TC_INCIDENT_ID_LEN);
}

static void put_part(struct tc_alert_book *b, struct tc__story *to, struct tc__part *fresh,
                     struct tc__part *old, int64_t taken_ns)
{
    struct tc__story *from = old == NULL ? to : old->of;
    struct before before = look_before(to);
    struct before from_before = look_before(from);
    struct tc__part *after = old != NULL && from == to ? old->prev : to->last;
    fresh->open_number = fresh->is_open ? fresh->number : old == NULL ? 0 : old->open_number;
    if (old != NULL) {
        unlink_part(old);
        take_from_table(b, old);
    }
    link_part(to, fresh, after);
    add_to_table(b, fresh);
    to->is_merged = false;
    to->is_forgotten = false;
    to->severity = fresh->severity > to->severity ? fresh->severity : to->severity;
    to->starts_ns = fresh->first_ns < to->starts_ns ? fresh->first_ns : to->starts_ns;
    note_change(b, to, before, fresh->number, taken_ns);
    if (from != to) {
        if (from->first == NULL) {
            merge_story(from, old, to);
        }
        note_change(b, from, from_before, fresh->number, taken_ns);
    }
    free(old);
}

tc_status tc_alert_book_take(struct tc_alert_book *b, struct tc_json_parser *parser,
                             uint64_t number, int64_t taken_ns, struct tc_slice line,
                             struct tc_error *err)
{
    struct tc_json v;
    TC_TRY(tc_json_parse(parser, line, &v, err));
    struct tc_slice id = tc_json_get_string(v, TC_LIT("incident_id"));
    struct tc_slice group = tc_json_get_string(v, TC_LIT("incident_group"));
    group = group.len == 0 ? id : group;
    if (id.len != TC_INCIDENT_ID_LEN || group.len != TC_INCIDENT_ID_LEN || number < b->next) {
        return tc_fail(err, TC_E_MALFORMED, 0, "a record that is no verdict, or is out of order");
    }
    struct tc__part *old = tc__book_find(b, id);
    struct tc__story *story = tc__book_story(b, group);
    /* Stories that all parts left are there until their end was told. */
    if ((old == NULL && b->part_count >= TC_ALERT_INCIDENTS_MAX) ||
        (story == NULL && b->story_count >= TC_ALERT_INCIDENTS_MAX)) {
        b->refused++;
        b->next = number + 1;
        return tc_fail(err, TC_E_LIMIT, 0, "more than %zu incidents are open",
                       TC_ALERT_INCIDENTS_MAX);
    }
    struct tc__part *fresh = make_part(v, id, number, taken_ns);
    if (fresh != NULL && story == NULL) {
        story = make_story(b, group, taken_ns);
    }
    if (story == NULL || fresh == NULL) {
        free(fresh);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for an alert");
    }
    b->next = number + 1;
    put_part(b, story, fresh, old, taken_ns);
    return TC_OK;
}

bool tc_alert_book_needs(const struct tc_alert_book *b, struct tc_slice incident_id,
                         uint64_t number)
{
    const struct tc__part *p = tc__book_find(b, incident_id);
    return number >= b->next || (p != NULL && (p->number == number || p->open_number == number));
}

void tc_alert_book_sweep(struct tc_alert_book *b)
{
    for (size_t i = 0; i < b->story_count;) {
        struct tc__story *s = b->stories[i];
        bool is_over = !tc__story_fires(s);
        for (size_t k = 0; k < TC_ALERT_RECEIVERS_MAX && is_over; k++) {
            is_over =
                !b->receivers[k].is_on || (s->told[k].waits_from == 0 && !s->told[k].is_firing);
        }
        if (is_over) {
            drop_story(b, s);
        } else {
            i++;
        }
    }
}
