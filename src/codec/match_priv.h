/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns for lines of logs, so that the wordings of many programs can be tables. A pattern is
 * compared with the beginning of a text:
 *
 *   text    itself
 *   *       anything up to the first place that has the text behind the star, or the rest
 *   %d %x   decimal digits; hex digits
 *   %f      a number with a sign, a fraction or an exponent
 *   %b      a PCI address
 *   %n %p   anything but blanks and colons; anything but blanks
 *   %w      up to a blank, a comma or a closing parenthesis, without a full stop; may be empty
 *   %s      blanks and the colours of a terminal, or nothing
 *   <a|b>   the first of these that fits; an empty one at the end makes the others optional
 *   {0...}  a part to remember, in slot 0
 *   $       the end of the text
 *
 * % in front of any other character is that character. Patterns are literals of ours: a wrong one
 * is a mistake of the program. Nothing is tried twice but alternatives, so that the work is at most
 * the length of the text for each star.
 */
#ifndef TC_CODEC_MATCH_PRIV_H
#define TC_CODEC_MATCH_PRIV_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

#define TC__TEXT_SLOTS 6

/* Slots that were not reached are empty. False: it does not match, and they say nothing. */
bool tc__text_match(struct tc_slice text, const char *pattern, struct tc_slice out[TC__TEXT_SLOTS]);

/* A decimal number at the start of s ("12", "1.5", "1e-3"): bytes used, 0 when there is none or
 * it is not finite. */
size_t tc__text_number(struct tc_slice s, double *out);

#endif
