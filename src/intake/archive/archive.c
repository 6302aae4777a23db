/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/archive/archive.h"

#include "base/time.h"
#include "intake/archive/libarchive_priv.h"

#include <stdlib.h>
#include <string.h>

/* Longer names are cut: no file system has them. */
#define NAME_MAX_BYTES 4096
/* Where a tar's first header has its magic. */
#define TAR_MAGIC_AT 257
/* In the header of a zip's member. */
#define ZIP_NAME_LENGTH_AT 26
#define ZIP_NAME_AT 30

const struct tc_archive_limits tc_archive_limits_default = {
    .members = 100000,
    .bytes = UINT64_C(16) << 30,
    .growth = 1000,
    .growth_after = UINT64_C(256) << 20,
};

/* Invariant: unpacked is what all calls of `take` were given, over all members. */
struct tc_archive {
    const struct tc__libarchive *lib;
    struct archive *handle;
    struct tc_archive_limits limits;
    struct tc_slice plain_name; /* of the one member of a compressed file */
    uint64_t members;
    uint64_t unpacked;
    char name[NAME_MAX_BYTES];
};

struct packing {
    struct tc_slice magic;
    struct tc_slice ending;
};

static const struct packing PACKINGS[] = {
    {{"\x1f\x8b", 2}, {".gz", 3}},
    {{"\x28\xb5\x2f\xfd", 4}, {".zst", 4}},
    {{"\xfd\x37\x7a\x58\x5a", 5}, {".xz", 3}},
    {{"BZh", 3}, {".bz2", 4}},
    {{"\x04\x22\x4d\x18", 4}, {".lz4", 4}},
};

static const struct packing *find_packing(struct tc_slice bytes)
{
    for (size_t i = 0; i < TC_COUNT(PACKINGS); i++) {
        if (tc_slice_starts(bytes, PACKINGS[i].magic)) {
            return &PACKINGS[i];
        }
    }
    return NULL;
}

/* By the name of the first member: its length and place are fixed. */
static bool is_zip_of_logs(struct tc_slice bytes)
{
    if (!tc_slice_starts(bytes, TC_LIT("PK\x03\x04")) || bytes.len < ZIP_NAME_AT) {
        return false;
    }
    size_t length = (uint8_t)bytes.ptr[ZIP_NAME_LENGTH_AT] |
                    (size_t)(uint8_t)bytes.ptr[ZIP_NAME_LENGTH_AT + 1] << 8;
    struct tc_slice name = tc_slice_head(tc_slice_from(bytes, ZIP_NAME_AT), length);
    return !tc_slice_ends(name, TC_LIT("/data.pkl")) && !tc_slice_ends(name, TC_LIT(".npy"));
}

bool tc_archive_is(struct tc_slice bytes)
{
    return find_packing(bytes) != NULL || is_zip_of_logs(bytes) ||
           tc_slice_starts(tc_slice_from(bytes, TAR_MAGIC_AT), TC_LIT("ustar"));
}

/* "logs/dmesg-gpu07.txt.gz" -> "dmesg-gpu07.txt" */
static struct tc_slice unpacked_name(struct tc_slice bytes, struct tc_slice path)
{
    const struct packing *packing = find_packing(bytes);
    const char *slash = path.len == 0 ? NULL : memrchr(path.ptr, '/', path.len);
    struct tc_slice name = tc_slice_from(path, slash == NULL ? 0 : (size_t)(slash - path.ptr) + 1);
    if (packing != NULL && name.len > packing->ending.len && tc_slice_ends(name, packing->ending)) {
        name.len -= packing->ending.len;
    }
    return name;
}

static tc_status fail_reading(const struct tc_archive *a, struct tc_error *err)
{
    const char *why = a->lib->error_string(a->handle);
    return tc_fail(err, TC_E_MALFORMED, 0, "cannot be unpacked: %s",
                   why == NULL ? "it is damaged" : why);
}

tc_status tc_archive_open(struct tc_slice bytes, struct tc_slice name,
                          const struct tc_archive_limits *limits, struct tc_archive **out,
                          struct tc_error *err)
{
    const struct tc__libarchive *lib = NULL;
    TC_TRY(tc__libarchive_load(&lib, err));
    struct tc_archive *a = calloc(1, sizeof *a);
    struct archive *handle = a == NULL ? NULL : lib->read_new();
    if (handle == NULL) {
        free(a);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to unpack it");
    }
    *a = (struct tc_archive){
        .lib = lib, .handle = handle, .limits = *limits, .plain_name = unpacked_name(bytes, name)};
    (void)lib->read_support_filter_gzip(handle);
    (void)lib->read_support_filter_zstd(handle);
    (void)lib->read_support_filter_xz(handle);
    (void)lib->read_support_filter_bzip2(handle);
    (void)lib->read_support_filter_lz4(handle);
    (void)lib->read_support_format_tar(handle);
    (void)lib->read_support_format_zip(handle);
    (void)lib->read_support_format_raw(handle);
    if (lib->read_open_memory(handle, bytes.ptr, bytes.len) != ARCHIVE_OK) {
        tc_status status = fail_reading(a, err);
        tc_archive_close(a);
        return status;
    }
    *out = a;
    return TC_OK;
}

void tc_archive_close(struct tc_archive *a)
{
    if (a != NULL) {
        (void)a->lib->read_free(a->handle);
        free(a);
    }
}

/* Names are shown and give hints, as paths of files do: without what leads out of the archive. */
static struct tc_slice clean_name(struct tc_archive *a, struct tc_slice raw)
{
    struct tc_buf b = tc_buf_make(a->name, sizeof a->name);
    while (raw.len > 0) {
        struct tc_slice part = tc_slice_cut(raw, '/', &raw);
        if (part.len == 0 || tc_slice_eq(part, TC_LIT(".")) || tc_slice_eq(part, TC_LIT(".."))) {
            continue;
        }
        tc_buf_str(&b, b.len > 0 ? TC_LIT("/") : TC_EMPTY);
        tc_buf_str(&b, part);
    }
    return b.len > 0 ? tc_buf_slice(&b) : TC_LIT("unnamed");
}

static int64_t mtime_of(const struct tc_archive *a, struct archive_entry *entry)
{
    int64_t ns = TC_TIME_NONE;
    if (a->lib->entry_mtime_is_set(entry) == 0 ||
        __builtin_mul_overflow((int64_t)a->lib->entry_mtime(entry), TC_SECOND, &ns) || ns < 0 ||
        ns > TC_TIME_MAX) {
        return TC_TIME_NONE;
    }
    return ns;
}

tc_status tc_archive_next(struct tc_archive *a, struct tc_archive_member *out, bool *out_end,
                          struct tc_error *err)
{
    struct archive_entry *entry = NULL;
    for (;;) {
        int got = a->lib->read_next_header(a->handle, &entry);
        *out_end = got == ARCHIVE_EOF;
        if (*out_end) {
            return TC_OK;
        }
        if (got != ARCHIVE_OK && got != ARCHIVE_WARN) {
            return fail_reading(a, err);
        }
        if (++a->members > a->limits.members) {
            return tc_fail(err, TC_E_LIMIT, 0,
                           "has more than %llu members; unpack it, and give the files that matter",
                           (unsigned long long)a->limits.members);
        }
        bool plain = a->lib->format(a->handle) == ARCHIVE_FORMAT_RAW;
        if (!plain && a->lib->entry_filetype(entry) != AE_IFREG) {
            continue;
        }
        const char *path = a->lib->entry_pathname(entry);
        struct tc_slice name = path == NULL ? TC_EMPTY : tc_slice_cstr(path);
        out->name = clean_name(a, plain ? a->plain_name : name);
        out->mtime_ns = mtime_of(a, entry);
        out->only = plain;
        return TC_OK;
    }
}

/* `more` bytes come: whether that is still what a log can be. */
static tc_status count_bytes(struct tc_archive *a, uint64_t more, struct tc_error *err)
{
    uint64_t packed = (uint64_t)a->lib->filter_bytes(a->handle, -1);
    if (more > a->limits.bytes - a->unpacked) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "holds more than %llu MiB; unpack it, and give the files that matter",
                       (unsigned long long)(a->limits.bytes >> 20));
    }
    a->unpacked += more;
    if (a->unpacked > a->limits.growth_after && a->unpacked / a->limits.growth > packed) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "grows more than %llu times when it is unpacked, as no log does",
                       (unsigned long long)a->limits.growth);
    }
    return TC_OK;
}

/* Holes of sparse members are zeros. */
static tc_status take_zeros(struct tc_archive *a, uint64_t count, tc_archive_bytes_fn take,
                            void *context, struct tc_error *err)
{
    static const char zeros[16384];
    while (count > 0) {
        size_t now = count < sizeof zeros ? (size_t)count : sizeof zeros;
        TC_TRY(count_bytes(a, now, err));
        TC_TRY(take(context, tc_slice_make(zeros, now), err));
        count -= now;
    }
    return TC_OK;
}

tc_status tc_archive_read(struct tc_archive *a, tc_archive_bytes_fn take, void *context,
                          struct tc_error *err)
{
    uint64_t at = 0;
    for (;;) {
        const void *block = NULL;
        size_t size = 0;
        la_int64_t offset = 0;
        int got = a->lib->read_data_block(a->handle, &block, &size, &offset);
        if (got == ARCHIVE_EOF) {
            return TC_OK;
        }
        if ((got != ARCHIVE_OK && got != ARCHIVE_WARN) || offset < 0 || (uint64_t)offset < at) {
            return fail_reading(a, err);
        }
        TC_TRY(take_zeros(a, (uint64_t)offset - at, take, context, err));
        TC_TRY(count_bytes(a, size, err));
        TC_TRY(take(context, tc_slice_make(block, size), err));
        at = (uint64_t)offset + size;
    }
}
