/* SPDX-License-Identifier: Apache-2.0 */
/* How jobs died, by their logs. */
#include "codec_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_codec(&tc_codec_job_log, data, size);
}
