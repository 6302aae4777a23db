/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths on the command line become a list of files. Directories are walked to
 * TC_DIR_DEPTH_MAX levels; hidden entries and symbolic links to directories are
 * left out; the result does not depend on the order the file system has.
 */
#ifndef TC_CLI_WALK_H
#define TC_CLI_WALK_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct tc_walk_file {
    char *path;  /* owned by the list */
    bool direct; /* named by the user */
};

struct tc_walk {
    struct tc_walk_file *files;
    size_t count;
    size_t cap;
    bool failed; /* a directory could not be read; it was reported */
};

/* Adds what path names. At most TC_INPUTS_MAX files: TC_E_LIMIT, reported. */
TC_CHECKED tc_status tc_walk_add(struct tc_walk *w, const char *path, const char *command);
void tc_walk_fini(struct tc_walk *w);

#endif
