/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore evidence ls`: the files of runs, and which run they are of. */
#include "base/format.h"
#include "base/time.h"
#include "cli/data.h"
#include "cli/evidence/evidence.h"
#include "cli/output/say.h"
#include "cli/proof.h"

#include <string.h>

enum { COL_DIGEST, COL_RUN, COL_ROLE, COL_NAME, COL_RUNS };

/* By the digests as text, which is the order of the walk over the files. */
static const char REFERENCES[] =
    "SELECT digest, min(run_id), min_by(role, run_id), min_by(name, run_id), "
    "count(DISTINCT run_id) FROM ("
    "SELECT run_id, f.role, f.name, f.digest FROM (SELECT run_id, unnest(from_json(raw_uris, "
    "'[{\"role\":\"VARCHAR\",\"name\":\"VARCHAR\",\"digest\":\"VARCHAR\"}]')) AS f "
    "FROM artifact_lineage_dim) UNION ALL "
    "SELECT run_id, 'manifest', '', artifact_manifest_digest FROM artifact_lineage_dim UNION ALL "
    "SELECT run_id, 'signature', '', signature_digest FROM artifact_lineage_dim) "
    "WHERE digest IS NOT NULL GROUP BY digest ORDER BY digest";

struct listing {
    struct tc_output *out;
    bool json;
    int64_t since_ns;
    struct tc_answer references;
    size_t next;
    struct tc_grow line;
};

/* The row of that file; row_count when no run refers to it. Both are in order. */
static size_t find_reference(struct listing *l, struct tc_slice digest)
{
    const struct tc_answer *s = &l->references;
    for (; l->next < s->row_count; l->next++) {
        struct tc_slice other = tc_answer_text(s, l->next, COL_DIGEST);
        int order = other.len != digest.len ? -1 : memcmp(other.ptr, digest.ptr, digest.len);
        if (order >= 0) {
            return order == 0 ? l->next : s->row_count;
        }
    }
    return s->row_count;
}

static void put_json(struct listing *l, const struct tc_files_info *info, struct tc_slice digest,
                     size_t row)
{
    const struct tc_answer *set = &l->references;
    bool known = row < set->row_count;
    struct tc_json_out j = tc_json_object_grow(&l->line);
    tc_json_put_plain(&j, "kind", TC_LIT("file"));
    tc_json_put_str(&j, "digest", digest);
    tc_json_put_time(&j, "arrival", info->modified_ns);
    tc_json_put_u64(&j, "disk_bytes", info->disk_bytes);
    if (known) {
        tc_json_put_some(&j, "run_id", tc_answer_text(set, row, COL_RUN));
        tc_json_put_some(&j, "role", tc_answer_text(set, row, COL_ROLE));
        tc_json_put_str(&j, "name", tc_answer_text(set, row, COL_NAME));
    } else {
        tc_json_put_null(&j, "run_id");
        tc_json_put_null(&j, "role");
        tc_json_put_null(&j, "name");
    }
    tc_json_put_u64(&j, "runs", known ? (uint64_t)tc_answer_int(set, row, COL_RUNS) : 0);
    (void)tc_json_end_line(&j);
}

static void put_text(struct listing *l, const struct tc_files_info *info, struct tc_slice digest,
                     size_t row)
{
    bool known = row < l->references.row_count;
    struct tc_slice run = known ? tc_answer_text(&l->references, row, COL_RUN) : TC_EMPTY;
    struct tc_slice role = known ? tc_answer_text(&l->references, row, COL_ROLE) : TC_EMPTY;
    struct tc_slice name = known ? tc_answer_text(&l->references, row, COL_NAME) : TC_EMPTY;
    struct tc_buf *b = &l->line.buf;
    tc_grow_format(&l->line, "{} {}  {}  {} {} {}", tc_as_time(info->modified_ns),
                   tc_as_right(info->disk_bytes, 11), digest,
                   tc_as_printable(run.len > 0 ? run : TC_LIT("of no run")), tc_as_printable(role),
                   tc_as_printable(name));
    while (b->len > 0 && b->data[b->len - 1] == ' ') {
        b->len--;
    }
    tc_grow_lit(&l->line, "\n");
}

static tc_status take_file(void *context, const struct tc_files_info *info)
{
    struct listing *l = context;
    char text[80];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_digest(&b, &info->digest);
    size_t row = find_reference(l, tc_buf_slice(&b));
    if (info->modified_ns < l->since_ns) {
        return TC_OK;
    }
    l->line.buf.len = 0;
    if (l->json) {
        put_json(l, info, tc_buf_slice(&b), row);
    } else {
        put_text(l, info, tc_buf_slice(&b), row);
    }
    if (l->line.failed) {
        return TC_E_NOMEM;
    }
    return tc_output_put(l->out, tc_grow_slice(&l->line)) ? TC_OK : TC_E_IO;
}

/* Without a database the files are listed all the same. */
static void read_references(struct listing *l, const char *data_dir)
{
    struct tc_warehouse *w = NULL;
    struct tc_error err = {0};
    struct tc_warehouse_config config = tc_data_config("evidence", data_dir, TC_WAREHOUSE_READ);
    tc_status status = tc_warehouse_open(&config, &w, &err);
    if (status == TC_OK) {
        status = tc_answer_query(w, REFERENCES, NULL, 0, &l->references, &err);
    }
    tc_warehouse_close(w);
    if (status != TC_OK) {
        tc_say("evidence", "which runs the files are of cannot be told: %s", err.message);
        l->references = (struct tc_answer){0};
    }
}

int tc_evidence_ls_files(struct tc_output *out, const char *data_dir, int64_t since_ns, bool json,
                         bool *out_any)
{
    static struct listing l;
    struct tc_files *files = NULL;
    struct tc_error err = {0};
    l = (struct listing){.out = out, .json = json, .since_ns = since_ns};
    tc_status status = tc_files_open(data_dir, false, &files, &err);
    *out_any = status != TC_E_NOTFOUND;
    if (status == TC_E_NOTFOUND) {
        return TC_EXIT_OK;
    }
    if (status == TC_OK) {
        read_references(&l, data_dir);
        status = tc_files_walk(files, take_file, NULL, &l, &err);
    }
    tc_files_close(files);
    tc_answer_fini(&l.references);
    tc_grow_fini(&l.line);
    if (status != TC_OK && out->error == 0) {
        (void)tc_output_flush(out);
        return tc_refuse("evidence", "%s",
                         err.status == TC_OK ? tc_status_text(status) : err.message);
    }
    return TC_EXIT_OK;
}
