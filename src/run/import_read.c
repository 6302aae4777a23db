/* SPDX-License-Identifier: Apache-2.0 */
/* The files of an import into memory: digests, the contract, what readers find. All of them are
 * looked at before anything is said to be wrong with the whole. */
#include "base/os/io.h"
#include "run/import_priv.h"

#include "evidence/files/files.h"
#include "telemetry/files.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_CHUNK ((size_t)1 << 20)
/* A file of facts that is no result: beyond it is kept unread. */
#define FACTS_BYTES_MAX ((uint64_t)64 << 20)

/* An open regular file of a bounded size. */
static tc_status open_regular(const char *path, uint64_t size_max, int *out_fd, uint64_t *out_size,
                              struct tc_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return tc_fail_errno(err, "cannot be opened");
    }
    tc_status status = TC_OK;
    if (fstat(fd, &st) != 0) {
        status = tc_fail_errno(err, "cannot be read");
    } else if (!S_ISREG(st.st_mode)) {
        status = tc_fail(err, TC_E_IO, 0, "%s; give a file: its bytes are kept as evidence",
                         S_ISDIR(st.st_mode) ? "a directory" : "no regular file");
    } else if ((uint64_t)st.st_size > size_max) {
        status = tc_fail(err, TC_E_LIMIT, 0, "%llu bytes; at most %llu are read",
                         (unsigned long long)st.st_size, (unsigned long long)size_max);
    }
    if (status != TC_OK) {
        (void)close(fd);
        return status;
    }
    *out_fd = fd;
    *out_size = (uint64_t)st.st_size;
    return TC_OK;
}

/* Reads up to cap bytes; fewer at the end of the file. */
static tc_status read_some(int fd, char *to, size_t cap, size_t *out_len, struct tc_error *err)
{
    ssize_t len = tc_io_read(fd, to, cap);
    if (len < 0) {
        return tc_fail_errno(err, "cannot be read");
    }
    *out_len = (size_t)len;
    return TC_OK;
}

static tc_status read_whole(const char *path, uint64_t size_max, char **out_bytes, size_t *out_len,
                            struct tc_error *err)
{
    int fd = -1;
    uint64_t size = 0;
    TC_TRY(open_regular(path, size_max, &fd, &size, err));
    /* One byte more shows a file that is still being written. */
    char *bytes = malloc((size_t)size + 1);
    tc_status status = bytes == NULL ? tc__import_nomem(err)
                                     : read_some(fd, bytes, (size_t)size + 1, out_len, err);
    (void)close(fd);
    if (status == TC_OK && *out_len != size) {
        status = tc_fail(err, TC_E_IO, 0, "changed while it was read; add it when it is complete");
    }
    if (status != TC_OK) {
        free(bytes);
        return status;
    }
    *out_bytes = bytes;
    return TC_OK;
}

tc_status tc__read_again(const struct tc__source *s, uint64_t size_max, char **out_bytes,
                         size_t *out_len, struct tc_error *err)
{
    struct tc_digest digest;
    TC_TRY(read_whole(s->file->path, size_max, out_bytes, out_len, err));
    tc_status status = tc_digest_sha256(tc_slice_make(*out_bytes, *out_len), &digest);
    if (status != TC_OK) {
        status = tc__import_nomem(err);
    } else if (memcmp(&digest, &s->digest, sizeof digest) != 0) {
        status =
            tc_fail(err, TC_E_IO, 0, "changed while it was imported; add it when it is complete");
    }
    if (status != TC_OK) {
        free(*out_bytes);
        *out_bytes = NULL;
    }
    return status;
}

static tc_status hash_file(struct tc__import *i, struct tc__source *s, struct tc_error *err)
{
    int fd = -1;
    struct tc_sha256 h;
    size_t len = 0;
    TC_TRY(open_regular(s->file->path, TC_FILES_SIZE_MAX, &fd, &s->size, err));
    char *chunk = malloc(HASH_CHUNK);
    tc_status status = chunk == NULL ? tc__import_nomem(err) : TC_OK;
    tc_sha256_init(&h);
    for (uint64_t left = s->size; status == TC_OK && left > 0; left -= len) {
        status = read_some(fd, chunk, left < HASH_CHUNK ? (size_t)left : HASH_CHUNK, &len, err);
        if (status == TC_OK && len == 0) {
            status = tc_fail(err, TC_E_IO, 0, "became shorter while it was read");
        } else if (status == TC_OK) {
            tc_sha256_update(&h, tc_slice_make(chunk, len));
            tc__import_progress(i, len);
        }
    }
    tc_sha256_final(&h, &s->digest);
    free(chunk);
    (void)close(fd);
    return status;
}

/* Another file of that role has the same bytes: one of them is enough, and rows come once. */
static bool is_twin(const struct tc__import *i, size_t source)
{
    const struct tc__source *s = &i->sources[source];
    for (size_t n = 0; n < source; n++) {
        const struct tc__source *o = &i->sources[n];
        if (!o->left_out && o->file->role == s->file->role &&
            memcmp(&o->digest, &s->digest, sizeof s->digest) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- results ---- */

static tc_status read_result(struct tc__import *i, size_t source, struct tc_slice bytes,
                             struct tc_error *err)
{
    struct tc__source *s = &i->sources[source];
    struct tc_result *result = NULL;
    const struct tc_reader *reader = s->facts != NULL ? s->facts : i->want->reader;
    tc_status status = tc_result_read(tc_slice_cstr(s->file->path), bytes, reader, &result, err);
    bool is_probe = s->facts == &tc_reader_probe;
    if (s->facts != NULL && !is_probe && status == TC_E_UNSUPPORTED) {
        return TC_OK; /* says nothing about the run: kept all the same */
    }
    if (s->facts != NULL &&
        (status == TC_E_UNSUPPORTED || (status == TC_E_MALFORMED && !is_probe))) {
        return tc__import_warn(i, source, TC_EMPTY, TC_EMPTY, tc_slice_cstr(err->message), err);
    }
    if (status == TC_E_UNSUPPORTED && s->file->found) {
        s->left_out = true;
        tc__import_tell(i, source, "left out: no reader knows it");
        return TC_OK;
    }
    if (status == TC_OK) {
        status = tc__import_take(i, source, result, err);
        tc_result_destroy(result);
    }
    if (s->facts != NULL) {
        s->form = s->facts->name;
        s->has_facts = status == TC_OK;
        s->reader = NULL; /* no tool of the run */
    }
    return status;
}

/* ---- the contract ---- */

struct violations {
    struct tc__import *i;
    size_t source;
};

static void take_violation(void *context, const struct tc_violation *v)
{
    const struct violations *to = context;
    char where[64];
    (void)snprintf(where, sizeof where, "line %u, column %u", v->line, v->column);
    tc__import_error(to->i, to->source, tc_slice_cstr(where), tc_slice_cstr(v->path),
                     tc_slice_cstr(v->message));
}

static tc_status read_contract(struct tc__import *i, size_t source, struct tc_slice bytes,
                               struct tc_error *err)
{
    struct violations to = {i, source};
    struct tc_slice canonical;
    TC_TRY(tc_contract_parse(bytes, &i->contract, err));
    if (tc_contract_check(i->contract, false, take_violation, &to) > 0) {
        i->contract_is_bad = true;
        return TC_OK; /* told */
    }
    tc_contract_facts(i->contract, &i->said);
    if (isnan(i->said.gpu_hour_usd)) {
        TC_TRY(tc__import_warnf(i, source, err, "spec.cost.gpuHourUsd",
                                "is no number above 0: it is not used"));
    } else if (i->said.gpu_hour_usd > 0) {
        if (!isnan(i->gpu_hour_usd) && fabs(i->gpu_hour_usd - i->said.gpu_hour_usd) > 0) {
            TC_TRY(tc__import_warnf(i, source, err, "spec.cost.gpuHourUsd",
                                    "says %g, --gpu-hour-usd %g; the contract's counts",
                                    i->said.gpu_hour_usd, i->gpu_hour_usd));
        }
        i->gpu_hour_usd = i->said.gpu_hour_usd;
    }
    TC_TRY(tc_contract_canonical(i->contract, false, &canonical, err));
    if (tc_digest_sha256(canonical, &i->contract_digest) != TC_OK) {
        return tc__import_nomem(err);
    }
    i->has_contract_digest = true;
    tc_digest_text(&i->contract_digest, i->contract_digest_text);
    return tc__facts_of_contract(i, source, err);
}

/* Content that is read whole: contract, results, verdicts. */
static tc_status read_content(struct tc__import *i, size_t source, struct tc_error *err)
{
    struct tc__source *s = &i->sources[source];
    bool is_contract = s->file->role == TC_ROLE_CONTRACT;
    char *bytes = NULL;
    size_t len = 0;
    TC_TRY(read_whole(s->file->path, is_contract ? TC_CONTRACT_BYTES_MAX : TC_RESULT_BYTES_MAX,
                      &bytes, &len, err));
    s->size = len;
    struct tc_slice all = tc_slice_make(bytes, len);
    tc_status status = tc_digest_sha256(all, &s->digest);
    if (status != TC_OK) {
        free(bytes);
        return tc__import_nomem(err);
    }
    tc_digest_text(&s->digest, s->digest_text);
    if (is_contract) {
        i->contract_text = bytes; /* what it says may point there */
        status = read_contract(i, source, all, err);
    } else if (is_twin(i, source)) {
        s->left_out = true;
        tc__import_tell(i, source, "left out: the same bytes as another %s file",
                        tc_role_name(s->file->role));
        free(bytes);
    } else {
        status = s->file->role == TC_ROLE_VERDICTS ? tc__import_verdicts(i, source, all, err)
                                                   : read_result(i, source, all, err);
        free(bytes);
    }
    tc__import_progress(i, len);
    return status;
}

/* Found in a directory that was given for its telemetry: is it any? */
static tc_status sniff_telemetry(struct tc__import *i, size_t source, struct tc_error *err)
{
    struct tc__source *s = &i->sources[source];
    char *bytes = NULL;
    size_t len = 0;
    TC_TRY(read_whole(s->file->path, TC_TELEMETRY_BYTES_MAX, &bytes, &len, err));
    if (!tc_telemetry_sniff(tc_slice_make(bytes, len), tc_slice_cstr(s->file->path))) {
        s->left_out = true;
        tc__import_tell(i, source, "left out: no telemetry that is known");
    }
    free(bytes);
    return TC_OK;
}

/* A file that is no result, but says what the machine is or where the run was: its facts count. */
static tc_status look_for_facts(struct tc__source *s, struct tc_error *err)
{
    char head[TC_RESULT_HEAD];
    int fd = -1;
    uint64_t size = 0;
    size_t len = 0;
    if (s->file->role != TC_ROLE_ARTIFACT && s->file->role != TC_ROLE_TELEMETRY) {
        return TC_OK;
    }
    TC_TRY(open_regular(s->file->path, TC_FILES_SIZE_MAX, &fd, &size, err));
    tc_status status = read_some(fd, head, sizeof head, &len, err);
    (void)close(fd);
    if (status == TC_OK && size <= FACTS_BYTES_MAX) {
        s->facts = tc_result_facts_reader(tc_slice_make(head, len));
    }
    return status;
}

static tc_status read_source(struct tc__import *i, size_t source, struct tc_error *err)
{
    struct tc__source *s = &i->sources[source];
    TC_TRY(look_for_facts(s, err));
    if (s->file->role == TC_ROLE_CONTRACT || s->file->role == TC_ROLE_RESULT ||
        s->file->role == TC_ROLE_VERDICTS || s->facts != NULL) {
        return read_content(i, source, err);
    }
    if (s->file->role == TC_ROLE_TELEMETRY && s->file->found) {
        TC_TRY(sniff_telemetry(i, source, err));
    }
    if (s->left_out) {
        return TC_OK;
    }
    TC_TRY(hash_file(i, s, err));
    tc_digest_text(&s->digest, s->digest_text);
    if (is_twin(i, source)) {
        s->left_out = true;
        tc__import_tell(i, source, "left out: the same bytes as another %s file",
                        tc_role_name(s->file->role));
    }
    return TC_OK;
}

tc_status tc__import_read(struct tc__import *i, struct tc_error *err)
{
    for (size_t n = 0; n < i->source_count; n++) {
        struct tc_error own = {0};
        tc_status status = read_source(i, n, &own);
        TC_TRY(tc__import_go_on(i, n, status, &own, err));
    }
    return TC_OK;
}
