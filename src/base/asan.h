/* SPDX-License-Identifier: Apache-2.0 */
/* TC_ASAN is defined when the program is built with AddressSanitizer, by gcc or by clang. */
#ifndef TC_BASE_ASAN_H
#define TC_BASE_ASAN_H

#if defined(__SANITIZE_ADDRESS__)
#define TC_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TC_ASAN 1
#endif
#endif

#endif
