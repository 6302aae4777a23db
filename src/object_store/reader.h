/* SPDX-License-Identifier: Apache-2.0 */
/* How readers of evidence get objects that are in the object store alone. */
#ifndef TC_OBJECT_STORE_READER_H
#define TC_OBJECT_STORE_READER_H

#include "evidence/ship.h"

/*
 * Lets e fetch what the store in `dir` has copied elsewhere; with nothing copied it does nothing.
 * Nothing is connected before the first such object is read; `say` (may be NULL) is told of each in
 * one line. TC_E_USAGE, TC_E_MALFORMED: what evidence/remote says cannot be used.
 */
TC_CHECKED tc_status tc_object_store_attach(struct tc_evidence *e, const char *dir,
                                            void (*say)(const char *line), struct tc_error *err);

#endif
