/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SXid catalogue: what the errors of NVSwitches mean, and how far they reach.
 * One data table (sxid.def), written from NVIDIA's public Fabric Manager User Guide.
 */
#ifndef TC_EVENT_SXID_H
#define TC_EVENT_SXID_H

#include <stddef.h>
#include <stdint.h>

/* Ordered: a higher one takes more with it. */
enum tc_sxid_reach {
    TC_SXID_NONFATAL, /* corrected, or traffic goes on */
    TC_SXID_LINK,     /* fatal to what runs over the link that reported */
    TC_SXID_FABRIC,   /* fatal to the whole fabric of the node */
};

struct tc_sxid {
    int32_t code;
    enum tc_sxid_reach reach;
    const char *name; /* short, for a sentence: "LTSSM fault up" */
};

/* The entry of a code, or NULL when the catalogue does not have it. */
const struct tc_sxid *tc_sxid_find(int64_t code);
/* All entries, ascending by code. */
const struct tc_sxid *tc_sxid_table(size_t *out_count);

#endif
