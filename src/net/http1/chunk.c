/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http1/priv.h"

void tc__chunks_init(struct tc__chunks *k, uint64_t body_max, size_t trailer_max)
{
    *k = (struct tc__chunks){.left = body_max, .trailer_max = trailer_max};
}

static int hex_digit(unsigned char b)
{
    if (b >= '0' && b <= '9') {
        return b - '0';
    }
    b |= 0x20;
    return b >= 'a' && b <= 'f' ? b - 'a' + 10 : -1;
}

/* After the size: an extension, or the end of the line. */
static enum tc__chunk after_size(struct tc__chunks *k, unsigned char b)
{
    if (b == '\r') {
        k->phase = TC__CHUNK_SIZE_LF;
    } else if (b == ';' || b == ' ' || b == '\t') {
        k->phase = TC__CHUNK_EXTENSION;
    } else {
        return TC__CHUNK_BAD;
    }
    return k->digits > 0 ? TC__CHUNK_MORE : TC__CHUNK_BAD;
}

static enum tc__chunk size_byte(struct tc__chunks *k, unsigned char b)
{
    int digit = hex_digit(b);
    if (digit < 0) {
        return after_size(k, b);
    }
    /* size <= left, so this does not overflow while left < 2^59; a claim beyond left ends it. */
    k->size = k->size * 16 + (uint64_t)digit;
    k->digits++;
    return k->size > k->left ? TC__CHUNK_TOO_LARGE : TC__CHUNK_MORE;
}

static enum tc__chunk expect(struct tc__chunks *k, unsigned char b, char wanted,
                             enum tc__chunk_phase next)
{
    k->phase = next;
    return b == (unsigned char)wanted ? TC__CHUNK_MORE : TC__CHUNK_BAD;
}

/* One byte of framing. */
static enum tc__chunk framing(struct tc__chunks *k, unsigned char b)
{
    switch (k->phase) {
    case TC__CHUNK_SIZE:
        return size_byte(k, b);
    case TC__CHUNK_EXTENSION:
        if (b == '\r') {
            k->phase = TC__CHUNK_SIZE_LF;
        }
        return b == '\r' || b == '\t' || (b >= ' ' && b != 0x7f) ? TC__CHUNK_MORE : TC__CHUNK_BAD;
    case TC__CHUNK_SIZE_LF:
        k->line = 0;
        k->digits = 0;
        return expect(k, b, '\n', k->size == 0 ? TC__CHUNK_TRAILER_START : TC__CHUNK_BYTES);
    case TC__CHUNK_BYTES:
        return TC__CHUNK_BAD; /* not framing */
    case TC__CHUNK_BYTES_CR:
        return expect(k, b, '\r', TC__CHUNK_BYTES_LF);
    case TC__CHUNK_BYTES_LF:
        k->line = 0;
        return expect(k, b, '\n', TC__CHUNK_SIZE);
    case TC__CHUNK_TRAILER_START:
        k->phase = b == '\r' ? TC__CHUNK_LAST_LF : TC__CHUNK_TRAILER;
        return b == '\n' || b == ' ' || b == '\t' ? TC__CHUNK_BAD : TC__CHUNK_MORE;
    case TC__CHUNK_TRAILER:
        if (b == '\r') {
            k->phase = TC__CHUNK_TRAILER_LF;
        }
        return b == '\n' || b == '\0' ? TC__CHUNK_BAD : TC__CHUNK_MORE;
    case TC__CHUNK_TRAILER_LF:
        return expect(k, b, '\n', TC__CHUNK_TRAILER_START);
    case TC__CHUNK_LAST_LF:
        return b == '\n' ? TC__CHUNK_END : TC__CHUNK_BAD;
    }
    return TC__CHUNK_BAD;
}

static bool over(const struct tc__chunks *k)
{
    bool trailer = k->phase >= TC__CHUNK_TRAILER_START;
    return k->line > (trailer ? k->trailer_max : TC_HTTP_CHUNK_LINE_BYTES) ||
           k->overhead / TC_HTTP_CHUNK_OVERHEAD_FACTOR >
               k->data + TC_HTTP_CHUNK_OVERHEAD_BYTES / TC_HTTP_CHUNK_OVERHEAD_FACTOR;
}

enum tc__chunk tc__chunks_next(struct tc__chunks *k, struct tc_slice in, size_t *out_used,
                               struct tc_slice *out_data)
{
    size_t i = 0;
    enum tc__chunk result = TC__CHUNK_MORE;
    while (i < in.len && result == TC__CHUNK_MORE) {
        if (k->phase == TC__CHUNK_BYTES) {
            *out_data = tc_slice_head(tc_slice_from(in, i), k->size);
            i += out_data->len;
            k->size -= out_data->len;
            k->left -= out_data->len;
            k->data += out_data->len;
            k->phase = k->size == 0 ? TC__CHUNK_BYTES_CR : TC__CHUNK_BYTES;
            result = TC__CHUNK_DATA;
        } else {
            k->line++;
            k->overhead++;
            result = over(k) ? TC__CHUNK_BAD : framing(k, (unsigned char)in.ptr[i]);
            i++;
        }
    }
    *out_used = i;
    return result;
}

void tc__chunks_unread(struct tc__chunks *k, size_t len)
{
    k->size += len;
    k->left += len;
    k->data -= len;
    k->phase = TC__CHUNK_BYTES;
}
