/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's logs and commands. */
#include "codec_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_codec(&tc_codec_slurm, data, size);
}
