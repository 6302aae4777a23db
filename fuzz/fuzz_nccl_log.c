/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of NCCL and of its watchdog in PyTorch. */
#include "codec_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_codec(&tc_codec_nccl_log, data, size);
}
