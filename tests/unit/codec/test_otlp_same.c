/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The otlp codec and the daemon's reader, JSON and protobuf, make the same events: over the corpus
 * of the fuzzer and recorded collectors' files. The inputs of the codec's own tests go
 * the same way (codec_otlp_testing.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/codec.h"
#include "support/otlp_same.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path, size_t *out_length)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return NULL;
    }
    size_t cap = (size_t)8 << 20;
    char *bytes = malloc(cap);
    assert_non_null(bytes);
    *out_length = fread(bytes, 1, cap, f);
    (void)fclose(f);
    return realloc(bytes, *out_length + 1);
}

static void compare_file(const char *path, size_t skip, struct tc_otlp_same *io)
{
    size_t length = 0;
    char *bytes = read_file(path, &length);
    if (bytes != NULL && length > skip) {
        tc_otlp_same(tc_slice_make(bytes + skip, length - skip), io);
    }
    free(bytes);
}

static void corpus_of_the_codec_has_the_same_events(void **state)
{
    (void)state;
    const char *root = getenv("TC_SOURCE_DIR");
    char path[4096];
    struct tc_otlp_same total = {0};
    (void)snprintf(path, sizeof path, "%s/fuzz/corpus/otlp", root == NULL ? "." : root);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        char file[8192];
        (void)snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        /* The first byte is the fuzzer's. */
        compare_file(file, 1, &total);
    }
    (void)closedir(dir);
    print_message("%zu requests, %zu in protobuf, %zu events\n", total.requests, total.protobuf,
                  total.events);
    assert_true(total.requests > 10 && total.protobuf > 10 && total.events > 30);
}

static void recorded_collector_has_the_same_events(void **state)
{
    (void)state;
    const char *root = getenv("TC_SOURCE_DIR");
    char path[4096];
    struct tc_otlp_same total = {0};
    (void)snprintf(path, sizeof path,
                   "%s/tests/replay/xid_correlation/fires_through_otlp/input/collector.json",
                   root == NULL ? "." : root);
    compare_file(path, 0, &total);
    assert_true(total.requests > 0 && total.protobuf == total.requests && total.events > 0);
}

/* Every file of the corpora of the other formats, with and without the fuzzer's byte. */
static size_t sniff_folder(const char *folder, bool ours)
{
    char path[8192];
    size_t files = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        size_t length = 0;
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        char *bytes = e->d_name[0] == '.' ? NULL : read_file(path, &length);
        if (bytes == NULL || length < 2) {
            free(bytes);
            continue;
        }
        struct tc_slice body = tc_slice_make(bytes + 1, length - 1);
        bool is_protobuf = ours && strstr(e->d_name, ".pb") != NULL && body.len > 20;
        const struct tc_codec *codec = tc_codec_recognise(body, TC_LIT("file"));
        if ((codec == &tc_codec_otlp_protobuf) != is_protobuf) {
            print_error("%s is taken for %s\n", path, codec == NULL ? "nothing" : codec->name);
        }
        assert_int_equal(codec == &tc_codec_otlp_protobuf, is_protobuf);
        assert_true(tc_codec_recognise(tc_slice_make(bytes, length), TC_LIT("file")) !=
                        &tc_codec_otlp_protobuf ||
                    ours);
        files++;
        free(bytes);
    }
    (void)closedir(dir);
    return files;
}

static void protobuf_is_recognised_and_nothing_else_is(void **state)
{
    (void)state;
    static const char *const others[] = {
        "event_json", "fabric_manager", "flight_recorder", "k8s",       "kmsg",  "ncclras",
        "otlp",       "prometheus",     "rank_map",        "train_log", "truth",
    };
    const char *root = getenv("TC_SOURCE_DIR");
    char path[4096];
    size_t files = 0;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/fuzz/corpus/%s", root == NULL ? "." : root,
                       others[i]);
        files += sniff_folder(path, false);
    }
    assert_true(files > 100);
    (void)snprintf(path, sizeof path, "%s/fuzz/corpus/otlp_pb", root == NULL ? "." : root);
    assert_true(sniff_folder(path, true) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corpus_of_the_codec_has_the_same_events),
        cmocka_unit_test(recorded_collector_has_the_same_events),
        cmocka_unit_test(protobuf_is_recognised_and_nothing_else_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
