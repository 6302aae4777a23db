/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes objects, as JSON or YAML. */
#include "codec_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void); /* NOLINT: LeakSanitizer's name */

/* libfyaml 0.7.12 loses its buffer when a long quoted scalar does not end. Leaks of ours stay. */
const char *__lsan_default_suppressions(void) /* NOLINT */
{
    return "leak:libfyaml.so";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_codec(&tc_codec_k8s, data, size);
}
