/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prometheus text and OpenMetrics: scrapes of exporters, one or many in a file, and dumps of
 * promtool. Most lines are of metrics that nothing reads, so the name alone decides whether a
 * line is looked at further.
 *
 * A rank that labels tie to a pod or node is told once per file, as a rank_place, before the
 * samples: what is known across calls has to fit the cursor, and a set of ranks does not.
 */
#include "codec/codec.h"
#include "base/limits.h"
#include "base/table/map.h"
#include "codec/decode_priv.h"
#include "codec/metric/map_priv.h"
#include "codec/prometheus/priv.h"

#include <assert.h>
#include <string.h>

/* Samples that decide whether the times of an input are in order, and how much disorder that is. */
#define ORDER_LINES 400
#define ORDER_SLACK (60 * TC_SECOND)
/* Ranks are looked for in the first bytes of an input, and so many are told. */
#define PLACE_BYTES ((size_t)32 << 20)
#define PLACES_MAX 16384

enum { PREPARED = 1, PLACED = 2, SAMPLE_SEEN = 4, BAD_SEEN = 8 };

/* What is known between calls; lives in the cursor. */
struct memory {
    struct tc__prom_clock clock;
    uint64_t bad_at; /* the first line that is no sample */
    uint32_t flags;
};

static_assert(sizeof(struct memory) <= sizeof(((struct tc_codec_cursor *)0)->own),
              "fits the cursor");

struct walk {
    const struct tc_codec_input *in;
    struct tc_codec_cursor *cursor;
    struct tc_codec_out *out;
    struct tc_error *err;
    struct memory m;
    struct tc_slice bytes;
    /* The last name that was looked up: samples of one metric follow each other. */
    struct tc_slice last_name;
    struct tc__metric_use last_use;
    bool last_found;
    const struct tc__prom_kube *last_kube; /* it is one of kube-state-metrics; NULL */
    struct tc__metric_keys keys;
    /* Ranks that were told, while they are looked for; NULL map otherwise. */
    struct tc_map *places;
    size_t place_count;
};

static bool lookup(struct walk *w, struct tc_slice name)
{
    if (!tc_slice_eq(name, w->last_name)) {
        w->last_found = tc__metric_map(name, &w->last_use);
        w->last_kube = w->last_found ? NULL : tc__prom_kube_find(name);
        w->last_name = name;
    }
    return w->last_found || w->last_kube != NULL;
}

static void see_comment(struct walk *w, struct tc_slice line)
{
    struct tc_slice metric;
    int64_t time_ns = 0;
    if (tc__prom_comment(line, w->in->utc_offset_s, &metric, &time_ns) == TC__PROM_TIME) {
        tc__prom_clock_tell(&w->m.clock, time_ns);
    }
}

static uint64_t offset_of(const struct walk *w, struct tc_slice line)
{
    return (uint64_t)(line.ptr - w->bytes.ptr);
}

static tc_status report_unknown(struct walk *w, struct tc_slice line, const char *why)
{
    if (w->places != NULL) {
        return TC_OK;
    }
    return tc__codec_unknown(w->in, w->cursor, w->out, offset_of(w, line), line.len, why);
}

static tc_status deliver(struct walk *w, struct tc_slice line, struct tc_event *ev, int64_t time_ns)
{
    ev->time_ns = time_ns;
    ev->raw = (struct tc_raw){
        .source = w->in->source, .length = (uint32_t)line.len, .offset = offset_of(w, line)};
    TC_TRY(w->out->event(w->out->context, ev));
    w->cursor->events++;
    return TC_OK;
}

/* Told once: a set of hashes, so two ranks of one hash would be taken for one. */
static tc_status tell_place(struct walk *w, struct tc_slice line, const struct tc_event *metric,
                            int64_t time_ns)
{
    struct tc_event place;
    if (!tc__metric_place(metric, &place) || w->place_count == PLACES_MAX) {
        return TC_OK;
    }
    uint64_t key = tc_slice_hash(place.scope.job, (uint64_t)place.scope.rank);
    struct tc_map_iter it = tc_map_find(w->places, key);
    if (tc_map_next(w->places, &it) != 0 || !tc_map_add_found(w->places, &it, 1, 0)) {
        return TC_OK;
    }
    w->place_count++;
    return deliver(w, line, &place, time_ns);
}

static enum tc__metric_verdict read_labels(struct walk *w, const struct tc__prom_sample *sample,
                                           struct tc_event *out)
{
    struct tc__metric_sample labels;
    tc__metric_begin(&labels, &w->last_use, w->out->arena);
    for (size_t i = 0; i < sample->label_count; i++) {
        const struct tc__prom_label *label = &sample->labels[i];
        const struct tc__metric_label_row *row = tc__metric_label_again(&w->keys, i, label->key);
        if (row != NULL) {
            tc__metric_label_set(&labels, row,
                                 label->escaped ? tc__prom_unescape(label->value, w->out->arena)
                                                : label->value);
        }
    }
    return tc__metric_end(&labels, sample->value, out);
}

/* A sample of a metric that is read. */
static tc_status handle_sample(struct walk *w, struct tc_slice line,
                               const struct tc__prom_sample *sample)
{
    struct tc_event ev;
    bool assumed = false;
    int64_t time_ns = tc__prom_clock_time(&w->m.clock, sample->time_ns, w->in->taken_ns,
                                          w->in->interval_ns, &assumed);
    if (w->places != NULL && w->last_use.row->about != TC__ABOUT_RANK) {
        return TC_OK;
    }
    enum tc__metric_verdict verdict = read_labels(w, sample, &ev);
    if (verdict == TC__METRIC_NOMEM) {
        return tc_fail(w->err, TC_E_NOMEM, (size_t)offset_of(w, line),
                       "metrics: the arena \"%s\" is full", w->out->arena->name);
    }
    if (verdict != TC__METRIC_READ) {
        return report_unknown(w, line, tc__metric_why(verdict));
    }
    if (ev.scope.node.len == 0) {
        ev.scope.node = w->in->node;
    }
    return w->places != NULL ? tell_place(w, line, &ev, time_ns) : deliver(w, line, &ev, time_ns);
}

static tc_status handle_kube(struct walk *w, struct tc_slice line,
                             const struct tc__prom_sample *sample)
{
    struct tc_event ev;
    bool assumed = false;
    int64_t time_ns = tc__prom_clock_time(&w->m.clock, sample->time_ns, w->in->taken_ns,
                                          w->in->interval_ns, &assumed);
    bool read = w->places == NULL && tc__prom_kube_read(w->last_kube, sample, time_ns, &ev);
    return read ? deliver(w, line, &ev, ev.time_ns) : TC_OK;
}

static tc_status handle_line(struct walk *w, struct tc_slice line)
{
    struct tc__prom_sample sample;
    struct tc_slice name = tc__prom_name(line);
    char after = name.len > 0 && name.len < line.len ? line.ptr[name.len] : '\0';
    bool quick = (after == ' ' || after == '{') && (w->m.flags & SAMPLE_SEEN) != 0;
    if (quick && !w->in->want_unknown && !lookup(w, name)) {
        w->cursor->unknown += w->places == NULL;
        return TC_OK;
    }
    const char *why = tc__prom_parse(line, &sample);
    if (why != NULL) {
        if ((w->m.flags & BAD_SEEN) == 0) {
            w->m.flags |= BAD_SEEN;
            w->m.bad_at = offset_of(w, line);
        }
        return report_unknown(w, line, why);
    }
    w->m.flags |= SAMPLE_SEEN;
    if (!lookup(w, sample.name)) {
        return report_unknown(w, line, "not a metric that any pattern reads");
    }
    return w->last_kube != NULL ? handle_kube(w, line, &sample) : handle_sample(w, line, &sample);
}

/* From the cursor's offset to `end`, or until there is a pause. */
static tc_status walk_lines(struct walk *w, size_t *io_at, size_t end)
{
    struct tc_slice line;
    size_t next = *io_at;
    while (next < end && tc__prom_line(w->bytes, &next, &line)) {
        struct memory before = w->m;
        uint64_t events = w->cursor->events;
        tc_status status = TC_OK;
        tc__prom_clock_line(&w->m.clock, w->bytes, (size_t)offset_of(w, line));
        struct tc_slice text = tc__prom_skip(line);
        if (text.len > TC_LINE_MAX) {
            w->cursor->cut += w->places == NULL;
            status = report_unknown(w, tc_slice_head(line, TC_LINE_MAX), "longer than a line is");
        } else if (text.len > 0 && text.ptr[0] == '#') {
            see_comment(w, text);
        } else if (text.len > 0) {
            status = handle_line(w, line);
        }
        if (status != TC_OK) {
            w->m = before; /* the line is seen again */
            return status;
        }
        *io_at = next;
        if (w->cursor->events != events && w->out->pause && w->places == NULL) {
            return TC_OK;
        }
    }
    return TC_OK;
}

/*
 * Ranks and where they are. Does not fail for want of memory once something was told: it would be
 * told again. The samples notice the full arena then, and the next call has room.
 */
static tc_status tell_places(struct walk *w)
{
    struct tc_slice head = tc_slice_head(w->bytes, PLACE_BYTES);
    struct memory before = w->m;
    struct tc_map places;
    size_t at = 0;
    if (!tc_slice_contains(head, TC_LIT("rank"))) {
        return TC_OK;
    }
    if (!tc_map_init(&places, w->out->scratch, PLACES_MAX)) {
        return tc_fail(w->err, TC_E_NOMEM, 0, "metrics: the arena \"%s\" is full",
                       w->out->scratch->name);
    }
    w->places = &places;
    tc_status status = walk_lines(w, &at, head.len);
    w->places = NULL;
    w->m = before;
    return status == TC_E_NOMEM && w->place_count > 0 ? TC_OK : status;
}

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    struct walk w = {.in = in, .cursor = cursor, .out = out, .err = err, .bytes = in->bytes};
    memcpy(&w.m, cursor->own, sizeof w.m);
    if ((w.m.flags & PREPARED) == 0) {
        tc__prom_clock_init(&w.m.clock, w.bytes, in->scrapes);
        w.m.flags |= PREPARED;
    }
    tc_status status = TC_OK;
    if ((w.m.flags & PLACED) == 0) {
        status = tell_places(&w);
        w.m.flags |= status == TC_OK ? PLACED : 0;
    }
    if (status == TC_OK) {
        status = walk_lines(&w, &cursor->offset, in->bytes.len);
    }
    memcpy(cursor->own, &w.m, sizeof w.m);
    if (status != TC_OK || cursor->offset < in->bytes.len) {
        return status;
    }
    cursor->done = true;
    if ((w.m.flags & (SAMPLE_SEEN | BAD_SEEN)) == BAD_SEEN) {
        return tc_fail(err, TC_E_MALFORMED, (size_t)w.m.bad_at,
                       "no line of it is a sample in Prometheus text or OpenMetrics");
    }
    return TC_OK;
}

/*
 * Lines about metrics and samples behind them are nothing else. Without them, samples with labels
 * are likely ours; "name number" alone is what many a file has.
 */
static int sniff(struct tc_codec_head head)
{
    struct tc__prom_looks l = tc__prom_look(head.bytes, head.at_end);
    if (l.metas > 0 && l.bad * 2 <= l.samples) {
        return l.samples > 0 ? TC_SNIFF_SURE : TC_SNIFF_LIKELY;
    }
    if (l.samples == 0 || l.bad * 10 > l.samples) {
        return TC_SNIFF_NO;
    }
    return l.labelled > 0 ? TC_SNIFF_LIKELY : TC_SNIFF_MAYBE;
}

/* A dump goes through the series one by one, so times jump back; scrapes follow each other. */
static bool in_order(struct tc_slice head)
{
    struct tc_slice line;
    struct tc__prom_sample sample;
    struct tc_slice last = TC_EMPTY; /* series */
    int64_t last_ns = TC_TIME_NONE;
    int64_t latest = TC_TIME_NONE;
    size_t at = 0;
    for (unsigned lines = 0; lines < ORDER_LINES && tc__prom_line(head, &at, &line); lines++) {
        if (line.len == 0 || line.ptr[0] == '#' || line.len > TC_LINE_MAX ||
            tc__prom_parse(line, &sample) != NULL || sample.time_ns == TC_TIME_NONE) {
            continue;
        }
        bool again = last_ns != TC_TIME_NONE && last_ns != sample.time_ns &&
                     tc_slice_eq(last, sample.series);
        if (again || (latest != TC_TIME_NONE && sample.time_ns < latest - ORDER_SLACK)) {
            return false;
        }
        latest = sample.time_ns > latest ? sample.time_ns : latest;
        last = sample.series;
        last_ns = sample.time_ns;
    }
    return true;
}

const struct tc_codec tc_codec_prometheus = {
    .name = "prometheus",
    .summary = "metrics: Prometheus text and OpenMetrics, scraped or dumped",
    .known_by = "`# HELP`, `# TYPE`, or `name{label=\"...\"} value`",
    .gives = "metric, pod_state, node_condition",
    .example = "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",Hostname=\"gpu07\"} 64",
    .ordered = true,
    .in_order = in_order,
    .sniff = sniff,
    .decode = decode,
};
