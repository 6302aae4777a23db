/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/inputs.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/os/spool.h"
#include "base/table/grow.h"
#include "base/table/sort.h"
#include "codec/codec.h"
#include "codec/node_name.h"
#include "intake/archive/archive.h"
#include "intake/walk.h"

#include <stdlib.h>
#include <string.h>

/* Enough of the beginning to tell text in 16-bit units. */
#define UTF16_PROBE 64
#define UTF16_MIN 8
/* An archive, and an archive in it. */
#define ARCHIVE_DEPTH_MAX 2
/* Files that nobody reads: so many are told with their first line, the others counted. */
#define UNRECOGNISED_LISTED 5
#define FIRST_LINE_WITHIN 4096
#define FIRST_LINE_MAX 60

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

/* "dmesg.txt: UTF-16 text; convert it first (iconv ... dmesg.txt | tracecore detect -)" */
static void refuse_utf16(struct tc_inputs *in, const struct tc_input *file,
                         const struct tc_inputs_want *want)
{
    char word[4096];
    struct tc_buf b = tc_buf_make(word, sizeof word);
    if (file->container == NULL && strcmp(file->path, "-") != 0) {
        tc_buf_char(&b, ' ');
        put_shell_word(&b, tc_slice_cstr(file->path));
    }
    in->failed = true;
    if (b.overflowed) {
        want->say("%s: UTF-16 text; convert it first", file->path);
        return;
    }
    want->say("%s: UTF-16 text; convert it first (iconv -f UTF-16 -t UTF-8%.*s | tracecore %s -)",
              file->path, TC_FMT(tc_buf_slice(&b)), want->command);
}

/* The first line with something in it, as far as it is text; `out` has FIRST_LINE_MAX + 1 bytes. */
static void copy_first_line(struct tc_slice bytes, char *out)
{
    struct tc_slice head = tc_slice_trim(tc_slice_head(bytes, FIRST_LINE_WITHIN));
    struct tc_slice line = tc_slice_trim(tc_slice_cut(head, '\n', &head));
    size_t len = 0;
    while (len < line.len && len < FIRST_LINE_MAX) {
        unsigned char c = (unsigned char)line.ptr[len];
        out[len++] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
    }
    out[len] = '\0';
}

/* Found in a directory or an archive: what it looks like, so that a user can tell us. */
static void list_unrecognised(struct tc_inputs *in, const char *path, struct tc_slice bytes,
                              const struct tc_inputs_want *want)
{
    char line[FIRST_LINE_MAX + 1];
    /* An empty file says nothing, so leaving it out hides nothing. */
    if (bytes.len == 0) {
        return;
    }
    if (in->unrecognised++ < UNRECOGNISED_LISTED || want->verbose) {
        copy_first_line(bytes, line);
        want->say("%s: not a format we read; it begins with: %s", path, line);
    }
}

/* A note beside logs may say which node they are of. Programs and settings name others. */
static void keep_note(struct tc_inputs *in, const struct tc_input *file)
{
    static const char *const others[] = {".yaml", ".yml", ".conf", ".cfg",   ".ini", ".toml",
                                         ".py",   ".sh",  ".json", ".rules", ".xml", NULL};
    struct tc_slice path = tc_slice_cstr(file->path);
    for (size_t i = 0; others[i] != NULL; i++) {
        if (tc_slice_ends(path, tc_slice_cstr(others[i]))) {
            return;
        }
    }
    struct tc_slice node = tc_node_said(path, file->bytes).node;
    if (node.len == 0 || in->note_count == TC_INPUT_NOTES_MAX || !tc_input_is_text(file)) {
        return;
    }
    struct tc_input_note note = {strdup(file->path), calloc(1, node.len + 1)};
    if (note.path == NULL || note.node == NULL) {
        free(note.path);
        free(note.node);
        return;
    }
    memcpy(note.node, node.ptr, node.len);
    in->notes[in->note_count++] = note;
}

static void not_recognised(struct tc_inputs *in, const struct tc_input *file,
                           const struct tc_inputs_want *want)
{
    char names[256];
    keep_note(in, file);
    if (!file->direct) {
        list_unrecognised(in, file->path, file->bytes, want);
        return;
    }
    in->failed = true;
    struct tc_buf b = tc_buf_make(names, sizeof names);
    tc_codec_list_names(&b, TC_LIT(", "));
    want->say("%s: %snot a format we read; known: %.*s (--format says which it is)", file->path,
              file->bytes.len == 0 ? "empty, " : "", TC_FMT(tc_buf_slice(&b)));
}

/* Archives and files with several readers live as long as the inputs. */
static struct tc_input *keep_container(struct tc_inputs *in, const struct tc_input *file)
{
    struct tc_input *kept = malloc(sizeof *kept);
    if (kept == NULL || tc_grow_items(in->containers, in->container_cap, in->container_count + 1,
                                      TC_INPUTS_MAX) != TC_OK) {
        free(kept);
        return NULL;
    }
    *kept = *file;
    in->containers[in->container_count++] = kept;
    return kept;
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
    in->files += !file->again;
    in->items[in->count++] = *file;
    return TC_OK;
}

/* A file that holds lines of several kinds: an input for each of its readers. */
static tc_status append_shared(struct tc_inputs *in, struct tc_input *file,
                               const struct tc_codec *const *readers, size_t count,
                               const struct tc_inputs_want *want)
{
    struct tc_input *container = keep_container(in, file);
    struct tc_error err;
    if (container == NULL) {
        tc_input_close(file);
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        struct tc_input item;
        TC_TRY(tc_input_share(&item, container, &err));
        item.codec = readers[i];
        item.again = i > 0;
        TC_TRY(append_input(in, &item, want));
    }
    return TC_OK;
}

static tc_status recognise_input(struct tc_inputs *in, struct tc_input *file,
                                 const struct tc_inputs_want *want);

/*
 * A member on its way out. Of one that is too long to be kept at once, only what somebody reads is
 * unpacked: an archive of images costs no room.
 */
struct unpacking {
    const struct tc_inputs_want *want;
    struct tc_slice path;
    struct tc_spool *spool;
    char *head; /* of TC_SNIFF_BYTES + 1 bytes */
    size_t head_len;
    bool wanted; /* the rest of it too */
};

static bool is_wanted(const struct unpacking *u)
{
    struct tc_slice head = tc_slice_make(u->head, u->head_len);
    return u->want->codec != NULL || tc_archive_is(head) || is_utf16(head) ||
           tc_codec_recognise(head, u->path) != NULL;
}

/* TC_E_UNSUPPORTED: nobody reads it, and the rest need not come. */
static tc_status unpack_bytes(void *context, struct tc_slice bytes, struct tc_error *err)
{
    struct unpacking *u = context;
    if (!u->wanted) {
        struct tc_slice part = tc_slice_head(bytes, TC_SNIFF_BYTES + 1 - u->head_len);
        memcpy(u->head + u->head_len, part.ptr, part.len);
        u->head_len += part.len;
        u->wanted = u->head_len > TC_SNIFF_BYTES && is_wanted(u);
        if (u->head_len > TC_SNIFF_BYTES && !u->wanted) {
            TC_TRY(tc_spool_write(u->spool, part, err));
            return TC_E_UNSUPPORTED;
        }
    }
    return tc_spool_write(u->spool, bytes, err);
}

/* Not /tmp, which may be memory. */
static const char *spool_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder != NULL && folder[0] == '/' ? folder : "/var/tmp";
}

/* One member: recognised, or told to be what we do not read. */
static tc_status unpack_member(struct tc_inputs *in, struct tc_input *container,
                               struct tc_archive *archive, const struct tc_archive_member *member,
                               struct unpacking *u, struct tc_error *err)
{
    struct tc_input file;
    u->head_len = 0;
    u->wanted = false;
    u->path = member->name;
    TC_TRY(tc_spool_open(spool_folder(), &u->spool, err));
    tc_status status = tc_archive_read(archive, unpack_bytes, u, err);
    bool skipped = status == TC_E_UNSUPPORTED;
    if (status != TC_OK && !skipped) {
        tc_spool_close(u->spool);
        return status;
    }
    TC_TRY(tc_input_open_member(&file, container, member->name, u->spool, &in->copied_bytes, err));
    file.mtime_ns = member->mtime_ns != TC_TIME_NONE ? member->mtime_ns : container->mtime_ns;
    file.direct = member->only && container->direct;
    if (skipped) {
        not_recognised(in, &file, u->want);
        tc_input_close(&file);
        return TC_OK;
    }
    return recognise_input(in, &file, u->want);
}

static tc_status unpack_members(struct tc_inputs *in, struct tc_input *container,
                                struct tc_archive *archive, struct unpacking *u,
                                struct tc_error *err)
{
    struct tc_archive_member member;
    bool any = false;
    for (;;) {
        bool end = false;
        TC_TRY(tc_archive_next(archive, &member, &end, err));
        if (end) {
            return any || !container->direct
                       ? TC_OK
                       : tc_fail(err, TC_E_MALFORMED, 0, "there is no file in this archive");
        }
        any = true;
        struct tc_slice base = tc_path_base(member.name);
        if (tc_slice_starts(base, TC_LIT("."))) {
            continue; /* hidden, as in a directory */
        }
        if (in->count >= TC_INPUTS_MAX) {
            in->left_out++;
            continue;
        }
        TC_TRY(unpack_member(in, container, archive, &member, u, err));
    }
}

/* How many archives the file lies in. */
static unsigned depth_of(const struct tc_input *file)
{
    unsigned depth = 0;
    for (; file->container != NULL; file = file->container) {
        depth += !file->shared;
    }
    return depth;
}

/* Takes the members of an archive that somebody reads. Keeps file, or closes it. */
static tc_status unpack_input(struct tc_inputs *in, struct tc_input *file,
                              const struct tc_inputs_want *want)
{
    struct tc_error err = {0};
    if (depth_of(file) >= ARCHIVE_DEPTH_MAX) {
        want->say(
            "%s: an archive in an archive in an archive is not unpacked; unpack the outer one",
            file->path);
        in->failed = true;
        tc_input_close(file);
        return TC_OK;
    }
    struct tc_archive *archive = NULL;
    struct tc_input *container = keep_container(in, file);
    struct unpacking u = {.want = want, .head = malloc(TC_SNIFF_BYTES + 1)};
    if (container == NULL || u.head == NULL) {
        if (container == NULL) {
            tc_input_close(file);
        }
        free(u.head);
        return TC_E_NOMEM;
    }
    tc_status status = tc_archive_open(container->bytes, tc_slice_cstr(container->path),
                                       &tc_archive_limits_default, &archive, &err);
    if (status == TC_OK) {
        status = unpack_members(in, container, archive, &u, &err);
    }
    tc_archive_close(archive);
    free(u.head);
    if (status != TC_OK && status != TC_E_NOMEM) {
        want->say("%s: %s", container->path, err.message);
        in->failed = true;
        return TC_OK;
    }
    return status;
}

/* Takes what file holds, or closes it. */
static tc_status recognise_input(struct tc_inputs *in, struct tc_input *file,
                                 const struct tc_inputs_want *want)
{
    if (tc_archive_is(file->bytes)) {
        return unpack_input(in, file, want);
    }
    const struct tc_codec *readers[TC_CODECS_MAX] = {want->codec};
    size_t count =
        want->codec != NULL ? 1 : tc_codec_readers(file->bytes, tc_slice_cstr(file->path), readers);
    file->codec = count == 0 ? NULL : readers[0];
    /* With --format too: reading 16-bit units as lines would find nothing, silently. */
    bool utf16 = (want->codec != NULL || file->codec == NULL) && is_utf16(file->bytes);
    if (utf16 || file->codec == NULL) {
        if (tc_input_tell_shrunk(file, want->say)) {
            in->failed = true;
        } else if (utf16) {
            refuse_utf16(in, file, want);
        } else {
            not_recognised(in, file, want);
        }
        tc_input_close(file);
        return TC_OK;
    }
    return count > 1 ? append_shared(in, file, readers, count, want) : append_input(in, file, want);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct tc_input *)a)->path, ((const struct tc_input *)b)->path);
}

static int by_inode(const void *a, const void *b)
{
    const struct tc_input *x = *(const struct tc_input *const *)a;
    const struct tc_input *y = *(const struct tc_input *const *)b;
    int order = TC_ORDER(x->device, y->device);
    order = order != 0 ? order : TC_ORDER(x->inode, y->inode);
    if (order == 0 && x->codec != y->codec) {
        order = strcmp(x->codec->name, y->codec->name);
    }
    return order != 0 ? order : TC_ORDER(x, y); /* in the order given */
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
        if (again->inode != 0 && again->inode == first->inode && again->device == first->device &&
            again->codec == first->codec) {
            in->files -= !again->again;
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
    for (size_t i = 0; i < in->container_count; i++) {
        tc_input_close(in->containers[i]);
        free(in->containers[i]);
    }
    for (size_t i = 0; i < in->note_count; i++) {
        free(in->notes[i].path);
        free(in->notes[i].node);
    }
    free(in->containers);
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
    *out = (struct tc_source_view){.name = tc_slice_cstr(file->path),
                                   .digest = digest,
                                   .member = file->member,
                                   .bytes = file->bytes};
    return true;
}

struct tc_sources tc_inputs_sources(struct tc_inputs *in)
{
    return (struct tc_sources){view_source, in};
}

uint32_t tc_inputs_source(const struct tc_inputs *in, size_t i)
{
    const char *bytes = in->items[i].bytes.ptr;
    while (i > 0 && bytes != NULL && in->items[i - 1].bytes.ptr == bytes) {
        i--; /* they follow each other */
    }
    return (uint32_t)i;
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
