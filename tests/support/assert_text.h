/* SPDX-License-Identifier: Apache-2.0 */
/* Assertions about slices. Include after cmocka.h. */
#ifndef TC_TESTS_SUPPORT_ASSERT_TEXT_H
#define TC_TESTS_SUPPORT_ASSERT_TEXT_H

#include "base/slice.h"

#define assert_text(slice, literal) assert_true(tc_slice_eq((slice), TC_LIT(literal)))
#define assert_slice(slice, text) assert_true(tc_slice_eq((slice), tc_slice_cstr(text)))
#define assert_says(slice, literal) assert_true(tc_slice_contains((slice), TC_LIT(literal)))

#endif
