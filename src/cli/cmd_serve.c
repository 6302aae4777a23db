/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "cli/command.h"
#include "cli/notify.h"
#include "cli/output/say.h"
#include "config/config.h"
#include "observe/metrics.h"
#include "server/daemon.h"
#include "server/forward/forward.h"

#include <stdlib.h>
#include <unistd.h>

/* One log record, without a time: it is dated by its arrival. */
#define TRY_BODY                                                                                 \
    "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"k8s.node.name\",\"value\":{"   \
    "\"stringValue\":\"gpu-07\"}}]},\"scopeLogs\":[{\"logRecords\":[{\"body\":{\"stringValue\":" \
    "\"NVRM: Xid (PCI:0000:43:00): 48, pid=4711, name=python, DBE (double bit error)\"}}]}]}]}"

struct serve {
    const char *config_path;
    const char *data_dir;
    const struct tc_config *config; /* as it was read */
    bool announce;
};

static const struct tc_option OPTIONS[] = {
    TC_TEXT("config", "FILE", struct serve, config_path,
            "The configuration, YAML. Without it the defaults hold, and the environment.",
            .letter = 'c'),
    TC_FLAG("announce", struct serve, announce,
            "Once ready, print where it listens as one line of JSON, for programs, instead of the "
            "text for people."),
};

static void say_mistake(void *context, const char *line)
{
    (void)context;
    tc_say_plain("%s", line);
}

static void put_json(struct tc_output *out, const char *http, const char *grpc, const char *api)
{
    struct tc_json_out j = tc_output_object(out);
    tc_json_put_cstr(&j, "http", http);
    tc_json_put_cstr(&j, "grpc", grpc);
    tc_json_put_cstr(&j, "api", api);
    (void)tc_json_end_line(&j);
}

static void put_row(struct tc_buf *b, const char *name, const char *before, const char *address)
{
    if (address[0] != '\0') {
        (void)tc_format(b, "  {}{}{}\n", name, before, address);
    }
}

/* What a new user can do with it. */
static void put_try(struct tc_buf *b, const char *http, const char *api)
{
    if (http[0] != '\0') {
        (void)tc_format(
            b,
            "Try: a double-bit error in the log of a node's kernel, and what comes of it\n  curl "
            "-sS -H 'Content-Type: application/json' http://{}/v1/logs -d '" TRY_BODY "'\n",
            http);
    }
    if (api[0] != '\0') {
        (void)tc_format(b, "  curl -sS http://{}/api/v1/incidents\n", api);
    }
}

static void put_text(struct tc_output *out, const struct serve *s, const char *http,
                     const char *grpc, const char *api)
{
    char text[8192];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_slice rest = tc_slice_cstr(s->config->forward_endpoints);
    bool judges = !tc_forward_judges_elsewhere(s->config);
    tc_buf_lit(&b, "tracecore is ready.\n");
    put_row(&b, "OTLP/HTTP  ", "http://", http);
    put_row(&b, "OTLP/gRPC  ", "", grpc);
    put_row(&b, "API        ", "http://", api);
    put_row(&b, "data       ", "", s->data_dir);
    bool forwards = rest.len > 0;
    while (rest.len > 0) {
        (void)tc_format(&b, "  forwards   to {}\n", tc_slice_cut(rest, '\n', &rest));
    }
    if (judges) {
        put_try(&b, http, api);
    } else {
        (void)tc_format(&b, "It does not judge what it stores (detection.enabled){}.\n",
                        tc_when(forwards, ": incidents are found where it forwards to"));
    }
    (void)tc_output_put(out, tc_buf_slice(&b));
}

/* Whoever started it may not read what it prints: that is no reason to stop. */
static void listening(void *context, const char *http, const char *grpc, const char *api)
{
    const struct serve *s = context;
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    if (s->announce) {
        put_json(&out, http, grpc, api);
    } else {
        put_text(&out, s, http, grpc, api);
    }
    (void)tc_output_end(&out, "serve", TC_EXIT_OK);
    tc_notify_ready();
}

static int serve(struct serve *s, struct tc_config *config)
{
    char data_dir[TC_CONFIG_TEXT_MAX];
    struct tc_error err = {0};
    struct tc_daemon *daemon = NULL;
    tc_status status = tc_config_load(s->config_path, environ, say_mistake, NULL, config);
    if (status != TC_OK) {
        tc_say("serve", "the configuration has mistakes; nothing was started");
        return TC_EXIT_BAD;
    }
    status = tc_config_data_dir(config, data_dir, &err);
    if (status == TC_OK) {
        s->data_dir = data_dir;
        s->config = config;
        struct tc_daemon_options options = {
            .config_path = s->config_path,
            .environ_list = environ,
            .data_dir = data_dir,
            .listening = listening,
            .context = s,
        };
        status = tc_daemon_create(config, &options, &daemon, &err);
    }
    if (status == TC_OK) {
        status = tc_daemon_run(daemon, &err);
    }
    if (status != TC_OK) {
        tc_say("serve", "%s", err.message);
    }
    int code = status == TC_OK ? TC_EXIT_OK : TC_EXIT_BAD;
    if (!tc_daemon_destroy(daemon)) {
        _exit(code); /* exit() would take down what a thread still uses */
    }
    return code;
}

static int run(int argc, char **argv)
{
    struct serve s = {0};
    int code = tc_options_read(&tc_command_serve, argc, argv, &s);
    if (code != TC_GO_ON) {
        return code;
    }
    if (optind < argc) {
        tc_say("serve", "it takes no arguments; give the configuration with --config");
        return tc_command_misused(&tc_command_serve);
    }
    struct tc_config *config = calloc(1, sizeof *config);
    if (config == NULL) {
        return tc_refuse("serve", "no memory for the configuration");
    }
    code = serve(&s, config);
    free(config);
    return code;
}

const struct tc_command tc_command_serve = {
    .name = "serve",
    .summary = "the daemon: receive telemetry, keep it, raise verdicts",
    .usage = "usage: tracecore serve [OPTIONS]\n"
             "\n"
             "Receives OpenTelemetry over HTTP and gRPC, keeps the bytes, looks for the\n"
             "patterns of `detect` as the data comes, and writes each verdict when it is\n"
             "known: to a file, to a collector, and to the API.\n"
             "\n"
             "It listens on loopback and keeps its data in one directory (data_dir). `config\n"
             "print-default` prints every key of the configuration with its default; each can\n"
             "also be set by the environment, as in TRACECORE_DATA_DIR=/var/lib/tracecore.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Signals:\n"
             "  SIGTERM, SIGINT  finish what runs, then end; a second one ends at once\n"
             "  SIGHUP           read the configuration again and reopen the verdict file\n"
             "\n"
             "Exit status:\n"
             "  0  it was told to end\n"
             "  2  wrong usage or configuration, or it could not start or go on\n"
             "\n"
             "Examples:\n"
             "  tracecore serve\n"
             "  tracecore serve --config /etc/tracecore.yaml\n"
             "  TRACECORE_VERDICTS_FILE_PATH=- tracecore serve | jq -r .headline\n",
    .run = run,
};
