/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "cli/command.h"
#include "cli/output/say.h"
#include "codec/codec.h"
#include "detect/detector.h"

#include <stdlib.h>

static void put_name(struct tc_buf *b, size_t index, const char *name, struct tc_slice between)
{
    (void)tc_format(b, "{}{}", index > 0 ? between : TC_EMPTY, name);
}

static void put_names(struct tc_buf *b, const char *const *names, struct tc_slice between)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        put_name(b, i, names[i], between);
    }
}

void tc_option_values(struct tc_buf *b, enum tc_option_values values, struct tc_slice between)
{
    static const char *const colours[] = {"auto", "always", "never", NULL};
    static const char *const audiences[] = {"engineering", "product", "partner", NULL};
    static const char *const reports[] = {"markdown", "html", "json", NULL};
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
        put_names(b, colours, between);
        break;
    case TC_VALUES_AUDIENCES:
        put_names(b, audiences, between);
        break;
    case TC_VALUES_REPORTS:
        put_names(b, reports, between);
        break;
    }
}

bool tc_option_level(const char *command, const char *text, double *io_level)
{
    char *end = NULL;
    if (text == NULL) {
        return true;
    }
    double level = strtod(text, &end);
    if (end == text || *end != '\0' || !(level >= 0.5 && level < 1)) {
        tc_say(command, "--confidence takes a level from 0.5 to below 1, not \"%s\"", text);
        return false;
    }
    *io_level = level;
    return true;
}
