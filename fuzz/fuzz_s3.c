/* SPDX-License-Identifier: Apache-2.0 */
/* What an object store answers, and what is written about one: XML documents, addresses, keys. The
 * first byte says what the rest is. */
#include "base/assert.h"
#include "object_store/credentials.h"
#include "object_store/location.h"
#include "object_store/xml.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool take(void *context, struct tc_slice path, struct tc_slice text)
{
    size_t *left = context;
    TC_ASSERT(path.len > 0 && path.len <= TC_XML_DEPTH_MAX * (TC_XML_NAME_MAX + 1));
    TC_ASSERT(text.len <= TC_XML_TEXT_MAX);
    TC_ASSERT(*left > 0); /* an element has at least four bytes */
    *left -= 1;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_error err = {0};
    struct tc_s3_location location;
    struct tc_s3_credentials keys;
    struct tc_slice text = tc_slice_make((const char *)data, size);
    size_t left = size / 4 + 1;
    if (size == 0) {
        return 0;
    }
    text = tc_slice_from(text, 1);
    switch (data[0]) {
    case 'l':
        if (tc_s3_location_read(text, &location, &err) == TC_OK) {
            TC_ASSERT(strlen(location.bucket) >= 3 && location.endpoint[0] == 'h' &&
                      strpbrk(location.prefix, "?&%\r\n ") == NULL);
        } else {
            TC_ASSERT(err.message[0] != 0);
        }
        break;
    case 'k':
        if (tc_s3_credentials_read(text, &keys, &err) == TC_OK) {
            TC_ASSERT(keys.key[0] != 0 && keys.secret[0] != 0 &&
                      strpbrk(keys.token, "\r\n ") == NULL);
        }
        break;
    default:
        (void)!tc_xml_read(text, take, &left);
        break;
    }
    return 0;
}
