/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore evidence cat`: bytes of a file, or of a stored batch. */
#include "base/digest.h"
#include "cli/command.h"
#include "cli/data.h"
#include "cli/evidence/evidence.h"
#include "cli/output/say.h"
#include "evidence/files/files.h"
#include "intake/input.h"
#include "intake/inputs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ESCAPE_STEP 4096 /* bytes that are escaped at once */
#define ESCAPE_GROWTH 4  /* a byte as \xNN */
#define ARCHIVE_PATH_MAX 4096

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

static struct tc_slice without_prefix(const char *digest)
{
    struct tc_slice hex = tc_slice_cstr(digest);
    return tc_slice_starts(hex, TC_LIT("sha256:")) ? tc_slice_from(hex, 7) : hex;
}

/* The bytes are what their digest says, or the exit status for when they are not. */
static int verify(const char *name, struct tc_slice actual, const char *digest)
{
    struct tc_slice wanted = without_prefix(digest);
    if (actual.len == 0) {
        return tc_refuse("evidence", "the digest of %s cannot be made", name);
    }
    if (!tc_slice_eq_nocase(wanted, tc_slice_from(actual, 7))) {
        tc_say("evidence", "%s is not the one that was meant: it has %.*s, not sha256:%.*s", name,
               TC_FMT(actual), TC_FMT(wanted));
        return TC_EXIT_FOUND;
    }
    return TC_EXIT_OK;
}

/* For a person's terminal: lines stay lines, and nothing in them can move the cursor. */
static void put_escaped(struct tc_output *out, struct tc_slice bytes)
{
    char text[ESCAPE_STEP * ESCAPE_GROWTH];
    while (bytes.len > 0) {
        size_t line = tc_slice_find_byte(bytes, '\n');
        size_t len = line == TC_NPOS ? bytes.len : line;
        if (len > ESCAPE_STEP) {
            len = ESCAPE_STEP;
            /* Not within a character of several bytes. */
            for (size_t back = 0; back < 3 && ((uint8_t)bytes.ptr[len] & 0xc0) == 0x80; back++) {
                len--;
            }
        }
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_printable(&b, tc_slice_head(bytes, len));
        if (!tc_output_put(out, tc_buf_slice(&b))) {
            return;
        }
        bool at_line = len < bytes.len && bytes.ptr[len] == '\n';
        if (at_line) {
            (void)tc_output_put(out, TC_LIT("\n"));
        }
        bytes = tc_slice_from(bytes, len + at_line);
    }
}

static int print_range(const char *name, struct tc_slice bytes, const struct range *range)
{
    if (range->offset > bytes.len || range->length > bytes.len - range->offset) {
        return tc_refuse("evidence", "--at %llu,%llu is outside of %s, which has %zu bytes",
                         (unsigned long long)range->offset, (unsigned long long)range->length, name,
                         bytes.len);
    }
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    bytes = tc_slice_head(tc_slice_from(bytes, (size_t)range->offset), (size_t)range->length);
    if (isatty(STDOUT_FILENO) == 1) {
        put_escaped(&out, bytes);
    } else {
        (void)tc_output_put(&out, bytes);
    }
    return tc_output_end(&out, "evidence", TC_EXIT_OK);
}

static int cat_input(const struct tc_evidence_args *args, struct tc_input *in,
                     const struct range *range)
{
    int code =
        args->digest == NULL ? TC_EXIT_OK : verify(in->path, tc_input_digest(in), args->digest);
    return code == TC_EXIT_OK ? print_range(in->path, in->bytes, range) : code;
}

__attribute__((format(printf, 1, 2))) static void say_nothing(const char *format, ...)
{
    (void)format; /* what else is in the archive is nobody's question */
}

/* The archive in a path such as bundle.tgz/logs/dmesg.txt; false when no part of it is a file. */
static bool find_archive(const char *path, char (*out)[ARCHIVE_PATH_MAX])
{
    size_t len = strlen(path);
    struct stat st;
    if (len >= sizeof *out) {
        return false;
    }
    memcpy(*out, path, len + 1);
    for (char *slash = strrchr(*out, '/'); slash != NULL && slash != *out;
         slash = strrchr(*out, '/')) {
        *slash = '\0';
        if (stat(*out, &st) == 0) {
            return S_ISREG(st.st_mode);
        }
    }
    return false;
}

/* A member of an archive, as detect names it. False when there is no such archive or member. */
static bool cat_member(const struct tc_evidence_args *args, const struct range *range,
                       int *out_code)
{
    char archive[ARCHIVE_PATH_MAX];
    struct tc_inputs in = {0};
    struct tc_inputs_want want = {.command = "evidence", .say = say_nothing};
    char *paths[] = {archive};
    bool found = false;
    if (!find_archive(args->what, &archive) || tc_inputs_open(&in, paths, 1, &want) != TC_OK) {
        tc_inputs_close(&in);
        return false;
    }
    for (size_t i = 0; i < in.count && !found; i++) {
        found = strcmp(in.items[i].path, args->what) == 0;
        *out_code = found ? cat_input(args, &in.items[i], range) : *out_code;
    }
    tc_inputs_close(&in);
    return found;
}

static int cat_file(const struct tc_evidence_args *args, const struct range *range)
{
    struct tc_input in;
    struct tc_error err;
    size_t copied = 0;
    tc_input_guard();
    int code = TC_EXIT_BAD;
    if (tc_input_open(&in, args->what, &copied, &err) == TC_OK) {
        code = cat_input(args, &in, range);
        tc_input_close(&in);
    } else if (!cat_member(args, range, &code)) {
        tc_say_plain("%s: %s", args->what, err.message);
    }
    return code;
}

/* Looks the batch up; what is wrong has been said when it fails. */
static bool find_body(struct tc_evidence *e, const struct tc_digest *digest, uint64_t *io_number,
                      struct tc_slice *out, int *out_code)
{
    struct tc_error err;
    tc_status status = TC_OK;
    if (digest != NULL) {
        status = tc_evidence_find(e, digest, true, io_number, &err);
    }
    if (status == TC_OK) {
        status = tc_evidence_body(e, *io_number, out, &err);
    }
    if (status != TC_OK) {
        tc_say("evidence", "%s", err.message);
        *out_code = status == TC_E_MALFORMED ? TC_EXIT_FOUND : TC_EXIT_BAD;
    }
    return status == TC_OK;
}

static int cat_batch(const struct tc_evidence_args *args, const struct tc_digest *digest,
                     uint64_t number, struct range *range)
{
    struct tc_slice body = TC_EMPTY;
    struct tc_digest actual;
    char name[48];
    char text[80];
    struct tc_evidence *e = tc_evidence_of(args);
    int code = TC_EXIT_BAD;
    if (e == NULL) {
        return code;
    }
    if (find_body(e, digest, &number, &body, &code)) {
        struct tc_buf b = tc_buf_make(text, sizeof text);
        const char *wanted = args->digest != NULL ? args->digest : args->what;
        bool has_wanted = args->digest != NULL || digest != NULL;
        (void)snprintf(name, sizeof name, "batch %llu", (unsigned long long)number);
        code = TC_EXIT_OK;
        if (has_wanted) {
            if (tc_digest_sha256(body, &actual) == TC_OK) {
                tc_buf_digest(&b, &actual);
            }
            code = verify(name, tc_buf_slice(&b), wanted);
        }
        if (args->at == NULL) {
            *range = (struct range){.length = body.len};
        }
        if (code == TC_EXIT_OK) {
            code = print_range(name, body, range);
        }
    }
    tc_evidence_close(e);
    return code;
}

/* A file of a run. False when it is not there: then it may be a batch. */
static bool cat_stored(const struct tc_evidence_args *args, const struct tc_digest *digest,
                       struct range *range, int *out_code)
{
    char dir[TC_DATA_PATH_BYTES];
    struct tc_files *files = NULL;
    struct tc_error err;
    char *bytes = NULL;
    size_t len = 0;
    if (!tc_data_dir_of("evidence", args->data_dir, dir)) {
        *out_code = TC_EXIT_BAD;
        return true;
    }
    tc_status status = tc_files_open(dir, false, &files, &err);
    if (status == TC_OK) {
        status = tc_files_read(files, digest, TC_FILES_SIZE_MAX, &bytes, &len, &err);
    }
    tc_files_close(files);
    if (status == TC_E_NOTFOUND) {
        return false;
    }
    if (status != TC_OK) {
        tc_say("evidence", "%s", err.message);
        *out_code = status == TC_E_MALFORMED ? TC_EXIT_FOUND : TC_EXIT_BAD;
        return true;
    }
    if (args->at == NULL) {
        *range = (struct range){.length = len};
    }
    /* Its SHA-256 was checked while it was read. */
    *out_code = args->digest == NULL ? TC_EXIT_OK
                                     : verify(args->what, tc_slice_cstr(args->what), args->digest);
    if (*out_code == TC_EXIT_OK) {
        *out_code = print_range(args->what, tc_slice_make(bytes, len), range);
    }
    free(bytes);
    return true;
}

/* What is meant: a batch by its number or digest, otherwise a file. */
int tc_evidence_cat(const struct tc_evidence_args *args)
{
    struct range range = {0};
    struct tc_digest digest;
    uint64_t number = 0;
    struct tc_slice what = tc_slice_cstr(args->what);
    bool by_digest = tc_slice_starts(what, TC_LIT("sha256:"));
    bool by_number = tc_slice_is_u64(what, &number);
    if (args->at == NULL && !by_digest && !by_number) {
        return tc_command_refuse(&tc_command_evidence, "which bytes? give --at OFFSET,LENGTH");
    }
    if (args->at != NULL && !parse_range(args->at, &range)) {
        return tc_command_refuse(&tc_command_evidence, "--at takes two numbers, OFFSET,LENGTH");
    }
    if (args->digest != NULL && !tc_digest_parse(without_prefix(args->digest), &digest)) {
        return tc_command_refuse(&tc_command_evidence,
                                 "--verify takes sha256: and 64 hex digits, not \"%s\"",
                                 args->digest);
    }
    if (by_digest && !tc_digest_parse(without_prefix(args->what), &digest)) {
        return tc_command_refuse(&tc_command_evidence,
                                 "a digest is sha256: and 64 hex digits, not \"%s\"", args->what);
    }
    int code = TC_EXIT_BAD;
    if (by_digest && cat_stored(args, &digest, &range, &code)) {
        return code;
    }
    if (by_digest || by_number) {
        return cat_batch(args, by_digest ? &digest : NULL, number, &range);
    }
    return cat_file(args, &range);
}
