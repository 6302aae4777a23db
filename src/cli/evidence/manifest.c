/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore evidence manifest`: which bytes a run consists of. */
#include "base/format.h"
#include "cli/evidence/evidence.h"
#include "cli/output/say.h"
#include "cli/proof.h"

static void put_line(struct tc_grow *g, const char *label, struct tc_slice value)
{
    if (value.len > 0) {
        tc_grow_format(g, "{}{}\n", label, tc_as_printable(value));
    }
}

static void put_digest(struct tc_grow *g, const char *label, const struct tc_digest *digest)
{
    if (digest != NULL) {
        tc_grow_format(g, "{}{}\n", label, tc_as_digest(digest));
    }
}

/* For people. The digests in full: they are what one looks for. */
static void put_text(struct tc_grow *g, const struct tc_proof *p)
{
    const struct tc_manifest *m = &p->manifest;
    put_line(g, "run        ", tc_slice_cstr(p->run_id));
    put_line(g, "name       ", m->name);
    put_digest(g, "manifest   ", &p->digest);
    put_digest(g, "contract   ", m->contract);
    put_digest(g, "workload   ", m->workload);
    put_line(g, "signature  ", tc_slice_cstr(p->state));
    for (size_t i = 0; i < m->file_count; i++) {
        const struct tc_manifest_file *f = &m->files[i];
        tc_grow_format(g, "\n{}", tc_role_name(f->role));
        put_line(g, " ", f->name);
        tc_grow_format(g, "  {}\n  {}\n", tc_as_digest(&f->digest),
                       tc_as_count((int64_t)f->size, "byte"));
    }
}

int tc_evidence_manifest(const struct tc_evidence_args *args)
{
    struct tc_proof p;
    struct tc_grow g = {0};
    struct tc_error err = {0};
    int code = TC_EXIT_BAD;
    if (tc_proof_open(&p, args->data_dir, args->what, TC_WAREHOUSE_READ)) {
        if (tc_proof_read(&p, &err) != TC_OK) {
            tc_say("evidence", "the manifest of run %s: %s", p.run_id, err.message);
            code = TC_EXIT_FOUND;
        } else {
            if (args->json) {
                tc_grow_str(&g, tc_slice_make(p.text, p.len));
            } else {
                put_text(&g, &p);
            }
            code = tc_output_grown("evidence", &g, TC_EXIT_OK);
        }
    }
    tc_grow_fini(&g);
    tc_proof_close(&p);
    return code;
}
