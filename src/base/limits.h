/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every bound on input, queue, table and depth, in one place, with the reason
 * where the number is not obvious. A loop over bytes from outside ends at one
 * of these or at the end of the bytes.
 */
#ifndef TC_BASE_LIMITS_H
#define TC_BASE_LIMITS_H

/* JSON and YAML documents: levels of nesting, and bytes of one document. */
#define TC_JSON_DEPTH_MAX 64
#define TC_JSON_DOCUMENT_MAX ((size_t)512 << 20)

/* One line of a text log; a longer one is cut and counted. */
#define TC_LINE_MAX ((size_t)64 << 10)

/* A Flight Recorder dump: PyTorch's ring holds 2,000 entries by default, some
 * sites raise it to 100,000; groups and members follow the size of the job. */
#define TC_FR_ENTRIES_MAX 1000000
#define TC_FR_GROUPS_MAX 65536
#define TC_FR_RANK_MAX 1048575
#define TC_PICKLE_DEPTH_MAX 64
#define TC_PICKLE_MEMO_MAX 4000000

/* What one verdict may carry; the rest is counted in the text. */
#define TC_VERDICT_EVIDENCE_MAX 64
#define TC_VERDICT_ATTRS_MAX 32
#define TC_VERDICT_RANKS_MAX 4096
#define TC_VERDICT_JSON_MAX ((size_t)256 << 10)

/* `tracecore score`: of one truth and its verdicts. A line of a verdict that names every rank of
 * a large job is long; a million of each is a year of a large fleet. */
#define TC_SCORE_LINE_MAX ((size_t)16 << 20)
#define TC_SCORE_ITEMS_MAX 1000000
#define TC_SCORE_MEMORY_MAX ((size_t)2 << 30)
#define TC_SCORE_NAME_MAX 1024
#define TC_SCORE_LIST_MAX 10000

/* Inputs of one offline command. */
#define TC_INPUTS_MAX 65536
#define TC_DIR_DEPTH_MAX 16

#endif
