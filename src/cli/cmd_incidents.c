/* SPDX-License-Identifier: Apache-2.0 */
/* The stories of a running daemon, as detect prints those of files. */
#include "base/arena.h"
#include "base/json/json.h"
#include "base/table/grow.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/daemon.h"
#include "cli/output/say.h"
#include "cli/story/options.h"
#include "cli/story/report.h"
#include "verdict/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* As many as the API gives. */
#define LIST_MAX 1000
#define LIST_PATH "/api/v1/incidents?limit=1000"
/* The arrays of one verdict. */
#define VERDICT_BYTES ((size_t)8 << 20)
/* Digests among the last so many are known to be the same source. */
#define SOURCES_COMPARED 64
#define SOURCES_MAX (LIST_MAX * 64)
#define FOLLOW_SECONDS 2

struct digest_text {
    char text[TC_DIGEST_TEXT_MAX + 1];
};

/* What was shown before: states of stories, or hashes of lines. */
struct memory {
    uint64_t before[LIST_MAX];
    uint64_t now[LIST_MAX];
    size_t before_count;
    size_t now_count;
};

struct asked {
    struct tc_story_args story;
    const char *url;
    struct tc_http_tls tls;
    const char *incident;
    bool follow;
};

/* One answer of the daemon; lines lie in its body, the rest is ours. */
struct answer {
    struct tc_slice lines[LIST_MAX]; /* verdicts: roots first, the oldest first */
    size_t line_count;
    struct tc_incident_table kept;
    struct digest_text *sources;
    size_t source_count;
    size_t source_cap;
    char data_dir[4096];
};

static const struct tc_option OPTIONS[] = {
    TC_STORY_OPTIONS(struct asked, story),
    TC_TEXT("node", "NAME", struct asked, story.node,
            "Only stories about this node, by its short or its full name."),
    TC_TEXT("since", "TIME", struct asked, story.since,
            "Only stories that were seen then or later: 2026-11-15T03:00:00Z, or how long ago: "
            "90s, 15m, 2h, 3d."),
    TC_FLAG("follow", struct asked, follow,
            "Go on, and print each story again when something in it opens or is resolved.",
            .letter = 'F'),
    TC_TEXT("api", "URL", struct asked, url,
            "Where the daemon's API is (api.listen); " TC_DAEMON_API_DEFAULT " by default."),
    TC_DAEMON_TLS_OPTIONS(struct asked, tls),
};

/* ---- reading the answer ---- */

static uint32_t add_source(void *context, struct tc_slice digest)
{
    struct answer *a = context;
    size_t first = a->source_count > SOURCES_COMPARED ? a->source_count - SOURCES_COMPARED : 0;
    for (size_t i = first; i < a->source_count; i++) {
        if (tc_slice_eq(digest, tc_slice_cstr(a->sources[i].text))) {
            return (uint32_t)i;
        }
    }
    if (digest.len > TC_DIGEST_TEXT_MAX) {
        return TC_SOURCE_NONE;
    }
    if (a->source_count == a->source_cap) {
        size_t cap = a->source_cap == 0 ? SOURCES_COMPARED : a->source_cap * 2;
        if (tc_grow_items(a->sources, a->source_cap, cap, SOURCES_MAX) != TC_OK) {
            return TC_SOURCE_NONE;
        }
    }
    struct digest_text *to = &a->sources[a->source_count];
    memcpy(to->text, digest.ptr, digest.len);
    to->text[digest.len] = '\0';
    return (uint32_t)a->source_count++;
}

static bool view_source(void *context, uint32_t index, struct tc_source_view *out)
{
    const struct answer *a = context;
    if (index >= a->source_count) {
        return false;
    }
    *out = (struct tc_source_view){.digest = tc_slice_cstr(a->sources[index].text),
                                   .store = tc_slice_cstr(a->data_dir)};
    return true;
}

static void reverse_lines(struct tc_slice *lines, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct tc_slice line = lines[i];
        lines[i] = lines[count - 1 - i];
        lines[count - 1 - i] = line;
    }
}

/* {"incidents":[ one verdict per line ], "next" }, first the roots, then what follows from them,
 * each the newest first: false when it is not that. The oldest come first then. */
static bool split_lines(struct answer *a, struct tc_slice body)
{
    static const struct tc_slice head = {"{\"incidents\":[", sizeof("{\"incidents\":[") - 1};
    body = tc_slice_trim(body);
    size_t end = tc_slice_find_last(body, TC_LIT("]")); /* a cursor has none */
    if (!tc_slice_starts(body, head) || !tc_slice_ends(body, TC_LIT("}")) || end < head.len) {
        return false;
    }
    struct tc_slice rest = tc_slice_make(body.ptr + head.len, end - head.len);
    while (rest.len > 0 && a->line_count < LIST_MAX) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        line.len -= tc_slice_ends(line, TC_LIT(","));
        a->lines[a->line_count++] = line;
    }
    size_t roots = 0;
    while (roots < a->line_count &&
           tc_slice_find(a->lines[roots], TC_LIT("\"caused_by\":[")) == TC_NPOS) {
        roots++;
    }
    reverse_lines(a->lines, roots);
    reverse_lines(a->lines + roots, a->line_count - roots);
    return rest.len == 0;
}

static tc_status read_line(struct answer *a, struct tc_json_parser *parser, struct tc_arena *arena,
                           struct tc_slice line, struct tc_error *err)
{
    struct tc_json object;
    struct tc_verdict verdict;
    struct tc_finding finding;
    tc_arena_reset(arena);
    TC_TRY(tc_json_parse(parser, line, &object, err));
    TC_TRY(tc_verdict_read_json(object, arena, add_source, a, &verdict, &finding));
    return tc_incident_table_add(&a->kept, &verdict);
}

static bool read_lines(struct answer *a)
{
    struct tc_json_parser *parser = tc_json_parser_create();
    void *block = malloc(VERDICT_BYTES);
    struct tc_error err = {0};
    tc_status status = parser == NULL || block == NULL ? TC_E_NOMEM : TC_OK;
    if (status == TC_OK) {
        struct tc_arena arena;
        tc_arena_init(&arena, "verdict", block, VERDICT_BYTES);
        for (size_t i = 0; i < a->line_count && status == TC_OK; i++) {
            status = read_line(a, parser, &arena, a->lines[i], &err);
        }
        tc_arena_fini(&arena);
        /* Lines and verdicts share their indexes: an incident that comes twice is no answer. */
        status = status == TC_OK && a->kept.count != a->line_count ? TC_E_MALFORMED : status;
    }
    tc_json_parser_destroy(parser);
    free(block);
    if (status != TC_OK) {
        tc_say("incidents", "what answered is no tracecore: %s",
               err.message[0] != '\0' ? err.message : tc_status_text(status));
    }
    return status == TC_OK;
}

static void reset(struct answer *a)
{
    tc_incident_table_fini(&a->kept);
    a->line_count = 0;
    a->source_count = 0;
}

static bool fetch(struct answer *a, struct tc_daemon *daemon)
{
    struct tc_slice body;
    reset(a);
    if (!tc_daemon_get(daemon, LIST_PATH, &body)) {
        return false;
    }
    if (!split_lines(a, body)) {
        tc_say("incidents", "what answered at %s is no tracecore, or its answer was cut",
               daemon->url);
        return false;
    }
    return read_lines(a);
}

/* Where the daemon keeps the evidence, for the commands that print it. */
static void fetch_data_dir(struct answer *a, struct tc_daemon *daemon)
{
    struct tc_slice body;
    struct tc_json status;
    struct tc_error err;
    struct tc_json_parser *parser = tc_json_parser_create();
    if (parser != NULL && tc_daemon_get(daemon, "/api/v1/status", &body) &&
        tc_json_parse(parser, body, &status, &err) == TC_OK) {
        struct tc_slice dir = tc_json_get_string(status, TC_LIT("data_dir"));
        if (dir.len < sizeof a->data_dir) {
            (void)snprintf(a->data_dir, sizeof a->data_dir, "%.*s", TC_FMT(dir));
        }
    }
    tc_json_parser_destroy(parser);
}

/* ---- what is new ---- */

static bool remember(void *context, uint64_t state)
{
    struct memory *m = context;
    if (m->now_count < LIST_MAX) {
        m->now[m->now_count++] = state;
    }
    for (size_t i = 0; i < m->before_count; i++) {
        if (m->before[i] == state) {
            return false;
        }
    }
    return true;
}

static void turn_over(struct memory *m)
{
    memcpy(m->before, m->now, m->now_count * sizeof m->now[0]);
    m->before_count = m->now_count;
    m->now_count = 0;
}

/* ---- showing it ---- */

/* The daemon's own bytes, of the stories that are shown. */
static void put_lines(const struct answer *a, const struct tc_stories *s, struct memory *m,
                      struct tc_output *out)
{
    for (size_t i = 0; i < a->line_count; i++) {
        bool is_new = m == NULL || remember(m, tc_slice_hash(a->lines[i], 0));
        if (s->shown[i] && is_new) {
            (void)tc_output_put(out, a->lines[i]);
            (void)tc_output_put(out, TC_LIT("\n"));
        }
    }
}

static int64_t now_ns(void)
{
    return (int64_t)time(NULL) * TC_SECOND;
}

/* How many stories were shown, or -1 when there is no memory, which was said. */
static int show(const struct asked *asked, struct answer *a, struct memory *m,
                struct tc_output *out)
{
    struct tc_story_filter filter = TC_STORY_FILTER_NONE;
    struct tc_sources sources = {view_source, a};
    struct tc_stories stories;
    (void)tc_story_filter_of(&asked->story, now_ns(), &filter); /* was found right before */
    filter.incident = asked->incident;
    if (m != NULL && !asked->story.style.json) {
        filter.wants = remember;
        filter.context = m;
    }
    tc_status status = tc_stories_init(&stories, &a->kept, &filter);
    if (status == TC_OK && asked->story.style.json) {
        put_lines(a, &stories, m, out);
    } else if (status == TC_OK) {
        status = tc_report(&a->kept, &stories, &sources, &asked->story.style, out);
    }
    int shown = (int)stories.count;
    tc_stories_fini(&stories);
    if (status != TC_OK && status != TC_E_LIMIT) {
        tc_say("incidents", "no memory for the report");
        return -1;
    }
    return shown;
}

/* Until it is interrupted, or nobody reads any more. */
static int follow(const struct asked *asked, struct answer *a, struct tc_daemon *daemon,
                  struct tc_output *out)
{
    struct memory *m = calloc(1, sizeof *m);
    const struct timespec pause = {.tv_sec = FOLLOW_SECONDS};
    bool separate = false;
    for (bool good = m != NULL; good; (void)nanosleep(&pause, NULL)) {
        bool answered = fetch(a, daemon);
        daemon->silent = !answered; /* it is said once that it does not answer */
        if (!answered) {
            continue;
        }
        struct tc_output part;
        tc_output_init(&part, out->fd);
        if (separate && !asked->story.style.json) {
            (void)tc_output_put(&part, TC_LIT("\n"));
        }
        int shown = show(asked, a, m, &part);
        if (shown > 0) {
            good = tc_output_flush(&part);
            out->error = part.error;
            separate = true;
        }
        good = good && shown >= 0;
        turn_over(m);
    }
    free(m);
    return TC_EXIT_BAD;
}

static int show_once(const struct asked *asked, struct answer *a, struct tc_daemon *daemon,
                     struct tc_output *out)
{
    if (!fetch(a, daemon)) {
        return TC_EXIT_BAD;
    }
    int shown = show(asked, a, NULL, out);
    if (shown == 0 && asked->incident != NULL) {
        tc_say("incidents", "%s has no incident %s; 'tracecore incidents' lists them", daemon->url,
               asked->incident);
        return TC_EXIT_BAD;
    }
    if (shown == 0) {
        tc_say("incidents", "%s has %s", daemon->url,
               a->kept.count == 0 ? "no incidents" : "no incidents that match");
    }
    if (a->line_count == LIST_MAX) {
        tc_say("incidents", "only the newest %d incidents are looked at", LIST_MAX);
    }
    return shown < 0 ? TC_EXIT_BAD : shown > 0 ? TC_EXIT_FOUND : TC_EXIT_OK;
}

static int ask(const struct asked *asked)
{
    struct tc_daemon daemon;
    struct tc_output out;
    struct answer *a = calloc(1, sizeof *a);
    if (a == NULL || !tc_daemon_open(&daemon, "incidents", asked->url, &asked->tls)) {
        free(a);
        return TC_EXIT_BAD;
    }
    tc_output_init(&out, STDOUT_FILENO);
    daemon.silent = true;
    fetch_data_dir(a, &daemon);
    daemon.silent = false;
    int code = asked->follow ? follow(asked, a, &daemon, &out) : show_once(asked, a, &daemon, &out);
    code = tc_output_end(&out, "incidents", code);
    reset(a);
    free(a->sources);
    free(a);
    tc_daemon_close(&daemon);
    return code;
}

static int run(int argc, char **argv)
{
    struct asked asked = {.url = TC_DAEMON_API_DEFAULT};
    struct tc_story_filter unused;
    tc_story_args_init(&asked.story, "incidents");
    int code = tc_options_read(&tc_command_incidents, argc, argv, &asked);
    if (code != TC_GO_ON) {
        return code;
    }
    if (argc - optind > 1) {
        tc_say("incidents", "one incident at a time: give one ID, or none for all");
        return tc_command_misused(&tc_command_incidents);
    }
    asked.incident = optind < argc ? argv[optind] : NULL;
    return tc_story_filter_of(&asked.story, now_ns(), &unused) ? ask(&asked) : TC_EXIT_BAD;
}

const struct tc_command tc_command_incidents = {
    .name = "incidents",
    .summary = "the stories of a running daemon",
    .usage = "usage: tracecore incidents [OPTIONS] [ID]\n"
             "\n"
             "Prints the stories that a running daemon knows, as detect prints those of files:\n"
             "what is broken and where, what to do, why, what followed, and the commands that\n"
             "print the evidence. With ID, or the beginning of one, only the story that this\n"
             "incident belongs to.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  there are no stories, or none that match\n"
             "  1  there are stories\n"
             "  2  wrong usage, no daemon answered, or there is no such incident\n"
             "\n"
             "Where the daemon has auth.tokens, " TC_DAEMON_TOKEN " is the token.\n"
             "\n"
             "Examples:\n"
             "  tracecore incidents --brief\n"
             "  tracecore incidents 074b35e5\n"
             "  tracecore incidents --since 15m --node gpu-07\n"
             "  tracecore incidents --follow --json | jq -r .headline\n"
             "  tracecore incidents --api http://10.0.0.7:4320\n",
    .words = "",
    .run = run,
};
