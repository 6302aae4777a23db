/* SPDX-License-Identifier: Apache-2.0 */
/* A directory and all above it, of the data directory and beside it. */
#ifndef TC_EVIDENCE_DIRS_H
#define TC_EVIDENCE_DIRS_H

#define TC_DIRS_PATH_BYTES 4096

/*
 * Makes those that are not there, for their owner only. Returns 0, or errno with the one that could
 * not be made in out_part. ENOENT: the path is empty; ENAMETOOLONG: it is too long, out_part empty.
 */
int tc_dirs_make(const char *path, char out_part[TC_DIRS_PATH_BYTES]);

#endif
