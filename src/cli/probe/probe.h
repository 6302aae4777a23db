/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capturing what a machine is: tools are run without a shell, with a time and a size they may
 * take; files and directories are read. What is not there is named, and is no failure.
 */
#ifndef TC_CLI_PROBE_PROBE_H
#define TC_CLI_PROBE_PROBE_H

#include "base/status.h"
#include "probe/probe.h"

#include <stddef.h>

#define TC_CAPTURES_MAX 64

struct tc_capture {
    char name[64]; /* of the file: nvidia-smi.txt */
    char *bytes;   /* NULL: there is none */
    size_t len;
    const char *what; /* of tc_probe_take */
    char error[96];   /* why there is none */
};

struct tc_captures {
    struct tc_capture items[TC_CAPTURES_MAX];
    size_t count;
};

/* A new one; NULL when there is no room. */
void tc_captures_free(struct tc_captures *c);

/* All that this machine tells. root is "" but for tests, which have a tree of their own. */
void tc_probe_capture(struct tc_captures *c, const char *root);
/* The text files of a directory, sorted by name. */
TC_CHECKED tc_status tc_probe_load(struct tc_captures *c, const char *dir, struct tc_error *err);

/* capture.c: runs argv[0] of $PATH for so many seconds at most; its output into the capture, or
 * why there is none. */
void tc_probe_run(struct tc_capture *to, const char *const *argv, int seconds);
/* A file, cut at TC_PROBE_BYTES_MAX. */
void tc_probe_read(struct tc_capture *to, const char *path);

#endif
