/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Force-included into every C file: functions that are too easy to get wrong
 * become compile errors. The bounded or re-entrant form is named beside each.
 */
#ifndef TC_BASE_BANNED_H
#define TC_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TC_BANNED(name) tc_banned_function_##name

#undef strcpy
#define strcpy(...) TC_BANNED(strcpy) /* tc_slice, tc_buf */
#undef strcat
#define strcat(...) TC_BANNED(strcat) /* tc_buf */
#undef strncpy
#define strncpy(...) TC_BANNED(strncpy) /* tc_buf */
#undef sprintf
#define sprintf(...) TC_BANNED(sprintf) /* snprintf, tc_buf */
#undef vsprintf
#define vsprintf(...) TC_BANNED(vsprintf) /* vsnprintf */
#undef strtok
#define strtok(...) TC_BANNED(strtok) /* tc_slice_cut */
#undef gmtime
#define gmtime(...) TC_BANNED(gmtime) /* tc_time */
#undef localtime
#define localtime(...) TC_BANNED(localtime) /* tc_time */
#undef atoi
#define atoi(...) TC_BANNED(atoi) /* tc_slice_i64 */

#endif
