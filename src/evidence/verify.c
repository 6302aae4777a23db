/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/verify.h"

#include "evidence/evidence_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

struct check {
    struct tc_evidence *e;
    const struct tc_verify_sink *sink;
    struct tc_verify_result *result;
    struct tc_error *err;
    struct tc__index index; /* not the reader's: that one is used to look bodies up */
    char path[TC__PATH_MAX];
};

/* Said of c->path. */
static void damage(struct check *c, uint64_t offset, uint64_t number, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void damage(struct check *c, uint64_t offset, uint64_t number, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->result->damaged++;
    c->sink->damage(c->sink->context, &(struct tc_verify_finding){c->path, offset, number, text});
}

static void note(struct check *c, uint64_t offset, uint64_t number, const char *text)
{
    if (c->sink->note != NULL) {
        c->sink->note(c->sink->context, &(struct tc_verify_finding){c->path, offset, number, text});
    }
}

static void advance(struct check *c, uint64_t bytes, size_t files)
{
    c->result->bytes += bytes;
    if (c->sink->advance != NULL) {
        c->sink->advance(c->sink->context, bytes, files);
    }
}

static tc_status cannot_read(struct check *c, const char *path, int error)
{
    return tc_fail(c->err, TC_E_IO, 0, "cannot read %s: %s", path, strerror(error));
}

/* ---- one file of batches ---- */

/* Every checksum in the file, and every body decompressed. */
static tc_status check_batches(struct check *c, struct tc__source *source, struct tc__totals *out)
{
    struct tc__batch b;
    struct tc_slice body;
    struct tc_error why;
    tc__totals_init(out);
    if (!source->scan.has_head && source->scan.size >= TC__HEAD_BYTES) {
        const char *head = tc__scan_view(&source->scan, 0, TC__HEAD_BYTES, false);
        unsigned version = head == NULL ? 0 : tc__head_newer(head);
        if (version > 0) {
            damage(c, 0, 0, "format version %u: a newer tracecore can read it", version);
        } else {
            damage(c, 0, 0, "the file's header is damaged");
        }
    }
    for (;;) {
        enum tc__found found = tc__scan_next(&source->scan, true, &b);
        switch (found) {
        case TC__FOUND_BATCH:
            tc__totals_add(out, b.first.number, b.first.arrival_ns, b.first.body_len);
            c->result->batches++;
            if (tc__read_body(c->e, source, &b, &body, &why) == TC_E_MALFORMED) {
                damage(c, why.offset, b.first.number, "its payload cannot be decompressed");
            }
            break;
        case TC__FOUND_SKIP:
            c->result->set_aside++;
            note(c, b.at, b.first.number, "damage was found before and is in quarantine");
            break;
        case TC__FOUND_BAD:
            damage(c, b.at, b.first.number, "%s", b.why);
            break;
        case TC__FOUND_TORN:
            if (source->is_object) {
                damage(c, b.at, b.first.number, "%s", b.why);
            } else {
                c->result->torn_bytes += b.disk;
                note(c, b.at, b.first.number,
                     "a batch that is being written, or was when the "
                     "daemon died: the next start cuts it");
            }
            return TC_OK;
        case TC__FOUND_END:
            return TC_OK;
        case TC__FOUND_IO:
        default:
            return cannot_read(c, source->path, source->scan.error);
        }
    }
}

static tc_status check_digest(struct check *c, const struct tc__source *source,
                              const struct tc_digest *want)
{
    struct tc_sha256 sha;
    struct tc_digest digest;
    tc_sha256_init(&sha);
    for (uint64_t done = 0; done < source->scan.size;) {
        ssize_t got = tc__read_at(source->fd, c->e->window, TC__WINDOW_BYTES, done);
        if (got < 0) {
            return cannot_read(c, source->path, errno);
        }
        if (got == 0) {
            break;
        }
        tc_sha256_update(&sha, tc_slice_make(c->e->window, (size_t)got));
        done += (uint64_t)got;
        advance(c, (uint64_t)got, 0);
    }
    tc_sha256_final(&sha, &digest);
    if (memcmp(&digest, want, sizeof digest) != 0) {
        damage(c, 0, 0, "its SHA-256 is not the one it is named by");
    }
    return TC_OK;
}

/* ---- objects ---- */

static void check_sums(struct check *c, const struct tc__object *o, const struct tc__source *source,
                       const struct tc__totals *totals)
{
    if (o->file_bytes != source->scan.size) {
        damage(c, 0, 0, "it has %llu bytes, not the %llu that the index has",
               (unsigned long long)source->scan.size, (unsigned long long)o->file_bytes);
    }
    if (!source->scan.has_end) {
        damage(c, source->scan.size, 0, "its table or its end record is damaged");
    }
    if (memcmp(totals, &o->totals, sizeof *totals) != 0) {
        damage(c, 0, 0, "it does not hold the batches that the index has: %llu of %llu",
               (unsigned long long)totals->batches, (unsigned long long)o->totals.batches);
    }
}

/* Whether the index still has that object now. */
static bool still_listed(const struct check *c, const struct tc__object *o)
{
    struct tc__index now;
    struct tc__object line;
    bool listed = tc__index_open(&now, c->e->dir) == 0 &&
                  tc__index_line(&now, tc__index_search(&now, o->totals.first), &line) &&
                  line.state == TC__OBJECT_KEPT &&
                  memcmp(&line.digest, &o->digest, sizeof line.digest) == 0;
    tc__index_close(&now);
    return listed;
}

/* Once one object cannot be fetched the others are not tried. */
static void take_unreachable(struct check *c, const struct tc_error *why)
{
    if (c->result->unreachable++ == 0 && c->err != NULL) {
        *c->err = *why;
    }
}

static tc_status check_object(struct check *c, const struct tc__object *o)
{
    struct tc__source source;
    struct tc__totals totals;
    struct tc_error why = {0};
    char hex[TC__HEX_BYTES];
    bool is_remote = o->state == TC__OBJECT_SHIPPED;
    tc__hex(hex, &o->digest);
    tc__path_object(c->path, c->e->dir, hex, false);
    if (is_remote && c->result->unreachable > 0) {
        c->result->unreachable++;
        return TC_OK;
    }
    tc_status status = tc__source_object(c->e, o, &source, &why);
    if (status == TC_E_MALFORMED) {
        damage(c, 0, 0, "%s", why.message);
        return TC_OK;
    }
    if (is_remote && status != TC_OK) {
        take_unreachable(c, &why);
        return TC_OK;
    }
    if (status == TC_E_NOTFOUND) {
        if (still_listed(c, o)) {
            damage(c, 0, 0, "the index has it but it is not there");
        }
        return TC_OK;
    }
    if (status != TC_OK) {
        return tc_fail(c->err, status, 0, "%s", why.message);
    }
    if (!source.is_object) {
        /* It has its line but not its name yet: it was checked with what is open, or is about to
         * be renamed and was checked there before. */
        tc__source_close(&source);
        return TC_OK;
    }
    c->result->objects++;
    c->result->remote += is_remote;
    status = check_digest(c, &source, &o->digest);
    source.scan.window_len = 0; /* the window was used */
    if (status == TC_OK) {
        status = check_batches(c, &source, &totals);
    }
    if (status == TC_OK) {
        check_sums(c, o, &source, &totals);
    }
    tc__source_close(&source);
    advance(c, 0, 1);
    return status;
}

/* Those that are in the object store alone, up to that line of objects.idx. */
static tc_status check_shipped(struct check *c, struct tc__shipped *shipped,
                               const struct tc__object *before)
{
    struct tc__object o;
    while (tc__shipped_next(shipped, before, &o)) {
        TC_TRY(check_object(c, &o));
    }
    return TC_OK;
}

static tc_status check_index(struct check *c)
{
    uint64_t last = 0;
    struct stat st;
    int error = tc__index_open(&c->index, c->e->dir);
    tc__path(c->path, c->e->dir, "objects.idx", NULL);
    if (error != 0) {
        return cannot_read(c, c->path, error);
    }
    struct tc__shipped shipped;
    tc_status status = tc__shipped_begin(c->e, &shipped, c->err);
    for (uint64_t i = 0; i < c->index.lines && status == TC_OK; i++) {
        struct tc__object o;
        uint64_t offset = i * TC__OBJECT_LINE;
        tc__path(c->path, c->e->dir, "objects.idx", NULL);
        if (!tc__index_line(&c->index, i, &o)) {
            damage(c, offset, 0,
                   "line %llu is damaged; the next start of the daemon writes the "
                   "index anew",
                   (unsigned long long)i + 1);
            continue;
        }
        if (o.totals.first <= last) {
            damage(c, offset, 0, "line %llu is out of order", (unsigned long long)i + 1);
        }
        last = o.totals.last;
        status = check_shipped(c, &shipped, &o);
        if (status == TC_OK && o.state == TC__OBJECT_KEPT) {
            status = check_object(c, &o);
        }
    }
    status = status == TC_OK ? check_shipped(c, &shipped, NULL) : status;
    tc__index_close(&shipped.index);
    tc__path(c->path, c->e->dir, "objects.idx", NULL);
    if (status == TC_OK && c->index.fd >= 0 && fstat(c->index.fd, &st) == 0 &&
        (uint64_t)st.st_size % TC__OBJECT_LINE != 0) {
        note(c, c->index.lines * TC__OBJECT_LINE, 0,
             "a line that is being written, or was when the daemon died: the next start cuts it");
    }
    tc__index_close(&c->index);
    return status;
}

/* An object that the index does not know is found by the number of its first batch. */
static bool check_listed(void *context, const struct tc_digest *digest)
{
    struct check *c = context;
    struct tc__source source = {.is_object = true};
    struct tc__object o;
    struct tc__batch b;
    struct tc__index now;
    char hex[TC__HEX_BYTES];
    tc__hex(hex, digest);
    tc__path_object(c->path, c->e->dir, hex, false);
    source.fd = open(c->path, O_RDONLY | O_CLOEXEC);
    if (source.fd < 0) {
        return true; /* deleted meanwhile */
    }
    bool listed = false;
    if (tc__scan_open(&source.scan, source.fd, c->e->window)) {
        uint64_t first = source.scan.has_end    ? source.scan.end.totals.first
                         : source.scan.has_head ? source.scan.head.first
                                                : 0;
        if (first == 0 && tc__scan_next(&source.scan, false, &b) == TC__FOUND_BATCH) {
            first = b.first.number;
        }
        if (tc__index_open(&now, c->e->dir) == 0) {
            /* Its own first batch may be one that was set aside: then the number is a little off.
             */
            uint64_t line = tc__index_search(&now, first);
            listed =
                tc__index_line(&now, line, &o) && memcmp(&o.digest, digest, sizeof *digest) == 0;
            tc__index_close(&now);
        }
    }
    if (!listed) {
        damage(c, 0, 0, "the index does not have this object");
    }
    tc__source_close(&source);
    return true;
}

/* ---- open segments ---- */

static tc_status check_open(struct check *c)
{
    size_t count = 0;
    int error = tc__list_open(c->e->dir, c->e->open, TC__READ_OPEN_MAX, &count);
    if (error != 0) {
        return cannot_read(c, c->e->dir, error);
    }
    for (size_t i = 0; i < count; i++) {
        struct tc__source source;
        struct tc__totals totals;
        tc_status status = tc__source_segment(c->e, c->e->open[i], &source, c->err);
        if (status == TC_E_NOTFOUND) {
            continue; /* sealed meanwhile: by a writer whose bytes were just checked, or will be */
        }
        TC_TRY(status);
        memcpy(c->path, source.path, sizeof c->path);
        c->result->segments++;
        status = check_batches(c, &source, &totals);
        advance(c, source.scan.size, 1);
        tc__source_close(&source);
        TC_TRY(status);
    }
    return TC_OK;
}

/* ---- citations ---- */

/* Deleted to make room, as far as the index still tells. */
static bool was_deleted(struct check *c, uint64_t number)
{
    struct tc__object o;
    if (tc__index_open(&c->index, c->e->dir) != 0) {
        return false;
    }
    uint64_t line = tc__index_search(&c->index, number);
    bool gone = tc__index_line(&c->index, line, &o) &&
                ((o.state != TC__OBJECT_KEPT && o.totals.first <= number) ||
                 (line == 0 && number < o.totals.first));
    tc__index_close(&c->index);
    return gone;
}

static bool check_citation(void *context, const struct tc__citation *citation)
{
    struct check *c = context;
    struct tc_slice body;
    struct tc_digest digest;
    struct tc_error why = {0};
    struct tc__object o;
    c->result->citations++;
    if (c->result->unreachable > 0 && tc__find_shipped(c->e, citation->number, &o) &&
        was_deleted(c, citation->number)) {
        c->result->unreachable++;
        return true;
    }
    tc_status status = tc_evidence_body(c->e, citation->number, &body, &why);
    tc__path(c->path, c->e->dir, "citations.idx", NULL);
    if (status == TC_E_NOTFOUND) {
        if (was_deleted(c, citation->number)) {
            c->result->citations_gone++;
        } else {
            damage(c, 0, citation->number, "a verdict cites it but it is not there");
        }
    } else if (status == TC_E_AGAIN && tc__find_shipped(c->e, citation->number, &o)) {
        take_unreachable(c, &why);
    } else if (status != TC_OK) {
        damage(c, 0, citation->number, "a verdict cites it: %s", why.message);
    } else if (tc_digest_sha256(body, &digest) != TC_OK ||
               memcmp(&digest, &citation->digest, sizeof digest) != 0) {
        damage(c, 0, citation->number, "a verdict cites it with another digest than its body has");
    }
    return true;
}

static void bad_citation(void *context, uint64_t offset)
{
    struct check *c = context;
    tc__path(c->path, c->e->dir, "citations.idx", NULL);
    damage(c, offset, 0, "line %llu is damaged", (unsigned long long)offset / TC__CITE_BYTES + 1);
}

/* ---- all of it ---- */

static void begin(struct check *c)
{
    uint64_t bytes = 0;
    size_t files = 0;
    if (c->sink->begin == NULL) {
        return;
    }
    if (tc__index_open(&c->index, c->e->dir) == 0) {
        for (uint64_t i = 0; i < c->index.lines; i++) {
            struct tc__object o;
            if (tc__index_line(&c->index, i, &o) && o.state == TC__OBJECT_KEPT) {
                bytes += o.file_bytes;
                files++;
            }
        }
        tc__index_close(&c->index);
    }
    c->sink->begin(c->sink->context, files, bytes);
}

tc_status tc_evidence_verify(struct tc_evidence *e, const struct tc_verify_sink *sink,
                             struct tc_verify_result *out, struct tc_error *err)
{
    struct check c = {.e = e, .sink = sink, .result = out, .err = err};
    *out = (struct tc_verify_result){0};
    c.index.fd = -1;
    begin(&c);
    /* First what is open, then what is sealed: what is sealed in between is seen. */
    TC_TRY(check_open(&c));
    TC_TRY(check_index(&c));
    int error = tc__list_objects(e->dir, check_listed, &c);
    if (error != 0) {
        return cannot_read(&c, e->dir, error);
    }
    error = tc__cite_each(e->dir, check_citation, bad_citation, &c);
    if (error != 0) {
        return tc_fail(err, TC_E_IO, 0, "cannot read %s/citations.idx: %s", e->dir,
                       strerror(error));
    }
    return TC_OK;
}
