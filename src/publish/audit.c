/* SPDX-License-Identifier: Apache-2.0 */
#include "publish/audit.h"

#include "base/json/canonical.h"
#include "base/json/out.h"
#include "base/table/grow.h"
#include "base/time.h"
#include "warehouse/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one entry: less than a line of the ledger may have. */
#define ENTRY_MAX (TC_LEDGER_LINE_MAX - 64)

struct reading {
    struct tc_audit_chain *chain;
    struct tc_json_parser *parser;
    tc_audit_fn take;
    void *context;
    uint64_t lines;   /* that are sound, so far */
    uint64_t damaged; /* that are not */
    struct tc_error *err;
};

static bool is_first(const struct tc_audit_chain *c)
{
    return c->entries == 0;
}

/* ---- one entry ---- */

static tc_status read_claim(struct tc_json root, struct tc_audit_entry *e, char **out_memory,
                            struct tc_error *err)
{
    struct tc_json claim;
    struct tc_grow g = {0};
    if (!tc_json_get(root, TC_LIT("claim"), &claim)) {
        return TC_OK;
    }
    if (!tc_grow_room(&g, TC_CANONICAL_GROWTH * e->text.len)) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for an entry of the audit log");
    }
    tc_status status = tc_canonical_value(claim, &g.buf, err);
    if (status != TC_OK) {
        tc_grow_fini(&g);
        return status;
    }
    e->claim = tc_grow_slice(&g);
    *out_memory = g.buf.data;
    return TC_OK;
}

tc_status tc_audit_parse(struct tc_json_parser *parser, struct tc_slice text,
                         struct tc_audit_entry *out, char **out_memory, struct tc_error *err)
{
    struct tc_json root;
    TC_TRY(tc_json_parse(parser, text, &root, err));
    struct tc_slice at = tc_json_get_string(root, TC_LIT("at"));
    struct tc_audit_entry e = {
        .seq = (uint64_t)tc_json_get_int(root, TC_LIT("seq"), 0),
        .text = text,
        .prev = tc_json_get_string(root, TC_LIT("prev")),
        .act = tc_json_get_string(root, TC_LIT("act")),
        .by = tc_json_get_string(root, TC_LIT("by")),
        .number_id = tc_json_get_string(root, TC_LIT("number_id")),
        .reason = tc_json_get_string(root, TC_LIT("reason")),
    };
    if (e.act.len == 0 || e.number_id.len == 0 || at.len == 0 ||
        tc_time_parse(at, 0, &e.at_ns) != at.len) {
        return tc_fail(err, TC_E_MALFORMED, 0, "an entry of the audit log has no act, id or time");
    }
    TC_TRY(tc_digest_sha256(text, &e.digest));
    *out_memory = NULL;
    TC_TRY(read_claim(root, &e, out_memory, err));
    *out = e;
    return TC_OK;
}

/* ---- the chain ---- */

static void break_at(struct tc_audit_chain *c, uint64_t line, const char *why)
{
    if (c->broken_at == 0) {
        c->broken_at = line;
        (void)snprintf(c->why, sizeof c->why, "line %llu %s", (unsigned long long)line, why);
    }
}

/* Whether it names the entry before it. */
static bool follows(const struct tc_audit_chain *c, const struct tc_audit_entry *e)
{
    struct tc_digest digest;
    return is_first(c) ? e->prev.len == 0
                       : tc_digest_parse_exact(e->prev, &digest) &&
                             memcmp(&digest, &c->head, sizeof digest) == 0;
}

static tc_status take_line(void *context, struct tc_slice json)
{
    struct reading *r = context;
    struct tc_audit_chain *c = r->chain;
    uint64_t line = ++r->lines + r->damaged;
    struct tc_audit_entry entry;
    char *memory = NULL;
    if (r->damaged > 0) {
        break_at(c, r->lines, "is damaged");
    }
    tc_status status = tc_audit_parse(r->parser, json, &entry, &memory, r->err);
    if (status == TC_E_MALFORMED) {
        break_at(c, line, "is no entry");
        return tc_digest_sha256(json, &c->head);
    }
    if (status != TC_OK) {
        return status;
    }
    if (!follows(c, &entry)) {
        break_at(c, line,
                 is_first(c) ? "is not the first that was written: lines before it are gone"
                             : "does not follow the one before it: one of them was changed, moved "
                               "or removed");
    }
    if (entry.seq != line) {
        break_at(c, line, "has the number of another one");
    }
    c->entries++;
    c->head = entry.digest;
    status = r->take == NULL ? TC_OK : r->take(r->context, &entry);
    free(memory);
    return status;
}

tc_status tc_audit_read(const char *data_dir, tc_audit_fn take, void *context,
                        struct tc_audit_chain *out, struct tc_error *err)
{
    *out = (struct tc_audit_chain){0};
    struct reading r = {.chain = out,
                        .parser = tc_json_parser_create(),
                        .take = take,
                        .context = context,
                        .err = err};
    if (r.parser == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to read the audit log");
    }
    tc_status status = tc_ledger_read(data_dir, TC_AUDIT_LEDGER, take_line, &r, &r.damaged, err);
    if (status == TC_OK && r.damaged > 0) {
        break_at(out, r.lines + 1, "is damaged");
    }
    tc_json_parser_destroy(r.parser);
    return status;
}

/* ---- writing ---- */

static void put_entry(struct tc_grow *g, const struct tc_audit_chain *c,
                      const struct tc_audit_entry *e)
{
    struct tc_json_out j = tc_json_object_grow(g);
    tc_json_put_u64(&j, "seq", e->seq);
    if (is_first(c)) {
        tc_json_put_null(&j, "prev");
    } else {
        tc_json_put_digest(&j, "prev", &c->head);
    }
    tc_json_put_str(&j, "act", e->act);
    tc_json_put_time(&j, "at", e->at_ns);
    tc_json_put_some(&j, "by", e->by);
    tc_json_put_str(&j, "number_id", e->number_id);
    tc_json_put_some(&j, "reason", e->reason);
    if (e->claim.len > 0) {
        tc_json_put_raw(&j, "claim", e->claim);
    }
    tc_json_end_object(&j);
}

tc_status tc_audit_need_whole(const struct tc_audit_chain *chain, struct tc_error *err)
{
    return chain->broken_at == 0
               ? TC_OK
               : tc_fail(err, TC_E_MALFORMED, 0,
                         "the audit log is broken: %s; put it back from a copy of "
                         "data_dir/ledger, for nothing can be claimed behind it",
                         chain->why);
}

tc_status tc_audit_append(const char *data_dir, struct tc_audit_chain *io_chain,
                          struct tc_audit_entry *io_entry, struct tc_error *err)
{
    struct tc_grow g = {0};
    struct tc_digest digest;
    TC_TRY(tc_audit_need_whole(io_chain, err));
    io_entry->seq = io_chain->entries + 1;
    put_entry(&g, io_chain, io_entry);
    tc_status status = g.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the audit log")
                       : g.buf.len > ENTRY_MAX
                           ? tc_fail(err, TC_E_LIMIT, 0, "the claim is too large for the audit log")
                           : tc_digest_sha256(tc_grow_slice(&g), &digest);
    if (status != TC_OK) {
        tc_grow_fini(&g);
        return status;
    }
    TC_TRY(tc_ledger_record(data_dir, TC_AUDIT_LEDGER, &g, err));
    io_chain->entries++;
    io_chain->head = digest;
    io_entry->digest = digest;
    return TC_OK;
}
