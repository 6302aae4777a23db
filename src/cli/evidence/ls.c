/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore evidence ls`: the stored batches and the files of runs, or the sealed objects. */
#include "base/format.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/data.h"
#include "cli/evidence/evidence.h"
#include "cli/output/say.h"
#include "cli/since.h"
#include "evidence/ship.h"

#include <unistd.h>

struct listing {
    struct tc_output out;
    bool json;
    int64_t since_ns;
    uint64_t bad;
};

static void take_bad(void *context, const char *line)
{
    struct listing *l = context;
    l->bad++;
    (void)tc_output_flush(&l->out);
    tc_say_plain("%s", line);
}

static void write_arrival(struct tc_buf *b, const struct tc_arg *arg)
{
    char text[TC_PUT_TIME_MAX];
    struct tc_buf t = tc_buf_make(text, sizeof text);
    tc_buf_time(&t, arg->integer);
    (void)tc_format(b, "{}", tc_as_padded(tc_buf_slice(&t), TC_PUT_TIME_MAX));
}

static struct tc_arg arrival(int64_t ns)
{
    return (struct tc_arg){.write = write_arrival, .integer = ns};
}

static tc_status batch_json(struct tc_output *out, const struct tc_batch_info *info)
{
    struct tc_json_out j = tc_output_object(out);
    tc_json_put_u64(&j, "number", info->number);
    tc_json_put_time(&j, "arrival", info->arrival_ns);
    tc_json_put_cstr(&j, "kind", tc_batch_kind_name(info->kind));
    tc_json_put_u64(&j, "bytes", info->body_bytes);
    tc_json_put_u64(&j, "disk_bytes", info->disk_bytes);
    if (info->cited) {
        tc_json_put_digest(&j, "digest", &info->digest);
    } else {
        tc_json_put_null(&j, "digest");
    }
    struct tc_slice name;
    struct tc_slice sender = tc_batch_sender(info->name, &name);
    tc_json_put_str(&j, "name", name);
    tc_json_put_str(&j, "sender", sender);
    return tc_json_end_line(&j) && out->error == 0 ? TC_OK : TC_E_IO;
}

static tc_status object_json(struct tc_output *out, const struct tc_object_info *info)
{
    struct tc_json_out j = tc_output_object(out);
    tc_json_put_digest(&j, "digest", &info->digest);
    tc_json_put_u64(&j, "first", info->first);
    tc_json_put_u64(&j, "last", info->last);
    tc_json_put_u64(&j, "batches", info->batches);
    tc_json_put_time(&j, "arrival_min", info->arrival_min_ns);
    tc_json_put_time(&j, "arrival_max", info->arrival_max_ns);
    tc_json_put_u64(&j, "bytes", info->body_bytes);
    tc_json_put_u64(&j, "disk_bytes", info->disk_bytes);
    tc_json_put_bool(&j, "remote", info->is_remote);
    return tc_json_end_line(&j) && out->error == 0 ? TC_OK : TC_E_IO;
}

static tc_status batch_text(struct tc_output *out, const struct tc_batch_info *info)
{
    struct tc_slice hints;
    struct tc_slice name = tc_slice_cut(info->name, '\n', &hints);
    bool good = tc_output_format(
        out, "{}  {} {} {} {}  {}{}\n", tc_as_right(info->number, 10), arrival(info->arrival_ns),
        tc_as_padded(tc_slice_cstr(tc_batch_kind_name(info->kind)), 16),
        tc_as_right(info->body_bytes, 11), tc_as_right(info->disk_bytes, 11),
        info->cited ? tc_as_digest(&info->digest) : tc_arg_cstr("-"),
        tc_when(name.len > 0, " {}", tc_as_printable(name)));
    return good ? TC_OK : TC_E_IO;
}

static tc_status take_batch(void *context, const struct tc_batch *batch,
                            const struct tc_batch_info *info)
{
    struct listing *l = context;
    (void)batch;
    if (info->arrival_ns < l->since_ns) {
        return TC_OK;
    }
    return l->json ? batch_json(&l->out, info) : batch_text(&l->out, info);
}

static tc_status object_text(struct tc_output *out, const struct tc_object_info *info)
{
    bool good = tc_output_format(out, "{} {}  {} {} {} {}  {}{}\n", tc_as_right(info->first, 10),
                                 tc_as_right(info->last, 10), arrival(info->arrival_min_ns),
                                 arrival(info->arrival_max_ns), tc_as_right(info->body_bytes, 13),
                                 tc_as_right(info->disk_bytes, 13), tc_as_digest(&info->digest),
                                 tc_arg_cstr(info->is_remote ? "  remote" : ""));
    return good ? TC_OK : TC_E_IO;
}

static tc_status take_object(void *context, const struct tc_object_info *info)
{
    struct listing *l = context;
    if (info->arrival_max_ns < l->since_ns) {
        return TC_OK;
    }
    return l->json ? object_json(&l->out, info) : object_text(&l->out, info);
}

static tc_status list(struct tc_evidence *e, const struct tc_evidence_args *args, struct listing *l,
                      struct tc_error *err)
{
    uint64_t from = 0;
    if (args->objects) {
        return tc_evidence_objects(e, take_object, take_bad, l, err);
    }
    if (args->since != NULL) {
        TC_TRY(tc_evidence_replay_from(e, l->since_ns, 0, &from, err));
        TC_TRY(tc_evidence_remote_from(e, l->since_ns, &from, err));
    }
    return tc_evidence_walk(e, from, false, take_batch, take_bad, l, err);
}

/* The daemon's store, which need not be there when there are files of runs. */
static int list_store(const char *dir, const struct tc_evidence_args *args, struct listing *l,
                      bool may_miss)
{
    char path[TC_DATA_PATH_BYTES + 16];
    struct tc_error err = {0};
    struct tc_evidence *e = NULL;
    (void)snprintf(path, sizeof path, "%s/evidence", dir);
    tc_status status = tc_evidence_open_all(path, args->local, &e, &err);
    if (status == TC_E_NOTFOUND && may_miss) {
        return TC_EXIT_OK;
    }
    if (status == TC_OK) {
        status = list(e, args, l, &err);
        tc_evidence_close(e);
    }
    if (status != TC_OK && l->out.error == 0) {
        (void)tc_output_flush(&l->out);
        tc_say("evidence", "%s%s", err.message,
               status == TC_E_NOTFOUND ? "; --data-dir names the daemon's data_dir" : "");
        return TC_EXIT_BAD;
    }
    return l->bad > 0 ? TC_EXIT_FOUND : TC_EXIT_OK;
}

int tc_evidence_ls(const struct tc_evidence_args *args)
{
    static struct listing l;
    l = (struct listing){.json = args->json, .since_ns = INT64_MIN};
    if (args->since != NULL && !tc_since_parse(args->since, &l.since_ns)) {
        return tc_command_refuse(
            &tc_command_evidence,
            "--since takes a time such as 2026-11-15T03:00:00Z or how long ago, such as 15m or "
            "2h, not \"%s\"",
            args->since);
    }
    char dir[TC_DATA_PATH_BYTES];
    if (!tc_data_dir_of("evidence", args->data_dir, dir)) {
        return TC_EXIT_BAD;
    }
    tc_output_init(&l.out, STDOUT_FILENO);
    bool any_files = false;
    int files = TC_EXIT_OK;
    if (!args->objects) {
        files = tc_evidence_ls_files(&l.out, dir, l.since_ns, args->json, &any_files);
    }
    int store = list_store(dir, args, &l, any_files);
    return tc_output_end(&l.out, "evidence", store > files ? store : files);
}
