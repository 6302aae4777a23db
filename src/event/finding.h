/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a detector says: the content of a verdict, before it is numbered by the
 * incident table and rendered. Lives in the detector's scratch memory: whoever
 * takes one from a sink uses it before returning.
 */
#ifndef TC_EVENT_FINDING_H
#define TC_EVENT_FINDING_H

#include "base/limits.h"
#include "base/slice.h"
#include "base/status.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tc_severity { TC_SEVERITY_INFO, TC_SEVERITY_WARNING, TC_SEVERITY_CRITICAL };
enum tc_confidence { TC_CONFIDENCE_FULL, TC_CONFIDENCE_PARTIAL };
enum tc_verdict_status { TC_VERDICT_OPEN, TC_VERDICT_UPDATED, TC_VERDICT_RESOLVED };

struct tc_evidence {
    struct tc_slice kind; /* the pattern's page lists them */
    struct tc_slice uid;
    struct tc_slice description;
    int64_t time_ns;
    struct tc_raw raw;
};

enum tc_attr_type {
    TC_ATTR_STRING,
    TC_ATTR_INT,
    TC_ATTR_BOOL,
    TC_ATTR_INTS,    /* array of int32_t */
    TC_ATTR_STRINGS, /* array of slices */
    TC_ATTR_SCOPES,  /* array of scopes: an object each, with the members of a verdict's own */
};

/* The key is a literal and is written as it is, without escaping. */
struct tc_attr {
    struct tc_slice key;
    enum tc_attr_type type;
    union {
        struct tc_slice string;
        int64_t integer;
        bool boolean;
        const int32_t *ints;
        const struct tc_slice *strings;
        const struct tc_scope *scopes;
    };
    size_t count; /* of the arrays */
};

/* Why this incident is a consequence of another of the same run. */
struct tc_cause {
    struct tc_slice key; /* the other finding's key */
    struct tc_slice why; /* one sentence */
};

struct tc_finding {
    struct tc_slice pattern_id;   /* "1" */
    struct tc_slice pattern_name; /* "nccl_hang" */
    struct tc_slice key;          /* join key: same key, same incident while it is open */
    bool resolved;                /* the condition has cleared */
    bool incomplete;              /* a memory budget dropped part of the window */
    bool root;                    /* explains others */
    bool plain;                   /* every string is plain ASCII: see tc_slice_is_plain */
    enum tc_severity severity;
    enum tc_confidence confidence;
    struct tc_slice discriminator;
    struct tc_slice headline;
    struct tc_slice remediation;
    int64_t first_ns;
    bool redated; /* what was told of it before was dated too early: first_ns replaces that */
    int64_t last_ns;
    struct tc_scope scope;
    const struct tc_attr *attrs;
    size_t attr_count;
    const struct tc_evidence *evidence; /* first entry seeds the incident id */
    size_t evidence_count;
    const struct tc_cause *causes;
    size_t cause_count;
};

/* The first attribute of that type whose key ends so, NULL when there is none. */
const struct tc_attr *tc_finding_attr(const struct tc_finding *f, enum tc_attr_type type,
                                      struct tc_slice suffix);

/* How findings leave a detector. Borrows the finding until return. */
typedef tc_status (*tc_sink_fn)(void *context, const struct tc_finding *finding);

struct tc_sink {
    tc_sink_fn emit;
    void *context;
};

static inline tc_status tc_sink_emit(const struct tc_sink *sink, const struct tc_finding *finding)
{
    return sink->emit(sink->context, finding);
}

#endif
