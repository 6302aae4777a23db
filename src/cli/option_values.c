/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "cli/command.h"
#include "codec/codec.h"
#include "detect/detector.h"

static void put_name(struct tc_buf *b, size_t index, const char *name, struct tc_slice between)
{
    (void)tc_format(b, "{}{}", index > 0 ? between : TC_EMPTY, name);
}

void tc_option_values(struct tc_buf *b, enum tc_option_values values, struct tc_slice between)
{
    static const char *const colours[] = {"auto", "always", "never"};
    size_t count = 0;
    switch (values) {
    case TC_VALUES_ANY:
        break;
    case TC_VALUES_FORMATS:
        tc_codec_list_names(b, between);
        break;
    case TC_VALUES_PATTERNS: {
        const struct tc_detector *const *detectors = tc_detectors(&count);
        for (size_t i = 0; i < count; i++) {
            put_name(b, i, detectors[i]->name, between);
        }
        break;
    }
    case TC_VALUES_COLOURS:
        for (size_t i = 0; i < TC_COUNT(colours); i++) {
            put_name(b, i, colours[i], between);
        }
        break;
    }
}
