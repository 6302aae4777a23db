/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a segment that a dead process left behind. Reading it, recovering it and reading it
 * again never crash; what could be read before can be read after, and no body is longer than its
 * header said. The first byte chooses: with its lowest bit the checksums are made right first, so
 * that what lies behind them is reached; with the next one it is sealed, so that its LZ4 blocks are
 * unpacked and packed anew.
 */
#include "base/assert.h"
#include "evidence/file_priv.h"
#include "evidence/segment_priv.h"
#include "evidence/verify.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX ((size_t)64 << 10)
#define ID UINT64_C(0x1122334455667788)

static char dir[64];
static char bytes[INPUT_MAX];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    return ftw->level == 0 ? 0 : type == FTW_DP ? rmdir(path) : unlink(path);
}

static void remove_dir(void)
{
    (void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void)rmdir(dir);
}

static void make_dirs(void)
{
    char path[TC__PATH_MAX];
    if (dir[0] == '\0') {
        bool in_memory = access("/dev/shm", W_OK) == 0;
        (void)snprintf(dir, sizeof dir, "%s/tc-fuzz-XXXXXX", in_memory ? "/dev/shm" : "/tmp");
        TC_ASSERT(mkdtemp(dir) != NULL);
        TC_ASSERT(atexit(remove_dir) == 0);
    }
    (void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    tc__path(path, dir, "open", NULL);
    TC_ASSERT(tc__make_dir(path) == 0);
}

static uint64_t get64(size_t at)
{
    uint64_t v = 0;
    for (size_t i = 0; i < 8; i++) {
        v |= (uint64_t)(uint8_t)bytes[at + i] << (8 * i);
    }
    return v;
}

static void put64(size_t at, uint64_t v)
{
    for (size_t i = 0; i < 8; i++) {
        bytes[at + i] = (char)(v >> (8 * i));
    }
}

/* Makes the checksums of whatever has the magic of a piece right, and its identity ours. */
static void mend(size_t size)
{
    struct tc__head head = {.first = 1, .created_ns = 1, .id = ID, .version = TC__SEGMENT_VERSION};
    if (size < TC__HEAD_BYTES) {
        return;
    }
    tc__head_put(bytes, &head);
    for (size_t at = TC__HEAD_BYTES; at + TC__PIECE_BYTES <= size;) {
        at += tc__piece_find(bytes + at, size - at);
        if (at + TC__PIECE_BYTES > size) {
            break;
        }
        uint64_t len = get64(at + 56);
        uint64_t name = get64(at + 8) >> 32;
        put64(at + 72, ID);
        if (len <= size && name <= size && len + name <= size - at - TC__PIECE_BYTES) {
            put64(at + 64, tc__sum(bytes + at + TC__PIECE_BYTES, (size_t)(len + name), ID));
        }
        put64(at + 80, tc__sum(bytes + at, 80, at));
        at += TC__PIECE_BYTES;
    }
}

struct seen {
    uint64_t numbers[INPUT_MAX / TC__PIECE_BYTES];
    size_t count;
    size_t bad;
};

static tc_status take(void *context, const struct tc_batch *batch, const struct tc_batch_info *info)
{
    struct seen *seen = context;
    unsigned sum = 0;
    TC_ASSERT(batch->body.len == info->body_bytes);
    TC_ASSERT(seen->count == 0 || seen->numbers[seen->count - 1] < batch->number);
    for (size_t i = 0; i < batch->body.len; i += 997) {
        sum += (unsigned char)batch->body.ptr[i];
    }
    TC_ASSERT(sum < UINT32_MAX);
    seen->numbers[seen->count++] = batch->number;
    return TC_OK;
}

static void take_bad(void *context, const char *line)
{
    struct seen *seen = context;
    TC_ASSERT(line[0] != '\0');
    seen->bad++;
}

static void take_damage(void *context, const struct tc_verify_finding *finding)
{
    TC_ASSERT(finding->text[0] != '\0' && finding->path[0] == '/');
    ++*(uint64_t *)context;
}

static void read_all(struct seen *out)
{
    uint64_t damaged = 0;
    struct tc_verify_sink sink = {.context = &damaged, .damage = take_damage};
    struct tc_verify_result result;
    struct tc_evidence *e = NULL;
    struct tc_error err;
    uint64_t from = 0;
    *out = (struct seen){0};
    TC_ASSERT(tc_evidence_open(dir, &e, &err) == TC_OK);
    TC_ASSERT(tc_evidence_walk(e, 0, true, take, take_bad, out, &err) == TC_OK);
    for (size_t i = 0; i < out->count; i++) {
        struct tc_slice body;
        TC_ASSERT(tc_evidence_body(e, out->numbers[i], &body, &err) == TC_OK);
    }
    TC_ASSERT(tc_evidence_replay_from(e, 1000, 1000, &from, &err) == TC_OK);
    TC_ASSERT(tc_evidence_verify(e, &sink, &result, &err) == TC_OK);
    TC_ASSERT(result.damaged == damaged && result.batches >= out->count);
    tc_evidence_close(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct seen before;
    static struct seen after;
    bool seal = size > 0 && (data[0] & 2) != 0;
    struct tc_store_config config = {
        .segment_bytes = seal ? 1 : 2 * INPUT_MAX, .segment_ns = INT64_MAX, .compression = 1};
    char path[TC__PATH_MAX];
    struct tc_store *s = NULL;
    struct tc_error err;
    if (size < 1 || size > INPUT_MAX) {
        return 0;
    }
    memcpy(bytes, data + 1, size - 1);
    if ((data[0] & 1) != 0) {
        mend(size - 1);
    }
    make_dirs();
    tc__path_segment(path, dir, 1);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    TC_ASSERT(fd >= 0 && write(fd, bytes, size - 1) == (ssize_t)(size - 1));
    (void)close(fd);
    read_all(&before);
    TC_ASSERT(tc_store_open(dir, &config, NULL, NULL, &s, &err) == TC_OK);
    struct tc_batch batch = {.number = tc_store_next_number(s),
                             .arrival_ns = 5,
                             .kind = TC_BATCH_FILE,
                             .body = TC_LIT("more")};
    tc_status status = tc_store_append(s, &batch, &err);
    TC_ASSERT(status == (batch.number <= TC__NUMBER_MAX ? TC_OK : TC_E_USAGE));
    TC_ASSERT(tc_store_commit(s, &err) == TC_OK);
    struct tc_store_stats stats;
    tc_store_stats(s, &stats);
    TC_ASSERT(stats.waiting_bytes == 0 && (status != TC_OK || !seal || stats.sealed > 0));
    tc_store_close(s);
    read_all(&after);
    size_t kept = 0;
    for (size_t i = 0; i < after.count && kept < before.count; i++) {
        kept += after.numbers[i] == before.numbers[kept];
    }
    TC_ASSERT(kept == before.count);
    TC_ASSERT(status != TC_OK || after.numbers[after.count - 1] == batch.number);
    return 0;
}
