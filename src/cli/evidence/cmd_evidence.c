/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/evidence/evidence.h"
#include "cli/output/say.h"
#include "evidence/data_dir.h"
#include "object_store/reader.h"

#include <string.h>

#define PATH_BYTES 4096

static const struct tc_option OPTIONS[] = {
    TC_TEXT("at", "OFFSET,LENGTH", struct tc_evidence_args, at,
            "The bytes to print, as a verdict's \"raw\" names them. Of a stored batch: all by "
            "default."),
    TC_TEXT("verify", "DIGEST", struct tc_evidence_args, digest,
            "First check that the SHA-256 of all of it is this (sha256: and 64 hex digits); if it "
            "is not, print nothing."),
    TC_TEXT("data-dir", "DIR", struct tc_evidence_args, data_dir,
            "The daemon's data_dir. Default: $TRACECORE_DATA_DIR, else $STATE_DIRECTORY, else "
            "$XDG_STATE_HOME/tracecore, else ~/.local/state/tracecore."),
    TC_TEXT(
        "since", "TIME", struct tc_evidence_args, since,
        "ls: what arrived from then on: 2026-11-15T03:00:00Z, or how long ago: 90s, 15m, 2h, 3d."),
    TC_FLAG("objects", struct tc_evidence_args, objects,
            "ls: the sealed objects instead of the batches."),
    TC_FLAG("local", struct tc_evidence_args, local,
            "Only what is on this disk: nothing is fetched from the object store of "
            "evidence.remote."),
    TC_TEXT("key", "FILE", struct tc_evidence_args, key,
            "sign: the private key, Ed25519 in PEM (PKCS#8), readable by you alone."),
    TC_TEXT("new-key", "FILE", struct tc_evidence_args, new_key,
            "sign: make a key, write it to FILE and its public part to FILE.pub."),
    TC_TEXT("pub", "FILE", struct tc_evidence_args, pub,
            "verify: the public key that the signature must be by."),
    TC_TEXT("file", "MANIFEST", struct tc_evidence_args, file,
            "sign, verify: a manifest in a file, without any database. sign prints the envelope."),
    TC_TEXT("envelope", "FILE", struct tc_evidence_args, envelope,
            "verify --file: the envelope that sign printed."),
    TC_FLAG("json", struct tc_evidence_args, json,
            "ls, verify, sign: one JSON object a line. manifest: its exact bytes."),
};

static void say_fetching(const char *line)
{
    tc_say("evidence", "%s", line);
}

tc_status tc_evidence_open_all(const char *dir, bool local, struct tc_evidence **out,
                               struct tc_error *err)
{
    struct tc_evidence *e = NULL;
    TC_TRY(tc_evidence_open(dir, &e, err));
    tc_status status = local ? TC_OK : tc_object_store_attach(e, dir, say_fetching, err);
    if (status != TC_OK) {
        tc_evidence_close(e);
        return status;
    }
    *out = e;
    return TC_OK;
}

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
    if (tc_evidence_open_all(path, args->local, &e, &err) != TC_OK) {
        tc_say("evidence", "%s%s", err.message,
               err.status == TC_E_NOTFOUND ? "; --data-dir names the daemon's data_dir" : "");
        return NULL;
    }
    return e;
}

/* verify: all there is, one file or batch, a run, or a manifest in a file. */
static int verify(struct tc_evidence_args *args)
{
    if (args->file != NULL && args->what == NULL) {
        return tc_evidence_check_offline(args);
    }
    if (args->what == NULL) {
        return tc_evidence_check(args);
    }
    if (tc_slice_starts(tc_slice_cstr(args->what), TC_LIT("sha256:"))) {
        return tc_evidence_check_one(args);
    }
    return tc_evidence_check_run(args);
}

/* The arguments that are no options. */
static int act(int argc, char **argv, struct tc_evidence_args *args)
{
    const char *action = argc > 0 ? argv[0] : "";
    args->what = argc > 1 ? argv[1] : NULL;
    if (strcmp(action, "ls") == 0 && argc == 1) {
        return tc_evidence_ls(args);
    }
    if (strcmp(action, "verify") == 0 && argc <= 2) {
        return verify(args);
    }
    if (strcmp(action, "cat") == 0 && argc == 2) {
        return tc_evidence_cat(args);
    }
    if (strcmp(action, "manifest") == 0 && argc == 2) {
        return tc_evidence_manifest(args);
    }
    if (strcmp(action, "sign") == 0 && argc <= 2) {
        return tc_evidence_sign(args);
    }
    return tc_command_refuse(&tc_command_evidence,
                             "what is to be done? tracecore evidence ls, evidence verify, "
                             "evidence cat FILE --at OFFSET,LENGTH, evidence manifest RUN, "
                             "evidence sign RUN --key FILE");
}

static int run(int argc, char **argv)
{
    struct tc_evidence_args args = {0};
    int code = tc_options_read(&tc_command_evidence, argc, argv, &args);
    return code == TC_GO_ON ? act(argc - optind, argv + optind, &args) : code;
}

const struct tc_command tc_command_evidence = {
    .name = "evidence",
    .summary = "print, list, verify and sign the bytes that prove a result",
    .usage = "usage: tracecore evidence cat FILE --at OFFSET,LENGTH [--verify DIGEST]\n"
             "       tracecore evidence cat sha256:DIGEST|NUMBER [--at OFFSET,LENGTH]\n"
             "       tracecore evidence ls [--since TIME] [--objects] [--local] [--json]\n"
             "       tracecore evidence verify [RUN [--pub FILE]|sha256:DIGEST] [--local]\n"
             "                                 [--json]\n"
             "       tracecore evidence manifest RUN [--json]\n"
             "       tracecore evidence sign RUN --key FILE|--new-key FILE\n"
             "       tracecore evidence sign --file MANIFEST --key FILE\n"
             "       tracecore evidence verify --file MANIFEST --envelope FILE --pub FILE\n"
             "\n"
             "cat prints exactly these bytes of a file, of a member of an archive\n"
             "(bundle.tgz/logs/dmesg.txt), of a batch that the daemon has stored, or of a file\n"
             "of a run, and nothing else. A verdict's\n"
             "evidence_trail[].raw has all three: the digest says which bytes are meant,\n"
             "offset and length which part of them. ls lists what is stored, files of runs\n"
             "and batches; verify reads all of it again and names what is not what was\n"
             "written. They read while the daemon runs. What a terminal would act on is\n"
             "escaped when output goes to one. What was copied to an object store\n"
             "(evidence.remote) and deleted here is fetched from there, and checked.\n"
             "\n"
             "manifest prints which files a run consists of, with --json the very bytes that\n"
             "its digest is over. sign puts a signature beside it (Ed25519, a DSSE envelope\n"
             "around an in-toto statement): a local key, no transparency log, so it says who\n"
             "held the key and not when. verify RUN hashes every file of the run again.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  done; all is what was written\n"
             "  1  the digest is another one, something is damaged or missing, or the\n"
             "     signature is not by that key\n"
             "  2  wrong usage, it is not there, cannot be read, or is too short\n"
             "\n"
             "Examples:\n"
             "  tracecore evidence cat dmesg-gpu-07.txt --at 1042,117\n"
             "  tracecore evidence cat dumps/_dump_13 --at 120,360 --verify sha256:9f86...\n"
             "  tracecore evidence cat sha256:9f86... --at 120,360\n"
             "  tracecore evidence ls --since 15m\n"
             "  tracecore evidence verify --data-dir /var/lib/tracecore\n"
             "  tracecore evidence manifest nightly-7 --json | sha256sum\n"
             "  tracecore evidence sign nightly-7 --new-key ~/tracecore.key\n"
             "  tracecore evidence verify nightly-7 --pub ~/tracecore.key.pub\n",
    .words = "cat ls verify manifest sign",
    .run = run,
};
