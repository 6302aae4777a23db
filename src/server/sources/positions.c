/* SPDX-License-Identifier: Apache-2.0 */
#include "server/sources/positions.h"

#include "base/format.h"
#include "base/os/block.h"
#include "base/os/io.h"
#include "evidence/store.h"
#include "source/source.h"
#include "stored/batch_name.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The summary: "tracecore-sources VERSION NUMBER", then "SOURCE STREAM POSITION" for each, and
 * "end HASH" over all before it.
 */
#define FILE_NAME "source_positions"
#define MAGIC "tracecore-sources"
#define VERSION 1
#define PATH_BYTES 4096
/* A position that is not long needs about 200 bytes. */
#define FILE_BYTES_MAX ((size_t)256 << 20)
#define SLOTS_FIRST 64
/* A longer "SOURCE STREAM" is not looked for in place. */
#define KEY_BYTES 128

/* "SOURCE STREAM POSITION": what the summary says of it. */
struct entry {
    uint64_t hash;
    uint32_t key_len; /* "SOURCE STREAM" */
    uint32_t len;
    char text[];
};

/*
 * Invariants: slots is a power of two, and more than half of them are free; an entry is found from
 * the slot of its hash on, before the first free one. `lock` guards all but saving, which `saver`
 * does.
 */
struct tc_positions {
    char *data_dir;
    pthread_mutex_t lock;
    pthread_mutex_t saver;
    struct entry **entries;
    size_t slots;
    size_t count;
    uint64_t number;
    bool is_changed;
};

struct tc_positions *tc_positions_create(const char *data_dir)
{
    struct tc_positions *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return NULL;
    }
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_mutex_init(&p->saver, NULL);
    p->data_dir = strdup(data_dir);
    p->entries = calloc(SLOTS_FIRST, sizeof(struct entry *));
    p->slots = SLOTS_FIRST;
    if (p->data_dir == NULL || p->entries == NULL) {
        tc_positions_destroy(p);
        return NULL;
    }
    return p;
}

void tc_positions_destroy(struct tc_positions *p)
{
    if (p == NULL) {
        return;
    }
    for (size_t i = 0; p->entries != NULL && i < p->slots; i++) {
        free(p->entries[i]);
    }
    free(p->entries);
    free(p->data_dir);
    (void)pthread_mutex_destroy(&p->lock);
    (void)pthread_mutex_destroy(&p->saver);
    free(p);
}

/* ---- the table ---- */

/* Its slot, or the free one where it would be. */
static size_t find_slot(const struct tc_positions *p, uint64_t hash, struct tc_slice key)
{
    size_t at = (size_t)hash & (p->slots - 1);
    while (p->entries[at] != NULL) {
        const struct entry *e = p->entries[at];
        if (e->hash == hash && tc_slice_eq(tc_slice_make(e->text, e->key_len), key)) {
            break;
        }
        at = (at + 1) & (p->slots - 1);
    }
    return at;
}

static bool grow(struct tc_positions *p)
{
    struct tc_positions larger = *p;
    larger.slots = p->slots * 2;
    larger.entries = calloc(larger.slots, sizeof(struct entry *));
    if (larger.entries == NULL) {
        return false;
    }
    for (size_t i = 0; i < p->slots; i++) {
        struct entry *e = p->entries[i];
        if (e != NULL) {
            larger.entries[find_slot(&larger, e->hash, tc_slice_make(e->text, e->key_len))] = e;
        }
    }
    free(p->entries);
    p->entries = larger.entries;
    p->slots = larger.slots;
    return true;
}

/* Those behind it move up, so that each is still found. */
static void remove_at(struct tc_positions *p, size_t at)
{
    free(p->entries[at]);
    p->entries[at] = NULL;
    p->count--;
    for (size_t i = (at + 1) & (p->slots - 1); p->entries[i] != NULL;
         i = (i + 1) & (p->slots - 1)) {
        struct entry *e = p->entries[i];
        p->entries[i] = NULL;
        p->entries[find_slot(p, e->hash, tc_slice_make(e->text, e->key_len))] = e;
    }
}

/* A position as long as the one that is known, as numbers are, needs no memory. */
static bool set_in_place(struct tc_positions *p, struct tc_slice source, struct tc_slice stream,
                         struct tc_slice position)
{
    char text[KEY_BYTES];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    (void)tc_format(&b, "{} {}", source, stream);
    struct tc_slice key = tc_buf_slice(&b);
    struct entry *e = b.overflowed ? NULL : p->entries[find_slot(p, tc_slice_hash(key, 0), key)];
    if (e == NULL || position.len == 0 || e->len - e->key_len - 1 != position.len) {
        return false;
    }
    memcpy(e->text + e->key_len + 1, position.ptr, position.len);
    p->is_changed = true;
    return true;
}

/* With the lock. */
static bool set_position(struct tc_positions *p, struct tc_slice source, struct tc_slice stream,
                         struct tc_slice position)
{
    size_t key_len = source.len + 1 + stream.len;
    size_t len = key_len + 1 + position.len;
    if (set_in_place(p, source, stream, position)) {
        return true;
    }
    struct entry *e = len > UINT32_MAX ? NULL : malloc(sizeof *e + len);
    if (e == NULL) {
        return false;
    }
    struct tc_buf b = tc_buf_make(e->text, len);
    (void)tc_format(&b, "{} {} {}", source, stream, position);
    struct tc_slice key = tc_slice_make(e->text, key_len);
    e->hash = tc_slice_hash(key, 0);
    e->key_len = (uint32_t)key_len;
    e->len = (uint32_t)len;
    size_t at = find_slot(p, e->hash, key);
    p->is_changed = true;
    if (p->entries[at] != NULL && position.len > 0) {
        free(p->entries[at]);
        p->entries[at] = e;
        return true;
    }
    if (position.len == 0) {
        if (p->entries[at] != NULL) {
            remove_at(p, at);
        }
        free(e);
        return true;
    }
    if (p->count >= TC_SOURCE_POSITIONS_MAX || (p->count + 1 > p->slots / 2 && !grow(p))) {
        free(e);
        return false;
    }
    p->entries[find_slot(p, e->hash, key)] = e;
    p->count++;
    return true;
}

bool tc_positions_set(struct tc_positions *p, struct tc_slice source, struct tc_slice stream,
                      struct tc_slice position)
{
    (void)pthread_mutex_lock(&p->lock);
    bool ok = set_position(p, source, stream, position);
    (void)pthread_mutex_unlock(&p->lock);
    return ok;
}

void tc_positions_note(struct tc_positions *p, uint64_t number)
{
    (void)pthread_mutex_lock(&p->lock);
    p->is_changed = p->is_changed || number > p->number;
    p->number = number > p->number ? number : p->number;
    (void)pthread_mutex_unlock(&p->lock);
}

void tc_positions_each(struct tc_positions *p, struct tc_slice source,
                       void (*take)(void *of, struct tc_slice stream, struct tc_slice position),
                       void *of)
{
    (void)pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < p->slots; i++) {
        const struct entry *e = p->entries[i];
        struct tc_slice stream;
        if (e != NULL &&
            tc_slice_eq(tc_slice_cut(tc_slice_make(e->text, e->key_len), ' ', &stream), source)) {
            take(of, stream, tc_slice_from(tc_slice_make(e->text, e->len), e->key_len + 1));
        }
    }
    (void)pthread_mutex_unlock(&p->lock);
}

/* ---- the summary ---- */

static tc_status make_path(const struct tc_positions *p, const char *name, char *out,
                           struct tc_error *err)
{
    int n = snprintf(out, PATH_BYTES, "%s/%s", p->data_dir, name);
    return n > 0 && n < PATH_BYTES
               ? TC_OK
               : tc_fail(err, TC_E_USAGE, 0, "%s: too long a path", p->data_dir);
}

static tc_status write_file(const struct tc_positions *p, struct tc_slice text,
                            struct tc_error *err)
{
    char path[PATH_BYTES];
    char fresh[PATH_BYTES];
    TC_TRY(make_path(p, FILE_NAME, path, err));
    TC_TRY(make_path(p, FILE_NAME ".new", fresh, err));
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return tc_fail_errno(err, fresh);
    }
    tc_status status =
        tc_io_write(fd, text) && fdatasync(fd) == 0 ? TC_OK : tc_fail_errno(err, fresh);
    (void)close(fd);
    if (status == TC_OK && rename(fresh, path) != 0) {
        status = tc_fail_errno(err, path);
    }
    return status;
}

/* Of the summary, at most. */
static size_t summary_bytes(const struct tc_positions *p)
{
    size_t bytes = sizeof MAGIC + 64;
    for (size_t i = 0; i < p->slots; i++) {
        bytes += p->entries[i] == NULL ? 0 : p->entries[i]->len + (size_t)1;
    }
    return bytes;
}

/*
 * With the lock. In a block: whichever thread is there every few seconds saves, and malloc would
 * keep the memory in the arenas of all of them. NULL when there is no memory.
 */
static struct tc_block *write_summary(const struct tc_positions *p, struct tc_slice *out)
{
    struct tc_block *block = tc_block_new(summary_bytes(p));
    if (block == NULL) {
        return NULL;
    }
    struct tc_buf b = tc_buf_make((char *)block->bytes, block->size);
    (void)tc_format(&b, "{} {} {}\n", MAGIC, VERSION, p->number);
    for (size_t i = 0; i < p->slots; i++) {
        if (p->entries[i] != NULL) {
            tc_buf_str(&b, tc_slice_make(p->entries[i]->text, p->entries[i]->len));
            tc_buf_char(&b, '\n');
        }
    }
    uint64_t hash = tc_slice_hash(tc_buf_slice(&b), VERSION);
    tc_buf_lit(&b, "end ");
    tc_buf_hex(&b, hash, 16);
    tc_buf_char(&b, '\n');
    *out = tc_buf_slice(&b);
    return block;
}

tc_status tc_positions_save(struct tc_positions *p, struct tc_error *err)
{
    struct tc_slice text = TC_EMPTY;
    struct tc_block *block = NULL;
    if (pthread_mutex_trylock(&p->saver) != 0) {
        return TC_OK;
    }
    (void)pthread_mutex_lock(&p->lock);
    bool is_changed = p->is_changed;
    p->is_changed = false;
    if (is_changed) {
        block = write_summary(p, &text);
    }
    (void)pthread_mutex_unlock(&p->lock);
    tc_status status = TC_OK;
    if (is_changed) {
        status = block == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory for positions of sources")
                               : write_file(p, text, err);
    }
    if (status != TC_OK) {
        (void)pthread_mutex_lock(&p->lock);
        p->is_changed = true;
        (void)pthread_mutex_unlock(&p->lock);
    }
    tc_block_free(block);
    (void)pthread_mutex_unlock(&p->saver);
    return status;
}

/* ---- the start ---- */

static tc_status read_file(const char *path, char **out_text, size_t *out_len, struct tc_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return errno == ENOENT ? TC_E_NOTFOUND : tc_fail_errno(err, path);
    }
    tc_status status = fstat(fd, &st) == 0 ? TC_OK : tc_fail_errno(err, path);
    if (status == TC_OK && (st.st_size < 0 || (uint64_t)st.st_size > FILE_BYTES_MAX)) {
        status = tc_fail(err, TC_E_MALFORMED, 0, "%s: too long", path);
    }
    char *text = status == TC_OK ? malloc((size_t)st.st_size + 1) : NULL;
    if (status == TC_OK && text == NULL) {
        status = tc_fail(err, TC_E_NOMEM, 0, "no memory for %s", path);
    }
    if (status == TC_OK) {
        ssize_t n = tc_io_read(fd, text, (size_t)st.st_size);
        status = n < 0 ? tc_fail_errno(err, path) : TC_OK;
        *out_text = text;
        *out_len = n < 0 ? 0 : (size_t)n;
    }
    (void)close(fd);
    return status;
}

static bool is_whole(struct tc_slice text, struct tc_slice *out_lines)
{
    char end[32];
    struct tc_buf b = tc_buf_make(end, sizeof end);
    size_t at = text.len < 21 ? 0 : text.len - 21; /* "end ", 16 digits, a line end */
    tc_buf_lit(&b, "end ");
    tc_buf_hex(&b, tc_slice_hash(tc_slice_head(text, at), VERSION), 16);
    tc_buf_char(&b, '\n');
    *out_lines = tc_slice_head(text, at);
    return text.len >= 21 && tc_slice_eq(tc_slice_from(text, at), tc_buf_slice(&b));
}

static tc_status parse(struct tc_positions *p, const char *path, struct tc_slice text,
                       struct tc_error *err)
{
    struct tc_slice rest;
    struct tc_slice head = tc_slice_cut(text, '\n', &rest);
    struct tc_slice word = tc_slice_cut(head, ' ', &head);
    struct tc_slice version_text = tc_slice_cut(head, ' ', &head);
    uint64_t version = 0;
    uint64_t number = 0;
    bool is_named = tc_slice_eq(word, TC_LIT(MAGIC)) && tc_slice_is_u64(version_text, &version);
    if (is_named && version > VERSION) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "%s: format version %llu, this program knows up to %d: use a newer "
                       "tracecore, or another data_dir",
                       path, (unsigned long long)version, VERSION);
    }
    if (!is_named || !tc_slice_is_u64(head, &number) || !is_whole(text, &text)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "%s: damaged", path);
    }
    (void)tc_slice_cut(text, '\n', &rest);
    while (rest.len > 0) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        struct tc_slice source = tc_slice_cut(line, ' ', &line);
        struct tc_slice stream = tc_slice_cut(line, ' ', &line);
        if (!set_position(p, source, stream, line)) {
            return tc_fail(err, TC_E_NOMEM, 0, "no memory for positions of sources");
        }
    }
    p->number = number;
    return TC_OK;
}

struct walk {
    struct tc_positions *p;
    uint64_t last;
};

static tc_status take_batch(void *context, const struct tc_batch *batch,
                            const struct tc_batch_info *info)
{
    struct walk *w = context;
    struct tc_batch_said said;
    struct tc_error ignored;
    w->last = info->number;
    (void)batch;
    /* Requests have a position where another daemon forwarded them. */
    if (tc_slice_find(info->name, TC_LIT("\nposition=")) == TC_NPOS) {
        return TC_OK;
    }
    if (tc_batch_name_read(info->name, &said, &ignored) != TC_OK || said.source.len == 0 ||
        said.stream.len == 0 || said.position.len == 0) {
        return TC_OK;
    }
    return set_position(w->p, said.source, said.stream, said.position) ? TC_OK : TC_E_NOMEM;
}

tc_status tc_positions_load(struct tc_positions *p, const char *evidence_dir, uint64_t last,
                            void (*say)(void *context, const char *line), void *context,
                            struct tc_error *err)
{
    char path[PATH_BYTES];
    char *text = NULL;
    size_t len = 0;
    TC_TRY(make_path(p, FILE_NAME, path, err));
    tc_status status = read_file(path, &text, &len, err);
    status = status == TC_OK ? parse(p, path, tc_slice_make(text, len), err) : status;
    free(text);
    if (status == TC_E_MALFORMED) {
        say(context, err->message);
    } else if (status != TC_OK && status != TC_E_NOTFOUND) {
        return status;
    }
    /* Batches that were never stored had numbers too, and others will have them. */
    if (p->number > last) {
        p->number = last;
        p->is_changed = true;
        TC_TRY(tc_positions_save(p, err));
    }
    struct tc_evidence *evidence = NULL;
    struct walk walk = {.p = p, .last = p->number};
    TC_TRY(tc_evidence_open(evidence_dir, &evidence, err));
    status = tc_evidence_walk(evidence, p->number + 1, false, take_batch, NULL, &walk, err);
    tc_evidence_close(evidence);
    p->number = walk.last > p->number ? walk.last : p->number;
    return status;
}
