/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore evidence verify`: is everything what was written? */
#include "cli/command.h"
#include "cli/evidence.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "evidence/verify.h"

#include <unistd.h>

#define LINE_BYTES 32768

struct report {
    struct tc_output out;
    struct tc_progress progress;
    bool json;
};

static void begin(void *context, size_t files, uint64_t bytes)
{
    struct report *r = context;
    tc_progress_init(&r->progress, true, files, bytes);
}

static void advance(void *context, uint64_t bytes, size_t files)
{
    struct report *r = context;
    tc_progress_add(&r->progress, bytes, files);
}

static void tell(struct report *r, const struct tc_verify_finding *f, bool is_damage)
{
    char line[LINE_BYTES];
    struct tc_buf b = tc_buf_make(line, sizeof line);
    if (r->json) {
        tc_buf_lit(&b, "{\"damage\":");
        tc_buf_str(&b, is_damage ? TC_LIT("true") : TC_LIT("false"));
        tc_buf_lit(&b, ",\"path\":");
        tc_buf_json(&b, tc_slice_cstr(f->path));
        tc_buf_lit(&b, ",\"offset\":");
        tc_buf_u64(&b, f->offset);
        tc_buf_lit(&b, ",\"batch\":");
        if (f->number > 0) {
            tc_buf_u64(&b, f->number);
        } else {
            tc_buf_lit(&b, "null");
        }
        tc_buf_lit(&b, ",\"text\":");
        tc_buf_json(&b, tc_slice_cstr(f->text));
        tc_buf_lit(&b, "}\n");
    } else {
        tc_buf_str(&b, is_damage ? TC_LIT("damaged: ") : TC_LIT("note: "));
        tc_buf_printable(&b, tc_slice_cstr(f->path));
        tc_buf_lit(&b, ": offset ");
        tc_buf_u64(&b, f->offset);
        if (f->number > 0) {
            tc_buf_lit(&b, ": batch ");
            tc_buf_u64(&b, f->number);
        }
        tc_buf_lit(&b, ": ");
        tc_buf_printable(&b, tc_slice_cstr(f->text));
        tc_buf_char(&b, '\n');
    }
    tc_progress_clear(&r->progress);
    (void)tc_output_put(&r->out, tc_buf_slice(&b));
    (void)tc_output_flush(&r->out);
}

static void take_damage(void *context, const struct tc_verify_finding *f)
{
    tell(context, f, true);
}

static void take_note(void *context, const struct tc_verify_finding *f)
{
    tell(context, f, false);
}

static void put_count(struct tc_buf *b, struct tc_slice before, uint64_t count)
{
    tc_buf_str(b, before);
    tc_buf_u64(b, count);
}

static void put_counted(struct tc_buf *b, uint64_t count, const char *one, const char *many)
{
    tc_buf_u64(b, count);
    tc_buf_char(b, ' ');
    tc_buf_str(b, tc_slice_cstr(count == 1 ? one : many));
}

static void sum_up(struct report *r, const struct tc_verify_result *sum)
{
    char line[1024];
    struct tc_buf b = tc_buf_make(line, sizeof line);
    if (r->json) {
        put_count(&b, TC_LIT("{\"summary\":true,\"objects\":"), sum->objects);
        put_count(&b, TC_LIT(",\"segments\":"), sum->segments);
        put_count(&b, TC_LIT(",\"batches\":"), sum->batches);
        put_count(&b, TC_LIT(",\"bytes\":"), sum->bytes);
        put_count(&b, TC_LIT(",\"citations\":"), sum->citations);
        put_count(&b, TC_LIT(",\"citations_gone\":"), sum->citations_gone);
        put_count(&b, TC_LIT(",\"set_aside\":"), sum->set_aside);
        put_count(&b, TC_LIT(",\"torn_bytes\":"), sum->torn_bytes);
        put_count(&b, TC_LIT(",\"damaged\":"), sum->damaged);
        tc_buf_lit(&b, "}\n");
    } else {
        put_counted(&b, sum->objects, "object, ", "objects, ");
        put_counted(&b, sum->segments, "open segment, ", "open segments, ");
        put_counted(&b, sum->batches, "batch, ", "batches, ");
        put_counted(&b, sum->citations, "citation: ", "citations: ");
        if (sum->damaged == 0) {
            tc_buf_lit(&b, "no damage\n");
        } else {
            put_counted(&b, sum->damaged, "is damaged\n", "are damaged\n");
        }
    }
    (void)tc_output_put(&r->out, tc_buf_slice(&b));
}

int tc_evidence_check(const struct tc_evidence_args *args)
{
    struct report r = {.json = args->json};
    struct tc_verify_sink sink = {
        .context = &r,
        .begin = begin,
        .advance = advance,
        .damage = take_damage,
        .note = take_note,
    };
    struct tc_verify_result sum;
    struct tc_error err;
    struct tc_evidence *e = tc_evidence_of(args);
    if (e == NULL) {
        return TC_EXIT_BAD;
    }
    tc_output_init(&r.out, STDOUT_FILENO);
    tc_status status = tc_evidence_verify(e, &sink, &sum, &err);
    tc_evidence_close(e);
    tc_progress_clear(&r.progress);
    if (status != TC_OK) {
        (void)tc_output_flush(&r.out);
        tc_say("evidence", "%s", err.message);
        return TC_EXIT_BAD;
    }
    sum_up(&r, &sum);
    return tc_output_end(&r.out, "evidence", sum.damaged > 0 ? TC_EXIT_FOUND : TC_EXIT_OK);
}
