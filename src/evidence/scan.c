/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/scan_priv.h"

#include "base/assert.h"
#include "evidence/file_priv.h"

#include <errno.h>
#include <sys/stat.h>
#define XXH_STATIC_LINKING_ONLY /* the state on the stack */
#include <xxhash.h>

/* What is read at least when only a header is wanted, and when all is. */
#define HEADERS_AHEAD ((size_t)4 << 10)
#define PAYLOADS_AHEAD ((size_t)256 << 10)
/* What a disk writes whole or not at all. */
#define SECTOR_BYTES 512

const char *tc__scan_view(struct tc__scan *scan, uint64_t offset, uint64_t len, bool ahead)
{
    if (offset > scan->size || len > scan->size - offset || len > TC__WINDOW_BYTES) {
        return NULL;
    }
    uint64_t skip = offset - scan->window_at;
    if (offset >= scan->window_at && skip <= scan->window_len && len <= scan->window_len - skip) {
        return scan->window + skip;
    }
    uint64_t want = ahead ? PAYLOADS_AHEAD : HEADERS_AHEAD;
    want = want < len ? len : want;
    want = want > scan->size - offset ? scan->size - offset : want;
    ssize_t got = tc__read_at(scan->fd, scan->window, (size_t)want, offset);
    scan->window_at = offset;
    scan->window_len = got < 0 ? 0 : (size_t)got;
    if (got < 0) {
        scan->error = errno;
        return NULL;
    }
    /* It has become shorter under our eyes: the tail of a lost group was cut. */
    if ((uint64_t)got < len) {
        scan->error = ESTALE;
        return NULL;
    }
    return scan->window;
}

/* The end record and the table, where the file has them and they are whole. */
static void read_end(struct tc__scan *scan)
{
    scan->has_end = false;
    scan->data_end = scan->size;
    if (scan->size < TC__HEAD_BYTES + TC__PIECE_BYTES + TC__END_BYTES) {
        return;
    }
    uint64_t at = scan->size - TC__END_BYTES;
    struct tc__end end;
    struct tc__piece p;
    const char *bytes = tc__scan_view(scan, at, TC__END_BYTES, false);
    if (bytes == NULL || !tc__end_get(bytes, at, &end) || (scan->has_id && end.id != scan->id)) {
        return;
    }
    bytes = tc__scan_view(scan, end.table_at, scan->size - end.table_at, false);
    if (bytes == NULL || !tc__piece_get(bytes, end.table_at, &p) || p.kind != TC__KIND_TABLE ||
        p.id != end.id || tc__piece_disk(&p) != scan->size - end.table_at ||
        tc__sum(bytes + TC__PIECE_BYTES, (size_t)p.payload_len, p.id) != p.payload_sum) {
        return;
    }
    scan->has_end = true;
    scan->end = end;
    scan->data_end = end.table_at;
    scan->id = end.id;
    scan->has_id = true;
}

/* A file that has grown: takes in what was added. */
static bool scan_grow(struct tc__scan *scan)
{
    struct stat st;
    scan->error = 0;
    if (fstat(scan->fd, &st) != 0) {
        scan->error = errno;
        return false;
    }
    scan->size = (uint64_t)st.st_size;
    scan->window_len = 0;
    if (!scan->has_head && scan->size >= TC__HEAD_BYTES) {
        const char *bytes = tc__scan_view(scan, 0, TC__HEAD_BYTES, false);
        scan->has_head = bytes != NULL && tc__head_get(bytes, &scan->head);
        scan->has_id = scan->has_head;
        scan->id = scan->head.id;
    }
    if (scan->error == 0) {
        read_end(scan);
    }
    return scan->error == 0;
}

bool tc__scan_open(struct tc__scan *scan, int fd, char *window)
{
    *scan = (struct tc__scan){.fd = fd, .window = window, .at = TC__HEAD_BYTES};
    return scan_grow(scan);
}

int tc__scan_sum(struct tc__scan *scan, uint64_t at, uint64_t len, uint64_t seed, uint64_t *out)
{
    XXH3_state_t state;
    (void)XXH3_64bits_reset_withSeed(&state, seed);
    for (uint64_t done = 0; done < len;) {
        uint64_t step = len - done < PAYLOADS_AHEAD ? len - done : PAYLOADS_AHEAD;
        const char *bytes = tc__scan_view(scan, at + done, step, true);
        if (bytes == NULL) {
            return scan->error != 0 ? scan->error : ESTALE;
        }
        (void)XXH3_64bits_update(&state, bytes, (size_t)step);
        done += step;
    }
    *out = XXH3_64bits_digest(&state);
    return 0;
}

/* The checksum over name and payload. What recovery has set aside may be longer than the window. */
static bool payload_ok(struct tc__scan *scan, uint64_t at, const struct tc__piece *p)
{
    uint64_t len = p->name_len + p->payload_len;
    if (len <= TC__WINDOW_BYTES - TC__PIECE_BYTES) {
        /* With the header, so that the window holds all of it. */
        const char *bytes = tc__scan_view(scan, at, TC__PIECE_BYTES + len, true);
        return bytes != NULL &&
               tc__sum(bytes + TC__PIECE_BYTES, (size_t)len, p->id) == p->payload_sum;
    }
    uint64_t sum = 0;
    return tc__scan_sum(scan, at + TC__PIECE_BYTES, len, p->id, &sum) == 0 && sum == p->payload_sum;
}

/* The piece at `at`; END stands for a good one here. */
static enum tc__found piece_at(struct tc__scan *scan, uint64_t at, bool check, struct tc__piece *p,
                               const char **why)
{
    uint64_t rest = scan->data_end - at;
    *p = (struct tc__piece){0};
    if (rest < TC__PIECE_BYTES) {
        *why = "the last header is cut off";
        return scan->has_end ? TC__FOUND_BAD : TC__FOUND_TORN;
    }
    const char *bytes = tc__scan_view(scan, at, TC__PIECE_BYTES, check);
    if (bytes == NULL) {
        return TC__FOUND_IO;
    }
    if (!tc__piece_get(bytes, at, p) || (scan->has_id && p->id != scan->id)) {
        *p = (struct tc__piece){0};
        *why = "the header is damaged";
        return TC__FOUND_BAD;
    }
    scan->id = p->id;
    scan->has_id = true;
    if (tc__piece_disk(p) > rest) {
        *why = "the file ends within the batch";
        return scan->has_end ? TC__FOUND_BAD : TC__FOUND_TORN;
    }
    if (check && !payload_ok(scan, at, p)) {
        *why = "the checksum of the payload does not match";
        return scan->error != 0 ? TC__FOUND_IO : TC__FOUND_BAD;
    }
    return TC__FOUND_END;
}

/* Whether a batch may begin with this piece. */
static bool starts_batch(const struct tc__scan *scan, const struct tc__piece *p)
{
    return p->kind == TC__KIND_SKIP ||
           (p->kind != TC__KIND_TABLE && p->piece_at == 0 && p->number > scan->last);
}

/* Where from `from` on the next batch begins; data_end when none does. */
static enum tc__found resync(struct tc__scan *scan, uint64_t from, uint64_t *out)
{
    while (from < scan->data_end) {
        uint64_t len = scan->data_end - from;
        len = len > PAYLOADS_AHEAD ? PAYLOADS_AHEAD : len;
        const char *bytes = tc__scan_view(scan, from, len, true);
        if (bytes == NULL) {
            return TC__FOUND_IO;
        }
        uint64_t hit = tc__piece_find(bytes, (size_t)len);
        from += hit;
        if (hit == len) {
            continue;
        }
        struct tc__piece p;
        if (scan->data_end - from < TC__PIECE_BYTES) {
            break;
        }
        bytes = tc__scan_view(scan, from, TC__PIECE_BYTES, true);
        if (bytes == NULL) {
            return TC__FOUND_IO;
        }
        if (tc__piece_get(bytes, from, &p) && (!scan->has_id || p.id == scan->id) &&
            starts_batch(scan, &p)) {
            *out = from;
            return TC__FOUND_BAD;
        }
        from++;
    }
    *out = scan->data_end;
    return TC__FOUND_BAD;
}

/*
 * Whether [from, data_end) is what a loss of power leaves of a group that was not durable: the file
 * has grown, and what was to be in its last sector is not there.
 */
static bool ends_in_zeros(struct tc__scan *scan, uint64_t from)
{
    uint64_t sector = (scan->data_end - 1) / SECTOR_BYTES * SECTOR_BYTES;
    from = from > sector ? from : sector;
    uint64_t len = scan->data_end - from;
    const char *bytes = tc__scan_view(scan, from, len, false);
    for (uint64_t i = 0; bytes != NULL && i < len; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return bytes != NULL;
}

static enum tc__found torn(struct tc__scan *scan, struct tc__batch *out)
{
    out->disk = scan->data_end - out->at;
    out->is_tail = true;
    return TC__FOUND_TORN;
}

static enum tc__found bad_region(struct tc__scan *scan, uint64_t from, struct tc__batch *out)
{
    uint64_t next = scan->data_end;
    if (resync(scan, from, &next) == TC__FOUND_IO) {
        return TC__FOUND_IO;
    }
    if (next == scan->data_end && !scan->has_end && ends_in_zeros(scan, out->at)) {
        return torn(scan, out);
    }
    out->disk = next - out->at;
    out->is_tail = next == scan->data_end;
    scan->at = next;
    return TC__FOUND_BAD;
}

enum tc__found tc__scan_next(struct tc__scan *scan, bool check, struct tc__batch *out)
{
    struct tc__piece p;
    *out = (struct tc__batch){.at = scan->at};
    if (scan->at >= scan->data_end) {
        return TC__FOUND_END;
    }
    uint64_t at = scan->at;
    uint64_t want = 0; /* where in the body the next piece begins */
    do {
        enum tc__found found =
            at == scan->data_end ? TC__FOUND_TORN : piece_at(scan, at, check, &p, &out->why);
        if (at == scan->data_end) {
            out->why = "the file ends within the batch";
            found = scan->has_end ? TC__FOUND_BAD : TC__FOUND_TORN;
        }
        if (want == 0) {
            out->first = p;
        }
        if (found == TC__FOUND_TORN) {
            return torn(scan, out);
        }
        if (found == TC__FOUND_IO) {
            return found;
        }
        bool is_first = want == 0;
        bool fits = is_first ? starts_batch(scan, &p)
                             : p.kind == out->first.kind && p.number == out->first.number &&
                                   p.body_len == out->first.body_len && p.piece_at == want &&
                                   p.arrival_ns == out->first.arrival_ns;
        if (found == TC__FOUND_BAD || !fits) {
            out->why = found == TC__FOUND_BAD ? out->why
                       : is_first             ? "it does not follow the batch before it"
                                              : "a piece of it is missing";
            /* A good header of another batch is where that one begins. */
            uint64_t from = found == TC__FOUND_END && !is_first   ? at
                            : found == TC__FOUND_BAD && p.id == 0 ? at + 1
                                                                  : at + tc__piece_disk(&p);
            return bad_region(scan, from, out);
        }
        at += tc__piece_disk(&p);
        want = p.piece_at + p.piece_len;
    } while (!tc__piece_is_last(&p));
    out->disk = at - out->at;
    scan->at = at;
    if (p.kind == TC__KIND_SKIP) {
        return TC__FOUND_SKIP;
    }
    scan->last = p.number;
    return TC__FOUND_BATCH;
}

bool tc__scan_piece(struct tc__scan *scan, uint64_t *io_at, struct tc__piece *out)
{
    const char *bytes = tc__scan_view(scan, *io_at, TC__PIECE_BYTES, true);
    if (bytes == NULL || !tc__piece_get(bytes, *io_at, out)) {
        return false;
    }
    *io_at += tc__piece_disk(out);
    return true;
}

void tc__scan_seek(struct tc__scan *scan, uint64_t number)
{
    uint64_t low = 0;
    uint64_t high = scan->has_end ? scan->end.entries : 0;
    uint64_t table = scan->end.table_at + TC__PIECE_BYTES;
    struct tc__entry best = {0};
    /* The last entry that is not behind it. */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        struct tc__entry entry;
        const char *bytes =
            tc__scan_view(scan, table + middle * TC__ENTRY_BYTES, TC__ENTRY_BYTES, false);
        if (bytes == NULL) {
            break;
        }
        tc__entry_get(bytes, &entry);
        if (entry.number > number) {
            high = middle;
        } else {
            best = entry;
            low = middle + 1;
        }
    }
    if (best.number > 0 && best.offset >= TC__HEAD_BYTES && best.offset < scan->data_end) {
        scan->at = best.offset;
        scan->last = best.number - 1;
    }
}
