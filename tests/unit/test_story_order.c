/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order does not matter: the events of an incident, dealt out over any number of inputs in any
 * order, give the same bytes. The incidents are the stories of tests/replay, whose events come
 * from five formats; each shuffle deals them anew to one to eight streams, sorts each as an input
 * is sorted, merges, detects, links and renders.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/sort.h"
#include "codec/codec.h"
#include "engine/engine.h"
#include "engine/merge.h"
#include "story/story.h"
#include "verdict/render.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SHUFFLES 1000
#define EVENTS_MAX 4096
#define FILES_MAX 64
#define STREAMS_MAX 8
#define ARENA_BYTES ((size_t)8 << 20)
#define OUT_BYTES ((size_t)1 << 20)

struct incident {
    struct tc_event events[EVENTS_MAX];
    size_t count;
    char *files[FILES_MAX];
    size_t file_count;
    struct tc_arena arena;
    struct tc_arena scratch;
};

static tc_status take(void *context, const struct tc_event *ev)
{
    struct incident *in = context;
    assert_true(in->count < EVENTS_MAX);
    in->events[in->count++] = *ev;
    return TC_OK;
}

static void read_file(struct incident *in, const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *bytes = calloc(1, (size_t)1 << 20);
    assert_non_null(bytes);
    size_t len = fread(bytes, 1, (size_t)1 << 20, f);
    assert_int_equal(fclose(f), 0);
    assert_true(in->file_count < FILES_MAX);
    uint32_t source = (uint32_t)in->file_count;
    in->files[in->file_count++] = bytes;
    struct tc_slice name = tc_slice_cstr(path);
    struct tc_slice content = tc_slice_make(bytes, len);
    const struct tc_codec *codec = tc_codec_recognise(content, name);
    if (codec == NULL) {
        fail_msg("%s: nothing recognises it", path);
    }
    struct tc_codec_input input = {
        .bytes = content,
        .name = tc_arena_copy(&in->arena, name),
        .source = source,
        .node = strcmp(codec->name, "kmsg") == 0 ? TC_LIT("gpu-07") : TC_EMPTY,
        .job = TC_LIT("llama"),
        .boot_ns = TC_TIME_NONE,
        .now_ns = INT64_C(1772600760) * TC_SECOND,
    };
    struct tc_codec_out out = {
        .event = take, .context = in, .arena = &in->arena, .scratch = &in->scratch};
    struct tc_codec_cursor cursor = {0};
    struct tc_error err = {0};
    while (!cursor.done) {
        assert_int_equal(codec->decode(&input, &cursor, &out, &err), TC_OK);
    }
}

static void read_folder(struct incident *in, const char *path)
{
    struct dirent **names = NULL;
    int count = scandir(path, &names, NULL, alphasort);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        char full[1024];
        struct stat st;
        (void)snprintf(full, sizeof full, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && stat(full, &st) == 0) {
            if (S_ISDIR(st.st_mode)) {
                read_folder(in, full);
            } else {
                read_file(in, full);
            }
        }
        free(names[i]);
    }
    free(names);
}

/* ---- one run ---- */

struct deal {
    const void *order[EVENTS_MAX];
    size_t count;
    size_t next;
};

static tc_status next_event(void *context, const struct tc_event **out)
{
    struct deal *d = context;
    *out = d->next < d->count ? d->order[d->next++] : NULL;
    return TC_OK;
}

static int by_order(const void *a, const void *b, void *context)
{
    (void)context;
    return tc_event_order(a, b);
}

struct run {
    struct tc_engine *engine;
    struct tc_story *story;
};

static tc_status feed(void *context, const struct tc_event *ev)
{
    struct run *r = context;
    tc_story_note(r->story, ev);
    return tc_engine_feed(r->engine, ev);
}

static tc_status add(void *context, const struct tc_verdict *v)
{
    struct run *r = context;
    return tc_story_add(r->story, v);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Deals the events to streams; what is the same at the same time may come in any order. */
static size_t deal(const struct incident *in, struct deal *deals, uint64_t *seed)
{
    static const void *shuffled[EVENTS_MAX];
    static const void *scratch[EVENTS_MAX];
    size_t streams = 1 + next_random(seed) % STREAMS_MAX;
    for (size_t i = 0; i < in->count; i++) {
        size_t j = next_random(seed) % (i + 1);
        shuffled[i] = shuffled[j];
        shuffled[j] = &in->events[i];
    }
    for (size_t s = 0; s < streams; s++) {
        deals[s].count = deals[s].next = 0;
    }
    for (size_t i = 0; i < in->count; i++) {
        struct deal *d = &deals[next_random(seed) % streams];
        d->order[d->count++] = shuffled[i];
    }
    for (size_t s = 0; s < streams; s++) {
        tc_sort_ptrs(deals[s].order, scratch, deals[s].count, by_order, NULL);
    }
    return streams;
}

static size_t render(struct run *r, char *out)
{
    struct tc_buf b = tc_buf_make(out, OUT_BYTES);
    assert_int_equal(tc_story_link(r->story), TC_OK);
    const struct tc_kept *kept = tc_story_verdicts(r->story);
    for (size_t i = 0; i < kept->count; i++) {
        tc_verdict_render_json(&b, &kept->items[i].verdict, NULL);
        tc_buf_char(&b, '\n');
        for (size_t k = 0; k < kept->items[i].finding.evidence_count; k++) {
            tc_buf_u64(&b, kept->items[i].finding.evidence[k].raw.source);
            tc_buf_char(&b, ':');
            tc_buf_u64(&b, kept->items[i].finding.evidence[k].raw.offset);
            tc_buf_char(&b, ' ');
        }
    }
    assert_false(b.overflowed);
    return b.len;
}

static size_t run_once(struct run *r, const struct incident *in, uint64_t *seed, char *out)
{
    static struct deal deals[STREAMS_MAX];
    struct tc_stream streams[STREAMS_MAX];
    size_t count = deal(in, deals, seed);
    for (size_t s = 0; s < count; s++) {
        streams[s] = (struct tc_stream){.next = next_event, .context = &deals[s]};
    }
    r->story = tc_story_create();
    assert_non_null(r->story);
    assert_int_equal(tc_engine_reset(r->engine), TC_OK);
    uint64_t copies = 0;
    assert_int_equal(tc_merge(streams, count, feed, r, &copies), TC_OK);
    assert_int_equal(copies, 0);
    assert_int_equal(tc_engine_finish(r->engine, TC_TIME_NONE), TC_OK);
    size_t len = render(r, out);
    tc_story_destroy(r->story);
    return len;
}

static void any_order_gives_the_same_bytes(void **state)
{
    const char *name = *state;
    const char *root = getenv("TC_SOURCE_DIR");
    char path[1024];
    struct incident *in = calloc(1, sizeof *in);
    unsigned char *block = calloc(2, ARENA_BYTES);
    char *first = malloc(OUT_BYTES);
    char *again = malloc(OUT_BYTES);
    assert_true(in != NULL && block != NULL && first != NULL && again != NULL);
    tc_arena_init_zeroed(&in->arena, "events", block, ARENA_BYTES);
    tc_arena_init_zeroed(&in->scratch, "scratch", block + ARENA_BYTES, ARENA_BYTES);
    (void)snprintf(path, sizeof path, "%s/tests/replay/%s/input", root == NULL ? "." : root, name);
    read_folder(in, path);
    (void)snprintf(path, sizeof path, "%s/tests/replay/%s/map.csv", root == NULL ? "." : root,
                   name);
    struct stat st;
    if (stat(path, &st) == 0) {
        read_file(in, path);
    }

    struct run r = {0};
    struct tc_engine_out out = {add, &r};
    struct tc_error err;
    assert_int_equal(tc_engine_create(&out, &r.engine, &err), TC_OK);
    uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);
    size_t len = run_once(&r, in, &seed, first);
    assert_true(len > 0);
    for (unsigned i = 1; i < SHUFFLES; i++) {
        if (run_once(&r, in, &seed, again) != len || memcmp(first, again, len) != 0) {
            fail_msg("%s: shuffle %u differs:\n%.2000s\n%.2000s", name, i, first, again);
        }
    }
    tc_engine_destroy(r.engine);
    tc_arena_fini(&in->arena);
    tc_arena_fini(&in->scratch);
    for (size_t i = 0; i < in->file_count; i++) {
        free(in->files[i]);
    }
    free(in);
    free(block);
    free(first);
    free(again);
}

int main(void)
{
    static char chain[] = "story/fires_chain_of_four_files";
    const struct CMUnitTest tests[] = {
        {.name = "any_order_of_the_chain_gives_the_same_bytes",
         .test_func = any_order_gives_the_same_bytes,
         .initial_state = chain},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
