/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.idx: one line per object, in the order of their batches. Lines have one width, never lie
 * across a sector, and have each a checksum: the file is searched by halves, and a line's state is
 * changed in place. shipped.idx: such a line for each object of which the object store has a copy
 * that was verified, whether it is still here or not.
 */
#ifndef TC_EVIDENCE_OBJECTS_PRIV_H
#define TC_EVIDENCE_OBJECTS_PRIV_H

#include "evidence/file_priv.h"
#include "evidence/segment_priv.h"

#include <stdbool.h>
#include <stdint.h>

#define TC__OBJECT_LINE 256

enum tc__object_state {
    TC__OBJECT_KEPT = 'o',
    TC__OBJECT_GOING = 'd', /* being deleted */
    TC__OBJECT_GONE = 'x',
    TC__OBJECT_SHIPPED = 's', /* of lines in shipped.idx, all of them */
};

struct tc__object {
    enum tc__object_state state;
    struct tc__totals totals;
    uint64_t file_bytes;
    uint64_t seq; /* its name in open/, where it may still be */
    struct tc_digest digest;
};

/* The writer's view. */
struct tc__objects {
    int fd;
    uint64_t lines;
    uint64_t first_kept; /* no line before it is kept */
    uint64_t last;       /* number of the last batch in any object */
    uint64_t kept_bytes;
    uint64_t kept_batches;
    uint64_t kept_body_bytes;
};

/* objects.idx or shipped.idx as it is read: a few lines at a time. */
#define TC__INDEX_CHUNK 64
struct tc__index {
    int fd; /* -1: there is none, and no lines */
    uint64_t lines;
    uint64_t chunk_at; /* first line in the chunk */
    uint64_t chunk_len;
    char chunk[TC__INDEX_CHUNK * TC__OBJECT_LINE];
};

/* objects.idx, shipped.idx. 0 or errno. A file that is not there has no lines. */
int tc__index_open(struct tc__index *ix, const char *dir);
int tc__index_open_shipped(struct tc__index *ix, const char *dir);
void tc__index_close(struct tc__index *ix);
/* False when that line is damaged or cannot be read. */
bool tc__index_line(struct tc__index *ix, uint64_t line, struct tc__object *out);
/* The first line whose object ends at or behind batch `number`; ix->lines when there is none. */
uint64_t tc__index_search(struct tc__index *ix, uint64_t number);

/* Whether shipped.idx, open in `shipped`, has this object. */
bool tc__index_has(struct tc__index *shipped, const struct tc__object *o);
struct tc_object_info tc__object_info(const struct tc__object *o);

/* An object is there, or no more. */
void tc__objects_count(struct tc__objects *objects, const struct tc__object *o, bool is_kept);
void tc__object_put(char *out, const struct tc__object *o);

#endif
