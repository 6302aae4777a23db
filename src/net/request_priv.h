/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that are used again: a slot holds a request and the text of its head. A slot may outlive
 * the connection that brought it and the loop, until it is answered.
 */
#ifndef TC_NET_REQUEST_PRIV_H
#define TC_NET_REQUEST_PRIV_H

#include "net/request.h"

/* Path, query and three header values of an ordinary request; longer ones take a pooled buffer. */
#define TC_REQUEST_TEXT_BYTES 1536

struct tc__requests;

struct tc__request_slot {
    struct tc_request request; /* first: a request is its slot */
    struct tc__requests *of;
    struct tc__request_slot *next; /* while it waits to be used again */
    struct tc_buffer *long_text;
    char text[TC_REQUEST_TEXT_BYTES];
};

struct tc__requests *tc__requests_create(void);
/* Slots that are not given back yet stay whole; the last one frees the rest. */
void tc__requests_destroy(struct tc__requests *s);

/* Everything but the text is zero. NULL: no memory. */
struct tc__request_slot *tc__request_take(struct tc__requests *s);
/* Gives back body and text too. */
void tc__request_give(struct tc__request_slot *slot);

static inline struct tc__request_slot *tc__request_slot_of(struct tc_request *r)
{
    return (struct tc__request_slot *)r;
}

#endif
