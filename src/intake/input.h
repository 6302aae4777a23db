/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One input of an offline command: the bytes of a file or of standard input.
 * Small files are copied, large ones mapped; a mapped file that shrinks while
 * it is read does not crash the program: that ends with a message
 * (tc_input_guard) or goes on without what is gone (tc_input_go_on). The digest is made when it is
 * first asked for.
 */
#ifndef TC_INTAKE_INPUT_H
#define TC_INTAKE_INPUT_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/prometheus/prometheus.h"
#include "event/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tc_codec;
struct tc_mapping;
struct tc_spool;

struct tc_input {
    char *path; /* as given or found; "-" is standard input; owned */
    struct tc_slice bytes;
    bool mapped;
    struct tc_spool *spool; /* that holds the bytes of a large member of an archive; owned; NULL */
    bool shrunk_told;       /* the user knows that it became shorter */
    struct tc_mapping *mapping; /* owned; NULL unless mapped */
    bool direct;                /* named by the user, not found in a directory */
    dev_t device;
    ino_t inode;
    int64_t mtime_ns;
    const struct tc_codec *codec; /* that reads it */
    struct tc_input *container;   /* the archive that it is a member of, or, if it is shared, who
                                     holds the bytes; borrowed; NULL */
    struct tc_slice member;       /* its name in the archive, which is the end of path; empty */
    bool shared;                  /* several codecs read the file, each as an input of its own */
    bool again;                   /* shared, and not the first of them */

    /* What is known about it from outside; see intake/hints.h. Slices of strings that live as long.
     */
    struct tc_slice node;
    struct tc_slice job;
    struct tc_slice place; /* node or pod that its directory is named after */
    int64_t boot_ns;
    int64_t now_ns;
    int64_t taken_ns;               /* of the last scrape in it; TC_TIME_NONE */
    int64_t interval_ns;            /* between its scrapes; 0 by default */
    struct tc_prom_scrapes scrapes; /* in it; count is 0 when it holds none */

    size_t passed; /* bytes of a mapping whose pages were given back */
    bool has_digest;
    char digest[TC_DIGEST_TEXT_MAX];
};

/* Tells the user something in one line. */
typedef void (*tc_intake_say_fn)(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A file that nobody reads and that names a node: a ticket, what hostname printed. */
struct tc_input_note {
    char *path; /* owned */
    char *node; /* owned */
};

#define TC_INPUT_NOTES_MAX 64

/* Several, that are read together. */
struct tc_inputs {
    struct tc_input *items; /* recognised; an item's index is its tc_raw.source */
    size_t count;
    size_t cap;
    struct tc_input **containers; /* archives that items are members of; owned */
    size_t container_count;
    size_t container_cap;
    struct tc_input_note notes[TC_INPUT_NOTES_MAX];
    size_t note_count;
    size_t copied_bytes;
    uint64_t total_bytes;
    size_t files;         /* that the items are read from: one may have several readers */
    size_t unrecognised;  /* found in directories and left out */
    size_t left_out;      /* files over TC_INPUTS_MAX */
    size_t skipped;       /* links to directories, pipes and the like, found in directories */
    bool failed;          /* something the user named could not be read: the exit status is bad */
    tc_intake_say_fn say; /* told what was assumed about them; NULL: nobody */
};

/*
 * Opens path and takes its content. *io_copied counts the bytes that were copied
 * for all inputs together: over a bound, small files are mapped too. On failure
 * nothing is held, and err says what is wrong and what to do about it.
 */
TC_CHECKED tc_status tc_input_open(struct tc_input *in, const char *path, size_t *io_copied,
                                   struct tc_error *err);
/*
 * The same for a member of an archive, which was unpacked to the spool: that is taken over, on
 * failure too. Its path is that of the archive and the member's name behind a slash: a name of a
 * member says what the name of a file in a directory would.
 */
TC_CHECKED tc_status tc_input_open_member(struct tc_input *in, struct tc_input *container,
                                          struct tc_slice member, struct tc_spool *spool,
                                          size_t *io_copied, struct tc_error *err);
/* The same bytes for one more codec. Borrows the container, which outlives it. */
TC_CHECKED tc_status tc_input_share(struct tc_input *in, struct tc_input *container,
                                    struct tc_error *err);
void tc_input_close(struct tc_input *in);

/*
 * The reader has come to offset: pages of a mapping well before it are given back, so that a
 * large file does not fill the memory. Whoever looks there again reads them from the file again.
 */
void tc_input_pass(struct tc_input *in, size_t offset);

/* "sha256:..." of the whole content, or of the archive that it is in; lives as long as they do.
 * Empty when it cannot be made or the file has shrunk. */
struct tc_slice tc_input_digest(struct tc_input *in);

/* Whether the bytes look like text, from their beginning. */
bool tc_input_is_text(const struct tc_input *in);
/* The number of the line that holds the byte at offset, from 1. */
uint64_t tc_input_line(const struct tc_input *in, size_t offset);

/*
 * From now on a mapped file that becomes shorter than what was mapped ends the
 * process with exit status 2 and a message.
 */
void tc_input_guard(void);
/*
 * Instead: what is gone reads as zeros, and tc_input_shrunk says so. For callers that ask
 * before they trust what they have read.
 */
void tc_input_go_on(void);
bool tc_input_shrunk(const struct tc_input *in);

#endif
