/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/evidence.h"
#include "cli/say.h"
#include "evidence/data_dir.h"

#include <string.h>

#define PATH_BYTES 4096

enum { OPT_AT, OPT_VERIFY, OPT_DATA_DIR, OPT_SINCE, OPT_OBJECTS, OPT_JSON, OPT_COUNT };

static const struct tc_option OPTIONS[OPT_COUNT] = {
    [OPT_AT] = {.name = "at",
                .argument = "OFFSET,LENGTH",
                .help = "The bytes to print, as a verdict's \"raw\" names them. Of a stored batch: "
                        "all by default."},
    [OPT_VERIFY] = {.name = "verify",
                    .argument = "DIGEST",
                    .help = "First check that the SHA-256 of all of it is this (sha256: and 64 hex "
                            "digits); if it is not, print nothing."},
    [OPT_DATA_DIR] = {.name = "data-dir",
                      .argument = "DIR",
                      .help = "The daemon's data_dir. Default: $TRACECORE_DATA_DIR, else "
                              "$STATE_DIRECTORY, else $XDG_STATE_HOME/tracecore, else "
                              "~/.local/state/tracecore."},
    [OPT_SINCE] = {.name = "since",
                   .argument = "TIME",
                   .help = "ls: what arrived from then on: 2026-11-15T03:00:00Z, or how long ago: "
                           "90s, 15m, 2h, 3d."},
    [OPT_OBJECTS] = {.name = "objects", .help = "ls: the sealed objects instead of the batches."},
    [OPT_JSON] = {.name = "json", .help = "ls and verify: one JSON object a line."},
};

struct tc_evidence *tc_evidence_of(const struct tc_evidence_args *args)
{
    char dir[PATH_BYTES];
    char path[PATH_BYTES + 16];
    struct tc_evidence *e = NULL;
    struct tc_error err;
    if (args->data_dir == NULL && !tc_data_dir_default(dir, sizeof dir)) {
        tc_say("evidence", "where is the data? give --data-dir DIR; neither TRACECORE_DATA_DIR nor "
                           "HOME is set");
        return NULL;
    }
    (void)snprintf(path, sizeof path, "%s/evidence", args->data_dir != NULL ? args->data_dir : dir);
    if (tc_evidence_open(path, &e, &err) != TC_OK) {
        tc_say("evidence", "%s%s", err.message,
               err.status == TC_E_NOTFOUND ? "; --data-dir names the daemon's data_dir" : "");
        return NULL;
    }
    return e;
}

/* The arguments that are no options. */
static int act(int argc, char **argv, struct tc_evidence_args *args)
{
    const char *action = argc > 0 ? argv[0] : "";
    if (strcmp(action, "ls") == 0 && argc == 1) {
        return tc_evidence_ls(args);
    }
    if (strcmp(action, "verify") == 0 && argc == 1) {
        return tc_evidence_check(args);
    }
    if (strcmp(action, "cat") == 0 && argc == 2) {
        args->what = argv[1];
        return tc_evidence_cat(args);
    }
    tc_say("evidence", "what is to be done? tracecore evidence ls, evidence verify, "
                       "evidence cat FILE --at OFFSET,LENGTH");
    return tc_command_misused(&tc_command_evidence);
}

static int run(int argc, char **argv)
{
    struct tc_option_walk walk;
    const char *value = NULL;
    struct tc_evidence_args args = {0};
    tc_option_walk_init(&walk, &tc_command_evidence, argc, argv);
    for (int option; (option = tc_option_next(&walk, &value)) != TC_OPTION_END;) {
        if (option == TC_OPTION_HELP) {
            return tc_command_show_help(&tc_command_evidence);
        }
        if (option == TC_OPTION_BAD) {
            return TC_EXIT_BAD;
        }
        args.at = option == OPT_AT ? value : args.at;
        args.digest = option == OPT_VERIFY ? value : args.digest;
        args.data_dir = option == OPT_DATA_DIR ? value : args.data_dir;
        args.since = option == OPT_SINCE ? value : args.since;
        args.objects |= option == OPT_OBJECTS;
        args.json |= option == OPT_JSON;
    }
    return act(argc - optind, argv + optind, &args);
}

const struct tc_command tc_command_evidence = {
    .name = "evidence",
    .summary = "print, list and verify the bytes that prove a verdict",
    .usage = "usage: tracecore evidence cat FILE --at OFFSET,LENGTH [--verify DIGEST]\n"
             "       tracecore evidence cat sha256:DIGEST|NUMBER [--at OFFSET,LENGTH]\n"
             "       tracecore evidence ls [--since TIME] [--objects] [--json]\n"
             "       tracecore evidence verify [--json]\n"
             "\n"
             "cat prints exactly these bytes of a file, or of a batch that the daemon has\n"
             "stored, and nothing else. A verdict's evidence_trail[].raw has all three: the\n"
             "digest says which bytes are meant, offset and length which part of them. ls\n"
             "lists what is stored, verify reads all of it again and names what is not what\n"
             "was written. They read while the daemon runs. What a terminal would act on is\n"
             "escaped when output goes to one.\n",
    .options = OPTIONS,
    .option_count = OPT_COUNT,
    .notes = "Exit status:\n"
             "  0  done; all is what was written\n"
             "  1  the digest is another one, or something is damaged\n"
             "  2  wrong usage, it is not there, cannot be read, or is too short\n"
             "\n"
             "Examples:\n"
             "  tracecore evidence cat dmesg-gpu-07.txt --at 1042,117\n"
             "  tracecore evidence cat dumps/_dump_13 --at 120,360 --verify sha256:9f86... | xxd\n"
             "  tracecore evidence cat sha256:9f86... --at 120,360\n"
             "  tracecore evidence ls --since 15m\n"
             "  tracecore evidence verify --data-dir /var/lib/tracecore\n",
    .words = "cat ls verify",
    .run = run,
};
