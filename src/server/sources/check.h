/* SPDX-License-Identifier: Apache-2.0 */
/* What the configuration says of sources, before a daemon refuses to start with it. */
#ifndef TC_SERVER_SOURCES_CHECK_H
#define TC_SERVER_SOURCES_CHECK_H

#include "config/config.h"

/* Tells each list of paths or targets that tc_source_set_add_configured would refuse. Opens and
 * asks nothing. False: there was one. */
bool tc_sources_check(const struct tc_config *config, void (*tell)(void *context, const char *line),
                      void *context);

#endif
