/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who claimed what, and when: the ledger's file "audit" (warehouse/ledger.h), one line per act. An
 * entry has the digest of the entry before it, so that none can be changed, removed or moved
 * without the next one showing it; published_number has the digest of the entry that published
 * each row, which shows it of the last one.
 *
 *   {"seq":2,"prev":"sha256:...","act":"publish","at":"2026-11-17T18:40:12Z","by":"ana@host",
 *    "number_id":"num-...","claim":{...}}
 *
 * Whoever writes holds the lock of runs (run/lock.h): publishers wait for each other.
 */
#ifndef TC_PUBLISH_AUDIT_H
#define TC_PUBLISH_AUDIT_H

#include "base/digest.h"
#include "base/json/json.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define TC_AUDIT_LEDGER "audit"
#define TC_AUDIT_PUBLISH "publish"
#define TC_AUDIT_RETRACT "retract"

/* Bytes of "who", and of a reason or another word that a person gives. */
#define TC_AUDIT_BY_MAX 256
#define TC_AUDIT_WORDS_MAX 1000

struct tc_audit_entry {
    uint64_t seq;            /* of the line, from 1 */
    struct tc_digest digest; /* of the entry */
    struct tc_slice text;    /* its very bytes */
    struct tc_slice prev;    /* digest of the entry before; empty: there is none */
    struct tc_slice act;
    int64_t at_ns;
    struct tc_slice by;
    struct tc_slice number_id;
    struct tc_slice reason; /* of a retraction */
    struct tc_slice claim;  /* of a publication: canonical JSON */
};

/* What the whole log is worth. */
struct tc_audit_chain {
    uint64_t entries;
    struct tc_digest head; /* of the last entry; all zero without one */
    uint64_t broken_at;    /* the first line that does not fit; 0: the chain is whole */
    char why[160];         /* in words */
};

/* An entry, in the order of the log. Borrows it. A failure ends the reading and is returned. */
typedef tc_status (*tc_audit_fn)(void *context, const struct tc_audit_entry *entry);

/*
 * Reads all of it; entries that do not fit are given all the same, lines that are no entries are
 * not. A log that is not there is whole and empty. take may be NULL.
 */
TC_CHECKED tc_status tc_audit_read(const char *data_dir, tc_audit_fn take, void *context,
                                   struct tc_audit_chain *out, struct tc_error *err);
/* One entry by its own text. TC_E_MALFORMED: it is none. Strings are the parser's, the claim is in
 * memory of free(). */
TC_CHECKED tc_status tc_audit_parse(struct tc_json_parser *parser, struct tc_slice text,
                                    struct tc_audit_entry *out, char **out_memory,
                                    struct tc_error *err);

/* TC_E_MALFORMED for a chain that is broken: nothing is claimed behind it. */
TC_CHECKED tc_status tc_audit_need_whole(const struct tc_audit_chain *chain, struct tc_error *err);
/*
 * Adds an entry behind a chain that was just read, durable on return; a chain that is broken is
 * refused (TC_E_MALFORMED). seq and digest of the entry are filled.
 */
TC_CHECKED tc_status tc_audit_append(const char *data_dir, struct tc_audit_chain *io_chain,
                                     struct tc_audit_entry *io_entry, struct tc_error *err);

#endif
