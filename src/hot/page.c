/* SPDX-License-Identifier: Apache-2.0 */
/* The series as Prometheus text. What a series takes at most is known when it is made. */
#include "hot/hot_priv.h"

#include "base/assert.h"
#include "base/format.h"
#include "base/table/sort.h"

#include <math.h>
#include <string.h>

/* The longest of what stands behind a name, in labels of our own, and in a number. */
#define SUFFIX_MAX (sizeof "_count" - 1)
#define STAT_MAX (sizeof ",stat=\"mean\"" - 1)
#define NUMBER_MAX 32
/* "{", "}", " ", the comma between labels and the end of the line. */
#define SIGNS 5

static const char *const STATS[TC__HOT_STAT_COUNT] = {
    [TC__HOT_MEAN] = "mean", [TC__HOT_MAX] = "max", [TC__HOT_P99] = "p99"};

static const char *const TYPES[] = {[TC__HOT_GAUGE] = "gauge",
                                    [TC__HOT_COUNTER] = "counter",
                                    [TC__HOT_EDGE] = "counter",
                                    [TC__HOT_SUMMARY] = "summary"};

size_t tc__hot_bytes(enum tc__hot_metric metric, size_t text_len)
{
    const struct tc__hot_row *row = &tc__hot_rows[metric];
    return tc__hot_lines(row->kind) * (strlen(row->name) + SUFFIX_MAX + strlen(row->labels) +
                                       text_len + STAT_MAX + NUMBER_MAX + SIGNS);
}

size_t tc__hot_heads(void)
{
    size_t bytes = 0;
    for (size_t i = 0; i < TC__HOT_METRIC_COUNT; i++) {
        const struct tc__hot_row *row = &tc__hot_rows[i];
        bytes += sizeof "# HELP  \n# TYPE  summary\n" + 2 * strlen(row->name) + strlen(row->help);
    }
    return bytes;
}

static int compare(const void *a, const void *b, void *context)
{
    const struct tc__hot_series *x = a;
    const struct tc__hot_series *y = b;
    (void)context;
    return x->metric != y->metric ? TC_ORDER(x->metric, y->metric)
                                  : tc_slice_cmp(tc_slice_make(x->text, x->text_len),
                                                 tc_slice_make(y->text, y->text_len));
}

static void make_order(struct tc_hot *h)
{
    h->order_count = 0;
    for (size_t i = 0; i < h->slots; i++) {
        if (h->series[i].used) {
            h->order[h->order_count++] = &h->series[i];
        }
    }
    tc_sort_ptrs(h->order, h->order_scratch, h->order_count, compare, NULL);
    h->order_known = true;
}

static void put_line(struct tc_buf *b, const struct tc__hot_series *s, const char *suffix,
                     const char *stat, double value)
{
    const struct tc__hot_row *row = &tc__hot_rows[s->metric];
    struct tc_slice parts[] = {tc_slice_make(s->text, s->text_len), tc_slice_cstr(row->labels)};
    bool any = false;
    (void)tc_format(b, "{}{}", row->name, suffix);
    for (size_t i = 0; i < TC_COUNT(parts); i++) {
        if (parts[i].len > 0) {
            tc_buf_char(b, any ? ',' : '{');
            tc_buf_str(b, parts[i]);
            any = true;
        }
    }
    if (stat != NULL) {
        (void)tc_format(b, "{}stat=\"{}\"", any ? "," : "{", stat);
        any = true;
    }
    tc_buf_str(b, any ? TC_LIT("} ") : TC_LIT(" "));
    tc_buf_f64(b, isfinite(value) ? value : 0);
    tc_buf_char(b, '\n');
}

/* Before its first window is over, a gauge is of what came so far. */
static double stat_of(const struct tc__hot_series *s, size_t stat)
{
    const struct tc__hot_window *w = &s->window;
    if (s->has_window) {
        return s->values[stat];
    }
    return stat == TC__HOT_MEAN  ? w->sum / (double)w->count
           : stat == TC__HOT_MAX ? w->max
                                 : tc__hot_p99(w, tc__hot_rows[s->metric].least);
}

static void put_series(struct tc_buf *b, const struct tc__hot_series *s)
{
    switch (tc__hot_rows[s->metric].kind) {
    case TC__HOT_GAUGE:
        for (size_t i = 0; i < TC__HOT_STAT_COUNT && (s->has_window || s->window.count > 0); i++) {
            put_line(b, s, "", STATS[i], stat_of(s, i));
        }
        break;
    case TC__HOT_SUMMARY:
        put_line(b, s, "_sum", NULL, s->values[0]);
        put_line(b, s, "_count", NULL, s->values[1]);
        break;
    case TC__HOT_COUNTER:
    case TC__HOT_EDGE:
        put_line(b, s, "", NULL, s->values[0]);
        break;
    }
}

void tc_hot_render(struct tc_hot *h, struct tc_buf *b)
{
    const char *name = "";
    if (!h->order_known) {
        make_order(h);
    }
    for (size_t i = 0; i < h->order_count; i++) {
        const struct tc__hot_series *s = h->order[i];
        const struct tc__hot_row *row = &tc__hot_rows[s->metric];
        if (strcmp(name, row->name) != 0) {
            /* The first row of a name has its help. */
            size_t first = s->metric;
            while (first > 0 && strcmp(tc__hot_rows[first - 1].name, row->name) == 0) {
                first--;
            }
            (void)tc_format(b, "# HELP {} {}\n# TYPE {} {}\n", row->name, tc__hot_rows[first].help,
                            row->name, TYPES[row->kind]);
            name = row->name;
        }
        put_series(b, s);
    }
}
