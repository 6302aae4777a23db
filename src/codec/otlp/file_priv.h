/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of OTLP as the Collector's file exporter writes it, or one request: in JSON one request
 * per line, a single document or an array; in protobuf one request, or many with four bytes of
 * length before each. Each request is checked and handed over as a tape; a bad one is left out.
 */
#ifndef TC_CODEC_OTLP_FILE_PRIV_H
#define TC_CODEC_OTLP_FILE_PRIV_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/otlp/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct tc__otlp_file {
    struct tc_slice bytes;
    enum tc_otlp_signal signal;
    enum tc_otlp_form form;
    struct tc_otlp_reader *reader; /* NULL: one is made, as large as the file needs it */
    const char *not_one;           /* told of a request that is none of that signal */
    tc_status (*take)(void *context, struct tc_otlp_reader *r, const struct tc_otlp_tape *tape);
    void (*bad)(void *context, uint64_t offset, const char *why);
    void *context;
};

/* *out_first stays as it is, or says what was wrong with the first bad request. */
TC_CHECKED tc_status tc__otlp_file_read(const struct tc__otlp_file *f, struct tc_error *out_first,
                                        struct tc_error *err);

/* Whether it is JSON whose first request has that list. */
bool tc__otlp_file_has(struct tc_slice bytes, const char *member);
/* Whether it begins as a request in protobuf does, of whichever signal. */
bool tc__otlp_file_is_protobuf(struct tc_slice bytes);
/* The same; *out is that request. */
bool tc__otlp_file_first(struct tc_slice bytes, struct tc_slice *out);

#endif
