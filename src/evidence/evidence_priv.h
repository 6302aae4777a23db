/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader. It holds no file between two calls but finds its way anew, because the writer seals
 * and deletes meanwhile.
 */
#ifndef TC_EVIDENCE_EVIDENCE_PRIV_H
#define TC_EVIDENCE_EVIDENCE_PRIV_H

#include "evidence/cite_priv.h"
#include "evidence/file_priv.h"
#include "evidence/objects_priv.h"
#include "evidence/scan_priv.h"
#include "evidence/ship.h"

struct ZSTD_DCtx_s;

/* Segments in open/ that a reader looks at. */
#define TC__READ_OPEN_MAX 1024
/* A segment is renamed while it is looked for: how often one looks again. */
#define TC__LOOK_MAX 16
/* Citations of one segment that a walk knows of; the rest are walked as if not cited. */
#define TC__WALK_CITES_MAX 65536

struct tc_evidence {
    char dir[TC__DIR_MAX];
    char *window;
    struct ZSTD_DCtx_s *decompressor;
    struct tc__index index;
    uint64_t open[TC__READ_OPEN_MAX];
    char *body;
    size_t body_cap;
    struct tc__citation *cites; /* TC__WALK_CITES_MAX of them; made when first needed */
    size_t cites_len;
    struct tc_evidence_remote remote; /* fetch NULL: what is not here is not there */
    int fetched_fd;                   /* the object that was fetched last; -1: none */
    struct tc_digest fetched;

    char name[TC_STORE_NAME_MAX];
};

/* A file of the store that is open for reading. */
struct tc__source {
    int fd;
    bool is_object;
    char path[TC__PATH_MAX];
    struct tc__scan scan;
};

/* Opens the object, or the segment in open/ that it still is, or a copy that is fetched.
 * TC_E_NOTFOUND when it is in none of these places. */
TC_CHECKED tc_status tc__source_object(struct tc_evidence *e, const struct tc__object *o,
                                       struct tc__source *out, struct tc_error *err);
TC_CHECKED tc_status tc__source_segment(struct tc_evidence *e, uint64_t seq, struct tc__source *out,
                                        struct tc_error *err);
void tc__source_close(struct tc__source *source);

/* The same of an object that is in the object store alone: fetched and checked. */
TC_CHECKED tc_status tc__source_remote(struct tc_evidence *e, const struct tc__object *o,
                                       struct tc__source *out, struct tc_error *err);
void tc__remote_close(struct tc_evidence *e);
/* Whether it can be fetched: this object; the one that holds that batch. */
bool tc__is_shipped(struct tc_evidence *e, const struct tc__object *o);
bool tc__find_shipped(struct tc_evidence *e, uint64_t number, struct tc__object *out);

/* The objects that are in the object store alone, in order, beside a walk over objects.idx. */
struct tc__shipped {
    struct tc__index index;
    uint64_t line;
};
/* Without a way to fetch them there are none. The index is to be closed afterwards. */
TC_CHECKED tc_status tc__shipped_begin(struct tc_evidence *e, struct tc__shipped *out,
                                       struct tc_error *err);
/* The next one before that line of objects.idx; NULL: behind all lines. False: there is none. */
bool tc__shipped_next(struct tc__shipped *shipped, const struct tc__object *before,
                      struct tc__object *out);

/* Citations of the batches from..to, into e->cites, by number. out_all: there was room for all. */
TC_CHECKED tc_status tc__load_cites(struct tc_evidence *e, uint64_t from, uint64_t to,
                                    bool *out_all, struct tc_error *err);
/* NULL when it is not cited. */
const struct tc__citation *tc__cite_of(const struct tc_evidence *e, uint64_t number);

/* The body of the batch that tc__scan_next found, decompressed into e->body. */
TC_CHECKED tc_status tc__read_body(struct tc_evidence *e, struct tc__source *source,
                                   const struct tc__batch *batch, struct tc_slice *out,
                                   struct tc_error *err);
/* Its first piece alone. */
TC_CHECKED tc_status tc__read_beginning(struct tc_evidence *e, struct tc__source *source,
                                        const struct tc__batch *batch, struct tc_slice *out,
                                        struct tc_error *err);

#endif
