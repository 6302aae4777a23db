/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tables hold and the evidence does not say: when a run was added and with which words,
 * what was signed, what was retired, how metrics were sliced, when a verdict was told and of which
 * run. Text files in data_dir/ledger, only ever appended to; a line is written before the
 * transaction that it belongs to is committed, so the ledger never knows less than the tables.
 * `tracecore rebuild` makes the tables anew from it and the evidence.
 *
 * A line is 16 hex digits of the SHA-256 of what follows, a blank, and a JSON object.
 */
#ifndef TC_WAREHOUSE_LEDGER_H
#define TC_WAREHOUSE_LEDGER_H

#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"

#include <stdint.h>

#define TC_LEDGER_DIR "ledger"
/* What commands did, in the order in which they did it: "add", "sign", "retain". */
#define TC_LEDGER_COMMANDS "commands"
/* How the daemon slices metrics: the last line counts. */
#define TC_LEDGER_SLICES "slices"
/* Names of runs that the daemon learnt from telemetry. */
#define TC_LEDGER_NAMES "run-names"
/* Verdicts as they were written to the tables, one file per month: verdicts-2026-11. */
#define TC_LEDGER_VERDICTS "verdicts-"

/* Of one line. A verdict is at most 1 MiB, and escaped in a string. */
#define TC_LEDGER_LINE_MAX ((size_t)8 << 20)
#define TC_LEDGER_NAME_MAX 64

/* The file of the month of that time. */
void tc_ledger_month(int64_t ns, char out_name[TC_LEDGER_NAME_MAX]);
/* The time at which a month begins that is behind the one of a file's name; INT64_MAX when the name
 * is none of a month. */
int64_t tc_ledger_month_end(const char *name);

/* Adds one line about a JSON object without newlines. */
void tc_ledger_add(struct tc_grow *lines, struct tc_slice json);
/*
 * Appends lines, durable on return. The end of a line that a crash cut is taken away first. On
 * failure the file is as it was. Any number of processes.
 */
TC_CHECKED tc_status tc_ledger_append(const char *data_dir, const char *name, struct tc_slice lines,
                                      struct tc_error *err);
/* The same of one JSON object, which was made in text that grows. Frees that. */
TC_CHECKED tc_status tc_ledger_record(const char *data_dir, const char *name, struct tc_grow *json,
                                      struct tc_error *err);

/* The JSON object of one line. A failure ends the reading and is returned. */
typedef tc_status (*tc_ledger_fn)(void *context, struct tc_slice json);
/*
 * All lines, in their order. Those that are damaged are counted, one that is cut at the end is not.
 * A file that is not there has none. out_damaged is added to.
 */
TC_CHECKED tc_status tc_ledger_read(const char *data_dir, const char *name, tc_ledger_fn take,
                                    void *context, uint64_t *io_damaged, struct tc_error *err);
/* The names of the files that begin so, in their order; names is in memory of free(), one after
 * another, TC_LEDGER_NAME_MAX bytes each. */
TC_CHECKED tc_status tc_ledger_list(const char *data_dir, const char *prefix,
                                    char (**out_names)[TC_LEDGER_NAME_MAX], size_t *out_count,
                                    struct tc_error *err);
/* Removes a file that nothing needs any more. */
TC_CHECKED tc_status tc_ledger_remove(const char *data_dir, const char *name, struct tc_error *err);

#endif
