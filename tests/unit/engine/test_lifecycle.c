/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of incidents, over the recorded cases that end resolved: what is opened is opened
 * once, an update says something new, and the pattern's incident is resolved.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "codec/codec.h"
#include "engine/engine.h"
#include "verdict/render.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 16384
#define FILES_MAX 16
#define FILE_BYTES ((size_t)1 << 20)
#define ARENA_BYTES ((size_t)16 << 20)
#define INCIDENTS_MAX 32
#define TEXT_MAX ((size_t)64 << 10)

struct incident {
    char id[TC_INCIDENT_ID_LEN];
    char pattern[32];
    enum tc_verdict_status status;
    size_t len;
    char text[TEXT_MAX]; /* the last verdict, without its status */
};

struct life {
    struct tc_event events[EVENTS_MAX];
    size_t event_count;
    char *files[FILES_MAX];
    size_t file_count;
    struct tc_arena arena;
    struct tc_arena scratch;
    struct incident incidents[INCIDENTS_MAX];
    size_t incident_count;
    size_t updates;
};

static tc_status take_event(void *context, const struct tc_event *ev)
{
    struct life *l = context;
    assert_true(l->event_count < EVENTS_MAX);
    l->events[l->event_count++] = *ev;
    return TC_OK;
}

static void read_file(struct life *l, const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *bytes = calloc(1, FILE_BYTES);
    assert_non_null(bytes);
    size_t len = fread(bytes, 1, FILE_BYTES, f);
    assert_int_equal(fclose(f), 0);
    assert_true(l->file_count < FILES_MAX);
    struct tc_codec_input input = {.bytes = tc_slice_make(bytes, len),
                                   .name = tc_arena_copy(&l->arena, tc_slice_cstr(path)),
                                   .source = (uint32_t)l->file_count,
                                   .node = TC_LIT("gpu-07"),
                                   .boot_ns = TC_TIME_NONE,
                                   .now_ns = INT64_C(1772600760) * TC_SECOND};
    l->files[l->file_count++] = bytes;
    const struct tc_codec *codec = tc_codec_recognise(input.bytes, input.name);
    assert_non_null(codec);
    struct tc_codec_out out = {
        .event = take_event, .context = l, .arena = &l->arena, .scratch = &l->scratch};
    struct tc_codec_cursor cursor = {0};
    struct tc_error err = {0};
    while (!cursor.done) {
        assert_int_equal(tc_codec_decode(codec, &input, &cursor, &out, &err), TC_OK);
    }
}

static int by_order(const void *a, const void *b)
{
    return tc_event_order(a, b);
}

static struct incident *incident_of(struct life *l, const struct tc_verdict *v)
{
    assert_int_equal(v->incident_id.len, TC_INCIDENT_ID_LEN);
    for (size_t i = 0; i < l->incident_count; i++) {
        if (memcmp(l->incidents[i].id, v->incident_id.ptr, TC_INCIDENT_ID_LEN) == 0) {
            return &l->incidents[i];
        }
    }
    return NULL;
}

static tc_status take_verdict(void *context, const struct tc_verdict *v)
{
    static char text[TEXT_MAX];
    struct life *l = context;
    struct incident *in = incident_of(l, v);
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_verdict same = *v;
    same.status = TC_VERDICT_OPEN;
    tc_verdict_render_json(&b, &same, NULL);
    assert_false(b.overflowed);
    if (in == NULL) {
        assert_int_equal(v->status, TC_VERDICT_OPEN);
        assert_true(l->incident_count < INCIDENTS_MAX);
        in = &l->incidents[l->incident_count++];
        memcpy(in->id, v->incident_id.ptr, TC_INCIDENT_ID_LEN);
        (void)snprintf(in->pattern, sizeof in->pattern, "%.*s", TC_FMT(v->finding->pattern_name));
    } else {
        assert_int_not_equal(v->status, TC_VERDICT_OPEN); /* opened once */
        bool news =
            v->status != in->status || b.len != in->len || memcmp(text, in->text, b.len) != 0;
        assert_true(news);
        l->updates += v->status == TC_VERDICT_UPDATED;
    }
    in->status = v->status;
    in->len = b.len;
    memcpy(in->text, text, b.len);
    return TC_OK;
}

static size_t run_case(struct life *l, const char *folder, const char *pattern)
{
    char path[2048];
    struct dirent **names = NULL;
    (void)snprintf(path, sizeof path, "%s/input", folder);
    int count = scandir(path, &names, NULL, alphasort);
    assert_true(count >= 0);
    l->event_count = l->file_count = l->incident_count = 0;
    for (int i = 0; i < count; i++) {
        (void)snprintf(path, sizeof path, "%s/input/%s", folder, names[i]->d_name);
        if (names[i]->d_name[0] != '.') {
            read_file(l, path);
        }
        free(names[i]);
    }
    free(names);
    qsort(l->events, l->event_count, sizeof l->events[0], by_order);
    struct tc_engine *engine = NULL;
    struct tc_error err;
    struct tc_engine_out out = {.verdict = take_verdict, .context = l};
    assert_int_equal(tc_engine_create(&out, &engine, &err), TC_OK);
    for (size_t i = 0; i < l->event_count; i++) {
        assert_int_equal(tc_engine_feed(engine, &l->events[i]), TC_OK);
    }
    assert_int_equal(tc_engine_finish(engine, TC_TIME_NONE), TC_OK);
    /* Finishing again says nothing: nothing has changed. */
    size_t updates = l->updates;
    assert_int_equal(tc_engine_finish(engine, TC_TIME_NONE), TC_OK);
    assert_int_equal(l->updates, updates);
    tc_engine_destroy(engine);
    size_t resolved = 0;
    for (size_t i = 0; i < l->incident_count; i++) {
        resolved += strcmp(l->incidents[i].pattern, pattern) == 0 &&
                    l->incidents[i].status == TC_VERDICT_RESOLVED;
    }
    for (size_t i = 0; i < l->file_count; i++) {
        free(l->files[i]);
    }
    tc_arena_reset(&l->arena);
    tc_arena_reset(&l->scratch);
    return resolved;
}

static void what_is_opened_once_is_resolved(void **state)
{
    (void)state;
    static const char *const patterns[] = {"thermal_throttle", "straggler",
                                           "dataloader_hang",  "network_link_fault",
                                           "checkpoint_stall", "nccl_hang"};
    const char *root = getenv("TC_SOURCE_DIR");
    if (root == NULL) {
        skip();
    }
    struct life *l = calloc(1, sizeof *l);
    char *memory = calloc(2, ARENA_BYTES);
    assert_true(l != NULL && memory != NULL);
    tc_arena_init(&l->arena, "strings", memory, ARENA_BYTES);
    tc_arena_init(&l->scratch, "scratch", memory + ARENA_BYTES, ARENA_BYTES);
    for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++) {
        char folder[512];
        struct dirent **names = NULL;
        size_t cases = 0;
        (void)snprintf(folder, sizeof folder, "%s/tests/replay/%s", root, patterns[p]);
        int count = scandir(folder, &names, NULL, alphasort);
        assert_true(count >= 0);
        for (int i = 0; i < count; i++) {
            if (strncmp(names[i]->d_name, "resolved_", 9) == 0) {
                char path[1024];
                (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
                if (run_case(l, path, patterns[p]) == 0) {
                    fail_msg("%s: nothing is resolved", path);
                }
                cases++;
            }
            free(names[i]);
        }
        free(names);
        assert_true(cases > 0);
    }
    assert_true(l->updates > 0);
    tc_arena_fini(&l->arena);
    tc_arena_fini(&l->scratch);
    free(memory);
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_opened_once_is_resolved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
