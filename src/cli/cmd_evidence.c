/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"
#include "cli/command.h"
#include "cli/say.h"
#include "intake/input.h"

#include <string.h>
#include <unistd.h>

enum { OPT_AT, OPT_VERIFY, OPT_COUNT };

static const struct tc_option OPTIONS[OPT_COUNT] = {
    [OPT_AT] = {.name = "at",
                .argument = "OFFSET,LENGTH",
                .help = "The bytes to print, as a verdict's \"raw\" names them."},
    [OPT_VERIFY] = {.name = "verify",
                    .argument = "DIGEST",
                    .help = "First check that the file's SHA-256 is this (sha256: and 64 hex "
                            "digits); if it is not, print nothing."},
};

struct range {
    uint64_t offset;
    uint64_t length;
};

static bool parse_range(const char *text, struct range *out)
{
    struct tc_slice length;
    struct tc_slice all = tc_slice_cstr(text);
    struct tc_slice offset = tc_slice_cut(all, ',', &length);
    return offset.len < all.len && tc_slice_is_u64(offset, &out->offset) &&
           tc_slice_is_u64(length, &out->length);
}

static bool is_hex_digest(struct tc_slice hex)
{
    for (size_t i = 0; i < hex.len; i++) {
        uint64_t digit = 0;
        if (tc_slice_hex(tc_slice_make(hex.ptr + i, 1), &digit) != 1) {
            return false;
        }
    }
    return hex.len == (size_t)TC_DIGEST_BYTES * 2;
}

/* The file is what its digest says, or the exit status for when it is not. */
static int verify(struct tc_input *in, const char *digest)
{
    struct tc_slice wanted = tc_slice_cstr(digest);
    if (tc_slice_starts(wanted, TC_LIT("sha256:"))) {
        wanted = tc_slice_from(wanted, 7);
    }
    struct tc_slice actual = tc_input_digest(in);
    if (actual.len == 0) {
        tc_say("evidence", "the digest of %s cannot be made", in->path);
        return TC_EXIT_BAD;
    }
    if (!tc_slice_eq_nocase(wanted, tc_slice_from(actual, 7))) {
        tc_say("evidence", "%s is not the file that was meant: it has %.*s, not sha256:%.*s",
               in->path, TC_FMT(actual), TC_FMT(wanted));
        return TC_EXIT_FOUND;
    }
    return TC_EXIT_OK;
}

static int print_range(const struct tc_input *in, const struct range *range)
{
    size_t size = in->bytes.len;
    if (range->offset > size || range->length > size - range->offset) {
        tc_say("evidence", "--at %llu,%llu is outside of %s, which has %zu bytes",
               (unsigned long long)range->offset, (unsigned long long)range->length, in->path,
               size);
        return TC_EXIT_BAD;
    }
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    struct tc_slice bytes = tc_slice_from(in->bytes, (size_t)range->offset);
    (void)tc_output_put(&out, tc_slice_head(bytes, (size_t)range->length));
    return tc_output_end(&out, "evidence", TC_EXIT_OK);
}

static int cat(const char *path, const struct range *range, const char *digest)
{
    struct tc_input in;
    struct tc_error err;
    size_t copied = 0;
    tc_input_guard();
    if (tc_input_open(&in, path, &copied, &err) != TC_OK) {
        tc_say_plain("%s: %s", path, err.message);
        return TC_EXIT_BAD;
    }
    int code = digest == NULL ? TC_EXIT_OK : verify(&in, digest);
    if (code == TC_EXIT_OK) {
        code = print_range(&in, range);
    }
    tc_input_close(&in);
    return code;
}

static bool check_values(const char *at, struct range *range, const char *digest)
{
    if (at == NULL || !parse_range(at, range)) {
        tc_say("evidence", "%s",
               at == NULL ? "which bytes? give --at OFFSET,LENGTH"
                          : "--at takes two numbers, OFFSET,LENGTH");
        return false;
    }
    if (digest != NULL) {
        struct tc_slice hex = tc_slice_cstr(digest);
        hex = tc_slice_starts(hex, TC_LIT("sha256:")) ? tc_slice_from(hex, 7) : hex;
        if (!is_hex_digest(hex)) {
            tc_say("evidence", "--verify takes sha256: and 64 hex digits, not \"%s\"", digest);
            return false;
        }
    }
    return true;
}

static int run(int argc, char **argv)
{
    struct tc_option_walk walk;
    const char *value = NULL;
    const char *at = NULL;
    const char *digest = NULL;
    struct range range = {0};
    tc_option_walk_init(&walk, &tc_command_evidence, argc, argv);
    for (;;) {
        int option = tc_option_next(&walk, &value);
        if (option == TC_OPTION_END) {
            break;
        }
        if (option == TC_OPTION_HELP) {
            return tc_command_show_help(&tc_command_evidence);
        }
        if (option == TC_OPTION_BAD) {
            return TC_EXIT_BAD;
        }
        at = option == OPT_AT ? value : at;
        digest = option == OPT_VERIFY ? value : digest;
    }
    if (argc - optind != 2 || strcmp(argv[optind], "cat") != 0) {
        tc_say("evidence", "what is to be done? tracecore evidence cat FILE --at OFFSET,LENGTH");
        return tc_command_misused(&tc_command_evidence);
    }
    if (!check_values(at, &range, digest)) {
        return tc_command_misused(&tc_command_evidence);
    }
    return cat(argv[optind + 1], &range, digest);
}

const struct tc_command tc_command_evidence = {
    .name = "evidence",
    .summary = "print the bytes that prove a verdict",
    .usage = "usage: tracecore evidence cat FILE --at OFFSET,LENGTH [--verify DIGEST]\n"
             "\n"
             "Prints exactly these bytes of a file and nothing else. A verdict's\n"
             "evidence_trail[].raw has all three: the digest says which file is meant, offset\n"
             "and length which bytes of it.\n",
    .options = OPTIONS,
    .option_count = OPT_COUNT,
    .notes = "Exit status:\n"
             "  0  the bytes were printed\n"
             "  1  the file has another digest\n"
             "  2  wrong usage, the file cannot be read, or it is too short\n"
             "\n"
             "Examples:\n"
             "  tracecore evidence cat dmesg-gpu-07.txt --at 1042,117\n"
             "  tracecore evidence cat dumps/_dump_13 --at 120,360 --verify sha256:9f86... | xxd\n",
    .words = "cat",
    .run = run,
};
