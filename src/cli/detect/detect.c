/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/format.h"
#include "base/time.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/detect/stored.h"
#include "cli/output/progress.h"
#include "cli/output/say.h"
#include "cli/patterns.h"
#include "cli/reading.h"
#include "cli/story/options.h"
#include "cli/story/report.h"
#include "intake/nodes.h"
#include "offender/offender.h"
#include "offline/pipeline.h"

#include <string.h>
#include <unistd.h>

#define CLOCKS_SHOWN 5
/* As those of detection.offenders. */
#define OFFENDER_COUNT_MAX 100
#define OFFENDER_WINDOW_MIN_NS (3600 * TC_SECOND)
#define OFFENDER_WINDOW_MAX_NS (90 * 86400 * TC_SECOND)

/* What is known while events go through. */
struct run {
    struct tc_reading reading; /* first: shared options go there */
    struct tc_offline offline;
    struct tc_story_args story;
    struct tc_progress progress;
    struct tc_stored stored; /* of --data-dir */
    struct tc_offender_config offenders;
    struct tc_grow xids;
    const char *data_dir;
    bool only;
    bool list;
    bool quiet;
};

/* The engine takes its memory at once, so it is made only when something needs it. */
static tc_status need_engine(struct run *r)
{
    struct tc_error err;
    tc_status status = tc_offline_prepare(&r->offline, &err);
    if (status != TC_OK) {
        tc_say("detect", "%s", err.message);
    }
    return status;
}

static int enable(struct run *r, const char *names, bool on)
{
    struct tc_error err;
    if (need_engine(r) != TC_OK) {
        return TC_EXIT_BAD;
    }
    struct tc_slice rest = tc_slice_cstr(names);
    while (rest.len > 0) {
        struct tc_slice name = tc_slice_cut(rest, ',', &rest);
        if (tc_engine_enable(r->offline.engine, name, on, &err) != TC_OK) {
            tc_say("detect", "%s", err.message);
            return TC_EXIT_BAD;
        }
    }
    return TC_GO_ON;
}

static int take_disable(void *args, const struct tc_option *option, const char *value)
{
    (void)option;
    return enable(args, value, false);
}

static int take_only(void *args, const struct tc_option *option, const char *value)
{
    struct run *r = args;
    (void)option;
    int code = r->only ? TC_GO_ON : enable(r, "all", false);
    r->only = true;
    return code == TC_GO_ON ? enable(r, value, true) : code;
}

static int take_knob(void *args, const struct tc_option *option, const char *value)
{
    struct run *r = args;
    struct tc_error err = {0};
    (void)option;
    if (need_engine(r) != TC_OK) {
        return TC_EXIT_BAD;
    }
    if (tc_engine_set(r->offline.engine, tc_slice_cstr(value), &err) != TC_OK) {
        tc_say("detect", "--set %s: %s; --list-patterns shows what there is", value, err.message);
        return TC_EXIT_BAD;
    }
    return TC_GO_ON;
}

/* The engine takes its memory once, so this goes before the options that need it. */
static int take_gpus(void *args, const struct tc_option *option, const char *value)
{
    struct run *r = args;
    (void)option;
    if (!tc_slice_is_i64(tc_slice_cstr(value), &r->offline.gpus) || r->offline.gpus < 1 ||
        r->offline.gpus > TC_ENGINE_GPUS_MAX) {
        tc_say("detect", "--gpus %s: give a number from 1 to %d", value, TC_ENGINE_GPUS_MAX);
        return TC_EXIT_BAD;
    }
    if (r->offline.engine != NULL) {
        tc_say("detect", "--gpus %s: give it before --only, --disable, --set and --xid", value);
        return TC_EXIT_BAD;
    }
    return TC_GO_ON;
}

/* NAME=FILE says whose file it is, NAME alone which stories are wanted. */
static int take_node(void *args, const struct tc_option *option, const char *value)
{
    struct run *r = args;
    if (strchr(value, '=') != NULL) {
        return tc_reading_take_node(args, option, value);
    }
    r->story.node = value;
    return TC_GO_ON;
}

/* "3/7d", or "off". */
static int take_offenders(void *args, const struct tc_option *option, const char *value)
{
    struct run *r = args;
    struct tc_slice rest;
    struct tc_slice count = tc_slice_cut(tc_slice_cstr(value), '/', &rest);
    bool off = strcmp(value, "off") == 0;
    (void)option;
    r->offenders = TC_OFFENDER_CONFIG_DEFAULT;
    bool good = off || (tc_slice_is_i64(count, &r->offenders.count) && r->offenders.count >= 2 &&
                        r->offenders.count <= OFFENDER_COUNT_MAX &&
                        tc_duration_parse(rest, &r->offenders.window_ns) &&
                        r->offenders.window_ns >= OFFENDER_WINDOW_MIN_NS &&
                        r->offenders.window_ns <= OFFENDER_WINDOW_MAX_NS);
    if (!good) {
        tc_say("detect",
               "--offenders %s: give a count from 2 to 100 and a time from 1h to 90d, such as "
               "3/7d, or off",
               value);
        return TC_EXIT_BAD;
    }
    r->offenders.count = off ? 0 : r->offenders.count;
    return TC_GO_ON;
}

/* One entry of detection.xids. */
static int take_xid(void *args, const struct tc_option *option, const char *value)
{
    struct run *r = args;
    struct tc_error err = {0};
    (void)option;
    (void)tc_grow_format(&r->xids, "{}\n", value);
    if (r->xids.failed || need_engine(r) != TC_OK) {
        return TC_EXIT_BAD;
    }
    if (tc_engine_set_xids(r->offline.engine, tc_grow_slice(&r->xids), &err) != TC_OK) {
        tc_say("detect", "--xid %s", err.message);
        return TC_EXIT_BAD;
    }
    return TC_GO_ON;
}

static const struct tc_option OPTIONS[] = {
    TC_STORY_OPTIONS(struct run, story),
    TC_TAKEN("node", "NAME", take_node,
             "Only stories about this node, by its short or its full name. " TC_READING_NODE_HELP),
    TC_TEXT("since", "TIME", struct run, story.since,
            "Only stories that were seen then or later: 2026-11-15T03:00:00Z, or so long before "
            "the end of the data (or --now): 90s, 15m, 2h, 3d."),
    TC_TEXT("data-dir", "DIR", struct run, data_dir,
            "Judge what a daemon has stored in its data_dir, in order of time, instead of files. "
            "The daemon may be running. With --since, only from an hour before that on."),
    TC_TAKEN("only", "PATTERN,...", take_only, "Look only for these patterns. May be repeated.",
             .values = TC_VALUES_PATTERNS),
    TC_TAKEN("disable", "PATTERN,...", take_disable,
             "Do not look for these patterns. May be repeated.", .values = TC_VALUES_PATTERNS),
    TC_TAKEN("set", "PATTERN.KEY=VALUE", take_knob,
             "Turn a knob of a pattern, such as nccl_hang.threshold=60s. May be repeated."),
    TC_TAKEN("xid", "ENTRY", take_xid,
             "What is known here of an Xid, before the built-in catalogue: \"145 hardware fatal: "
             "drain the node and return the board\", as in detection.xids. May be repeated."),
    TC_TAKEN(
        "gpus", "N", take_gpus,
        "How many GPUs the cluster has, when they are more than 10,000: patterns may keep more "
        "then, as with detection.gpus."),
    TC_TAKEN("offenders", "COUNT/TIME", take_offenders,
             "Say of what has failed so often within that time, and was well in between, that it "
             "is to be returned. Default: 3/7d. off: say nothing of it."),
    TC_FLAG("list-patterns", struct run, list,
            "List the patterns that are looked for and their knobs, and do nothing else."),
    TC_FLAG("quiet", struct run, quiet, "No summary and no progress; errors and warnings only.",
            .letter = 'q'),
};

static void on_error(void *context, const struct tc_input *input, const struct tc_error *err)
{
    struct run *r = context;
    tc_progress_clear(&r->progress);
    tc_reading_say_error(input, err);
    r->reading.failed = true;
}

static void on_progress(void *context, size_t bytes, bool finished)
{
    struct run *r = context;
    tc_progress_add(&r->progress, bytes, finished);
}

/* Says whose clocks are off, and that the inputs are read a second time. */
static void on_again(void *context, const struct tc_clocks *clocks)
{
    struct run *r = context;
    const struct tc_inputs *in = &r->reading.inputs;
    char text[1024];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    size_t count = 0;
    const struct tc_clock *clock = NULL;
    for (; (clock = tc_clocks_get(clocks, count)) != NULL; count++) {
        int64_t apart_ns = clock->ahead_ns < 0 ? -clock->ahead_ns : clock->ahead_ns;
        if (count < CLOCKS_SHOWN) {
            (void)tc_format(&b, "{}{} {}{} {}", count == 0 ? "" : ", ", clock->node,
                            clock->sure ? "" : "perhaps ", tc_as_duration(apart_ns),
                            clock->ahead_ns < 0 ? "behind" : "ahead");
        }
    }
    if (count > CLOCKS_SHOWN) {
        (void)tc_format(&b, " and {} more", count - CLOCKS_SHOWN);
    }
    tc_progress_clear(&r->progress);
    tc_say("detect", "%zu clock%s off: %.*s; read again with their times corrected", count,
           count == 1 ? " is" : "s are", TC_FMT(tc_buf_slice(&b)));
    tc_progress_init(&r->progress, !r->quiet, in->count, in->total_bytes);
}

/* The same for what a daemon has stored. */
static tc_status analyse_stored(struct run *r)
{
    struct tc_error err = {0};
    struct tc_ordered_counts counts;
    struct tc_offline_watch watch = {.again = on_again, .context = r};
    tc_status status =
        tc_offline_run_stored(&r->offline, r->stored.ordered, TC_TIME_NONE, &watch, &err);
    if (status != TC_OK && err.message[0] != '\0') {
        tc_say("detect", "%s%s", err.message, status == TC_E_LIMIT ? "; give --since" : "");
    }
    tc_ordered_counts(r->stored.ordered, &counts);
    if (counts.unread + counts.damaged > 0) {
        tc_say("detect",
               "%llu batches could not be read to their end, and %llu places of the store are "
               "damaged: tracecore evidence verify tells more",
               (unsigned long long)counts.unread, (unsigned long long)counts.damaged);
        r->reading.failed = true;
    }
    return status;
}

static tc_status analyse(struct run *r)
{
    struct tc_inputs *in = &r->reading.inputs;
    struct tc_offline_watch watch = {on_error, on_progress, on_again, r};
    tc_progress_init(&r->progress, !r->quiet, in->count, in->total_bytes);
    tc_status status =
        tc_offline_run(&r->offline, in, &r->reading.hints, r->reading.memory_bytes, &watch);
    tc_progress_clear(&r->progress);
    return status;
}

/* Events without a date or a node join nothing: say how to give them one. */
static void warn_incomplete(const struct run *r)
{
    for (size_t i = 0; i < r->offline.source_count; i++) {
        const struct tc_source_stream *s = &r->offline.sources[i];
        const struct tc_input *in = s->input;
        struct tc_slice base = tc_path_base(tc_slice_cstr(in->path));
        if (s->nodeless > 0 && tc_nodes_takes_one(in)) {
            tc_say_plain("%s: %llu event%s no node; give --node NAME=%.*s", in->path,
                         (unsigned long long)s->nodeless, s->nodeless == 1 ? " names" : "s name",
                         TC_FMT(base));
        }
        if (s->timeless > 0) {
            tc_say_plain("%s: %llu event%s no time: taken in the order of the lines", in->path,
                         (unsigned long long)s->timeless, s->timeless == 1 ? " has" : "s have");
        }
        if (s->since_boot > 0) {
            tc_say_plain("%s: %llu event%s only a time since boot; give --boot-time %.*s=TIME",
                         in->path, (unsigned long long)s->since_boot,
                         s->since_boot == 1 ? " has" : "s have",
                         TC_FMT(in->node.len > 0 ? in->node : base));
        }
    }
}

static struct tc_arg counted(uint64_t count, const char *noun)
{
    return tc_as_count((int64_t)count, noun);
}

/* What of the input was not used, and why. */
static void put_unused(struct tc_buf *b, const struct run *r, const struct tc_engine_counts *counts)
{
    size_t count = 0;
    uint64_t late = 0;
    bool any_full = false;
    const struct tc_detector *const *all = tc_detectors(&count);
    for (size_t i = 0; i < count; i++) {
        struct tc_detector_stats stats;
        tc_engine_detector_stats(r->offline.engine, i, &stats);
        late += stats.late;
        if (stats.dropped > 0) {
            (void)tc_format(b, "; {} dropped {} from its full window", all[i]->name,
                            counted(stats.dropped, "record"));
            any_full = true;
        }
    }
    if (any_full && r->offline.gpus < TC_ENGINE_GPUS_MAX) {
        tc_buf_str(b, TC_LIT("; --gpus makes room for more"));
    }
    late = late < counts->late ? late : counts->late; /* two patterns may miss the same event */
    if (late > 0) {
        (void)tc_format(b, "; {} came too late: sort the input by time", counted(late, "event"));
    }
    if (r->offline.copies > 0) {
        (void)tc_format(b, "; {} {} in two files", counted(r->offline.copies, "event"),
                        r->offline.copies == 1 ? "is" : "are");
    }
    if (counts->misdated > 0) {
        (void)tc_format(b, "; {} {} dated before 1970 or after 2200",
                        counted(counts->misdated, "event"), counts->misdated == 1 ? "is" : "are");
    }
}

/* Counts are of stories; what filters hide is said. */
static void put_found(struct tc_buf *b, const struct tc_stories *found)
{
    bool one = found->total == 1;
    (void)tc_format(b, ", {} {}", found->total, one ? "story" : "stories");
    if (found->count < found->total) {
        (void)tc_format(b, ", {} shown", found->count);
    }
    if (found->verdict_count > found->count) {
        (void)tc_format(b, " ({})", counted(found->verdict_count, "verdict"));
    }
}

static void summarise(const struct run *r, const struct tc_stories *found)
{
    char text[1024];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_engine_counts counts;
    const struct tc_inputs *in = &r->reading.inputs;
    const char *hint = r->reading.verbose ? "" : ": use -v";
    tc_engine_counts(r->offline.engine, &counts);
    struct tc_ordered_counts stored = {0};
    if (r->data_dir != NULL) {
        tc_ordered_counts(r->stored.ordered, &stored);
    }
    (void)tc_format(&b, "{}, {}",
                    r->data_dir != NULL ? counted(stored.batches, "batch")
                                        : counted(in->files, "file"),
                    counted(counts.events, "event"));
    if (r->offline.first_ns != TC_TIME_NONE) {
        (void)tc_format(&b, " from {} to {}",
                        tc_as_time(r->offline.first_ns - r->offline.first_ns % TC_SECOND),
                        tc_as_time(r->offline.last_ns - r->offline.last_ns % TC_SECOND));
    }
    put_found(&b, found);
    put_unused(&b, r, &counts);
    if (in->skipped > 0) {
        (void)tc_format(&b, "; {} {} not read{}", in->skipped,
                        in->skipped == 1 ? "link, pipe or socket" : "links, pipes or sockets",
                        hint);
    }
    if (in->unrecognised > 0) {
        (void)tc_format(&b, "; {} not recognised{}", counted(in->unrecognised, "file"), hint);
    }
    tc_say("detect", "%.*s", TC_FMT(tc_buf_slice(&b)));
}

/* What a duration in --since counts back from. */
static int64_t end_of_data(const struct run *r)
{
    int64_t now_ns = r->reading.hints.now_ns;
    now_ns = now_ns != TC_TIME_NONE ? now_ns : r->offline.last_ns;
    return tc_time_is_date(now_ns) ? now_ns : 0; /* nothing has a date: all of it is shown */
}

/* Links the verdicts and prints their stories. TC_OK, or why it is not whole; that was said. */
static tc_status report(struct run *r, struct tc_stories *stories, struct tc_output *out)
{
    struct tc_sources sources =
        r->data_dir != NULL ? tc_stored_sources(&r->stored) : tc_inputs_sources(&r->reading.inputs);
    struct tc_story_filter filter;
    struct tc_incident_table *kept = tc_story_verdicts(r->offline.story);
    tc_offenders_configure(tc_story_offenders(r->offline.story), &r->offenders);
    tc_status linked =
        tc_story_link(r->offline.story, tc_engine_directory(r->offline.engine), NULL);
    if (linked != TC_OK) {
        tc_say("detect", "no memory to join the verdicts; each stands alone");
    }
    if (!tc_story_filter_of(&r->story, end_of_data(r), &filter)) {
        return TC_E_USAGE;
    }
    tc_status status = tc_stories_init(stories, kept, &filter);
    if (status == TC_OK) {
        status = tc_report(kept, stories, &sources, &r->story.style, out);
    }
    if (status == TC_E_NOMEM) {
        tc_say("detect", "no memory for the report");
    }
    return linked != TC_OK ? linked : status;
}

static int finish(struct run *r, tc_status status)
{
    struct tc_output out;
    struct tc_stories stories = {0};
    if (status != TC_OK) {
        tc_say("detect", "stopped early: %s", tc_status_text(status));
    }
    tc_output_init(&out, STDOUT_FILENO);
    const struct tc_incident_table *kept = tc_story_verdicts(r->offline.story);
    tc_status reported = report(r, &stories, &out);
    tc_reading_end(&r->reading);
    bool bad = r->reading.failed || status != TC_OK || reported != TC_OK;
    int found = stories.count > 0 ? TC_EXIT_FOUND : TC_EXIT_OK;
    int code = tc_output_end(&out, "detect", bad ? TC_EXIT_BAD : found);
    warn_incomplete(r);
    if (kept->left_out > 0) {
        tc_say("detect", "%llu more verdicts were left out: only %d incidents are held",
               (unsigned long long)kept->left_out, TC_INCIDENT_TABLE_MAX);
    }
    if (!r->quiet) {
        summarise(r, &stories);
    }
    tc_stories_fini(&stories);
    return code;
}

static int list_patterns(const struct run *r)
{
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    tc_patterns_list(&out, r->offline.engine, r->story.style.json);
    return tc_output_end(&out, "detect", TC_EXIT_OK);
}

static int run_stored(struct run *r)
{
    struct tc_story_filter filter;
    int64_t now_ns = r->reading.hints.now_ns;
    now_ns = now_ns != TC_TIME_NONE ? now_ns : tc_wall_ns();
    if (!tc_story_filter_of(&r->story, now_ns, &filter) || need_engine(r) != TC_OK) {
        return TC_EXIT_BAD;
    }
    bool all = r->story.since == NULL;
    if (!tc_stored_open(&r->stored, "detect", r->data_dir, all ? TC_TIME_NONE : filter.since_ns,
                        r->reading.memory_bytes)) {
        return TC_EXIT_BAD;
    }
    return finish(r, analyse_stored(r));
}

static int run_command(struct run *r, int argc, char **argv)
{
    int code = tc_options_read(&tc_command_detect, argc, argv, r);
    if (code != TC_GO_ON) {
        return code;
    }
    if (r->list) {
        return list_patterns(r);
    }
    if (r->data_dir != NULL) {
        return optind == argc
                   ? run_stored(r)
                   : tc_command_refuse(&tc_command_detect, "with --data-dir it takes no files");
    }
    if (optind == argc) {
        tc_say("detect", "nothing to read; give files or directories, or - for standard input, or "
                         "--data-dir for what a daemon has stored");
        return tc_command_misused(&tc_command_detect);
    }
    struct tc_story_filter unused; /* what is wrong with it is to be said before all is read */
    if (!tc_story_filter_of(&r->story, 0, &unused) || need_engine(r) != TC_OK ||
        tc_reading_open(&r->reading, argv + optind, (size_t)(argc - optind)) != TC_OK) {
        return TC_EXIT_BAD;
    }
    return finish(r, analyse(r));
}

static int run(int argc, char **argv)
{
    struct run r = {.offenders = TC_OFFENDER_CONFIG_DEFAULT};
    tc_story_args_init(&r.story, "detect");
    if (tc_reading_init(&r.reading, "detect", argc) != TC_OK) {
        return TC_EXIT_BAD;
    }
    /* Events that are alike but for their place are taken in the order of the inputs. */
    r.reading.by_path = true;
    r.reading.hints.assume_boot = true;
    int code = run_command(&r, argc, argv);
    tc_offline_fini(&r.offline);
    tc_stored_close(&r.stored);
    tc_grow_fini(&r.xids);
    tc_reading_fini(&r.reading);
    return code;
}

const struct tc_command tc_command_detect = {
    .name = "detect",
    .summary = "say what went wrong, from recorded telemetry",
    .usage = "usage: tracecore detect [OPTIONS] PATH...\n"
             "       tracecore detect [OPTIONS] --data-dir DIR\n"
             "\n"
             "Reads files, recognises the format of each, and prints what went wrong as\n"
             "stories: what is broken and where, what to do, why, what followed from it, and\n"
             "the commands that print the evidence. Several stories begin with an overview:\n"
             "open before resolved, critical first.\n"
             "\n"
             "These can be mixed; their events are put in order of time first:\n"
             "  NCCL Flight Recorder dumps (pickle, JSON), reports of ncclras\n"
             "  kernel logs: dmesg, /dev/kmsg, syslog, journalctl\n"
             "  Kubernetes objects and events: kubectl get -o json or yaml\n"
             "  scrapes of exporters: Prometheus text, OpenMetrics, promtool tsdb dump\n"
             "  OpenTelemetry logs and metrics: OTLP as JSON\n"
             "  logs of training programs\n"
             "  tables of where ranks run, and tracecore's own events\n"
             "\n"
             "PATH is a file, a directory (read with all below it, but for hidden files) or -\n"
             "for standard input. Dumps of one directory are one job, named after it.\n"
             "Archives and compressed files are read as the files that are in them.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .shared = tc_reading_options,
    .shared_count = TC_READING_OPTION_COUNT,
    .notes = "Exit status:\n"
             "  0  nothing was found\n"
             "  1  there are stories\n"
             "  2  wrong usage, nothing was read, or some input could not be read; stories\n"
             "     from the rest are printed all the same\n"
             "\n"
             "Examples:\n"
             "  tracecore detect /shared/fr-dumps dmesg-gpu-07.txt events.json\n"
             "  tracecore detect --brief --since 2h /var/log/incident\n"
             "  tracecore detect --node gpu-07 --job llama-pretrain logs\n"
             "  tracecore detect --map ranks.csv dumps dmesg-gpu-07.txt dcgm-gpu-07.prom\n"
             "  tracecore detect --scrape-interval 30s scrapes\n"
             "  dmesg | tracecore detect --node gpu-07=- --boot-time 2026-11-15T02:00:00Z -\n"
             "  tracecore detect --json logs | jq -r .headline\n"
             "  tracecore detect --data-dir /var/lib/tracecore --since 6h\n"
             "  tracecore detect --only nccl_hang --set nccl_hang.threshold=60s dumps\n",
    .run = run,
};
