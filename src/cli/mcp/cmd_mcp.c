/* SPDX-License-Identifier: Apache-2.0 */
/* The Model Context Protocol on standard input and output. */
#include "base/clock.h"
#include "cli/command.h"
#include "cli/mcp/priv.h"
#include "cli/output/say.h"
#include "mcp/mcp.h"

#include <unistd.h>

struct asked {
    const char *data_dir;
    const char *url;
    struct tc_http_tls tls;
};

static const struct tc_option OPTIONS[] = {
    TC_TEXT("data-dir", "DIR", struct asked, data_dir, TC_DATA_DIR_HELP),
    TC_TEXT("api", "URL", struct asked, url,
            "Where a daemon is asked for what happens now (api.listen); " TC_DAEMON_API_DEFAULT
            " by default."),
    TC_DAEMON_TLS_OPTIONS(struct asked, tls),
};

/* False when standard output has failed. */
static bool answer(struct tc_mcp *m, struct tc_mcp_lines *lines, struct tc_slice line,
                   struct tc_output *out)
{
    struct tc_grow reply = {0};
    tc_mcp_handle(m, line, tc_wall_ns(), &reply);
    bool is_wanted = tc_mcp_lines_done(lines);
    bool good = true;
    if (reply.failed) {
        tc_say("mcp", "no memory for an answer");
        good = false;
    } else if (is_wanted && reply.buf.len > 0) {
        good = tc_output_put(out, tc_grow_slice(&reply)) && tc_output_put(out, TC_LIT("\n")) &&
               tc_output_flush(out);
    }
    tc_grow_fini(&reply);
    return good;
}

static int serve(struct tc_mcp_source *source)
{
    struct tc_output out;
    struct tc_slice line;
    struct tc_mcp_parts parts = {.ask = tc_mcp_source_ask, .context = source};
    parts.questions = tc_questions(&parts.question_count);
    struct tc_mcp *m = tc_mcp_create(&parts);
    struct tc_mcp_lines *lines = m == NULL ? NULL : tc_mcp_lines_create(STDIN_FILENO, source);
    int code = TC_EXIT_OK;
    tc_output_init(&out, STDOUT_FILENO);
    if (lines == NULL) {
        tc_say("mcp", "no memory to begin with");
        code = TC_EXIT_BAD;
    } else {
        while (tc_mcp_lines_next(lines, &line) && answer(m, lines, line, &out)) {
        }
    }
    tc_mcp_lines_destroy(lines);
    tc_mcp_destroy(m);
    return tc_output_end(&out, "mcp", code);
}

static int run(int argc, char **argv)
{
    struct asked a = {.url = TC_DAEMON_API_DEFAULT};
    struct tc_mcp_source source = {.lock = PTHREAD_MUTEX_INITIALIZER};
    int code = tc_options_read(&tc_command_mcp, argc, argv, &a);
    if (code != TC_GO_ON) {
        return code;
    }
    if (optind < argc) {
        return tc_command_refuse(&tc_command_mcp, "it takes no arguments");
    }
    if (!tc_data_dir_of("mcp", a.data_dir, source.dir) ||
        !tc_daemon_open(&source.daemon, "mcp", a.url, &a.tls)) {
        return TC_EXIT_BAD;
    }
    if (isatty(STDIN_FILENO)) {
        tc_say("mcp", "this speaks JSON-RPC with a program; --help shows how one is told about it");
    }
    code = serve(&source);
    tc_daemon_close(&source.daemon);
    return code;
}

const struct tc_command tc_command_mcp = {
    .name = "mcp",
    .summary = "answer the questions of a language model (MCP)",
    .usage = "usage: tracecore mcp [OPTIONS]\n"
             "\n"
             "A server of the Model Context Protocol on standard input and output, one JSON\n"
             "message per line: tools, resources and prompts with which a model finds out\n"
             "what is broken and why a run is slow, and proves it. It only reads. Runs and\n"
             "evidence come from the data_dir; what happens now, from a running daemon.\n"
             "It ends with its input.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  the input has ended\n"
             "  2  wrong usage, or the output cannot be written\n"
             "\n"
             "Where the daemon has auth.tokens, " TC_DAEMON_TOKEN " is the token.\n"
             "\n"
             "What an MCP client's configuration needs:\n"
             "  {\n"
             "    \"mcpServers\": {\n"
             "      \"tracecore\": {\n"
             "        \"command\": \"tracecore\",\n"
             "        \"args\": [\"mcp\", \"--data-dir\", \"/var/lib/tracecore\"]\n"
             "      }\n"
             "    }\n"
             "  }\n"
             "A running daemon serves the same over HTTP at /mcp.\n",
    .run = run,
};
