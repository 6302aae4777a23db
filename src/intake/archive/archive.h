/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of an archive (tar, zip) or of a compressed file (gzip, zstd, xz, bzip2, lz4), one
 * after the other. What is read comes from outside: members, bytes and the factor by which they
 * grow are bounded, links and other special members are stepped over, and names are only names:
 * nothing is written where a name says.
 */
#ifndef TC_INTAKE_ARCHIVE_ARCHIVE_H
#define TC_INTAKE_ARCHIVE_ARCHIVE_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Bounds; the tests lower them. */
struct tc_archive_limits {
    uint64_t members;      /* of any kind */
    uint64_t bytes;        /* of all members together, unpacked */
    uint64_t growth;       /* unpacked bytes per packed byte ... */
    uint64_t growth_after; /* ... once so many are unpacked */
};

extern const struct tc_archive_limits tc_archive_limits_default;

struct tc_archive;

struct tc_archive_member {
    struct tc_slice name; /* without "./", "/" and ".." parts; good until the next call */
    int64_t mtime_ns;     /* TC_TIME_NONE when it has none */
    bool only;            /* the content of a compressed file, which is no archive */
};

/* Takes some bytes of a member, in order. Anything but TC_OK ends the reading with it. */
typedef tc_status (*tc_archive_bytes_fn)(void *context, struct tc_slice bytes,
                                         struct tc_error *err);

/*
 * Whether the bytes are those of an archive or compressed, by their magic numbers. The zips that
 * PyTorch and NumPy keep weights in are not: they are large, and nothing in them is a log.
 */
bool tc_archive_is(struct tc_slice bytes);

/*
 * Borrows the bytes until it is closed. `name` is that of the file: a compressed file that is no
 * archive has one member, named like it without the ending.
 */
TC_CHECKED tc_status tc_archive_open(struct tc_slice bytes, struct tc_slice name,
                                     const struct tc_archive_limits *limits,
                                     struct tc_archive **out, struct tc_error *err);
void tc_archive_close(struct tc_archive *a);

/* The next member that is a file; *out_end when there is none. On failure nothing more can be read.
 */
TC_CHECKED tc_status tc_archive_next(struct tc_archive *a, struct tc_archive_member *out,
                                     bool *out_end, struct tc_error *err);
/* Its content. On failure too, what came before it was given to `take`. */
TC_CHECKED tc_status tc_archive_read(struct tc_archive *a, tc_archive_bytes_fn take, void *context,
                                     struct tc_error *err);

#endif
