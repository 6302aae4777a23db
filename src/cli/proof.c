/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/proof.h"

#include "base/os/io.h"
#include "cli/output/say.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_row(struct tc_proof *p)
{
    struct tc_answer set;
    struct tc_error err = {0};
    struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(p->run_id)};
    if (tc_answer_query(p->w,
                        "SELECT artifact_manifest_digest, signing_state, signature_digest "
                        "FROM artifact_lineage_dim WHERE run_id = ?",
                        &id, 1, &set, &err) != TC_OK) {
        tc_say("evidence", "%s", err.message);
        return false;
    }
    bool good = set.row_count > 0 && tc_digest_parse(tc_answer_text(&set, 0, 0), &p->digest);
    if (good) {
        (void)snprintf(p->digest_text, sizeof p->digest_text, "%.*s",
                       TC_FMT(tc_answer_text(&set, 0, 0)));
        (void)snprintf(p->state, sizeof p->state, "%.*s", TC_FMT(tc_answer_text(&set, 0, 1)));
        p->is_signed = tc_digest_parse(tc_answer_text(&set, 0, 2), &p->signature);
    } else {
        tc_say("evidence", "run %s has no manifest in artifact_lineage_dim", p->run_id);
    }
    tc_answer_fini(&set);
    return good;
}

bool tc_proof_open(struct tc_proof *p, const char *data_dir, const char *run,
                   enum tc_warehouse_mode mode)
{
    struct tc_error err = {0};
    *p = (struct tc_proof){0};
    if (!tc_data_dir_of("evidence", data_dir, p->dir)) {
        return false;
    }
    /* Reading first: writing would make a database where there is none. */
    p->w = tc_data_open("evidence", p->dir, TC_WAREHOUSE_READ);
    if (p->w != NULL && mode == TC_WAREHOUSE_WRITE) {
        tc_warehouse_close(p->w);
        p->w = tc_data_open("evidence", p->dir, mode);
    }
    if (p->w == NULL || !tc_run_find_lineage(p->w, run, p->run_id) || !read_row(p)) {
        return false;
    }
    if (tc_files_open(p->dir, false, &p->files, &err) != TC_OK) {
        tc_say("evidence", "%s", err.message);
        return false;
    }
    return true;
}

tc_status tc_proof_read(struct tc_proof *p, struct tc_error *err)
{
    TC_TRY(tc_files_read(p->files, &p->digest, TC_MANIFEST_BYTES_MAX, &p->text, &p->len, err));
    return tc_manifest_read(tc_slice_make(p->text, p->len), &p->manifest, &p->memory, err);
}

tc_status tc_proof_slurp(const char *path, size_t max, char **out, size_t *out_len,
                         struct tc_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return tc_fail_errno(err, path);
    }
    char *text = NULL;
    tc_status status = TC_OK;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > max) {
        status = tc_fail(err, TC_E_LIMIT, 0, "%s: no file, or of more than %zu bytes", path, max);
    } else if ((text = malloc((size_t)st.st_size + 1)) == NULL) {
        status = tc_fail(err, TC_E_NOMEM, 0, "no memory for %s", path);
    }
    ssize_t len = status == TC_OK ? tc_io_read(fd, text, (size_t)st.st_size) : 0;
    if (len < 0) {
        status = tc_fail_errno(err, path);
    }
    (void)close(fd);
    if (status != TC_OK) {
        free(text);
        return status;
    }
    *out = text;
    *out_len = (size_t)len;
    return TC_OK;
}

tc_status tc_proof_read_file(struct tc_proof *p, const char *path, struct tc_error *err)
{
    *p = (struct tc_proof){0};
    TC_TRY(tc_proof_slurp(path, TC_MANIFEST_BYTES_MAX, &p->text, &p->len, err));
    TC_TRY(tc_manifest_read(tc_slice_make(p->text, p->len), &p->manifest, &p->memory, err));
    if (tc_digest_sha256(tc_slice_make(p->text, p->len), &p->digest) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "SHA-256 cannot be set up");
    }
    tc_digest_text(&p->digest, p->digest_text);
    if (p->manifest.run_id.len > 0) {
        (void)snprintf(p->run_id, sizeof p->run_id, "%.*s", TC_FMT(p->manifest.run_id));
    } else {
        (void)snprintf(p->run_id, sizeof p->run_id, "run-%.16s", p->digest_text + 7);
    }
    return TC_OK;
}

void tc_proof_close(struct tc_proof *p)
{
    tc_files_close(p->files);
    tc_warehouse_close(p->w);
    free(p->text);
    free(p->memory);
}
