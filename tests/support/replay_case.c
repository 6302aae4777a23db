/* SPDX-License-Identifier: Apache-2.0 */
#include "support/replay_case.h"

#include "cli/command.h"
#include "intake/inputs.h"
#include "intake/stream.h"
#include "support/event_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARGS_MAX 16
#define ARENA_BYTES ((size_t)16 << 20)

static void need(bool ok, const char *what, const char *name)
{
    if (!ok) {
        (void)fprintf(stderr, "replay case: %s: %s\n", name, what);
        exit(2);
    }
}

size_t tc_replay_case_file(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return 0;
    }
    size_t len = fread(out, 1, size, f);
    (void)fclose(f);
    return len;
}

static void enable(const struct tc_replay_case *r, struct tc_slice name, bool on)
{
    struct tc_error err = {0};
    for (size_t i = 0; i < r->engine_count; i++) {
        need(tc_engine_enable(r->engines[i], name, on, &err) == TC_OK, err.message, "--only");
    }
}

static void enable_only(struct tc_replay_case *r, struct tc_slice names)
{
    if (!r->only) {
        enable(r, TC_LIT("all"), false);
        r->only = true;
    }
    while (names.len > 0) {
        enable(r, tc_slice_cut(names, ',', &names), true);
    }
}

static void take_option(struct tc_replay_case *r, const struct tc_option *option, const char *value)
{
    struct tc_error err = {0};
    if (strcmp(option->name, "only") == 0) {
        enable_only(r, tc_slice_cstr(value));
        return;
    }
    if (strcmp(option->name, "set") == 0) {
        for (size_t i = 0; i < r->engine_count; i++) {
            need(tc_engine_set(r->engines[i], tc_slice_cstr(value), &err) == TC_OK, err.message,
                 value);
        }
        return;
    }
    if (strcmp(option->name, "node") == 0) { /* NAME=FILE; a case filters nothing */
        need(tc_reading_take_node(&r->reading, option, value) == TC_GO_ON, "bad", value);
        return;
    }
    need(option >= tc_reading_options && option < tc_reading_options + TC_READING_OPTION_COUNT,
         "an option this test does not know", option->name);
    need(tc_option_take(option, &r->reading, value) == TC_GO_ON, "bad", option->name);
}

/* The lines of the file args, and the input. */
static void open_inputs(struct tc_replay_case *r)
{
    static char command[] = "detect";
    static char input[] = "input";
    char *argv[ARGS_MAX + 3] = {command};
    int argc = 1;
    r->args[tc_replay_case_file("args", r->args, sizeof r->args - 1)] = '\0';
    for (char *save = NULL, *line = strtok_r(r->args, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        need(argc < ARGS_MAX, "too many arguments", r->name);
        argv[argc++] = line;
    }
    argv[argc++] = input;
    need(tc_reading_init(&r->reading, "detect", argc) == TC_OK, "no memory", r->name);
    r->reading.by_path = true;
    r->reading.hints.assume_boot = true;
    struct tc_option_walk walk;
    const char *value = NULL;
    tc_option_walk_init(&walk, &tc_command_detect, argc, argv);
    for (int option; (option = tc_option_next(&walk, &value)) != TC_OPTION_END;) {
        need(option >= 0, "an option that detect does not know", r->name);
        take_option(r, tc_command_option(&tc_command_detect, (size_t)option), value);
    }
    need(tc_reading_open(&r->reading, argv + optind, (size_t)(argc - optind)) == TC_OK,
         "unreadable", r->name);
}

static void read_events(struct tc_replay_case *r, size_t max)
{
    struct tc_inputs *in = &r->reading.inputs;
    struct tc_stream_pool pool;
    tc_stream_pool_init(&pool, r->reading.memory_bytes, in->count);
    pool.hints = &r->reading.hints;
    pool.utc_offset_s = r->reading.hints.utc_offset_s;
    r->last_ns = tc_stream_last_time(&pool, in->items, in->count);
    for (size_t i = 0; i < in->count; i++) {
        struct tc_source_stream stream;
        const struct tc_event *ev = NULL;
        tc_source_stream_init(&stream, &pool, &in->items[i], tc_inputs_source(in, i));
        while (tc_source_stream_next(&stream, &ev) == TC_OK && ev != NULL) {
            need(r->count < max, "too many events", r->name);
            r->events[r->count] = *ev;
            need(event_own(&r->events[r->count++], &r->arena), "too much text", r->name);
        }
        tc_source_stream_fini(&stream);
    }
    tc_stream_pool_fini(&pool);
}

void tc_replay_case_open(struct tc_replay_case *r, const char *name, struct tc_event *events,
                         size_t max, struct tc_engine *const *engines, size_t engine_count)
{
    *r = (struct tc_replay_case){
        .name = name, .events = events, .engines = engines, .engine_count = engine_count};
    r->block = calloc(1, ARENA_BYTES);
    need(r->block != NULL, "no memory", name);
    tc_arena_init_zeroed(&r->arena, "events", r->block, ARENA_BYTES);
    open_inputs(r);
    read_events(r, max);
}

void tc_replay_case_close(struct tc_replay_case *r)
{
    tc_reading_fini(&r->reading);
    tc_arena_fini(&r->arena);
    free(r->block);
}

static int is_case(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strchr(entry->d_name, '_') != NULL &&
           strcmp(entry->d_name, "__pycache__") != 0;
}

int tc_replay_case_list(const char *pattern, struct dirent ***out_names)
{
    const char *root = getenv("TC_SOURCE_DIR");
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/tests/replay/%s", root == NULL ? "." : root, pattern);
    int count = scandir(path, out_names, is_case, alphasort);
    need(count > 0 && chdir(path) == 0, "no cases", path);
    return count;
}
