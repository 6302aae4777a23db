/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon's sources read besides logs: patterns of the configuration, positions, names of
 * batches and of rotated files, targets and answers of exporters, lists and watches of Kubernetes,
 * and whether a dump is whole. What is taken must be within bounds, and a position that is read is
 * written the same.
 */
#include "base/assert.h"
#include "base/buf.h"
#include "base/json/raw.h"
#include "source/files/dumps.h"
#include "source/files/priv.h"
#include "source/kubernetes/priv.h"
#include "source/scrape/priv.h"
#include "stored/batch_name.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_position(struct tc_slice text)
{
    struct tc__gen gen;
    struct tc__gen again;
    char path[TC__FILE_PATH_MAX + 1];
    char path_again[TC__FILE_PATH_MAX + 1];
    char written[TC_SOURCE_POSITION_MAX];
    if (!tc__position_read(text, &gen, path)) {
        return;
    }
    struct tc__log log = {.path = path};
    struct tc_buf b = tc_buf_make(written, sizeof written);
    tc__position_write(&b, &log, &gen, gen.offset);
    TC_ASSERT(!b.overflowed);
    TC_ASSERT(tc__position_read(tc_buf_slice(&b), &again, path_again));
    TC_ASSERT(strcmp(path, path_again) == 0 && gen.offset == again.offset &&
              gen.finger == again.finger && gen.finger_len == again.finger_len &&
              tc__id_eq(&gen.id, &again.id) && gen.mtime_ns == again.mtime_ns);
}

static void read_pattern(struct tc_slice text)
{
    struct tc__glob g;
    struct tc_error err = {0};
    struct tc__matched matched = {{0}, {0}};
    if (tc__glob_parse(text, &g, &err) != TC_OK) {
        TC_ASSERT(err.message[0] != '\0');
        return;
    }
    TC_ASSERT(g.part_count > 0 && g.part_count <= TC__GLOB_PARTS);
    for (size_t i = 0; i < g.part_count; i++) {
        (void)tc__glob_matches(&g, i, "gpu-07.log", &matched);
    }
    tc__glob_fini(&g);
}

static void tell_gpu(void *context, const char *gpu, bool is_gone)
{
    (void)context;
    TC_ASSERT(gpu[0] != '\0' && strlen(gpu) < TC__TARGET_GPU_NAME_MAX && is_gone);
}

/* A target, and an answer: twice the same, then nothing. */
static void read_scrape(struct tc_slice text)
{
    static struct tc__gpus gpus;
    struct tc__target_address at;
    struct tc_error err = {0};
    if (tc__target_read(text, TC_LIT("here"), &at, &err) == TC_OK) {
        TC_ASSERT(at.name[0] != '\0' && at.path[0] == '/' &&
                  strlen(at.base) > strlen("http://") - 1);
    }
    gpus = (struct tc__gpus){0};
    tc__gpus_look(&gpus, text, tell_gpu, NULL);
    tc__gpus_look(&gpus, text, tell_gpu, NULL);
    TC_ASSERT(gpus.gone_total == 0);
    tc__gpus_look(&gpus, TC_EMPTY, tell_gpu, NULL);
    tc__gpus_look(&gpus, TC_EMPTY, tell_gpu, NULL);
    TC_ASSERT(gpus.gone_total == gpus.count);
    uint64_t all = tc__answer_samples(text);
    TC_ASSERT(all <= text.len);
    while (text.len > 0) {
        size_t cut = tc__answer_cut(text);
        TC_ASSERT(cut > 0 && cut <= text.len && cut <= TC_SOURCE_CHUNK_MAX);
        text = tc_slice_from(text, cut);
    }
}

static void read_kubeconfig(struct tc_slice text)
{
    struct tc__kube_account account = {0};
    struct tc_error err = {0};
    tc_status status =
        tc__kube_config_parse(text, "/etc/tracecore/kubeconfig", TC_EMPTY, &account, &err);
    TC_ASSERT(status == TC_OK ? account.url[0] != '\0' : err.message[0] != '\0');
    TC_ASSERT(strlen(account.token) < sizeof account.token);
    tc__kube_account_fini(&account);
}

static enum tc__kube_verdict judge_line(void *context, struct tc_slice line)
{
    struct tc__kube_event event = tc__kube_event_read(line);
    (void)context;
    TC_ASSERT(line.len > 0 && event.version.len < TC__KUBE_VERSION_MAX);
    TC_ASSERT(event.type == TC__KUBE_UNKNOWN || event.type == TC__KUBE_ERROR ||
              event.version.len > 0);
    return event.type == TC__KUBE_OBJECT  ? TC__KUBE_KEEP
           : event.type == TC__KUBE_ERROR ? TC__KUBE_END
                                          : TC__KUBE_DROP;
}

/* Sums up what would be stored. */
static bool flush_lines(void *context, struct tc_slice lines, uint64_t records)
{
    uint64_t *sum = context;
    TC_ASSERT(lines.len > 0 && lines.ptr[lines.len - 1] == '\n' && records > 0);
    for (size_t i = 0; i < lines.len; i++) {
        *sum = *sum * 31 + (unsigned char)lines.ptr[i];
    }
    return true;
}

static uint64_t feed_lines(struct tc_slice text, size_t step)
{
    static struct tc__kube_lines lines;
    uint64_t sum = 7;
    struct tc__kube_lines_ops ops = {judge_line, flush_lines, &sum};
    bool go_on = true;
    tc__kube_lines_begin(&lines);
    while (go_on && text.len > 0) {
        struct tc_slice part = tc_slice_head(text, step);
        go_on = tc__kube_lines_feed(&lines, part, &ops);
        TC_ASSERT(lines.ready == 0 && lines.used <= sizeof lines.bytes);
        text = tc_slice_from(text, part.len);
    }
    return sum;
}

/* A stream gives the same whatever its pieces; a list; a position that is written as it was. */
static void read_kubernetes(struct tc_slice text)
{
    struct tc__kube_place place;
    struct tc__kube_place again;
    struct tc__kube_page page;
    char written[TC_SOURCE_POSITION_MAX];
    struct tc_buf b = tc_buf_make(written, sizeof written);
    TC_ASSERT(feed_lines(text, text.len + 1) == feed_lines(text, 7));
    if (tc__kube_page_read(text, &page)) {
        struct tc_slice item;
        place = (struct tc__kube_place){0};
        for (size_t at = 0; tc_json_raw_element(page.items, &at, &item);) {
            char key[TC__KUBE_KEY_MAX];
            struct tc_slice version;
            tc__kube_item_read(item, key, &version);
            (void)tc__kube_place_take(&place, page.version, tc_slice_cstr(key), version);
        }
    }
    if (tc__kube_place_read(text, &place)) {
        tc__kube_place_write(&b, &place);
        TC_ASSERT(!b.overflowed && tc__kube_place_read(tc_buf_slice(&b), &again));
        TC_ASSERT(strcmp(place.version, again.version) == 0 && strcmp(place.key, again.key) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tc_batch_said said;
    struct tc_slice text = size == 0 ? TC_EMPTY : tc_slice_make((const char *)data, size);
    struct tc_error err = {0};
    char name[TC__FILE_PATH_MAX + 1];
    if (size > 0 && memchr(data, '\0', size) == NULL) { /* a line of the configuration has none */
        read_pattern(text);
    }
    read_position(text);
    (void)!tc_batch_name_read(text, &said, &err);
    struct tc_slice from = tc__rotated_from(text, name, sizeof name);
    TC_ASSERT(from.len < text.len || text.len == 0);
    (void)tc_dump_is_whole(text);
    read_scrape(text);
    read_kubernetes(text);
    read_kubeconfig(text);
    return 0;
}
