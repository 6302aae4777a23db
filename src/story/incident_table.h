/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdicts of a run as they stand: one per incident, the latest wins. A verdict
 * only lives as long as the engine's call, so each is copied whole; rendering, and
 * the digests it needs, wait until nothing changes any more.
 */
#ifndef TC_STORY_INCIDENT_TABLE_H
#define TC_STORY_INCIDENT_TABLE_H

#include "base/status.h"
#include "event/verdict.h"

#include <stddef.h>
#include <stdint.h>

/* Incidents held; further ones are counted. A cluster in so much trouble needs no more. */
#define TC_INCIDENT_TABLE_MAX 100000
#define TC_INCIDENT_NONE SIZE_MAX

/* What left this process about an incident, for whoever tells: see live/live.h. */
struct tc_incident_said {
    uint64_t hash;    /* of the verdict with its links, as it was told last */
    uint64_t content; /* of its finding then */
    int64_t at_ns;    /* on the teller's clock */
    uint8_t status;   /* enum tc_verdict_status, as it was told last */
    bool opened;      /* it was told at all */
    bool earlier;     /* the last time by an earlier process */
    bool checked;     /* what is kept is what a recheck found */
};

struct tc_incident_entry {
    struct tc_verdict verdict; /* everything it refers to lies in block */
    struct tc_finding finding;
    void *block;
    /* What the detector said, before the story changed it: see tc_incident_table_unlink. */
    const struct tc_verdict_cause *own_causes;
    size_t own_cause_count;
    struct tc_slice own_discriminator;
    struct tc_slice own_headline;
    struct tc_slice own_remediation;
    enum tc_severity own_severity;
    bool own_root;
    struct tc_incident_said said; /* kept when the verdict changes */
    size_t story; /* index of the first verdict of its story, before tc_incident_table_arrange */
};

struct tc_incident_table {
    struct tc_incident_entry *items;
    size_t count;
    size_t cap;
    uint32_t *slots; /* open addressing by incident id: index + 1, 0 empty */
    size_t slot_count;
    uint64_t left_out; /* verdicts about incidents over TC_INCIDENT_TABLE_MAX */
};

/* A tc_verdict_fn; context is the struct tc_incident_table. Borrows v. TC_E_NOMEM when it cannot.
 */
TC_CHECKED tc_status tc_incident_table_add(void *context, const struct tc_verdict *v);
void tc_incident_table_fini(struct tc_incident_table *k);

/* The index of an incident, or TC_INCIDENT_NONE. */
size_t tc_incident_table_find(const struct tc_incident_table *k, struct tc_slice incident_id);

/*
 * Forgets `count` verdicts: resolved ones first, then the least severe, of each those seen last
 * longest ago. Links of others may name those that are gone until they are made anew.
 */
void tc_incident_table_forget(struct tc_incident_table *k, size_t count);

/* A verdict as its detector gave it: own causes, words and severity, no group, no past. */
void tc_incident_entry_unlink(struct tc_incident_entry *v);
/* Every verdict. */
void tc_incident_table_unlink(struct tc_incident_table *k);

/* Stories together, the earliest first; in each the roots first, then what followed, by time. */
void tc_incident_table_arrange(struct tc_incident_table *k);

/* By first_seen, then pattern id as a number, then incident id. Forgets nothing. */
void tc_incident_table_sort(struct tc_incident_table *k);

#endif
