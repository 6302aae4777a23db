/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include "cli/say.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void tc_output_init(struct tc_output *o, int fd)
{
    o->fd = fd;
    o->error = 0;
    o->len = 0;
}

static void write_through(struct tc_output *o, struct tc_slice s)
{
    while (s.len > 0 && o->error == 0) {
        ssize_t n = write(o->fd, s.ptr, s.len);
        if (n > 0) {
            s = tc_slice_from(s, (size_t)n);
        } else if (n == 0 || errno != EINTR) {
            o->error = n == 0 ? EIO : errno;
        }
    }
}

bool tc_output_flush(struct tc_output *o)
{
    write_through(o, tc_slice_make(o->data, o->len));
    o->len = 0;
    return o->error == 0;
}

bool tc_output_put(struct tc_output *o, struct tc_slice s)
{
    if (s.len > sizeof o->data - o->len && !tc_output_flush(o)) {
        return false;
    }
    if (s.len > sizeof o->data) {
        write_through(o, s);
    } else if (s.len > 0) {
        memcpy(o->data + o->len, s.ptr, s.len);
        o->len += s.len;
    }
    return o->error == 0;
}

int tc_output_end(struct tc_output *o, const char *command, int status)
{
    if (tc_output_flush(o)) {
        return status;
    }
    if (o->error == EPIPE) {
        return TC_EXIT_PIPE;
    }
    char text[128];
    tc_say(command, "cannot write standard output: %s", strerror_r(o->error, text, sizeof text));
    return TC_EXIT_BAD;
}
