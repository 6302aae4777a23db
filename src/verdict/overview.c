/* SPDX-License-Identifier: Apache-2.0 */
/* Several stories: how many there are, and a line about each. */
#include "base/format.h"
#include "base/time.h"
#include "verdict/page_priv.h"

#define DAY_NS (86400 * TC_SECOND)
#define STAMP_MAX 48
/* What and where: a handful of names. */
#define LINE_MAX ((size_t)8 * TC_SCOPE_TEXT_MAX)

struct tc_story_sum tc_story_sum_of(const struct tc_story_text *story)
{
    struct tc_story_sum sum = {.resolved = true, .first_ns = TC_TIME_NONE, .last_ns = TC_TIME_NONE};
    for (size_t i = 0; i < story->count; i++) {
        sum.resolved = sum.resolved && story->verdicts[i]->status == TC_VERDICT_RESOLVED;
    }
    for (size_t i = 0; i < story->count; i++) {
        const struct tc_verdict *v = story->verdicts[i];
        bool counts = sum.resolved || v->status != TC_VERDICT_RESOLVED;
        if (counts && v->finding->severity > sum.severity) {
            sum.severity = v->finding->severity;
        }
        if (!tc_time_is_date(v->first_ns)) {
            continue;
        }
        if (!tc_time_is_date(sum.first_ns) || v->first_ns < sum.first_ns) {
            sum.first_ns = v->first_ns;
        }
        if (v->finding->last_ns > sum.last_ns) {
            sum.last_ns = v->finding->last_ns;
        }
    }
    return sum;
}

void tc__page_severity(struct tc__page *p, const struct tc_story_sum *sum)
{
    static const char *const words[] = {"INFO", "WARNING", "CRITICAL"};
    static const enum tc__text_style styles[] = {TC__TEXT_INFO, TC__TEXT_WARNING,
                                                 TC__TEXT_CRITICAL};
    tc__page_style(p, sum->resolved ? TC__TEXT_INFO : styles[sum->severity]);
    tc__page_text(p, sum->resolved ? TC_LIT("RESOLVED") : tc_slice_cstr(words[sum->severity]));
    tc__page_style(p, TC__TEXT_PLAIN);
}

void tc_overview_add(struct tc_overview *o, const struct tc_story_sum *sum)
{
    o->stories++;
    if (sum->resolved) {
        o->resolved++;
    } else {
        o->open[sum->severity]++;
    }
    if (tc_time_is_date(sum->first_ns)) {
        int64_t day = sum->first_ns / DAY_NS;
        o->days = o->days || (o->day != 0 && o->day != day);
        o->day = o->day == 0 ? day : o->day;
    }
}

static void write_head(struct tc_buf *b, const struct tc_overview *o)
{
    char date[STAMP_MAX];
    struct tc_buf day = tc_buf_make(date, sizeof date);
    size_t open = o->stories - o->resolved;
    tc_buf_time(&day, o->day * DAY_NS);
    tc_format(
        b, "{} {}{}{}: ", o->stories, o->stories == 1 ? "story" : "stories",
        tc_when(o->day != 0 && !o->days, " on {} (UTC)", tc_slice_head(tc_buf_slice(&day), 10)),
        o->days ? " (times are UTC)" : "");
    if (open > 0) {
        const char *between = " open (";
        tc_buf_u64(b, open);
        for (size_t i = TC_COUNT(o->open); i-- > 0;) {
            if (o->open[i] > 0) {
                tc_format(b, "{}{} {}", between, o->open[i], tc_severity_name((enum tc_severity)i));
                between = ", ";
            }
        }
        tc_buf_lit(b, ")");
    }
    if (o->resolved > 0) {
        tc_format(b, "{}{} resolved", open > 0 ? ", " : "", o->resolved);
    }
}

void tc_overview_render_head(struct tc_buf *b, const struct tc_overview *o,
                             const struct tc_text_style *style)
{
    struct tc__page page = tc__page_begin(b, style);
    char text[256];
    struct tc_buf head = tc_buf_make(text, sizeof text);
    write_head(&head, o);
    tc__page_style(&page, TC__TEXT_BOLD);
    tc__page_paragraph(&page, 0, TC__TEXT_MARGIN, tc_buf_slice(&head));
    tc__page_style(&page, TC__TEXT_PLAIN);
}

/* "05:06" or "03-04 05:06"; as many blanks where there is no date. */
static void put_time(struct tc__page *p, const struct tc_overview *o, int64_t ns)
{
    char text[STAMP_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    unsigned width = o->days ? 11 : 5;
    if (o->day == 0) {
        return;
    }
    if (tc_time_is_date(ns)) {
        tc_buf_time(&b, ns - ns % TC_SECOND); /* 2026-03-04T05:06:41Z */
        text[10] = ' ';
        tc__page_text(p, tc_slice_make(text + (o->days ? 5 : 11), width));
    } else {
        tc__page_blank(p, width);
    }
    tc__page_blank(p, 2);
}

static unsigned digits_of(size_t number)
{
    unsigned digits = 1;
    for (; number > 9; number /= 10) {
        digits++;
    }
    return digits;
}

void tc_overview_render_line(struct tc_buf *b, const struct tc_overview *o,
                             const struct tc_story_text *story, const struct tc_text_style *style)
{
    struct tc__page page = tc__page_begin(b, style);
    struct tc_story_sum sum = tc_story_sum_of(story);
    size_t followed = story->count - story->root_count;
    tc__page_blank(&page, TC__TEXT_MARGIN + digits_of(o->stories) - digits_of(story->number));
    tc__page_number(&page, story->number);
    tc__page_blank(&page, 2);
    unsigned at = page.at;
    tc__page_severity(&page, &sum);
    tc__page_blank(&page, at + 10 - page.at);
    put_time(&page, o, sum.first_ns);
    char text[LINE_MAX];
    struct tc_buf line = tc_buf_make(text, sizeof text);
    struct tc__page one_line = {.b = &line, .columns = UINT16_MAX};
    struct tc__flow flow = tc__flow_begin(&one_line, 0, 0);
    tc__flow_what_and_where(&flow, story->verdicts[0]->finding);
    if (followed > 0) {
        tc_buf_lit(&line, " \xc2\xb7 ");
        tc_buf_u64(&line, followed);
        tc_buf_lit(&line, " followed");
    }
    if (page.cut) {
        tc__page_cut(&page, tc_buf_slice(&line), page.columns - page.at);
    } else {
        tc__page_uncut(&page, tc_buf_slice(&line));
    }
    tc__page_line(&page);
}
