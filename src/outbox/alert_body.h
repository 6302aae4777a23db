/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One receiver of alerts as its configuration has it: its files are read (the template, the secret,
 * the address), and requests can be made. For the threads that deliver, and for the command that
 * tests a receiver.
 */
#ifndef TC_OUTBOX_ALERT_BODY_H
#define TC_OUTBOX_ALERT_BODY_H

#include "alert/kubernetes.h"
#include "alert/output.h"
#include "alert/template.h"
#include "outbox/post.h"

struct tc_alert_body {
    struct tc_template *template;   /* of a webhook */
    char token[TC_POST_SECRET_MAX]; /* for a template that wants it; else it is a header */
};

#define TC_ALERT_LINK_MAX (TC_ALERT_URL_MAX + 64)

/*
 * Reads the files and opens the way to the receiver; config has the times. All zero is closed. An
 * error names the file or the address.
 */
TC_CHECKED tc_status tc_alert_body_init(struct tc_alert_body *b,
                                        const struct tc_alert_output *output,
                                        const struct tc_post_config *times, struct tc_post *post,
                                        struct tc_error *err);
void tc_alert_body_fini(struct tc_alert_body *b);

/* A webhook's request for an alert, which gets the secret. */
TC_CHECKED tc_status tc_alert_body_render(const struct tc_alert_body *b, struct tc_alert *alert,
                                          struct tc_grow *out);

/* Of a Kubernetes receiver: an Event, and where it has a condition the state of the node. */
#define TC_ALERT_REQUESTS_MAX 2
struct tc_alert_requests {
    struct tc_post_request items[TC_ALERT_REQUESTS_MAX]; /* bodies are in `bodies` */
    size_t count;
    char path[TC_KUBERNETES_PATH_MAX];
    struct tc_grow bodies[TC_ALERT_REQUESTS_MAX];
};
/* None where the alert has no node. sets_condition: say that the node is as the alert is; not when
 * another one fires there. All zero at first; what it holds is freed by the second. */
TC_CHECKED tc_status tc_alert_requests_make(struct tc_alert_requests *r,
                                            const struct tc_alert_output *output,
                                            const struct tc_alert *alert, bool sets_condition,
                                            int64_t now_ns);
void tc_alert_requests_fini(struct tc_alert_requests *r);

/* Where people see a story: "" without a dashboard's address. out has TC_ALERT_LINK_MAX bytes. */
struct tc_slice tc_alert_link(const char *dashboard, struct tc_slice id, char *out);

#endif
