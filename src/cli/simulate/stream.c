/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/simulate/stream.h"

#include "base/time.h"
#include "cli/command.h"
#include "cli/output/output.h"
#include "cli/output/say.h"

#include <unistd.h>

#define COMMAND "simulate"
#define PATH_ROOM 256 /* below the output directory: letters, digits, '-', '_', '.' and '/' */

struct stream {
    const struct tc_sim *sim;
    struct tc_output out;
    int64_t at_ns; /* of the file that is written whole */
    size_t file;
};

/* "TIME LENGTH PATH", and so many bytes. */
static tc_status put_piece(struct stream *s, int64_t at_ns, size_t file, struct tc_slice bytes)
{
    char text[PATH_ROOM];
    struct tc_buf path = tc_buf_make(text, sizeof text);
    tc_sim_file_path(s->sim, file, &path);
    if (path.overflowed) {
        return TC_E_LIMIT;
    }
    (void)tc_output_format(&s->out, "{} {} {}\n", at_ns, (uint64_t)bytes.len, tc_buf_slice(&path));
    return tc_output_put(&s->out, bytes) ? TC_OK : TC_E_IO;
}

static tc_status put_part(void *context, struct tc_slice bytes)
{
    struct stream *s = context;
    return put_piece(s, s->at_ns, s->file, bytes);
}

static tc_status put_whole(struct stream *s, int64_t at_ns, size_t file)
{
    s->at_ns = at_ns;
    s->file = file;
    return tc_sim_file_write(s->sim, file, put_part, s);
}

static tc_status put_item(void *context, const struct tc_sim_item *item)
{
    struct stream *s = context;
    return item->signal == TC_SIM_DUMP ? put_whole(s, item->at_ns, item->file)
                                       : put_piece(s, item->at_ns, item->file, item->text);
}

static tc_status put_all(struct stream *s, int64_t start_ns)
{
    struct tc_sim_feed *feed = tc_sim_feed_create(s->sim, TC_SIM_AS_FILES);
    /* The first file is the truth, which is no telemetry and has no time. */
    tc_status status = feed == NULL ? TC_E_NOMEM : put_whole(s, start_ns, 0);
    while (status == TC_OK && tc_sim_feed_time(feed) != TC_TIME_MAX) {
        status = tc_sim_feed_next(feed, put_item, s);
    }
    tc_sim_feed_destroy(feed);
    return status;
}

int tc_simulate_stream(const struct tc_sim *sim, int64_t start_ns)
{
    struct stream s = {.sim = sim};
    tc_output_init(&s.out, STDOUT_FILENO);
    tc_status status = put_all(&s, start_ns);
    if (status != TC_OK && status != TC_E_IO) {
        return tc_refuse(COMMAND, "%s", tc_status_text(status));
    }
    return tc_output_end(&s.out, COMMAND, TC_EXIT_OK);
}
