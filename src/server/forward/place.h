/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file data_dir/forward: who this daemon is to those that it forwards to, and up to which batch
 * each of them has taken what is stored here. Replaced as a whole.
 */
#ifndef TC_SERVER_FORWARD_PLACE_H
#define TC_SERVER_FORWARD_PLACE_H

#include "base/slice.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Receivers at once. */
#define TC_FORWARD_ENDPOINTS_MAX 8
/* Of the address of one, with the NUL. */
#define TC_FORWARD_URL_MAX 512

struct tc_forward_place {
    uint64_t agent[2]; /* 0 and 0: not made yet */
    size_t count;
    struct {
        char url[TC_FORWARD_URL_MAX];
        uint64_t position; /* the last batch that it has taken */
    } endpoints[TC_FORWARD_ENDPOINTS_MAX];
};

/* All zero when there is no file. TC_E_MALFORMED: it is damaged; TC_E_UNSUPPORTED: it is of a newer
 * program; TC_E_IO. */
TC_CHECKED tc_status tc_forward_place_read(const char *data_dir, struct tc_forward_place *out,
                                           struct tc_error *err);
TC_CHECKED tc_status tc_forward_place_write(const char *data_dir,
                                            const struct tc_forward_place *place,
                                            struct tc_error *err);
/* Another id, by chance. TC_E_IO: there is none to be had. */
TC_CHECKED tc_status tc_forward_place_renew(struct tc_forward_place *place, struct tc_error *err);

#endif
