/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/pickle_priv.h"

static void put_le(struct pickle *p, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        tc_buf_char(p->b, (char)(value >> 8 * i & 0xff));
    }
}

void tc__pickle_begin(struct pickle *p, struct tc_buf *b)
{
    p->b = b;
    p->memo_count = 0;
    tc_buf_put(b, "\x80\x02", 2);
}

void tc__pickle_end(struct pickle *p)
{
    tc_buf_char(p->b, '.');
}

void tc__pickle_none(struct pickle *p)
{
    tc_buf_char(p->b, 'N');
}

void tc__pickle_bool(struct pickle *p, bool value)
{
    tc_buf_char(p->b, value ? '\x88' : '\x89');
}

void tc__pickle_int(struct pickle *p, int64_t value)
{
    if (value >= 0 && value <= UINT8_MAX) {
        tc_buf_char(p->b, 'K');
        put_le(p, (uint64_t)value, 1);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
        tc_buf_char(p->b, 'J');
        put_le(p, (uint64_t)value, 4);
    } else {
        tc_buf_put(p->b, "\x8a\x08", 2);
        put_le(p, (uint64_t)value, 8);
    }
}

void tc__pickle_text(struct pickle *p, struct tc_slice text)
{
    tc_buf_char(p->b, 'X');
    put_le(p, text.len, 4);
    tc_buf_str(p->b, text);
}

size_t tc__pickle_open_text(struct pickle *p)
{
    tc_buf_char(p->b, 'X');
    put_le(p, 0, 4);
    return p->b->len;
}

void tc__pickle_close_text(struct pickle *p, size_t text)
{
    if (!p->b->overflowed) {
        struct tc_buf length = tc_buf_make(p->b->data + text - 4, 4);
        uint64_t len = p->b->len - text;
        for (unsigned i = 0; i < 4; i++) {
            tc_buf_char(&length, (char)(len >> 8 * i & 0xff));
        }
    }
}

void tc__pickle_name(struct pickle *p, const char *name)
{
    for (uint32_t i = 0; i < p->memo_count; i++) {
        if (p->memo[i] == name) {
            tc_buf_char(p->b, 'h');
            put_le(p, i, 1);
            return;
        }
    }
    tc__pickle_text(p, tc_slice_cstr(name));
    if (p->memo_count < PICKLE_MEMO_MAX) {
        tc_buf_char(p->b, 'q');
        put_le(p, p->memo_count, 1);
        p->memo[p->memo_count++] = name;
    }
}

void tc__pickle_open_dict(struct pickle *p)
{
    tc_buf_put(p->b, "}(", 2);
}

void tc__pickle_close_dict(struct pickle *p)
{
    tc_buf_char(p->b, 'u');
}

void tc__pickle_open_list(struct pickle *p)
{
    tc_buf_put(p->b, "](", 2);
}

void tc__pickle_close_list(struct pickle *p)
{
    tc_buf_char(p->b, 'e');
}

void tc__pickle_pair(struct pickle *p)
{
    tc_buf_char(p->b, '\x86');
}
