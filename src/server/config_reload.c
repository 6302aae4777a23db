/* SPDX-License-Identifier: Apache-2.0 */
/* What a reload takes over: the keys that can change while the daemon runs. */
#include "server/config_priv.h"

#include <string.h>

static size_t size_of(enum tc__config_type type)
{
    switch (type) {
    case TC__TEXT:
    case TC__ADDRESS:
    case TC__URL:
        return TC_CONFIG_TEXT_MAX;
    case TC__DURATION:
    case TC__COUNT:
        return sizeof(int64_t);
    case TC__SIZE:
        return sizeof(uint64_t);
    case TC__FLAG:
        return sizeof(bool);
    case TC__CHOICE:
        return TC_CONFIG_CHOICE_MAX;
    case TC__HEADERS:
        return TC_CONFIG_HEADERS_MAX;
    case TC__TOKENS:
        return sizeof(struct tc_config_token) * TC_CONFIG_TOKENS_MAX;
    }
    return 0;
}

void tc_config_take_changes(struct tc_config *io_config, const struct tc_config *new_config)
{
    bool keeps_tokens = tc__config_exposed_without(io_config, new_config) != NULL;
    for (size_t i = 0; i < TC_CONFIG_KEY_COUNT; i++) {
        const struct tc__config_row *row = &tc__config_rows[i];
        if (!row->reload || (row->type == TC__TOKENS && keeps_tokens)) {
            continue;
        }
        memcpy((char *)io_config + row->offset, (const char *)new_config + row->offset,
               size_of(row->type));
        io_config->origins[i] = new_config->origins[i];
        if (row->type == TC__TOKENS) {
            io_config->auth_token_count = new_config->auth_token_count;
        }
    }
}
