/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The systemd journal, read by libsystemd, which is loaded when the source starts: the kernel's
 * messages and those of some units, as lines like those of `journalctl -o short-iso-precise`.
 */
#ifndef TC_SOURCE_JOURNAL_H
#define TC_SOURCE_JOURNAL_H

#include "source/source.h"

struct tc_journal_config {
    const char *directory; /* of journal files; "": this system's */
    struct tc_slice units; /* a line each, a unit or FIELD=VALUE; some units when empty */
    struct tc_slice node;  /* of entries that name no host */
    bool kernel;           /* the kernel's messages too */
    int64_t back_ns;       /* how much of the past is read at the very first look */
};

extern const struct tc_source_kind tc_source_journal;

/* Copies all. TC_E_NOMEM. */
TC_CHECKED tc_status tc_journal_create(const struct tc_journal_config *config, void **out_state,
                                       struct tc_error *err);
/* Whether this system has journal files that may be read. */
bool tc_journal_is_there(void);

#endif
