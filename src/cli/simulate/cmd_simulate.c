/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/output/progress.h"
#include "cli/output/say.h"
#include "cli/simulate/otlp.h"
#include "cli/simulate/stream.h"
#include "intake/input.h"
#include "sim/sim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Options that are for sending only. */
enum { SENDING = 1 };

#define SPEC_FILE_MAX (1u << 20)
#define PATH_ROOM 4096

#define HEADERS_ROOM 4096

struct run {
    struct tc_sim_options sim;
    struct tc_simulate_otlp otlp; /* url NULL: nothing is sent */
    const char *otlp_option;      /* one that is for sending; NULL: none */
    bool now;
    bool start_given;
    char headers[HEADERS_ROOM];
    const char *out;
    bool stream;
    bool quiet;
    struct tc_input spec; /* when the SPEC is a file */
    bool has_spec_file;
    struct tc_progress progress;
    struct tc_output file; /* the one that is being written */
    uint64_t bytes;
};

/* ---- options ------------------------------------------------------------------------------- */

static int take_count(void *args, const struct tc_option *option, const char *value)
{
    uint64_t count = 0;
    if (!tc_slice_is_u64(tc_slice_cstr(value), &count) || count > UINT32_MAX) {
        return tc_refuse("simulate", "--%s: \"%s\" is no whole number", option->name, value);
    }
    uint32_t narrow = (uint32_t)count;
    memcpy((char *)args + option->at, &narrow, sizeof narrow);
    return TC_GO_ON;
}

static int take_seed(void *args, const struct tc_option *option, const char *value)
{
    struct run *r = args;
    if (!tc_slice_is_u64(tc_slice_cstr(value), &r->sim.seed)) {
        return tc_refuse("simulate", "--%s: \"%s\" is no whole number", option->name, value);
    }
    return TC_GO_ON;
}

/* "2", "0.5", "1.25": in units of so many decimals, of which there are no more. */
static bool parse_decimal(const char *text, size_t decimals, uint64_t whole_max, uint64_t *out)
{
    uint64_t value = 0;
    uint64_t part = 0;
    struct tc_slice fraction;
    struct tc_slice head = tc_slice_cut(tc_slice_cstr(text), '.', &fraction);
    if (!tc_slice_is_u64(head, &value) || value > whole_max || fraction.len > decimals ||
        (fraction.len > 0 && !tc_slice_is_u64(fraction, &part))) {
        return false;
    }
    for (size_t i = 0; i < decimals; i++) {
        value *= 10;
        part *= i < fraction.len ? 1 : 10;
    }
    *out = value + part;
    return true;
}

static int take_hours(void *args, const struct tc_option *option, const char *value)
{
    struct run *r = args;
    uint64_t hundredths = 0;
    (void)option;
    if (!parse_decimal(value, 2, 100000, &hundredths)) {
        return tc_refuse("simulate", "--hours: \"%s\" is no number of hours, such as 2 or 0.5",
                         value);
    }
    r->sim.minutes = (uint32_t)(hundredths * 60 / 100);
    return TC_GO_ON;
}

static int take_speed(void *args, const struct tc_option *option, const char *value)
{
    struct run *r = args;
    (void)option;
    if (!parse_decimal(value, 3, 1000000, &r->otlp.speed_milli)) {
        return tc_refuse("simulate",
                         "--speed: \"%s\" is no number such as 60, 0.5, or 0 for as fast as it "
                         "goes",
                         value);
    }
    return TC_GO_ON;
}

static int take_start(void *args, const struct tc_option *option, const char *value)
{
    struct run *r = args;
    struct tc_slice all = tc_slice_cstr(value);
    (void)option;
    r->start_given = true;
    size_t used = tc_time_parse(all, 0, &r->sim.start_ns);
    if (used == 0 || used != all.len) {
        return tc_refuse("simulate", "--start: \"%s\" is no time, such as 2026-03-02T00:00:00Z",
                         value);
    }
    return TC_GO_ON;
}

static int take_encoding(void *args, const struct tc_option *option, const char *value)
{
    struct run *r = args;
    (void)option;
    r->otlp.json = strcmp(value, "json") == 0;
    if (!r->otlp.json && strcmp(value, "protobuf") != 0) {
        return tc_refuse("simulate", "--encoding: \"%s\" is neither protobuf nor json", value);
    }
    return TC_GO_ON;
}

static int take_header(void *args, const struct tc_option *option, const char *value)
{
    struct run *r = args;
    struct tc_slice line = tc_slice_cstr(value);
    size_t colon = tc_slice_find_byte(line, ':');
    bool ok = colon != TC_NPOS && colon > 0;
    (void)option;
    for (size_t i = 0; i < line.len && ok; i++) {
        ok = (unsigned char)line.ptr[i] >= ' ' && line.ptr[i] != 0x7f;
    }
    size_t used = strlen(r->headers);
    if (!ok || used + line.len + 3 > sizeof r->headers) {
        return tc_refuse("simulate", "--header: \"%s\" is %s", value,
                         ok ? "too long" : "not of the form \"Name: value\"");
    }
    (void)snprintf(r->headers + used, sizeof r->headers - used, "%s\r\n", value);
    return TC_GO_ON;
}

/* A SPEC is a file when there is one of that name, and text otherwise. */
static int take_spec(void *args, const struct tc_option *option, const char *text)
{
    struct run *r = args;
    struct stat st;
    (void)option;
    r->sim.faults = tc_slice_cstr(text);
    r->sim.label = r->sim.faults;
    if (stat(text, &st) != 0 || !S_ISREG(st.st_mode)) {
        if (strchr(text, '/') != NULL) {
            return tc_refuse("simulate", "--faults: %s: %s", text, strerror(errno));
        }
        return TC_GO_ON;
    }
    struct tc_error err = {0};
    size_t copied = 0;
    if (tc_input_open(&r->spec, text, &copied, &err) != TC_OK) {
        return tc_refuse("simulate", "--faults: %s: %s", text, err.message);
    }
    r->has_spec_file = true;
    if (r->spec.bytes.len > SPEC_FILE_MAX) {
        return tc_refuse("simulate", "--faults: %s: more than 1 MiB is no SPEC", text);
    }
    r->sim.faults = r->spec.bytes;
    return TC_GO_ON;
}

static int take_trouble(void *args, const struct tc_option *option, const char *value)
{
    struct run *r = args;
    struct tc_error err = {0};
    (void)option;
    if (tc_sim_trouble_parse(tc_slice_cstr(value), &r->sim.trouble, &err) != TC_OK) {
        tc_say("simulate", "--%s", err.message);
        return TC_EXIT_BAD;
    }
    return TC_GO_ON;
}

static int list_faults(void *args, const struct tc_option *option, const char *value)
{
    (void)args;
    (void)option;
    (void)value;
    char text[8192];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_sim_describe(&b);
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    (void)tc_output_put(&out, tc_buf_slice(&b));
    return tc_output_end(&out, "simulate", TC_EXIT_OK);
}

static const struct tc_option OPTIONS[] = {
    TC_TAKEN("nodes", "N", take_count, "Nodes of the cluster; 16 unless given.",
             TC_OPTION_AT(struct run, sim.nodes, uint32_t)),
    TC_TAKEN("gpus-per-node", "N", take_count, "1 to 16; 8 unless given.",
             TC_OPTION_AT(struct run, sim.gpus_per_node, uint32_t)),
    TC_TAKEN("hours", "H", take_hours, "How long to watch it: 0.5 or more; 1 unless given."),
    TC_TAKEN("seed", "S", take_seed,
             "Where chance begins; 1 unless given. The same seed gives the same bytes."),
    TC_TAKEN(
        "faults", "SPEC", take_spec,
        "What goes wrong: mixed (unless given), none, items such as \"hbm_ecc count=2, nccl_hang "
        "variant=host at=20m node=gpu-0003 gpu=1, noise 50\", or a file with an item a line."),
    TC_TAKEN("trouble", "LIST", take_trouble,
             "What is wrong with the telemetry itself: names (full ones in kernel logs), clocks "
             "(off by up to two minutes), torn (dumps), missing (files), all."),
    TC_TAKEN("start", "TIME", take_start,
             "When it begins, RFC 3339; 2026-03-02T00:00:00Z unless given."),
    TC_TEXT("out", "DIR", struct run, out,
            "Where to write it: a directory that is empty or not there yet.", .letter = 'o'),
    TC_FLAG(
        "stream", struct run, stream,
        "Write it to standard output instead, in the order of time: before each piece of a file "
        "a line \"TIME LENGTH PATH\". It waits for the reader."),
    TC_TEXT("otlp", "URL", struct run, otlp.url,
            "Send it to this OTLP/HTTP receiver, such as http://127.0.0.1:4318."),
    TC_TAKEN("speed", "N", take_speed,
             "How many times faster than in life: 60 unless given; 0 as fast as it goes.",
             .actions = SENDING),
    TC_FLAG("now", struct run, now,
            "Date it so that the end of it is sent at its own time; else at --start.",
            .actions = SENDING),
    TC_TAKEN("encoding", "FORM", take_encoding, "protobuf (unless given) or json.",
             .actions = SENDING),
    TC_FLAG("gzip", struct run, otlp.gzip, "Compress what is sent.", .actions = SENDING),
    TC_TAKEN("header", "LINE", take_header, "\"Name: value\", sent along; may be given again.",
             .actions = SENDING),
    TC_TEXT("upload", "URL", struct run, otlp.upload,
            "API of a tracecore daemon, such as http://127.0.0.1:4320, for the dumps, which OTLP "
            "cannot carry.",
            .actions = SENDING),
    TC_FLAG("json", struct run, otlp.summary_json,
            "What was sent as a JSON object, on standard output.", .actions = SENDING),
    TC_TAKEN("list-faults", NULL, list_faults, "Print what can go wrong, and end."),
    TC_FLAG("quiet", struct run, quiet, "No summary and no progress.", .letter = 'q'),
};

/* ---- files --------------------------------------------------------------------------------- */

static bool make_directory(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        tc_say("simulate", "%s: cannot be made: %s", path, strerror(errno));
        return false;
    }
    return true;
}

/* Nothing that is there already is written over. */
static bool prepare_out(const char *path)
{
    TC_ASSERT(path != NULL);
    if (!make_directory(path)) {
        return false;
    }
    DIR *dir = opendir(path);
    if (dir == NULL) {
        tc_say("simulate", "%s: %s", path, strerror(errno));
        return false;
    }
    bool empty = true;
    for (const struct dirent *e; empty && (e = readdir(dir)) != NULL;) {
        empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
    }
    (void)closedir(dir);
    if (!empty) {
        tc_say("simulate", "%s is not empty; give --out a new directory", path);
    }
    return empty;
}

static tc_status write_piece(void *context, struct tc_slice bytes)
{
    struct run *r = context;
    r->bytes += bytes.len;
    tc_progress_add(&r->progress, bytes.len, 0);
    return tc_output_put(&r->file, bytes) ? TC_OK : TC_E_IO;
}

/* The directories of a path below the output directory. */
static bool make_parents(char *path, size_t from)
{
    for (char *slash = strchr(path + from, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool ok = make_directory(path);
        *slash = '/';
        if (!ok) {
            return false;
        }
    }
    return true;
}

static bool write_one(struct run *r, const struct tc_sim *sim, size_t file)
{
    char path[PATH_ROOM];
    struct tc_buf b = tc_buf_make(path, sizeof path - 1);
    (void)tc_format(&b, "{}/", r->out);
    size_t from = b.len;
    tc_sim_file_path(sim, file, &b);
    if (b.overflowed) {
        tc_say("simulate", "%s: the path is too long", r->out);
        return false;
    }
    path[b.len] = '\0';
    if (!make_parents(path, from)) {
        return false;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        tc_say("simulate", "%s: %s", path, strerror(errno));
        return false;
    }
    tc_output_init(&r->file, fd);
    tc_status status = tc_sim_file_write(sim, file, write_piece, r);
    if (status == TC_OK && !tc_output_flush(&r->file)) {
        status = TC_E_IO;
    }
    int error = r->file.error;
    if (close(fd) != 0 && status == TC_OK) {
        error = errno;
        status = TC_E_IO;
    }
    if (status != TC_OK) {
        tc_progress_clear(&r->progress);
        tc_say("simulate", "%s: %s", path,
               status == TC_E_IO ? strerror(error) : tc_status_text(status));
    }
    tc_progress_add(&r->progress, 0, 1);
    return status == TC_OK;
}

static void summarise(const struct run *r, const struct tc_sim *sim)
{
    struct tc_sim_counts c;
    tc_sim_counts(sim, &c);
    tc_say("simulate",
           "%u nodes, %u jobs with %u ranks, %u faults, %u pieces of labelled noise: %zu files, "
           "%llu MB in %s",
           r->sim.nodes, c.jobs, c.ranks, c.faults, c.noise, tc_sim_file_count(sim),
           (unsigned long long)(r->bytes / 1000000), r->out);
    if (c.left_out > 0) {
        tc_say("simulate", "%u faults found no place; there is room for more on more nodes",
               c.left_out);
    }
}

/* The message begins with the option it is about; one about a SPEC in a file gets the line. */
static void tell(const struct run *r, tc_status status, const struct tc_error *err)
{
    static const char FAULTS[] = "faults: ";
    size_t len = sizeof FAULTS - 1;
    if (r->has_spec_file && strncmp(err->message, FAULTS, len) == 0) {
        tc_say("simulate", "%s:%llu: %s", r->spec.path,
               (unsigned long long)tc_input_line(&r->spec, err->offset), err->message + len);
    } else {
        tc_say("simulate", status == TC_E_USAGE ? "--%s" : "%s", err->message);
    }
}

/* The last moment is sent when our clock shows it: the rest before, as much faster as asked for. */
static void date_now(struct run *r)
{
    int64_t now_ns = tc_wall_ns() / TC_SECOND * TC_SECOND; /* whole seconds */
    int64_t length_ns = r->sim.minutes * 60 * TC_SECOND;
    int64_t takes_ns = r->otlp.speed_milli == 0
                           ? 0
                           : (int64_t)((double)length_ns * 1000 / (double)r->otlp.speed_milli);
    r->sim.start_ns = now_ns - length_ns + takes_ns;
}

static bool write_files(struct run *r, const struct tc_sim *sim)
{
    bool ok = prepare_out(r->out);
    size_t files = tc_sim_file_count(sim);
    tc_progress_init(&r->progress, !r->quiet, files, 0);
    for (size_t i = 0; i < files && ok; i++) {
        ok = write_one(r, sim, i);
    }
    tc_progress_clear(&r->progress);
    if (ok && !r->quiet) {
        summarise(r, sim);
    }
    return ok;
}

static int simulate(struct run *r)
{
    struct tc_error err = {0};
    struct tc_sim *sim = NULL;
    if (r->now) {
        date_now(r);
    }
    tc_status status = tc_sim_create(&r->sim, &sim, &err);
    if (status != TC_OK) {
        tell(r, status, &err);
        return TC_EXIT_BAD;
    }
    int result = r->stream                               ? tc_simulate_stream(sim, r->sim.start_ns)
                 : r->out == NULL || write_files(r, sim) ? TC_EXIT_OK
                                                         : TC_EXIT_BAD;
    if (result == TC_EXIT_OK && r->otlp.url != NULL) {
        result = tc_simulate_send(&r->otlp, sim, r->sim.start_ns,
                                  r->sim.start_ns + r->sim.minutes * 60 * TC_SECOND);
    }
    tc_sim_destroy(sim);
    return result;
}

/* Says what is missing or does not go together. */
static bool is_complete(const struct run *r, bool has_words)
{
    if (has_words) {
        tc_say("simulate", "it takes options only");
    } else if (r->out == NULL && r->otlp.url == NULL && !r->stream) {
        tc_say("simulate", "--out DIR, --otlp URL or --stream is missing");
    } else if (r->stream && (r->out != NULL || r->otlp.url != NULL)) {
        tc_say("simulate", "--stream goes with neither --out nor --otlp");
    } else if (r->otlp.url == NULL && r->otlp_option != NULL) {
        tc_say("simulate", "--%s is for sending; --otlp URL is missing", r->otlp_option);
    } else if (r->now && r->start_given) {
        tc_say("simulate", "--now and --start exclude each other");
    } else {
        return true;
    }
    return false;
}

static int run_simulate(int argc, char **argv)
{
    struct run r = {.sim = {.nodes = 16,
                            .gpus_per_node = 8,
                            .minutes = 60,
                            .seed = 1,
                            .start_ns = TC_SIM_START,
                            .faults = TC_LIT("mixed"),
                            .label = TC_LIT("mixed")},
                    .otlp = {.speed_milli = 60000}};
    struct tc_option_walk walk;
    tc_option_walk_init(&walk, &tc_command_simulate, argc, argv);
    const char *value = NULL;
    int status = TC_GO_ON;
    for (int option;
         status == TC_GO_ON && (option = tc_option_next(&walk, &value)) != TC_OPTION_END;) {
        if (option == TC_OPTION_HELP) {
            status = tc_command_show_help(&tc_command_simulate);
        } else if (option == TC_OPTION_BAD) {
            status = tc_command_misused(&tc_command_simulate);
        } else {
            const struct tc_option *o = &OPTIONS[option];
            r.otlp_option = o->actions == SENDING ? o->name : r.otlp_option;
            status = tc_option_take(o, &r, value);
        }
    }
    if (status == TC_GO_ON && !is_complete(&r, optind < argc)) {
        status = tc_command_misused(&tc_command_simulate);
    }
    r.otlp.headers = r.headers;
    r.otlp.quiet = r.quiet;
    if (status == TC_GO_ON) {
        status = simulate(&r);
    }
    if (r.has_spec_file) {
        tc_input_close(&r.spec);
    }
    return status;
}

const struct tc_command tc_command_simulate = {
    .name = "simulate",
    .summary = "a labelled fleet: telemetry with known faults",
    .usage = "usage: tracecore simulate [OPTION]... --out DIR\n"
             "       tracecore simulate [OPTION]... --otlp URL [--out DIR]\n"
             "       tracecore simulate [OPTION]... --stream\n"
             "\n"
             "Writes what a cluster with known faults would have left behind, in the\n"
             "formats of the real programs: kernel logs, Kubernetes events and objects,\n"
             "scrapes of dcgm-exporter, Flight Recorder dumps, training logs; and\n"
             "truth.ndjson, which says what was injected and where. Or sends it to an\n"
             "OTLP receiver as it happens, as collectors would.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status: 0 written, or sent and taken; 1 sent, but not all of it was\n"
             "taken, or stopped by a signal; 2 wrong usage, unwritable output, or a\n"
             "receiver that does not take it.\n"
             "\n"
             "  tracecore simulate --nodes 32 --hours 1 --seed 7 --out fleet\n"
             "  tracecore detect --json fleet > verdicts.ndjson\n"
             "  tracecore score --truth fleet/truth.ndjson verdicts.ndjson\n"
             "\n"
             "  tracecore simulate --nodes 32 --otlp http://127.0.0.1:4318 --now \\\n"
             "    --upload http://127.0.0.1:4320\n",
    .words = "",
    .run = run_simulate,
};
