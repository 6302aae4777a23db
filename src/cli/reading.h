/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What detect and decode have in common: the options that say how inputs are to
 * be read, opening them, and telling what could not be read.
 */
#ifndef TC_CLI_READING_H
#define TC_CLI_READING_H

#include "base/status.h"
#include "cli/command.h"
#include "intake/hints.h"
#include "intake/inputs.h"

#include <stdbool.h>
#include <stddef.h>

struct tc_reading {
    const char *command;
    const struct tc_codec *codec; /* of --format, or NULL */
    const char *map_path;         /* of --map, or NULL */
    struct tc_hints hints;
    struct tc_inputs inputs;
    uint64_t memory_bytes;
    bool verbose;
    bool by_path; /* the order of the paths does not matter */
    bool failed;  /* some input could not be read, wholly or in part */
};

/* TC_E_NOMEM, reported. */
TC_CHECKED tc_status tc_reading_init(struct tc_reading *r, const char *command, int argc);
void tc_reading_fini(struct tc_reading *r);

/* The options that say how to read, for arguments that begin with a tc_reading. */
#define TC_READING_OPTION_COUNT 8
extern const struct tc_option tc_reading_options[TC_READING_OPTION_COUNT];
/* Takes --node NAME=FILE, for arguments that begin with a tc_reading. */
int tc_reading_take_node(void *args, const struct tc_option *option, const char *value);
/* Its help. */
#define TC_READING_NODE_HELP                                                                  \
    "With =FILE: FILE is the kernel log or scrape of node NAME. By default the node is what " \
    "follows "                                                                                \
    "the first dash of the file's name: dmesg-gpu-07.txt is from gpu-07. May be repeated."
/* Opens what the paths name. Sets failed and goes on where it can. A failure is reported. */
TC_CHECKED tc_status tc_reading_open(struct tc_reading *r, char *const *paths, size_t path_count);

/*
 * At the end: what was asked for in vain, and inputs that shrank while they were read, which
 * sets failed.
 */
void tc_reading_end(struct tc_reading *r);

/* "PATH: line L, at byte N: message" on standard error. */
void tc_reading_say_error(const struct tc_input *input, const struct tc_error *err);

#endif
