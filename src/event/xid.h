/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Xid catalogue: what each NVIDIA driver error number means and what to do.
 * One data table (xid.def), written from NVIDIA's public Xid documentation.
 */
#ifndef TC_EVENT_XID_H
#define TC_EVENT_XID_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum tc_xid_class {
    TC_XID_HARDWARE,    /* the board, its memory, its links or its firmware */
    TC_XID_APPLICATION, /* most often the program that ran; never blames hardware alone */
    TC_XID_DRIVER,      /* driver or system software */
    TC_XID_INFO,        /* says something about another Xid, or nothing at all */
};

/* Ordered: a higher one wins when several fall into one window. */
enum tc_xid_severity {
    TC_XID_NOTICE,
    TC_XID_WARNING,
    TC_XID_ERROR,
    TC_XID_FATAL, /* the GPU is lost until reset, reboot or replacement */
};

struct tc_xid {
    int32_t code;
    enum tc_xid_class class;
    enum tc_xid_severity severity;
    const char *name;   /* short, for a sentence: "GPU has fallen off the bus" */
    const char *action; /* imperative, for a sentence: "reset the GPU" */
};

/* The entry of a code, or NULL when the catalogue does not have it. */
const struct tc_xid *tc_xid_find(int64_t code);
/* All entries, ascending by code. */
const struct tc_xid *tc_xid_table(size_t *out_count);

/* What a site says of Xids: entries before the catalogue's. Empty when zeroed. */
#define TC_XID_LIST_MAX 64
#define TC_XID_ADVICE_MAX 200

struct tc_xid_list {
    struct tc_xid items[TC_XID_LIST_MAX]; /* name and action are texts of the catalogue or below */
    char advice[TC_XID_LIST_MAX][TC_XID_ADVICE_MAX + 1];
    size_t count;
};

/*
 * Reads a list, one entry a line: "145 hardware fatal: drain the node and return the board". The
 * advice may be left out; of a code that the catalogue has, its advice holds then. TC_E_MALFORMED,
 * with what is wrong with which entry and how it is to be written, and *out empty.
 */
TC_CHECKED tc_status tc_xid_list_read(struct tc_slice lines, struct tc_xid_list *out,
                                      struct tc_error *err);
/* The entry of a code in the list (which may be NULL), else that of the catalogue; NULL. */
const struct tc_xid *tc_xid_list_find(const struct tc_xid_list *list, int64_t code);
/* Whether the list itself has an entry of that class. */
bool tc_xid_list_says(const struct tc_xid_list *list, int64_t code, enum tc_xid_class class);

/* Whether a code tells of the GPU's NVLink: 74, and 144 to 150 of NVLink 5. */
bool tc_xid_is_nvlink(int64_t code);

const char *tc_xid_class_name(enum tc_xid_class class);
const char *tc_xid_severity_name(enum tc_xid_severity severity);

#endif
