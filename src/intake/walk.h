/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths on the command line become a list of files. Directories are walked to
 * TC_DIR_DEPTH_MAX levels; hidden entries are left out, and so are symbolic links
 * to directories, pipes and the like, which are counted; the result does not depend on the order
 * the file system has.
 */
#ifndef TC_INTAKE_WALK_H
#define TC_INTAKE_WALK_H

#include "base/status.h"
#include "intake/input.h"

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
    size_t count_max;     /* files kept in the end; 0: TC_INPUTS_MAX */
    size_t left_out;      /* files over that */
    size_t skipped;       /* entries that are neither a file nor a directory of this tree */
    tc_intake_say_fn say; /* told what cannot be read, and of what is skipped if verbose */
    bool verbose;
    bool failed; /* something could not be read; it was reported */
};

/* Adds what path names. TC_E_NOMEM when it cannot go on. */
TC_CHECKED tc_status tc_walk_add(struct tc_walk *w, const char *path);
/*
 * After the last path. Of more files than can be read at once the first in order of path stay;
 * left_out counts the others, and failed is set.
 */
void tc_walk_end(struct tc_walk *w);
void tc_walk_fini(struct tc_walk *w);

#endif
