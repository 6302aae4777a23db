/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/objects_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBERS 8
#define NUMBERS_AT 2
#define DIGEST_AT (NUMBERS_AT + NUMBERS * (TC_PUT_U64_MAX + 1))
#define SUM_AT (TC__OBJECT_LINE - 17)
#define LINES_AT_ONCE 256

_Static_assert(DIGEST_AT + TC__HEX_BYTES < SUM_AT, "a line holds all of its fields");

void tc__object_put(char *out, const struct tc__object *o)
{
    const uint64_t numbers[NUMBERS] = {
        o->totals.first,
        o->totals.last,
        (uint64_t)o->totals.arrival_min,
        (uint64_t)o->totals.arrival_max,
        o->totals.batches,
        o->totals.body_bytes,
        o->file_bytes,
        o->seq,
    };
    memset(out, ' ', TC__OBJECT_LINE);
    out[0] = (char)o->state;
    for (size_t i = 0; i < NUMBERS; i++) {
        tc__digits(out + NUMBERS_AT + i * (TC_PUT_U64_MAX + 1), numbers[i]);
    }
    tc__hex(out + DIGEST_AT, &o->digest);
    struct tc_buf sum = tc_buf_make(out + SUM_AT, 16);
    tc_buf_hex(&sum, tc__sum(out, SUM_AT, 0), 16);
    out[TC__OBJECT_LINE - 1] = '\n';
}

static bool object_get(const char *line, struct tc__object *out)
{
    uint64_t numbers[NUMBERS];
    for (size_t i = 0; i < NUMBERS; i++) {
        struct tc_slice text =
            tc_slice_make(line + NUMBERS_AT + i * (TC_PUT_U64_MAX + 1), TC_PUT_U64_MAX);
        if (!tc_slice_is_u64(tc_slice_trim(text), &numbers[i])) {
            return false;
        }
    }
    struct tc__object o = {
        .state = (enum tc__object_state)line[0],
        .totals = {.first = numbers[0],
                   .last = numbers[1],
                   .arrival_min = (int64_t)numbers[2],
                   .arrival_max = (int64_t)numbers[3],
                   .batches = numbers[4],
                   .body_bytes = numbers[5]},
        .file_bytes = numbers[6],
        .seq = numbers[7],
    };
    if ((o.state != TC__OBJECT_KEPT && o.state != TC__OBJECT_GOING && o.state != TC__OBJECT_GONE &&
         o.state != TC__OBJECT_SHIPPED) ||
        o.totals.first > o.totals.last ||
        !tc_digest_from_hex(tc_slice_make(line + DIGEST_AT, TC__HEX_BYTES), &o.digest)) {
        return false;
    }
    /* The line has one form only: whatever is not it is damaged. */
    char again[TC__OBJECT_LINE];
    tc__object_put(again, &o);
    if (memcmp(again, line, sizeof again) != 0) {
        return false;
    }
    *out = o;
    return true;
}

static int open_index(struct tc__index *ix, const char *dir, const char *name)
{
    char path[TC__PATH_MAX];
    struct stat st;
    tc__path(path, dir, name, NULL);
    ix->lines = 0;
    ix->chunk_at = 0;
    ix->chunk_len = 0;
    ix->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (ix->fd < 0) {
        return errno == ENOENT ? 0 : errno;
    }
    if (fstat(ix->fd, &st) != 0) {
        int error = errno;
        tc__index_close(ix);
        return error;
    }
    /* A part of a last line is one that is being written. */
    ix->lines = (uint64_t)st.st_size / TC__OBJECT_LINE;
    return 0;
}

int tc__index_open(struct tc__index *ix, const char *dir)
{
    return open_index(ix, dir, "objects.idx");
}

int tc__index_open_shipped(struct tc__index *ix, const char *dir)
{
    return open_index(ix, dir, "shipped.idx");
}

void tc__index_close(struct tc__index *ix)
{
    if (ix->fd >= 0) {
        (void)close(ix->fd);
        ix->fd = -1;
    }
}

bool tc__index_line(struct tc__index *ix, uint64_t line, struct tc__object *out)
{
    if (line >= ix->lines) {
        return false;
    }
    if (line < ix->chunk_at || line - ix->chunk_at >= ix->chunk_len) {
        /* The chunk that holds it: good for walks in both directions. */
        ix->chunk_at = line / TC__INDEX_CHUNK * TC__INDEX_CHUNK;
        ssize_t got =
            tc__read_at(ix->fd, ix->chunk, sizeof ix->chunk, ix->chunk_at * TC__OBJECT_LINE);
        ix->chunk_len = got < 0 ? 0 : (uint64_t)got / TC__OBJECT_LINE;
        if (line - ix->chunk_at >= ix->chunk_len) {
            return false;
        }
    }
    return object_get(ix->chunk + (line - ix->chunk_at) * TC__OBJECT_LINE, out);
}

uint64_t tc__index_search(struct tc__index *ix, uint64_t number)
{
    struct tc__object o = {0};
    uint64_t low = 0;
    uint64_t high = ix->lines;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint64_t line = middle;
        /* A damaged line says nothing: the next one does. */
        while (line < high && !tc__index_line(ix, line, &o)) {
            line++;
        }
        if (line == high || o.totals.last >= number) {
            high = middle;
        } else {
            low = line + 1;
        }
    }
    return low;
}

bool tc__index_has(struct tc__index *shipped, const struct tc__object *o)
{
    struct tc__object line;
    return tc__index_line(shipped, tc__index_search(shipped, o->totals.first), &line) &&
           memcmp(&line.digest, &o->digest, sizeof line.digest) == 0;
}

struct tc_object_info tc__object_info(const struct tc__object *o)
{
    return (struct tc_object_info){
        .digest = o->digest,
        .first = o->totals.first,
        .last = o->totals.last,
        .batches = o->totals.batches,
        .arrival_min_ns = o->totals.arrival_min,
        .arrival_max_ns = o->totals.arrival_max,
        .body_bytes = o->totals.body_bytes,
        .disk_bytes = o->file_bytes,
    };
}
