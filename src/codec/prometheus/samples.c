/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every sample of Prometheus text 0.0.4 or OpenMetrics. TYPE lines say what a metric is; most
 * stand before its samples, but excerpts and merged files have them anywhere above. Scrapes
 * that follow each other in one file without times are told apart as for the events
 * (scrape.c).
 */
#include "base/limits.h"
#include "base/table/map.h"
#include "base/time.h"
#include "codec/prometheus/priv.h"
#include "codec/samples_priv.h"

/* Metrics of one input whose type is remembered; of more only the last one said counts. */
#define TYPES_MAX 8192
/* Lines of which the first bad one is looked for. */
#define BAD_LINES 400

enum family_type { F_UNKNOWN, F_GAUGE, F_COUNTER, F_HISTOGRAM, F_GAUGE_HISTOGRAM, F_SUMMARY };

struct type_row {
    struct tc_slice metric;
    struct tc_slice unit;
    enum family_type type;
};

struct walk {
    struct tc__samples *s;
    struct tc_slice bytes;
    struct tc__prom_clock clock;
    /* Types by name; rows[count] as they came. No memory: has_types is false. */
    struct tc_map types;
    struct type_row *rows;
    size_t row_count;
    bool has_types;
    struct type_row last; /* of the last TYPE line */
    /* The last sample's name, and what it is: samples of one metric follow each other. */
    struct tc_slice name;
    enum tc_sample_type type;
    struct tc_slice unit;
    struct tc_sample_label labels[TC__PROM_LABELS_MAX];
};

static enum family_type type_of_word(struct tc_slice word)
{
    static const struct {
        const char *word;
        enum family_type type;
    } words[] = {
        {"counter", F_COUNTER},     {"gauge", F_GAUGE},
        {"histogram", F_HISTOGRAM}, {"gaugehistogram", F_GAUGE_HISTOGRAM},
        {"summary", F_SUMMARY},     {"info", F_GAUGE},
        {"stateset", F_GAUGE},
    };
    size_t i = tc_slice_row(word, words, word);
    return i < TC_COUNT(words) ? words[i].type : F_UNKNOWN;
}

static struct type_row *find_type(const struct walk *w, struct tc_slice metric)
{
    if (!w->has_types) {
        return NULL;
    }
    struct tc_map_iter it = tc_map_find(&w->types, tc_slice_hash(metric, 0));
    uint64_t at = 0;
    while ((at = tc_map_next(&w->types, &it)) != 0) {
        if (tc_slice_eq(w->rows[at - 1].metric, metric)) {
            return &w->rows[at - 1];
        }
    }
    return NULL;
}

/* The row of a metric, made when it is new; `last` when there is no room. */
static struct type_row *note_metric(struct walk *w, struct tc_slice metric)
{
    if (!tc_slice_eq(w->last.metric, metric)) {
        w->last = (struct type_row){.metric = metric};
    }
    struct type_row *row = find_type(w, metric);
    if (row == NULL && w->has_types && w->row_count < TYPES_MAX &&
        tc_map_add(&w->types, tc_slice_hash(metric, 0), w->row_count + 1, 0)) {
        row = &w->rows[w->row_count++];
        *row = (struct type_row){.metric = metric};
    }
    return row == NULL ? &w->last : row;
}

/* "TYPE name word" or "UNIT name word"; `text` is what follows the '#'. */
static void see_meta(struct walk *w, struct tc_slice text, struct tc_slice metric)
{
    struct tc_slice word = tc__prom_skip(text);
    struct tc_slice value =
        tc_slice_trim(tc_slice_from(text, (size_t)(metric.ptr - text.ptr) + metric.len));
    bool is_type = tc_slice_starts(word, TC_LIT("TYPE"));
    if (!is_type && !tc_slice_starts(word, TC_LIT("UNIT"))) {
        return;
    }
    if (metric.len > 1 && metric.ptr[0] == '"') { /* names in UTF-8 are quoted */
        metric = tc_slice_make(metric.ptr + 1, metric.len - 2);
    }
    struct type_row *row = note_metric(w, metric);
    if (is_type) {
        row->type = type_of_word(value);
    } else {
        row->unit = value;
    }
    w->last = *row;
    w->name = TC_EMPTY; /* what was found for the last name may be another now */
}

static void see_comment(struct walk *w, struct tc_slice line)
{
    struct tc_slice metric;
    int64_t time_ns = 0;
    switch (tc__prom_comment(line, w->s->in->utc_offset_s, &metric, &time_ns)) {
    case TC__PROM_TIME:
        tc__prom_clock_tell(&w->clock, time_ns);
        break;
    case TC__PROM_META:
        if (metric.len > 0) {
            see_meta(w, tc_slice_from(line, 1), metric);
        }
        break;
    case TC__PROM_PLAIN:
        break;
    }
}

static enum tc_sample_type type_of_plain(enum family_type type)
{
    switch (type) {
    case F_COUNTER:
        return TC_SAMPLE_COUNTER;
    case F_GAUGE:
    case F_SUMMARY: /* a quantile */
    case F_GAUGE_HISTOGRAM:
        return TC_SAMPLE_GAUGE;
    case F_UNKNOWN:
    case F_HISTOGRAM:
        break;
    }
    return TC_SAMPLE_UNTYPED;
}

/* The type of name = metric and a suffix; false when such a metric has no such sample. */
static bool type_of_suffix(enum family_type type, struct tc_slice suffix, enum tc_sample_type *out)
{
    bool part = tc_slice_eq(suffix, TC_LIT("_sum")) || tc_slice_eq(suffix, TC_LIT("_count"));
    bool bucket = tc_slice_eq(suffix, TC_LIT("_bucket"));
    bool gauge_part =
        tc_slice_eq(suffix, TC_LIT("_gsum")) || tc_slice_eq(suffix, TC_LIT("_gcount"));
    if ((type == F_HISTOGRAM && (part || bucket)) || (type == F_SUMMARY && part) ||
        (type == F_COUNTER && tc_slice_eq(suffix, TC_LIT("_total")))) {
        *out = TC_SAMPLE_COUNTER;
        return true;
    }
    if ((type == F_GAUGE_HISTOGRAM && (gauge_part || bucket)) ||
        tc_slice_eq(suffix, TC_LIT("_created")) || tc_slice_eq(suffix, TC_LIT("_info"))) {
        *out = TC_SAMPLE_GAUGE;
        return true;
    }
    return false;
}

static void look_up(struct walk *w, struct tc_slice name)
{
    if (tc_slice_eq(name, w->name)) {
        return;
    }
    bool is_last = tc_slice_eq(name, w->last.metric);
    const struct type_row *row = is_last ? &w->last : find_type(w, name);
    w->name = name;
    w->type = row == NULL ? TC_SAMPLE_UNTYPED : type_of_plain(row->type);
    w->unit = row == NULL ? TC_EMPTY : row->unit;
    if (row != NULL) {
        return;
    }
    size_t at = name.len;
    while (at > 0 && name.ptr[at - 1] != '_') {
        at--;
    }
    if (at < 2) {
        return;
    }
    struct tc_slice metric = tc_slice_head(name, at - 1);
    row = tc_slice_eq(metric, w->last.metric) ? &w->last : find_type(w, metric);
    if (row != NULL && type_of_suffix(row->type, tc_slice_from(name, at - 1), &w->type)) {
        w->unit = row->unit;
    }
}

static tc_status give_sample(struct walk *w, const struct tc__prom_sample *read)
{
    tc_arena_mark mark = tc_arena_snapshot(w->s->arena);
    look_up(w, read->name);
    for (size_t i = 0; i < read->label_count; i++) {
        const struct tc__prom_label *label = &read->labels[i];
        w->labels[i] = (struct tc_sample_label){
            label->key,
            label->escaped ? tc__prom_unescape(label->value, w->s->arena) : label->value};
    }
    if (!tc_arena_ok(w->s->arena)) {
        return tc_fail(w->s->err, TC_E_NOMEM, 0, "metrics: the arena \"%s\" is full",
                       w->s->arena->name);
    }
    bool assumed = false;
    int64_t time_ns = tc__prom_clock_time(&w->clock, read->time_ns, w->s->in->taken_ns,
                                          w->s->in->interval_ns, &assumed);
    w->s->counts.undated += assumed;
    struct tc_sample sample = {.name = read->name,
                               .unit = w->unit,
                               .identity = read->series,
                               .type = w->type,
                               .time_ns = time_ns,
                               .start_ns = TC_TIME_NONE,
                               .value = read->value,
                               .labels = w->labels,
                               .label_count = read->label_count};
    tc_status status = tc__samples_take(w->s, &sample);
    tc_arena_rewind(w->s->arena, mark);
    return status;
}

static tc_status handle_line(struct walk *w, struct tc_slice line)
{
    struct tc__prom_sample read;
    size_t offset = (size_t)(line.ptr - w->bytes.ptr);
    tc__prom_clock_line(&w->clock, w->bytes, offset);
    struct tc_slice text = tc__prom_skip(line);
    if (text.len == 0) {
        return TC_OK;
    }
    if (text.len > TC_LINE_MAX) {
        tc__samples_bad(w->s, offset, "longer than a line is");
        return TC_OK;
    }
    if (text.ptr[0] == '#') {
        see_comment(w, text);
        return TC_OK;
    }
    const char *why = tc__prom_parse(line, &read);
    if (why != NULL) {
        tc__samples_bad(w->s, offset, why);
        return TC_OK;
    }
    return give_sample(w, &read);
}

tc_status tc__samples_text(struct tc__samples *s)
{
    struct walk w = {.s = s, .bytes = s->in->bytes};
    tc__prom_clock_init(&w.clock, w.bytes, NULL);
    s->counts.scrapes = w.clock.scrapes;
    tc_arena_mark mark = tc_arena_snapshot(s->arena);
    w.rows = tc_arena_alloc_raw(s->arena, TYPES_MAX * sizeof *w.rows, alignof(struct type_row));
    w.has_types = w.rows != NULL && tc_map_init(&w.types, s->arena, TYPES_MAX);
    if (!w.has_types) {
        tc_arena_rewind(s->arena, mark);
    }
    struct tc_slice line;
    for (size_t at = 0; tc__prom_line(w.bytes, &at, &line);) {
        TC_TRY(handle_line(&w, line));
    }
    if (s->counts.samples == 0) {
        return tc_fail(s->err, TC_E_MALFORMED, 0,
                       "no line of it is a sample in Prometheus text or OpenMetrics");
    }
    return TC_OK;
}

/*
 * As the codec's sniff, with one difference: "name number" alone is enough when nothing else is
 * there, for this is only asked of files that were given as metrics.
 */
bool tc__samples_is_text(struct tc_slice bytes)
{
    struct tc__prom_looks l = tc__prom_look(bytes, true);
    return l.samples > 0 && (l.metas > 0 ? l.bad * 2 : l.bad * 10) <= l.samples;
}

size_t tc_samples_bad_line(struct tc_slice bytes, const char **out_why)
{
    struct tc_slice line;
    struct tc__prom_sample sample;
    size_t at = 0;
    for (size_t number = 1; number <= BAD_LINES && tc__prom_line(bytes, &at, &line); number++) {
        struct tc_slice text = tc__prom_skip(line);
        bool is_other = number == 1 && text.len > 0 && (text.ptr[0] == '{' || text.ptr[0] == '[');
        if (is_other || tc_slice_find_byte(text, '\0') != TC_NPOS) {
            return 0;
        }
        if (text.len == 0 || text.ptr[0] == '#') {
            continue;
        }
        *out_why = text.len > TC_LINE_MAX ? "longer than a line is" : tc__prom_parse(text, &sample);
        if (*out_why != NULL) {
            return number;
        }
    }
    return 0;
}
