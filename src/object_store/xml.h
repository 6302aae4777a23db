/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XML in which S3 answers: elements and text, nothing else. Any bytes are taken; what is not
 * such a document is refused: no document types, no entities but the five and numbers, bounded
 * depth and lengths. A whole parser would be more than that, and a dependency.
 */
#ifndef TC_OBJECT_STORE_XML_H
#define TC_OBJECT_STORE_XML_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>

#define TC_XML_DEPTH_MAX 8
#define TC_XML_NAME_MAX 64
/* Of the text of one element; what is longer is cut. */
#define TC_XML_TEXT_MAX 1024

/* An element that holds no other, by the names of it and those around it ("Error/Code"), without
 * their namespaces. Borrowed during the call. False: no more is wanted. */
typedef bool (*tc_xml_take)(void *context, struct tc_slice path, struct tc_slice text);

/* TC_E_MALFORMED: it is no such document; some elements may have been taken before that is seen. */
TC_CHECKED tc_status tc_xml_read(struct tc_slice document, tc_xml_take take, void *context);

#endif
