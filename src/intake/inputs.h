/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of an offline command: paths become files, directories are walked,
 * and each file meets the codec that recognises it. What cannot be read or is
 * not recognised is told to the caller once; the rest goes on without it.
 */
#ifndef TC_INTAKE_INPUTS_H
#define TC_INTAKE_INPUTS_H

#include "event/source.h"
#include "intake/input.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_inputs_want {
    const char *command; /* of the program, for the remedies in messages */
    tc_intake_say_fn say;
    const struct tc_codec *codec; /* for every file; NULL: recognise each */
    bool verbose;
    bool by_path; /* in order of path: then nothing depends on how the user ordered them */
};

/*
 * Fills in with what the paths name, in the order given unless by_path; the files
 * of a directory are sorted by name. Names that do not lead to a file we read are
 * reported and set in->failed, as do compressed files and UTF-16 text wherever they
 * are: they may well be what the user means. TC_E_NOMEM when it cannot go on.
 */
TC_CHECKED tc_status tc_inputs_open(struct tc_inputs *in, char *const *paths, size_t path_count,
                                    const struct tc_inputs_want *want);
/*
 * One file more, behind the others, read with want->codec whatever it holds. err says what is
 * wrong with it.
 */
TC_CHECKED tc_status tc_inputs_add(struct tc_inputs *in, const char *path,
                                   const struct tc_inputs_want *want, struct tc_error *err);
void tc_inputs_close(struct tc_inputs *in);

/* Tells it once, "PATH: changed while being read: ..."; true when it has shrunk. */
bool tc_input_tell_shrunk(struct tc_input *in, tc_intake_say_fn say);

/* The inputs as sources of evidence. Borrows in as long as the result is used. */
struct tc_sources tc_inputs_sources(struct tc_inputs *in);
/* The number of an input as one of these. The readers of one file share it: what they tell comes
 * from one log. */
uint32_t tc_inputs_source(const struct tc_inputs *in, size_t i);

#endif
