/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "codec/codec.h"
#include "result/map_serving.h"
#include "result/result_priv.h"

#include <string.h>

static const struct tc_reader *const READERS[] = {
#define READER(id) &tc_reader_##id,
#include "result/readers.def"
#undef READER
};

#define READER_COUNT TC_COUNT(READERS)

const struct tc_reader *const *tc_readers(size_t *out_count)
{
    *out_count = READER_COUNT;
    return READERS;
}

const struct tc_reader *tc_reader_by_name(struct tc_slice name)
{
    for (size_t i = 0; i < READER_COUNT; i++) {
        if (tc_slice_eq(name, tc_slice_cstr(READERS[i]->name))) {
            return READERS[i];
        }
    }
    return NULL;
}

const struct tc_reader *tc_result_facts_reader(struct tc_slice head)
{
    static const struct {
        const struct tc_reader *reader;
        const char *words[2]; /* both are in it */
    } known[] = {
        {&tc_reader_probe, {"\"tracecore_probe\"", "{"}},
        {&tc_reader_kubernetes, {"apiVersion", "kind"}},
        {&tc_reader_slurm, {"JobId=", "JobName="}},
        {&tc_reader_slurm, {"\"jobs\"", "lurm"}},
        {&tc_reader_slurm, {"\nClusterName ", "Slurm"}},
        {&tc_reader_slurm, {"SLURM_JOB_ID=", ""}},
    };
    for (size_t i = 0; i < TC_COUNT(known); i++) {
        if (tc_slice_contains(head, tc_slice_cstr(known[i].words[0])) &&
            tc_slice_contains(head, tc_slice_cstr(known[i].words[1]))) {
            return known[i].reader;
        }
    }
    return NULL;
}

static int score_of(const struct tc_reader *reader, const struct tc_result_input *in)
{
    if (in->form == TC_RESULT_TEXT) {
        return reader->sniff(in);
    }
    bool is_list = tc_json_type(in->root) == TC_JSON_ARRAY;
    for (const struct tc_recognition *k = reader->keys; k->keys != NULL; k++) {
        if ((k->of != TC_OF_LIST || is_list) &&
            tc_map_has(k->of == TC_OF_FILE ? in->root : tc_result_first(in), k->keys)) {
            return k->score;
        }
    }
    return TC_SNIFF_NO;
}

static const struct tc_reader *recognise(const struct tc_result_input *in)
{
    const struct tc_reader *best = NULL;
    int best_score = TC_SNIFF_NO;
    for (size_t i = 0; i < READER_COUNT; i++) {
        if ((READERS[i]->forms & 1u << in->form) == 0) {
            continue;
        }
        int score = score_of(READERS[i], in);
        if (score > best_score) {
            best = READERS[i];
            best_score = score;
        }
    }
    return best;
}

static tc_status say_unknown(const struct tc_result_parsed *p, struct tc_error *err)
{
    /* What begins with a brace is JSON; a text that is no YAML need not be meant as such. */
    if (p->json_error.status != TC_OK && p->tried_yaml) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "text that no reader knows, and no YAML (%.120s); --format NAME chooses a "
                       "reader",
                       p->json_error.message);
    }
    if (p->json_error.status != TC_OK) {
        *err = p->json_error;
        return err->status;
    }
    char data[TC_ERROR_MESSAGE_MAX];
    struct tc_buf names = tc_buf_make(data, sizeof data);
    for (size_t i = 0; i < READER_COUNT; i++) {
        if ((READERS[i]->forms & 1u << p->in.form) != 0 && !READERS[i]->only_facts) {
            tc_buf_str(&names, names.len > 0 ? TC_LIT(", ") : TC_EMPTY);
            tc_buf_str(&names, tc_slice_cstr(READERS[i]->name));
        }
    }
    static const char *const FORMS[] = {"text", "JSON", "JSON lines"};
    return tc_fail(err, TC_E_UNSUPPORTED, 0, "%s that no reader knows; --format: %.*s",
                   p->in.was_yaml ? "YAML" : FORMS[p->in.form], TC_FMT(tc_buf_slice(&names)));
}

/* The reader to use: the one that was asked for, if it takes such a form, or the one that knows
 * the content. */
static tc_status choose(struct tc_result_parsed *p, const struct tc_reader *asked,
                        const struct tc_reader **out, struct tc_error *err)
{
    if (asked == NULL) {
        *out = recognise(&p->in);
        if (*out == NULL && p->in.was_yaml) {
            tc__result_as_text(p);
            *out = recognise(&p->in);
        }
        return *out == NULL ? say_unknown(p, err) : TC_OK;
    }
    if ((asked->forms & 1u << p->in.form) == 0 && p->in.was_yaml) {
        tc__result_as_text(p);
    }
    if ((asked->forms & 1u << p->in.form) == 0) {
        if (p->json_error.status != TC_OK) {
            *err = p->json_error;
            return err->status;
        }
        return tc_fail(err, TC_E_MALFORMED, 0, "%s reads no file of this form (%s)", asked->name,
                       p->in.form == TC_RESULT_TEXT ? "text" : "JSON");
    }
    *out = asked;
    return TC_OK;
}

/* What every row of the file has. */
static void finish_rows(struct tc_result *r)
{
    for (size_t i = 0; i < r->row_count; i++) {
        struct tc_result_row *row = r->rows[i];
        size_t version = tc_result_columns(row->table)->version;
        if (version != 0 && !tc_result_known(row, version)) {
            tc_result_text(row, version, r->version);
        }
    }
}

static tc_status read_rows(struct tc_result_parsed *p, struct tc_result *r, struct tc_error *err)
{
    tc_status status = r->reader->read_run != NULL ? tc_serving_read(&p->in, r, err)
                                                   : r->reader->read(&p->in, r, err);
    if (status == TC_OK) {
        tc__result_end_requests(r);
        status = tc_result_status(r, err);
    }
    return status;
}

static tc_status read_with(struct tc_result_parsed *p, struct tc_result *r, struct tc_error *err)
{
    tc_status status = read_rows(p, r, err);
    if (status == TC_OK && r->row_count == 0 && !r->reader->only_facts) {
        status = tc_fail(err, TC_E_MALFORMED, 0, "a file of %s without a result", r->reader->name);
    }
    if (status != TC_OK) {
        return status;
    }
    tc__result_note_nan(p, r);
    TC_TRY(tc__result_note_twice(p, r, err));
    finish_rows(r);
    TC_TRY(tc__result_join_slices(r, err));
    tc__result_check(r);
    return tc_result_status(r, err);
}

tc_status tc_result_read_requests(struct tc_slice name, struct tc_slice bytes,
                                  const struct tc_reader *reader, tc_requests_fn take,
                                  void *context, struct tc_error *err)
{
    struct tc_error own = {.status = TC_OK};
    struct tc_result_parsed p;
    const struct tc_reader *chosen = NULL;
    TC_TRY(tc__result_parse(name, bytes, &p, err));
    tc_status status = choose(&p, reader, &chosen, err);
    struct tc_result *r = status == TC_OK ? tc__result_create(chosen) : NULL;
    if (status == TC_OK && r == NULL) {
        status = tc_fail(err, TC_E_NOMEM, 0, "no memory for a result");
    } else if (status == TC_OK) {
        r->take = take;
        r->take_context = context;
        r->take_err = &own;
        status = read_rows(&p, r, err);
    }
    if (own.status != TC_OK) { /* the sink's words say more than ours */
        *err = own;
        status = own.status;
    }
    tc__result_parsed_fini(&p);
    tc_result_destroy(r);
    return status;
}

tc_status tc_result_read(struct tc_slice name, struct tc_slice bytes,
                         const struct tc_reader *reader, struct tc_result **out_result,
                         struct tc_error *err)
{
    struct tc_error local = {.status = TC_OK};
    err = err == NULL ? &local : err;
    struct tc_result_parsed p;
    TC_TRY(tc__result_parse(name, bytes, &p, err));
    const struct tc_reader *chosen = NULL;
    tc_status status = choose(&p, reader, &chosen, err);
    struct tc_result *r = NULL;
    if (status == TC_OK) {
        r = tc__result_create(chosen);
        status = r == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory for a result")
                           : read_with(&p, r, err);
    }
    tc__result_parsed_fini(&p);
    if (status != TC_OK) {
        tc_result_destroy(r);
        return status;
    }
    *out_result = r;
    return TC_OK;
}
