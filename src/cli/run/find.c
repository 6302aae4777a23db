/* SPDX-License-Identifier: Apache-2.0 */
/* Which run a word on the command line means. */
#include "cli/output/say.h"
#include "cli/run/run.h"

#include <stdio.h>
#include <string.h>

#define TOLD_MAX 10

enum { COL_ID, COL_NAME };

struct search {
    const struct tc_answer *runs;
    struct tc_slice word;
    const char *command;
    bool quiet;
    size_t hits;
    size_t hit[TOLD_MAX];
};

static void keep_hit(struct search *s, size_t row)
{
    if (s->hits < TOLD_MAX) {
        s->hit[s->hits] = row;
    }
    s->hits++;
}

/* The ways to mean a run, the surest first. */
enum way { WAY_ID, WAY_NAME, WAY_ID_START, WAY_NAME_START, WAY_COUNT };

static bool means(const struct search *s, enum way way, size_t row)
{
    struct tc_slice id = tc_answer_text(s->runs, row, COL_ID);
    struct tc_slice name = tc_answer_text(s->runs, row, COL_NAME);
    switch (way) {
    case WAY_ID:
        return tc_slice_eq(id, s->word);
    case WAY_NAME:
        return tc_slice_eq(name, s->word);
    case WAY_ID_START:
        return tc_slice_starts(id, s->word);
    case WAY_NAME_START:
        return tc_slice_starts(name, s->word);
    case WAY_COUNT:
        break;
    }
    return false;
}

static void tell_several(const struct search *s)
{
    tc_say(s->command, "\"%.*s\" means %zu runs; give the id, or more of it:", TC_FMT(s->word),
           s->hits);
    for (size_t n = 0; n < s->hits && n < TOLD_MAX; n++) {
        tc_say_plain("  %.*s  %.*s", TC_FMT(tc_answer_text(s->runs, s->hit[n], COL_ID)),
                     TC_FMT(tc_answer_text(s->runs, s->hit[n], COL_NAME)));
    }
    if (s->hits > TOLD_MAX) {
        tc_say_plain("  and %zu more", s->hits - TOLD_MAX);
    }
}

static void tell_none(const struct search *s)
{
    struct tc_slice best = TC_EMPTY;
    size_t least = SIZE_MAX;
    for (size_t row = 0; row < s->runs->row_count; row++) {
        for (size_t c = COL_ID; c <= COL_NAME; c++) {
            struct tc_slice other = tc_answer_text(s->runs, row, c);
            size_t distance = tc_slice_distance(s->word, other);
            if (other.len > 0 && distance < least) {
                least = distance;
                best = other;
            }
        }
    }
    if (best.len > 0 && least <= 1 + s->word.len / 3) {
        tc_say(s->command, "there is no run \"%.*s\"; did you mean \"%.*s\"?", TC_FMT(s->word),
               TC_FMT(best));
    } else {
        tc_say(s->command, "there is no run \"%.*s\"; `tracecore run list` shows those there are",
               TC_FMT(s->word));
    }
}

static bool choose(struct search *s, char out_id[TC_RUN_ID_BYTES])
{
    for (enum way way = WAY_ID; way < WAY_COUNT && s->hits == 0; way++) {
        for (size_t row = 0; s->word.len > 0 && row < s->runs->row_count; row++) {
            if (means(s, way, row)) {
                keep_hit(s, row);
            }
        }
    }
    if (s->hits == 1) {
        (void)snprintf(out_id, TC_RUN_ID_BYTES, "%.*s",
                       TC_FMT(tc_answer_text(s->runs, s->hit[0], COL_ID)));
    } else if (!s->quiet && s->hits == 0) {
        tell_none(s);
    } else if (!s->quiet) {
        tell_several(s);
    }
    return s->hits == 1;
}

/* A run that retain has moved away has its lineage still. */
#define MOVED                                                                                     \
    "SELECT run_id, NULL::VARCHAR AS name FROM artifact_lineage_dim WHERE run_id NOT IN (SELECT " \
    "run_id FROM benchmark_run_fact)"

static bool find(struct search *s, struct tc_warehouse *w, const char *sql,
                 char out_id[TC_RUN_ID_BYTES])
{
    struct tc_answer runs;
    struct tc_error err = {0};
    if (tc_answer_query(w, sql, NULL, 0, &runs, &err) != TC_OK) {
        tc_say(s->command, "%s", err.message);
        return false;
    }
    s->runs = &runs;
    bool found = choose(s, out_id);
    s->runs = NULL;
    tc_answer_fini(&runs);
    return found;
}

/* Of the moved runs only; says nothing. */
static bool is_moved(struct tc_warehouse *w, const char *word, char out_id[TC_RUN_ID_BYTES])
{
    struct search s = {.command = "run", .word = tc_slice_cstr(word), .quiet = true};
    return find(&s, w, MOVED " ORDER BY run_id", out_id);
}

bool tc_run_find(struct tc_warehouse *w, const char *word, char out_id[TC_RUN_ID_BYTES])
{
    struct search s = {.command = "run", .word = tc_slice_cstr(word)};
    char moved[TC_RUN_ID_BYTES];
    s.quiet = is_moved(w, word, moved);
    bool found =
        find(&s, w, "SELECT run_id, name FROM benchmark_run_fact ORDER BY added_at DESC, run_id",
             out_id);
    if (!found && s.quiet && s.hits == 0) {
        tc_say("run",
               "run %s was moved by `tracecore retain` to a snapshot, a directory of "
               "data_dir/cold; its files are here: tracecore evidence manifest %s",
               moved, moved);
    } else if (!found && s.quiet) {
        tc_say("run", "\"%s\" means several runs; give the id, or more of it", word);
    }
    return found;
}

bool tc_run_find_lineage(struct tc_warehouse *w, const char *word, char out_id[TC_RUN_ID_BYTES])
{
    struct search s = {.command = "evidence", .word = tc_slice_cstr(word)};
    return find(&s, w,
                "SELECT run_id, name FROM (SELECT run_id, name, added_at FROM benchmark_run_fact "
                "UNION ALL SELECT run_id, name, NULL FROM (" MOVED
                ")) ORDER BY added_at DESC, run_id",
                out_id);
}
