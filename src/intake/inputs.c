/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/inputs.h"

#include "base/buf.h"
#include "base/grow.h"
#include "base/limits.h"
#include "codec/codec.h"
#include "intake/walk.h"

#include <stdlib.h>
#include <string.h>

/* Enough of the beginning to tell text in 16-bit units. */
#define UTF16_PROBE 64
#define UTF16_MIN 8

static bool is_ascii_text(char c)
{
    return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t';
}

/* A byte order mark, or one of the two bytes of every unit is zero and the other is ASCII. */
static bool is_utf16(struct tc_slice bytes)
{
    struct tc_slice head = tc_slice_head(bytes, UTF16_PROBE);
    if (tc_slice_starts(head, TC_LIT("\xff\xfe")) || tc_slice_starts(head, TC_LIT("\xfe\xff"))) {
        return true;
    }
    bool little = head.len >= UTF16_MIN && head.len % 2 == 0;
    bool big = little;
    for (size_t i = 0; i + 1 < head.len && (little || big); i += 2) {
        little = little && is_ascii_text(head.ptr[i]) && head.ptr[i + 1] == 0;
        big = big && head.ptr[i] == 0 && is_ascii_text(head.ptr[i + 1]);
    }
    return little || big;
}

/* A file that says something, only not in a way we read: what it is and what makes it text. */
struct wrapping {
    const char *what;
    const char *remedy;
    const char *command;
};

static const struct wrapping *find_wrapping(struct tc_slice bytes)
{
    static const struct {
        struct tc_slice magic;
        struct wrapping wrapping;
    } packed[] = {
        {{"\x1f\x8b", 2}, {"compressed", "unpack", "zcat"}},
        {{"\x28\xb5\x2f\xfd", 4}, {"compressed", "unpack", "zstdcat"}},
        {{"\xfd\x37\x7a\x58\x5a", 5}, {"compressed", "unpack", "xzcat"}},
        {{"BZh", 3}, {"compressed", "unpack", "bzcat"}},
    };
    static const struct wrapping utf16 = {"UTF-16 text", "convert", "iconv -f UTF-16 -t UTF-8"};
    for (size_t i = 0; i < TC_COUNT(packed); i++) {
        if (tc_slice_starts(bytes, packed[i].magic)) {
            return &packed[i].wrapping;
        }
    }
    return is_utf16(bytes) ? &utf16 : NULL;
}

/* A path as a word of a shell: names come from outside, and the line is there to be copied. */
static void put_shell_word(struct tc_buf *b, struct tc_slice path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_./+-:@%=,";
    bool quote = false;
    for (size_t i = 0; i < path.len; i++) {
        quote = quote || memchr(plain, path.ptr[i], sizeof plain - 1) == NULL;
    }
    tc_buf_str(b, quote ? TC_LIT("'") : TC_EMPTY);
    for (size_t i = 0; i < path.len; i++) {
        if (path.ptr[i] == '\'') {
            tc_buf_lit(b, "'\\''");
        } else {
            tc_buf_char(b, path.ptr[i]);
        }
    }
    tc_buf_str(b, quote ? TC_LIT("'") : TC_EMPTY);
}

/* "dmesg.gz: compressed; unpack it first (zcat dmesg.gz | tracecore detect -)" */
static void refuse_wrapped(struct tc_inputs *in, const struct tc_input *file,
                           const struct wrapping *w, const struct tc_inputs_want *want)
{
    char word[4096];
    struct tc_buf b = tc_buf_make(word, sizeof word);
    if (strcmp(file->path, "-") != 0) {
        tc_buf_char(&b, ' ');
        put_shell_word(&b, tc_slice_cstr(file->path));
    }
    in->failed = true;
    if (b.overflowed) {
        want->say("%s: %s; %s it first", file->path, w->what, w->remedy);
        return;
    }
    want->say("%s: %s; %s it first (%s%.*s | tracecore %s -)", file->path, w->what, w->remedy,
              w->command, TC_FMT(tc_buf_slice(&b)), want->command);
}

static void not_recognised(struct tc_inputs *in, const struct tc_input *file,
                           const struct tc_inputs_want *want)
{
    char names[256];
    if (!file->direct) {
        /* An empty file says nothing, so leaving it out hides nothing. */
        if (file->bytes.len > 0) {
            in->unrecognised++;
            if (want->verbose) {
                want->say("%s: not a format we read", file->path);
            }
        }
        return;
    }
    in->failed = true;
    struct tc_buf b = tc_buf_make(names, sizeof names);
    tc_codec_list_names(&b, TC_LIT(", "));
    want->say("%s: %snot a format we read; known: %.*s (--format says which it is)", file->path,
              file->bytes.len == 0 ? "empty, " : "", TC_FMT(tc_buf_slice(&b)));
}

/* Takes file over, or closes it. */
static tc_status append_input(struct tc_inputs *in, struct tc_input *file,
                              const struct tc_inputs_want *want)
{
    if (tc_grow_items(in->items, in->cap, in->count + 1, TC_INPUTS_MAX) != TC_OK) {
        tc_input_close(file);
        return TC_E_NOMEM;
    }
    if (want->verbose) {
        want->say("%s: %s, %zu bytes", file->path, file->codec->name, file->bytes.len);
    }
    in->total_bytes += file->bytes.len;
    in->items[in->count++] = *file;
    return TC_OK;
}

/* Takes what file holds, or closes it. */
static tc_status recognise_input(struct tc_inputs *in, struct tc_input *file,
                                 const struct tc_inputs_want *want)
{
    file->codec = want->codec != NULL ? want->codec
                                      : tc_codec_recognise(file->bytes, tc_slice_cstr(file->path));
    /* With --format too: reading what is compressed as lines would find nothing, silently. */
    const struct wrapping *wrapping =
        want->codec != NULL || file->codec == NULL ? find_wrapping(file->bytes) : NULL;
    if (wrapping != NULL || file->codec == NULL) {
        if (tc_input_tell_shrunk(file, want->say)) {
            in->failed = true;
        } else if (wrapping != NULL) {
            refuse_wrapped(in, file, wrapping, want);
        } else {
            not_recognised(in, file, want);
        }
        tc_input_close(file);
        return TC_OK;
    }
    return append_input(in, file, want);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct tc_input *)a)->path, ((const struct tc_input *)b)->path);
}

static int by_inode(const void *a, const void *b)
{
    const struct tc_input *x = *(const struct tc_input *const *)a;
    const struct tc_input *y = *(const struct tc_input *const *)b;
    if (x->device != y->device) {
        return x->device < y->device ? -1 : 1;
    }
    if (x->inode != y->inode) {
        return x->inode < y->inode ? -1 : 1;
    }
    return x < y ? -1 : x > y; /* in the order given */
}

/* The same file under two names would count every event twice. */
static tc_status drop_repeats(struct tc_inputs *in, const struct tc_inputs_want *want)
{
    struct tc_input **order = calloc(in->count + 1, sizeof(struct tc_input *));
    if (order == NULL) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < in->count; i++) {
        order[i] = &in->items[i];
    }
    qsort(order, in->count, sizeof(struct tc_input *), by_inode);
    for (size_t i = 1; i < in->count; i++) {
        struct tc_input *first = order[i - 1];
        struct tc_input *again = order[i];
        if (again->inode != 0 && again->inode == first->inode && again->device == first->device) {
            if (want->verbose) {
                want->say("%s: the same file as %s: read once", again->path, first->path);
            }
            in->total_bytes -= again->bytes.len;
            tc_input_close(again);
            order[i] = first;
        }
    }
    free(order);
    size_t kept = 0;
    for (size_t i = 0; i < in->count; i++) {
        if (in->items[i].path != NULL) {
            in->items[kept++] = in->items[i];
        }
    }
    in->count = kept;
    return TC_OK;
}

static tc_status open_all(struct tc_inputs *in, const struct tc_walk *walk,
                          const struct tc_inputs_want *want)
{
    for (size_t i = 0; i < walk->count; i++) {
        struct tc_input file;
        struct tc_error err;
        if (tc_input_open(&file, walk->files[i].path, &in->copied_bytes, &err) != TC_OK) {
            want->say("%s: %s", walk->files[i].path, err.message);
            in->failed = true;
            continue;
        }
        file.direct = walk->files[i].direct;
        TC_TRY(recognise_input(in, &file, want));
    }
    if (want->by_path && in->count > 0) {
        qsort(in->items, in->count, sizeof *in->items, by_path);
    }
    return drop_repeats(in, want);
}

tc_status tc_inputs_open(struct tc_inputs *in, char *const *paths, size_t path_count,
                         const struct tc_inputs_want *want)
{
    struct tc_walk walk = {.say = want->say, .verbose = want->verbose};
    tc_status status = TC_OK;
    *in = (struct tc_inputs){0};
    tc_input_go_on();
    for (size_t i = 0; i < path_count && status == TC_OK; i++) {
        status = tc_walk_add(&walk, paths[i]);
    }
    if (status == TC_OK) {
        tc_walk_end(&walk);
        in->failed = walk.failed;
        in->skipped = walk.skipped;
        in->left_out = walk.left_out;
        status = open_all(in, &walk, want);
    }
    tc_walk_fini(&walk);
    if (status != TC_OK) {
        tc_inputs_close(in);
    }
    return status;
}

tc_status tc_inputs_add(struct tc_inputs *in, const char *path, const struct tc_inputs_want *want,
                        struct tc_error *err)
{
    struct tc_input file;
    TC_TRY(tc_input_open(&file, path, &in->copied_bytes, err));
    file.codec = want->codec;
    file.direct = true;
    if (append_input(in, &file, want) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the list of files");
    }
    return TC_OK;
}

void tc_inputs_close(struct tc_inputs *in)
{
    for (size_t i = 0; i < in->count; i++) {
        tc_input_close(&in->items[i]);
    }
    free(in->items);
    *in = (struct tc_inputs){0};
}

static bool view_source(void *context, uint32_t index, struct tc_source_view *out)
{
    struct tc_inputs *in = context;
    if (index >= in->count) {
        return false;
    }
    struct tc_input *file = &in->items[index];
    struct tc_slice digest = tc_input_digest(file);
    if (digest.len == 0) {
        return false;
    }
    *out = (struct tc_source_view){tc_slice_cstr(file->path), digest, file->bytes};
    return true;
}

struct tc_sources tc_inputs_sources(struct tc_inputs *in)
{
    return (struct tc_sources){view_source, in};
}

bool tc_input_tell_shrunk(struct tc_input *in, tc_intake_say_fn say)
{
    bool shrunk = tc_input_shrunk(in);
    if (shrunk && !in->shrunk_told) {
        in->shrunk_told = true;
        say("%s: changed while being read: it became shorter; copy it and try again", in->path);
    }
    return shrunk;
}
