/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where alerts go, as the configuration says it (alerts.*): the receivers, and what holds for all
 * of them. Values only; texts end with a NUL.
 */
#ifndef TC_ALERT_OUTPUT_H
#define TC_ALERT_OUTPUT_H

#include "alert/book.h"
#include "event/finding.h"

#include <stddef.h>
#include <stdint.h>

#define TC_ALERT_NAME_MAX 64
#define TC_ALERT_URL_MAX 1024
#define TC_ALERT_PATH_MAX 512
#define TC_ALERT_LINES_MAX 2048
#define TC_ALERT_HOURS_MAX 256

enum tc_alert_output_type { TC_ALERT_ALERTMANAGER, TC_ALERT_WEBHOOK, TC_ALERT_KUBERNETES };

struct tc_alert_output {
    char name[TC_ALERT_NAME_MAX]; /* of metrics and messages, and of its place in the log */
    enum tc_alert_output_type type;
    char url[TC_ALERT_URL_MAX];
    char url_file[TC_ALERT_PATH_MAX]; /* that has it instead, since it is a secret */
    char template_file[TC_ALERT_PATH_MAX];
    enum tc_severity severity;         /* the least that it is told of */
    char headers[TC_ALERT_LINES_MAX];  /* "Name: value\r\n" */
    char labels[TC_ALERT_LINES_MAX];   /* "name=value\n" */
    char condition[TC_ALERT_NAME_MAX]; /* of nodes, which a Kubernetes receiver sets; "": none */
    char token_file[TC_ALERT_PATH_MAX];
    char ca_file[TC_ALERT_PATH_MAX];
    char cert_file[TC_ALERT_PATH_MAX];
    char key_file[TC_ALERT_PATH_MAX];
};

struct tc_alert_settings {
    struct tc_alert_output outputs[TC_ALERT_RECEIVERS_MAX];
    size_t output_count;
    int64_t settle_ns;
    int64_t update_ns; /* 0: news of a firing alert are not told to webhooks */
    int64_t resend_ns;
    int64_t forget_ns;
    int64_t timeout_ns;
    int64_t backoff_min_ns;
    int64_t backoff_max_ns;
    char link[TC_ALERT_URL_MAX]; /* where people see the dashboard; "": nowhere */
    char quiet_hours[TC_ALERT_HOURS_MAX];
    char quiet_time_zone[TC_ALERT_NAME_MAX];
};

#endif
