/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "base/number.h"
#include "cli/output/say.h"
#include "cli/output/text_table.h"
#include "cli/publish/publish.h"
#include "publish/lineage.h"

#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

bool tc_publish_place_open(struct tc_publish_place *p, const char *command, const char *data_dir,
                           enum tc_warehouse_mode mode)
{
    struct tc_error err = {0};
    *p = (struct tc_publish_place){0};
    if (!tc_data_dir_of(command, data_dir, p->dir)) {
        return false;
    }
    p->w = tc_data_open(command, p->dir, TC_WAREHOUSE_READ);
    if (p->w != NULL && mode == TC_WAREHOUSE_WRITE) {
        tc_warehouse_close(p->w);
        p->w = tc_data_open(command, p->dir, mode);
    }
    if (p->w == NULL) {
        return false;
    }
    if (tc_files_open(p->dir, false, &p->files, &err) != TC_OK) {
        tc_say(command, "%s", err.message);
        return false;
    }
    return true;
}

void tc_publish_place_close(struct tc_publish_place *p)
{
    tc_files_close(p->files);
    tc_warehouse_close(p->w);
}

void tc_publish_by(char out[256])
{
    char host[128] = "";
    char room[1024];
    struct passwd entry;
    struct passwd *found = NULL;
    (void)gethostname(host, sizeof host - 1);
    if (getpwuid_r(getuid(), &entry, room, sizeof room, &found) == 0 && found != NULL) {
        (void)snprintf(out, 256, "%.100s@%.120s", found->pw_name, host);
    } else {
        (void)snprintf(out, 256, "uid %u@%.120s", (unsigned)getuid(), host);
    }
}

void tc_publish_put_claim(struct tc_grow *g, const struct tc_claim *c)
{
    size_t n = tc_claim_replicates(c);
    tc_grow_format(g, "  {}\n  {}{}{}", tc_as_printable(c->report_row), tc_as_number(c->value),
                   c->unit.len > 0 ? " " : "", tc_as_printable(c->unit));
    if (n > 1) {
        tc_grow_format(g, ", {} to {} at {} confidence", tc_as_number(c->low),
                       tc_as_number(c->high), tc_as_number(c->level));
    }
    tc_grow_format(g, ": {} of {}\n", c->statistic, tc_as_count((int64_t)n, "run"));
    if (c->statement.len > 0) {
        struct tc_grow words = {0};
        tc_grow_format(&words, "{}", tc_as_printable(c->statement));
        tc_text_words(g, "  ", tc_grow_slice(&words), "  ");
        tc_grow_lit(g, "\n");
        g->failed |= words.failed;
        tc_grow_fini(&words);
    }
}

/* One line for each step. */
static void put_chain(struct tc_grow *g, const struct tc_chain *chain)
{
    for (enum tc_step step = TC_STEP_AUDIT; step < TC_STEP_COUNT; step++) {
        tc_text_finding(g, tc_slice_cstr(tc_step_name(step, true)),
                        tc_step_state_name(chain->steps[step].state, true),
                        tc_slice_cstr(chain->steps[step].what));
    }
}

void tc_publish_put_lineage(struct tc_grow *g, const char *id, const struct tc_claim *claim,
                            const struct tc_chain *chain, bool json)
{
    enum tc_step broken = tc_chain_broken(chain);
    if (json) {
        struct tc_json_out j = tc_json_out_grow(g);
        tc_lineage_json(&j, id, claim, chain);
        (void)tc_json_done_line(&j);
        return;
    }
    tc_grow_format(g, "{}  {}{}\n", id,
                   broken == TC_STEP_COUNT ? "publication-safe"
                                           : "NOT publication-safe: broken at ",
                   broken == TC_STEP_COUNT ? "" : tc_step_name(broken, true));
    if (claim->run_count > 0) {
        tc_publish_put_claim(g, claim);
    }
    put_chain(g, chain);
}

struct tc_sign_key *tc_publish_key(const char *command, const char *path, bool *out_bad)
{
    struct tc_sign_key *key = NULL;
    struct tc_error err = {0};
    *out_bad = path != NULL && tc_sign_key_load(path, false, &key, &err) != TC_OK;
    if (*out_bad) {
        tc_say(command, "%s", err.message);
    }
    return key;
}
