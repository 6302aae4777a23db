/* SPDX-License-Identifier: Apache-2.0 */
#include "publish/made.h"

#include "base/os/io.h"
#include "base/os/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEMPORARY "/var/tmp"

static tc_status open_empty(struct tc_made *m, struct tc_error *err)
{
    const char *where = getenv("TMPDIR");
    struct tc_warehouse_config config = {
        .data_dir = m->dir, .mode = TC_WAREHOUSE_WRITE, .own = true};
    where = where == NULL || where[0] == '\0' ? TEMPORARY : where;
    int len = snprintf(m->dir, sizeof m->dir, "%s/tracecore-XXXXXX", where);
    if (len < 0 || (size_t)len >= sizeof m->dir - 64 || mkdtemp(m->dir) == NULL) {
        m->dir[0] = '\0';
        return tc_fail_errno(err, where);
    }
    return tc_warehouse_open(&config, &m->w, err);
}

static tc_status add_run(struct tc_made *m, const struct tc_run_record *record,
                         const struct tc_run_bytes *bytes, struct tc_error *err)
{
    char work[sizeof m->dir + 16];
    char told[TC_RUN_WHY_BYTES];
    struct tc_error why = {0};
    (void)snprintf(work, sizeof work, "%s/files", m->dir);
    tc_status status = tc_run_again(m->w, record, bytes, work, told, &why);
    if (status != TC_OK) {
        return tc_fail(err, status, 0, "run %.*s: %s", TC_FMT(record->run_id),
                       told[0] != '\0' ? told : why.message);
    }
    return TC_OK;
}

tc_status tc_made_fill(struct tc_made *m, const struct tc_run_record *const *records, size_t count,
                       const struct tc_digest *key, const struct tc_run_bytes *bytes,
                       struct tc_error *err)
{
    if (m->is_whole && memcmp(&m->key, key, sizeof *key) == 0) {
        return TC_OK;
    }
    tc_made_close(m);
    TC_TRY(open_empty(m, err));
    for (size_t i = 0; i < count; i++) {
        TC_TRY(add_run(m, records[i], bytes, err));
    }
    m->is_whole = true;
    m->key = *key;
    return TC_OK;
}

void tc_made_close(struct tc_made *m)
{
    struct tc_error ignored;
    tc_warehouse_close(m->w);
    if (m->dir[0] != '\0') {
        (void)!tc_tree_remove(m->dir, &ignored);
    }
    *m = (struct tc_made){0};
}
