/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox/alert_body.h"

#include "base/buf.h"
#include "base/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where a pod finds its account. */
#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

/* Of an Alertmanager, behind the address that is configured. */
#define ALERTS_PATH "/api/v2/alerts"

static tc_status read_template(struct tc_alert_body *b, const char *path, struct tc_error *err)
{
    char *text = malloc(TC_TEMPLATE_BYTES_MAX + 1);
    struct tc_json_parser *parser = tc_json_parser_create();
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 || text == NULL ? -1 : read(fd, text, TC_TEMPLATE_BYTES_MAX + 1);
    tc_status status = TC_OK;
    struct tc_error inner = {0};
    if (n < 0 || parser == NULL) {
        status = tc_fail(err, TC_E_IO, 0, "%s: %s", path, strerror(errno));
    } else if (tc_template_read(tc_slice_make(text, (size_t)n), parser, &b->template, &inner) !=
               TC_OK) {
        status = tc_fail(err, inner.status, 0, "%s: %s", path, inner.message);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    tc_json_parser_destroy(parser);
    free(text);
    return status;
}

/* The address as it is called: a file may have it, and an Alertmanager's ends with its path. */
static tc_status read_url(const struct tc_alert_output *output, char *out, size_t size,
                          struct tc_error *err)
{
    char text[TC_POST_SECRET_MAX];
    struct tc_slice url = tc_slice_cstr(output->url);
    if (output->url_file[0] != '\0') {
        TC_TRY(tc_post_read_secret(output->url_file, text, err));
        url = tc_slice_cstr(text);
    }
    bool is_list = output->type == TC_ALERT_ALERTMANAGER;
    while (is_list && url.len > 0 && url.ptr[url.len - 1] == '/') {
        url.len--;
    }
    bool has_path = !is_list || tc_slice_ends(url, TC_LIT(ALERTS_PATH));
    struct tc_buf b = tc_buf_make(out, size - 1);
    tc_buf_str(&b, url);
    tc_buf_str(&b, has_path ? TC_EMPTY : TC_LIT(ALERTS_PATH));
    out[b.len] = '\0';
    return b.overflowed ? tc_fail(err, TC_E_LIMIT, 0, "an address of more than %zu bytes", size - 1)
                        : TC_OK;
}

/* The API server of the cluster that this process runs in, where nothing else is said. */
static tc_status use_cluster(const struct tc_alert_output *output, char *url, size_t size,
                             struct tc_post_config *io_config, struct tc_error *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    if (output->url[0] != '\0' || output->url_file[0] != '\0') {
        return TC_OK;
    }
    if (host == NULL || port == NULL) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "no url, and KUBERNETES_SERVICE_HOST is not set: this is no pod");
    }
    bool is_v6 = strchr(host, ':') != NULL;
    (void)snprintf(url, size, "https://%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
    if (output->token_file[0] == '\0') {
        io_config->token_file = ACCOUNT "token";
    }
    if (output->ca_file[0] == '\0') {
        io_config->tls.ca_file = ACCOUNT "ca.crt";
    }
    return TC_OK;
}

static tc_status open_post(struct tc_alert_body *b, const struct tc_alert_output *output,
                           const struct tc_post_config *times, struct tc_post *post,
                           struct tc_error *err)
{
    char url[TC_POST_SECRET_MAX];
    TC_TRY(read_url(output, url, sizeof url, err));
    bool token_in_body = b->template != NULL && tc_template_uses(b->template, "token");
    if (token_in_body && output->token_file[0] != '\0') {
        TC_TRY(tc_post_read_secret(output->token_file, b->token, err));
    } else if (token_in_body) {
        return tc_fail(err, TC_E_USAGE, 0, "%s wants {{token}}: token_file is missing",
                       output->template_file);
    }
    struct tc_post_config config = *times;
    config.url = url;
    config.headers = output->headers;
    config.token_file = token_in_body ? NULL : output->token_file;
    config.tls = (struct tc_http_tls){
        .ca_file = output->ca_file, .cert_file = output->cert_file, .key_file = output->key_file};
    config.is_patient = true;
    if (output->type == TC_ALERT_KUBERNETES) {
        TC_TRY(use_cluster(output, url, sizeof url, &config, err));
    }
    return tc_post_open(post, &config, err);
}

tc_status tc_alert_body_init(struct tc_alert_body *b, const struct tc_alert_output *output,
                             const struct tc_post_config *times, struct tc_post *post,
                             struct tc_error *err)
{
    *b = (struct tc_alert_body){0};
    tc_status status =
        output->type == TC_ALERT_WEBHOOK ? read_template(b, output->template_file, err) : TC_OK;
    status = status == TC_OK ? open_post(b, output, times, post, err) : status;
    if (status != TC_OK) {
        tc_alert_body_fini(b);
    }
    return status;
}

void tc_alert_body_fini(struct tc_alert_body *b)
{
    tc_template_destroy(b->template);
    *b = (struct tc_alert_body){0};
}

tc_status tc_alert_body_render(const struct tc_alert_body *b, struct tc_alert *alert,
                               struct tc_grow *out)
{
    alert->token = tc_slice_cstr(b->token);
    return tc_template_render(b->template, alert, out);
}

tc_status tc_alert_requests_make(struct tc_alert_requests *r, const struct tc_alert_output *output,
                                 const struct tc_alert *alert, bool sets_condition, int64_t now_ns)
{
    r->count = 0;
    if (!tc_kubernetes_is_node(alert->node)) {
        return TC_OK;
    }
    bool with_condition = sets_condition && output->condition[0] != '\0';
    for (size_t i = 0; i < (with_condition ? 2U : 1U); i++) {
        tc_buf_reset(&r->bodies[i].buf);
        struct tc_json_out j = tc_json_out_grow(&r->bodies[i]);
        if (i == 0) {
            tc_kubernetes_event(&j, alert, now_ns);
        } else {
            tc_kubernetes_condition(&j, alert, output->condition, now_ns);
        }
        if (!tc_json_done(&j)) {
            return TC_E_NOMEM;
        }
        r->items[i] = (struct tc_post_request){.path = TC_KUBERNETES_EVENTS_PATH,
                                               .body = tc_grow_slice(&r->bodies[i]),
                                               .also_taken = 409};
    }
    if (with_condition) {
        tc_kubernetes_condition_path(r->path, alert->node);
        r->items[1].method = "PATCH";
        r->items[1].path = r->path;
        r->items[1].content_type = "application/strategic-merge-patch+json";
        r->items[1].also_taken = 0;
    }
    r->count = with_condition ? 2 : 1;
    return TC_OK;
}

void tc_alert_requests_fini(struct tc_alert_requests *r)
{
    for (size_t i = 0; i < TC_ALERT_REQUESTS_MAX; i++) {
        tc_grow_fini(&r->bodies[i]);
    }
}

struct tc_slice tc_alert_link(const char *dashboard, struct tc_slice id, char *out)
{
    struct tc_buf b = tc_buf_make(out, TC_ALERT_LINK_MAX);
    struct tc_slice base = tc_slice_cstr(dashboard);
    while (base.len > 0 && base.ptr[base.len - 1] == '/') {
        base.len--;
    }
    return base.len == 0 ? TC_EMPTY : tc_format(&b, "{}/#/incidents/{}", base, id);
}
