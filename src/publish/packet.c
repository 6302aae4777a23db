/* SPDX-License-Identifier: Apache-2.0 */
#include "publish/packet.h"

#include "base/json/json.h"
#include "base/json/out.h"
#include "base/os/io.h"
#include "base/os/tree.h"
#include "run/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION 1
#define PATH_BYTES 4400
#define FILES "files"
#define CHUNK ((size_t)128 << 10)

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for the packet");
}

static void path_of(const char *dir, const struct tc_digest *digest, char out[PATH_BYTES])
{
    char text[TC_DIGEST_TEXT];
    tc_digest_text(digest, text);
    (void)snprintf(out, PATH_BYTES, "%.4096s/" FILES "/%s", dir, text + sizeof "sha256:" - 1);
}

/* ---- writing ---- */

struct writing {
    const char *dir;
    const struct tc_source *source;
    uint64_t files;
    uint64_t bytes;
};

static tc_status sync_dir(const char *path, struct tc_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tc_status status = fd >= 0 && fsync(fd) == 0 ? TC_OK : tc_fail_errno(err, path);
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

/* One content, once. */
static tc_status put_content(struct writing *w, const struct tc_digest *digest,
                             struct tc_error *err)
{
    char path[PATH_BYTES];
    uint64_t size = 0;
    path_of(w->dir, digest, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
        return errno == EEXIST ? TC_OK : tc_fail_errno(err, path);
    }
    tc_status status = w->source->bytes.copy(w->source->bytes.context, digest, fd, &size, err);
    if (status == TC_OK && fsync(fd) != 0) {
        status = tc_fail_errno(err, path);
    }
    (void)close(fd);
    w->files++;
    w->bytes += size;
    return status;
}

static tc_status put_run(struct writing *w, const struct tc_claim_run *run,
                         const struct tc_run_proof *proof, struct tc_error *err)
{
    struct tc_digest digest;
    struct tc_manifest manifest;
    void *memory = NULL;
    char *text = NULL;
    size_t len = 0;
    if (!tc_digest_parse_exact(run->manifest, &digest)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "a manifest of the claim has no digest");
    }
    tc_status status =
        w->source->read(w->source->context, &digest, TC_MANIFEST_BYTES_MAX, &text, &len, err);
    status = status == TC_OK ? tc_manifest_read(tc_slice_make(text, len), &manifest, &memory, err)
                             : status;
    status = status == TC_OK ? put_content(w, &digest, err) : status;
    for (size_t i = 0; status == TC_OK && i < manifest.file_count; i++) {
        status = put_content(w, &manifest.files[i].digest, err);
    }
    if (status == TC_OK && proof->is_signed) {
        status = put_content(w, &proof->signature, err);
    }
    free(memory);
    free(text);
    return status;
}

static void put_list(struct tc_grow *g, const struct tc_number *number,
                     const struct tc_claim *claim, const struct tc_source *source)
{
    struct tc_json_out j = tc_json_object_grow(g);
    tc_json_put_i64(&j, "packet_version", VERSION);
    tc_json_put_cstr(&j, "number_id", number->id);
    tc_json_put_str(&j, "entry", number->entry);
    tc_json_put_array(&j, "runs");
    for (size_t i = 0; i < claim->run_count; i++) {
        const struct tc_run_proof *proof = &source->proofs[i];
        tc_json_add_object(&j);
        tc_json_put_str(&j, "run_id", claim->runs[i].run_id);
        tc_json_put_str(&j, "record", tc_slice_make(proof->record, proof->record_len));
        if (proof->is_signed) {
            tc_json_put_digest(&j, "signature", &proof->signature);
        }
        tc_json_end_object(&j);
    }
    tc_json_end_array(&j);
    (void)tc_json_end_line(&j);
}

static tc_status write_list(const char *dir, struct tc_slice text, struct tc_error *err)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%.4096s/" TC_PACKET_FILE, dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    tc_status status =
        fd >= 0 && tc_io_write(fd, text) && fsync(fd) == 0 ? TC_OK : tc_fail_errno(err, path);
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

/* packet.json last: without it there is no packet. */
static tc_status write_all(struct writing *w, const struct tc_number *number,
                           const struct tc_claim *claim, struct tc_error *err)
{
    char path[PATH_BYTES];
    struct tc_grow list = {0};
    (void)snprintf(path, sizeof path, "%.4096s/" FILES, w->dir);
    if (mkdir(path, 0755) != 0) {
        return tc_fail_errno(err, path);
    }
    for (size_t i = 0; i < claim->run_count; i++) {
        TC_TRY(put_run(w, &claim->runs[i], &w->source->proofs[i], err));
    }
    TC_TRY(sync_dir(path, err));
    put_list(&list, number, claim, w->source);
    tc_status status = list.failed ? no_memory(err) : write_list(w->dir, tc_grow_slice(&list), err);
    tc_grow_fini(&list);
    return status == TC_OK ? sync_dir(w->dir, err) : status;
}

tc_status tc_packet_write(const char *dir, const struct tc_number *number,
                          const struct tc_claim *claim, const struct tc_source *source,
                          uint64_t *out_files, uint64_t *out_bytes, struct tc_error *err)
{
    struct writing w = {.dir = dir, .source = source};
    struct tc_error ignored;
    if (mkdir(dir, 0755) != 0) {
        return errno == EEXIST ? tc_fail(err, TC_E_USAGE, 0, "%s is there already", dir)
                               : tc_fail_errno(err, dir);
    }
    tc_status status = write_all(&w, number, claim, err);
    if (status != TC_OK) {
        (void)!tc_tree_remove(dir, &ignored);
        return status;
    }
    *out_files = w.files;
    *out_bytes = w.bytes;
    return TC_OK;
}

/* ---- contents of one that is there ---- */

static tc_status open_content(const char *dir, const struct tc_digest *digest, int *out_fd,
                              uint64_t *out_size, struct tc_error *err)
{
    char path[PATH_BYTES];
    struct stat st;
    path_of(dir, digest, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return errno == ENOENT ? tc_fail(err, TC_E_NOTFOUND, 0, "%s is missing", path)
                               : tc_fail_errno(err, path);
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > TC_FILES_SIZE_MAX) {
        (void)close(fd);
        return tc_fail(err, TC_E_MALFORMED, 0, "%s is no file, or too large", path);
    }
    *out_fd = fd;
    *out_size = (uint64_t)st.st_size;
    return TC_OK;
}

static tc_status need_digest(struct tc_sha256 *h, const struct tc_digest *digest,
                             struct tc_error *err)
{
    struct tc_digest found;
    char text[TC_DIGEST_TEXT];
    tc_sha256_final(h, &found);
    tc_digest_text(&found, text);
    return memcmp(&found, digest, sizeof found) == 0
               ? TC_OK
               : tc_fail(err, TC_E_MALFORMED, 0, "its bytes have the digest %s, not its own", text);
}

/* Hashes what is left of a file; to: where it is copied to, -1: nowhere. */
static tc_status pump(int fd, int to, const struct tc_digest *digest, uint64_t *out_size,
                      struct tc_error *err)
{
    char *chunk = malloc(CHUNK);
    struct tc_sha256 h;
    ssize_t len = 1;
    tc_status status = chunk == NULL ? no_memory(err) : TC_OK;
    tc_sha256_init(&h);
    *out_size = 0;
    while (status == TC_OK && len > 0) {
        len = tc_io_read(fd, chunk, CHUNK);
        struct tc_slice part = tc_slice_make(chunk, len > 0 ? (size_t)len : 0);
        if (len < 0 || (to >= 0 && !tc_io_write(to, part))) {
            status = tc_fail_errno(err, "a file of the packet");
        } else {
            tc_sha256_update(&h, part);
            *out_size += part.len;
        }
    }
    free(chunk);
    return status == TC_OK ? need_digest(&h, digest, err) : status;
}

static tc_status copy_packed(void *context, const struct tc_digest *digest, int to,
                             uint64_t *out_size, struct tc_error *err)
{
    int fd = -1;
    TC_TRY(open_content(context, digest, &fd, out_size, err));
    tc_status status = pump(fd, to, digest, out_size, err);
    (void)close(fd);
    return status;
}

static tc_status check_packed(void *context, const struct tc_digest *digest, uint64_t *out_size,
                              struct tc_error *err)
{
    return copy_packed(context, digest, -1, out_size, err);
}

static tc_status read_packed(void *context, const struct tc_digest *digest, uint64_t size_max,
                             char **out_bytes, size_t *out_len, struct tc_error *err)
{
    int fd = -1;
    uint64_t size = 0;
    struct tc_sha256 h;
    TC_TRY(open_content(context, digest, &fd, &size, err));
    char *bytes = size <= size_max ? malloc((size_t)size + 1) : NULL;
    ssize_t len = bytes == NULL ? -1 : tc_io_read(fd, bytes, (size_t)size);
    (void)close(fd);
    if (len < 0) {
        free(bytes);
        return tc_fail(err, size > size_max ? TC_E_LIMIT : TC_E_IO, 0,
                       "a file of the packet is too large, or cannot be read");
    }
    tc_sha256_init(&h);
    tc_sha256_update(&h, tc_slice_make(bytes, (size_t)len));
    tc_status status = need_digest(&h, digest, err);
    if (status != TC_OK) {
        free(bytes);
        return status;
    }
    *out_bytes = bytes;
    *out_len = (size_t)len;
    return TC_OK;
}

/* ---- reading ---- */

static tc_status slurp(const char *dir, char **out, size_t *out_len, struct tc_error *err)
{
    char path[PATH_BYTES];
    struct stat st;
    (void)snprintf(path, sizeof path, "%.4096s/" TC_PACKET_FILE, dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return errno == ENOENT ? tc_fail(err, TC_E_NOTFOUND, 0,
                                         "%s is no packet: it has no " TC_PACKET_FILE, dir)
                               : tc_fail_errno(err, path);
    }
    bool good =
        fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= TC_PACKET_BYTES_MAX;
    char *text = good ? malloc((size_t)st.st_size + 1) : NULL;
    ssize_t len = text == NULL ? -1 : tc_io_read(fd, text, (size_t)st.st_size);
    (void)close(fd);
    if (len < 0) {
        free(text);
        return tc_fail(err, TC_E_IO, 0, "%s: too large, or cannot be read", path);
    }
    *out = text;
    *out_len = (size_t)len;
    return TC_OK;
}

/* What it says of a run of the claim. */
static tc_status read_proof(struct tc_json v, const struct tc_claim_run *run,
                            struct tc_run_proof *out, struct tc_error *err)
{
    struct tc_slice record = tc_json_get_string(v, TC_LIT("record"));
    if (!tc_slice_eq(tc_json_get_string(v, TC_LIT("run_id")), run->run_id)) {
        return tc_fail(err, TC_E_MALFORMED, 0, TC_PACKET_FILE " lists other runs than the claim");
    }
    out->record = malloc(record.len + 1);
    if (out->record == NULL) {
        return no_memory(err);
    }
    if (record.len > 0) {
        memcpy(out->record, record.ptr, record.len);
    }
    out->record_len = record.len;
    out->is_signed =
        tc_digest_parse_exact(tc_json_get_string(v, TC_LIT("signature")), &out->signature);
    return TC_OK;
}

static tc_status read_proofs(struct tc_json root, const struct tc_claim *claim,
                             struct tc_source *source, struct tc_error *err)
{
    struct tc_json list;
    struct tc_json v;
    size_t at = 0;
    source->proofs = calloc(claim->run_count + 1, sizeof *source->proofs);
    source->proof_count = claim->run_count;
    if (source->proofs == NULL) {
        return no_memory(err);
    }
    if (tc_json_get(root, TC_LIT("runs"), &list)) {
        for (struct tc_json_iter it = tc_json_iter_make(list);
             at < claim->run_count && tc_json_iter_next(&it, NULL, &v); at++) {
            TC_TRY(read_proof(v, &claim->runs[at], &source->proofs[at], err));
        }
    }
    return at == claim->run_count
               ? TC_OK
               : tc_fail(err, TC_E_MALFORMED, 0, TC_PACKET_FILE " lacks runs of the claim");
}

/* The claim of the entry, under the name that the packet has. */
static tc_status read_claim(struct tc_slice entry_text, struct tc_slice id,
                            char out_id[TC_NUMBER_ID_BYTES], struct tc_claim *out,
                            struct tc_error *err)
{
    struct tc_audit_entry entry;
    char *memory = NULL;
    struct tc_json_parser *parser = tc_json_parser_create();
    tc_status status =
        parser == NULL ? no_memory(err) : tc_audit_parse(parser, entry_text, &entry, &memory, err);
    status = status == TC_OK ? tc_claim_name(entry.claim, out_id, err) : status;
    if (status == TC_OK &&
        (!tc_slice_eq(tc_slice_cstr(out_id), id) || !tc_slice_eq(entry.number_id, id))) {
        status = tc_fail(err, TC_E_MALFORMED, 0, "the claim is that of %s, not of %.*s", out_id,
                         TC_FMT(id));
    }
    status = status == TC_OK ? tc_claim_read(entry.claim, out, err) : status;
    free(memory);
    tc_json_parser_destroy(parser);
    return status;
}

static tc_status check(const char *dir, const struct tc_sign_key *key, struct tc_json root,
                       char out_id[TC_NUMBER_ID_BYTES], struct tc_chain *out,
                       struct tc_claim *out_claim, struct tc_error *err)
{
    void *context = (void *)(uintptr_t)dir;
    struct tc_error why = {0};
    struct tc_source source = {.context = context,
                               .read = read_packed,
                               .check = check_packed,
                               .bytes = {.context = context, .copy = copy_packed}};
    struct tc_slice id = tc_json_get_string(root, TC_LIT("number_id"));
    tc_status status =
        read_claim(tc_json_get_string(root, TC_LIT("entry")), id, out_id, out_claim, &why);
    (void)snprintf(out_id, TC_NUMBER_ID_BYTES, "%.*s", TC_FMT(id));
    TC_TRY(tc_chain_judge(out, TC_STEP_AUDIT, status, &why, err));
    if (status != TC_OK) {
        return TC_OK;
    }
    tc_chain_set(out, TC_STEP_AUDIT, TC_STEP_HOLDS,
                 "the entry is of this claim; that it is in the log, only its data_dir shows");
    tc_chain_set(out, TC_STEP_ROW, TC_STEP_UNCHECKED, "a packet has no tables");
    tc_chain_set(out, TC_STEP_TABLES, TC_STEP_UNCHECKED, "a packet has no tables");
    TC_TRY(tc_chain_query(out, out_claim, err));
    status = read_proofs(root, out_claim, &source, err);
    status = status == TC_OK ? tc_chain_raw(out, out_claim, &source, key, err) : status;
    tc_source_fini(&source);
    return status;
}

tc_status tc_packet_check(const char *dir, const struct tc_sign_key *key,
                          char out_id[TC_NUMBER_ID_BYTES], struct tc_chain *out,
                          struct tc_claim *out_claim, struct tc_error *err)
{
    char *text = NULL;
    size_t len = 0;
    struct tc_json root;
    *out = (struct tc_chain){0};
    *out_claim = (struct tc_claim){0};
    out_id[0] = '\0';
    TC_TRY(slurp(dir, &text, &len, err));
    struct tc_json_parser *parser = tc_json_parser_create();
    tc_status status = parser == NULL ? no_memory(err)
                                      : tc_json_parse(parser, tc_slice_make(text, len), &root, err);
    if (status == TC_OK && tc_json_get_int(root, TC_LIT("packet_version"), 0) != VERSION) {
        status =
            tc_fail(err, TC_E_MALFORMED, 0,
                    "%s/" TC_PACKET_FILE " is of another version of tracecore, or no packet", dir);
    }
    status = status == TC_OK ? check(dir, key, root, out_id, out, out_claim, err) : status;
    tc_json_parser_destroy(parser);
    free(text);
    return status;
}
