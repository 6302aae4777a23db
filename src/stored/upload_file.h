/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An uploaded file as events: recognised from its content, given what its name and the sender's
 * hints say, read in order; as `tracecore detect` does with a file of that name.
 */
#ifndef TC_STORED_UPLOAD_FILE_H
#define TC_STORED_UPLOAD_FILE_H

#include "base/slice.h"
#include "base/status.h"
#include "event/event.h"
#include "evidence/store.h"

/* Names, hints and all: what a batch may carry beside its body. */
#define TC_UPLOAD_NAME_MAX 4096

/*
 * Hands over the events of a batch that is a file, sorted. batch->name is the file's name and then,
 * each in a line of its own, hints: node=, job=, boot_time=, now=, tz=, format=, and at the end
 * the sender's (sender.h). TC_E_MALFORMED when it could not be read to its end, TC_E_UNSUPPORTED
 * when nobody reads it; events before that were handed over.
 */
TC_CHECKED tc_status tc_upload_file_read(const struct tc_batch *batch,
                                         tc_status (*take)(void *context,
                                                           const struct tc_event *ev),
                                         void *context, struct tc_error *err);

/* Whether hints are ones we know and their values can be read, and somebody reads the content. */
TC_CHECKED tc_status tc_upload_file_check(struct tc_slice name, struct tc_slice body,
                                          const char **out_format, struct tc_error *err);

#endif
