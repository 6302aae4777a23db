/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands between bytes from outside and libfyaml 0.7, which hangs or takes hundreds of times
 * the memory of some texts. Every reader of YAML asks this first.
 */
#ifndef TC_BASE_YAML_SCREEN_H
#define TC_BASE_YAML_SCREEN_H

#include "base/slice.h"
#include "base/status.h"

#include <stddef.h>

/*
 * Finds what libfyaml must not see. The result says what that is, *out_at where the text has to be
 * cut before it, *out_status what to return; NULL, the length and TC_OK when there is nothing.
 */
const char *tc_yaml_screen(struct tc_slice text, size_t *out_at, tc_status *out_status);

#endif
