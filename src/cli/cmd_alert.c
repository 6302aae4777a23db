/* SPDX-License-Identifier: Apache-2.0 */
/* Alerts before they are needed: sends a test to a receiver and says what it answered. */
#include "alert/alertmanager.h"
#include "alert/template.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/json/out.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/output/say.h"
#include "config/config.h"
#include "outbox/alert_body.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPLY_SHOWN 400
/* A test that nobody ends is over at an Alertmanager after this. */
#define TEST_LASTS (60 * TC_SECOND)

struct asked {
    const char *config_path;
    bool print;
};

static const struct tc_option OPTIONS[] = {
    TC_TEXT("config", "FILE", struct asked, config_path,
            "The daemon's configuration, YAML. Without it the environment alone holds.",
            .letter = 'c'),
    TC_FLAG("print", struct asked, print, "Print what would be sent, and send nothing."),
};

struct test {
    const struct asked *asked;
    struct tc_alert_settings settings;
    struct tc_output out;
    struct tc_grow text;
    struct tc_alert_requests requests;
};

static void say_mistake(void *context, const char *line)
{
    (void)context;
    tc_say_plain("%s", line);
}

/* The request of one half of the test: its beginning or its end. A node's state is left alone. */
static tc_status make_request(struct test *t, const struct tc_alert_output *output,
                              const struct tc_alert_body *body, bool is_firing, int64_t now_ns)
{
    char link[TC_ALERT_LINK_MAX];
    struct tc_alert alert;
    struct tc_json_out j;
    tc_status status = TC_OK;
    tc_alert_sample(&alert, is_firing, now_ns);
    alert.ends_ns = now_ns + (is_firing ? TEST_LASTS : 0);
    alert.link = tc_alert_link(t->settings.link, alert.id, link);
    tc_buf_reset(&t->text.buf);
    switch (output->type) {
    case TC_ALERT_KUBERNETES:
        return tc_alert_requests_make(&t->requests, output, &alert, false, now_ns);
    case TC_ALERT_WEBHOOK:
        status = tc_alert_body_render(body, &alert, &t->text);
        break;
    case TC_ALERT_ALERTMANAGER:
        j = tc_json_out_grow(&t->text);
        tc_json_add_array(&j);
        tc_alertmanager_add(&j, &alert, tc_slice_cstr(output->labels));
        tc_json_end_array(&j);
        status = tc_json_done(&j) ? TC_OK : TC_E_NOMEM;
        break;
    }
    t->requests.items[0] = (struct tc_post_request){.body = tc_grow_slice(&t->text)};
    return status;
}

/* Sends what was made; whether the receiver took it. */
static bool send_request(struct test *t, const char *name, struct tc_post *post, const char *what)
{
    struct tc_http_reply reply;
    struct tc_error err = {0};
    bool is_taken = tc_post_send(post, &t->requests.items[0], &reply, &err) == TC_POST_TAKEN;
    if (reply.status == 0) {
        tc_output_format(&t->out, "{}: {}: not taken: {}\n", name, what,
                         tc_as_printable(tc_slice_cstr(err.message)));
        return false;
    }
    struct tc_slice said = tc_slice_trim(tc_slice_head(reply.body, REPLY_SHOWN));
    tc_output_format(&t->out, "{}: {}: {} (HTTP {}){}\n", name, what,
                     is_taken ? "taken" : "not taken", reply.status,
                     tc_when(said.len > 0, ": {}", tc_as_printable(said)));
    return is_taken;
}

static bool test_output(struct test *t, const struct tc_alert_output *output)
{
    struct tc_alert_body body = {0};
    struct tc_post post = {0};
    struct tc_error err = {0};
    struct tc_post_config times = {.timeout_ns = t->settings.timeout_ns, .stop_fd = -1};
    if (tc_alert_body_init(&body, output, &times, &post, &err) != TC_OK) {
        tc_output_format(&t->out, "{}: cannot be set up: {}\n", output->name,
                         tc_as_printable(tc_slice_cstr(err.message)));
        return false;
    }
    bool is_good = true;
    for (int i = 0; i < 2 && is_good; i++) {
        bool is_firing = i == 0;
        is_good = make_request(t, output, &body, is_firing, tc_wall_ns()) == TC_OK;
        if (is_good && t->asked->print) {
            (void)tc_output_put(&t->out, t->requests.items[0].body);
            (void)tc_output_put(&t->out, TC_LIT("\n"));
        } else if (is_good) {
            is_good = send_request(t, output->name, &post, is_firing ? "firing" : "resolved");
        }
    }
    tc_post_close(&post);
    tc_alert_body_fini(&body);
    return is_good;
}

static int test_all(struct test *t, const char *name)
{
    size_t tested = 0;
    bool is_good = true;
    for (size_t i = 0; i < t->settings.output_count; i++) {
        const struct tc_alert_output *output = &t->settings.outputs[i];
        if (name == NULL || strcmp(name, output->name) == 0) {
            is_good = test_output(t, output) && is_good;
            tested++;
        }
    }
    if (tested == 0) {
        return name == NULL
                   ? tc_refuse("alert", "alerts.outputs has no receivers: see docs/alerts.md")
                   : tc_refuse("alert", "alerts.outputs has no receiver \"%s\"", name);
    }
    return is_good ? TC_EXIT_OK : TC_EXIT_FOUND;
}

static int run_test(const struct asked *a, const char *name)
{
    struct tc_config *config = calloc(1, sizeof *config);
    struct test *t = calloc(1, sizeof *t);
    int code = TC_EXIT_BAD;
    if (config == NULL || t == NULL) {
        tc_say("alert", "out of memory");
    } else if (tc_config_load(a->config_path, environ, say_mistake, NULL, config) != TC_OK) {
        tc_say("alert", "the configuration has mistakes; nothing was sent");
    } else {
        t->asked = a;
        tc_config_alerts(config, &t->settings);
        tc_output_init(&t->out, STDOUT_FILENO);
        code = tc_output_end(&t->out, "alert", test_all(t, name));
        tc_grow_fini(&t->text);
        tc_alert_requests_fini(&t->requests);
    }
    free(config);
    free(t);
    return code;
}

static int run(int argc, char **argv)
{
    struct asked a = {0};
    int code = tc_options_read(&tc_command_alert, argc, argv, &a);
    if (code != TC_GO_ON) {
        return code;
    }
    if (optind >= argc || strcmp(argv[optind], "test") != 0) {
        return tc_command_refuse(&tc_command_alert, "what is to be done? there is test");
    }
    if (argc - optind > 2) {
        return tc_command_refuse(&tc_command_alert, "one receiver can be named");
    }
    return run_test(&a, optind + 1 < argc ? argv[optind + 1] : NULL);
}

const struct tc_command tc_command_alert = {
    .name = "alert",
    .summary = "send a test alert and say what the receiver answered",
    .usage = "usage: tracecore alert test [OPTIONS] [OUTPUT]\n"
             "\n"
             "Sends a test to the receivers of alerts.outputs, or to the one named OUTPUT: an\n"
             "alert that begins, and its end. Says what each answered. The daemon need not\n"
             "run; the files that a receiver needs (template, token_file) are read as it does.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  all took it\n"
             "  1  one did not\n"
             "  2  wrong usage or configuration\n"
             "\n"
             "Examples:\n"
             "  tracecore alert test --config tracecore.yaml\n"
             "  tracecore alert test --config tracecore.yaml --print pagerduty\n",
    .words = "test",
    .run = run,
};
