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

enum tc_reading_option {
    TC_READ_FORMAT,
    TC_READ_NODE,
    TC_READ_MAP,
    TC_READ_BOOT_TIME,
    TC_READ_NOW,
    TC_READ_TZ,
    TC_READ_INTERVAL,
    TC_READ_MEMORY,
    TC_READ_VERBOSE,
    TC_READ_COUNT
};

/* Their rows in a command's option table, from index base on. */
#define TC_READING_ROWS(base)                                                                      \
    [(base) +                                                                                      \
        TC_READ_FORMAT] = {.name = "format",                                                       \
                           .letter = 'f',                                                          \
                           .argument = "NAME",                                                     \
                           .values = TC_VALUES_FORMATS,                                            \
                           .help = "Read every file as this format. By default the content "       \
                                   "of each file tells."},                                         \
        [(base) + TC_READ_NODE] =                                                                  \
            {.name = "node",                                                                       \
             .argument = "NAME=FILE",                                                              \
             .help = "FILE is the kernel log or scrape of node NAME. By default the node "         \
                     "is what follows the first dash of the file's name: "                         \
                     "dmesg-gpu-07.txt is from gpu-07. May be repeated."},                         \
        [(base) + TC_READ_MAP] = {.name = "map",                                                   \
                                  .argument = "FILE",                                              \
                                  .help =                                                          \
                                      "Where each rank runs, when the data does not say. A table " \
                                      "with columns such as rank, node, gpu, gpu_uuid, pci, pod, " \
                                      "namespace and job, JSON, or a hostfile."},                  \
        [(base) + TC_READ_BOOT_TIME] = {.name = "boot-time",                                       \
                                        .argument = "[WHO=]TIME",                                  \
                                        .help =                                                    \
                                            "When the node booted, for kernel logs that only "     \
                                            "count the time since: RFC 3339, for all files or "    \
                                            "for the file or node WHO. May be repeated."},         \
        [(base) + TC_READ_NOW] = {.name = "now",                                                   \
                                  .argument = "TIME",                                              \
                                  .help =                                                          \
                                      "When the inputs were taken: gives dates without a year "    \
                                      "theirs, dates a scrape that says no time, and says how "    \
                                      "long what is still stuck has been. "                        \
                                      "By default each file's modification time gives the year."}, \
        [(base) + TC_READ_TZ] = {.name = "tz",                                                     \
                                 .argument = "+HH:MM",                                             \
                                 .help = "Zone of dates that name none. By default UTC."},         \
        [(base) +                                                                                  \
            TC_READ_INTERVAL] = {.name = "scrape-interval",                                        \
                                 .argument = "DURATION",                                           \
                                 .help = "Scrapes of metrics that say no time, in themselves or "  \
                                         "in their names, were taken so far apart, in the "        \
                                         "order of their names. By default 15s, and only where "   \
                                         "their modification times do not tell."},                 \
        [(base) + TC_READ_MEMORY] = {.name = "memory",                                             \
                                     .argument = "SIZE",                                           \
                                     .help =                                                       \
                                         "Memory for events that are held at once, such as 512M "  \
                                         "or 4G. By default a quarter of the machine's, 1G at "    \
                                         "least."},                                                \
        [(base) + TC_READ_VERBOSE] = {.name = "verbose",                                           \
                                      .letter = 'v',                                               \
                                      .help = "Say what each file is, and which were left out."}

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

/* Takes one option; value is borrowed. TC_E_USAGE, reported. */
TC_CHECKED tc_status tc_reading_option(struct tc_reading *r, enum tc_reading_option option,
                                       const char *value);
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
