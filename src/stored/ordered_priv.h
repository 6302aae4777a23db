/* SPDX-License-Identifier: Apache-2.0 */
/* Inside ordered reading: the list of batches, how fast clocks were, and batches that are open. */
#ifndef TC_STORED_ORDERED_PRIV_H
#define TC_STORED_ORDERED_PRIV_H

#include "base/table/sort.h"
#include "engine/merge.h"
#include "event/copy.h"
#include "event/fields.h"
#include "evidence/store.h"
#include "live/sources.h"
#include "stored/batch_events.h"
#include "stored/ordered.h"

#include <stdalign.h>

/* A batch of the stretch. */
struct tc__listed {
    uint64_t number;
    int64_t arrival_ns;
    int64_t first_ns; /* no event of it is earlier */
    char *name;       /* of a file; NULL */
    uint32_t name_len;
    uint32_t kind; /* enum tc_batch_kind */
};

/* From batch `number` on the clock of a source was fast by ahead_ns. */
struct tc__fast {
    struct tc_lru_key key;
    uint64_t number;
    size_t order; /* in which it was noted */
    int64_t ahead_ns;
};

/* Copies of the events of a batch: see event/copy.h. */
struct tc__chunk {
    struct tc__chunk *next;
    size_t used;
    size_t size;
    alignas(TC_EVENT_COPY_ALIGN) unsigned char bytes[];
};

/* A batch whose events are in memory, sorted; of a long file a part of them. A stream: the next
 * part is read when this one ends, and at the end it leaves the list of those that are open. */
struct tc__opened {
    struct tc_ordered *of;
    struct tc__opened *older; /* that are open */
    struct tc__opened *newer;
    const struct tc__listed *listed;
    const void **order; /* the events */
    struct tc__chunk *chunks;
    size_t count;
    size_t cap;
    size_t next;
    size_t bytes;
    size_t taken;  /* events of the file that were in parts before this one, and in it */
    bool has_more; /* behind this part */
};

struct tc_ordered {
    struct tc_ordered_want want;
    struct tc_evidence *evidence;
    struct tc_otlp_reader *reader;
    struct tc_batch_arenas arenas;
    struct tc_sources_table sources;
    struct tc_event_strings strings;
    struct tc_ordered_counts counts;
    void (*adjust)(const void *context, struct tc_event *ev);
    const void *context;
    struct tc__listed *listed; /* by first_ns once surveyed */
    size_t listed_count;
    size_t listed_cap;
    size_t listed_next;             /* the first that was not opened yet */
    struct tc_sort_pair *by_source; /* by the low half of its number: where each is listed */
    struct tc__fast *fast;
    size_t fast_count;
    size_t fast_cap;
    struct tc_merger merger; /* of those that are open */
    struct tc__opened *open; /* the newest of them */
    bool has_told;           /* the merger's head left */
    size_t held_bytes;
    bool is_cut; /* there were too many batches */
};

/* Whether an event's time says something of its source's clock, and is corrected: not in a file,
 * which was given by somebody else, and not where it is dated by its arrival. */
bool tc__ordered_may_be_fast(const struct tc_batch *batch, const struct tc_event *ev);
/* The event as it counts: dated, in the stretch, its clock corrected. False when it is left out. */
bool tc__ordered_fit(const struct tc_ordered *o, const struct tc_batch *batch, int64_t ahead_ns,
                     struct tc_event *io_event);
/* How fast the clock of an event's source was when a batch came; after the survey. */
int64_t tc__ordered_fast(const struct tc_ordered *o, const struct tc_event *ev, uint64_t number);

/* Opens a batch: a stream of its events. TC_E_NOMEM, or a failure of the store. */
TC_CHECKED tc_status tc__opened_begin(struct tc_ordered *o, const struct tc__listed *listed);
/* Closes all that are open. */
void tc__opened_close_all(struct tc_ordered *o);

#endif
