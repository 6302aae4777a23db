/* SPDX-License-Identifier: Apache-2.0 */
#include "result/mllog/priv.h"

#include "base/json/raw.h"
#include "base/time.h"
#include "result/result_priv.h"

#include <math.h>

#define S(literal) TC_LIT(literal)

#define NS_PER_MS 1000000
#define FRACTION_DIGITS 9

enum spelling { MLLOG, MLL, MLP, SPELLINGS };

static const struct tc_slice MARKS[SPELLINGS] = {
    [MLLOG] = {":::MLLOG", 8}, [MLL] = {":::MLL ", 7}, [MLP] = {":::MLPv0.5", 10}};

/* Keys of 0.5 that have another name since. */
static const struct {
    const char *old;
    const char *now;
} KEYS[] = {
    {"run_clear_caches", "cache_clear"},
    {"input_batch_size", "global_batch_size"},
    {"eval_target", "quality_target"},
};

bool tc__mllog_has_mark(struct tc_slice text)
{
    for (size_t i = 0; i < SPELLINGS; i++) {
        if (tc_slice_contains(text, MARKS[i])) {
            return true;
        }
    }
    return false;
}

struct tc__mllog_events tc__mllog_events_of(const struct tc_result_input *in)
{
    return (struct tc__mllog_events){.in = in, .lines = tc__lines_of(in->bytes), .rank = -1};
}

/* Behind the first mark of the text. */
static bool after_mark(struct tc_slice text, enum spelling *out_spelling, struct tc_slice *out)
{
    struct tc_slice rest = text;
    while (tc__text_after(rest, S(":::ML"), &rest)) {
        struct tc_slice from = tc_slice_from(text, (size_t)(rest.ptr - text.ptr) - S(":::ML").len);
        for (size_t i = 0; i < SPELLINGS; i++) {
            if (tc_slice_starts(from, MARKS[i])) {
                *out_spelling = (enum spelling)i;
                *out = tc_slice_from(from, MARKS[i].len);
                return true;
            }
        }
    }
    return false;
}

static bool parse(struct tc__mllog_events *m, struct tc_slice text, struct tc_json *out)
{
    tc_status status = tc__result_parse_loose(m->in->parser, text, out, NULL);
    m->no_memory = m->no_memory || status == TC_E_NOMEM;
    return status == TC_OK;
}

/* Seconds with a fraction. */
static bool parse_seconds(struct tc_slice word, int64_t *out_ns)
{
    uint64_t seconds = 0;
    size_t at = tc_slice_u64(word, &seconds);
    if (at == 0 || seconds > (uint64_t)(TC_TIME_MAX / TC_SECOND) - 1) {
        return false;
    }
    int64_t ns = 0;
    int64_t unit = TC_SECOND;
    if (at < word.len && word.ptr[at] == '.') {
        size_t first = ++at;
        for (; at < word.len && tc_is_digit(word.ptr[at]); at++) {
            if (at - first < FRACTION_DIGITS) {
                unit /= 10;
                ns += (word.ptr[at] - '0') * unit;
            }
        }
    }
    *out_ns = (int64_t)seconds * TC_SECOND + ns;
    return at == word.len;
}

/* ---- one event; NULL, or what is wrong with it ---- */

static void take_members(struct tc_json root, struct tc__mllog_event *e)
{
    e->value = root;
    e->metadata = root;
    (void)tc_json_get(root, S("value"), &e->value);
    (void)tc_json_get(root, S("metadata"), &e->metadata);
}

static const char *read_mllog(struct tc__mllog_events *m, struct tc_slice text,
                              struct tc__mllog_event *e)
{
    struct tc_json root;
    double ms = 0;
    if (!parse(m, text, &root)) {
        return "no JSON behind :::MLLOG";
    }
    e->key = tc_map_string_at(root, "key");
    take_members(root, e);
    if (e->key.len == 0) {
        return "key: a name is needed";
    }
    if (!tc_map_number_at(root, "time_ms", &ms) || ms < 0 ||
        ms > (double)(TC_TIME_MAX / NS_PER_MS - 1)) {
        return "time_ms: milliseconds since 1970 are needed";
    }
    double whole = floor(ms);
    e->ns = (int64_t)whole * NS_PER_MS + (int64_t)((ms - whole) * NS_PER_MS);
    return NULL;
}

/* "1560192582.453 key: {"value": ..., "metadata": ...}" */
static const char *read_mll(struct tc__mllog_events *m, struct tc_slice text, size_t *out_used,
                            struct tc__mllog_event *e)
{
    struct tc_slice rest = text;
    struct tc_json root;
    struct tc_slice object;
    size_t at = 0;
    if (!parse_seconds(tc__word_next(&rest), &e->ns)) {
        return "seconds since 1970 are needed behind :::MLL";
    }
    e->key = tc__word_next(&rest);
    if (e->key.len < 2 || e->key.ptr[e->key.len - 1] != ':') {
        return "key: a name is needed";
    }
    e->key.len--;
    if (!tc_json_raw_value(rest, &at, &object) || !parse(m, object, &root)) {
        return "no JSON behind the key";
    }
    *out_used = (size_t)(rest.ptr - text.ptr) + at;
    take_members(root, e);
    return NULL;
}

/* ".0 resnet 1544221688.657524109 (resnet_main.py:568) key[: value]". A path may have blanks. */
static const char *read_mlp(struct tc__mllog_events *m, struct tc_slice text, size_t *out_used,
                            struct tc__mllog_event *e)
{
    struct tc_slice rest = text;
    size_t at = 0;
    (void)tc__word_next(&rest);
    e->benchmark = tc__word_next(&rest);
    if (!parse_seconds(tc__word_next(&rest), &e->ns)) {
        return "seconds since 1970 are needed behind the benchmark";
    }
    if (!tc__text_after(rest, S(") "), &rest)) {
        return "a place (FILE:LINE) is needed behind the time";
    }
    e->key = tc__word_next(&rest);
    bool has_value = e->key.len > 1 && e->key.ptr[e->key.len - 1] == ':';
    e->key.len -= has_value;
    if (e->key.len == 0) {
        return "key: a name is needed";
    }
    size_t old = tc_slice_row(e->key, KEYS, old);
    e->key = old < TC_COUNT(KEYS) ? tc_slice_cstr(KEYS[old].now) : e->key;
    struct tc_slice value = S("null");
    struct tc_json root;
    if (has_value && !tc_json_raw_value(rest, &at, &value)) {
        return "no JSON behind the key";
    }
    *out_used = (size_t)(rest.ptr - text.ptr) + at;
    /* Some tell a text without quotes: such a value is not known. */
    if (!parse(m, value, &root) && !parse(m, S("null"), &root)) {
        return "no JSON behind the key";
    }
    e->value = root;
    e->metadata = root;
    (void)tc_json_get(root, S("value"), &e->value);
    return NULL;
}

/* ---- all of them ---- */

static bool was_told(struct tc__mllog_events *m, struct tc_slice text)
{
    uint64_t hash = tc_slice_hash(text, 0);
    size_t known = m->told < TC__MLLOG_RECENT ? m->told : TC__MLLOG_RECENT;
    for (size_t i = 0; i < known; i++) {
        if (m->recent[i] == hash) {
            return true;
        }
    }
    m->recent[m->told++ % TC__MLLOG_RECENT] = hash;
    return false;
}

static void on_broken(struct tc__mllog_events *m, const char *what)
{
    if (m->lines.rest.len == 0) {
        m->cut_line = m->lines.line;
        return;
    }
    if (m->broken++ == 0) {
        m->broken_line = m->lines.line;
        m->broken_what = what;
    }
}

/* The event at the start of `text`, behind a mark. False: none, or one that was told. */
static bool take(struct tc__mllog_events *m, enum spelling spelling, struct tc_slice text,
                 struct tc__mllog_event *out)
{
    struct tc__mllog_event e = {.rank = m->rank, .line = m->lines.line};
    struct tc_slice object = text;
    const char *wrong = NULL;
    size_t used = 0;
    m->rest = text;
    if (spelling == MLLOG) {
        struct tc_slice word = tc_slice_trim(text);
        if (word.len > 0 ? word.ptr[0] != '{' : m->lines.rest.len > 0) {
            return false; /* of a shell or a text about such logs */
        }
        wrong = tc_json_raw_value(text, &used, &object) ? read_mllog(m, object, &e)
                                                        : "no JSON behind :::MLLOG";
    } else {
        wrong = spelling == MLL ? read_mll(m, text, &used, &e) : read_mlp(m, text, &used, &e);
        object = tc_slice_head(text, used);
    }
    if (wrong != NULL) {
        on_broken(m, wrong);
        return false;
    }
    m->rest = tc_slice_from(text, used);
    if (m->rank < 0 && was_told(m, object)) {
        return false;
    }
    *out = e;
    return true;
}

tc_status tc__mllog_next(struct tc__mllog_events *m, struct tc__mllog_event *out,
                         struct tc_error *err)
{
    for (;;) {
        enum spelling spelling = MLLOG;
        struct tc_slice text;
        if (after_mark(m->rest, &spelling, &text)) {
            if (take(m, spelling, text, out)) {
                return TC_OK;
            }
            if (m->no_memory) {
                return tc_fail(err, TC_E_NOMEM, 0, "line %zu: no memory", m->lines.line);
            }
            continue;
        }
        struct tc_slice line;
        if (!tc__lines_next(&m->lines, &line)) {
            break;
        }
        (void)tc__line_bare(line, &m->rank);
        m->rest = line;
    }
    return TC_E_NOTFOUND;
}
