/* SPDX-License-Identifier: Apache-2.0 */
/* The codec that keeps a truth away from detectors: see codec_run.h. */
#include "codec_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_codec(&tc_codec_truth, data, size);
}
