/* SPDX-License-Identifier: Apache-2.0 */
#include "server/hot_page.h"

#include "base/time.h"
#include "hot/hot.h"
#include "observe/metrics.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

/* How often the page is written at most: nobody scrapes more often. */
#define WRITE_EVERY TC_SECOND
/* The longest answer that the API makes, see api.c. */
#define ANSWER_MAX ((size_t)4 << 20)

/* A count of hot/hot.h and its row of metrics.def. */
static const struct {
    enum tc_hot_count from;
    enum tc_counter to;
} COUNTS[] = {
    {TC_HOT_SAMPLES, TC_COUNT_HOT_SAMPLES},
    {TC_HOT_SAMPLES_OLD, TC_COUNT_HOT_SAMPLES_OLD},
    {TC_HOT_SAMPLES_AHEAD, TC_COUNT_HOT_SAMPLES_AHEAD},
    {TC_HOT_SAMPLES_REPEATED, TC_COUNT_HOT_SAMPLES_REPEATED},
    {TC_HOT_SAMPLES_NOT_VALUE, TC_COUNT_HOT_SAMPLES_NOT_VALUE},
    {TC_HOT_SAMPLES_REQUEST, TC_COUNT_HOT_SAMPLES_REQUEST},
    {TC_HOT_SAMPLES_REFUSED, TC_COUNT_HOT_SAMPLES_REFUSED},
    {TC_HOT_LABELS_REQUEST, TC_COUNT_HOT_LABELS_REQUEST},
    {TC_HOT_LABELS_IDENTITY, TC_COUNT_HOT_LABELS_IDENTITY},
    {TC_HOT_LABELS_TAG, TC_COUNT_HOT_LABELS_TAG},
    {TC_HOT_LABELS_UNFIT, TC_COUNT_HOT_LABELS_UNFIT},
    {TC_HOT_REFUSED_BUDGET, TC_COUNT_HOT_REFUSED_BUDGET},
    {TC_HOT_REFUSED_PAGE, TC_COUNT_HOT_REFUSED_PAGE},
    {TC_HOT_EXPIRED, TC_COUNT_HOT_EXPIRED},
};

struct tc_hot_page {
    struct tc_hot *hot;
    int64_t written_ns; /* when the page was written, by now_ns of the ticks */
    char *making;       /* the writer's own; both have bytes_max */
    size_t bytes_max;
    pthread_mutex_t lock;
    char *shown;
    size_t shown_len;
};

void tc_hot_page_copy(struct tc_hot_page *p, struct tc_buf *b)
{
    (void)pthread_mutex_lock(&p->lock);
    tc_buf_str(b, tc_slice_make(p->shown, p->shown_len));
    (void)pthread_mutex_unlock(&p->lock);
}

/* In the thread of whoever renders /metrics. */
static void show(void *context, struct tc_buf *b)
{
    tc_hot_page_copy(context, b);
}

size_t tc_hot_page_bytes(const struct tc_hot_page *p)
{
    return p->bytes_max;
}

/* What one answer may have, less what the daemon says of itself and of its sources. */
static size_t page_bytes(const struct tc_config *config)
{
    size_t most = (size_t)config->limits_output;
    most = most < ANSWER_MAX ? most : ANSWER_MAX;
    size_t own = TC_METRICS_TEXT_MAX + TC_METRICS_SOURCES_MAX;
    own += config->forward_endpoints[0] == '\0' ? 0 : TC_METRICS_FORWARD_MAX;
    return most > own ? most - own : 0;
}

struct tc_hot_page *tc_hot_page_create(const struct tc_config *config)
{
    struct tc_hot_config hot = {
        .series_max = (size_t)config->hot_metrics_series,
        .page_bytes = page_bytes(config),
        .window_ns = config->hot_metrics_window,
        .stale_ns = config->hot_metrics_stale,
    };
    /* Without chance, hashes can be foreseen: that costs time at worst. */
    (void)!getrandom(&hot.seed, sizeof hot.seed, GRND_NONBLOCK);
    struct tc_hot_page *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return NULL;
    }
    (void)pthread_mutex_init(&p->lock, NULL);
    p->bytes_max = hot.page_bytes;
    p->hot = tc_hot_create(&hot);
    p->making = malloc(p->bytes_max + 1);
    p->shown = malloc(p->bytes_max + 1);
    if (p->hot == NULL || p->making == NULL || p->shown == NULL) {
        tc_hot_page_destroy(p);
        return NULL;
    }
    tc_gauge(TC_COUNT_HOT_SERIES_LIMIT, config->hot_metrics_series);
    tc_metrics_more(TC_METRICS_HOT, show, p);
    return p;
}

void tc_hot_page_destroy(struct tc_hot_page *p)
{
    if (p == NULL) {
        return;
    }
    tc_metrics_more(TC_METRICS_HOT, NULL, NULL);
    tc_hot_destroy(p->hot);
    (void)pthread_mutex_destroy(&p->lock);
    free(p->making);
    free(p->shown);
    free(p);
}

void tc_hot_page_add(struct tc_hot_page *p, const struct tc_sample *sample, int64_t time_ns,
                     int64_t now_ns)
{
    tc_hot_add(p->hot, sample, time_ns, now_ns);
}

void tc_hot_page_tick(struct tc_hot_page *p, int64_t now_ns)
{
    if (now_ns >= p->written_ns && now_ns - p->written_ns < WRITE_EVERY) {
        return;
    }
    p->written_ns = now_ns;
    tc_hot_tick(p->hot, now_ns);
    for (size_t i = 0; i < TC_COUNT(COUNTS); i++) {
        tc_counter_set(COUNTS[i].to, tc_hot_count(p->hot, COUNTS[i].from));
    }
    tc_gauge(TC_COUNT_HOT_SERIES, (int64_t)tc_hot_series(p->hot));
    struct tc_buf b = tc_buf_make(p->making, p->bytes_max);
    tc_hot_render(p->hot, &b);
    (void)pthread_mutex_lock(&p->lock);
    char *before = p->shown;
    p->shown = p->making;
    p->shown_len = b.len;
    p->making = before;
    (void)pthread_mutex_unlock(&p->lock);
}
