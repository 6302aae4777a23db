/* SPDX-License-Identifier: Apache-2.0 */
/* The way back: a verdict from its JSON, for what a daemon told to be shown as text. */
#ifndef TC_VERDICT_READ_H
#define TC_VERDICT_READ_H

#include "base/arena.h"
#include "base/json/json.h"
#include "base/status.h"
#include "event/verdict.h"

#include <stdint.h>

/* The number under which a source with this digest is to be known; TC_SOURCE_NONE: none. */
typedef uint32_t (*tc_source_add_fn)(void *context, struct tc_slice digest);

/*
 * Makes *out_verdict and its *out_finding of one object that tc_verdict_render_json wrote. Strings
 * lie in the document, arrays in the arena: both must outlive the verdict. Members that are unknown
 * are attributes. TC_E_MALFORMED when it is no verdict, TC_E_NOMEM when the arena is full.
 */
TC_CHECKED tc_status tc_verdict_read_json(struct tc_json object, struct tc_arena *arena,
                                          tc_source_add_fn add_source, void *context,
                                          struct tc_verdict *out_verdict,
                                          struct tc_finding *out_finding);

#endif
