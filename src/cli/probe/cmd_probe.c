/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/format.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/output/say.h"
#include "cli/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct asked {
    const char *output;
    const char *from;
    bool json;
};

static const struct tc_option OPTIONS[] = {
    TC_TEXT("output", "DIR", struct asked, output,
            "Write the raw outputs and probe.json there; DIR is made.", .letter = 'o'),
    TC_TEXT("from", "DIR", struct asked, from,
            "Ask no machine: read outputs that were captured there before, by anybody. What each "
            "is, its content tells."),
    TC_FLAG("json", struct asked, json, "Print probe.json instead of a summary."),
};

struct probing {
    struct tc_captures captures;
    struct tc_probe probe;
    struct tc_probe_source sources[TC_CAPTURES_MAX];
    char json[TC_PROBE_JSON_MAX];
    struct tc_buf b;
};

static void take_all(struct probing *p, bool is_now)
{
    tc_probe_init(&p->probe);
    for (size_t i = 0; i < p->captures.count; i++) {
        struct tc_capture *c = &p->captures.items[i];
        c->what =
            c->bytes == NULL ? NULL : tc_probe_take(&p->probe, tc_slice_make(c->bytes, c->len));
        p->sources[i] = (struct tc_probe_source){.name = c->name,
                                                 .what = c->what,
                                                 .error = c->error[0] == '\0' ? NULL : c->error,
                                                 .bytes = c->len};
    }
    p->b = tc_buf_make(p->json, sizeof p->json);
    tc_probe_json(&p->probe, p->sources, p->captures.count, is_now ? tc_wall_ns() : TC_TIME_NONE,
                  &p->b);
}

/* False when it was told why not. */
static bool write_file(const char *dir, const char *name, struct tc_slice bytes)
{
    char path[4096];
    struct tc_output out;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        tc_say("probe", "%s: %s", path, strerror(errno));
        return false;
    }
    tc_output_init(&out, fd);
    (void)tc_output_put(&out, bytes);
    bool done = tc_output_end(&out, "probe", TC_EXIT_OK) == TC_EXIT_OK;
    if (close(fd) != 0) {
        tc_say("probe", "%s: %s", path, strerror(errno));
        done = false;
    }
    return done;
}

static bool write_all(const struct probing *p, const char *dir, bool with_raw)
{
    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        tc_say("probe", "%s: %s", dir, strerror(errno));
        return false;
    }
    for (size_t i = 0; with_raw && i < p->captures.count; i++) {
        const struct tc_capture *c = &p->captures.items[i];
        if (c->bytes != NULL && !write_file(dir, c->name, tc_slice_make(c->bytes, c->len))) {
            return false;
        }
    }
    return write_file(dir, "probe.json", tc_buf_slice(&p->b));
}

static void put_line(struct tc_output *out, const char *name, const char *value)
{
    char text[2 * TC_PROBE_TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_str(&b, tc_slice_cstr(name));
    while (b.len < 32) {
        tc_buf_char(&b, ' ');
    }
    (void)tc_format(&b, "{}\n",
                    tc_as_printable(tc_slice_head(tc_slice_cstr(value), TC_PROBE_TEXT_MAX / 4)));
    (void)tc_output_put(out, tc_buf_slice(&b));
}

/* What is known, and what was not found. */
static void put_summary(const struct probing *p, struct tc_output *out)
{
    static const struct {
        const char *name;
        enum tc_probe_fact fact;
    } lines[] = {{"node", TC_PROBE_HOST},
                 {"os", TC_PROBE_OS},
                 {"kernel", TC_PROBE_KERNEL},
                 {"cpu", TC_PROBE_CPU},
                 {"numa", TC_PROBE_NODES},
                 {"driver", TC_PROBE_DRIVER},
                 {"cuda", TC_PROBE_CUDA},
                 {"cuda of the driver", TC_PROBE_CUDA_DRIVER},
                 {"nccl", TC_PROBE_NCCL},
                 {"framework", TC_PROBE_FRAMEWORK},
                 {"framework version", TC_PROBE_FRAMEWORK_VERSION},
                 {"server", TC_PROBE_SERVER},
                 {"server version", TC_PROBE_SERVER_VERSION},
                 {"fabric", TC_PROBE_FABRIC},
                 {"ethernet", TC_PROBE_ETHERNET},
                 {"storage", TC_PROBE_STORAGE},
                 {"image", TC_PROBE_IMAGE}};
    for (size_t i = 0; i < TC_COUNT(lines); i++) {
        if (p->probe.facts[lines[i].fact][0] != '\0') {
            put_line(out, lines[i].name, p->probe.facts[lines[i].fact]);
        }
    }
    for (size_t i = 0; i < p->probe.gpu_count; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "gpu %zu", i);
        put_line(out, name, p->probe.gpus[i].name);
    }
    if (p->probe.gpu_count == 0) {
        put_line(out, "gpus", "none found");
    }
    for (size_t i = 0; i < p->captures.count; i++) {
        const struct tc_capture *c = &p->captures.items[i];
        if (c->bytes == NULL) {
            put_line(out, c->name, c->error);
        } else if (c->what == NULL) {
            put_line(out, c->name, "not an output that is known");
        }
    }
}

static int probe(struct probing *p, const char *output, const char *from, bool json)
{
    struct tc_output out;
    struct tc_error err = {.status = TC_OK};
    size_t known = 0;
    if (from != NULL && tc_probe_load(&p->captures, from, &err) != TC_OK) {
        return tc_refuse("probe", "%s: %s", from, err.message);
    }
    if (from == NULL) {
        tc_probe_capture(&p->captures, "");
    }
    take_all(p, from == NULL);
    for (size_t i = 0; i < p->captures.count; i++) {
        known += p->captures.items[i].what != NULL ? 1 : 0;
    }
    if (known == 0) {
        return tc_refuse("probe", "%s: no output that is known",
                         from == NULL ? "this machine" : from);
    }
    if (output != NULL && !write_all(p, output, from == NULL || strcmp(from, output) != 0)) {
        return TC_EXIT_BAD;
    }
    tc_output_init(&out, STDOUT_FILENO);
    if (json) {
        (void)tc_output_put(&out, tc_buf_slice(&p->b));
    } else {
        put_summary(p, &out);
    }
    return tc_output_end(&out, "probe", TC_EXIT_OK);
}

static int run(int argc, char **argv)
{
    struct asked a = {0};
    int code = tc_options_read(&tc_command_probe, argc, argv, &a);
    if (code != TC_GO_ON) {
        return code;
    }
    if (optind < argc) {
        tc_say("probe", "probe takes no file; --from DIR reads captured outputs");
        return tc_command_misused(&tc_command_probe);
    }
    struct probing *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return tc_refuse("probe", "out of memory");
    }
    code = probe(p, a.output, a.from, a.json);
    tc_captures_free(&p->captures);
    free(p);
    return code;
}

const struct tc_command tc_command_probe = {
    .name = "probe",
    .summary = "capture what this machine is, as files a run can attach",
    .usage = "usage: tracecore probe [-o DIR] [--json]\n"
             "       tracecore probe --from DIR [-o DIR] [--json]\n"
             "\n"
             "Captures driver, CUDA, NCCL, framework, GPUs and how they are connected, PCI\n"
             "and NUMA layout, network adapters, kernel and image: the raw outputs, and\n"
             "probe.json with the columns of software_version_dim and hardware_topology_dim.\n"
             "What is not there is named and is null. Tools are run without a shell and end\n"
             "after 20 seconds. Attach it: tracecore run add --artifact DIR/probe.json ...\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  done, whatever was found\n"
             "  2  wrong usage, nothing known in DIR, or DIR cannot be written\n"
             "\n"
             "Examples:\n"
             "  tracecore probe -o bundle\n"
             "  tracecore probe --from bundle --json\n",
    .words = "",
    .run = run,
};
