/* SPDX-License-Identifier: Apache-2.0 */
/* OTLP/JSON: logs of every sort that is read, and metrics. */
#include "codec_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_codec(&tc_codec_otlp, data, size);
}
