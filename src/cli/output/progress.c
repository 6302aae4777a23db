/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/progress.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/time.h"
#include "cli/output/terminal.h"

#include <unistd.h>

#define FIRST_NS TC_SECOND
#define EVERY_NS (TC_SECOND / 5)

void tc_progress_init(struct tc_progress *p, bool wanted, size_t files_total, uint64_t bytes_total)
{
    *p = (struct tc_progress){.files_total = files_total, .bytes_total = bytes_total};
    if (wanted && isatty(STDERR_FILENO) == 1 && !tc_terminal_is_dumb()) {
        p->enabled = true;
        p->next_ns = tc_mono_ns() + FIRST_NS;
    }
}

void tc_progress_init_rows(struct tc_progress *p, bool wanted, uint64_t rows_total)
{
    tc_progress_init(p, wanted, 0, rows_total);
    p->is_rows = true;
}

static void put(struct tc_slice s)
{
    ssize_t ignored = write(STDERR_FILENO, s.ptr, s.len);
    (void)ignored; /* progress that cannot be shown is no reason to stop */
}

void tc_progress_add(struct tc_progress *p, uint64_t bytes, size_t files)
{
    p->bytes += bytes;
    p->files += files;
    if (!p->enabled) {
        return;
    }
    int64_t now = tc_mono_ns();
    if (now < p->next_ns) {
        return;
    }
    p->next_ns = now + EVERY_NS;
    p->visible = true;
    char text[160];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    if (p->is_rows) {
        (void)tc_format(&b, "\r\033[K{} of {} rows", p->bytes, p->bytes_total);
    } else {
        (void)tc_format(&b, "\r\033[K{} of {} files, {} of {} MiB", p->files, p->files_total,
                        p->bytes >> 20, p->bytes_total >> 20);
    }
    put(tc_buf_slice(&b));
}

void tc_progress_clear(struct tc_progress *p)
{
    if (p->visible) {
        put(TC_LIT("\r\033[K"));
        p->visible = false;
    }
}
