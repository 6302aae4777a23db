/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order_replay PATTERN [CASE]: the cases of tests/replay/PATTERN, their events in many orders. The
 * files of a case are read as `tracecore detect` reads them, once; every order must give the bytes
 * of expected.ndjson.
 */
#include "base/arena.h"
#include "cli/command.h"
#include "cli/reading.h"
#include "engine/engine.h"
#include "intake/stream.h"
#include "support/order.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHUFFLES 1000 /* of a pattern, over the cases that say something */
#define SHUFFLES_QUIET 12
#define CHAIN "fires_chain_of_four_files" /* the story of stories has as many for itself */
#define ARGS_MAX 16
#define ARENA_BYTES ((size_t)16 << 20)
#define GOLDEN_BYTES TC_ORDER_OUT_BYTES

struct replay {
    struct tc_order order;
    struct tc_reading reading;
    struct tc_arena arena;
    bool only;
};

static struct tc_event events[TC_ORDER_EVENTS_MAX];
static char golden[GOLDEN_BYTES];
static size_t golden_len;
static char args_text[4096];

const char *__asan_default_options(void);
/* Windows are 500 MiB of address space: to mark what is free in them would take most of the time.
 * Every other test has the marks. */
const char *__asan_default_options(void)
{
    return "allow_user_poisoning=0:poison_heap=0";
}

static void need(bool ok, const char *what, const char *name)
{
    if (!ok) {
        (void)fprintf(stderr, "order_replay: %s: %s\n", name, what);
        exit(2);
    }
}

static size_t read_all(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return 0;
    }
    size_t len = fread(out, 1, size, f);
    (void)fclose(f);
    return len;
}

static void enable_only(struct replay *r, struct tc_slice names)
{
    struct tc_error err = {0};
    if (!r->only) {
        need(tc_engine_enable(r->order.engine, TC_LIT("all"), false, &err) == TC_OK, err.message,
             "--only");
        r->only = true;
    }
    while (names.len > 0) {
        struct tc_slice name = tc_slice_cut(names, ',', &names);
        need(tc_engine_enable(r->order.engine, name, true, &err) == TC_OK, err.message, "--only");
    }
}

static void take_option(struct replay *r, const char *name, const char *value)
{
    struct tc_error err = {0};
    static const struct {
        const char *name;
        enum tc_reading_option option;
    } reading[] = {
        {"map", TC_READ_MAP},      {"node", TC_READ_NODE}, {"boot-time", TC_READ_BOOT_TIME},
        {"now", TC_READ_NOW},      {"tz", TC_READ_TZ},     {"scrape-interval", TC_READ_INTERVAL},
        {"format", TC_READ_FORMAT}};
    if (strcmp(name, "only") == 0) {
        enable_only(r, tc_slice_cstr(value));
        return;
    }
    if (strcmp(name, "set") == 0) {
        need(tc_engine_set(r->order.engine, tc_slice_cstr(value), &err) == TC_OK, err.message,
             value);
        return;
    }
    for (size_t i = 0; i < sizeof reading / sizeof reading[0]; i++) {
        if (strcmp(name, reading[i].name) == 0) {
            need(tc_reading_option(&r->reading, reading[i].option, value) == TC_OK, "bad", name);
            return;
        }
    }
    need(false, "an option this test does not know", name);
}

/* The lines of the file args, and the input. */
static void open_case(struct replay *r, const char *name)
{
    static char command[] = "detect";
    static char input[] = "input";
    char *argv[ARGS_MAX + 3] = {command};
    int argc = 1;
    args_text[read_all("args", args_text, sizeof args_text - 1)] = '\0';
    for (char *save = NULL, *line = strtok_r(args_text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        need(argc < ARGS_MAX, "too many arguments", name);
        argv[argc++] = line;
    }
    argv[argc++] = input;
    need(tc_reading_init(&r->reading, "detect", argc) == TC_OK, "no memory", name);
    r->reading.by_path = true;
    r->reading.hints.assume_boot = true;
    struct tc_option_walk walk;
    const char *value = NULL;
    tc_option_walk_init(&walk, &tc_command_detect, argc, argv);
    for (int option; (option = tc_option_next(&walk, &value)) != TC_OPTION_END;) {
        need(option >= 0, "an option that detect does not know", name);
        take_option(r, tc_command_detect.options[option].name, value);
    }
    need(tc_reading_open(&r->reading, argv + optind, (size_t)(argc - optind)) == TC_OK,
         "unreadable", name);
    r->order.now_ns = r->reading.hints.now_ns;
}

static void read_events(struct replay *r, const char *name)
{
    struct tc_inputs *in = &r->reading.inputs;
    struct tc_stream_pool pool;
    tc_stream_pool_init(&pool, r->reading.memory_bytes, in->count);
    pool.hints = &r->reading.hints;
    pool.utc_offset_s = r->reading.hints.utc_offset_s;
    r->order.events = events;
    r->order.last_ns = tc_stream_last_time(&pool, in->items, in->count);
    for (size_t i = 0; i < in->count; i++) {
        struct tc_source_stream stream;
        const struct tc_event *ev = NULL;
        tc_source_stream_init(&stream, &pool, &in->items[i], (uint32_t)i);
        while (tc_source_stream_next(&stream, &ev) == TC_OK && ev != NULL) {
            need(r->order.count < TC_ORDER_EVENTS_MAX, "too many events", name);
            events[r->order.count] = *ev;
            need(tc_event_own(&events[r->order.count++], &r->arena), "too much text", name);
        }
        tc_source_stream_fini(&stream);
    }
    tc_stream_pool_fini(&pool);
}

static unsigned shuffle_case(const char *name, unsigned shuffles)
{
    static struct replay r;
    unsigned failed = 0;
    unsigned char *block = calloc(1, ARENA_BYTES);
    need(block != NULL, "no memory", name);
    r = (struct replay){0};
    tc_order_init(&r.order);
    tc_arena_init_zeroed(&r.arena, "events", block, ARENA_BYTES);
    r.order.name = name;
    open_case(&r, name);
    struct tc_sources sources = tc_inputs_sources(&r.reading.inputs);
    r.order.sources = &sources;
    read_events(&r, name);
    for (uint32_t i = 0; i < r.reading.inputs.count; i++) {
        struct tc_source_view view; /* digests are made here, once */
        (void)sources.view(sources.context, i, &view);
    }
    struct tc_slice told = tc_order_expect(&r.order);
    if (!tc_slice_eq(told, tc_slice_make(golden, golden_len))) {
        (void)fprintf(stderr, "%s: in canonical order it is not as in expected.ndjson:\n%.*s\n",
                      name, TC_FMT(told));
        failed++;
    }
    for (unsigned i = 0; i < shuffles; i++) {
        if (!tc_order_holds(&r.order, (enum tc_order_kind)(i % TC_ORDER_KINDS), i)) {
            failed++;
            r.order.quiet = failed >= TC_ORDER_KINDS;
        }
    }
    tc_reading_fini(&r.reading);
    tc_order_fini(&r.order);
    tc_arena_fini(&r.arena);
    free(block);
    return failed;
}

static int is_case(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strchr(entry->d_name, '_') != NULL &&
           strcmp(entry->d_name, "__pycache__") != 0;
}

int main(int argc, char **argv)
{
    const char *root = getenv("TC_SOURCE_DIR");
    char path[1024];
    struct dirent **names = NULL;
    unsigned loud = 0;
    unsigned done = 0;
    unsigned failed = 0;
    need(argc >= 2, "usage: order_replay PATTERN [CASE]", "");
    (void)snprintf(path, sizeof path, "%s/tests/replay/%s", root == NULL ? "." : root, argv[1]);
    int count = scandir(path, &names, is_case, alphasort);
    need(count > 0 && chdir(path) == 0, "no cases", path);
    for (int i = 0; i < count; i++) {
        struct stat st;
        (void)snprintf(path, sizeof path, "%s/expected.ndjson", names[i]->d_name);
        loud += stat(path, &st) == 0 && st.st_size > 0;
    }
    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;
        if (argc < 3 || strcmp(argv[2], name) == 0) {
            need(chdir(name) == 0, "cannot go there", name);
            golden_len = read_all("expected.ndjson", golden, sizeof golden);
            unsigned shuffles = golden_len == 0 ? SHUFFLES_QUIET : SHUFFLES / loud + 1;
            shuffles = strcmp(name, CHAIN) == 0 ? SHUFFLES : shuffles;
            unsigned bad = shuffle_case(name, shuffles);
            (void)printf("%s: %u shuffles, %u differ\n", name, shuffles, bad);
            done += golden_len == 0 ? 0 : shuffles;
            failed += bad;
            need(chdir("..") == 0, "cannot go back", name);
        }
        free(names[i]);
    }
    free(names);
    (void)printf("%u shuffles of what fires, %u failures\n", done, failed);
    return failed == 0 ? 0 : 1;
}
