/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/output/say.h"
#include "cli/publish/publish.h"
#include "publish/packet.h"

struct args {
    const char *pub;
    bool json;
};

static const struct tc_option OPTIONS[] = {
    TC_TEXT("pub", "FILE", struct args, pub,
            "The public key that the manifests of all runs must be signed by."),
    TC_FLAG("json", struct args, json, "One JSON object a line."),
};

/* The worse of two exit statuses. */
static int verify(const struct args *args, const char *dir, const struct tc_sign_key *key)
{
    struct tc_chain chain;
    struct tc_claim claim;
    struct tc_error err = {0};
    struct tc_grow g = {0};
    char id[TC_NUMBER_ID_BYTES];
    int code = TC_EXIT_BAD;
    if (tc_packet_check(dir, key, id, &chain, &claim, &err) == TC_OK) {
        tc_publish_put_lineage(&g, id, &claim, &chain, args->json);
        code = tc_output_grown(
            "verify", &g, tc_chain_broken(&chain) < TC_STEP_COUNT ? TC_EXIT_FOUND : TC_EXIT_OK);
    } else {
        tc_say("verify", "%s", err.message);
    }
    tc_claim_fini(&claim);
    return code;
}

static int run(int argc, char **argv)
{
    struct args args = {0};
    bool bad = false;
    int code = tc_options_read(&tc_command_verify, argc, argv, &args);
    if (code != TC_GO_ON) {
        return code;
    }
    if (argc == optind) {
        return tc_command_refuse(&tc_command_verify,
                                 "verify what? give the directory of a packet that `tracecore "
                                 "publish export` made");
    }
    struct tc_sign_key *key = tc_publish_key("verify", args.pub, &bad);
    code = bad ? TC_EXIT_BAD : TC_EXIT_OK;
    for (int i = optind; i < argc && !bad; i++) {
        int one = verify(&args, argv[i], key);
        code = one > code ? one : code;
    }
    tc_sign_key_destroy(key);
    return code;
}

const struct tc_command tc_command_verify = {
    .name = "verify",
    .summary = "check a published number that somebody sent, offline",
    .usage = "usage: tracecore verify PACKET... [--pub FILE] [--json]\n"
             "\n"
             "A packet is the directory that `tracecore publish export` makes. It is checked\n"
             "without any database: the claim has its name, the query its digest, the\n"
             "manifests and raw files theirs, the signatures are by the key, and the number is\n"
             "made again from the bytes.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  all of it holds\n"
             "  1  a step is broken\n"
             "  2  wrong usage, no packet, or it cannot be told\n",
    .run = run,
};
