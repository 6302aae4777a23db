/* SPDX-License-Identifier: Apache-2.0 */
/* What LeakSanitizer leaves unsaid in every fuzzer. */

const char *__lsan_default_suppressions(void); /* NOLINT: LeakSanitizer's name */

/* libfyaml 0.7.12 loses its buffer when a long quoted scalar does not end. Leaks of ours stay. */
const char *__lsan_default_suppressions(void) /* NOLINT */
{
    return "leak:libfyaml.so";
}
