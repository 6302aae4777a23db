/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reading.h"

#include "base/format.h"
#include "base/limits.h"
#include "base/units.h"
#include "cli/output/say.h"
#include "codec/codec.h"
#include "intake/stream.h"

#include <string.h>
#include <unistd.h>

/* A quarter of the machine, but this at least. */
#define MEMORY_LEAST ((size_t)1 << 30)
/* Less does not hold one batch of events. */
#define MEMORY_MIN ((size_t)1 << 20)
/* Of a map: mistakes that are shown, and how much of the text at each. */
#define MAP_MISTAKES_SHOWN 50
#define MAP_QUOTE_MAX 60
/* Of paths that gave nothing, so many are named. */
#define PATHS_SHOWN 4
#define PATHS_SHOWN_MAX 2048

static size_t memory_default(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long size = sysconf(_SC_PAGESIZE);
    size_t quarter = pages > 0 && size > 0 ? (size_t)pages / 4 * (size_t)size : 0;
    return quarter > MEMORY_LEAST ? quarter : MEMORY_LEAST;
}

tc_status tc_reading_init(struct tc_reading *r, const char *command, int argc)
{
    *r = (struct tc_reading){.command = command, .memory_bytes = memory_default()};
    if (tc_hints_init(&r->hints, argc) != TC_OK) {
        tc_hints_fini(&r->hints);
        tc_say(command, "no memory for its options");
        return TC_E_NOMEM;
    }
    return TC_OK;
}

void tc_reading_fini(struct tc_reading *r)
{
    tc_inputs_close(&r->inputs);
    tc_hints_fini(&r->hints);
}

static int take_format(void *args, const struct tc_option *option, const char *value)
{
    struct tc_reading *r = args;
    (void)option;
    r->codec = tc_codec_by_name(tc_slice_cstr(value));
    if (r->codec != NULL) {
        return TC_GO_ON;
    }
    char names[256];
    struct tc_buf b = tc_buf_make(names, sizeof names);
    tc_codec_list_names(&b, TC_LIT(", "));
    tc_say(r->command, "--format: \"%s\" is not a format we read; known: %.*s", value,
           TC_FMT(tc_buf_slice(&b)));
    return TC_EXIT_BAD;
}

int tc_reading_take_node(void *args, const struct tc_option *option, const char *value)
{
    struct tc_reading *r = args;
    (void)option;
    r->hints.node_texts[r->hints.node_count++] = value;
    return TC_GO_ON;
}

static int take_boot_time(void *args, const struct tc_option *option, const char *value)
{
    struct tc_reading *r = args;
    (void)option;
    r->hints.boot_texts[r->hints.boot_count++] = value;
    return TC_GO_ON;
}

static int take_map(void *args, const struct tc_option *option, const char *value)
{
    struct tc_reading *r = args;
    (void)option;
    if (r->map_path != NULL) {
        tc_say(r->command, "--map: given twice; put both maps into one file");
        return TC_EXIT_BAD;
    }
    r->map_path = value;
    return TC_GO_ON;
}

static int take_memory(void *args, const struct tc_option *option, const char *value)
{
    struct tc_reading *r = args;
    (void)option;
    if (!tc_size_parse(tc_slice_cstr(value), TC_SIZE_LOOSE, &r->memory_bytes) ||
        r->memory_bytes < MEMORY_MIN) {
        tc_say(r->command, "--memory: \"%s\" is not a size of 1M or more; write it as 512M", value);
        return TC_EXIT_BAD;
    }
    return TC_GO_ON;
}

const struct tc_option tc_reading_options[TC_READING_OPTION_COUNT] = {
    TC_TAKEN("format", "NAME", take_format,
             "Read every file as this format. By default the content of each file tells.",
             .letter = 'f', .values = TC_VALUES_FORMATS),
    TC_TAKEN("map", "FILE", take_map,
             "Where each rank runs, when the data does not say. A table with columns such as rank, "
             "node, gpu, gpu_uuid, pci, pod, namespace and job, JSON, or a hostfile."),
    TC_TAKEN("boot-time", "[WHO=]TIME", take_boot_time,
             "When the node booted, for kernel logs that only count the time since: RFC 3339, for "
             "all files or for the file or node WHO. May be repeated."),
    TC_TEXT("now", "TIME", struct tc_reading, hints.now_text,
            "When the inputs were taken: gives dates without a year theirs, dates a scrape that "
            "says no time, and says how long what is still stuck has been. By default each file's "
            "modification time gives the year."),
    TC_TEXT("tz", "+HH:MM", struct tc_reading, hints.tz_text,
            "Zone of dates that name none. By default UTC."),
    TC_TEXT("scrape-interval", "DURATION", struct tc_reading, hints.interval_text,
            "Scrapes of metrics that say no time, in themselves or in their names, were taken so "
            "far apart, in the order of their names. By default 15s, and only where their "
            "modification times do not tell."),
    TC_TAKEN("memory", "SIZE", take_memory,
             "Memory for events that are held at once, such as 512M or 4G. By default a quarter of "
             "the machine's, 1G at least."),
    TC_FLAG("verbose", struct tc_reading, verbose,
            "Say what each file is, and which were left out.", .letter = 'v'),
};

/* What is wrong with a map: every mistake is shown, up to a bound. */
struct map_check {
    uint64_t mistakes;
};

static tc_status on_map_mistake(void *context, const struct tc_input *input, uint64_t offset,
                                size_t length, const char *why)
{
    struct map_check *check = context;
    if (check->mistakes++ >= MAP_MISTAKES_SHOWN) {
        return TC_OK;
    }
    size_t at = (size_t)offset;
    size_t start = at;
    while (start > 0 && input->bytes.ptr[start - 1] != '\n') {
        start--;
    }
    char text[MAP_QUOTE_MAX * 4];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_slice rest = tc_slice_head(tc_slice_from(input->bytes, at), length);
    tc_buf_printable(&b, tc_slice_head(tc_slice_trim(rest), MAP_QUOTE_MAX));
    tc_say_plain("%s: line %llu, column %zu: %s: \"%.*s\"", input->path,
                 (unsigned long long)tc_input_line(input, at), at - start + 1, why,
                 TC_FMT(tc_buf_slice(&b)));
    return TC_OK;
}

/* Told when it cannot be read at all; mistakes were told one by one. */
static void on_map_error(void *context, const struct tc_input *input, const struct tc_error *err)
{
    struct map_check *check = context;
    if (check->mistakes == 0) {
        check->mistakes++;
        tc_reading_say_error(input, err);
    }
}

/* Reads the map once to see whether all of it is right. */
static tc_status check_map(struct tc_reading *r, struct tc_input *map)
{
    struct map_check check = {0};
    struct tc_stream_pool pool;
    struct tc_source_stream stream;
    const struct tc_event *ev = NULL;
    uint64_t ranks = 0;
    tc_stream_pool_init(&pool, r->memory_bytes, 0);
    pool.unknown = on_map_mistake;
    pool.error = on_map_error;
    pool.context = &check;
    tc_source_stream_init(&stream, &pool, map, 0);
    tc_status status = tc_source_stream_next(&stream, &ev);
    while (status == TC_OK && ev != NULL) {
        ranks++;
        status = tc_source_stream_next(&stream, &ev);
    }
    tc_source_stream_fini(&stream);
    tc_stream_pool_fini(&pool);
    if (status != TC_OK) {
        return status;
    }
    if (check.mistakes > MAP_MISTAKES_SHOWN) {
        tc_say_plain("%s: and %llu mistakes more", map->path,
                     (unsigned long long)(check.mistakes - MAP_MISTAKES_SHOWN));
    }
    if (check.mistakes > 0 || ranks == 0) {
        tc_say(r->command,
               "--map %s: %s; write a header such as rank,node,gpu and a line per rank, or a "
               "hostfile with lines such as gpu-07 slots=8",
               map->path, check.mistakes > 0 ? "not a map of ranks" : "it names no rank");
        return TC_E_USAGE;
    }
    return TC_OK;
}

static tc_status add_map(struct tc_reading *r)
{
    struct tc_error err;
    struct tc_inputs_want want = {
        .command = r->command, .say = tc_say_plain, .verbose = r->verbose};
    want.codec = tc_codec_by_name(TC_LIT("rank_map"));
    if (tc_inputs_add(&r->inputs, r->map_path, &want, &err) != TC_OK) {
        tc_say(r->command, "--map %s: %s", r->map_path, err.message);
        return TC_E_USAGE;
    }
    return check_map(r, &r->inputs.items[r->inputs.count - 1]);
}

static tc_status open_inputs(struct tc_reading *r, char *const *paths, size_t path_count)
{
    struct tc_inputs_want want = {r->command, tc_say_plain, r->codec, r->verbose, r->by_path};
    if (tc_inputs_open(&r->inputs, paths, path_count, &want) != TC_OK) {
        tc_say(r->command, "no memory for the list of files");
        return TC_E_NOMEM;
    }
    tc_say_left_out(r->command, r->inputs.left_out, TC_INPUTS_MAX);
    return TC_OK;
}

/* What was tried, and what would have helped. */
static void say_nothing_read(const struct tc_reading *r, char *const *paths, size_t path_count)
{
    char text[PATHS_SHOWN_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    const struct tc_inputs *in = &r->inputs;
    for (size_t i = 0; i < path_count && i < PATHS_SHOWN; i++) {
        (void)tc_format(&b, "{}{}", i == 0 ? "" : ", ", paths[i]);
    }
    (void)tc_format(
        &b, "{}",
        tc_when(path_count > PATHS_SHOWN, " and {} more paths", path_count - PATHS_SHOWN));
    (void)tc_format(&b, "{}",
                    in->unrecognised > 0 ? tc_when(true, ", but {} of no known format",
                                                   tc_as_count((int64_t)in->unrecognised, "file"))
                                         : TC_ARG(in->failed ? "" : ": no files there"));
    tc_say(r->command,
           "nothing was read: tried %.*s; give kernel logs (dmesg, journalctl -k), Flight Recorder "
           "dumps, scrapes of metrics, or events and pods of kubectl get -o json",
           TC_FMT(tc_buf_slice(&b)));
}

tc_status tc_reading_open(struct tc_reading *r, char *const *paths, size_t path_count)
{
    struct tc_error err;
    tc_status status = tc_hints_read(&r->hints, &err);
    if (status == TC_OK) {
        TC_TRY(open_inputs(r, paths, path_count));
        r->failed = r->inputs.failed;
        if (r->map_path != NULL && (r->inputs.count > 0 || path_count == 0)) {
            TC_TRY(add_map(r));
        }
        r->inputs.say = tc_say_plain;
        status = tc_hints_apply(&r->hints, &r->inputs, &err);
    }
    if (status != TC_OK) {
        tc_say(r->command, "%s", err.message);
    } else if (r->inputs.count == 0) {
        say_nothing_read(r, paths, path_count);
        r->failed = true;
    }
    return status;
}

void tc_reading_end(struct tc_reading *r)
{
    for (size_t i = 0; i < r->inputs.count; i++) {
        r->failed = tc_input_tell_shrunk(&r->inputs.items[i], tc_say_plain) || r->failed;
    }
    for (size_t i = 0; i < r->hints.boots_count; i++) {
        const struct tc_hint_boot *boot = &r->hints.boots[i];
        if (!boot->used) {
            tc_say(r->command,
                   "--boot-time %.*s=... was not used: no input is called so, and no "
                   "event that needs it names this node",
                   TC_FMT(boot->who));
        }
    }
}

void tc_reading_say_error(const struct tc_input *input, const struct tc_error *err)
{
    const char *message = err->message[0] == '\0' ? tc_status_text(err->status) : err->message;
    bool has_line = strncmp(message, "line ", 5) == 0;
    if (!has_line && tc_input_is_text(input)) {
        tc_say_plain("%s: line %llu, at byte %zu: %s", input->path,
                     (unsigned long long)tc_input_line(input, err->offset), err->offset, message);
    } else {
        tc_say_plain("%s: at byte %zu: %s", input->path, err->offset, message);
    }
}
