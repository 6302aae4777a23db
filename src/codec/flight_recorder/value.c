/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed access to the values of a dump, whichever format they came in. A missing
 * or null field leaves the result as it was; a field of another type is an error
 * that names it.
 */
#include "codec/flight_recorder/priv.h"

tc_status tc__fr_charge(struct tc__fr_doc *doc, uint64_t bytes, size_t offset)
{
    if (bytes > doc->work_left) {
        doc->work_left = 0;
        return tc_fail(doc->err, TC_E_LIMIT, offset,
                       "the dump refers to the same objects too often, last at byte %zu", offset);
    }
    doc->work_left -= bytes;
    return TC_OK;
}

tc_status tc__fr_scratch_full(struct tc__fr_doc *doc, size_t offset)
{
    return tc_fail(doc->err, TC_E_LIMIT, offset,
                   "the dump needs more than %zu bytes of working memory, at byte %zu",
                   doc->scratch->size, offset);
}

tc_status tc__fr_wrong_type(struct tc__fr_reader *r, const struct tc__fr_value *v,
                            const char *field, const char *wanted)
{
    static const char *const names[] = {
        [TC__FR_UNSET] = "missing",     [TC__FR_MARK] = "a mark",
        [TC__FR_NONE] = "None",         [TC__FR_BOOL] = "a boolean",
        [TC__FR_INT] = "an integer",    [TC__FR_NUMBER] = "a number that is no 64-bit integer",
        [TC__FR_STRING] = "a string",   [TC__FR_BYTES] = "bytes",
        [TC__FR_LIST] = "a list",       [TC__FR_TUPLE] = "a tuple",
        [TC__FR_DICT] = "a dictionary",
    };
    return tc_fail(r->doc->err, TC_E_MALFORMED, v->start, "%s at byte %u is %s, not %s", field,
                   v->start, names[v->type], wanted);
}

size_t tc__fr_count(struct tc__fr_reader *r, const struct tc__fr_value *v)
{
    return r->doc->parser == NULL ? v->count : tc__fr_json_items(r->doc, v, NULL);
}

/* The items of a container, in scratch. */
tc_status tc__fr_items(struct tc__fr_reader *r, const struct tc__fr_value *v,
                       struct tc__fr_value **out_items, size_t *out_count)
{
    TC_TRY(tc__fr_charge(r->doc, v->end - v->at, v->start));
    size_t count = tc__fr_count(r, v);
    struct tc__fr_value *items = tc_new(r->doc->scratch, struct tc__fr_value, count);
    if (items == NULL) {
        return tc__fr_scratch_full(r->doc, v->start);
    }
    if (r->doc->parser == NULL) {
        tc__fr_pickle_items(r->doc, v, items);
    } else {
        (void)tc__fr_json_items(r->doc, v, items);
    }
    *out_items = items;
    *out_count = count;
    return TC_OK;
}

/* The text of a STRING; `arena` is used only when it has to be made. */
tc_status tc__fr_text(struct tc__fr_reader *r, const struct tc__fr_value *v, struct tc_arena *arena,
                      struct tc_slice *out)
{
    TC_TRY(tc__fr_charge(r->doc, v->end - v->at, v->start));
    if (v->escaped) {
        return tc__fr_json_unescape(r->doc, v, arena, out);
    }
    *out = tc_slice_make(r->doc->bytes.ptr + v->at, v->end - v->at);
    return TC_OK;
}

/* A field that is not there leaves *out as it is, in all of these. */
tc_status tc__fr_get_string(struct tc__fr_reader *r, const struct tc__fr_value *v,
                            const char *field, struct tc_slice *out)
{
    if (tc__fr_is_absent(v)) {
        return TC_OK;
    }
    if (v->type != TC__FR_STRING) {
        return tc__fr_wrong_type(r, v, field, "a string");
    }
    return tc__fr_text(r, v, r->arena, out);
}

tc_status tc__fr_get_int(struct tc__fr_reader *r, const struct tc__fr_value *v, const char *field,
                         int64_t *out)
{
    if (tc__fr_is_absent(v)) {
        return TC_OK;
    }
    if (v->type != TC__FR_INT) {
        return tc__fr_wrong_type(r, v, field, "an integer");
    }
    *out = v->integer;
    return TC_OK;
}

/* The JSON variant writes the integers of pg_status as strings. */
tc_status tc__fr_get_int_text(struct tc__fr_reader *r, const struct tc__fr_value *v,
                              const char *field, int64_t *out)
{
    struct tc_slice text = TC_EMPTY;
    if (v->type != TC__FR_STRING) {
        return tc__fr_get_int(r, v, field, out);
    }
    TC_TRY(tc__fr_text(r, v, r->doc->scratch, &text));
    return tc_slice_is_i64(text, out) ? TC_OK : tc__fr_wrong_type(r, v, field, "an integer");
}

tc_status tc__fr_get_bool(struct tc__fr_reader *r, const struct tc__fr_value *v, const char *field,
                          bool *out)
{
    if (tc__fr_is_absent(v)) {
        return TC_OK;
    }
    if (v->type != TC__FR_BOOL) {
        return tc__fr_wrong_type(r, v, field, "a boolean");
    }
    *out = v->integer != 0;
    return TC_OK;
}

/* A time; the JSON variant writes 0 for one that is not set. */
tc_status tc__fr_get_time(struct tc__fr_reader *r, const struct tc__fr_value *v, const char *field,
                          int64_t *out)
{
    int64_t ns = 0;
    TC_TRY(tc__fr_get_int(r, v, field, &ns));
    if (ns < 0) {
        return tc_fail(r->doc->err, TC_E_MALFORMED, v->start, "%s at byte %u is negative", field,
                       v->start);
    }
    *out = ns == 0 ? TC_TIME_NONE : ns;
    return TC_OK;
}

/* The members of a dict that have one of the names; the others are UNSET. */
tc_status tc__fr_gather(struct tc__fr_reader *r, const struct tc__fr_value *dict,
                        const struct tc_slice *names, struct tc__fr_value *fields,
                        size_t field_count)
{
    tc_arena_mark mark = tc_arena_snapshot(r->doc->scratch);
    struct tc__fr_value *items = NULL;
    size_t count = 0;
    memset(fields, 0, field_count * sizeof *fields);
    TC_TRY(tc__fr_items(r, dict, &items, &count));
    /* Producers write the keys in one order: look behind the last hit first. */
    size_t next = 0;
    for (size_t i = 0; i + 1 < count; i += 2) {
        struct tc_slice key = TC_EMPTY;
        if (items[i].type != TC__FR_STRING) {
            continue;
        }
        TC_TRY(tc__fr_text(r, &items[i], r->doc->scratch, &key));
        for (size_t n = 0; n < field_count; n++) {
            size_t field = (next + n) % field_count;
            if (tc_slice_eq(key, names[field])) {
                fields[field] = items[i + 1];
                next = field + 1;
                break;
            }
        }
    }
    tc_arena_rewind(r->doc->scratch, mark);
    return TC_OK;
}
