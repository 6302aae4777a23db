/* SPDX-License-Identifier: Apache-2.0 */
#include "stored/batch_name.h"

#include "base/time.h"

#include <string.h>

/* One "key=value" line. */
static tc_status read_hint(struct tc_batch_said *s, struct tc_slice line, struct tc_error *err)
{
    const struct {
        const char *key;
        struct tc_slice *to;
    } keys[] = {
        {"node", &s->node},     {"job", &s->job},       {"boot_time", &s->boot_time},
        {"now", &s->now},       {"tz", &s->tz},         {"format", &s->format},
        {"source", &s->source}, {"stream", &s->stream}, {"position", &s->position},
        {"taken", &s->taken},   {"sender", &s->sender},
    };
    struct tc_slice value;
    struct tc_slice key = tc_slice_cut(line, '=', &value);
    size_t i = tc_slice_row(key, keys, key);
    if (i < TC_COUNT(keys)) {
        *keys[i].to = value;
        return TC_OK;
    }
    return tc_fail(err, TC_E_USAGE, 0,
                   "\"%.*s\" is no hint; there are: node, job, boot_time, now, tz, format",
                   TC_FMT(key));
}

tc_status tc_batch_name_read(struct tc_slice name, struct tc_batch_said *out, struct tc_error *err)
{
    struct tc_slice rest;
    struct tc_slice path = tc_slice_cut(name, '\n', &rest);
    *out = (struct tc_batch_said){0};
    if (path.len > TC_UPLOAD_NAME_MAX) {
        return tc_fail(err, TC_E_USAGE, 0, "the name has more than %d bytes", TC_UPLOAD_NAME_MAX);
    }
    if (path.len > 0) {
        memcpy(out->path, path.ptr, path.len);
    }
    while (rest.len > 0) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        TC_TRY(read_hint(out, line, err));
    }
    return TC_OK;
}

int64_t tc_batch_taken(const struct tc_batch *batch)
{
    size_t at = tc_slice_find(batch->name, TC_LIT(TC_BATCH_TAKEN));
    struct tc_slice rest;
    int64_t taken_ns = 0;
    if (at == TC_NPOS) {
        return batch->arrival_ns;
    }
    struct tc_slice text =
        tc_slice_cut(tc_slice_from(batch->name, at + sizeof TC_BATCH_TAKEN - 1), '\n', &rest);
    return text.len > 0 && tc_time_parse(text, 0, &taken_ns) == text.len ? taken_ns
                                                                         : batch->arrival_ns;
}

/* Whether a source found what it holds, and all that the name says. */
static bool read_of_source(struct tc_slice name, struct tc_batch_said *out)
{
    struct tc_error err;
    return tc_batch_name_read(name, out, &err) == TC_OK && out->source.len > 0;
}

bool tc_batch_is_found(struct tc_slice name)
{
    struct tc_batch_said said;
    return read_of_source(name, &said);
}

bool tc_batch_is_scrape(struct tc_slice name)
{
    struct tc_batch_said said;
    return read_of_source(name, &said) && tc_slice_eq(said.format, TC_LIT("prometheus"));
}
